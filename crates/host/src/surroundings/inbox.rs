//! The inbox: a person's files become texts for the prompt and commands. No file is lost, taken in part or taken twice,
//! whatever its writer does and wherever this process is killed.
//!
//! ```text
//! looks complete ─► claimed (rename) ─► no process writes to it ─► read ─► recorded (journal) ─► processed/ (rename)
//! ```
//! A claim that is not recorded is read again when the run is opened; one that is recorded is only moved.
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use loop_core::control::INJECT_BYTES_MAX;
use loop_core::run::{AroundEvent, Event, InboxEffect, InboxFile, RunState};
use loop_core::text;

use super::inbox_folder::{InboxContent, InboxFolder, InboxStamp};
use super::work_times::WorkTimes;
use super::writers::{Writer, writers_of};
use super::{around, message};
use crate::fs::FolderId;
use crate::paths::text_of;
use crate::process::{descends_from_us, tail_of};
use crate::requests::{self, Texts};
use crate::run_folder::RunFolder;

/// A file must be the same for so long before it is taken: its writer may still be at work.
const SETTLED: Duration = Duration::from_millis(250);
/// How long files that were there before the start may keep the first call waiting. The rest is taken while it works.
const OPENING_MAX: Duration = Duration::from_secs(5);
/// What stays so long in the inbox and cannot be taken is said.
const SAID_AFTER: Duration = Duration::from_secs(1);
/// How many files are under way at once.
const CLAIMS_MAX: usize = 16;
/// How many refused files one process names.
const REFUSALS_MAX: usize = 32;
/// Where no more texts fit, it is tried again after this.
const FULL_FOR: Duration = Duration::from_secs(5);
/// Longest word of a command, in bytes.
const WORD_BYTES_MAX: usize = 64;
/// How much of what the agent printed last is searched for the name of a file.
const PRINTED_BYTES_MAX: u64 = 256 * 1024;

/// The inbox of one run.
#[derive(Debug)]
pub(super) struct Inbox {
    workspace: PathBuf,
    setting: String,
    run: RunFolder,
    /// The folder of the run's claims, in the inbox.
    claims: String,
    seen: BTreeMap<Vec<u8>, Seen>,
    claimed: Vec<Claim>,
    /// Files that were read and are about to be recorded.
    reported: Vec<(InboxFile, Claim)>,
    refusals: usize,
    /// The claims of an earlier process were looked for.
    opened: bool,
    /// When the files that were there at the opening were seen to be complete.
    opened_at: Option<Instant>,
    /// Why the folder cannot be used, as it was said.
    broken: Option<String>,
    /// No more texts fit before the next prompt: until when none is claimed, and whether that was said.
    full: Option<(Instant, String)>,
}

/// A file in the inbox.
#[derive(Debug)]
struct Seen {
    stamp: InboxStamp,
    since: Instant,
    said: bool,
    /// A process of the run itself had it open.
    is_own: bool,
}

/// A file that was moved to the claims.
#[derive(Debug, Clone)]
struct Claim {
    name: Vec<u8>,
    place: Vec<u8>,
    at_work: bool,
    /// A process of the run itself had it open.
    is_own: bool,
    /// No process has it open for writing.
    is_complete: bool,
}

impl Inbox {
    pub(super) fn new(workspace: &Path, setting: &str, run: &RunFolder) -> Self {
        Self {
            workspace: workspace.to_owned(),
            setting: setting.to_owned(),
            claims: format!(".taking-{}", run.id),
            run: run.clone(),
            seen: BTreeMap::new(),
            claimed: Vec::new(),
            reported: Vec::new(),
            refusals: 0,
            opened: false,
            opened_at: None,
            broken: None,
            full: None,
        }
    }

    /// Whether a file can be taken at once.
    pub(super) fn has_more(&self) -> bool {
        self.claimed.iter().any(|claim| claim.is_complete)
    }

    /// Takes the next file that was there when the run was opened. Nothing when there is no further one.
    pub(super) fn opening(&mut self, state: &RunState, work: &WorkTimes, texts: &mut Texts) -> Vec<Event> {
        let mut events = match self.opened_at {
            None => self.first_looks(state, work),
            Some(at) if at.elapsed() > OPENING_MAX => return Vec::new(),
            // As of that time: what is newer, or changed since, has not settled.
            Some(at) if !self.has_more() => self.look(at, state, work),
            Some(_) => Vec::new(),
        };
        // One that cannot be read now waits, and the next one is tried.
        for _ in 0..self.claimed.len() {
            if let Some(event) = self.take(state, texts) {
                events.push(event);
                break;
            }
        }
        events
    }

    /// Where there are files at all, they are looked at twice, to see which of them change.
    fn first_looks(&mut self, state: &RunState, work: &WorkTimes) -> Vec<Event> {
        let mut now = Instant::now();
        let mut events = self.look(now, state, work);
        if self.seen.iter().any(|(name, seen)| may_be_taken(name, &seen.stamp)) {
            std::thread::sleep(SETTLED);
            now = Instant::now();
            events.extend(self.look(now, state, work));
        }
        self.opened_at = Some(now);
        events
    }

    /// Looks which files there are, claims those that are complete, and says which cannot be taken.
    pub(super) fn look(&mut self, now: Instant, state: &RunState, work: &WorkTimes) -> Vec<Event> {
        let folder = match InboxFolder::open(&self.workspace, &self.setting) {
            Ok(folder) => folder,
            Err(error) => return self.is_broken(&error.to_string()).into_iter().collect(),
        };
        self.broken = None;
        if !std::mem::replace(&mut self.opened, true) {
            let at_work = state.iteration > 0;
            self.claimed = folder.claimed(&self.claims).into_iter().map(|place| Claim::left(place, at_work)).collect();
        }
        let names = match folder.names() {
            Ok(names) => names,
            Err(error) => return self.is_broken(&error.to_string()).into_iter().collect(),
        };
        self.see(&names, now);
        let mut events = self.refuse(now);
        events.extend(self.claim(&folder, now, work));
        self.check_writers(&folder);
        events
    }

    fn is_broken(&mut self, why: &str) -> Option<Event> {
        if self.broken.as_deref() == Some(why) {
            return None;
        }
        self.broken = Some(why.to_owned());
        Some(message(format!("the inbox {} cannot be read: {why}", self.setting)))
    }

    fn see(&mut self, names: &[(Vec<u8>, InboxStamp)], now: Instant) {
        self.seen.retain(|name, _| names.binary_search_by(|(other, _)| other.cmp(name)).is_ok());
        for (name, stamp) in names {
            match self.seen.get_mut(name) {
                Some(seen) if seen.stamp == *stamp => {}
                Some(seen) => {
                    let same = seen.stamp.id == stamp.id;
                    let (said, is_own) = (seen.said && same, seen.is_own && same);
                    *seen = Seen { stamp: *stamp, since: now, said, is_own };
                }
                None => {
                    self.seen.insert(name.clone(), Seen { stamp: *stamp, since: now, said: false, is_own: false });
                }
            }
        }
    }

    /// Says what cannot be taken: each once, and a bounded number.
    fn refuse(&mut self, now: Instant) -> Vec<Event> {
        let mut events = Vec::new();
        for (name, seen) in &mut self.seen {
            let Some(why) = refusal(name, &seen.stamp).filter(|_| !seen.said && settled(seen, now, SAID_AFTER)) else {
                continue;
            };
            seen.said = true;
            self.refusals += 1;
            let name = text::one_line(&text::escape_path(name), 100);
            match self.refusals.cmp(&REFUSALS_MAX) {
                std::cmp::Ordering::Less => events.push(message(format!("not taken from the inbox: {name} {why}"))),
                std::cmp::Ordering::Equal => events
                    .push(message("further files of the inbox that cannot be taken are not named any more".to_owned())),
                std::cmp::Ordering::Greater => {}
            }
        }
        events
    }

    /// Claims files that have not changed for a while and that no process writes to.
    fn claim(&mut self, folder: &InboxFolder, now: Instant, work: &WorkTimes) -> Option<Event> {
        if self.full.as_ref().is_some_and(|(until, _)| now < *until) {
            return None;
        }
        let free = CLAIMS_MAX.saturating_sub(self.claimed.len() + self.reported.len());
        let may_be = |(name, seen): &(&Vec<u8>, &Seen)| may_be_taken(name, &seen.stamp) && settled(seen, now, SETTLED);
        let ready: Vec<(Vec<u8>, InboxStamp)> =
            self.seen.iter().filter(may_be).take(free).map(|(name, seen)| (name.clone(), seen.stamp)).collect();
        let ids: Vec<FolderId> = ready.iter().map(|(_, stamp)| stamp.id).collect();
        let writers = writers_of(&ids);
        for (name, stamp) in ready {
            let mut open = writers.iter().filter(|writer| writer.file == stamp.id).peekable();
            if open.peek().is_some() {
                let is_own = open.any(|writer| descends_from_us(writer.process, self.run.id.as_str()));
                self.seen.get_mut(&name).into_iter().for_each(|seen| seen.is_own |= is_own);
                continue;
            }
            match folder.claim(&name, &stamp, &self.claims) {
                Ok(Some(place)) => {
                    let is_own = self.seen.remove(&name).is_some_and(|seen| seen.is_own);
                    let at_work = work.covers_in_inbox(stamp.changed_ms());
                    self.claimed.push(Claim { name, place, at_work, is_own, is_complete: false });
                }
                Ok(None) => {}
                Err(error) => return self.is_broken(&format!("a file cannot be moved: {error}")),
            }
        }
        None
    }

    /// A claimed file that a process still writes to waits.
    fn check_writers(&mut self, folder: &InboxFolder) {
        let stamps: Vec<Option<InboxStamp>> =
            self.claimed.iter().map(|claim| folder.claimed_stamp(&self.claims, &claim.place)).collect();
        let ids: Vec<FolderId> = stamps.iter().flatten().map(|stamp| stamp.id).collect();
        let writers = writers_of(&ids);
        for (claim, stamp) in self.claimed.iter_mut().zip(&stamps) {
            let of_it = |writer: &&Writer| stamp.is_some_and(|stamp| stamp.id == writer.file);
            let mut own = writers.iter().filter(of_it).peekable();
            claim.is_complete = own.peek().is_none();
            claim.is_own |= own.any(|writer| descends_from_us(writer.process, self.run.id.as_str()));
        }
        self.claimed.retain({
            let mut stamps = stamps.iter();
            move |_| stamps.next().is_some_and(Option::is_some)
        });
        self.claimed.sort_by(|one, other| one.place.cmp(&other.place));
    }

    /// Reads the first file that is complete. It is recorded by the event, and moved after that.
    pub(super) fn take(&mut self, state: &RunState, texts: &mut Texts) -> Option<Event> {
        let at = self.claimed.iter().position(|claim| claim.is_complete)?;
        let folder = InboxFolder::open(&self.workspace, &self.setting).ok()?;
        let claim = self.claimed[at].clone();
        let content = match folder.read(&self.claims, &claim.place, bytes_max()) {
            Ok(Some(content)) => content,
            Ok(None) => {
                self.claimed[at].is_complete = false;
                return None;
            }
            Err(error) => {
                self.claimed.remove(at);
                let name = text::escape_path(&claim.name);
                return Some(message(format!("not taken from the inbox: {name} cannot be read: {error}")));
            }
        };
        let file = claim.file(&content);
        if state.prompt.surroundings.has_taken(&file) {
            self.claimed.remove(at);
            return folder.finish(&self.claims, &claim.place, &claim.name).err().map(|error| not_moved(&file, &error));
        }
        match self.effect(&claim, &content, state, texts) {
            Ok(effect) => {
                self.full = None;
                self.claimed.remove(at);
                self.reported.push((file.clone(), claim));
                Some(around(AroundEvent::Inbox { file, effect }))
            }
            // It goes back, and is tried again: the next prompt may make room for it.
            Err(why) => {
                self.claimed.remove(at);
                folder.put_back(&self.claims, &claim.place, &claim.name).ok();
                let is_new = self.full.as_ref().is_none_or(|(_, said)| *said != why);
                self.full = Some((Instant::now() + FULL_FOR, why.clone()));
                is_new.then(|| message(format!("the inbox waits: {why}")))
            }
        }
    }

    fn effect(
        &self,
        claim: &Claim,
        content: &InboxContent,
        state: &RunState,
        texts: &mut Texts,
    ) -> Result<InboxEffect, String> {
        if claim.at_work && (claim.is_own || self.is_named_by_agent(&claim.name, state)) {
            return Ok(InboxEffect::Ignored { why: "the agent or a gate of this loop wrote it".to_owned() });
        }
        let words = text::clean(&content.bytes);
        if claim.name.starts_with(b"cmd-") {
            return Ok(command(&words, claim.at_work));
        }
        if words.trim().is_empty() {
            return Ok(InboxEffect::Ignored { why: "it holds no text".to_owned() });
        }
        let injected = requests::inject(&words, false, state, texts)?;
        texts.sync().map_err(|error| format!("a text cannot be stored: {error}"))?;
        Ok(if claim.name.starts_with(b"000-") { InboxEffect::Urgent(injected) } else { InboxEffect::Text(injected) })
    }

    /// Whether the agent that works has printed the path of the file in the inbox: its tool calls do.
    fn is_named_by_agent(&self, name: &[u8], state: &RunState) -> bool {
        let printed = tail_of(&self.run.attempt(state.iteration, state.attempt).join("stdout"), PRINTED_BYTES_MAX);
        let inbox = Path::new(&self.setting).file_name().map(|name| text_of(Path::new(name))).unwrap_or_default();
        names_file(&printed, inbox.as_bytes(), name)
    }

    /// The run is not driven any further: what is claimed and not recorded goes back to the inbox.
    pub(super) fn close(&mut self, state: &RunState) {
        let claimed = std::mem::take(&mut self.claimed);
        let Ok(folder) = InboxFolder::open(&self.workspace, &self.setting) else { return };
        for claim in claimed {
            // An earlier process may have recorded it and died before it moved it.
            let content = folder.read(&self.claims, &claim.place, bytes_max());
            let is_recorded = content.is_ok_and(|content| {
                content.is_some_and(|content| state.prompt.surroundings.has_taken(&claim.file(&content)))
            });
            let moved = if is_recorded {
                folder.finish(&self.claims, &claim.place, &claim.name)
            } else {
                folder.put_back(&self.claims, &claim.place, &claim.name)
            };
            // It stays among the claims then, and the next process of the run finds it there.
            moved.ok();
        }
        folder.clear(&self.claims);
    }

    /// The file stands in the journal: it is moved. What went wrong, if something did.
    pub(super) fn recorded(&mut self, file: &InboxFile) -> Option<String> {
        let at = self.reported.iter().position(|(reported, _)| reported == file)?;
        let (_, claim) = self.reported.remove(at);
        let folder = InboxFolder::open(&self.workspace, &self.setting);
        let moved = folder.and_then(|folder| folder.finish(&self.claims, &claim.place, &claim.name));
        moved.err().map(|error| format!("{} was taken, and cannot be moved to processed: {error}", file.name))
    }
}

impl Claim {
    /// How it is known in the journal.
    fn file(&self, content: &InboxContent) -> InboxFile {
        InboxFile {
            name: text::escape_path(&self.name),
            inode: content.stamp.id.inode,
            modified_ns: content.stamp.modified_ns,
            bytes: content.stamp.bytes,
            sha256: content.sha256.clone(),
            at_work: self.at_work,
        }
    }

    /// One that an earlier process left.
    fn left(place: Vec<u8>, at_work: bool) -> Self {
        Self { name: place.clone(), place, at_work, is_own: false, is_complete: false }
    }
}

fn not_moved(file: &InboxFile, error: &std::io::Error) -> Event {
    message(format!("{} was taken, and cannot be moved to processed: {error}", file.name))
}

fn bytes_max() -> u64 {
    u64::try_from(INJECT_BYTES_MAX).unwrap_or(u64::MAX)
}

fn settled(seen: &Seen, now: Instant, time: Duration) -> bool {
    now.duration_since(seen.since) >= time
}

fn may_be_taken(name: &[u8], stamp: &InboxStamp) -> bool {
    stamp.bytes > 0 && refusal(name, stamp).is_none()
}

/// Whether a path in this text ends with this folder and this name, both whole.
fn names_file(text: &[u8], folder: &[u8], name: &[u8]) -> bool {
    let path = [folder, b"/", name].concat();
    let is_whole = |at: usize| {
        let (before, after) = (&text[..at], &text[at + path.len()..]);
        let continues = match after {
            // The end of a sentence, or of another name.
            [b'.', next, ..] => is_of_name(*next),
            [next, ..] => *next != b'.' && is_of_name(*next),
            [] => false,
        };
        !before.last().is_some_and(|last| is_of_name(*last)) && !continues
    };
    !folder.is_empty() && text.windows(path.len()).enumerate().any(|(at, window)| window == path && is_whole(at))
}

/// Whether a name of a file usually continues with this byte.
fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

/// Why a file cannot be taken.
fn refusal(name: &[u8], stamp: &InboxStamp) -> Option<String> {
    if stamp.is_folder {
        return Some("is a folder".to_owned());
    }
    if stamp.is_link {
        return Some("is a link".to_owned());
    }
    if !stamp.is_plain {
        return Some("is not a plain file".to_owned());
    }
    if !name.ends_with(b".txt") {
        return Some("does not end in .txt".to_owned());
    }
    if stamp.owner != rustix::process::geteuid().as_raw() {
        return Some("belongs to another user".to_owned());
    }
    if stamp.links > 1 {
        return Some("has another name, too (a hard link)".to_owned());
    }
    (stamp.bytes > bytes_max()).then(|| format!("is larger than {}", text::size(bytes_max())))
}

/// What a command file means. One that may be the agent's can hold the loop, and not let it continue.
fn command(words: &str, at_work: bool) -> InboxEffect {
    let word = words.trim();
    match word {
        "pause" => InboxEffect::Pause,
        "resume" if at_work => InboxEffect::Ignored {
            why:
                "resume counts only while the loop holds: it came while the agent or a gate worked, and could be theirs"
                    .to_owned(),
        },
        "resume" => InboxEffect::Resume,
        "status" => InboxEffect::Status,
        other => {
            let other = text::one_line(text::head(other, WORD_BYTES_MAX), 40);
            InboxEffect::Ignored { why: format!("{other:?} is not a command: pause, resume or status") }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::time::{Duration, Instant};

    use loop_core::ids::RunId;
    use loop_core::run::RunState;

    use super::super::work_times::WorkTimes;
    use super::{Inbox, SETTLED, names_file};
    use crate::run_folder::RunFolder;

    fn names(folder: &Path) -> Vec<String> {
        let files = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn what_is_claimed_and_not_recorded_is_back_in_the_inbox_when_the_run_is_closed() {
        let workspace = tempfile::tempdir().unwrap();
        let place = workspace.path().join("inbox");
        fs::create_dir(&place).unwrap();
        for number in 0..20 {
            fs::write(place.join(format!("{number:02}.txt")), "words").unwrap();
        }
        let run = RunFolder { id: RunId::parse("calmotter").unwrap(), path: workspace.path().join("run") };
        let (state, now) = (RunState::default(), Instant::now());
        let work = WorkTimes::new(&state);
        let mut inbox = Inbox::new(workspace.path(), "inbox", &run);
        inbox.look(now, &state, &work);
        inbox.look(now + SETTLED + Duration::from_millis(1), &state, &work);
        assert_eq!(names(&place.join(".taking-calmotter")).len(), 16);
        inbox.close(&state);
        let mut all: Vec<String> = (0..20).map(|number| format!("{number:02}.txt")).collect();
        all.push("processed".to_owned());
        assert_eq!(names(&place), all);
    }

    #[test]
    fn a_file_is_named_by_its_whole_path_in_the_inbox() {
        let is_named = |text: &str| names_file(text.as_bytes(), b"inbox", b"a.txt");
        for text in
            ["> .harness/inbox/a.txt", "\"inbox/a.txt\"", "inbox/a.txt", "It is in inbox/a.txt.", "inbox/a.txt."]
        {
            assert!(is_named(text), "{text}");
        }
        for text in
            ["inbox data.txt", "a.txt inbox", "inbox/data.txt", "my-inbox/a.txt", "inbox/a.txt.bak", "inbox/a.txt2"]
        {
            assert!(!is_named(text), "{text}");
        }
    }
}
