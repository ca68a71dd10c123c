//! What the next prompts have to say beside the goal: notes, texts of a person, changed files.
use super::event::Injected;
use super::fact::PromptNote;
use super::memory::Memory;
use super::surroundings::Surroundings;

/// How many notes wait for a prompt.
const NOTES_MAX: usize = 8;
/// How many injected texts stay in all later prompts.
pub const INJECTIONS_KEPT_MAX: usize = 64;
/// How many urgent texts are remembered as such.
const URGENT_MAX: usize = 64;
/// How many changed paths are remembered.
const CHANGED_NAMES_MAX: usize = 50;
/// How many of those of the newest iteration.
const NEWEST_NAMES_MAX: usize = 8;

/// What the next prompts say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PromptMemory {
    /// What they say about earlier iterations.
    pub memory: Memory,
    /// What they say about files of the inbox, variables of the harness, and files that others changed.
    pub surroundings: Surroundings,
    notes: Vec<PromptNote>,
    injections: Injections,
    changed_names: Vec<String>,
    /// The first of those that the newest iteration changed.
    newest_names: Vec<String>,
}

/// Which injected texts there are and which were given. They are files, so any number of them is a few numbers here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Injections {
    /// The newest.
    pub newest: u32,
    /// The newest that a prompt has held.
    pub given: u32,
    /// The newest that a prompt before this iteration's has held.
    given_before: u32,
    /// Those that stay in all later prompts, a bounded number.
    pub kept: Vec<u32>,
    /// Urgent ones that no iteration has answered, a bounded number: they begin the prompt.
    pub urgent: Vec<u32>,
}

impl PromptMemory {
    /// What the next prompt says.
    #[must_use]
    pub fn notes(&self) -> &[PromptNote] {
        &self.notes
    }

    /// Texts of a person.
    #[must_use]
    pub fn injections(&self) -> &Injections {
        &self.injections
    }

    /// Paths changed so far, the newest last, a bounded number.
    #[must_use]
    pub fn changed_names(&self) -> &[String] {
        &self.changed_names
    }

    /// The first paths that the newest iteration changed.
    #[must_use]
    pub fn newest_names(&self) -> &[String] {
        &self.newest_names
    }

    pub(super) fn note(&mut self, note: PromptNote) {
        if self.notes.len() == NOTES_MAX {
            self.notes.remove(0);
        }
        self.notes.push(note);
    }

    pub(super) fn add(&mut self, notes: &[PromptNote]) {
        notes.iter().cloned().for_each(|note| self.note(note));
    }

    pub(super) fn clear_notes(&mut self) {
        self.notes.clear();
    }

    pub(super) fn drop_unanswered(&mut self) {
        self.notes.retain(|note| !matches!(note, PromptNote::NobodyAnswers { .. }));
    }

    /// The workspace was rolled back: notes about the states since then are dropped, the reason for it stays.
    pub(super) fn rolled_back(&mut self, reverted: bool) {
        let why = |note: &PromptNote| matches!(note, PromptNote::Regressed { .. } | PromptNote::Tampered { .. });
        self.notes.retain(|note| reverted && why(note));
        self.changed_names.clear();
    }

    pub(super) fn changed(&mut self, names: &[String]) {
        self.newest_names = names.iter().take(NEWEST_NAMES_MAX).cloned().collect();
        for name in names {
            self.changed_names.retain(|known| known != name);
            self.changed_names.push(name.clone());
        }
        let surplus = self.changed_names.len().saturating_sub(CHANGED_NAMES_MAX);
        self.changed_names.drain(..surplus);
    }

    pub(super) fn inject(&mut self, text: &Injected) {
        self.injections.newest = self.injections.newest.max(text.number);
        if text.keep && self.injections.kept.len() < INJECTIONS_KEPT_MAX {
            self.injections.kept.push(text.number);
        }
    }

    /// This text begins the next prompt.
    pub(super) fn lead_with(&mut self, number: u32) {
        if self.injections.urgent.len() == URGENT_MAX {
            self.injections.urgent.remove(0);
        }
        self.injections.urgent.push(number);
    }

    pub(super) fn attempt_begins(&mut self, first: bool, last_given: Option<u32>) {
        if first {
            self.injections.given_before = self.injections.given;
            let given = self.injections.given_before;
            self.injections.urgent.retain(|number| *number > given);
        }
        self.injections.given = last_given.unwrap_or(self.injections.given);
    }

    /// The next attempt of the iteration is given again what this one was given.
    pub(super) fn give_again(&mut self) {
        self.injections.given = self.injections.given_before;
    }
}
