//! Storms of plans: seeded plans through crashes, power cuts, hangs and impatient people, judged by a model of the
//! world. A failing seed is printed and can be run again: `PLAN_SEED=42`. `PLAN_STORMS=50000` plays more of them.
use loop_core::ids::{OrderId, RunId};
use loop_core::machine::{self, Act, FACT_BYTES_MAX, Machine};
use loop_core::plan::*;
use loop_core::policy::rank::Rank;
use loop_core::run::{DriverMode, FileRef, WorkspaceRef};
use loop_core::time::At;

use crate::plan_world::PlanWorld;
use crate::world::Seed;

type PlanStep = fn(&PlanState, At, PlanEvent) -> Vec<PlanFact>;

const STEPS_MAX: u32 = 1500;
const LINES_SHOWN: usize = 40;

pub(crate) fn node(id: &str) -> NodeSpec {
    NodeSpec {
        id: NodeId::parse(id).unwrap(),
        work: NodeWork::Loop(LoopWork {
            request: FileRef { name: format!("{id}.json"), sha256: "hash".to_owned(), bytes: 10 },
            goal: format!("do {id}"),
            promise: "make test".to_owned(),
            agent: "claude".to_owned(),
        }),
        depends_on: Vec::new(),
        touches: Vec::new(),
        on_conflict: OnConflict::Stop,
        key: "k1".to_owned(),
        gates_ms: 60_000,
        item: None,
    }
}

pub(crate) fn plan_spec(join: Join, nodes: Vec<NodeSpec>) -> PlanSpec {
    PlanSpec {
        id: RunId::parse("p1").unwrap(),
        program: "0.1.0".to_owned(),
        workspace: WorkspaceRef { path: "/somewhere".to_owned(), device: 1, inode: 2 },
        store: "s".to_owned(),
        backend: "git".to_owned(),
        name: "a plan".to_owned(),
        join,
        parallel: 2,
        budget_micros: None,
        call_micros: 0,
        keep_going: false,
        unattended: false,
        stop_file: None,
        notify: None,
        origin: None,
        recovers: None,
        parts: 0,
        nodes,
        on_complete: Vec::new(),
        on_failure: Vec::new(),
    }
}

struct PlanStorm {
    seed: Seed,
    world: PlanWorld,
    state: PlanState,
    journal: Vec<(At, PlanFact)>,
    durable: usize,
    now: At,
    step: PlanStep,
    /// Every order that was begun.
    asked: std::collections::BTreeMap<OrderId, PlanOrder>,
    /// Answers that were given: one comes twice now and then.
    old_answers: Vec<PlanEvent>,
    power_cuts: bool,
    keys: u32,
    /// A spec that was given with the last opening; it holds when the journal says so.
    pending: Option<PlanSpec>,
    /// The line of the journal with which the newest spec came to hold, and the one before it.
    changed: Option<(usize, PlanSpec)>,
}

impl PlanStorm {
    fn random_spec(&mut self) -> PlanSpec {
        let seed = &mut self.seed;
        let best = seed.one_in(2);
        let count = if best { 1 + seed.below(4) } else { 1 + seed.below(6) };
        let mut nodes = Vec::new();
        for number in 0..count {
            let mut one = node(&format!("n{number}"));
            if !best {
                one.depends_on = (0..number)
                    .filter(|_| seed.one_in(3))
                    .map(|on| NodeId::parse(&format!("n{on}")).unwrap())
                    .collect();
                one.touches = ["a", "b"].iter().filter(|_| seed.one_in(4)).map(|glob| (*glob).to_owned()).collect();
                one.on_conflict = [OnConflict::Stop, OnConflict::Rerun, OnConflict::Agent][seed.below(3) as usize];
                if seed.one_in(6) {
                    one.work = NodeWork::Ask { question: "shall we?".to_owned() };
                }
            }
            nodes.push(one);
        }
        if seed.one_in(3) {
            nodes.reverse();
        }
        let selection = Selection {
            metric: seed.one_in(3).then(|| Metric::parse("lower:./bench").unwrap()),
            manual: seed.one_in(4),
            first: seed.one_in(4),
            on_red: seed.one_in(4),
            prune: seed.one_in(3),
        };
        let join = if best { Join::Best(selection) } else { Join::Merge };
        PlanSpec {
            parallel: 1 + seed.below(3) as u32,
            budget_micros: seed.one_in(2).then(|| seed.below(2000)),
            call_micros: seed.below(800),
            keep_going: seed.one_in(2),
            unattended: seed.one_in(3),
            notify: seed.one_in(4).then(|| "notify-send".to_owned()),
            on_complete: vec!["true".to_owned(); seed.below(3) as usize],
            on_failure: vec!["false".to_owned(); seed.below(3) as usize],
            recovers: (best && seed.one_in(6)).then(|| RecoveredRun { run: RunId::from_random([9; 7]), rung: 1 }),
            ..plan_spec(join, nodes)
        }
    }

    /// The same plan with a changed key, a node more, or a node less.
    fn changed_spec(&mut self) -> PlanSpec {
        let mut spec = self.world.spec.clone().unwrap();
        self.keys += 1;
        let count = spec.nodes.len() as u64;
        let at = self.seed.below(count) as usize;
        match self.seed.below(3) {
            0 => spec.nodes[at].key = format!("c{}", self.keys),
            1 => spec.nodes.push(node(&format!("more{}", self.keys))),
            _ if count > 1 => {
                let gone = spec.nodes.remove(at).id;
                spec.nodes.iter_mut().for_each(|node| node.depends_on.retain(|on| *on != gone));
            }
            _ => {}
        }
        spec
    }

    fn run(&mut self) -> Result<(), String> {
        let spec = self.random_spec();
        spec.check().map_err(|refusal| refusal.why)?;
        self.world.spec = Some(spec.clone());
        // The folder of a plan is renamed into place when its first facts are safe.
        self.take(PlanEvent::Created(Box::new(spec)), false)?;
        self.durable = self.journal.len();
        self.take(PlanEvent::Opened, true)?;
        let mut reopenings = 0;
        for _ in 0..STEPS_MAX {
            if Plan::is_at_rest(&self.state) {
                self.rest()?;
                if self.seed.one_in(6) {
                    self.rolled_back_at_rest()?;
                }
                if reopenings == 3 || !self.state.resumable() || self.seed.one_in(3) {
                    return self.cancelled_at_rest();
                }
                reopenings += 1;
                self.reopen()?;
                continue;
            }
            // A plan that has ended may still notify.
            let notifies = self.state.over.is_some() && !self.world.open.is_empty();
            if self.state.driver == DriverMode::None && !notifies {
                self.reopen()?;
                continue;
            }
            match self.seed.below(30) {
                0 => self.crash(),
                1 => {
                    let event = self.request();
                    self.take(event, true)?;
                }
                2 => {
                    let event = self.notice();
                    self.take(event, true)?;
                }
                3 => {
                    self.now.boot_ms += 3_700_000;
                    self.take(PlanEvent::DeadlinePassed, true)?;
                }
                4 if !self.old_answers.is_empty() => {
                    let at = self.seed.below(self.old_answers.len() as u64) as usize;
                    let again = self.old_answers[at].clone();
                    self.take(again, true)?;
                }
                _ => self.answer_one()?,
            }
        }
        Err("it does not end".to_owned())
    }

    fn answer_one(&mut self) -> Result<(), String> {
        let open: Vec<OrderId> = self.world.open.keys().copied().collect();
        if open.is_empty() {
            if !self.state.is_paused() {
                return Err("nothing is open, and it is not at rest".to_owned());
            }
            let by = "loop resume".to_owned();
            return self.take(PlanEvent::Requested { request: PlanRequest::Resume, by }, true);
        }
        let order = open[self.seed.below(open.len() as u64) as usize];
        let answer = self.world.answer(order, &mut self.seed);
        let event = PlanEvent::Answered { order, answer };
        self.old_answers.push(event.clone());
        self.take(event, true)
    }

    fn request(&mut self) -> PlanEvent {
        let nodes = &self.world.spec.as_ref().unwrap().nodes;
        let node = nodes[self.seed.below(nodes.len() as u64) as usize].id.clone();
        let request = match self.seed.below(13) {
            0 => PlanRequest::Stop,
            1 => PlanRequest::Abort,
            2 if self.seed.one_in(3) => PlanRequest::Cancel,
            3..=5 => PlanRequest::Pause,
            6..=8 => PlanRequest::Resume,
            9 => self.pick(node),
            10 => self.more_budget(),
            12 => PlanRequest::Rollback { to: "initial".to_owned(), undo: "undo-1".to_owned() },
            _ => PlanRequest::Answer { node, text: "yes".to_owned(), proceed: !self.seed.one_in(4) },
        };
        PlanEvent::Requested { request, by: "a person".to_owned() }
    }

    fn pick(&mut self, node: NodeId) -> PlanRequest {
        let anyway = self.seed.one_in(3);
        self.world.anyway |= anyway;
        PlanRequest::Pick { node, anyway }
    }

    /// A larger budget; a plan without one stays so.
    fn more_budget(&mut self) -> PlanRequest {
        let more = 1 + self.seed.below(2000);
        let now = self.state.spec.as_ref().and_then(|spec| spec.budget_micros);
        let most_micros = now.map(|now| now + more);
        if let Some(spec) = &mut self.world.spec {
            spec.budget_micros = most_micros.max(spec.budget_micros);
        }
        PlanRequest::Budget { most_micros }
    }

    fn notice(&mut self) -> PlanEvent {
        let order = OrderId(self.seed.below(12) as u32);
        let rank = |passed: u64| -> Rank { serde_json::from_value(serde_json::json!({ "passed": passed })).unwrap() };
        PlanEvent::Noticed(match self.seed.below(3) {
            0 => PlanNotice::RunStarted { order, run: RunId::parse("r1").unwrap() },
            1 => PlanNotice::Message { text: "a message".repeat(400) },
            _ => PlanNotice::Progress {
                order,
                iterations: 1 + self.seed.below(3) as u32,
                start: rank(self.seed.below(3)),
                best: rank(self.seed.below(3)),
                cost_micros: 0,
            },
        })
    }

    fn reopen(&mut self) -> Result<(), String> {
        self.now.wall_ms += 1000;
        self.now.boot_ms += 1000;
        let over = self.state.over.is_some();
        // One that has ended for good is not resumed; only its notification was open.
        let ended = over && !self.state.resumable();
        if ended || (!over && self.seed.one_in(3)) {
            return self.take(PlanEvent::Opened, true);
        }
        let changed = self.world.spec.as_ref().is_some_and(|spec| spec.join == Join::Merge) && self.seed.one_in(3);
        let changed = changed && self.world.applied.is_none();
        let spec = changed.then(|| Box::new(self.changed_spec()));
        let by = "loop resume".to_owned();
        let nodes = &self.world.spec.as_ref().unwrap().nodes;
        let node = nodes[self.seed.below(nodes.len() as u64) as usize].id.clone();
        let request = match self.seed.below(4) {
            0 => Some(self.pick(node)),
            // The host refuses one for a plan that has ended for good.
            2 if !over || self.state.resumable() => Some(self.more_budget()),
            1 => Some(PlanRequest::Answer { node, text: "yes".to_owned(), proceed: true }),
            _ => None,
        };
        let unattended = self.seed.one_in(3);
        self.pending = spec.as_ref().map(|spec| (**spec).clone());
        self.take(PlanEvent::Reopened { by, unattended, spec, request }, true)
    }

    /// A person ends a plan at rest for good: its copies are removed.
    fn cancelled_at_rest(&mut self) -> Result<(), String> {
        if !self.state.resumable() || self.seed.one_in(2) {
            return Ok(());
        }
        self.take(PlanEvent::OpenedForRequest { by: "loop cancel".to_owned() }, false)?;
        let by = "loop cancel".to_owned();
        self.take(PlanEvent::Requested { request: PlanRequest::Cancel, by }, false)?;
        while let Some(order) = self.world.open.keys().next().copied() {
            let answer = self.world.answer(order, &mut self.seed);
            self.take(PlanEvent::Answered { order, answer }, false)?;
        }
        let over = self.state.over.as_ref().map(|over| over.outcome);
        if over != Some(PlanOutcome::Cancelled) || !Plan::is_at_rest(&self.state) {
            return Err(format!("cancelled, and it is {over:?}"));
        }
        self.rest()
    }

    /// A person rolls the workspace back: how the plan ended does not change.
    fn rolled_back_at_rest(&mut self) -> Result<(), String> {
        let before = self.state.over.clone();
        self.take(PlanEvent::OpenedForRequest { by: "loop rollback".to_owned() }, false)?;
        let request = PlanRequest::Rollback { to: "initial".to_owned(), undo: "undo-1".to_owned() };
        self.take(PlanEvent::Requested { request, by: "loop rollback".to_owned() }, false)?;
        while let Some(order) = self.world.open.keys().next().copied() {
            let answer = self.world.answer(order, &mut self.seed);
            self.take(PlanEvent::Answered { order, answer }, false)?;
        }
        let ended = self.state.rollback.as_ref().is_some_and(|rollback| rollback.end.is_some());
        if !ended || self.state.over != before || !Plan::is_at_rest(&self.state) {
            return Err(format!("rolled back, and it is {:?} {:?}", self.state.rollback, self.state.over));
        }
        Ok(())
    }

    /// Step, write, sync if due, apply, begin: the driver in small.
    fn take(&mut self, event: PlanEvent, may_crash: bool) -> Result<(), String> {
        self.now.boot_ms += 1;
        self.now.wall_ms += 1;
        self.hear(&event);
        let facts = (self.step)(&self.state, self.now, event);
        if !matches!(facts.first(), Some(PlanFact::Happened(_) | PlanFact::Decided(_))) {
            return Err("a step without its event".to_owned());
        }
        // A crash after any line of a step that was written: the orders of it are not begun.
        let cut = self.seed.one_in(40).then(|| self.seed.below(facts.len() as u64) as usize).filter(|_| may_crash);
        for (at, fact) in facts.iter().enumerate() {
            if cut == Some(at) {
                self.crash();
                return Ok(());
            }
            self.check_fact(fact)?;
            if Plan::needs_evidence(fact) {
                Plan::check_evidence(&self.state, fact).map_err(str::to_owned)?;
            }
            if let PlanFact::Decided(PlanDecision::CarriedOver(CarryOver { new_spec: true, .. })) = fact {
                let before = std::mem::replace(&mut self.world.spec, self.pending.take());
                self.changed = Some((self.journal.len(), before.unwrap()));
            }
            self.journal.push((self.now, fact.clone()));
            Plan::apply(&mut self.state, fact);
            self.check_state()?;
        }
        if facts.iter().any(Plan::needs_sync) {
            self.durable = self.journal.len();
        }
        for fact in &facts {
            match Plan::act(fact) {
                Some(Act::Begin(id, order)) => {
                    self.asked.insert(id, order.clone());
                    self.world.begin(id, order)?;
                }
                Some(Act::Cancel(id)) => self.world.end(id, false)?,
                Some(Act::Kill(id)) => self.world.end(id, true)?,
                None => {}
            }
        }
        Ok(())
    }

    /// The world knows to which questions a person said yes.
    fn hear(&mut self, event: &PlanEvent) {
        let request = match event {
            PlanEvent::Requested { request, .. } | PlanEvent::Reopened { request: Some(request), .. } => request,
            PlanEvent::Answered { order, answer: PlanAnswer::Said { proceed: true, .. } } => {
                if let Some(PlanOrder::Ask(PlanQuestion::Node(node))) = self.asked.get(order) {
                    self.world.said.insert(node.to_string());
                }
                return;
            }
            PlanEvent::Created(_)
            | PlanEvent::Opened
            | PlanEvent::Reopened { .. }
            | PlanEvent::OpenedForRequest { .. }
            | PlanEvent::Answered { .. }
            | PlanEvent::Noticed(_)
            | PlanEvent::DeadlinePassed => return,
        };
        if let PlanRequest::Answer { node, proceed: true, .. } = request {
            self.world.said.insert(node.to_string());
        }
    }

    fn check_fact(&self, fact: &PlanFact) -> Result<(), String> {
        let text = serde_json::to_string(fact).map_err(|error| error.to_string())?;
        if text.len() > FACT_BYTES_MAX {
            return Err(format!("a fact of {} bytes", text.len()));
        }
        let mut read: PlanFact = serde_json::from_str(&text).map_err(|error| format!("{error}: {text}"))?;
        Plan::set_time(&mut read, self.now);
        if read != *fact { Err(format!("read back as another fact: {text}")) } else { Ok(()) }
    }

    fn check_state(&self) -> Result<(), String> {
        let money = self.state.money;
        let shares: u64 = self.state.nodes.iter().map(|node| node.share_micros).sum();
        if money.reserved_micros != shares {
            return Err(format!("{} is reserved, and the shares are {shares}", money.reserved_micros));
        }
        match self.state.spec.as_ref().and_then(|spec| spec.budget_micros) {
            Some(most) if money.spent_micros + money.reserved_micros > most => Err("over the budget".to_owned()),
            Some(_) | None => Ok(()),
        }
    }

    fn crash(&mut self) {
        let power = self.power_cuts && self.seed.one_in(2);
        if power {
            let kept = self.durable + self.seed.below((self.journal.len() - self.durable) as u64 + 1) as usize;
            self.journal.truncate(kept);
            if let Some((line, before)) = self.changed.take_if(|(line, _)| *line >= kept) {
                let _ = line;
                self.pending = self.world.spec.replace(before);
            }
        }
        self.world.crash(power);
        // Answers of a process that is gone do not come.
        self.old_answers.clear();
        self.state = machine::fold::<Plan>(self.journal.iter().map(|(_, fact)| fact));
        // No driver is there until one opens it.
        self.state.driver = DriverMode::None;
        self.durable = self.journal.len();
    }

    /// What must hold when nothing is left to drive.
    fn rest(&self) -> Result<(), String> {
        let mut folded = machine::fold::<Plan>(self.journal.iter().map(|(_, fact)| fact));
        // Whether a driver is there now is not in the journal.
        if self.state.driver == DriverMode::None {
            folded.driver = DriverMode::None;
        }
        if folded != self.state {
            let (here, there) = (format!("{:#?}", self.state), format!("{folded:#?}"));
            let differs = here.lines().zip(there.lines()).find(|(here, there)| here != there);
            return Err(format!("the journal makes another state: {differs:?}"));
        }
        if !self.world.open.is_empty() {
            return Err(format!("at rest, and open: {:?}", self.world.open));
        }
        let over = self.state.over.as_ref().ok_or("at rest without an end")?;
        if over.reason.text.is_empty() {
            return Err("an end without a reason".to_owned());
        }
        for node in &self.state.nodes {
            self.check_node(node, over.outcome)?;
        }
        let passed = self.world.something_passed();
        let wrong = match over.outcome {
            PlanOutcome::Applied => self.world.applied.is_none() || self.world.passes_here != Some(true),
            PlanOutcome::NotHere => self.world.applied.is_none() || self.world.passes_here != Some(false),
            PlanOutcome::Ranked => self.world.applied.is_some(),
            PlanOutcome::Taken => self.world.applied.is_none(),
            PlanOutcome::NonePassed => passed || self.world.applied.is_some(),
            PlanOutcome::Incomplete
            | PlanOutcome::Conflict
            | PlanOutcome::AwaitsPerson
            | PlanOutcome::Stopped
            | PlanOutcome::Cancelled
            | PlanOutcome::Unable => false,
        };
        if wrong {
            return Err(format!("{:?}, and the world says another thing", over.outcome));
        }
        let most = self.world.spec.as_ref().and_then(|spec| spec.budget_micros);
        if most.is_some_and(|most| self.world.cost() > most) {
            return Err("more was spent than there was".to_owned());
        }
        self.check_copies()
    }

    fn check_node(&self, node: &NodeState, outcome: PlanOutcome) -> Result<(), String> {
        if self.state.node_words(node).is_empty() {
            return Err(format!("{} without words", node.id()));
        }
        match node.end() {
            None if outcome == PlanOutcome::AwaitsPerson => {
                let open = matches!(node.stage, NodeStage::Asking | NodeStage::Waiting);
                if open { Ok(()) } else { Err(format!("{} is {:?} at rest", node.id(), node.stage)) }
            }
            None => Err(format!("{} has no end", node.id())),
            Some(NodeEnd::NotStarted(_)) if node.attempt == 0 && self.world.has_run(node.id()) && self.keys == 0 => {
                Err(format!("{} was started", node.id()))
            }
            Some(_) => Ok(()),
        }
    }

    /// No copy is left but those in which a run can be resumed.
    fn check_copies(&self) -> Result<(), String> {
        let kept = |(name, attempt): &(String, u32)| {
            let node = self.state.nodes.iter().find(|node| node.id().as_str() == name);
            node.is_some_and(|node| node.copies.contains(attempt) && self.state.resumable())
        };
        let left = self.world.copies.keys().find(|key| !kept(key) && !self.world.lost_copies.contains(*key));
        left.map_or(Ok(()), |left| Err(format!("a copy is left: {left:?}")))
    }
}

fn plan_storm(number: u64, step: PlanStep) -> Result<(), String> {
    let mut storm = PlanStorm {
        seed: Seed::new(number),
        world: PlanWorld::default(),
        state: PlanState::default(),
        journal: Vec::new(),
        durable: 0,
        now: At { wall_ms: 1_700_000_000_000, boot_ms: 1, boot_id: 1 },
        step,
        asked: std::collections::BTreeMap::new(),
        old_answers: Vec::new(),
        power_cuts: number.is_multiple_of(2),
        keys: 0,
        pending: None,
        changed: None,
    };
    storm.run().map_err(|what| {
        let skipped = storm.journal.len().saturating_sub(LINES_SHOWN);
        let lines: Vec<String> =
            storm.journal.iter().skip(skipped).map(|(_, fact)| serde_json::to_string(fact).unwrap()).collect();
        format!("{what}\n{}\nrun it again with PLAN_SEED={number}", lines.join("\n"))
    })
}

#[expect(clippy::disallowed_methods, reason = "how large the sample is, is set outside")]
fn number_from(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().and_then(|text| text.parse().ok())
}

fn honest(state: &PlanState, at: At, event: PlanEvent) -> Vec<PlanFact> {
    machine::decide::<Plan>(state, at, event)
}

#[test]
fn whatever_crashes_a_plan_ends_rightly_and_its_journal_rebuilds_it() {
    // req: D-12 partly: the machine
    // req: D-16 partly: the machine
    let seeds = match number_from("PLAN_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number_from("PLAN_STORMS").unwrap_or(50_000),
    };
    let half = u64::midpoint(seeds.start, seeds.end);
    let all = |mut range: std::ops::Range<u64>| range.find_map(|number| plan_storm(number, honest).err());
    let found = std::thread::scope(|scope| {
        let left = scope.spawn(|| all(seeds.start..half));
        all(half..seeds.end).or(left.join().unwrap())
    });
    assert!(found.is_none(), "{}", found.unwrap_or_default());
}

/// Whether storms find a planted error, by these words.
fn found_by_a_plan_storm(step: PlanStep, words: &[&str]) -> bool {
    let found = (0..600).filter_map(|number| plan_storm(number, step).err());
    found.into_iter().take(20).any(|what| words.iter().any(|word| what.contains(word)))
}

/// A planted error: a run is begun again after a crash.
fn run_begun_again(state: &PlanState, at: At, event: PlanEvent) -> Vec<PlanFact> {
    let mut facts = honest(state, at, event);
    for fact in &mut facts {
        if let PlanFact::Ordered { order: PlanOrder::Run { resume, .. }, .. } = fact {
            *resume = false;
        }
    }
    facts
}

/// A planted error: one more run than allowed.
fn one_too_many(state: &PlanState, at: At, event: PlanEvent) -> Vec<PlanFact> {
    let mut more = state.clone();
    if let Some(spec) = &mut more.spec {
        std::sync::Arc::make_mut(spec).parallel += 1;
    }
    honest(&more, at, event)
}

/// A planted error: money that was spent is forgotten.
fn money_forgotten(state: &PlanState, at: At, event: PlanEvent) -> Vec<PlanFact> {
    let mut poor = state.clone();
    poor.money.spent_micros = 0;
    honest(&poor, at, event)
}

/// A planted error: a node is merged although gates fail on the merged tree, or is done without a merge.
fn conflict_ignored(state: &PlanState, at: At, event: PlanEvent) -> Vec<PlanFact> {
    let mut facts = honest(state, at, event);
    for fact in &mut facts {
        if let PlanFact::Decided(PlanDecision::NodeEnded { end, .. }) = fact
            && *end == NodeEnd::Conflict
        {
            *end = NodeEnd::Merged;
        }
    }
    facts
}

/// A planted error: a person's no counts as a yes.
fn no_taken_for_yes(state: &PlanState, at: At, mut event: PlanEvent) -> Vec<PlanFact> {
    if let PlanEvent::Answered { answer: PlanAnswer::Said { proceed, .. }, .. }
    | PlanEvent::Requested { request: PlanRequest::Answer { proceed, .. }, .. } = &mut event
    {
        *proceed = true;
    }
    honest(state, at, event)
}

/// A planted error: a run that resolves a conflict is taken for the work itself.
fn conflict_taken_for_work(state: &PlanState, at: At, event: PlanEvent) -> Vec<PlanFact> {
    let mut facts = honest(state, at, event);
    for fact in &mut facts {
        if let PlanFact::Ordered { order: PlanOrder::Run { purpose, gates, .. }, .. } = fact {
            *purpose = RunPurpose::Work;
            gates.clear();
        }
    }
    facts
}

#[test]
fn a_storm_finds_a_no_that_counts_as_a_yes() {
    assert!(found_by_a_plan_storm(no_taken_for_yes, &["without the answer"]));
}

#[test]
fn a_storm_finds_a_conflict_that_is_given_to_the_loop_itself() {
    assert!(found_by_a_plan_storm(conflict_taken_for_work, &["do not fit"]));
}

#[test]
fn a_storm_finds_a_run_that_is_begun_again_after_a_crash() {
    assert!(found_by_a_plan_storm(run_begun_again, &["paid twice"]));
}

#[test]
fn a_storm_finds_one_run_more_than_allowed() {
    assert!(found_by_a_plan_storm(one_too_many, &["at work, more than"]));
}

#[test]
fn a_storm_finds_money_that_is_forgotten() {
    assert!(found_by_a_plan_storm(money_forgotten, &["may be spent", "over the budget"]));
}

#[test]
fn a_storm_finds_a_conflict_that_counts_as_merged() {
    assert!(found_by_a_plan_storm(conflict_ignored, &["without"]));
}
