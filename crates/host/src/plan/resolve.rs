//! The run that resolves a conflict: an ordinary run in a copy that has both versions of each text between signs. Its gates
//! are those of all merged loops, and one more: no signs are left.
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use loop_core::agent::shell_words::quoted;
use loop_core::settings::{GateSpec, Layer, Origin, Resolved, Settings, gate_line, keys};
use loop_core::text;
use serde::{Deserialize, Serialize};

use crate::fs::write_synced;
use crate::launch::{LaunchRequest, TaskSource};
use crate::merge::MarkedTree;

/// The gate that fails while a sign is left.
const GATE: &str = "no-conflict-markers";
/// A longer command looks for signs in all files in the place of these.
const COMMAND_BYTES_MAX: usize = 16 * 1024;
/// So many files are named in the prompt.
const PATHS_SHOWN_MAX: usize = 50;
/// The name of a gate is at most so long.
const NAME_BYTES_MAX: usize = 40;

/// The files of a tree that have signs.
#[derive(Debug, Serialize, Deserialize)]
struct StoredConflict {
    /// What each sign has in it.
    label: String,
    /// Their paths; none where one of them is not text.
    paths: Option<Vec<String>>,
}

fn file_of(folder: &Path, tree: &str) -> PathBuf {
    folder.join(format!("{tree}.json"))
}

/// Writes down which files of a tree have signs. Written again, it is the same.
pub(super) fn store(folder: &Path, label: &str, marked: &MarkedTree) -> io::Result<()> {
    let paths = marked.paths.iter().map(|path| String::from_utf8(path.clone()).ok()).collect();
    let stored = StoredConflict { label: label.to_owned(), paths };
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let file = file_of(folder, &marked.tree);
    if file.exists() {
        fs::remove_file(&file)?;
    }
    write_synced(&file, &serde_json::to_vec(&stored)?)
}

/// Whose gates count, with their settings.
pub(super) struct GatesOf {
    pub(super) node: String,
    /// The beginning of its goal.
    pub(super) goal: String,
    pub(super) settings: Resolved,
}

/// The request of a node as one that resolves the conflict in this tree.
pub(super) fn request(
    request: LaunchRequest,
    own: &str,
    others: &[GatesOf],
    folder: &Path,
    tree: &str,
) -> io::Result<LaunchRequest> {
    let stored: StoredConflict = serde_json::from_slice(&fs::read(file_of(folder, tree))?)?;
    let TaskSource::Text(bytes) = &request.task else {
        return Err(io::Error::other("a bug of loop: a node has its task as text"));
    };
    let goal = String::from_utf8_lossy(bytes).into_owned();
    let mut request =
        LaunchRequest { task: TaskSource::Text(task(&goal, own, others, &stored).into_bytes()), ..request };
    let plan = request.plan.as_mut().ok_or_else(|| io::Error::other("the request of a node has no settings"))?;
    let origin = || Origin { layer: Layer::Flag, place: "a conflict of the plan".to_owned() };
    let mut lines: Vec<String> =
        Some(plan.settings.text(keys::gate()).to_owned()).filter(|text| !text.is_empty()).into_iter().collect();
    let mut names: Vec<String> = Settings::of(&plan.settings).gates.iter().map(|gate| gate.name.clone()).collect();
    let of_others = others.iter().filter(|other| other.node != own).flat_map(|other| {
        let gates = Settings::of(&other.settings).gates.clone();
        gates.into_iter().map(move |gate| GateSpec { name: format!("{}.{}", other.node, gate.name), ..gate })
    });
    // One of several lines cannot stand in a list. The gates of the merged tree, which run after this, have it.
    let of_others = of_others.filter(|gate| !gate.watch && !gate.command.contains('\n'));
    for gate in of_others.chain([GateSpec::new(GATE, &no_signs(&stored))]) {
        let name = free_name(&gate.name, &names);
        lines.push(line(&name, &gate)?);
        names.push(name);
    }
    plan.settings.put(keys::gate(), lines.join("\n"), origin());
    plan.settings.put(keys::no_promise(), "false".to_owned(), origin());
    Ok(request)
}

/// A name of a gate that no other one has.
fn free_name(wanted: &str, taken: &[String]) -> String {
    let cut = |most: usize| text::head(wanted, most).to_owned();
    let first = cut(NAME_BYTES_MAX);
    let numbered = |number: u32| format!("{}-{number}", cut(NAME_BYTES_MAX - 4));
    let is_free = |name: &String| !taken.contains(name);
    std::iter::once(first.clone()).chain((2..100).map(numbered)).find(is_free).unwrap_or(first)
}

fn line(name: &str, gate: &GateSpec) -> io::Result<String> {
    let mut told = vec![("command".to_owned(), gate.command.clone())];
    told.extend(gate.timeout_ms.map(|ms| ("timeout".to_owned(), format!("{}s", ms.div_ceil(1000)))));
    told.extend(gate.tries.map(|(passes, tries)| ("passes".to_owned(), format!("{passes}of{tries}"))));
    told.extend(gate.trust_exit.then(|| ("trust_exit".to_owned(), "true".to_owned())));
    gate_line(name, &told).map_err(|refusal| io::Error::other(format!("gate {name}: {}", refusal.why)))
}

/// A command that fails while a sign is left, and says in which files.
fn no_signs(conflict: &StoredConflict) -> String {
    let label = quoted(&format!("({})", conflict.label));
    let in_files = |paths: &Vec<String>| {
        let paths: Vec<String> = paths.iter().map(|path| quoted(&format!("./{path}"))).collect();
        format!("-s -l -F -e {label} -- {}", paths.join(" "))
    };
    let one_line = |words: &String| words.len() <= COMMAND_BYTES_MAX && !words.contains('\n');
    let words = conflict.paths.as_ref().map(in_files).filter(one_line);
    let words = words.unwrap_or_else(|| format!("-r -s -I -l -F --exclude-dir=.git -e {label} -- ."));
    format!("if grep {words}; then echo 'conflict markers are left in these files'; exit 1; fi")
}

fn task(goal: &str, own: &str, others: &[GatesOf], conflict: &StoredConflict) -> String {
    let mut text = String::from(
        "Two results change the same places of some files. Both versions stand in these files between conflict markers, \
         and everything else is merged already. Resolve every conflict: edit the files so that they do what both \
         versions are for, and remove the lines with markers. A side that is empty means that this side deleted it. Do \
         nothing beyond that.\n\n",
    );
    text.push_str(&format!("Each marker has ({}) in it.\n", conflict.label));
    if let Some(paths) = &conflict.paths {
        text.push_str("The files:\n");
        paths.iter().take(PATHS_SHOWN_MAX).for_each(|path| text.push_str(&format!("- {path}\n")));
        let more = paths.len().saturating_sub(PATHS_SHOWN_MAX);
        if more > 0 {
            text.push_str(&format!("- and {more} more\n"));
        }
    }
    text.push_str("\nWhat was merged before (the first version) was made for:\n");
    for other in others.iter().filter(|other| other.node != own) {
        text.push_str(&format!("- {}: {}\n", other.node, other.goal));
    }
    text.push_str(&format!("\nThe second version ({own}) was made for this task, which is done there:\n\n{goal}\n"));
    text
}
