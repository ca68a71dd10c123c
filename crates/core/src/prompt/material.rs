//! What a prompt is made of.
use crate::run::{AgentChoice, Memory, PromptNote, PromptVariant, RunState};
use crate::settings::PromptForm;

/// What a prompt is made of.
#[derive(Debug, Clone, Default)]
pub struct Material<'a> {
    /// What the sections are, by the settings.
    pub form: PromptForm,
    /// The form that was chosen for the attempt.
    pub variant: PromptVariant,
    /// The task.
    pub goal: &'a str,
    /// Urgent texts of a person: they come before everything else.
    pub urgent: &'a [String],
    /// Texts that the user added at the start: they are in every prompt.
    pub inject: &'a [String],
    /// Texts that a person added since.
    pub instructions: &'a [String],
    /// The gates and what they said last.
    pub gates: Vec<GateSaid>,
    /// What the agent may not change, as patterns and paths.
    pub protected: Vec<String>,
    /// How good the newest state is, and the best.
    pub standing: RankWords,
    /// Paths changed so far.
    pub changed: &'a [String],
    /// What else there is to tell.
    pub notes: &'a [PromptNote],
    /// What is remembered of earlier iterations.
    pub memory: Option<&'a Memory>,
    /// A rung of recovery is under way. A form that worked stays after it, and the loop is not stuck then.
    pub stuck: bool,
    /// What earlier iterations tried in vain, one line each, the newest last: for a loop that is stuck.
    pub tried: Vec<String>,
    /// The goal in other words that an agent wrote for this attempt.
    pub mutation: Option<&'a str>,
    /// The summary of older iterations that an agent wrote.
    pub summary: Option<&'a str>,
    /// About how many tokens the summary has at most.
    pub summary_tokens_max: u32,
    /// Variables and settings that changed, one line each: `NAME: old → new`.
    pub environment: &'a [String],
    /// Files that others changed, one line each: `modified: src/a.rs`.
    pub file_events: &'a [String],
    /// The iteration, from 1.
    pub iteration: u32,
    /// The most there will be; none means no limit.
    pub iterations_max: Option<u32>,
    /// What may still be spent, in millionths of a dollar, where there is a limit.
    pub money_left_micros: Option<u64>,
    /// Which agent gets the prompt.
    pub agent: Option<&'a AgentChoice>,
    /// How it is done where there is no gate.
    pub claiming: Option<Claiming<'a>>,
}

/// How good the states of the workspace are, in words.
#[derive(Debug, Clone, Default)]
pub struct RankWords {
    /// The newest state: `0 gates pass, 14 tests pass, 3 fail`.
    pub now: Option<String>,
    /// The best one, and the iteration that left it, where another one is better than the newest.
    pub best: Option<(u32, String)>,
}

impl RankWords {
    /// As the state of a run has it.
    #[must_use]
    pub fn of(state: &RunState) -> Self {
        let now = state.progress.rank();
        let better = state.progress.best().filter(|best| now.is_some_and(|now| best.rank > now));
        Self {
            now: now.filter(|_| !state.gates.is_empty()).map(|rank| rank.words()),
            best: better.map(|best| (best.iteration, best.rank.words())),
        }
    }
}

/// Where there is no gate: what the agent must say, and how often.
#[derive(Debug, Clone, Copy, Default)]
pub struct Claiming<'a> {
    /// How often in a row.
    pub times: u32,
    /// The words of its tag, where it may use one.
    pub tag: &'a str,
}

/// A gate and what it said last.
#[derive(Debug, Clone, Default)]
pub struct GateSaid {
    /// What it is called; empty for the one that `--promise` names.
    pub name: String,
    /// It is shown, and nothing depends on it.
    pub watch: bool,
    /// The command as the user wrote it.
    pub command: String,
    /// It passes when its tests run and at least one of them fails.
    pub red: bool,
    /// How it ended last: `exit 1`; none before its first run.
    pub ended: Option<String>,
    /// It passed.
    pub passed: bool,
    /// It passed in the best state.
    pub passed_in_best: bool,
    /// The first tests that fail.
    pub failing: Vec<String>,
    /// What of its output is about failures, where tests are known in it.
    pub useful: Option<String>,
    /// The end of its stderr, raw.
    pub stderr: Vec<u8>,
    /// The end of its stdout, raw.
    pub stdout: Vec<u8>,
}
