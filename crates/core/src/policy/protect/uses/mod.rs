//! What a gate uses to judge: read off its command, the files that it opened when it ran first, and the texts of those
//! that are scripts. Nothing is run here. The rule, in this order:
//!
//! 1. *Direct*: a file that the gate's own command runs (`sh check.sh`, `python3 -m tools.check`).
//! 2. *Script*: a file that one of those runs, one step and further: shell scripts, recipes of makefiles and the scripts
//!    of `package.json` are read for it. If a script runs a shell on an unnamed file (`sh "$f"`, `… | sh`): every opened
//!    shell script whose name the script mentions. If it mentions no further one: every opened shell script, where the
//!    gate's own command runs the shell; else those that are named as checks.
//! 3. *Makefile*: the opened makefiles, where make is run.
//! 4. *Helper*: opened sources and data beside a program of 1 or 2, where the folder is named as one of checks (`tools/`),
//!    and what such a program of JavaScript imports by a relative path, where it is named as a check.
//! 5. *Runner*: an opened file that only tells a test runner what to do (`pytest.ini`, `conftest.py`, `.npmrc`).
//!
//! Not: what a test runner gets as a file of tests, modules that a program imports, manifests, what the gate made
//! itself, and what lies in a folder of the product (`src/`, `lib/` …) or is run for what it prints (`$(./tool 2 3)`,
//! `./tool | diff - expected`): that is the work.
//!
//! | file | what is there |
//! |---|---|
//! | `search` | follows what the command runs |
//! | `mentions` | the words of a text that may be paths |
//! | `names` | what the name of a file says: a check, the product, a makefile |
//! | `texts` | which lines of a file are given to a shell |
pub(super) mod mentions;
pub(super) mod names;
mod search;
pub(super) mod texts;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use self::search::Search;
use super::task::names_file;

/// So many files of one gate are named, and so many bytes of paths.
const FILES_MAX: usize = 100;
const PATH_BYTES_MAX: usize = 4096;

/// What a gate uses, as its report says it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GateUses {
    /// The files, a bounded number.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<GateUse>,
    /// How many more there are.
    #[serde(skip_serializing_if = "is_zero")]
    pub more: u32,
    /// The paths of these. They are not in a fact: a record of the run has them.
    #[serde(skip)]
    pub rest: Vec<String>,
    /// The hash of that record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rest_record: Option<String>,
    /// Why not all opened files are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap: Option<WatchGap>,
    /// The hash of the record of what lies outside of the workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outside: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants it so")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// One file that a gate uses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateUse {
    /// Its path in the workspace, as facts write paths.
    pub path: String,
    /// As what.
    pub kind: UseKind,
    /// The task names it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_task: bool,
}

/// As what a gate uses a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UseKind {
    /// Its own command runs it.
    Direct,
    /// Another script of the gate runs it.
    Script,
    /// make reads it.
    Makefile,
    /// It lies beside a program of the check, and was opened.
    Helper,
    /// It only tells a test runner what to do.
    Runner,
}

/// Why not all files that a gate opened are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WatchGap {
    /// The kernel gives no watch.
    NoWatch,
    /// The user has no watches left.
    NoWatchesLeft,
    /// The workspace has more folders than are watched.
    TooManyFolders,
    /// More was opened than the kernel could tell.
    Overflow,
}

impl WatchGap {
    /// For people.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::NoWatch => "the kernel gives no inotify watch",
            Self::NoWatchesLeft => "the user has no inotify watches left (fs.inotify.max_user_watches)",
            Self::TooManyFolders => "the workspace has too many folders",
            Self::Overflow => "more files were opened than inotify could tell",
        }
    }
}

/// What is known of the files of a workspace. Paths are relative to it.
pub trait FilesSeen {
    /// The files that the gate opened; none where that is not known.
    fn opened(&self) -> Option<&BTreeSet<String>>;
    /// The text of a file: none if it is not there, no text, ignored, or made by the gate.
    fn text(&self, path: &str) -> Option<String>;
    /// The files in a folder, by their paths.
    fn inside(&self, folder: &str) -> Vec<String>;
    /// The path of HOME, as the gate has it; empty where that is not known.
    fn home(&self) -> &str;
}

/// A text of the workspace that a gate runs: a shell script, a makefile, the scripts of a `package.json`, and lines that
/// run what a program of JavaScript imports from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateText {
    /// Its path in the workspace.
    pub path: String,
    /// Its lines.
    pub text: String,
    /// The folders of the workspace in which its relative paths may begin.
    pub folders: Vec<String>,
}

/// The texts of the workspace that a gate runs, found in the same way as the files that it uses.
pub fn texts_of(command: &str, workspace: &str, files: &dyn FilesSeen) -> Vec<GateText> {
    let mut search = Search::new(workspace, files);
    search.follow(command);
    search.add_imported();
    search.followed
}

/// The files that a gate uses to judge, sorted. `workspace` is the absolute path of the workspace, `task` the text of
/// the task.
pub fn uses_of(command: &str, workspace: &str, task: &str, files: &dyn FilesSeen) -> GateUses {
    let mut search = Search::new(workspace, files);
    search.follow(command);
    search.add_helpers();
    search.add_imported();
    search.add_runner_files();
    let mut uses = GateUses::default();
    let mut bytes = 0;
    for (path, kind) in search.found {
        bytes += path.len();
        if uses.files.len() >= FILES_MAX || bytes > PATH_BYTES_MAX {
            uses.more += 1;
            uses.rest.push(path);
            continue;
        }
        let in_task = names_file(task, &path);
        uses.files.push(GateUse { path, kind, in_task });
    }
    uses
}
