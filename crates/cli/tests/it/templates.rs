//! Templates: list, show, create, check, and starts with them.
use std::process::Stdio;

use loop_testkit::TestEnv;

use crate::user;

/// A node project whose tests pass once `done` is there, or from the start.
fn project(passes: bool) -> TestEnv {
    let user = user();
    user.write("work/package.json", r#"{"scripts": {"test": "jest", "lint": "eslint ."}}"#);
    let test = if passes { "true" } else { "[ -e done ]" };
    user.program("npm", &format!("case \"$*\" in test) {test};; *) true;; esac"));
    user
}

// req: D-11 partly: list and show
#[test]
fn templates_are_listed_with_their_source_and_shown_with_promise_and_settings() {
    let user = project(false);
    let list = user.run(&["template", "list"]).expect_code(0).out();
    for line in ["tdd ", "bugfix ", "refactor ", "feature ", "security ", "performance "] {
        assert!(list.lines().any(|row| row.starts_with(line) && row.contains("built-in")), "{line}\n{list}");
    }
    let show = user.run(&["template", "show", "bugfix"]).expect_code(0).out();
    for word in [
        "promise: npm test (package.json has a script test)",
        "lint: npm run lint (package.json has a script lint, watched)",
        "require_tests_kept = true",
        "on_regression = revert",
        "{{prompt}}",
    ] {
        assert!(show.contains(word), "{word}\n{show}");
    }
    let json = user.run(&["template", "show", "bugfix", "--json"]).expect_code(0).json();
    assert_eq!((json["version"].as_u64(), json["from"].as_str()), (Some(1), Some("built-in")));
    assert_eq!(json["found"][0]["command"], "npm test");
    assert_eq!(json["settings"]["max_iterations"], "10");
    let ran = user.run(&["template", "show", "bugfx"]).expect_code(4);
    assert!(ran.err().contains("hint: did you mean bugfix?"), "{}", ran.text());
}

// req: D-15 partly: --template
// req: C-25 partly: flag > template > project file > user file
#[test]
fn a_start_with_a_template_finds_its_gates_and_flags_win() {
    let user = project(false);
    user.write("home/.config/loop/config.toml", "max_iterations = 3\n");
    let words = ["start", "fix the parser", "--template", "bugfix", "--agent-cmd", "cat > prompt; touch done"];
    let dry = user.run(&[&words[..], &["--dry-run"]].concat()).expect_code(0).out();
    for line in [
        "template       bugfix (--template)",
        "promise        npm test (template bugfix: package.json has a script test)",
        "max_iterations 10 (template bugfix:",
        "gate           lint: npm run lint",
        "Reproduce the bug",
    ] {
        assert!(dry.contains(line), "{line}\n{dry}");
    }
    let flagged =
        user.run(&[&words[..], &["--dry-run", "-n", "2", "-p", "test -e done"]].concat()).expect_code(0).out();
    assert!(flagged.contains("max_iterations 2 (--max-iterations)"), "{flagged}");
    assert!(flagged.contains("promise        test -e done (--promise)"), "{flagged}");
    let ran = user.run(&words).expect_code(0);
    assert!(ran.err().contains("task      fix the parser\n"), "{}", ran.text());
    assert!(
        user.read("work/prompt").contains("<task>\nfix the parser\n\nWork in this order:\n"),
        "{}",
        user.read("work/prompt")
    );
    let list = user.run(&["list", "--json"]).expect_code(0).json();
    assert_eq!(list["loops"][0]["goal"], "fix the parser", "{list}");
}

#[test]
fn with_a_template_an_agent_works_although_the_tests_pass_already() {
    let user = project(true);
    let words = ["start", "add a flag", "--template", "feature", "--agent-cmd"];
    let ran = user.run(&[&words[..], &["echo x >> new.txt"]].concat()).expect_code(0);
    assert!(ran.out().contains("after 1 iteration"), "{}", ran.text());
    let ran = user.run(&[&words[..], &["true"]].concat()).expect_code(1);
    assert!(!ran.out().starts_with("done"), "an agent that does nothing is not done: {}", ran.text());
}

// req: D-22 partly: LOOP_TEMPLATES_DIR
// req: D-11 partly: own ones
#[test]
fn an_own_template_of_the_same_name_wins_and_says_so() {
    let user = project(false);
    user.write(
        "home/.config/loop/templates/bugfix.toml",
        "description = \"mine\"\nmax_iterations = 1\npromise = \"false\"\n",
    );
    let list = user.run(&["template", "list"]).expect_code(0).out();
    assert!(list.contains("own, in place of built-in  mine"), "{list}");
    let ran = user.run(&["start", "x", "--template", "bugfix", "--agent-cmd", "true"]).expect_code(1);
    assert!(ran.err().contains("note: the template bugfix is your own ("), "{}", ran.text());
    assert!(ran.text().contains("1 iteration done"), "{}", ran.text());
    let elsewhere = user.root().join("mine");
    user.write("mine/quick.toml", "goal = \"Update the list.\"\npromise = \"test -e done\"\n");
    let user = user.with("LOOP_TEMPLATES_DIR", &elsewhere);
    let list = user.run(&["template", "list"]).expect_code(0).out();
    assert!(list.contains("quick") && !list.contains("own, in place"), "{list}");
    // Its goal is the whole task.
    user.run(&["start", "--template", "quick", "--agent-cmd", "touch done"]).expect_code(0);
    user.run(&["start", "--template", "feature", "--agent-cmd", "touch done"]).expect_code(4);
    for (value, why) in [("relative/folder", "it is not a whole path"), ("/dev/null", "it is not a folder")] {
        let user = project(false).with("LOOP_TEMPLATES_DIR", value);
        let ran = user.run(&["start", "x", "--template", "feature", "--agent-cmd", "true"]).expect_code(4);
        assert!(ran.err().contains("LOOP_TEMPLATES_DIR") && ran.err().contains(why), "{}", ran.text());
    }
}

// req: D-11 partly: templates of a project
#[test]
fn a_template_of_a_project_is_used_only_once_it_is_approved_as_it_is() {
    let user = user();
    let file = "work/.loop/templates/ours.toml";
    user.write(file, "goal = \"Ours: {{prompt}}\"\npromise = \"test -e done\"\nmax_iterations = 2\n");
    let words = ["start", "x", "--template", "ours", "--agent-cmd", "cat > prompt; touch done"];
    let ran = user.run(&words).expect_code(4);
    for line in [
        "error: .loop/templates/ours.toml is not approved as it is now",
        ".loop/templates/ours.toml:2: promise = test -e done",
        "goal: Ours: {{prompt}}",
    ] {
        assert!(ran.err().contains(line), "{line}\n{}", ran.text());
    }
    let list = user.run(&["template", "list"]).expect_code(0).out();
    assert!(list.contains("project, not approved"), "{list}");
    let copy = ["template", "create", "mine", "--from", "ours"];
    let ran = user.run(&copy).expect_code(4);
    assert!(ran.err().contains("is not approved as it is now") && ran.err().contains("--approve"), "{}", ran.text());
    assert!(!user.root().join("home/.config/loop/templates/mine.toml").exists());
    let dry = user.run(&[&words[..], &["--approve", "--dry-run"]].concat()).expect_code(0);
    assert!(dry.err().contains("holds for this dry run only"), "{}", dry.text());
    user.run(&words).expect_code(4);
    user.run(&[&words[..], &["--approve"]].concat()).expect_code(0);
    assert!(user.read("work/prompt").contains("Ours: x"));
    std::fs::remove_file(user.work().join("done")).unwrap();
    user.run(&words).expect_code(0);
    user.run(&copy).expect_code(0);
    assert_eq!(user.read("home/.config/loop/templates/mine.toml"), user.read(file));
    user.write(file, "promise = \"touch PWNED\"\n");
    user.run(&words).expect_code(4);
    user.run(&["template", "create", "other", "--from", "ours"]).expect_code(4);
    assert!(!user.work().join("PWNED").exists());
    user.write(file, "promise = \"true\"\nauto_confirm = true\n");
    let ran = user.run(&[&words[..], &["--approve"]].concat()).expect_code(4);
    assert!(ran.err().contains("auto_confirm may not stand in a project file"), "{}", ran.text());
}

// req: D-11 partly: create and check
#[test]
fn a_template_is_made_from_a_loop_from_another_one_or_to_be_edited() {
    let user = project(false);
    user.run(&["start", "first task", "-p", "test -e done", "-n", "3", "--protect-tests", "--agent-cmd", "touch done"])
        .expect_code(0);
    let ran = user.run(&["template", "create", "mine", "--from", "@"]).expect_code(0);
    assert!(ran.err().contains("loop template show mine"), "{}", ran.text());
    let text = user.read("home/.config/loop/templates/mine.toml");
    for line in [
        "whose task was: first task\n",
        "promise = \"test -e done\"\n",
        "max_iterations = 3\n",
        "protect_tests = true\n",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    std::fs::remove_file(user.work().join("done")).unwrap();
    user.run(&["start", "second", "--template", "mine"]).expect_code(0);
    // Nothing is overwritten.
    let ran = user.run(&["template", "create", "mine"]).expect_code(4);
    assert!(ran.err().contains("nothing overwrites it"), "{}", ran.text());
    user.run(&["template", "create", "copied", "--from", "bugfix"]).expect_code(0);
    assert!(user.read("home/.config/loop/templates/copied.toml").contains("Reproduce the bug"));
    let made = user.run(&["template", "create", "blank", "--json"]).expect_code(0).json();
    assert_eq!((made["name"].as_str(), made["error"].is_null()), (Some("blank"), true), "{made}");
    let check = user.run(&["template", "check"]).expect_code(0).out();
    assert_eq!(check.lines().count(), 3, "{check}");
    user.write("home/.config/loop/templates/blank.toml", "max_iteration = 3\n");
    let ran = user.run(&["template", "check"]).expect_code(4);
    assert!(ran.err().contains("blank.toml:1") && ran.err().contains("did you mean max_iterations?"), "{}", ran.text());
    let json = user.run(&["template", "check", "blank", "--json"]).expect_code(4).json();
    assert_eq!((json["fine"].as_bool(), json["templates"][0]["fine"].as_bool()), (Some(false), Some(false)), "{json}");
    // A copy of a wrong one is wrong, too, with and without JSON.
    let words = ["template", "create", "again", "--from", "blank"];
    let ran = user.run(&[&words[..], &["--json"]].concat()).expect_code(4);
    assert!(ran.json()["error"].as_str().unwrap().contains("unknown key max_iteration"), "{}", ran.text());
    assert!(ran.err().contains("hint: ") && ran.err().contains("stays as it is"), "{}", ran.text());
    std::fs::remove_file(user.root().join("home/.config/loop/templates/again.toml")).unwrap();
    user.run(&words).expect_code(4);
    for name in ["../x", "a/b", ".x", ""] {
        user.run(&["template", "create", name]).expect_code(4);
    }
}

#[test]
fn on_a_terminal_the_editor_is_opened_and_what_was_typed_stays_also_where_it_is_wrong() {
    let user = user().with("EDITOR", "sh -c 'echo \"max_iteration = 3\" >> \"$0\"'");
    let line = format!("{} template create mine", env!("CARGO_BIN_EXE_loop"));
    let running = user.begin_on_a_terminal(&line, Stdio::null());
    let ran = running.end();
    let screen = user.screen();
    assert!(
        screen.contains("did you mean max_iterations?") && screen.contains("stays as it is"),
        "{screen} {}",
        ran.text()
    );
    assert!(user.read("home/.config/loop/templates/mine.toml").ends_with("max_iteration = 3\n"));
}

#[test]
fn a_template_that_needs_a_promise_asks_for_it_on_a_terminal_and_says_what_is_missing_elsewhere() {
    let user = user();
    let words = ["start", "x", "--template", "feature", "--agent-cmd", "touch done"];
    let ran = user.run(&words).expect_code(4);
    assert!(ran.err().contains("error: --promise is missing"), "{}", ran.text());
    assert!(ran.err().contains("the template feature looks for a command for this (test)"), "{}", ran.text());
    let line = format!("{} start x --template feature --agent-cmd 'touch done'", env!("CARGO_BIN_EXE_loop"));
    let mut running = user.begin_on_a_terminal(&line, Stdio::piped());
    user.wait_for_screen("Which one?", 1);
    running.type_in(b"test -e done\n");
    let _ended = running.end();
    assert!(user.screen().contains("the promise passes after 1 iteration"), "{}", user.screen());
}

// req: C-25 partly: loop config show names the layer
#[test]
fn config_show_names_the_template_as_the_source_of_a_value() {
    let user = project(false);
    user.write("home/.config/loop/config.toml", "template = \"refactor\"\n");
    let show = user.run(&["config", "show"]).expect_code(0).out();
    let row = |key: &str| show.lines().find(|line| line.starts_with(key)).unwrap_or_default().to_owned();
    assert!(row("protect_tests").contains("template refactor:"), "{show}");
    assert!(row("promise").contains("package.json has a script test"), "{show}");
    assert!(row("template").contains("config.toml:1"), "{show}");
    user.write("home/.config/loop/config.toml", "template = \"nothing\"\n");
    let ran = user.run(&["config", "check"]).expect_code(4);
    assert!(
        ran.err().contains("there is no template nothing") && ran.err().contains("config.toml:1 names it"),
        "{}",
        ran.text()
    );
}
