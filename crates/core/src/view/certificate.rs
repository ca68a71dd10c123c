//! The proof of an end that is done, for people and programs: what was judged, by which gates, with what.
use std::collections::BTreeMap;

use serde::Serialize;

use super::history::exit_code;
use super::{JSON_VERSION, seconds};
use crate::policy::gate::Verdict;
use crate::policy::proof::{Finding, StrengthReport};
use crate::run::{Acceptance, Ended, Proof, ProofGate, ProofHidden, ProofJudge, RunState, Tool};
use crate::settings::{GateSpec, Key, keys};
use crate::time;

/// Settings that a proof depends on: how gates are run, what is kept of the workspace, what the agent may not change.
const SETTINGS: [&Key; 12] = [
    keys::agent(),
    keys::agent_model(),
    keys::checkpoint(),
    keys::checkpoint_ignored(),
    keys::checkpoint_skip(),
    keys::containment(),
    keys::gate_timeout(),
    keys::on_tamper(),
    keys::profile(),
    keys::protect(),
    keys::protect_tests(),
    keys::require_tests_kept(),
];
/// So much of a hash is enough for people.
const HASH_LETTERS: usize = 12;

/// The proof that a run is done.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Certificate {
    /// The version of this form.
    pub version: u32,
    /// The run.
    pub id: String,
    /// Whether loop itself ran the gates and saw them pass; else the agent only claims it.
    pub verified: bool,
    /// After how many iterations.
    pub iterations: u32,
    /// The checkpoint of the tree that was judged; null where there is none.
    pub checkpoint: Option<String>,
    /// The hash of that tree, with permissions and empty folders.
    pub tree: Option<String>,
    /// The id that git gives to its files: the same on every machine. Null where there is no checkpoint.
    pub git_tree: Option<String>,
    /// What each gate said.
    pub gates: Vec<CertifiedGate>,
    /// Programs that had a part in it.
    pub tools: Vec<Tool>,
    /// Settings that it depends on.
    pub settings: BTreeMap<String, String>,
    /// How the tests are weaker than at the start.
    pub weaker: Vec<String>,
    /// Where the gates were judged last; null where no gate was.
    pub judge: Option<ProofJudge>,
    /// What a person should know about the clean copy.
    pub judge_remarks: Vec<String>,
    /// How long clean copies and probes took, in the whole run.
    pub judging_seconds: f64,
    /// How strong the gates are; null where it was not tried.
    pub strength: Option<Box<StrengthReport>>,
    /// What speaks against the pass.
    pub findings: Vec<Finding>,
    /// What does not count against the pass, each with the reason.
    pub named: Vec<Finding>,
    /// Changed files that instruct agents or CI (`AGENTS.md`, `.github/` …).
    pub context_files: Vec<String>,
    /// What the hidden gates said; null where there were none. What they run is not written here.
    pub hidden_gates: Option<ProofHidden>,
    /// With which command a person accepted it all the same, and why; null where no person did.
    pub accepted: Option<Acceptance>,
    /// The version of loop that started the run.
    pub program: String,
    /// When.
    pub at: String,
}

/// What one gate said.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CertifiedGate {
    /// Its name.
    pub name: String,
    /// Its command, as the user wrote it.
    pub command: String,
    /// Whether the end depends on it.
    pub required: bool,
    /// How many tries must hold, of how many; null where it is asked once.
    pub tries: Option<(u32, u32)>,
    /// What its end means.
    pub verdict: Verdict,
    /// The exit code, where there was one.
    pub exit_code: Option<i32>,
    /// The signal that ended it, where one did.
    pub signal: Option<i32>,
    /// How it ended, in words.
    pub ended: String,
    /// How long it took.
    pub duration_seconds: f64,
    /// The hash of its stored output: stdout, then stderr.
    pub output_sha256: String,
    /// What its output says about tests; null where it says nothing.
    pub tests: Option<TestCounts>,
}

/// How many tests there were.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct TestCounts {
    /// How many passed.
    pub passed: u32,
    /// How many failed.
    pub failed: u32,
    /// How many were skipped.
    pub skipped: u32,
}

impl TestCounts {
    /// How many judged something.
    #[must_use]
    pub fn ran(self) -> u32 {
        self.passed.saturating_add(self.failed)
    }

    /// For people.
    #[must_use]
    pub fn words(self) -> String {
        let skipped = if self.skipped > 0 { format!(", {} skipped", self.skipped) } else { String::new() };
        let tests = if self.ran() == 1 { "test passes" } else { "tests pass" };
        format!("{} of {} {tests}{skipped}", self.passed, self.ran())
    }
}

impl Certificate {
    /// The certificate of a run; none before an end that is done.
    #[must_use]
    pub fn of(state: &RunState) -> Option<Self> {
        let (spec, over) = (state.spec.as_ref()?, state.over.as_ref()?);
        let proof = proof_of(state)?;
        let settings =
            SETTINGS.iter().map(|key| (key.name.to_owned(), state.settings.shown().resolved.text(key).to_owned()));
        Some(Self {
            version: JSON_VERSION,
            id: spec.id.to_string(),
            verified: proof.verified,
            iterations: state.iterations_done(),
            gates: gates(state, &proof),
            checkpoint: proof.checkpoint,
            tree: proof.tree,
            git_tree: proof.git_tree,
            tools: proof.tools,
            settings: settings.collect(),
            weaker: proof.weaker,
            judge: proof.judge,
            judge_remarks: proof.judge_remarks,
            judging_seconds: seconds(proof.judging_ms),
            strength: proof.strength,
            findings: proof.findings,
            named: proof.named,
            context_files: proof.context_files,
            hidden_gates: proof.hidden,
            accepted: proof.accepted,
            program: spec.program.clone(),
            at: time::rfc3339(over.at.wall_ms),
        })
    }

    /// In a line, for people.
    #[must_use]
    pub fn words(&self) -> String {
        if let Some(accepted) = &self.accepted {
            return format!("accepted by a person ({}), not verified: {}", accepted.command, self.findings_text());
        }
        if !self.findings.is_empty() {
            return format!("passed, but not verified: {}", self.findings_text());
        }
        if !self.verified {
            return "claimed by the agent; no gate was there to check it".to_owned();
        }
        let gates = self.gates.iter().filter(|gate| gate.required).map(|gate| gate.name.as_str());
        let mut gates = gates.collect::<Vec<_>>().join(", ");
        if let Some(hidden) = self.hidden_gates {
            gates.push_str(&format!("; {}", hidden.words()));
        }
        if let Some(ProofJudge::Workspace { .. }) = self.judge {
            gates.push_str("; judged in the workspace only");
        }
        if !self.context_files.is_empty() {
            gates.push_str(&format!("; changed files of agents and CI: {}", self.context_files.join(", ")));
        }
        match (&self.checkpoint, &self.tree) {
            (Some(checkpoint), Some(tree)) => {
                format!("verified on {checkpoint} (tree {}): {gates}", short_hash(tree))
            }
            _ => format!("verified, on a tree that has no checkpoint: {gates}"),
        }
    }
}

impl Certificate {
    fn findings_text(&self) -> String {
        self.findings.iter().map(|finding| finding.text.as_str()).collect::<Vec<_>>().join("; ")
    }
}

/// The beginning of a hash, for people.
#[must_use]
pub fn short_hash(hash: &str) -> &str {
    hash.get(..HASH_LETTERS).unwrap_or(hash)
}

/// What was recorded with the end.
fn proof_of(state: &RunState) -> Option<Proof> {
    state.over.as_ref()?.proof.as_deref().cloned()
}

fn gates(state: &RunState, proof: &Proof) -> Vec<CertifiedGate> {
    let spec = |name: &str| state.settings.shown().gates.iter().find(|gate| gate.name == name);
    proof.gates.iter().map(|gate| row(gate, spec(&gate.name))).collect()
}

fn row(gate: &ProofGate, spec: Option<&GateSpec>) -> CertifiedGate {
    CertifiedGate {
        name: gate.name.clone(),
        command: spec.map(|spec| spec.command.clone()).unwrap_or_default(),
        required: spec.is_some_and(|spec| !spec.watch),
        tries: spec.and_then(|spec| spec.tries),
        verdict: gate.verdict,
        exit_code: exit_code(&gate.ended),
        signal: signal(&gate.ended),
        ended: gate.ended.brief(),
        duration_seconds: seconds(gate.duration_ms),
        output_sha256: gate.sha256.clone(),
        tests: gate.tests.map(|(passed, failed, skipped)| TestCounts { passed, failed, skipped }),
    }
}

pub(super) fn signal(ended: &Ended) -> Option<i32> {
    match ended {
        Ended::Signal(number) => Some(*number),
        Ended::Exit(_) | Ended::ByUs | Ended::NotStarted(_) => None,
    }
}
