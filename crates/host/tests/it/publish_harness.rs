//! The files of the autonomous specification: `state.db` whole at every moment, and its logs through no link.
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use loop_core::ids::{OrderId, RunId};
use loop_core::run::{
    AgentChoice, AgentReport, Answer, Decision, Ended, Entry, Event, Fact, Input, Measurement, Order, Outcome, Output,
    Reason, ReasonCode, RunSpec, RunState, StoredText, StreamReport, WorkspaceRef, step,
};
use loop_core::settings::{Given, Layer, Origin, key, resolve};
use loop_core::time::At;
use loop_host::publish::{AlertsLog, HarnessLog, Publisher, StateDb};
use loop_host::run_folder::RunFolder;
use rusqlite::{Connection, OpenFlags};

fn spec(workspace: &Path) -> RunSpec {
    let given = [("agent", "custom"), ("agent_cmd", "true"), ("promise", "false"), ("max_iterations", "unlimited")];
    let given = given.map(|(name, value)| {
        let origin = Origin { layer: Layer::Flag, place: "here".to_owned() };
        Given::read(key(name).unwrap(), value, origin).unwrap()
    });
    RunSpec {
        id: RunId::parse("a1b2c3d").unwrap(),
        program: "0.1.0".to_owned(),
        task: None,
        goal: StoredText { head: "do it".to_owned(), file: None },
        inject: Vec::new(),
        workspace: WorkspaceRef { path: workspace.to_string_lossy().into_owned(), device: 1, inode: 2 },
        backend: "none".to_owned(),
        store: String::new(),
        described: None,
        litter: Vec::new(),
        guard: None,
        approval: None,
        settings: resolve(given.to_vec()),
        hidden: None,
        pid_namespace: None,
        unattended: false,
        plan: None,
        leash: None,
        scores: Vec::new(),
    }
}

/// A run whose facts are published as they are made.
struct Played {
    state: RunState,
    journal: Vec<Entry>,
    ms: u64,
}

impl Played {
    fn new() -> Self {
        Self { state: RunState::default(), journal: Vec::new(), ms: 0 }
    }

    fn happen(&mut self, event: Event, publisher: &mut dyn Publisher) {
        self.ms += 1000;
        let at = At { wall_ms: 1_700_000_000_000 + self.ms, boot_ms: self.ms, boot_id: 1 };
        for fact in step(&self.state, Input { at, event }) {
            self.state.apply(&fact);
            let entry = Entry { seq: self.journal.len() as u64 + 1, at, fact };
            assert_eq!(publisher.on_entry(&entry, &self.state), None);
            self.journal.push(entry);
        }
    }

    fn answer(&mut self, answer: Answer, publisher: &mut dyn Publisher) {
        let (order, _) = self.state.main_order().unwrap();
        self.happen(Event::Answered { order, answer }, publisher);
    }

    fn begin(&mut self, workspace: &Path, publisher: &mut dyn Publisher) {
        self.happen(Event::Created(Box::new(spec(workspace))), publisher);
        self.happen(Event::Opened, publisher);
        self.answer(Answer::Checkpoint(Default::default()), publisher);
        self.gate(publisher);
    }

    fn gate(&mut self, publisher: &mut dyn Publisher) {
        let output = Output { sha256: "same".to_owned(), ..Output::default() };
        let report = loop_core::run::GateReport {
            ended: Ended::Exit(1),
            duration_ms: 5,
            output,
            excerpt: String::new(),
            tests: None,
            did_not_build: false,
            programs: Vec::new(),
            used: None,
        };
        self.answer(Answer::GateEnded(report), publisher);
    }

    fn iteration(&mut self, number: u32, publisher: &mut dyn Publisher) {
        let report = AgentReport {
            ended: Ended::Exit(0),
            duration_ms: 2500,
            output: Output::default(),
            first_text: None,
            last_text: format!("{number} {}", "ä".repeat(3000)),
            left_running: 0,
            not_stored: None,
            stream: StreamReport { progress: vec![format!("part {number}")], ..StreamReport::default() },
        };
        self.answer(Answer::AgentEnded(Box::new(report)), publisher);
        self.answer(Answer::Checkpoint(Default::default()), publisher);
        let changes = Some(loop_core::run::Changes { files: 1, insertions: 3, deletions: 0 });
        let measured = Measurement { changes, names: vec![format!("src/{number}.rs")], ..Measurement::default() };
        self.answer(Answer::Measurement(measured), publisher);
        self.gate(publisher);
    }
}

fn run_folder(home: &Path) -> RunFolder {
    RunFolder { id: RunId::parse("a1b2c3d").unwrap(), path: home.join("a1b2c3d") }
}

fn open(path: &Path) -> rusqlite::Result<Connection> {
    Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)
}

fn number(db: &Connection, sql: &str) -> i64 {
    db.query_row(sql, [], |row| row.get(0)).unwrap()
}

fn text(db: &Connection, sql: &str) -> String {
    db.query_row(sql, [], |row| row.get(0)).unwrap()
}

/// Opens the database over and over; how many different states were seen.
fn read_on(path: &Path, over: &AtomicBool) -> usize {
    let (mut seen, mut last) = (0, -1);
    while !over.load(Ordering::Relaxed) {
        if !path.exists() {
            continue;
        }
        let db = open(path).unwrap();
        assert_eq!(text(&db, "PRAGMA integrity_check"), "ok");
        let rows = number(&db, "SELECT COUNT(*) FROM loop_iterations");
        let total = number(&db, "SELECT total_iterations FROM loop_state");
        assert!(total == rows || total == rows + 1, "{total} iterations, {rows} rows");
        assert!(rows >= last, "it went back from {last} to {rows}");
        seen += usize::from(rows > last);
        last = rows;
    }
    seen
}

#[test]
fn the_database_is_whole_at_every_moment_of_a_run() {
    // req: A-22
    let (workspace, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = workspace.path().join(".harness/state.db");
    let over = AtomicBool::new(false);
    let seen: Vec<usize> = std::thread::scope(|threads| {
        let readers: Vec<_> = (0..2).map(|_| threads.spawn(|| read_on(&path, &over))).collect();
        let mut db = StateDb::new(workspace.path(), &run_folder(home.path()));
        let mut played = Played::new();
        played.begin(workspace.path(), &mut db);
        (1..=200).for_each(|iteration| played.iteration(iteration, &mut db));
        over.store(true, Ordering::Relaxed);
        readers.into_iter().map(|reader| reader.join().unwrap()).collect()
    });
    assert!(seen.iter().all(|seen| *seen >= 10), "the readers read while it changed: {seen:?}");
    let folder = fs::read_dir(workspace.path().join(".harness")).unwrap();
    let mut names: Vec<_> = folder.map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, [".gitignore", "state.db"], "nothing is left over");
}

#[test]
fn the_database_has_the_documented_tables_and_rows() {
    // req: A-22
    let (workspace, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let run = run_folder(home.path());
    let mut db = StateDb::new(workspace.path(), &run);
    let mut played = Played::new();
    played.begin(workspace.path(), &mut db);
    fs::create_dir_all(run.attempt(1, 1)).unwrap();
    fs::write(run.attempt(1, 1).join("prompt.md"), "the prompt").unwrap();
    (1..=3).for_each(|iteration| played.iteration(iteration, &mut db));
    let db = open(&workspace.path().join(".harness/state.db")).unwrap();
    let columns = |table: &str| {
        let mut rows = db.prepare(&format!("SELECT name FROM pragma_table_info('{table}')")).unwrap();
        let names: Vec<String> = rows.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        names.join(" ")
    };
    assert!(columns("tasks").starts_with("id "));
    assert_eq!(
        columns("loop_state"),
        "task_id status current_iteration total_iterations start_time last_update current_cli current_model \
         progress_summary context_json termination_reason"
    );
    assert_eq!(
        columns("loop_iterations"),
        "id task_id iteration_number timestamp cli_used model_used prompt_hash output_snippet output_hash \
         progress_score progress_markers file_changes duration_seconds"
    );
    assert_eq!(
        columns("recovery_attempts"),
        "id task_id triggered_at_iteration strategy details outcome iterations_used"
    );
    assert_eq!(columns("env_events"), "id task_id timestamp event_type details incorporated_at_iteration");
    assert_eq!(text(&db, "SELECT status FROM loop_state WHERE task_id = 'a1b2c3d'"), "running");
    assert_eq!(number(&db, "SELECT current_iteration FROM loop_state"), 4);
    assert_eq!(number(&db, "SELECT length(output_snippet) FROM loop_iterations WHERE iteration_number = 2"), 1000);
    assert_eq!(text(&db, "SELECT progress_markers FROM loop_iterations WHERE iteration_number = 2"), "[\"part 2\"]");
    assert_eq!(text(&db, "SELECT file_changes FROM loop_iterations WHERE iteration_number = 3"), "[\"src/3.rs\"]");
    let prompt = text(&db, "SELECT prompt_hash FROM loop_iterations WHERE iteration_number = 1");
    assert!(prompt.len() == 64, "{prompt}");
    assert_eq!(
        number(&db, "SELECT COUNT(*) FROM loop_iterations WHERE prompt_hash IS NULL"),
        2,
        "where none is stored"
    );
    let summary = text(&db, "SELECT progress_summary FROM loop_state");
    let lines: Vec<&str> = summary.lines().collect();
    assert!(lines.len() == 3 && lines[2].starts_with("3 · custom · 1 file +3 -0 (src/3.rs)"), "{summary}");
    let seconds: f64 = db.query_row("SELECT duration_seconds FROM loop_iterations", [], |row| row.get(0)).unwrap();
    assert!((seconds - 2.5).abs() < 1e-9);
}

/// A fact as it stands in a journal.
fn fact(json: &str) -> Fact {
    serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {json}"))
}

/// An event around the run, as it stands in a journal.
fn around(json: &str) -> Fact {
    let event = serde_json::from_str(&format!("{{\"around\":{json}}}"));
    Fact::Happened(Input { at: At::default(), event: event.unwrap_or_else(|error| panic!("{error}: {json}")) })
}

#[test]
fn rungs_and_events_have_the_documented_words() {
    // req: A-22 partly: the words
    let (workspace, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut db = StateDb::new(workspace.path(), &run_folder(home.path()));
    let mut played = Played::new();
    played.begin(workspace.path(), &mut db);
    let place = r#""trigger":4,"cause":"low_score","number":1"#;
    let mut facts = Vec::new();
    let rungs = [
        (r#"{"mutate":"decompose"}"#, "failed", 5),
        (r#""model""#, "failed", 10),
        (r#"{"branches":3}"#, "success", 30),
    ];
    for (rung, outcome, iterations) in rungs {
        let rung = format!(r#"{place},"rung":{rung},"iterations":{iterations}"#);
        facts.push(fact(&format!(r#"{{"decided":{{"recovery":{{"began":{{{rung},"choice":{{}}}}}}}}}}"#)));
        facts.push(fact(&format!(r#"{{"decided":{{"recovery":{{"ended":{{{rung},"outcome":"{outcome}"}}}}}}}}"#)));
    }
    facts.push(around(r#"{"files":{"events":[{"type":"created","path":"b.txt","at_ms":1790000000000}]}}"#));
    facts
        .push(around(r#"{"environment":{"changes":[{"name":"HARNESS_MODE","old":"normal","new":"turbo"}],"by":"x"}}"#));
    facts.push(around(
        r#"{"inbox":{"file":{"name":"001-a.txt","inode":7,"modified_ns":1,"bytes":2,"sha256":"s"},"effect":"status"}}"#,
    ));
    for fact in facts {
        let entry = Entry { seq: 1, at: At::default(), fact };
        assert_eq!(db.on_entry(&entry, &played.state), None);
    }
    let read = open(&workspace.path().join(".harness/state.db")).unwrap();
    let all = |sql: &str| text(&read, sql);
    let rows = "SELECT group_concat(triggered_at_iteration || ' ' || strategy || ' ' || outcome || ' ' || iterations_used) \
                FROM recovery_attempts";
    assert_eq!(all(rows), "4 mutation failed 5,4 escalation failed 10,4 branch success 30");
    assert_eq!(all("SELECT group_concat(event_type) FROM env_events"), "file_change,env_var,instruction");
    let details = all("SELECT details FROM recovery_attempts WHERE id = 1");
    assert!(details.contains("\"rung\":\"mutate:decompose\""), "{details}");
}

#[test]
fn the_context_of_the_database_has_the_rule_that_chose_the_agent_of_each_iteration() {
    // req: A-32 partly: the row
    let (workspace, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut db = StateDb::new(workspace.path(), &run_folder(home.path()));
    let mut played = Played::new();
    played.begin(workspace.path(), &mut db);
    played.iteration(1, &mut db);
    let chosen = r#"{"decided":{"chosen":{"agent":"codex","model":"m","why":"fail_over","rule":"claude waits"}}}"#;
    let entry = Entry { seq: 1, at: At::default(), fact: fact(chosen) };
    played.state.apply(&entry.fact);
    assert_eq!(db.on_entry(&entry, &played.state), None);
    played.iteration(2, &mut db);
    let read = open(&workspace.path().join(".harness/state.db")).unwrap();
    let context = text(&read, "SELECT context_json FROM loop_state");
    let context: serde_json::Value = serde_json::from_str(&context).unwrap();
    let names = ["cli", "model", "rule"];
    let rows: Vec<_> = [0, 1].map(|at| names.map(|name| context["iterations"][at][name].as_str())).into();
    assert_eq!(rows, [[Some("custom"), None, None], [Some("codex"), Some("m"), Some("claude waits")]], "{context}");
}

#[test]
fn a_database_that_was_deleted_is_there_again_with_all_rows_and_one_that_was_changed_is_replaced() {
    // req: A-22
    let (workspace, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = workspace.path().join(".harness/state.db");
    let mut db = StateDb::new(workspace.path(), &run_folder(home.path()));
    let mut played = Played::new();
    played.begin(workspace.path(), &mut db);
    (1..=3).for_each(|iteration| played.iteration(iteration, &mut db));
    fs::remove_dir_all(workspace.path().join(".harness")).unwrap();
    played.iteration(4, &mut db);
    assert_eq!(number(&open(&path).unwrap(), "SELECT COUNT(*) FROM loop_iterations"), 4);
    // Another driver makes it from the journal; what lies there is not read.
    fs::write(&path, "no database at all").unwrap();
    let mut other = StateDb::new(workspace.path(), &run_folder(home.path()));
    let mut state = RunState::default();
    for entry in &played.journal {
        state.apply(&entry.fact);
        other.replay(entry, &state);
    }
    let reopened = Played { state, journal: played.journal.clone(), ms: played.ms };
    let mut reopened = reopened;
    reopened.iteration(5, &mut other);
    let read = open(&path).unwrap();
    assert_eq!(number(&read, "SELECT COUNT(*) FROM loop_iterations"), 5);
    assert_eq!(number(&read, "SELECT MAX(id) FROM loop_iterations"), 5, "the numbers are the same");
}

#[test]
fn no_file_is_written_through_a_link_and_it_is_said_once() {
    let (workspace, home, other) =
        (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::os::unix::fs::symlink(other.path(), workspace.path().join(".harness")).unwrap();
    let order = Order::RunAgent {
        choice: AgentChoice::default(),
        iteration: 1,
        attempt: 1,
        notes: Vec::new(),
        injected: None,
        session: None,
        status_only: false,
        reservation: None,
    };
    let mut state = RunState::default();
    let created = Fact::Happened(Input { at: At::default(), event: Event::Created(Box::new(spec(workspace.path()))) });
    state.apply(&created);
    let begins = Fact::Ordered { id: OrderId(1), order };
    let entry = |fact: Fact| Entry { seq: 1, at: At::default(), fact };
    let mut log = HarnessLog::new(workspace.path());
    let mut db = StateDb::new(workspace.path(), &run_folder(home.path()));
    let said = db.on_entry(&entry(created), &state).unwrap();
    assert!(said.contains(".harness is not a plain folder"), "{said}");
    state.apply(&begins);
    let said = log.on_entry(&entry(begins.clone()), &state).unwrap();
    assert!(said.contains(".harness is not a plain folder"), "{said}");
    assert_eq!(log.on_entry(&entry(begins), &state), None, "once");
    assert_eq!(fs::read_dir(other.path()).unwrap().count(), 0);
    // A file that is a link is replaced, or refused; what it leads to stays.
    fs::remove_file(workspace.path().join(".harness")).unwrap();
    fs::create_dir(workspace.path().join(".harness")).unwrap();
    fs::write(other.path().join("mine"), "mine").unwrap();
    for name in ["state.db", "harness.log", "alerts.log"] {
        std::os::unix::fs::symlink(other.path().join("mine"), workspace.path().join(".harness").join(name)).unwrap();
    }
    let mut played = Played::new();
    let mut db = StateDb::new(workspace.path(), &run_folder(home.path()));
    played.begin(workspace.path(), &mut db);
    let mut alerts = AlertsLog::new(workspace.path(), ".harness/alerts.log");
    let alert = Fact::Decided(Decision::Alert(Box::new(alert())));
    assert!(alerts.on_entry(&entry(alert), &state).is_some());
    assert_eq!(fs::read_to_string(other.path().join("mine")).unwrap(), "mine");
}

fn alert() -> loop_core::policy::alert::Alert {
    serde_json::from_str(
        r#"{"type":"no_progress","cause":"no_progress","since":1,"severity":"WARNING","message":"none","iteration":3}"#,
    )
    .unwrap()
}

#[test]
fn an_alert_that_a_killed_driver_could_not_write_is_written_by_the_next_one_once() {
    // req: A-14 partly: the log
    let workspace = tempfile::tempdir().unwrap();
    let path = workspace.path().join(".harness/alerts.log");
    let entry = Entry { seq: 1, at: At::default(), fact: Fact::Decided(Decision::Alert(Box::new(alert()))) };
    let reason = Reason { code: ReasonCode::ManualStop, text: String::new() };
    let end = Fact::Concluded { outcome: Outcome::Stopped, reason, proof: None };
    for _ in 0..2 {
        let mut log = AlertsLog::new(workspace.path(), ".harness/alerts.log");
        log.replay(&entry, &RunState::default());
        let end = Entry { seq: 2, at: At::default(), fact: end.clone() };
        assert_eq!(log.on_entry(&end, &RunState::default()), None);
        let written = fs::read_to_string(&path).unwrap();
        assert_eq!(written.lines().count(), 1, "{written}");
        let alert: serde_json::Value = serde_json::from_str(&written).unwrap();
        assert_eq!((&alert["type"], &alert["severity"]), (&"no_progress".into(), &"WARNING".into()));
    }
}
