//! A proof that was looked at again: the recorded tree, its gates once more, and what has become of the workspace.
use serde::Serialize;

use super::certificate::{Certificate, CertifiedGate, TestCounts, signal};
use super::history::exit_code;
use super::{JSON_VERSION, seconds};
use crate::policy::gate::{ExitContradiction, Verdict};
use crate::run::{GateReport, JudgePlace, NameList};
use crate::test_output::{TestStatus, Tests};

/// What `loop verify` found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verification {
    /// The version of this form.
    pub version: u32,
    /// The run.
    pub id: String,
    /// Whether every required gate passes again, on the recorded tree.
    pub verified: bool,
    /// The same in a sentence.
    pub why: String,
    /// The checkpoint that was judged.
    pub checkpoint: Option<String>,
    /// The hash of its tree, which is also that of the copy before the gates ran.
    pub tree: Option<String>,
    /// The version of loop that judged it.
    pub program: String,
    /// When.
    pub at: String,
    /// How long the gates took together.
    pub duration_seconds: f64,
    /// The gates, in the order in which they were asked.
    pub gates: Vec<VerifiedGate>,
    /// The hidden gates once more; null where the run has none.
    pub hidden_gates: Option<HiddenAgain>,
    /// Where the gates were run again; null where they were not.
    pub judged: Option<JudgedAgain>,
    /// What the workspace is by now; it was not judged.
    pub workspace: WorkspaceNow,
    /// Where the copy is, if it was to stay.
    pub copy: Option<String>,
    /// What was brought along that no checkpoint holds.
    pub brought: Vec<String>,
    /// What a person should know to read the answer.
    pub hints: Vec<String>,
    /// What was written down when the run ended.
    pub certificate: Certificate,
}

/// Where the gates were run again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct JudgedAgain {
    /// Where.
    pub place: JudgePlace,
    /// Why that is not a clean copy; null where it is one.
    pub not_clean: Option<String>,
}

impl JudgedAgain {
    /// For people.
    #[must_use]
    pub fn words(&self, checkpoint: &str) -> String {
        match (&self.not_clean, self.place) {
            (Some(why), _) => format!("a copy of {checkpoint}, not clean: {why}"),
            (None, JudgePlace::OwnPath) => format!("a clean copy of {checkpoint}, at the workspace's path"),
            (None, JudgePlace::Elsewhere | JudgePlace::WorkspaceOpened | JudgePlace::Workspace) => {
                format!("a clean copy of {checkpoint}, in another folder than the workspace")
            }
        }
    }
}

/// The hidden gates once more. What they run is not written here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HiddenAgain {
    /// How many the run has.
    pub count: u32,
    /// How many passed again.
    pub passed: u32,
    /// Why they were not run; null where they were.
    pub not_run: Option<String>,
}

impl HiddenAgain {
    /// For people.
    #[must_use]
    pub fn words(&self) -> String {
        match &self.not_run {
            Some(why) => format!("not run: {why}"),
            None => format!("{} of {} pass", self.passed, self.count),
        }
    }
}

/// One gate, once more.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VerifiedGate {
    /// Its name.
    pub name: String,
    /// Its command, as the user wrote it.
    pub command: String,
    /// Whether the answer depends on it.
    pub required: bool,
    /// What its end means.
    pub verdict: Verdict,
    /// The same as it was recorded; null if it was not.
    pub recorded: Option<Verdict>,
    /// The exit code, where there was one.
    pub exit_code: Option<i32>,
    /// The signal that ended it, where one did.
    pub signal: Option<i32>,
    /// How it ended, in words.
    pub ended: String,
    /// Why exit code 0 is not a pass: what its output says about tests. Null where that was not the reason.
    pub not_believed: Option<String>,
    /// How many times it was asked.
    pub tries: u32,
    /// How long the last time took.
    pub duration_seconds: f64,
    /// The hash of its stored output: stdout, then stderr.
    pub output_sha256: String,
    /// Whether that is what was recorded. Times and paths in an output differ without meaning anything.
    pub same_output: bool,
    /// What its output says about tests.
    pub tests: Option<TestCounts>,
    /// The tests that fail, the first of them.
    pub failing: Vec<String>,
    /// The end of what it said.
    pub said: String,
    /// Every test by its name, for forms that have room for it.
    #[serde(skip)]
    pub cases: Vec<(String, TestStatus)>,
}

/// What the workspace is by now.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct WorkspaceNow {
    /// Whether it differs from the recorded tree; null where that could not be seen.
    pub differs: Option<bool>,
    /// How many names differ.
    pub files: u32,
    /// The first of them, and how.
    pub first: Vec<String>,
    /// Why that could not be seen.
    pub why: Option<String>,
}

impl WorkspaceNow {
    /// Names that differ, and how.
    #[must_use]
    pub fn differing(names: &NameList) -> Self {
        let (files, first) = (names.count, names.first.clone());
        Self { differs: Some(!names.is_nothing()), files, first, why: None }
    }

    /// It could not be seen.
    #[must_use]
    pub fn unseen(why: String) -> Self {
        Self { why: Some(why), ..Self::default() }
    }

    /// For people.
    #[must_use]
    pub fn words(&self) -> String {
        match (self.differs, &self.why) {
            (Some(false), _) => "the workspace is that tree".to_owned(),
            (Some(true), _) => {
                let files = if self.files == 1 { "1 file".to_owned() } else { format!("{} files", self.files) };
                let few = NameList { count: self.files, first: self.first.clone() };
                format!("the workspace differs from it by now: {files} ({})", few.words())
            }
            (None, Some(why)) => format!("the workspace could not be compared with it: {why}"),
            (None, None) => "the workspace was not compared with it".to_owned(),
        }
    }
}

/// What a gate said this time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateRun {
    /// Its name.
    pub name: String,
    /// What its tries amount to.
    pub verdict: Verdict,
    /// How many there were.
    pub tries: u32,
    /// The last of them.
    pub report: GateReport,
    /// The tests that it reported.
    pub tests: Option<Tests>,
    /// Why exit code 0 of the last try is not believed.
    pub contradiction: Option<ExitContradiction>,
    /// Why it is not believed, for people: that, or tests that are not there.
    pub not_believed: Option<String>,
}

impl VerifiedGate {
    /// A gate beside what was recorded of it.
    #[must_use]
    pub fn new(recorded: &CertifiedGate, again: &GateRun) -> Self {
        let report = &again.report;
        let tests = again.tests.as_ref();
        let cases: Vec<(String, TestStatus)> = tests.into_iter().flat_map(|tests| tests.statuses.clone()).collect();
        let failing = cases.iter().filter(|(_, mark)| *mark == TestStatus::Failed).map(|(name, _)| name.as_str());
        Self {
            failing: NameList::of(failing).first,
            name: recorded.name.clone(),
            command: recorded.command.clone(),
            required: recorded.required,
            verdict: again.verdict,
            recorded: Some(recorded.verdict),
            exit_code: exit_code(&report.ended),
            signal: signal(&report.ended),
            ended: report.ended.brief(),
            not_believed: again.not_believed.clone().filter(|_| again.verdict != Verdict::Pass),
            tries: again.tries,
            duration_seconds: seconds(report.duration_ms),
            output_sha256: report.output.sha256.clone(),
            same_output: report.output.sha256 == recorded.output_sha256,
            tests: tests.map(|tests| TestCounts { passed: tests.passed, failed: tests.failed, skipped: tests.skipped }),
            said: report.excerpt.clone(),
            cases,
        }
    }

    /// Whether it passes.
    #[must_use]
    pub fn passes(&self) -> bool {
        self.verdict == Verdict::Pass
    }
}

impl Verification {
    /// What the gates said, beside what was recorded.
    #[must_use]
    pub fn new(certificate: Certificate, again: &[GateRun], workspace: WorkspaceNow) -> Self {
        let recorded = |name: &str| certificate.gates.iter().find(|gate| gate.name == name);
        let gates = again.iter().filter_map(|again| Some(VerifiedGate::new(recorded(&again.name)?, again)));
        let gates: Vec<VerifiedGate> = gates.collect();
        let (verified, why) = judged(&certificate, &gates);
        Self {
            version: JSON_VERSION,
            id: certificate.id.clone(),
            verified,
            why,
            checkpoint: certificate.checkpoint.clone(),
            tree: certificate.tree.clone(),
            program: String::new(),
            at: String::new(),
            duration_seconds: gates.iter().map(|gate| gate.duration_seconds).sum(),
            gates,
            hidden_gates: None,
            judged: None,
            workspace,
            copy: None,
            brought: Vec::new(),
            hints: Vec::new(),
            certificate,
        }
    }

    /// The same with what the hidden gates said.
    #[must_use]
    pub fn with_hidden(mut self, hidden: Option<HiddenAgain>) -> Self {
        match &hidden {
            Some(HiddenAgain { not_run: Some(why), .. }) => {
                self.why = format!("{}; its hidden gates were not run: {why}", self.why);
            }
            Some(again) if again.passed < again.count => {
                let failed = format!("{} of {} hidden gates do not pass", again.count - again.passed, again.count);
                self.why = if self.verified { failed } else { format!("{}; {failed}", self.why) };
                self.verified = false;
            }
            Some(_) | None => {}
        }
        self.hidden_gates = hidden;
        self
    }
}

fn judged(certificate: &Certificate, gates: &[VerifiedGate]) -> (bool, String) {
    if !certificate.verified {
        return (false, format!("it was never verified: {}", certificate.words()));
    }
    let required = || certificate.gates.iter().filter(|gate| gate.required);
    let again = |name: &str| gates.iter().find(|gate| gate.name == name);
    let mut lost = Vec::new();
    for gate in required() {
        match again(&gate.name) {
            Some(now) if now.passes() => {}
            Some(now) => {
                let why = now.not_believed.as_ref().map_or_else(String::new, |why| format!(", but {why}"));
                lost.push(format!("{} ({}{why})", now.name, now.ended));
            }
            None => lost.push(format!("{} (not run)", gate.name)),
        }
    }
    // Without a single gate nothing could speak against it.
    if required().next().is_none() {
        return (false, "no gate is recorded that could be run again".to_owned());
    }
    let of = certificate.checkpoint.as_deref().unwrap_or("the recorded tree");
    if lost.is_empty() {
        (true, format!("every required gate passes again on {of}"))
    } else {
        (false, format!("not every required gate passes again on {of}: {}", lost.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Ended, Output};

    fn certificate(verified: bool, gates: &[(&str, bool)]) -> Certificate {
        let gate = |(name, required): &(&str, bool)| CertifiedGate {
            name: (*name).to_owned(),
            command: "make test".to_owned(),
            required: *required,
            tries: None,
            verdict: Verdict::Pass,
            exit_code: Some(0),
            signal: None,
            ended: "exit 0".to_owned(),
            duration_seconds: 1.0,
            output_sha256: "one".to_owned(),
            tests: None,
        };
        Certificate {
            version: JSON_VERSION,
            id: "abc".to_owned(),
            verified,
            iterations: 1,
            checkpoint: Some("iter-001".to_owned()),
            tree: Some("tree".to_owned()),
            git_tree: None,
            gates: gates.iter().map(gate).collect(),
            tools: Vec::new(),
            settings: std::collections::BTreeMap::new(),
            weaker: Vec::new(),
            judge: None,
            judge_remarks: Vec::new(),
            judging_seconds: 0.0,
            strength: None,
            findings: Vec::new(),
            context_files: Vec::new(),
            named: Vec::new(),
            hidden_gates: None,
            accepted: None,
            program: String::new(),
            at: String::new(),
        }
    }

    fn again(name: &str, verdict: Verdict, code: i32) -> GateRun {
        let output = Output { sha256: "one".to_owned(), ..Output::default() };
        let report = GateReport {
            ended: Ended::Exit(code),
            duration_ms: 1,
            output,
            excerpt: String::new(),
            tests: None,
            did_not_build: false,
            programs: Vec::new(),
            used: None,
        };
        let name = name.to_owned();
        GateRun { name, verdict, tries: 1, report, tests: None, contradiction: None, not_believed: None }
    }

    fn judged(certificate: Certificate, gates: &[GateRun]) -> (bool, String) {
        let found = Verification::new(certificate, gates, WorkspaceNow::default());
        (found.verified, found.why)
    }

    #[test]
    fn it_holds_only_where_every_required_gate_was_asked_again_and_passes() {
        let both = || certificate(true, &[("promise", true), ("lint", true), ("size", false)]);
        let kept = |name| again(name, Verdict::Pass, 0);
        let size = again("size", Verdict::Fail, 1);
        assert!(judged(both(), &[kept("promise"), kept("lint"), size.clone()]).0, "a watched gate decides nothing");
        assert_eq!(
            judged(both(), &[kept("promise"), size]).1,
            "not every required gate passes again on iter-001: lint (not run)"
        );
        let missing = again("lint", Verdict::Unverifiable, 127);
        assert_eq!(
            judged(both(), &[kept("promise"), missing]).1,
            "not every required gate passes again on iter-001: lint (exit 127)"
        );
    }

    #[test]
    fn exit_0_that_is_not_believed_is_told_with_its_reason() {
        let mut one = again("promise", Verdict::Fail, 0);
        one.not_believed = Some("2 tests fail".to_owned());
        assert_eq!(
            judged(certificate(true, &[("promise", true)]), &[one]).1,
            "not every required gate passes again on iter-001: promise (exit 0, but 2 tests fail)"
        );
    }

    #[test]
    fn what_nobody_verified_never_holds() {
        assert!(!judged(certificate(false, &[]), &[]).0);
        assert!(!judged(certificate(true, &[]), &[]).0);
        assert!(!judged(certificate(true, &[("size", false)]), &[again("size", Verdict::Pass, 0)]).0);
    }
}
