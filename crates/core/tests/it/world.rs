//! A model of the world around a run: a workspace, processes that outlive their harness, a disk that
//! keeps only what was synced. It knows nothing of the core's state and believes only what it saw.
use std::collections::{BTreeMap, BTreeSet};

use loop_core::agent::{Failure, Reset, ResetSource};
use loop_core::ids::RunId;
use loop_core::policy::gate::Verdict;
use loop_core::policy::rank::Rank;
use loop_core::policy::reserve::{Cap, Day, Reserved};
use loop_core::run::*;

/// A tiny generator, so that a failing seed can be run again.
pub(crate) struct Seed(pub(crate) u64);

impl Seed {
    pub(crate) fn new(number: u64) -> Self {
        Self(number.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678_9abc_def1)
    }

    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % n
    }

    pub(crate) fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

/// Who edited the workspace: iteration and attempt, and whether it came to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Edit {
    iteration: u32,
    attempt: u32,
    whole: bool,
}

/// A workspace in the middle of a rollback.
const HALF: Edit = Edit { iteration: u32::MAX, attempt: 0, whole: false };

/// What a provider says that wants no call, or cannot take one.
fn limited(seed: &mut Seed, wall_ms: u64) -> StreamReport {
    let failure = [Failure::RateLimit, Failure::Overload, Failure::Network][seed.below(3) as usize];
    let ahead = [1_000, 90_000, 900_000][seed.below(3) as usize];
    let reset = Reset { at_ms: wall_ms + ahead, source: ResetSource::Provider };
    let session = seed.one_in(2).then(|| "s1".to_owned());
    StreamReport { failure: Some(failure), reset: seed.one_in(2).then_some(reset), session, ..StreamReport::default() }
}

/// What is there, whatever the run believes.
#[derive(Debug, Default)]
pub(crate) struct World {
    tree: Vec<Edit>,
    agent_alive: Option<(u32, u32)>,
    gate_alive: bool,
    saved: BTreeMap<String, Vec<Edit>>,
    begun: BTreeSet<(u32, u32)>,
    /// Iterations whose agent's end somebody has heard of.
    pub(crate) acknowledged: BTreeSet<u32>,
    /// The checkpoint that was taken last.
    newest: String,
    /// The tree on which a gate was last seen kept.
    kept_on: Option<Vec<Edit>>,
    pub(crate) clean_ups: u32,
    /// The iteration whose prompt was given last, the newest text in it, and the newest before it.
    told: (u32, u32, u32),
    /// A protected file is not what it was.
    tampered: bool,
    /// The ledger's newest number, and the one that was granted and not used yet.
    reservation: (i64, Option<i64>),
    /// The gates were kept and somebody has asked with what.
    certified: bool,
    /// There is a hidden gate, and the tree on which it was last seen to pass.
    pub(crate) hidden: bool,
    hidden_on: Option<Vec<Edit>>,
}

impl World {
    /// Looks at an order at the moment in which the hands begin it.
    pub(crate) fn begin(&mut self, order: &Order, iterations_max: u32) -> Result<(), String> {
        let quiet = self.agent_alive.is_none() && !self.gate_alive;
        // Half of a rollback is neither this nor that: nobody works on it but who ends it.
        let half = self.tree.contains(&HALF);
        let fine = !half
            || matches!(order, Order::CleanUp { .. } | Order::Rollback { .. } | Order::Hold { .. })
            || matches!(order, Order::Notify { .. } | Order::ManualCheckpoint { .. })
            || matches!(order, Order::Checkpoint { name: CheckpointName::Interrupted(..) });
        if !fine {
            return Err(format!("half of a rollback is worked on: {order:?}"));
        }
        let check = |fine: bool, what: &str| if fine { Ok(()) } else { Err(format!("{what}: {order:?}")) };
        match order {
            Order::RunAgent { iteration, attempt, injected, reservation, .. } => {
                check(quiet, "an agent is started while another process of the run is alive")?;
                check(!self.acknowledged.contains(iteration), "an iteration is done twice")?;
                check(*iteration <= iterations_max, "the cap of iterations is overshot")?;
                check(self.begun.insert((*iteration, *attempt)), "an attempt is begun twice")?;
                check(*reservation == self.reservation.1.take(), "a call is made that nobody reserved")?;
                check(self.saved.contains_key("initial"), "an agent is started before the initial checkpoint")?;
                if self.told.0 != *iteration {
                    self.told = (*iteration, self.told.1, self.told.1);
                }
                if let Some((first, last)) = injected {
                    check(
                        *first == self.told.2 + 1 && last >= first,
                        "an injected text is lost, twice or out of order",
                    )?;
                    self.told.1 = *last;
                }
                self.agent_alive = Some((*iteration, *attempt));
                self.kept_on = None;
            }
            Order::Checkpoint { name } => {
                check(quiet, "a checkpoint is taken while something edits")?;
                if let CheckpointName::Iteration(number) = name {
                    let there = self.tree.iter().any(|edit| edit.iteration == *number && edit.whole);
                    check(there, "the checkpoint of an iteration does not hold its work")?;
                }
            }
            Order::Measure { .. } => check(quiet, "the tree is measured while something edits")?,
            Order::RunGate { .. } => {
                check(quiet, "a gate runs while something edits")?;
                (self.gate_alive, self.certified) = (true, false);
            }
            Order::CleanUp { .. } => self.clean_ups += 1,
            Order::Hold { .. } => check(quiet, "a run holds while something of it is alive")?,
            Order::Rollback { .. } => {
                check(quiet, "somebody goes back while something edits")?;
            }
            Order::Guard { .. } => check(quiet, "protected files are looked at while something edits")?,
            Order::Judge { .. } => check(quiet, "a copy is judged while something edits")?,
            Order::Certify { .. } => check(self.kept_on.is_some(), "a proof is wanted of what was not kept")?,
            Order::WriteText { .. } => check(quiet, "a text is written while something edits")?,
            Order::Branches { .. } => check(quiet, "branches begin while something edits")?,
            Order::Reserve { .. } | Order::Notify { .. } | Order::ManualCheckpoint { .. } => {}
        }
        Ok(())
    }

    /// An order under way leaves half of its effect.
    pub(crate) fn half(&mut self, order: &Order) {
        if let Order::RunAgent { iteration, attempt, .. } = order {
            self.tree.push(Edit { iteration: *iteration, attempt: *attempt, whole: false });
            (self.kept_on, self.tampered) = (None, true);
        }
        if let Order::Rollback { to, undo, .. } = order
            && self.saved.contains_key(to)
        {
            self.saved.entry(undo.clone()).or_insert_with(|| self.tree.clone());
            self.tree = vec![HALF];
            self.kept_on = None;
        }
    }

    /// The order is carried out; what comes back is its one answer.
    pub(crate) fn complete(&mut self, order: &Order, seed: &mut Seed, wall_ms: u64) -> Answer {
        match order {
            Order::Branches { rung, .. } => self.branches(*rung, seed),
            Order::RunAgent { session: Some(_), .. } if seed.one_in(10) => self.session_lost(),
            Order::RunAgent { iteration, attempt, .. } if seed.one_in(5) => {
                self.agent_alive = None;
                self.tree.push(Edit { iteration: *iteration, attempt: *attempt, whole: false });
                crate::play::agent_heard(Ended::Exit(1), limited(seed, wall_ms))
            }
            Order::RunAgent { iteration, attempt, .. } => {
                self.agent_alive = None;
                self.tree.retain(|edit| (edit.iteration, edit.attempt) != (*iteration, *attempt));
                self.tree.push(Edit { iteration: *iteration, attempt: *attempt, whole: true });
                self.tampered |= seed.one_in(4);
                crate::play::agent(Ended::Exit(i32::from(seed.one_in(4))))
            }
            Order::Checkpoint { name } => {
                let known = self.saved.get(&self.newest) == Some(&self.tree);
                if matches!(name, CheckpointName::BetweenIterations(_)) && known {
                    return Answer::Checkpoint(CheckpointReport::default());
                }
                let mut name = name.to_string();
                while self.saved.contains_key(&name) && name.ends_with('+') {
                    name.push('+');
                }
                self.newest.clone_from(&name);
                self.saved.insert(name.clone(), self.tree.clone());
                Answer::Checkpoint(report_of(&name))
            }
            Order::ManualCheckpoint { name } => {
                self.saved.insert(name.clone(), self.tree.clone());
                Answer::ManualCheckpoint(report_of(name))
            }
            Order::Rollback { to, undo, .. } => {
                let Some(tree) = self.saved.get(to).cloned() else {
                    return Answer::Refused { why: "there is no such checkpoint".to_owned() };
                };
                self.saved.entry(undo.clone()).or_insert_with(|| self.tree.clone());
                (self.tree, self.newest, self.kept_on) = (tree, to.clone(), None);
                let (to, undo) = (to.clone(), undo.clone());
                Answer::RolledBack(Box::new(RollbackReport { to, undo, ..RollbackReport::default() }))
            }
            Order::Measure { .. } => Answer::Measurement(Measurement::default()),
            Order::RunGate { .. } => {
                self.gate_alive = false;
                let ended = match seed.below(12) {
                    0 => Ended::Exit(0),
                    1 => Ended::Exit(127),
                    2 => Ended::Signal(9),
                    _ => Ended::Exit(1),
                };
                self.tampered |= seed.one_in(30);
                self.kept_on = (ended == Ended::Exit(0)).then(|| self.tree.clone());
                crate::play::gate(ended, if seed.one_in(2) { "one" } else { "two" })
            }
            Order::CleanUp { .. } => {
                self.gate_alive = false;
                Answer::Cleaned { killed: u32::from(self.agent_alive.take().is_some()) }
            }
            Order::Hold { .. } => Answer::Held,
            Order::Notify { .. } => Answer::Notified { exit_code: None },
            Order::Guard { .. } => self.guard(),
            Order::WriteText { .. } => crate::play::text_written(seed.one_in(2)),
            Order::Reserve { .. } => self.reserve(seed),
            Order::Judge { tree, .. } => self.judge(*tree, seed),
            Order::Certify { .. } => self.certify(),
        }
    }

    fn judge(&mut self, tree: JudgedTree, seed: &mut Seed) -> Answer {
        let answer = judged(tree, seed);
        if let (JudgedTree::Hidden { .. }, Answer::Judged(report)) = (tree, &answer) {
            let passed = report.gates.first().is_some_and(|gate| gate.verdict == Verdict::Pass);
            self.hidden_on = passed.then(|| self.tree.clone());
        }
        answer
    }

    fn certify(&mut self) -> Answer {
        self.certified = true;
        Answer::Certify(CertifyReport::default())
    }

    /// What was changed is put back, and what the gates said of it says nothing.
    fn guard(&mut self) -> Answer {
        let tampered = NameList::of(self.tampered.then_some("check.sh").into_iter());
        if std::mem::take(&mut self.tampered) {
            self.kept_on = None;
        }
        let restored = !tampered.is_nothing();
        Answer::Guard(Box::new(GuardReport { files: 2, tampered, restored, ..GuardReport::default() }))
    }

    fn reserve(&mut self, seed: &mut Seed) -> Answer {
        let (hour_calls, day) = (1, Day::default());
        if seed.one_in(5) {
            let free_in_ms = seed.one_in(2).then(|| seed.below(3_000_000));
            self.reservation.1 = None;
            let cap = if seed.one_in(6) { Cap::CallsPerDay } else { Cap::CallsPerHour };
            return Answer::Reserved(Reserved::Denied { ledger: None, cap, free_in_ms, hour_calls, day });
        }
        self.reservation = (self.reservation.0 + 1, Some(self.reservation.0 + 1));
        let reservation = self.reservation.0;
        Answer::Reserved(Reserved::Granted {
            ledger: None,
            reservation,
            hour_calls,
            oldest_ms: None,
            next_free_ms: None,
            day,
            left_micros: None,
            left_tokens: None,
        })
    }

    fn session_lost(&mut self) -> Answer {
        self.agent_alive = None;
        crate::play::agent_heard(Ended::Exit(1), StreamReport { session_lost: true, ..StreamReport::default() })
    }

    /// Branches end: now and then one of them passes, and its state is a checkpoint from then on.
    fn branches(&mut self, rung: u32, seed: &mut Seed) -> Answer {
        let checkpoint = format!("branches-{rung}");
        let best = seed.one_in(2).then(|| {
            self.saved.insert(checkpoint.clone(), self.tree.clone());
            BestBranch {
                name: "branch-a".to_owned(),
                run: RunId::from_random([7; 7]),
                passes: seed.one_in(2),
                rank: Rank::default(),
                score: None,
                checkpoint,
            }
        });
        Answer::Branches(Box::new(BranchesReport { best, iterations: 1, ..BranchesReport::default() }))
    }

    /// The hands end a cancelled order; now and then they cannot.
    pub(crate) fn end(&mut self, order: &Order, seed: &mut Seed, wall_ms: u64) -> Answer {
        match order {
            Order::Branches { .. } => {
                let unfinished = seed.one_in(2);
                Answer::Branches(Box::new(BranchesReport { unfinished, ..BranchesReport::default() }))
            }
            Order::RunAgent { iteration, attempt, .. } => {
                if seed.one_in(6) {
                    let left = (0..20).map(|pid| format!("pid {pid} (a name of thirty-two letters, no)")).collect();
                    return Answer::Lost { left };
                }
                if seed.one_in(6) {
                    return self.complete(order, seed, wall_ms); // It ended by itself as it was cancelled.
                }
                self.agent_alive = None;
                self.tree.push(Edit { iteration: *iteration, attempt: *attempt, whole: true });
                crate::play::agent(Ended::ByUs)
            }
            Order::RunGate { .. } if seed.one_in(8) => Answer::Lost { left: vec!["pid 43".to_owned()] },
            Order::RunGate { .. } => {
                self.gate_alive = false;
                crate::play::gate(Ended::ByUs, "")
            }
            Order::Checkpoint { .. } | Order::Measure { .. } if seed.one_in(2) => {
                Answer::Blocked { why: "the disk is full".to_owned() }
            }
            Order::Rollback { .. } if seed.one_in(2) => {
                self.half(order);
                Answer::Blocked { why: "the disk is full".to_owned() }
            }
            Order::Checkpoint { .. }
            | Order::Measure { .. }
            | Order::Rollback { .. }
            | Order::Reserve { .. }
            | Order::WriteText { .. }
            | Order::Guard { .. }
            | Order::Judge { .. }
            | Order::Certify { .. } => Answer::Failed { what: "took too long".to_owned() },
            Order::CleanUp { .. } => Answer::Lost { left: vec!["pid 42".to_owned()] },
            Order::Hold { .. } | Order::Notify { .. } | Order::ManualCheckpoint { .. } => {
                self.complete(order, seed, wall_ms)
            }
        }
    }

    /// The host fails in the middle of an order, which may be under way all the same.
    pub(crate) fn fail(&mut self, order: &Order) -> Answer {
        self.half(order);
        Answer::Failed { what: "no handle left ".repeat(100) }
    }

    /// A person works on the tree while nobody drives the run.
    pub(crate) fn person(&mut self) {
        self.tree.push(Edit { iteration: 0, attempt: 0, whole: true });
        self.kept_on = None;
    }

    /// The machine stops: nothing runs any more.
    pub(crate) fn power_cut(&mut self) {
        self.agent_alive = None;
        self.gate_alive = false;
    }

    /// Looks at an end.
    pub(crate) fn concluded(&self, outcome: Outcome, keeps: bool) -> Result<(), String> {
        let quiet = self.agent_alive.is_none() && !self.gate_alive;
        if outcome == Outcome::Verified && !(quiet && self.kept_on.as_ref() == Some(&self.tree)) {
            return Err("called done on a tree on which no gate was kept".to_owned());
        }
        if outcome == Outcome::Verified && keeps && self.saved.get(&self.newest) != Some(&self.tree) {
            return Err("called done on a tree that no checkpoint holds".to_owned());
        }
        if outcome == Outcome::Verified && (self.tampered || !self.certified) {
            return Err("called done on a tampered tree, or without a proof".to_owned());
        }
        if outcome == Outcome::Verified && self.hidden && self.hidden_on.as_ref() != Some(&self.tree) {
            return Err("called done on a tree on which the hidden gate did not pass".to_owned());
        }
        Ok(())
    }
}

fn report_of(checkpoint: &str) -> CheckpointReport {
    CheckpointReport { checkpoint: Some(checkpoint.to_owned()), ..CheckpointReport::default() }
}

/// What the gates say on a copy.
fn judged(tree: JudgedTree, seed: &mut Seed) -> Answer {
    if seed.one_in(5) {
        let why = "no copy can be made".to_owned();
        return Answer::Judged(Box::new(JudgeReport::not_done(NotJudged::HostFailed { why })));
    }
    let plain = matches!(tree, JudgedTree::Final | JudgedTree::Initial | JudgedTree::Hidden { .. });
    let passes = plain != seed.one_in(4);
    let Answer::GateEnded(report) = crate::play::gate(Ended::Exit(i32::from(!passes)), "one") else { unreachable!() };
    let verdict = if passes { Verdict::Pass } else { Verdict::Fail };
    let gate =
        |gate| JudgedGate { gate, verdict, tries: 1, report: report.clone(), contradiction: None, same_tests: None };
    // Of hidden gates there is one; of others as many as any storm has.
    let count = if let JudgedTree::Hidden { .. } = tree { 1 } else { 3 };
    let gates = (0..count).map(gate).collect();
    Answer::Judged(Box::new(JudgeReport { gates, place: place_of(tree), ..JudgeReport::default() }))
}

/// Where the gates of an order run.
pub(crate) fn place_of(tree: JudgedTree) -> JudgePlace {
    if let JudgedTree::Hidden { in_copy: false, .. } = tree { JudgePlace::Workspace } else { JudgePlace::OwnPath }
}
