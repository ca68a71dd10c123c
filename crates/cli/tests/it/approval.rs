//! A project's file may say what is run, once its user has approved that very text.
use std::process::{Command, Stdio};

use loop_testkit::{Running, TestEnv, for_all};

use crate::{start, user};

const PROJECT: &str = "promise = \"test -e done\"\nagent_cmd = \"touch done; echo ok\"\nmax_iterations = 3\n\n[gates.lint]\ncommand = \"test -e done\"\npasses = \"1of2\"\ntimeout = \"5s\"\n";

// req: D-21 partly: what a repository grants itself
#[test]
fn what_a_project_file_runs_needs_approval_by_content() {
    let user = user();
    user.write("work/.loop.toml", PROJECT);
    let ran = user.run(&["start", "do it"]).expect_code(4);
    assert!(ran.err().starts_with("error: .loop.toml is not approved as it is now\n"), "{}", ran.text());
    for line in [".loop.toml:1: promise = test -e done", ".loop.toml:2: agent_cmd = touch done; echo ok", "lint["] {
        assert!(ran.err().contains(line), "{line}\n{}", ran.text());
    }
    assert!(!user.work().join("done").exists(), "nothing of it was run");
    assert_eq!(user.tree("home"), Vec::<String>::new(), "and nothing was made");
    // Approved once, it runs; and again without a word.
    let ran = user.run(&["start", "do it", "--approve"]).expect_code(0);
    assert!(ran.text().contains("lint: pass"), "{}", ran.text());
    std::fs::remove_file(user.work().join("done")).unwrap();
    user.run(&["start", "do it"]).expect_code(0);
    // Another text is another matter, and so is the same text elsewhere.
    user.write("work/.loop.toml", &PROJECT.replace("touch", "touch other;  touch"));
    user.run(&["start", "do it"]).expect_code(4);
    assert!(!user.work().join("other").exists());
    user.write("work/.loop.toml", PROJECT);
    user.write("work/below/.loop.toml", PROJECT);
    let there = user.work().join("below");
    user.run(&["start", "do it", "--workspace", there.to_str().unwrap()]).expect_code(4);
}

#[test]
fn what_needs_no_approval_is_taken_and_what_is_the_users_own_never_is() {
    let user = user();
    user.write("work/.loop.toml", "max_iterations = 2\nprotect = [\"*.md\"]\n");
    let ran = user.run(&start("echo $LOOP_ITERATION >> log", "false", &[])).expect_code(1);
    assert!(ran.text().contains("2 iterations done"), "{}", ran.text());
    user.write("work/.loop.toml", "auto_confirm = true\n");
    let ran = user.run(&start("true", "true", &["--approve"])).expect_code(4);
    assert!(ran.err().contains("auto_confirm may not stand in a project file"), "{}", ran.text());
    user.write("work/loop.toml", "max_iterations = 2\n");
    let ran = user.run(&start("true", "true", &[])).expect_code(4);
    assert!(ran.err().contains("both .loop.toml and loop.toml"), "{}", ran.text());
}

/// The program as a word of a shell line.
fn program() -> &'static str {
    env!("CARGO_BIN_EXE_loop")
}

/// Runs a shell line on a terminal whose person types this; gives what the screen got.
fn typed(user: &TestEnv, line: &str, keys: &[u8]) -> String {
    let screen = user.root().join("screen");
    let mut command = Command::new("script");
    command.args(["-qec", line]).arg(&screen);
    user.apply_env(&mut command);
    command.env("TERM", "xterm").stdin(Stdio::piped());
    let _ran = Running::of(command.spawn().unwrap(), user.root()).feed(keys).end();
    String::from_utf8_lossy(&std::fs::read(&screen).unwrap_or_default()).into_owned()
}

// req: RT-R2 RT-R17
#[test]
fn a_command_that_a_terminal_would_hide_is_refused_approved_or_not() {
    let user = user();
    user.write("work/.loop.toml", "promise = \"make test \\u001b]0; touch PWNED; true \\u0007\"\n");
    for more in [&[][..], &["--approve"], &["--dry-run"], &["--approve", "--dry-run"]] {
        let words = [&["start", "t", "--agent-cmd", "true"][..], more].concat();
        let ran = user.run(&words).expect_code(4);
        assert!(ran.err().contains(r".loop.toml:1: promise holds the control character \x1b"), "{}", ran.text());
    }
    assert!(!user.work().join("PWNED").exists());
}

// req: RT-R17
#[test]
fn all_that_is_run_is_shown_before_it_is_approved_and_when_it_is_approved_by_a_flag() {
    let user = user();
    let long = "make docs-check && ".repeat(12) + "make test; touch PWNED";
    let gates: String = (0..30).map(|n| format!("[gates.g{n:02}]\ncommand = \"echo mark{n:02}\"\n")).collect();
    user.write("work/.loop.toml", &format!("promise = \"{long}\"\n{gates}"));
    let refused = user.run(&["start", "t", "--agent-cmd", "true"]).expect_code(4);
    let approved = user.run(&["start", "t", "--agent-cmd", "true", "--approve", "-n", "1", "-q"]);
    for ran in [refused.err(), approved.err()] {
        assert!(ran.contains(&format!("promise = {long}\n")), "{ran}");
        assert!((0..30).all(|n| ran.contains(&format!("gate = g{n:02}=echo mark{n:02}\n"))), "{ran}");
        assert!(!ran.contains("more\n") && !ran.contains('…'), "{ran}");
    }
    // In this form it is known now, and needs no word.
    let again = user.run(&["start", "t", "--agent-cmd", "true", "-n", "1"]);
    assert!(!again.err().contains("approved by --approve"), "{}", again.text());
}

// req: RT-R17
#[test]
fn on_a_terminal_a_long_list_goes_through_the_pager_and_the_question_comes_after_it() {
    let user = user().with("PAGER", "cat > paged");
    let gates: String = (0..30).map(|n| format!("[gates.g{n:02}]\ncommand = \"echo mark{n:02}\"\n")).collect();
    user.write("work/.loop.toml", &format!("promise = \"touch RAN\"\n{gates}"));
    let line = format!("stty rows 10 cols 80; {} start t --agent-cmd true -n 1", program());
    let screen = typed(&user, &line, b"n\n");
    let paged = user.read("work/paged");
    assert!((0..30).all(|n| paged.contains(&format!("gate = g{n:02}=echo mark{n:02}\n"))), "{paged}");
    assert!(screen.contains("Approve these 31 lines of .loop.toml? [y/N]"), "{screen}");
    assert!(!user.work().join("RAN").exists() && !user.state().join("approvals").exists(), "{screen}");
    typed(&user, &line, b"y\n");
    assert!(user.work().join("RAN").exists(), "said yes, it is run");
    assert!(user.state().join("approvals").exists(), "and remembered");
}

// req: RT-R4
#[test]
fn an_approval_is_stored_by_no_dry_run_and_by_no_start_that_is_refused() {
    let user = user();
    user.write("work/.loop.toml", "promise = \"test -e done\"\nagent_cmd = \"touch done\"\n");
    let dry = user.run(&["start", "t", "--approve", "--dry-run"]).expect_code(0);
    assert!(dry.err().contains("holds for this dry run only"), "{}", dry.text());
    assert!(dry.text().contains("promise        test -e done (.loop.toml:1)"), "{}", dry.text());
    assert!(!user.state().join("approvals").exists());
    // Refused for another reason: no such agent, no such file, a stop file.
    for more in [&["--agent", "nobody"][..], &["--inject", "not-there"], &["--promise", "if"]] {
        let words = [&["start", "t", "--approve"][..], more].concat();
        user.run(&words).expect_code(4);
        assert!(!user.state().join("approvals").exists(), "{more:?}");
    }
    user.run(&["start", "t"]).expect_code(4);
    user.run(&["start", "t", "--approve"]).expect_code(0);
    assert!(user.state().join("approvals").exists());
}

// req: RT-R4
#[test]
fn no_process_inside_a_loop_approves_a_project_file() {
    let program = program();
    let file = r#"printf 'promise = "true"\nagent = "custom"\nagent_cmd = "touch PWNED"\n' > other/.loop.toml"#;
    let there = "--workspace other";
    // By the flag, without a run, with an empty environment, by a child that was given away, and on a terminal.
    let ways = [
        format!("{program} start x --approve {there}"),
        format!("{program} start x --approve --dry-run {there}"),
        format!("env -i HOME=\"$HOME\" PATH=\"$PATH\" {program} start x --approve {there}"),
        format!("(setsid env -i HOME=\"$HOME\" PATH=\"$PATH\" {program} start x --approve {there} &) ; wait"),
        format!("printf 'yes\\nyes\\n' | TERM=xterm script -qec '{program} start x {there}' /dev/null"),
    ];
    let agent = |way: &str| {
        format!(
            "mkdir -p other; {file}; ({way}) > said 2>&1; for i in 1 2 3 4 5 6 7 8 9; do grep -q hint: said && break; sleep 0.2; done; true"
        )
    };
    for_all(&ways, |way| {
        let user = user();
        user.run(&["start", "t", "-p", "false", "-n", "1", "--agent-cmd", &agent(way)]).expect_code(1);
        let said = user.read("work/said");
        assert!(said.contains("a process inside a loop may not approve it"), "{way}\n{said}");
        assert!(!user.state().join("approvals").exists(), "{way}\n{said}");
        let next = user.run(&["start", "next task", "--workspace", "other"]).expect_code(4);
        assert!(next.err().contains("is not approved as it is now"), "{}", next.text());
        assert!(!user.work().join("other/PWNED").exists(), "{way}");
    });
}

// req: RT-R3
#[test]
fn a_project_file_turns_no_protection_of_the_user_off_and_is_told_so() {
    let user = user();
    user.write("home/.config/loop/config.toml", "protect_tests = true\nrequire_tests_kept = true\nprotect = [\"a\"]\n");
    user.write(
        "work/.loop.toml",
        "protect_tests = false\nrequire_tests_kept = false\nprotect = [\"!a\", \"b\"]\nmax_iterations = 99\n",
    );
    let shown = user.run(&["config", "show"]).expect_code(0);
    for line in ["protect_tests", "require_tests_kept"] {
        let row = shown.out().lines().find(|row| row.starts_with(line)).unwrap_or_default().to_owned();
        assert!(row.contains("true") && row.contains("config.toml:"), "{row}");
    }
    let protect = shown.out().lines().find(|row| row.starts_with("protect ")).unwrap_or_default().to_owned();
    assert!(protect.contains(r"a\nb") && protect.contains("config.toml:3, .loop.toml:3"), "{protect}");
    let ran = user.run(&start("true", "false", &["-n", "1"])).expect_code(1);
    for said in [
        ".loop.toml:1: protect_tests = false would turn off what you have turned on: it is ignored (a project file may \
         turn this on, not off)",
        ".loop.toml:2: require_tests_kept = false would turn off",
        ".loop.toml:3: !a in protect would take files out of the list",
        ".loop.toml:4: max_iterations = 99 is wider than 10",
    ] {
        assert!(ran.err().contains(said) && shown.err().contains(said), "{said}\n{}", ran.text());
    }
}

// req: RT-R14
#[test]
fn what_config_show_says_of_a_project_file_has_no_control_byte() {
    let user = user();
    user.write("work/.loop.toml", "promise = \"true \\u202e x\\u200b\\n\\ttouch A\"\n");
    let shown = user.run(&["config", "show"]).expect_code(0);
    assert!(
        shown.err().contains("ignored: .loop.toml:1: promise = true \\u{202e} x\\u{200b}\\n\n"),
        "{}",
        shown.text()
    );
    user.write("work/.loop.toml", "promise = \"true \\u001b]0;TITLE\\u0007\\u001b[2J\"\n");
    let shown = user.run(&["config", "show"]).expect_code(4);
    assert!(!shown.text().contains('\u{1b}') && shown.err().contains(r"control character \x1b"), "{}", shown.text());
}
