//! What the criteria of a list say before any work: which command checks each, and whether that command is red now,
//! already green, cannot run, or is flaky.
use serde::{Deserialize, Serialize};

use crate::list::{Criterion, Item, List, ProposedCommand};
use crate::machine::Deciding;
use crate::policy::gate::Verdict;

/// So often each command is run.
pub const CHECK_TRIES: u32 = 3;
/// Names of commands that check; else the first one does.
const CHECKING: [&str; 4] = ["check", "test", "tests", "verify"];

/// Where a command comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandSource {
    /// The criterion names it.
    Criterion,
    /// The item does.
    Item,
    /// The file does, for all items.
    List,
    /// A person typed it: `--check`.
    Flag,
}

impl CommandSource {
    /// In one word, for tables.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Criterion => "criterion",
            Self::Item => "item",
            Self::List => "file",
            Self::Flag => "--check",
        }
    }

    /// It was found in a file: it is a proposal until a person has approved it.
    #[must_use]
    pub fn is_proposal(self) -> bool {
        self != Self::Flag
    }
}

/// A command with its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourcedCommand {
    /// The shell command.
    pub command: String,
    /// Where it comes from.
    pub source: CommandSource,
}

/// One criterion and what would check it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedCheck {
    /// The item.
    pub item: String,
    /// The criterion in it; empty where the item has none, and then it is about the whole item.
    pub criterion: String,
    /// The sentence.
    pub text: String,
    /// The command. None: files or a person decide.
    pub command: Option<SourcedCommand>,
    /// Files that must exist at the end.
    pub artifacts: Vec<String>,
    /// The line in the file.
    pub line: u32,
}

/// What would check each criterion of the open items, or of one item. A criterion's own command counts first, then what a
/// person gave, then the command of the item, then that of the file.
#[must_use]
pub fn planned_checks(list: &List, only: Option<&str>, given: Option<&str>) -> Vec<PlannedCheck> {
    let is_wanted = |item: &&Item| only.map_or(!item.done, |id| item.id == id);
    list.work().filter(is_wanted).flat_map(|item| of_item(list, item, given)).collect()
}

fn of_item(list: &List, item: &Item, given: Option<&str>) -> Vec<PlannedCheck> {
    let flag = given.map(|command| sourced(command, CommandSource::Flag));
    let shared = flag
        .or_else(|| checking(&item.commands).map(|command| sourced(command, CommandSource::Item)))
        .or_else(|| checking(&list.commands).map(|command| sourced(command, CommandSource::List)));
    let planned = |criterion: &Criterion| {
        let own = criterion.command.as_deref().map(|command| sourced(command, CommandSource::Criterion));
        // Files of its own decide before a command that is for all.
        let shared = shared.clone().filter(|_| criterion.artifacts.is_empty());
        PlannedCheck {
            item: item.id.clone(),
            criterion: criterion.id.clone(),
            text: criterion.text.clone(),
            command: own.or(shared),
            artifacts: criterion.artifacts.clone(),
            line: criterion.line,
        }
    };
    if item.criteria.is_empty() {
        let whole = Criterion { text: item.title.clone(), line: item.line, ..Criterion::default() };
        return vec![planned(&whole)];
    }
    item.criteria.iter().map(planned).collect()
}

fn sourced(command: &str, source: CommandSource) -> SourcedCommand {
    SourcedCommand { command: command.to_owned(), source }
}

/// The command that checks, of those that a file names.
fn checking(commands: &[ProposedCommand]) -> Option<&str> {
    let named = commands.iter().find(|one| CHECKING.contains(&one.name.to_ascii_lowercase().as_str()));
    named.or_else(|| commands.first()).map(|one| one.command.as_str())
}

/// What is known of a criterion before any work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CriterionState {
    /// Its check fails, each time: a pass will show work.
    RedNow,
    /// Its check passes before any work: a pass will show nothing.
    AlreadyGreen,
    /// Its check cannot be run, or does not end in time.
    CannotRun,
    /// Its check passes at times.
    Flaky,
    /// Nothing checks it but a person.
    ForAPerson,
    /// Its command comes from the repository, and no person has approved it. It was not run.
    NotApproved,
}

impl CriterionState {
    /// For people.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::RedNow => "red now",
            Self::AlreadyGreen => "already green",
            Self::CannotRun => "cannot run",
            Self::Flaky => "flaky in 3 tries",
            Self::ForAPerson => "for a person",
            Self::NotApproved => "not approved",
        }
    }

    /// Something must be fixed or approved before the list can run.
    #[must_use]
    pub fn is_to_fix(self) -> bool {
        matches!(self, Self::CannotRun | Self::Flaky | Self::NotApproved)
    }
}

/// The state of a criterion by the tries of its command.
#[must_use]
pub fn criterion_state(tries: &[Verdict], _: &Deciding) -> CriterionState {
    let all = |wanted: Verdict| tries.iter().all(|one| *one == wanted);
    match () {
        () if tries.is_empty() => CriterionState::ForAPerson,
        () if tries.contains(&Verdict::Unverifiable) => CriterionState::CannotRun,
        () if all(Verdict::Pass) => CriterionState::AlreadyGreen,
        () if all(Verdict::Fail) => CriterionState::RedNow,
        () => CriterionState::Flaky,
    }
}

/// The state of a criterion that only names files.
#[must_use]
pub fn files_state(are_all_there: bool, _: &Deciding) -> CriterionState {
    if are_all_there { CriterionState::AlreadyGreen } else { CriterionState::RedNow }
}
