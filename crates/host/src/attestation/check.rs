//! The whole check of a proof in a checkout. The proof is untrusted input: its commands are run only if a trusted key
//! signed them or the base names the same.
use std::path::{Path, PathBuf};

use loop_core::attestation::envelope::PROOF_BYTES_MAX;
use loop_core::attestation::{
    BaseGates, CheckResults, ClaimedScope, Envelope, GateToRun, GatesMatch, GatesSource, ProofCheck, ProofClaims,
    Rerun, SignatureTrust, TreeMatch, covered_gates, gates_to_run,
};
use loop_core::policy::gate::Verdict;
use loop_core::settings::{GateSpec, gates_from_project};
use loop_core::text;
use loop_core::view::{CertifiedGate, GateRun, VerifiedGate};
use thiserror::Error;

use super::checkout::{RecordedCheckout, TreeComparison, compare, left_out_by_rules, record};
use super::hints::hints;
use super::rerun::{Extras, rerun};
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

/// So many changed files are named, and so much of each name.
const CHANGED_MAX: usize = 20;
const FILE_LETTERS_MAX: usize = 120;
/// What is asked of a proof.
#[derive(Debug, Clone)]
pub struct CheckRequest<'a> {
    /// A folder of the checkout.
    pub folder: &'a Path,
    /// The folder of all copies.
    pub copies: &'a Path,
    /// Whose git settings hold.
    pub user: GitUser,
    /// A file with the allowed signers; a relative path begins in `folder`.
    pub signers: Option<PathBuf>,
    /// The same as `REVISION:PATH`.
    pub signers_revision: Option<String>,
    /// The project file of the base: `REVISION:PATH`, or a file as [`GatesSource`] reads it.
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
        let room = ScratchFolder::open(request.copies)?;
        let scope = ClaimedScope { folder: text::escape_path(&folder), ..ClaimedScope::default() };
        let claims = ProofClaims { git_tree: "0".repeat(40), scope, ..ProofClaims::default() };
        trees = vec![record(&checkout.top.clone(), &claims, &room.path, &request.user)?.files.git_tree];
        found = note_of(&mut checkout, &trees)?;
    }
    let Some(note) = found else { return Err(no_note(&mut checkout, &folder)) };
    let lines = note.split(|byte| *byte == b'\n').rev().filter(|line| !line.trim_ascii().is_empty());
    Ok(lines.take(PROOFS_MAX).map(<[u8]>::to_vec).collect())
}

fn no_note(checkout: &mut Checkout, folder: &[u8]) -> CheckError {
    let missing = "there is no note in refs/notes/loop for the tree of this checkout";
    let on_commit = checkout.head().and_then(|head| checkout.note(&head).ok().flatten()).is_some();
    match checkout.head_tree(false, folder).filter(|_| on_commit) {
        Some(tree) => {
            CheckError::Wrong(format!("{missing}; there is a note on the commit, but it must be on the tree {tree}"))
        }
        None => CheckError::Wrong(missing.to_owned()),
    }
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
struct ScratchFolder {
    path: PathBuf,
    copies: Option<Copies>,
}

impl ScratchFolder {
    fn open(copies: &Path) -> Result<Self, CheckError> {
        let unable = |error: std::io::Error| CheckError::Unable(format!("{}: {error}", copies.display()));
        std::fs::create_dir_all(copies).map_err(unable)?;
        copy::sweep(copies).map_err(unable)?;
        let copies = Copies::open(copies, &format!("proof-{}", fresh_id().map_err(unable)?)).map_err(unable)?;
        Ok(Self { path: copies.room(), copies: Some(copies) })
    }
}

impl Drop for ScratchFolder {
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
    let room = ScratchFolder::open(request.copies)?;
    let signers = signers(request, checkout.as_mut())?;
    let base = base_gates(request, checkout.as_mut())?;
    let trust_given = signers.is_some();
    let signatures = SignatureCheck { signers, checkout: &top, scratch: &room.path };
    let signed = envelope.signed_bytes();
    let signatures = envelope.signatures.iter().map(|signature| signatures.check(&signed, signature));
    let signatures = signatures.collect::<Result<Vec<SignatureTrust>, _>>()?;
    let (now, compared) = tree_of(request, &claims, checkout.as_mut(), &top, &room)?;
    let mut gates = base.as_ref().map_or(GatesMatch::NotAsked, |base| base.compared(&claims));
    if let (GatesMatch::Same { changed }, Some(base), Some(checkout), Some(now)) =
        (&mut gates, &base, &mut checkout, &now)
    {
        *changed = changed_files(request, base, &claims, checkout, now);
    }
    let TreeComparison { tree, dirty, left_out } = compared;
    let mut found = CheckResults { signatures, trust_given, tree, dirty, gates, run: Rerun::NotAsked };
    let before = ProofCheck::new(&claims, found.clone());
    // What is refused already is not run.
    if let (true, 0 | 4, Some(now)) = (request.run, before.exit_code, &now) {
        found.run = if found.may_run() {
            if !left_out.is_nothing() {
                let why = format!("the rules of the proof leave out files of this checkout: {}", left_out.words());
                return Err(CheckError::Unable(why));
            }
            check_files(&found, now, &claims)?;
            let chosen = gates_to_run(&claims, base.as_ref(), found.is_trusted()).map_err(CheckError::Unable)?;
            Rerun::Ran { gates: run_gates(&chosen, request, now, &room, show)? }
        } else {
            Rerun::Refused
        };
    }
    let mut check = ProofCheck::new(&claims, found);
    check.covered = covered_gates(&check, &claims, base.as_ref(), &platform());
    check.hints = hints(&check, request, checkout.as_mut(), &top);
    Ok(check)
}

/// The kind of this machine, such as `x86_64-linux`.
pub(super) fn platform() -> String {
    format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS)
}

/// The files of the checkout, and what the proof has to do with them.
fn tree_of(
    request: &CheckRequest<'_>,
    claims: &ProofClaims,
    checkout: Option<&mut Checkout>,
    top: &Path,
    room: &ScratchFolder,
) -> Result<(Option<RecordedCheckout>, TreeComparison), CheckError> {
    match record(top, claims, &room.path, &request.user) {
        Ok(now) => {
            let left_out = || left_out_by_rules(&now, top, claims, &room.path, &request.user);
            let compared = compare(claims, checkout, &now, left_out)?;
            Ok((Some(now), compared))
        }
        Err(CheckError::Unable(why)) => Ok((None, TreeComparison::unseen(why))),
        Err(error) => Err(error),
    }
}

fn signers(request: &CheckRequest<'_>, checkout: Option<&mut Checkout>) -> Result<Option<Vec<u8>>, CheckError> {
    let wrong = |why: String| CheckError::Wrong(format!("the allowed signers cannot be read: {why}"));
    if let Some(name) = &request.signers_revision {
        let checkout = checkout.ok_or_else(|| wrong("there is no repository here".to_owned()))?;
        return checkout.file_at(name, SIGNERS_BYTES_MAX).map(Some).map_err(wrong);
    }
    let read = |path: &PathBuf| {
        let read = read_bounded(&request.folder.join(path), SIGNERS_BYTES_MAX);
        read.map_err(|error| wrong(format!("{}: {error}", path.display())))
    };
    request.signers.as_ref().map(read).transpose()
}

fn base_gates(request: &CheckRequest<'_>, checkout: Option<&mut Checkout>) -> Result<Option<BaseGates>, CheckError> {
    let Some(name) = &request.gates_from else { return Ok(None) };
    let shown = text::escaped_head(name, 200);
    let wrong = |why: String| CheckError::Wrong(format!("the gates of the base cannot be read: {why}"));
    let source = GatesSource::of(name);
    // A file on disk does not say for which folder it is: for the one where the check is asked for.
    let here = checkout.as_ref().map(|checkout| checkout.below.clone()).unwrap_or_default();
    let bytes = match (source, checkout) {
        (GatesSource::Revision { .. }, Some(checkout)) => checkout.file_at(name, PROJECT_BYTES_MAX).map_err(wrong)?,
        (GatesSource::Revision { .. }, None) => {
            return Err(wrong(format!("{shown} is a file of a revision, and there is no repository here")));
        }
        (GatesSource::File(path), _) => read_bounded(&request.folder.join(path), PROJECT_BYTES_MAX)
            .map_err(|error| wrong(format!("{shown}: {error}")))?,
    };
    let text = String::from_utf8(bytes).map_err(|_| wrong(format!("{shown} is not UTF-8")))?;
    let gates = gates_from_project(&text, &shown).map_err(|error| wrong(error.to_string()))?;
    if !gates.iter().any(|gate| !gate.watch) {
        return Err(wrong(format!("{shown} names no gate that must pass")));
    }
    Ok(Some(BaseGates { gates, folder: source.folder().unwrap_or(here) }))
}

/// Files that decide what the gates of the base do, and that are not as in the base: also new ones.
fn changed_files(
    request: &CheckRequest<'_>,
    base: &BaseGates,
    claims: &ProofClaims,
    checkout: &mut Checkout,
    now: &RecordedCheckout,
) -> Vec<String> {
    let source = request.gates_from.as_deref().map(GatesSource::of);
    let Some(GatesSource::Revision { revision, .. }) = source else { return Vec::new() };
    let (leaves, folder) = (now.recorded.leaves(), claims.scope.folder_bytes());
    let mut changed = Vec::new();
    for file in base.files(claims) {
        let own = text::unescape_path(&file);
        let path = if folder.is_empty() { own.clone() } else { [&folder[..], &own].join(&b'/') };
        if checkout.leaf_at(revision, &path).as_ref() != leaves.get(&own) {
            changed.push(text::one_line(&file, FILE_LETTERS_MAX));
        }
    }
    changed.truncate(CHANGED_MAX);
    changed
}

/// The files that would be judged are those of the proof, or of the merge of its branch.
fn check_files(found: &CheckResults, now: &RecordedCheckout, claims: &ProofClaims) -> Result<(), CheckError> {
    let is_merge = found.tree == TreeMatch::BranchTip && found.dirty.is_nothing();
    if now.files.git_tree == claims.git_tree || is_merge {
        return Ok(());
    }
    let names = found.dirty.words();
    Err(CheckError::Unable(format!("the checkout has local changes ({names}); commit or stash them first")))
}

fn run_gates(
    chosen: &[GateToRun],
    request: &CheckRequest<'_>,
    now: &RecordedCheckout,
    room: &ScratchFolder,
    show: &mut dyn FnMut(GateProgress<'_>),
) -> Result<Vec<VerifiedGate>, CheckError> {
    let specs: Vec<GateSpec> = chosen.iter().map(|chosen| chosen.spec.clone()).collect();
    let along = Extras { ignored: request.with_ignored, git: request.with_git };
    let ran = rerun(&specs, now, along, &room.path, show)?;
    Ok(chosen.iter().zip(&ran).map(|(chosen, again)| verified(chosen, again)).collect())
}

fn verified(chosen: &GateToRun, again: &GateRun) -> VerifiedGate {
    let GateToRun { spec, claim } = chosen;
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

/// A proof out of a file.
///
/// # Errors
/// When it cannot be read.
pub fn read_proof(path: &Path) -> std::io::Result<Vec<u8>> {
    let most = u64::try_from(PROOF_BYTES_MAX).unwrap_or(u64::MAX).saturating_add(1);
    read_bounded(path, most)
}
