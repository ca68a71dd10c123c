//! `loop bug`: one text file for a report of a bug, with secrets removed. Nothing is sent.
use std::path::PathBuf;

use clap::Args;
use loop_core::redaction::Redaction;
use loop_core::run::RunState;
use loop_core::settings::{Layer, catalogue};
use loop_core::text;
use loop_core::time;
use loop_core::view::JSON_VERSION;
use loop_host::paths::{path_of, text_of};
use loop_host::run_folder::RunFolder;
use loop_host::{bug_report, clock, journal};
use serde_json::json;

use super::{config, doctor, output_file, status};
use crate::context::{Context, Done, read_error};
use crate::here::Wanted;
use crate::render::error::{CommandError, Kind};

/// Write a text file for a report of a bug: this machine, settings and one loop, with secrets removed; nothing is sent
#[derive(Debug, Args)]
pub(crate) struct BugArgs {
    /// The loop: its id, or any beginning of it that fits one loop only [default: @, the newest of this folder]
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// Where to write it; `-` is stdout [default: loop-bug-ID.txt in the current folder]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Add the ends of the last outputs of agent and gates: read them before you show them to others
    #[arg(long)]
    with_output: bool,
    /// Say as JSON what was written
    #[arg(long)]
    json: bool,
}

/// Fields of the journal and of the status that quote what an agent or a gate wrote.
const OF_OUTPUTS: [&str; 6] = ["excerpt", "last_text", "signature", "error", "said", "question"];

/// A part of the file.
struct BugPart {
    name: &'static str,
    text: String,
}

/// One loop that the report is about.
struct BugLoop {
    folder: RunFolder,
    state: Option<RunState>,
}

pub(crate) fn run(context: &Context, args: &BugArgs) -> Done {
    let found = which(context, args)?;
    let state = found.as_ref().and_then(|found| found.state.as_ref());
    let mut redaction = bug_report::redaction(&context.home, state);
    if !args.with_output {
        redaction.private.extend(OF_OUTPUTS.map(str::to_owned));
    }
    let (parts, left) = parts(context, args, found.as_ref());
    let name = found.as_ref().map_or("machine".to_owned(), |found| found.folder.id.to_string());
    let output = args.output.clone().unwrap_or_else(|| PathBuf::from(format!("loop-bug-{name}.txt")));
    let is_stdout = output.as_os_str() == "-";
    if is_stdout && args.json {
        return Err(CommandError::new(Kind::Wrong, "-o - and --json do not go together")
            .because("both answer on stdout")
            .hint("loop bug -o FILE --json"));
    }
    let whole = whole(&parts, &left, &redaction);
    let names: Vec<&str> = parts.iter().map(|part| part.name).collect();
    if is_stdout {
        context.printer.answer(&whole);
    } else {
        if args.output.is_none() && output.exists() {
            std::fs::remove_file(&output).ok();
        }
        let workspace = state.and_then(|state| state.spec.as_ref()).map(|spec| path_of(&spec.workspace.path));
        output_file::write(workspace.as_slice(), &output, &whole)?;
    }
    if args.json {
        let id = found.as_ref().map(|found| found.folder.id.to_string());
        context.printer.json(&json!({
            "version": JSON_VERSION, "id": id, "file": text_of(&output), "bytes": whole.len(), "parts": names,
            "left_out": left,
        }));
        return Ok(0);
    }
    let mut said = String::new();
    if !is_stdout {
        said.push_str(&format!(
            "written: {} ({})\n",
            text::clean(text_of(&output).as_bytes()),
            text::size(whole.len() as u64)
        ));
    }
    said.push_str(&format!("  in it:    {}\n", names.join(", ")));
    left.iter().for_each(|left| said.push_str(&format!("  not in it: {left}\n")));
    said.push_str(
        "  removed:  values of secret variables, what looks like a key or a password, your name and folders\n",
    );
    said.push_str("read it before you attach it: no program knows every secret. Nothing was sent.\n");
    if is_stdout {
        context.printer.error(&said)
    } else {
        context.printer.answer(&said)
    }
    Ok(0)
}

fn which(context: &Context, args: &BugArgs) -> Result<Option<BugLoop>, CommandError> {
    let folder = match args.id.as_deref() {
        // Without a loop the report is about the machine.
        None => context.find_or_here(None, Wanted::Newest).ok(),
        id => Some(context.find_or_here(id, Wanted::Newest)?),
    };
    // A journal that cannot be read is a reason to report a bug.
    Ok(folder.map(|folder| BugLoop { state: journal::read(&folder.path).ok().map(|reading| reading.fold()), folder }))
}

fn parts(context: &Context, args: &BugArgs, found: Option<&BugLoop>) -> (Vec<BugPart>, Vec<String>) {
    let mut parts = vec![
        BugPart { name: "program and platform", text: machine() },
        BugPart { name: "doctor", text: doctor::plain(context) },
        BugPart { name: "settings of this folder", text: settings(context) },
    ];
    let mut left = vec!["contents of your files, prompts, differences, environment, hidden gates".to_owned()];
    let Some(found) = found else {
        left.push("a loop: none was started in this folder (name one: loop bug ID)".to_owned());
        return (parts, left);
    };
    let folder = &found.folder;
    match (status::json_of(context, folder), journal::read(&folder.path)) {
        (Ok(value), _) => {
            let text = serde_json::to_string_pretty(&value).unwrap_or_default();
            parts.push(BugPart { name: "status of the loop", text });
        }
        (Err(error), Err(read)) => {
            let text = format!("{}{}", error.render(), read_error(&read).render());
            parts.push(BugPart { name: "why the loop cannot be read", text });
        }
        (Err(error), Ok(_)) => parts.push(BugPart { name: "why the loop cannot be shown", text: error.render() }),
    }
    parts.push(BugPart { name: "journal", text: bug_report::journal(folder) });
    match (&found.state, args.with_output) {
        (Some(state), true) => {
            let outputs = bug_report::outputs(folder, state);
            let text = outputs.iter().map(|output| format!("--- {}\n{}\n", output.name, output.text)).collect();
            parts.push(BugPart { name: "ends of the last outputs", text });
        }
        (_, _) => left.push("what the agent and the gates wrote (--with-output adds their ends)".to_owned()),
    }
    (parts, left)
}

fn machine() -> String {
    let at = time::rfc3339(clock::now().wall_ms);
    format!("loop {}\nplatform {}\nat {at}\n", env!("CARGO_PKG_VERSION"), bug_report::platform())
}

/// Every setting that is not a default, with its origin.
fn settings(context: &Context) -> String {
    let resolved = match config::here(context) {
        Ok(resolved) => resolved,
        Err(error) => return error.render(),
    };
    let mut out = String::new();
    for key in catalogue() {
        let Some(origin) = resolved.origin(key).filter(|origin| origin.layer != Layer::Default) else { continue };
        // Of variables for the agent only the names are shown.
        let value = match key.name {
            "agent_env" => resolved
                .text(key)
                .split([',', '\n'])
                .map(|pair| pair.split('=').next().unwrap_or_default())
                .collect::<Vec<_>>()
                .join(","),
            _ => text::one_line(resolved.text(key), 300),
        };
        out.push_str(&format!("{} = {value}  ({origin})\n", key.name));
    }
    if out.is_empty() { "all are defaults\n".to_owned() } else { out }
}

/// The file: a page of text.
fn whole(parts: &[BugPart], left: &[String], redaction: &Redaction) -> String {
    let mut out = String::from(
        "A report of a bug of loop, made by `loop bug`. Secrets were removed as far as loop knows them.\n\n",
    );
    for part in parts {
        out.push_str(&format!("===== {} =====\n", part.name));
        let text = match serde_json::from_str::<serde_json::Value>(&part.text) {
            Ok(mut value) if value.is_object() => {
                redaction.value(&mut value);
                serde_json::to_string_pretty(&value).unwrap_or_default() + "\n"
            }
            Ok(_) | Err(_) => redaction.text(&part.text),
        };
        out.push_str(&text);
        out.push('\n');
    }
    out.push_str("===== not in it =====\n");
    left.iter().for_each(|left| out.push_str(&format!("{left}\n")));
    out
}
