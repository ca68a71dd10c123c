//! Whether the tests of a gate that must be there did run: in the workspace, in a clean copy, and when a proof is looked at
//! again.
use super::gates::Gate;
use super::judge_report::JudgedGate;
use super::state::RunState;
use crate::machine::Deciding;
use crate::policy::gate::Verdict;
use crate::policy::proof::FindingKind;
use crate::test_output::{KnownTests, SameNames, Tests, TestsSeen};
use crate::text::NameList;

/// Result of comparing a round with the required tests. Ordered: better to worse.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum KeptTests {
    /// All of them ran, or it cannot be known.
    Yes,
    /// Required names are missing, but the same number of names differs only in brackets. Unknown whether a test was lost.
    OtherBrackets,
    /// Some did not run.
    No {
        /// Which, for people.
        what: String,
    },
}

/// Compares the tests of a round with those that must be there.
pub(super) fn kept(gate: &Gate, now: &TestsSeen) -> KeptTests {
    if gate.is_selective() || gate.spec().trust_exit {
        return KeptTests::Yes;
    }
    let most = gate.earlier_tests().most;
    let missing = match gate.test_set() {
        None if !now.missing.is_nothing() && now.missing_without_brackets.is_nothing() => {
            return KeptTests::OtherBrackets;
        }
        Some(SameNames::WithoutBrackets) => &now.missing_without_brackets,
        Some(SameNames::Exactly | SameNames::No) | None => &now.missing,
    };
    if !missing.is_nothing() {
        return KeptTests::No { what: lost(missing) };
    }
    if now.ran().saturating_add(now.asked_away.count) < most && !now.by_suites && !now.all_named {
        return KeptTests::No { what: format!("{} ran before, {} now", count_text(most), now.ran()) };
    }
    KeptTests::Yes
}

fn lost(missing: &NameList) -> String {
    format!("tests are gone, renamed or skipped: {}", missing.words())
}

/// So many tests, in words.
pub(super) fn count_text(count: u32) -> String {
    if count == 1 { "1 test".to_owned() } else { format!("{count} tests") }
}

/// Why a gate that passed on a copy is not believed: tests that the workspace's own pass has are not there. Returns None if
/// the gate failed on the copy (its failure is reported elsewhere).
#[must_use]
pub fn lost_on_copy(state: &RunState, judged: &JudgedGate, deciding: &Deciding) -> Option<String> {
    let gate = state.gates.get(judged.gate).filter(|_| judged.verdict == Verdict::Pass)?;
    let accepted = &state.settings.read(deciding).accepted;
    if gate.spec().trust_exit || accepted.contains(&FindingKind::RenamedTests) {
        return None;
    }
    let in_workspace = gate.last()?.report.tests.as_deref()?;
    let Some(now) = judged.report.tests.as_deref() else {
        let ran = in_workspace.ran();
        return (ran > 0).then(|| format!("{} ran in the workspace, and the copy shows none", count_text(ran)));
    };
    match kept(gate, now) {
        // Tests that are also missing in the workspace are already reported there.
        KeptTests::No { what } if kept(gate, in_workspace) <= KeptTests::OtherBrackets => Some(what),
        KeptTests::No { .. } | KeptTests::OtherBrackets | KeptTests::Yes => None,
    }
}

/// A gate of a loop on a tree in which the result of that loop was merged with others.
#[derive(Debug)]
pub struct MergedTests<'a> {
    /// The gate, as the loop left it.
    pub gate: &'a Gate,
    /// Its tests in the last round of the loop.
    pub before: &'a Tests,
    /// Its tests on the merged tree.
    pub now: Option<&'a Tests>,
    /// Whether two runs on the merged tree ran the same tests; none where it ran once.
    pub same: Option<SameNames>,
    /// How many tests of this gate ran at least at the end of any merged loop.
    pub fewest: u32,
}

/// Why a gate that passed on a merged tree is not believed: tests that ran at the end of its loop do not run there.
/// `is_removed`: another merged loop was to remove this test.
#[must_use]
pub fn lost_in_merge(tests: &MergedTests<'_>, is_removed: &dyn Fn(&str) -> bool, _: &Deciding) -> Option<String> {
    let MergedTests { gate, before, now, same, fewest } = tests;
    let same = gate.test_set().or(*same);
    if gate.is_selective() || same == Some(SameNames::No) || gate.spec().trust_exit {
        return None;
    }
    let count = |tests: &Tests| tests.passed.saturating_add(tests.failed);
    let Some(now) = now else {
        let ran = count(before);
        return (ran > 0).then(|| format!("{} ran in its loop, and none is shown here", count_text(ran)));
    };
    let mut known = KnownTests::default();
    known.add(before);
    let missing = known.missing(now);
    let names = match same {
        None if missing.without_brackets.is_empty() => Vec::new(),
        Some(SameNames::WithoutBrackets) => missing.without_brackets,
        None | Some(SameNames::Exactly | SameNames::No) => missing.exact,
    };
    let names = NameList::of(names.iter().map(String::as_str).filter(|name| !is_removed(name)));
    if !names.is_nothing() {
        return Some(lost(&names));
    }
    let named = before.names_all() && now.names_all();
    let fewer = count(now) < *fewest && !named && !now.is_by_suites() && !now.uncounted && !before.uncounted;
    fewer.then(|| format!("{} ran in its loop, {} here", count_text(*fewest), count(now)))
}
