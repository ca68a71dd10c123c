//! What must stand before a fact that says *verified*. A reader refuses a journal in which it does not: then no
//! `step` decided it. It asks no policy.
use super::fact::Fact;
use super::gates::Gate;
use super::judgement::CopyVerdict;
use super::outcome::{Outcome, Proof};
use super::spec::HiddenGates;
use super::state::RunState;
use crate::policy::gate::Verdict;
use crate::policy::proof::ProofResult;

/// Whether the fact says that the run is verified.
pub(super) fn is_needed(fact: &Fact) -> bool {
    matches!(fact, Fact::Concluded { outcome: Outcome::Verified, .. })
}

/// Whether the state before such a fact has gates that pass, and a proof of just these.
pub(super) fn check(state: &RunState, fact: &Fact) -> Result<(), &'static str> {
    let Fact::Concluded { outcome: Outcome::Verified, proof, .. } = fact else { return Ok(()) };
    if !state.gates_pass() {
        return Err("it says verified, and the gates before it do not pass");
    }
    if state.certified().is_none() {
        return Err("it says verified, and nothing before it says with what the gates were run");
    }
    if state.proof_judgement().is_none_or(|judgement| judgement.result != ProofResult::Verified) {
        return Err("it says verified, and the decision about the pass before it does not");
    }
    let Some(proof) = proof.as_ref().filter(|proof| proof.verified) else {
        return Err("it says verified without a proof");
    };
    if !state.gates.required().all(|gate| has(proof, gate)) {
        return Err("it says verified with a proof of other gates than those before it");
    }
    if state.proving.hidden().is_some_and(|hidden| !hidden_pass(state, proof, hidden)) {
        return Err("it says verified, and its hidden gates did not pass");
    }
    Ok(())
}

/// Whether the proof says that the hidden gates passed, and an order before it showed that.
fn hidden_pass(state: &RunState, proof: &Proof, hidden: &HiddenGates) -> bool {
    let ran = state.phase.point().and_then(|point| state.proving.hidden_copy(point));
    ran.is_some_and(|copy| copy.verdict == CopyVerdict::Passes)
        && proof.hidden.is_some_and(|said| said.passed && said.count == hidden.count)
}

/// Whether a proof has the newest verdict of a gate.
fn has(proof: &Proof, gate: &Gate) -> bool {
    let Some(last) = gate.last() else { return false };
    proof.gates.iter().any(|proved| {
        proved.name == gate.spec().name
            && proved.verdict == Verdict::Pass
            && proved.sha256 == last.report.output.sha256
            && proved.ended == last.report.ended
    })
}
