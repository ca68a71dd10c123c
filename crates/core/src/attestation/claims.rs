//! A statement read back. It is untrusted input: every text may be hostile, every field may be missing, and fields that
//! are not known are ignored.
use serde_json::Value;

use super::canonical;
use super::envelope::{Envelope, FormError};
use super::statement::{PREDICATE_TYPE, REVISION, STATEMENT_TYPE, text_hash};
use crate::policy::gate::Verdict;
use crate::run::Outcome;
use crate::settings::GateSpec;
use crate::text::{control_character, one_line, unescape_path};

/// More gates are not read.
const GATES_MAX: usize = 64;
/// A longer command is not run.
const COMMAND_BYTES_MAX: usize = 16 * 1024;
/// A gate of a proof gets no more time than this.
const TIMEOUT_MS_MAX: u64 = 6 * 60 * 60 * 1000;
/// A gate of a proof is asked no more often than this.
const TRIES_MAX: u32 = 20;
/// So many ignore rules are taken over.
const RULES_MAX: usize = 500;
/// So many sentences of one kind are taken over.
const SENTENCES_MAX: usize = 20;
/// So many files of a gate are taken over.
const INPUTS_MAX: usize = 100;
/// A longer name of a gate is cut.
const NAME_LETTERS_MAX: usize = 40;

/// What a proof says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProofClaims {
    /// The git tree of the files.
    pub git_tree: String,
    /// The hash of the lines of the files.
    pub sha256: Option<String>,
    /// The revision of its form, where this program does not know it.
    pub unknown_revision: Option<String>,
    /// Whether loop judged it and nothing speaks against it.
    pub verified: bool,
    /// How the run ended.
    pub outcome: String,
    /// A person accepted it.
    pub accepted: bool,
    /// Why it is not verified, in sentences.
    pub against: Vec<String>,
    /// What stands beside the word *verified* there, such as *in the workspace only*.
    pub qualification: Option<String>,
    /// What was found there and does not speak against it, in sentences.
    pub noted: Vec<String>,
    /// The run.
    pub id: String,
    /// The version of loop.
    pub program: String,
    /// When, by the clock of the machine that made it.
    pub at: String,
    /// On what kind of machine.
    pub platform: String,
    /// Which files belong to it.
    pub scope: ClaimedScope,
    /// The gates.
    pub gates: Vec<ClaimedGate>,
    /// Whether a gate failed before iteration 1; none where that is not said.
    pub red_before: Option<bool>,
    /// How many tests turned green.
    pub turned: Option<u64>,
    /// What was left out of it.
    pub withheld: Vec<String>,
}

/// Which files belong to the tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClaimedScope {
    /// The folder of the repository, escaped, without slashes around it; empty for the top.
    pub folder: String,
    /// Whether ignored files belong to it.
    pub ignored: bool,
    /// What was skipped, as ignore rules.
    pub skip: Vec<String>,
    /// Files of agents that are no part of it, as ignore rules.
    pub litter: Vec<String>,
    /// Larger files do not belong to it.
    pub file_max: Option<u64>,
    /// Why the tree of a commit has another id.
    pub not_git: Option<String>,
}

/// One gate.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClaimedGate {
    /// What it is called.
    pub name: String,
    /// Its command; none where it was left out.
    pub command: Option<String>,
    /// The hash of its command.
    pub command_sha256: Option<String>,
    /// Whether the end depends on it.
    pub required: bool,
    /// How many of how many tries must pass.
    pub passes: Option<(u32, u32)>,
    /// How long it may take.
    pub timeout_ms: Option<u64>,
    /// Whether its exit code alone counts.
    pub trust_exit: bool,
    /// Whether it passes when tests fail.
    pub red: bool,
    /// What it said.
    pub verdict: String,
    /// The hash of its output.
    pub output_sha256: Option<String>,
    /// Files that it used to judge, as paths in the workspace.
    pub inputs: Vec<String>,
}

impl ClaimedGate {
    /// Whether it has this command: by its text, or by its hash where the text was left out.
    #[must_use]
    pub fn has_command(&self, command: &str) -> bool {
        match (&self.command, &self.command_sha256) {
            (Some(own), _) => own == command,
            (None, Some(hash)) => *hash == text_hash(command),
            (None, None) => false,
        }
    }

    /// The gate, to be run; none where its command was left out, or has control characters.
    #[must_use]
    pub fn spec(&self) -> Option<GateSpec> {
        let command = self.command.as_deref().filter(|command| control_character(command).is_none())?;
        Some(GateSpec {
            tries: self.passes,
            watch: !self.required,
            timeout_ms: self.timeout_ms,
            trust_exit: self.trust_exit,
            red: self.red,
            ..GateSpec::new(&self.name, command)
        })
    }
}

impl ProofClaims {
    /// What the statement in an envelope says.
    ///
    /// # Errors
    /// When it is not a statement of ours, or not in its one form.
    pub fn of(envelope: &Envelope) -> Result<Self, FormError> {
        let odd = |why: &str| FormError::NotProof(why.to_owned());
        let not_canonical = "its statement is not canonical JSON: keys sorted, no white space, no fractions";
        let statement = canonical::parse(&envelope.payload).ok_or_else(|| odd(not_canonical))?;
        if statement["_type"] != STATEMENT_TYPE {
            return Err(odd("it is not an in-toto statement of version 1"));
        }
        if statement["predicateType"] != PREDICATE_TYPE {
            let kind = crate::text::escaped_head(&text(&statement["predicateType"]), 120);
            return Err(FormError::NotProof(format!("it is a statement about something else: {kind}")));
        }
        let subjects = statement["subject"].as_array().map(Vec::as_slice).unwrap_or_default();
        let [subject] = subjects else { return Err(odd("it must have one subject")) };
        let git_tree = digest(&subject["digest"], "gitTree", &[40, 64]);
        let git_tree = git_tree.ok_or_else(|| odd("its subject has no git tree"))?;
        let sha256 = digest(&subject["digest"], "sha256", &[64]);
        if sha256.is_none() && !subject["digest"]["sha256"].is_null() {
            return Err(odd("its sha256 is not a hash"));
        }
        let predicate = &statement["predicate"];
        if !predicate.is_object() {
            return Err(odd("it says nothing about its subject"));
        }
        let gates = predicate["gates"].as_array().map(Vec::as_slice).unwrap_or_default();
        if gates.len() > GATES_MAX {
            return Err(odd("it has too many gates"));
        }
        let scope = scope(&predicate["scope"]).ok_or_else(|| odd("its folder is not one of a repository"))?;
        let gates = gates.iter().map(gate).collect::<Option<Vec<_>>>();
        let gates = gates.ok_or_else(|| odd("how many tries of a gate must pass cannot be read"))?;
        let known = predicate["revision"].as_u64() == Some(REVISION);
        let accepted = predicate["outcome"] == Outcome::Accepted.name() || !predicate["accepted"].is_null();
        let against = against(predicate);
        // Every part must agree: one that does not is believed.
        let verified = predicate["verified"] == true && predicate["outcome"] == Outcome::Verified.name();
        Ok(Self {
            git_tree,
            sha256,
            unknown_revision: (!known).then(|| predicate["revision"].to_string()),
            verified: verified && !accepted && against.is_empty(),
            outcome: text(&predicate["outcome"]),
            accepted,
            against,
            qualification: qualification(predicate),
            noted: noted(predicate),
            id: text(&predicate["id"]),
            program: text(&predicate["loop"]),
            at: text(&predicate["at"]),
            platform: text(&predicate["platform"]),
            scope,
            gates,
            red_before: predicate["baseline"]["gates"]
                .as_array()
                .filter(|gates| !gates.is_empty())
                .map(|gates| gates.iter().any(|gate| gate["verdict"] == Verdict::Fail.name())),
            turned: predicate["turned"]["count"].as_u64(),
            withheld: texts(&predicate["withheld"]),
        })
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).take(SENTENCES_MAX).map(str::to_owned).collect()
}

fn rules(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).take(RULES_MAX).map(str::to_owned).collect()
}

/// A hash in small hexadecimal digits.
fn digest(value: &Value, key: &str, lengths: &[usize]) -> Option<String> {
    let hash = value[key].as_str()?;
    let digits = hash.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
    (digits && lengths.contains(&hash.len())).then(|| hash.to_owned())
}

impl ClaimedScope {
    /// The folder as a path has it.
    #[must_use]
    pub fn folder_bytes(&self) -> Vec<u8> {
        unescape_path(&self.folder)
    }
}

/// None where the folder would lead out of the repository.
fn scope(value: &Value) -> Option<ClaimedScope> {
    let folder = text(&value["folder"]);
    let path = unescape_path(&folder);
    let is_odd = |name: &[u8]| [&b""[..], b".", b"..", b".git"].contains(&name) || name.contains(&0);
    let is_plain = path.is_empty() || !path.split(|byte| *byte == b'/').any(is_odd);
    is_plain.then(|| ClaimedScope {
        folder,
        ignored: value["ignored"] == true,
        skip: rules(&value["skip"]),
        litter: rules(&value["litter"]),
        file_max: value["file_max"].as_u64(),
        not_git: value["why"].as_str().map(str::to_owned),
    })
}

/// None where its tries cannot be read.
fn gate(value: &Value) -> Option<ClaimedGate> {
    let command = value["command"].as_str().filter(|command| command.len() <= COMMAND_BYTES_MAX);
    let told = &value["passes"];
    let passes = if told.is_null() { None } else { Some(passes(told.as_str()?)?) };
    let inputs = value["inputs"].as_array().into_iter().flatten().filter_map(|input| input["path"].as_str());
    Some(ClaimedGate {
        name: one_line(&text(&value["name"]), NAME_LETTERS_MAX),
        command: command.map(str::to_owned),
        command_sha256: digest(value, "command_sha256", &[64]),
        required: value["required"] != false,
        passes,
        timeout_ms: value["timeout_ms"].as_u64().map(|limit| limit.min(TIMEOUT_MS_MAX)),
        trust_exit: value["trust_exit"] == true,
        red: value["red"] == true,
        verdict: text(&value["verdict"]),
        output_sha256: digest(value, "output_sha256", &[64]),
        inputs: inputs.take(INPUTS_MAX).map(str::to_owned).collect(),
    })
}

/// `2of3`.
fn passes(text: &str) -> Option<(u32, u32)> {
    let (need, all) = text.split_once("of")?;
    let (need, all) = (need.parse().ok()?, all.parse().ok()?);
    (1 <= need && need <= all && all <= TRIES_MAX).then_some((need, all))
}

/// What speaks against it, in sentences.
fn against(predicate: &Value) -> Vec<String> {
    findings(&predicate["findings"])
}

fn findings(value: &Value) -> Vec<String> {
    let of = |finding: &Value| match finding["text"].as_str() {
        // It is there, even if its text was left out.
        None | Some("") => "a finding without a text".to_owned(),
        Some(text) => text.to_owned(),
    };
    value.as_array().into_iter().flatten().map(of).take(SENTENCES_MAX).collect()
}

/// What was found and does not speak against it, in sentences.
fn noted(predicate: &Value) -> Vec<String> {
    let judge = &predicate["judge"];
    let mut noted = Vec::new();
    if judge["workspace"].is_object() {
        noted.push(format!("judged only in the workspace: {}", text(&judge["workspace"]["why"])));
    }
    if judge["clean_copy"]["place"] == "workspace_opened" {
        noted.push("files of the workspace were opened while a copy was judged".to_owned());
    }
    noted.extend(texts(&predicate["weaker"]).into_iter().map(|weaker| format!("weaker tests: {weaker}")));
    noted.extend(findings(&predicate["named"]));
    noted.truncate(SENTENCES_MAX);
    noted
}

/// What stands beside the word *verified*: as it was written there, else what the other fields say.
fn qualification(predicate: &Value) -> Option<String> {
    let written = predicate["qualification"].as_str().filter(|text| !text.is_empty());
    if let Some(written) = written {
        return Some(written.to_owned());
    }
    let weaker = predicate["weaker"].as_array().is_some_and(|weaker| !weaker.is_empty());
    let parts = [
        predicate["judge"]["workspace"].is_object().then_some("in the workspace only"),
        weaker.then_some("with weaker tests"),
    ];
    let parts: Vec<&str> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}
