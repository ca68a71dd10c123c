//! A proof once more: the gates of a run that is done, on a clean copy of the very tree that was judged. Neither the
//! workspace nor the run nor its checkpoints are changed, and nothing is left behind.
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use loop_core::agent::Secrets;
use loop_core::machine::consult;
use loop_core::policy::gate::{self, Tally};
use loop_core::run::{Answer, Ended, GateReport, Output, RunState};
use loop_core::settings::GateSpec;
use loop_core::test_output::{TestReader, Tests};
use loop_core::view::{Again, WorkspaceNow};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use thiserror::Error;

use crate::checkpoint::{Checkpoint, CheckpointContext, Recorded, open_folder, tree_of_copy, workspace_now};
use crate::process::{Containment, MAIN, Task, TaskEnd, TaskSpec, Voice, become_reaper};
use crate::signals::Signals;
use crate::tests_seen::side;
use crate::workspace::copy::{self, Copies, CopyExtras, is_inside};
use crate::{secrets, verify};

/// How long a look at the processes waits for something to happen.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// What is to be proved, and how.
#[derive(Debug, Clone, Copy)]
pub struct Wish<'a> {
    /// Where the run stands.
    pub state: &'a RunState,
    /// Its checkpoints.
    pub place: &'a CheckpointContext,
    /// The checkpoint that was judged, and the hash of its tree.
    pub recorded: (&'a str, &'a str),
    /// The folder of all copies.
    pub copies: &'a Path,
    /// Where the copy is made to stay; none means that it is removed.
    pub keep: Option<&'a Path>,
    /// Whether what checkpoints leave out comes along, as it lies in the workspace now.
    pub ignored: bool,
    /// Whether the workspace's own repository does.
    pub git: bool,
}

/// What came of it.
#[derive(Debug)]
pub struct Proved {
    /// What the gates said, in the order in which they were asked.
    pub gates: Vec<Again>,
    /// What the workspace is by now.
    pub workspace: WorkspaceNow,
}

/// Something worth showing while it goes on.
#[derive(Debug)]
pub enum Told<'a> {
    /// The copy is made.
    Copying,
    /// A gate is asked.
    Asking(&'a GateSpec),
    /// It has spoken.
    Spoke(&'a Again),
    /// It wrote something.
    Wrote(&'a [u8]),
    /// Something to read.
    Said(String),
}

/// Why nothing was proved.
#[derive(Debug, Error)]
pub enum NotProved {
    /// A person did not want to wait.
    #[error("it was stopped")]
    Stopped,
    /// The recorded tree is not kept any more.
    #[error("{0}")]
    Gone(String),
    /// The folder for the copy is none that can be used.
    #[error("{0}")]
    Folder(String),
    /// The machine would not let us.
    #[error("{0}")]
    Unable(String),
}

impl From<io::Error> for NotProved {
    fn from(error: io::Error) -> Self {
        Self::Unable(error.to_string())
    }
}

/// Runs the gates of a run again. Whatever happens, what was made is removed, unless the copy is to stay.
///
/// # Errors
/// When the tree is not there any more, it cannot be copied, or somebody stopped it.
pub fn prove(wish: &Wish<'_>, tell: &mut dyn FnMut(Told<'_>)) -> Result<Proved, NotProved> {
    let mut signals = Signals::listen()?;
    become_reaper()?;
    DirBuilder::new().recursive(true).mode(0o700).create(wish.copies)?;
    // What somebody who was killed left.
    copy::sweep(wish.copies)?;
    let own = Copies::open(wish.copies, &format!("verify-{}", crate::fs::fresh_id()?))?;
    let proved = prove_in(wish, &own.room(), &mut signals, tell);
    let removed = own.remove_all();
    match (proved, removed) {
        (Ok(_), Err(error)) => Err(NotProved::Unable(format!("the copy could not be removed: {error}"))),
        (proved, _) => proved,
    }
}

fn prove_in(
    wish: &Wish<'_>,
    room: &Path,
    signals: &mut Signals,
    tell: &mut dyn FnMut(Told<'_>),
) -> Result<Proved, NotProved> {
    let tree = folder_for(wish, room)?;
    tell(Told::Copying);
    let workspace = lay_out(wish, room, &tree)?;
    if !signals.take().is_empty() {
        return Err(NotProved::Stopped);
    }
    let (state, word) = (wish.state, wish.state.settings.shown().values.agent.containment.word());
    let containment = Containment::new(&format!("verify-{}", std::process::id()), word, None)?;
    let secrets = secrets::of(state);
    let mut asking = Asking { state, tree, outputs: room.join("outputs"), containment, secrets, signals, count: 0 };
    let count = u32::try_from(state.settings.shown().gates.len()).unwrap_or(u32::MAX);
    let order = (0..count).filter_map(|next| state.gates.at(next));
    let gates = order.map(|at| asking.gate(at, tell)).collect::<Result<Vec<_>, _>>()?;
    Ok(Proved { gates, workspace })
}

/// The empty folder that becomes the copy.
fn folder_for(wish: &Wish<'_>, room: &Path) -> Result<PathBuf, NotProved> {
    let tree = wish.keep.map_or_else(|| room.join("tree"), Path::to_owned);
    let refused = |why: String| NotProved::Folder(format!("{} cannot be the copy: {why}", tree.display()));
    let made = DirBuilder::new().mode(0o700).create(&tree);
    match &made {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let mut there = fs::read_dir(&tree).map_err(|error| refused(error.to_string()))?;
            if there.next().is_some() {
                return Err(refused("it is not empty".to_owned()));
            }
        }
        Err(error) => return Err(refused(error.to_string())),
    }
    let tree = tree.canonicalize()?;
    if open_folder(&wish.place.workspace).is_ok_and(|workspace| is_inside(&tree, &workspace).unwrap_or(true)) {
        if made.is_ok() {
            fs::remove_dir(&tree).ok();
        }
        return Err(refused("it lies in the workspace, which is not to be touched".to_owned()));
    }
    Ok(tree)
}

/// Makes the copy, sees that it is the recorded tree, and says what the workspace is by now.
fn lay_out(wish: &Wish<'_>, room: &Path, tree: &Path) -> Result<WorkspaceNow, NotProved> {
    let (name, hash) = wish.recorded;
    let recorded = Recorded::open(wish.place, name)
        .map_err(|error| NotProved::Gone(format!("checkpoint {name} cannot be read: {error}")))?;
    if recorded.tree != hash {
        let why = format!("checkpoint {name} holds another tree than the one that was judged: {}", recorded.tree);
        return Err(NotProved::Gone(why));
    }
    let now = workspace_now(wish.place, &recorded.checkpoint, &room.join("now"));
    let to = open_folder(tree)?;
    let nothing = Checkpoint::default();
    let workspace = open_folder(&wish.place.workspace);
    let wanted = copy::CopyRequest {
        checkpoint: &recorded.checkpoint,
        source: recorded.source(),
        key: name,
        along: CopyExtras {
            workspace: workspace.as_ref().unwrap_or(&to),
            now: now.as_ref().unwrap_or(&nothing),
            ignored: wish.ignored,
            git: wish.git,
        },
    };
    let failed = |error: io::Error| NotProved::Unable(format!("the copy cannot be made: {error}"));
    copy::put(&wanted, &to).map_err(failed)?;
    let copied = tree_of_copy(&to, &room.join("copied"))?;
    if copied != hash {
        let why = format!("the copy is not what was recorded (tree {copied}): this file system cannot hold it");
        return Err(NotProved::Unable(why));
    }
    if wish.ignored || wish.git {
        if let (Err(error), _) | (_, Err(error)) = (&workspace, &now) {
            return Err(NotProved::Unable(format!("nothing can be brought along from the workspace: {error}")));
        }
        copy::bring(&wanted, &to).map_err(failed)?;
    }
    Ok(match now {
        Ok(now) => WorkspaceNow::differing(&recorded.differences(&now)),
        Err(error) => WorkspaceNow::unseen(error.to_string()),
    })
}

/// What one try of a gate amounted to, and the tests that it told of.
type Spoken = (GateReport, Option<Tests>);

/// Whoever asks the gates.
struct Asking<'a> {
    state: &'a RunState,
    tree: PathBuf,
    outputs: PathBuf,
    containment: Containment,
    secrets: Arc<Secrets>,
    signals: &'a mut Signals,
    /// How many times something was asked.
    count: u32,
}

impl Asking<'_> {
    /// Asks a gate as often as its answer needs.
    fn gate(&mut self, at: u32, tell: &mut dyn FnMut(Told<'_>)) -> Result<Again, NotProved> {
        let missing = || NotProved::Unable(format!("there is no gate {at}"));
        let state = self.state;
        let gate = state.gates.get(at).ok_or_else(missing)?;
        let (spec, mut ran) = (gate.spec(), gate.completed());
        let mut tally = Tally::default();
        tell(Told::Asking(spec));
        loop {
            let (report, tests) = self.once(spec, tell)?;
            tally = tally.with(consult(|deciding| spec.promise().judge(&report.ended, ran, deciding)));
            ran |= consult(|deciding| gate::ran_to_an_end(&report.ended, deciding));
            if let Some(verdict) = consult(|deciding| tally.verdict(spec.needs(), deciding)) {
                let again = Again { name: spec.name.clone(), verdict, tries: tally.tries(), report, tests };
                tell(Told::Spoke(&again));
                return Ok(again);
            }
        }
    }

    fn once(&mut self, spec: &GateSpec, tell: &mut dyn FnMut(Told<'_>)) -> Result<Spoken, NotProved> {
        self.count += 1;
        let mut task = match self.start(spec) {
            Ok(task) => task,
            Err(error) => return Ok((not_started(&error), None)),
        };
        let limit = Duration::from_millis(spec.timeout_ms.unwrap_or(self.state.settings.shown().gate_timeout_ms));
        let mut reader = TestReader::default();
        let mut hear = |voice, bytes: &[u8]| {
            reader.push(side(voice), bytes);
            tell(Told::Wrote(bytes));
        };
        let (end, stopped) = self.wait(&mut task, limit, &mut hear);
        for text in self.containment.said() {
            tell(Told::Said(text));
        }
        if stopped {
            return Err(NotProved::Stopped);
        }
        if !end.lost.is_empty() {
            return Err(NotProved::Unable(format!("could not be ended: {}", end.lost.join(", "))));
        }
        let why = end.failed.clone().unwrap_or_default();
        let Answer::GateEnded(report) = verify::answer(end, None) else {
            return Err(NotProved::Unable(format!("the gate {} could not be asked: {why}", spec.name)));
        };
        Ok((report, reader.end()))
    }

    fn start(&mut self, spec: &GateSpec) -> io::Result<Task> {
        let argv = ["sh".to_owned(), "-c".to_owned(), spec.promise().command.to_owned()];
        let id = self.state.spec.as_ref().map(|spec| spec.id.to_string()).unwrap_or_default();
        let above = self.tree.parent().unwrap_or(&self.tree).as_os_str().to_owned();
        let env = vec![
            ("LOOP_ID".to_owned(), id.into()),
            ("LOOP_ITERATION".to_owned(), self.state.iteration.to_string().into()),
            // A repository above the copy is none of its own.
            ("GIT_CEILING_DIRECTORIES".to_owned(), above),
        ];
        let output = self.outputs.join(self.count.to_string());
        let (folder, secrets) = (self.tree.clone(), Arc::clone(&self.secrets));
        let spec = TaskSpec { lane: MAIN, argv: &argv, clear: false, env, folder, stdin: None, output, secrets };
        Task::start(spec, &mut self.containment)
    }

    /// Until all of it is dead, by itself or because its time or somebody's patience is over; says which.
    fn wait(&mut self, task: &mut Task, limit: Duration, hear: &mut dyn FnMut(Voice, &[u8])) -> (TaskEnd, bool) {
        let (began, mut stopped) = (Instant::now(), false);
        loop {
            self.containment.look();
            if let Some(end) = task.go_on(&mut self.containment, hear) {
                return (end, stopped);
            }
            stopped |= !self.signals.take().is_empty();
            if stopped || began.elapsed() >= limit {
                task.cancel();
            }
            let fds = task.wants().into_iter().chain(self.signals.wants());
            let mut fds: Vec<PollFd<'_>> = fds.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
            poll(&mut fds, Some(&LOOK)).ok();
        }
    }
}

fn not_started(error: &io::Error) -> GateReport {
    let said = error.to_string();
    let ended = Ended::NotStarted(said.clone());
    GateReport { ended, duration_ms: 0, output: Output::default(), excerpt: said, tests: None }
}
