//! What is known about being stuck: the counts, the rung that is under way, and the choice of a rung that worked.
use serde::{Deserialize, Serialize};

use super::branches::{BranchPlan, BranchesLack, BranchesReport, BranchesSpent};
use super::choice::PromptVariant;
use super::state::RunState;
use crate::agent::Failure;
use crate::policy::ladder::RungKind;
use crate::policy::stuck::{StuckCause, StuckCounts, StuckJudgement};
use crate::settings::RecoverySettings;

/// How many rungs of a ladder are remembered.
const TRIED_MAX: usize = 32;
/// How many iterations without a better result are named.
const DEAD_ENDS_MAX: usize = 6;

/// What was decided about recovery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecoveryDecision {
    /// A rung begins.
    Began(Box<RungBegan>),
    /// The branches of a rung were cut off: they continue, or have ended with what they have.
    CutOff(CutOffBranches),
    /// The best branch of a rung is restored, and judged by the gates here.
    Takes(TakenBranch),
    /// A rung has ended, or had nothing to change.
    Ended(RungEnded),
    /// No rung is left, and none of them is a person.
    UsedUp {
        /// After which iteration the loop was stuck.
        trigger: u32,
    },
}

impl RecoveryDecision {
    /// Whether it says which rung comes next, and not how the one before ended.
    #[must_use]
    pub fn is_choice(&self) -> bool {
        match self {
            Self::Began(_) | Self::UsedUp { .. } => true,
            Self::CutOff(_) | Self::Takes(_) => false,
            Self::Ended(ended) => ended.outcome == RungOutcome::Skipped,
        }
    }
}

/// A rung begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RungBegan {
    /// After which iteration the loop was stuck.
    pub trigger: u32,
    /// Why it counted as stuck.
    pub cause: StuckCause,
    /// Which rung of the ladder, from 1.
    pub number: u32,
    /// What it changes.
    pub rung: RungKind,
    /// What its iterations use instead of what they used before.
    #[serde(default, skip_serializing_if = "RungChoice::is_nothing")]
    pub choice: RungChoice,
    /// How many iterations it may take.
    pub iterations: u32,
    /// The checkpoint that is restored first: the newest state is worse than the best.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restore: Option<String>,
    /// What is tried beside each other, where the rung is branches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub branches: Vec<BranchPlan>,
    /// What a person needs to know, where the rung is a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub questions: Option<Box<QuestionPack>>,
}

/// The branches of a rung were cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CutOffBranches {
    /// Which rung of the ladder, from 1.
    pub number: u32,
    /// How often so far.
    pub times: u32,
    /// Whether they continue.
    pub continues: bool,
}

/// The best branch of a rung is restored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakenBranch {
    /// Which rung of the ladder, from 1.
    pub number: u32,
    /// The branch.
    pub name: String,
    /// How good it is, by its own gates.
    pub why: String,
    /// Its state.
    pub restore: String,
}

/// A rung has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RungEnded {
    /// After which iteration the loop was stuck.
    pub trigger: u32,
    /// Why it counted as stuck.
    pub cause: StuckCause,
    /// Which rung of the ladder, from 1.
    pub number: u32,
    /// What it changes.
    pub rung: RungKind,
    /// How it ended.
    pub outcome: RungOutcome,
    /// Why, where the outcome alone does not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// How many iterations it took.
    #[serde(default)]
    pub iterations: u32,
    /// The agent or model that it chose could not work: that is its failure, and not the end of the run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refused: bool,
    /// A limit of the run because of which a branch of it ended or did not start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub out_of: Option<BranchesLack>,
    /// Why it could not, where it is one that a person can do something about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
}

/// How a rung ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RungOutcome {
    /// One of its iterations was better than everything before.
    Success,
    /// None was.
    Failed,
    /// It had nothing to change.
    Skipped,
    /// A person came and resumed the loop.
    Resumed,
}

impl RungOutcome {
    /// As JSON has it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
            Self::Resumed => "resumed",
        }
    }
}

/// What a rung uses instead of what the settings say. What is not named stays.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RungChoice {
    /// The agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The model, by the agent's own name for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How long the model thinks, by the agent's own word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// The form of the prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<PromptVariant>,
}

impl RungChoice {
    /// Whether it changes nothing.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// Whether it names another agent or model.
    #[must_use]
    pub fn is_about_agent(&self) -> bool {
        self.agent.is_some() || self.model.is_some() || self.effort.is_some()
    }

    /// What the rung changes, for people.
    #[must_use]
    pub fn words(&self) -> String {
        let named = |what: &str, value: &Option<String>| value.as_ref().map(|value| format!("{what} {value}"));
        let all = [named("agent", &self.agent), named("model", &self.model), named("effort", &self.effort)];
        all.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    /// This on top of what worked before.
    fn over(&self, kept: &Self) -> Self {
        let other_agent = self.agent.is_some();
        Self {
            agent: self.agent.clone().or_else(|| kept.agent.clone()),
            model: self.model.clone().or_else(|| kept.model.clone().filter(|_| !other_agent)),
            effort: self.effort.clone().or_else(|| kept.effort.clone().filter(|_| !other_agent)),
            prompt: self.prompt.or(kept.prompt),
        }
    }
}

/// What a person needs to know who is to help.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct QuestionPack {
    /// What was tried, one rung each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<String>,
    /// How many of them were skipped.
    #[serde(skip_serializing_if = "is_zero")]
    pub skipped: u32,
    /// What fails.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fails: Vec<String>,
    /// The most likely causes, the likeliest first, each with its evidence.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<String>,
    /// What would help.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub helps: Vec<String>,
}

impl QuestionPack {
    /// One short line, for the end of a run, an alert and a notification. `loop status` shows the rest.
    #[must_use]
    pub fn sentence(&self, id: &str) -> String {
        let all = u32::try_from(self.tried.len()).unwrap_or(u32::MAX);
        let word = |count: u32| if count == 1 { "1 rung".to_owned() } else { format!("{count} rungs") };
        let tried = match (all.saturating_sub(self.skipped), self.skipped) {
            (0, 0) => "no rung tried".to_owned(),
            (0, skipped) => format!("{} skipped", word(skipped)),
            (tried, 0) => format!("{} tried", word(tried)),
            (tried, skipped) => format!("{} tried, {skipped} skipped", word(tried)),
        };
        format!("Stuck after all recovery attempts: {tried}; what is needed: loop status {id}")
    }
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// What the run knows about being stuck.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recovery {
    counts: StuckCounts,
    stuck: Option<StuckCause>,
    climb: Option<Climb>,
    kept: RungChoice,
    /// After which iteration the loop was stuck with no rung left to try.
    used_up_after: Option<u32>,
    branch_iterations: u32,
    branch_rungs: u32,
}

/// A ladder that is under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Climb {
    /// After which iteration the loop was stuck.
    pub trigger: u32,
    /// Why.
    pub cause: StuckCause,
    /// How many rungs have ended.
    pub done: u32,
    /// How many iterations they took.
    pub iterations: u32,
    /// The rung that is under way.
    pub rung: Option<ActiveRung>,
    /// What was tried so far, a bounded number.
    pub tried: Vec<TriedRung>,
    /// The iteration in which the agent or model of a rung could not work.
    refused_in: Option<u32>,
}

/// A rung that is under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActiveRung {
    /// How it began.
    pub began: RungBegan,
    /// How many of its iterations were judged.
    pub iterations: u32,
    /// What came of its iterations, or of the wait for a person.
    result: RungResult,
    /// How far its branches are.
    branches: BranchesPhase,
    /// What the branches reported last.
    counted: BranchesReport,
    /// How often they were cut off.
    cut_off: u32,
    /// Others changed files of the workspace while its branches worked.
    disturbed: bool,
    /// The branch whose state is restored.
    taken: Option<TakenBranch>,
}

/// What came of a rung so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum RungResult {
    /// Nothing.
    #[default]
    Nothing,
    /// One of its iterations was better than everything before.
    Better,
    /// It waited for a person, and the person came.
    PersonCame,
}

/// How far the branches of a rung are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum BranchesPhase {
    /// They work, or will; or the rung has none.
    #[default]
    AtWork,
    /// They were cut off, and it is not decided yet whether they continue.
    CutOff,
    /// They have ended.
    Ended,
}

/// A rung that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TriedRung {
    /// What it was to change.
    pub rung: RungKind,
    /// What it used.
    pub choice: RungChoice,
    /// How it ended.
    pub ended: RungEnded,
}

impl Recovery {
    /// The counts of iterations without a better result.
    #[must_use]
    pub fn counts(&self) -> &StuckCounts {
        &self.counts
    }

    /// Why the loop is stuck, where it is by its newest iteration.
    #[must_use]
    pub fn stuck(&self) -> Option<StuckCause> {
        self.stuck
    }

    /// The ladder that is under way.
    #[must_use]
    pub fn climb(&self) -> Option<&Climb> {
        self.climb.as_ref()
    }

    /// The rung that is under way.
    #[must_use]
    pub fn rung(&self) -> Option<&ActiveRung> {
        self.climb.as_ref()?.rung.as_ref()
    }

    /// Whether no rung is left to try.
    #[must_use]
    pub fn is_used_up(&self) -> bool {
        self.used_up_after.is_some()
    }

    /// What the next attempt uses instead of what the settings say.
    #[must_use]
    pub fn choice(&self) -> RungChoice {
        match self.rung() {
            Some(rung) => rung.began.choice.over(&self.kept),
            None => self.kept.clone(),
        }
    }

    /// What a rung that worked has left.
    #[must_use]
    pub fn kept(&self) -> &RungChoice {
        &self.kept
    }

    /// What a person needs to know, while the loop waits for one.
    #[must_use]
    pub fn questions(&self) -> Option<&QuestionPack> {
        self.rung()?.began.questions.as_deref()
    }

    /// Whether the rung's agent or model could not work in this iteration.
    #[must_use]
    pub fn was_refused_in(&self, iteration: u32) -> bool {
        self.climb.as_ref().is_some_and(|climb| climb.refused_in == Some(iteration))
    }

    pub(super) fn iteration(&mut self, judgement: &StuckJudgement) {
        self.counts.record(judgement);
        self.stuck = judgement.cause;
        if judgement.is_better() {
            self.used_up_after = None;
        }
        if let Some(rung) = self.climb.as_mut().and_then(|climb| climb.rung.as_mut()) {
            rung.iterations += 1;
            if judgement.is_better() {
                rung.result = RungResult::Better;
            }
        }
    }

    /// How many iterations branches have taken, in all ladders of this run.
    #[must_use]
    pub fn branch_iterations(&self) -> u32 {
        self.branch_iterations
    }

    /// Whether recovery is on, not used up, and can start or is under way.
    #[must_use]
    pub fn may_start(&self, settings: &RecoverySettings) -> bool {
        settings.recover && (settings.stuck_after.is_some() || self.climb.is_some()) && !self.is_used_up()
    }

    /// How many rungs of this run were branches that have ended.
    #[must_use]
    pub fn branch_rungs(&self) -> u32 {
        self.branch_rungs
    }

    /// What was not enough, where the newest rung was branches that did not come to their end.
    #[must_use]
    pub fn last_ran_out_of(&self) -> Option<BranchesLack> {
        let climb = self.climb.as_ref().filter(|climb| climb.rung.is_none())?;
        climb.tried.last().filter(|last| last.ended.number == climb.done)?.ended.out_of
    }

    /// A person resumes the loop: branches that did not come to their end are tried again.
    pub(super) fn resumed_by_person(&mut self) {
        if self.last_ran_out_of().is_some()
            && let Some(climb) = &mut self.climb
        {
            climb.tried.pop();
            climb.done -= 1;
        }
    }

    /// The branches that are to be tried now.
    #[must_use]
    pub fn open_branches(&self) -> Option<&[BranchPlan]> {
        let rung = self.rung().filter(|rung| rung.branches != BranchesPhase::Ended)?;
        Some(rung.began.branches.as_slice()).filter(|branches| !branches.is_empty())
    }

    /// Branches were reported. What they used since their last report comes back. Whether those that were cut off
    /// continue is a decision of its own.
    pub(super) fn branches_reported(&mut self, report: &BranchesReport) -> BranchesSpent {
        let Some(rung) = self.climb.as_mut().and_then(|climb| climb.rung.as_mut()) else {
            return report.spent;
        };
        let iterations = report.iterations.saturating_sub(rung.counted.iterations);
        let spent = report.spent.since(&rung.counted.spent);
        rung.counted = report.clone();
        rung.cut_off += u32::from(report.unfinished);
        if rung.branches != BranchesPhase::Ended {
            rung.branches = if report.unfinished { BranchesPhase::CutOff } else { BranchesPhase::AtWork };
        }
        self.branch_iterations = self.branch_iterations.saturating_add(iterations);
        if !report.unfinished {
            self.branches_ended();
        }
        spent
    }

    /// The branches have ended with what they reported last.
    fn branches_ended(&mut self) {
        let rung = self.climb.as_mut().and_then(|climb| climb.rung.as_mut());
        if let Some(rung) = rung.filter(|rung| rung.branches != BranchesPhase::Ended) {
            rung.branches = BranchesPhase::Ended;
            self.branch_rungs += 1;
        }
    }

    /// Branches are ordered: what was cut off before continues.
    pub(super) fn branches_begin(&mut self) {
        let rung = self.climb.as_mut().and_then(|climb| climb.rung.as_mut());
        if let Some(rung) = rung.filter(|rung| rung.branches == BranchesPhase::CutOff) {
            rung.branches = BranchesPhase::AtWork;
        }
    }

    /// A journal from before [`RecoveryDecision::CutOff`] has only what followed from it.
    fn cut_off_ended(&mut self) {
        if self.rung().is_some_and(|rung| rung.branches == BranchesPhase::CutOff) {
            self.branches_ended();
        }
    }

    /// Others changed files of the workspace.
    pub(super) fn others_changed(&mut self) {
        let rung = self.climb.as_mut().and_then(|climb| climb.rung.as_mut());
        if let Some(rung) = rung.filter(|rung| rung.branches == BranchesPhase::Ended) {
            rung.disturbed = true;
        }
    }

    /// Whether branches have ended, and it is not decided yet what comes of them.
    #[must_use]
    pub fn has_branches_to_judge(&self) -> bool {
        self.rung().is_some_and(|rung| rung.branches == BranchesPhase::Ended && rung.taken.is_none())
    }

    /// The verdicts of the gates do not count.
    pub(super) fn better_is_void(&mut self) {
        let rung = self.climb.as_mut().and_then(|climb| climb.rung.as_mut());
        if let Some(rung) = rung.filter(|rung| rung.result == RungResult::Better) {
            rung.result = RungResult::Nothing;
        }
    }

    pub(super) fn decided(&mut self, decision: &RecoveryDecision, iteration: u32) {
        match decision {
            RecoveryDecision::Began(began) => {
                let rung = ActiveRung {
                    began: (**began).clone(),
                    iterations: 0,
                    result: RungResult::Nothing,
                    branches: BranchesPhase::AtWork,
                    counted: BranchesReport::default(),
                    cut_off: 0,
                    disturbed: false,
                    taken: None,
                };
                self.climb_from(began.trigger, began.cause).rung = Some(rung);
            }
            RecoveryDecision::CutOff(cut_off) if cut_off.continues => self.branches_begin(),
            RecoveryDecision::CutOff(_) => self.branches_ended(),
            RecoveryDecision::Takes(taken) => {
                self.cut_off_ended();
                if let Some(rung) = self.climb.as_mut().and_then(|climb| climb.rung.as_mut()) {
                    rung.taken = Some(taken.clone());
                }
            }
            RecoveryDecision::Ended(ended) => {
                self.cut_off_ended();
                self.ended(ended, iteration);
            }
            RecoveryDecision::UsedUp { trigger } => {
                self.climb = None;
                self.used_up_after = Some(*trigger);
            }
        }
    }

    fn climb_from(&mut self, trigger: u32, cause: StuckCause) -> &mut Climb {
        self.climb.get_or_insert_with(|| Climb {
            trigger,
            cause,
            done: 0,
            iterations: 0,
            rung: None,
            tried: Vec::new(),
            refused_in: None,
        })
    }

    fn ended(&mut self, ended: &RungEnded, iteration: u32) {
        let climb = self.climb_from(ended.trigger, ended.cause);
        let choice = climb.rung.take().map(|rung| rung.began.choice).unwrap_or_default();
        match ended.outcome {
            RungOutcome::Success => {
                self.kept = choice.over(&self.kept);
                self.begin_again();
            }
            RungOutcome::Resumed => self.begin_again(),
            RungOutcome::Failed | RungOutcome::Skipped => {
                climb.done = ended.number;
                climb.iterations += ended.iterations;
                climb.refused_in = ended.refused.then_some(iteration);
                if climb.tried.len() < TRIED_MAX {
                    climb.tried.push(TriedRung { rung: ended.rung, choice, ended: ended.clone() });
                }
            }
        }
    }

    /// The next time that the loop is stuck, the ladder begins with its first rung.
    fn begin_again(&mut self) {
        self.climb = None;
        self.forget_counts();
    }

    /// What was counted does not hold any more: a person closed the breaker, or went back.
    pub(super) fn forget_counts(&mut self) {
        self.counts = StuckCounts::default();
        self.stuck = None;
        self.used_up_after = None;
    }

    /// A person lets the loop continue that waits for one.
    pub(super) fn person_came(&mut self) {
        let rung = self.climb.as_mut().and_then(|climb| climb.rung.as_mut());
        if let Some(rung) = rung.filter(|rung| rung.is_human()) {
            rung.result = RungResult::PersonCame;
        }
    }

    /// A person chose an agent or a model: it holds, whatever a rung has chosen.
    pub(super) fn person_chose(&mut self) {
        let drop = |choice: &mut RungChoice| *choice = RungChoice { prompt: choice.prompt, ..RungChoice::default() };
        drop(&mut self.kept);
        if let Some(rung) = self.climb.as_mut().and_then(|climb| climb.rung.as_mut()) {
            drop(&mut rung.began.choice);
        }
    }
}

impl RunState {
    /// What the last iterations did that got nothing further, one line each, the newest last, a bounded number.
    #[must_use]
    pub fn dead_ends(&self) -> Vec<String> {
        let evidence = &self.progress.streaks().evidence;
        let fruitless: Vec<_> = evidence.iter().filter(|one| !one.improved).collect();
        let from = fruitless.len().saturating_sub(DEAD_ENDS_MAX);
        let line = |one: &&crate::policy::breaker::IterationEvidence| {
            let files = match one.files {
                Some(0) => "nothing changed".to_owned(),
                Some(1) => "1 file changed".to_owned(),
                Some(files) => format!("{files} files changed"),
                None => "what changed is not measured".to_owned(),
            };
            let error = one.error.as_ref().map_or(String::new(), |error| format!(", the agent ended in: {error}"));
            let done = if one.says_done { ", the agent said that it was done" } else { "" };
            format!("iteration {}: {files}, the gates said nothing better{error}{done}", one.iteration)
        };
        fruitless.iter().skip(from).map(line).collect()
    }
}

impl ActiveRung {
    /// Whether one of its iterations was better than everything before.
    #[must_use]
    pub fn is_better(&self) -> bool {
        self.result == RungResult::Better
    }

    /// The branch whose state is restored, where one is.
    #[must_use]
    pub fn taken(&self) -> Option<&TakenBranch> {
        self.taken.as_ref()
    }

    /// Whether others changed files of the workspace while its branches worked.
    #[must_use]
    pub fn is_disturbed(&self) -> bool {
        self.disturbed
    }

    /// What came of its branches, where it has some and they have ended.
    #[must_use]
    pub fn branches(&self) -> Option<&BranchesReport> {
        (self.branches == BranchesPhase::Ended).then_some(&self.counted)
    }

    /// How often its branches were cut off, where it is to be decided whether they continue.
    #[must_use]
    pub fn cut_off(&self) -> Option<u32> {
        (self.branches == BranchesPhase::CutOff).then_some(self.cut_off)
    }

    /// Whether a person came.
    #[must_use]
    pub fn is_resumed(&self) -> bool {
        self.result == RungResult::PersonCame
    }

    /// Whether it is a person that the loop waits for.
    #[must_use]
    pub fn is_human(&self) -> bool {
        self.began.rung == RungKind::Human
    }
}
