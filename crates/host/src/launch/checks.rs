//! Checks of the machine and of the workspace before a run is made or resumed.
use std::path::{Component, Path, PathBuf};

use loop_core::settings::{
    AlertSettings, CheckpointBackend, ContainmentMode, EnvironmentSettings, OutputSettings, Settings, keys,
};
use loop_core::text;

use super::settings::Setup;
use super::start::Prepared;
use crate::changes::check_containment_word;
use crate::checkpoint::{BackendChoice, check_state_folder, choose, cut_off};
use crate::paths::{Home, path_of, text_of};
use crate::process::check_proc;
use crate::publish;
use crate::refusal::LaunchRefusal;
use crate::run_folder::store_name;
use crate::stop_file::StopFile;
use crate::workspace::{FilePlace, can_write_own_file, place_of};

/// Refuses a containment that was asked for by name and is not available here.
pub(super) fn check_containment(mode: ContainmentMode) -> Result<(), LaunchRefusal> {
    check_proc().map_err(|why| {
        LaunchRefusal::wrong("what an agent starts could not be ended here")
            .because(why)
            .hint("mount /proc for this namespace: unshare --pid --fork --mount-proc …")
    })?;
    check_containment_word(mode.word())
}

/// How checkpoints of the workspace are stored. What was asked for and is not available is refused.
pub(super) fn checkpoint_backend(home: &Home, setup: &Setup) -> Result<BackendChoice, LaunchRefusal> {
    let asked = setup.settings.values.checkpoint.checkpoint;
    if asked != CheckpointBackend::None && !setup.is_copy {
        check_state_folder(&setup.path, &home.state).map_err(|why| {
            LaunchRefusal::wrong("cannot checkpoint the workspace here")
                .because(why)
                .hint("set LOOP_HOME to a folder elsewhere, or go without: --checkpoint none")
        })?;
        refuse_unfinished_rollback(home, &setup.path)?;
    }
    choose(asked, &setup.path).map_err(|why| {
        LaunchRefusal::wrong(format!("--checkpoint {} is not available here", asked.word()))
            .because(why)
            .hint("leave it out: auto takes what is available")
    })
}

/// Refuses a workspace in which a rollback was cut off: it is half-restored.
fn refuse_unfinished_rollback(home: &Home, workspace: &Path) -> Result<(), LaunchRefusal> {
    let store = home.checkpoints().join(store_name(workspace));
    let Some((run, to)) =
        cut_off(&store).filter(|(run, _)| [home.runs(), home.plans()].iter().any(|all| all.join(run).is_dir()))
    else {
        return Ok(());
    };
    Err(LaunchRefusal::wrong(format!("a rollback of loop {run} is not done in this folder"))
        .because("some of its files are of one state and some of another")
        .hint(format!("loop rollback {run} {to} finishes it, loop rollback {run} undo brings back what was there")))
}

/// Makes the path of the result file absolute: it counts from where the command was given, also for a resume elsewhere.
pub(super) fn fix_result_path(settings: &mut Settings, workspace: &Path) -> Result<(), LaunchRefusal> {
    let origin = settings.resolved.origin(keys::result()).cloned();
    let Some((asked, origin)) = settings.values.output.result.clone().zip(origin) else { return Ok(()) };
    let path = path_of(&asked);
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let wrong = |why: String| {
        LaunchRefusal::wrong(format!("--result: cannot write {asked}"))
            .because(why)
            .hint("name a plain file in a folder of yours; for events on stdout there is --json")
    };
    can_write_own_file(workspace, &path).map_err(|error| wrong(error.to_string()))?;
    if let Ok(FilePlace::Output(output)) = place_of(workspace, &path) {
        settings.put(keys::result(), output.path().to_owned(), origin);
        return Ok(());
    }
    let (Ok(folder), Some(name), false) = (folder.canonicalize(), path.file_name(), asked == "-") else {
        return Err(wrong("it names no file in an existing folder".to_owned()));
    };
    let value = text_of(&folder.join(name));
    settings.put(keys::result(), value, origin);
    Ok(())
}

/// A stop file that is there already would end the run at once.
pub(super) fn check_stop_file(settings: &OutputSettings, workspace: &Path, clear: bool) -> Result<(), LaunchRefusal> {
    let Some(file) = stop_file(settings, workspace).filter(|_| !clear) else { return Ok(()) };
    Err(LaunchRefusal::wrong(format!("the stop file {} is there", text_of(file.path())))
        .because("it would stop the loop at once; perhaps it is left from an earlier one")
        .hint("remove it, or say --clear-stop"))
}

/// The same for a plan, whose workspace this is. It has no flag that clears it at a resume.
///
/// # Errors
/// When it is there.
pub(crate) fn check_no_stop_file(setting: Option<&str>, workspace: &Path) -> Result<(), LaunchRefusal> {
    let there = setting.map(|setting| StopFile::new(workspace, setting)).filter(StopFile::is_there);
    there.map_or(Ok(()), |file| {
        Err(LaunchRefusal::wrong(format!("the stop file {} is there", text_of(file.path())))
            .because("it would stop the plan at once; perhaps it is left from an earlier one")
            .hint("remove it"))
    })
}

/// Removes the stop file, where the start of a plan asks for that. Its workspace is claimed.
///
/// # Errors
/// When it cannot be removed.
pub(crate) fn clear_stop(prepared: &Prepared) -> Result<(), LaunchRefusal> {
    let output = &prepared.settings.values.output;
    if output.clear_stop { clear_stop_file(output, &prepared.workspace) } else { Ok(()) }
}

/// Removes a stop file. Only who has claimed the workspace may: it may be meant for the run that had it before.
pub(super) fn clear_stop_file(settings: &OutputSettings, workspace: &Path) -> Result<(), LaunchRefusal> {
    let Some(file) = stop_file(settings, workspace) else { return Ok(()) };
    file.clear().map_err(|error| {
        LaunchRefusal::wrong(format!("the stop file {} cannot be removed", text_of(file.path())))
            .because(error.to_string())
            .hint("remove it by hand")
    })
}

/// The log of alerts must not be a change of the loop, nor go through a link.
pub(super) fn check_alerts_log(settings: &AlertSettings, workspace: &Path) -> Result<(), LaunchRefusal> {
    let Some(path) = &settings.alerts_log else { return Ok(()) };
    publish::check_log_path(workspace, path).map_err(|error| {
        LaunchRefusal::wrong(format!("alerts cannot be written to {}", text::one_line(path, 200)))
            .because(error.to_string())
            .hint("for example --alerts-log .harness/alerts.log, or a path outside of the workspace")
    })
}

/// Every text file of the inbox is moved and sent to the agent: a folder that has other uses is refused.
pub(super) fn check_inbox(settings: &EnvironmentSettings, workspace: &Path) -> Result<(), LaunchRefusal> {
    if !settings.enable_inbox {
        return Ok(());
    }
    let asked = path_of(&settings.inbox_path);
    let folder = workspace.join(&asked);
    let folder = folder.canonicalize().unwrap_or(folder);
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let is_home = home.is_some_and(|home| home.canonicalize().unwrap_or(home) == folder);
    let climbs = asked.components().any(|part| part == Component::ParentDir);
    let in_git = folder.components().any(|part| part.as_os_str() == ".git");
    if !(workspace.starts_with(&folder) || is_home || climbs || in_git) {
        return Ok(());
    }
    Err(LaunchRefusal::wrong(format!("{} cannot be the inbox", text::one_line(&settings.inbox_path, 200)))
        .because("every text file in it is moved to processed/ and sent to the agent, and this folder has other uses")
        .hint("take a folder of its own: --inbox-path .harness/inbox"))
}

/// The stop file, where there is one now.
fn stop_file(settings: &OutputSettings, workspace: &Path) -> Option<StopFile> {
    let setting = settings.stop_file.as_ref()?;
    Some(StopFile::new(workspace, setting)).filter(StopFile::is_there)
}
