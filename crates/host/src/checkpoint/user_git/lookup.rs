//! Questions about a checkout, answered from its repository as data: the tree of its commit, a file of another revision,
//! the names in which two trees differ. Nothing that the repository configures is executed.
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use loop_core::text::{NameList, escape_path, escaped_head};

use super::config;
use super::folder::joined;
use super::ignores::{GitUser, above};
use super::index::COMMIT_MODE;
use super::location::{CONFIG_BYTES_MAX, GitLocation};
use super::objects::Objects;
use super::packs::GitObjectKind;
use super::refs::{self, RefValue, Refs};
use super::remarks::Remarks;
use super::walk::{named_by_tag, parents_of};
use crate::checkpoint::git::object::{FOLDER, Id, TreeEntry, read_tree};
use crate::checkpoint::portable::{Leaf, ObjectFormat};

/// A commit or a tree is at most this long.
const OBJECT_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// HEAD and the like are lines.
const HEAD_BYTES_MAX: u64 = 64 * 1024;
/// A tag may name another, and so on.
const TAGS_MAX: usize = 8;
/// More files are not compared by name.
const FILES_MAX: usize = 2_000_000;
/// Folders are not followed deeper.
const DEPTH_MAX: usize = 200;
/// Where a name of a revision is looked for, in git's order.
const PLACES: [&str; 5] = ["", "refs/", "refs/tags/", "refs/heads/", "refs/remotes/"];

/// A checkout of a repository.
#[derive(Debug)]
pub struct Checkout {
    pub(super) location: GitLocation,
    pub(super) objects: Objects,
    refs: Refs,
    /// The top of its files.
    pub top: PathBuf,
    /// Where the folder that was asked about lies below it, without slashes around; empty for the top.
    pub below: Vec<u8>,
    /// Which ids its objects have. Objects with SHA-256 ids cannot be read here.
    pub format: ObjectFormat,
    /// Refs are in a form that is not read here.
    pub(super) has_reftable: bool,
}

/// The files of a commit.
#[derive(Debug, Default)]
pub struct CommittedFiles {
    /// Files and links.
    pub files: BTreeMap<Vec<u8>, Leaf>,
    /// Submodules.
    pub modules: Vec<Vec<u8>>,
}

impl Checkout {
    /// The repository that a folder is in; none where there is none.
    ///
    /// # Errors
    /// Why it is not read, as a sentence.
    pub fn of(folder: &Path) -> Result<Option<Self>, String> {
        let Some(found) = above(folder) else { return Ok(None) };
        let Some(location) = GitLocation::of(&found.folder)? else { return Ok(None) };
        let mut remarks = Remarks::default();
        let config = location.common.read(b"config", CONFIG_BYTES_MAX).ok().flatten().unwrap_or_default();
        let is = |key: &str, word: &str| {
            config::value(&config, "extensions", key).is_some_and(|value| value.eq_ignore_ascii_case(word))
        };
        let format = if is("objectformat", "sha256") { ObjectFormat::Sha256 } else { ObjectFormat::Sha1 };
        let has_reftable = is("refstorage", "reftable");
        let can_read = format == ObjectFormat::Sha1;
        let objects = if can_read {
            Objects::of(&location.common, &location.common_path, &mut remarks)
        } else {
            Objects::default()
        };
        let refs = if can_read { refs::read(&location.common, &mut remarks) } else { Refs::new() };
        let below = found.below.join(&b'/');
        Ok(Some(Self { location, objects, refs, top: found.folder, below, format, has_reftable }))
    }

    /// The commit that is checked out.
    #[must_use]
    pub fn head(&self) -> Option<String> {
        self.head_id().map(|id| id.to_string())
    }

    fn head_id(&self) -> Option<Id> {
        let text = self.location.git.read(b"HEAD", HEAD_BYTES_MAX).ok()??;
        self.resolved(&RefValue::parse(&text)?)
    }

    /// A ref may be a worktree's own; all others are shared.
    fn resolved(&self, value: &RefValue) -> Option<Id> {
        refs::resolve(value, &self.refs)
    }

    /// The tree of a folder in the commit that is checked out, or in its second parent; none where it is not there.
    #[must_use]
    pub fn head_tree(&mut self, second_parent: bool, folder: &[u8]) -> Option<String> {
        let head = self.head_id()?;
        let commit = match second_parent {
            false => head,
            true => *parents_of(&self.object(&head, GitObjectKind::Commit).ok()?).get(1)?,
        };
        let tree = self.tree_of(&commit).ok()?;
        self.below(&tree, folder).ok().filter(|entry| entry.mode == FOLDER).map(|entry| entry.id.to_string())
    }

    /// A file as `REVISION:PATH` names it.
    ///
    /// # Errors
    /// Why it cannot be read, as a sentence.
    pub fn file_at(&mut self, name: &str, bytes_max: u64) -> Result<Vec<u8>, String> {
        let shown = escaped_head(name, 200);
        let (revision, path) = name.split_once(':').ok_or_else(|| format!("{shown} is not REVISION:PATH"))?;
        if ["HEAD", "@", ""].contains(&revision) || revision.starts_with("HEAD~") || revision.starts_with("HEAD^") {
            return Err(format!("{shown} is of what is checked out: the author of the branch can change it"));
        }
        self.check_readable()?;
        let commit = self.revision(revision)?;
        let tree = self.tree_of(&commit)?;
        let missing = || format!("there is no file {} in {}", escaped_head(path, 120), escaped_head(revision, 80));
        let entry = self.below(&tree, path.trim_start_matches("./").as_bytes()).map_err(|_| missing())?;
        if ![0o100_644, 0o100_755].contains(&entry.mode) {
            return Err(missing());
        }
        let body = self.objects.read(&entry.id, bytes_max);
        match body {
            Ok(Some((GitObjectKind::Blob, bytes))) => Ok(bytes.as_ref().clone()),
            Ok(Some(_)) => Err(missing()),
            Ok(None) => Err(format!("{shown} is not in this clone: fetch it")),
            Err(()) => Err(format!("{shown} is damaged, or longer than {bytes_max} bytes")),
        }
    }

    /// Whether a revision is the commit that is checked out.
    #[must_use]
    pub fn is_head(&mut self, revision: &str) -> bool {
        self.head_id().is_some_and(|head| self.revision(revision) == Ok(head))
    }

    /// What a path is in a revision; none where it is no file there.
    #[must_use]
    pub fn leaf_at(&mut self, revision: &str, path: &[u8]) -> Option<Leaf> {
        let commit = self.revision(revision).ok()?;
        let tree = self.tree_of(&commit).ok()?;
        let entry = self.below(&tree, path).ok().filter(|entry| entry.mode != FOLDER && !path.is_empty())?;
        Some(Leaf { mode: entry.mode, id: entry.id })
    }

    pub(super) fn check_readable(&self) -> Result<(), String> {
        if self.format == ObjectFormat::Sha256 {
            return Err("this repository has SHA-256 objects, which loop does not read; give a file instead".to_owned());
        }
        if self.has_reftable {
            return Err(
                "this repository has its refs in a reftable, which loop does not read; give a file instead".to_owned()
            );
        }
        Ok(())
    }

    /// The commit that a name means.
    fn revision(&mut self, name: &str) -> Result<Id, String> {
        let unknown = || format!("there is no revision {} in this clone: fetch it", escaped_head(name, 120));
        let places = PLACES.iter().map(|place| format!("{place}{name}"));
        let named: Vec<(String, Id)> = places.filter_map(|place| Some((place.clone(), self.named(&place)?))).collect();
        // git takes the first. But a tag or a branch that somebody pushed must not take the place of the base.
        let is_other = |(_, id): &&(String, Id)| named.first().is_some_and(|(_, first)| first != id);
        if let (Some((one, _)), Some((other, _)), None) = (named.first(), named.iter().find(is_other), Id::parse(name))
        {
            let [name, one, other] = [name, one, other].map(|name| escaped_head(name, 120));
            return Err(format!("{name} means two revisions, {one} and {other}: write the whole name"));
        }
        let found = Id::parse(name).or_else(|| named.first().map(|(_, id)| *id));
        let mut id = found.or_else(|| self.named(&format!("refs/remotes/{name}/HEAD"))).ok_or_else(unknown)?;
        for _ in 0..TAGS_MAX {
            match self.objects.read(&id, OBJECT_BYTES_MAX) {
                Ok(Some((GitObjectKind::Tag, bytes))) => id = named_by_tag(&bytes).ok_or_else(unknown)?,
                Ok(Some((GitObjectKind::Commit, _))) => return Ok(id),
                Ok(Some((GitObjectKind::Tree | GitObjectKind::Blob, _)) | None) | Err(()) => break,
            }
        }
        Err(unknown())
    }

    /// A ref by its whole name, or a file such as FETCH_HEAD.
    fn named(&self, name: &str) -> Option<Id> {
        if let Some(value) = self.refs.get(name.as_bytes()) {
            return self.resolved(value);
        }
        let is_plain = name.ends_with("_HEAD") && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
        let text = self.location.git.read(name.as_bytes(), HEAD_BYTES_MAX).ok().flatten().filter(|_| is_plain)?;
        self.resolved(&RefValue::parse(&text)?)
    }

    pub(super) fn known_ref(&self, name: &[u8]) -> Option<Id> {
        self.resolved(self.refs.get(name)?)
    }

    pub(super) fn object(&mut self, id: &Id, kind: GitObjectKind) -> Result<Rc<Vec<u8>>, String> {
        match self.objects.read(id, OBJECT_BYTES_MAX) {
            Ok(Some((found, bytes))) if found == kind => Ok(bytes),
            Ok(Some(_)) => Err(format!("object {id} is not a {}", kind.name())),
            Ok(None) => Err(format!("object {id} is not in this clone")),
            Err(()) => Err(format!("object {id} is damaged or too large")),
        }
    }

    pub(super) fn tree_of(&mut self, commit: &Id) -> Result<Id, String> {
        let bytes = self.object(commit, GitObjectKind::Commit)?;
        let line = bytes.split(|byte| *byte == b'\n').next().and_then(|line| line.strip_prefix(b"tree "));
        let id = line.and_then(|digits| Id::parse(std::str::from_utf8(digits).ok()?));
        id.ok_or_else(|| format!("commit {commit} names no tree"))
    }

    pub(super) fn entries(&mut self, tree: &Id) -> Result<Vec<TreeEntry>, String> {
        read_tree(&self.object(tree, GitObjectKind::Tree)?).ok_or_else(|| format!("tree {tree} is damaged"))
    }

    /// What a path is; the empty path is the tree itself.
    fn below(&mut self, tree: &Id, path: &[u8]) -> Result<TreeEntry, String> {
        let mut entry = TreeEntry { mode: FOLDER, name: Vec::new(), id: *tree };
        for name in path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()).take(DEPTH_MAX) {
            let found = self.entries(&entry.id)?.into_iter().find(|entry| entry.name == name);
            entry = found.ok_or_else(|| format!("{} is not there", escape_path(path)))?;
        }
        Ok(entry)
    }

    /// The names in which two trees differ, as far as the repository has both.
    #[must_use]
    pub fn differing(&mut self, one: &str, other: &str) -> NameList {
        let (Some(one), Some(other)) = (self.files_of(one), self.files_of(other)) else { return NameList::default() };
        let all: BTreeSet<&Vec<u8>> = one.files.keys().chain(other.files.keys()).collect();
        let names = all.into_iter().filter(|path| one.files.get(*path) != other.files.get(*path));
        let names: Vec<String> = names.map(|path| escape_path(path)).collect();
        NameList::of(names.iter().map(String::as_str))
    }

    /// All files of a tree; none where something of it is not in this clone, or they are too many.
    #[must_use]
    pub fn files_of(&mut self, tree: &str) -> Option<CommittedFiles> {
        let mut all = CommittedFiles::default();
        let mut to_read = vec![(Vec::new(), Id::parse(tree)?)];
        while let Some((path, id)) = to_read.pop() {
            for entry in self.entries(&id).ok()? {
                let path = joined(&path, &entry.name);
                match entry.mode {
                    FOLDER => to_read.push((path, entry.id)),
                    COMMIT_MODE => all.modules.push(path),
                    mode => drop(all.files.insert(path, Leaf { mode, id: entry.id })),
                }
            }
            if all.files.len() > FILES_MAX {
                return None;
            }
        }
        Some(all)
    }
}

/// A key of the user's own git configuration. No include is followed, and the repository's own file is not read: an agent
/// can write it.
#[must_use]
pub fn user_setting(user: &GitUser, section: &str, key: &str) -> Option<String> {
    let folder = user.config.clone().or_else(|| user.home.as_ref().map(|home| home.join(".config")))?;
    let files = [Some(folder.join("git/config")), user.home.as_ref().map(|home| home.join(".gitconfig"))];
    // The later one counts.
    files.into_iter().flatten().rev().find_map(|file| {
        let text = super::ignores::text_of(&file, CONFIG_BYTES_MAX)?;
        config::value(&text, section, key)
    })
}
