//! `loop rollback`: make the workspace what a checkpoint holds.
use std::io::IsTerminal;
use std::path::{Component, Path, PathBuf};

use clap::Args;
use loop_core::control::Ask;
use loop_core::run::{Event, FileAction, Order, Request, RollbackReport, RunState, Target};
use loop_core::view::JSON_VERSION;
use loop_core::{text, time};
use loop_host::checkpoint::{RollbackPreview, preview_rollback};
use loop_host::index::{self, Listed};
use loop_host::launch::{self, RequestOutcome};
use loop_host::paths::{path_of, text_of};
use loop_host::run_folder::RunFolder;
use serde_json::json;

use super::{ask, checkpoint_lookup, plan};
use crate::args::IdArg;
use crate::context::{Context, Done, read_error};
use crate::here::{WORDS, Wanted};
use crate::kept::KeptCheckpoints;
use crate::render::error::{CommandError, Kind};
use crate::render::live::{Tense, rolled_back, rolled_back_file};
use crate::render::printer::text_width;
use crate::render::wrap::hanging;

/// Roll back to a checkpoint: every file in scope is what it was, byte for byte; files made since are gone.
/// With -- PATH… only these files or folders.
/// What is there now becomes a checkpoint first: `loop rollback ID undo` restores it
#[derive(Debug, Args)]
pub(crate) struct RollbackArgs {
    #[command(flatten)]
    id: IdArg,
    /// initial, the number of an iteration, a name, or undo. One word alone is the checkpoint, of the newest loop of this
    /// folder
    #[arg(value_name = "CHECKPOINT")]
    checkpoint: Option<String>,
    /// Of a running loop: end the agent and roll back at once
    #[arg(long, conflicts_with = "after")]
    now: bool,
    /// Of a running loop: roll back when this iteration is done
    #[arg(long)]
    after: bool,
    /// Of a running loop: return when that is done
    #[arg(long)]
    wait: bool,
    /// Restore the repository's own branches, HEAD and index too, as they were before iteration 1
    #[arg(long)]
    restore_git: bool,
    /// Say which files would be written and removed, and which of these are of your own; change nothing
    #[arg(long, conflicts_with_all = ["now", "after", "wait", "restore_git"])]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Restore only these files or folders
    #[arg(last = true, value_name = "PATH", conflicts_with = "restore_git")]
    paths: Vec<PathBuf>,
}

/// More paths than this are not given to a rollback, nor longer ones together: they must fit into a record.
const PATHS_MAX: usize = 100;
const PATHS_BYTES_MAX: usize = 8 * 1024;

/// What a rollback of a plan cannot do: it would be done in another way than was asked for.
fn refuse_for_plan(args: &RollbackArgs, folder: &RunFolder) -> Result<(), CommandError> {
    let typed = [
        (!args.paths.is_empty(), "paths"),
        (args.dry_run, "--dry-run"),
        (args.restore_git, "--restore-git"),
        (args.now, "--now"),
        (args.after, "--after"),
        (args.wait, "--wait"),
    ];
    let Some((_, name)) = typed.into_iter().find(|(is_typed, _)| *is_typed) else { return Ok(()) };
    let id = &folder.id;
    Err(CommandError::new(Kind::Wrong, format!("the rollback of a plan does not take {name}"))
        .because(format!("{id} is a plan: it is rolled back as a whole, when it has ended"))
        .hint(format!("loop rollback {id} initial; what it changed: loop diff {id}")))
}

/// The plan that is meant, and its checkpoint: a checkpoint alone is one of the newest plan of this folder, where no
/// loop is newer.
fn of_plan<'a>(context: &Context, id: Option<&'a str>, word: Option<&'a str>) -> Option<(RunFolder, &'a str)> {
    match (id, word) {
        (id, Some(word)) => context.plan_or_here(id, Wanted::Newest).map(|plan| (plan, word)),
        (Some(word), None) if !WORDS.contains(&word) && context.ids_of(word).is_empty() => {
            context.plan_here(Wanted::Newest).map(|plan| (plan, word))
        }
        (_, None) => None,
    }
}

pub(crate) fn run(context: &Context, args: &RollbackArgs) -> Done {
    let (id, word) = (args.id.id.as_deref(), args.checkpoint.as_deref());
    if let Some((folder, word)) = of_plan(context, id, word) {
        refuse_for_plan(args, &folder)?;
        return plan::rollback(context, &folder, word, args.json);
    }
    let (folder, word) = checkpoint_lookup::find_loop(context, id, word, "rollback")?;
    let (to, state) = checkpoint_lookup::find(&folder, word)?;
    let paths = wanted_paths(&state, &args.paths)?;
    let newer = newer_loops(context, &folder, &state);
    let mut target = Target { to, now: args.now, git: args.restore_git, paths };
    if args.dry_run {
        return preview(context, args, &folder, &target, &newer);
    }
    let there = if args.paths.is_empty() { "" } else { " in these paths" };
    for newer in newer.iter().filter(|_| !args.json) {
        context
            .printer
            .progress(&format!("note: loop {newer} worked in this folder later: what it changed{there} goes, too\n"));
    }
    if folder.holder().is_some() {
        if !state.is_paused() {
            target.now = args.now || (!args.after && ask_when(context, &folder)?);
        }
        let seq = ask::ask(&folder, Ask::Rollback(target.clone()), "loop rollback")?;
        if !target.now && !state.is_paused() && !args.wait {
            if args.json {
                context.printer.json(&json!({"version": 1, "id": folder.id, "asked": target, "noted": seq}));
                return Ok(0);
            }
            return ask::told(
                context,
                &folder,
                &format!("rolls back to {} after this iteration", target.to),
                seq,
                false,
            );
        }
        let came = ask::came(&folder, seq, |order| matches!(order, Order::Rollback { .. }))?;
        return came.map_or(Ok(2), |came| answered(context, args, &folder, came));
    }
    let event = Event::Requested { request: Request::Rollback(target), by: "loop rollback".to_owned() };
    context.printer.progress("taking a checkpoint of what is there, then rolling back\n");
    let notes = &mut |note| context.print_notes(&[note]);
    let came = launch::carry_out_request(&context.home, &folder, "loop rollback", event, notes)?;
    answered(context, args, &folder, came)
}

fn answered(context: &Context, args: &RollbackArgs, folder: &RunFolder, came: RequestOutcome) -> Done {
    match came {
        RequestOutcome::RolledBack(back) => {
            told(context, args, folder, &back)?;
            // Done, but for the repository: a script must not take that for all of it.
            Ok(if back.incomplete { 3 } else { 0 })
        }
        RequestOutcome::Refused(why) => {
            Err(CommandError::new(Kind::Wrong, "nothing was rolled back and nothing changed").because(why).hint(
                format!(
                    "where that can be fixed, give the same command again; all checkpoints: loop checkpoint list {}",
                    folder.id
                ),
            ))
        }
        RequestOutcome::Blocked(why) => {
            Err(CommandError::new(Kind::Unable, "the rollback was begun and is not finished")
                .because(why)
                .hint(format!("fix that and give the same command again, or: loop rollback {} undo", folder.id)))
        }
        RequestOutcome::Saved(_) => Err(CommandError::new(Kind::Unable, "the rollback was cancelled")),
    }
}

fn told(context: &Context, args: &RollbackArgs, folder: &RunFolder, back: &RollbackReport) -> Result<(), CommandError> {
    let state = loop_host::journal::read(&folder.path).map_err(|error| read_error(&error))?.fold();
    let until = KeptCheckpoints::of(&context.home, folder, &state).until(&back.undo, &state);
    if args.json {
        let mut all = serde_json::to_value(back).unwrap_or_default();
        all["version"] = JSON_VERSION.into();
        all["id"] = folder.id.as_str().into();
        all["undo_kept_until"] = until.map(time::rfc3339).into();
        context.printer.json(&all);
    } else {
        context.printer.answer(&format!("{}\n", rolled_back(back, folder.id.as_str(), until)));
    }
    Ok(())
}

/// What a rollback would do.
fn preview(context: &Context, args: &RollbackArgs, folder: &RunFolder, target: &Target, newer: &[String]) -> Done {
    let Target { to, paths, .. } = target;
    let (place, _) = checkpoint_lookup::checkpoints_of(folder)?;
    let RollbackPreview { files, remarks } = preview_rollback(&place, to, paths).map_err(|error| {
        CommandError::new(Kind::Wrong, "what a rollback would do cannot be told")
            .because(error.to_string())
            .hint(format!("loop checkpoint list {}", folder.id))
    })?;
    let count = |what| files.iter().filter(|file| file.what == what).count();
    let (written, removed) = (count(FileAction::Written), count(FileAction::Removed));
    if args.json {
        context.printer.json(
            &json!({"version": JSON_VERSION, "id": folder.id, "dry_run": true, "to": to, "paths": paths,
                                     "written": written, "removed": removed, "newer_loops": newer, "files": files,
                                     "remarks": remarks}),
        );
        return Ok(0);
    }
    for newer in newer {
        context
            .printer
            .progress(&format!("note: loop {newer} worked in this folder later: what it changed would go, too\n"));
    }
    for file in &files {
        context.printer.answer(&format!("{}\n", rolled_back_file(file, Tense::Would)));
    }
    remarks.iter().for_each(|remark| context.printer.answer(&format!("  {remark}\n")));
    let written = if written == 1 { "1 file".to_owned() } else { format!("{written} files") };
    context
        .printer
        .answer(&format!("rolling back to {to}: {written} would be written, {removed} removed; nothing was changed\n"));
    Ok(0)
}

/// The paths from the workspace that are meant. A path that is not absolute is from this folder, where that is in the
/// workspace, else from the workspace.
fn wanted_paths(state: &RunState, words: &[PathBuf]) -> Result<Vec<String>, CommandError> {
    let Some(spec) = state.spec.as_ref().filter(|_| !words.is_empty()) else { return Ok(Vec::new()) };
    let workspace = path_of(&spec.workspace.path);
    let here = std::env::current_dir().and_then(std::fs::canonicalize).unwrap_or_default();
    let below = here.strip_prefix(&workspace).map(Path::to_owned).unwrap_or_default();
    let mut paths = Vec::new();
    for word in words {
        let wrong = |why: &str| {
            CommandError::new(Kind::Wrong, format!("{} cannot be restored", text_of(word)))
                .because(why)
                .hint("name files or folders of the workspace, such as src/main.rs; all of it: leave -- PATH out")
        };
        let inside = match word.strip_prefix(&workspace) {
            Ok(inside) => inside.to_owned(),
            Err(_) if word.is_absolute() => return Err(wrong("it is not in the workspace")),
            Err(_) => below.join(word),
        };
        let mut parts: Vec<Vec<u8>> = Vec::new();
        for part in inside.components() {
            match part {
                Component::Normal(name) => parts.push(name.as_encoded_bytes().to_vec()),
                Component::ParentDir if parts.pop().is_none() => return Err(wrong("it is not in the workspace")),
                Component::ParentDir | Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
            }
        }
        match parts.first().map(Vec::as_slice) {
            None => return Err(wrong("it is the whole workspace")),
            Some(b".git") => return Err(wrong("no checkpoint has your own repository; see --restore-git")),
            Some(_) => paths.push(text::escape_path(&parts.join(&b'/'))),
        }
    }
    if paths.len() > PATHS_MAX || paths.iter().map(String::len).sum::<usize>() > PATHS_BYTES_MAX {
        return Err(CommandError::new(Kind::Wrong, "these are too many paths")
            .because(format!("{PATHS_MAX} at most, and {PATHS_BYTES_MAX} bytes"))
            .hint("name folders"));
    }
    Ok(paths)
}

/// Loops that worked in the same folder after this one, the newest first.
fn newer_loops(context: &Context, folder: &RunFolder, state: &RunState) -> Vec<String> {
    let (Ok(listed), Some(spec)) = (index::list(&context.home), &state.spec) else { return Vec::new() };
    let own = listed.iter().find(|other| other.run.id == folder.id).map(|own| own.times);
    let Some(own) = own else { return Vec::new() };
    let workspace = path_of(&spec.workspace.path);
    let is_newer = |other: &&Listed| {
        let row = other.row.as_ref().ok();
        // Also one of a folder below it.
        let same = row.is_some_and(|row| path_of(&row.workspace).starts_with(&workspace) && row.iteration > 0);
        same && other.run.id != folder.id && other.times.created_ms > own.created_ms
    };
    let mut newer: Vec<(u64, String)> =
        listed.iter().filter(is_newer).map(|other| (other.times.created_ms, other.run.id.to_string())).collect();
    newer.sort_unstable_by(|one, other| other.cmp(one));
    newer.into_iter().map(|(_, id)| id).collect()
}

/// A person at a terminal is asked; a script waits for the iteration.
fn ask_when(context: &Context, folder: &RunFolder) -> Result<bool, CommandError> {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Ok(false);
    }
    let question =
        format!("loop {} is running: roll back [n]ow, which ends the agent, or [a]fter the iteration? [a]", folder.id);
    context.printer.error(&format!("{} ", hanging(&question, 0, text_width())));
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).map_err(|error| CommandError::of(Kind::Wrong, &error))?;
    match line.trim() {
        "n" | "now" => Ok(true),
        "" | "a" | "after" => Ok(false),
        other => Err(CommandError::new(Kind::Wrong, format!("{other:?} is not an answer"))
            .because("nothing was asked of the loop")
            .hint("say --now or --after")),
    }
}
