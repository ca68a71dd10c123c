//! What a person sees while a run works: a live line on a terminal, plain lines elsewhere.
use std::collections::BTreeSet;
use std::time::Duration;

use loop_core::changes::changed_names;
use loop_core::ids::OrderId;
use loop_core::policy::alert::{Alert, AlertType};
use loop_core::policy::gate::{ExitContradiction, Verdict};
use loop_core::policy::proof::ProofResult;
use loop_core::run::{
    AgentChoice, Answer, AroundEvent, CancelCause, CheckpointReport, Decision, Entry, Event, Fact, GatePoint,
    HoldCause, InboxEffect, LastGate, NoteChange, Notice, Order, PAUSE_MS_MAX, Request, RollbackReport, RolledBackFile,
    RolledBackFiles, RunState, Target,
};
use loop_core::run::{FileAction, Gate};
use loop_core::test_output::failure_message;
use loop_core::text;
use loop_core::time::{self, At};
use loop_core::view::{
    HarnessFold, HarnessStyle, LiveDigest, Liveness, Now, Record, RunResult, gate_with_verdict, iteration_text,
    own_iterations_max, public_event,
};
use loop_host::driver::Reporter;
use loop_host::process::tail_of;
use loop_host::run_folder::RunFolder;

use super::diff::brief;
use super::monitor::{self, Monitor};
use super::outbox::{Outbox, To};
use super::printer::{Loudness, Paint, Printer};
use super::status_box::status_box;
use super::wrap::hanging;
use super::{moment, now, recovery, sentences, summary, surroundings};
use crate::kept::local_time;

/// How much of the output of a gate that failed is read for the one line that is shown.
const GATE_BYTES_MAX: u64 = 512 * 1024;

/// Shows a run as it goes.
pub(crate) struct Live {
    printer: Printer,
    /// The run, which has what its gates printed.
    folder: RunFolder,
    json: bool,
    drawn: bool,
    /// The last output did not end its line.
    mid_line: bool,
    out: Outbox,
    err: Outbox,
    /// When the newest fact was.
    now_wall_ms: u64,
    monitor: Monitor,
    /// What the attempt before used.
    choice: Option<AgentChoice>,
    /// What is known from the live stream of the agent.
    digest: LiveDigest,
    /// The local date of the newest line.
    day: Option<String>,
    /// What was said of protected files already.
    guard_shown: BTreeSet<String>,
    /// What the autonomous specification shows.
    harness: HarnessFold,
}

impl Live {
    pub(crate) fn new(printer: Printer, folder: RunFolder, json: bool) -> Self {
        Self {
            printer,
            folder,
            json,
            drawn: false,
            mid_line: false,
            out: Outbox::new(To::Stdout),
            err: Outbox::new(To::Stderr),
            now_wall_ms: 0,
            monitor: Monitor::default(),
            choice: None,
            digest: LiveDigest::default(),
            day: None,
            guard_shown: BTreeSet::new(),
            harness: HarnessFold::default(),
        }
    }

    /// Plain lines on stdout with all that agents write: for a loop that another process drives.
    pub(crate) fn onto_stdout(printer: Printer, folder: RunFolder) -> Self {
        Self { err: Outbox::new(To::Stdout), ..Self::new(printer.for_answers(), folder, false) }
    }

    /// Takes in what happened before this view began.
    pub(crate) fn saw(&mut self, entry: &Entry, state: &RunState) {
        self.monitor.saw(entry, state);
        self.harness.take(entry, state);
    }

    /// What is known of the run so far.
    pub(crate) fn record(&self) -> &Record {
        self.monitor.record()
    }

    /// Shows a message about the work, unless the user asked for none.
    fn show(&mut self, text: &str) {
        if self.printer.loudness != Loudness::Quiet {
            self.err.send(text, |count| format!("[{count} pieces skipped: they were not read in time]\n"));
        }
    }

    /// Waits for the reader: whatever waits is written.
    pub(crate) fn keep_up(&mut self) {
        self.out.finish();
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
        let width = loop_host::terminal::columns(std::io::stderr()).filter(|_| self.printer.live);
        let at = if self.printer.live { minute(self.now_wall_ms, width) } else { clock_time(self.now_wall_ms) };
        let width = width.map(|width| width.saturating_sub(at.len()));
        // Each line by itself: a rollback has several, with commands that people copy.
        let wrapped = |width| line.split('\n').map(|line| hanging(line, 9, width)).collect::<Vec<_>>().join("\n");
        let line = width.map_or_else(|| line.clone(), wrapped);
        // What follows stands below the first line, behind the column of times.
        let line = if self.printer.live { line.replace('\n', &format!("\n{}", " ".repeat(at.len()))) } else { line };
        let line = paint.map_or_else(|| line.clone(), |paint| self.printer.paint_progress(paint, &line));
        let at = if self.printer.live { self.printer.paint_progress(Paint::Dim, &at) } else { at };
        if let Some(day) = new_day(&mut self.day, self.now_wall_ms) {
            self.show(&format!("{day}\n"));
        }
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
                    Request::Pause => "pausing after this iteration".to_owned(),
                    Request::Resume => "resuming".to_owned(),
                    Request::Cancel => "cancelling".to_owned(),
                    Request::CancelRollback => "cancelling, and rolling back to the start".to_owned(),
                    Request::Rollback(Target { to, now: true, .. }) => format!("rolling back to {to} now"),
                    Request::Rollback(Target { to, .. }) => format!("rolling back to {to} after this iteration"),
                    Request::Checkpoint { name } => format!("taking checkpoint {name}"),
                    Request::Inject(text) => {
                        let which = if text.keep { "all later prompts" } else { "the next prompt" };
                        format!("a text of {} bytes for {which}", text.bytes)
                    }
                    Request::Set(changes) => changes
                        .iter()
                        .map(|change| format!("{} = {}", change.key, change.value))
                        .collect::<Vec<_>>()
                        .join(", "),
                    Request::Note(NoteChange::Add { .. }) => "a note for all later prompts".to_owned(),
                    Request::Note(NoteChange::Strike { id }) => format!("note n{id} is struck"),
                    Request::Reset { session: true } => "breaker closed, conversation forgotten".to_owned(),
                    Request::Reset { session: false } => "breaker closed".to_owned(),
                    Request::Accept { .. } => "accepted as it is".to_owned(),
                    Request::Stop | Request::Abort => return,
                };
                self.line(Some(Paint::Warn), &format!("{} ({by})", text::one_line(&what, 200)));
            }
            Event::Around(around) => self.around(around, state),
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

    fn around(&mut self, around: &AroundEvent, state: &RunState) {
        for line in surroundings::lines(around) {
            self.line(Some(Paint::Warn), &line);
        }
        if let AroundEvent::Inbox { effect: InboxEffect::Status, .. } = around {
            self.status_box(state.now, state);
        }
    }

    fn answered(&mut self, answer: &Answer, state: &RunState) {
        match answer {
            Answer::AgentEnded(report) => {
                self.line(Some(Paint::Dim), &format!("{:>7}  {}", of(state), sentences::attempt_ended(report)));
                for line in sentences::attempt_remarks(report, state) {
                    self.line(Some(Paint::Warn), &format!("         {line}"));
                }
                if report.left_running > 0 {
                    let ended = processes(u64::from(report.left_running));
                    self.line(Some(Paint::Warn), &format!("         ended {ended} that it left running"));
                }
            }
            Answer::Cleaned { killed } if *killed > 0 => {
                self.line(
                    Some(Paint::Warn),
                    &format!("ended {} of an interrupted attempt", processes(u64::from(*killed))),
                );
            }
            Answer::Failed { what } => self.line(Some(Paint::Bad), what),
            Answer::Lost { left } => self.line(Some(Paint::Bad), &format!("could not be ended: {}", left.join(", "))),
            Answer::Notified { exit_code } if *exit_code != Some(0) => {
                let ended = exit_code.map_or_else(|| "was stopped".to_owned(), |code| format!("exit {code}"));
                self.line(Some(Paint::Warn), &format!("the notification command failed ({ended})"));
            }
            Answer::Blocked { why } | Answer::Refused { why } => self.line(Some(Paint::Bad), &text::one_line(why, 400)),
            Answer::RolledBack(back) => self.line(Some(Paint::Good), &rolled_back(back, &name_of(state), None)),
            Answer::ManualCheckpoint(saved) => {
                self.line(None, &format!("checkpoint taken: {}", saved.checkpoint.as_deref().unwrap_or_default()));
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
                for line in sentences::protected_files(guarded, &mut self.guard_shown) {
                    self.line(Some(Paint::Warn), &format!("{:>7}  {line}", of(state)));
                }
            }
            Answer::Branches(report) => {
                if let Some(plan) = &report.plan {
                    self.line(Some(Paint::Dim), &format!("         branches: loop status {plan}"));
                }
            }
            Answer::GateEnded(_)
            | Answer::Cleaned { .. }
            | Answer::Held
            | Answer::TextEnded(_)
            | Answer::Reserved(_)
            | Answer::Certify(_)
            | Answer::Judged(_)
            | Answer::Notified { .. } => {}
        }
    }

    fn saved(&mut self, saved: &CheckpointReport, state: &RunState) {
        if let Some(changes) = saved.changes {
            let named = changed_names(changes.files, &saved.names);
            let named = named.map_or_else(String::new, |named| format!(": {named}"));
            self.line(Some(Paint::Warn), &format!("{:>7}  not by the agent: {}{}", of(state), brief(changes), named));
        }
        for said in &saved.remarks {
            self.line(Some(Paint::Warn), &format!("         {}", text::one_line(said, 400)));
        }
        if !saved.unstable.is_empty() {
            let names = text::one_line(&saved.unstable.join(", "), 200);
            self.line(Some(Paint::Warn), &format!("         changed while the checkpoint was taken: {names}"));
        }
    }

    /// What a gate that failed says is wrong.
    fn said(&self, last: &LastGate) -> Option<String> {
        let output = self.folder.gate(last.iteration, last.order);
        let (stdout, stderr) =
            (tail_of(&output.join("stdout"), GATE_BYTES_MAX), tail_of(&output.join("stderr"), GATE_BYTES_MAX));
        if stdout.is_empty() && stderr.is_empty() {
            // It was removed, or the gate was never started.
            return failure_message(b"", last.report.excerpt.as_bytes());
        }
        failure_message(&stdout, &stderr)
    }

    fn gate(&mut self, gate: &Gate, last: &LastGate, state: &RunState) {
        let contradiction = gate.contradiction();
        let gate = gate.spec();
        let place = if last.point == GatePoint::Baseline { "before".to_owned() } else { of(state) };
        let paint = match last.verdict {
            Verdict::Pass => Paint::Good,
            Verdict::Fail => Paint::Dim,
            Verdict::Unverifiable => Paint::Warn,
        };
        let contradiction = contradiction.map(ExitContradiction::words);
        let said = match last.verdict {
            Verdict::Pass => String::new(),
            Verdict::Fail | Verdict::Unverifiable => {
                self.said(last).map_or_else(String::new, |line| format!(": {line}"))
            }
        };
        let negated = sentences::turned(gate.promise());
        let name = &gate.name;
        let word = sentences::verdict(last.verdict);
        let but = contradiction.map_or_else(String::new, |but| format!(", but {but}"));
        let ended = last.report.ended.brief();
        // After a rollback the comparison is with the state that was left: that a test fails again is no news.
        let is_compared = !matches!(last.point, GatePoint::RolledBack(_));
        let tests = last
            .report
            .tests
            .as_ref()
            .map_or_else(String::new, |tests| format!(" · {}", sentences::tests(tests, is_compared)));
        self.line(Some(paint), &format!("{place:>7}  {name}: {word} ({negated}{ended}{but}){tests}{said}"));
        let uncounted = last.report.tests.as_ref().is_none_or(|tests| tests.files_only);
        if last.iteration == 0 && last.report.did_not_build && uncounted {
            let text = "it did not build, so its tests are not counted yet: the first round that can is what must stay";
            self.line(Some(Paint::Dim), &format!("         {text}"));
        }
    }

    /// One fact of the run, as far as it is printed by itself.
    fn fact(&mut self, entry: &Entry, state: &RunState) {
        match &entry.fact {
            Fact::Happened(input) => self.happened(&input.event, state),
            Fact::Ordered { order: Order::RunAgent { attempt, .. }, .. } => {
                self.digest = LiveDigest::default();
                let again = if *attempt > 1 { format!(" (attempt {attempt})") } else { String::new() };
                let limit = time::spaced(state.settings.shown().timeout_ms);
                if self.printer.live && self.printer.loudness == Loudness::Normal {
                    self.draw(state, entry.at);
                } else {
                    self.line(None, &format!("{:>7}  {} at work, up to {limit}{again}", of(state), state.agent_name()));
                }
            }
            Fact::Ordered { order: Order::Hold { cause, .. }, .. } => self.holds(*cause, state),
            Fact::OrderCancelled { id, cause } => self.cancelled(*id, *cause, state),
            Fact::Decided(decision) => self.decided(entry, decision, state),
            Fact::Ordered { .. } | Fact::Concluded { .. } => {}
        }
    }

    fn cancelled(&mut self, id: OrderId, cause: CancelCause, state: &RunState) {
        let Some(order) = state.orders.get(id).map(|open| &open.order) else { return };
        let subject = subject(order, state);
        let holds = order.hold_cause().is_some();
        let line = match cause {
            CancelCause::Timeout if !holds => {
                let limit = time::spaced(order.limit_ms(state.settings.shown()));
                format!("time limit of {limit} reached: ending {subject}")
            }
            CancelCause::TimeLimit if !holds => format!("time limit of the whole loop reached: ending {subject}"),
            CancelCause::Silent => {
                let limit = state.settings.shown().idle_timeout_ms.map_or_else(String::new, time::spaced);
                format!("no sign of life for {limit}: ending the agent")
            }
            CancelCause::Urgent => "an urgent text came: ending the agent, which reads it next".to_owned(),
            CancelCause::Retrying => "the agent waits for its provider by itself: ending the agent".to_owned(),
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
            HoldCause::Paused => {
                let enter = if self.printer.live { ", or Enter" } else { "" };
                vec![format!("paused; resume with: loop resume {id}{enter}")]
            }
            HoldCause::Blocked => {
                let order = state.main_order().map(|(_, open)| &open.order);
                let ms = if let Some(Order::Hold { ms, .. }) = order { *ms } else { PAUSE_MS_MAX };
                let most =
                    if ms < PAUSE_MS_MAX { format!(", for at most {}", time::spaced(ms)) } else { String::new() };
                vec![format!("paused until that is fixed{most}; then: loop resume {id}")]
            }
            HoldCause::Limit => sentences::wait_begins(state, &id, self.printer.live).into_iter().collect(),
            HoldCause::Calls => monitor::waits_for_call(state, &id).into_iter().collect(),
            HoldCause::Question => {
                let question = text::one_line(state.agent.question().unwrap_or_default(), 400);
                let answer = format!("answer: loop inject {id} \"…\", then: loop resume {id}");
                vec![format!("the agent asks: {question}"), answer]
            }
            HoldCause::Stuck => recovery::waits(state, &id),
            HoldCause::Delay => Vec::new(),
        };
        lines.iter().for_each(|line| self.line(Some(Paint::Warn), line));
    }

    fn decided(&mut self, entry: &Entry, decision: &Decision, state: &RunState) {
        match decision {
            Decision::Gate(_) => {
                if let Some((gate, last)) = gate_with_verdict(&entry.fact, state) {
                    self.gate(gate, last, state);
                }
            }
            // Said once: the same again would not be news.
            Decision::Attempt(judgement) if judgement.timed_out && state.progress.timeouts() == 2 => {
                let double = loop_core::settings::duration_text(state.settings.shown().timeout_ms.saturating_mul(2));
                let id = name_of(state);
                let hint = format!("two iterations reached the time limit; raise it: loop set {id} timeout={double}");
                self.line(Some(Paint::Warn), &hint);
            }
            Decision::Measurement(_) => {
                if let Some(refused) = sentences::refused_commands(state) {
                    self.line(Some(Paint::Warn), &format!("         {refused}"));
                }
            }
            Decision::Chosen { choice, rule, .. } => self.chosen(choice, rule.as_deref()),
            Decision::Alert(alert) => self.alert(alert, entry.at, state),
            Decision::Recovery(decision) => {
                for line in recovery::decided(decision) {
                    self.line(Some(Paint::Warn), &line);
                }
            }
            Decision::AgentOut { agent, why } => {
                let text = format!("agent    {agent} failed again and again ({}): another one works", why.word());
                self.line(Some(Paint::Warn), &text);
            }
            Decision::UsedUp { model, most, until_ms } => {
                let until = moment::ahead(*until_ms, state.now.wall_ms);
                let text = format!("agent    {model}: all {most} calls of today are used up, until {until}");
                self.line(Some(Paint::Warn), &text);
            }
            Decision::UrgentWaits { most, .. } => {
                let text = super::surroundings::urgent_waits(*most);
                self.line(Some(Paint::Warn), &format!("         {text}"));
            }
            Decision::Clean(judgement) => {
                if let Some((paint, text)) = sentences::clean_copy(judgement) {
                    self.line(paint, &format!("{:>7}  {text}", of(state)));
                }
            }
            Decision::Proof(judgement) if judgement.result == ProofResult::Refused => {
                for finding in &judgement.findings {
                    let text = text::one_line(&finding.text, 300);
                    self.line(Some(Paint::Warn), &format!("{:>7}  not believed: {text}", of(state)));
                }
            }
            Decision::Proof(_) => {}
            Decision::Text(judgement) => {
                let purpose = judgement.purpose.words();
                let why = judgement.why.as_deref().map(|why| text::one_line(why, 200));
                let said = why.map_or_else(|| "written by an agent".to_owned(), |why| format!("by loop itself: {why}"));
                self.line(Some(Paint::Dim), &format!("{:>7}  text ({purpose}): {said}", of(state)));
            }
            Decision::Attempt(_)
            | Decision::OrderDropped { .. }
            | Decision::Interruption { .. }
            | Decision::StatusSkipped
            | Decision::TextWanted { .. }
            | Decision::Round(_)
            | Decision::Protect(_)
            | Decision::Guard(_)
            | Decision::BreakerClosed => {}
        }
    }

    /// An alert; a milestone with the status in a box.
    fn alert(&mut self, alert: &Alert, at: At, state: &RunState) {
        self.line(Some(Paint::of_alert(alert.severity)), &alert.line());
        if alert.alert_type == AlertType::IterationMilestone {
            self.status_box(at, state);
        }
    }

    fn status_box(&mut self, at: At, state: &RunState) {
        let columns = loop_host::terminal::columns(std::io::stderr()).filter(|_| self.printer.live);
        let status = self.harness.status(state, Liveness::Driven, at);
        if let Some(drawn) = status.map(|status| status_box(&status, columns)) {
            self.clear();
            self.show(&drawn);
        }
    }

    /// The lines of the log of the autonomous specification, where it is written.
    fn harness(&mut self, entry: &Entry, state: &RunState) {
        let lines = self.harness.take(entry, state);
        if !state.settings.shown().values.alerts.harness_log || self.json {
            return;
        }
        for line in lines {
            let paint = match line.style {
                HarnessStyle::Begins => Paint::Info,
                HarnessStyle::Good => Paint::Good,
                HarnessStyle::Fair => Paint::Warn,
                HarnessStyle::Poor | HarnessStyle::Stuck => Paint::Bad,
                HarnessStyle::Marker => Paint::Place,
                HarnessStyle::Recovery => Paint::Tried,
            };
            self.line(Some(paint), &line.text);
        }
    }

    /// Another agent or model than before. The first one is in the header.
    fn chosen(&mut self, choice: &AgentChoice, rule: Option<&str>) {
        // Another form of the prompt alone is another rung, which says so itself.
        let same = |before: &AgentChoice| AgentChoice { prompt: choice.prompt, ..before.clone() } == *choice;
        if self.choice.as_ref().is_some_and(|before| !same(before)) {
            let model = choice.model.as_ref().map_or_else(String::new, |model| format!(" ({model})"));
            let effort = choice.effort.as_ref().map_or_else(String::new, |effort| format!(", effort {effort}"));
            let rule = rule.map_or_else(String::new, |rule| format!(" ({})", text::one_line(rule, 200)));
            self.line(None, &format!("agent    {}{model}{effort} from now on{rule}", choice.agent));
        }
        self.choice = Some(choice.clone());
    }

    /// The same for programs.
    fn events(&mut self, entry: &Entry, state: &RunState, remarks: Vec<monitor::Remark>) {
        let event = public_event(entry, state).map(|mut event| {
            let whole = RunResult::of(state).filter(|_| matches!(entry.fact, Fact::Concluded { .. }));
            if let (Some(whole), Some(event)) = (whole, event.as_object_mut())
                && let Ok(serde_json::Value::Object(whole)) =
                    serde_json::to_value(whole.with(self.monitor.record().claims()))
            {
                event.extend(whole);
            }
            event
        });
        let more = remarks.into_iter().filter_map(|remark| remark.event).map(|(name, body)| {
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
}

/// Where a terminal has fewer columns, a line has no time.
const TIMED_COLUMNS_MIN: usize = 60;

/// The local time to the minute, for lines on a terminal: what happened in the night is read in the morning.
fn minute(wall_ms: u64, width: Option<usize>) -> String {
    let has_room = width.is_none_or(|width| width >= TIMED_COLUMNS_MIN);
    let local = moment::local(wall_ms).filter(|_| has_room);
    local.map_or_else(String::new, |zoned| zoned.strftime("%H:%M ").to_string())
}

/// The date, where a line is the first of another day than the one before: once a day.
fn new_day(newest: &mut Option<String>, wall_ms: u64) -> Option<String> {
    let day = local_day(wall_ms);
    let before = newest.replace(day.clone());
    before.filter(|before| *before != day).map(|_| day)
}

/// The local time, for lines that go to a file.
pub(super) fn clock_time(wall_ms: u64) -> String {
    moment::local(wall_ms).map_or_else(String::new, |zoned| zoned.strftime("[%H:%M:%S] ").to_string())
}

/// How many processes.
fn processes(count: u64) -> String {
    if count == 1 { "1 process".to_owned() } else { format!("{count} processes") }
}

/// The local date.
fn local_day(wall_ms: u64) -> String {
    moment::local(wall_ms).map_or_else(String::new, |zoned| zoned.strftime("%Y-%m-%d").to_string())
}

fn name_of(state: &RunState) -> String {
    state.spec.as_ref().map(|spec| spec.id.to_string()).unwrap_or_default()
}

/// What a rollback did, in a line or two; and until when it can be undone, where a time is set.
pub(crate) fn rolled_back(back: &RollbackReport, id: &str, kept_until: Option<u64>) -> String {
    let count = |count: u64| if count == 1 { "1 file".to_owned() } else { format!("{count} files") };
    let what = match back.paths.as_slice() {
        [] => "rolled back to".to_owned(),
        [path] => format!("{} restored from", text::one_line(path, 200)),
        paths => format!("{} paths restored from", paths.len()),
    };
    let mut text = match &back.files {
        Some(files) => {
            format!("{what} {}: {} written, {} removed", back.to, count(files.written), files.removed)
        }
        None => format!("{what} {}: {} written, {} removed", back.to, count(back.written), back.removed),
    };
    for line in back.files.iter().flat_map(rolled_back_files) {
        text.push_str(&format!("\n  {line}"));
    }
    for aside in &back.aside {
        text.push_str(&format!("\n  moved aside: {}", text::one_line(aside, 200)));
    }
    for said in &back.remarks {
        text.push_str(&format!("\n  {}", text::one_line(said, 400)));
    }
    let git = if back.git { " --restore-git" } else { "" };
    let until = kept_until.map_or_else(String::new, |ms| format!("   (kept until {})", local_time(ms)));
    format!("{text}\n  undo:       loop rollback {id} undo{git}{until}")
}

/// How many files of a rollback are listed.
const ROLLED_BACK_MAX: usize = 10;

/// The first files of a rollback, a line each.
fn rolled_back_files(files: &RolledBackFiles) -> Vec<String> {
    let mut lines: Vec<String> =
        files.first.iter().take(ROLLED_BACK_MAX).map(|file| rolled_back_file(file, Tense::Did)).collect();
    let all = usize::try_from(files.written + files.removed).unwrap_or(usize::MAX);
    if all > lines.len() {
        lines.push(format!("and {} more", all - lines.len()));
    }
    lines
}

/// Whether a rollback was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tense {
    Did,
    Would,
}

/// `removed  notes.txt (no iteration of this loop made it)`.
pub(crate) fn rolled_back_file(file: &RolledBackFile, tense: Tense) -> String {
    let what = match (file.what, tense) {
        (FileAction::Written, Tense::Did) => "written ",
        (FileAction::Removed, Tense::Did) => "removed ",
        (FileAction::Written, Tense::Would) => "would write ",
        (FileAction::Removed, Tense::Would) => "would remove",
    };
    let own = if file.own { " (no iteration of this loop made it)" } else { "" };
    format!("{what} {}{own}", text::one_line(&file.path, 200))
}

/// What an order is about, for people.
fn subject(order: &Order, state: &RunState) -> String {
    if let Order::RunGate { gate, .. } = order {
        let name = state.gates.get(*gate).map(|gate| gate.spec().name.as_str());
        return name.map_or_else(|| "the gate".to_owned(), |name| format!("gate {name}"));
    }
    if order.runs_agent() {
        return "the agent".to_owned();
    }
    if matches!(order, Order::Notify { .. }) { "the notification command".to_owned() } else { "it".to_owned() }
}

/// `3/10`, or `3` where there is no limit.
fn of(state: &RunState) -> String {
    iteration_text(state.iteration, own_iterations_max(state))
}

impl Reporter for Live {
    fn on_entry(&mut self, entry: &Entry, state: &RunState) {
        self.now_wall_ms = entry.at.wall_ms;
        let verbose = self.printer.loudness == Loudness::Verbose;
        let remarks = self.monitor.remarks(entry, state, verbose);
        self.harness(entry, state);
        if self.json {
            return self.events(entry, state, remarks);
        }
        // What is printed with an order for an agent is about the iteration before it.
        let before = matches!(&entry.fact, Fact::Ordered { order, .. } if order.runs_agent());
        if !before {
            self.fact(entry, state);
        }
        // The log of the autonomous specification has a line for each mark.
        let logged = state.settings.shown().values.alerts.harness_log;
        let is_new = |remark: &monitor::Remark| !(logged && remark.is_marker());
        for remark in remarks.into_iter().filter(is_new) {
            self.line(Some(remark.paint), &remark.text);
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

    fn on_live(&mut self, live: &LiveDigest) {
        self.digest.clone_from(live);
    }

    fn draw(&mut self, state: &RunState, now: At) {
        self.out.flush();
        self.err.flush();
        if self.json || !self.printer.live || self.printer.loudness != Loudness::Normal || !self.err.is_empty() {
            return;
        }
        let view = Now::of(state, now, &self.digest);
        let id = name_of(state);
        let line = view.and_then(|view| now::live_line(&view, now, &id, summary::known_cost(state)));
        if let Some(line) = line {
            self.show(&format!("\r\u{1b}[K{line}"));
            self.drawn = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{minute, new_day};

    const DAY_MS: u64 = 86_400_000;
    const SOME_MS: u64 = 1_700_000_000_000;

    #[test]
    fn a_log_has_its_date_once_a_day() {
        let mut newest = None;
        let days: Vec<Option<String>> =
            [SOME_MS, SOME_MS, SOME_MS + DAY_MS, SOME_MS + DAY_MS].map(|at| new_day(&mut newest, at)).into();
        assert_eq!(days.iter().map(Option::is_some).collect::<Vec<_>>(), [false, false, true, false], "{days:?}");
        assert!(days[2].as_ref().is_some_and(|day| day.starts_with("2023-11-1")), "{days:?}");
    }

    #[test]
    fn a_line_on_a_terminal_has_its_minute_where_there_is_room() {
        let shown = minute(SOME_MS, Some(80));
        assert!(shown.len() == 6 && shown.ends_with(":13 "), "{shown:?}");
        assert_eq!((minute(SOME_MS, Some(40)), minute(SOME_MS, None).len()), (String::new(), 6));
    }
}
