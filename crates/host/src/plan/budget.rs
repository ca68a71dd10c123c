//! Changed limits for a plan that exists: what all its loops may cost, and the limits of each loop that goes on.
use loop_core::plan::{
    CarriedTo, EndedEarly, NodeEnd, NodeState, NotStarted, PlanBudget, PlanRequest, PlanState, carry_over,
};
use loop_core::policy::budget::{MICROS, growth, money_exact, money_text};
use loop_core::run::{Change, RunState};
use loop_core::settings::{Given, Layer, Origin, UNLIMITED, key, keys, micros};
use loop_core::view::RunLimit;

use crate::changes::{ChangeForm, RunActivity, check_changes};
use crate::journal;
use crate::paths::Home;
use crate::refusal::{LaunchRefusal, RefusalKind};

/// The request that these limits are at the resume of a plan: `max_cost` is of the whole plan, the others are of each
/// loop that goes on or starts. A value that begins with `+` is added to that of the loops.
///
/// # Errors
/// When it is no limit, a loop that goes on cannot take it, or `+` gives no single value.
pub fn limits_request(home: &Home, changes: &[Change], state: &PlanState) -> Result<PlanRequest, LaunchRefusal> {
    let (money, others): (Vec<Change>, Vec<Change>) =
        changes.iter().cloned().partition(|change| change.key == keys::max_cost().name);
    if others.is_empty() {
        return budget_request(changes, state);
    }
    let id = state.spec.as_ref().map(|spec| spec.id.to_string()).unwrap_or_default();
    let is_limit = |change: &&Change| RunLimit::ALL.iter().any(|limit| limit.key().name == change.key);
    if let Some(other) = others.iter().find(|change| !is_limit(change)) {
        return Err(LaunchRefusal::wrong(format!("plan {id} takes no {}", other.key))
            .because("at the resume of a plan only limits can change; other settings are of its loops")
            .hint(format!("its loops: loop status {id}")));
    }
    let refused = |request: &PlanRequest| {
        let wrong = |what: String| LaunchRefusal::wrong(what);
        state
            .check_request(request)
            .map_err(|refusal| wrong(format!("plan {id} takes no limits")).because(refusal.why).hint(refusal.hint))
    };
    refused(&PlanRequest::Limits { changes: Vec::new(), budget: None })?;
    let budget = match (!money.is_empty()).then(|| budget_request(&money, state)).transpose()? {
        Some(PlanRequest::Budget { most_micros }) => Some(PlanBudget { most_micros }),
        _ => None,
    };
    let changes = whole_values(home, &others, state)?;
    let request = PlanRequest::Limits { changes, budget };
    refused(&request)?;
    Ok(request)
}

/// The limits with whole values, checked by every loop that goes on.
fn whole_values(home: &Home, typed: &[Change], state: &PlanState) -> Result<Vec<Change>, LaunchRefusal> {
    let mut whole: Option<(String, Vec<Change>)> = None;
    for (node, run) in begun(home, state)? {
        let checked = check_changes(typed, &run, RunActivity::Stopped, ChangeForm::Flags)?.changes;
        let Some((first, known)) = &whole else {
            whole = Some((node, checked));
            continue;
        };
        if let Some((one, other)) = known.iter().zip(&checked).find(|(one, other)| one != other) {
            let why = format!("{first} would get {} = {}, and {node} {}", one.key, one.value, other.value);
            return Err(LaunchRefusal::wrong(format!("{} with + is not one value", one.key))
                .because(why)
                .hint("give the value itself, without +"));
        }
    }
    if let Some((_, changes)) = whole {
        return Ok(changes);
    }
    let read = |change: &Change| {
        let key =
            key(&change.key).ok_or_else(|| LaunchRefusal::wrong(format!("there is no setting {}", change.key)))?;
        if change.value.starts_with('+') {
            return Err(LaunchRefusal::wrong(format!("--{} cannot be {}", key.flag.long, change.value))
                .because("no loop that goes on has begun: there is no value to add to")
                .hint("give the value itself, without +"));
        }
        let origin = Origin { layer: Layer::Flag, place: format!("--{}", key.flag.long) };
        Ok(Change::new(key.name, Given::read(key, &change.value, origin)?.value))
    };
    typed.iter().map(read).collect()
}

/// The loops that have begun and go on when the plan does, each with the name of its node.
fn begun(home: &Home, state: &PlanState) -> Result<Vec<(String, RunState)>, LaunchRefusal> {
    let mut runs = Vec::new();
    for one in carry_over(state, None).nodes {
        let Some(node) = state.node(&one.node) else { continue };
        let goes_on = one.then != CarriedTo::Kept || node.end().is_none();
        if let Some(run) = node.run.as_ref().filter(|_| goes_on && one.then != CarriedTo::Ran) {
            let read = journal::read(&home.runs().join(run.as_str()));
            let read = read.map_err(|error| LaunchRefusal::of(RefusalKind::Unable, &error))?;
            runs.push((node.id().to_string(), read.fold()));
        }
    }
    Ok(runs)
}

/// The request that these changes are. A value that begins with `+` is added to the limit of now.
///
/// # Errors
/// When it is another setting than `max_cost`, or no amount of money.
pub fn budget_request(changes: &[Change], state: &PlanState) -> Result<PlanRequest, LaunchRefusal> {
    let id = state.spec.as_ref().map(|spec| spec.id.to_string()).unwrap_or_default();
    let key = keys::max_cost();
    if let Some(other) = changes.iter().find(|change| change.key != key.name) {
        return Err(LaunchRefusal::wrong(format!("plan {id} takes no {}", other.key))
            .because("while a plan is at work only its max_cost can change; other settings are of its loops")
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
