//! What is printed after every iteration, and when something gets close to its limit.
use loop_core::policy::score::Score;
use loop_core::run::{Entry, Fact, Order, Outcome, RunState, Session};
use loop_core::settings::{StatusBlock, keys};
use loop_core::text;
use loop_core::time;
use loop_core::view::{
    BreakerView, CallsView, Claims, Record, ScoreView, Used, expired, iteration_text, markers, score_decides,
    score_words, used,
};
use serde_json::{Value, json};

use super::printer::Paint;
use super::{moment, sentences};

/// One thing to print.
pub(crate) struct Remark {
    /// How a line of it looks.
    pub(crate) paint: Paint,
    pub(crate) text: String,
    /// The event that it is to programs, if it is one.
    pub(crate) event: Option<(&'static str, Value)>,
}

impl Remark {
    /// Whether it is a mark of progress of the agent.
    pub(crate) fn is_marker(&self) -> bool {
        self.event.as_ref().is_some_and(|(name, _)| *name == "marker")
    }

    fn line(paint: Paint, text: String) -> Self {
        Self { paint, text, event: None }
    }
}

/// Remembers what was printed.
#[derive(Default)]
pub(crate) struct Monitor {
    record: Record,
    /// The iteration that was judged last.
    judged: Option<u32>,
    used: Vec<Used>,
    session: Option<Session>,
    /// An iteration was judged, and what follows from it is not known yet.
    undecided: bool,
}

impl Monitor {
    /// Takes in what happened before this view began.
    pub(crate) fn saw(&mut self, entry: &Entry, state: &RunState) {
        self.record.apply(entry);
        self.remember(entry, state);
    }

    fn remember(&mut self, entry: &Entry, state: &RunState) {
        self.judged = judged(state).or(self.judged);
        self.used = used(state, entry.at);
        self.session = state.agent.session().cloned();
    }

    /// What is known of the run so far.
    pub(crate) fn record(&self) -> &Record {
        &self.record
    }

    /// What an entry is worth printing, beside what it says itself.
    pub(crate) fn remarks(&mut self, entry: &Entry, state: &RunState, verbose: bool) -> Vec<Remark> {
        self.record.apply(entry);
        let mut remarks = Vec::new();
        remarks.extend(self.expiry(entry, state));
        if judged(state).is_some_and(|iteration| Some(iteration) != self.judged) {
            remarks.extend(iteration(state, verbose));
            self.undecided = true;
        }
        // What is next is known with the next order; a check of protected files belongs to the gates.
        let decided = match &entry.fact {
            Fact::Ordered { order, .. } => !matches!(order, Order::Guard { .. }),
            Fact::Concluded { .. } => true,
            Fact::Happened(_) | Fact::OrderCancelled { .. } | Fact::Decided(_) => false,
        };
        if self.undecided && decided {
            self.undecided = false;
            remarks.extend(progress_line(state, entry));
        }
        remarks.extend(self.limits(entry, state));
        self.remember(entry, state);
        remarks
    }

    fn expiry(&self, entry: &Entry, state: &RunState) -> Option<Remark> {
        let begins = matches!(&entry.fact, Fact::Ordered { order, .. } if order.begins_session());
        if !begins || !expired(state, self.session.as_ref(), entry.at) {
            return None;
        }
        let limit = state.settings.shown().resolved.text(keys::session_expiry());
        let text = format!("the agent's conversation is older than {limit}: a new one begins");
        let event = Some(("session_expired", json!({"session": self.session.as_ref().map(|session| &session.id)})));
        Some(Remark { paint: Paint::Warn, text, event })
    }

    fn limits(&self, entry: &Entry, state: &RunState) -> Vec<Remark> {
        // Where all alerts are told, one of them is about the time.
        let told = |now: &Used| state.settings.shown().values.alerts.alerts && now.setting == keys::max_time().name;
        let near = used(state, entry.at).into_iter().filter(|now| now.warns(&self.used) && !told(now));
        near.map(|now| Remark {
            paint: Paint::Warn,
            text: format!("WARNING: {} % of --{} used: {}", now.share, now.setting.replace('_', "-"), now.text),
            event: Some(("limit_near", json!(now))),
        })
        .collect()
    }
}

/// The newest iteration that is judged.
fn judged(state: &RunState) -> Option<u32> {
    state.progress.streaks().evidence.last().map(|signs| signs.iteration)
}

/// The lines of an iteration that is over.
fn iteration(state: &RunState, verbose: bool) -> Vec<Remark> {
    let mut remarks = Vec::new();
    if let Some(report) = state.agent.report().filter(|_| verbose) {
        let bytes = report.output.stdout_bytes.saturating_add(report.output.stderr_bytes);
        let took = time::spaced(report.duration_ms);
        let text = format!("{:>7}  took {took}, {bytes} bytes of output", of(state));
        remarks.push(Remark::line(Paint::Dim, text));
    }
    for marker in markers(state) {
        let marker = text::one_line(marker, 200);
        let event = Some(("marker", json!({"iteration": state.iteration, "marker": marker})));
        remarks.push(Remark { paint: Paint::Head, text: format!("{:>7}  progress: {marker}", of(state)), event });
    }
    if let Some(score) = state.progress.score().filter(|_| score_decides(state)) {
        let text = format!("{:>7}  score {}", of(state), score_words(score));
        let event = Some(("score", json!({"iteration": state.iteration, "score": ScoreView::of(score)})));
        remarks.push(Remark { paint: score_paint(score), text, event });
    }
    if !state.progress.regressed().is_empty() {
        let names = text::one_line(&state.progress.regressed().join(", "), 300);
        let back = if state.checkpoints.is_reverting() { "; rolling back to before the iteration" } else { "" };
        let text = format!("{:>7}  fails now and passed before: {names}{back}", of(state));
        let event = Some(("regressed", json!({"iteration": state.iteration, "what": state.progress.regressed()})));
        remarks.push(Remark { paint: Paint::Warn, text, event });
    }
    remarks
}

/// As the specification colours it: above 0.3, above 0.1, below.
fn score_paint(score: Score) -> Paint {
    match score.total {
        3001.. => Paint::Good,
        1001..=3000 => Paint::Warn,
        0..=1000 => Paint::Bad,
    }
}

fn progress_line(state: &RunState, entry: &Entry) -> Option<Remark> {
    // An order for an agent has begun the next iteration already.
    let begun = u32::from(matches!(&entry.fact, Fact::Ordered { order, .. } if order.begins_iteration()));
    let (tripped, line) = progress(state, entry);
    let paint = if tripped { Paint::Bad } else { Paint::Dim };
    let place = place(state, state.iteration.saturating_sub(begun));
    (!line.is_empty()).then(|| Remark::line(paint, format!("{place:>7}  {line}")))
}

/// What the agent claims, the calls that are left, the breaker; nothing where there is nothing to say.
fn progress(state: &RunState, entry: &Entry) -> (bool, String) {
    let claim = state.agent.report().and_then(|report| report.stream.claimed.as_ref());
    let asked = !state.gated() && state.settings.shown().values.agent.status_block != StatusBlock::None;
    let status = match claim {
        Some(claim) => Some(text::one_line(&claim.brief(), 160)),
        None if asked => Some("no status block".to_owned()),
        None => None,
    };
    let calls = CallsView::of(state, entry.at);
    let calls = calls.limit.filter(|_| state.settings.shown().values.budget.rate_line).map(|limit| {
        let word = if limit == 1 { "call" } else { "calls" };
        format!("{} of {limit} {word} left", calls.left)
    });
    let outcome = state.over.as_ref().map(|over| over.outcome);
    let tripped = matches!(outcome, Some(Outcome::Tripped | Outcome::Blocked));
    let counting = BreakerView::of(state).counting();
    let breaker = match (tripped, counting.is_empty()) {
        (true, true) => Some("breaker TRIPPED".to_owned()),
        (true, false) => Some(format!("breaker TRIPPED: {counting}")),
        (false, true) => None,
        (false, false) => Some(format!("breaker: {counting}")),
    };
    let parts: Vec<String> = [status, calls, breaker].into_iter().flatten().collect();
    (tripped, parts.join(" · "))
}

/// What the agent claimed in all iterations; none where it claimed nothing.
pub(crate) fn claims(claims: &Claims) -> Option<String> {
    let block = claims.status_block.as_ref();
    if block.is_none() && claims.tasks == 0 && claims.files == 0 {
        return None;
    }
    let last =
        block.map_or_else(|| "no status block in the end".to_owned(), |block| format!("last: {}", block.brief()));
    let said = claims.recommendation.as_ref().filter(|_| block.is_none_or(|block| block.summary.is_none()));
    let said = said.map_or_else(String::new, |said| format!(" · it said: {said}"));
    let count = |count: u64, one: &str| if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") };
    let all = format!("{}, {} in all", count(claims.tasks, "task"), count(claims.files, "file"));
    Some(text::one_line(&format!("{all} · {last}{said}"), 300))
}

/// A wait for a call that the hour or the day still lets be made.
pub(crate) fn waits_for_call(state: &RunState, id: &str) -> Option<String> {
    let wait = loop_core::view::Waiting::of(state)?;
    let until = moment::ahead(state.calls_free_at()?, state.now.wall_ms);
    let hint = sentences::higher_limit(state, id);
    Some(format!("{}; waits until {until}; a higher limit: {hint}", wait.why))
}

fn of(state: &RunState) -> String {
    place(state, state.iteration)
}

fn place(state: &RunState, iteration: u32) -> String {
    iteration_text(iteration, state.settings.shown().values.iterations_max())
}
