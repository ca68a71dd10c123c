//! What speaks against a pass, and how strong the gates are.
//!
//! | weight | meaning | what follows |
//! |---|---|---|
//! | evidence | something shows that the pass is not real | the run continues; the same kind in two passes in a row ends it |
//! | opportunity | something could have made the pass easier | a probe clears it, or the run ends as *passed, but* |
use serde::{Deserialize, Serialize};

use crate::machine::Deciding;
use crate::text::NameList;

/// What speaks against a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindingKind {
    /// Tests that must stay are gone, renamed or skipped.
    RenamedTests,
    /// Tests fail although the gate exits with 0.
    FailingTests,
    /// The gates do not pass on a clean copy of the same tree.
    CleanCopy,
    /// The gate failed on the same tree before, and no clean copy was run to decide.
    SameTree,
    /// The gates pass although a failing test was added.
    Canary,
    /// The gates pass with the new tests and the old sources.
    Undo,
    /// Without the test files that the agent added, tests of the start fail or do not run.
    NewTests,
    /// A program of a gate is not the one of the start.
    SwappedProgram,
    /// Tests of the start were changed.
    ChangedTests,
    /// There are new files that the test runner reads.
    RunnerConfig,
    /// A program of a gate that lies in the workspace is another one than at the start.
    ReinstalledProgram,
    /// The part of a manifest that the test runner reads was changed.
    Manifest,
    /// The gate showed its tests before, and shows none now.
    TestsNotShown,
    /// The gate runs other tests each time: whether tests are gone is not known.
    SelectiveGate,
    /// The exit code of a gate's command does not say whether the work is done. It is only named.
    DeceivingPromise,
    /// A test runner passes, and no test ran. It is only named.
    NoTestRan,
    /// Files that the gates or the tests use, beside the tests, are new or changed. They are only named.
    GateFiles,
    /// Files of the gates were changed that a person allowed to change. They are only named.
    AllowedChanges,
    /// The clean copy has dependencies as the agent installed them. They are only named.
    InstalledDependencies,
    /// Ignored files changed, no copy has them, and the workspace decided alone. They are only named.
    IgnoredFiles,
    /// Links lead out of the workspace. They are only named.
    OutsideLinks,
    /// Lines of the change that a person should look at. They are only named.
    SuspectLines,
    /// The tests are weaker than at the start, and they are required as they were.
    WeakerTests,
    /// The strength of the gates is required, and it was not shown.
    Strength,
    /// Files outside of the workspace that a gate's command or its scripts name are not as at the start.
    OutsideFiles,
    /// Files outside of the workspace that tools may read are not as at the start. They are only named.
    OutsideSettings,
    /// A hidden gate does not pass.
    HiddenGate,
    /// The hidden gates could not be run.
    HiddenGateNotRun,
}

/// After this many refusals by a hidden gate the run ends. Otherwise an agent could learn the check by repeated tries.
pub const HIDDEN_REFUSALS_MAX: u32 = 3;

/// How much a finding weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FindingWeight {
    /// It shows that the pass is not real.
    Evidence,
    /// It could have made the pass easier; a probe can clear it.
    Opportunity,
    /// A requirement of the user is not met; another iteration of the agent cannot change that.
    Requirement,
}

impl FindingKind {
    /// Every kind.
    pub const ALL: [Self; 28] = [
        Self::RenamedTests,
        Self::FailingTests,
        Self::CleanCopy,
        Self::SameTree,
        Self::Canary,
        Self::Undo,
        Self::NewTests,
        Self::SwappedProgram,
        Self::ChangedTests,
        Self::RunnerConfig,
        Self::ReinstalledProgram,
        Self::Manifest,
        Self::TestsNotShown,
        Self::SelectiveGate,
        Self::DeceivingPromise,
        Self::NoTestRan,
        Self::GateFiles,
        Self::AllowedChanges,
        Self::InstalledDependencies,
        Self::IgnoredFiles,
        Self::OutsideLinks,
        Self::SuspectLines,
        Self::WeakerTests,
        Self::Strength,
        Self::OutsideFiles,
        Self::OutsideSettings,
        Self::HiddenGate,
        Self::HiddenGateNotRun,
    ];

    /// Its word in settings and in JSON.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::RenamedTests => "renamed-tests",
            Self::FailingTests => "failing-tests",
            Self::CleanCopy => "clean-copy",
            Self::SameTree => "same-tree",
            Self::Canary => "canary",
            Self::Undo => "undo",
            Self::NewTests => "new-tests",
            Self::SwappedProgram => "swapped-program",
            Self::ChangedTests => "changed-tests",
            Self::RunnerConfig => "runner-config",
            Self::ReinstalledProgram => "reinstalled-program",
            Self::Manifest => "manifest",
            Self::TestsNotShown => "tests-not-shown",
            Self::SelectiveGate => "selective-gate",
            Self::DeceivingPromise => "deceiving-promise",
            Self::NoTestRan => "no-test-ran",
            Self::GateFiles => "gate-files",
            Self::AllowedChanges => "allowed-changes",
            Self::InstalledDependencies => "installed-dependencies",
            Self::IgnoredFiles => "ignored-files",
            Self::OutsideLinks => "outside-links",
            Self::SuspectLines => "suspect-lines",
            Self::WeakerTests => "weaker-tests",
            Self::Strength => "strength",
            Self::OutsideFiles => "outside-files",
            Self::OutsideSettings => "outside-settings",
            Self::HiddenGate => "hidden-gate",
            Self::HiddenGateNotRun => "hidden-gate-not-run",
        }
    }

    /// The kind of a word that `--accept` takes.
    #[must_use]
    pub fn accepted_by(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.may_be_accepted() && kind.word() == word)
    }

    /// Hidden-gate findings cannot be accepted in advance; remove the gate from the settings instead. What a person
    /// allowed to change is accepted already.
    #[must_use]
    pub const fn may_be_accepted(self) -> bool {
        !matches!(self, Self::HiddenGate | Self::HiddenGateNotRun | Self::AllowedChanges)
    }

    /// Whether it never counts against a pass: most often it is honest work.
    #[must_use]
    pub const fn is_only_named(self) -> bool {
        matches!(
            self,
            Self::DeceivingPromise
                | Self::NoTestRan
                | Self::GateFiles
                | Self::AllowedChanges
                | Self::InstalledDependencies
                | Self::IgnoredFiles
                | Self::OutsideLinks
                | Self::SuspectLines
                | Self::OutsideSettings
        )
    }

    /// How much it weighs.
    #[must_use]
    pub const fn weight(self) -> FindingWeight {
        match self {
            Self::RenamedTests
            | Self::FailingTests
            | Self::CleanCopy
            | Self::Canary
            | Self::Undo
            | Self::NewTests
            | Self::SwappedProgram
            | Self::WeakerTests
            | Self::OutsideFiles
            | Self::HiddenGate => FindingWeight::Evidence,
            Self::ChangedTests
            | Self::RunnerConfig
            | Self::ReinstalledProgram
            | Self::Manifest
            | Self::TestsNotShown
            | Self::SelectiveGate
            | Self::DeceivingPromise
            | Self::NoTestRan
            | Self::GateFiles
            | Self::AllowedChanges
            | Self::InstalledDependencies
            | Self::IgnoredFiles
            | Self::OutsideLinks
            | Self::SuspectLines
            | Self::OutsideSettings => FindingWeight::Opportunity,
            Self::SameTree | Self::Strength | Self::HiddenGateNotRun => FindingWeight::Requirement,
        }
    }
}

/// One thing that speaks against a pass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What it is.
    pub kind: FindingKind,
    /// The same for people, with names.
    pub text: String,
    /// Why it does not count against the pass; none where it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<NotedBecause>,
}

/// Why a finding does not count against a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotedBecause {
    /// `--accept` covers it.
    Accepted,
    /// Its kind is never more than named.
    OnlyNamed,
    /// A probe shows that nothing came of it.
    Cleared,
    /// No probes are wanted (`--strength off`, `--judge workspace`).
    NoProbes,
    /// It was so before iteration 1.
    AtStart,
    /// Another clean copy passes, or the user lets only the workspace decide.
    ChanceOrOutside,
    /// No test failed at the start, so the final tests may pass with the old sources for honest reasons.
    NoTestFailedBefore,
}

/// How the gates failed on the initial tree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RedBefore {
    /// They passed.
    #[default]
    No,
    /// A test failed.
    Assertion,
    /// It could not be built or loaded, so that no test of it ran.
    DidNotBuild,
    /// Tests ran and passed, and the gate failed for another reason, such as coverage.
    TestsPassed,
    /// No test result was seen, and nothing says that it did not build.
    #[serde(rename = "no_tests")]
    NoTestResult,
    /// A gate that shows no tests failed.
    #[serde(rename = "failed")]
    FailedWithoutTests,
}

/// What a probe showed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProbeResult {
    /// A required gate did not pass: the gates noticed it.
    #[serde(rename = "yes")]
    Noticed,
    /// All required gates passed.
    #[serde(rename = "no")]
    NotNoticed,
    /// It was not tried, or without a result.
    NotTried(NotTried),
}

impl Default for ProbeResult {
    fn default() -> Self {
        Self::NotTried(NotTried::Disabled)
    }
}

/// Why a probe was not tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotTried {
    /// It is not wanted (`--strength off`, `--judge workspace`).
    Disabled,
    /// There is no such probe for these gates, or no clean copy for it.
    NotPossible {
        /// Why.
        why: String,
    },
    /// It was begun and has no result.
    NoResult {
        /// Why.
        why: String,
    },
    /// An earlier result made it needless.
    Needless {
        /// Which.
        why: String,
    },
    /// No time was left.
    OutOfTime,
}

impl NotTried {
    /// The reason for people; none where the probe is not wanted.
    #[must_use]
    pub fn words(&self) -> Option<&str> {
        match self {
            Self::Disabled => None,
            Self::NotPossible { why } | Self::NoResult { why } | Self::Needless { why } => Some(why),
            Self::OutOfTime => Some("out of time"),
        }
    }
}

/// How strong the gates are, as far as it was tried.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StrengthReport {
    /// How they failed on the initial tree.
    pub red_before: RedBefore,
    /// Whether they noticed an added failing test.
    pub canary: ProbeResult,
    /// Whether they noticed that the sources were as at the start.
    pub undo: ProbeResult,
    /// They noticed it because something could not be built or loaded: no test failed by what it checks.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub undo_did_not_build: bool,
    /// How many pieces of the change there are.
    pub hunks: u32,
    /// How many were taken back.
    pub hunks_tried: u32,
    /// How many of these they noticed.
    pub hunks_noticed: u32,
    /// The others, a bounded number.
    #[serde(skip_serializing_if = "NameList::is_nothing")]
    pub hunks_not_noticed: NameList,
    /// Why no piece was taken back, or why not all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hunks_not_tried: Option<NotTried>,
}

impl StrengthReport {
    /// Whether it is what `--strength require` asks for.
    #[must_use]
    pub fn is_shown(&self, _: &Deciding) -> bool {
        self.red_before != RedBefore::No && self.canary == ProbeResult::Noticed && self.undo == ProbeResult::Noticed
    }

    /// One line for people. Probes that were not tried for the same reason stand together.
    #[must_use]
    pub fn text(&self) -> String {
        let red = match self.red_before {
            RedBefore::No => "not red before",
            RedBefore::Assertion => "red before",
            RedBefore::DidNotBuild => "red before (it did not build)",
            RedBefore::TestsPassed => "red before (its tests passed)",
            RedBefore::NoTestResult => "red before (no test ran)",
            RedBefore::FailedWithoutTests => "red before (no tests shown)",
        };
        let mut parts = vec![StrengthPart::Text(red.to_owned())];
        for (name, result) in [("canary", &self.canary), ("undo", &self.undo)] {
            match result {
                ProbeResult::Noticed if name == "undo" && self.undo_did_not_build => {
                    parts.push(StrengthPart::Text("undo noticed (it did not build or load)".to_owned()));
                }
                ProbeResult::Noticed => parts.push(StrengthPart::Text(format!("{name} noticed"))),
                ProbeResult::NotNoticed => parts.push(StrengthPart::Text(format!("{name} NOT noticed"))),
                ProbeResult::NotTried(why) => leave_out(&mut parts, name, why),
            }
        }
        let why_rest = self.hunks_not_tried.as_ref();
        if let Some(why) = why_rest.filter(|_| self.hunks == 0) {
            leave_out(&mut parts, "hunks", why);
        }
        if self.hunks > 0 {
            let why = why_rest.and_then(NotTried::words).map_or(String::new(), |why| format!("; {why}"));
            let all = if self.hunks_tried < self.hunks {
                format!(" ({} tried of {}{why})", self.hunks_tried, self.hunks)
            } else {
                String::new()
            };
            parts
                .push(StrengthPart::Text(format!("{} of {} hunks noticed{all}", self.hunks_noticed, self.hunks_tried)));
        }
        let mut text = parts.iter().map(StrengthPart::words).collect::<Vec<_>>().join(", ");
        if !self.hunks_not_noticed.is_nothing() {
            text.push_str(&format!("; not noticed: {}", self.hunks_not_noticed.words()));
        }
        text
    }
}

/// A part of the line about strength.
enum StrengthPart<'a> {
    Text(String),
    NotTried { names: Vec<&'a str>, why: &'a str },
}

impl StrengthPart<'_> {
    fn words(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::NotTried { names, why } => format!("{} not tried ({why})", listed(names)),
        }
    }
}

fn leave_out<'a>(parts: &mut Vec<StrengthPart<'a>>, name: &'a str, not_tried: &'a NotTried) {
    let Some(reason) = not_tried.words() else { return };
    for part in parts.iter_mut() {
        if let StrengthPart::NotTried { names, why } = part
            && *why == reason
        {
            return names.push(name);
        }
    }
    parts.push(StrengthPart::NotTried { names: vec![name], why: reason });
}

/// `a, b and c`.
fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Time for the gates of all probes: 15 x the time of the gates on the clean copy, at least 30 s, at most 10 min. The time
/// to make copies and to set them up does not count.
const PROBE_MS_MIN: u64 = 30_000;
const PROBE_MS_MAX: u64 = 600_000;
const PROBE_TIMES_CLEAN: u64 = 15;

/// How long probes may take in all, by how long the gates took on the clean copy.
#[must_use]
pub fn probe_budget_ms(clean_ms: u64, _: &Deciding) -> u64 {
    clean_ms.saturating_mul(PROBE_TIMES_CLEAN).clamp(PROBE_MS_MIN, PROBE_MS_MAX)
}

/// What follows from the findings of a pass.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProofResult {
    /// The run is done.
    #[default]
    Verified,
    /// It is not done: the next prompt says why, and the run continues.
    Refused,
    /// It ends: the gates passed, but a person must look at it.
    PassedBut,
}

/// What was refused before in a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RefusedBefore<'a> {
    /// What spoke against the pass before.
    pub kinds: &'a [FindingKind],
    /// How many passes a hidden gate refused.
    pub by_hidden_gates: u32,
}

/// What follows from what was found.
#[must_use]
pub fn result(findings: &[Finding], before: RefusedBefore<'_>, agent_worked: bool, _: &Deciding) -> ProofResult {
    let evidence = |finding: &&Finding| finding.kind.weight() == FindingWeight::Evidence;
    let mut evidence = findings.iter().filter(evidence).peekable();
    if evidence.peek().is_none() {
        return if findings.is_empty() { ProofResult::Verified } else { ProofResult::PassedBut };
    }
    let is_hidden = |finding: &&Finding| finding.kind == FindingKind::HiddenGate;
    if findings.iter().any(|finding| is_hidden(&finding)) && before.by_hidden_gates + 1 >= HIDDEN_REFUSALS_MAX {
        return ProofResult::PassedBut;
    }
    let mut others = evidence.filter(|finding| !is_hidden(finding)).peekable();
    // Before iteration 1 there is no agent whose work could change. A hidden gate, or tests that fail although the gate
    // passes, may be what the agent is to work on.
    let is_work = |finding: &&Finding| finding.kind == FindingKind::FailingTests;
    let at_start = !agent_worked && others.peek().is_some() && !others.clone().all(|finding| is_work(&finding));
    let same_again = others.any(|finding| before.kinds.contains(&finding.kind));
    if same_again || at_start { ProofResult::PassedBut } else { ProofResult::Refused }
}
