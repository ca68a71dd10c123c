//! The proof of a run, made from its journal and its checkpoints.
use std::collections::BTreeMap;
use std::path::Path;

use loop_core::attestation::{Envelope, GateInput, LocalTexts, PortableTree, StatementRequest, canonical, statement};
use loop_core::run::{Answer, Entry, Event, Fact, INITIAL, Order, Outcome, Run, RunState};
use loop_core::test_output::TestStatus;
use loop_core::view::Certificate;

use super::check::platform;
use crate::checkpoint::user_git::clean::CleanGit;
use crate::checkpoint::user_git::{Checkout, NoteError};
use crate::checkpoint::{CheckpointContext, Leaf, ObjectFormat, Recorded, git_tree};
use crate::gate::stored_tests;
use crate::journal::{self, Reading};
use crate::paths::{Home, path_of, text_of, user_home};
use crate::refusal::LaunchRefusal;
use crate::run_folder::RunFolder;
use crate::secrets;

/// Files and links by their paths.
type Leaves = BTreeMap<Vec<u8>, Leaf>;

/// So many names that are no part of the tree are given as the reason.
const NAMED_MAX: usize = 3;

/// A proof that was made.
#[derive(Debug)]
pub struct Exported {
    /// The proof, not signed yet.
    pub envelope: Envelope,
    /// The tree that it is about.
    pub tree: PortableTree,
    /// The run.
    pub state: RunState,
    /// Its certificate.
    pub certificate: Certificate,
    /// Tests that failed at the start and pass now.
    pub turned: Option<Vec<String>>,
    /// Fields that were left out.
    pub withheld: Vec<String>,
    /// What a person should know about it.
    pub remarks: Vec<String>,
}

/// Makes the proof of a run. Nothing is written and no program is run.
///
/// # Errors
/// When the run has no end that can be proved, its records cannot be read, or an agent asks for it.
pub fn export(home: &Home, run: &RunFolder) -> Result<Exported, LaunchRefusal> {
    let id = &run.id;
    if crate::process::is_inside_run() {
        return Err(LaunchRefusal::wrong(format!("no proof of loop {id} is made from inside a loop"))
            .because("an agent must not hand over a proof of its own work")
            .hint("make it in a terminal of your own"));
    }
    let mut reading = journal::read(&run.path)?;
    let could_not_work = keep_proved_end(&mut reading);
    let state = reading.fold();
    let certificate = provable(run, &state)?;
    let Some(spec) = &state.spec else { return Err(nothing(run, "it never began")) };
    let context = run.checkpoints(spec);
    let mut remarks = Vec::new();
    if could_not_work {
        remarks.push("the loop was resumed since and could not work: this is the proof of its end before".to_owned());
    }
    let checkout = Checkout::of(&context.workspace).ok().flatten();
    let format = checkout.as_ref().map_or(ObjectFormat::Sha1, |checkout| checkout.format);
    let (tree, leaves) = tree(run, &certificate, &context, format, &mut remarks)?;
    let local = LocalTexts { folders: local_folders(home, &context.workspace), secrets: secrets::of(&state) };
    let turned = turned(run, &state);
    let request = StatementRequest {
        baseline_tree: baseline_tree(&context, format),
        inputs: inputs(&reading.entries, &state, &leaves),
        folder: checkout.map(|checkout| loop_core::text::escape_path(&checkout.below)).unwrap_or_default(),
        platform: platform(),
        program: env!("CARGO_PKG_VERSION").to_owned(),
        turned: turned.clone(),
        start_commit: CleanGit::of(&context).and_then(|git| git.head()),
        journal: Some(reading.head.as_str().to_owned()),
        tree: tree.clone(),
        state: &state,
        certificate: &certificate,
        litter: spec.litter.clone(),
        local,
    };
    let made = statement(&request);
    let withheld = made["predicate"]["withheld"].as_array().into_iter().flatten();
    let withheld = withheld.filter_map(|place| place.as_str().map(str::to_owned)).collect();
    let Some(payload) = canonical::text(&made) else {
        return Err(LaunchRefusal::unable(format!("the proof of loop {id} cannot be written"))
            .because("a bug of loop: a number in it is not an integer")
            .hint("please report it"));
    };
    let envelope = Envelope { payload: payload.into_bytes(), signatures: Vec::new() };
    Ok(Exported { envelope, tree, certificate, turned, withheld, remarks, state })
}

/// Where a loop was verified, and its resume could not work: only its facts up to that end. What it had proved stays proved.
/// Whether facts were left out.
pub fn keep_proved_end(reading: &mut Reading<Run>) -> bool {
    let state = reading.fold();
    let unable = state.over.as_ref().is_some_and(|over| over.outcome == Outcome::Unable);
    if !unable || state.checkpoints.verified_before().is_none() {
        return false;
    }
    let is_proved = |entry: &Entry| matches!(&entry.fact, Fact::Concluded { outcome: Outcome::Verified, .. });
    let Some(at) = reading.entries.iter().rposition(is_proved) else { return false };
    reading.entries.truncate(at + 1);
    true
}

/// The certificate of an end that can be handed over.
fn provable(run: &RunFolder, state: &RunState) -> Result<Certificate, LaunchRefusal> {
    let id = &run.id;
    let outcome = state.over.as_ref().map(|over| over.outcome);
    match (Certificate::of(state), outcome) {
        (Some(certificate), Some(Outcome::Verified | Outcome::Accepted)) => Ok(certificate),
        (_, Some(Outcome::PassedBut)) => {
            Err(nothing(run, "its gates pass, but something speaks against it").hint(format!("loop accept {id}")))
        }
        (_, Some(Outcome::Claimed)) => {
            Err(nothing(run, "it has no gate: the agent only says that it is done").hint("start with --promise CMD"))
        }
        (_, Some(_)) => Err(nothing(run, "it ended without being done").hint(hint_to_verified(state, id.as_str()))),
        (_, None) => Err(nothing(run, "it has no end yet").hint(format!("loop status {id}"))),
    }
}

/// How a loop that was verified before a resume becomes so again, else where to look.
#[must_use]
pub fn hint_to_verified(state: &RunState, id: &str) -> String {
    match state.checkpoints.verified_before() {
        Some(checkpoint) => {
            format!(
                "it was verified on {checkpoint} before its resume: loop rollback {id} {checkpoint} && loop resume {id}"
            )
        }
        None => format!("loop status {id}"),
    }
}

fn nothing(run: &RunFolder, why: &str) -> LaunchRefusal {
    LaunchRefusal::wrong(format!("there is no proof of loop {}", run.id)).because(why)
}

/// The git tree of the start.
fn baseline_tree(context: &CheckpointContext, format: ObjectFormat) -> Option<String> {
    match format {
        ObjectFormat::Sha1 => git_tree(context, INITIAL).ok(),
        ObjectFormat::Sha256 => Some(Recorded::open(context, INITIAL).ok()?.portable(format).ok()?.git_tree),
    }
}

/// The files that each gate used when it ran first, as they are in the tree that was judged.
fn inputs(entries: &[Entry], state: &RunState, leaves: &Leaves) -> BTreeMap<String, Vec<GateInput>> {
    let (mut orders, mut all) = (BTreeMap::new(), BTreeMap::<String, Vec<GateInput>>::new());
    for entry in entries {
        match &entry.fact {
            Fact::Ordered { id, order: Order::RunGate { gate, .. } } => drop(orders.insert(*id, *gate)),
            Fact::Happened(input) => {
                let Event::Answered { order, answer: Answer::GateEnded(report) } = &input.event else { continue };
                let gate = orders.get(order).and_then(|gate| state.gates.get(*gate));
                let (Some(gate), Some(used)) = (gate, &report.used) else { continue };
                let named = all.entry(gate.spec().name.clone()).or_default();
                for file in &used.files {
                    let leaf = leaves.get(&loop_core::text::unescape_path(&file.path));
                    let input = leaf.map(|leaf| GateInput { path: file.path.clone(), git_blob: leaf.id.to_string() });
                    named.extend(input.filter(|input| !named.contains(input)));
                }
            }
            Fact::Ordered { .. } | Fact::OrderCancelled { .. } | Fact::Decided(_) | Fact::Concluded { .. } => {}
        }
    }
    all
}

/// The files that were judged, by hashes that are the same everywhere.
fn tree(
    run: &RunFolder,
    certificate: &Certificate,
    context: &CheckpointContext,
    format: ObjectFormat,
    remarks: &mut Vec<String>,
) -> Result<(PortableTree, Leaves), LaunchRefusal> {
    let (Some(checkpoint), Some(hash)) = (&certificate.checkpoint, &certificate.tree) else {
        return Err(nothing(run, "it was started with --checkpoint none: the files that were judged are not recorded")
            .hint("start with --checkpoint auto"));
    };
    let opened = Recorded::open(context, checkpoint).and_then(|recorded| {
        let files = recorded.portable(format)?;
        Ok((recorded, files))
    });
    match opened {
        Ok((recorded, files)) if recorded.tree == *hash => {
            let not_git = not_git(&recorded, &files.nested);
            // Our store has SHA-1 ids of contents.
            let leaves = if format == ObjectFormat::Sha1 { recorded.leaves() } else { Leaves::new() };
            Ok((PortableTree { git_tree: files.git_tree, sha256: Some(files.sha256), not_git }, leaves))
        }
        Ok(_) => Err(nothing(run, "its checkpoint holds another tree than the one that was judged")),
        Err(error) => match &certificate.git_tree {
            Some(git_tree) if format == ObjectFormat::Sha1 => {
                remarks.push(format!("the checkpoint is not there any more ({error}): the proof has no sha256"));
                Ok((PortableTree { git_tree: git_tree.clone(), sha256: None, not_git: None }, Leaves::new()))
            }
            Some(_) | None => Err(nothing(run, &format!("its checkpoint cannot be read: {error}"))
                .hint(format!("checkpoints that still exist: loop checkpoint list {}", run.id))),
        },
    }
}

/// Why a commit of these files has another tree.
fn not_git(recorded: &Recorded, nested: &[String]) -> Option<String> {
    if !nested.is_empty() {
        let names = nested.iter().take(NAMED_MAX).map(String::as_str).collect::<Vec<_>>().join(", ");
        return Some(format!("repositories inside it count with their files: {names}"));
    }
    let left_out = recorded.checkpoint.manifest.left_out.first()?;
    Some(format!("files are not included: {}", loop_core::text::escape_path(&left_out.0)))
}

/// Folders of this machine.
fn local_folders(home: &Home, workspace: &Path) -> Vec<String> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folders = [Some(home.state.clone()), user_home(), Some(workspace.to_owned())];
    let mut all: Vec<String> =
        folders.into_iter().flatten().flat_map(|path| [text_of(&real(&path)), text_of(&path)]).collect();
    all.sort();
    all.dedup();
    all
}

/// Tests that failed before iteration 1 and pass now; none where no gate stored its tests.
fn turned(run: &RunFolder, state: &RunState) -> Option<Vec<String>> {
    let mut turned = None;
    for gate in state.gates.iter() {
        let (Some(first), Some(last)) = (gate.first_order(), gate.last()) else { continue };
        let first = stored_tests(&run.gate(0, first));
        let (Some(first), Some(last)) = (first, stored_tests(&run.gate(last.iteration, last.order))) else { continue };
        let names: &mut Vec<String> = turned.get_or_insert_default();
        let is_new = |name: &&String| last.statuses.get(*name) == Some(&TestStatus::Passed);
        let failed = first.statuses.iter().filter(|(_, status)| **status == TestStatus::Failed).map(|(name, _)| name);
        names.extend(failed.filter(is_new).cloned());
    }
    turned
}

impl Exported {
    /// Where the run worked.
    #[must_use]
    pub fn workspace(&self) -> Option<std::path::PathBuf> {
        self.state.spec.as_ref().map(|spec| path_of(&spec.workspace.path))
    }

    /// Attaches the proof to its tree in the repository of the workspace. Says whether it was not there before.
    ///
    /// # Errors
    /// When there is no repository, or it cannot be written.
    pub fn add_note(&self, line: &str) -> Result<bool, NoteError> {
        let refused = |why: &str| NoteError::Refused(why.to_owned());
        let workspace = self.workspace().ok_or_else(|| refused("the workspace is not known"))?;
        let checkout = Checkout::of(&workspace).map_err(NoteError::Refused)?;
        let mut checkout = checkout.ok_or_else(|| refused("the workspace is not in a repository"))?;
        checkout.add_note(&self.tree.git_tree, line, crate::clock::now().wall_ms / 1000)
    }
}
