//! A clean copy of a recorded tree, and its gates run in it.
use std::cell::Cell;
use std::ffi::OsString;
use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use loop_core::policy::gate::Verdict;
use loop_core::run::{
    Ended, Gate, GateIndex, INITIAL, JudgePlace, JudgedGate, NameList, RunState, SameNames, TestsSeen,
};
use loop_core::settings::{GateSpec, Settings};
use loop_core::text;
use loop_core::view::{Again, WorkspaceNow};
use rustix::fs::{AtFlags, Timespec, Timestamps, UTIME_NOW, fstat, unlinkat, utimensat};
use thiserror::Error;

use super::baseline::Baseline;
use super::hidden::{self, RanHidden};
use super::ignored::{BringRequest, bring};
use super::opened::WorkspaceOpens;
use super::{home, place, tables};
use crate::checkpoint::user_git::clean::CleanGit;
use crate::checkpoint::{
    Checkpoint, CheckpointContext, Recorded, StoredEntry, StoredKind, open_folder, tree_of_copy, workspace_now,
};
use crate::fs::handle::{open_below, split};
use crate::fs::walk::{NameKind, walk};
use crate::gate::programs::ProgramWatch;
use crate::gate::{GateContext, GateMemory, GateProgress, GateRunner, TestHistory, store_tests};
use crate::process::{Containment, become_reaper};
use crate::run_folder::RunFolder;
use crate::secrets;
use crate::signals::Signals;
use crate::workspace::copy::{self, Copies, CopyExtras, CopyRequest, is_inside};

/// So much of what a gate with tests says is in a report.
const SAID_BYTES_MAX: usize = 300;
/// So many remarks are given.
const REMARKS_MAX: usize = 12;

/// What the copy gets from the workspace as it is now, because a person asked for it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct FromWorkspace {
    /// What checkpoints leave out.
    pub(crate) ignored: bool,
    /// The repository.
    pub(crate) git: bool,
    /// HOME: the user's own.
    pub(crate) home: bool,
}

/// What is to be copied, and how.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CleanRequest<'a> {
    /// The run.
    pub(crate) state: &'a RunState,
    /// The folder of the run.
    pub(crate) run: &'a Path,
    /// The hash of the record of what was there before the first agent.
    pub(crate) baseline: Option<&'a str>,
    /// Who started it: the name of the processes in it.
    pub(crate) owner: &'a str,
    /// Its checkpoints.
    pub(crate) context: &'a CheckpointContext,
    /// The tree that the copy holds, by its checkpoint.
    pub(crate) checkpoint: &'a str,
    /// The folder of all copies.
    pub(crate) copies: &'a Path,
    /// Where the copy is made and left; none means that it is removed.
    pub(crate) keep: Option<&'a Path>,
    /// Whether it is judged as the run is. Else it is the recorded tree, the user's own HOME, and nothing more.
    pub(crate) clean: bool,
    /// What it gets of the workspace as it is now.
    pub(crate) now: FromWorkspace,
    /// Whether the workspace is compared with the tree.
    pub(crate) compare: bool,
    /// Where the output of the gates goes; none means that it is removed with the copy.
    pub(crate) outputs: Option<&'a Path>,
}

/// Why there is no copy, or no result.
#[derive(Debug, Error)]
pub(crate) enum CleanError {
    /// A signal came.
    #[error("it was stopped")]
    Stopped,
    /// The recorded tree is gone.
    #[error("{0}")]
    Gone(String),
    /// The folder for the copy cannot be used.
    #[error("{0}")]
    Folder(String),
    /// Something else failed.
    #[error("{0}")]
    Unable(String),
}

impl From<io::Error> for CleanError {
    fn from(error: io::Error) -> Self {
        Self::Unable(error.to_string())
    }
}

/// A gate that was run on the copy.
#[derive(Debug)]
pub(crate) struct RanGate {
    /// Which one.
    pub(crate) gate: GateIndex,
    /// What it said.
    pub(crate) again: Again,
    /// Whether two runs of it ran the same tests, where that was tried.
    pub(crate) same_tests: Option<SameNames>,
}

impl RanGate {
    /// As a report has it.
    pub(crate) fn judged(&self) -> JudgedGate {
        let Again { verdict, tries, mut report, contradiction, .. } = self.again.clone();
        // A report of many gates is one fact, which is bounded: of the names only those that must be there.
        report.tests = report.tests.map(|tests| {
            let tests = TestsSeen { gone: NameList::default(), newly_skipped: NameList::default(), ..*tests };
            Box::new(TestsSeen { failing_since_start: NameList::default(), ..tests })
        });
        // What one says is compared where it shows no tests, and told where it does not pass.
        let bytes = match (verdict, &report.tests) {
            (Verdict::Pass, _) => 0,
            (_, Some(_)) => SAID_BYTES_MAX,
            (_, None) => report.excerpt.len(),
        };
        report.excerpt = text::tail(&report.excerpt, bytes).to_owned();
        JudgedGate { gate: self.gate, verdict, tries, report, contradiction, same_tests: self.same_tests }
    }
}

/// The copy. It is removed when this is dropped, unless it is to stay.
#[derive(Debug)]
pub(crate) struct CleanCopy<'a> {
    request: CleanRequest<'a>,
    own: Option<Copies>,
    room: PathBuf,
    /// The folder with the files of the copy.
    pub(crate) tree: PathBuf,
    /// Where the gates run: the tree, or the workspace's path.
    folder: PathBuf,
    is_at_own_path: bool,
    /// This process has mounts of its own.
    has_mounts: bool,
    watch: Option<WorkspaceOpens>,
    was_opened: Cell<bool>,
    variables: Vec<(String, OsString)>,
    remarks: Vec<String>,
    /// Folders of dependencies that are as the agent installed them.
    pub(crate) installed: Vec<String>,
    /// How the workspace differs from the tree, where that was asked for.
    pub(crate) workspace_now: WorkspaceNow,
    /// The tree of the start.
    pub(crate) initial: Recorded,
    /// The tree that the copy holds.
    pub(crate) last: Recorded,
    /// How often gates were run.
    rounds: Cell<u32>,
    /// The programs of the gates, looked at before every start.
    pub(crate) programs: ProgramWatch,
}

impl<'a> CleanCopy<'a> {
    /// Makes the copy. This process must have one thread for a copy at the workspace's path, and sees it there from now on.
    ///
    /// # Errors
    /// When a tree is gone, or the copy cannot be made.
    pub(crate) fn make(request: CleanRequest<'a>) -> Result<Self, CleanError> {
        become_reaper()?;
        DirBuilder::new().recursive(true).mode(0o700).create(request.copies)?;
        // What a killed process left.
        copy::sweep(request.copies)?;
        let last = opened(request.context, request.checkpoint)?;
        let initial = opened(request.context, "initial").or_else(|error| match request.clean {
            true => Err(error),
            false => opened(request.context, request.checkpoint),
        })?;
        let own = Copies::open(request.copies, &format!("judge-{}", crate::fs::fresh_id()?))?;
        let room = own.room();
        let mut copy = Self {
            tree: folder_for(&request, &room)?,
            folder: PathBuf::new(),
            own: Some(own),
            room,
            is_at_own_path: false,
            has_mounts: false,
            watch: None,
            was_opened: Cell::new(false),
            variables: Vec::new(),
            remarks: Vec::new(),
            installed: Vec::new(),
            workspace_now: WorkspaceNow::default(),
            initial,
            last,
            rounds: Cell::new(0),
            programs: ProgramWatch::of(request.state, &request.context.workspace),
            request,
        };
        copy.folder.clone_from(&copy.tree);
        copy.fill()?;
        Ok(copy)
    }

    /// Puts everything into the copy, and the copy at its place.
    fn fill(&mut self) -> Result<(), CleanError> {
        let to = open_folder(&self.tree)?;
        let unable = |error: io::Error| CleanError::Unable(format!("the copy cannot be made: {error}"));
        let recorded = &self.last;
        let nothing = Checkpoint::default();
        let along = CopyExtras { workspace: &to, now: &nothing, ignored: false, git: false };
        let (source, key) = (recorded.source(), self.request.checkpoint);
        copy::put(&CopyRequest { checkpoint: &recorded.checkpoint, source, key, along }, &to).map_err(unable)?;
        if recorded.snapshot_folder().is_some() {
            touch(&to).map_err(unable)?;
        }
        let copied = tree_of_copy(&to, &self.room.join("copied"))?;
        if copied != recorded.tree {
            let why = format!("the copy is not what was recorded (tree {copied}): this file system cannot hold it");
            return Err(CleanError::Unable(why));
        }
        if self.request.clean {
            remove_new_caches(&to, &recorded.checkpoint, &self.initial.checkpoint).map_err(unable)?;
        }
        if self.request.compare {
            self.workspace_now = match workspace_now(self.request.context, &recorded.checkpoint, &self.room.join("now"))
            {
                Ok(now) => WorkspaceNow::differing(&recorded.differences(&now)),
                Err(error) => WorkspaceNow::unseen(error.to_string()),
            };
        }
        let path = self.request.context.workspace.clone();
        let workspace = self.workspace(&path);
        let is_needed = self.request.clean || self.request.now != FromWorkspace::default();
        if let Some(why) = workspace.err().filter(|_| is_needed) {
            return Err(CleanError::Unable(format!("nothing can be brought along from the workspace: {why}")));
        }
        let is_own_path = self.request.clean && self.request.keep.is_none() && place::can_mount(&self.room);
        if is_own_path {
            place::own_mounts().map_err(unable)?;
            self.has_mounts = true;
        }
        // Again, in the mounts that hold from now on.
        if let Ok(workspace) = self.workspace(&path) {
            let mode = fstat(&workspace).map_err(io::Error::from)?.st_mode & 0o7777;
            fs::set_permissions(&self.tree, Permissions::from_mode(mode | 0o700))?;
            self.bring_along(&workspace, &to, is_own_path).map_err(unable)?;
            if is_own_path {
                place::bind(&self.tree, &path).map_err(unable)?;
                self.folder = path;
                self.is_at_own_path = true;
                // What mounts of its own do not reach, such as a container engine, sees the workspace all the same.
                let is_folder = |entry: &StoredEntry| entry.what == StoredKind::Folder;
                let names = &self.last.checkpoint.names;
                let folders = names.iter().filter(|(_, entry)| is_folder(entry)).map(|(path, _)| path.as_slice());
                self.watch = WorkspaceOpens::of_files(&workspace, std::iter::once(&b""[..]).chain(folders));
            } else if self.request.clean {
                self.watch = Some(WorkspaceOpens::new(&workspace));
            }
        }
        Ok(())
    }

    /// The workspace, if it is the folder that it was when the run began.
    fn workspace(&self, path: &Path) -> Result<OwnedFd, String> {
        let folder = open_folder(path).map_err(|error| error.to_string())?;
        let stat = fstat(&folder).map_err(|error| error.to_string())?;
        let known = self.request.state.spec.as_ref().map(|spec| &spec.workspace);
        match known {
            Some(known) if (known.device, known.inode) != (stat.st_dev, stat.st_ino) => {
                Err("another folder is in its place".to_owned())
            }
            Some(_) | None => Ok(folder),
        }
    }

    /// What no checkpoint holds: the repository, ignored files, and a HOME.
    fn bring_along(&mut self, workspace: &OwnedFd, to: &OwnedFd, mounts: bool) -> io::Result<()> {
        let CleanRequest { now, clean, run, baseline, context, state, .. } = self.request;
        let recorded = Baseline::of(run, baseline.filter(|_| clean));
        let baseline = recorded.map_err(|error| io::Error::other(error.to_string()))?;
        if now.git {
            copy::copy_repository(workspace, to)?;
        } else if clean {
            self.put_git(mounts)?;
        }
        if now.ignored || clean {
            let setup = state.settings.shown().values.gate.setup.is_some();
            let brought = bring(&BringRequest {
                context,
                workspace,
                last: &self.last.checkpoint,
                initial: &self.initial,
                recorded: &self.last,
                baseline: baseline.as_ref(),
                everything: now.ignored,
                setup,
                tree: to,
                mounts: mounts.then_some(&self.room),
            })?;
            self.remarks.extend(brought.remarks);
            self.installed = brought.installed;
        }
        if clean && !now.home {
            let further = &state.settings.shown().values.gate.judge_home;
            let user = context.user.home.as_deref();
            self.variables = home::make(&self.room.join("home"), user, further, baseline.as_ref())?;
        }
        Ok(())
    }

    /// The repository as it was at the start, where there was one.
    fn put_git(&mut self, mounts: bool) -> io::Result<()> {
        let Some(git) = CleanGit::of(self.request.context) else { return Ok(()) };
        let mut objects = git.objects();
        if mounts && objects.is_dir() && objects.starts_with(&self.request.context.workspace) {
            // Its own path will be hidden by the copy.
            let own = self.room.join("objects");
            fs::create_dir(&own)?;
            place::bind_to_read(&objects, &own)?;
            objects = own;
        }
        git.write(&self.tree.join(".git"), &objects)
    }

    /// Installs dependencies in the copy, where the user gave a command for it.
    ///
    /// # Errors
    /// When it fails, or a signal stopped it.
    pub(crate) fn set_up(
        &self,
        signals: &mut Signals,
        show: &mut dyn FnMut(GateProgress<'_>),
    ) -> Result<(), CleanError> {
        let settings = self.request.state.settings.shown();
        let Some(command) = settings.values.gate.setup.clone().filter(|_| self.request.clean) else { return Ok(()) };
        let gate = GateSpec::new("setup", &command);
        let mut runner = self.runner(settings, signals)?;
        let tried = runner.try_once(&gate, show);
        if runner.was_stopped() {
            return Err(CleanError::Stopped);
        }
        let report = tried.map_err(|failure| CleanError::Unable(format!("the setup command {failure}")))?.report;
        if report.ended == Ended::Exit(0) {
            return Ok(());
        }
        let why = format!("the setup command failed in the copy ({}): {}", report.ended.brief(), report.excerpt);
        Err(CleanError::Unable(text::one_line(&why, 400)))
    }

    fn runner<'b>(&'b self, settings: &Settings, signals: &'b mut Signals) -> Result<GateRunner<'b>, CleanError> {
        let state = self.request.state;
        self.rounds.set(self.rounds.get() + 1);
        let containment = Containment::new(self.request.owner, settings.values.agent.containment.word(), None)?;
        let context = GateContext {
            folder: &self.folder,
            same: None,
            // At its own path a repository above it is the one that is above the workspace.
            is_copy: !self.is_at_own_path,
            secrets: secrets::of(state),
            variables: self.variables.clone(),
        };
        let outputs = self.request.outputs.unwrap_or(&self.room);
        let outputs = outputs.join(format!("round-{}", self.rounds.get()));
        let runner = GateRunner::new(context, settings.gate_timeout_ms, outputs, containment, signals);
        Ok(runner.with_programs(&self.programs))
    }

    /// Runs the gates in their order; unless `all` are wanted, up to the first required one that does not pass.
    ///
    /// # Errors
    /// When one has no result, or a signal stopped it.
    pub(crate) fn run_gates(
        &self,
        all: bool,
        signals: &mut Signals,
        show: &mut dyn FnMut(GateProgress<'_>),
    ) -> Result<Vec<RanGate>, CleanError> {
        self.run_some(&|_| true, all, signals, show)
    }

    /// The same for some of the gates.
    ///
    /// # Errors
    /// When one has no result, or a signal stopped it.
    pub(crate) fn run_some(
        &self,
        is_wanted: &dyn Fn(GateIndex) -> bool,
        all: bool,
        signals: &mut Signals,
        show: &mut dyn FnMut(GateProgress<'_>),
    ) -> Result<Vec<RanGate>, CleanError> {
        let state = self.request.state;
        let settings = state.settings.shown();
        if let Some(watch) = &self.watch {
            // What was opened between two runs was opened by us.
            watch.forget();
        }
        let mut runner = self.runner(settings, signals)?;
        let mut ran: Vec<RanGate> = Vec::new();
        for next in 0..u32::try_from(settings.gates.len()).unwrap_or(u32::MAX) {
            let Some(at) = state.gates.at(next).filter(|at| is_wanted(*at)) else { continue };
            let gate = state.gates.get(at).ok_or_else(|| CleanError::Unable(format!("there is no gate {at}")))?;
            let memory = self.memory(at, gate);
            let mut judge = || {
                let failed = |failure| CleanError::Unable(format!("the gate {} {failure}", gate.spec().name));
                let judged = runner.judge(gate.spec(), &memory, show).map_err(failed)?;
                let again = judged.ok_or(CleanError::Stopped)?;
                if let Some(tests) = &again.tests {
                    store_tests(&runner.output(), tests);
                }
                Ok::<Again, CleanError>(again)
            };
            let again = judge()?;
            let same_tests = self.same_tests(gate, &memory, &again, &mut judge)?;
            let is_over = gate.is_required() && again.verdict != Verdict::Pass;
            ran.push(RanGate { gate: at, again, same_tests });
            if is_over && !all {
                break;
            }
        }
        drop(runner);
        let opened = self.watch.as_ref().is_some_and(WorkspaceOpens::take);
        self.was_opened.set(self.was_opened.get() || opened);
        Ok(ran)
    }

    /// Runs hidden gates; unless `all` are wanted, up to the first that does not pass.
    ///
    /// # Errors
    /// When one has no result, or a signal stopped it.
    pub(crate) fn run_hidden(
        &self,
        gates: &[GateSpec],
        all: bool,
        signals: &mut Signals,
    ) -> Result<Vec<RanHidden>, CleanError> {
        if let Some(watch) = &self.watch {
            watch.forget();
        }
        let mut runner = self.runner(self.request.state.settings.shown(), signals)?;
        let ran = hidden::run_each(&mut runner, gates, all);
        drop(runner);
        let opened = self.watch.as_ref().is_some_and(WorkspaceOpens::take);
        self.was_opened.set(self.was_opened.get() || opened);
        ran
    }

    /// What is known of a gate from the run. On the initial tree its exit code decides, as before iteration 1.
    fn memory(&self, at: GateIndex, gate: &Gate) -> GateMemory {
        let CleanRequest { state, run, checkpoint, .. } = self.request;
        let is_initial = checkpoint == INITIAL && state.iteration > 0;
        let id = state.spec.as_ref().map(|spec| spec.id.clone());
        let history = id.map(|id| TestHistory::on_copy(&RunFolder { id, path: run.to_owned() }, state, at));
        let earlier = (!is_initial).then(|| gate.earlier_tests());
        GateMemory { completed: gate.completed(), earlier, history }
    }

    /// Whether the gate runs the same tests each time, where that decides something: on the initial tree, or where names of
    /// tests are gone that are not gone without their brackets. For that it is run once more.
    fn same_tests(
        &self,
        gate: &Gate,
        memory: &GateMemory,
        again: &Again,
        judge: &mut dyn FnMut() -> Result<Again, CleanError>,
    ) -> Result<Option<SameNames>, CleanError> {
        let (Some(tests), Some(seen)) = (&again.tests, &again.report.tests) else { return Ok(None) };
        let is_initial = memory.earlier.is_none();
        let in_brackets = !seen.missing.is_nothing() && seen.missing_without_brackets.is_nothing();
        let decides = is_initial || (in_brackets && again.verdict == Verdict::Pass);
        if gate.names().is_some() || !decides {
            return Ok(None);
        }
        Ok(judge()?.tests.and_then(|second| tests.same_names(&second)))
    }

    /// Where the gates ran.
    pub(crate) fn place(&self) -> JudgePlace {
        match (self.is_at_own_path, self.was_opened.get()) {
            (true, false) => JudgePlace::OwnPath,
            (false, false) => JudgePlace::Elsewhere,
            (_, true) => JudgePlace::WorkspaceOpened,
        }
    }

    /// What a person should know about it.
    pub(crate) fn remarks(&self) -> Vec<String> {
        self.remarks.iter().take(REMARKS_MAX).cloned().collect()
    }

    /// Removes the copy, unless it is to stay.
    ///
    /// # Errors
    /// When something of it stays.
    pub(crate) fn close(mut self) -> io::Result<()> {
        self.remove()
    }

    fn remove(&mut self) -> io::Result<()> {
        let Some(own) = self.own.take() else { return Ok(()) };
        if self.has_mounts {
            if self.is_at_own_path {
                // A folder in which something is mounted by another path cannot be removed either.
                place::unbind(&self.folder)?;
            }
            place::unbind_below(&self.room)?;
        }
        own.remove_all()
    }
}

impl Drop for CleanCopy<'_> {
    fn drop(&mut self) {
        // What stays is removed by the next sweep.
        self.remove().ok();
    }
}

/// Gives all files the present time: build tools must not take what was built from others for up to date.
fn touch(tree: &OwnedFd) -> io::Result<()> {
    let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    let times = Timestamps { last_access: now, last_modification: now };
    for name in walk(tree, &|_| true)? {
        let (above, last) = split(&name.path);
        if name.kind == NameKind::File {
            utimensat(open_below(tree.as_fd(), above)?, last, &times, AtFlags::SYMLINK_NOFOLLOW)?;
        }
    }
    Ok(())
}

/// Caches that came or changed since the start do not judge, also where the repository does not ignore them.
fn remove_new_caches(tree: &OwnedFd, last: &Checkpoint, initial: &Checkpoint) -> io::Result<()> {
    for (path, entry) in last.names.iter().filter(|(path, _)| tables::is_cache(path)) {
        if entry.what == StoredKind::Folder || initial.names.get(path) == Some(entry) {
            continue;
        }
        let (above, name) = split(path);
        unlinkat(open_below(tree.as_fd(), above)?, name, AtFlags::empty())?;
    }
    Ok(())
}

fn opened(context: &CheckpointContext, name: &str) -> Result<Recorded, CleanError> {
    Recorded::open(context, name)
        .map_err(|error| CleanError::Gone(format!("checkpoint {name} cannot be read: {error}")))
}

/// The empty folder that becomes the copy.
fn folder_for(request: &CleanRequest<'_>, room: &Path) -> Result<PathBuf, CleanError> {
    let tree = request.keep.map_or_else(|| room.join("tree"), Path::to_owned);
    let refused = |why: String| CleanError::Folder(format!("{} cannot be the copy: {why}", tree.display()));
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
    if open_folder(&request.context.workspace).is_ok_and(|workspace| is_inside(&tree, &workspace).unwrap_or(true)) {
        if made.is_ok() {
            fs::remove_dir(&tree).ok();
        }
        return Err(refused("it lies in the workspace, which is not to be touched".to_owned()));
    }
    Ok(tree)
}
