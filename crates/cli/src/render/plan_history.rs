//! `loop history PLAN` for people: the nodes as a tree, what became of each, and what happened beside.
use loop_core::plan::{PlanRequest, RunPurpose};
use loop_core::policy::budget::money_text;
use loop_core::text;
use loop_core::time;
use loop_core::view::{NodeRow, NodeRun, PlanHistory, PlanView};
use loop_host::clock;

use super::diff::brief;
use super::moment;
use super::plan::{budget_words, limits_words};
use super::table::table_on_screen;

/// The longest reason that stands in a line below the table.
const REASON_LETTERS_MAX: usize = 300;

/// The whole page. `verbose`: also merges and requests.
pub(crate) fn text(history: &PlanHistory, verbose: bool) -> String {
    let plan = &history.plan;
    let mut text = format!("plan {}: {} · {}\n", plan.id, plan.kind_words(), text::escaped_head(&plan.name, 160));
    text.push_str(&tree(history));
    for row in &plan.nodes {
        if let Some(words) = reason(row) {
            text.push_str(&format!("{}: {}\n", row.node, text::one_line(&words, REASON_LETTERS_MAX)));
        }
    }
    text.push_str(&beside(history, verbose));
    let elapsed = time::spaced(plan.elapsed_ms / 1000 * 1000);
    let cost = if plan.cost_micros == 0 { "no cost reported".to_owned() } else { money_text(plan.cost_micros) };
    text.push_str(&format!("in all: {cost} in {elapsed}\n"));
    match (&plan.reason, &plan.outcome) {
        (Some(reason), Some(outcome)) => {
            let qualified = plan.qualification.as_ref().map_or_else(String::new, |words| format!(", {words}"));
            text.push_str(&format!("ended: {} ({outcome}{qualified})\n", text::one_line(reason, REASON_LETTERS_MAX)));
        }
        _ => text.push_str(&format!("{} · look: loop status {}\n", plan.status.name(), plan.id)),
    }
    text
}

/// The nodes in the order of the plan, each below what it depends on.
fn tree(history: &PlanHistory) -> String {
    let plan = &history.plan;
    let is_workflow = plan.kind == "workflow";
    let mut head = vec![if is_workflow { "NODE" } else { "BRANCH" }];
    head.extend(is_workflow.then_some("AFTER"));
    head.extend(["AGENT", "LOOP", "ITER", "GATES", "CHANGES", "COST", "TIME", "STATE"]);
    let mut rows = Vec::new();
    for node in &plan.nodes {
        let runs: Vec<&NodeRun> = history.runs_of(&node.node).collect();
        // Earlier attempts first, each in a row of its own.
        let (last, earlier) = runs.split_last().map_or((None, &[][..]), |(last, earlier)| (Some(*last), earlier));
        rows.extend(earlier.iter().map(|run| row(plan, node, Some(run), true)));
        rows.push(row(plan, node, last, false));
    }
    table_on_screen(&head, &rows)
}

fn row(plan: &PlanView, node: &NodeRow, run: Option<&NodeRun>, is_earlier: bool) -> Vec<String> {
    let dash = || "-".to_owned();
    let depth = plan.depth_of(&node.node);
    let indent = if depth == 0 { String::new() } else { format!("{}└ ", "  ".repeat(depth - 1)) };
    let mut cells = vec![format!("{indent}{}", node.node)];
    if plan.kind == "workflow" {
        cells.push(if node.depends_on.is_empty() { dash() } else { node.depends_on.join(", ") });
    }
    let purpose = match run.map(|run| run.purpose) {
        Some(RunPurpose::Rerun) => " (again after a conflict)",
        Some(RunPurpose::Resolve) => " (resolves a conflict)",
        Some(RunPurpose::Work) | None => "",
    };
    let state = match (run, is_earlier) {
        (Some(run), true) => run.outcome.map_or("no end", |outcome| outcome.name()).to_owned(),
        // What is long stands below the table.
        (_, false) if reason(node).is_some() => node.state.replace('_', " "),
        (_, false) => text::one_line(&node.words, 60),
        (None, true) => dash(),
    };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a duration is never below zero")]
    let took = |seconds: f64| time::spaced((seconds * 1000.0) as u64);
    cells.extend([
        if node.agent.is_empty() { dash() } else { text::escaped_head(&node.agent, 30) },
        run.and_then(|run| run.run.clone()).unwrap_or_else(dash),
        run.map_or_else(dash, |run| run.iterations.to_string()),
        super::plan_report::gates_of(node, run).unwrap_or_else(dash),
        run.and_then(|run| run.changes).map_or_else(dash, brief),
        run.filter(|run| run.cost_micros > 0).map_or_else(dash, |run| money_text(run.cost_micros)),
        run.and_then(|run| run.elapsed_seconds).map_or_else(dash, took),
        format!("{state}{purpose}"),
    ]);
    cells
}

/// Why a node is where it is, where a word is not enough: it was not started, stopped, or failed.
fn reason(node: &NodeRow) -> Option<String> {
    let needs = matches!(
        node.state.as_ref(),
        "not_started" | "not_passed" | "conflict" | "failed_merge_gates" | "host_failure" | "stopped" | "refused"
    );
    needs.then(|| node.words.clone())
}

/// Merges, requests, the choice and the apply.
fn beside(history: &PlanHistory, verbose: bool) -> String {
    let plan = &history.plan;
    let now_ms = clock::now().wall_ms;
    let mut lines = String::new();
    for merge in &history.merges {
        let at = moment::clock_text(&merge.at, now_ms);
        let gates = merge.gates.as_ref().filter(|gates| !gates.all_pass());
        if let Some(conflict) = &merge.conflict {
            let words = text::one_line(&conflict.words(), REASON_LETTERS_MAX);
            lines.push_str(&format!("{at}  merge of {}: conflict: {words}\n", merge.node));
        } else if let Some(gates) = gates {
            let words = text::one_line(&gates.words(), REASON_LETTERS_MAX);
            lines.push_str(&format!("{at}  merge of {}: gates fail on the merged tree: {words}\n", merge.node));
        } else if verbose {
            let passed = merge.gates.as_ref().map_or_else(String::new, |gates| {
                format!(", {} {} there", gates.passed, if gates.passed == 1 { "gate passes" } else { "gates pass" })
            });
            lines.push_str(&format!("{at}  merge of {}: done{passed}\n", merge.node));
        }
    }
    for asked in &history.requests {
        let at = moment::clock_text(&asked.at, now_ms);
        let what = match &asked.request {
            PlanRequest::Stop => "stop".to_owned(),
            PlanRequest::Abort => "stop now".to_owned(),
            PlanRequest::Pause => "pause".to_owned(),
            PlanRequest::Resume => "resume".to_owned(),
            PlanRequest::Cancel => "cancel".to_owned(),
            PlanRequest::Pick { node, anyway: false } => format!("pick branch {node}"),
            PlanRequest::Pick { node, anyway: true } => format!("take branch {node}, though it does not pass"),
            PlanRequest::Budget { most_micros } => budget_words(*most_micros),
            PlanRequest::Limits { changes, budget } => limits_words(changes, *budget),
            PlanRequest::Answer { node, .. } => format!("answer to {node}"),
            PlanRequest::Rollback { to, .. } => format!("roll back to {to}"),
        };
        lines.push_str(&format!("{at}  asked: {what} ({})\n", text::one_line(&asked.by, 40)));
    }
    if let Some(chosen) = &plan.chosen {
        lines.push_str(&format!("chosen: branch {chosen}\n"));
    }
    if let Some(applied) = &history.applied {
        let gates = applied.gates.as_ref().map_or_else(String::new, |gates| {
            format!("; {} of {} gates pass there", gates.passed, gates.passed + gates.not_passed)
        });
        let files = super::plan::files(applied.files);
        lines.push_str(&format!("applied: {files} in the workspace{gates}: loop diff {}\n", plan.id));
    }
    lines
}
