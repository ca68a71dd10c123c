//! What a list of work is, whatever file it was read from.

/// Where a list comes from: the tool whose file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ListFormat {
    /// `prd.json` with `items`, or a plain JSON list: the PRD loop specification.
    LoopSpec,
    /// `prd.json` with `userStories`, as snarktank/ralph and ralph-tui write it.
    UserStories,
    /// A PRD in Markdown with `### US-001: …`, as ralph-tui reads it.
    MarkdownPrd,
    /// A ralphex plan: `### Task 1: …` with boxes below.
    Ralphex,
    /// `tasks.md` of GitHub Spec Kit.
    SpecKit,
    /// `tasks.md` of Kiro and cc-sdd.
    Kiro,
    /// `tasks.md` of an OpenSpec change.
    OpenSpec,
    /// `sprint-status.yaml` or a story file of BMAD.
    Bmad,
    /// `roadmap.md` of the autonomous specification.
    Roadmap,
    /// Boxes in a Markdown file of no known tool.
    TaskList,
    /// Issues of beads, by its own program `bd`.
    Beads,
}

/// A list as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct List {
    /// How it was read.
    pub format: ListFormat,
    /// What the file is called in a sentence: `Spec Kit tasks.md`.
    pub kind: &'static str,
    /// In the order of the file.
    pub items: Vec<Item>,
    /// Commands that the file names for the whole list. They are proposals until a person has approved them.
    pub commands: Vec<ProposedCommand>,
    /// What a person should know about the file: a field that its own tool would refuse, for example.
    pub warnings: Vec<String>,
}

/// One piece of work.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Item {
    /// Unique in its list. Where the format has none, made from the text.
    pub id: String,
    /// One line for people.
    pub title: String,
    /// The rest of what the agent needs to know.
    pub text: String,
    /// The file says that it is done.
    pub done: bool,
    /// It need not be done.
    pub optional: bool,
    /// It may run beside others.
    pub parallel: bool,
    /// The lowest first, where the format has it.
    pub priority: Option<i64>,
    /// Ids of items that must be done before.
    pub depends_on: Vec<String>,
    /// The item that is done with its last required child.
    pub parent: Option<String>,
    /// What must be true at the end.
    pub criteria: Vec<Criterion>,
    /// Commands that the file names for this item. They are proposals until a person has approved them.
    pub commands: Vec<ProposedCommand>,
    /// Globs of the files that it may change. None: not declared.
    pub scope: Vec<String>,
    /// Notes that are in the file.
    pub notes: String,
    /// Settings of this item, where the format has them (roadmap).
    pub settings: Vec<ItemSetting>,
    /// Items of a later phase wait for all of an earlier one. 0 where the format has no phases.
    pub phase: u32,
    /// A hash of what the item asks for and of its mark. `tick` refuses an item whose hash is another one.
    pub seal: String,
    /// The file has a place where a tick can be written.
    pub can_be_ticked: bool,
    /// Where it begins in the file, counted from 1.
    pub line: u32,
}

/// One thing that must be true when an item is done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Criterion {
    /// Its name in the item: `1`, `2`, … or what the file calls it.
    pub id: String,
    /// The sentence.
    pub text: String,
    /// The command that checks it, where the file has one: a proposal until a person has approved it.
    pub command: Option<String>,
    /// Files that must exist at the end, where the file names them.
    pub artifacts: Vec<String>,
    /// Where it is in the file, counted from 1.
    pub line: u32,
}

/// A command that was found in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposedCommand {
    /// What the file calls it: `test`, for example. Empty where it has no name.
    pub name: String,
    /// The shell command.
    pub command: String,
    /// Where it is in the file, counted from 1.
    pub line: u32,
}

/// A setting of one item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemSetting {
    /// The key as it is in the file.
    pub key: String,
    /// The value as it is in the file.
    pub value: String,
    /// Where it is in the file, counted from 1.
    pub line: u32,
}
