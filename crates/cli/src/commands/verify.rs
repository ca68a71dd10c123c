//! `loop verify`: run the gates of a loop that is done again, on a clean copy of the very tree that was judged.
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use loop_core::run::RunState;
use loop_core::time;
use loop_core::view::{Certificate, HiddenAgain, TestCounts, Verification, VerifiedGate, WorkspaceNow};
use loop_host::attestation::{hint_to_verified, keep_proved_end};
use loop_host::gate::GateProgress;
use loop_host::hidden::known_gates;
use loop_host::reverify::{CleanError, ReverifyRequest, reverify};
use loop_host::run_folder::RunFolder;
use loop_host::{clock, journal};

use super::verify_proof::{self, ProofSource, file_named};
use crate::context::{Context, Done, read_error};
use crate::here::Wanted;
use crate::render::error::{CommandError, Kind};
use crate::render::printer::{Loudness, Printer};
use crate::render::{junit, sentences, summary, verified};

/// Run the gates of a loop that is done again, in a clean copy of the tree that was judged, and say whether they still
/// pass: exit 0 if they do, 1 if not. The workspace is not touched, nor judged
#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// The loop: its id, or any beginning of it that fits one loop only; or the file of a proof [default: @, the newest
    /// loop of this folder]
    #[arg(value_name = "ID|FILE", conflicts_with = "note")]
    which: Option<String>,
    /// Check the proof in the note of this checkout's tree (refs/notes/loop)
    #[arg(long)]
    note: bool,
    /// Of a proof: run its gates again here, in a separate copy of the files. Its commands are run only if a trusted key
    /// signed them, or --gates-from names the same
    #[arg(long)]
    pub(super) run: bool,
    /// Of a proof: a file with the keys that you trust, as ssh-keygen reads it
    #[arg(long, value_name = "FILE", conflicts_with = "allowed_signers_rev")]
    pub(super) allowed_signers: Option<PathBuf>,
    /// Of a proof: the same out of a revision of this repository, such as origin/main:.github/loop_signers
    #[arg(long, value_name = "REV:PATH")]
    pub(super) allowed_signers_rev: Option<String>,
    /// Of a proof: the project file whose gates it must have passed, such as origin/main:.loop.toml; a file on disk is
    /// FILE or ./FILE
    #[arg(long, value_name = "REV:PATH")]
    pub(super) gates_from: Option<String>,
    /// How the answer is written
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Make the copy here, in a new or empty folder, and leave it there
    #[arg(long, value_name = "DIR")]
    keep_copy: Option<PathBuf>,
    /// Bring along all that checkpoints leave out (`node_modules`, `target` …), as it is in the workspace now; without
    /// it only what is as it was when the loop began
    #[arg(long)]
    pub(super) with_ignored: bool,
    /// Bring along the workspace's own repository, as it is now; without it, as it was when the loop began
    #[arg(long)]
    pub(super) with_git: bool,
}

impl VerifyArgs {
    pub(super) fn format(&self) -> Format {
        if self.json { Format::Json } else { self.format }
    }

    /// What only a proof that was handed over has.
    fn is_of_proof(&self) -> bool {
        self.run || self.allowed_signers.is_some() || self.allowed_signers_rev.is_some() || self.gates_from.is_some()
    }
}

/// How the answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// For people
    Text,
    /// One object
    Json,
    /// For CI: a suite a gate
    Junit,
    /// For a comment or a report
    Markdown,
    /// Of a proof: the names of the gates that it covers here, one a line; nothing where there is any doubt
    Gates,
}

pub(crate) fn run(context: &Context, args: &VerifyArgs) -> Done {
    if args.note {
        return verify_proof::run(context, args, ProofSource::Note);
    }
    if args.which.is_none() && args.is_of_proof() {
        return Err(CommandError::new(Kind::Wrong, "the file of a proof is missing")
            .because("--run, --gates-from and the allowed signers are for a proof that was handed over")
            .hint("loop verify FILE, or loop verify --note"));
    }
    let named = args.which.as_deref().and_then(file_named);
    let folder = match (context.find_or_here(args.which.as_deref(), Wanted::Newest), named) {
        (Ok(folder), _) => folder,
        (Err(_), Some(file)) => return verify_proof::run(context, args, ProofSource::File(&file)),
        (Err(error), None) => return Err(error),
    };
    refuse_words_of_a_proof(&folder, args)?;
    let mut reading = journal::read(&folder.path).map_err(|error| read_error(&error))?;
    keep_proved_end(&mut reading);
    let state = reading.fold();
    let certificate = certificate_of(&folder, &state)?;
    if !certificate.verified {
        let verification = Verification::new(certificate, &[], WorkspaceNow::default());
        return Ok(answered(context, args, verification));
    }
    let (Some(checkpoint), Some(tree)) = (certificate.checkpoint.clone(), certificate.tree.clone()) else {
        return Err(CommandError::new(Kind::Wrong, format!("loop {} has no checkpoints", folder.id))
            .because("it was started with --checkpoint none: the tree that was judged is not stored")
            .hint("start with --checkpoint auto to be able to verify later"));
    };
    let Some(spec) = &state.spec else { return Err(no_proof(&folder, "it never began")) };
    let checkpoints = folder.checkpoints(spec);
    let keep = args.keep_copy.as_ref().map(std::path::absolute).transpose();
    let keep = keep.map_err(|error| CommandError::of(Kind::Wrong, &error))?;
    let hidden = state.proving.hidden().map(|known| {
        let gates = known_gates(&context.home.config, &checkpoints.workspace, known, &folder.id);
        (known.count, gates)
    });
    let request = ReverifyRequest {
        state: &state,
        run: &folder.path,
        context: &checkpoints,
        checkpoint: &checkpoint,
        tree: &tree,
        copies: &context.home.copies(),
        keep: keep.as_deref(),
        ignored: args.with_ignored,
        git: args.with_git,
        hidden: hidden.as_ref().and_then(|(_, gates)| gates.as_deref().ok()).unwrap_or_default(),
    };
    let again = match reverify(&request, &mut |progress| show(context.printer, &progress)) {
        Ok(again) => again,
        Err(CleanError::Stopped) => {
            context.printer.error("stopped: there is no result, and nothing is left behind\n");
            return Ok(2);
        }
        Err(error) => return Err(not_verified(&folder, &error)),
    };
    let hidden = hidden.as_ref().map(|(count, gates)| HiddenAgain {
        count: *count,
        passed: again.hidden_passed,
        not_run: gates.as_ref().err().cloned(),
    });
    let mut verification = Verification::new(certificate, &again.gates, again.workspace).with_hidden(hidden);
    verification.judged = Some(again.judged);
    verification.copy = keep.as_deref().map(loop_host::paths::text_of);
    verification.brought = brought(args, again.as_workspace.is_some());
    verification.hints = hints(&verification, &state, &checkpoints.workspace, args);
    verification.hints.extend(how_it_was_judged(again.as_workspace.as_deref(), &again.flaky));
    Ok(answered(context, args, verification))
}

/// A loop of this machine is not checked as a proof that was handed over.
fn refuse_words_of_a_proof(folder: &RunFolder, args: &VerifyArgs) -> Result<(), CommandError> {
    if args.is_of_proof() {
        return Err(CommandError::new(Kind::Wrong, format!("{} is a loop of this machine, not a proof", folder.id))
            .because("--run, --gates-from and the allowed signers are for a proof that was handed over")
            .hint(format!("loop verify {0}, or loop proof {0} -o FILE, then loop verify FILE", folder.id)));
    }
    if args.format() == Format::Gates {
        return Err(CommandError::new(Kind::Wrong, "--format gates is of a proof that was handed over")
            .because(format!("{} is a loop of this machine", folder.id))
            .hint(format!("loop proof {0} -o FILE, then loop verify FILE --format gates", folder.id)));
    }
    Ok(())
}

/// What a person should know about the place and about flaky gates.
fn how_it_was_judged(as_workspace: Option<&str>, flaky: &[String]) -> Vec<String> {
    let place = as_workspace
        .map(|why| format!("the loop was judged in the workspace only: {}", loop_core::text::one_line(why, 200)));
    let flaky = flaky
        .iter()
        .map(|gate| format!("{gate} is flaky: on the same files it failed first, and passed when it was asked again"));
    place.into_iter().chain(flaky).collect()
}

fn brought(args: &VerifyArgs, as_workspace: bool) -> Vec<String> {
    let each = [
        (args.with_ignored || as_workspace, "what checkpoints leave out"),
        (args.with_git || as_workspace, "the repository"),
        (as_workspace, "HOME"),
    ];
    each.into_iter().filter(|(wanted, _)| *wanted).map(|(_, what)| what.to_owned()).collect()
}

fn certificate_of(folder: &RunFolder, state: &RunState) -> Result<Certificate, CommandError> {
    if let Some(certificate) = Certificate::of(state) {
        return Ok(certificate);
    }
    Err(match &state.over {
        Some(over) => no_proof(folder, &format!("it ended without being done: {}", over.reason.text)).hint(match state
            .checkpoints
            .verified_before()
        {
            Some(_) => hint_to_verified(state, folder.id.as_str()),
            None => summary::next_command(state, folder.id.as_str()),
        }),
        None if folder.holder().is_some() => {
            no_proof(folder, "it is still running").hint(format!("loop watch {}", folder.id))
        }
        None => no_proof(folder, "it has no end").hint(format!("loop resume {}", folder.id)),
    })
}

fn no_proof(folder: &RunFolder, why: &str) -> CommandError {
    CommandError::new(Kind::Wrong, format!("there is nothing to verify of loop {}", folder.id)).because(why)
}

fn not_verified(folder: &RunFolder, error: &CleanError) -> CommandError {
    let what = format!("loop {} cannot be verified", folder.id);
    let (kind, hint) = match error {
        CleanError::Gone(_) => {
            (Kind::Wrong, format!("checkpoints that still exist: loop checkpoint list {}", folder.id))
        }
        CleanError::Folder(_) => (Kind::Wrong, "name a new folder elsewhere: --keep-copy DIR".to_owned()),
        CleanError::Stopped | CleanError::SetupFailed(_) | CleanError::Unable(_) => {
            (Kind::Unable, "fix that, then try again".to_owned())
        }
    };
    CommandError::new(kind, what).because(error.to_string()).hint(hint)
}

/// Shows progress on stderr.
pub(super) fn show(printer: Printer, progress: &GateProgress<'_>) {
    match progress {
        GateProgress::Started(gate) => {
            printer.progress(&format!("{}: {}\n", gate.name, loop_core::text::escaped_head(&gate.command, 120)));
        }
        GateProgress::Judged(again) => {
            printer.progress(&format!(
                "{}: {} ({})\n",
                again.name,
                sentences::verdict(again.verdict),
                again.report.ended.brief()
            ));
        }
        GateProgress::Output(bytes) if printer.loudness == Loudness::Verbose => {
            printer.error(&loop_core::text::clean(bytes))
        }
        GateProgress::Output(_) => {}
        GateProgress::Message(text) => printer.progress(&format!("{}\n", loop_core::text::clean(text.as_bytes()))),
    }
}

/// What a person should know to read the answer.
fn hints(found: &Verification, state: &RunState, workspace: &Path, args: &VerifyArgs) -> Vec<String> {
    let mut hints = Vec::new();
    let place = workspace.to_string_lossy();
    for gate in &found.gates {
        if gate.command.contains(place.as_ref()) {
            hints.push(format!(
                "{} names the workspace by its path, and looked there instead of at the copy",
                gate.name
            ));
        }
    }
    hints.extend(found.gates.iter().filter_map(|gate| fewer_tests(found, gate)));
    let lost = || found.gates.iter().filter(|gate| gate.required && !gate.passes());
    if let Some(gate) = lost().find(|gate| matches!(gate.exit_code, Some(126 | 127))) {
        hints.push(format!("{} found a command missing in the copy", gate.name));
    }
    let missing_programs: Vec<String> = lost().filter_map(|gate| not_on_path(gate, state, &found.id)).collect();
    let is_path = !missing_programs.is_empty();
    hints.extend(missing_programs);
    let missing = "of what checkpoints leave out (node_modules, target, .venv …) only what is as it was when the loop began \
                   is in the copy; to bring along all of it as it is now";
    if lost().next().is_some() && !args.with_ignored && !is_path {
        hints.push(format!("{missing}: loop verify {} --with-ignored", found.id));
    }
    if lost().any(|gate| gate.command.contains("git ")) && !args.with_git {
        hints.push(format!(
            "the repository in the copy is that of the start; as it is now: loop verify {} --with-git",
            found.id
        ));
    }
    hints
}

/// A program of a gate that could not be started, and that the loop found by another PATH.
fn not_on_path(gate: &VerifiedGate, state: &RunState, id: &str) -> Option<String> {
    if !matches!(gate.exit_code, Some(126 | 127)) {
        return None;
    }
    let known = state.gates.iter().find(|known| known.spec().name == gate.name)?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    known.first_programs().iter().filter(|program| !program.name.contains('/')).find_map(|program| {
        let file = loop_host::paths::path_of(&program.file.as_ref()?.path);
        let folder = file.parent()?;
        let is_found = folders.iter().any(|folder| folder.join(&program.name).exists());
        (!is_found).then(|| {
            let folder = loop_host::paths::text_of(folder);
            format!(
                "{} was run from {folder} in the loop, which is not on your PATH now: PATH=\"{folder}:$PATH\" loop verify {id}",
                program.name
            )
        })
    })
}

/// A gate that passes because it found nothing to run has shown little.
fn fewer_tests(found: &Verification, gate: &VerifiedGate) -> Option<String> {
    let then = found.certificate.gates.iter().find(|then| then.name == gate.name)?.tests?.ran();
    let now = gate.tests.map_or(0, TestCounts::ran);
    (now < then).then(|| format!("{} ran {then} tests when it was recorded, and {now} now", gate.name))
}

fn answered(context: &Context, args: &VerifyArgs, mut found: Verification) -> u8 {
    found.at = time::rfc3339(clock::now().wall_ms);
    env!("CARGO_PKG_VERSION").clone_into(&mut found.program);
    match args.format() {
        Format::Text | Format::Gates => context.printer.answer(&verified::text(&found, context.printer)),
        Format::Json => context.printer.json(&found),
        Format::Junit => context.printer.answer(&junit::xml(&found)),
        Format::Markdown => context.printer.answer(&verified::markdown(&found)),
    }
    u8::from(!found.verified)
}
