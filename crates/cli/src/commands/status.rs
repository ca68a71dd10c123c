//! `loop status`: what runs, and what ended lately; with an id, one loop in detail.
use std::time::Duration;

use clap::Args;
use loop_core::run::{Entry, Outcome, RunState, Status};
use loop_core::time::{self, At};
use loop_core::view::{Certificate, HarnessFold, Listing, Liveness, Now, Record, Row};
use loop_host::attempt::live_digest;
use loop_host::clock;
use loop_host::index::{self, Listed, ShortList};
use loop_host::process::is_suspended;
use loop_host::run_folder::RunFolder;
use loop_host::signals::Signals;
use loop_host::terminal::KeyInput;

use super::worker::WhichArgs;
use super::{plan, status_detail};
use crate::context::{Context, Done, read_error, runs_error};
use crate::kept::{KeptCheckpoints, local_time};
use crate::render::error::{CommandError, Kind};
use crate::render::printer::{Printer, stdout_is_terminal, text_width, width};
use crate::render::summary;
use crate::render::table::{ShrinkingColumn, cut, table_within};
use crate::render::wrap::{cut_at_word, labelled};
use crate::render::{hidden, moment, now, recovery, sentences};

/// What is known of a run whose journal has no end. A full disk leaves none, either.
const CUT_OFF: &str = "its process was killed, the machine stopped, or its records could not be written";
/// What ended longer ago than this is not shown without an id.
const LATELY_MS: u64 = 60 * 60 * 1000;
/// Of those that ended, at most about so many are shown without an id.
const ENDED_SHOWN_MAX: u32 = 20;
/// In which column the values of one loop begin.
const COLUMN: usize = 13;
/// The columns of a list that get narrower where a row does not fit: the promise, then what qualifies a status.
const SHRINKING: [ShrinkingColumn; 2] = [ShrinkingColumn { at: 3, least: 12 }, ShrinkingColumn { at: 1, least: 24 }];
/// How often a watched status is drawn.
const REDRAW: Duration = Duration::from_secs(1);

/// Show what runs
#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    which: WhichArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Draw it again every second; q leaves, and it ends with the loop that it shows
    #[arg(short, long, conflicts_with = "json")]
    watch: bool,
}

impl StatusArgs {
    /// What runs, and what ended lately.
    pub(super) fn of_here(json: bool) -> Self {
        Self { which: WhichArgs::default(), json, watch: false }
    }
}

pub(crate) fn run(context: &Context, args: &StatusArgs) -> Done {
    if let Some(folder) = args.which.plan(context) {
        if !args.watch {
            return plan::status(context, &folder, args.json);
        }
        return on_screen(context, || {
            // Asked first, so that the last screen does not say that it runs.
            let ended = has_ended(&folder);
            Ok((plan::status_text(context, &folder)?, ended))
        });
    }
    let args = &StatusArgs { which: args.which.settled(context)?, ..*args };
    if !args.watch {
        let text = once(context, args)?;
        context.printer.answer(&text);
        return Ok(0);
    }
    on_screen(context, || {
        // Asked first, so that the last screen does not say that it runs.
        let ended = args.which.is_said() && has_ended(&args.which.find(context)?);
        Ok((watched(context, args)?, ended))
    })
}

/// Draws a text again and again until it is the last one, or a person leaves.
fn on_screen(context: &Context, mut look: impl FnMut() -> Result<(String, bool), CommandError>) -> Done {
    if !stdout_is_terminal() {
        return Err(CommandError::new(Kind::Wrong, "--watch needs a terminal")
            .because("it draws over what it drew before")
            .hint("leave --watch out, or use --json in a loop of your own"));
    }
    let unable = |error: std::io::Error| CommandError::of(Kind::Unable, &error);
    let mut signals = Signals::listen().map_err(unable)?;
    // Without a terminal to read from, only a signal ends it.
    let keys = KeyInput::begin(std::io::stdin()).ok();
    let screen = SecondScreen::open(context.printer);
    let last = loop {
        let (text, ended) = look()?;
        if ended || !signals.take().is_empty() {
            break text;
        }
        screen.draw(&text);
        match &keys {
            Some(keys) if matches!(keys.next_within(REDRAW), Some(b'q' | b'Q')) => break text,
            Some(_) => {}
            None => signals.wait(REDRAW),
        }
    };
    drop(screen);
    context.printer.answer(&last);
    Ok(0)
}

/// The second screen of a terminal: what was on the first one is there again when this is dropped.
struct SecondScreen {
    printer: Printer,
}

impl SecondScreen {
    fn open(printer: Printer) -> Self {
        printer.answer("\u{1b}[?1049h\u{1b}[?25l");
        Self { printer }
    }

    /// Draws a text as far as it fits, with a line that says how to leave.
    fn draw(&self, text: &str) {
        let rows = loop_host::terminal::rows(std::io::stdout()).unwrap_or(24);
        let columns = width();
        let room = rows.saturating_sub(2).max(1);
        let lines: Vec<&str> = text.lines().collect();
        let fits = lines.len() <= room;
        let shown = lines.iter().take(if fits { room } else { room.saturating_sub(1) });
        let mut drawn: String = shown.map(|line| cut(line, columns) + "\u{1b}[K\r\n").collect();
        if !fits {
            let more = format!("… {} more lines", lines.len() - (room - 1));
            drawn.push_str(&(cut(&more, columns) + "\u{1b}[K\r\n"));
        }
        let foot = cut("q leaves; the loops continue", columns);
        self.printer.answer(&format!("\u{1b}[H{drawn}\u{1b}[J\r\n{foot}"));
    }
}

impl Drop for SecondScreen {
    fn drop(&mut self) {
        self.printer.answer("\u{1b}[?25h\u{1b}[?1049l");
    }
}

/// What a watched status shows: those that run first, each always in its place.
fn watched(context: &Context, args: &StatusArgs) -> Result<String, CommandError> {
    if args.which.is_said() {
        return once(context, args);
    }
    let lately = LatelyLoops::of(context)?;
    let others = lately.line_for_others();
    let mut shown = lately.rows(context);
    if shown.is_empty() {
        return once(context, args);
    }
    shown.sort_by(|one, other| other.started_at.cmp(&one.started_at));
    shown.sort_by_key(|row| !matches!(row.status, Status::Running | Status::Waiting | Status::Paused));
    Ok(rows_table(&shown) + &others)
}

/// Whether no process drives a loop any more.
fn has_ended(folder: &RunFolder) -> bool {
    folder.holder().is_none()
}

fn once(context: &Context, args: &StatusArgs) -> Result<String, CommandError> {
    if args.which.is_said() {
        return one(context, &args.which.find(context)?, args.json);
    }
    if args.json {
        let listed = index::list(&context.home).map_err(|error| runs_error(&error))?;
        let plans = crate::plans::views(context).into_iter().map(|(_, view)| view).collect();
        return Ok(pretty(&Listing::with_plans(rows(listed), plans)));
    }
    let lately = LatelyLoops::of(context)?;
    let others = lately.line_for_others();
    let shown = lately.rows(context);
    if shown.is_empty() {
        return Ok("nothing runs, and nothing ended in the last hour\nall loops:  loop list\n".to_owned());
    }
    Ok(rows_table(&shown) + &others)
}

/// What programs see of one loop.
pub(crate) fn json_of(context: &Context, folder: &RunFolder) -> Result<serde_json::Value, CommandError> {
    Ok(serde_json::from_str(&one(context, folder, true)?).unwrap_or_default())
}

fn one(context: &Context, folder: &RunFolder, json: bool) -> Result<String, CommandError> {
    let listed =
        index::look(folder.clone()).ok_or_else(|| CommandError::new(Kind::Wrong, "the loop was just removed"))?;
    let row = listed.row.map_err(|error| read_error(&error))?;
    let reading = loop_host::journal::read(&folder.path).map_err(|error| read_error(&error))?;
    let record = Record::of(&reading.entries);
    let state = reading.fold();
    let kept = KeptCheckpoints::of(&context.home, folder, &state);
    if json {
        return Ok(pretty(&detailed(folder, &row, &state, &record, &kept)));
    }
    let driven = folder.holder().is_some();
    let at = clock::now();
    let now_view = doing(folder, &state, at).filter(|_| driven);
    let mut text = harness_lines(&reading.entries, &state, driven) + &rows_table(std::slice::from_ref(&row));
    let whole = Some(row.status_words()).filter(|whole| !text.contains(whole));
    let mut detail = |name: &str, value: &str| match name {
        // What has a command or a path to copy stays in one line.
        "task" | "workspace" | "checkpoint" | "now" | "asked" | "waits" | "asks" | "look" | "again" | "accept"
        | "next" | "files" => {
            text.push_str(&format!("  {name:<11}{value}\n"));
        }
        _ => text.push_str(&labelled(name, COLUMN, value)),
    };
    whole.iter().for_each(|whole| detail("status", whole));
    detail("task", &row.goal);
    detail("workspace", &loop_core::text::escape_path(row.workspace.as_bytes()));
    for (name, value) in [("project", &row.project), ("worker", &row.agent_name)] {
        value.iter().for_each(|value| detail(name, value));
    }
    if folder.holder().is_some_and(|holder| is_suspended(holder.pid)) {
        detail("now", "suspended (Ctrl-Z): continue it with fg in its terminal");
    } else if let Some(view) = &now_view {
        now::status_line(view, at, &row.id).iter().for_each(|line| detail("now", line));
        now::requests(view).iter().for_each(|line| detail("asked", line));
    }
    gates(&state).for_each(|gate| detail("gate", &gate));
    detail("started", &moment::ago_text(&row.started_at, at.wall_ms));
    detail("updated", &moment::ago_text(&row.updated_at, at.wall_ms));
    record.restored().for_each(|row| detail("restored", &loop_core::text::one_line(&row.words(), 300)));
    for (name, value) in proof_and_checkpoints(&state, &row.id, &kept)
        .into_iter()
        .chain(status_detail::lines(&state, &record, at, &kept))
    {
        detail(name, &value);
    }
    hidden::failed(folder, &state).iter().for_each(|failed| detail("hidden", failed));
    for (name, value) in waits_and_end(&row, &state, at).into_iter().chain(recovery::lines(&state)) {
        detail(name, &value);
    }
    for (name, command) in summary::looks(&state, &row.id, &kept) {
        detail(name, &command);
    }
    if row.resumable {
        detail("next", &summary::next_command(&state, &row.id));
    }
    if row.thinned {
        detail("outputs", "removed to make room for those of other loops (keep_bytes)");
    }
    detail("files", &loop_host::paths::text_of(&folder.path));
    Ok(text)
}

/// The status as the autonomous specification has it, where its log is written.
fn harness_lines(entries: &[Entry], state: &RunState, driven: bool) -> String {
    if !state.settings.shown().values.alerts.harness_log {
        return String::new();
    }
    let mut folded = RunState::default();
    let mut fold = HarnessFold::default();
    for entry in entries {
        folded.apply(&entry.fact);
        fold.take(entry, &folded);
    }
    let liveness = if driven { Liveness::Driven } else { Liveness::Free };
    let lines = fold.status(state, liveness, clock::now()).map(|status| status.lines()).unwrap_or_default();
    lines.iter().map(|line| format!("{line}\n")).chain(["\n".to_owned()]).collect()
}

/// What it waits for, how it ended, and what its agent asks.
fn waits_and_end(row: &Row, state: &RunState, at: At) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    if let Some(wait) = &row.waiting {
        // A limit of the loop's own is still there whenever it is tried.
        let hint = match state.calls_free_at() {
            Some(_) => format!("a higher limit: {}", sentences::higher_limit(state, &row.id)),
            None => format!("try now: loop resume {}", row.id),
        };
        let until = moment::ahead_text(&wait.until, at.wall_ms);
        lines.push(("waits", format!("until {until}: {} · {hint}", wait.why)));
    }
    match (&row.why, &row.reason) {
        (Some(why), Some(reason)) => lines.push(("ended", format!("{why} ({reason})"))),
        (Some(why), None) if why.starts_with("the agent asks") => {
            let answer = format!("loop inject {0} \"…\", then: loop resume {0}", row.id);
            lines.push(("asks", format!("{why} · answer: {answer}")));
        }
        // The question pack says it.
        (Some(_), None) if state.recovery.questions().is_some() => {}
        (Some(why), None) => lines.push(("waits", format!("until this is fixed: {why}"))),
        (None, _) if row.status == Status::Crashed => {
            let seen = moment::ago_text(&row.updated_at, at.wall_ms);
            lines.push(("ended", format!("{CUT_OFF}; last seen {seen}")));
        }
        (None, _) => {}
    }
    let question = summary::open_question(state).map(|question| loop_core::text::one_line(question, 400));
    lines.extend(question.map(|question| ("asks", format!("the agent asks: {question}"))));
    lines
}

/// What each gate said last.
fn gates(state: &RunState) -> impl Iterator<Item = String> {
    state.gates.iter().map(|gate| {
        let said = sentences::gate_words(gate, state, sentences::Took::LeftOut);
        if state.gates.len() > 1 { format!("{}: {said}", gate.spec().name) } else { said }
    })
}

/// What a run is doing now, with what its agent wrote last.
fn doing(folder: &RunFolder, state: &RunState, at: At) -> Option<Now> {
    Now::of(state, at, &live_digest(folder, state))
}

/// All that programs see of one loop.
fn detailed(
    folder: &RunFolder,
    row: &Row,
    state: &RunState,
    record: &Record,
    kept: &KeptCheckpoints,
) -> serde_json::Value {
    let mut all = serde_json::to_value(row).unwrap_or_default();
    all["attempt"] = state.attempt.into();
    all["iterations_done"] = state.iterations_done().into();
    all["branch_iterations"] = state.recovery.branch_iterations().into();
    all["process"] = folder.holder().map(|holder| holder.pid).into();
    all["folder"] = loop_host::paths::text_of(&folder.path).into();
    all["bytes"] = loop_host::fs::bytes_of(&folder.path).into();
    all["checkpoints"] = kept_fields(state, kept);
    let result = loop_core::view::RunResult::of(state);
    let driven = folder.holder().is_some();
    all["now"] = serde_json::to_value(doing(folder, state, clock::now()).filter(|_| driven)).unwrap_or_default();
    for (name, value) in status_detail::fields(state, record, clock::now()) {
        all[name] = value;
    }
    let (gates, certificate) = result.map_or_else(Default::default, |result| (result.gates, result.certificate));
    all["gates"] = serde_json::to_value(gates).unwrap_or_default();
    all["certificate"] = serde_json::to_value(certificate).unwrap_or_default();
    all["settings"] = serde_json::to_value(&state.settings.shown().resolved).unwrap_or_default();
    serde_json::json!({"version": loop_core::view::JSON_VERSION, "loops": [all]})
}

/// Until when its checkpoints are kept, for programs; null without checkpoints.
fn kept_fields(state: &RunState, kept: &KeptCheckpoints) -> serde_json::Value {
    if !state.has_checkpoints() {
        return serde_json::Value::Null;
    }
    let times = kept.times();
    let until = |ms: Option<u64>| ms.map(time::rfc3339);
    serde_json::json!({
        "newest": state.checkpoints.newest().filter(|newest| kept.has(newest)),
        "kept_until": until(times.and_then(|times| times.main)),
        "between_kept_until": until(times.and_then(|times| times.between)),
    })
}

/// The newest checkpoint and until when it is kept, or since when none is.
fn checkpoint_words(newest: &str, state: &RunState, id: &str, kept: &KeptCheckpoints) -> String {
    if kept.is_empty() {
        return kept.none_since();
    }
    if !kept.has(newest) {
        return format!("{newest} is {}; the others: loop checkpoint list {id}", kept.since(newest));
    }
    let until = kept.until(newest, state).map_or_else(String::new, |ms| format!(", kept until {}", local_time(ms)));
    format!("{newest}{until}; all of them: loop checkpoint list {id}")
}

/// The proof of its end, its checkpoints, and a rollback that was interrupted.
fn proof_and_checkpoints(state: &RunState, id: &str, kept: &KeptCheckpoints) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    if let Some(proof) = Certificate::of(state) {
        lines.push(("proof", proof.words()));
        lines.extend(proof.weaker.iter().map(|how| ("weaker", loop_core::text::clean(how.as_bytes()))));
        let more = state.over.iter().filter_map(|over| over.proof.as_deref());
        // What speaks against it stands with the proof already.
        lines.extend(more.flat_map(summary::proof_lines).filter(|(name, _)| *name != "against"));
        let verified = proof.verified && proof.findings.is_empty() && proof.accepted.is_none();
        match proof.checkpoint.as_deref().filter(|_| verified) {
            Some(judged) if kept.has(judged) => lines.push(("verify", format!("loop verify {id}"))),
            Some(judged) => {
                lines.push(("verify", format!("not possible any more: {judged} is {}", kept.since(judged))))
            }
            None => {}
        }
    }
    let is_done = Certificate::of(state).is_some();
    if let Some(judged) = state.checkpoints.verified_before().filter(|judged| !is_done && kept.has(judged)) {
        let again = format!("loop rollback {id} {judged} && loop resume {id}");
        let unable = state.over.as_ref().is_some_and(|over| over.outcome == Outcome::Unable);
        let proof = if unable { format!("; its proof stays: loop proof {id}") } else { String::new() };
        lines.push(("verified", format!("on {judged}, before it was resumed{proof}; back to it: {again}")));
    }
    if let Some(newest) = &state.checkpoints.newest() {
        lines.push(("checkpoint", checkpoint_words(newest, state, id, kept)));
    } else if !state.has_checkpoints() {
        lines.push(("checkpoint", "none (--checkpoint none)".to_owned()));
    }
    if state.checkpoints.rolling_back() {
        let to = state.requests.rollback.as_ref().map_or("", |target| target.to.as_str());
        let words = format!("to {to} is not done; finish it: loop rollback {id} {to}, or: loop rollback {id} undo");
        lines.push(("rollback", words));
    }
    lines
}

fn pretty(value: &impl serde::Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}

/// Loops that still matter.
pub(crate) struct LatelyLoops {
    pub(crate) shown: Vec<Listed>,
    /// How many more ended in the last hour.
    left_out: u64,
}

impl LatelyLoops {
    /// Those that are not over, and the newest that are over for less than an hour; a stopped one waits for a person.
    pub(crate) fn of(context: &Context) -> Result<Self, CommandError> {
        let hour_ago = clock::now().wall_ms.saturating_sub(LATELY_MS);
        let list = ShortList::of_newest(&context.home, hour_ago, ENDED_SHOWN_MAX);
        let shown = index::list_since(&context.home, list.since_ms).map_err(|error| runs_error(&error))?;
        Ok(Self { shown, left_out: list.left_out })
    }

    /// Their rows; the loops of a plan stand as one row, which is the plan's.
    pub(crate) fn rows(self, context: &Context) -> Vec<Row> {
        let plans = plan::views_since(context, clock::now().wall_ms.saturating_sub(LATELY_MS));
        plan::with_plans(rows(self.shown), &plans)
    }

    /// A line about those that are not shown; empty where all are.
    fn line_for_others(&self) -> String {
        if self.left_out == 0 {
            return String::new();
        }
        format!("and {} more that ended in the last hour: loop list\n", self.left_out)
    }
}

/// The rows of those that can be read; `loop doctor` names the others.
pub(crate) fn rows(listed: Vec<Listed>) -> Vec<Row> {
    listed.into_iter().filter_map(|listed| listed.row.ok()).collect()
}

/// One line for each loop.
pub(crate) fn rows_table(rows: &[Row]) -> String {
    table_of(rows, "PROMISE", |row| loop_core::text::escaped_head(&row.promise, 32))
}

/// The same with the task in place of the promise: what a person remembers of a loop.
pub(crate) fn task_table(rows: &[Row]) -> String {
    table_of(rows, "TASK", |row| cut_at_word(&loop_core::text::escaped_head(&row.goal, 120), 44))
}

fn table_of(rows: &[Row], about: &'static str, cell: fn(&Row) -> String) -> String {
    let cells: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a duration is small and never below zero"
            )]
            let elapsed = time::spaced((row.elapsed_seconds * 1000.0) as u64 / 1000 * 1000);
            vec![row.id.clone(), row.status_words(), row.progress(), cell(row), row.agent.clone(), elapsed]
        })
        .collect();
    let head = ["LOOP-ID", "STATUS", "ITER", about, "AGENT", "ELAPSED"];
    table_within(text_width(), &SHRINKING, &head, &cells)
}
