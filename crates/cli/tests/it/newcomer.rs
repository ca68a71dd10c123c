//! The first minutes: demo, doctor, version, help, completions.
use crate::{commands, user};

#[test]
fn the_demo_shows_a_whole_loop_turning_green_in_three_iterations_and_what_to_type_next() {
    // req: D-27
    let user = user();
    let ran = user.run(&["demo"]).expect_code(0);
    assert!(ran.out().starts_with("done: the promise passes after 3 iterations"), "{}", ran.text());
    for word in [
        "A scripted agent",
        "1/10  promise: fail",
        "2/10  promise: fail",
        "3/10  promise: pass",
        "Now with your own project",
    ] {
        assert!(ran.err().contains(word), "{word}: {}", ran.text());
    }
    assert!(ran.out().contains("$ loop history") && ran.out().contains("PASS ✓"), "{}", ran.text());
    assert_eq!(user.tree("work"), Vec::<String>::new(), "nothing of the user's is touched");
}

#[test]
fn the_programs_say_their_version() {
    // req: D-30
    let user = user();
    assert_eq!(user.run(&["--version"]).expect_code(0).out(), "loop 0.1.0\n");
    let loopr = loop_testkit::TestEnv::new(env!("CARGO_BIN_EXE_loopr"));
    assert_eq!(loopr.run(&["--version"]).expect_code(0).out(), "loopr 0.1.0\n");
    let ran = loopr.run(&["loop"]).expect_code(4);
    assert!(ran.err().contains("hint: "), "{}", ran.text());
    let loopd = loop_testkit::TestEnv::new(env!("CARGO_BIN_EXE_loopd"));
    assert_eq!(loopd.run(&["--version"]).expect_code(0).out(), "loopd 0.1.0\n");
    assert!(loopd.run::<&str>(&[]).expect_code(4).err().contains("error: loopd supervises no loops yet\n"));
    let licence = include_str!("../../../../LICENSE");
    assert!(licence.starts_with("MIT License"));
}

#[test]
fn the_doctor_says_what_is_there_and_what_to_do() {
    let user = user();
    user.program("claude", "true");
    let ran = user.run(&["doctor"]).expect_code(0);
    for word in ["ok   state", "ok   agents        claude", "ok   checkpoints", " containment "] {
        assert!(ran.out().contains(word), "{word}: {}", ran.text());
    }
    let json = user.run(&["doctor", "--json"]).expect_code(0).json();
    assert!(json["findings"].as_array().unwrap().len() >= 8);
}

#[test]
fn it_works_with_nothing_but_a_shell() {
    // req: D-27
    let user = user();
    std::os::unix::fs::symlink("/bin/sh", user.root().join("bin/sh")).unwrap();
    let bin = user.root().join("bin").display().to_string();
    let user = user.with("PATH", bin);
    user.run(&["start", "x", "-p", "[ -e made ]", "--agent-cmd", ": > made"]).expect_code(0);
}

#[test]
fn every_command_has_help_and_completions_know_them_all() {
    let user = user();
    let help = user.run(&["--help"]).expect_code(0).out();
    let completions = user.run(&["__complete", "bash", "loop", ""]).expect_code(0).out();
    let pages = user.run(&["man"]).expect_code(0).out();
    let commands = commands(&user);
    assert!(commands.len() > 20, "the search is broken: {commands:?}");
    for command in &commands {
        assert!(completions.contains(&format!("\n{command}\t")), "{command}");
        assert!(pages.contains(&format!("loop\\-{command}(1)")), "{command}");
        assert!(user.run(&[command.as_str(), "--help"]).expect_code(0).out().contains("Usage: loop"), "{command}");
    }
    assert!(!help.contains("demo-agent"));
    let start = user.run(&["start", "--help"]).expect_code(0).out();
    for key in loop_core::settings::catalogue() {
        assert!(start.contains(&format!("--{}", key.flag.long)), "{}: {start}", key.name);
    }
    user.run(&["completions", "dosh"]).expect_code(4);
}
