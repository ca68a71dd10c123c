//! What must stand beside the word for an end: the same on every face, in files and in notifications.
use crate::policy::proof::{Finding, FindingKind};
use crate::run::{Outcome, ProofJudge, RunState};

/// What qualifies the end of a run; none where it is verified without a reservation, and where it is not a success at
/// all.
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
        | Outcome::Cancelled
        | Outcome::Unable => return None,
    }
    let proof = over.proof.as_deref()?;
    let findings = |count: usize, word: &str| match count {
        0 => None,
        1 => Some(format!("1 finding {word}")),
        count => Some(format!("{count} findings {word}")),
    };
    let accept = &state.settings.shown().values.gate.accept;
    let is_accepted = |kind: FindingKind| accept.iter().any(|word| word == kind.word());
    let accepted = proof.named.iter().filter(|finding| is_accepted(finding.kind)).count();
    // Most changes have some of these. They are shown with the end, and do not qualify it.
    let is_remark = |kind: FindingKind| {
        matches!(kind, FindingKind::GateFiles | FindingKind::OutsideLinks | FindingKind::SuspectLines)
    };
    let is_rest = |finding: &&Finding| !is_accepted(finding.kind) && !is_remark(finding.kind);
    let named = proof.named.iter().filter(is_rest).count();
    let parts = [
        (state.iteration == 0).then(|| "before any iteration".to_owned()),
        matches!(proof.judge, Some(ProofJudge::Workspace { .. })).then(|| "in the workspace only".to_owned()),
        (!proof.weaker.is_empty()).then(|| "with weaker tests".to_owned()),
        findings(accepted, "accepted from the start"),
        findings(named, "named"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// The word for an end, with what qualifies it.
#[must_use]
pub fn end_words(state: &RunState) -> Option<String> {
    let outcome = state.over.as_ref()?.outcome;
    Some(match (outcome, qualification(state)) {
        (Outcome::Verified, Some(qualification)) => format!("verified {qualification}"),
        (_, Some(qualification)) => qualification,
        (_, None) => outcome.name().to_owned(),
    })
}
