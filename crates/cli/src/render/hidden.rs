//! Which hidden gate did not pass, for the person whose settings have it: never for a process inside a loop.
use loop_core::policy::proof::FindingKind;
use loop_core::run::RunState;
use loop_core::text;
use loop_host::hidden::{HiddenResult, newest_results};
use loop_host::paths::text_of;
use loop_host::process::{is_elsewhere, is_inside_run};
use loop_host::run_folder::RunFolder;

/// The name of the hidden gate that did not pass, how it ended and where its output is; none where all passed.
pub(crate) fn failed(folder: &RunFolder, state: &RunState) -> Option<String> {
    let proof = state.over.as_ref()?.proof.as_deref()?;
    let kinds = [FindingKind::HiddenGate, FindingKind::HiddenGateNotRun];
    if !proof.findings.iter().any(|finding| kinds.contains(&finding.kind)) || is_inside_run() {
        return None;
    }
    if state.spec.as_ref().is_some_and(|spec| is_elsewhere(spec)) {
        return None;
    }
    let HiddenResult { name, ended, output, .. } = newest_results(folder)?.into_iter().find(|result| !result.passed)?;
    Some(format!("{name} did not pass ({}); its output: {}", text::one_line(&ended, 80), text_of(&output)))
}
