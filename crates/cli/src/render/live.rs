//! What a person sees while a run works: a live line on a terminal, plain lines elsewhere.
use std::time::Duration;

use loop_core::ids::OrderId;
use loop_core::policy::gate::Verdict;
use loop_core::run::{
    AgentChoice, Answer, CancelCause, CheckpointReport, Decision, Entry, Event, Fact, Gate, GatePoint, HoldCause,
    LastGate, Notice, Order, Request, RollbackReport, RunState, Target,
};
use loop_core::settings::GateSpec;
use loop_core::text;
use loop_core::time::{self, At};
use loop_core::view::{Claims, RunResult, gate_with_verdict, public_event};
use loop_host::driver::Reporter;

use super::diff::brief;
use super::monitor::{self, Monitor};
use super::outbox::{Outbox, To};
use super::printer::{Loudness, Paint, Printer};
use super::{summary, words};

/// How wide the live line may get.
const LINE_LETTERS_MAX: usize = 78;

/// Shows a run as it goes.
pub(crate) struct Live {
    printer: Printer,
    json: bool,
    drawn: bool,
    /// What was heard last did not end its line.
    mid_line: bool,
    out: Outbox,
    err: Outbox,
    /// When the fact was that is being told.
    now_wall_ms: u64,
    monitor: Monitor,
    /// What the attempt before used.
    choice: Option<AgentChoice>,
}

impl Live {
    pub(crate) fn new(printer: Printer, json: bool) -> Self {
        Self {
            printer,
            json,
            drawn: false,
            mid_line: false,
            out: Outbox::new(To::Stdout),
            err: Outbox::new(To::Stderr),
            now_wall_ms: 0,
            monitor: Monitor::default(),
            choice: None,
        }
    }

    /// Plain lines on stdout with all that agents write: for a loop that somebody else drives.
    pub(crate) fn onto_stdout(printer: Printer) -> Self {
        Self { err: Outbox::new(To::Stdout), ..Self::new(printer.for_answers(), false) }
    }

    /// What happened before anybody listened.
    pub(crate) fn saw(&mut self, entry: &Entry, state: &RunState) {
        self.monitor.saw(entry, state);
    }

    /// What the agent claimed in all iterations.
    pub(crate) fn claims(&self) -> &Claims {
        self.monitor.claims()
    }

    /// Something about the work, unless nobody wants to hear it.
    fn show(&mut self, text: &str) {
        if self.printer.loudness != Loudness::Quiet {
            self.err.send(text, |count| format!("[{count} pieces left out: nobody read them]\n"));
        }
    }

    /// Waits for the reader: whatever waits is written.
    pub(crate) fn keep_up(&mut self) {
        self.err.finish();
    }

    /// The work is over: whatever waits is written, however long that takes.
    pub(crate) fn finish(&mut self) {
        self.clear();
        self.out.finish();
        self.err.finish();
    }

    /// Takes the live line away, so that something else can stand there.
    pub(crate) fn clear(&mut self) {
        if std::mem::take(&mut self.drawn) {
            self.show("\r\u{1b}[K");
        }
        if std::mem::take(&mut self.mid_line) {
            self.show("\n");
        }
    }

    fn line(&mut self, paint: Option<Paint>, line: &str) {
        self.clear();
        let line = text::clean(line.as_bytes());
        let line = paint.map_or_else(|| line.clone(), |paint| self.printer.paint_progress(paint, &line));
        let at = if self.printer.live { String::new() } else { clock_time(self.now_wall_ms) };
        self.show(&format!("{at}{line}\n"));
    }

    fn happened(&mut self, event: &Event, state: &RunState) {
        match event {
            Event::Answered { answer, .. } => self.answered(answer, state),
            Event::Requested { request: Request::Stop, .. } => {
                self.line(Some(Paint::Warn), "stopping after this iteration (Ctrl-C again: now)");
            }
            Event::Requested { request: Request::Abort, .. } => self.line(Some(Paint::Warn), "stopping now"),
            Event::Requested { request, by } => {
                let what = match request {
                    Request::Pause => "holding after this iteration".to_owned(),
                    Request::Resume => "going on".to_owned(),
                    Request::Cancel => "cancelling".to_owned(),
                    Request::CancelRollback => "cancelling, and going back to where it began".to_owned(),
                    Request::Rollback(Target { to, now: true, .. }) => format!("going back to {to} now"),
                    Request::Rollback(Target { to, .. }) => format!("going back to {to} after this iteration"),
                    Request::Checkpoint { name } => format!("keeping the workspace as {name}"),
                    Request::Inject(text) => format!("a text of {} bytes for the next prompt", text.bytes),
                    Request::Set(changes) => changes
                        .iter()
                        .map(|change| format!("{} = {}", change.key, change.value))
                        .collect::<Vec<_>>()
                        .join(", "),
                    Request::Reset { session: true } => "breaker closed, conversation forgotten".to_owned(),
                    Request::Reset { session: false } => "breaker closed".to_owned(),
                    Request::Stop | Request::Abort => return,
                };
                self.line(Some(Paint::Warn), &format!("{} ({by})", text::one_line(&what, 200)));
            }
            Event::Noticed(Notice::Message { text }) => self.line(Some(Paint::Warn), text),
            Event::Created(_)
            | Event::Opened
            | Event::OpenedForRequest { .. }
            | Event::Reopened { .. }
            | Event::Noticed(
                Notice::Started { .. } | Notice::Silent { .. } | Notice::Retrying { .. } | Notice::Session { .. },
            )
            | Event::DeadlinePassed => {}
        }
    }

    fn answered(&mut self, answer: &Answer, state: &RunState) {
        match answer {
            Answer::AgentEnded(report) => {
                self.line(Some(Paint::Dim), &format!("{:>7}  {}", of(state), words::ended(report)));
                for said in words::heard(report, state) {
                    self.line(Some(Paint::Warn), &format!("         {said}"));
                }
                if report.left_running > 0 {
                    let count = report.left_running;
                    self.line(
                        Some(Paint::Warn),
                        &format!("         ended {count} of its processes that it had left running"),
                    );
                }
            }
            Answer::Cleaned { killed } if *killed > 0 => {
                self.line(Some(Paint::Warn), &format!("ended {killed} processes of an attempt that was cut off"));
            }
            Answer::Failed { what } => self.line(Some(Paint::Bad), what),
            Answer::Lost { left } => self.line(Some(Paint::Bad), &format!("could not be ended: {}", left.join(", "))),
            Answer::Notified { exit_code } if *exit_code != Some(0) => {
                let ended = exit_code.map_or_else(|| "was stopped".to_owned(), |code| format!("exit {code}"));
                self.line(Some(Paint::Warn), &format!("the notification command failed ({ended})"));
            }
            Answer::Blocked { why } | Answer::Refused { why } => self.line(Some(Paint::Bad), &text::one_line(why, 400)),
            Answer::RolledBack(back) => self.line(Some(Paint::Good), &rolled_back(back, &name_of(state))),
            Answer::ManualCheckpoint(saved) => {
                self.line(None, &format!("kept as {}", saved.checkpoint.as_deref().unwrap_or_default()));
            }
            Answer::Checkpoint(saved) => self.saved(saved, state),
            Answer::Measurement(measured) => {
                let noticed = measured.noticed.map(|noticed| if noticed { "something" } else { "nothing" }.to_owned());
                let unseen = measured.ignored.then(|| "only ignored files or empty folders".to_owned());
                let counted = measured.changes.map(|changes| unseen.unwrap_or_else(|| brief(changes)));
                if let Some(changed) = counted.or(noticed) {
                    self.line(Some(Paint::Dim), &format!("{:>7}  changed: {changed}", of(state)));
                }
            }
            Answer::Guard(guarded) => {
                for line in words::guarded(guarded) {
                    self.line(Some(Paint::Warn), &format!("{:>7}  {line}", of(state)));
                }
            }
            Answer::GateEnded(_)
            | Answer::Cleaned { .. }
            | Answer::Held
            | Answer::Reserved(_)
            | Answer::Certify(_)
            | Answer::Notified { .. } => {}
        }
    }

    fn saved(&mut self, saved: &CheckpointReport, state: &RunState) {
        if let Some(changes) = saved.changes {
            self.line(Some(Paint::Warn), &format!("{:>7}  not by the agent: {}", of(state), brief(changes)));
        }
        for said in &saved.remarks {
            self.line(Some(Paint::Warn), &format!("         {}", text::one_line(said, 400)));
        }
        if !saved.unstable.is_empty() {
            let names = text::one_line(&saved.unstable.join(", "), 200);
            self.line(Some(Paint::Warn), &format!("         changed while it was kept: {names}"));
        }
    }

    fn gate(&mut self, gate: &GateSpec, last: &LastGate, state: &RunState) {
        let place = if last.point == GatePoint::Baseline { "before".to_owned() } else { of(state) };
        let (word, paint) = match last.verdict {
            Verdict::Pass => ("holds", Paint::Good),
            Verdict::Fail => ("does not hold yet", Paint::Dim),
            Verdict::Unverifiable => ("cannot be checked", Paint::Warn),
        };
        let said = match last.verdict {
            Verdict::Pass => String::new(),
            Verdict::Fail | Verdict::Unverifiable => {
                let line = last.report.excerpt.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
                if line.is_empty() { String::new() } else { format!(": {}", text::one_line(line, 60)) }
            }
        };
        let turned = if gate.promise().negated { "turned round: " } else { "" };
        let (name, ended) = (&gate.name, last.report.ended.brief());
        let tests = last.report.tests.as_ref().map_or_else(String::new, |tests| format!(" · {}", words::tests(tests)));
        self.line(Some(paint), &format!("{place:>7}  {name}: {word} ({turned}{ended}){tests}{said}"));
    }

    /// One fact of the run, as far as it is told by itself.
    fn fact(&mut self, entry: &Entry, state: &RunState) {
        match &entry.fact {
            Fact::Happened(input) => self.happened(&input.event, state),
            Fact::Ordered { order: Order::RunAgent { attempt, .. }, .. } => {
                let again = if *attempt > 1 { format!(" (attempt {attempt})") } else { String::new() };
                let limit = time::spaced(state.settings.shown().timeout_ms);
                if self.printer.live && self.printer.loudness == Loudness::Normal {
                    self.draw(state, entry.at);
                } else {
                    self.line(
                        None,
                        &format!("{:>7}  {} at work, up to {limit}{again}", of(state), state.settings.shown().agent),
                    );
                }
            }
            Fact::Ordered { order: Order::Hold { cause, .. }, .. } => self.holds(*cause, state),
            Fact::OrderCancelled { id, cause } => self.cancelled(*id, *cause, state),
            Fact::Decided(decision) => self.decided(entry, decision, state),
            Fact::Ordered { .. } | Fact::Concluded { .. } => {}
        }
    }

    fn cancelled(&mut self, id: OrderId, cause: CancelCause, state: &RunState) {
        let what = state.orders.get(id).map_or("it", |open| who(&open.order));
        let line = match cause {
            CancelCause::Timeout if !is_hold(state, id) => format!("over its time: ending {what}"),
            CancelCause::TimeLimit if !is_hold(state, id) => {
                format!("the time of the loop is used up: ending {what}")
            }
            CancelCause::Silent => {
                let limit = state.settings.shown().idle_timeout_ms.map_or_else(String::new, time::spaced);
                format!("no sign of life for {limit}: ending the agent")
            }
            CancelCause::Retrying => "it waits for its provider by itself: ending the agent".to_owned(),
            CancelCause::Timeout
            | CancelCause::TimeLimit
            | CancelCause::TimeUp
            | CancelCause::Abort
            | CancelCause::Request
            | CancelCause::Rollback => return,
        };
        self.line(Some(Paint::Warn), &format!("         {line}"));
    }

    fn holds(&mut self, cause: HoldCause, state: &RunState) {
        let id = name_of(state);
        let lines = match cause {
            HoldCause::Paused => vec![format!("paused; resume with: loop resume {id}")],
            HoldCause::Blocked => vec![format!("paused until that is fixed; then: loop resume {id}")],
            HoldCause::Limit => words::waits(state, &id).into_iter().collect(),
            HoldCause::Calls => monitor::waits_for_call(state, &id).into_iter().collect(),
            HoldCause::Question => {
                let question = text::one_line(state.agent.question().unwrap_or_default(), 400);
                let answer = format!("answer: loop inject {id} \"…\", then: loop resume {id}");
                vec![format!("the agent asks: {question}"), answer]
            }
            HoldCause::Delay => Vec::new(),
        };
        lines.iter().for_each(|line| self.line(Some(Paint::Warn), line));
    }

    fn decided(&mut self, entry: &Entry, decision: &Decision, state: &RunState) {
        match decision {
            Decision::Gate(_) => {
                if let Some((gate, last)) = gate_with_verdict(&entry.fact, state) {
                    self.gate(gate.spec(), last, state);
                }
            }
            // Said once: the same again would not be news.
            Decision::Attempt(judgement) if judgement.timed_out && state.progress.timeouts() == 2 => {
                let double = loop_core::settings::duration_text(state.settings.shown().timeout_ms.saturating_mul(2));
                let id = name_of(state);
                let hint = format!("two iterations ran out of time; more of it: loop set {id} timeout={double}");
                self.line(Some(Paint::Warn), &hint);
            }
            Decision::Measurement(_) => {
                if let Some(refused) = words::refused(state) {
                    self.line(Some(Paint::Warn), &format!("         {refused}"));
                }
            }
            Decision::Chosen { choice, .. } => self.chosen(choice),
            Decision::Attempt(_)
            | Decision::OrderDropped { .. }
            | Decision::Interruption { .. }
            | Decision::StatusSkipped
            | Decision::Round(_)
            | Decision::Guard(_)
            | Decision::Proof(_)
            | Decision::BreakerClosed => {}
        }
    }

    /// Another agent or model than before. The first one stands in the header.
    fn chosen(&mut self, choice: &AgentChoice) {
        if self.choice.as_ref().is_some_and(|before| before != choice) {
            let model = choice.model.as_ref().map_or_else(String::new, |model| format!(" ({model})"));
            self.line(None, &format!("agent    {}{model} from now on", choice.agent));
        }
        self.choice = Some(choice.clone());
    }

    /// The same for programs.
    fn events(&mut self, entry: &Entry, state: &RunState, said: Vec<monitor::Said>) {
        let event = public_event(entry, state).map(|mut event| {
            let whole = RunResult::of(state).filter(|_| matches!(entry.fact, Fact::Concluded { .. }));
            if let (Some(whole), Some(event)) = (whole, event.as_object_mut())
                && let Ok(serde_json::Value::Object(whole)) = serde_json::to_value(whole.with(self.monitor.claims()))
            {
                event.extend(whole);
            }
            event
        });
        let more = said.into_iter().filter_map(|said| said.event).map(|(name, body)| {
            let at = time::rfc3339(entry.at.wall_ms);
            let mut event = serde_json::json!({"version": 1, "event": name, "at": at});
            if let (Some(event), serde_json::Value::Object(body)) = (event.as_object_mut(), body) {
                event.extend(body);
            }
            event
        });
        for event in event.into_iter().chain(more) {
            let gap = |count| format!("{{\"version\":1,\"event\":\"left_out\",\"events\":{count}}}\n");
            self.out.send(&format!("{event}\n"), gap);
        }
    }

    fn live_line(state: &RunState, now: At) -> Option<String> {
        let (_, open) = state.main_order()?;
        let limit = time::compact(open.order.limit_ms(state.settings.shown()));
        let spent = time::compact(now.ms_since(open.since) / 1000 * 1000);
        let fails = |gate: &&Gate| gate.last().is_some_and(|last| last.verdict != Verdict::Pass);
        let gate = state.gates.iter().find(fails).or(state.gates.iter().next()).and_then(Gate::last);
        let gate = gate.map_or_else(String::new, |last| format!(" · gate: {}", last.report.ended.brief()));
        let doing = match &open.order {
            Order::RunAgent { .. } => {
                let cost = summary::told_cost(state).map_or_else(String::new, |cost| format!(" · {cost}"));
                format!("{} · {spent} of {limit}{gate}{cost}", state.settings.shown().agent)
            }
            Order::RunGate { .. } => format!("checking the promise · {spent} of {limit}"),
            Order::CleanUp { .. } => "ending what is left of a cut-off attempt".to_owned(),
            Order::Hold { cause: HoldCause::Paused, .. } => format!("paused · loop resume {}", name_of(state)),
            Order::Hold { cause: HoldCause::Blocked, .. } => {
                format!("waits until that is mended · loop resume {}", name_of(state))
            }
            Order::Rollback { to, .. } => format!("going back to {to} · {spent}"),
            Order::Hold { cause: HoldCause::Question, .. } => {
                format!("waits for an answer · loop inject {}", name_of(state))
            }
            Order::Hold { cause: HoldCause::Limit, .. } => words::countdown(state, now)?,
            Order::Hold { cause: HoldCause::Delay, .. } => format!("waiting · {spent} of {limit}"),
            Order::Hold { cause: HoldCause::Calls, .. } => {
                let left = state.calls_free_at().map_or(0, |at| at.saturating_sub(now.wall_ms));
                format!("calls of the hour used up · {} left", time::compact(left / 1000 * 1000))
            }
            Order::Certify { .. } => "writing down the proof".to_owned(),
            Order::Reserve { .. } => "asking the ledger".to_owned(),
            Order::Checkpoint { .. } | Order::Measure { .. } | Order::Guard { .. } => {
                "keeping the workspace".to_owned()
            }
            Order::Notify { .. } | Order::ManualCheckpoint { .. } => return None,
        };
        Some(text::one_line(&format!("{} · {doing}", of(state)), LINE_LETTERS_MAX))
    }
}

/// When it was, on the clock of who reads it: lines that are kept in a file say it, a terminal need not.
fn clock_time(wall_ms: u64) -> String {
    let stamp = i64::try_from(wall_ms).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    let zoned = stamp.map(|stamp| stamp.to_zoned(jiff::tz::TimeZone::system()));
    zoned.map_or_else(String::new, |zoned| zoned.strftime("[%H:%M:%S] ").to_string())
}

fn name_of(state: &RunState) -> String {
    state.spec.as_ref().map(|spec| spec.id.to_string()).unwrap_or_default()
}

/// What going back did, in a line or two.
pub(crate) fn rolled_back(back: &RollbackReport, id: &str) -> String {
    let files = |count: u64| if count == 1 { "1 name".to_owned() } else { format!("{count} names") };
    let mut text = format!("rolled back to {}: {} written, {} removed", back.to, files(back.written), back.removed);
    for aside in &back.aside {
        text.push_str(&format!("\n  kept aside: {}", text::one_line(aside, 200)));
    }
    for said in &back.remarks {
        text.push_str(&format!("\n  {}", text::one_line(said, 400)));
    }
    let git = if back.git { " --restore-git" } else { "" };
    format!("{text}\n  undo it:    loop rollback {id} undo{git}")
}

/// Who works on an order, for people.
fn who(order: &Order) -> &'static str {
    match order {
        Order::RunAgent { .. } => "the agent",
        Order::RunGate { .. } => "the promise",
        Order::Notify { .. } => "the notification command",
        Order::CleanUp { .. }
        | Order::Checkpoint { .. }
        | Order::Measure { .. }
        | Order::ManualCheckpoint { .. }
        | Order::Rollback { .. }
        | Order::Reserve { .. }
        | Order::Guard { .. }
        | Order::Certify { .. }
        | Order::Hold { .. } => "it",
    }
}

fn is_hold(state: &RunState, id: loop_core::ids::OrderId) -> bool {
    state.orders.get(id).is_some_and(|open| matches!(open.order, Order::Hold { .. }))
}

/// `3/10`, or `3` where there is no limit.
fn of(state: &RunState) -> String {
    let most = state.settings.shown().max_iterations.map_or_else(String::new, |most| format!("/{most}"));
    format!("{}{most}", state.iteration)
}

impl Reporter for Live {
    fn on_entry(&mut self, entry: &Entry, state: &RunState) {
        self.now_wall_ms = entry.at.wall_ms;
        let verbose = self.printer.loudness == Loudness::Verbose;
        let said = self.monitor.told(entry, state, verbose);
        if self.json {
            return self.events(entry, state, said);
        }
        // What is said with an order for an agent is about the iteration before it.
        let before = matches!(entry.fact, Fact::Ordered { order: Order::RunAgent { .. }, .. });
        if !before {
            self.fact(entry, state);
        }
        for said in said {
            self.line(Some(said.paint), &said.text);
        }
        if before {
            self.fact(entry, state);
        }
    }

    fn on_output(&mut self, bytes: &[u8]) {
        if self.printer.loudness == Loudness::Verbose && !self.json {
            let text = text::clean(bytes);
            self.show(&text);
            self.mid_line = !text.is_empty() && !text.ends_with('\n');
        }
    }

    fn tick(&self) -> Option<Duration> {
        let drawing = self.printer.live && !self.json && self.printer.loudness == Loudness::Normal;
        if !self.out.is_empty() || !self.err.is_empty() {
            return Some(Duration::from_millis(100));
        }
        drawing.then(|| Duration::from_secs(1))
    }

    fn draw(&mut self, state: &RunState, now: At) {
        self.out.flush();
        self.err.flush();
        if self.json || !self.printer.live || self.printer.loudness != Loudness::Normal || !self.err.is_empty() {
            return;
        }
        if let Some(line) = Self::live_line(state, now) {
            self.show(&format!("\r\u{1b}[K{line}"));
            self.drawn = true;
        }
    }
}
