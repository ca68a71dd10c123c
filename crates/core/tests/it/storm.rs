//! Storms: seeded runs through crashes, power cuts, hangs and impatient people, judged by a model of
//! the world. A failing seed is printed and can be run again.
use loop_core::run::next_deadline;
use std::collections::BTreeMap;

use loop_core::ids::OrderId;
use loop_core::machine::{FACT_BYTES_MAX, Machine};
use loop_core::run::*;
use loop_core::time::At;

use crate::play::{hidden, spec};
use crate::world::{Seed, World};

type Step = fn(&RunState, Input) -> Vec<Fact>;
type NeedsSync = fn(&Fact) -> bool;

/// How often an order was hit by a crash before, during and after it was carried out.
type Coverage = BTreeMap<(&'static str, &'static str), u64>;

const ITERATIONS_MAX: u32 = 4;
/// How much of the journal is shown when a storm finds something.
const LINES_SHOWN: usize = 30;
const STEPS_MAX: u32 = 2000;

struct Storm<'a> {
    seed: Seed,
    world: World,
    state: RunState,
    journal: Vec<Entry>,
    durable: usize,
    /// Which iteration an order for an agent was for.
    asked_for: BTreeMap<OrderId, u32>,
    now: At,
    injected: u32,
    /// Before this nobody may call the provider.
    not_before: Option<u64>,
    visited: bool,
    /// A person edited the workspace, and no opening that says so is safe on disk yet.
    edited: bool,
    hit: &'a mut Coverage,
    step: Step,
    needs_sync: NeedsSync,
}

/// What goes on after the facts of a step are written.
enum Then {
    Event(Box<Event>),
    Crashed,
    Over,
}

impl Storm<'_> {
    fn run(&mut self) -> Result<(), String> {
        let spec = spec(&[
            ("max_iterations", "4"),
            ("agent", "claude"),
            ("timeout", "2s"),
            ("max_time", "1h"),
            ("notify", "true"),
            ("delay", "1s"),
            ("max_calls_per_hour", if self.seed.one_in(3) { "unlimited" } else { "50" }),
            ("on_regression", if self.seed.one_in(3) { "revert" } else { "tell" }),
            ("keep", if self.seed.one_in(2) { "best" } else { "last" }),
            ("judge", if self.seed.one_in(3) { "workspace" } else { "auto" }),
            ("strength", if self.seed.one_in(2) { "off" } else { "report" }),
            ("recover", if self.seed.one_in(2) { "true" } else { "false" }),
            ("ladder", if self.seed.one_in(2) { "fresh:1, mutate:negative:1" } else { "fresh:1, effort:1, human" }),
            ("stuck_after", "1"),
        ]);
        let backend = if self.seed.one_in(3) { "none" } else { "git" }.to_owned();
        let guard = Some(GuardSpec { globs: vec!["check.sh".to_owned()], scripts: Vec::new() });
        self.world.hidden = self.seed.one_in(2);
        let hidden = hidden(1).filter(|_| self.world.hidden);
        let mut event = Event::Created(Box::new(RunSpec { backend, guard, hidden, ..spec }));
        let mut reopenings = 0;
        for _ in 0..STEPS_MAX {
            event = match self.take(event)? {
                Then::Event(event) => *event,
                Then::Crashed => {
                    self.reread();
                    self.opening()
                }
                Then::Over if self.state.has_checkpoints() && self.state.over.is_some() && self.seed.one_in(4) => {
                    self.visit()?
                }
                // Nobody goes on with a run that was cancelled.
                Then::Over if !self.state.resumable() => return self.rest(),
                Then::Over if self.state.is_for_one_request() => self.opening(),
                Then::Over if reopenings < 2 && self.seed.one_in(2) => {
                    reopenings += 1;
                    self.opening()
                }
                Then::Over => return self.rest(),
            };
        }
        Err("it does not end".to_owned())
    }

    /// A command opens an ended or a crashed run and goes back.
    fn visit(&mut self) -> Result<Event, String> {
        if !self.state.is_for_one_request() {
            self.visited = true;
            return Ok(Event::OpenedForRequest { by: "loop rollback".to_owned() });
        }
        Ok(self.opening())
    }

    fn opening(&mut self) -> Event {
        self.now.wall_ms += 1000;
        self.now.boot_ms += 1000;
        let changes = vec![Change::new("timeout", "4s".to_owned()); usize::from(self.seed.one_in(4))];
        // A person may have taken the hidden gate out of the settings, or put it there.
        let hidden = hidden(1).filter(|_| self.world.hidden != self.seed.one_in(6));
        let reopened = Event::Reopened {
            by: "loop resume".to_owned(),
            changes,
            unattended: false,
            hidden,
            answers: false,
            injected: None,
            pid_namespace: None,
            scores: Vec::new(),
        };
        let edited = self.seed.one_in(3);
        match &self.state.spec {
            None => {
                let guard = Some(GuardSpec { globs: vec!["check.sh".to_owned()], scripts: Vec::new() });
                Event::Created(Box::new(RunSpec { guard, ..spec(&[("max_iterations", "4")]) }))
            }
            // A daemon that opens a run again at once: nobody had the time to edit.
            Some(_) if self.state.over.is_none() && !self.edited && self.seed.one_in(2) => Event::Opened,
            Some(_) => {
                if edited {
                    self.world.person();
                    self.edited = true;
                }
                reopened
            }
        }
    }

    /// Step, write, sync if due, apply, begin: the driver in small, with a crash at every seam.
    fn take(&mut self, event: Event) -> Result<Then, String> {
        self.tick(&event);
        let first = matches!(event, Event::Created(_));
        let reopens = matches!(event, Event::Reopened { .. });
        // A line that a crash took away was never: what the journal still says counts.
        if let Event::Reopened { hidden, .. } = &event {
            self.world.hidden = hidden.is_some();
        } else if !first {
            self.world.hidden = self.state.proving.hidden().is_some();
        }
        self.promised(&event);
        let facts = (self.step)(&self.state, Input { at: self.now, event });
        for (count, fact) in facts.iter().enumerate() {
            if count > 0 && self.seed.one_in(80) {
                return Ok(self.crash()); // The write was torn: a prefix of these facts is there.
            }
            let fact = self.written(fact)?;
            self.journal.push(Entry { seq: self.journal.len() as u64 + 1, at: self.now, fact });
        }
        if facts.iter().any(|fact| (self.needs_sync)(fact)) {
            self.durable = self.journal.len();
        }
        for fact in &facts {
            // A reader of the journal would refuse it.
            if Run::needs_evidence(fact) {
                Run::check_evidence(&self.state, fact)?;
            }
            rungs_follow(&self.state, fact)?;
            self.state.apply(fact);
        }
        self.edited &= !reopens;
        self.acknowledge(&facts);
        self.bounds()?;
        if first {
            return Ok(Then::Event(Box::new(Event::Opened)));
        }
        for fact in &facts {
            if let Fact::Concluded { outcome, .. } = fact {
                self.world.concluded(*outcome, self.state.has_checkpoints())?;
            }
        }
        let ordered: Vec<_> = facts
            .iter()
            .filter_map(|fact| match fact {
                Fact::Ordered { id, order } => Some((*id, order.clone())),
                Fact::Happened(_) | Fact::OrderCancelled { .. } | Fact::Decided(_) | Fact::Concluded { .. } => None,
            })
            .collect();
        for (id, order) in ordered {
            if let Some(then) = self.carry_out(id, &order)? {
                return Ok(then);
            }
        }
        self.what_next()
    }

    /// The fact as the journal gives it back.
    fn written(&self, fact: &Fact) -> Result<Fact, String> {
        let text = serde_json::to_string(fact).map_err(|error| error.to_string())?;
        if text.len() > FACT_BYTES_MAX {
            return Err(format!("a fact of {} bytes", text.len()));
        }
        let mut fact: Fact = serde_json::from_str(&text).map_err(|error| format!("{error}: {text}"))?;
        if let Fact::Happened(input) = &mut fact {
            input.at = self.now;
        }
        Ok(fact)
    }

    /// Begins an order. An answer may come at once, later, or never by itself.
    fn carry_out(&mut self, id: OrderId, order: &Order) -> Result<Option<Then>, String> {
        if self.crash_here(order, "before") {
            return Ok(Some(self.crash()));
        }
        self.world.begin(order, ITERATIONS_MAX)?;
        if let (Order::RunAgent { .. }, Some(until)) = (order, self.not_before.take())
            && self.now.wall_ms < until
        {
            return Err(format!("a call comes {} ms before the provider's reset", until - self.now.wall_ms));
        }
        if self.crash_here(order, "during") {
            self.world.half(order);
            return Ok(Some(self.crash()));
        }
        // Nobody ends a hold but a person or its time.
        let hangs = matches!(order, Order::Hold { .. }) || (order.is_main() && self.seed.one_in(10));
        if hangs {
            return Ok(None);
        }
        if self.seed.one_in(60) {
            let answer = self.world.fail(order);
            return Ok(Some(Then::Event(Box::new(Event::Answered { order: id, answer }))));
        }
        let answer = self.world.complete(order, &mut self.seed, self.now.wall_ms);
        if self.crash_here(order, "after") {
            return Ok(Some(self.crash()));
        }
        Ok(Some(Then::Event(Box::new(Event::Answered { order: id, answer }))))
    }

    /// Nothing answers by itself: a person loses patience, a deadline comes, or a cancelled order ends.
    fn what_next(&mut self) -> Result<Then, String> {
        let open = self.state.orders.iter().last().map(|(id, open)| (id, open.clone()));
        let Some((id, open)) = open else {
            if std::mem::take(&mut self.visited) {
                let request =
                    Request::Rollback(Target { to: "initial".to_owned(), now: true, git: false, paths: Vec::new() });
                return Ok(Then::Event(Box::new(Event::Requested { request, by: "loop rollback".to_owned() })));
            }
            return if self.state.over.is_some() || self.state.is_for_one_request() {
                Ok(Then::Over)
            } else {
                Err("nothing is under way".to_owned())
            };
        };
        if open.is_cancelled() {
            let answer = self.world.end(&open.order, &mut self.seed, self.now.wall_ms);
            if self.crash_here(&open.order, "after") {
                return Ok(self.crash());
            }
            return Ok(Then::Event(Box::new(Event::Answered { order: id, answer })));
        }
        let asked = |request| Ok(Then::Event(Box::new(Event::Requested { request, by: "somebody".to_owned() })));
        match self.seed.below(14) {
            0 => asked(Request::Stop),
            1 => asked(Request::Abort),
            2 | 3 => asked(Request::Pause),
            4..=6 => asked(Request::Resume),
            7 => {
                self.injected += 1;
                asked(Request::Inject(Injected { number: self.injected, bytes: 5, keep: self.seed.one_in(3) }))
            }
            8 if self.seed.one_in(4) => asked(Request::Cancel),
            8 if self.seed.one_in(4) && self.state.has_checkpoints() => asked(Request::CancelRollback),
            10 | 11 if self.state.has_checkpoints() && !self.state.is_for_one_request() => {
                let to = ["initial", "iter-001", "iter-002", "undo-1", "nowhere"][self.seed.below(5) as usize];
                asked(Request::Rollback(Target {
                    to: to.to_owned(),
                    now: self.seed.one_in(2),
                    git: false,
                    paths: Vec::new(),
                }))
            }
            12 if self.state.has_checkpoints() && self.seed.one_in(3) => {
                asked(Request::Checkpoint { name: "good".to_owned() })
            }
            8 => asked(Request::Set(vec![Change::new("timeout", "3s".to_owned())])),
            9 => {
                let process = ProcessId { pid: 42, start_ticks: 7 };
                Ok(Then::Event(Box::new(Event::Noticed(Notice::Started { order: id, process }))))
            }
            _ => {
                let deadline = next_deadline(&self.state).ok_or("an open order without a deadline")?;
                let ms = deadline.due_in_ms(self.now);
                (self.now.boot_ms, self.now.wall_ms) = (self.now.boot_ms + ms, self.now.wall_ms + ms);
                Ok(Then::Event(Box::new(Event::DeadlinePassed)))
            }
        }
    }

    /// Until when the provider said that it wants no call; a person may try all the same.
    fn promised(&mut self, event: &Event) {
        match event {
            Event::Requested { request: Request::Resume, .. } => self.not_before = None,
            Event::Answered { answer: Answer::AgentEnded(report), .. } => {
                self.not_before = report.stream.reset.map(|reset| reset.at_ms);
            }
            Event::Created(_)
            | Event::Opened
            | Event::Reopened { .. }
            | Event::OpenedForRequest { .. }
            | Event::Answered { .. }
            | Event::Requested { .. }
            | Event::Noticed(_)
            | Event::Around(_)
            | Event::DeadlinePassed => {}
        }
    }

    /// Time goes on; now and then the wall clock jumps, which must not matter.
    fn tick(&mut self, event: &Event) {
        self.now.boot_ms += self.seed.below(50);
        self.now.wall_ms += if self.seed.one_in(50) { 9_999_999 } else { 20 };
        if matches!(event, Event::Answered { .. }) && self.seed.one_in(10) {
            self.now.wall_ms -= 5000;
        }
    }

    /// The person hears of it: from now on it must not be lost.
    fn acknowledge(&mut self, facts: &[Fact]) {
        for fact in facts {
            match fact {
                Fact::Ordered { id, order: Order::RunAgent { iteration, .. } } => {
                    self.asked_for.insert(*id, *iteration);
                }
                Fact::Happened(Input {
                    event: Event::Answered { order, answer: Answer::AgentEnded(report) }, ..
                }) if report.ended != Ended::ByUs && report.stream.failure.is_none() && !report.stream.session_lost => {
                    self.world.acknowledged.extend(self.asked_for.get(order));
                }
                Fact::Happened(_)
                | Fact::Ordered { .. }
                | Fact::OrderCancelled { .. }
                | Fact::Decided(_)
                | Fact::Concluded { .. } => {}
            }
        }
    }

    fn crash_here(&mut self, order: &Order, moment: &'static str) -> bool {
        let crash = self.seed.one_in(12);
        if crash {
            *self.hit.entry((name(order), moment)).or_default() += 1;
        }
        crash
    }

    /// Killed: what was written stays, processes live on. Power cut: what was not synced may be gone.
    fn crash(&mut self) -> Then {
        if self.seed.one_in(3) {
            let lost = self.journal.len() - self.durable;
            self.journal.truncate(self.durable + self.seed.below(lost as u64 + 1) as usize);
            self.world.power_cut();
            self.now.boot_id += 1;
            self.now.boot_ms = 100;
        }
        Then::Crashed
    }

    /// The journal alone is what is left: it must rebuild the state.
    fn reread(&mut self) {
        let mut reread = RunState::default();
        self.journal.iter().for_each(|entry| reread.apply(&entry.fact));
        self.durable = self.durable.min(self.journal.len());
        self.state = reread;
    }

    fn bounds(&self) -> Result<(), String> {
        let main = self.state.orders.iter().filter(|(_, open)| open.order.is_main()).count();
        let fine = main <= 1 && self.state.prompt.notes().len() <= 8 && self.state.prompt.changed_names().len() <= 50;
        if !fine {
            return Err("the state is out of its bounds".to_owned());
        }
        match impossible(&self.state) {
            Some(what) => Err(format!("an impossible state: {what}, {:?}", self.state.phase)),
            None => Ok(()),
        }
    }

    fn rest(&mut self) -> Result<(), String> {
        let live = self.state.clone();
        self.reread();
        if live == self.state { Ok(()) } else { Err("the journal does not rebuild the state".to_owned()) }
    }
}

/// What no state may be after a step: each phase has its own orders, and nothing that ended stays without a judgement.
fn impossible(state: &RunState) -> Option<&'static str> {
    let phase = state.phase;
    let main = state.main_order().map(|(_, open)| &open.order);
    let is_agent = matches!(main, Some(Order::RunAgent { .. }));
    let is_gate = matches!(main, Some(Order::RunGate { .. }));
    let measures = matches!(main, Some(Order::Measure { .. }));
    let unjudged = matches!(phase, Phase::AttemptEnded | Phase::InterruptedSaved | Phase::Measured)
        || matches!(phase, Phase::GateEnded { .. } | Phase::RoundEnded { .. });
    let judged_agent = matches!(phase.point(), Some(GatePoint::Iteration(_))) && !state.agent_ended();
    [
        (unjudged, "something ended and was not judged"),
        (is_agent != (phase == Phase::Agent), "an agent works in another phase, or none in its own"),
        (is_gate && !matches!(phase, Phase::Gates { .. }), "a gate runs in another phase"),
        (measures && phase != Phase::Measuring, "changes are measured in another phase"),
        (judged_agent, "an iteration is judged whose agent has not ended"),
        (state.over.is_some() && state.is_driven(), "a run that is over is driven"),
        (state.gates_pass() && state.guard.stands_tampered(), "gates pass on changed protected files"),
        (state.attempt == 0 && state.iteration > 0, "an iteration without an attempt"),
        (state.agent.finished() > state.iteration, "an iteration ended that has not begun"),
        (
            state.checkpoints.is_reverting() && state.requests.rollback.is_some(),
            "a person and the loop go back at once",
        ),
        (
            state.recovery.rung().is_some_and(|rung| rung.iterations > rung.began.iterations),
            "a rung takes more iterations than it may",
        ),
        (state.phase.is_fresh() && state.iteration > 0, "an agent worked before the initial checkpoint"),
        (state.progress.best().is_some_and(|best| best.iteration > state.iteration), "the best state is not there yet"),
    ]
    .into_iter()
    .find_map(|(holds, what)| holds.then_some(what))
}

/// A rung begins only where none is under way, and ends only once; after a crash, too.
fn rungs_follow(state: &RunState, fact: &Fact) -> Result<(), String> {
    let Fact::Decided(Decision::Recovery(decision)) = fact else { return Ok(()) };
    let (done, open) = (state.recovery.climb().map_or(0, |climb| climb.done), state.recovery.rung());
    let fine = match decision {
        RecoveryDecision::Began(began) => open.is_none() && began.number == done + 1,
        RecoveryDecision::Ended(ended) if ended.outcome == RungOutcome::Skipped => {
            open.is_none() && ended.number == done + 1
        }
        RecoveryDecision::Ended(ended) => open.is_some_and(|rung| rung.began.number == ended.number),
        RecoveryDecision::CutOff(cut_off) => open.is_some_and(|rung| rung.began.number == cut_off.number),
        RecoveryDecision::Takes(taken) => {
            open.is_some_and(|rung| rung.began.number == taken.number && rung.taken().is_none())
        }
        RecoveryDecision::UsedUp { .. } => open.is_none(),
    };
    if fine { Ok(()) } else { Err(format!("a rung out of order: {decision:?} after {open:?}")) }
}

fn name(order: &Order) -> &'static str {
    match order {
        Order::CleanUp { .. } => "clean-up",
        Order::Checkpoint { .. } => "checkpoint",
        Order::RunAgent { .. } => "agent",
        Order::Measure { .. } => "measure",
        Order::ManualCheckpoint { .. } => "keep",
        Order::Rollback { .. } => "rollback",
        Order::RunGate { .. } => "gate",
        Order::Hold { .. } => "hold",
        Order::Notify { .. } => "notify",
        Order::WriteText { .. } => "text",
        Order::Branches { .. } => "branches",
        Order::Reserve { .. } => "reserve",
        Order::Guard { .. } => "guard",
        Order::Judge { .. } => "judge",
        Order::Certify { .. } => "certify",
    }
}

fn storm(number: u64, step: Step, needs_sync: NeedsSync, hit: &mut Coverage) -> Result<(), String> {
    let now = At { wall_ms: 1_700_000_000_000, boot_ms: 1000, boot_id: 1 };
    let (seed, world, state) = (Seed::new(number), World::default(), RunState::default());
    let mut storm = Storm {
        seed,
        world,
        state,
        journal: Vec::new(),
        durable: 0,
        asked_for: BTreeMap::new(),
        now,
        injected: 0,
        not_before: None,
        visited: false,
        edited: false,
        hit,
        step,
        needs_sync,
    };
    let ended = storm.run();
    ended.map_err(|what| {
        let last = storm.journal.iter().rev().take(LINES_SHOWN).rev();
        let lines: Vec<String> = last.map(|entry| serde_json::to_string(&entry.fact).unwrap()).collect();
        format!("seed {number}: {what}\n{}", lines.join("\n"))
    })
}

/// How many storms: `STORMS=1000000` for a long night, `STORM_SEED=42` for one again.
#[expect(clippy::disallowed_methods, reason = "the test itself is told how long to run")]
pub(crate) fn number_from(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().and_then(|text| text.parse().ok())
}

fn storms(seeds: std::ops::Range<u64>) -> Coverage {
    let mut hit = Coverage::new();
    for number in seeds {
        if let Err(what) = storm(number, step, Fact::needs_sync, &mut hit) {
            panic!("{what}\nrun it again with STORM_SEED={number}");
        }
    }
    hit
}

#[test]
#[expect(clippy::print_stdout, reason = "the table of what was hit is part of the result")]
fn whatever_crashes_a_run_ends_rightly_and_its_journal_rebuilds_it() {
    let mut hit = Coverage::new();
    let seeds = match number_from("STORM_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number_from("STORMS").unwrap_or(50_000),
    };
    let count = seeds.end - seeds.start;
    let half = seeds.start + count / 2;
    let (left, right) = std::thread::scope(|scope| {
        let left = scope.spawn(|| storms(seeds.start..half));
        (storms(half..seeds.end), left.join().unwrap())
    });
    for (moment, times) in left.into_iter().chain(right) {
        *hit.entry(moment).or_default() += times;
    }
    let mut table = format!(
        "{count} storms; crashes by order and moment:\n{:12}{:>9}{:>9}{:>9}\n",
        "", "before", "during", "after"
    );
    for order in [
        "clean-up",
        "checkpoint",
        "agent",
        "measure",
        "gate",
        "hold",
        "notify",
        "keep",
        "rollback",
        "reserve",
        "guard",
        "certify",
    ] {
        table += &format!("{order:12}");
        for moment in ["before", "during", "after"] {
            let times = hit.get(&(order, moment)).copied().unwrap_or(0);
            table += &format!("{times:>9}");
            assert!(times > 0 || count < 1000, "no storm hit {order} {moment}");
        }
        table += "\n";
    }
    println!("{table}");
}

/// Whether a storm finds the fault by one of these words.
fn found_by_a_storm(step: Step, needs_sync: NeedsSync, words: &[&str]) -> bool {
    let mut hit = Coverage::new();
    let mut found = (0..5000).filter_map(|number| storm(number, step, needs_sync, &mut hit).err());
    found.any(|what| words.iter().any(|word| what.contains(word)))
}

/// A planted fault: a cut-off agent is started again as if nothing had been.
fn agent_repeated(state: &RunState, input: Input) -> Vec<Fact> {
    let mut facts = step(state, input);
    for fact in &mut facts {
        if let Fact::Ordered { order, .. } = fact
            && matches!(order, Order::CleanUp { .. } | Order::Checkpoint { name: CheckpointName::Interrupted(..) })
            && state.iteration > 0
            && !state.agent_ended()
        {
            let (iteration, attempt) = (state.iteration, state.attempt);
            *order = Order::RunAgent {
                choice: AgentChoice::default(),
                iteration,
                attempt,
                notes: Vec::new(),
                injected: None,
                session: None,
                status_only: false,
                reservation: None,
            };
        }
    }
    facts
}

/// A planted fault: the checkpoint of an iteration is taken before its agent.
fn checkpoint_too_early(state: &RunState, input: Input) -> Vec<Fact> {
    let mut facts = step(state, input);
    for fact in &mut facts {
        if let Fact::Ordered { order, .. } = fact
            && let Order::RunAgent { iteration, attempt: 1, .. } = order
        {
            *order = Order::Checkpoint { name: CheckpointName::Iteration(*iteration) };
        }
    }
    facts
}

/// A planted fault: the order that starts an agent is not synced.
fn start_not_synced(fact: &Fact) -> bool {
    !matches!(fact, Fact::Ordered { .. }) && fact.needs_sync()
}

/// A planted fault: what an agent did is not synced.
fn end_not_synced(fact: &Fact) -> bool {
    let guard = matches!(fact, Fact::Ordered { order: Order::Guard { .. }, .. });
    matches!(fact, Fact::Ordered { .. } | Fact::Concluded { .. }) && !guard && fact.needs_sync()
}

#[test]
fn a_storm_finds_an_end_of_an_agent_that_was_not_synced() {
    assert!(found_by_a_storm(step, end_not_synced, &["done twice"]));
}

#[test]
fn a_storm_finds_an_agent_that_is_simply_repeated_after_a_crash() {
    assert!(found_by_a_storm(agent_repeated, Fact::needs_sync, &["alive", "twice"]));
}

#[test]
fn a_storm_finds_a_checkpoint_that_is_taken_before_the_agent() {
    assert!(found_by_a_storm(checkpoint_too_early, Fact::needs_sync, &["does not hold its work"]));
}

#[test]
fn a_storm_finds_an_order_for_an_agent_that_was_not_synced() {
    assert!(found_by_a_storm(step, start_not_synced, &["begun twice"]));
}

/// A planted fault: what the gates said is believed although they judged files that were put back since.
fn guard_not_asked(state: &RunState, input: Input) -> Vec<Fact> {
    let mut facts = step(state, input);
    for fact in &mut facts {
        if let Fact::Ordered { order, .. } = fact
            && let Order::Guard { point: GuardPoint::Gates(point) } = order
        {
            *order = Order::Certify { point: *point };
        }
    }
    facts
}

#[test]
fn a_storm_finds_gates_that_are_believed_on_changed_files() {
    assert!(found_by_a_storm(guard_not_asked, Fact::needs_sync, &["on a tampered tree", "was not kept"]));
}
