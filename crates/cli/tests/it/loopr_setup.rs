//! What a loop of `loopr` is started with: its root, its settings, its task, and the arguments of codex.
use loop_testkit::{Ran, Running, TestEnv};
use serde_json::{Value, json};

use crate::loopr::{loopr, plain_loop, published};

const DONE: &str = "block COMPLETE true code 0";

fn setting(env: &TestEnv, name: &str) -> String {
    let status = plain_loop(env, &["status", &env.id(), "--json"]).expect_code(0).json();
    status["loops"][0]["settings"][name]["value"].as_str().unwrap_or("none").to_owned()
}

/// Nothing was started, and it was said why.
fn refused(ran: Ran, env: &TestEnv, words: &[&str]) {
    let ran = ran.expect_code(4);
    for word in words {
        assert!(ran.err().contains(word), "{word}: {}", ran.text());
    }
    assert_eq!(env.read("home/calls"), "", "no call");
    assert!(!env.state().exists() || env.ids().is_empty(), "nothing was made");
}

#[test]
fn the_defaults_are_those_of_the_document() {
    // req: B-03
    // req: B-04
    let env = loopr(DONE);
    env.run(&["loop", "do it"]).expect_code(0);
    for (name, value) in [
        ("max_calls_per_hour", "100"),
        ("timeout", "15m"),
        ("max_iterations", "50"),
        ("completion_threshold", "2"),
        ("max_no_progress", "3"),
        ("max_same_error", "5"),
        ("max_test_only", "3"),
        ("max_missing_status", "2"),
        ("max_oscillation", "unlimited"),
        ("profile", "loopr"),
    ] {
        assert_eq!(setting(&env, name), value, "{name}");
    }
}

#[test]
fn the_file_sets_each_key_and_blank_lines_and_comments_say_nothing() {
    // req: B-03
    // req: B-04
    let env = loopr(DONE);
    let config = "# mine\r\n\n MAX_CALLS_PER_HOUR = 7 \nCODEX_TIMEOUT_MINUTES=3\nMAX_ITERATIONS=80\n\
                  MAX_CONSECUTIVE_DONE_SIGNALS=1\nMAX_NO_PROGRESS=4\nMAX_SAME_ERROR=6\n  # more\n\
                  MAX_CONSECUTIVE_TEST_LOOPS=8\nMAX_MISSING_STATUS=9\n";
    env.write("work/.loopr/config", config);
    env.run(&["loop", "do it"]).expect_code(0);
    for (name, value) in [
        ("max_calls_per_hour", "7"),
        ("timeout", "3m"),
        ("max_iterations", "80"),
        ("completion_threshold", "1"),
        ("max_no_progress", "4"),
        ("max_same_error", "6"),
        ("max_test_only", "8"),
        ("max_missing_status", "9"),
    ] {
        assert_eq!(setting(&env, name), value, "{name}");
    }
}

#[test]
fn an_unknown_key_or_a_bad_value_is_refused_with_file_line_and_key() {
    // req: B-03
    for (config, words) in [
        ("# a\n\nMAX_ITERATION=3\n", [".loopr/config:3: unknown key MAX_ITERATION", "did you mean MAX_ITERATIONS?"]),
        ("MAX_ITERATIONS=0\n", [".loopr/config:1: MAX_ITERATIONS cannot be \"0\"", "a whole number from 1"]),
        ("MAX_SAME_ERROR=-1\n", [".loopr/config:1: MAX_SAME_ERROR cannot be", "a whole number"]),
        ("MAX_ITERATIONS=5\nMAX_NO_PROGRESS=many\n", [".loopr/config:2: MAX_NO_PROGRESS cannot be", "many"]),
        ("MAX_ITERATIONS=unlimited\n", [".loopr/config:1: MAX_ITERATIONS cannot be", "unlimited"]),
        ("CODEX_TIMEOUT_MINUTES=15m\n", [".loopr/config:1: CODEX_TIMEOUT_MINUTES cannot be", "15m"]),
        ("MAX_ITERATIONS=\n", [".loopr/config:1: MAX_ITERATIONS cannot be", "\"\""]),
        ("MAX_ITERATIONS=5 # five\n", [".loopr/config:1: MAX_ITERATIONS cannot be", "# five"]),
        (
            "MAX_ITERATIONS=3\nMAX_ITERATIONS=3\n",
            [".loopr/config:2: MAX_ITERATIONS stands here a second time", "it is set at .loopr/config:1"],
        ),
        ("agent_cmd=rm -rf /\n", [".loopr/config:1: unknown key agent_cmd", "there are MAX_CALLS_PER_HOUR"]),
        ("max iterations\n", [".loopr/config:1: \"max iterations\" is not KEY=VALUE", "hint"]),
    ] {
        let env = loopr(DONE);
        env.write("work/.loopr/config", config);
        refused(env.run(&["loop", "do it"]), &env, &words);
    }
    let env = loopr(DONE).with("MAX_SAME_ERROR", "x");
    refused(env.run(&["loop", "do it"]), &env, &["the variable MAX_SAME_ERROR: MAX_SAME_ERROR cannot be \"x\""]);
    let env = loopr(DONE);
    refused(env.run(&["loop", "--max-iterations", "0", "do it"]), &env, &["--max-iterations"]);
}

#[test]
fn a_variable_counts_more_than_the_file_and_the_flag_more_than_both() {
    // req: B-03
    let script = "echo $n > made\nblock IN_PROGRESS false code 0";
    let iterations = |env: &TestEnv, words: &[&str]| {
        env.run(words).expect_code(1);
        published(env, "status.json")["iteration"].as_u64().unwrap()
    };
    let env = loopr(script);
    env.write("work/.loopr/config", "MAX_ITERATIONS=3\n");
    assert_eq!(iterations(&env, &["loop", "do it"]), 3);
    let env = loopr(script).with("MAX_ITERATIONS", "2").with("MAX_NO_PROGRESS", "");
    env.write("work/.loopr/config", "MAX_ITERATIONS=3\n");
    assert_eq!(iterations(&env, &["loop", "do it"]), 2);
    assert_eq!(iterations(&env, &["loop", "--max-iterations", "1", "do it"]), 1);
}

#[test]
fn the_file_of_a_project_raises_no_limit_that_the_user_has_set() {
    // req: C-25 partly: .loopr/config
    let env = loopr("echo $n > made\nblock IN_PROGRESS false code 0");
    env.write("home/.config/loop/config.toml", "max_iterations = 2\nagent = \"claude\"\npromise = \"true\"\n");
    env.write("work/.loopr/config", "MAX_ITERATIONS=30\nMAX_NO_PROGRESS=1\n");
    let ran = env.run(&["loop", "do it"]).expect_code(1);
    assert!(ran.err().contains(".loopr/config:1"), "{}", ran.text());
    assert_eq!((setting(&env, "max_iterations"), setting(&env, "agent")), ("2".to_owned(), "codex".to_owned()));
    assert_eq!(setting(&env, "promise"), "");
}

#[test]
fn the_root_is_the_flag_else_the_nearest_folder_with_our_folder_else_the_top_of_git_else_this_one() {
    // req: B-02
    let begin = |env: &TestEnv, from: &str, words: &[&str]| {
        std::fs::create_dir_all(env.work().join(from)).unwrap();
        let mut command = env.command(words);
        command.current_dir(env.work().join(from));
        Running::of(command.spawn().unwrap(), env.root()).end().expect_code(0);
        let found: Vec<String> = env.tree("work").into_iter().filter(|path| path.ends_with("status.json")).collect();
        found.join(" ")
    };
    let env = loopr(DONE);
    assert_eq!(begin(&env, "a/b", &["loop", "do it"]), "a/b/.loopr/status.json", "this one");
    let env = loopr(DONE);
    env.write("work/a/.git/HEAD", "ref: refs/heads/main\n");
    std::fs::create_dir_all(env.work().join("a/b/.git")).unwrap();
    assert_eq!(begin(&env, "a/b/c", &["loop", "do it"]), "a/.loopr/status.json", "the top of git, not an empty folder");
    let env = loopr(DONE);
    env.write("work/.loopr/config", "");
    env.write("work/a/.git/HEAD", "ref: refs/heads/main\n");
    assert_eq!(begin(&env, "a/b/c", &["loop", "do it"]), ".loopr/status.json", "ours before git");
    env.write("work/a/b/.loopr/config", "");
    assert_eq!(begin(&env, "a/b/c", &["loop", "do it"]), ".loopr/status.json a/b/.loopr/status.json", "the nearest");
    let env = loopr(DONE);
    env.write("work/.loopr/config", "");
    std::fs::create_dir(env.work().join("other")).unwrap();
    let words = ["loop", "--loopr-root", "../other", "do it"];
    assert_eq!(begin(&env, "a", &words), "other/.loopr/status.json", "the flag");
    refused(loopr(DONE).run(&["loop", "--loopr-root", "nowhere", "do it"]), &loopr(DONE), &["nowhere"]);
}

#[test]
fn the_arguments_reach_codex_unchanged_and_in_order_and_the_prompt_goes_by_stdin() {
    // req: B-05
    // req: B-12
    let env = loopr(DONE);
    let words = ["loop", "--", "-m", "gpt-5.5", "-c", "a=\"b c\"", "fix $HOME", "-s", "read-only", "--json", "--new=1"];
    env.run(&words).expect_code(0);
    let argv = env.read("home/argv-1");
    assert!(argv.starts_with("exec\n--skip-git-repo-check\n"), "{argv}");
    assert!(argv.ends_with("\n-m\ngpt-5.5\n-c\na=\"b c\"\n-s\nread-only\n--json\n--new=1\n-\n"), "{argv}");
    // What the user gives is not given twice: codex refuses that.
    assert_eq!(argv.lines().filter(|word| ["-s", "--json", "-m"].contains(word)).count(), 3, "{argv}");
    assert!(!argv.contains("fix $HOME"), "{argv}");
    assert!(env.read("home/prompt-1").contains("fix $HOME"), "{}", env.read("home/prompt-1"));
    assert!(argv.contains("developer_instructions="), "{argv}");
    for demand in
        ["---LOOPR_STATUS---", "---END_LOOPR_STATUS---", "EXIT_SIGNAL", "WORK_TYPE is tests, code, docs or other"]
    {
        assert!(argv.contains(demand), "{demand}: {argv}");
    }
    // Without --, and with more images than one.
    let env = loopr(DONE);
    env.run(&["loop", "fix it", "-i", "a.png", "b.png"]).expect_code(0);
    assert!(env.read("home/argv-1").contains("\n-i\na.png\nb.png\n-c\n"), "{}", env.read("home/argv-1"));
}

#[test]
fn the_task_is_the_prompt_else_the_file_else_stdin_else_nothing_starts() {
    // req: B-12
    let task = |env: &TestEnv, words: &[&str], stdin: &str| {
        let mut command = env.command(words);
        command.stdin(std::process::Stdio::piped());
        Running::of(command.spawn().unwrap(), env.root()).feed(stdin.as_bytes()).end()
    };
    for (words, file, stdin, expected) in [
        (vec!["loop", "from the line"], "from the file", "from stdin", "from the line"),
        (vec!["loop", "-m", "gpt"], "from the file", "from stdin", "from the file"),
        (vec!["loop"], "", "from stdin", "from stdin"),
        (vec!["loop", "--", "-"], "from the file", "from stdin", "from stdin"),
    ] {
        let env = loopr(DONE);
        if !file.is_empty() {
            env.write("work/.loopr/prompt.md", file);
        }
        task(&env, &words, stdin).expect_code(0);
        assert!(env.read("home/prompt-1").contains(expected), "{words:?}: {}", env.read("home/prompt-1"));
    }
    let env = loopr(DONE);
    refused(env.run(&["loop"]), &env, &["there is no task", ".loopr/prompt.md", "stdin"]);
    refused(env.run(&["loop", "-i", "a.png", "fix it"]), &env, &["\"fix it\" was taken for an image"]);
    refused(env.run(&["loop", "one", "two"]), &env, &["there are two prompts: \"one\" and \"two\""]);
    refused(env.run(&["loop", "--", "--brand-new", "do it"]), &env, &["is \"do it\" the value of --brand-new"]);
    refused(env.run(&["loop", "resume", "--last"]), &env, &["codex exec resume is not what a loop runs"]);
    refused(env.run(&["loop", "do it", "--max-iterations", "3"]), &env, &["put --max-iterations before it"]);
}

#[test]
fn a_missing_codex_and_wrong_words_are_refused_before_anything_is_made() {
    // req: D-21 partly: roadmap and prd come later
    let env = TestEnv::new(env!("CARGO_BIN_EXE_loopr"));
    refused(env.run(&["loop", "do it"]), &env, &["the agent codex is not installed"]);
    refused(env.run(&["lopp", "do it"]), &env, &["unknown command lopp", "did you mean loop?"]);
    env.run::<&str>(&[]).expect_code(4);
    let help = env.run(&["loop", "--help"]).expect_code(0);
    assert!(help.out().contains("loopr loop [--loopr-root <PATH>] [--max-iterations <N>] [--] <CODEX ARGS>"));
    assert!(env.run(&["--version"]).expect_code(0).out().starts_with("loopr "));
}

#[test]
fn the_profile_alone_makes_a_plain_loop_one_of_these() {
    // req: B-10
    let env = loopr(DONE);
    plain_loop(&env, &["start", "do it", "--profile", "loopr"]).expect_code(0);
    let status = published(&env, "status.json");
    assert_eq!((&status["state"], &status["iteration"]), (&json!("complete"), &json!(2)));
    // And nothing is published without it.
    let env = loopr(DONE);
    plain_loop(&env, &["start", "do it", "--promise", "true", "--agent", "codex"]).expect_code(0);
    assert!(!env.work().join(".loopr").exists());
}

#[test]
fn the_status_is_read_from_the_journal_and_not_from_the_file() {
    // req: B-11
    let env = loopr(DONE);
    assert_eq!(env.run(&["status", "--json"]).expect_code(0).json()["state"], Value::Null);
    env.run(&["loop", "do it"]).expect_code(0);
    let status = published(&env, "status.json");
    env.write("work/.loopr/status.json", "{\"state\": \"forged\"}");
    assert_eq!(env.run(&["status", "--json"]).expect_code(0).json(), status);
    let told = env.run(&["status"]).expect_code(0).out();
    assert!(told.contains("complete") && told.contains("call 2"), "{told}");
    assert_eq!(status["iteration"], json!(2));
}
