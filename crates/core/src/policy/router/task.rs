//! What kind of task it is, from its words and from how the run goes. The lists of words are settings.

use serde::{Deserialize, Serialize};

/// The words of the specification, in the order of the settings.
pub const IMPLEMENTATION: &str = "implement, write, create, build, add, fix";
/// The same for research.
pub const RESEARCH: &str = "research, explore, find, investigate, analyze";
/// The same for complex tasks.
pub const COMPLEX: &str = "design, architect, optimize, refactor, debug complex";

/// More tokens than this are a large context.
const LARGE_CONTEXT_TOKENS: u64 = 100_000;
/// A task of more iterations is harder.
const MANY_ITERATIONS: u32 = 20;
/// A longer goal is harder.
const LONG_GOAL_LETTERS: usize = 500;
/// About so many bytes are one token.
const BYTES_PER_TOKEN: u64 = 4;

/// Which words make a task what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskWords<'a> {
    /// Something is written.
    pub implementation: &'a str,
    /// Something is found out.
    pub research: &'a str,
    /// Several steps of thought are needed.
    pub complex: &'a str,
}

/// What the words of a task say. They are read once, from the whole text: a run remembers only its beginning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskSigns {
    /// Something is written.
    pub implementation: bool,
    /// Something is found out.
    pub research: bool,
    /// Several steps of thought are needed.
    pub complex: bool,
    /// It has the word *complex*.
    pub says_complex: bool,
    /// It is long.
    pub long: bool,
}

impl TaskSigns {
    /// Reads a task.
    #[must_use]
    pub fn of(goal: &str, words: &TaskWords<'_>) -> Self {
        let lower = goal.to_lowercase();
        let has_one = |list: &str| entries(list).any(|entry| has_phrase(&lower, &entry));
        Self {
            implementation: has_one(words.implementation),
            research: has_one(words.research),
            complex: has_one(words.complex),
            says_complex: has_phrase(&lower, "complex"),
            long: goal.chars().count() > LONG_GOAL_LETTERS,
        }
    }
}

/// What is known about a task.
#[derive(Debug, Clone, Copy, Default)]
pub struct TaskEvidence {
    /// What its words say.
    pub signs: TaskSigns,
    /// How long the texts are that the agent gets.
    pub text_bytes: u64,
    /// How many iterations are done.
    pub iterations: u32,
    /// How many of the last ones in a row made no progress.
    pub without_progress: u32,
    /// So many of these are stuck.
    pub stuck_after: u32,
}

/// What kind of task it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TaskAnalysis {
    /// Its texts are longer than most models can have before them.
    pub large_context: bool,
    /// Something is written.
    pub implementation: bool,
    /// Something is found out.
    pub research: bool,
    /// Several steps of thought are needed.
    pub complex: bool,
    /// The last iterations made no progress.
    pub stuck: bool,
    /// How hard it is, in tenths.
    pub difficulty: u8,
}

/// Says what kind of task it is.
#[must_use]
pub fn analyse(evidence: &TaskEvidence) -> TaskAnalysis {
    let signs = evidence.signs;
    let hard = [
        (3, evidence.iterations > MANY_ITERATIONS),
        (2, evidence.without_progress > 0),
        (2, signs.long),
        (3, signs.says_complex),
    ];
    TaskAnalysis {
        large_context: evidence.text_bytes / BYTES_PER_TOKEN > LARGE_CONTEXT_TOKENS,
        implementation: signs.implementation,
        research: signs.research,
        complex: signs.complex,
        stuck: evidence.stuck_after > 0 && evidence.without_progress >= evidence.stuck_after,
        difficulty: hard.iter().filter(|(_, holds)| *holds).map(|(tenths, _)| *tenths).sum::<u8>().min(10),
    }
}

fn entries(list: &str) -> impl Iterator<Item = String> {
    list.split([',', '\n']).map(|entry| entry.trim().to_lowercase()).filter(|entry| !entry.is_empty())
}

/// Whether these words stand in the text one behind the other, whole: `add` is not in `address`.
fn has_phrase(text: &str, phrase: &str) -> bool {
    let split = |text: &str| -> Vec<String> {
        text.split(|letter: char| !letter.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let (text, phrase) = (split(text), split(phrase));
    !phrase.is_empty() && text.windows(phrase.len()).any(|words| words == phrase)
}
