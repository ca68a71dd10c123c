//! The qualification of an outcome, such as *in the workspace only*. Every output shows the same text.
use crate::policy::proof::{Finding, FindingKind, NotedBecause};
use crate::run::{Outcome, Proof, ProofJudge, RunState};
use crate::text;

/// How much of the path of an ignored file is shown.
const PATH_BYTES_MAX: usize = 60;

/// The qualification of an end. None if the run is verified with nothing to add, or did not succeed.
#[must_use]
pub fn qualification(state: &RunState) -> Option<String> {
    let over = state.over.as_ref()?;
    match over.outcome {
        Outcome::Verified => {}
        Outcome::PassedBut => return Some("passed, but not verified".to_owned()),
        Outcome::Accepted => return Some("accepted by a person, not verified".to_owned()),
        Outcome::Claimed => return Some("claimed by the agent, not verified".to_owned()),
        Outcome::Exhausted
        | Outcome::Tripped
        | Outcome::Blocked
        | Outcome::Tampered
        | Outcome::Stopped
        | Outcome::Paused
        | Outcome::Cancelled
        | Outcome::Unable => return None,
    }
    let proof = over.proof.as_deref()?;
    let findings = |count: usize, word: &str| match count {
        0 => None,
        1 => Some(format!("1 finding {word}")),
        count => Some(format!("{count} findings {word}")),
    };
    let is_accepted = |finding: &Finding| finding.because == Some(NotedBecause::Accepted);
    let accepted = proof.named.iter().filter(|finding| is_accepted(finding)).count();
    let is_rest = |finding: &&Finding| !is_accepted(finding) && !is_remark(finding.kind);
    let named = proof.named.iter().filter(is_rest).count();
    let parts = [
        rolled_back(state, proof),
        (state.iteration == 0).then(|| "before any iteration".to_owned()),
        matches!(proof.judge, Some(ProofJudge::Workspace { .. })).then(|| "in the workspace only".to_owned()),
        changed_ignored(state, proof),
        installed(proof),
        (!proof.weaker.is_empty()).then(|| "with weaker tests".to_owned()),
        findings(accepted, "accepted by you"),
        findings(named, "named"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// The workspace has another state by now than the one that was judged.
fn rolled_back(state: &RunState, proof: &Proof) -> Option<String> {
    let (judged, now) = (proof.tree.as_deref()?, state.checkpoints.tree()?);
    let newest = state.checkpoints.newest()?;
    (judged != now).then(|| match newest.strip_suffix('+').is_some_and(|name| name.starts_with("undo-")) {
        true => "some paths rolled back since".to_owned(),
        false => format!("rolled back to {newest} since"),
    })
}

/// Most changes have some of these. They are shown with the end, and do not qualify it. Changed ignored files and installed
/// dependencies have words of their own.
fn is_remark(kind: FindingKind) -> bool {
    matches!(
        kind,
        FindingKind::GateFiles
            | FindingKind::InstalledDependencies
            | FindingKind::OutsideLinks
            | FindingKind::SuspectLines
            | FindingKind::IgnoredFiles
    )
}

/// Changed ignored files that may have decided, with the first path.
fn changed_ignored(state: &RunState, proof: &Proof) -> Option<String> {
    let named = proof.named.iter().find(|finding| finding.kind == FindingKind::IgnoredFiles)?;
    let files = &state.proving.workspace_only()?.changed_ignored;
    let first = files.first.first().filter(|_| named.because != Some(NotedBecause::Accepted))?;
    let more = if files.count > 1 { format!(" and {} more", files.count - 1) } else { String::new() };
    Some(format!("with changed ignored files ({}{more})", text::one_line(first, PATH_BYTES_MAX)))
}

/// Dependencies that the agent installed ran with the gates.
fn installed(proof: &Proof) -> Option<String> {
    let mut named = proof.named.iter().filter(|finding| finding.because != Some(NotedBecause::Accepted));
    let has_any = named.any(|finding| finding.kind == FindingKind::InstalledDependencies);
    has_any.then(|| "with dependencies that the agent installed".to_owned())
}

/// The word for an end, with what qualifies it.
#[must_use]
pub fn end_words(state: &RunState) -> Option<String> {
    let outcome = state.over.as_ref()?.outcome;
    Some(match (outcome, qualification(state)) {
        (Outcome::Verified, Some(qualification)) => {
            let proof = state.over.as_ref().and_then(|over| over.proof.as_deref());
            let comma = if proof.is_some_and(|proof| rolled_back(state, proof).is_some()) { "," } else { "" };
            format!("verified{comma} {qualification}")
        }
        (_, Some(qualification)) => qualification,
        (_, None) => outcome.name().to_owned(),
    })
}
