//! What a run is doing now, in words: the live line and `loop status` say the same.
use loop_core::run::JudgedTree;
use loop_core::text;
use loop_core::time::{self, At};
use loop_core::view::{Activity, AgentActivity, GateActivity, Now, PendingRequest};

/// How wide the live line may get.
const LINE_LETTERS_MAX: usize = 78;
/// How much of a tool's argument is shown.
const ARGUMENT_LETTERS_MAX: usize = 60;

/// The line that is drawn over and over while a run works; none where nothing is under way.
pub(crate) fn live_line(now: &Now, at: At, id: &str, cost: Option<String>) -> Option<String> {
    if now.activity == Activity::Between {
        return None;
    }
    let agent = now.agent();
    let mut parts = vec![now.progress(), activity(now, at, id)];
    parts.extend(cost.filter(|_| agent.is_some()));
    parts.extend(now.requests.iter().map(request));
    parts.extend(agent.and_then(tool));
    Some(text::one_line(&parts.join(" · "), LINE_LETTERS_MAX))
}

/// The same for `loop status`, without what it says in lines of its own; none where the run waits.
pub(crate) fn status_line(now: &Now, at: At, id: &str) -> Option<String> {
    if !now.works() {
        return None;
    }
    let tool = now.agent().and_then(tool);
    let parts: Vec<String> = [Some(activity(now, at, id)), tool].into_iter().flatten().collect();
    Some(parts.join(" · "))
}

/// What people asked for and what is not done yet, in one line.
pub(crate) fn requests(now: &Now) -> Option<String> {
    let requests: Vec<String> = now.requests.iter().map(request).collect();
    (!requests.is_empty()).then(|| requests.join(" · "))
}

/// What the gates are run for on a copy.
fn judging(tree: JudgedTree) -> &'static str {
    match tree {
        JudgedTree::Final => "running the gates in a clean copy",
        JudgedTree::Again => "running the gates in another clean copy: is one of them flaky?",
        JudgedTree::Initial => "running the gates in a clean copy of the initial checkpoint",
        JudgedTree::WithoutNewTests => "running the gates in a copy without the new test files: do the old tests pass?",
        JudgedTree::Canary => "adding a failing test to a copy: do the gates notice?",
        JudgedTree::Undone => "taking the change back in a copy: do the gates notice?",
        JudgedTree::Hunks { .. } => "taking single pieces of the change back in a copy: do the gates notice?",
        JudgedTree::Hidden { .. } => "running the hidden gates",
    }
}

fn activity(now: &Now, at: At, id: &str) -> String {
    let spent = time::compact(whole_seconds(now.elapsed_ms));
    let limit = now.limit_ms.map_or_else(String::new, |limit| format!(" of {}", time::compact(limit)));
    let left = time::compact(whole_seconds(now.left_ms(at).unwrap_or(0)));
    let text = match &now.activity {
        Activity::Agent(agent) => format!("{} · {spent}{limit}", agent_text(agent)),
        Activity::Gate(gate) => format!("{} · {spent}{limit}", gate_text(gate)),
        Activity::Checkpoint { checkpoint } => format!("taking checkpoint {checkpoint}"),
        Activity::Measure => "measuring the changes".to_owned(),
        Activity::Guard => "checking the protected files".to_owned(),
        Activity::Rollback { checkpoint } => format!("rolling back to {checkpoint} · {spent}"),
        Activity::CleanUp => "ending what is left of an interrupted attempt".to_owned(),
        Activity::Judge { tree } => format!("{} · {spent}", judging(*tree)),
        Activity::Certify => "recording the proof".to_owned(),
        Activity::Text { purpose, agent } => format!("{agent} writes a text ({purpose}) · {spent}{limit}"),
        Activity::Reserve => "asking the ledger for a call".to_owned(),
        Activity::Wait { failure: Some(failure), .. } => {
            format!("{} · {left} left · Enter tries now", failure.replace('_', " "))
        }
        Activity::Wait { failure: None, .. } => format!("calls of the hour used up · {left} left"),
        Activity::Delay => format!("delay before the next iteration · {spent}{limit}"),
        Activity::Paused => format!("paused · loop resume {id}"),
        Activity::Blocked { .. } => format!("blocked until that is fixed · loop resume {id}"),
        Activity::Question { .. } => format!("waits for an answer · loop inject {id} \"…\""),
        Activity::Stuck { .. } => format!("stuck, waits for a person · loop status {id}"),
        Activity::Branches { branches } => format!("stuck: {branches} branches are tried · {spent}{limit}"),
        Activity::Between => "deciding what is next".to_owned(),
    };
    if now.ending.is_some() && now.works() { format!("{text} · being ended") } else { text }
}

fn agent_text(agent: &AgentActivity) -> String {
    let attempt = if agent.attempt > 1 { format!(" · attempt {}", agent.attempt) } else { String::new() };
    let status = if agent.status_only { " · asked for its status block" } else { "" };
    let rule = agent.rule.as_ref().map_or_else(String::new, |rule| format!(" ({})", text::one_line(rule, 80)));
    format!("{}{rule}{attempt}{status}", agent.agent)
}

/// `gate tests · try 2 of 3`.
fn gate_text(gate: &GateActivity) -> String {
    let tries = if gate.tries > 1 { format!(" · try {} of {}", gate.try_number, gate.tries) } else { String::new() };
    format!("gate {}{tries}", gate.gate)
}

fn tool(agent: &AgentActivity) -> Option<String> {
    let tool = agent.tool.as_ref()?;
    let argument = text::one_line(&tool.argument, ARGUMENT_LETTERS_MAX);
    Some(if argument.is_empty() { format!("[{}]", tool.name) } else { format!("[{}] {argument}", tool.name) })
}

fn request(request: &PendingRequest) -> String {
    match request {
        PendingRequest::Stop { .. } => "stops after this iteration".to_owned(),
        PendingRequest::Abort { .. } => "stops now".to_owned(),
        PendingRequest::Cancel { .. } => "is cancelled now".to_owned(),
        PendingRequest::Pause { .. } => "pauses after this iteration".to_owned(),
        PendingRequest::Rollback { to, now: true } => format!("rolls back to {to} now"),
        PendingRequest::Rollback { to, now: false } => format!("rolls back to {to} after this iteration"),
        PendingRequest::Inject { texts: 1 } => "1 text for the next prompt".to_owned(),
        PendingRequest::Inject { texts } => format!("{texts} texts for the next prompt"),
    }
}

fn whole_seconds(ms: u64) -> u64 {
    ms / 1000 * 1000
}
