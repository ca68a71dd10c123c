//! A workspace, a copy of it in which a branch works, and one store for both.
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use loop_core::settings::Values;
use loop_host::checkpoint::user_git::GitUser;
use loop_host::checkpoint::{CheckpointContext, CheckpointError, RunCheckpoints, Store};
use loop_host::merge::{APPLIED, ApplyOutcome, ApplyReport, ApplyRequest, BEFORE_APPLY, ConflictKind, apply};

use crate::sight::{Sight, sight};

/// `work` is the user's, `copy` the branch's.
pub(crate) struct MergeScene {
    pub(crate) root: PathBuf,
    _scratch: Option<tempfile::TempDir>,
}

pub(crate) const THEIRS: &str = "branch/iter-1";
pub(crate) const REQUEST: ApplyRequest<'_> =
    ApplyRequest { base: "initial", theirs: THEIRS, before: BEFORE_APPLY, applied: APPLIED };

impl MergeScene {
    /// A scene whose workspace is still empty.
    pub(crate) fn empty() -> Self {
        let scratch = loop_testkit::folder_in_memory();
        let scene = Self { root: scratch.path().to_owned(), _scratch: Some(scratch) };
        fs::create_dir(scene.work()).unwrap();
        scene
    }

    /// One that another process made.
    pub(crate) fn at(root: &Path) -> Self {
        Self { root: root.to_owned(), _scratch: None }
    }

    /// These files, and a branch that begins with them.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let scene = Self::empty();
        files.iter().for_each(|(name, text)| scene.user(name, text));
        scene.branch_off();
        scene
    }

    /// Records the base and makes the copy.
    pub(crate) fn branch_off(&self) {
        self.plan().take("initial", None).unwrap();
        let done = Command::new("cp").arg("-a").arg(self.work()).arg(self.copy()).status().unwrap();
        assert!(done.success());
        self.branch().take("initial", None).unwrap();
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.root.join("work")
    }

    pub(crate) fn copy(&self) -> PathBuf {
        self.root.join("copy")
    }

    fn keeper(&self, run: &str, workspace: PathBuf) -> RunCheckpoints {
        let context = CheckpointContext {
            run: run.to_owned(),
            store: self.root.join("state/checkpoints/store"),
            workspace,
            settings: Values::default().checkpoint,
            litter: Vec::new(),
            user: GitUser::default(),
            backend: "git".to_owned(),
        };
        RunCheckpoints::open(context, Arc::default()).unwrap()
    }

    pub(crate) fn plan(&self) -> RunCheckpoints {
        self.keeper("plan", self.work())
    }

    pub(crate) fn branch(&self) -> RunCheckpoints {
        self.keeper("branch", self.copy())
    }

    pub(crate) fn store(&self) -> Store {
        Store::open(&self.root.join("state/checkpoints/store")).unwrap()
    }

    /// Every object that a checkpoint needs is there: git says so.
    pub(crate) fn assert_whole(&self) {
        let store = self.root.join("state/checkpoints/store");
        let checked = Command::new("git").arg("--git-dir").arg(store).args(["fsck", "--full"]).output().unwrap();
        assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout));
    }

    pub(crate) fn user(&self, name: &str, text: &str) {
        put(&self.work().join(name), text);
    }

    pub(crate) fn agent(&self, name: &str, text: &str) {
        put(&self.copy().join(name), text);
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.work().join(name)).unwrap()
    }

    pub(crate) fn sight(&self) -> Sight {
        sight(&self.work())
    }

    /// Records what the branch has, and applies it.
    pub(crate) fn try_apply(&self) -> Result<ApplyOutcome, CheckpointError> {
        self.branch().take("iter-1", Some("initial")).unwrap();
        apply(&mut self.plan(), &REQUEST)
    }

    /// The same, without conflicts. The workspace is what its new checkpoint holds.
    pub(crate) fn applied(&self) -> ApplyReport {
        match self.try_apply().unwrap() {
            ApplyOutcome::Applied(report) => {
                let now = self.plan().take("now", None).unwrap();
                let is_equal = now.tree.as_deref() == Some(report.tree.as_str());
                assert!(is_equal || !report.left.is_empty(), "the workspace is not what was merged");
                report
            }
            ApplyOutcome::Conflicts(refused) => panic!("{:?}", refused.conflicts),
        }
    }

    /// The conflicts; nothing in the workspace was changed.
    pub(crate) fn conflicts(&self) -> Vec<(String, ConflictKind)> {
        let before = self.sight();
        match self.try_apply().unwrap() {
            ApplyOutcome::Applied(report) => panic!("{report:?}"),
            ApplyOutcome::Conflicts(refused) => {
                assert_eq!(self.sight(), before);
                assert_eq!((refused.ours.as_str(), refused.theirs.as_str()), ("plan/before-apply", THEIRS));
                let name = |path: &[u8]| String::from_utf8_lossy(path).into_owned();
                refused.conflicts.iter().map(|one| (name(&one.path), one.kind)).collect()
            }
        }
    }
}

fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}
