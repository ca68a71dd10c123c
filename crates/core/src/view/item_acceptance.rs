//! What checks the criteria of a list, for people and programs: before any work (`loop prd check`), and after a pass.
use serde::Serialize;

use super::{Certificate, JSON_VERSION};
use crate::list::CommandSource;
use crate::list::Item;
use crate::policy::item::{CriterionState, ItemEvaluation};
use crate::policy::proof::ProbeResult;
use crate::run::ProofJudge;
use crate::text;

/// Bounds of one value and of the names in one line.
const VALUE_LETTERS_MAX: usize = 200;
const NAMED_MAX: usize = 20;

/// One criterion, checked before any work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckedCriterion {
    /// The item.
    pub item: String,
    /// The criterion in it; empty where the item has none.
    pub criterion: String,
    /// The sentence.
    pub text: String,
    /// What checks it; null where files or a person do.
    pub command: Option<String>,
    /// Where the command comes from.
    pub source: Option<CommandSource>,
    /// Files that it names.
    pub artifacts: Vec<String>,
    /// What is known of it now.
    pub state: CriterionState,
    /// How each try ended.
    pub tries: Vec<String>,
    /// The line in the file.
    pub line: u32,
}

/// All criteria that were checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AcceptanceView {
    /// The version of this form.
    pub version: u32,
    /// The file.
    pub file: String,
    /// How it was read.
    pub read_as: String,
    /// In the order of the file.
    pub criteria: Vec<CheckedCriterion>,
}

impl AcceptanceView {
    /// The view of a file.
    #[must_use]
    pub fn new(file: &str, read_as: &str, criteria: Vec<CheckedCriterion>) -> Self {
        Self { version: JSON_VERSION, file: file.to_owned(), read_as: read_as.to_owned(), criteria }
    }

    /// How many are in a state.
    #[must_use]
    pub fn count(&self, state: CriterionState) -> usize {
        self.criteria.iter().filter(|one| one.state == state).count()
    }

    /// Something must be fixed or approved first.
    #[must_use]
    pub fn is_to_fix(&self) -> bool {
        self.criteria.iter().any(|one| one.state.is_to_fix())
    }

    /// Commands of the file that no person has approved, each once: line and command, whole.
    #[must_use]
    pub fn not_approved(&self) -> Vec<String> {
        let mut all: Vec<(u32, &str)> = Vec::new();
        for one in self.criteria.iter().filter(|one| one.state == CriterionState::NotApproved) {
            let command = one.command.as_deref().unwrap_or_default();
            if !all.iter().any(|(_, known)| *known == command) {
                all.push((one.line, command));
            }
        }
        all.iter().map(|(line, command)| format!("{}:{line}: {}", self.file, text::escaped(command))).collect()
    }

    /// What the states mean for the person, one sentence for each state that needs one.
    #[must_use]
    pub fn advice(&self) -> Vec<String> {
        let sentence = |state: CriterionState| match state {
            CriterionState::RedNow | CriterionState::NotApproved => None,
            CriterionState::AlreadyGreen => {
                Some("already green: the check passes before any work, so a pass proves nothing; make it stricter")
            }
            CriterionState::CannotRun => {
                Some("cannot run: a program is missing, or it does not end in time; fix it first")
            }
            CriterionState::Flaky => Some("flaky: it passes at times on the same files; fix the check first"),
            CriterionState::ForAPerson => {
                Some("for a person: nothing checks it; add a command or a file to the criterion, or give --check CMD")
            }
        };
        let states = [
            CriterionState::CannotRun,
            CriterionState::Flaky,
            CriterionState::AlreadyGreen,
            CriterionState::ForAPerson,
        ];
        let found = states.into_iter().filter(|state| self.count(*state) > 0);
        found.filter_map(sentence).map(str::to_owned).collect()
    }
}

/// What the old sources did under the new tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OldSources {
    /// The checks failed again: they notice the work.
    FailAgain,
    /// The checks passed with the old sources too.
    StillPass,
    /// It was not tried.
    NotTried(String),
}

/// How a pass of an item was judged once more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemJudgedAgain {
    /// The same checks passed on a clean copy. Else why not.
    pub clean_copy: Result<(), String>,
    /// The old sources under the new tests.
    pub old_sources: OldSources,
}

impl ItemJudgedAgain {
    /// By the proof of the run that worked on the item.
    #[must_use]
    pub fn of(certificate: Option<&Certificate>) -> Self {
        let Some(proof) = certificate.filter(|proof| proof.verified) else {
            let why = "the run has no proof".to_owned();
            return Self { clean_copy: Err(why.clone()), old_sources: OldSources::NotTried(why) };
        };
        let clean_copy = match &proof.judge {
            Some(ProofJudge::CleanCopy { .. }) => Ok(()),
            Some(ProofJudge::Workspace { why }) => Err(why.clone()),
            None => Err("no clean copy was made".to_owned()),
        };
        let old_sources = match proof.strength.as_ref().map(|strength| &strength.undo) {
            Some(ProbeResult::Noticed) => OldSources::FailAgain,
            Some(ProbeResult::NotNoticed) => OldSources::StillPass,
            Some(ProbeResult::NotTried(why)) => {
                OldSources::NotTried(why.words().unwrap_or("it was not asked for").to_owned())
            }
            None => OldSources::NotTried("it was not asked for".to_owned()),
        };
        Self { clean_copy, old_sources }
    }
}

/// What proved each criterion of an item that passed, in Markdown, and the criteria that nothing of their own checked.
#[must_use]
pub fn item_proof_report(item: &Item, evaluation: &ItemEvaluation, again: &ItemJudgedAgain) -> String {
    let mut all = format!("### {}: {}\n\n| criterion | proved by |\n|---|---|\n", cell(&item.id), cell(&item.title));
    let sentence = |id: &str| item.criteria.iter().find(|one| one.id == id).map_or("", |one| one.text.as_str());
    for proof in &evaluation.proofs {
        let by = match (proof.artifacts.is_empty(), proof.is_own) {
            (true, _) => "nothing".to_owned(),
            (false, true) => names(&proof.artifacts),
            (false, false) => format!("{} (the item's diff and check, no check of its own)", names(&proof.artifacts)),
        };
        all.push_str(&format!("| {} {} | {by} |\n", cell(&proof.criterion), cell(sentence(&proof.criterion))));
    }
    let unchecked: Vec<String> =
        evaluation.proofs.iter().filter(|proof| !proof.is_own).map(|proof| cell(&proof.criterion)).collect();
    let unchecked = if unchecked.is_empty() { "none".to_owned() } else { names(&unchecked) };
    all.push_str(&format!("\nCriteria without a check of their own: {unchecked}.\n"));
    all.push_str(&match &again.clean_copy {
        Ok(()) => "The same checks passed on a clean copy.\n".to_owned(),
        Err(why) => format!("The checks were not repeated on a clean copy: {}.\n", cell(why)),
    });
    all.push_str(&match &again.old_sources {
        OldSources::FailAgain => "With the old sources under the new tests the checks failed again.\n".to_owned(),
        OldSources::StillPass => "With the old sources the checks pass too: they do not notice this work.\n".to_owned(),
        OldSources::NotTried(why) => format!("The old sources were not tried under the new tests: {}.\n", cell(why)),
    });
    for flag in evaluation.flags.iter().take(NAMED_MAX) {
        all.push_str(&format!("Note: {}.\n", cell(flag)));
    }
    all
}

fn names(all: &[String]) -> String {
    let mut shown: Vec<String> = all.iter().take(NAMED_MAX).map(|name| cell(name)).collect();
    if all.len() > NAMED_MAX {
        shown.push(format!("and {} more", all.len() - NAMED_MAX));
    }
    shown.join(", ")
}

/// A value that cannot end a cell of a table.
fn cell(value: &str) -> String {
    text::one_line(value, VALUE_LETTERS_MAX).replace('|', "\\|")
}
