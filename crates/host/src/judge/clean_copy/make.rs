//! Makes the copy: the recorded tree, what belongs to it, and its place.
use std::cell::Cell;
use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use loop_core::policy::protect::paths_below_home;
use loop_core::run::{INITIAL, NameList, Remark};
use loop_core::view::WorkspaceNow;
use rustix::fs::{AtFlags, Timespec, Timestamps, UTIME_NOW, fstat, unlinkat, utimensat};

use super::{CleanCopy, CleanError, CleanRequest, CopyContents, CopyMounts, LiveParts, Watch, WorkspaceCheck};
use crate::checkpoint::user_git::clean::CleanGit;
use crate::checkpoint::user_git::is_foreign;
use crate::checkpoint::{
    Checkpoint, CheckpointContext, Recorded, RecordedTrees, StoredEntry, StoredKind, open_folder, tree_of_copy,
    workspace_now,
};
use crate::fs::handle::{open_below, split};
use crate::fs::walk::{NameKind, walk};
use crate::gate::opportunity::made_by_gates;
use crate::gate::programs::ProgramWatch;
use crate::judge::baseline::Baseline;
use crate::judge::home::{self, HomeRequest};
use crate::judge::ignored::{IgnoredRequest, copy_ignored};
use crate::judge::opened::WorkspaceOpens;
use crate::judge::{place, tables};
use crate::process::become_reaper;
use crate::workspace::copy::{self, Copies, CopyExtras, CopyRequest, is_inside};

impl<'a> CleanCopy<'a> {
    /// Makes the copy. This process must have one thread for a copy at the workspace's path, and sees it there from now on.
    ///
    /// # Errors
    /// When a tree is gone, or the copy cannot be made.
    pub(crate) fn make(request: CleanRequest<'a>) -> Result<Self, CleanError> {
        become_reaper()?;
        let (context, copies) = (request.of.context, request.of.copies);
        DirBuilder::new().recursive(true).mode(0o700).create(copies)?;
        // What a killed process left.
        copy::sweep(copies)?;
        let last = opened(context, request.checkpoint)?;
        let initial = opened(context, INITIAL).or_else(|error| match request.is_clean() {
            true => Err(error),
            false => opened(context, request.checkpoint),
        })?;
        let own = Copies::open(copies, &format!("judge-{}", crate::fs::fresh_id()?))?;
        let scratch = own.room();
        let mut copy = Self {
            tree: folder_for(&request, &scratch)?,
            folder: PathBuf::new(),
            own: Some(own),
            scratch,
            mounts: CopyMounts::None,
            watch: Watch::Unneeded,
            contents: CopyContents::default(),
            workspace_now: WorkspaceNow::default(),
            initial,
            last,
            rounds: Cell::new(0),
            programs: ProgramWatch::of(request.of.state, &context.workspace),
            request,
        };
        copy.folder.clone_from(&copy.tree);
        copy.fill()?;
        Ok(copy)
    }

    /// Puts everything into the copy, and the copy at its place.
    fn fill(&mut self) -> Result<(), CleanError> {
        let to = open_folder(&self.tree)?;
        self.put_tree(&to)?;
        self.remove_made_by_gates(&to).map_err(unable)?;
        let context = self.request.of.context;
        if self.request.workspace == WorkspaceCheck::Compared {
            let (recorded, scratch) = (&self.last, self.scratch.join("now"));
            self.workspace_now = match workspace_now(context, &recorded.checkpoint, &scratch) {
                Ok(now) => WorkspaceNow::differing(&recorded.differences(&now)),
                Err(error) => WorkspaceNow::unseen(error.to_string()),
            };
        }
        let path = &context.workspace;
        let is_needed = self.request.is_clean() || self.request.live != LiveParts::default();
        if let Some(why) = self.workspace(path).err().filter(|_| is_needed) {
            return Err(CleanError::Unable(format!("nothing can be brought along from the workspace: {why}")));
        }
        if self.request.is_clean() && self.request.keep.is_none() && place::can_mount(&self.scratch) {
            place::own_mounts().map_err(unable)?;
            self.mounts = CopyMounts::Own;
        }
        // Again, in the mounts that hold from now on.
        let Ok(workspace) = self.workspace(path) else { return Ok(()) };
        let mode = fstat(&workspace).map_err(io::Error::from)?.st_mode & 0o7777;
        fs::set_permissions(&self.tree, Permissions::from_mode(mode | 0o700))?;
        self.bring_along(&workspace, &to).map_err(unable)?;
        if self.mounts == CopyMounts::Own {
            place::bind(&self.tree, path).map_err(unable)?;
            self.folder.clone_from(path);
            self.mounts = CopyMounts::AtWorkspace;
        }
        self.watch = self.watch_for_opens(&workspace);
        Ok(())
    }

    /// The recorded tree, with new times.
    fn put_tree(&self, to: &OwnedFd) -> Result<(), CleanError> {
        let recorded = &self.last;
        let nothing = Checkpoint::default();
        let along = CopyExtras { workspace: to, now: &nothing, ignored: false, git: false };
        let (source, key) = (recorded.source(), self.request.checkpoint);
        copy::put(&CopyRequest { checkpoint: &recorded.checkpoint, source, key, along }, to).map_err(unable)?;
        if recorded.snapshot_folder().is_some() {
            touch(to).map_err(unable)?;
        }
        let copied = tree_of_copy(to, &self.scratch.join("copied"))?;
        if copied != recorded.tree {
            let why = format!("the copy is not what was recorded (tree {copied}): this file system cannot hold it");
            return Err(CleanError::Unable(why));
        }
        if self.request.is_clean() {
            let tracked = CleanGit::of(self.request.of.context).map(|git| git.tracked()).unwrap_or_default();
            remove_compiled(to, &recorded.checkpoint, &self.initial.checkpoint, &tracked).map_err(unable)?;
        }
        Ok(())
    }

    /// Leaves out new files in the places of targets that the gates' makefiles make: a gate that needs them makes them.
    fn remove_made_by_gates(&mut self, to: &OwnedFd) -> io::Result<()> {
        if !self.request.is_clean() {
            return Ok(());
        }
        let state = self.request.of.state;
        let commands: Vec<String> = state.gates.required().map(|gate| gate.spec().command.clone()).collect();
        let trees = RecordedTrees::new(&self.initial, &self.last);
        let gate_files = [state.guard.learned(), state.guard.left()].concat();
        let made = made_by_gates(&trees, &commands, &gate_files);
        for path in &made {
            let (above, name) = split(path.as_bytes());
            unlinkat(open_below(to.as_fd(), above)?, name, AtFlags::empty())?;
        }
        if !made.is_empty() {
            let names = NameList::of(made.iter().map(String::as_str)).words();
            let note = format!("not in the copy, because the gate's makefile makes it: {names}");
            self.contents.remarks.push(Remark::Note(note));
        }
        Ok(())
    }

    fn watch_for_opens(&self, workspace: &OwnedFd) -> Watch {
        if !self.request.is_clean() {
            return Watch::Unneeded;
        }
        let watch = if self.mounts == CopyMounts::AtWorkspace {
            // A container engine is outside our mount namespace and still sees the real workspace. Watch for that.
            let is_folder = |entry: &StoredEntry| entry.what == StoredKind::Folder;
            let names = &self.last.checkpoint.names;
            let folders = names.iter().filter(|(_, entry)| is_folder(entry)).map(|(path, _)| path.as_slice());
            WorkspaceOpens::of_files(workspace, std::iter::once(&b""[..]).chain(folders))
        } else {
            WorkspaceOpens::new(workspace)
        };
        watch.map_or_else(Watch::Impossible, Watch::Set)
    }

    /// The workspace, if it is the folder that it was when the run began.
    fn workspace(&self, path: &Path) -> Result<OwnedFd, String> {
        let folder = open_folder(path).map_err(|error| error.to_string())?;
        let stat = fstat(&folder).map_err(|error| error.to_string())?;
        let known = self.request.of.state.spec.as_ref().map(|spec| &spec.workspace);
        match known {
            Some(known) if (known.device, known.inode) != (stat.st_dev, stat.st_ino) => {
                Err("another folder is in its place".to_owned())
            }
            Some(_) | None => Ok(folder),
        }
    }

    /// What no checkpoint holds: the repository, ignored files, and a HOME.
    fn bring_along(&mut self, workspace: &OwnedFd, to: &OwnedFd) -> io::Result<()> {
        let CleanRequest { live, baseline, newest, .. } = self.request;
        let (clean, context) = (self.request.is_clean(), self.request.of.context);
        let gate = &self.request.of.state.settings.shown().values.gate;
        let recorded = Baseline::of(self.request.of.run, baseline.filter(|_| clean));
        let baseline = recorded.map_err(|error| io::Error::other(error.to_string()))?;
        if live.git {
            copy::copy_repository(workspace, to)?;
        } else if clean {
            let was_saved = self.put_git()?;
            // An agent can change the kind of the repository. What was saved at the start is in the copy.
            self.contents.has_foreign_git = !was_saved && is_foreign(&context.workspace);
        }
        if live.ignored || clean {
            let newest = (newest != self.request.checkpoint).then(|| Recorded::open(context, newest)).transpose();
            let newest = newest.map_err(|error| io::Error::other(error.to_string()))?;
            let copied = copy_ignored(&IgnoredRequest {
                context,
                workspace,
                initial: &self.initial,
                recorded: &self.last,
                newest: newest.as_ref().unwrap_or(&self.last),
                baseline: baseline.as_ref(),
                everything: live.ignored,
                setup: gate.setup.is_some(),
                tree: to,
                mounts: (self.mounts != CopyMounts::None).then_some(&self.scratch),
            })?;
            self.contents.remarks.extend(copied.remarks);
            self.contents.installed = copied.installed;
        }
        if clean && !live.home {
            let named = self.named_below_home();
            let home = home::make(
                &self.scratch.join("home"),
                &HomeRequest {
                    user: context.user.home.as_deref(),
                    workspace: &context.workspace,
                    further: &gate.judge_home,
                    named: &named,
                    baseline: baseline.as_ref(),
                },
            )?;
            self.contents.variables = home.variables;
            self.contents.remarks.extend(home.remarks.into_iter().map(Remark::Note));
        }
        Ok(())
    }

    /// What lies below HOME and the commands of the gates name.
    fn named_below_home(&self) -> Vec<String> {
        let home = self.request.of.context.user.home.as_deref().map(|home| home.to_string_lossy().into_owned());
        let Some(home) = home else { return Vec::new() };
        let own = self.request.of.state.gates.required().map(|gate| gate.spec());
        let gates = own.chain(self.request.hidden);
        gates.flat_map(|gate| paths_below_home(&gate.command, &home)).collect()
    }

    /// Whether the workspace has a repository that copies cannot have.
    pub(crate) fn lacks_repository(&self) -> bool {
        self.contents.has_foreign_git
    }

    /// The repository as it was at the start. Returns whether there was one that could be saved.
    fn put_git(&self) -> io::Result<bool> {
        let context = self.request.of.context;
        let Some(git) = CleanGit::of(context) else { return Ok(false) };
        let mut objects = git.objects();
        if self.mounts != CopyMounts::None && objects.is_dir() && objects.starts_with(&context.workspace) {
            // Its own path will be hidden by the copy.
            let own = self.scratch.join("objects");
            fs::create_dir(&own)?;
            place::bind_to_read(&objects, &own)?;
            objects = own;
        }
        git.write(&self.tree.join(".git"), &objects).map(|()| true)
    }
}

fn unable(error: io::Error) -> CleanError {
    CleanError::Unable(format!("the copy cannot be made: {error}"))
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

/// Removes new or changed compiled files from the copy, where the repository did not track them at the start. All other
/// caches are only left out where they are ignored: a source can have such a name.
fn remove_compiled(
    tree: &OwnedFd,
    last: &Checkpoint,
    initial: &Checkpoint,
    tracked: &BTreeSet<Vec<u8>>,
) -> io::Result<()> {
    for (path, entry) in last.names.iter().filter(|(path, _)| tables::is_compiled(path)) {
        let is_kept = initial.names.get(path) == Some(entry) || tracked.contains(path);
        if entry.what == StoredKind::Folder || is_kept {
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
fn folder_for(request: &CleanRequest<'_>, scratch: &Path) -> Result<PathBuf, CleanError> {
    let tree = request.keep.map_or_else(|| scratch.join("tree"), Path::to_owned);
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
    if open_folder(&request.of.context.workspace).is_ok_and(|workspace| is_inside(&tree, &workspace).unwrap_or(true)) {
        if made.is_ok() {
            fs::remove_dir(&tree).ok();
        }
        return Err(refused("it lies in the workspace, which is not to be touched".to_owned()));
    }
    Ok(tree)
}
