//! The learned router: which agent is expected to cost least for a pass, by what the user's own runs recorded.
//!
//! A chance of a pass is drawn for each agent from what is known of it (Thompson sampling): one with few tries gets a
//! wide draw and is tried now and then, one with many tries gets about its own share. The agent with the lowest cost per
//! drawn pass works. All of it is whole numbers, and every draw follows from a seed.
use serde::{Deserialize, Serialize};

use super::agents::AgentArm;

/// What is assumed about an agent counts as much as so many tries.
pub const PRIOR_TRIES: u32 = 5;
/// More tries than these count in the same proportion: a draw is sorted.
const TRIES_MAX: u32 = 500;
/// What a try costs where no run reported a cost: then only passes count.
const UNKNOWN_COST_MICROS: u64 = 1;
/// The most rows that a run gets: they are in its first fact.
pub const SCORE_ROWS_MAX: usize = 24;

/// What was recorded of one agent with one model in one class of tasks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScoreRow {
    /// The agent.
    pub agent: String,
    /// The model that was named for it; none is the agent's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The class of the task: [`task_class`].
    pub class: String,
    /// Iterations whose gates had a verdict.
    pub tries: u32,
    /// Those that ended a run as verified.
    pub passes: u32,
    /// What the tries cost, in millionths of a dollar, where they reported it.
    pub cost_micros: u64,
    /// How many reported it.
    pub with_cost: u32,
}

impl ScoreRow {
    /// Agent and model.
    #[must_use]
    pub fn arm(&self) -> AgentArm {
        AgentArm { agent: self.agent.clone(), model: self.model.clone() }
    }

    fn is_of(&self, arm: &AgentArm) -> bool {
        self.agent == arm.agent && self.model == arm.model
    }
}

/// The class of a task, from what its gates say now: nothing is built, so many tests fail, or a check without tests
/// fails.
#[must_use]
pub fn task_class(did_not_build: bool, failing_tests: u32) -> &'static str {
    match (did_not_build, failing_tests) {
        (true, _) => "build",
        (false, 0) => "check",
        (false, 1) => "1 test",
        (false, 2..10) => "2-9 tests",
        (false, _) => "10+ tests",
    }
}

/// Some tries together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Sum {
    tries: u32,
    passes: u32,
    cost_micros: u64,
    with_cost: u32,
}

impl Sum {
    fn of<'a>(rows: impl Iterator<Item = &'a ScoreRow>) -> Self {
        rows.fold(Self::default(), |sum, row| Self {
            tries: sum.tries.saturating_add(row.tries),
            passes: sum.passes.saturating_add(row.passes.min(row.tries)),
            cost_micros: sum.cost_micros.saturating_add(row.cost_micros),
            with_cost: sum.with_cost.saturating_add(row.with_cost),
        })
    }

    fn mean_cost(self) -> Option<u64> {
        self.cost_micros.checked_div(u64::from(self.with_cost))
    }
}

/// What is expected of one agent in one class of tasks, with what is assumed about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArmScore {
    /// Agent and model.
    pub arm: AgentArm,
    /// Its tries in this class.
    pub tries: u32,
    /// Those that passed.
    pub passes: u32,
    /// What a pass has cost so far, where there is one and costs are known.
    pub cost_per_pass: Option<u64>,
    /// Passes and tries with those that are assumed.
    expected: (u32, u32),
    /// What a try costs, with what is assumed.
    per_try: u64,
}

impl ArmScore {
    /// The expected chance of a pass in thousandths.
    #[must_use]
    pub fn chance_permille(&self) -> u32 {
        let (passes, tries) = self.expected;
        u32::try_from(u64::from(passes) * 1000 / u64::from(tries.max(1))).unwrap_or(1000)
    }

    /// What a pass is expected to cost, in millionths of a dollar: what a try costs, divided by the chance.
    #[must_use]
    pub fn expected_per_pass(&self) -> u64 {
        let (passes, tries) = self.expected;
        self.per_try.saturating_mul(u64::from(tries)) / u64::from(passes.max(1))
    }

    /// The cost of a pass with a chance that is drawn by this seed.
    fn drawn_per_pass(&self, seed: u64) -> u128 {
        let (passes, tries) = self.expected;
        let chance = beta(passes, tries.saturating_sub(passes), seed);
        (u128::from(self.per_try) << 64) / u128::from(chance.max(1))
    }
}

/// What is expected of an agent in a class. What is assumed is its own share over all classes where it has enough
/// tries, else that of all agents; in tries, and in cost.
#[must_use]
pub fn score(rows: &[ScoreRow], arm: &AgentArm, class: &str) -> ArmScore {
    let here = Sum::of(rows.iter().filter(|row| row.is_of(arm) && row.class == class));
    let own = Sum::of(rows.iter().filter(|row| row.is_of(arm)));
    let all = Sum::of(rows.iter());
    let base = if own.tries >= PRIOR_TRIES { own } else { all };
    let share = (u64::from(base.passes) * u64::from(PRIOR_TRIES) + u64::from(base.tries / 2))
        .checked_div(u64::from(base.tries))
        .map_or(PRIOR_TRIES / 2, |passes| u32::try_from(passes).unwrap_or(PRIOR_TRIES));
    // Neither never nor always: a draw needs both.
    let assumed = share.clamp(1, PRIOR_TRIES - 1);
    let (passes, tries) = bounded(here.passes, here.tries);
    let base = if own.with_cost >= PRIOR_TRIES { own } else { all };
    let usual = base.mean_cost().unwrap_or(UNKNOWN_COST_MICROS);
    let cost = usual.saturating_mul(u64::from(PRIOR_TRIES)).saturating_add(here.cost_micros);
    ArmScore {
        arm: arm.clone(),
        tries: here.tries,
        passes: here.passes,
        cost_per_pass: here.mean_cost().and_then(|mean| {
            let all = mean.saturating_mul(u64::from(here.tries));
            all.checked_div(u64::from(here.passes))
        }),
        expected: (assumed + passes, PRIOR_TRIES + tries),
        per_try: (cost / u64::from(PRIOR_TRIES.saturating_add(here.with_cost))).max(UNKNOWN_COST_MICROS),
    }
}

/// The same proportion with at most so many tries.
fn bounded(passes: u32, tries: u32) -> (u32, u32) {
    if tries <= TRIES_MAX {
        return (passes.min(tries), tries);
    }
    let part = u64::from(passes.min(tries)) * u64::from(TRIES_MAX) / u64::from(tries);
    (u32::try_from(part).unwrap_or(TRIES_MAX), TRIES_MAX)
}

/// The seed of an iteration: the same run and iteration always draw the same.
#[must_use]
pub fn seed_of(run: &str, iteration: u32) -> u64 {
    mixed(hash(run.as_bytes()) ^ u64::from(iteration))
}

/// The agent whose drawn cost per pass is lowest; of equal ones the first. None without agents, or where no run has
/// recorded anything.
#[must_use]
pub fn draw(rows: &[ScoreRow], arms: &[AgentArm], class: &str, seed: u64) -> Option<ArmScore> {
    if rows.iter().all(|row| row.tries == 0) {
        return None;
    }
    let scores = arms.iter().map(|arm| score(rows, arm, class));
    scores.min_by_key(|score| score.drawn_per_pass(seed ^ hash(score.arm.to_string().as_bytes())))
}

/// A draw from the beta distribution with whole numbers, as parts of 2^64: of so many random numbers, the one at the
/// place of the passes in their order.
fn beta(passes: u32, failures: u32, seed: u64) -> u64 {
    let count = passes.saturating_add(failures).saturating_sub(1).max(1);
    let mut numbers: Vec<u64> =
        (1..=u64::from(count)).map(|at| mixed(seed.wrapping_add(at.wrapping_mul(STEP)))).collect();
    numbers.sort_unstable();
    let at = usize::try_from(passes.max(1)).unwrap_or(1) - 1;
    numbers.get(at).or(numbers.last()).copied().unwrap_or(u64::MAX / 2)
}

/// The step of SplitMix64.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// The output function of SplitMix64.
fn mixed(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// FNV-1a, 64 bits.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
