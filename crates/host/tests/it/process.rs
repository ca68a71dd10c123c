//! Tasks: real processes from start to the death of all that they started.
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use loop_core::agent::Secrets;
use loop_core::run::{Answer, Ended};
use loop_host::process::{Containment, Task, TaskEnd, TaskSpec, become_reaper, identity, marked_runs, sweep};

/// Orphans of a killed keeper come to the process of the test: under a runner that has all tests in one
/// process these take turns.
fn alone() -> std::sync::MutexGuard<'static, ()> {
    static ONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    ONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Something to start processes in, and one that was started.
struct Begun {
    task: Task,
    containment: Containment,
}

fn contained(run: &str, mode: &str) -> Containment {
    become_reaper().unwrap();
    Containment::with_program(&loop_testkit::built("loop"), run, mode, None).unwrap()
}

fn begin_in(mut containment: Containment, command: &str, folder: &Path) -> Begun {
    let argv = ["sh".to_owned(), "-c".to_owned(), command.to_owned()];
    let spec = TaskSpec {
        lane: "agent",
        argv: &argv,
        clear: false,
        env: Vec::new(),
        folder: folder.to_owned(),
        same: None,
        stdin: None,
        output: folder.join("out"),
        secrets: Arc::default(),
    };
    let task = Task::start(spec, &mut containment).unwrap();
    Begun { task, containment }
}

fn begin(run: &str, command: &str, folder: &Path) -> Begun {
    begin_in(contained(run, "plain"), command, folder)
}

/// Goes on with a task until it has ended; cancels it once its output holds this word.
fn end(begun: Begun, cancel_at: Option<&str>) -> TaskEnd {
    end_keeping(begun, cancel_at).0
}

fn end_keeping(begun: Begun, cancel_at: Option<&str>) -> (TaskEnd, Containment) {
    let Begun { mut task, mut containment } = begun;
    let began = Instant::now();
    let mut heard = Vec::new();
    loop {
        if let Some(end) = task.go_on(&mut containment, &mut |_, bytes| heard.extend_from_slice(bytes)) {
            return (end, containment);
        }
        if cancel_at.is_some_and(|word| String::from_utf8_lossy(&heard).contains(word)) {
            task.cancel();
        }
        assert!(began.elapsed() < Duration::from_secs(30), "it hangs");
        std::thread::yield_now();
    }
}

#[test]
fn an_end_is_told_with_its_code_its_signal_or_as_ours() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(end(begin("p1", "exit 7", folder.path()), None).ended, Ended::Exit(7));
    assert_eq!(end(begin("p1", "kill -SEGV $$", folder.path()), None).ended, Ended::Signal(11));
    let cancelled = end(begin("p1", "echo ready; sleep 300", folder.path()), Some("ready"));
    assert_eq!((cancelled.ended, cancelled.lost.len()), (Ended::ByUs, 0));
}

#[test]
fn output_is_read_to_the_end_and_hashed() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let ended = end(begin("p2", "printf out; printf err >&2; printf more", folder.path()), None);
    assert_eq!((ended.output.stdout_bytes, ended.output.stderr_bytes), (7, 3));
    assert_eq!(std::fs::read_to_string(folder.path().join("out/stdout/head")).unwrap(), "outmore");
    assert_eq!((ended.stdout_end.as_slice(), ended.stderr_end.as_slice()), (&b"outmore"[..], &b"err"[..]));
}

#[test]
fn a_process_that_ignores_the_asking_is_made_to_end() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let began = Instant::now();
    let ended = end(begin("p3", "trap '' TERM; echo ready; while :; do sleep 0.1; done", folder.path()), Some("ready"));
    assert_eq!(ended.ended, Ended::ByUs);
    assert!(began.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_grandchild_that_holds_the_pipe_does_not_hold_the_end() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let ended = end(begin("p4", "setsid sh -c 'trap \"\" TERM; sleep 300' & echo done", folder.path()), None);
    assert_eq!((ended.ended, ended.lost.len()), (Ended::Exit(0), 0));
    assert!(ended.left_running >= 1);
}

#[test]
fn a_daemon_that_forks_twice_is_dead_when_its_end_is_told() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    // The command ends while its child is about to fork and end too: who looks for them in a list can miss
    // them. Whoever got away carries the mark.
    let command = "((sleep 300 &) &) >/dev/null 2>&1 & exit 0";
    let mut containment = contained("p5", "plain");
    for round in 0..300 {
        let (ended, kept) = end_keeping(begin_in(containment, command, folder.path()), None);
        containment = kept;
        assert_eq!((ended.ended, ended.lost.len()), (Ended::Exit(0), 0));
        assert_eq!(carriers("p5"), 0, "round {round}");
    }
}

/// How many processes carry the mark of a run, those that keep it left out.
fn carriers(run: &str) -> usize {
    let (mark, keeper) = (format!("LOOP_MARK={run}"), loop_testkit::built("loop"));
    let carries = |process: &Path| {
        let environment = std::fs::read(process.join("environ")).unwrap_or_default();
        let keeps = std::fs::read_link(process.join("exe")).is_ok_and(|program| program == keeper);
        !keeps && environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
    };
    std::fs::read_dir("/proc").unwrap().flatten().filter(|entry| carries(&entry.path())).count()
}

#[test]
fn what_a_killed_harness_left_is_swept_by_its_mark_and_others_are_not_touched() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let register = folder.path().join("register");
    let mut ours = begin("swept7", "(setsid sleep 300 &); sleep 300", folder.path());
    let mut other = begin("other77", "sleep 300", folder.path());
    let known = ours.task.process();
    let Answer::Cleaned { killed } = sweep("swept7", &register, &[known]) else { panic!("not cleaned") };
    assert!(killed >= 2, "{killed}");
    assert!(other.task.go_on(&mut other.containment, &mut |_, _| {}).is_none(), "the other one lives");
    assert!(!marked_runs().contains(&"swept7".to_owned()));
    loop_testkit::wait_until("its end is told", || ours.task.go_on(&mut ours.containment, &mut |_, _| {}).is_some());
    assert!(matches!(sweep("swept7", &register, &[]), Answer::Cleaned { killed: 0 }));
    drop(end(other, Some("")));
}

#[test]
fn a_process_is_known_by_its_start_and_not_by_its_number_alone() {
    let me = i32::try_from(std::process::id()).unwrap();
    let known = identity(me).unwrap();
    let mut look_alike = known;
    look_alike.start_ticks += 1;
    // Would it go by the number, this test would kill itself.
    assert!(matches!(sweep("nobody7", Path::new("/nowhere"), &[look_alike]), Answer::Cleaned { killed: 0 }));
    assert_eq!(identity(me), Some(known));
    assert_eq!(identity(-5), None);
}

#[test]
fn a_command_gets_exactly_the_variables_that_it_is_given_and_the_mark_of_its_run() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    for clear in [true, false] {
        let mut containment = contained("p-env", "plain");
        let argv = ["env".to_owned()];
        let spec = TaskSpec {
            lane: "agent",
            argv: &argv,
            clear,
            env: vec![("ONLY".into(), "this one".into())],
            folder: folder.path().to_owned(),
            same: None,
            stdin: None,
            output: folder.path().join(format!("out-{clear}")),
            secrets: Arc::default(),
        };
        let task = Task::start(spec, &mut containment).unwrap();
        let ended = end(Begun { task, containment }, None);
        assert_eq!(ended.ended, Ended::Exit(0));
        let text = std::fs::read_to_string(folder.path().join(format!("out-{clear}/stdout/head"))).unwrap();
        let mut lines: Vec<&str> = text.lines().collect();
        lines.sort_unstable();
        if clear {
            assert_eq!(lines, ["LOOP_MARK=p-env", "ONLY=this one"]);
        } else {
            assert!(lines.contains(&"ONLY=this one") && lines.iter().any(|line| line.starts_with("PATH=")), "{text}");
        }
    }
}

#[test]
fn a_secret_is_in_no_file_and_on_no_screen_however_it_was_written() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let (secrets, _) = Secrets::new([("MY_KEY".to_owned(), b"hunter2-hunter3".to_vec())]);
    let mut containment = contained("p-secret", "plain");
    // In pieces, on both streams, and cut off at the very end.
    let command =
        "printf 'a hunter2-'; printf 'hunter2-hunter3 b\\n'; printf hunter2-hunter3 >&2; printf 'hunter2-hunt'";
    let argv = ["sh".to_owned(), "-c".to_owned(), command.to_owned()];
    let spec = TaskSpec {
        lane: "agent",
        argv: &argv,
        clear: false,
        env: Vec::new(),
        folder: folder.path().to_owned(),
        same: None,
        stdin: None,
        output: folder.path().join("out"),
        secrets: Arc::new(secrets),
    };
    let mut task = Task::start(spec, &mut containment).unwrap();
    let mut heard = Vec::new();
    let ended = loop {
        if let Some(ended) = task.go_on(&mut containment, &mut |_, bytes| heard.extend_from_slice(bytes)) {
            break ended;
        }
        std::thread::yield_now();
    };
    let text = |name: &str| std::fs::read_to_string(folder.path().join("out").join(name).join("head")).unwrap();
    assert_eq!(text("stdout"), "a hunter2-[redacted MY_KEY] b\nhunter2-hunt");
    assert_eq!(text("stderr"), "[redacted MY_KEY]");
    assert_eq!(ended.stderr_end, b"[redacted MY_KEY]");
    assert_eq!(ended.output.stdout_bytes, text("stdout").len() as u64);
    let heard = String::from_utf8(heard).unwrap();
    assert!(heard.contains("[redacted MY_KEY]") && !heard.contains("hunter3"), "{heard}");
}
