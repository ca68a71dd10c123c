//! `loop config` and the files behind it.
use expect_test::expect;

use crate::{start, user};

#[test]
fn show_says_each_value_and_where_it_came_from() {
    // req: C-25 partly: tasks and stories come later
    // req: D-26 partly: keys of what exists
    let user = user().with("LOOP_MAX_ITER", "6");
    user.write("home/.config/loop/config.toml", "# mine\ntimeout = \"8m\"\n");
    user.write("work/loop.toml", "max_time = \"2h\"\n");
    let ran = user.run(&["config", "show"]).expect_code(0);
    let shown = ran.same_everywhere(&ran.out());
    for line in [
        "max_iterations 6 LOOP_MAX_ITER",
        "timeout 8m $ROOT/home/.config/loop/config.toml:2",
        "max_time 2h loop.toml:1",
        "gate_timeout 10m default",
    ] {
        let found = shown.lines().any(|shown| shown.split_whitespace().eq(line.split(' ')));
        assert!(found, "{line}\n{shown}");
    }
    let json = user.run(&["config", "show", "--json"]).json();
    assert_eq!(json["settings"]["timeout"]["value"], "8m");
    assert_eq!(user.run(&["config", "get", "timeout"]).out(), "8m\n");
}

#[test]
fn set_changes_one_line_and_refuses_what_does_not_fit() {
    // req: D-26 partly: keys of what exists
    let user = user();
    user.run(&["config", "set", "timeout", "9m"]).expect_code(0);
    user.run(&["config", "set", "max-iterations", "4"]).expect_code(0);
    user.run(&["config", "set", "notify", "true"]).expect_code(0);
    assert_eq!(user.read("home/.config/loop/config.toml"), "timeout = \"9m\"\nmax_iterations = 4\nnotify = true\n");
    user.run(&["config", "set", "notify"]).expect_code(0);
    assert_eq!(user.read("home/.config/loop/config.toml"), "timeout = \"9m\"\nmax_iterations = 4\n");
    for words in [["timeout", "5"], ["timeuot", "5m"], ["checkpoint", "svn"], ["result", "x"]] {
        let ran = user.run(&["config", "set", words[0], words[1]]).expect_code(4);
        assert!(ran.err().contains("hint: "), "{}", ran.text());
    }
    assert_eq!(user.read("home/.config/loop/config.toml"), "timeout = \"9m\"\nmax_iterations = 4\n");
}

#[test]
fn a_config_file_that_is_a_link_stays_one() {
    let user = user();
    user.write("dotfiles/loop.toml", "timeout = \"8m\"\n");
    std::fs::create_dir_all(user.config()).unwrap();
    std::os::unix::fs::symlink(user.root().join("dotfiles/loop.toml"), user.config().join("config.toml")).unwrap();
    user.run(&["config", "set", "timeout", "9m"]).expect_code(0);
    assert!(user.config().join("config.toml").is_symlink());
    assert_eq!(user.read("dotfiles/loop.toml"), "timeout = \"9m\"\n");
    let agent = user.run(&["config", "set", "agent_cmd", "my-agent"]).expect_code(0);
    assert_eq!(user.run(&["config", "get", "agent"]).out(), "custom\n", "{}", agent.text());
}

#[test]
fn check_names_the_line_that_is_wrong() {
    // req: D-26 partly: keys of what exists
    let user = user();
    user.run(&["config", "check"]).expect_code(0);
    user.write("home/.config/loop/config.toml", "timeout = \"8m\"\nmax_iteration = 3\n");
    let ran = user.run(&["config", "check"]);
    expect![[r#"
        exit 4
        --- stdout
        --- stderr
        error: $ROOT/home/.config/loop/config.toml:2: unknown key max_iteration
          because: no setting has this name
        hint: did you mean max_iterations?
    "#]]
    .assert_eq(&ran.text());
    user.run(&start("true", "true", &[])).expect_code(4);
    assert!(!user.state().exists(), "nothing is made");
}

#[test]
fn check_counts_its_warnings_and_names_every_file() {
    // UR-2.20
    let user = user();
    let fine = user.run(&["config", "check"]).expect_code(0);
    assert!(fine.out().starts_with("settings are fine (no "), "{}", fine.text());
    user.write("home/.config/loop/config.toml", "max_iterations = 5\n");
    user.write("work/loop.toml", "max_iterations = 50\n");
    let ran = user.run(&["config", "check"]).expect_code(0);
    expect![[r#"
        exit 0
        --- stdout
        settings can be used, with 1 warning ($ROOT/home/.config/loop/config.toml, $ROOT/work/loop.toml)
        --- stderr
        warning: loop.toml:1: max_iterations = 50 is wider than 5: it is ignored (a project file may lower this limit, not raise it)
    "#]]
    .assert_eq(&ran.text());
    let json = user.run(&["config", "check", "--json"]).expect_code(0).json();
    assert_eq!(json["warnings"].as_array().unwrap().len(), 1, "{json}");
}

#[test]
fn yaml_is_read_too_and_both_in_one_folder_are_an_error() {
    // req: D-26 partly: keys of what exists
    let user = user();
    user.write("home/.config/loop/config.yaml", "timeout: 3m\nmax_iterations: 2\n");
    assert_eq!(user.run(&["config", "get", "timeout"]).out(), "3m\n");
    user.run(&["config", "set", "timeout", "4m"]).expect_code(4);
    user.write("home/.config/loop/config.toml", "timeout = \"8m\"\n");
    let ran = user.run(&["config", "check"]).expect_code(4);
    assert!(ran.err().contains("both config.toml and config.yaml"), "{}", ran.text());
}

#[test]
fn a_repository_grants_itself_nothing() {
    for line in [
        "promise = \"touch pwned\"",
        "agent_cmd = \"touch pwned\"",
        "notification_cmd = \"touch pwned\"",
        "allow_any_workspace = true",
    ] {
        let user = user();
        user.write("work/loop.toml", &format!("{line}\n"));
        let ran = user.run(&start("true", "test -e x || touch x", &["--notify"])).expect_code(4);
        assert!(ran.err().contains("loop.toml:1"), "{}", ran.text());
        assert_eq!(user.tree("work"), ["loop.toml"]);
    }
    let user = user();
    user.write("work/loop.toml", "max_iterations = 2\ntimeout = \"1h\"\n");
    let ran = user.run(&start("true", "false", &[])).expect_code(1);
    assert!(ran.err().contains("2 iterations (loop.toml:1) · agent 5m · "), "{}", ran.text());
    assert!(ran.err().contains("warning: loop.toml:2: timeout = 1h is wider than 5m: it is ignored"), "{}", ran.text());
    let ran = user.run(&start("true", "false", &["-n", "3"])).expect_code(1);
    assert!(ran.err().contains("3 iterations · agent 5m"), "a flag wins: {}", ran.text());
}

#[test]
fn a_true_in_a_file_can_be_turned_off_by_a_flag() {
    // req: C-25 partly: tasks and stories come later
    let user = user();
    user.program("notify-send", "touch \"$HOME/told\"");
    user.write("home/.config/loop/config.toml", "notify = true\n");
    user.run(&start("true", "true", &["--no-notify"])).expect_code(0);
    assert!(!user.root().join("home/told").exists());
    user.run(&start("true", "true", &[])).expect_code(0);
    assert!(user.root().join("home/told").exists());
}
