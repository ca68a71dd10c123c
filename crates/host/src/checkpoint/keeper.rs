//! The checkpoints of one run: taken, compared and gone back to. Whoever has a [`Keeper`] has the workspace's lock.
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use loop_core::run::{Changes, Measured, RolledBack, Saved};
use loop_core::settings::Resolved;
use loop_core::text;

use super::{Checkpoint, Id, Rules, Seen, StatCache, Store, open_folder, restore, scan};

/// The most that is named of anything in an answer.
const NAMED_MAX: usize = 20;

/// What a keeper is for.
#[derive(Debug, Clone)]
pub struct Place {
    /// The run, which names its checkpoints.
    pub run: String,
    /// Where the store is.
    pub store: PathBuf,
    /// Where the work is done.
    pub workspace: PathBuf,
    /// What is kept and how.
    pub settings: Resolved,
}

/// The checkpoints of one run.
#[derive(Debug)]
pub struct Keeper {
    place: Place,
    store: Store,
    workspace: OwnedFd,
    rules: Rules,
    cache: StatCache,
    /// Paths that stay in scope, sorted.
    held: Vec<Vec<u8>>,
}

/// Why a checkpoint was not taken, or not gone back to.
#[derive(Debug, thiserror::Error)]
pub enum NotKept {
    /// Nothing was changed.
    #[error("{0}")]
    Refused(String),
    /// Something has to be mended first.
    #[error("{0}")]
    Blocked(String),
}

impl From<io::Error> for NotKept {
    fn from(error: io::Error) -> Self {
        Self::Blocked(error.to_string())
    }
}

impl Keeper {
    /// Opens the store, or makes it.
    ///
    /// # Errors
    /// When the machine would not let us.
    pub fn open(place: Place) -> io::Result<Self> {
        let workspace = open_folder(&place.workspace)?;
        let rules = rules_of(&place);
        let store = Store::open(&place.store)?;
        let mut keeper = Self { place, store, workspace, rules, cache: StatCache::default(), held: Vec::new() };
        if let Ok(id) = keeper.store.named(&keeper.full("initial")) {
            keeper.hold(&keeper.store.load(id)?);
        }
        Ok(keeper)
    }

    /// The checkpoints of a run, the oldest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn list(place: &Place) -> io::Result<Vec<Listed>> {
        if !place.store.is_dir() {
            return Ok(Vec::new());
        }
        let store = Store::open(&place.store)?;
        let mut listed = Vec::new();
        for name in store.names(&place.run)? {
            let id = store.named(&format!("{}/{name}", place.run))?;
            let (at_ms, bytes) = store.facts_of(id)?;
            listed.push(Listed { name, id, at_ms, bytes });
        }
        listed.sort_by(|left, right| (left.at_ms, &left.name).cmp(&(right.at_ms, &right.name)));
        Ok(listed)
    }

    fn full(&self, name: &str) -> String {
        format!("{}/{name}", self.place.run)
    }

    /// What was kept once stays in scope.
    fn hold(&mut self, checkpoint: &Checkpoint) {
        self.held.extend(checkpoint.names.keys().cloned());
        self.held.sort_unstable();
        self.held.dedup();
    }

    fn look(&self) -> Result<Seen, NotKept> {
        let seen = scan(&self.workspace, &self.rules, &self.held)?;
        if seen.unreadable.is_empty() {
            return Ok(seen);
        }
        let list: Vec<String> = seen
            .unreadable
            .iter()
            .take(NAMED_MAX)
            .map(|(path, why)| format!("{}: {why}", text::escape_path(path)))
            .collect();
        let more = seen.unreadable.len().saturating_sub(list.len());
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        Err(NotKept::Blocked(format!("the workspace cannot be kept: {}{more}", list.join(", "))))
    }

    /// Keeps the workspace as it is now. One of that name that exists already stays as it is.
    ///
    /// # Errors
    /// When something of it cannot be kept; then nothing of it is.
    pub fn take(&mut self, name: &str, parent: Option<&str>) -> Result<Saved, NotKept> {
        if let Ok(id) = self.store.named(&self.full(name)) {
            return Ok(self.saved(name, id, &[]));
        }
        let parent = parent.and_then(|parent| self.store.named(&self.full(parent)).ok());
        let seen = self.look()?;
        let full = self.full(name);
        let made = self.store.save(&self.workspace, &seen, &mut self.cache, (&full, parent))?;
        let checkpoint = self.store.load(made.id)?;
        self.hold(&checkpoint);
        Ok(self.saved(name, made.id, &made.unstable))
    }

    /// Keeps the workspace only if it is not what the newest checkpoint holds.
    ///
    /// # Errors
    /// When something of it cannot be kept; then nothing of it is.
    pub fn take_if_changed(&mut self, name: &str, newest: Option<&str>) -> Result<Saved, NotKept> {
        let Some(before) = newest.and_then(|newest| self.store.named(&self.full(newest)).ok()) else {
            return self.take(name, newest);
        };
        let saved = self.take(name, newest)?;
        let tree = self.store.tree_of(before)?.to_string();
        if saved.tree.as_ref() == Some(&tree) {
            self.store.forget(&self.full(name))?;
            return Ok(Saved { checkpoint: None, id: None, ..saved });
        }
        let changes = self.measure(newest, name)?.changes;
        Ok(Saved { changes, ..saved })
    }

    /// What changed from one checkpoint to another.
    ///
    /// # Errors
    /// When one of them cannot be read.
    pub fn measure(&self, from: Option<&str>, to: &str) -> Result<Measured, NotKept> {
        let load = |name: &str| self.store.load(self.store.named(&self.full(name))?);
        let before = from.map(load).transpose()?.unwrap_or_default();
        let after = load(to)?;
        let mut changes = Changes::default();
        let mut names = Vec::new();
        for path in before.names.keys().chain(after.names.keys().filter(|path| !before.names.contains_key(*path))) {
            if before.names.get(path) != after.names.get(path) {
                changes.files += 1;
                names.push(text::escape_path(path));
            }
        }
        names.truncate(NAMED_MAX);
        Ok(Measured { changes: Some(changes), names, tree: None })
    }

    /// Makes the workspace what a checkpoint holds. What is there before is kept first, under `undo`.
    ///
    /// # Errors
    /// When there is no such checkpoint, or something cannot be kept or written.
    pub fn go_back(&mut self, to: &str, undo: &str) -> Result<RolledBack, NotKept> {
        let Ok(target) = self.store.named(&self.full(to)) else {
            return Err(NotKept::Refused(format!("there is no checkpoint {to}")));
        };
        // Where one was cut off, the first is what was there before; what is there now is kept beside it.
        let begun = self.store.named(&self.full(undo)).is_ok();
        let name = if begun { self.fresh(undo) } else { undo.to_owned() };
        let kept = self.take(&name, None);
        let kept = kept.map_err(|error| if begun { error } else { NotKept::Refused(error.to_string()) })?;
        let before =
            kept.id.as_deref().and_then(Id::parse).ok_or_else(|| NotKept::Refused("a bug of loop".to_owned()))?;
        let (target_tree, target) = (self.store.tree_of(target)?, self.store.load(target)?);
        let before = self.store.load(before)?;
        let seen = self.look()?;
        let done = restore(&self.store, &self.workspace, &target, &before, &seen)?;
        let aside = done.moved_aside.iter().take(NAMED_MAX).map(|(_, to)| text::escape_path(to)).collect();
        Ok(RolledBack {
            to: to.to_owned(),
            undo: undo.to_owned(),
            tree: Some(target_tree.to_string()),
            written: done.written,
            removed: done.removed,
            aside,
            said: Vec::new(),
        })
    }

    fn fresh(&self, name: &str) -> String {
        let free = |name: &String| self.store.named(&self.full(name)).is_err();
        (2..u32::MAX).map(|number| format!("{name}.{number}")).find(free).unwrap_or_else(|| name.to_owned())
    }

    fn saved(&self, name: &str, id: Id, unstable: &[Vec<u8>]) -> Saved {
        Saved {
            checkpoint: Some(name.to_owned()),
            tree: self.store.tree_of(id).ok().map(|tree| tree.to_string()),
            id: Some(id.to_string()),
            changes: None,
            unstable: unstable.iter().take(NAMED_MAX).map(|path| text::escape_path(path)).collect(),
        }
    }
}

/// A checkpoint in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// Its object.
    pub id: Id,
    /// When it was taken.
    pub at_ms: u64,
    /// How much its own objects take.
    pub bytes: u64,
}

impl Listed {
    /// The iteration that it is of, if it is of one.
    #[must_use]
    pub fn iteration(&self) -> Option<u32> {
        let number = self.name.strip_prefix("iter-").or_else(|| self.name.strip_prefix("interrupted-"))?;
        number.split(['+', '.']).next()?.parse().ok()
    }
}

/// How a workspace can be kept: `git`, `btrfs` or `none`.
///
/// # Errors
/// Why what was asked for cannot be had.
pub fn choose(asked: &str, _workspace: &std::path::Path) -> Result<&'static str, String> {
    match asked {
        "none" => Ok("none"),
        "btrfs" => Err("the workspace is no btrfs subvolume".to_owned()),
        _ => Ok("git"),
    }
}

fn rules_of(place: &Place) -> Rules {
    let is_repository = place.workspace.join(".git").exists();
    Rules::new(is_repository, &[], place.settings.is_on("checkpoint_ignored"))
}
