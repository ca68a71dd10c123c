//! What the agent changed, from the start to the pass, that the gates may depend on. It is read off the checkpoints;
//! without them it is not known.
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use loop_core::policy::probe::{LineChange, TreeVersion};
use loop_core::policy::promise_warning::{PromiseFlaw, promise_warnings};
use loop_core::policy::protect::{
    FileChange, GateReads, Opportunity, OpportunityKind, PathChange, ProjectText, SuspectReason, is_allowed,
    is_manifest, is_named_only, is_read_by_runs, is_runner_file, is_source_name, is_target_file, is_test_path,
    loses_nothing, lost_test, opportunity, sourced_names, suspect_reason, suspect_reason_in_test, test_definition,
};
use loop_core::run::{Answer, CertifyReport, RunState};
use loop_core::settings::OnTamper;
use loop_core::text::escape_path;

use super::rest;
use crate::checkpoint::diff::{Bounds, Change, line_changes};
use crate::checkpoint::{CheckpointContext, Comparison, Recorded, RecordedTrees, ScannedText, StoredKind};

/// So many of each are in a report.
const NAMED_MAX: usize = 40;
/// A manifest that is longer is none that people write.
const MANIFEST_BYTES_MAX: usize = 1024 * 1024;
/// So many texts of the start are searched for the names of files, each of so many bytes, and all together.
const TEXTS_MAX: usize = 2000;
const TEXT_BYTES_MAX: usize = 256 * 1024;
const TEXT_BYTES_ALL: usize = 16 * 1024 * 1024;
/// A longer source is not looked through; that is said.
const SCANNED_BYTES_MAX: usize = 4 << 20;
/// So many changed files, and so many new ones, are looked into.
const FILES_MAX: usize = 500;
/// So many lines of one file are named.
const LINES_MAX: usize = 4;

/// The two states of the workspace that are compared, and what the gates are.
#[derive(Debug)]
pub(crate) struct ChangesSinceStart {
    pub(crate) context: CheckpointContext,
    pub(crate) newest: String,
    /// The commands of the required gates.
    pub(crate) commands: Vec<String>,
    /// The files that the gates use to judge.
    pub(crate) gate_files: Vec<String>,
    /// Those of them that may be changed.
    pub(crate) permitted: Permitted,
    /// Tests ran before the first iteration.
    pub(crate) tests_ran: bool,
}

/// Whether all that the tests import could be loaded before the first iteration, and tests ran.
pub(crate) fn tests_ran_at_start(state: &RunState) -> bool {
    let rounds = || state.gates.required().filter_map(|gate| gate.first_round());
    let ran =
        rounds().filter_map(|round| round.tests()).any(|tests| !tests.files_only && tests.passed + tests.failed > 0);
    ran && !rounds().any(|round| round.did_not_build())
}

/// Files that the gates use, and that may be changed.
#[derive(Debug, Default)]
pub(crate) struct Permitted {
    /// A person allowed it: `--allow`, `--on-tamper allow`.
    by_person: BTreeSet<String>,
    /// The task names them, or there were too many to protect.
    not_protected: BTreeSet<String>,
    /// The list of those beyond the number that is protected, where it is not the one that was written.
    lost_list: Option<String>,
}

impl Permitted {
    pub(crate) fn of(state: &RunState, run: &Path) -> Self {
        let settings = &state.settings.shown().values.guard;
        let scripts = state.spec.iter().filter_map(|spec| spec.guard.as_ref()).flat_map(|guard| &guard.scripts);
        let protected = state.guard.learned().iter().chain(scripts);
        let is_allowed = |path: &&String| settings.on_tamper == OnTamper::Allow || is_allowed(&settings.allow, path);
        let (by_person, by_task) = state.guard.left().iter().partition::<Vec<&String>, _>(is_allowed);
        let by_person = protected.filter(is_allowed).chain(by_person);
        let mut by_person: BTreeSet<String> = by_person.cloned().collect();
        let mut not_protected: BTreeSet<String> = by_task.into_iter().cloned().collect();
        let mut lost_list = None;
        match rest::read(run, state) {
            Ok(more) => {
                let (allowed, others) = more.into_iter().partition::<Vec<String>, _>(|path| is_allowed(&path));
                by_person.extend(allowed);
                not_protected.extend(others);
            }
            Err(path) => lost_list = Some(escape_path(path.as_os_str().as_bytes())),
        }
        Self { by_person, not_protected, lost_list }
    }

    /// What the change of a file is for which nothing else is known.
    fn kind(&self, path: &str, what: FileChange) -> Option<OpportunityKind> {
        match what {
            FileChange::New => None,
            FileChange::Changed | FileChange::Removed if self.by_person.contains(path) => {
                Some(OpportunityKind::AllowedFile)
            }
            // What the gates run is another thing than at the start.
            FileChange::Changed | FileChange::Removed => {
                self.not_protected.contains(path).then_some(OpportunityKind::ChangedManifest)
            }
        }
    }
}

/// Adds what the agent changed to an answer. What cannot be read is left out: the gates showed what they showed.
pub(crate) fn with(answer: Answer, between: Option<&ChangesSinceStart>) -> Answer {
    match (answer, between.map(find)) {
        (Answer::Certify(report), Some(Ok(found))) => Answer::Certify(CertifyReport {
            opportunities: found.opportunities,
            context_files: found.named,
            nothing_lost: found.nothing_lost,
            ..report
        }),
        (answer, _) => answer,
    }
}

#[derive(Default)]
struct Found {
    opportunities: Vec<Opportunity>,
    named: Vec<String>,
    nothing_lost: Vec<String>,
}

fn find(between: &ChangesSinceStart) -> io::Result<Found> {
    // Names only: neither lines nor renames are wanted.
    let bounds = Bounds { all_bytes: 0, file_steps: 0, all_steps: 0, rename_pairs: 0, ..Bounds::default() };
    let compared = Comparison::open(&between.context, "initial", &between.newest)?;
    let mut found = Found::default();
    for change in &compared.changes(&bounds)?.changes {
        if !change.is_of_files() {
            continue;
        }
        let path = escape_path(&change.path);
        let what = match (change.from, change.to) {
            (None, _) => FileChange::New,
            (Some(_), Some(_)) => FileChange::Changed,
            (Some(_), None) => FileChange::Removed,
        };
        if std::str::from_utf8(&change.path).is_err() {
            // Nobody can say by such a name what a file is for.
            found.opportunities.push(Opportunity { kind: OpportunityKind::GateFile, path });
            continue;
        }
        if is_named_only(&path) {
            found.named.push(path);
            continue;
        }
        if what == FileChange::Changed && is_target_file(&path) && has_lost_nothing(&compared, change, &path) {
            found.nothing_lost.push(path.clone());
        }
        let is_part = is_manifest(path.rsplit('/').next().unwrap_or(&path));
        let by_name = opportunity(&path, what).filter(|_| !is_part || definition_differs(&compared, change, &path));
        let kind = between.permitted.kind(&path, what).or(by_name);
        found.opportunities.extend(kind.map(|kind| Opportunity { kind, path }));
    }
    let lost = between.permitted.lost_list.clone();
    found.opportunities.extend(lost.map(|path| Opportunity { kind: OpportunityKind::ChangedManifest, path }));
    found.named.truncate(NAMED_MAX);
    found.nothing_lost.truncate(NAMED_MAX);
    // Without these the rest is still worth saying.
    let more = by_texts(between, &found.opportunities).unwrap_or_default();
    found.opportunities.extend(more);
    found.opportunities = few_of_each(found.opportunities);
    Ok(found)
}

/// So many of each kind: many of one must not hide another.
fn few_of_each(all: Vec<Opportunity>) -> Vec<Opportunity> {
    let mut counts: BTreeMap<OpportunityKind, usize> = BTreeMap::new();
    let mut has_room = |one: &Opportunity| {
        let count = counts.entry(one.kind).or_default();
        *count += 1;
        *count <= NAMED_MAX
    };
    all.into_iter().filter(|one| has_room(one)).collect()
}

/// Whether the part of a manifest was changed that a test runner reads.
fn definition_differs(compared: &Comparison, change: &Change, path: &str) -> bool {
    let part = |side| test_definition(path, &compared.text(side, MANIFEST_BYTES_MAX)?, &mut |_| None);
    part(change.from.as_ref()) != part(change.to.as_ref())
}

/// Whether a file that defines how tests are run has lost nothing of it.
fn has_lost_nothing(compared: &Comparison, change: &Change, path: &str) -> bool {
    let text = |side| compared.text(side, MANIFEST_BYTES_MAX);
    let (before, after) = (text(change.from.as_ref()), text(change.to.as_ref()));
    before.zip(after).is_some_and(|(before, after)| loses_nothing(path, &before, &after))
}

/// What is found by reading: the texts of the gates and of the tests, links, and the lines of the change.
fn by_texts(between: &ChangesSinceStart, known: &[Opportunity]) -> io::Result<Vec<Opportunity>> {
    let initial = Recorded::open(&between.context, "initial")?;
    let last = Recorded::open(&between.context, &between.newest)?;
    let trees = RecordedTrees::new(&initial, &last);
    // A gate that only looks for files looks for the work; the start warns about such a gate.
    let commands: Vec<String> = between.commands.iter().filter(|command| !only_reads_files(command)).cloned().collect();
    let gates = gate_texts(&trees, &commands, &between.gate_files);
    let project = project_texts(&trees);
    let reads = GateReads::of(&gates, &project).with_tests_run(between.tests_ran);
    let left = Cell::new(FILES_MAX);
    let read = |version: TreeVersion, path: &str| {
        left.set(left.get().checked_sub(1)?);
        trees.text(version, path)
    };
    let known: BTreeSet<&str> = known.iter().map(|known| known.path.as_str()).collect();
    let (mut found, mut lines) = (Vec::new(), Vec::new());
    let changes = read_changes(&trees);
    for change in &changes {
        let path = escape_path(change.path.as_bytes());
        if leads_outside(&trees, &change.path, &between.context.workspace) {
            found.push(Opportunity { kind: OpportunityKind::OutsideLink, path: path.clone() });
        }
        if !known.contains(path.as_str())
            && let Some(kind) = reads.kind(&change.borrowed(), &read)
        {
            found.push(Opportunity { kind, path });
        }
    }
    let sourced = sourced_files(&trees, &project, &changes);
    // What was there first: nobody can hide a line behind many new files.
    for wanted in [FileChange::Changed, FileChange::New] {
        for change in changes.iter().filter(|change| change.what == wanted).take(FILES_MAX) {
            let path = change.path.as_str();
            let is_sourced = !is_source_name(path) && sourced.contains(path.rsplit('/').next().unwrap_or(path));
            if is_sourced || is_source_name(path) {
                add_lines(&trees, &reads, &SearchedFile { path, is_sourced }, &mut lines);
            }
        }
    }
    found.extend(lines.into_iter().map(|path| Opportunity { kind: OpportunityKind::SuspectLine, path }));
    Ok(found)
}

/// The names of files that shell scripts of the project read as a part of themselves, at the start or now.
fn sourced_files(trees: &RecordedTrees<'_>, project: &[ProjectText], changes: &[ReadChange]) -> BTreeSet<String> {
    let is_shell = |path: &str| path.ends_with(".sh") || path.ends_with(".bash");
    let before = project.iter().filter(|text| is_shell(&text.path)).flat_map(|text| sourced_names(&text.text));
    let changed = changes.iter().filter(|change| is_shell(&change.path)).take(FILES_MAX);
    let now = changed.filter_map(|change| trees.text(TreeVersion::Last, &change.path));
    before.chain(now.flat_map(|text| sourced_names(&text))).collect()
}

/// A file whose new lines are searched.
#[derive(Clone, Copy)]
struct SearchedFile<'a> {
    path: &'a str,
    /// A shell script reads it as a part of itself, whatever its name says.
    is_sourced: bool,
}

fn only_reads_files(command: &str) -> bool {
    promise_warnings(command, "").iter().any(|warning| warning.flaw == PromiseFlaw::ReadsOnlyFiles)
}

/// The texts of the gates, as these were at the start.
pub(crate) fn gate_texts(trees: &RecordedTrees<'_>, commands: &[String], gate_files: &[String]) -> Vec<ProjectText> {
    let command = |text: &String| ProjectText { path: String::new(), text: text.clone() };
    let file = |path: &String| Some(ProjectText { path: path.clone(), text: trees.text(TreeVersion::Initial, path)? });
    commands.iter().map(command).chain(gate_files.iter().filter_map(file)).collect()
}

/// New files in the places of targets that a makefile of the gates makes.
pub(crate) fn made_by_gates(trees: &RecordedTrees<'_>, commands: &[String], gate_files: &[String]) -> Vec<String> {
    let reads = GateReads::of(&gate_texts(trees, commands, gate_files), &[]);
    let changes = read_changes(trees).into_iter().filter(|change| change.what == FileChange::New);
    changes.map(|change| change.path).filter(|path| reads.is_made_by_gates(path)).collect()
}

/// The texts of the start in which files may be named: what runners read, then tests, then sources.
fn project_texts(trees: &RecordedTrees<'_>) -> Vec<ProjectText> {
    let is_setup = |path: &str| {
        is_runner_file(path) || is_read_by_runs(path) || is_manifest(path.rsplit('/').next().unwrap_or(path))
    };
    let is_source = |path: &str| path.contains('.') && is_source_name(path);
    let rank = |path: &str| match () {
        () if is_setup(path) => Some(0),
        () if is_source(path) => Some(if is_test_path(path) { 1 } else { 2 }),
        () => None,
    };
    let ranked = trees.files(TreeVersion::Initial).filter_map(|path| Some((rank(path)?, path)));
    let mut paths: Vec<(u8, &str)> = ranked.collect();
    paths.sort_by_key(|(rank, _)| *rank);
    let (mut texts, mut bytes) = (Vec::new(), 0);
    for (_, path) in paths.into_iter().take(TEXTS_MAX) {
        if bytes >= TEXT_BYTES_ALL {
            break;
        }
        let read = trees.bytes(TreeVersion::Initial, path.as_bytes(), TEXT_BYTES_MAX).ok().flatten();
        let Some(text) = read.and_then(|read| String::from_utf8(read).ok()) else { continue };
        bytes += text.len();
        texts.push(ProjectText { path: path.to_owned(), text });
    }
    texts
}

/// A changed file, as the texts of the gates are asked about it.
#[derive(Debug)]
pub(crate) struct ReadChange {
    pub(crate) path: String,
    pub(crate) what: FileChange,
    is_program: bool,
    is_empty: bool,
    new_folder: Option<String>,
}

impl ReadChange {
    pub(crate) fn borrowed(&self) -> PathChange<'_> {
        PathChange {
            path: &self.path,
            what: self.what,
            is_program: self.is_program,
            is_empty: self.is_empty,
            new_folder: self.new_folder.as_deref(),
        }
    }
}

/// All files that differ between the two trees.
pub(crate) fn read_changes(trees: &RecordedTrees<'_>) -> Vec<ReadChange> {
    let each = trees.changed().into_iter().map(|file| {
        let what = match (file.was_there, file.is_there) {
            (false, _) => FileChange::New,
            (true, true) => FileChange::Changed,
            (true, false) => FileChange::Removed,
        };
        let version = if file.is_there { TreeVersion::Last } else { TreeVersion::Initial };
        let is_mark = file.path.ends_with("__init__.py");
        let above = file.path.match_indices('/').filter_map(|(at, _)| file.path.get(..at));
        let mut new = above.filter(|folder| trees.entry(TreeVersion::Initial, folder.as_bytes()).is_none());
        ReadChange {
            what,
            is_program: trees.entry(version, file.path.as_bytes()).is_some_and(|entry| entry.mode & 0o111 != 0),
            is_empty: is_mark && trees.text(version, &file.path).is_some_and(|text| text.trim().is_empty()),
            new_folder: new.next().map(str::to_owned),
            path: file.path,
        }
    });
    each.collect()
}

/// Whether a name is a link of the final tree that leads out of the workspace.
fn leads_outside(trees: &RecordedTrees<'_>, path: &str, workspace: &Path) -> bool {
    let Some(StoredKind::Link(leads)) = trees.entry(TreeVersion::Last, path.as_bytes()).map(|entry| &entry.what) else {
        return false;
    };
    let leads = String::from_utf8_lossy(leads);
    if leads.starts_with('/') {
        return !Path::new(leads.as_ref()).starts_with(workspace);
    }
    let mut depth = path.matches('/').count();
    for part in leads.split('/') {
        match part {
            "" | "." => {}
            ".." if depth == 0 => return true,
            ".." => depth -= 1,
            _ => depth += 1,
        }
    }
    false
}

/// Lines of a file that a person should look at: new ones, and tests in a source that are gone.
fn add_lines(trees: &RecordedTrees<'_>, reads: &GateReads, file: &SearchedFile<'_>, found: &mut Vec<String>) {
    if found.len() >= NAMED_MAX {
        return;
    }
    let path = file.path;
    let text = |version| trees.lossy_text(version, path, SCANNED_BYTES_MAX);
    let after = match text(TreeVersion::Last) {
        ScannedText::Text(after) => after,
        ScannedText::None => return,
        ScannedText::TooLong => {
            let why = SuspectReason::TooLong.words();
            return found.push(format!("{}:1 {why}", escape_path(path.as_bytes())));
        }
    };
    let before = match text(TreeVersion::Initial) {
        ScannedText::Text(before) => before,
        ScannedText::None | ScannedText::TooLong => String::new(),
    };
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let line = |lines: &[&'_ str], number: u32| -> Option<String> {
        lines.get(usize::try_from(number).ok()?).map(|line| (*line).to_owned())
    };
    let mut named = 0;
    let mut add = |number: u32, why: SuspectReason| {
        named += 1;
        if named <= LINES_MAX {
            let shown = escape_path(path.as_bytes());
            found.push(format!("{shown}:{} {}", number.saturating_add(1), why.words()));
        }
    };
    let is_there = |line: &str| new.iter().any(|other| other.trim() == line.trim());
    let changes = line_changes(before.as_bytes(), after.as_bytes(), Bounds::default().file_steps);
    // Where a comparison would take too long, every line counts as new.
    let all = |lines: &[&str]| 0..u32::try_from(lines.len()).unwrap_or(u32::MAX);
    for change in changes.unwrap_or_else(|| vec![LineChange { before: all(&old), after: all(&new) }]) {
        let gone: Vec<String> = change.before.clone().filter_map(|number| line(&old, number)).collect();
        let mut lost = gone.iter().filter_map(|line| lost_test(path, line).filter(|_| !is_there(line)));
        if let Some(why) = lost.next() {
            add(change.after.start, why);
        }
        for number in change.after {
            let Some(here) = line(&new, number) else { continue };
            let next = line(&new, number.saturating_add(1)).unwrap_or_default();
            let is_value = !is_test_path(path) && reads.changes_test_value(&here, &gone);
            let of_value = is_value.then_some(SuspectReason::ChangesTestValue);
            if let Some(why) = reason_of(reads, file, &here, &next).or(of_value) {
                add(number, why);
            }
        }
    }
}

/// Why a new line should be looked at.
fn reason_of(reads: &GateReads, file: &SearchedFile<'_>, line: &str, next: &str) -> Option<SuspectReason> {
    // The ending says how lines are read.
    let path = if file.is_sourced { "sourced.sh" } else { file.path };
    if is_test_path(path) {
        return suspect_reason_in_test(path, line);
    }
    let is_shell = path.ends_with(".sh") || path.ends_with(".bash");
    let by_gates = || match () {
        () if is_shell && reads.replaces_shell_name(line) => Some(SuspectReason::ReplacesOthers),
        () => (reads.names_data(line) || reads.names_test(line)).then_some(SuspectReason::ReadsTheTests),
    };
    suspect_reason(path, line, next).or_else(by_gates)
}
