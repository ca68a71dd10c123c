//! `cargo xtask projects`: honest work in the kinds of projects that people have, judged as by default, and then
//! `loop verify` several times: it must agree each time. `docs/projects.md` says what the kinds are.
//!
//! - [`play`]: one project: the loop, what judged it where and for how long, and `loop verify` after it
//! - [`table`]: what came of them
//!
//! Projects are written as the cases of [`crate::cheats`] are, in `xtask/projects`.

pub mod play;
pub mod table;

use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};

pub use play::{ProjectPlayed, Verifies};

use crate::cheats::tools::Tools;
use crate::cheats::{Case, all_cases, program};
use crate::workspace_root;

const WORDS: &str = "--only NAME, --verify N, --user NUMBER, --build N, --limit SECONDS, --json, --list, --keep, \
                     --loop PATH";
/// What has this mark in `needs` is also played as another user, where this one is root.
pub const USER_TOO: &str = "user-too";
/// The number of that user.
const OTHER_USER: u32 = 12_345;

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
pub struct ProjectOptions {
    /// Only projects with these words in their names; all if empty.
    pub only: Vec<String>,
    /// How often each is verified after its end.
    pub verify: u32,
    /// The other user, who has no rights; 0 means that there is none.
    pub user: u32,
    /// How much there is to build in the projects that are built.
    pub build: u32,
    /// The time limit of a command in seconds.
    pub limit: u32,
    /// JSON instead of a table.
    pub json: bool,
    /// Only names the projects.
    pub list: bool,
    /// Leaves the folders.
    pub keep: bool,
    /// Another program than the one in `target/debug`.
    pub program: Option<PathBuf>,
}

impl Default for ProjectOptions {
    fn default() -> Self {
        Self {
            only: Vec::new(),
            verify: 20,
            user: OTHER_USER,
            build: 100,
            limit: 900,
            json: false,
            list: false,
            keep: false,
            program: None,
        }
    }
}

impl ProjectOptions {
    /// Reads the words behind `projects`.
    ///
    /// # Errors
    /// When a word means nothing.
    pub fn read(words: &[&str]) -> Result<Self> {
        let mut options = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().map(|value| (*value).to_owned()).with_context(|| format!("{word} what?"));
            let number = |text: String| text.parse::<u32>().with_context(|| format!("{word} takes a number"));
            match *word {
                "--only" => options.only.push(value()?),
                "--verify" => options.verify = number(value()?)?,
                "--user" => options.user = number(value()?)?,
                "--build" => options.build = number(value()?)?,
                "--limit" => options.limit = number(value()?)?,
                "--json" => options.json = true,
                "--list" => options.list = true,
                "--keep" => options.keep = true,
                "--loop" => options.program = Some(value()?.into()),
                _ => bail!("`{word}` means nothing to projects; there are {WORDS}"),
            }
        }
        Ok(options)
    }
}

/// The projects that these options pick.
///
/// # Errors
/// When there are none.
pub fn picked(options: &ProjectOptions) -> Result<Vec<Case>> {
    let mut cases = all_cases(&workspace_root().join("xtask/projects"))?;
    cases.retain(|case| options.only.is_empty() || options.only.iter().any(|name| case.name.contains(name)));
    ensure!(!cases.is_empty(), "no project is like that; `cargo xtask projects --list` names all");
    Ok(cases)
}

/// Plays what was asked for. `say` hears what is under way.
///
/// # Errors
/// When the program cannot be built.
pub fn run(options: &ProjectOptions, say: &dyn Fn(&str)) -> Result<Vec<ProjectPlayed>> {
    let cases = picked(options)?;
    let program = program(options.program.as_deref(), say)?;
    let mut needs: Vec<String> = cases.iter().flat_map(|case| case.needs.iter().cloned()).collect();
    needs.push("root".to_owned());
    needs.sort();
    needs.dedup();
    let tools = Tools::prepare(&workspace_root().join("target/cheats"), &needs, say)?;
    let mut all = Vec::new();
    for case in &cases {
        let users: &[Option<u32>] = match (options.user, case.needs.iter().any(|need| need == USER_TOO)) {
            (0, _) | (_, false) => &[None],
            (_, true) => &[None, Some(options.user)],
        };
        for user in users {
            say(&format!("{}{}", case.name, user.map(|user| format!(" as user {user}")).unwrap_or_default()));
            let missing = case.needs.iter().find_map(|need| tools.why_missing(need));
            let missing = missing.or_else(|| tools.why_missing("root").filter(|_| user.is_some()));
            let played = match missing {
                Some(why) => ProjectPlayed::not_run(case, *user, why),
                None => {
                    play::play(case, &play::ProjectStage { program: &program, tools: &tools, user: *user, options })
                }
            };
            say(&format!("  {}", played.line()));
            all.push(played);
        }
    }
    Ok(all)
}
