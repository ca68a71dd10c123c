//! `loop acp-bridge` between the harness and agents that speak the Agent Client Protocol, well or badly.
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use loop_core::agent::acp::reader;
use loop_core::agent::{Begin, End, Failure, Reading, Stream, Terminal};
use loop_core::run::Ended;
use loop_testkit::{Being, acp_agent, signal, wait_until};
use tempfile::TempDir;

/// What the harness grants a program that is asked to end.
const GRACE: Duration = Duration::from_secs(5);

fn bridge(folder: &Path, permissions: &str, scene: &str) -> Child {
    std::fs::write(folder.join("prompt.md"), "do it").unwrap();
    std::fs::write(folder.join("run_tests.sh"), "touch ran").unwrap();
    let program = env!("CARGO_BIN_EXE_loop");
    let mut command = Command::new(program);
    command.args(["acp-bridge", "--permissions", permissions, "--prompt-file", "prompt.md", "--"]);
    command.arg(acp_agent(program)).arg(scene).current_dir(folder);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn read(child: &mut Child, mut transcript: String) -> (Reading, String) {
    child.stdout.take().unwrap().read_to_string(&mut transcript).unwrap();
    finish(child, transcript)
}

fn finish(child: &mut Child, transcript: String) -> (Reading, String) {
    let code = child.wait().unwrap().code().unwrap();
    let mut stream = Stream::new(reader(Begin::default()));
    stream.push(transcript.as_bytes());
    let ended = Ended::Exit(code);
    let end = End { ended: &ended, stderr: b"", asked: "", now_ms: 0, utc_offset_s: 0, continued: false };
    (stream.end(&end), transcript)
}

fn whole(permissions: &str, scene: &str) -> (Reading, TempDir, String) {
    let folder = TempDir::new().unwrap();
    let mut child = bridge(folder.path(), permissions, scene);
    let (reading, transcript) = read(&mut child, String::new());
    (reading, folder, transcript)
}

#[test]
fn a_command_is_run_in_work_and_refused_in_edit() {
    let (reading, folder, _) = whole("work", "asks");
    assert_eq!((reading.terminal, reading.failure, reading.denials.count), (Terminal::Success, None, 0));
    assert!(folder.path().join("ran").exists());
    assert_eq!(reading.text, " It is done.");
    let (reading, folder, _) = whole("edit", "asks");
    assert_eq!((reading.denials.count, reading.denials.first.as_deref()), (1, Some("sh run_tests.sh")));
    assert!(!folder.path().join("ran").exists());
}

#[test]
fn what_an_agent_babbles_between_its_messages_is_counted_and_passed_over() {
    let (reading, _folder, transcript) = whole("work", "babbles");
    assert_eq!((reading.terminal, reading.failure), (Terminal::Success, None));
    assert_eq!(reading.malformed_lines, 4, "{transcript}");
    assert_eq!(reading.text, "I begin. It is done.");
}

#[test]
fn a_line_over_the_cap_is_skipped_and_an_answer_over_it_is_malformed() {
    let (reading, _folder, _) = whole("work", "huge");
    assert_eq!((reading.terminal, reading.malformed_lines), (Terminal::Success, 1));
    let (reading, _folder, _) = whole("work", "huge-answer");
    assert_eq!((reading.terminal, reading.failure), (Terminal::Malformed, Some(Failure::Crash)));
}

#[test]
fn an_agent_that_dies_midway_is_a_crash_and_one_that_stays_is_ended() {
    let (reading, _folder, transcript) = whole("work", "dies");
    assert_eq!((reading.terminal, reading.failure), (Terminal::Error, Some(Failure::Crash)));
    assert!(transcript.trim_end().ends_with("\"detail\":\"the agent ended: exit status: 3\"}"), "{transcript}");
    assert_eq!(reading.malformed_lines, 1, "what it could not say to the end is kept: {transcript}");
    let (reading, _folder, _) = whole("work", "stays");
    assert_eq!((reading.terminal, reading.failure), (Terminal::Success, None));
}

#[test]
fn an_agent_that_is_not_there_is_told() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("prompt.md"), "do it").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_loop"));
    command.args(["acp-bridge", "--prompt-file", "prompt.md", "--", "no-such-agent"]).current_dir(folder.path());
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let (reading, transcript) = read(&mut child, String::new());
    assert_eq!((reading.terminal, reading.failure), (Terminal::Error, Some(Failure::Crash)));
    assert!(transcript.contains("not_started"), "{transcript}");
}

/// Starts a scene that sleeps in a child, asks the bridge to end, and gives the reading, the child and how long it took.
fn cancelled(scene: &str) -> (Reading, Being, Duration) {
    let folder = TempDir::new().unwrap();
    let mut child = bridge(folder.path(), "work", scene);
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut transcript = String::new();
    let sleeper = loop {
        let from = transcript.len();
        assert!(lines.read_line(&mut transcript).unwrap() > 0, "{transcript}");
        if let Some((_, after)) = transcript[from..].split_once("sleep in ") {
            let pid = after.split('"').next().unwrap().parse().unwrap();
            break Being::at(pid).unwrap();
        }
    };
    let asked = Instant::now();
    signal("TERM", &[Being::at(i32::try_from(child.id()).unwrap()).unwrap()]);
    lines.read_to_string(&mut transcript).unwrap();
    let (reading, _) = finish(&mut child, transcript);
    (reading, sleeper, asked.elapsed())
}

// req: C-24 partly: an agent that speaks the Agent Client Protocol is asked to stop in its own language first
#[test]
fn a_cancel_lets_the_agent_end_its_tool_and_one_that_is_deaf_is_ended_within_the_grace() {
    let (reading, sleeper, took) = cancelled("sleeps");
    assert_eq!(reading.error.as_deref(), Some("it stopped: cancelled"));
    wait_until("the tool is gone", || !sleeper.is_alive());
    assert!(took < GRACE, "{took:?}");
    let (reading, sleeper, took) = cancelled("deaf");
    assert_eq!(reading.terminal, Terminal::Error);
    wait_until("the tool is gone", || !sleeper.is_alive());
    assert!(took < GRACE, "{took:?}");
}
