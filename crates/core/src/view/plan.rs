//! A plan for people and programs: its nodes with words, and the ranking of its branches as a table.
use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::row::Row;
use super::seconds;
use crate::plan::{NodeEnd, NodeId, NodeStage, NodeState, PlanOutcome, PlanState, RunDigest, RunPurpose};
use crate::policy::budget::money_text;
use crate::policy::candidate::{Candidate, CandidateGates, RankColumn, Ranking};
use crate::policy::item::{CriterionProof, ItemEnd, ItemRetry};
use crate::run::{Outcome, Status};
use crate::text;
use crate::time::{self, At};

/// A word of a fixed list; one that was read is its own.
pub type ViewWord = Cow<'static, str>;

/// A plan as `loop status`, `list` and `watch` show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanView {
    /// Its id.
    pub id: String,
    /// `best-of`, `workflow` or `list`.
    pub kind: ViewWord,
    /// What people call it.
    pub name: String,
    /// Its status in lists.
    pub status: Status,
    /// How it ended; none while it has no end.
    pub outcome: Option<ViewWord>,
    /// The exit code of the command that drove it.
    pub exit_code: Option<u8>,
    /// Why it ended.
    pub reason: Option<String>,
    /// Whether `loop resume` may continue it.
    pub resumable: bool,
    /// Whether a person is to pick a branch or to answer a question.
    pub waits_for_person: bool,
    /// Where its result is applied.
    pub workspace: String,
    /// When it was started.
    pub started_at: String,
    /// When something was last recorded of it.
    pub updated_at: String,
    /// The branch that was chosen.
    pub chosen: Option<String>,
    /// How long it was at work.
    pub elapsed_ms: u64,
    /// What all its runs have cost, in millionths of a dollar.
    pub cost_micros: u64,
    /// What they may cost.
    pub budget_micros: Option<u64>,
    /// Its nodes, in the order of the plan.
    pub nodes: Vec<NodeRow>,
    /// The branches in their order, once they are ranked.
    pub ranking: Option<RankingTable>,
    /// The list whose items are its nodes, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<ListRow>,
    /// What its records take on the disk, without those of its loops.
    #[serde(default)]
    pub bytes: Option<u64>,
    /// The loop that was stuck and tries these branches: what they do is shown with it.
    #[serde(default)]
    pub recovers: Option<String>,
}

/// One node of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeRow {
    /// Its name.
    pub node: String,
    /// Where it is, as a word for programs.
    pub state: ViewWord,
    /// The same and why, for people.
    pub words: String,
    /// What it depends on.
    pub depends_on: Vec<String>,
    /// The agent of its loop.
    pub agent: String,
    /// Its goal, or its question.
    pub goal: String,
    /// Its newest run.
    pub run: Option<String>,
    /// Which attempt that is.
    pub attempt: u32,
    /// That run resolves a conflict, or is done again because of one.
    pub after_conflict: bool,
    /// How many iterations that run has ended.
    pub iterations: u32,
    /// What its gates said at the end of that run: `pass`, or how many do not; null before.
    pub gates: Option<String>,
    /// What all its runs have cost, in millionths of a dollar.
    pub cost_micros: u64,
    /// Its item, in a plan of a list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<ItemRow>,
}

/// The list of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListRow {
    /// The file in the workspace.
    pub file: String,
    /// What it is called in a sentence.
    pub kind: String,
    /// Items that the newest reading had in all.
    pub all: u32,
    /// Open items that this plan has not begun, by the newest reading.
    pub open: u32,
    /// Items that this plan ticked.
    pub ticked: u32,
}

/// One item of a list that a plan has begun.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemRow {
    /// Its id in the list.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Loops in which an agent worked.
    pub loops: u32,
    /// What its newest checks came to; null before.
    pub verdict: Option<String>,
    /// Why it did not pass, in sentences.
    pub why: Vec<String>,
    /// What proved each criterion.
    pub proofs: Vec<CriterionProof>,
    /// What a person should know.
    pub flags: Vec<String>,
    /// What its retries changed, in order.
    pub retries: Vec<String>,
    /// The rule that ended it; null while it is open.
    pub ended_by: Option<String>,
}

impl ItemRow {
    fn of(node: &NodeState) -> Option<Self> {
        let named = node.spec.item.as_ref()?;
        let item = &node.item;
        let evaluation = item.evaluation.as_deref();
        let failure = evaluation.and_then(|evaluation| evaluation.failure.as_ref());
        let one = |retry: &ItemRetry| format!("{}: {}", retry.failure.words(), retry.change.words());
        Some(Self {
            id: named.id.clone(),
            title: named.title.clone(),
            loops: item.tries.loops,
            verdict: evaluation.map(|evaluation| evaluation.verdict.words()),
            why: failure.map(|failure| failure.reasons.clone()).unwrap_or_default(),
            proofs: evaluation.map(|evaluation| evaluation.proofs.clone()).unwrap_or_default(),
            flags: evaluation.map(|evaluation| evaluation.flags.clone()).unwrap_or_default(),
            retries: item.retries.iter().map(one).collect(),
            ended_by: item.end.as_ref().map(ItemEnd::words),
        })
    }
}

impl ListRow {
    fn of(state: &PlanState) -> Option<Self> {
        let list = state.spec.as_ref()?.list()?;
        let read = state.list.last.as_deref();
        let ticked = state.nodes.iter().filter(|node| node.item.ticked).count();
        let taken = read.is_some_and(|read| read.candidates.iter().any(|one| state.node(&one.id).is_some()));
        Some(Self {
            file: list.file.clone(),
            kind: list.kind.clone(),
            all: read.map_or(0, |read| read.all),
            open: read.map_or(0, |read| read.open.saturating_sub(u32::from(taken))),
            ticked: u32::try_from(ticked).unwrap_or(u32::MAX),
        })
    }
}

/// The ranking of branches: one row for each, the best first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankingTable {
    /// The names of the columns, in the order in which they decide.
    pub columns: Vec<ViewWord>,
    /// The rows.
    pub rows: Vec<RankingRow>,
}

/// One branch in the ranking.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankingRow {
    /// The name of the branch.
    pub branch: String,
    /// Whether it passes.
    pub passes: bool,
    /// A text for each column; `-` where nothing is known.
    pub cells: Vec<String>,
    /// The column that puts it before the next one.
    pub decided_by: Option<ViewWord>,
}

impl PlanView {
    /// The plan as it is now; none before its first facts. `alive`: a process drives it.
    #[must_use]
    pub fn of(state: &PlanState, alive: bool, now: At) -> Option<Self> {
        let spec = state.spec.as_ref()?;
        let standing = state.standing();
        let status = match (&standing, alive) {
            (Some(standing), _) => standing.status,
            (None, true) if state.is_paused() => Status::Paused,
            (None, true) => Status::Running,
            (None, false) => Status::Crashed,
        };
        let open = state.nodes.iter().map(open_micros).fold(0, u64::saturating_add);
        Some(Self {
            id: spec.id.to_string(),
            kind: spec.kind().into(),
            name: spec.name.clone(),
            status,
            outcome: state.over.as_ref().map(|over| over.outcome.name().into()),
            exit_code: standing.map(|standing| standing.exit_code),
            reason: state.over.as_ref().map(|over| over.reason.text.clone()),
            resumable: state.resumable(),
            waits_for_person: state.over.as_ref().is_some_and(|over| over.outcome == PlanOutcome::AwaitsPerson),
            workspace: String::from_utf8(text::unescape_path(&spec.workspace.path))
                .unwrap_or_else(|_| spec.workspace.path.clone()),
            started_at: time::rfc3339(state.created.wall_ms),
            updated_at: time::rfc3339(state.now.wall_ms),
            chosen: state.chosen.as_ref().map(|chosen| chosen.node.to_string()),
            elapsed_ms: state.active_ms(if alive { now } else { state.now }),
            cost_micros: state.money.spent_micros.saturating_add(open),
            budget_micros: spec.budget_micros,
            nodes: state.nodes.iter().map(|node| NodeRow::of(state, node)).collect(),
            ranking: state.ranking.as_ref().map(|ranking| RankingTable::of(ranking)),
            list: ListRow::of(state),
            bytes: None,
            recovers: spec.recovers.as_ref().map(|recovers| recovers.run.to_string()),
        })
    }
}

impl PlanView {
    /// How many of its nodes are done: merged, passed, answered or ticked.
    #[must_use]
    pub fn nodes_done(&self) -> usize {
        self.nodes
            .iter()
            .filter(|node| matches!(node.state.as_ref(), "merged" | "passed" | "answered" | "ticked"))
            .count()
    }

    /// The plan as one row of a list, beside loops: it counts nodes where a loop counts iterations.
    #[must_use]
    pub fn row(&self) -> Row {
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let outcome = match (self.status, &self.outcome) {
            (_, None) => None,
            (Status::Completed, Some(_)) => Some(Outcome::Verified),
            (Status::Cancelled, Some(_)) => Some(Outcome::Cancelled),
            (Status::Crashed, Some(_)) => Some(Outcome::Unable),
            // It has no process, and a person is needed: it is not called stopped.
            (Status::Paused, Some(_)) => (!self.waits_for_person).then_some(Outcome::Stopped),
            (Status::Failed | Status::Running | Status::Waiting, Some(_)) => Some(Outcome::Exhausted),
        };
        let only = |node: &NodeRow| node.agent.clone();
        let mut agents: Vec<String> = self.nodes.iter().map(only).filter(|agent| !agent.is_empty()).collect();
        agents.dedup();
        Row {
            id: self.id.clone(),
            status: self.status,
            iteration: count(self.nodes_done()),
            max_iterations: Some(count(self.nodes.len())),
            promise: self.kind_words(),
            agent: agents.join(","),
            model: None,
            elapsed_seconds: seconds(self.elapsed_ms),
            workspace: self.workspace.clone(),
            goal: self.name.clone(),
            outcome,
            qualification: self.waits_for_person.then(|| "waits for you".to_owned()),
            reason: self.outcome.as_deref().map(str::to_owned),
            why: self.reason.clone(),
            resumable: self.resumable,
            cost_usd: (self.cost_micros > 0).then(|| dollars(self.cost_micros)),
            tokens: None,
            started_at: self.started_at.clone(),
            updated_at: self.updated_at.clone(),
            bytes: self.bytes,
            waiting: None,
            project: None,
            agent_name: None,
            thinned: false,
            plan: None,
            node: None,
            is_plan: true,
        }
    }

    /// `best of 3`, `workflow of 4`.
    #[must_use]
    pub fn kind_words(&self) -> String {
        let count = self.nodes.len();
        match self.kind.as_ref() {
            "best-of" => format!("best of {count}"),
            "list" if count == 1 => "list, 1 item".to_owned(),
            "list" => format!("list, {count} items"),
            _ => format!("workflow of {count}"),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "what a plan costs is far below 2^52 millionths")]
fn dollars(micros: u64) -> f64 {
    micros as f64 / 1_000_000.0
}

/// What the run of a node has cost beyond what was counted.
fn open_micros(node: &NodeState) -> u64 {
    let running = node.progress.filter(|_| node.is_at_work());
    running.map_or(0, |progress| progress.cost_micros.saturating_sub(node.counted_micros))
}

/// What the gates of a run said on its last judged state.
pub(super) fn gates_words(run: &RunDigest) -> String {
    match (run.outcome, run.gates_passed) {
        (Outcome::Claimed, _) => "none, claimed".to_owned(),
        (_, true) => "pass".to_owned(),
        (_, false) => format!("no: {}", run.rank.words()),
    }
}

impl NodeRow {
    /// Whether its loop is of this agent; a model behind it does not count.
    #[must_use]
    pub fn has_agent(&self, agent: &str) -> bool {
        self.agent == agent || self.agent.split(':').next() == Some(agent)
    }

    /// One node of this plan.
    #[must_use]
    pub fn of(state: &PlanState, node: &NodeState) -> Self {
        let work = node.spec.loop_work();
        let ended = node.result.as_ref().map(|run| run.iterations);
        let going = node.progress.map(|progress| progress.iterations);
        Self {
            node: node.id().to_string(),
            state: state_word(node).into(),
            words: state.node_words(node),
            depends_on: node.spec.depends_on.iter().map(NodeId::to_string).collect(),
            agent: work.map(|work| work.agent.clone()).unwrap_or_default(),
            goal: match &node.spec.work {
                crate::plan::NodeWork::Loop(work) => work.goal.clone(),
                crate::plan::NodeWork::Ask { question } => question.clone(),
            },
            run: node.run.as_ref().map(ToString::to_string),
            attempt: node.attempt,
            after_conflict: node.purpose != RunPurpose::Work,
            iterations: ended.or(going).unwrap_or(0),
            gates: node.result.as_ref().map(|run| gates_words(run)),
            cost_micros: node.cost_micros.saturating_add(open_micros(node)),
            item: ItemRow::of(node),
        }
    }
}

/// Where a node is, as a word for programs.
fn state_word(node: &NodeState) -> &'static str {
    match &node.stage {
        NodeStage::Waiting => "waiting",
        NodeStage::Copying => "copying",
        NodeStage::Running => "running",
        NodeStage::RunEnded | NodeStage::Ran => "ran",
        NodeStage::Merging | NodeStage::Conflicted | NodeStage::MergeGates | NodeStage::MergeJudged => "merging",
        NodeStage::Checking | NodeStage::Checked | NodeStage::Recording | NodeStage::Recorded => "checking",
        NodeStage::Applying => "applying",
        NodeStage::Ticking | NodeStage::TickEnded => "ticking",
        NodeStage::Asking | NodeStage::Said => "asking",
        NodeStage::Ended(end) => match end {
            NodeEnd::Merged => "merged",
            NodeEnd::Passed => "passed",
            NodeEnd::Answered => "answered",
            NodeEnd::Ticked => "ticked",
            NodeEnd::NotTicked { .. } => "not_ticked",
            NodeEnd::GaveUp(_) => "gave_up",
            NodeEnd::Refused => "refused",
            NodeEnd::NotPassed => "not_passed",
            NodeEnd::RanOnly => "ran",
            NodeEnd::EndedEarly(_) => "stopped",
            NodeEnd::NotStarted(_) => "not_started",
            NodeEnd::Conflict => "conflict",
            NodeEnd::FailedMergeGates => "failed_merge_gates",
            NodeEnd::HostFailure { .. } => "host_failure",
        },
    }
}

impl RankingTable {
    /// Every column but the last one, which is the order of the plan.
    fn columns() -> impl Iterator<Item = RankColumn> {
        RankColumn::ALL.into_iter().filter(|column| *column != RankColumn::Order)
    }

    /// The table of this ranking.
    #[must_use]
    pub fn of(ranking: &Ranking) -> Self {
        let row = |(at, row): (usize, &Candidate)| RankingRow {
            branch: row.name.clone(),
            passes: row.passes,
            cells: Self::columns().map(|column| cell(row, column)).collect(),
            decided_by: ranking.decided.get(at).map(|column| column.name().into()),
        };
        let rows = ranking.rows.iter().enumerate().map(row).collect();
        Self { columns: Self::columns().map(|column| column.name().into()).collect(), rows }
    }
}

fn cell(row: &Candidate, column: RankColumn) -> String {
    let unknown = || "-".to_owned();
    match column {
        RankColumn::Gates => match row.gates {
            CandidateGates::NoResult => "no result",
            CandidateGates::NotPassed => "not passed",
            CandidateGates::Claimed => "claimed",
            CandidateGates::InBranch => "pass in the branch",
            CandidateGates::OnCleanCopy => "pass on a clean copy",
        }
        .to_owned(),
        RankColumn::Faults => faults(row),
        RankColumn::State => row.rank.words(),
        RankColumn::Watched if row.watched_passed + row.watched_failed == 0 => unknown(),
        RankColumn::Watched => format!("{} of {} pass", row.watched_passed, row.watched_passed + row.watched_failed),
        RankColumn::Metric => row.metric_micros.map_or_else(unknown, decimal),
        RankColumn::Size => format!("{} lines in {}", row.lines, files(row.files)),
        RankColumn::Coverage => row.coverage.map_or_else(unknown, |points| {
            let sign = if points < 0 { "-" } else { "+" };
            format!("{sign}{}.{:02} %", points.unsigned_abs() / 100, points.unsigned_abs() % 100)
        }),
        RankColumn::Strength => row.strength.map_or_else(unknown, |noticed| format!("{noticed} %")),
        RankColumn::Cost if row.cost_unknown && row.cost_micros == 0 => unknown(),
        RankColumn::Cost if row.cost_unknown => format!("{} counted", money_text(row.cost_micros)),
        RankColumn::Cost => money_text(row.cost_micros),
        RankColumn::Time => time::spaced(row.elapsed_ms),
        RankColumn::Order => String::new(),
    }
}

fn files(number: u32) -> String {
    format!("{number} {}", if number == 1 { "file" } else { "files" })
}

fn faults(row: &Candidate) -> String {
    let found = [
        (row.regressions > 0).then(|| format!("{} regressed", row.regressions)),
        row.tampered.then(|| "protected files changed".to_owned()),
        (row.weaker > 0).then(|| "weaker tests".to_owned()),
    ];
    let found: Vec<String> = found.into_iter().flatten().collect();
    if found.is_empty() { "none".to_owned() } else { found.join(", ") }
}

/// A number in millionths, without zeros at its end.
fn decimal(micros: i64) -> String {
    let sign = if micros < 0 { "-" } else { "" };
    let (whole, part) = (micros.unsigned_abs() / 1_000_000, micros.unsigned_abs() % 1_000_000);
    let part = format!("{part:06}");
    let part = part.trim_end_matches('0');
    if part.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{part}") }
}
