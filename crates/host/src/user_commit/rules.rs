//! What a repository must be like for a commit: no operation in progress, an identity, and no program that a commit would
//! run, unless the person allows that.
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::git::GitProgram;
use crate::refusal::LaunchRefusal;

/// Hooks that `git commit` runs.
const HOOKS: [&str; 7] = [
    "pre-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "post-index-change",
    "reference-transaction",
    "pre-auto-gc",
];

/// Files and folders of git that exist while an operation is in progress, and its name.
const IN_PROGRESS: [(&str, &str); 6] = [
    ("MERGE_HEAD", "a merge"),
    ("rebase-merge", "a rebase"),
    ("rebase-apply", "a rebase"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
    ("BISECT_LOG", "a bisect"),
];

/// So many programs are named.
const NAMED_MAX: usize = 5;

/// The repository that a workspace is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RepositoryPlace {
    /// Its top folder.
    pub(super) top: PathBuf,
    /// The workspace below it, with a slash at the end, or nothing.
    pub(super) prefix: Vec<u8>,
    /// The branch; none where HEAD is detached.
    pub(super) branch: Option<String>,
    /// Whether there is a commit.
    pub(super) has_commit: bool,
    /// Programs that a commit would run and that no person allowed: only where nothing is committed.
    pub(super) programs: Vec<String>,
}

fn refused(why: impl Into<String>) -> LaunchRefusal {
    LaunchRefusal::wrong("nothing can be committed here").because(why)
}

/// Checks all that does not depend on which files are committed.
pub(super) fn check(git: &GitProgram, workspace: &Path, dry_run: bool) -> Result<RepositoryPlace, LaunchRefusal> {
    let workspace = &workspace.canonicalize().unwrap_or_else(|_| workspace.to_owned());
    let place = place(git, workspace)?;
    check_progress(git)?;
    check_identity(git)?;
    let programs = check_programs(git, workspace, dry_run)?;
    Ok(RepositoryPlace { programs, ..place })
}

fn place(git: &GitProgram, workspace: &Path) -> Result<RepositoryPlace, LaunchRefusal> {
    let top = git.ask(&["rev-parse", "--show-toplevel"])?;
    if !top.succeeded {
        return Err(refused(format!("the workspace is not in a repository that git accepts: {}", top.message))
            .hint("git init; a loop itself needs no repository"));
    }
    let top = PathBuf::from(top.line());
    let Ok(below) = workspace.strip_prefix(top.canonicalize().unwrap_or_else(|_| top.clone())) else {
        let why = format!("the repository says that its files are in {} (core.worktree)", top.display());
        return Err(refused(why).hint("git config --unset core.worktree"));
    };
    let mut prefix = std::os::unix::ffi::OsStrExt::as_bytes(below.as_os_str()).to_vec();
    if !prefix.is_empty() {
        prefix.push(b'/');
    }
    let branch = git.ask(&["symbolic-ref", "--quiet", "--short", "HEAD"])?;
    let has_commit = git.ask(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])?.succeeded;
    Ok(RepositoryPlace {
        top,
        prefix,
        branch: branch.succeeded.then(|| branch.line()),
        has_commit,
        programs: Vec::new(),
    })
}

fn check_progress(git: &GitProgram) -> Result<(), LaunchRefusal> {
    for (name, what) in IN_PROGRESS {
        let file = git_path(git, name)?;
        if file.symlink_metadata().is_ok() {
            return Err(refused(format!("{what} is in progress in the repository"))
                .hint("finish or abort it: git status says how"));
        }
    }
    Ok(())
}

/// A file of git's own, also in another working tree.
fn git_path(git: &GitProgram, name: &str) -> Result<PathBuf, LaunchRefusal> {
    let answer = git.ask(&["rev-parse", "--path-format=absolute", "--git-path", name])?;
    if answer.succeeded { Ok(PathBuf::from(answer.line())) } else { Err(refused(answer.message)) }
}

fn check_identity(git: &GitProgram) -> Result<(), LaunchRefusal> {
    for who in ["GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"] {
        if !git.ask(&["var", who])?.succeeded {
            return Err(refused("git does not know who you are")
                .hint("git config --global user.name \"Your Name\"")
                .hint("git config --global user.email you@example.org"));
        }
    }
    Ok(())
}

/// One setting of git.
struct GitSetting {
    /// `local` and `worktree` are of the repository, which an agent can write.
    is_of_repository: bool,
    /// Given on a command line.
    is_of_command: bool,
    key: String,
    value: String,
}

fn settings(git: &GitProgram) -> Result<Vec<GitSetting>, LaunchRefusal> {
    let answer = git.ask(&["config", "--list", "--includes", "--show-scope", "-z"])?;
    if !answer.succeeded {
        return Err(refused(format!("git cannot read its settings: {}", answer.message)));
    }
    let text = String::from_utf8_lossy(&answer.stdout).into_owned();
    let mut pieces = text.split('\0');
    let mut all = Vec::new();
    while let (Some(scope), Some(pair)) = (pieces.next(), pieces.next()) {
        let (key, value) = pair.split_once('\n').unwrap_or((pair, "true"));
        let is_of_repository = scope == "local" || scope == "worktree";
        let is_of_command = scope == "command";
        all.push(GitSetting { is_of_repository, is_of_command, key: key.to_owned(), value: value.to_owned() });
    }
    Ok(all)
}

/// Refuses where a commit would run a program that the repository names. Where nothing is committed, those that only a
/// commit runs are given back: a filter runs when files are looked at.
fn check_programs(git: &GitProgram, workspace: &Path, dry_run: bool) -> Result<Vec<String>, LaunchRefusal> {
    if git.hooks {
        return Ok(Vec::new());
    }
    let all = settings(git)?;
    let mut named = filters(git, &all)?;
    let only_of_commit = named.is_empty();
    named.extend(hooks(git, workspace, &all)?);
    let is_signing = |setting: &&GitSetting| {
        let key = setting.key.as_str();
        key.starts_with("gpg.") && (key.ends_with(".program") || key.ends_with(".defaultkeycommand"))
    };
    let signing = all.iter().filter(|setting| setting.is_of_repository).filter(is_signing);
    named.extend(signing.map(|setting| format!("{} = {}", setting.key, setting.value)));
    if named.is_empty() || dry_run && only_of_commit {
        return Ok(named);
    }
    let more = named.len().saturating_sub(NAMED_MAX);
    named.truncate(NAMED_MAX);
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    Err(refused(format!("a commit in this repository runs programs: {}{more}", named.join(", ")))
        .because("an agent can write or change such programs, and they would run as you")
        .hint("look at them, then allow them: --commit-hooks"))
}

/// Hooks that would run: files, and those of the configuration.
fn hooks(git: &GitProgram, workspace: &Path, all: &[GitSetting]) -> Result<Vec<String>, LaunchRefusal> {
    // Our own calls set another path: the one that holds is read from the settings.
    let is_ours = |setting: &GitSetting| setting.is_of_command && setting.value == "/dev/null";
    let own = |setting: &&GitSetting| setting.key == "core.hookspath" && !is_ours(setting);
    let folder = match all.iter().rfind(own) {
        Some(setting) => {
            let path = setting.value.strip_prefix("~/").map_or_else(
                || PathBuf::from(&setting.value),
                |below| crate::paths::user_home().unwrap_or_default().join(below),
            );
            let top = git.ask(&["rev-parse", "--show-toplevel"])?.line();
            if path.is_absolute() { path } else { Path::new(&top).join(path) }
        }
        None => {
            let common = git.ask(&["rev-parse", "--path-format=absolute", "--git-common-dir"])?.line();
            Path::new(&common).join("hooks")
        }
    };
    let is_run = |name: &&&str| {
        let found = fs::metadata(folder.join(name));
        found.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    let shown = folder.strip_prefix(workspace).unwrap_or(&folder);
    let mut named: Vec<String> =
        HOOKS.iter().filter(is_run).map(|name| format!("the hook {}", shown.join(name).display())).collect();
    let of_settings =
        all.iter().filter(|setting| setting.key.starts_with("hook.") && setting.key.ends_with(".command"));
    named.extend(of_settings.map(|setting| format!("{} = {}", setting.key, setting.value)));
    Ok(named)
}

/// Filters that files of the repository use and that are a program.
fn filters(git: &GitProgram, all: &[GitSetting]) -> Result<Vec<String>, LaunchRefusal> {
    let drivers: BTreeSet<&str> = all
        .iter()
        .filter_map(|setting| {
            let (name, what) = setting.key.strip_prefix("filter.")?.rsplit_once('.')?;
            (matches!(what, "clean" | "process") && !setting.value.is_empty()).then_some(name)
        })
        .collect();
    if drivers.is_empty() {
        return Ok(Vec::new());
    }
    // In the whole repository: a commit looks at every file that git tracks.
    let top = git.at(Path::new(&git.ask(&["rev-parse", "--show-toplevel"])?.line()));
    let listed = top.ask(&["ls-files", "-z", "--cached", "--others", "--exclude-standard"])?;
    let attributes = top.ask_about(&["check-attr", "-z", "--stdin", "filter"], &listed.stdout)?;
    let pieces: Vec<&[u8]> = attributes.stdout.split(|byte| *byte == 0).collect();
    let used: BTreeSet<String> = pieces
        .chunks_exact(3)
        .filter_map(|piece| piece.get(2).map(|value| String::from_utf8_lossy(value).into_owned()))
        .filter(|value| drivers.contains(value.as_str()))
        .collect();
    Ok(used.into_iter().map(|name| format!("the filter {name} (.gitattributes)")).collect())
}
