//! Stories of plans: a story is a text, and so is what the plan made of it.
//!
//! A line of a story is a request (`stop`, `pick 2`), an opening, or an answer: a word, the node, and words with `=`.
use loop_core::changes::Changes;
use loop_core::ended::Ended;
use loop_core::ids::OrderId;
use loop_core::machine::{self, Machine};
use loop_core::plan::*;
use loop_core::run::Outcome;
use loop_core::time::At;

use crate::plan_world::{conflict, cut_off, digest, gates};

pub(crate) struct PlanStory {
    pub(crate) state: PlanState,
    pub(crate) told: String,
    now: At,
}

fn id(name: &str) -> NodeId {
    NodeId::parse(name).unwrap()
}

impl PlanStory {
    pub(crate) fn new(spec: PlanSpec) -> Self {
        spec.check().unwrap();
        let now = At { wall_ms: 1_700_000_000_000, boot_ms: 1, boot_id: 1 };
        let mut story = Self { state: PlanState::default(), told: String::new(), now };
        story.take(PlanEvent::Created(Box::new(spec)));
        story
    }

    pub(crate) fn take(&mut self, event: PlanEvent) {
        self.now.boot_ms += 1;
        let facts = machine::decide::<Plan>(&self.state, self.now, event);
        for fact in &facts {
            self.tell(fact);
            Plan::apply(&mut self.state, fact);
        }
        // Copies are removed at once.
        let drops = self.state.orders.iter().filter(|(_, open)| matches!(open.order, PlanOrder::Drop { .. }));
        for order in drops.map(|(id, _)| id).collect::<Vec<_>>() {
            self.take(PlanEvent::Answered { order, answer: PlanAnswer::Done });
        }
    }

    fn tell(&mut self, fact: &PlanFact) {
        let line = match fact {
            PlanFact::Ordered { order, .. } => order_words(order),
            PlanFact::OrderCancelled { id, cause } => {
                let order = self.state.orders.get(*id).map(|open| order_words(&open.order)).unwrap_or_default();
                format!("{} {order}: {cause:?}", if cause.at_once() { "kill" } else { "cancel" })
            }
            PlanFact::Decided(PlanDecision::NodeEnded { node, end }) => {
                let mut after = self.state.clone();
                after.apply(fact);
                let node = after.node(node).unwrap();
                format!("{}: {}", node.id(), after.end_words(node, end))
            }
            PlanFact::Decided(PlanDecision::Ranked(ranking)) => {
                let rows: Vec<&str> = ranking.rows.iter().map(|row| row.name.as_str()).collect();
                let by: Vec<&str> = ranking.decided.iter().map(|column| column.name()).collect();
                format!("ranking: {} (by {})", rows.join(" > "), by.join(", "))
            }
            PlanFact::Decided(PlanDecision::Starts { node, share_micros: Some(share), .. }) => {
                format!("{node} may cost {share}")
            }
            PlanFact::Decided(PlanDecision::Chosen { node, by }) => format!("chosen: {node} by {by:?}"),
            PlanFact::Decided(PlanDecision::Continues { node }) => format!("{node} continues"),
            PlanFact::Decided(PlanDecision::Retries { node, purpose }) => format!("{node} waits again: {purpose:?}"),
            PlanFact::Decided(PlanDecision::CarriedOver(over)) => {
                let one = |one: &Carried| format!("{} {:?}: {}", one.node, one.then, one.why.words());
                over.nodes.iter().map(one).collect::<Vec<_>>().join("\n")
            }
            PlanFact::Concluded { outcome, reason } => {
                format!("END {} ({}): {}", outcome.name(), plan_standing(*outcome).exit_code, reason.text)
            }
            PlanFact::Happened(_) | PlanFact::Part(_) | PlanFact::Decided(_) => return,
        };
        self.told.push_str(&line);
        self.told.push('\n');
    }

    /// The open order of this kind, for this node.
    fn open(&self, kind: &str, node: Option<&str>) -> OrderId {
        let is = |order: &PlanOrder| {
            order_words(order).starts_with(kind) && (order.node().map(NodeId::as_str) == node || order.node().is_none())
        };
        let found = self.state.orders.iter().find(|(_, open)| is(&open.order)).map(|(id, _)| id);
        found.unwrap_or_else(|| panic!("no open {kind} of {node:?}\n{}", self.told))
    }

    pub(crate) fn play(mut self, script: &str) -> Self {
        for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
            self.line(line);
        }
        self
    }

    fn line(&mut self, line: &str) {
        let words = StoryWords::of(line, &self.state);
        if let Some(event) = words.event() {
            return self.take(event);
        }
        if words.verb == "progress" {
            let rank = |passed: u64| serde_json::from_value(serde_json::json!({ "passed": passed })).unwrap();
            let (start, best) = (rank(words.value("start").unwrap()), rank(words.value("best").unwrap()));
            let order = self.open("run", words.node);
            let notice = PlanNotice::Progress { order, iterations: 1, start, best, cost_micros: 0 };
            return self.take(PlanEvent::Noticed(notice));
        }
        let (kind, answer) = words.answer();
        let order = self.open(kind, words.node);
        self.take(PlanEvent::Answered { order, answer });
    }
}

/// One line of a story: a word, the node that it is about, and numbers.
struct StoryWords<'a> {
    verb: &'a str,
    node: Option<&'a str>,
    values: Vec<(&'a str, u64)>,
    attempt: u32,
}

impl<'a> StoryWords<'a> {
    fn of(line: &'a str, state: &PlanState) -> Self {
        let mut words = line.split(' ');
        let verb = words.next().unwrap();
        let node = words.next();
        let values = words.filter_map(|word| word.split_once('=')).map(|(key, value)| (key, value.parse().unwrap()));
        let values = values.collect();
        let attempt = node
            .and_then(|node| NodeId::parse(node).ok())
            .and_then(|node| state.node(&node).map(|node| node.attempt))
            .unwrap_or(0);
        Self { verb, node, values, attempt }
    }

    fn value(&self, key: &str) -> Option<u64> {
        self.values.iter().find(|(name, _)| *name == key).map(|(_, value)| *value)
    }

    fn named(&self) -> NodeId {
        id(self.node.unwrap())
    }

    /// What it asks for or says, where it is not an answer to an order.
    fn event(&self) -> Option<PlanEvent> {
        let reopened = |by: &str, unattended: bool, request: Option<PlanRequest>| PlanEvent::Reopened {
            by: by.to_owned(),
            unattended,
            spec: None,
            request,
        };
        let answer =
            |text: &str, proceed: bool| PlanRequest::Answer { node: self.named(), text: text.to_owned(), proceed };
        let request = match self.verb {
            "opened" => return Some(PlanEvent::Opened),
            "opened-for-request" => return Some(PlanEvent::OpenedForRequest { by: "loop rollback".to_owned() }),
            "reopened" => return Some(reopened("loop resume", false, None)),
            "pick-later" => {
                return Some(reopened(
                    "loop pick",
                    true,
                    Some(PlanRequest::Pick { node: self.named(), anyway: false }),
                ));
            }
            "answer-later" => return Some(reopened("loop answer", true, Some(answer("later", true)))),
            "reopened-alone" => return Some(reopened("loop resume", true, None)),
            "stop" => PlanRequest::Stop,
            "abort" => PlanRequest::Abort,
            "pause" => PlanRequest::Pause,
            "resume" => PlanRequest::Resume,
            "pick" => PlanRequest::Pick { node: self.named(), anyway: false },
            "rollback" => PlanRequest::Rollback { to: self.named().to_string(), undo: "undo-1".to_owned() },
            "says" => answer("yes", true),
            "refuses" => answer("no", false),
            _ => return None,
        };
        Some(PlanEvent::Requested { request, by: "a person".to_owned() })
    }

    /// The kind of order that it answers, and the answer.
    fn answer(&self) -> (&'static str, PlanAnswer) {
        let attempt = self.attempt;
        let run = |outcome| {
            let tree = Some(format!("{}.{attempt}", self.named()));
            PlanAnswer::RunEnded(Box::new(RunDigest { tree, ..digest(outcome, self.value("cost").unwrap_or(0)) }))
        };
        match self.verb {
            "recorded" => ("record", PlanAnswer::Recorded { tree: "t0".to_owned() }),
            "copied" => {
                let (path, method) = ("/c".to_owned(), "files".to_owned());
                ("copy", PlanAnswer::Copied(CopyReport { path, method, remarks: Vec::new() }))
            }
            "passes" => ("run", run(Outcome::Verified)),
            "fails" => ("run", run(Outcome::Exhausted)),
            "stopped" => ("run", run(Outcome::Stopped)),
            "cannot" => ("run", PlanAnswer::Failed { why: "no space left".to_owned() }),
            "killed" => ("run", PlanAnswer::RunCutOff(cut_off(true, self.value("cost")))),
            "refused" => ("run", PlanAnswer::RunCutOff(RunCutOff { run: None, ..cut_off(false, Some(0)) })),
            "failed-tell" => ("tell", PlanAnswer::Failed { why: "nobody answers".to_owned() }),
            "told" => ("tell", PlanAnswer::Done),
            "rolled-back" => {
                let (to, undo) = ("initial".to_owned(), "undo-1".to_owned());
                let report = PlanRolledBack { to, undo, written: 2, removed: 1, ..PlanRolledBack::default() };
                ("roll back", PlanAnswer::RolledBack(report))
            }
            "measured" => {
                let changed = Changes { files: 1, insertions: self.value("lines").unwrap_or(1), deletions: 0 };
                let metric_micros = self.value("metric").map(|number| number as i64 * 1_000_000);
                (
                    "measure",
                    PlanAnswer::Measured(MeasureReport {
                        changed,
                        metric_micros,
                        coverage: None,
                        metric_trouble: None,
                    }),
                )
            }
            "merged" => ("merge", PlanAnswer::Merged { tree: format!("with-{}", self.named()) }),
            "merged-as-is" => ("merge", PlanAnswer::Merged { tree: format!("{}.{attempt}", self.named()) }),
            "conflict" => ("merge", PlanAnswer::Conflicts(conflict(Some("marked".to_owned())))),
            "gates-pass" => ("gates", PlanAnswer::Gates(gates(true, &[]))),
            "gates-fail" => ("gates", PlanAnswer::Gates(gates(false, &[self.named()]))),
            "applied" => {
                let (undo, tree) = ("before-apply".to_owned(), "t9".to_owned());
                ("apply", PlanAnswer::Applied(ApplyReport { files: 3, undo, tree }))
            }
            "apply-conflict" => ("apply", PlanAnswer::Conflicts(conflict(None))),
            "hook" => ("hook", PlanAnswer::HookEnded { ended: Ended::Exit(0), says: String::new() }),
            "closed" => ("ask", PlanAnswer::Done),
            other => panic!("{other} is not a word of a story"),
        }
    }
}

fn order_words(order: &PlanOrder) -> String {
    match order {
        PlanOrder::Record { name } => format!("record {name}"),
        PlanOrder::Copy { node, attempt, tree } => format!("copy {node}.{attempt} of {tree}"),
        PlanOrder::Run { node, attempt, purpose, resume, limit_micros, gates, .. } => {
            let how = if *resume { "run again" } else { "run" };
            let limit = limit_micros.map(|limit| format!(" with {limit}")).unwrap_or_default();
            let purpose = if *purpose == RunPurpose::Work { String::new() } else { format!(" to {purpose:?}") };
            let gates: Vec<&str> = gates.iter().map(NodeId::as_str).collect();
            let gates = if gates.is_empty() { String::new() } else { format!(" by the gates of {}", gates.join(", ")) };
            format!("{how} {node}.{attempt}{purpose}{gates}{limit}")
        }
        PlanOrder::Tell { node, pause } => format!("tell {node} pause={pause}"),
        PlanOrder::Measure { node, .. } => format!("measure {node}"),
        PlanOrder::Merge { node, base, ours, theirs, .. } => format!("merge {node}: {base} {ours} {theirs}"),
        PlanOrder::Gates { place, nodes, .. } => {
            let nodes: Vec<&str> = nodes.iter().map(NodeId::as_str).collect();
            let place = if let GatesPlace::Tree(tree) = place { tree.as_str() } else { "the workspace" };
            format!("gates of {} on {place}", nodes.join(", "))
        }
        PlanOrder::Apply { node: None, tree, .. } => format!("apply {tree}"),
        PlanOrder::Apply { node: Some(node), base, tree, .. } => format!("apply {node}: {base} {tree}"),
        PlanOrder::ReadList { begun } => format!("read the list, {begun} begun"),
        PlanOrder::Check { node, attempt, number } => format!("check {node}.{attempt} {number}"),
        PlanOrder::RecordLoop { node, number, .. } => format!("log {node} {number}"),
        PlanOrder::RecordPass { node, .. } => format!("tick {node}"),
        PlanOrder::Hook { when, index, failed } => {
            let failed = failed.as_ref().map(|node| format!(" after {node}")).unwrap_or_default();
            format!("hook {when:?} {index}{failed}")
        }
        PlanOrder::Ask(PlanQuestion::Pick) => "ask which branch".to_owned(),
        PlanOrder::Ask(PlanQuestion::Node(node)) => format!("ask {node}"),
        PlanOrder::Notify { result, text } => format!("notify: {result}: {text}"),
        PlanOrder::RollBack { to, undo } => format!("roll back to {to}, undo is {undo}"),
        PlanOrder::Drop { node, attempt } => format!("drop {node}.{attempt}"),
    }
}
