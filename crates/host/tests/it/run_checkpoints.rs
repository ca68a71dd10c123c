//! One who keeps checkpoints of a workspace for the tests: every call of the engine is in here.
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use std::sync::atomic::AtomicBool;

use loop_host::checkpoint::{
    Checkpoint, Depth, Id, ObjectKind, Pack, RestorePlan, Rules, ScanCache, ScanHint, Store, StoredEntry, StoredKind,
    TakeOutcome, TakeRequest, open_folder, restore,
};

/// A workspace, `work`, with a store beside it.
pub(crate) struct TestCheckpoints {
    pub(crate) scratch: tempfile::TempDir,
    store: Store,
    cache: ScanCache,
}

/// A checkpoint that was made.
pub(crate) struct Made {
    pub(crate) checkpoint: Checkpoint,
    pub(crate) id: Id,
    /// How many files were read for it.
    pub(crate) read: u64,
}

impl TestCheckpoints {
    /// In memory: what is synced is another test's matter.
    pub(crate) fn in_memory() -> Self {
        Self::within(loop_testkit::folder_in_memory())
    }

    pub(crate) fn on_disk() -> Self {
        Self::within(tempfile::tempdir().unwrap())
    }

    fn within(scratch: tempfile::TempDir) -> Self {
        fs::create_dir(scratch.path().join("work")).unwrap();
        let store = Store::open(&scratch.path().join("store")).unwrap();
        Self { scratch, store, cache: ScanCache::empty("run") }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.scratch.path().join("work")
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.root().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn try_keep(&mut self, name: &str) -> io::Result<Made> {
        let workspace = open_folder(&self.root())?;
        let cancel = AtomicBool::new(false);
        let rules = Rules::new(true, &[], false);
        let hint = ScanHint::Everything;
        let ask =
            TakeRequest { name, parent: None, rules: &rules, hint, depth: Depth::Whole, unless: None, cancel: &cancel };
        match self.store.save(&workspace, &mut self.cache, &ask)? {
            TakeOutcome::Saved(id, measured) => Ok(Made { checkpoint: self.store.load(id)?, id, read: measured.read }),
            other @ (TakeOutcome::NotWritten(_) | TakeOutcome::Unreadable(_) | TakeOutcome::Cancelled) => {
                Err(io::Error::other(format!("{other:?}")))
            }
        }
    }

    pub(crate) fn keep(&mut self, name: &str) -> Made {
        self.try_keep(name).unwrap()
    }

    pub(crate) fn try_go_back(&mut self, target: &Made) -> io::Result<()> {
        let now = self.try_keep("run/undo")?;
        let workspace = open_folder(&self.root())?;
        let way = RestorePlan { target: target.id, before: now.id, cancel: &AtomicBool::new(false) };
        restore(&self.store, &self.store, &workspace, &mut self.cache, &way).map(drop)
    }

    pub(crate) fn go_back(&mut self, target: &Made) {
        self.try_go_back(target).unwrap();
    }

    /// What a checkpoint holds of a file.
    pub(crate) fn content(&self, made: &Made, name: &str) -> Vec<u8> {
        let Some(StoredEntry { what: StoredKind::File(id), .. }) = made.checkpoint.names.get(name.as_bytes()) else {
            panic!("{name} is not in it")
        };
        let mut bytes = Vec::new();
        self.store.copy(id, &mut bytes).unwrap();
        bytes
    }

    /// Whether these bytes are the content of anything in the store.
    pub(crate) fn holds(&self, bytes: &[u8]) -> bool {
        let packs = fs::read_dir(self.scratch.path().join("store/objects/pack")).unwrap().flatten();
        let packs = packs.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|end| end == "pack"));
        let id = Id::of(ObjectKind::Blob, bytes);
        packs.into_iter().any(|path: PathBuf| Pack::open(Path::new(&path)).unwrap().has(&id))
    }
}
