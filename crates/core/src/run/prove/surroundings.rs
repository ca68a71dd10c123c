//! What speaks against a pass and lies around the work: programs of the gates, and files outside of the workspace, that are
//! not those of the start.
use super::findings::finding;
use crate::policy::outside::OutsideChange;
use crate::policy::proof::{Finding, FindingKind};
use crate::run::report::ToolChange;
use crate::run::state::RunState;

/// What is found there.
pub(super) fn findings(state: &RunState) -> Vec<Finding> {
    let mut found = swapped_programs(state);
    found.extend(outside_files(state));
    found
}

/// Files outside of the workspace that are not as they were.
fn outside_files(state: &RunState) -> Vec<Finding> {
    let changes = state.certified().map(|certified| certified.outside.as_slice()).unwrap_or_default();
    let (decide, others): (Vec<&OutsideChange>, Vec<&OutsideChange>) =
        changes.iter().partition(|change| change.decides());
    let texts = [
        (FindingKind::OutsideFiles, "files outside of the workspace that a gate uses are not as at the start", decide),
        (
            FindingKind::OutsideSettings,
            "files outside of the workspace that tools may read are not as at the start",
            others,
        ),
    ];
    let one = |(kind, text, changes): (FindingKind, &str, Vec<&OutsideChange>)| {
        let names: Vec<String> = changes.iter().map(|change| change.words()).collect();
        (!names.is_empty()).then(|| finding(kind, format!("{text}: {}", names.join(", "))))
    };
    texts.into_iter().filter_map(one).collect()
}

/// Programs of the gates that are not those of the start.
fn swapped_programs(state: &RunState) -> Vec<Finding> {
    let now: Vec<&ToolChange> = state.certified().into_iter().flat_map(|certified| &certified.swapped).collect();
    // One that was put back before the end judged all the same.
    let is_past = |change: &&ToolChange| !now.iter().any(|now| now.program == change.program);
    let past = state.gates.swapped().iter().filter(is_past);
    let past = past.filter_map(|change| Some((change.swap_kind()?, change.words_for_a_time())));
    let now = now.iter().filter_map(|change| {
        let text = format!("a program of the gates is another one than at the start: {}", change.words());
        Some((change.swap_kind()?, text))
    });
    now.chain(past.map(|(kind, words)| (kind, format!("a program of the gates was another one for a time: {words}"))))
        .map(|(kind, text)| finding(kind, text))
        .collect()
}

impl ToolChange {
    /// What it means that a program is another one.
    fn swap_kind(&self) -> Option<FindingKind> {
        // One that was not there before was installed: that is work.
        let before = self.before.as_ref()?;
        let installed_again = before.in_workspace && self.after.as_ref().is_some_and(|after| after.in_workspace);
        Some(if installed_again { FindingKind::ReinstalledProgram } else { FindingKind::SwappedProgram })
    }
}
