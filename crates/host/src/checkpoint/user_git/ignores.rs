//! Which texts of ignore rules hold in a workspace, besides the `.gitignore` files in it: the user's own list, the
//! repository's, and those of the folders above where the workspace is a part of a larger repository.
//!
//! `core.excludesFile` is read from the *user's* configuration only. The repository's own can be written by the
//! agent, who could so choose any file of the machine as rules and take everything out of scope.
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use ignore::gitignore::GitignoreBuilder;

use super::config;
use super::folder::{GitFolder, joined, read_bounded};
use super::index::Index;
use super::location::{CONFIG_BYTES_MAX, GitLocation};

/// A list that is longer is none.
const TEXT_BYTES_MAX: u64 = 1024 * 1024;
/// At most this many folders above are inspected.
const ABOVE_MAX: usize = 64;

/// The user's folders, as the caller found them in the environment at the start.
#[derive(Debug, Clone, Default)]
pub struct GitUser {
    /// `$HOME`.
    pub home: Option<PathBuf>,
    /// `$XDG_CONFIG_HOME`, if it is set.
    pub config: Option<PathBuf>,
}

/// What rules a workspace has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IgnoreTexts {
    /// Whether it is a repository, or a part of one that does not ignore it as a whole.
    pub is_repository: bool,
    /// The texts, the weakest first, with patterns as seen from the workspace.
    pub texts: Vec<String>,
    /// What was not understood, in sentences.
    pub remarks: Vec<String>,
}

/// Everything about a workspace's rules but the `.gitignore` files in it.
#[must_use]
pub fn rules_of(workspace: &Path, user: &GitUser) -> IgnoreTexts {
    let mut found = IgnoreTexts { texts: users_own(user).into_iter().collect(), ..IgnoreTexts::default() };
    let top = match above(workspace) {
        None => return found,
        Some(top) => top,
    };
    found.is_repository = true;
    let location = match GitLocation::of(&top.folder) {
        Ok(location) => location,
        Err(why) => {
            found.remarks.push(why);
            None
        }
    };
    if let Some(text) =
        location.as_ref().and_then(|location| location.common.read(b"info/exclude", TEXT_BYTES_MAX).ok().flatten())
    {
        found.texts.push(String::from_utf8_lossy(&text).into_owned());
    }
    if top.below.is_empty() {
        return found;
    }
    let lists = lists_above(&top, &found.texts);
    if top.ignores_workspace(&lists) && !location.is_some_and(|location| tracks(&location, &top.below)) {
        // A folder that a repository ignores (as in a home folder under version control) is not part of it.
        let texts = users_own(user).into_iter().collect();
        return IgnoreTexts { is_repository: false, texts, remarks: found.remarks };
    }
    found.texts =
        lists.iter().map(|(depth, text)| seen_from_below(text, top.below.get(*depth..).unwrap_or(&[]))).collect();
    found
}

/// The paths that the index names, seen from the workspace and sorted: they are in scope even if they are ignored.
///
/// # Errors
/// Why the index could not be understood, as a sentence.
pub fn tracked(workspace: &Path) -> Result<Vec<Vec<u8>>, String> {
    let Some(top) = above(workspace) else { return Ok(Vec::new()) };
    let Some(location) = GitLocation::of(&top.folder)? else { return Ok(Vec::new()) };
    let paths = Index::of(&location.git)?.paths();
    if top.below.is_empty() {
        return Ok(paths);
    }
    let prefix = prefix_of(&top.below);
    Ok(paths.iter().filter_map(|path| path.strip_prefix(prefix.as_slice())).map(<[u8]>::to_vec).collect())
}

/// The top of the repository that a workspace lies in.
#[derive(Debug)]
pub(super) struct Top {
    pub(super) folder: PathBuf,
    /// The names from there to the workspace.
    pub(super) below: Vec<Vec<u8>>,
}

/// Searches the folders above for a `.git`, as git does: not beyond the file system.
pub(super) fn above(workspace: &Path) -> Option<Top> {
    let mut folder = fs::canonicalize(workspace).ok()?;
    let device = fs::metadata(&folder).ok()?.dev();
    let mut below = Vec::new();
    for _ in 0..ABOVE_MAX {
        let git = folder.join(".git");
        let own = below.is_empty();
        let is_git = fs::symlink_metadata(&git).is_ok_and(|git_stat| {
            // Here anything called so is one, also a broken one; further up an empty folder is a chance.
            own || git_stat.is_file() || git_stat.is_dir() && git.join("HEAD").symlink_metadata().is_ok()
        });
        if is_git {
            below.reverse();
            return Some(Top { folder, below });
        }
        below.push(folder.file_name()?.as_bytes().to_vec());
        folder.pop();
        if fs::metadata(&folder).ok()?.dev() != device {
            return None;
        }
    }
    None
}

/// Every list that holds above the workspace, the weakest first, with how deep its folder lies.
fn lists_above(top: &Top, everywhere: &[String]) -> Vec<(usize, String)> {
    let mut lists: Vec<(usize, String)> = everywhere.iter().map(|text| (0, text.clone())).collect();
    let mut path = Vec::new();
    let Ok(folder) = GitFolder::open(&top.folder) else { return lists };
    // The list of the workspace itself is read by the walk.
    for (depth, name) in top.below.iter().enumerate() {
        let text = folder.read(&joined(&path, b".gitignore"), TEXT_BYTES_MAX);
        lists.extend(text.ok().flatten().map(|text| (depth, String::from_utf8_lossy(&text).into_owned())));
        path = joined(&path, name);
    }
    lists
}

impl Top {
    /// Whether the workspace, or a folder above it, is ignored.
    fn ignores_workspace(&self, lists: &[(usize, String)]) -> bool {
        (1..=self.below.len()).any(|length| {
            let path = self.below.get(..length).unwrap_or(&[]);
            // The last matching rule counts; those of deeper folders do not apply here.
            let remarks = lists.iter().rev().filter(|(depth, _)| *depth < length).find_map(|(depth, text)| {
                let path = path.get(*depth..).unwrap_or(&[]).join(&b'/');
                ignored(text.lines(), &path)
            });
            remarks == Some(true)
        })
    }
}

/// Whether a folder is ignored by a list, or taken in again; none if the list does not speak of it.
fn ignored<'a>(lines: impl Iterator<Item = &'a str>, path: &[u8]) -> Option<bool> {
    let mut builder = GitignoreBuilder::new("");
    for line in lines {
        builder.add_line(None, line).ok();
    }
    let rules = builder.build().ok()?;
    let matched = rules.matched(Path::new(OsStr::from_bytes(path)), true);
    if matched.is_none() { None } else { Some(matched.is_ignore()) }
}

fn prefix_of(below: &[Vec<u8>]) -> Vec<u8> {
    below.iter().flat_map(|name| [name.as_slice(), b"/"].concat()).collect()
}

fn tracks(location: &GitLocation, below: &[Vec<u8>]) -> bool {
    let prefix = prefix_of(below);
    Index::of(&location.git).is_ok_and(|index| index.entries.iter().any(|entry| entry.path.starts_with(&prefix)))
}

/// The rules of a folder as they hold in one below it, `names` deeper.
fn seen_from_below(text: &str, names: &[Vec<u8>]) -> String {
    text.lines().flat_map(|line| line_from_below(line, names)).map(|line| line + "\n").collect()
}

fn line_from_below(line: &str, names: &[Vec<u8>]) -> Vec<String> {
    let (not, pattern) = line.strip_prefix('!').map_or(("", line), |rest| ("!", rest));
    let body = pattern.trim_end().strip_suffix('/').unwrap_or(pattern.trim_end());
    if line.starts_with('#') || names.is_empty() || !body.contains('/') {
        return vec![line.to_owned()];
    }
    let parts: Vec<&str> = pattern.strip_prefix('/').unwrap_or(pattern).split('/').collect();
    behind(&parts, names).iter().map(|rest| format!("{not}/{}", rest.join("/"))).collect()
}

/// What of a pattern is left behind these names: none where it cannot match, several where `**` may stand for few
/// or many of them. One that ends before them speaks of the folders above.
fn behind<'a>(parts: &'a [&'a str], names: &[Vec<u8>]) -> Vec<&'a [&'a str]> {
    // The parts that may be next, name by name: never more than there are parts.
    let mut next = BTreeSet::from([0]);
    let spread = |next: &mut BTreeSet<usize>| {
        for at in 0..parts.len() {
            if next.contains(&at) && parts.get(at) == Some(&"**") {
                next.insert(at + 1);
            }
        }
    };
    spread(&mut next);
    for name in names {
        let matches = |part: &str| ignored(std::iter::once(format!("/{part}").as_str()), name) == Some(true);
        let after = |at: &usize| match parts.get(*at) {
            Some(&"**") => Some(*at),
            Some(part) if matches(part) => Some(at + 1),
            Some(_) | None => None,
        };
        next = next.iter().filter_map(after).collect();
        spread(&mut next);
    }
    let rests = next.into_iter().filter_map(|at| parts.get(at..));
    rests.filter(|rest| rest.iter().any(|part| !part.is_empty())).collect()
}

/// The list that the user's own configuration names, or the one at its usual path.
fn users_own(user: &GitUser) -> Option<String> {
    let folder = user.config.clone().or_else(|| user.home.as_ref().map(|home| home.join(".config")))?;
    let files = [Some(folder.join("git/config")), user.home.as_ref().map(|home| home.join(".gitconfig"))];
    // The later one counts.
    let named = files.into_iter().flatten().rev().find_map(|file| {
        let text = text_of(&file, CONFIG_BYTES_MAX)?;
        config::value(&text, "core", "excludesfile")
    });
    let path = match named {
        None => folder.join("git/ignore"),
        Some(named) => match named.strip_prefix("~/") {
            Some(rest) => user.home.as_ref()?.join(rest),
            None => PathBuf::from(named),
        },
    };
    let text = path.is_absolute().then(|| text_of(&path, TEXT_BYTES_MAX)).flatten()?;
    Some(String::from_utf8_lossy(&text).into_owned())
}

/// A file of the user's own. Links are followed: people have these files elsewhere.
pub(super) fn text_of(path: &Path, most: u64) -> Option<Vec<u8>> {
    let flags = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or(0);
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
    file.metadata().ok().filter(fs::Metadata::is_file)?;
    read_bounded(file, most).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_of_a_folder_above_are_seen_from_below() {
        let names = [b"a".to_vec(), b"b".to_vec()];
        let cases: [(&str, &[&str]); 12] = [
            ("*.o", &["*.o"]),
            ("# a/b/c", &["# a/b/c"]),
            ("!keep/", &["!keep/"]),
            ("/a/b/c", &["/c"]),
            ("a/b/c/", &["/c/"]),
            ("!/a/*/c/d", &["!/c/d"]),
            ("/x/b/c", &[]),
            ("/a", &[]),
            ("a/b/", &[]),
            ("**/c/d", &["/**/c/d", "/c/d"]),
            ("**/b/c", &["/**/b/c", "/b/c", "/c"]),
            ("a/**", &["/**"]),
        ];
        for (line, expected) in cases {
            assert_eq!(line_from_below(line, &names), expected, "{line}");
        }
    }
}
