//! What later prompts say about earlier iterations: a ledger of them, the tests since the best state, and notes.
use std::collections::BTreeSet;

use super::judgement::{IterationMemory, TextJudgement};
use super::spec::StoredText;
use super::text_order::{EndedText, TextPurpose};
use crate::agent::StreamReport;
use crate::changes::Changes;
use crate::policy::gate::Verdict;
use crate::policy::ladder::MutationKind;
use crate::test_output::TestsSeen;
use crate::text;

/// How many of the newest iterations the ledger has.
pub const ATTEMPTS_MAX: usize = 6;
/// How many distinct dead ends it has beside them.
pub const DEAD_ENDS_MAX: usize = 12;
/// How many notes there are at most.
pub const NOTES_MAX: usize = 25;
/// How long a note is at most, in letters.
pub const NOTE_LETTERS_MAX: usize = 300;
/// How many older iterations wait for a summary.
const FOLDED_MAX: usize = 20;
/// How many letters of what they wrote.
const FOLDED_LETTERS_MAX: usize = 500;
/// How many names of tests are remembered on each side since the best state.
const SINCE_BEST_MAX: usize = 40;

/// What the run remembers for its prompts, of a bounded size.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Memory {
    attempts: Vec<AttemptLine>,
    dead_ends: Vec<AttemptLine>,
    dead_ends_left_out: u32,
    since_best: SinceBest,
    /// The same since the state that was the best before.
    since_best_before: SinceBest,
    notes: Vec<Note>,
    last_note: u32,
    /// The last iterations as they were, the newest last.
    window: Vec<RawIteration>,
    /// Older ones that no summary has, a bounded number.
    folded: Vec<RawIteration>,
    folded_left_out: u32,
    summary: Option<Summary>,
    summarized_at: u32,
    wanted_text: Option<TextPurpose>,
    ended_text: Option<EndedText>,
    mutation: Option<Mutation>,
}

/// An iteration by what its agent wrote.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RawIteration {
    /// The iteration.
    pub iteration: u32,
    /// The agent that worked.
    pub agent: String,
    /// The model, where it is known.
    pub model: Option<String>,
    /// Its score in ten-thousandths, where it has one.
    pub score: Option<u32>,
    /// Its marks of progress.
    pub markers: Vec<String>,
    /// The beginning of what it wrote.
    pub text: String,
}

/// The summary that an agent wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// Its text.
    pub text: StoredText,
    /// The newest iteration that it is about.
    pub until: u32,
}

/// The goal in other words, as it was asked for last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mutation {
    /// How.
    pub kind: MutationKind,
    /// The text that an agent wrote; none where the fixed one serves.
    pub text: Option<StoredText>,
}

/// One line of the ledger: an iteration, by what the harness measured.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AttemptLine {
    /// The iteration.
    pub iteration: u32,
    /// The agent that worked.
    pub agent: String,
    /// The model, where it is known.
    pub model: Option<String>,
    /// What it changed, where that is measured.
    pub changes: Option<Changes>,
    /// What was decided to be remembered of it.
    pub measured: IterationMemory,
    /// The checkpoint that was restored because of it.
    pub reverted_to: Option<String>,
    /// The gates said more than ever before.
    pub improved: bool,
}

/// Tests that pass or fail otherwise than in the best state, and what the gates said there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SinceBest {
    passing: BTreeSet<String>,
    failing: BTreeSet<String>,
    verdicts: Vec<Option<Verdict>>,
    /// How many names are not known. Where some are not, a test that passes again may be one that fails only since.
    left_out: u32,
}

impl SinceBest {
    /// Tests that failed in the best state and pass now, a bounded number.
    pub fn newly_passing(&self) -> impl Iterator<Item = &str> {
        self.passing.iter().map(String::as_str)
    }

    /// Tests that passed in the best state and fail now, a bounded number.
    pub fn newly_failing(&self) -> impl Iterator<Item = &str> {
        self.failing.iter().map(String::as_str)
    }

    /// What the gate with this number said of the best state.
    #[must_use]
    pub fn verdict(&self, gate: usize) -> Option<Verdict> {
        self.verdicts.get(gate).copied().flatten()
    }

    fn record(&mut self, tests: &TestsSeen) {
        let changed = [(&tests.newly_passing, true), (&tests.newly_failing, false)];
        for (names, passes) in changed {
            if !passes {
                let known = u32::try_from(names.first.len()).unwrap_or(u32::MAX);
                self.left_out = self.left_out.saturating_add(names.count.saturating_sub(known));
            }
            for name in &names.first {
                let (now, before) = if passes {
                    (&mut self.passing, &mut self.failing)
                } else {
                    (&mut self.failing, &mut self.passing)
                };
                // What is back to what it was in the best state is no difference.
                if before.remove(name) || (passes && self.left_out > 0) {
                    continue;
                }
                if now.len() < SINCE_BEST_MAX {
                    now.insert(name.clone());
                } else {
                    self.left_out = self.left_out.saturating_add(1);
                }
            }
        }
    }
}

/// Something that later iterations should know. Notes are added or struck, never rewritten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Numbers them from 1; a number is never used again.
    pub id: u32,
    /// The iteration after which it came.
    pub iteration: u32,
    /// The words.
    pub text: String,
    /// Who said it.
    pub author: NoteAuthor,
}

/// Who wrote a note, or strikes one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoteAuthor {
    /// A person.
    Person,
    /// An agent: what it says was not checked.
    Agent,
}

impl Memory {
    /// The newest iterations, the newest last.
    #[must_use]
    pub fn attempts(&self) -> &[AttemptLine] {
        &self.attempts
    }

    /// What was tried and did not help, each once, a bounded number.
    #[must_use]
    pub fn dead_ends(&self) -> &[AttemptLine] {
        &self.dead_ends
    }

    /// How many more dead ends there were.
    #[must_use]
    pub fn dead_ends_left_out(&self) -> u32 {
        self.dead_ends_left_out
    }

    /// What differs from the best state.
    #[must_use]
    pub fn since_best(&self) -> &SinceBest {
        &self.since_best
    }

    /// Notes that were not struck.
    #[must_use]
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// The last iterations as they were, the newest last.
    #[must_use]
    pub fn window(&self) -> &[RawIteration] {
        &self.window
    }

    /// Older iterations that no summary has, the newest last, a bounded number.
    #[must_use]
    pub fn folded(&self) -> &[RawIteration] {
        &self.folded
    }

    /// How many older ones are in no summary and not remembered any more.
    #[must_use]
    pub fn folded_left_out(&self) -> u32 {
        self.folded_left_out
    }

    /// The summary that an agent wrote.
    #[must_use]
    pub fn summary(&self) -> Option<&Summary> {
        self.summary.as_ref()
    }

    /// The goal in other words, as it was asked for last.
    #[must_use]
    pub fn mutation(&self) -> Option<&Mutation> {
        self.mutation.as_ref()
    }

    /// After how many iterations a summary was asked for last.
    pub(super) fn summarized_at(&self) -> u32 {
        self.summarized_at
    }

    pub(super) fn wanted_text(&self) -> Option<TextPurpose> {
        self.wanted_text
    }

    pub(super) fn unjudged_text(&self) -> Option<&EndedText> {
        self.ended_text.as_ref()
    }

    /// A text is wanted before the next iteration: one at a time, the newest counts.
    pub(super) fn want_text(&mut self, purpose: TextPurpose) {
        self.wanted_text = Some(purpose);
    }

    pub(super) fn text_ended(&mut self, ended: EndedText) {
        self.ended_text = Some(ended);
    }

    pub(super) fn take_ended_text(&mut self) -> Option<EndedText> {
        self.ended_text.take()
    }

    /// What was decided about a text after so many iterations.
    pub(super) fn text_judged(&mut self, judgement: &TextJudgement, iterations: u32) {
        if self.wanted_text == Some(judgement.purpose) {
            self.wanted_text = None;
        }
        match judgement.purpose {
            // The assessment of a run that was opened again becomes its summary.
            TextPurpose::Summary | TextPurpose::Assessment => {
                self.summarized_at = iterations;
                let until = self.folded.last().map_or(0, |last| last.iteration);
                if let Some(text) = &judgement.text {
                    self.summary = Some(Summary { text: text.clone(), until });
                    self.folded.clear();
                    self.folded_left_out = 0;
                }
            }
            TextPurpose::Mutation(kind) => {
                self.mutation = Some(Mutation { kind, text: judgement.text.clone() });
            }
        }
    }

    /// What an agent wrote in an iteration. Older ones leave the window.
    pub(super) fn wrote(&mut self, raw: RawIteration, window: u32) {
        self.window.push(raw);
        let keep = usize::try_from(window).unwrap_or(usize::MAX);
        while self.window.len() > keep {
            let oldest = self.window.remove(0);
            if self.folded.len() == FOLDED_MAX {
                self.folded.remove(0);
                self.folded_left_out += 1;
            }
            let text = oldest.text.chars().take(FOLDED_LETTERS_MAX).collect();
            self.folded.push(RawIteration { text, ..oldest });
        }
    }

    /// What a gate said about its tests.
    pub(super) fn gate_ended(&mut self, tests: Option<&TestsSeen>) {
        if let Some(tests) = tests {
            self.since_best.record(tests);
        }
    }

    /// The state that was judged is the best so far.
    pub(super) fn best(&mut self, verdicts: Vec<Option<Verdict>>) {
        let best = SinceBest { verdicts, ..SinceBest::default() };
        self.since_best_before = std::mem::replace(&mut self.since_best, best);
    }

    /// The newest best state does not count.
    pub(super) fn best_is_void(&mut self) {
        self.since_best = self.since_best_before.clone();
    }

    /// An iteration was judged.
    pub(super) fn iteration(&mut self, line: AttemptLine) {
        if let Some(dead_end) = &line.measured.dead_end {
            let same = |known: &AttemptLine| known.measured.dead_end.as_ref() == Some(dead_end);
            self.dead_ends.retain(|known| !same(known));
            if self.dead_ends.len() == DEAD_ENDS_MAX {
                self.dead_ends.remove(0);
                self.dead_ends_left_out += 1;
            }
            self.dead_ends.push(line.clone());
        }
        if self.attempts.len() == ATTEMPTS_MAX {
            self.attempts.remove(0);
        }
        self.attempts.push(line);
    }

    /// What an agent said that it wants to be noted or struck.
    pub(super) fn claimed(&mut self, iteration: u32, stream: &StreamReport) {
        stream.struck.iter().for_each(|id| self.strike(*id, NoteAuthor::Agent));
        stream.notes.iter().for_each(|text| self.note(iteration, text, NoteAuthor::Agent));
    }

    /// Adds a note. Where there are too many, the oldest one of an agent goes; notes of a person stay.
    pub(super) fn note(&mut self, iteration: u32, words: &str, author: NoteAuthor) {
        let text = text::one_line(words, NOTE_LETTERS_MAX);
        if text.is_empty() || self.notes.iter().any(|note| note.text == text) {
            return;
        }
        if self.notes.len() == NOTES_MAX {
            match self.notes.iter().position(|note| note.author == NoteAuthor::Agent) {
                Some(oldest) => {
                    self.notes.remove(oldest);
                }
                None if author == NoteAuthor::Agent => return,
                None => {
                    self.notes.remove(0);
                }
            }
        }
        self.last_note += 1;
        self.notes.push(Note { id: self.last_note, iteration, text, author });
    }

    /// Strikes a note. An agent strikes only notes of agents.
    pub(super) fn strike(&mut self, id: u32, by: NoteAuthor) {
        let may = |note: &Note| by == NoteAuthor::Person || note.author == NoteAuthor::Agent;
        self.notes.retain(|note| note.id != id || !may(note));
    }
}
