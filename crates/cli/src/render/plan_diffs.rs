//! What each branch that passes changed, as text that stays on the screen: for the choice of a person.
use loop_core::plan::{NodeEnd, NodeState, PlanState};
use loop_host::checkpoint::Comparison;
use loop_host::checkpoint::diff::Bounds;
use loop_host::journal;
use loop_host::paths::Home;
use loop_host::run_folder::RunFolder;

use super::diff;
use super::plan::name_of;
use super::printer::{Paint, Printer};

/// So many lines of the patch of a branch are shown.
const LINES_MAX: usize = 40;
/// The state before iteration 1.
const INITIAL: &str = "initial";

/// The changes of all branches that pass, in the order of the ranking.
pub(crate) fn of_passing(home: &Home, state: &PlanState, printer: Printer) -> String {
    let place = |node: &&NodeState| {
        let mut rows = state.ranking.iter().flat_map(|ranking| &ranking.rows);
        rows.position(|row| row.name == node.id().as_str())
    };
    let mut passing: Vec<&NodeState> = state.nodes.iter().filter(|node| node.end() == Some(&NodeEnd::Passed)).collect();
    passing.sort_by_key(place);
    passing.into_iter().map(|node| of_branch(home, node, printer)).collect()
}

fn of_branch(home: &Home, node: &NodeState, printer: Printer) -> String {
    let title = printer.paint_progress(Paint::Head, &format!("branch {}", name_of(node)));
    let Some(run) = &node.run else { return format!("{title}: its loop is not known\n") };
    let Some(patch) = patch_of(home, node) else {
        return format!("{title}: its checkpoints cannot be read; see: loop diff {run}\n");
    };
    let lines: Vec<&str> = patch.lines().collect();
    let shown: String = lines.iter().take(LINES_MAX).map(|line| format!("  {}\n", painted(line, printer))).collect();
    let more = match lines.len().saturating_sub(LINES_MAX) {
        0 => String::new(),
        more => format!("  … {more} more lines\n"),
    };
    format!("\n{title} changed (whole: loop diff {run})\n{shown}{more}")
}

fn painted(line: &str, printer: Printer) -> String {
    let paint = match line.as_bytes().first() {
        Some(b'+') => Paint::Good,
        Some(b'-') => Paint::Bad,
        _ => Paint::Dim,
    };
    printer.paint_progress(paint, line)
}

/// What the run of a node changed, without control bytes.
fn patch_of(home: &Home, node: &NodeState) -> Option<String> {
    let (run, result) = (node.run.as_ref()?, node.result.as_ref()?);
    let folder = RunFolder { path: home.runs().join(run.as_str()), id: run.clone() };
    let state = journal::read(&folder.path).ok()?.fold();
    let place = folder.checkpoints(state.spec.as_ref()?);
    let checkpoint = result.checkpoint.as_deref()?;
    let comparison = Comparison::open(&place, INITIAL, checkpoint).ok()?;
    let bounds = Bounds::default();
    let difference = comparison.changes(&bounds).ok()?;
    let (mut patch, mut lines) = (String::new(), 0);
    comparison
        .patch(&difference, &bounds, &mut |_, bytes: &[u8]| {
            lines += 1;
            // Beyond that only the number of lines is said.
            patch.push_str(&if lines <= LINES_MAX { diff::visible(bytes) } else { "\n".to_owned() });
            Ok(())
        })
        .ok()?;
    Some(patch)
}
