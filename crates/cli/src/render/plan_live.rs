//! What a person sees while a plan works: a line for each branch on a terminal, plain lines elsewhere.
use std::collections::BTreeMap;
use std::time::Duration;

use loop_core::plan::{
    GatesPlace, NodeEnd, NodeId, NodeStage, Plan, PlanAnswer, PlanDecision, PlanEntry, PlanEvent, PlanFact, PlanNotice,
    PlanOrder, PlanQuestion, PlanRequest, PlanState,
};
use loop_core::run::{Run, RunState};
use loop_core::text;
use loop_core::time::{self, At};
use loop_core::view::{LiveDigest, Now};
use loop_host::driver::Reporter;
use loop_host::journal::Tail;
use loop_host::paths::Home;
use serde_json::{Value, json};

use super::outbox::{Outbox, To};
use super::plan::{budget_words, failed_hook, hook_value, is_workflow, limits_words, name_of, pick_command};
use super::plan_items::{evaluated_lines, is_checked_list, is_list, item_name};
use super::printer::{Loudness, Paint, Printer};
use super::table::cut;
use super::{now, summary};

/// How often the lines are drawn.
const TICK: Duration = Duration::from_millis(500);

/// What a node is called: a plan has branches, or it is a workflow of loops.
fn noun(state: &PlanState) -> &'static str {
    match is_workflow(state) {
        _ if is_list(state) => "item",
        true => "loop",
        false => "branch",
    }
}

/// Shows a plan as it goes.
pub(crate) struct PlanLive {
    printer: Printer,
    home: Home,
    json: bool,
    out: Outbox,
    err: Outbox,
    /// How many lines are drawn at the end of the screen.
    drawn: usize,
    /// The runs of the branches, followed by their journals.
    runs: BTreeMap<String, (Tail<Run>, RunState)>,
    /// How many hooks that ended are shown.
    hooks_shown: usize,
    now_wall_ms: u64,
    /// Another process drives the plan.
    is_watched: bool,
}

impl PlanLive {
    pub(crate) fn new(printer: Printer, home: Home, json: bool) -> Self {
        let (out, err) = (Outbox::new(To::Stdout), Outbox::new(To::Stderr));
        let runs = BTreeMap::new();
        Self { printer, home, json, out, err, drawn: 0, runs, hooks_shown: 0, now_wall_ms: 0, is_watched: false }
    }

    /// Everything on stdout: for a plan that another process drives. `draws`: a line for each node, drawn over again.
    pub(crate) fn onto_stdout(printer: Printer, home: Home, json: bool, draws: bool) -> Self {
        let printer = if json { printer.for_events() } else { printer.for_watching(draws) };
        Self { err: Outbox::new(To::Stdout), is_watched: true, ..Self::new(printer, home, json) }
    }

    /// Shows the first lines of a watched plan.
    pub(crate) fn first(&mut self, text: &str) {
        self.clear();
        self.show(text);
    }

    /// Shows what each node does now, in lines that stay.
    pub(crate) fn now(&mut self, state: &PlanState, at: At) {
        let lines = self.lines(state, at);
        self.clear();
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        self.show(&text);
    }

    /// Waits for the reader: whatever waits is written.
    pub(crate) fn keep_up(&mut self) {
        self.out.finish();
        self.err.finish();
    }

    fn show(&mut self, text: &str) {
        if self.printer.loudness != Loudness::Quiet {
            self.err.send(text, |count| format!("[{count} pieces skipped: they were not read in time]\n"));
        }
    }

    /// Takes the lines of the branches away.
    fn clear(&mut self) {
        let lines = std::mem::take(&mut self.drawn);
        if lines > 0 {
            let up = "\u{1b}[1A\u{1b}[2K".repeat(lines);
            self.show(&format!("\r{up}"));
        }
    }

    /// The work is over: whatever waits is written.
    pub(crate) fn finish(&mut self) {
        self.clear();
        self.out.finish();
        self.err.finish();
    }

    fn line(&mut self, paint: Option<Paint>, line: &str) {
        if self.json {
            return;
        }
        self.clear();
        let line = text::clean(line.as_bytes());
        let line = paint.map_or_else(|| line.clone(), |paint| self.printer.paint_progress(paint, &line));
        let at = if self.printer.live { String::new() } else { super::live::clock_time(self.now_wall_ms) };
        self.show(&format!("{at}{line}\n"));
    }

    fn event(&mut self, name: &str, at: At, body: Value) {
        if !self.json {
            return;
        }
        let mut event = json!({"version": 1, "event": name, "at": time::rfc3339(at.wall_ms)});
        if let (Value::Object(event), Value::Object(body)) = (&mut event, body) {
            event.extend(body);
        }
        self.out.send(&format!("{event}\n"), |count| {
            format!("{}\n", json!({"version": 1, "event": "skipped", "count": count}))
        });
    }

    fn named(state: &PlanState, node: &NodeId) -> String {
        state.node(node).map_or_else(|| node.to_string(), name_of)
    }

    /// Hooks that ended with this entry: each is an event, and one that failed is a line.
    fn hooks(&mut self, at: At, state: &PlanState) {
        // A plan that is opened again begins with none.
        let shown = self.hooks_shown.min(state.hooks.len());
        self.hooks_shown = state.hooks.len();
        for hook in state.hooks.iter().skip(shown) {
            if let Some(words) = failed_hook(hook, state) {
                self.line(Some(Paint::Bad), &format!("hook {words}"));
            }
            self.event("hook_ended", at, hook_value(hook, state));
        }
    }

    fn happened(&mut self, at: At, event: &PlanEvent, state: &PlanState) {
        match event {
            PlanEvent::Requested { request, by } => {
                let what = match request {
                    PlanRequest::Stop => "stopping after the iterations of all loops (Ctrl-C again: now)".to_owned(),
                    PlanRequest::Abort => "stopping now".to_owned(),
                    PlanRequest::Pause => "pausing after the iterations of all loops".to_owned(),
                    PlanRequest::Resume => "resuming".to_owned(),
                    PlanRequest::Cancel => "cancelling".to_owned(),
                    PlanRequest::Pick { node, .. } => format!("branch {node} is to be applied"),
                    PlanRequest::Budget { most_micros } => budget_words(*most_micros),
                    PlanRequest::Limits { changes, budget } => limits_words(changes, *budget),
                    PlanRequest::Rollback { to, .. } => format!("rolling back to {to}"),
                    PlanRequest::Answer { node, .. } => format!("the question of {node} is answered"),
                };
                self.line(Some(Paint::Warn), &format!("{what} ({})", text::one_line(by, 40)));
                self.event("request", at, json!({"request": request, "by": by}));
            }
            PlanEvent::Noticed(PlanNotice::Message { text }) => {
                self.line(Some(Paint::Warn), &text::one_line(text, 400));
                self.event("message", at, json!({"text": text}));
            }
            PlanEvent::Noticed(PlanNotice::RunStarted { order, run }) => {
                let node = state.orders.get(*order).and_then(|open| open.order.node().cloned());
                let name = node.as_ref().map_or_else(String::new, |node| Self::named(state, node));
                let starts = if is_list(state) {
                    format!("item {name}: loop {run} starts")
                } else if is_workflow(state) {
                    format!("loop {name}: starts with the id {run}")
                } else {
                    format!("branch {name}: loop {run} starts")
                };
                self.line(None, &starts);
                self.event("run_started", at, json!({"node": node, "run": run}));
            }
            PlanEvent::Answered { answer, .. } => self.answered(at, answer, state),
            PlanEvent::Created(_)
            | PlanEvent::Opened
            | PlanEvent::Reopened { .. }
            | PlanEvent::OpenedForRequest { .. }
            | PlanEvent::Noticed(PlanNotice::Started { .. })
            | PlanEvent::DeadlinePassed => {}
            PlanEvent::Noticed(PlanNotice::Progress { order, iterations, cost_micros, .. }) => {
                let open = state.orders.iter().find(|(id, _)| id == order);
                let Some(node) = open.and_then(|(_, open)| open.order.node()) else { return };
                // On a terminal the line of the node says it.
                if !self.printer.live {
                    let named = Self::named(state, node);
                    let words = format!("{} {named}: iteration {iterations} ended", noun(state));
                    self.line(Some(Paint::Dim), &words);
                }
                let body = json!({"node": node, "iterations": iterations, "cost_micros": cost_micros});
                self.event("progress", at, body);
            }
        }
    }

    fn answered(&mut self, at: At, answer: &PlanAnswer, state: &PlanState) {
        match answer {
            PlanAnswer::Copied(copy) => {
                // Each copy is made the same way: said once.
                let made = state.nodes.iter().filter(|node| node.copy.is_some()).count();
                for remark in copy.remarks.iter().filter(|_| made <= 1) {
                    self.line(Some(Paint::Dim), remark);
                }
            }
            PlanAnswer::RunEnded(result) => {
                let node = state.nodes.iter().find(|node| node.run.as_ref() == Some(&result.run));
                let name = node.map_or_else(String::new, name_of);
                if is_checked_list(state) {
                    let words = format!("item {name}: loop {} ended; its checks come next", result.iterations);
                    self.line(Some(Paint::Dim), &words);
                    return self.event("run_ended", at, json!({"node": node.map(|node| node.id()), "result": result}));
                }
                let paint = if result.passes() { Paint::Good } else { Paint::Dim };
                let word = if result.passes() { "passed" } else { "did not pass" };
                let why = text::one_line(&result.reason.text, 160);
                self.line(Some(paint), &format!("{} {name}: {word}: {why}", noun(state)));
                self.event("run_ended", at, json!({"node": node.map(|node| node.id()), "result": result}));
            }
            PlanAnswer::RunCutOff(cut_off) => {
                let node = state.nodes.iter().find(|node| node.cut_off.is_some());
                let name = node.map_or_else(String::new, name_of);
                let why = text::one_line(&cut_off.why, 160);
                self.line(Some(Paint::Warn), &format!("{} {name}: {why}", noun(state)));
                self.event("run_cut_off", at, json!({"node": node.map(|node| node.id()), "cut_off": cut_off}));
            }
            PlanAnswer::Applied(applied) => {
                self.line(
                    Some(Paint::Good),
                    &format!("applied to the workspace: {}", super::plan::files(applied.files)),
                );
                self.event("applied", at, json!({"files": applied.files, "undo": applied.undo, "tree": applied.tree}));
            }
            PlanAnswer::Conflicts(conflict) => {
                self.line(Some(Paint::Bad), &format!("conflict: {}", conflict.paths.join(", ")));
                self.event("conflict", at, json!(conflict));
            }
            PlanAnswer::Gates(gates) => self.event("gates", at, json!(gates)),
            PlanAnswer::Failed { why } => {
                // What it means for a branch is said with its end.
                self.event("failed", at, json!({"why": why}));
            }
            PlanAnswer::ListRead(read) => {
                for edit in &read.edits {
                    self.line(Some(Paint::Warn), &format!("the list was changed: {}", text::one_line(edit, 300)));
                }
                let body = json!({"open": read.open, "waiting": read.waiting, "all": read.all, "edits": read.edits});
                self.event("list_read", at, body);
            }
            PlanAnswer::RolledBack(_)
            | PlanAnswer::Checked(_)
            | PlanAnswer::Ticked
            | PlanAnswer::NotTicked { .. }
            | PlanAnswer::Recorded { .. }
            | PlanAnswer::Measured(_)
            | PlanAnswer::Merged { .. }
            | PlanAnswer::HookEnded { .. }
            | PlanAnswer::Said { .. }
            | PlanAnswer::Picked { .. }
            | PlanAnswer::Done
            | PlanAnswer::Cancelled => {}
        }
    }

    fn decided(&mut self, at: At, decision: &PlanDecision, state: &PlanState) {
        match decision {
            PlanDecision::Ranked(ranking) => self.event("ranked", at, json!(ranking)),
            PlanDecision::Chosen { node, by } => {
                self.line(None, &format!("branch {} is chosen", Self::named(state, node)));
                self.event("chosen", at, json!({"node": node, "by": by}));
            }
            PlanDecision::ItemEvaluated { node, evaluation, tries, next } => {
                for (paint, line) in evaluated_lines(&Self::named(state, node), evaluation, next) {
                    self.line(paint, &line);
                }
                let body = json!({"node": node, "evaluation": evaluation, "tries": tries, "next": next});
                self.event("item_evaluated", at, body);
            }
            PlanDecision::NodeEnded { node, end: NodeEnd::Ticked } => {
                self.line(Some(Paint::Good), &format!("item {}: ticked", Self::named(state, node)));
                self.event("node_ended", at, json!({"node": node, "end": NodeEnd::Ticked}));
            }
            PlanDecision::NodeEnded { node, end } => {
                // How a loop ended was said when it did.
                if end.is_done() || *end == NodeEnd::NotPassed {
                    return self.event("node_ended", at, json!({"node": node, "end": end}));
                }
                let words = state.node(node).map(|node| state.node_words(node)).unwrap_or_default();
                let words = format!("{} {}: {words}", noun(state), Self::named(state, node));
                self.line(Some(Paint::Dim), &text::one_line(&words, 400));
                self.event("node_ended", at, json!({"node": node, "end": end}));
            }
            PlanDecision::Continues { node } => {
                self.line(None, &format!("{} {}: its loop continues", noun(state), Self::named(state, node)));
                self.event("run_continues", at, json!({"node": node}));
            }
            PlanDecision::ItemTaken { node } => {
                let title = node.item.as_ref().map(|item| text::one_line(&item.title, 200)).unwrap_or_default();
                self.line(None, &format!("item {}: {title}", item_name(node)));
                self.event("item_taken", at, json!({"node": node.id, "item": node.item}));
            }
            PlanDecision::LoopRan { .. }
            | PlanDecision::ChecksAgain { .. }
            | PlanDecision::ItemJoined { .. }
            | PlanDecision::OrderDropped { .. }
            | PlanDecision::Starts { .. }
            | PlanDecision::Ran { .. }
            | PlanDecision::Retries { .. }
            | PlanDecision::CarriedOver(_)
            | PlanDecision::Ends { .. } => {}
        }
    }

    /// What each branch does now, a line each.
    fn lines(&mut self, state: &PlanState, at: At) -> Vec<String> {
        let mut lines = Vec::new();
        // A list may have had many items; those that are over stand above.
        for node in state.nodes.iter().filter(|node| node.end().is_none() || !is_list(state)) {
            let does = match (&node.stage, &node.run) {
                (NodeStage::Running, Some(run)) => {
                    let folder = self.home.runs().join(run.as_str());
                    let (tail, followed) =
                        self.runs.entry(run.to_string()).or_insert_with(|| (Tail::new(&folder), RunState::default()));
                    let entries = tail.next_entries().unwrap_or_default();
                    entries.iter().for_each(|entry| followed.apply(&entry.fact));
                    let view = Now::of(followed, at, &LiveDigest::default());
                    view.and_then(|view| now::live_line(&view, at, run.as_str(), summary::known_cost(followed)))
                }
                _ => None,
            };
            let does = does.unwrap_or_else(|| state.node_words(node));
            lines.push(format!("{:>7}  {}", node.id().to_string(), text::one_line(&does, 400)));
        }
        if let Some((_, open)) = state.plan_order() {
            let does = match &open.order {
                PlanOrder::Record { .. } => "recording the workspace",
                PlanOrder::Gates { place: GatesPlace::Workspace, .. } => "running the gates in the workspace",
                PlanOrder::Gates { place: GatesPlace::Tree(_), .. } => "running the gates in a copy of the merged tree",
                PlanOrder::Apply { .. } if is_workflow(state) => "applying the merged result to the workspace",
                PlanOrder::Apply { .. } => "applying the chosen branch to the workspace",
                PlanOrder::RollBack { .. } => "rolling the workspace back",
                PlanOrder::Hook { .. } => "running a hook",
                PlanOrder::Notify { .. } => "running the notification command",
                PlanOrder::ReadList { .. } => "reading the list",
                PlanOrder::Ask(PlanQuestion::Pick) => "which branch is applied? its number, then Enter",
                PlanOrder::Copy { .. }
                | PlanOrder::Run { .. }
                | PlanOrder::Tell { .. }
                | PlanOrder::Measure { .. }
                | PlanOrder::Merge { .. }
                | PlanOrder::Check { .. }
                | PlanOrder::RecordLoop { .. }
                | PlanOrder::RecordPass { .. }
                | PlanOrder::Ask(PlanQuestion::Node(_))
                | PlanOrder::Drop { .. } => return lines,
            };
            lines.push(format!("         {does}"));
        }
        lines
    }
}

impl Reporter<Plan> for PlanLive {
    fn on_entry(&mut self, entry: &PlanEntry, state: &PlanState) {
        self.now_wall_ms = entry.at.wall_ms;
        match &entry.fact {
            PlanFact::Happened(input) => self.happened(entry.at, &input.event, state),
            PlanFact::Decided(decision) => self.decided(entry.at, decision, state),
            PlanFact::Ordered { order: PlanOrder::Ask(PlanQuestion::Pick), .. } => {
                if !self.json {
                    self.clear();
                    let diffs = super::plan_diffs::of_passing(&self.home, state, self.printer);
                    self.show(&format!("{diffs}\n{}", super::plan::table(state)));
                }
                let pick = pick_command(state);
                let asked = if self.is_watched {
                    format!("which branch is applied? {pick}")
                } else {
                    format!("which branch is applied? type its number and Enter, or elsewhere: {pick}")
                };
                self.line(Some(Paint::Warn), &asked);
            }
            PlanFact::Ordered { order: PlanOrder::Ask(PlanQuestion::Node(node)), .. } => {
                let asks = state.node(node).map(|node| state.node_words(node)).unwrap_or_default();
                self.line(Some(Paint::Warn), &format!("{node} {asks}"));
                let elsewhere = super::plan::answer_command(state, node);
                self.line(Some(Paint::Warn), &format!("type the answer and Enter, or elsewhere: {elsewhere}"));
                self.event("asks", entry.at, json!({"node": node, "words": asks}));
            }
            PlanFact::Concluded { outcome, reason } => {
                let standing = loop_core::plan::plan_standing(*outcome);
                self.event(
                    "ended",
                    entry.at,
                    json!({
                        "outcome": outcome, "reason": reason.code, "why": reason.text,
                        "status": standing.status, "exit_code": standing.exit_code,
                        "cost_micros": state.money.spent_micros,
                    }),
                );
            }
            PlanFact::Part(_) | PlanFact::Ordered { .. } | PlanFact::OrderCancelled { .. } => {}
        }
        self.hooks(entry.at, state);
    }

    fn on_output(&mut self, _: &[u8]) {}

    fn on_live(&mut self, _: &LiveDigest) {}

    fn tick(&self) -> Option<Duration> {
        let waits = !self.out.is_empty() || !self.err.is_empty();
        (waits || (self.printer.live && !self.json)).then_some(TICK)
    }

    fn draw(&mut self, state: &PlanState, now: At) {
        self.out.flush();
        self.err.flush();
        if self.json || !self.printer.live || !self.err.is_empty() {
            return;
        }
        // A person types below the question: nothing is drawn over that.
        let asks = state.plan_order().is_some_and(|(_, open)| open.order == PlanOrder::Ask(PlanQuestion::Pick));
        if asks && !self.is_watched {
            return;
        }
        let width = if self.is_watched {
            loop_host::terminal::columns(std::io::stdout())
        } else {
            loop_host::terminal::columns(std::io::stderr())
        };
        let width = width.unwrap_or(80).saturating_sub(1);
        let lines = self.lines(state, now);
        self.clear();
        let text: String = lines.iter().map(|line| format!("{}\n", cut(line, width))).collect();
        self.show(&text);
        self.drawn = lines.len();
    }
}
