//! `loop import`: settings and prompts of other tools.
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::PossibleValuesParser;
use loop_core::import::{ImportPlan, PeerTool, plan_import};
use loop_core::settings::project_from_toml;
use loop_core::view::JSON_VERSION;
use loop_host::import_source::{FoundImport, read_import};
use loop_host::launch::PersonAnswer;
use loop_host::paths::text_of;
use loop_host::settings_files::{PROJECT_FILE, ProjectFile, gather, text_of as file_text};
use serde_json::json;

use super::output_file;
use crate::context::{Context, Done, files_error, settings_error};
use crate::person::ask;
use crate::render::error::{CommandError, Kind};
use crate::render::import::{FileChange, ImportTarget, next_words, report};

/// Bring settings and prompts of another tool
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ImportArgs {
    /// A project, or a file or folder of the other tool in it [default: the current folder]
    path: Option<PathBuf>,
    /// Whose files, where a folder has those of several tools
    #[arg(long, value_name = "TOOL", value_parser = PossibleValuesParser::new(PeerTool::ALL.map(PeerTool::word)))]
    from: Option<String>,
    /// Where to write [default: the folder of the project]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Change files that are there already, without asking
    #[arg(short, long)]
    yes: bool,
    /// Show what would be written, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  loop import --dry-run              what of this project can be imported
  loop import .ralph
  loop import ~/.config/daedalos/loop/config.yaml -o ~/project
  loop import tdd.yaml               a workflow file

Nothing is run, no link is followed, and no file is changed without asking.";

pub(crate) fn run(context: &Context, args: &ImportArgs) -> Done {
    let path = args.path.clone().unwrap_or_else(|| PathBuf::from("."));
    let from = args.from.as_deref().and_then(PeerTool::named);
    let found = read_import(&path, from)?;
    let here = std::env::current_dir().map_err(|error| CommandError::of(Kind::Unable, &error))?;
    let folder = folder_for(args, &found, &here)?;
    let target = ImportTarget { is_here: folder == here.canonicalize().unwrap_or(here), folder };
    let existing = ProjectFile::find(&target.folder).map_err(|error| files_error(&error))?;
    let own = gather(&context.home.config, None).map_err(|error| files_error(&error))?;
    let text = existing.as_ref().map_or("", |file| file.text.as_str());
    let plan = plan_import(&found.source, &own, text).map_err(|error| {
        CommandError::new(Kind::Wrong, error.to_string())
            .because(error.why.clone())
            .hint("fix the line, or name one file: loop import FILE")
    })?;
    let changes = changes(&plan, existing.as_ref(), &target)?;
    let json = |written: bool| {
        json!({
            "version": JSON_VERSION,
            "tool": plan.tool.word(),
            "from": text_of(&found.root),
            "into": text_of(&target.folder),
            "lines": plan.lines,
            "files": plan.accounts,
            "not_read": plan.beside,
            "writes": changes.iter().map(FileChange::json).collect::<Vec<_>>(),
            "written": written,
            "notes": plan.notes,
            "next": next_words(&plan, &target, &found.root),
        })
    };
    if !args.json {
        context.printer.answer(&report(context.printer, &plan, &changes, &found.root));
    }
    let may_write = !args.dry_run && may_write(context, args, &changes)?;
    if may_write {
        write(&target.folder, &changes)?;
    }
    if args.json {
        context.printer.json(&json(may_write));
        return Ok(0);
    }
    for change in changes.iter().filter(|change| !change.is_same()) {
        let said = if may_write { "written:" } else { "would write:" };
        context.printer.answer(&format!("{said} {}\n", text_of(&target.folder.join(&change.name))));
    }
    // The command may name a file that is not there before the import.
    let is_there = may_write || changes.iter().all(FileChange::is_same);
    let label = if is_there { "next" } else { "after the import" };
    context.printer.answer(&format!("{label}: {}\n", next_words(&plan, &target, &found.root)));
    Ok(0)
}

/// Where files are written: a project has its own folder; what belongs to no project goes to the current one.
fn folder_for(args: &ImportArgs, found: &FoundImport, here: &Path) -> Result<PathBuf, CommandError> {
    let folder = match &args.output {
        Some(folder) => folder.clone(),
        None if found.is_users_own || found.source.tool == PeerTool::Daedalos => here.to_owned(),
        None => found.root.clone(),
    };
    match folder.canonicalize() {
        Ok(folder) if folder.is_dir() => Ok(folder),
        Ok(_) | Err(_) => Err(CommandError::new(Kind::Wrong, format!("{} is not a folder", text_of(&folder)))
            .because("the project file and the prompt are written there")
            .hint(format!("mkdir -p {}", loop_core::agent::shell_words::quoted(&text_of(&folder))))),
    }
}

/// The files as they are and as they will be.
fn changes(
    plan: &ImportPlan,
    existing: Option<&ProjectFile>,
    target: &ImportTarget,
) -> Result<Vec<FileChange>, CommandError> {
    let mut all = Vec::new();
    let name = existing.map_or(PROJECT_FILE, |file| file.name);
    let before = existing.map(|file| file.text.clone());
    let text = plan.project_text(before.as_deref().unwrap_or_default(), name);
    if let Some(after) = text.map_err(|error| settings_error(&error))? {
        // What is written can be read again.
        project_from_toml(&after, name, true).map_err(|error| settings_error(&error))?;
        all.push(FileChange { name: name.to_owned(), before, after });
    }
    for file in &plan.files {
        let path = target.folder.join(&file.name);
        if path.is_symlink() {
            return Err(CommandError::new(Kind::Wrong, format!("{} is a link", text_of(&path)))
                .because("import follows no link, so it is not replaced")
                .hint("move it away, or write to another folder: -o DIR"));
        }
        let before = file_text(&path).map_err(|error| files_error(&error))?;
        all.push(FileChange { name: file.name.clone(), before, after: file.text.clone() });
    }
    Ok(all)
}

/// Whether files may be written: new ones always, others after a yes.
fn may_write(context: &Context, args: &ImportArgs, changes: &[FileChange]) -> Result<bool, CommandError> {
    let changed: Vec<&str> = changes.iter().filter(|change| change.is_changed()).map(|change| &*change.name).collect();
    if changed.is_empty() || args.yes {
        return Ok(true);
    }
    let names = changed.join(" and ");
    let answer = if args.json { PersonAnswer::NobodyThere } else { ask(context.printer, &format!("Change {names}?")) };
    match answer {
        PersonAnswer::Yes => Ok(true),
        PersonAnswer::No => {
            context.printer.progress("nothing is written\n");
            Ok(false)
        }
        PersonAnswer::NobodyThere => Err(CommandError::new(Kind::Wrong, format!("{names} would be changed"))
            .because("a file that is there is not changed without a yes, and nothing was written")
            .hint("add --yes, or write to another folder: -o DIR")),
    }
}

/// Writes all files, or none where one is not as it was when it was shown.
fn write(folder: &Path, changes: &[FileChange]) -> Result<(), CommandError> {
    let workspaces = [folder.to_owned()];
    let to_write = || changes.iter().filter(|change| !change.is_same());
    for change in to_write() {
        let path = folder.join(&change.name);
        if file_text(&path).map_err(|error| files_error(&error))? != change.before {
            return Err(CommandError::new(Kind::Wrong, format!("{} was changed meanwhile", text_of(&path)))
                .because("it is not as it was when the change was shown, and nothing was written")
                .hint("run it again: it then shows the change for the file as it is now"));
        }
    }
    for change in to_write() {
        output_file::write(&workspaces, &folder.join(&change.name), &change.after)?;
    }
    Ok(())
}
