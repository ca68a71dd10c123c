//! Simulation: random runs with clock jumps, suspends, restarts and random answers to every order, judged by a model
//! that knows only what was asked and answered. `SIMULATION=1000000` for the whole of it, `SIMULATION_SEED=42` for one.
use loop_core::run::next_deadline;
use std::collections::BTreeMap;

use loop_core::ids::OrderId;
use loop_core::run::*;
use loop_core::time::At;

use crate::judge::Judge;
use crate::play::{hidden, spec};
use crate::storm::number_from;
use crate::world::Seed;

/// No run needs more than this between two calls or waits.
const ORDERS_BETWEEN_MAX: u32 = 60;
/// A run of the simulation that is longer does not end.
const STEPS_MAX: u32 = 5000;

type Step = fn(&RunState, Input) -> Vec<Fact>;

/// What the whole of it came to.
#[derive(Debug, Default)]
struct Tally {
    runs: u64,
    steps: u64,
    calls: u64,
    restarts: u64,
    suspends: u64,
    jumps: u64,
    ends: BTreeMap<&'static str, u64>,
}

struct Simulation<'a> {
    seed: Seed,
    judge: Judge,
    state: RunState,
    journal: Vec<Entry>,
    durable: usize,
    now: At,
    tally: &'a mut Tally,
    step: Step,
    orders_since_call: u32,
    reopenings: u32,
}

fn pick<'a>(seed: &mut Seed, all: &[&'a str]) -> &'a str {
    all[seed.below(all.len() as u64) as usize]
}

/// Settings of all kinds, so that every cap and every rule meets every other.
fn settings(seed: &mut Seed) -> Vec<(&'static str, &'static str)> {
    let gated = !seed.one_in(4);
    vec![
        ("promise", if gated { "make test" } else { "" }),
        ("no_promise", if gated { "false" } else { "true" }),
        ("gate", pick(seed, &["", "", "lint[watch]=x", if gated { "flaky[2of3]=y" } else { "w[watch]=y" }])),
        ("agent", pick(seed, &["claude", "custom"])),
        ("max_iterations", pick(seed, &["1", "3", "8", "20"])),
        ("max_time", pick(seed, &["unlimited", "10m", "2h"])),
        ("max_cost", pick(seed, &["unlimited", "1.00", "5.00"])),
        ("max_tokens", pick(seed, &["unlimited", "5000"])),
        ("worst_cost", pick(seed, &["0.40", "2.00"])),
        ("worst_tokens", "900"),
        ("max_calls_per_hour", pick(seed, &["unlimited", "2", "6"])),
        ("max_calls_per_day", pick(seed, &["unlimited", "unlimited", "9"])),
        ("breaker", pick(seed, &["on", "on", "off"])),
        ("breaker_reset", pick(seed, &["resume", "manual"])),
        ("require_tests_kept", pick(seed, &["true", "false"])),
        ("strict_completion", pick(seed, &["true", "true", "false"])),
        ("on_tamper", pick(seed, &["restore", "restore", "stop", "allow"])),
        ("on_regression", pick(seed, &["tell", "revert", "keep"])),
        ("on_blocked", pick(seed, &["question", "stop"])),
        ("on_question", pick(seed, &["decide", "park", "stop"])),
        ("on_interrupt", pick(seed, &["keep", "rollback"])),
        ("keep", pick(seed, &["last", "best"])),
        ("judge", pick(seed, &["auto", "auto", "workspace"])),
        ("strength", pick(seed, &["off", "report", "require"])),
        ("delay", pick(seed, &["none", "3s"])),
        ("timeout", "5m"),
        ("recover", pick(seed, &["true", "false"])),
        ("ladder", pick(seed, &["fresh:1, mutate:negative:2", "mutations:1, human", "vendor:1, fresh:2, human"])),
        ("stuck_after", pick(seed, &["1", "2", "3"])),
        ("recovery_budget", pick(seed, &["1", "3", "10"])),
    ]
}

impl Simulation<'_> {
    fn run(&mut self) -> Result<(), String> {
        let settings = settings(&mut self.seed);
        let backend = pick(&mut self.seed, &["git", "git", "none"]).to_owned();
        let guard = self.seed.one_in(2).then(|| GuardSpec { globs: vec!["t/*".to_owned()], scripts: Vec::new() });
        let hidden = hidden(1).filter(|_| self.seed.one_in(2));
        self.judge = Judge::new(&settings, guard.is_some(), backend != "none").with_hidden(hidden.is_some());
        let spec = RunSpec { backend, guard, hidden, ..spec(&settings) };
        self.happen(Event::Created(Box::new(spec)))?;
        self.judge.fresh(&self.state)?;
        self.happen(Event::Opened)?;
        for _ in 0..STEPS_MAX {
            if self.state.over.is_some() && self.state.main_order().is_none() {
                self.replayed()?;
                let over = self.state.standing().map_or("", |standing| standing.outcome.name());
                *self.tally.ends.entry(over).or_default() += 1;
                let again = self.state.resumable() && self.reopenings < 3 && self.seed.one_in(2);
                if !again {
                    return Ok(());
                }
                self.reopen()?;
                continue;
            }
            self.go_on()?;
        }
        Err("it neither ends nor waits".to_owned())
    }

    /// One thing happens: mostly the answer to what is under way.
    fn go_on(&mut self) -> Result<(), String> {
        self.clocks();
        if self.seed.one_in(60) {
            return self.restart();
        }
        let Some((id, open)) = self.state.main_order().map(|(id, open)| (id, open.clone())) else {
            return Err("nothing is under way, and it is not over".to_owned());
        };
        let holds = matches!(open.order, Order::Hold { .. });
        if !open.is_cancelled() && (holds || self.seed.one_in(12)) {
            return self.meanwhile(holds);
        }
        let answer = self.judge.answer(&open.order, open.cancelled(), (&mut self.seed, self.now));
        self.happen(Event::Answered { order: id, answer })
    }

    /// A deadline comes, or a person wants something.
    fn meanwhile(&mut self, holds: bool) -> Result<(), String> {
        let asked = |request| Event::Requested { request, by: "somebody".to_owned() };
        let event = match self.seed.below(24) {
            0 => asked(Request::Pause),
            1 | 2 if holds => asked(Request::Resume),
            3 => asked(Request::Reset { session: self.seed.one_in(2) }),
            4 if self.seed.one_in(4) => asked(Request::Stop),
            5 if self.seed.one_in(4) => asked(Request::Abort),
            6 if self.state.has_checkpoints() && self.state.checkpoints.newest().is_some() => {
                let to = pick(&mut self.seed, &["initial", "iter-001", "nowhere"]).to_owned();
                asked(Request::Rollback(Target { to, now: self.seed.one_in(2), git: false, paths: Vec::new() }))
            }
            _ if self.state.is_paused() => asked(Request::Resume),
            _ => {
                let deadline = next_deadline(&self.state).ok_or("an open order without a deadline")?;
                self.pass(deadline.due_in_ms(self.now));
                Event::DeadlinePassed
            }
        };
        self.happen(event)
    }

    /// So much time goes by on both clocks.
    fn pass(&mut self, ms: u64) {
        (self.now.boot_ms, self.now.wall_ms) = (self.now.boot_ms + ms, self.now.wall_ms + ms);
    }

    fn clocks(&mut self) {
        let ms = self.seed.below(20_000);
        self.pass(ms);
        if self.seed.one_in(80) {
            self.tally.jumps += 1;
            let ahead = self.seed.below(200_000_000);
            self.now.wall_ms = (self.now.wall_ms + ahead).saturating_sub(100_000_000);
        }
        if self.seed.one_in(200) {
            self.tally.suspends += 1;
            let ms = self.seed.below(30_000_000);
            self.pass(ms);
        }
    }

    /// The harness is killed, or the machine stops; what was not synced may be gone.
    fn restart(&mut self) -> Result<(), String> {
        self.tally.restarts += 1;
        if self.seed.one_in(2) {
            let lost = self.journal.len() - self.durable;
            self.journal.truncate(self.durable + self.seed.below(lost as u64 + 1) as usize);
            self.now = At { boot_ms: 100, boot_id: self.now.boot_id + 1, ..self.now };
        } else {
            self.replayed()?;
        }
        self.state = RunState::default();
        self.journal.iter().for_each(|entry| self.state.apply(&entry.fact));
        self.judge.crashed(&self.journal);
        if self.state.over.is_some() {
            return Ok(());
        }
        if self.seed.one_in(2) { self.happen(Event::Opened) } else { self.reopen() }
    }

    fn reopen(&mut self) -> Result<(), String> {
        self.reopenings += 1;
        let more = Change::new("max_iterations", "25".to_owned());
        let reset = Change::new("reset_circuit", "true".to_owned());
        let changes = [more, reset].into_iter().filter(|_| self.seed.one_in(2)).collect();
        if self.seed.one_in(3) {
            self.judge.edited();
        }
        let hidden = hidden(1).filter(|_| self.seed.one_in(2));
        self.happen(Event::Reopened {
            by: "loop resume".to_owned(),
            changes,
            unattended: false,
            hidden,
            answers: false,
            injected: None,
            pid_namespace: None,
            scores: Vec::new(),
        })
    }

    fn happen(&mut self, event: Event) -> Result<(), String> {
        self.tally.steps += 1;
        self.judge.before(&event, &self.state, self.now)?;
        let facts = (self.step)(&self.state, Input { at: self.now, event: event.clone() });
        for fact in &facts {
            let mut written: Fact = serde_json::from_str(&serde_json::to_string(fact).map_err(|e| e.to_string())?)
                .map_err(|error| error.to_string())?;
            if let Fact::Happened(input) = &mut written {
                input.at = self.now;
            }
            self.journal.push(Entry { seq: self.journal.len() as u64 + 1, at: self.now, fact: written });
            self.state.apply(fact);
            self.judge.mark();
            self.order(fact)?;
        }
        self.judge.counts(&self.state)?;
        if facts.iter().any(Fact::needs_sync) {
            self.durable = self.journal.len();
        }
        self.judge.after(&event, &facts, &self.state)
    }

    /// Looks at what is ordered or concluded, as it is.
    fn order(&mut self, fact: &Fact) -> Result<(), String> {
        match fact {
            Fact::Ordered { order, .. } => {
                self.orders_since_call += 1;
                if matches!(order, Order::RunAgent { .. } | Order::Hold { .. }) {
                    self.tally.calls += u64::from(!matches!(order, Order::Hold { .. }));
                    self.orders_since_call = 0;
                }
                if self.orders_since_call > ORDERS_BETWEEN_MAX {
                    return Err("it turns in circles".to_owned());
                }
                self.judge.begin(order, self.now)
            }
            Fact::Concluded { outcome, reason, .. } => {
                self.orders_since_call = 0;
                self.judge.concluded(*outcome, reason, &self.state)
            }
            Fact::Happened(_) | Fact::Decided(_) | Fact::OrderCancelled { .. } => Ok(()),
        }
    }

    fn replayed(&self) -> Result<(), String> {
        let mut folded = RunState::default();
        self.journal.iter().for_each(|entry| folded.apply(&entry.fact));
        if folded == self.state { Ok(()) } else { Err("the journal does not rebuild the state".to_owned()) }
    }
}

fn simulate(number: u64, step: Step, tally: &mut Tally) -> Result<(), String> {
    let now = At { wall_ms: 1_700_000_000_000, boot_ms: 1000, boot_id: 1 };
    tally.runs += 1;
    let mut simulation = Simulation {
        seed: Seed::new(number ^ 0x5151),
        judge: Judge::default(),
        state: RunState::default(),
        journal: Vec::new(),
        durable: 0,
        now,
        tally,
        step,
        orders_since_call: 0,
        reopenings: 0,
    };
    simulation.run().map_err(|what| {
        let lines = simulation.journal.iter().rev().take(24).rev();
        let lines: Vec<String> = lines.map(|entry| format!("{:?}", entry.fact).chars().take(400).collect()).collect();
        format!("seed {number}: {what}\n{}", lines.join("\n"))
    })
}

#[test]
#[expect(clippy::print_stdout, reason = "the figures are part of the result")]
fn simulated_runs_keep_every_cap_are_done_only_with_proof_and_always_end_or_wait() {
    let wanted = number_from("SIMULATION").unwrap_or(40_000);
    let mut tally = Tally::default();
    if let Some(seed) = number_from("SIMULATION_SEED") {
        simulate(seed, step, &mut tally).unwrap();
        return;
    }
    let (mut number, mut wrong) = (0, Vec::new());
    while tally.steps < wanted && wrong.len() < 3 {
        wrong.extend(simulate(number, step, &mut tally).err());
        number += 1;
    }
    assert!(wrong.is_empty(), "run one again with SIMULATION_SEED=N\n{}", wrong.join("\n\n"));
    println!("{tally:?}");
    for end in ["verified", "claimed", "exhausted", "tripped", "blocked", "tampered", "stopped", "unable"] {
        assert!(tally.ends.contains_key(end), "no run ended so: {end}");
    }
}

fn found(step: Step, words: &[&str]) -> bool {
    let mut tally = Tally::default();
    (0..2000).any(|number| {
        let found = simulate(number, step, &mut tally).err();
        found.is_some_and(|what| words.iter().any(|word| what.contains(word)))
    })
}

/// A planted fault: what was not judged is called done.
fn done_too_soon(state: &RunState, input: Input) -> Vec<Fact> {
    let mut facts = step(state, input);
    for fact in &mut facts {
        if let Fact::Concluded { outcome, .. } = fact
            && *outcome == Outcome::Exhausted
        {
            *outcome = Outcome::Verified;
        }
    }
    facts
}

/// A planted fault: a reservation is not waited for.
fn called_at_once(state: &RunState, input: Input) -> Vec<Fact> {
    let mut facts = step(state, input);
    for fact in &mut facts {
        if let Fact::Ordered { order, .. } = fact
            && matches!(order, Order::Hold { cause: HoldCause::Calls, .. })
        {
            let (iteration, attempt) = decide::next_attempt(state);
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

#[test]
fn the_simulation_finds_an_end_that_is_called_done_and_a_call_that_nobody_allowed() {
    assert!(found(done_too_soon, &["no gate", "gate was not kept", "tampered"]));
    assert!(found(called_at_once, &["nobody reserved"]));
}

/// The order that an answer belongs to, for whoever folds a journal by hand.
pub(crate) fn answered(event: &Event) -> Option<(OrderId, &Answer)> {
    match event {
        Event::Answered { order, answer } => Some((*order, answer)),
        Event::Created(_)
        | Event::Opened
        | Event::Reopened { .. }
        | Event::OpenedForRequest { .. }
        | Event::Requested { .. }
        | Event::Noticed(_)
        | Event::Around(_)
        | Event::DeadlinePassed => None,
    }
}
