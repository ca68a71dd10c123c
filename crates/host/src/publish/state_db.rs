//! The SQLite file of the autonomous specification, `.harness/state.db`: a view of the journal for other programs.
//!
//! The tables are built in memory and published as a whole file, which replaces the one before. So a reader sees a whole
//! database at any moment, holds no lock that the loop waits for, and what lies in the workspace is never read back
//! ([decision 0052](../../../../docs/decisions/0052-alerts-and-files-of-the-dialect.md)).
use std::io;
use std::path::Path;

use loop_core::prompt::progress_summary;
use loop_core::run::{
    Answer, AroundEvent, Decision, Entry, Event, Fact, IterationJudgement, Order, RecoveryDecision, Request, RunState,
    RungOutcome, Status,
};
use loop_core::text;
use loop_core::time;
use loop_core::view::{Liveness, Row, progress_score, rung_details, strategy};
use rusqlite::{Connection, MAIN_DB, named_params, params};
use serde_json::json;
use sha2::{Digest, Sha256};

use super::Publisher;
use super::log::HARNESS;
use super::output_folder::OutputFolder;
use crate::clock;
use crate::prompt_file;
use crate::run_folder::RunFolder;

/// The name of the file.
const NAME: &str = "state.db";
/// So many iterations, and events of each table, are in the file: the newest.
const ROWS_MAX: i64 = 1000;
/// How much of an agent's words is in a row.
const SNIPPET_LETTERS_MAX: usize = 1000;
/// A longer prompt has no hash.
const PROMPT_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Of so many iterations the context has the progress.
const CONTEXT_MAX: usize = 5;

/// The tables of the specification; `tasks` is presumed there, and made here.
const SCHEMA: &str = "
CREATE TABLE tasks (
    id TEXT PRIMARY KEY,
    title TEXT,
    goal TEXT,
    workspace TEXT,
    created_at TEXT
);
CREATE TABLE loop_state (
    task_id TEXT PRIMARY KEY,
    status TEXT NOT NULL,                    -- running, paused, completed, failed
    current_iteration INTEGER DEFAULT 0,
    total_iterations INTEGER DEFAULT 0,
    start_time TEXT,
    last_update TEXT,
    current_cli TEXT,
    current_model TEXT,
    progress_summary TEXT,
    context_json TEXT,                       -- Serialized LoopContext
    termination_reason TEXT,
    FOREIGN KEY (task_id) REFERENCES tasks(id)
);
CREATE TABLE loop_iterations (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    task_id TEXT NOT NULL,
    iteration_number INTEGER NOT NULL,
    timestamp TEXT NOT NULL,
    cli_used TEXT,
    model_used TEXT,
    prompt_hash TEXT,                        -- For deduplication
    output_snippet TEXT,                     -- First 1000 chars
    output_hash TEXT,                        -- For loop detection
    progress_score REAL,
    progress_markers TEXT,                   -- JSON array
    file_changes TEXT,                       -- JSON array
    duration_seconds REAL,
    FOREIGN KEY (task_id) REFERENCES tasks(id)
);
CREATE TABLE recovery_attempts (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    task_id TEXT NOT NULL,
    triggered_at_iteration INTEGER,
    strategy TEXT,                           -- mutation, escalation, branch
    details TEXT,                            -- JSON with strategy-specific data
    outcome TEXT,                            -- success, failed
    iterations_used INTEGER,
    FOREIGN KEY (task_id) REFERENCES tasks(id)
);
CREATE TABLE env_events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    task_id TEXT NOT NULL,
    timestamp TEXT NOT NULL,
    event_type TEXT,                         -- file_change, instruction, env_var
    details TEXT,                            -- JSON
    incorporated_at_iteration INTEGER,
    FOREIGN KEY (task_id) REFERENCES tasks(id)
);
";

/// Publishes the file as the journal grows.
#[derive(Debug)]
pub struct StateDb {
    folder: OutputFolder,
    run: RunFolder,
    db: rusqlite::Result<Connection>,
    task: String,
    /// The paths that the newest iteration changed.
    changed: Vec<String>,
    /// The newest iterations as the context has them: progress, who worked, and the rule that chose them.
    context: Vec<serde_json::Value>,
    /// What is known of the iterations so far.
    summary: Option<String>,
    shown: Option<LoopState>,
    /// A row is new since the file was written.
    dirty: bool,
    /// It was reported that it cannot be written: once is enough.
    complained: bool,
}

/// The row of `loop_state`, without its time.
#[derive(Debug, Clone, PartialEq, Eq)]
struct LoopState {
    status: &'static str,
    current: u32,
    total: u32,
    start: String,
    cli: String,
    model: Option<String>,
    summary: Option<String>,
    context: String,
    reason: Option<String>,
}

impl StateDb {
    /// For a workspace and the run in it.
    #[must_use]
    pub fn new(workspace: &Path, run: &RunFolder) -> Self {
        let db = Connection::open_in_memory().and_then(|db| db.execute_batch(SCHEMA).map(|()| db));
        Self {
            folder: OutputFolder::new(workspace, HARNESS),
            run: run.clone(),
            db,
            task: run.id.to_string(),
            changed: Vec::new(),
            context: Vec::new(),
            summary: None,
            shown: None,
            dirty: false,
            complained: false,
        }
    }

    fn take(&mut self, entry: &Entry, state: &RunState) -> rusqlite::Result<()> {
        match &entry.fact {
            Fact::Happened(input) => self.happened(&input.event, entry)?,
            Fact::Ordered { order: Order::RunAgent { iteration, .. }, .. } => self.incorporated(*iteration)?,
            Fact::Decided(Decision::Round(judgement)) => {
                if let Some(iteration) = &judgement.iteration {
                    self.iteration(iteration, entry, state)?;
                    self.summarize(state);
                }
            }
            Fact::Decided(Decision::Text(_)) => self.summarize(state),
            Fact::Decided(Decision::Recovery(decision)) => self.recovery(decision)?,
            Fact::Ordered { .. } | Fact::OrderCancelled { .. } | Fact::Decided(_) | Fact::Concluded { .. } => {}
        }
        self.state(entry, state)
    }

    fn db(&self) -> rusqlite::Result<&Connection> {
        self.db.as_ref().map_err(|_| rusqlite::Error::InvalidQuery)
    }

    fn happened(&mut self, event: &Event, entry: &Entry) -> rusqlite::Result<()> {
        match event {
            Event::Created(spec) => {
                let goal = text::clean(spec.goal.head.as_bytes());
                let title = text::one_line(spec.title(), 200);
                let at = time::rfc3339(entry.at.wall_ms);
                let sql = "INSERT INTO tasks (id, title, goal, workspace, created_at) VALUES (?1, ?2, ?3, ?4, ?5)";
                self.db()?.execute(sql, params![self.task, title, goal, spec.workspace.path, at])?;
                self.dirty = true;
            }
            Event::Answered { answer: Answer::Measurement(measured), .. } => self.changed = measured.names.clone(),
            Event::Answered { answer: Answer::Checkpoint(taken), .. } => {
                if let Some(changes) = taken.changes {
                    let details = json!({"changes": changes, "names": taken.names});
                    self.event(entry, "file_change", &details)?;
                }
            }
            Event::Requested { request: Request::Inject(injected), by } => {
                let details = json!({"number": injected.number, "bytes": injected.bytes, "by": by});
                self.event(entry, "instruction", &details)?;
            }
            Event::Around(around) => {
                let kind = match around.as_ref() {
                    AroundEvent::Inbox { .. } => "instruction",
                    AroundEvent::Environment { .. } => "env_var",
                    AroundEvent::Files(_) => "file_change",
                };
                self.event(entry, kind, &json!(around))?;
            }
            Event::Opened
            | Event::Reopened { .. }
            | Event::OpenedForRequest { .. }
            | Event::Answered { .. }
            | Event::Requested { .. }
            | Event::Noticed(_)
            | Event::DeadlinePassed => {}
        }
        Ok(())
    }

    fn event(&mut self, entry: &Entry, kind: &str, details: &serde_json::Value) -> rusqlite::Result<()> {
        let sql = "INSERT INTO env_events (task_id, timestamp, event_type, details) VALUES (?1, ?2, ?3, ?4)";
        let at = time::rfc3339(entry.at.wall_ms);
        self.db()?.execute(sql, params![self.task, at, kind, details.to_string()])?;
        self.bound("env_events")
    }

    /// What was not given to the agent yet is, by now.
    fn incorporated(&mut self, iteration: u32) -> rusqlite::Result<()> {
        let sql = "UPDATE env_events SET incorporated_at_iteration = ?1 WHERE incorporated_at_iteration IS NULL";
        self.db()?.execute(sql, params![iteration])?;
        Ok(())
    }

    fn iteration(&mut self, judged: &IterationJudgement, entry: &Entry, state: &RunState) -> rusqlite::Result<()> {
        let report = state.agent.report();
        let stream = report.map(|report| &report.stream);
        let score = progress_score(judged);
        let markers = stream.map(|stream| stream.progress.clone()).unwrap_or_default();
        let model = stream.and_then(|stream| stream.model.as_deref()).or(state.model_chosen());
        self.context.push(json!({
            "iteration": state.iteration,
            "progress": score,
            "cli": state.agent_name(),
            "model": model,
            "rule": state.agent.rule(),
        }));
        let surplus = self.context.len().saturating_sub(CONTEXT_MAX);
        self.context.drain(..surplus);
        let words = report.map(|report| text::clean(report.last_text.as_bytes()));
        let snippet = words.map(|words| words.chars().take(SNIPPET_LETTERS_MAX).collect::<String>());
        let output = stream.and_then(|stream| stream.words.as_ref()).map(|words| words.sha256.clone());
        let sql = "INSERT INTO loop_iterations (task_id, iteration_number, timestamp, cli_used, model_used, \
                   prompt_hash, output_snippet, output_hash, progress_score, progress_markers, file_changes, \
                   duration_seconds) VALUES (:task, :number, :at, :cli, :model, :prompt, :snippet, :output, :score, \
                   :markers, :changed, :duration)";
        let (markers, changed) = (json!(markers).to_string(), json!(self.changed).to_string());
        self.db()?.execute(
            sql,
            named_params! {
                ":task": self.task,
                ":number": state.iteration,
                ":at": time::rfc3339(entry.at.wall_ms),
                ":cli": state.agent_name(),
                ":model": model,
                ":prompt": self.prompt_hash(state),
                ":snippet": snippet,
                ":output": output,
                ":score": score,
                ":markers": markers,
                ":changed": changed,
                ":duration": report.map(|report| seconds(report.duration_ms)),
            },
        )?;
        self.changed.clear();
        self.bound("loop_iterations")
    }

    /// It changes with an iteration, and with a text that an agent wrote.
    fn summarize(&mut self, state: &RunState) {
        let tokens_max = state.settings.shown().values.context.max_summary_tokens.unwrap_or(u32::MAX);
        let written = prompt_file::summary(&self.run, state);
        self.summary = progress_summary(&state.prompt.memory, written.as_deref(), tokens_max);
    }

    /// A rung has one row: when it begins without an outcome, which is there when it has ended.
    fn recovery(&mut self, decision: &RecoveryDecision) -> rusqlite::Result<()> {
        match decision {
            RecoveryDecision::Began(began) => {
                let details = json!({"rung": began.rung.name(), "change": rung_details(began), "cause": began.cause});
                let sql = "INSERT INTO recovery_attempts (task_id, triggered_at_iteration, strategy, details) \
                           VALUES (?1, ?2, ?3, ?4)";
                let strategy = strategy(began.rung);
                self.db()?.execute(sql, params![self.task, began.trigger, strategy, details.to_string()])?;
                self.bound("recovery_attempts")
            }
            RecoveryDecision::Ended(ended) => {
                let outcome = match ended.outcome {
                    RungOutcome::Success | RungOutcome::Resumed => "success",
                    RungOutcome::Failed => "failed",
                    // It changed nothing and took no iteration.
                    RungOutcome::Skipped => return Ok(()),
                };
                let sql = "UPDATE recovery_attempts SET outcome = ?1, iterations_used = ?2 \
                           WHERE id = (SELECT MAX(id) FROM recovery_attempts)";
                self.db()?.execute(sql, params![outcome, ended.iterations])?;
                self.dirty = true;
                Ok(())
            }
            RecoveryDecision::CutOff(_) | RecoveryDecision::Takes(_) | RecoveryDecision::UsedUp { .. } => Ok(()),
        }
    }

    /// The hash of the prompt that the newest attempt got, while it is stored.
    fn prompt_hash(&self, state: &RunState) -> Option<String> {
        let path = self.run.attempt(state.iteration, state.attempt).join("prompt.md");
        let length = path.metadata().ok()?.len();
        let text = std::fs::read(path).ok().filter(|_| length <= PROMPT_BYTES_MAX)?;
        Some(Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Keeps the newest rows of a table.
    fn bound(&mut self, table: &'static str) -> rusqlite::Result<()> {
        let sql = format!("DELETE FROM {table} WHERE id <= (SELECT MAX(id) FROM {table}) - ?1");
        self.db()?.execute(&sql, params![ROWS_MAX])?;
        self.dirty = true;
        Ok(())
    }

    fn state(&mut self, entry: &Entry, state: &RunState) -> rusqlite::Result<()> {
        let Some(row) = Row::of(state, Liveness::Driven, clock::now()) else { return Ok(()) };
        let context = json!({
            "total_iterations": state.iterations_done(),
            "iterations": self.context,
            "consecutive_no_progress": state.progress.streaks().no_progress,
            "current_cli": row.agent,
            "current_model": row.model,
            "current_rule": state.agent.rule(),
        });
        let now = LoopState {
            status: status_word(row.status),
            current: state.iteration,
            total: state.iterations_done(),
            start: row.started_at,
            cli: row.agent,
            model: row.model,
            summary: self.summary.clone(),
            context: context.to_string(),
            reason: row.reason,
        };
        if self.shown.as_ref() == Some(&now) {
            return Ok(());
        }
        let sql = "INSERT OR REPLACE INTO loop_state (task_id, status, current_iteration, total_iterations, \
                   start_time, last_update, current_cli, current_model, progress_summary, context_json, \
                   termination_reason) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
        let at = time::rfc3339(entry.at.wall_ms);
        self.db()?.execute(
            sql,
            params![
                self.task,
                now.status,
                now.current,
                now.total,
                now.start,
                at,
                now.cli,
                now.model,
                now.summary,
                now.context,
                now.reason
            ],
        )?;
        self.shown = Some(now);
        self.dirty = true;
        Ok(())
    }

    /// Writes the file, where a row is new.
    fn publish(&mut self) -> io::Result<()> {
        if !std::mem::take(&mut self.dirty) {
            return Ok(());
        }
        let db = self.db.as_mut().map_err(|error| io::Error::other(error.to_string()))?;
        let bytes = db.serialize(MAIN_DB).map_err(io::Error::other)?;
        self.folder.put(NAME, &bytes)
    }
}

fn seconds(ms: u64) -> f64 {
    std::time::Duration::from_millis(ms).as_secs_f64()
}

/// The specification has four words.
fn status_word(status: Status) -> &'static str {
    match status {
        Status::Running | Status::Waiting => "running",
        Status::Paused => "paused",
        Status::Completed => "completed",
        Status::Failed | Status::Cancelled | Status::Crashed => "failed",
    }
}

impl Publisher for StateDb {
    fn replay(&mut self, entry: &Entry, state: &RunState) {
        // What cannot be taken in now cannot be published later, and that is reported.
        self.take(entry, state).ok();
    }

    fn on_entry(&mut self, entry: &Entry, state: &RunState) -> Option<String> {
        let taken = self.take(entry, state).map_err(io::Error::other);
        // The decisions of a step stand between its event and its orders: the file is written once for them.
        let whole = !matches!(entry.fact, Fact::Decided(_));
        let published = if whole { self.publish() } else { Ok(()) };
        let error = taken.and(published).err()?;
        let first = !std::mem::replace(&mut self.complained, true);
        first.then(|| format!("{HARNESS}/{NAME} cannot be written, and the loop continues without it: {error}"))
    }
}
