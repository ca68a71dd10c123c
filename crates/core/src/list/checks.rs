//! Which command checks each criterion of a list, and where it comes from.
use serde::{Deserialize, Serialize};

use super::types::{Criterion, Item, List, ProposedCommand};

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
