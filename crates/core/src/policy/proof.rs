//! What speaks against a pass, and how strong the gates are.
//!
//! | weight | meaning | what follows |
//! |---|---|---|
//! | evidence | something shows that the pass is not real | the run continues; the same twice in a row ends it |
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
    /// The gate failed on the same tree before, and no clean copy says who is right.
    SameTree,
    /// The gates pass with a failing test more.
    Canary,
    /// The gates pass with the new tests and the old sources.
    Undo,
    /// A program of a gate is not the one of the start.
    SwappedProgram,
    /// Tests of the start were changed.
    ChangedTests,
    /// There are new files that the test runner reads.
    RunnerConfig,
    /// The part of a manifest that the test runner reads was changed.
    Manifest,
    /// The gate showed its tests before, and shows none now.
    TestsNotShown,
    /// The gate runs other tests each time: whether tests are gone is not known.
    SelectiveGate,
    /// The exit code of a gate's command does not say whether the work is done. It is only named.
    DeceivingPromise,
    /// Files that the gates or the tests use, beside the tests, are new or changed. They are only named.
    GateFiles,
    /// Links lead out of the workspace. They are only named.
    OutsideLinks,
    /// Lines of the change that a person should look at. They are only named.
    SuspectLines,
    /// The tests are weaker than at the start, and they are required as they were.
    WeakerTests,
    /// The strength of the gates is required, and it was not shown.
    Strength,
    /// Files outside of the workspace that a gate's command names are not as at the start.
    OutsideFiles,
    /// Files outside of the workspace that tools may read are not as at the start. They are only named.
    OutsideSettings,
    /// A hidden gate does not pass.
    HiddenGate,
    /// The hidden gates could not be run.
    HiddenGateNotRun,
}

/// So many passes that a hidden gate refused end the run: an agent must not find out by trying what it checks.
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
    pub const ALL: [Self; 22] = [
        Self::RenamedTests,
        Self::FailingTests,
        Self::CleanCopy,
        Self::SameTree,
        Self::Canary,
        Self::Undo,
        Self::SwappedProgram,
        Self::ChangedTests,
        Self::RunnerConfig,
        Self::Manifest,
        Self::TestsNotShown,
        Self::SelectiveGate,
        Self::DeceivingPromise,
        Self::GateFiles,
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
            Self::SwappedProgram => "swapped-program",
            Self::ChangedTests => "changed-tests",
            Self::RunnerConfig => "runner-config",
            Self::Manifest => "manifest",
            Self::TestsNotShown => "tests-not-shown",
            Self::SelectiveGate => "selective-gate",
            Self::DeceivingPromise => "deceiving-promise",
            Self::GateFiles => "gate-files",
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

    /// Whether it can be accepted before the run begins. Who does not want a hidden gate takes it out of the settings.
    #[must_use]
    pub const fn may_be_accepted(self) -> bool {
        !matches!(self, Self::HiddenGate | Self::HiddenGateNotRun)
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
            | Self::SwappedProgram
            | Self::WeakerTests
            | Self::OutsideFiles
            | Self::HiddenGate => FindingWeight::Evidence,
            Self::ChangedTests
            | Self::RunnerConfig
            | Self::Manifest
            | Self::TestsNotShown
            | Self::SelectiveGate
            | Self::DeceivingPromise
            | Self::GateFiles
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
    /// No test was seen, and nothing says that it did not build.
    NoTests,
    /// A gate that shows no tests failed.
    Failed,
}

/// Whether the gates noticed a probe.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Noticed {
    /// They did: a required gate did not pass.
    Yes,
    /// They did not.
    No,
    /// It was not tried.
    NotTried {
        /// Why.
        why: String,
    },
    /// It was not asked for.
    #[default]
    NotAsked,
}

/// How strong the gates are, as far as it was tried.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StrengthReport {
    /// How they failed on the initial tree.
    pub red_before: RedBefore,
    /// Whether they noticed a failing test more.
    pub canary: Noticed,
    /// Whether they noticed that the sources were as at the start.
    pub undo: Noticed,
    /// How many pieces of the change there are.
    pub hunks: u32,
    /// How many were taken back.
    pub hunks_tried: u32,
    /// How many of these they noticed.
    pub hunks_noticed: u32,
    /// The others, a bounded number.
    #[serde(skip_serializing_if = "NameList::is_nothing")]
    pub hunks_not_noticed: NameList,
}

impl StrengthReport {
    /// Whether it is what `--strength require` asks for.
    #[must_use]
    pub fn is_shown(&self, _: &Deciding) -> bool {
        self.red_before != RedBefore::No && self.canary == Noticed::Yes && self.undo == Noticed::Yes
    }

    /// One line for people.
    #[must_use]
    pub fn text(&self) -> String {
        let red = match self.red_before {
            RedBefore::No => "not red before",
            RedBefore::Assertion => "red before",
            RedBefore::DidNotBuild => "red before (it did not build)",
            RedBefore::NoTests => "red before (no test ran)",
            RedBefore::Failed => "red before (no tests shown)",
        };
        let mut parts = vec![red.to_owned()];
        parts.extend(noticed_text("canary", &self.canary));
        parts.extend(noticed_text("undo", &self.undo));
        if self.hunks > 0 {
            let all = if self.hunks_tried < self.hunks {
                format!(" ({} tried of {})", self.hunks_tried, self.hunks)
            } else {
                String::new()
            };
            parts.push(format!("{} of {} hunks noticed{all}", self.hunks_noticed, self.hunks_tried));
        }
        let mut text = parts.join(", ");
        if !self.hunks_not_noticed.is_nothing() {
            text.push_str(&format!("; not noticed: {}", self.hunks_not_noticed.words()));
        }
        text
    }
}

fn noticed_text(what: &str, noticed: &Noticed) -> Option<String> {
    match noticed {
        Noticed::Yes => Some(format!("{what} noticed")),
        Noticed::No => Some(format!("{what} NOT noticed")),
        Noticed::NotTried { why } => Some(format!("{what} not tried ({why})")),
        Noticed::NotAsked => None,
    }
}

/// The least and the most time that probes get, and how much of it by the time of the clean gates.
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
    // Before iteration 1 there is no agent whose work could change. A hidden gate may be what the agent is to work on.
    let at_start = others.peek().is_some() && !agent_worked;
    let same_again = others.any(|finding| before.kinds.contains(&finding.kind));
    if same_again || at_start { ProofResult::PassedBut } else { ProofResult::Refused }
}
