//! `loop inject`: add a text to the next prompt of a loop.
use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args;
use loop_core::control::{Ask, INJECT_BYTES_MAX};
use loop_core::run::NoteChange;
use loop_core::view::JSON_VERSION;
use loop_host::launch;
use loop_host::paths::read_bounded;
use loop_host::run_folder::RunFolder;
use serde_json::json;

use super::ask;
use super::plan_inject::{self, PlanInjection};
use crate::args::IdArg;
use crate::context::{Context, Done};
use crate::here::{WORDS, Wanted};
use crate::render::error::{CommandError, Kind};
use crate::render::summary;

/// Tell the agent something in its next prompt
#[derive(Debug, Args)]
pub(crate) struct InjectArgs {
    #[command(flatten)]
    id: IdArg,
    /// The text; `-` reads it from stdin. One word alone is the text, for the loop of this folder
    #[arg(value_name = "TEXT")]
    text: Option<String>,
    /// Read the text from a file
    #[arg(long, value_name = "FILE", conflicts_with = "text")]
    file: Option<PathBuf>,
    /// Repeat it in all later prompts
    #[arg(long)]
    keep: bool,
    /// Add the text as a note of one line: it has a number, and stays in all prompts until it is struck
    #[arg(long, conflicts_with_all = ["keep", "file", "node"])]
    note: bool,
    /// Strike the note with this number, as loop prompt shows it
    #[arg(long, value_name = "N", conflicts_with_all = ["text", "keep", "file", "node", "note"])]
    strike: Option<u32>,
    /// Of a plan: only the loop of this node or branch [default: every loop that is at work]
    #[arg(long, value_name = "NAME")]
    node: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(context: &Context, args: &InjectArgs) -> Done {
    if let Some(id) = args.strike {
        let folder = context.find_or_here(args.id.id.as_deref(), Wanted::Resumable)?;
        return note(context, &folder, NoteChange::Strike { id }, args.json);
    }
    if args.note {
        let (id, word) = words(context, args)?;
        let folder = context.find_or_here(id, Wanted::Resumable)?;
        let text = word.unwrap_or_default().to_owned();
        return note(context, &folder, NoteChange::Add { text }, args.json);
    }
    let (id, word) = words(context, args)?;
    let plan = context.plan_or_here(id, Wanted::Resumable);
    let found = if plan.is_none() { Some(context.find_or_here(id, Wanted::Resumable)?) } else { None };
    let text = text(word, args.file.as_deref()).map_err(|error| {
        CommandError::new(Kind::Wrong, "cannot read the text")
            .because(error.to_string())
            .hint("loop inject ID \"text\", or --file FILE, or - for stdin")
    })?;
    if let Some(plan) = plan {
        let asked = PlanInjection { text: &text, keep: args.keep, node: args.node.as_deref() };
        return plan_inject::run(context, &plan, &asked, args.json);
    }
    let Some(folder) = found else { return Ok(0) };
    if let Some(node) = &args.node {
        return Err(CommandError::new(Kind::Wrong, format!("--node {node}: loop {} has no nodes", folder.id))
            .because("only a plan has nodes or branches")
            .hint(format!("leave --node out: loop inject {} \"a text\"", folder.id)));
    }
    if folder.holder().is_none() {
        return record(context, &folder, &text, args);
    }
    let seq = ask::ask(&folder, Ask::Inject { text, keep: args.keep }, "loop inject")?;
    ask::told(context, &folder, said(args), seq, args.json)
}

/// Adds or strikes a note.
fn note(context: &Context, folder: &RunFolder, change: NoteChange, json: bool) -> Done {
    let said = match &change {
        NoteChange::Add { .. } => "every later prompt will have this note".to_owned(),
        NoteChange::Strike { id } => format!("note n{id} is struck"),
    };
    if folder.holder().is_some() {
        let seq = ask::ask(folder, Ask::Note(change), "loop inject")?;
        return ask::told(context, folder, &said, seq, json);
    }
    launch::note(&context.home, folder, &change)?;
    let id = &folder.id;
    if json {
        context.printer.json(&json!({"version": JSON_VERSION, "id": id, "said": said, "noted": null}));
    } else {
        let next = summary::next_after_change(folder, &[]);
        context.printer.answer(&format!("loop {id}: {said}\n  next:       {next}\n"));
    }
    Ok(0)
}

/// What becomes of the text.
fn said(args: &InjectArgs) -> &'static str {
    if args.keep { "every later prompt will have this text" } else { "the next prompt will have this text" }
}

/// Records the text for a loop that no process drives: the prompt after `loop resume` has it.
fn record(context: &Context, folder: &RunFolder, text: &str, args: &InjectArgs) -> Done {
    launch::inject(&context.home, folder, text, args.keep)?;
    let id = &folder.id;
    if args.json {
        context.printer.json(&json!({"version": JSON_VERSION, "id": id, "said": said(args), "noted": null}));
        return Ok(0);
    }
    let next = summary::next_after_change(folder, &[]);
    context.printer.answer(&format!("loop {id}: {}\n  next:       {next}\n", said(args)));
    Ok(0)
}

/// The id and the text that were typed: one word alone is the text.
fn words<'a>(context: &Context, args: &'a InjectArgs) -> Result<(Option<&'a str>, Option<&'a str>), CommandError> {
    let (first, second) = (args.id.id.as_deref(), args.text.as_deref());
    if args.file.is_some() || second.is_some() {
        return Ok((first, second));
    }
    let is_loop = |word: &str| WORDS.contains(&word) || !context.ids_of(word).is_empty();
    match first.filter(|word| !is_loop(word)) {
        Some(text) => Ok((None, Some(text))),
        None => {
            let why = first.map_or_else(|| "nothing was given".to_owned(), |word| format!("{word} names a loop"));
            Err(CommandError::new(Kind::Wrong, "the text is missing")
                .because(why)
                .hint("for the loop of this folder: loop inject @ \"a text\""))
        }
    }
}

fn text(word: Option<&str>, file: Option<&Path>) -> std::io::Result<String> {
    let most = INJECT_BYTES_MAX as u64 + 1;
    let mut text = String::new();
    match (word, file) {
        (_, Some(path)) => {
            text = String::from_utf8(read_bounded(path, most)?).map_err(std::io::Error::other)?;
            text.len()
        }
        (Some("-"), None) => std::io::stdin().lock().take(most).read_to_string(&mut text)?,
        (Some(word), None) => {
            word.clone_into(&mut text);
            text.len()
        }
        (None, None) => 0,
    };
    Ok(text)
}
