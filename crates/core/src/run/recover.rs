//! Decisions about recovery: which rung comes next, what it changes, and how it ended.
use super::branches::{BranchPlan, BranchesLack, BranchesReport, BranchesSpent};
use super::choice::{self, AgentChoice, PromptVariant, Readiness};
use super::fact::GatePoint;
use super::phase::Phase;
use super::recovery::{
    ActiveRung, Climb, CutOffBranches, QuestionPack, RecoveryDecision, RungBegan, RungEnded, RungOutcome, TakenBranch,
    TriedRung,
};
use super::rung_choice;
use super::state::RunState;
use crate::agent::{Failure, signature};
use crate::machine::Deciding;
use crate::policy::breaker::StreakChanges;
use crate::policy::budget::money_text;
use crate::policy::gate::Verdict;
use crate::policy::ladder::{MutationKind, Rung, RungKind};
use crate::policy::router::AgentArm;
use crate::policy::stuck::{self, StuckCause, StuckEvidence, StuckJudgement};
use crate::settings::{ProgressBy, Settings};
use crate::text;

/// How much of a gate's words its signature is made of.
const EXCERPT_BYTES_MAX: usize = 4096;
/// How long one line of a question pack is.
const LINE_LETTERS_MAX: usize = 300;
/// The score that the best branch needs, where the score decides: 0.3, in ten-thousandths.
const WINNER_SCORE: u32 = 3000;
/// Branches that were cut off more often have ended with what they have.
const CUT_OFF_MAX: u32 = 5;
/// Making the copy of a branch, and all that is not its agent or its gates.
const BRANCH_SET_UP_MS: u64 = 30 * 60 * 1000;
/// No branches take longer.
const BRANCHES_MS_MAX: u64 = 7 * 24 * 3600 * 1000;
/// How many causes are named.
const CAUSES_MAX: usize = 3;

/// Whether an iteration was better than everything before.
#[derive(Debug, Clone, Copy)]
pub(super) struct Better {
    pub(super) better: bool,
    /// The score says so, and not the gates.
    pub(super) by_score: bool,
}

/// Whether the iteration that was judged leaves the loop stuck.
pub(super) fn stuck(state: &RunState, better: Better, streaks: &StreakChanges, deciding: &Deciding) -> StuckJudgement {
    let settings = &state.settings.read(deciding).values.recovery;
    let failing = failing(state).filter(|_| !better.by_score);
    let evidence = StuckEvidence {
        better: better.better,
        by_score: better.by_score,
        returned: streaks.returned() && !better.by_score,
        failing: failing.as_deref(),
    };
    stuck::judge(state.recovery.counts(), evidence, settings.stuck_after, deciding)
}

/// What fails and with which error, in a short text that is the same for the same; none where the gates say nothing.
fn failing(state: &RunState) -> Option<String> {
    let mut all = Vec::new();
    let mut says = false;
    for gate in state.gates.required() {
        let Some(last) = gate.last().filter(|last| last.verdict != Verdict::Pass) else { continue };
        let words = signature::signature(text::tail(&last.report.excerpt, EXCERPT_BYTES_MAX));
        let tests = last.report.tests.as_deref().map(|tests| {
            let names = [&tests.still_failing, &tests.newly_failing].map(|names| names.first.join(","));
            format!("{} {}", tests.failed, names.join(","))
        });
        says |= !words.is_empty() || tests.is_some();
        all.push(format!("{}|{}|{words}", gate.spec().name, tests.unwrap_or_default()));
    }
    says.then(|| signature::short_hash(&all.join("\n")))
}

/// How the rung that is under way has ended, once its newest iteration is judged.
pub(super) fn ended(state: &RunState, deciding: &Deciding) -> Option<RecoveryDecision> {
    let climb = state.recovery.climb()?;
    let rung = climb.rung.as_ref()?;
    let judged = matches!(state.phase, Phase::Deciding { .. }) && rung.iterations > 0;
    let end = |outcome, why: Option<String>| {
        let RungBegan { trigger, cause, number, rung: kind, .. } = rung.began;
        let iterations = rung.iterations;
        Some(RecoveryDecision::Ended(RungEnded {
            trigger,
            cause,
            number,
            rung: kind,
            outcome,
            why,
            iterations,
            refused: false,
            out_of: None,
            failure: None,
        }))
    };
    if let Some(times) = rung.cut_off() {
        // A state that a person wants to leave is not what they began with any more.
        let continues = state.requests.rollback.is_none() && times <= CUT_OFF_MAX;
        return Some(RecoveryDecision::CutOff(CutOffBranches { number: rung.began.number, times, continues }));
    }
    if let Some(report) = rung.branches() {
        // What others changed here meanwhile is looked for first.
        if report.best.is_some() && rung.taken().is_none() && state.must_compare() {
            return None;
        }
        let Some(RecoveryDecision::Ended(ended)) = end(RungOutcome::Failed, None) else { return None };
        let ended = RungEnded { iterations: report.iterations, out_of: report.out_of, ..ended };
        return match rung.taken() {
            Some(taken) => judged_here(state, taken, ended, deciding).map(RecoveryDecision::Ended),
            None => Some(branches_ended(state, report, ended, deciding)),
        };
    }
    if !rung.began.branches.is_empty() {
        return None;
    }
    if rung.is_human() {
        return if rung.is_resumed() { end(RungOutcome::Resumed, None) } else { None };
    }
    // An attempt that was cut off can have done it all the same.
    let cut_off = matches!(state.phase, Phase::Deciding { point: GatePoint::Interrupted(..) });
    if cut_off && state.gates_pass() {
        return end(RungOutcome::Success, None);
    }
    if !judged {
        return None;
    }
    if rung.is_better() || state.gates_pass() {
        return end(RungOutcome::Success, None);
    }
    if let Some(unable) = refused(state, rung, state.settings.read(deciding)) {
        let Some(RecoveryDecision::Ended(ended)) = end(RungOutcome::Failed, Some(unable.why)) else { return None };
        return Some(RecoveryDecision::Ended(RungEnded { refused: true, failure: unable.failure, ..ended }));
    }
    if rung.iterations >= rung.began.iterations { end(RungOutcome::Failed, None) } else { None }
}

/// What calls count as that did not report their cost, where that counts.
fn assumed_words(spent: &BranchesSpent) -> String {
    let Some(assumed) = spent.assumed_micros.filter(|_| spent.cost_untold > 0) else { return String::new() };
    let calls = if spent.cost_untold == 1 { "1 call".to_owned() } else { format!("{} calls", spent.cost_untold) };
    format!("; {calls} did not report a cost: {} counted", money_text(assumed))
}

/// What the branches came to: the best of them takes the place of the state where it is better.
fn branches_ended(
    state: &RunState,
    report: &BranchesReport,
    ended: RungEnded,
    deciding: &Deciding,
) -> RecoveryDecision {
    let look = report.plan.as_ref().map(|plan| format!("; all branches: loop status {plan}")).unwrap_or_default();
    let look = assumed_words(&report.spent) + &look;
    let failed = |why: String| RecoveryDecision::Ended(RungEnded { why: Some(why + &look), ..ended.clone() });
    let Some(best) = &report.best else {
        return failed(report.trouble.clone().unwrap_or_else(|| "no branch has a state".to_owned()));
    };
    let by_score = state.settings.read(deciding).values.progress.progress_by == ProgressBy::Score;
    let known = state.progress.best().map(|best| best.rank).or_else(|| state.progress.rank());
    let better = best.passes || known.is_none_or(|known| best.rank > known);
    // Where the score decides, what a branch did counts by its gates and by how much it changed.
    let worse = known.is_some_and(|known| best.rank < known);
    let better = better || (by_score && !worse && best.score.is_some_and(|score| score > WINNER_SCORE));
    let words = if best.passes { "its gates pass".to_owned() } else { best.rank.words() };
    if !better {
        return failed(format!("the best of them, {}, is not better: {words}", best.name));
    }
    if state.recovery.rung().is_some_and(ActiveRung::is_disturbed) {
        let id = state.spec.as_ref().map_or("", |spec| spec.id.as_str());
        return failed(format!(
            "{}: {words}; files were changed here meanwhile, so nothing is restored; take it: loop rollback {id} {}",
            best.name, best.checkpoint
        ));
    }
    RecoveryDecision::Takes(TakenBranch {
        number: ended.number,
        name: best.name.clone(),
        why: format!("{}: {words}{look}", best.name),
        restore: best.checkpoint.clone(),
    })
}

/// Whether the branch that was restored is as good here as in its copy.
fn judged_here(state: &RunState, taken: &TakenBranch, ended: RungEnded, deciding: &Deciding) -> Option<RungEnded> {
    let pending = state.checkpoints.target(None).is_some() || state.checkpoints.rolling_back();
    if pending || !matches!(state.phase, Phase::Deciding { .. }) {
        return None;
    }
    let best = state.progress.best();
    let by_score = state.settings.read(deciding).values.progress.progress_by == ProgressBy::Score;
    let is_best = best.is_some_and(|best| best.checkpoint.as_ref() == Some(&taken.restore));
    let worse = best.zip(state.progress.rank()).is_some_and(|(best, rank)| rank < best.rank);
    if state.gates_pass() || is_best || (by_score && !worse) {
        return Some(RungEnded { outcome: RungOutcome::Success, why: Some(taken.why.clone()), ..ended });
    }
    Some(RungEnded { why: Some(format!("{}; here the gates say nothing better", taken.why)), ..ended })
}

/// How long branches may take: the agent's own time for each iteration of each, and as much for gates and copies.
pub(super) fn branches_ms(state: &RunState, branches: &[BranchPlan], deciding: &Deciding) -> u64 {
    let settings = state.settings.read(deciding);
    let gates = settings.gates.iter().map(|gate| gate.timeout_ms.unwrap_or(settings.gate_timeout_ms));
    let gates: u64 = gates.fold(0, u64::saturating_add);
    let each = settings.timeout_ms.saturating_add(gates.saturating_mul(4)).saturating_add(BRANCH_SET_UP_MS);
    let iterations = branches.iter().map(|branch| u64::from(branch.iterations)).fold(1, u64::saturating_add);
    let limit = each.saturating_mul(iterations).min(BRANCHES_MS_MAX);
    state.time_left(deciding).map_or(limit, |left| left.min(limit))
}

/// What several branches try, each with its agent.
///
/// # Errors
/// Why this run can have none.
fn branches_of(state: &RunState, settings: &Settings, count: u32, iterations: u32) -> Result<Vec<BranchPlan>, String> {
    let spec = state.spec.as_ref().ok_or("the loop has not begun")?;
    if spec.plan.is_some() {
        return Err("this loop is itself a branch".to_owned());
    }
    if spec.backend != "git" {
        return Err(format!("branches need checkpoints of git, and this loop has {}", spec.backend));
    }
    if settings.values.agent.container.is_some() {
        return Err("the container has the workspace, and branches work in copies of it".to_owned());
    }
    let left = settings.values.iterations_max().map(|most| most.saturating_sub(state.iterations_used()));
    // What cannot be divided goes to the first ones, so that none is left over.
    let of_branch = |number: u32| {
        left.map_or(iterations, |left| iterations.min(left / count.max(1) + u32::from(number < left % count.max(1))))
    };
    if left.is_some_and(|left| left < count) {
        return Err(format!("there are not enough iterations left for {count} branches"));
    }
    let ready = |arm: &AgentArm| choice::readiness(state, settings, arm) == Readiness::Ready;
    let enabled: Vec<AgentArm> = settings.values.enabled().into_iter().filter(ready).collect();
    let now = choice::without_rung(state, settings);
    let plans = (0..count).zip(&APPROACHES);
    let mut used: Vec<AgentArm> = Vec::new();
    Ok(plans
        .map(|(number, approach)| {
            // A single agent works as it would without the rung: with the model that a rung before has left.
            let several: &[AgentArm] = if enabled.len() > 1 { &enabled } else { &[] };
            let named = several.iter().find(|arm| arm.agent == approach.agent);
            let unused = || {
                several
                    .iter()
                    .find(|arm| !used.contains(arm))
                    .or_else(|| several.get(used.len() % several.len().max(1)))
            };
            let arm = named.or_else(unused).cloned().unwrap_or_else(|| now.arm());
            used.push(arm.clone());
            BranchPlan {
                name: approach.name.to_owned(),
                approach: approach.words.to_owned(),
                choice: AgentChoice { prompt: PromptVariant::Mutated(approach.form), ..AgentChoice::of(arm) },
                iterations: of_branch(number),
            }
        })
        .collect())
}

/// One way to go about a task.
struct Approach {
    name: &'static str,
    words: &'static str,
    form: MutationKind,
    /// The agent that the specification names, where it is enabled.
    agent: &'static str,
}

/// The ways that branches take, in this order.
const APPROACHES: [Approach; 4] = [
    Approach { name: "branch-a", words: "bottom-up implementation", form: MutationKind::Decompose, agent: "codex" },
    Approach { name: "branch-b", words: "research-first", form: MutationKind::Research, agent: "gemini" },
    Approach { name: "branch-c", words: "constraint-driven", form: MutationKind::Constrain, agent: "codex" },
    Approach { name: "branch-d", words: "by examples", form: MutationKind::Examples, agent: "claude" },
];

/// What a person has to know about an agent that cannot work before they do something.
fn unable_words(agent: &str, failure: Failure) -> Option<String> {
    match failure {
        Failure::Auth => Some(format!("{agent} is not signed in")),
        Failure::Billing => Some(format!("{agent} has no credit, or a plan without it")),
        Failure::RateLimit
        | Failure::Overload
        | Failure::Model
        | Failure::Network
        | Failure::Permission
        | Failure::Context
        | Failure::TurnLimit
        | Failure::Crash
        | Failure::Hang
        | Failure::Refusal
        | Failure::Question => None,
    }
}

/// An agent that could not work.
struct UnableAgent {
    why: String,
    failure: Option<Failure>,
}

/// Why agents could not work in this ladder, each once: these are the first cause, and the first thing that helps.
fn unable_agents(state: &RunState) -> Vec<UnableAgent> {
    let now = state.agent.routing.unable_agents();
    let mut all: Vec<UnableAgent> = now
        .filter_map(|(agent, failure)| {
            let why = unable_words(agent, failure)?;
            Some(UnableAgent { why, failure: Some(failure) })
        })
        .collect();
    let tried = state.recovery.climb().map_or(&[][..], |climb| &climb.tried);
    for ended in tried.iter().map(|tried| &tried.ended).filter(|ended| ended.refused) {
        let Some(why) = ended.why.as_ref().filter(|why| all.iter().all(|known| known.why != **why)) else { continue };
        all.push(UnableAgent { why: why.clone(), failure: ended.failure });
    }
    all
}

/// What a person does about it.
fn unable_help(unable: &UnableAgent) -> String {
    let first = match unable.failure {
        Some(Failure::Auth) => "sign in",
        Some(Failure::Billing) => "add credit",
        Some(Failure::Model) => "change its model",
        Some(
            Failure::RateLimit
            | Failure::Overload
            | Failure::Network
            | Failure::Permission
            | Failure::Context
            | Failure::TurnLimit
            | Failure::Crash
            | Failure::Hang
            | Failure::Refusal
            | Failure::Question,
        )
        | None => "try it by hand",
    };
    format!("{}: {first}, or take it out of --agent", unable.why)
}

/// Why the agent or model that the rung chose cannot work at all.
fn refused(state: &RunState, rung: &ActiveRung, settings: &Settings) -> Option<UnableAgent> {
    // Another agent has worked in its place.
    if let Some(agent) = &rung.began.choice.agent {
        let arm = AgentArm { agent: agent.clone(), model: rung.began.choice.model.clone() };
        if choice::readiness(state, settings, &arm) == Readiness::Unable {
            let failure = state.agent.routing.unable(agent);
            let why = failure.and_then(|failure| unable_words(agent, failure));
            return Some(UnableAgent { why: why.unwrap_or_else(|| format!("{arm} cannot work")), failure });
        }
    }
    let failure = state.agent.failure().filter(|_| rung.began.choice.is_about_agent() && state.agent_ended())?;
    let agent = state.agent_name();
    let why = match failure {
        Failure::Auth | Failure::Billing => unable_words(agent, failure)?,
        Failure::Model => {
            format!("{agent} does not know the model {}", state.model_chosen().unwrap_or("that is set"))
        }
        Failure::RateLimit
        | Failure::Overload
        | Failure::Network
        | Failure::Crash
        | Failure::TurnLimit
        | Failure::Hang
        | Failure::Context
        | Failure::Refusal
        | Failure::Permission
        | Failure::Question => return None,
    };
    Some(UnableAgent { why, failure: Some(failure) })
}

/// What recovery does now, where it is on, the loop is stuck and a rung is left.
pub(super) fn next(state: &RunState, deciding: &Deciding) -> Option<RecoveryDecision> {
    let settings = state.settings.read(deciding);
    let values = &settings.values.recovery;
    let climb = state.recovery.climb();
    if !values.recover || climb.is_some_and(|climb| climb.rung.is_some()) {
        return None;
    }
    let (trigger, cause, done) = match climb {
        Some(Climb { trigger, cause, done, .. }) => (*trigger, *cause, *done),
        None => {
            let cause = state.recovery.stuck().filter(|_| !state.recovery.is_used_up())?;
            (state.iterations_done(), cause, 0)
        }
    };
    let rungs = values.rungs();
    let Some(rung) = usize::try_from(done).ok().and_then(|done| rungs.get(done)) else {
        return Some(RecoveryDecision::UsedUp { trigger });
    };
    let place = RungPosition { trigger, cause, number: done + 1 };
    Some(begin(state, settings, place, *rung))
}

/// What was not enough for branches, where only a person is left to ask: then that limit is the reason.
pub(super) fn ran_out_of(state: &RunState, next: &RecoveryDecision) -> Option<BranchesLack> {
    let asks = match next {
        RecoveryDecision::Began(began) => began.questions.is_some(),
        RecoveryDecision::UsedUp { .. } => true,
        RecoveryDecision::CutOff(_) | RecoveryDecision::Takes(_) | RecoveryDecision::Ended(_) => false,
    };
    state.recovery.last_ran_out_of().filter(|_| asks)
}

/// Whether the breaker waits: recovery is on, not used up, and a count of iterations starts it. Where no count does, only
/// a ladder that is under way holds the breaker.
pub(super) fn holds_breaker(state: &RunState, deciding: &Deciding) -> bool {
    state.recovery.may_start(&state.settings.read(deciding).values.recovery)
}

/// Where a rung stands.
#[derive(Debug, Clone, Copy)]
struct RungPosition {
    trigger: u32,
    cause: StuckCause,
    number: u32,
}

fn begin(state: &RunState, settings: &Settings, place: RungPosition, rung: Rung) -> RecoveryDecision {
    let RungPosition { trigger, cause, number } = place;
    let left_out = |why: String, out_of: Option<BranchesLack>| {
        RecoveryDecision::Ended(RungEnded {
            trigger,
            cause,
            number,
            rung: rung.kind,
            outcome: RungOutcome::Skipped,
            why: Some(why),
            iterations: 0,
            refused: false,
            out_of,
            failure: None,
        })
    };
    let skipped = |why: String| left_out(why, None);
    let used = state.recovery.climb().map_or(0, |climb| climb.iterations);
    let left = settings.values.recovery.recovery_budget.map_or(u32::MAX, |budget| budget.saturating_sub(used));
    let human = rung.kind == RungKind::Human;
    // Branches have their own numbers.
    let mut branches = Vec::new();
    if let RungKind::Branches(count) = rung.kind {
        if lacks_tokens(state, settings, count) {
            let why = format!("the tokens that are left are not enough for one call of {count} branches");
            return left_out(why, Some(BranchesLack::Money));
        }
        match branches_of(state, settings, count, rung.iterations) {
            Ok(found) => branches = found,
            Err(why) => return skipped(why),
        }
    }
    if left == 0 && !human && branches.is_empty() {
        let budget = settings.values.recovery.recovery_budget.unwrap_or(used);
        return skipped(format!("the recovery budget of {budget} iterations is used up: {used} were made"));
    }
    let choice = match rung_choice::of_rung(state, settings, rung.kind) {
        Ok(choice) => choice,
        Err(why) => return skipped(why),
    };
    RecoveryDecision::Began(Box::new(RungBegan {
        trigger,
        cause,
        number,
        rung: rung.kind,
        choice,
        iterations: if branches.is_empty() { rung.iterations.min(left) } else { rung.iterations },
        branches,
        restore: best_to_restore(state).filter(|_| !human),
        questions: human.then(|| Box::new(questions(state, cause))),
    }))
}

/// Whether not every branch could make one call with the tokens that are left.
fn lacks_tokens(state: &RunState, settings: &Settings, count: u32) -> bool {
    let left = settings.caps.tokens.map(|most| most.saturating_sub(state.tokens(settings)));
    left.is_some_and(|left| left < state.worst_tokens(settings).saturating_mul(count.into()))
}

/// The best state, where the newest is worse. What others changed since then would be lost: then it is not restored.
fn best_to_restore(state: &RunState) -> Option<String> {
    let best = state.progress.best().filter(|_| state.has_checkpoints())?;
    let worse = state.progress.rank().is_some_and(|rank| rank < best.rank) && !state.progress.others_since_best();
    best.checkpoint.clone().filter(|_| worse && state.requests.rollback.is_none())
}

/// What a person needs to know: what was tried, what fails, what is most likely the cause, what would help.
fn questions(state: &RunState, cause: StuckCause) -> QuestionPack {
    let climb = state.recovery.climb();
    let tried = climb.map(|climb| climb.tried.iter().map(tried_words).collect()).unwrap_or_default();
    let fails: Vec<String> = state.gates.required().filter_map(fails_words).collect();
    let id = state.spec.as_ref().map_or("", |spec| spec.id.as_str());
    let mut helps: Vec<String> = unable_agents(state).iter().map(unable_help).collect();
    helps.extend([
        format!("say what it does not know: loop inject {id} \"…\", then loop resume {id}"),
        format!("look at what it tried: loop history {id}, loop diff {id}"),
        "change the workspace or the gate by hand, then resume: that is noticed and not undone".to_owned(),
    ]);
    let skipped = climb.map_or(0, |climb| climb.tried.iter().filter(|one| is_skipped(one)).count());
    let skipped = u32::try_from(skipped).unwrap_or(u32::MAX);
    QuestionPack { tried, skipped, fails, causes: causes(state, cause), helps }
}

fn is_skipped(tried: &TriedRung) -> bool {
    tried.ended.outcome == RungOutcome::Skipped
}

fn tried_words(tried: &TriedRung) -> String {
    let what = tried.choice.words();
    let what = if what.is_empty() { String::new() } else { format!(" ({what})") };
    let why = tried.ended.why.as_ref().map_or(String::new(), |why| format!(": {why}"));
    let words = match tried.ended.outcome {
        RungOutcome::Skipped => format!("{}{what}: skipped{why}", tried.rung.name()),
        RungOutcome::Success | RungOutcome::Failed | RungOutcome::Resumed => {
            let word = if tried.ended.iterations == 1 { "iteration" } else { "iterations" };
            format!("{}{what}: {} {word}, nothing better{why}", tried.rung.name(), tried.ended.iterations)
        }
    };
    text::one_line(&words, LINE_LETTERS_MAX)
}

fn fails_words(gate: &super::gates::Gate) -> Option<String> {
    let last = gate.last().filter(|last| last.verdict != Verdict::Pass)?;
    let tests = last.report.tests.as_deref().map_or(String::new(), |tests| {
        let names: Vec<&str> =
            tests.newly_failing.first.iter().chain(&tests.still_failing.first).map(String::as_str).take(5).collect();
        let names = if names.is_empty() { String::new() } else { format!(": {}", names.join(", ")) };
        format!(", {} of {} tests fail{names}", tests.failed, tests.ran())
    });
    let said = text::one_line(text::tail(&last.report.excerpt, 400), 160);
    let said = if said.is_empty() || !tests.is_empty() { String::new() } else { format!(": {said}") };
    let words = format!("{} ({}{tests}){said}", gate.spec().name, last.report.ended.brief());
    Some(text::one_line(&words, LINE_LETTERS_MAX))
}

/// The likeliest causes by what was measured, the likeliest first.
fn causes(state: &RunState, cause: StuckCause) -> Vec<String> {
    let evidence = &state.progress.streaks().evidence;
    let recent = || evidence.iter().rev().take(6);
    let count =
        |holds: fn(&crate::policy::breaker::IterationEvidence) -> bool| recent().filter(|one| holds(one)).count();
    let seen = recent().count();
    let mut causes: Vec<String> = unable_agents(state).into_iter().map(|unable| unable.why).collect();
    let tampered = count(|one| one.tampered);
    if tampered > 0 {
        causes.push(format!(
            "the agent wants to change protected files ({tampered} of the last {seen} iterations): the tests may \
             contradict the task"
        ));
    }
    let errors = count(|one| one.error.is_some());
    if errors > 0 {
        let words = recent().find_map(|one| one.error.clone()).unwrap_or_default();
        causes.push(format!("the agent itself fails ({errors} of the last {seen} iterations): {words}"));
    }
    let says_done = count(|one| one.says_done);
    if says_done > 0 {
        causes.push(format!(
            "the gate asks for something that the task does not say: the agent said {says_done} times that it is done"
        ));
    }
    let idle = count(|one| one.files == Some(0) || one.noticed == Some(false));
    if idle * 2 > seen {
        causes.push(format!(
            "the agent sees nothing more to change ({idle} of the last {seen} iterations changed nothing)"
        ));
    }
    causes.push(match cause {
        StuckCause::Oscillation => "the agent undoes its own work: two demands may contradict each other".to_owned(),
        StuckCause::SameFailure => {
            "each try fails with the same error: the cause may lie where the agent does not look, \
             such as the environment, a missing dependency or the gate itself"
                .to_owned()
        }
        StuckCause::NoBetter | StuckCause::LowScore => {
            "the next step is too large: nothing that is measured got better".to_owned()
        }
    });
    if !state.progress.regressed().is_empty() {
        causes.push(format!("fixing one thing breaks another: {}", state.progress.regressed().join(", ")));
    }
    causes.push("something is missing that only a person knows or has: a decision, access, data".to_owned());
    causes.push("the gate asks for something that the task does not say, or that cannot be met".to_owned());
    causes.truncate(CAUSES_MAX);
    causes.into_iter().map(|cause| text::one_line(&cause, LINE_LETTERS_MAX)).collect()
}
