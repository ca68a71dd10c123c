//! What reaches a terminal, and how loud it is.
use crate::{start, user};

#[test]
fn quiet_says_one_line_verbose_shows_what_was_written_and_colour_is_only_for_terminals() {
    let user = user();
    let quiet = user.run(&start("echo hello from ''the agent", "false", &["-n", "1", "--quiet"])).expect_code(1);
    assert_eq!((quiet.out().lines().count(), quiet.err().as_str()), (1, ""), "{}", quiet.text());
    let normal = user.run(&start("echo hello from ''the agent", "false", &["-n", "1"])).expect_code(1);
    assert!(!normal.err().contains("hello from the agent"), "{}", normal.text());
    let verbose =
        user.run(&start("echo hello from ''the agent", "echo and the gate; false", &["-n", "1", "-v"])).expect_code(1);
    assert!(
        verbose.err().contains("hello from the agent") && verbose.err().contains("and the gate"),
        "{}",
        verbose.text()
    );
    for ran in [quiet, normal, verbose] {
        assert!(!ran.stdout.contains(&0x1b) && !ran.stderr.contains(&0x1b));
    }
}

#[test]
fn no_control_byte_of_an_agent_or_a_gate_reaches_the_caller_raw() {
    let user = user();
    let evil = "printf '\\033]52;c;aGk=\\007\\033[2J\\033[31mx\\233A\\001\\r\\n'; printf '\\033[1mbold\\007' >&2";
    let ran = user.run(&start(&format!("{evil}; exit 1"), &format!("{evil}; exit 127"), &["-v", "-n", "5"]));
    let id = user.id();
    let seen = [ran, user.run(&["history", &id, "-v"]), user.run(&["status", &id]), user.run(&["list", "--json"])];
    for ran in seen {
        for bytes in [&ran.stdout, &ran.stderr] {
            let bad = bytes.iter().find(|byte| (**byte < 0x20 && !b"\n\t".contains(byte)) || **byte == 0x7f);
            assert_eq!(bad, None, "{}", ran.text());
        }
    }
}

#[test]
fn on_a_terminal_there_is_a_live_line_with_colour_unless_no_color_is_set() {
    for (variables, coloured) in [("", true), ("NO_COLOR=1", false)] {
        let user = user();
        let program = env!("CARGO_BIN_EXE_loop");
        let line =
            format!("{variables} {program} start 'do it' -p 'sleep 1.3; test -e x' --agent-cmd 'sleep 1.3; touch x'");
        let (ran, screen) = user.on_a_terminal(&line);
        assert_eq!(ran.code, Some(0), "{}", ran.text());
        assert!(screen.contains("1/10 · custom · 0s of 5m"), "{screen:?}");
        assert!(screen.contains("0/10 · gate promise · ") && screen.contains("s of 10m"), "{screen:?}");
        assert_eq!(screen.contains("\u{1b}[32m"), coloured, "{screen:?}");
    }
}

#[test]
fn the_live_line_names_the_tool_that_the_agent_uses() {
    let user = user();
    let tool = r#"{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"cargo build"}}"#;
    user.program(
        "claude",
        &format!(
            "[ \"$1\" = --version ] && {{ echo 2.1.197; exit 0; }}\ncat > /dev/null\n\
             echo '{{\"type\":\"assistant\",\"message\":{{\"id\":\"m1\",\"role\":\"assistant\",\"content\":[{tool}]}}}}'\n\
             sleep 1.3; touch x"
        ),
    );
    let program = env!("CARGO_BIN_EXE_loop");
    let (_, screen) = user.on_a_terminal(&format!("{program} start 'do it' -p 'test -e x' --agent claude"));
    assert!(screen.contains("1/10 · claude · ") && screen.contains("[Bash] cargo build"), "{screen:?}");
}

#[test]
fn an_agent_has_no_terminal_to_write_to_or_to_be_stopped_by() {
    let user = user();
    let agent = "printf '\\033[41mEVIL' > /dev/tty; read x < /dev/tty; echo went on > log";
    let program = env!("CARGO_BIN_EXE_loop");
    let (ran, screen) =
        user.on_a_terminal(&format!("{program} start 'do it' -p 'test -e log' --agent-cmd \"{agent}\""));
    assert_eq!(ran.code, Some(0), "{}", ran.text());
    assert!(!screen.contains("\u{1b}[41m"), "{screen:?}");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let user = user();
    user.run(&start("true", "true", &[])).expect_code(0);
    let line = format!(
        "{} list --json | head -c 1; {} history {} | true",
        env!("CARGO_BIN_EXE_loop"),
        env!("CARGO_BIN_EXE_loop"),
        user.id()
    );
    let mut command = std::process::Command::new("sh");
    command.args(["-c", &line]);
    user.apply_env(&mut command);
    let ran = loop_testkit::Running::of(command.spawn().unwrap(), user.root()).end();
    assert_eq!((ran.out().as_str(), ran.err().as_str()), ("{", ""));
}

#[test]
fn an_answer_that_cannot_be_written_is_an_error_but_never_the_outcome_of_a_loop() {
    let user = user();
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let to_full = |words: &[&str]| {
        let child = user.command(words).stdout(full()).spawn().unwrap();
        loop_testkit::Running::of(child, user.root()).end()
    };
    to_full(&start("true", "true", &[])).expect_code(0);
    let id = user.id();
    for words in [&["list", "--json"][..], &["list"], &["status", &id], &["history", &id], &["config", "show"]] {
        let ran = to_full(words).expect_code(3);
        assert!(ran.err().contains("cannot write the answer"), "{}", ran.text());
    }
}
