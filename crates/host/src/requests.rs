//! Checks what came over the control socket: a request for core, or the reason why it is refused.
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};

use loop_core::control::{Ask, Call, INJECT_BYTES_MAX};
use loop_core::run::{
    Change, INJECTIONS_KEPT_MAX, Injected, NOTE_LETTERS_MAX, NoteChange, Request, RunState, check_name, numbered,
};
use loop_core::text;

use crate::changes::{ChangeForm, PAUSE, RunActivity, check_changes};
use crate::fs::sync_folder;
use crate::run_folder::RunFolder;

/// A request is a part of one fact.
const REQUEST_BYTES_MAX: usize = 8 * 1024;
/// The most that may wait for the next prompt.
const WAITING_BYTES_MAX: u64 = 1024 * 1024;

/// The texts to inject of several requests, synced together.
#[derive(Debug)]
pub(crate) struct Texts {
    folder: RunFolder,
    files: Vec<File>,
}

impl Texts {
    pub(crate) fn new(folder: &RunFolder) -> Self {
        Self { folder: folder.clone(), files: Vec::new() }
    }

    /// Makes them safe. Nothing that names them may be recorded before.
    pub(crate) fn sync(&mut self) -> io::Result<()> {
        let files = std::mem::take(&mut self.files);
        for file in &files {
            file.sync_data()?;
        }
        if files.is_empty() { Ok(()) } else { sync_folder(&self.folder.path.join("inject")) }
    }
}

/// The request, checked; a text to inject is written, and safe when `texts` are.
pub(crate) fn request_of(call: &Call, state: &RunState, texts: &mut Texts) -> Result<Request, String> {
    if state.is_for_one_request() {
        return Err("a rollback or checkpoint of it is under way; try again when that is done".to_owned());
    }
    if state.over.is_some() {
        return Err("the loop has ended".to_owned());
    }
    let request = match &call.ask {
        Ask::Stop => Ok(Request::Stop),
        Ask::Pause => Ok(Request::Pause),
        Ask::Resume => Ok(Request::Resume),
        Ask::Cancel => Ok(Request::Cancel),
        Ask::Inject { text, keep } => inject(text, *keep, state, texts).map(Request::Inject),
        Ask::Set(changes) => pause_of(changes).map_or_else(|| set(changes, state), Ok),
        Ask::Checkpoint { .. } | Ask::Rollback(_) | Ask::RollbackPaths(_) | Ask::CancelRollback
            if !state.has_checkpoints() =>
        {
            Err("this loop keeps no checkpoints (--checkpoint none)".to_owned())
        }
        Ask::Checkpoint { name } => checkpoint(name.as_deref(), state),
        // Without paths it would be a rollback of everything, which has another word.
        Ask::RollbackPaths(target) if target.paths.is_empty() => Err("at least one path".to_owned()),
        // A newer request replaces one that has not begun.
        Ask::Rollback(target) | Ask::RollbackPaths(target) => Ok(Request::Rollback(target.clone())),
        Ask::CancelRollback => Ok(Request::CancelRollback),
        Ask::Note(change) => note(change, state).map(Request::Note),
        Ask::Reset { session } => Ok(Request::Reset { session: *session }),
        Ask::Pick { .. } => Err("it is one loop, and has no branches".to_owned()),
        Ask::Answer { .. } => {
            Err("it is one loop, and has no questions of a workflow; loop inject tells it".to_owned())
        }
    }?;
    let bytes = serde_json::to_string(&request).map_or(usize::MAX, |text| text.len());
    if bytes > REQUEST_BYTES_MAX {
        return Err("it is too long; put long commands into scripts".to_owned());
    }
    Ok(request)
}

/// The sender's name as one short line: it is stored in a fact and shown.
pub(crate) fn name_of(by: &str) -> String {
    text::one_line(by, 40)
}

/// `pause=true` and `pause=false` are what `loop pause` and `loop resume` ask for.
fn pause_of(changes: &[Change]) -> Option<Request> {
    let [change] = changes else { return None };
    match (change.key.as_str(), change.value.as_str()) {
        (PAUSE, "true") => Some(Request::Pause),
        (PAUSE, "false") => Some(Request::Resume),
        (_, _) => None,
    }
}

fn set(changes: &[Change], state: &RunState) -> Result<Request, String> {
    if changes.is_empty() {
        return Err("at least one setting".to_owned());
    }
    let checked = check_changes(changes, state, RunActivity::AtWork, ChangeForm::Pairs);
    checked.map(|checked| Request::Set(checked.changes)).map_err(|refusal| refusal.sentence())
}

/// The request for a checkpoint; without a name it gets a number.
fn checkpoint(name: Option<&str>, state: &RunState) -> Result<Request, String> {
    let Some(name) = name else { return Ok(Request::Checkpoint { name: numbered(state.checkpoints.named() + 1) }) };
    check_name(name)?;
    Ok(Request::Checkpoint { name: name.to_owned() })
}

/// A text for the next prompt, checked and written; it is safe when `texts` are.
pub(crate) fn inject(words: &str, keep: bool, state: &RunState, texts: &mut Texts) -> Result<Injected, String> {
    if words.trim().is_empty() {
        return Err("the text is empty".to_owned());
    }
    if words.len() > INJECT_BYTES_MAX {
        return Err(format!("a text is at most {INJECT_BYTES_MAX} bytes long"));
    }
    if keep && state.prompt.injections().kept.len() >= INJECTIONS_KEPT_MAX {
        return Err(format!("{INJECTIONS_KEPT_MAX} texts stay in every prompt already, which is the most"));
    }
    let waiting = state.prompt.injections().given + 1..=state.prompt.injections().newest;
    let waiting: u64 =
        waiting.filter_map(|number| fs::metadata(texts.folder.injected(number)).ok()).map(|found| found.len()).sum();
    let bytes = u64::try_from(words.len()).unwrap_or(u64::MAX);
    if waiting + bytes > WAITING_BYTES_MAX {
        return Err("too many texts wait for the next prompt already".to_owned());
    }
    let number = state.prompt.injections().newest + 1;
    let file = write(&texts.folder, number, words).map_err(|error| format!("it cannot be stored: {error}"))?;
    texts.files.push(file);
    Ok(Injected { number, bytes, keep })
}

/// A change of the notes, checked.
pub(crate) fn note(change: &NoteChange, state: &RunState) -> Result<NoteChange, String> {
    match change {
        NoteChange::Add { text } if text::one_line(text, NOTE_LETTERS_MAX).is_empty() => {
            Err("the note is empty".to_owned())
        }
        NoteChange::Add { text } if text.contains('\n') || text.chars().count() > NOTE_LETTERS_MAX => Err(format!(
            "a note is one line of at most {NOTE_LETTERS_MAX} letters; for longer texts: loop inject --keep"
        )),
        NoteChange::Add { text } => Ok(NoteChange::Add { text: text::one_line(text, NOTE_LETTERS_MAX) }),
        NoteChange::Strike { id } if state.prompt.memory.notes().iter().any(|note| note.id == *id) => {
            Ok(NoteChange::Strike { id: *id })
        }
        NoteChange::Strike { id } => Err(format!("there is no note n{id}")),
    }
}

/// A text for the next prompt of a run that no process drives: checked, and safe on disk when this returns. The caller
/// records the request while it holds the run's lock.
///
/// # Errors
/// Why the text is refused.
pub(crate) fn injection(folder: &RunFolder, state: &RunState, text: &str, keep: bool) -> Result<Injected, String> {
    let mut texts = Texts::new(folder);
    let injected = inject(text, keep, state, &mut texts)?;
    texts.sync().map_err(|error| format!("it cannot be stored: {error}"))?;
    Ok(injected)
}

fn write(folder: &RunFolder, number: u32, text: &str) -> io::Result<File> {
    let path = folder.injected(number);
    let place = folder.path.join("inject");
    DirBuilder::new().recursive(true).mode(0o700).create(&place)?;
    // A file with this number is left from a crash: no fact names it.
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())?;
    Ok(file)
}
