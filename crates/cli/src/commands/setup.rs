//! From flags, files and the environment to settings that hold, with every wrong thing refused first.
use std::path::{Path, PathBuf};

use loop_core::agent::Described;
use loop_core::run::WorkspaceRef;
use loop_core::settings::{
    CheckpointBackend, ContainmentMode, Given, Settings, SettingsError, keys, settle as resolve, too_wide,
};
use loop_host::checkpoint::{BackendChoice, choose};
use loop_host::checkpoint::{check_state_folder, cut_off};
use loop_host::paths::text_of;
use loop_host::process::{Mode, check_proc, try_out};
use loop_host::runs::store_name;
use loop_host::settings_files::{FilesError, USER_FILE, described, gather};
use loop_host::workspace::{self, WorkspaceError};

use super::{agent_setup, approval};
use crate::context::{Context, home_folder, runs_error};
use crate::render::error::{CommandError, Kind};

/// Where a run is to work, and how.
#[derive(Debug)]
pub(crate) struct Setup {
    pub(crate) path: PathBuf,
    pub(crate) place: WorkspaceRef,
    pub(crate) settings: Settings,
    /// The agents that the user's own settings describe.
    pub(crate) described: Vec<Described>,
}

/// Resolves the layers for a workspace and looks at the workspace.
pub(crate) fn set_up(context: &Context, flags: Vec<Given>, workspace: Option<&Path>) -> Result<Setup, CommandError> {
    let asked = match workspace {
        Some(path) => path.to_owned(),
        None => std::env::current_dir()
            .map_err(|error| CommandError::new(Kind::Wrong, "the current folder is gone").because(error.to_string()))?,
    };
    // A folder that is none is a clearer error than a settings file that is not in it.
    workspace::inspect(&asked, None, true).map_err(|error| workspace_error(&error))?;
    let whole = asked.canonicalize().unwrap_or_else(|_| asked.clone());
    let mut project = approval::asked(context, &whole, &flags)?;
    let theirs = project.as_mut().map(|project| std::mem::take(&mut project.described)).unwrap_or_default();
    let mut given = gather(&context.home.config, project).map_err(|error| files_error(&error))?;
    given.extend(flags);
    for vain in too_wide(&given) {
        context.printer.progress(&format!("warning: {vain}: it is not taken ({})\n", vain.why()));
    }
    let settings = settle(given)?;
    let allow_any = settings.values.start.allow_any_workspace;
    let found = workspace::inspect(&asked, home_folder().as_deref(), allow_any);
    let (path, place) = found.map_err(|error| workspace_error(&error))?;
    let mut described = described(&context.home.config).map_err(|error| files_error(&error))?;
    // The user's own word for a name counts.
    described.extend(theirs);
    Ok(Setup { path, place, settings, described })
}

/// What holds in the end. An agent command alone means the custom agent.
pub(crate) fn settle(given: Vec<Given>) -> Result<Settings, CommandError> {
    let resolved = resolve(given).map_err(|error| settings_error(&error))?;
    let mut settings = Settings::of(&resolved);
    let command = resolved.origin(keys::agent_cmd()).filter(|_| settings.values.agent.agent_cmd.is_some());
    let agent = resolved.origin(keys::agent()).map(|origin| origin.layer);
    if let Some(command) = command.filter(|command| Some(command.layer) > agent) {
        settings.put(keys::agent(), "custom".to_owned(), command.clone());
    }
    agent_setup::defaults(&mut settings);
    Ok(settings)
}

/// What the user's own settings say, without a workspace.
pub(crate) fn own_settings(context: &Context) -> Result<Settings, CommandError> {
    let given = loop_host::settings_files::gather(&context.home.config, None).map_err(|error| files_error(&error))?;
    settle(given)
}

/// Refuses a containment that was asked for by name and cannot be had here.
pub(crate) fn check_containment(mode: ContainmentMode) -> Result<(), CommandError> {
    check_proc().map_err(|why| {
        CommandError::new(Kind::Wrong, "what an agent starts could not be ended here")
            .because(why)
            .hint("mount /proc for this namespace: unshare --pid --fork --mount-proc …")
    })?;
    check_mode(mode.word())
}

/// The same for one word.
pub(crate) fn check_mode(word: &str) -> Result<(), CommandError> {
    let Some(mode) = Mode::ALL.into_iter().find(|mode| mode.name() == word) else { return Ok(()) };
    try_out(mode).map_err(|why| {
        CommandError::new(Kind::Wrong, format!("containment {word} cannot be had here"))
            .because(why)
            .hint("leave it out for the best that can be had, and see: loop doctor")
    })
}

/// Refuses a workspace in which a rollback was cut off: it is neither this nor that.
fn refuse_half_done(context: &Context, setup: &Setup) -> Result<(), CommandError> {
    let store = context.home.checkpoints().join(store_name(&setup.path));
    let Some((run, to)) = cut_off(&store).filter(|(run, _)| context.home.runs().join(run).is_dir()) else {
        return Ok(());
    };
    Err(CommandError::new(Kind::Wrong, format!("a rollback of loop {run} is not done in this folder"))
        .because("some of its files are of one state and some of another")
        .hint(format!("loop rollback {run} {to} finishes it, loop rollback {run} undo brings back what was there")))
}

/// How the workspace can be kept. What was asked for and cannot be had is refused.
pub(crate) fn backend(context: &Context, setup: &Setup) -> Result<BackendChoice, CommandError> {
    let asked = setup.settings.values.checkpoint.checkpoint;
    if asked != CheckpointBackend::None {
        check_state_folder(&setup.path, &context.home.state).map_err(|why| {
            CommandError::new(Kind::Wrong, "the workspace cannot be kept here")
                .because(why)
                .hint("set LOOP_HOME to a folder elsewhere, or go without: --checkpoint none")
        })?;
        refuse_half_done(context, setup)?;
    }
    choose(asked, &setup.path).map_err(|why| {
        CommandError::new(Kind::Wrong, format!("--checkpoint {} cannot be had here", asked.word()))
            .because(why)
            .hint("leave it out: auto takes what can be had")
    })
}

/// A text as one word of a shell line.
pub(crate) fn quoted(text: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./=:,+@%".contains(letter);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

pub(crate) fn settings_error(error: &SettingsError) -> CommandError {
    CommandError::new(Kind::Wrong, error.to_string()).because(error.why()).hint(error.hint())
}

pub(crate) fn files_error(error: &FilesError) -> CommandError {
    match error {
        FilesError::Settings(error) => settings_error(error),
        FilesError::Io { path, source } => CommandError::new(Kind::Wrong, format!("cannot read {}", text_of(path)))
            .because(source.to_string())
            .hint("make it a readable file, or move it away"),
        FilesError::Both { .. } => CommandError::new(Kind::Wrong, error.to_string())
            .because("only one of them can hold")
            .hint(format!("move your settings into {USER_FILE} and remove the other")),
    }
}

pub(crate) fn workspace_error(error: &WorkspaceError) -> CommandError {
    let told = CommandError::of(Kind::Wrong, error);
    match error {
        WorkspaceError::Io { .. } => told.hint("name an existing folder with --workspace, or start in one"),
        WorkspaceError::TooWide { .. } => told
            .because("an agent there could reach far more than one project")
            .hint("start in the project's own folder, or say --allow-any-workspace"),
        WorkspaceError::HeldElsewhere { .. } => told
            .because("two loops in one folder, or one inside the other, would undo each other's work")
            .hint("wait for it, or work in another folder"),
        WorkspaceError::Another { .. } => told
            .because("it was moved away, or made anew; what is there now is not the loop's to change")
            .hint("put the folder back where it was, or start a new loop"),
        WorkspaceError::Held { id, .. } => told
            .because("two loops in one folder, or one inside the other, would undo each other's work")
            .hint(format!("loop status {id}")),
        WorkspaceError::Runs(error) => runs_error(error),
    }
}
