//! `loop verify FILE`: a proof that was handed over, checked in this checkout.
use std::path::{Path, PathBuf};

use loop_core::attestation::ProofCheck;
use loop_host::attestation::{CheckError, CheckRequest, check_proof, find_note, read_proof};
use loop_host::checkpoint::user_git::GitUser;

use super::verify::{Format, VerifyArgs, show};
use crate::context::{Context, Done};
use crate::render::error::{CommandError, Kind};
use crate::render::handed;

/// Where the proof is.
#[derive(Debug, Clone, Copy)]
pub(super) enum ProofSource<'a> {
    /// A file.
    File(&'a Path),
    /// The note of this checkout's tree.
    Note,
}

pub(super) fn run(context: &Context, args: &VerifyArgs, source: ProofSource<'_>) -> Done {
    let folder = std::env::current_dir().map_err(|error| CommandError::of(Kind::Unable, &error))?;
    let copies = context.home.copies();
    let request = CheckRequest {
        folder: &folder,
        copies: &copies,
        user: GitUser::of_environment(),
        signers: args.allowed_signers.clone(),
        signers_revision: args.allowed_signers_rev.clone(),
        gates_from: args.gates_from.clone(),
        run: args.run,
        with_ignored: args.with_ignored,
        with_git: args.with_git,
    };
    let proofs = match source {
        ProofSource::File(path) => vec![read(path)?],
        ProofSource::Note => find_note(&request).map_err(|error| failed(&error))?,
    };
    let mut best: Option<Result<ProofCheck, CheckError>> = None;
    for proof in &proofs {
        let checked = check_proof(proof, &request, &mut |progress| show(context.printer, &progress));
        if matches!(checked, Err(CheckError::Stopped)) {
            context.printer.error("stopped: there is no result, and nothing is left behind\n");
            return Ok(2);
        }
        let is_good = checked.as_ref().is_ok_and(|check| check.holds);
        // The newest counts, unless an older one is better.
        if is_good || best.is_none() {
            best = Some(checked);
        }
        if is_good {
            break;
        }
    }
    match best {
        Some(Ok(check)) => Ok(answered(context, args, &check)),
        Some(Err(error)) => Err(failed(&error)),
        None => Err(failed(&CheckError::NotProof("the note is empty".to_owned()))),
    }
}

fn read(path: &Path) -> Result<Vec<u8>, CommandError> {
    read_proof(path).map_err(|error| {
        CommandError::new(Kind::Wrong, format!("cannot read {}", path.display()))
            .because(error.to_string())
            .hint("name a file that loop proof wrote")
    })
}

fn failed(error: &CheckError) -> CommandError {
    let (kind, what, hint) = match error {
        CheckError::NotProof(_) => (Kind::Wrong, "this is not a proof", "name a file that loop proof wrote"),
        CheckError::Wrong(_) => {
            (Kind::Wrong, "the proof was not checked", "fetch the base and its notes first, or name a file")
        }
        CheckError::Unable(_) | CheckError::Stopped => {
            (Kind::Unable, "the proof could not be checked", "fix that, then try again")
        }
    };
    CommandError::new(kind, what).because(error.to_string()).hint(hint)
}

fn answered(context: &Context, args: &VerifyArgs, check: &ProofCheck) -> u8 {
    match args.format() {
        Format::Text => context.printer.answer(&handed::text(check, context.printer)),
        Format::Json => context.printer.json(check),
        Format::Junit => context.printer.answer(&handed::junit(check)),
        Format::Markdown => context.printer.answer(&handed::markdown(check)),
        Format::Gates => context.printer.answer(&handed::gates(check)),
    }
    check.exit_code
}

/// The file that an argument names; none where it names none.
pub(super) fn file_named(argument: &str) -> Option<PathBuf> {
    let path = PathBuf::from(argument);
    let looks_like_file = argument.contains(['/', '.']);
    (looks_like_file || path.is_file()).then_some(path)
}
