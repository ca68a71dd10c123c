//! What a plan was started with: its first facts.
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use super::list::{ItemRef, ListSpec};
use crate::ids::RunId;
use crate::refusal::Refusal;
use crate::run::{FileRef, WorkspaceRef};

/// So many nodes a plan may have.
pub const NODES_MAX: usize = 64;
/// So many branches a best-of may have: its ranking is one fact.
pub const BRANCHES_MAX: usize = 16;
/// So many commands a list of hooks may have.
pub const HOOKS_MAX: usize = 16;
/// So long one of them may be, in bytes.
pub const HOOK_BYTES_MAX: usize = 4096;
/// So many globs `touches` of a node may have.
pub const TOUCHES_MAX: usize = 16;
/// So long one of them may be, in bytes.
pub const TOUCH_BYTES_MAX: usize = 120;
/// So long the texts of a node for people may be, in bytes. The whole is in its launch request.
pub const NODE_TEXT_BYTES_MAX: usize = 500;
/// So long the question of a node may be, in bytes.
pub const QUESTION_BYTES_MAX: usize = 2000;
/// So long the command of a metric may be, in bytes.
pub const METRIC_BYTES_MAX: usize = 2000;
/// So often a node is tried again after a conflict.
pub const CONFLICTS_MAX: u32 = 2;
/// So long the name of a node may be, in bytes.
const NODE_ID_BYTES_MAX: usize = 48;

/// Everything that holds from the start of a plan on.
///
/// In the journal, nodes and hooks are facts of their own, so that no fact is too long.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanSpec {
    /// Its name. Ids of plans and of runs come from the same source.
    pub id: RunId,
    /// The version of the program that started it.
    pub program: String,
    /// Where the result is applied.
    pub workspace: WorkspaceRef,
    /// Where the checkpoints of the plan and of its runs are: the name of the store.
    pub store: String,
    /// The checkpoint backend that was chosen. A plan cannot work without one.
    pub backend: String,
    /// What people call it: the name of the workflow, or the beginning of the goal.
    pub name: String,
    /// How the results of its nodes come together.
    pub join: Join,
    /// So many runs may be at work at the same time, from 1.
    pub parallel: u32,
    /// What all runs together may cost, in millionths of a dollar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_micros: Option<u64>,
    /// What one call of an agent may cost, in millionths of a dollar: no share of the budget is less.
    #[serde(default)]
    pub call_micros: u64,
    /// After a failure, nodes that do not depend on the failed one are started all the same.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keep_going: bool,
    /// No person can see it work: a question ends the plan until a person answers it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unattended: bool,
    /// A word in this file of the workspace stops it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_file: Option<String>,
    /// The command that says that it has ended, where a person wants that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notify: Option<String>,
    /// The workflow file that it comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<PlanOrigin>,
    /// The run that was stuck and started it. It uses the best branch itself: the plan applies nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovers: Option<RecoveredRun>,
    /// In the journal: how many parts of it follow as facts of their own. Zero everywhere else.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub parts: u32,
    /// Its nodes, in the order of the file. In the journal each is a fact of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeSpec>,
    /// Commands that run when everything is applied. In the journal each is a fact of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub on_complete: Vec<String>,
    /// Commands that run when it failed. In the journal each is a fact of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub on_failure: Vec<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants it so")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// The workflow file that a plan comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanOrigin {
    /// Where it was, written by [`crate::text::escape_path`].
    pub path: String,
    /// Its text as it was read last, in the folder of the plan.
    pub file: FileRef,
    /// What was typed beside it, in the folder of the plan: values of variables and flags, for reading the file again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<FileRef>,
}

/// The run that a plan of branches is to get out of being stuck.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecoveredRun {
    /// Its id.
    pub run: RunId,
    /// Which of its rungs of recovery this is, counted from 1.
    pub rung: u32,
}

/// How the results of the nodes of a plan come together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Join {
    /// All nodes are branches from the same state. One is chosen and applied.
    Best(Selection),
    /// Each node that passed is merged into the plan tree, which is applied at the end.
    Merge,
    /// The nodes are items of a list. Each that passed is merged, applied and ticked before the next one is taken.
    List(Box<ListSpec>),
}

/// How one branch is chosen.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Selection {
    /// A number of the user that decides among branches that pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metric: Option<Metric>,
    /// A person chooses.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub manual: bool,
    /// The others are ended when one passes.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub first: bool,
    /// The next branch starts only when the one before did not pass.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub on_red: bool,
    /// A branch is ended if it is worse than another one and than the start after its first iteration.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub prune: bool,
}

/// What is measured for `--best-of-metric`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metric {
    /// A column of the ranking, or a command that prints a number.
    pub by: MetricSource,
    /// The lower number wins.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lower: bool,
}

/// Where the number of a metric comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MetricSource {
    /// The size of the change, in lines.
    Lines,
    /// The change of the coverage.
    Coverage,
    /// What the run cost.
    Cost,
    /// How long the run took.
    Time,
    /// How many iterations the run had.
    Iterations,
    /// The last number that this shell command prints.
    Command(String),
}

impl Metric {
    /// The metric of this text: a name or a command, perhaps with `lower:` or `higher:` before it.
    ///
    /// Without a prefix the higher number of a command wins; of a name, that which is better.
    ///
    /// # Errors
    /// When nothing is left without the prefix, or it is too long.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        let text = text.trim();
        let (prefix, rest) = match (text.strip_prefix("lower:"), text.strip_prefix("higher:")) {
            (Some(rest), _) => (Some(true), rest.trim()),
            (None, Some(rest)) => (Some(false), rest.trim()),
            (None, None) => (None, text),
        };
        let hint = "write a name (lines, coverage, cost, time, iterations) or a command that prints a number";
        if rest.is_empty() {
            return Err(Refusal::new("there is no name and no command in it", hint));
        }
        if rest.len() > METRIC_BYTES_MAX {
            return Err(Refusal::new(format!("it is longer than {METRIC_BYTES_MAX} bytes"), "put it into a script"));
        }
        let (by, lower) = match rest {
            "lines" | "size" => (MetricSource::Lines, true),
            "coverage" => (MetricSource::Coverage, false),
            "cost" => (MetricSource::Cost, true),
            "time" => (MetricSource::Time, true),
            "iterations" => (MetricSource::Iterations, true),
            command => (MetricSource::Command(command.to_owned()), false),
        };
        Ok(Self { by, lower: prefix.unwrap_or(lower) })
    }
}

/// The name of a node in its plan: letters, digits, `-`, `_` and `.`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct NodeId(String);

impl NodeId {
    /// Takes a text that is the name of a node.
    ///
    /// # Errors
    /// When it is empty or too long, begins with a sign, or has anything but letters, digits, `-`, `_` and `.`.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        let fits = text.len() <= NODE_ID_BYTES_MAX
            && text.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
        if fits {
            return Ok(Self(text.to_owned()));
        }
        let why = format!("{:?} cannot be the name of a node", crate::text::head(text, 60));
        let hint = format!(
            "use letters, digits, `-`, `_` and `.`, begin with a letter or a digit, at most {NODE_ID_BYTES_MAX} of them"
        );
        Err(Refusal::new(why, hint))
    }

    /// The name of a branch of a best-of, from 1.
    #[must_use]
    pub fn branch(number: usize) -> Self {
        Self(number.to_string())
    }

    /// The name of a node whose item has another kind of name.
    pub(super) fn of_hash(hash: &str) -> Self {
        Self(format!("item-{hash}"))
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl TryFrom<String> for NodeId {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text).map_err(|refusal| refusal.why)
    }
}

impl From<NodeId> for String {
    fn from(id: NodeId) -> Self {
        id.0
    }
}

/// One node of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeSpec {
    /// Its name in the plan.
    pub id: NodeId,
    /// What it does.
    pub work: NodeWork,
    /// It starts when all of these are merged or answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<NodeId>,
    /// Globs of what it will write. Two nodes with globs that may overlap do not run at the same time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub touches: Vec<String>,
    /// What happens if its result cannot be merged.
    #[serde(default)]
    pub on_conflict: OnConflict,
    /// A hash of its prompt, gates and settings. A node that is done and whose key did not change is not run again.
    pub key: String,
    /// How long all its gates together may take, once each.
    #[serde(default)]
    pub gates_ms: u64,
    /// The item that it is, in a plan of a list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<ItemRef>,
}

impl NodeSpec {
    /// What its run is started with; none for a question.
    #[must_use]
    pub fn loop_work(&self) -> Option<&LoopWork> {
        if let NodeWork::Loop(work) = &self.work { Some(work) } else { None }
    }

    /// Whether a person answers it.
    #[must_use]
    pub fn is_ask(&self) -> bool {
        matches!(self.work, NodeWork::Ask { .. })
    }
}

/// What a node does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeWork {
    /// One loop in its own copy.
    Loop(LoopWork),
    /// A person answers a question.
    Ask {
        /// The question.
        question: String,
    },
}

/// The loop of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoopWork {
    /// Its launch request: a file in the folder of the plan, written before the fact that names it.
    pub request: FileRef,
    /// The beginning of the goal, for people.
    pub goal: String,
    /// The promise, for people; empty without one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub promise: String,
    /// The agent and its model, for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub agent: String,
}

/// What happens if the result of a node cannot be merged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnConflict {
    /// The node failed; both versions are checkpoints.
    #[default]
    Stop,
    /// Its loop runs again, from the merged tree.
    Rerun,
    /// A loop resolves the conflict in a copy of the merged tree with conflict markers.
    Agent,
}

impl PlanSpec {
    /// What kind of plan it is, for people.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self.join {
            Join::Best(_) => "best-of",
            Join::Merge => "workflow",
            Join::List(_) => "list",
        }
    }

    /// The list whose items are its nodes, where it is one.
    #[must_use]
    pub fn list(&self) -> Option<&ListSpec> {
        if let Join::List(list) = &self.join { Some(list) } else { None }
    }

    /// How one branch is chosen; none for a workflow.
    #[must_use]
    pub fn selection(&self) -> Option<&Selection> {
        if let Join::Best(selection) = &self.join { Some(selection) } else { None }
    }

    /// Whether a plan can be made of it: sizes, names, dependencies without a cycle.
    ///
    /// A workflow file is checked with lines and columns before; this is the last check, which nothing can go around.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn check(&self) -> Result<(), Refusal> {
        let most = if self.selection().is_some() { BRANCHES_MAX } else { NODES_MAX };
        let is_list = self.list().is_some();
        if is_list && !self.nodes.is_empty() {
            return Err(Refusal::new("a list has nodes before it is read", "items become nodes when they are taken"));
        }
        if !is_list && (self.nodes.is_empty() || self.nodes.len() > most) {
            let why = format!("it has {} nodes", self.nodes.len());
            return Err(Refusal::new(why, format!("a {} has 1 to {most} nodes", self.kind())));
        }
        if self.parallel == 0 {
            return Err(Refusal::new("no run may be at work at any time", "set parallel to 1 or more"));
        }
        if self.backend == "none" {
            let hint = "choose another checkpoint backend: results are merged from checkpoints";
            return Err(Refusal::new("a plan cannot work without checkpoints", hint));
        }
        let hooks = [&self.on_complete, &self.on_failure];
        if hooks.iter().any(|list| list.len() > HOOKS_MAX || list.iter().any(|one| one.len() > HOOK_BYTES_MAX)) {
            let why = format!("it has more than {HOOKS_MAX} hooks, or one with more than {HOOK_BYTES_MAX} bytes");
            return Err(Refusal::new(why, "put them into a script"));
        }
        self.nodes.iter().try_for_each(|node| self.check_node(node))?;
        self.check_order()
    }

    fn check_node(&self, node: &NodeSpec) -> Result<(), Refusal> {
        let id = &node.id;
        if self.nodes.iter().filter(|other| other.id == *id).count() > 1 {
            return Err(Refusal::new(format!("two nodes are called {id}"), "give each node its own id"));
        }
        let is_too_long = |text: &String| text.len() > NODE_TEXT_BYTES_MAX;
        match &node.work {
            NodeWork::Loop(work) => {
                let texts = [&work.goal, &work.promise, &work.agent, &node.key, &work.request.name];
                if texts.into_iter().any(is_too_long) {
                    let why = format!("a text of {id} is longer than {NODE_TEXT_BYTES_MAX} bytes");
                    return Err(Refusal::new(why, "give its beginning; the whole belongs into the launch request"));
                }
            }
            NodeWork::Ask { question } => {
                if question.len() > QUESTION_BYTES_MAX || is_too_long(&node.key) {
                    let why = format!("the question of {id} is longer than {QUESTION_BYTES_MAX} bytes");
                    return Err(Refusal::new(why, "ask in fewer words, and name a file that has the rest"));
                }
            }
        }
        if node.touches.len() > TOUCHES_MAX || node.touches.iter().any(|glob| glob.len() > TOUCH_BYTES_MAX) {
            let why = format!("touches of {id} has more than {TOUCHES_MAX} globs, or one is too long");
            return Err(Refusal::new(why, format!("use at most {TOUCHES_MAX} globs of {TOUCH_BYTES_MAX} bytes")));
        }
        let is_branch = self.selection().is_some();
        if is_branch && (node.is_ask() || !node.depends_on.is_empty()) {
            let why = format!("branch {id} asks something or depends on another branch");
            return Err(Refusal::new(why, "branches are loops from the same state"));
        }
        if node.depends_on.len() > NODES_MAX {
            return Err(Refusal::new(format!("{id} depends on too many nodes"), "name each node once"));
        }
        let unknown = node.depends_on.iter().find(|wanted| !self.nodes.iter().any(|other| other.id == **wanted));
        match unknown {
            Some(unknown) => {
                let hint = format!("name one of the {} nodes", self.nodes.len());
                Err(Refusal::new(format!("{id} depends on {unknown}, which does not exist"), hint))
            }
            None => Ok(()),
        }
    }

    /// No node may wait for itself.
    fn check_order(&self) -> Result<(), Refusal> {
        let mut open: BTreeMap<&NodeId, &NodeSpec> = self.nodes.iter().map(|node| (&node.id, node)).collect();
        let mut done: BTreeSet<&NodeId> = BTreeSet::new();
        loop {
            let ready: Vec<&NodeId> = open
                .values()
                .filter(|node| node.depends_on.iter().all(|wanted| done.contains(wanted)))
                .map(|node| &node.id)
                .collect();
            if ready.is_empty() {
                break;
            }
            done.extend(ready);
            open.retain(|id, _| !done.contains(id));
        }
        let Some(id) = open.keys().next() else { return Ok(()) };
        let why = format!("{id} waits for itself, over the nodes that it depends on");
        Err(Refusal::new(why, "remove one of the dependencies of the cycle"))
    }
}
