//! `loop inject`: add a text to the next prompt of a loop.
use std::io::Read;
use std::path::PathBuf;

use clap::Args;
use loop_core::control::{Ask, INJECT_BYTES_MAX};
use loop_core::view::JSON_VERSION;
use loop_host::launch;
use loop_host::paths::read_bounded;
use loop_host::run_folder::RunFolder;
use serde_json::json;

use super::ask;
use crate::args::IdArg;
use crate::context::{Context, Done};
use crate::render::error::{CommandError, Kind};

/// Tell the agent something in its next prompt
#[derive(Debug, Args)]
pub(crate) struct InjectArgs {
    #[command(flatten)]
    id: IdArg,
    /// The text; `-` reads it from stdin
    #[arg(value_name = "TEXT", required_unless_present = "file")]
    text: Option<String>,
    /// Read the text from a file
    #[arg(long, value_name = "FILE", conflicts_with = "text")]
    file: Option<PathBuf>,
    /// Repeat it in all later prompts
    #[arg(long)]
    keep: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(context: &Context, args: &InjectArgs) -> Done {
    let folder = context.find(&args.id.id)?;
    let text = text(args).map_err(|error| {
        CommandError::new(Kind::Wrong, "cannot read the text")
            .because(error.to_string())
            .hint("loop inject ID \"text\", or --file FILE, or - for stdin")
    })?;
    if folder.holder().is_none() {
        return record(context, &folder, &text, args);
    }
    let seq = ask::ask(&folder, Ask::Inject { text, keep: args.keep }, "loop inject")?;
    ask::told(context, &folder, "the next prompt will have this text", seq, args.json)
}

/// Records the text for a loop that no process drives: the prompt after `loop resume` has it.
fn record(context: &Context, folder: &RunFolder, text: &str, args: &InjectArgs) -> Done {
    launch::inject(&context.home, folder, text, args.keep)?;
    let id = &folder.id;
    if args.json {
        let said = "the next prompt will have this text";
        context.printer.json(&json!({"version": JSON_VERSION, "id": id, "said": said, "noted": null}));
        return Ok(0);
    }
    context
        .printer
        .answer(&format!("loop {id}: the next prompt will have this text\n  next:       loop resume {id}\n"));
    Ok(0)
}

fn text(args: &InjectArgs) -> std::io::Result<String> {
    let most = INJECT_BYTES_MAX as u64 + 1;
    let mut text = String::new();
    match (&args.text, &args.file) {
        (_, Some(path)) => {
            text = String::from_utf8(read_bounded(path, most)?).map_err(std::io::Error::other)?;
            text.len()
        }
        (Some(word), None) if word == "-" => std::io::stdin().lock().take(most).read_to_string(&mut text)?,
        (Some(word), None) => {
            text.clone_from(word);
            text.len()
        }
        (None, None) => 0,
    };
    Ok(text)
}
