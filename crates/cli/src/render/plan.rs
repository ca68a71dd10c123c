//! A plan for people: its branches, the ranking with every column, how it ended and what to type next.
use loop_core::ended::Ended;
use loop_core::plan::{
    ChosenBy, EndedEarly, EndedHook, HookWhen, NodeEnd, NodeId, NodeStage, NodeState, PlanBudget, PlanOutcome,
    PlanReasonCode, PlanState,
};
use loop_core::policy::budget::money_text;
use loop_core::policy::candidate::{Candidate, CandidateGates, RankColumn};
use loop_core::run::Change;
use loop_core::text;
use loop_core::time;
use loop_core::workflow::FAILED_LOOP_VARIABLE;
use loop_host::plan::more_budget;
use serde_json::{Value, json};

use super::plan_items::{is_list, item_name, kind_of};
use super::printer::{Paint, Printer, stdout_is_terminal, text_width};
use super::table::{fits_screen, table_on_screen};
use super::wrap::{hanging, labelled};

/// In which column the values of the last lines begin.
const COLUMN: usize = 12;
/// So many conflicts are named.
const CONFLICTS_SHOWN_MAX: usize = 8;

/// The first lines.
pub(crate) fn header(state: &PlanState) -> String {
    let Some(spec) = &state.spec else { return String::new() };
    let works: Vec<_> = state.nodes.iter().filter_map(|node| node.spec.loop_work()).collect();
    let of_list = spec.list().map(|list| list.agent.as_str());
    let mut agents: Vec<&str> = of_list.into_iter().chain(works.iter().map(|work| work.agent.as_str())).collect();
    agents.dedup();
    let promise = works.first().map(|work| work.promise.as_str()).unwrap_or_default();
    let budget = spec.budget_micros.map_or_else(String::new, |most| format!(" · {} in all", money_text(most)));
    let how = match spec.selection() {
        Some(one) if one.on_red => ", the next one only when the one before did not pass".to_owned(),
        Some(one) if one.first => ", the first that passes is taken".to_owned(),
        Some(one) if one.manual => ", you choose".to_owned(),
        Some(_) if usize::try_from(spec.parallel).unwrap_or(usize::MAX) < works.len() => {
            format!(", {} at a time", spec.parallel)
        }
        Some(_) | None => String::new(),
    };
    let kind = match spec.selection() {
        Some(_) => format!("best of {} branches{how}", works.len()),
        None if is_list(state) => kind_of(state).unwrap_or_default(),
        None => format!("workflow of {} loops, at most {} at a time", works.len(), spec.parallel),
    };
    let mut lines = vec![
        format!("plan        {} · {kind}{budget}", spec.id),
        format!("goal        {}", text::escaped_head(&spec.name, 200)),
        format!("agents      {}", text::escaped_head(&agents.join(", "), 200)),
    ];
    if !promise.is_empty() && spec.selection().is_some() {
        lines.push(format!("promise     {}", text::escaped_head(promise, 200)));
    }
    let when = if is_list(state) { "changed after each item that passes" } else { "changed only at the end" };
    lines.push(format!("workspace   {} ({when})", text::escaped_head(&spec.workspace.path, 200)));
    if stdout_is_terminal() {
        lines = lines.iter().map(|line| hanging(line, COLUMN, text_width())).collect();
    }
    lines.join("\n") + "\n"
}

/// What a node is called: a branch by its number and agent.
pub(crate) fn name_of(node: &NodeState) -> String {
    if node.spec.item.is_some() {
        return item_name(&node.spec);
    }
    let agent = node.spec.loop_work().map(|work| work.agent.as_str()).filter(|agent| !agent.is_empty());
    agent.map_or_else(|| node.id().to_string(), |agent| format!("{} ({agent})", node.id()))
}

/// Whether it is a workflow: its nodes are loops, and all that pass are merged. The others have branches.
pub(super) fn is_workflow(state: &PlanState) -> bool {
    state.spec.as_ref().is_some_and(|spec| spec.selection().is_none())
}

/// The whole command that chooses the best branch.
pub(super) fn pick_command(state: &PlanState) -> String {
    let id = state.spec.as_ref().map_or("PLAN", |spec| spec.id.as_str());
    let best = state.ranking.as_ref().and_then(|ranking| ranking.rows.iter().find(|row| row.passes));
    format!("loop pick {id} {}", best.map_or("BRANCH", |row| row.name.as_str()))
}

/// The whole command that answers a question.
pub(super) fn answer_command(state: &PlanState, node: &NodeId) -> String {
    let id = state.spec.as_ref().map_or("PLAN", |spec| spec.id.as_str());
    format!("loop answer {id} {node} TEXT   (no: what depends on it does not start)")
}

/// The list that a hook is of, as the file names it.
fn list_of(hook: &EndedHook) -> &'static str {
    match hook.when {
        HookWhen::Complete => "on_complete",
        HookWhen::Failure => "on_failure",
    }
}

/// The command of a hook, with the id of the loop that failed.
fn command_of(hook: &EndedHook, state: &PlanState) -> Option<String> {
    let spec = state.spec.as_ref()?;
    let list = match hook.when {
        HookWhen::Complete => &spec.on_complete,
        HookWhen::Failure => &spec.on_failure,
    };
    let command = list.get(usize::try_from(hook.index).ok()?)?;
    let failed = state.blamed().and_then(|node| state.node(node)?.run.as_ref()).unwrap_or(&spec.id);
    let variable = format!("${{{FAILED_LOOP_VARIABLE}}}");
    // As the command was filled: bare, in double quotes, in single quotes.
    let places = [format!("'\"{variable}\"'"), format!("\"{variable}\""), variable];
    Some(places.iter().fold(command.clone(), |command, place| command.replace(place, failed.as_str())))
}

/// A hook that did not end with exit 0, in one sentence; none for one that did.
pub(super) fn failed_hook(hook: &EndedHook, state: &PlanState) -> Option<String> {
    let how = match &hook.ended {
        Some(Ended::Exit(0)) => return None,
        Some(ended) => ended.brief(),
        None => "could not be run, or its end is not known".to_owned(),
    };
    let number = hook.index.saturating_add(1);
    let command = short(command_of(hook, state).as_deref().unwrap_or("?"));
    let says = if hook.says.is_empty() { String::new() } else { format!(": {}", short(&hook.says)) };
    Some(format!("{number} of {} failed ({}): {command}{says}", list_of(hook), short(&how)))
}

/// A changed limit of money.
pub(super) fn budget_words(most_micros: Option<u64>) -> String {
    let most = most_micros.map_or_else(|| "anything".to_owned(), money_text);
    format!("all loops together may cost {most}")
}

/// Changed limits of loops, and a changed budget beside them.
pub(super) fn limits_words(changes: &[Change], budget: Option<PlanBudget>) -> String {
    let each: Vec<String> = changes.iter().map(|change| format!("{} {}", change.key, change.value)).collect();
    let money = budget.map_or_else(String::new, |budget| format!("; {}", budget_words(budget.most_micros)));
    format!("each loop: {}{money}", each.join(", "))
}

/// A hook that ended, as JSON.
pub(crate) fn hook_value(hook: &EndedHook, state: &PlanState) -> Value {
    json!({
        "list": list_of(hook), "index": hook.index, "command": command_of(hook, state), "ended": hook.ended,
        "failed": hook.ended != Some(Ended::Exit(0)), "says": hook.says,
    })
}

fn short(text: &str) -> String {
    text::one_line(&text::clean(text.as_bytes()), 160)
}

/// The newest rollback of the workspace that holds, as a line or two; empty where there is none.
pub(crate) fn rolled_back(state: &PlanState) -> String {
    let Some(rollback) = state.rolled_back() else { return String::new() };
    let (to, at) = (short(&rollback.to), time::rfc3339(rollback.at.wall_ms));
    let id = state.spec.as_ref().map_or("PLAN", |spec| spec.id.as_str());
    match &rollback.end {
        Some(Ok(done)) => format!(
            "then        rolled back to {to} at {at}: {} written, {} removed; undo: loop rollback {id} undo\n",
            done.written, done.removed
        ),
        Some(Err(why)) => format!("then        the rollback to {to} at {at} failed: {}\n", short(why)),
        None => format!("then        the rollback to {to} at {at} is not finished: loop rollback {id} {to}\n"),
    }
}

/// The same as JSON.
pub(crate) fn rolled_back_value(state: &PlanState) -> Value {
    let Some(rollback) = state.rolled_back() else { return Value::Null };
    let done = rollback.end.as_ref().and_then(|end| end.as_ref().ok());
    let failed = rollback.end.as_ref().and_then(|end| end.as_ref().err());
    json!({
        "to": rollback.to, "undo": rollback.undo, "by": rollback.by, "at": time::rfc3339(rollback.at.wall_ms),
        "done": done.is_some(), "written": done.map(|done| done.written), "removed": done.map(|done| done.removed),
        "why": failed,
    })
}

/// The ranking with every column; without one, the branches as they stand.
pub(crate) fn table(state: &PlanState) -> String {
    let head = [
        "BRANCH", "AGENT", "LOOP", "GATES", "WORSE", "WATCHED", "METRIC", "LINES", "COVERAGE", "STRENGTH", "COST",
        "TIME",
    ];
    if is_list(state) {
        let rows: Vec<Vec<String>> = state.nodes.iter().map(|node| super::plan_items::row(node, state)).collect();
        return table_on_screen(&["ITEM", "LOOPS", "LOOP", "STATE"], &rows);
    }
    let Some(ranking) = &state.ranking else {
        let rows: Vec<Vec<String>> = state.nodes.iter().map(|node| plain_row(node, state)).collect();
        let first = if is_workflow(state) { "NODE" } else { "BRANCH" };
        return table_on_screen(&[first, "AGENT", "LOOP", "STATE"], &rows);
    };
    let of = |row: &Candidate| state.nodes.iter().find(|node| node.id().as_str() == row.name);
    let rows: Vec<Vec<String>> = ranking.rows.iter().map(|row| ranked_row(row, of(row), state)).collect();
    let mut text = ranking_table(&head, &rows);
    for row in &ranking.rows {
        if let Some(trouble) = &row.metric_trouble {
            text.push_str(&format!("warning: branch {} has no metric: {}\n", row.name, short(trouble)));
        }
    }
    let others = state.nodes.iter().filter(|node| !ranking.rows.iter().any(|row| row.name == node.id().as_str()));
    for node in others {
        text.push_str(&format!("{}: {}\n", name_of(node), short(&state.node_words(node))));
    }
    text
}

/// The ranking as a table. On a narrow terminal without the columns in which nothing is known; where that is too wide,
/// a block of lines for each branch. Nothing is cut.
fn ranking_table(head: &[&str], rows: &[Vec<String>]) -> String {
    if fits_screen(head, rows) {
        return table_on_screen(head, rows);
    }
    let is_known = |at: &usize| rows.iter().any(|row| row.get(*at).is_some_and(|cell| cell != "-"));
    let (known, unknown): (Vec<usize>, Vec<usize>) = (0..head.len()).partition(is_known);
    let names = |at: &[usize]| at.iter().filter_map(|at| head.get(*at).copied()).collect::<Vec<_>>();
    let short: Vec<Vec<String>> =
        rows.iter().map(|row| known.iter().filter_map(|at| row.get(*at).cloned()).collect()).collect();
    let nowhere = match unknown.as_slice() {
        [] => String::new(),
        unknown => {
            let words = format!("nothing in these columns: {}", names(unknown).join(", "));
            hanging(&words, 2, text_width()) + "\n"
        }
    };
    let head = names(&known);
    if fits_screen(&head, &short) {
        return table_on_screen(&head, &short) + &nowhere;
    }
    let mut text = String::new();
    for row in &short {
        for (name, cell) in head.iter().zip(row) {
            text.push_str(&labelled(&name.to_lowercase(), COLUMN, cell));
        }
        text.push('\n');
    }
    text + &nowhere
}

fn plain_row(node: &NodeState, state: &PlanState) -> Vec<String> {
    let agent = node.spec.loop_work().map(|work| work.agent.clone()).unwrap_or_default();
    vec![node.id().to_string(), agent, loop_of(Some(node)), short(&state.node_words(node))]
}

fn loop_of(node: Option<&NodeState>) -> String {
    node.and_then(|node| node.run.as_ref()).map_or_else(|| "-".to_owned(), ToString::to_string)
}

fn ranked_row(row: &Candidate, node: Option<&NodeState>, state: &PlanState) -> Vec<String> {
    let dash = || "-".to_owned();
    let gates = match (row.passes, row.gates) {
        (true, CandidateGates::OnCleanCopy) => "pass".to_owned(),
        (true, CandidateGates::InBranch) => "pass, not on a clean copy".to_owned(),
        (true, CandidateGates::Claimed) => "none, claimed".to_owned(),
        (true, CandidateGates::NotPassed | CandidateGates::NoResult) | (false, _) => {
            let by_budget = NodeEnd::EndedEarly(EndedEarly::Budget);
            let has_rank = |end: &&NodeEnd| **end == NodeEnd::NotPassed || **end == by_budget;
            let early = node.and_then(NodeState::end).filter(|end| !has_rank(end));
            match (early, node) {
                (Some(end), Some(node)) => text::one_line(&state.end_words(node, end), 60),
                _ => format!("no: {}", row.rank.words()),
            }
        }
    };
    let mut worse = Vec::new();
    worse.extend((row.regressions > 0).then(|| format!("{} fail that passed", row.regressions)));
    worse.extend(row.tampered.then(|| "protected files".to_owned()));
    worse.extend((row.weaker > 0).then(|| "weaker tests".to_owned()));
    let watched = match row.watched_passed + row.watched_failed {
        0 => dash(),
        all => format!("{} of {all}", row.watched_passed),
    };
    vec![
        row.name.clone(),
        node.and_then(|node| node.spec.loop_work()).map(|work| work.agent.clone()).unwrap_or_default(),
        loop_of(node),
        gates,
        if worse.is_empty() { dash() } else { worse.join(", ") },
        watched,
        row.metric_micros.map_or_else(dash, decimal),
        row.lines.to_string(),
        row.coverage.map_or_else(dash, |hundredths| format!("{:+.2} %", f64::from(hundredths) / 100.0)),
        row.strength.map_or_else(dash, |percent| format!("{percent} %")),
        match (row.cost_micros, row.cost_unknown) {
            (0, _) => dash(),
            (micros, true) => format!("{} counted", money_text(micros)),
            (micros, false) => money_text(micros),
        },
        time::compact(row.elapsed_ms / 1000 * 1000),
    ]
}

/// Millionths as a number without needless zeros.
fn decimal(micros: i64) -> String {
    let sign = if micros < 0 { "-" } else { "" };
    let whole = micros.unsigned_abs();
    let rest = format!("{:06}", whole % 1_000_000);
    let rest = rest.trim_end_matches('0');
    if rest.is_empty() { format!("{sign}{}", whole / 1_000_000) } else { format!("{sign}{}.{rest}", whole / 1_000_000) }
}

/// The end for people: the table, how it ended, what to type next.
pub(crate) fn summary(state: &PlanState, printer: Printer) -> String {
    let (Some(spec), Some(over), Some(standing)) = (&state.spec, &state.over, state.standing()) else {
        return String::new();
    };
    let (paint, word) = headline(over.outcome);
    let reason = text::clean(over.reason.text.as_bytes());
    let head = format!("{word}: {reason}");
    let head = if stdout_is_terminal() { hanging(&head, 2, text_width()) } else { head };
    let head = match head.strip_prefix(word) {
        Some(rest) => format!("{}{rest}\n", printer.paint(paint, word)),
        None => format!("{head}\n"),
    };
    let mut lines = String::new();
    let mut line = |label: &str, value: &str| lines.push_str(&labelled(label, COLUMN, value));
    if let Some(chosen) = &state.chosen {
        let node = state.node(&chosen.node).map_or_else(|| chosen.node.to_string(), name_of);
        let by = match chosen.by {
            ChosenBy::Ranking => why_best(state),
            ChosenBy::Person => "you chose it".to_owned(),
            ChosenBy::PersonAnyway => "you took it, though it does not pass".to_owned(),
        };
        line("chosen", &format!("branch {node}: {by}"));
    }
    if let Some(applied) = &state.applying.report {
        line("applied", &format!("{} to the workspace; before it: checkpoint {}", files(applied.files), applied.undo));
    }
    let (there, theirs) =
        if is_workflow(state) { ("in the copies", "the merged result") } else { ("in the branch", "the branch") };
    if let Some(gates) = &state.applying.gates {
        let all = gates.passed + gates.not_passed;
        line("here", &format!("{} of {all} pass in the workspace", gates.passed));
        let anyway = state.chosen.as_ref().is_some_and(|chosen| chosen.by == ChosenBy::PersonAnyway);
        let how = if anyway { "does not pass".to_owned() } else { format!("passes {there}, not here") };
        for gate in &gates.first {
            line("", &format!("{}: {how}: {}", gate.gate, short(&gate.says)));
        }
    }
    if let Some(conflict) = &state.applying.conflict {
        for path in conflict.paths.iter().take(CONFLICTS_SHOWN_MAX) {
            line("conflict", &short(path));
        }
        line("versions", &format!("{} (yours) and {} ({theirs})", conflict.ours, conflict.theirs));
    }
    for hook in &state.hooks {
        if let Some(words) = failed_hook(hook, state) {
            line("hook", &words);
        }
    }
    // An agent that reports no cost counts nothing where no limit asks for its worst case.
    let spent = match state.money.spent_micros {
        0 => "no cost reported".to_owned(),
        spent if state.nodes.iter().any(|node| node.result.as_ref().is_some_and(|run| run.cost_unknown)) => {
            format!("{} counted in all; not every call reported its cost", money_text(spent))
        }
        spent => format!("{} in all", money_text(spent)),
    };
    line("cost", &format!("{spent} · {}", time::spaced(state.active_ms(state.now) / 1000 * 1000)));
    line("status", &format!("{} ({})", standing.status.name(), over.outcome.name()));
    for (label, command) in next(state, spec.id.as_str(), over.outcome) {
        line(label, &command);
    }
    format!("{}\n{head}{lines}", table(state))
}

pub(super) fn files(count: u32) -> String {
    if count == 1 { "1 file".to_owned() } else { format!("{count} files") }
}

/// Why the first row is the best: the first column in which it differs from the second.
fn why_best(state: &PlanState) -> String {
    let Some(ranking) = &state.ranking else { return "it is the best".to_owned() };
    let passing = ranking.rows.iter().filter(|row| row.passes).count();
    if passing == 1 {
        return "only this one passes".to_owned();
    }
    let column = match ranking.decided.first() {
        Some(RankColumn::Gates) => "its gates pass on a clean copy",
        Some(RankColumn::Faults) => "nothing got worse in it",
        Some(RankColumn::State) => "more of its gates and tests pass",
        Some(RankColumn::Watched) => "more watched gates pass",
        Some(RankColumn::Metric) => "its metric is better",
        Some(RankColumn::Size) => "its change is smaller",
        Some(RankColumn::Coverage) => "its coverage is better",
        Some(RankColumn::Strength) => "its gates are stronger",
        Some(RankColumn::Cost) => "it was cheaper",
        Some(RankColumn::Time) => "it was faster",
        Some(RankColumn::Order) | None => "it is the first of equal ones",
    };
    format!("{passing} pass; {column}")
}

/// The first word of the end, and its colour.
fn headline(outcome: PlanOutcome) -> (Paint, &'static str) {
    match outcome {
        PlanOutcome::Applied => (Paint::Good, "done"),
        PlanOutcome::Ranked => (Paint::Good, "ranked, for the loop that was stuck"),
        PlanOutcome::NotHere => (Paint::Bad, "applied, but gates fail here"),
        PlanOutcome::Taken => (Paint::Warn, "taken, not done"),
        PlanOutcome::NonePassed | PlanOutcome::Incomplete => (Paint::Bad, "not done"),
        PlanOutcome::Conflict => (Paint::Bad, "conflict, nothing was changed"),
        PlanOutcome::AwaitsPerson => (Paint::Warn, "waits for you"),
        PlanOutcome::Stopped => (Paint::Warn, "stopped"),
        PlanOutcome::Cancelled => (Paint::Warn, "cancelled"),
        PlanOutcome::Unable => (Paint::Bad, "could not work"),
    }
}

/// The best state of branches of which none passes: how to look at it, and how to take it all the same.
fn best_state(state: &PlanState, id: &str) -> Vec<(&'static str, String)> {
    let best = state.ranking.as_ref().and_then(|ranking| {
        ranking.rows.iter().find_map(|row| {
            let node = state.nodes.iter().find(|node| node.id().as_str() == row.name)?;
            node.result_tree().and(node.run.as_ref()).map(|run| (row, run))
        })
    });
    let Some((row, run)) = best else { return Vec::new() };
    let how = if row.passes { "it passes" } else { "though it does not pass" };
    vec![
        ("best state", format!("branch {}: {}", row.name, row.rank.words())),
        ("look", format!("loop diff {run}")),
        ("take it", format!("loop pick {id} {} --anyway   ({how}; one rollback undoes it)", row.name)),
    ]
}

/// What the person can type next.
fn next(state: &PlanState, id: &str, outcome: PlanOutcome) -> Vec<(&'static str, String)> {
    let best = state.ranking.as_ref().and_then(|ranking| ranking.rows.first());
    let node = |row: &Candidate| state.nodes.iter().find(|node| node.id().as_str() == row.name);
    let run = best.and_then(|row| node(row)?.run.clone());
    let mut lines = Vec::new();
    match outcome {
        PlanOutcome::Applied | PlanOutcome::NotHere | PlanOutcome::Taken => {
            if let Some(run) = state.chosen.as_ref().and_then(|one| state.node(&one.node)?.run.clone()) {
                lines.push(("look", format!("loop diff {run}   (what the branch changed)")));
                if outcome != PlanOutcome::Taken {
                    lines.push(("proof", format!("loop history {run}")));
                }
            }
            lines.push(("undo", format!("loop rollback {id} initial   (as it was when the plan started)")));
            let before = state.applying.report.as_ref().map_or("before-apply", |report| report.undo.as_str());
            lines.push(("", format!("loop rollback {id} {before}   (just before: what you changed meanwhile stays)")));
        }
        PlanOutcome::Ranked => {
            if let (Some(best), Some(run)) = (best, run) {
                lines.push(("best state", format!("branch {}: {}", best.name, best.rank.words())));
                lines.push(("look", format!("loop diff {run}")));
            }
        }
        PlanOutcome::NonePassed => {
            lines.extend(best_state(state, id));
        }
        PlanOutcome::AwaitsPerson => {
            if let (Some(best), Some(run)) = (best, run) {
                lines.push(("look", format!("loop diff {run}   (and so for each loop of the table)")));
                lines.push(("next", format!("loop pick {id} {}   (or another branch)", best.name)));
            }
            for node in state.nodes.iter().filter(|node| node.stage == NodeStage::Asking) {
                lines.push(("next", answer_command(state, node.id())));
            }
        }
        PlanOutcome::Conflict => {
            lines.push(("next", format!("move your change away or finish it, then: loop resume {id}")));
        }
        PlanOutcome::Stopped | PlanOutcome::Incomplete | PlanOutcome::Unable => {
            let budget = state.over.as_ref().is_some_and(|over| over.reason.code == PlanReasonCode::Budget);
            let more = if budget { format!(" {}", more_budget(state)) } else { String::new() };
            lines.push(("next", format!("loop resume {id}{more}")));
            lines.extend(best_state(state, id));
        }
        PlanOutcome::Cancelled => lines.push(("look", format!("loop status {id}"))),
    }
    lines
}
