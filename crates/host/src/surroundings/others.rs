//! Which files others changed: everything that changes while no agent of the run works, but for what the harness itself
//! restores. What changes while the agent works counts as the agent's.
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use loop_core::run::{AroundEvent, Event, FILE_EVENTS_MAX, FileEvent, FileEventKind, FilesChanged, Order, RunState};
use loop_core::text;

use super::{around, message};
use crate::checkpoint::{CheckpointContext, RuleTexts, Rules, rules_of};
use crate::fs::open_folder;
use crate::run_folder::RunFolder;
use crate::workspace::watch::{NoListReason, Watch, WatchHint, WatchedFile, WatchedKind};

/// Changes of so long a time are one report.
const REPORT_AFTER: Duration = Duration::from_secs(1);
/// How long a path in a report is at most.
const PATH_LETTERS_MAX: usize = 160;
/// What is left out beside the rules of the workspace.
const LEFT_OUT: [&str; 5] = ["/.harness/", "/.loopr/", "/loop/", "__pycache__/", "*.pyc"];

/// The watch over the files of a workspace.
#[derive(Debug)]
pub(super) struct Others {
    watch: Watch,
    context: CheckpointContext,
    ignore: Vec<String>,
    folder: OwnedFd,
    /// When what was seen is reported.
    report_at: Option<Instant>,
    lost: Option<String>,
    /// The agent works, or the harness restores files: what changes is not by others.
    is_ours: bool,
    /// A gate runs: it may print and write much, so changes are reported after a time.
    in_gate: bool,
    holds: bool,
    notice: Option<String>,
}

impl Others {
    /// Begins to watch. None where the run has no workspace that can be opened.
    pub(super) fn new(state: &RunState, workspace: &Path, folder: &RunFolder) -> Option<Self> {
        let spec = state.spec.as_ref()?;
        let context = folder.checkpoints(spec);
        let ignore = state.settings.shown().values.environment.watch_ignore.clone();
        let folder = open_folder(workspace).ok()?;
        let watch = begin(&folder, &context, &ignore)?;
        let is_ours = is_ours(state);
        Some(Self {
            watch,
            context,
            ignore,
            folder,
            report_at: None,
            lost: None,
            is_ours,
            in_gate: false,
            holds: false,
            notice: None,
        })
    }

    /// What wakes the driver: nothing while changes are the agent's, or wait for their report.
    pub(super) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.watch.fd().filter(|_| !self.is_ours && self.report_at.is_none())
    }

    pub(super) fn wakes_in(&self, now: Instant) -> Option<Duration> {
        self.report_at.map(|at| at.saturating_duration_since(now))
    }

    /// What others changed, when it is time to report it.
    pub(super) fn take(&mut self, now: Instant) -> Vec<Event> {
        let mut events: Vec<Event> = self.notice.take().map(message).into_iter().collect();
        if self.is_ours {
            return events;
        }
        let waits = (self.in_gate || self.holds) && self.report_at.is_some_and(|at| now < at);
        if waits {
            return events;
        }
        self.drain();
        if !self.watch.has_log() && self.lost.is_none() {
            self.report_at = None;
            return events;
        }
        // In short steps between two iterations the next prompt is near: nothing waits.
        if self.report_at.is_none() && (self.in_gate || self.holds) {
            self.report_at = Some(now + REPORT_AFTER);
            return events;
        }
        self.report_at = None;
        events.extend(self.report());
        events
    }

    /// The state is another one now. What was seen before the agent begins is reported, what it does is not.
    pub(super) fn on_entry(&mut self, state: &RunState) -> Option<Event> {
        let order = state.main_order().map(|(_, open)| &open.order);
        self.in_gate = matches!(order, Some(Order::RunGate { .. } | Order::Judge { .. } | Order::Certify { .. }));
        self.holds = order.and_then(Order::hold_cause).is_some();
        let is_ours = is_ours(state);
        if is_ours == self.is_ours {
            return None;
        }
        self.is_ours = is_ours;
        self.drain();
        if is_ours {
            self.report_at = None;
            return self.report();
        }
        self.lost = None;
        drop(self.watch.take_log());
        None
    }

    fn drain(&mut self) {
        if let WatchHint::Everything(why) = self.watch.take() {
            self.lost = match why {
                NoListReason::Start | NoListReason::Off => self.lost.take(),
                NoListReason::Overflow | NoListReason::TooMany => Some("there were too many at once".to_owned()),
                NoListReason::Rules => {
                    self.begin_again();
                    Some("an ignore file changed meanwhile".to_owned())
                }
                NoListReason::Moved | NoListReason::Doubt => Some("the watch had to begin again".to_owned()),
            };
        }
        if let Some(why) = self.watch.notice() {
            self.notice = Some(format!("the files of the workspace cannot be watched: {why}"));
        }
    }

    /// With the rules of now. What was seen stays.
    fn begin_again(&mut self) {
        let seen = self.watch.take_log();
        if let Some(mut watch) = begin(&self.folder, &self.context, &self.ignore) {
            // Its first hint says that it has just begun.
            watch.take();
            watch.keep_log(seen);
            self.watch = watch;
        }
    }

    fn report(&mut self) -> Option<Event> {
        let (files, more) = self.watch.take_log().finish();
        let rest = u32::try_from(files.len().saturating_sub(FILE_EVENTS_MAX)).unwrap_or(u32::MAX);
        let changed = FilesChanged {
            events: files.iter().take(FILE_EVENTS_MAX).map(event_of).collect(),
            more: more.saturating_add(rest),
            lost: self.lost.take(),
        };
        (!changed.is_nothing()).then(|| around(AroundEvent::Files(changed)))
    }
}

fn begin(folder: &OwnedFd, context: &CheckpointContext, ignore: &[String]) -> Option<Watch> {
    let texts = rules_of(context).texts().clone();
    let left_out = LEFT_OUT.iter().map(ToString::to_string).chain(ignore.iter().cloned());
    let skips = texts.skips.iter().cloned().chain(left_out).collect();
    let rules = Rules::of(RuleTexts { all: false, skips, ..texts });
    let mut watch = Watch::new(folder, &rules).ok()?;
    watch.log_files();
    Some(watch)
}

/// Whether changes of files are the agent's, or the harness's own.
fn is_ours(state: &RunState) -> bool {
    state
        .orders
        .iter()
        .any(|(_, open)| matches!(open.order, Order::RunAgent { .. } | Order::Rollback { .. } | Order::Guard { .. }))
}

fn event_of(file: &WatchedFile) -> FileEvent {
    let path = |path: &[u8]| text::one_line(&text::escape_path(path), PATH_LETTERS_MAX);
    let (kind, from) = match &file.kind {
        WatchedKind::Created => (FileEventKind::Created, None),
        WatchedKind::Modified => (FileEventKind::Modified, None),
        WatchedKind::Deleted => (FileEventKind::Deleted, None),
        WatchedKind::Moved(from) => (FileEventKind::Moved, Some(path(from))),
    };
    FileEvent { kind, path: path(&file.path), from, at_ms: file.at_ms }
}
