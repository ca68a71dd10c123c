//! The last lines of a run: how it ended, why, and what the person can do next.
use loop_core::agent::Failure;
use loop_core::policy::budget::{MICROS, growth, money_exact};
use loop_core::policy::gate::Verdict;
use loop_core::policy::proof::{FindingKind, NotedBecause};
use loop_core::policy::reserve::{Cap, Reserved};
use loop_core::run::{Best, Ending, INITIAL, Outcome, Proof, ProofJudge, ReasonCode, RunState};
use loop_core::settings::{OnQuestion, OnTamper, UNLIMITED};
use loop_core::text;
use loop_core::time;
use loop_core::view::{BreakerView, Claims, Record, qualification};
use loop_host::paths::{is_git_top, path_of};
use loop_host::run_folder::RunFolder;

use super::printer::{Loudness, Paint, Printer, stdout_is_terminal, text_width};
use super::wrap::{hanging, labelled};
use super::{monitor, recovery, sentences};
use crate::kept::{KeptCheckpoints, local_time};

/// In which column the values of the last lines begin.
const COLUMN: usize = 12;

/// The end for people.
pub(crate) fn summary(
    state: &RunState,
    record: &Record,
    changes: &str,
    kept: &KeptCheckpoints,
    printer: Printer,
) -> String {
    let (Some(spec), Some(over), Some(standing)) = (&state.spec, &state.over, state.standing()) else {
        return String::new();
    };
    let head = head(state, over, printer);
    if printer.loudness == Loudness::Quiet {
        // A script that started it has no other way to know the id.
        return format!("loop {}: {head}", spec.id);
    }
    let gates = state
        .gates
        .iter()
        .map(|gate| labelled(&gate.spec().name, COLUMN, &sentences::gate_words(gate, state, sentences::Took::Shown)));
    let weaker = over.proof.iter().flat_map(|proof| &proof.weaker);
    let weaker = weaker.map(|how| labelled("weaker", COLUMN, &text::one_line(how, 160))).collect::<String>();
    let proof = over.proof.as_deref().map(proof_lines).unwrap_or_default();
    let proof = proof.iter().map(|(label, value)| labelled(label, COLUMN, value)).collect::<String>();
    let restored = restored_and_tried(state, record);
    let id = &spec.id;
    let done = state.iterations_used();
    let iterations = if done == 1 { "1 iteration".to_owned() } else { format!("{done} iterations") };
    let iterations = match state.recovery.branch_iterations() {
        0 => iterations,
        of_branches => format!("{iterations} ({of_branches} of them in branches)"),
    };
    let mut next = next(state, over.outcome, id.as_str(), kept);
    if let Some(best) = better(state).filter(|best| best.checkpoint.as_deref().is_some_and(|name| kept.has(name))) {
        next.push_str(&format!(
            "best:       loop rollback {id} best   (iteration {}: {})\n",
            best.iteration,
            best.rank.words()
        ));
    }
    next.push_str(&allow_line(state, over.reason.code, id.as_str()));
    // After a rollback to the beginning nothing is left to roll back; how to undo it was said there.
    if spec.has_checkpoints() && state.iteration > 0 && state.checkpoints.newest() != Some(INITIAL) {
        next.push_str(&roll_back_lines(id.as_str(), state.iteration, kept));
    }
    let qualified = qualification(state).map_or_else(String::new, |words| format!(", {words}"));
    // `paused` is said of a loop whose process waits.
    let status = if over.outcome == Outcome::Stopped { "stopped" } else { standing.status.name() };
    let spent = time::spaced(state.active_ms(state.now));
    let changes = if spec.has_checkpoints() { changes } else { "not measured (no checkpoints)" };
    format!(
        "{head}{}{weaker}{proof}{}{}{}{}{}{next}",
        gates.collect::<String>(),
        restored,
        labelled("changes", COLUMN, changes),
        claims_and_limits(state, record.claims()),
        labelled("cost", COLUMN, &format!("{} · {iterations} in {spent}", cost(state))),
        labelled("status", COLUMN, &format!("{status} ({}){qualified}", over.reason.code.name())),
    )
}

/// The first line: how it ended, with what limits that word, and why.
fn head(state: &RunState, over: &Ending, printer: Printer) -> String {
    let (paint, word) = headline(over.outcome);
    let qualified = qualification(state).filter(|_| over.outcome == Outcome::Verified);
    let word = qualified.map_or_else(|| word.to_owned(), |words| format!("{word}, {words}"));
    let reason = text::clean(over.reason.text.as_bytes());
    // "stopped by Ctrl-C" says it already.
    let head = match reason.strip_prefix(&word) {
        Some(rest) => format!("{word}{rest}"),
        None => format!("{word}: {reason}"),
    };
    // One line in files and logs, where programs look for it.
    let head = if stdout_is_terminal() { hanging(&head, 2, text_width()) } else { head };
    match head.strip_prefix(&word) {
        Some(rest) => format!("{}{rest}\n", printer.paint(paint, &word)),
        None => format!("{head}\n"),
    }
}

/// Protected files that were restored, and what is tried because the loop is stuck. Where a person is needed, the first
/// line names the command that shows it.
fn restored_and_tried(state: &RunState, record: &Record) -> String {
    let restored = record.restored().map(|row| labelled("restored", COLUMN, &text::one_line(&row.words(), 300)));
    let tried = if state.recovery.questions().is_some() { Vec::new() } else { recovery::lines(state) };
    let stuck = tried.into_iter().map(|(name, value)| labelled(name, COLUMN, &value));
    restored.chain(stuck).collect()
}

/// How to allow the change of a file that was restored in the last two iterations, where the limit ended the loop.
fn allow_line(state: &RunState, code: ReasonCode, id: &str) -> String {
    let mut restored = state.guard.restored_twice_before(state.iteration.saturating_add(1));
    let path = restored.next().filter(|_| code == ReasonCode::IterationLimit).map(quoted);
    path.map_or_else(String::new, |path| {
        format!("or:         loop resume {id} -n +5 --allow {path}   (if the agent may change it)\n")
    })
}

/// The first word of the end, and its colour.
fn headline(outcome: Outcome) -> (Paint, &'static str) {
    match outcome {
        Outcome::Verified => (Paint::Good, "done"),
        Outcome::PassedBut => (Paint::Warn, "passed, but not verified"),
        Outcome::Accepted => (Paint::Good, "done, accepted by a person, not verified"),
        Outcome::Claimed => (Paint::Good, "done, claimed by the agent, not verified"),
        Outcome::Exhausted | Outcome::Tripped | Outcome::Blocked | Outcome::Tampered => (Paint::Bad, "not done"),
        Outcome::Stopped => (Paint::Warn, "stopped"),
        Outcome::Paused => (Paint::Bad, "paused"),
        Outcome::Cancelled => (Paint::Warn, "cancelled"),
        Outcome::Unable => (Paint::Bad, "could not work"),
    }
}

/// Where the pass was judged, how strong the gates are, what speaks against it, and what else is named.
pub(crate) fn proof_lines(proof: &Proof) -> Vec<(&'static str, String)> {
    let spent = match proof.judging_ms {
        0 => String::new(),
        spent => format!(" · copies and probes took {}", time::spaced(spent)),
    };
    let judged = match &proof.judge {
        Some(ProofJudge::CleanCopy { .. }) => Some(("judged", format!("again in a clean copy{spent}"))),
        Some(ProofJudge::Workspace { why }) => {
            Some(("judged", format!("only in the workspace: {}{spent}", text::one_line(why, 160))))
        }
        None if proof.judging_ms > 0 => {
            Some(("judging", format!("{} for clean copies and probes", time::spaced(proof.judging_ms))))
        }
        None => None,
    };
    let mut lines: Vec<(&'static str, String)> = judged.into_iter().collect();
    lines.extend(proof.hidden.map(|hidden| ("hidden", hidden.words())));
    lines.extend(proof.judge_remarks.iter().map(|remark| ("copy", text::one_line(remark, 160))));
    lines.extend(proof.strength.iter().map(|strength| ("strength", text::one_line(&strength.text(), 300))));
    lines.extend(proof.findings.iter().map(|finding| ("against", text::one_line(&finding.text, 200))));
    lines.extend(proof.named.iter().map(|finding| {
        let is_accepted = finding.because == Some(NotedBecause::Accepted);
        (if is_accepted { "accepted" } else { "named" }, text::one_line(&finding.text, 200))
    }));
    if !proof.context_files.is_empty() {
        let files = proof.context_files.join(", ");
        lines.push(("named", format!("changed files of agents and CI: {}", text::one_line(&files, 160))));
    }
    lines
}

/// What the agent claimed, whether limits were met, and the counts of a breaker that has tripped.
fn claims_and_limits(state: &RunState, claims: &Claims) -> String {
    let mut text = String::new();
    if let Some(claims) = monitor::claims(claims) {
        text.push_str(&format!("  claims    {}\n", text::clean(claims.as_bytes())));
    }
    let breaker = BreakerView::of(state);
    if breaker.tripped {
        let rows = breaker.rows();
        let counts = rows.iter().filter_map(|(name, count, most)| most.map(|most| format!("{name} {count} of {most}")));
        text.push_str(&format!("  breaker   {}\n", counts.collect::<Vec<_>>().join(" · ")));
    }
    if claims.rate_limit_hit {
        text.push_str("  limits    it waited for a rate limit\n");
    }
    text
}

/// A state that was better than the one that stayed, where it did not succeed.
pub(crate) fn better(state: &RunState) -> Option<&Best> {
    let lost = state
        .over
        .as_ref()
        .is_some_and(|over| !matches!(over.outcome, Outcome::Verified | Outcome::Accepted | Outcome::Claimed));
    // The state before iteration 1 is no work that could be kept.
    let best = state.progress.best().filter(|best| lost && state.has_checkpoints() && best.iteration > 0)?;
    let other = best.checkpoint.is_some() && best.checkpoint.as_deref() != state.checkpoints.newest();
    (other && state.progress.rank().is_none_or(|rank| best.rank > rank)).then_some(best)
}

/// How to go back, and until when that is possible.
fn roll_back_lines(id: &str, iterations: u32, kept: &KeptCheckpoints) -> String {
    if !kept.has(INITIAL) {
        return format!("roll back:  the first state is {}\n", kept.since(INITIAL));
    }
    let line = format!("roll back:  loop rollback {id} initial\n");
    let Some(times) = kept.times() else { return line };
    let until = |ms: Option<u64>| {
        ms.map_or_else(|| "without a time limit".to_owned(), |ms| format!("until {}", local_time(ms)))
    };
    let between = match iterations {
        0 | 1 => String::new(),
        _ => format!("; iterations in between {}", until(times.between)),
    };
    format!("{line}kept:       {}{between}\n", until(times.main))
}

/// What it cost, as far as that is known.
pub(crate) fn cost(state: &RunState) -> String {
    match (known_cost(state), state.agent_name()) {
        (Some(cost), _) => cost,
        (None, "custom") => "not known for a custom agent".to_owned(),
        (None, agent) => format!("not reported by {agent}"),
    }
}

/// Money and tokens, where they are known.
pub(crate) fn known_cost(state: &RunState) -> Option<String> {
    let usage = state.budget.spent().usage;
    let money = usage.cost_usd().map(|cost| format!("${cost:.4}"));
    let tokens = usage.tokens().map(|tokens| format!("{tokens} tokens"));
    let known: Vec<String> = money.iter().cloned().chain(tokens).collect();
    let spent = state.budget.spent();
    let without = match (spent.cost_untold, spent.calls) {
        (0, calls) => match spent.tokens_untold {
            0 => String::new(),
            untold => format!(" ({untold} of {calls} calls reported no tokens)"),
        },
        (_, calls) if money.is_none() => match spent.tokens_untold {
            0 => " (cost not reported)".to_owned(),
            untold => format!(" (cost not reported; {untold} of {calls} calls reported no tokens)"),
        },
        (untold, calls) => format!(" ({untold} of {calls} calls reported no cost)"),
    };
    (!known.is_empty()).then(|| format!("{}{without}", known.join(", ")))
}

/// Commands: one for details, and the next ones.
fn next(state: &RunState, outcome: Outcome, id: &str, kept: &KeptCheckpoints) -> String {
    let mut lines = vec![("details", format!("loop history {id} --verbose"))];
    let judged = state.over.as_ref().and_then(|over| over.proof.as_ref()?.checkpoint.as_deref());
    match outcome {
        Outcome::Verified if judged.is_some_and(|judged| kept.has(judged)) => {
            lines.push(("verify", format!("loop verify {id}")));
            lines.extend(may_be_committed(state).then(|| ("commit", format!("loop commit {id}"))));
        }
        Outcome::PassedBut => {
            lines.extend(looks(state, id, kept));
            lines.push(("next", next_command(state, id)));
        }
        Outcome::Verified | Outcome::Accepted | Outcome::Claimed | Outcome::Cancelled => {
            lines.push(("remove", format!("loop rm {id}")));
        }
        Outcome::Exhausted
        | Outcome::Tripped
        | Outcome::Blocked
        | Outcome::Tampered
        | Outcome::Stopped
        | Outcome::Paused
        | Outcome::Unable => lines.push(("next", next_command(state, id))),
    }
    lines.iter().map(|(name, command)| format!("{:<12}{command}\n", format!("{name}:"))).collect()
}

/// Whether the work of a loop that is done can be committed, and is not by its own settings.
fn may_be_committed(state: &RunState) -> bool {
    let Some(spec) = state.spec.as_ref().filter(|_| state.iteration > 0) else { return false };
    let asked = state.settings.shown().values.output.commit;
    !asked && path_of(&spec.workspace.path).ancestors().any(is_git_top)
}

/// How a person looks at a pass that was not believed, lets it be judged again, or accepts it as it is.
pub(crate) fn looks(state: &RunState, id: &str, kept: &KeptCheckpoints) -> Vec<(&'static str, String)> {
    let Some(over) = state.over.as_ref().filter(|over| over.outcome == Outcome::PassedBut) else { return Vec::new() };
    let mut lines = Vec::new();
    let newest = state.checkpoints.newest().filter(|newest| kept.has(newest) && kept.has(INITIAL));
    if let Some(newest) = newest.filter(|_| state.iteration > 0) {
        lines.push(("look", format!("loop history {id} --diff initial..{newest}")));
    }
    let all: Vec<FindingKind> =
        over.proof.iter().flat_map(|proof| &proof.findings).map(|finding| finding.kind).collect();
    // All that is shown: else the same end comes again, with the rest.
    if !all.is_empty() && all.iter().all(|kind| kind.may_be_accepted()) {
        let before = state.settings.shown().values.gate.accept.iter().map(String::as_str);
        let mut words: Vec<&str> = before.chain(all.iter().map(|kind| kind.word())).collect();
        words.sort_unstable();
        words.dedup();
        let words = words.join(",");
        lines.push(("again", format!("loop resume {id} --accept {words}   (judged again)")));
    }
    lines.push(("accept", format!("loop accept {id}   (as it is, not verified)")));
    lines
}

/// The next command after a person gave a loop a text, or changed these settings: a limit that they did not raise would
/// end it at once.
pub(crate) fn next_after_change(folder: &RunFolder, changed: &[&str]) -> String {
    let id = folder.id.as_str();
    let state = loop_host::journal::read(&folder.path).ok().map(|reading| reading.fold());
    let code = state.as_ref().and_then(|state| state.over.as_ref()).map(|over| over.reason.code);
    let is_raised = |keys: &[&str]| keys.iter().any(|key| changed.contains(key));
    let is_limited = match code {
        Some(ReasonCode::IterationLimit) => !is_raised(&["max_iterations"]),
        Some(ReasonCode::TimeLimit) => !is_raised(&["max_time"]),
        Some(ReasonCode::BudgetLimit) => changed.is_empty(),
        Some(_) | None => false,
    };
    match state.filter(|_| is_limited) {
        Some(state) => next_command(&state, id),
        None => format!("loop resume {id}"),
    }
}

/// The command that resumes a run in a way that can succeed. The text after three blanks is a remark.
pub(crate) fn next_command(state: &RunState, id: &str) -> String {
    let breaker = &state.settings.shown().values.breaker;
    let Some(code) = state.over.as_ref().map(|over| over.reason.code) else { return format!("loop resume {id}") };
    let inject = format!("loop inject {id} '…' && loop resume {id}");
    let custom = state.agent_name() == "custom";
    match code {
        ReasonCode::IterationLimit if is_unverifiable(state) => {
            format!("loop resume {id} -n +5   (when the promise can be run)")
        }
        ReasonCode::IterationLimit => {
            // More iterations alone would fail in the same way.
            let first = match state.agent.failure() {
                Some(Failure::Auth) => "   (when the agent is signed in)",
                Some(Failure::Billing) => "   (when there is credit)",
                Some(Failure::Model) => "   (with a model that there is: --agent-model)",
                Some(_) | None => "",
            };
            format!("{}{first}", with_other_limits(state, format!("loop resume {id} -n +5")))
        }
        ReasonCode::TimeLimit => with_other_limits(state, more_time(state, id)),
        ReasonCode::AgentCrashes if custom => format!("loop resume {id} --agent-cmd '…'   (with the agent fixed)"),
        ReasonCode::AgentCrashes => format!("loop resume {id}   (when the agent works; see: loop doctor)"),
        ReasonCode::AgentFailed => format!("loop resume {id}   (when that is fixed, or with another on_failure)"),
        ReasonCode::AgentLogin => format!("loop resume {id}   (when the agent is signed in)"),
        ReasonCode::AgentBilling => format!("loop resume {id}   (when there is credit)"),
        ReasonCode::AgentModel => format!("loop resume {id} --agent-model …   (with a model that there is)"),
        ReasonCode::ProviderDown => format!("loop resume {id}   (when the provider works again)"),
        ReasonCode::BudgetLimit => with_other_limits(state, more_budget(state, id)),
        ReasonCode::NoProgress => format!("{inject}   (or --max-no-progress {})", twice(breaker.max_no_progress)),
        ReasonCode::SameError => {
            let most = twice(breaker.max_same_error);
            format!("loop resume {id}   (when the error is fixed, or --max-same-error {most})")
        }
        ReasonCode::Oscillation => format!("{inject}   (or --max-oscillation {})", twice(breaker.max_oscillation)),
        ReasonCode::IdenticalOutput => {
            format!("{inject}   (or --max-identical-output {})", twice(breaker.max_identical_output))
        }
        ReasonCode::TestLoops => format!("{inject}   (or --max-test-only {})", twice(breaker.max_test_only)),
        ReasonCode::AlertPause => format!("{inject}   (when you have looked at it)"),
        ReasonCode::OutputDecline => format!("{inject}   (or --output-decline unlimited)"),
        ReasonCode::MissingStatus => {
            format!("loop resume {id} --max-missing-status {}", twice(breaker.max_missing_status))
        }
        ReasonCode::SafetyCompletion => format!("loop resume {id} --no-strict-completion   (to believe it)"),
        ReasonCode::AgentBlocked | ReasonCode::Stuck => inject,
        ReasonCode::Tamper => after_tamper(state, id),
        ReasonCode::Question => format!("{inject}   (your answer; or --on-question decide)"),
        ReasonCode::GateUnverifiable => format!("loop resume {id}   (when the promise can be run)"),
        ReasonCode::HostFailure => format!("loop resume {id}   (when that is fixed)"),
        ReasonCode::NotProven => inject,
        ReasonCode::ManualStop if open_question(state).is_some() => format!("{inject}   (your answer to its question)"),
        ReasonCode::Accepted | ReasonCode::GoalComplete | ReasonCode::ManualStop | ReasonCode::AgentLost => {
            format!("loop resume {id}")
        }
    }
}

/// What the person says about a protected file: the agent may change it, or it is restored from now on.
fn after_tamper(state: &RunState, id: &str) -> String {
    match state.guard.asks() {
        Some(path) => format!("loop resume {id} --allow {}   (if the agent may change it)", quoted(path)),
        None if state.settings.shown().values.guard.on_tamper == OnTamper::Stop => {
            format!("loop resume {id} --on-tamper restore")
        }
        None => format!("loop inject {id} '…' && loop resume {id}"),
    }
}

/// A path as a word for a shell.
pub(crate) fn quoted(path: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "._-/+@".contains(letter);
    if path.chars().all(plain) { path.to_owned() } else { format!("'{}'", path.replace('\'', "'\\''")) }
}

/// The question that a run ended with and that waits for a person; none where the agent decides by itself.
pub(crate) fn open_question(state: &RunState) -> Option<&str> {
    let waits = state.settings.shown().values.agent.on_question != OnQuestion::Decide;
    state.agent.question().filter(|_| waits && state.over.is_some() && state.resumable())
}

/// Whether no required gate could be run in the end.
fn is_unverifiable(state: &RunState) -> bool {
    let mut last = state.gates.required().filter_map(|gate| gate.last()).peekable();
    last.peek().is_some() && last.all(|last| last.verdict == Verdict::Unverifiable)
}

/// Resumes with more time: enough for the wait that did not fit, where there was one.
fn more_time(state: &RunState, id: &str) -> String {
    const HOUR_MS: u64 = 3_600_000;
    let settings = state.settings.shown();
    let left = settings.values.limits.max_time_ms().map_or(0, |most| most.saturating_sub(state.active_ms(state.now)));
    let wait = state.agent.provider.wait().map_or(0, |wait| wait.until_ms.saturating_sub(state.now.wall_ms));
    if wait <= left {
        return format!("loop resume {id} --max-time +1h");
    }
    let hours = (wait - left) / HOUR_MS + 1;
    format!("loop resume {id} --max-time +{hours}h   (or when the provider's limit is over)")
}

/// What to add to `--max-cost`: as much again, or more where another call would not fit. A call without a known cost
/// counts no more than the whole limit, so it counts more under a larger one.
fn more_cost(state: &RunState, most: u64) -> u64 {
    let mut free = state.settings.shown().clone();
    free.caps.cost_micros = None;
    most.max(growth(most, state.cost_micros(&free), state.worst_micros(&free)))
}

/// Resumes with the limit raised that was reached, by as much again or by what another call needs.
fn more_budget(state: &RunState, id: &str) -> String {
    let caps = &state.settings.shown().caps;
    let count = |most: Option<u64>| most.unwrap_or(10);
    let tokens = caps.tokens.is_some_and(|most| state.tokens(state.settings.shown()) >= most);
    let day = "   (or tomorrow, by UTC)";
    match state.budget.call() {
        Some(Reserved::Denied { cap, day: used, .. }) => match cap {
            Cap::CallsPerHour => {
                let more = count(caps.calls_per_hour.map(u64::from));
                format!("loop resume {id} --max-calls-per-hour +{more}   (or in an hour)")
            }
            Cap::CallsPerDay => {
                format!("loop resume {id} --max-calls-per-day +{}{day}", count(caps.calls_per_day.map(u64::from)))
            }
            Cap::CostPerDay => {
                let most = caps.cost_per_day_micros.unwrap_or(MICROS);
                let more = most.max(growth(most, used.cost_micros, state.worst_micros(state.settings.shown())));
                format!("loop resume {id} --max-cost-per-day +{}{day}", money_exact(more))
            }
            Cap::TokensPerDay => {
                format!("loop resume {id} --max-tokens-per-day +{}{day}", count(caps.tokens_per_day))
            }
            Cap::ScarcePerDay => format!("loop resume {id} --opus-limit +10   (or after midnight)"),
        },
        Some(Reserved::Granted { .. }) | None if state.agent.routing.used_up_until_ms().is_some() => {
            format!("loop resume {id} --opus-limit +10   (or after midnight)")
        }
        Some(Reserved::Granted { .. }) | None if tokens => {
            format!("loop resume {id} --max-tokens +{}", count(caps.tokens))
        }
        Some(Reserved::Granted { .. }) | None => {
            let more = more_cost(state, caps.cost_micros.unwrap_or(MICROS));
            format!("loop resume {id} --max-cost +{}", money_exact(more))
        }
    }
}

/// A command that raises a limit, with the flags of other limits that are reached, too: without them it would end at once.
fn with_other_limits(state: &RunState, command: String) -> String {
    let settings = state.settings.shown();
    let (limits, caps) = (&settings.values.limits, &settings.caps);
    let iterations = state.settings.shown().values.iterations_max().is_some_and(|most| state.iterations_used() >= most);
    let time = limits.max_time_ms().is_some_and(|most| state.active_ms(state.now) >= most);
    let cost = caps.cost_micros.filter(|most| state.cost_micros(settings) >= *most);
    let tokens = caps.tokens.filter(|most| state.tokens(settings) >= *most);
    let reached = [
        iterations.then(|| ("-n", "+5".to_owned())),
        time.then(|| ("--max-time", "+1h".to_owned())),
        cost.map(|most| ("--max-cost", format!("+{}", money_exact(more_cost(state, most))))),
        tokens.map(|most| ("--max-tokens", format!("+{most}"))),
    ];
    let (line, remark) = command.split_once("   (").unwrap_or((&command, ""));
    let mut all = line.to_owned();
    for (flag, more) in reached.into_iter().flatten() {
        if !line.contains(&format!(" {flag} ")) {
            all.push_str(&format!(" {flag} {more}"));
        }
    }
    if remark.is_empty() { all } else { format!("{all}   ({remark}") }
}

/// Twice what a threshold is.
fn twice(threshold: Option<u32>) -> String {
    threshold.map_or_else(|| UNLIMITED.to_owned(), |value| value.saturating_mul(2).to_string())
}
