//! `loop template`: list, show and check templates. Making one is in `template_create`.
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use loop_core::settings::{Given, Layer, SettingsError};
use loop_core::template::{Template, TemplateLayer};
use loop_core::text;
use loop_core::view::JSON_VERSION;
use loop_host::paths::text_of;
use loop_host::project_scan::proposals;
use loop_host::settings_files;
use loop_host::templates::{self, KnownTemplate, TemplateSource};
use serde_json::{Value, json};

use super::template_create::{self, CreateArgs};
use crate::context::{Context, Done, files_error, settings_error};
use crate::render::error::{CommandError, Kind};
use crate::render::printer::Paint;
use crate::render::table::table_on_screen;

/// List, show, make and check templates for loop start --template
#[derive(Debug, Args)]
pub(crate) struct TemplateArgs {
    #[command(subcommand)]
    verb: TemplateVerb,
}

#[derive(Debug, Subcommand)]
enum TemplateVerb {
    /// List all templates that can be used here
    #[command(visible_alias = "ls")]
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show a template, and what it would find in this project
    Show {
        /// Its name
        name: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Make a template of your own: from a loop, from another template, or in your editor
    Create(CreateArgs),
    /// Check templates: one by its name or file, or all of yours and of this project
    Check {
        /// A file, or the name of a template
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn run(context: &Context, args: &TemplateArgs) -> Done {
    match &args.verb {
        TemplateVerb::List { json } => list(context, *json),
        TemplateVerb::Show { name, json } => show(context, name, *json),
        TemplateVerb::Create(args) => template_create::run(context, args),
        TemplateVerb::Check { file, json } => check(context, file.as_deref(), *json),
    }
}

/// The folder whose templates count, too.
pub(super) fn here() -> Option<PathBuf> {
    std::env::current_dir().ok().and_then(|folder| folder.canonicalize().ok())
}

/// Where it comes from, in words for people.
fn from(context: &Context, known: &KnownTemplate) -> String {
    let mut words = known.source.word().to_owned();
    if !known.is_approved(&context.home) {
        words.push_str(", not approved");
    }
    let replaced: Vec<&str> = known.replaces.iter().map(|source| source.word()).collect();
    if !replaced.is_empty() {
        words.push_str(&format!(", in place of {}", replaced.join(" and ")));
    }
    words
}

fn list(context: &Context, json: bool) -> Done {
    let all = templates::all(&context.home, here().as_deref())?;
    if json {
        let rows: Vec<Value> = all.iter().map(|known| listed(context, known)).collect();
        context.printer.json(&json!({"version": JSON_VERSION, "templates": rows}));
        return Ok(0);
    }
    let row = |known: &KnownTemplate| {
        let description = match known.read() {
            Ok(template) => template.description,
            Err(error) => format!("wrong: {error}"),
        };
        vec![known.name.clone(), from(context, known), text::escaped(&description)]
    };
    let rows: Vec<Vec<String>> = all.iter().map(row).collect();
    context.printer.answer(&table_on_screen(&["NAME", "FROM", "WHAT IT IS FOR"], &rows));
    context.printer.progress("use one: loop start \"…\" --template NAME · see one: loop template show NAME\n");
    Ok(0)
}

fn listed(context: &Context, known: &KnownTemplate) -> Value {
    let read = known.read();
    json!({
        "name": known.name,
        "from": known.source.word(),
        "file": known.file.as_deref().map(text_of),
        "replaces": known.replaces.iter().map(|source| source.word()).collect::<Vec<_>>(),
        "approved": known.is_approved(&context.home),
        "description": read.as_ref().ok().map(|template| template.description.clone()),
        "error": read.err().map(|error| error.to_string()),
    })
}

fn show(context: &Context, name: &str, json: bool) -> Done {
    let known = templates::find(&context.home, here().as_deref(), name)?;
    let template = known.read().map_err(|error| settings_error(&error))?;
    let found = here().and_then(|folder| proposals(&folder).ok()).unwrap_or_default();
    let layer = template.layer(&found, &[]);
    if json {
        context.printer.json(&as_value(context, &known, &template, &layer));
        return Ok(0);
    }
    let printer = context.printer;
    let head = |text: &str| printer.paint(Paint::Head, text);
    let mut shown = format!("{} ({})\n  {}\n", head(name), from(context, &known), text::escaped(&template.description));
    if let Some(file) = &known.file {
        shown.push_str(&format!("  {}\n", text_of(file)));
    }
    if !template.phases.is_empty() {
        shown.push_str(&format!("\n{}\n", head("loops, one after the other")));
        for phase in &template.phases {
            let of = templates::find(&context.home, here().as_deref(), phase)?;
            let of = of.read().map_err(|error| settings_error(&error))?;
            shown.push_str(&format!("  {phase}: {}\n", text::escaped(&of.description)));
        }
        shown.push_str(&format!("\neach of them: loop template show {}\n", template.phases.join(", ")));
        printer.answer(&shown);
        return Ok(0);
    }
    shown.push_str(&format!("\n{}\n{}", head("gates, as found in this folder"), gates(&template, &layer)));
    shown.push_str(&format!("\n{}\n", head("settings")));
    for Given { key, value, .. } in template.given.iter().filter(|given| !is_gate(given)) {
        shown.push_str(&format!("  {} = {}\n", key.name, text::escaped(&value.replace('\n', ", "))));
    }
    shown.push_str(&format!("\n{}\n", head("what the agent gets ({{prompt}} is your prompt)")));
    template.goal.lines().for_each(|line| shown.push_str(&format!("  {}\n", text::escaped(line))));
    printer.answer(&shown);
    Ok(0)
}

fn is_gate(given: &Given) -> bool {
    ["promise", "gate"].contains(&given.key.name)
}

/// The gates of a template: its own, what was found, and what was not.
fn gates(template: &Template, layer: &TemplateLayer) -> String {
    let mut lines = String::new();
    for given in template.given.iter().filter(|given| is_gate(given)) {
        let words = if given.key.name == "promise" { format!("promise: {}", given.value) } else { given.value.clone() };
        lines.push_str(&format!("  {}\n", text::escaped(&words)));
    }
    for wanted in &template.wanted {
        let watch =
            if wanted.options.iter().any(|(key, value)| key == "watch" && value == "true") { ", watched" } else { "" };
        let (name, word) = (&wanted.name, wanted.find.word());
        match layer.found.iter().find(|found| found.name == *name) {
            Some(found) => {
                let (command, reason) = (text::escaped(&found.command), text::escaped(&found.reason));
                lines.push_str(&format!("  {name}: {command} ({reason}{watch})\n"));
            }
            None if wanted.needed => {
                lines.push_str(&format!("  {name}: no command for {word} was found; give --promise\n"))
            }
            None => lines.push_str(&format!("  {name}: no command for {word} was found; it is left out\n")),
        }
    }
    let named = |name: &String| template.wanted.iter().any(|wanted| wanted.name == *name);
    for found in layer.found.iter().filter(|found| !named(&found.name)) {
        let (command, reason) = (text::escaped(&found.command), text::escaped(&found.reason));
        lines.push_str(&format!("  {}: {command} ({reason})\n", found.name));
    }
    lines
}

fn as_value(context: &Context, known: &KnownTemplate, template: &Template, layer: &TemplateLayer) -> Value {
    let mut value = listed(context, known);
    let settings = template.given.iter().map(|given| (given.key.name.to_owned(), json!(given.value)));
    let wanted =
        template.wanted.iter().map(|wanted| json!({"gate": wanted.name, "find": wanted.find, "needed": wanted.needed}));
    let found =
        layer.found.iter().map(|gate| json!({"gate": gate.name, "command": gate.command, "reason": gate.reason}));
    value["version"] = json!(JSON_VERSION);
    value["goal"] = json!(template.goal);
    value["settings"] = Value::Object(settings.collect());
    value["phases"] = json!(template.phases);
    value["wanted"] = wanted.collect();
    value["found"] = found.collect();
    value["text"] = json!(known.text);
    value
}

/// A template that was checked.
struct Checked {
    name: String,
    place: String,
    error: Option<SettingsError>,
}

fn check(context: &Context, file: Option<&Path>, json: bool) -> Done {
    let checked = match file {
        Some(file) => vec![check_one(context, file)?],
        None => {
            let all = templates::all(&context.home, here().as_deref())?;
            let theirs = all.iter().filter(|known| known.source != TemplateSource::BuiltIn);
            theirs
                .map(|known| Checked { name: known.name.clone(), place: known.place(), error: known.read().err() })
                .collect()
        }
    };
    let first = checked.iter().find_map(|checked| checked.error.as_ref());
    if json {
        let row = |checked: &Checked| {
            let error = checked.error.as_ref();
            json!({"name": checked.name, "file": checked.place, "fine": error.is_none(),
                "error": error.map(ToString::to_string), "why": error.map(SettingsError::why)})
        };
        let rows: Vec<Value> = checked.iter().map(row).collect();
        context.printer.json(&json!({"version": JSON_VERSION, "fine": first.is_none(), "templates": rows}));
        return Ok(if first.is_none() { 0 } else { CommandError::new(Kind::Wrong, "").code() });
    }
    for Checked { name, place, error } in &checked {
        if error.is_none() {
            context.printer.answer(&format!("{name} is fine ({place})\n"));
        }
    }
    if checked.is_empty() {
        let folder = templates::own_folder(&context.home)?;
        context.printer.answer(&format!("there is no template in {}\n", text_of(&folder)));
    }
    let wrong: Vec<&SettingsError> = checked.iter().filter_map(|checked| checked.error.as_ref()).collect();
    match wrong.split_last() {
        None => Ok(0),
        Some((last, others)) => {
            others.iter().for_each(|error| context.printer.error(&settings_error(error).render()));
            Err(settings_error(last))
        }
    }
}

fn check_one(context: &Context, file: &Path) -> Result<Checked, CommandError> {
    let is_file = file.components().count() > 1 || file.extension().is_some_and(|end| end == "toml");
    if !is_file {
        let known = templates::find(&context.home, here().as_deref(), &text_of(file))?;
        return Ok(Checked { name: known.name.clone(), place: known.place(), error: known.read().err() });
    }
    let place = text_of(file);
    let name = file.file_stem().map(|stem| text_of(Path::new(stem))).unwrap_or_default();
    let Some(text) = settings_files::text_of(file).map_err(|error| files_error(&error))? else {
        return Err(CommandError::new(Kind::Wrong, format!("there is no file {place}")).hint("loop template list"));
    };
    let error = Template::read(&name, &text, &place, Layer::Template).err();
    Ok(Checked { name, place, error })
}
