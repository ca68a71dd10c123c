//! The whole check of a proof in a checkout. The proof is a stranger's input: its commands are run only if a trusted key
//! signed them or the base names the same.
use std::path::{Path, PathBuf};

use loop_core::attestation::check::Looked;
use loop_core::attestation::envelope::PROOF_BYTES_MAX;
use loop_core::attestation::{
    ClaimedGate, ClaimedScope, Envelope, GatesMatch, ProofCheck, ProofClaims, Rerun, SignatureTrust, TreeMatch,
};
use loop_core::policy::gate::Verdict;
use loop_core::settings::{GateSpec, gates_from_project};
use loop_core::text;
use loop_core::view::{CertifiedGate, GateRun, VerifiedGate};
use thiserror::Error;

use super::checkout::{Compared, RecordedCheckout, compare, record};
use super::rerun::{Along, rerun};
use super::ssh::{SIGNERS_BYTES_MAX, SignError, SignatureCheck};
use crate::checkpoint::user_git::{Checkout, GitUser};
use crate::fs::fresh_id;
use crate::gate::GateProgress;
use crate::paths::read_bounded;
use crate::workspace::copy::{self, Copies};

/// A project file is at most this long.
const PROJECT_BYTES_MAX: u64 = 1024 * 1024;
/// So many proofs of one note are looked at, the newest first.
const PROOFS_MAX: usize = 64;

/// So many changed files are named.
const CHANGED_MAX: usize = 20;
/// Programs, and the file that says what they do.
const READ_FIRST: [(&str, &str); 7] = [
    ("make", "Makefile"),
    ("npm", "package.json"),
    ("pnpm", "package.json"),
    ("yarn", "package.json"),
    ("just", "justfile"),
    ("tox", "tox.ini"),
    ("pytest", "pytest.ini"),
];

/// What is asked of a proof.
#[derive(Debug, Clone)]
pub struct CheckRequest<'a> {
    /// A folder of the checkout.
    pub folder: &'a Path,
    /// The folder of all copies.
    pub copies: &'a Path,
    /// Whose git settings hold.
    pub user: GitUser,
    /// A file with the allowed signers.
    pub signers: Option<PathBuf>,
    /// The same as `REVISION:PATH`.
    pub signers_revision: Option<String>,
    /// The project file of the base, as `REVISION:PATH` or a file.
    pub gates_from: Option<String>,
    /// Whether the gates are run again.
    pub run: bool,
    /// Whether ignored files come along.
    pub with_ignored: bool,
    /// Whether the repository comes along.
    pub with_git: bool,
}

/// Why there is no answer.
#[derive(Debug, Error)]
pub enum CheckError {
    /// It is not a proof.
    #[error("{0}")]
    NotProof(String),
    /// What was given to compare with cannot be read.
    #[error("{0}")]
    Wrong(String),
    /// It could not be looked at.
    #[error("{0}")]
    Unable(String),
    /// A signal came.
    #[error("it was stopped")]
    Stopped,
}

impl From<SignError> for CheckError {
    fn from(error: SignError) -> Self {
        Self::Unable(error.to_string())
    }
}

/// The proofs in the note of this checkout's tree, the newest first.
///
/// # Errors
/// When there is no repository, or no note.
pub fn find_note(request: &CheckRequest<'_>) -> Result<Vec<Vec<u8>>, CheckError> {
    let mut checkout = Checkout::of(request.folder)
        .map_err(CheckError::Wrong)?
        .ok_or_else(|| CheckError::Wrong("there is no repository here".to_owned()))?;
    let folder = checkout.below.clone();
    let mut trees: Vec<String> =
        [false, true].into_iter().filter_map(|second| checkout.head_tree(second, &folder)).collect();
    if trees.is_empty() {
        checkout.note(&"0".repeat(40)).map_err(CheckError::Wrong)?;
    }
    let mut found = note_of(&mut checkout, &trees)?;
    if found.is_none() {
        // The commit has another id than its files, as with line ends that git converts.
        let room = Room::open(request.copies)?;
        let scope = ClaimedScope { folder: text::escape_path(&folder), ..ClaimedScope::default() };
        let claims = ProofClaims { git_tree: "0".repeat(40), scope, ..ProofClaims::default() };
        trees = vec![record(&checkout.top.clone(), &claims, &room.path, &request.user)?.files.git_tree];
        found = note_of(&mut checkout, &trees)?;
    }
    let note = found.ok_or_else(|| {
        CheckError::Wrong("there is no note in refs/notes/loop for the tree of this checkout".to_owned())
    })?;
    let lines = note.split(|byte| *byte == b'\n').rev().filter(|line| !line.trim_ascii().is_empty());
    Ok(lines.take(PROOFS_MAX).map(<[u8]>::to_vec).collect())
}

fn note_of(checkout: &mut Checkout, trees: &[String]) -> Result<Option<Vec<u8>>, CheckError> {
    for tree in trees {
        if let Some(note) = checkout.note(tree).map_err(CheckError::Unable)? {
            return Ok(Some(note));
        }
    }
    Ok(None)
}

/// A folder for a short time, which goes with this.
struct Room {
    path: PathBuf,
    copies: Option<Copies>,
}

impl Room {
    fn open(copies: &Path) -> Result<Self, CheckError> {
        let unable = |error: std::io::Error| CheckError::Unable(format!("{}: {error}", copies.display()));
        std::fs::create_dir_all(copies).map_err(unable)?;
        copy::sweep(copies).map_err(unable)?;
        let copies = Copies::open(copies, &format!("proof-{}", fresh_id().map_err(unable)?)).map_err(unable)?;
        Ok(Self { path: copies.room(), copies: Some(copies) })
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        // What stays is removed by the next sweep.
        self.copies.take().map(Copies::remove_all);
    }
}

/// Checks one proof. The checkout is not changed.
///
/// # Errors
/// When it is not a proof, something given cannot be read, or it could not be looked at.
pub fn check_proof(
    bytes: &[u8],
    request: &CheckRequest<'_>,
    show: &mut dyn FnMut(GateProgress<'_>),
) -> Result<ProofCheck, CheckError> {
    let form = |error: &dyn std::fmt::Display| CheckError::NotProof(error.to_string());
    let envelope = Envelope::parse(bytes).map_err(|error| form(&error))?;
    let claims = ProofClaims::of(&envelope).map_err(|error| form(&error))?;
    let mut checkout = Checkout::of(request.folder).map_err(CheckError::Unable)?;
    let top = checkout.as_ref().map_or_else(|| request.folder.to_owned(), |checkout| checkout.top.clone());
    let room = Room::open(request.copies)?;
    let signers = signers(request, checkout.as_mut())?;
    let base = base_gates(request, checkout.as_mut())?;
    let trust_given = signers.is_some();
    let signatures = SignatureCheck { signers, checkout: &top, scratch: &room.path };
    let signed = envelope.signed_bytes();
    let signatures = envelope.signatures.iter().map(|signature| signatures.check(&signed, signature));
    let signatures = signatures.collect::<Result<Vec<SignatureTrust>, _>>()?;
    let recorded = record(&top, &claims, &room.path, &request.user);
    let (now, compared) = match recorded {
        Ok(now) => {
            let compared = compare(&claims, checkout.as_mut(), &now);
            (Some(now), compared)
        }
        Err(CheckError::Unable(why)) => (None, Compared::unseen(why)),
        Err(error) => return Err(error),
    };
    let mut gates = base.as_ref().map_or(GatesMatch::NotAsked, |base| compared_gates(base, &claims.gates));
    if let (GatesMatch::Same { changed }, Some(base), Some(checkout), Some(now)) =
        (&mut gates, &base, &mut checkout, &now)
    {
        *changed = changed_files(request, base, &claims, checkout, now);
    }
    let Compared { tree, dirty, left_out } = compared;
    let mut looked = Looked { signatures, trust_given, tree, dirty, gates, run: Rerun::NotAsked };
    let before = ProofCheck::new(&claims, looked.clone());
    // What is refused already is not run.
    if let (true, 0 | 4, Some(now)) = (request.run, before.exit_code, &now) {
        looked.run = if looked.may_run() {
            if !left_out.is_nothing() {
                let why = format!("the rules of the proof leave out files of this checkout: {}", left_out.words());
                return Err(CheckError::Unable(why));
            }
            check_files(&looked, now, &claims)?;
            let chosen = chosen(&claims, base.as_deref().unwrap_or_default(), &looked)?;
            Rerun::Ran { gates: run_gates(&chosen, request, now, &room, show)? }
        } else {
            Rerun::Refused
        };
    }
    let mut check = ProofCheck::new(&claims, looked);
    check.hints = hints(&check, request, &top);
    Ok(check)
}

fn signers(request: &CheckRequest<'_>, checkout: Option<&mut Checkout>) -> Result<Option<Vec<u8>>, CheckError> {
    let wrong = |why: String| CheckError::Wrong(format!("the allowed signers cannot be read: {why}"));
    if let Some(name) = &request.signers_revision {
        let checkout = checkout.ok_or_else(|| wrong("there is no repository here".to_owned()))?;
        return checkout.file_at(name, SIGNERS_BYTES_MAX).map(Some).map_err(wrong);
    }
    let read = |path: &PathBuf| {
        read_bounded(path, SIGNERS_BYTES_MAX).map_err(|error| wrong(format!("{}: {error}", path.display())))
    };
    request.signers.as_ref().map(read).transpose()
}

fn base_gates(
    request: &CheckRequest<'_>,
    checkout: Option<&mut Checkout>,
) -> Result<Option<Vec<GateSpec>>, CheckError> {
    let Some(name) = &request.gates_from else { return Ok(None) };
    let shown = text::escaped_head(name, 200);
    let wrong = |why: String| CheckError::Wrong(format!("the gates of the base cannot be read: {why}"));
    let bytes = match checkout {
        Some(checkout) if name.contains(':') && !Path::new(name).is_file() => {
            checkout.file_at(name, PROJECT_BYTES_MAX).map_err(wrong)?
        }
        _ => read_bounded(Path::new(name), PROJECT_BYTES_MAX).map_err(|error| wrong(format!("{shown}: {error}")))?,
    };
    let text = String::from_utf8(bytes).map_err(|_| wrong(format!("{shown} is not UTF-8")))?;
    let gates = gates_from_project(&text, &shown).map_err(|error| wrong(error.to_string()))?;
    if !gates.iter().any(|gate| !gate.watch) {
        return Err(wrong(format!("{shown} names no gate that must pass")));
    }
    Ok(Some(gates))
}

/// Whether the proof has every required gate of the base.
fn compared_gates(base: &[GateSpec], claimed: &[ClaimedGate]) -> GatesMatch {
    let mut why = Vec::new();
    for gate in base.iter().filter(|gate| !gate.watch) {
        let same: Vec<&ClaimedGate> = claimed.iter().filter(|claim| claim.has_command(&gate.command)).collect();
        let name = &gate.name;
        let command = text::escaped_head(&gate.command, 80);
        let as_strict = |claim: &&ClaimedGate| {
            claim.required && claim.passes == gate.tries && (gate.trust_exit || !claim.trust_exit)
        };
        if same.is_empty() {
            why.push(format!("{name} ({command}) is not among them"));
        } else if !same.iter().any(as_strict) {
            why.push(format!("{name} ({command}) was asked less strictly"));
        } else if !same.iter().any(|claim| claim.verdict == Verdict::Pass.name()) {
            why.push(format!("{name} ({command}) did not pass"));
        }
    }
    if why.is_empty() { GatesMatch::Same { changed: Vec::new() } } else { GatesMatch::Weaker { why } }
}

/// Files that the commands of the base name, and that are not as in the base. A command can be the same and do less.
fn changed_files(
    request: &CheckRequest<'_>,
    base: &[GateSpec],
    claims: &ProofClaims,
    checkout: &mut Checkout,
    now: &RecordedCheckout,
) -> Vec<String> {
    let Some((revision, _)) = request.gates_from.as_ref().and_then(|name| name.split_once(':')) else {
        return Vec::new();
    };
    let (leaves, folder) = (now.recorded.leaves(), claims.scope.folder_bytes());
    let mut changed = Vec::new();
    for word in base.iter().filter(|gate| !gate.watch).flat_map(|gate| command_files(&gate.command)) {
        let path = if folder.is_empty() { word.clone().into_bytes() } else { [&folder, word.as_bytes()].join(&b'/') };
        let then = checkout.leaf_at(revision, &path);
        if then.is_some() && then.as_ref() != leaves.get(word.as_bytes()) && !changed.contains(&word) {
            changed.push(word);
        }
    }
    changed.truncate(CHANGED_MAX);
    changed
}

/// Names of files in a command, and those that its programs read first.
fn command_files(command: &str) -> Vec<String> {
    let words = command.split(|letter: char| letter.is_whitespace() || "'\"();|&<>=`".contains(letter));
    let mut files = Vec::new();
    for word in words.filter(|word| !word.is_empty() && !word.starts_with(['-', '$', '/'])) {
        files.push(word.trim_start_matches("./").to_owned());
        let read = READ_FIRST.iter().filter(|(program, _)| *program == word);
        files.extend(read.map(|(_, file)| (*file).to_owned()));
    }
    files
}

/// A gate to run, and what the proof says about it.
struct Chosen {
    spec: GateSpec,
    claim: ClaimedGate,
}

/// The gates that are run: all of the proof where a trusted key signed it, else only those that the base names.
fn chosen(claims: &ProofClaims, base: &[GateSpec], looked: &Looked) -> Result<Vec<Chosen>, CheckError> {
    let trusted = looked.signatures.iter().any(|trust| matches!(trust, SignatureTrust::Trusted { .. }));
    let mut chosen = Vec::new();
    for claim in &claims.gates {
        let of_base = base.iter().find(|gate| claim.has_command(&gate.command));
        let spec = of_base.cloned().or_else(|| claim.spec().filter(|_| trusted));
        match spec {
            Some(spec) => chosen.push(Chosen { spec, claim: claim.clone() }),
            None if trusted && claim.required => {
                let name = text::one_line(&claim.name, 60);
                let why =
                    format!("the command of the gate {name} was left out of the proof, and the base does not name it");
                return Err(CheckError::Unable(why));
            }
            None => {}
        }
    }
    Ok(chosen)
}

/// The files that would be judged are those of the proof, or of the merge of its branch.
fn check_files(looked: &Looked, now: &RecordedCheckout, claims: &ProofClaims) -> Result<(), CheckError> {
    if now.files.git_tree == claims.git_tree || looked.tree == TreeMatch::BranchTip {
        return Ok(());
    }
    let names = looked.dirty.words();
    let why = format!("the files of this checkout are not those of its commit ({names}): the gates would judge others");
    Err(CheckError::Unable(why))
}

fn run_gates(
    chosen: &[Chosen],
    request: &CheckRequest<'_>,
    now: &RecordedCheckout,
    room: &Room,
    show: &mut dyn FnMut(GateProgress<'_>),
) -> Result<Vec<VerifiedGate>, CheckError> {
    let specs: Vec<GateSpec> = chosen.iter().map(|chosen| chosen.spec.clone()).collect();
    let along = Along { ignored: request.with_ignored, git: request.with_git };
    let ran = rerun(&specs, now, along, &room.path, show)?;
    Ok(chosen.iter().zip(&ran).map(|(chosen, again)| verified(chosen, again)).collect())
}

fn verified(chosen: &Chosen, again: &GateRun) -> VerifiedGate {
    let Chosen { spec, claim } = chosen;
    let verdict = match claim.verdict.as_str() {
        "pass" => Verdict::Pass,
        "fail" => Verdict::Fail,
        _ => Verdict::Unverifiable,
    };
    let recorded = CertifiedGate {
        name: text::one_line(&spec.name, 60),
        command: spec.command.clone(),
        required: !spec.watch,
        tries: spec.tries,
        verdict,
        exit_code: None,
        signal: None,
        ended: String::new(),
        duration_seconds: 0.0,
        output_sha256: claim.output_sha256.clone().unwrap_or_default(),
        tests: None,
    };
    VerifiedGate::new(&recorded, again)
}

/// What a person should know to read the answer.
fn hints(check: &ProofCheck, request: &CheckRequest<'_>, top: &Path) -> Vec<String> {
    let mut hints = Vec::new();
    let trust = "say whom you trust: --allowed-signers-rev origin/main:.github/loop_signers, or --allowed-signers FILE";
    if !check.trust_given && check.run == Rerun::NotAsked {
        hints.push(trust.to_owned());
    }
    if check.run == Rerun::Refused {
        hints.push("give the base's own gates: --run --gates-from origin/main:.loop.toml".to_owned());
        hints.push(trust.to_owned());
    }
    let in_checkout = |path: &PathBuf| path.canonicalize().is_ok_and(|path| path.starts_with(top));
    if request.signers.as_ref().is_some_and(in_checkout) {
        hints.push("the allowed signers are a file of this checkout: the author of the branch can add a key; use --allowed-signers-rev".to_owned());
    }
    if check.tree == TreeMatch::BranchTip && check.run != Rerun::NotAsked {
        hints.push("the gates ran on the files of this merge, the proof is about the branch's tip".to_owned());
    }
    let lost = |gate: &VerifiedGate| gate.required && !gate.passes();
    if matches!(&check.run, Rerun::Ran { gates } if gates.iter().any(lost)) && !request.with_ignored {
        hints.push(
            "ignored files (node_modules, target, .venv …) are not in the copy; to bring them along: --with-ignored"
                .to_owned(),
        );
    }
    hints
}

/// A proof out of a file.
///
/// # Errors
/// When it cannot be read.
pub fn read_proof(path: &Path) -> std::io::Result<Vec<u8>> {
    let most = u64::try_from(PROOF_BYTES_MAX).unwrap_or(u64::MAX).saturating_add(1);
    read_bounded(path, most)
}
