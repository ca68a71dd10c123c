//! A changed limit of money for a plan that exists.
use loop_core::plan::{EndedEarly, NodeEnd, NodeState, NotStarted, PlanRequest, PlanState};
use loop_core::policy::budget::{MICROS, growth, money_exact, money_text};
use loop_core::run::Change;
use loop_core::settings::{Given, Layer, Origin, UNLIMITED, keys, micros};

use crate::refusal::LaunchRefusal;

/// The request that these changes are. A value that begins with `+` is added to the limit of now.
///
/// # Errors
/// When it is another setting than `max_cost`, or no amount of money.
pub fn budget_request(changes: &[Change], state: &PlanState) -> Result<PlanRequest, LaunchRefusal> {
    let id = state.spec.as_ref().map(|spec| spec.id.to_string()).unwrap_or_default();
    let key = keys::max_cost();
    if let Some(other) = changes.iter().find(|change| change.key != key.name) {
        return Err(LaunchRefusal::wrong(format!("plan {id} takes no {}", other.key))
            .because("of the settings of a plan only max_cost can change; others are of its loops")
            .hint(format!("its loops: loop status {id}")));
    }
    let Some(change) = changes.last() else {
        return Err(LaunchRefusal::wrong("no setting is given").hint(format!("loop resume {id} --max-cost +5")));
    };
    let now = state.spec.as_ref().and_then(|spec| spec.budget_micros);
    let (text, more) = match change.value.strip_prefix('+') {
        Some(more) => (more, true),
        None => (change.value.as_str(), false),
    };
    let origin = Origin { layer: Layer::Flag, place: format!("--{}", key.flag.long) };
    let given = Given::read(key, text, origin)?;
    let amount = if given.value == UNLIMITED { None } else { micros(&given.value) };
    let most_micros = match (more, amount, now) {
        (true, Some(amount), Some(now)) => Some(now.saturating_add(amount)),
        // There is no limit that could be raised.
        (true, _, None) | (_, None, _) => None,
        (false, Some(amount), _) => Some(amount),
    };
    let request = PlanRequest::Budget { most_micros };
    let asked = most_micros.map_or_else(|| UNLIMITED.to_owned(), money_text);
    state.check_request(&request).map_err(|refusal| {
        LaunchRefusal::wrong(format!("--{} of plan {id} cannot be {asked}", key.flag.long))
            .because(refusal.why)
            .hint(refusal.hint)
    })?;
    Ok(request)
}

/// What a person could add to the limit of a plan whose budget is used up: as much again, or more where that does not
/// give each loop that lacks money one more call. What is left is divided equally, so the dearest one decides.
#[must_use]
pub fn more_budget(state: &PlanState) -> String {
    let spec = state.spec.as_ref();
    let now = spec.and_then(|spec| spec.budget_micros).unwrap_or(0);
    let call = spec.map_or(0, |spec| spec.call_micros);
    let needs = state.nodes.iter().filter_map(|node| next_call(node, call));
    let (count, most) = needs.fold((0_u64, 0), |(count, most), need| (count + 1, most.max(need)));
    let enough = growth(now, state.money.spent_micros, count.saturating_mul(most));
    format!("--max-cost +{}", money_exact(now.max(MICROS).max(enough)))
}

/// What one more call of a node takes where it ended for lack of money. Calls without a known cost counted no more than
/// its share; under a larger one they count as what a call may cost.
fn next_call(node: &NodeState, call: u64) -> Option<u64> {
    let end = node.end()?;
    if *end == NodeEnd::NotStarted(NotStarted::Budget) {
        return Some(call);
    }
    (*end == NodeEnd::EndedEarly(EndedEarly::Budget)).then(|| {
        let unknown = node.result.as_ref().filter(|run| run.cost_unknown);
        let before = unknown.map_or(0, |run| call.saturating_mul(run.iterations.into()));
        call.saturating_add(before.saturating_sub(node.counted_micros))
    })
}
