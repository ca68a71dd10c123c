//! The statement of a proof, made from what a run recorded: an in-toto statement whose subject is a tree of files.
use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::withhold::{LocalTexts, withhold};
use crate::run::{Gate, Proof, ProofGate, RunState};
use crate::settings::GateSpec;
use crate::view::{Certificate, qualification};

/// What a statement is.
pub const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";
/// What our statements are about. A name, not an address: nothing is fetched from it.
pub const PREDICATE_TYPE: &str = "urn:loop:proof:v1";
/// The newest revision of the predicate. Fields are only ever added.
pub const REVISION: u64 = 1;
/// So many tests that turned green are named.
const TURNED_MAX: usize = 200;
/// A longer name of a test is cut.
const TEST_LETTERS_MAX: usize = 200;

/// A tree of files by hashes that are the same on every machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PortableTree {
    /// The id that git gives to these files.
    pub git_tree: String,
    /// The hash of the lines `mode path sha256(content)`, sorted; none where the contents are not stored any more.
    pub sha256: Option<String>,
    /// Why the id of the commit's tree is another one, where it is.
    pub not_git: Option<String>,
}

/// A file that a gate used to judge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateInput {
    /// Its path in the workspace, as facts write paths.
    pub path: String,
    /// The id that git gives to its content.
    pub git_blob: String,
}

/// Everything that a statement is made of beside what the run recorded.
#[derive(Debug)]
pub struct StatementRequest<'a> {
    /// The run.
    pub state: &'a RunState,
    /// Its certificate.
    pub certificate: &'a Certificate,
    /// The files that were judged.
    pub tree: PortableTree,
    /// The git tree of the start.
    pub baseline_tree: Option<String>,
    /// Where the workspace lies in its repository; empty for the top.
    pub folder: String,
    /// The machine, such as `x86_64-linux`.
    pub platform: String,
    /// The version of this program.
    pub program: String,
    /// Tests that failed at the start and pass now; none where that is not known.
    pub turned: Option<Vec<String>>,
    /// The commit of the user's repository at the start.
    pub start_commit: Option<String>,
    /// The hash of the journal's newest line.
    pub journal: Option<String>,
    /// Files of agents that are no part of the work, as ignore rules.
    pub litter: Vec<String>,
    /// Protected files that each gate used to judge, by its name.
    pub inputs: BTreeMap<String, Vec<GateInput>>,
    /// What must not be in it.
    pub local: LocalTexts,
}

/// The statement, with what was left out named in `withheld`.
#[must_use]
pub fn statement(request: &StatementRequest<'_>) -> Value {
    let mut predicate = predicate(request);
    let withheld = withhold(&mut predicate, &request.local);
    if let Value::Object(fields) = &mut predicate {
        fields.insert("withheld".to_owned(), json!(withheld));
    }
    let mut digest = Map::new();
    digest.insert("gitTree".to_owned(), json!(request.tree.git_tree));
    digest.extend(request.tree.sha256.as_ref().map(|hash| ("sha256".to_owned(), json!(hash))));
    json!({
        "_type": STATEMENT_TYPE,
        "subject": [{"name": "workspace", "digest": digest}],
        "predicateType": PREDICATE_TYPE,
        "predicate": predicate,
    })
}

fn predicate(request: &StatementRequest<'_>) -> Value {
    let StatementRequest { state, certificate, .. } = request;
    let settings = state.settings.shown();
    let checkpoint = &settings.values.checkpoint;
    let over = state.over.as_ref();
    let model = state.budget.spent().model.clone();
    let tools = certificate.tools.iter().map(|tool| {
        let file = tool.file.as_ref().map(|file| file.sha256.as_str()).filter(|hash| !hash.is_empty());
        json!({"name": tool.name, "version": tool.version, "sha256": file})
    });
    let turned = request.turned.as_ref().map(|turned| {
        let names = turned.iter().take(TURNED_MAX).map(|name| crate::text::escaped_head(name, TEST_LETTERS_MAX));
        json!({"count": turned.len(), "first": names.collect::<Vec<_>>()})
    });
    json!({
        "revision": REVISION,
        "verified": certificate.verified && certificate.accepted.is_none(),
        "outcome": over.map(|over| over.outcome.name()),
        "qualification": qualification(state),
        "reason": over.map(|over| over.reason.text.as_str()),
        "at": certificate.at,
        "loop": request.program,
        "id": certificate.id,
        "iterations": certificate.iterations,
        "platform": request.platform,
        "scope": {
            "folder": request.folder,
            "ignored": checkpoint.checkpoint_ignored,
            "skip": checkpoint.checkpoint_skip,
            "litter": request.litter,
            "file_max": checkpoint.checkpoint_file_max.map(|size| size.0),
            "git_equal": request.tree.not_git.is_none(),
            "why": request.tree.not_git,
        },
        "tree": certificate.tree,
        "baseline": {"gitTree": request.baseline_tree, "gates": baseline(state)},
        "gates": gates(request),
        "turned": turned,
        "weaker": certificate.weaker,
        "tampered": state.guard.times(),
        "strength": certificate.strength,
        "judge": certificate.judge,
        "findings": certificate.findings,
        "named": certificate.named,
        "accepted": certificate.accepted,
        "agent": {"name": state.agent_name(), "model": model},
        "tools": tools.collect::<Vec<_>>(),
        "settings": certificate.settings,
        "start": request.start_commit.as_ref().map(|commit| json!({"gitCommit": commit})),
        "journal": request.journal.as_ref().map(|hash| json!({"head": hash})),
    })
}

fn proof(state: &RunState) -> Option<&Proof> {
    state.over.as_ref()?.proof.as_deref()
}

/// What each gate said before iteration 1.
fn baseline(state: &RunState) -> Vec<Value> {
    let row = |gate: &Gate| {
        let first = gate.first_round()?;
        let tests = first.tests().map(|tests| json!({"passed": tests.passed, "failed": tests.failed}));
        Some(json!({"name": gate.spec().name, "verdict": first.verdict, "tests": tests}))
    };
    state.gates.iter().filter_map(row).collect()
}

fn gates(request: &StatementRequest<'_>) -> Vec<Value> {
    let state = request.state;
    let spec = |name: &str| state.gates.iter().map(Gate::spec).find(|spec| spec.name == name);
    let limit_ms = state.settings.shown().gate_timeout_ms;
    let gates = proof(state).into_iter().flat_map(|proof| &proof.gates);
    let inputs = |name: &str| request.inputs.get(name).map(Vec::as_slice).unwrap_or_default();
    gates.filter_map(|gate| Some(gate_row(gate, spec(&gate.name)?, limit_ms, inputs(&gate.name)))).collect()
}

fn gate_row(gate: &ProofGate, spec: &GateSpec, limit_ms: u64, inputs: &[GateInput]) -> Value {
    let inputs = inputs.iter().map(|input| json!({"path": input.path, "gitBlob": input.git_blob}));
    let tests =
        gate.tests.map(|(passed, failed, skipped)| json!({"passed": passed, "failed": failed, "skipped": skipped}));
    let mut row = json!({
        "name": gate.name,
        "command": spec.command,
        "command_sha256": text_hash(&spec.command),
        "required": !spec.watch,
        "passes": spec.tries.map(|(need, all)| format!("{need}of{all}")),
        "timeout_ms": spec.timeout_ms.unwrap_or(limit_ms),
        "trust_exit": spec.trust_exit,
        "inputs": inputs.collect::<Vec<_>>(),
        "verdict": gate.verdict.name(),
        "ended": gate.ended.brief(),
        "duration_ms": gate.duration_ms,
        "output_sha256": gate.sha256,
        "tests": tests,
    });
    if spec.red {
        row["red"] = json!(true);
    }
    row
}

/// The SHA-256 of a text, in hexadecimal digits.
#[must_use]
pub fn text_hash(command: &str) -> String {
    Sha256::digest(command.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}
