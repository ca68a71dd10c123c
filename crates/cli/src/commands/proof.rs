//! `loop proof`: a proof of a loop that is done, to hand over.
use std::path::{Path, PathBuf};

use clap::Args;
use loop_core::text;
use loop_host::attestation::{Exported, SignError, SigningKey, export, sign};
use loop_host::checkpoint::user_git::GitUser;
use loop_host::run_folder::RunFolder;

use super::output_file;
use super::worker::WhichArgs;
use crate::context::{Context, Done};
use crate::render::error::{CommandError, Kind};
use crate::render::handed::{self, HowToCheck};

/// Make a proof of a loop that is done, to hand over: one line, which `loop verify FILE` checks in any checkout of the
/// same files
#[derive(Debug, Args)]
pub(crate) struct ProofArgs {
    #[command(flatten)]
    which: WhichArgs,
    /// Write the proof here [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Sign it with this SSH key; without KEY, with the key that your git configuration names
    #[arg(long, value_name = "KEY", num_args = 0..=1, default_missing_value = "")]
    sign: Option<String>,
    /// Attach it to the tree in your repository, as a note in refs/notes/loop
    #[arg(long)]
    note: bool,
    /// Print a text for a pull request
    #[arg(long)]
    pr: bool,
    /// Print a trailer for a commit message
    #[arg(long)]
    trailer: bool,
}

pub(crate) fn run(context: &Context, args: &ProofArgs) -> Done {
    let folder = args.which.find(context)?;
    let mut exported = export(&context.home, &folder)?;
    if let Some(key) = &args.sign {
        let signed = signed(context, &folder, &exported, key)?;
        exported.envelope.signatures.push(signed);
    }
    let line = exported.envelope.to_line();
    for remark in &exported.remarks {
        context.printer.error(&format!("note: {}\n", text::clean(remark.as_bytes())));
    }
    if !exported.withheld.is_empty() {
        let places = exported.withheld.join(", ");
        context.printer.error(&format!("withheld, because it is of this machine or looks like a secret: {places}\n"));
    }
    if let Some(output) = &args.output {
        written(context, &folder, &exported, output, &line)?;
    }
    if args.note {
        noted(context, &exported, &line)?;
    }
    if args.pr {
        context.printer.answer(&handed::pull_request(&exported, &line));
    }
    if args.trailer {
        context.printer.answer(&format!("{}\n", handed::trailer(&exported, &line)));
    }
    if args.output.is_none() && !args.note && !args.pr && !args.trailer {
        context.printer.answer(&format!("{line}\n"));
    }
    Ok(0)
}

fn signed(
    context: &Context,
    folder: &RunFolder,
    exported: &Exported,
    key: &str,
) -> Result<loop_core::attestation::EnvelopeSignature, CommandError> {
    let refused = |error: &SignError| {
        let (kind, hint) = match error {
            SignError::NoProgram => (Kind::Unable, "install OpenSSH, or leave out --sign"),
            SignError::NoKey(_) => (Kind::Wrong, "name a key: --sign ~/.ssh/id_ed25519"),
            SignError::Refused(_) | SignError::Io(_) => (Kind::Unable, "fix that, or name another key: --sign KEY"),
        };
        CommandError::new(kind, format!("the proof of loop {} cannot be signed", folder.id))
            .because(error.to_string())
            .hint(hint)
    };
    let key = match key {
        "" => SigningKey::of_user(&GitUser::of_environment()).map_err(|error| refused(&error))?,
        file => SigningKey::File(PathBuf::from(file)),
    };
    let workspace = exported.workspace().unwrap_or_else(|| folder.path.clone());
    let bytes = exported.envelope.signed_bytes();
    sign(&bytes, &key, &workspace, &context.home.copies()).map_err(|error| refused(&error))
}

fn written(
    context: &Context,
    folder: &RunFolder,
    exported: &Exported,
    output: &Path,
    line: &str,
) -> Result<(), CommandError> {
    let workspace = exported.workspace().unwrap_or_else(|| folder.path.clone());
    output_file::write(std::slice::from_ref(&workspace), output, &format!("{line}\n"))?;
    let shown = text::clean(output.to_string_lossy().as_bytes());
    let how = HowToCheck::of(exported, &shown);
    let what = if how.can_succeed { "check" } else { "look at" };
    context.printer.progress(&format!("written to {shown}; {what} it elsewhere: {}\n{}", how.command, how.remark));
    let inside = workspace.canonicalize().ok().zip(output.canonicalize().ok());
    let inside = inside.is_some_and(|(workspace, file)| file.starts_with(workspace));
    if inside {
        context.printer.error("note: do not commit this file: that would change the tree that it is about\n");
    }
    Ok(())
}

fn noted(context: &Context, exported: &Exported, line: &str) -> Result<(), CommandError> {
    let tree = &exported.tree.git_tree;
    let added = exported.add_note(line).map_err(|error| {
        CommandError::new(Kind::Unable, "the note was not written").because(error.to_string()).hint(format!(
            "by hand: loop proof {} -o FILE, then git notes --ref=loop append -F FILE {tree}",
            exported.certificate.id
        ))
    })?;
    let what = if added { "is attached to" } else { "was attached already to" };
    let how = HowToCheck::of(exported, "--note");
    context.printer.answer(&format!(
        "the proof {what} tree {tree}\npush it: git push origin refs/notes/loop\nread it elsewhere: git fetch origin refs/notes/loop:refs/notes/loop && {}\n",
        how.command
    ));
    context.printer.progress(&how.remark);
    Ok(())
}
