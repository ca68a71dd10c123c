//! `loop template create`: a template of the user's own.
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use clap::Args;
use loop_core::template::{self, PROMPT_MARK};
use loop_core::text::one_line;
use loop_core::view::JSON_VERSION;
use loop_host::launch;
use loop_host::paths::text_of;
use loop_host::signals::let_interrupts_end;
use loop_host::templates::{self, KnownTemplate, TemplateSource};
use serde_json::json;

use super::template::here;
use crate::context::{Context, Done, read_error, settings_error};
use crate::here::Wanted;
use crate::person::can_ask;
use crate::render::error::{CommandError, Kind};

/// Make a template of your own
#[derive(Debug, Args)]
pub(crate) struct CreateArgs {
    /// Its name
    name: String,
    /// Take the settings of this loop (@ is the newest of this folder), or a copy of this template
    #[arg(long, value_name = "ID")]
    from: Option<String>,
    /// Do not open an editor
    #[arg(long)]
    no_edit: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(context: &Context, args: &CreateArgs) -> Done {
    launch::check_person(&context.home, "a template cannot be made")?;
    let name = &args.name;
    if !templates::is_name(name) {
        return Err(CommandError::new(Kind::Wrong, format!("{name:?} cannot be the name of a template"))
            .because("it is also the name of a file: letters, digits, dots, dashes and underscores, at most 64")
            .hint("loop template create my-bugfix"));
    }
    let folder = templates::own_folder(&context.home)?;
    let file = folder.join(format!("{name}.toml"));
    if file.symlink_metadata().is_ok() {
        return Err(CommandError::new(Kind::Wrong, format!("there is a template {name} of yours"))
            .because(format!("{} is there, and nothing overwrites it", text_of(&file)))
            .hint(format!("edit that file, then: loop template check {name}")));
    }
    let text = match &args.from {
        Some(from) => text_from(context, from)?,
        None => template::starting_text(name),
    };
    write(&folder, &file, &text)?;
    let edited = args.from.is_none() && !args.no_edit && !args.json && can_ask() && edit(&file);
    report(context, args, &file, edited)
}

/// The text of another template, or one that is made from a loop.
fn text_from(context: &Context, from: &str) -> Result<String, CommandError> {
    let all = templates::all(&context.home, here().as_deref())?;
    if let Some(known) = all.iter().find(|known| known.name == from) {
        return if known.is_approved(&context.home) { Ok(known.text.clone()) } else { Err(not_approved(known)) };
    }
    let run = context.find_or_here(Some(from), Wanted::Newest)?;
    let state = loop_host::journal::read(&run.path).map_err(|error| read_error(&error))?.fold();
    let Some(spec) = &state.spec else {
        return Err(CommandError::new(Kind::Wrong, format!("loop {} has no settings", run.id)).hint("loop list"));
    };
    // The task of a loop is what its template made of the prompt.
    let of_run = spec.settings.text(loop_core::settings::keys::template());
    let of_run = all.iter().find(|known| known.name == of_run && known.is_approved(&context.home));
    let goal = of_run.and_then(|known| known.read().ok()).map(|template| template.goal);
    let task = one_line(&spec.goal.head, 400);
    template::text_of_run(run.id.as_str(), &spec.settings, &task, goal.as_deref().or(Some(PROMPT_MARK)))
        .map_err(|error| settings_error(&error))
}

/// A copy would be the user's own template, which needs no approval and follows no rules for project files.
fn not_approved(known: &KnownTemplate) -> CommandError {
    let name = &known.name;
    CommandError::new(Kind::Wrong, format!("{} is not approved as it is now", known.place()))
        .because("it comes with the project, and a copy of it would be your own template, which needs no approval")
        .hint(format!("read it: loop template show {name}"))
        .hint(format!("approve it by a start that uses it: loop start \"…\" --template {name} --approve"))
}

fn write(folder: &Path, file: &Path, text: &str) -> Result<(), CommandError> {
    let write = || {
        fs::create_dir_all(folder)?;
        let mut out = fs::OpenOptions::new().write(true).create_new(true).open(file)?;
        out.write_all(text.as_bytes())
    };
    write().map_err(|error| {
        CommandError::new(Kind::Wrong, format!("cannot write {}", text_of(file)))
            .because(error.to_string())
            .hint("make the folder writable, or set LOOP_TEMPLATES_DIR")
    })
}

/// Opens the user's editor, if there is one, and waits for its end.
fn edit(file: &Path) -> bool {
    let editor =
        ["VISUAL", "EDITOR"].into_iter().find_map(|name| std::env::var_os(name).filter(|value| !value.is_empty()));
    let Some(editor) = editor else { return false };
    let mut line = editor;
    line.push(" \"$1\"");
    let_interrupts_end(true);
    let ended = Command::new("/bin/sh").arg("-c").arg(line).arg("sh").arg(file).status();
    let_interrupts_end(false);
    ended.is_ok_and(|status| status.success())
}

/// Says what was made. A file that is wrong stays as it is: nothing that was typed is lost.
fn report(context: &Context, args: &CreateArgs, file: &Path, edited: bool) -> Done {
    let known = templates::find(&context.home, None, &args.name)?;
    let error = known.read().err();
    if args.json {
        let error = error.as_ref().map(ToString::to_string);
        let answer = json!({"version": JSON_VERSION, "name": args.name, "file": text_of(file), "error": error});
        context.printer.json(&answer);
    }
    if let Some(error) = error {
        let hint = format!("{} stays as it is; edit it, then: loop template check {}", text_of(file), args.name);
        return Err(settings_error(&error).hint(hint));
    }
    if args.json {
        return Ok(0);
    }
    let what = if edited || args.from.is_some() { "wrote" } else { "wrote a text to begin with:" };
    context.printer.answer(&format!("{what} {}\n", text_of(file)));
    if known.replaces.contains(&TemplateSource::BuiltIn) {
        context.printer.progress(&format!("note: it is used in place of the built-in template {}\n", args.name));
    }
    let name = &args.name;
    context.printer.progress(&format!("next: loop template show {name} · loop start \"…\" --template {name}\n"));
    Ok(0)
}
