//! `loop report PLAN` for people, and a plan among the loops of a night.
use loop_core::policy::budget::money_text;
use loop_core::policy::candidate::RankColumn;
use loop_core::run::Status;
use loop_core::text;
use loop_core::time;
use loop_core::view::{ItemRow, NodeRow, NodeRun, PlanHistory, PlanView, RankingRow, ViewWord};

use super::diff::brief;
use super::page::Block;

/// How much of a goal one line shows.
const GOAL_LETTERS_MAX: usize = 100;

/// The page of one plan. The patch is what it changed in the workspace, where that is shown.
pub(crate) fn of_plan(history: &PlanHistory, patch: Option<String>) -> Vec<Block> {
    let plan = &history.plan;
    let mut page = vec![
        Block::Heading(1, title(plan)),
        Block::Heading(2, "Outcome".to_owned()),
        Block::Facts(in_short(plan)),
        Block::Commands(commands(plan)),
    ];
    if let Some(ranking) = &plan.ranking {
        page.push(Block::Heading(2, "Ranking".to_owned()));
        let mut head = vec!["Branch"];
        let known = |column: &ViewWord| RankColumn::ALL.map(RankColumn::name).into_iter().find(|name| name == column);
        head.extend(ranking.columns.iter().filter_map(known));
        head.push("Before the next by");
        let row = |row: &RankingRow| {
            let mut cells = vec![row.branch.clone()];
            cells.extend(row.cells.iter().cloned());
            cells.push(row.decided_by.as_deref().unwrap_or_default().to_owned());
            cells
        };
        page.push(Block::Table(head, ranking.rows.iter().map(row).collect()));
    }
    page.extend(items(plan));
    page.push(Block::Heading(2, if plan.kind == "best-of" { "Branches" } else { "Nodes" }.to_owned()));
    let head = vec!["Name", "After", "Agent", "Loop", "Iterations", "Gates", "Changes", "Cost", "State"];
    let rows = plan.nodes.iter().map(|node| row(node, history.runs_of(&node.node).last()));
    page.push(Block::Table(head, rows.collect()));
    if let Some(patch) = patch {
        page.push(Block::Heading(2, "Changes in the workspace".to_owned()));
        page.push(Block::Code("diff", patch));
    }
    page
}

/// The items of a list: what proved each criterion, and what nothing of its own checked.
fn items(plan: &PlanView) -> Vec<Block> {
    let Some(list) = &plan.list else { return Vec::new() };
    let mut page = vec![Block::Heading(2, format!("Items of {}", text::one_line(&list.file, 200)))];
    let begun = || plan.nodes.iter().filter_map(|node| Some((node, node.item.as_ref()?)));
    let head = vec!["Item", "State", "Loops", "Cost", "Title"];
    let row = |(node, item): (&NodeRow, &ItemRow)| {
        let cost = if node.cost_micros == 0 { String::new() } else { money_text(node.cost_micros) };
        vec![
            item.id.clone(),
            node.state.replace('_', " "),
            item.loops.to_string(),
            cost,
            text::one_line(&item.title, 200),
        ]
    };
    page.push(Block::Table(head, begun().map(row).collect()));
    let mut proofs: Vec<Vec<String>> = Vec::new();
    for (_, item) in begun().filter(|(node, _)| node.state == "ticked") {
        for proof in &item.proofs {
            let by = if proof.is_own { "a check or files of its own" } else { "the item's diff and check only" };
            proofs.push(vec![item.id.clone(), proof.criterion.clone(), by.to_owned(), proof.artifacts.join(", ")]);
        }
        if item.proofs.is_empty() {
            let is_checked = item.verdict.is_some();
            let by = if is_checked { "the item's diff and check only" } else { "the promise of its loop" };
            proofs.push(vec![item.id.clone(), String::new(), by.to_owned(), String::new()]);
        }
    }
    if !proofs.is_empty() {
        page.push(Block::Heading(3, "What proved each criterion".to_owned()));
        page.push(Block::Table(vec!["Item", "Criterion", "Proved by", "Artifacts"], proofs));
    }
    let mut open: Vec<Vec<String>> = Vec::new();
    for (node, item) in begun().filter(|(node, _)| node.state != "ticked") {
        let why = item.why.first().cloned().unwrap_or_default();
        let ended = item.ended_by.clone().unwrap_or_else(|| node.words.clone());
        open.push(vec![
            item.id.clone(),
            text::one_line(&ended, 300),
            text::one_line(&why, 300),
            item.retries.join("; "),
        ]);
    }
    if !open.is_empty() {
        page.push(Block::Heading(3, "What is not done, and why".to_owned()));
        page.push(Block::Table(vec!["Item", "Ended by", "Last error", "Tried"], open));
    }
    let flags: Vec<Vec<String>> =
        begun().flat_map(|(_, item)| item.flags.iter().map(|flag| vec![item.id.clone(), flag.clone()])).collect();
    if !flags.is_empty() {
        page.push(Block::Heading(3, "What a person should know".to_owned()));
        page.push(Block::Table(vec!["Item", "What"], flags));
    }
    page
}

pub(super) fn title(plan: &PlanView) -> String {
    format!("Plan {} ({}): {}", plan.id, plan.kind_words(), text::one_line(&plan.name, GOAL_LETTERS_MAX))
}

fn row(node: &NodeRow, run: Option<&NodeRun>) -> Vec<String> {
    vec![
        node.node.clone(),
        node.depends_on.join(", "),
        node.agent.clone(),
        run.and_then(|run| run.run.clone()).unwrap_or_default(),
        run.map_or_else(String::new, |run| run.iterations.to_string()),
        gates_of(node, run).unwrap_or_default(),
        run.and_then(|run| run.changes).map_or_else(String::new, brief),
        run.filter(|run| run.cost_micros > 0).map_or_else(String::new, |run| money_text(run.cost_micros)),
        text::one_line(&node.words, 300),
    ]
}

/// What judged the newest run of a node: of an item that is checked, its checks and not the gates of its run.
pub(super) fn gates_of(node: &NodeRow, run: Option<&NodeRun>) -> Option<String> {
    let checks = node.item.as_ref().and_then(|item| item.verdict.as_ref()).map(|verdict| format!("checks: {verdict}"));
    checks.or_else(|| run.and_then(|run| run.gates.clone()))
}

/// How it stands, in some facts.
pub(super) fn in_short(plan: &PlanView) -> Vec<(String, String)> {
    let mut facts = vec![("Outcome".to_owned(), standing(plan))];
    facts.extend(plan.chosen.as_ref().map(|chosen| ("Winner".to_owned(), format!("branch {chosen}"))));
    let cost = if plan.cost_micros == 0 { "no cost reported".to_owned() } else { money_text(plan.cost_micros) };
    let elapsed = time::spaced(plan.elapsed_ms / 1000 * 1000);
    let done = format!("{} of {} done", plan.nodes_done(), plan.nodes.len());
    facts.push(("Work".to_owned(), format!("{done} in {elapsed}, {cost}")));
    facts.push(("Folder".to_owned(), text::escape_path(plan.workspace.as_bytes())));
    facts
}

fn standing(plan: &PlanView) -> String {
    let why = plan.reason.as_ref().map_or_else(String::new, |why| format!(": {}", text::one_line(why, 300)));
    let qualified = plan.qualification.as_ref().map_or_else(String::new, |words| format!(", {words}"));
    format!("{}{qualified}{why}", plan.outcome.as_deref().unwrap_or_else(|| plan.status.name()).replace('_', " "))
}

/// The commands that a person may want next, the most likely one first.
pub(super) fn commands(plan: &PlanView) -> Vec<(String, String)> {
    let id = &plan.id;
    let line = |name: &str, command: String| (name.to_owned(), command);
    let mut lines = Vec::new();
    if plan.waits_for_person && plan.kind == "best-of" {
        lines.push(line("choose", format!("loop pick {id}")));
    } else if plan.resumable && !matches!(plan.status, Status::Running | Status::Waiting) {
        lines.push(line("next", format!("loop resume {id}")));
    }
    lines.push(line("look", format!("loop history {id}")));
    if matches!(plan.outcome.as_deref(), Some("applied" | "not_here" | "taken")) {
        lines.push(line("changes", format!("loop diff {id}")));
        lines.push(line("undo", format!("loop rollback {id} initial")));
    }
    lines
}
