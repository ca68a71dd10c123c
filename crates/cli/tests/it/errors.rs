//! Wrong calls: one line of what, one of why, one hint, exit 4, and nothing is made.
use expect_test::{Expect, expect};

use crate::{start, user};

fn refused(words: &[&str], expected: &Expect) {
    let user = user();
    let ran = user.run(words);
    expected.assert_eq(&ran.err());
    assert_eq!(ran.code, Some(4), "{}", ran.text());
    assert_eq!(ran.out(), "");
    assert_eq!((user.tree("work"), user.tree("home"), user.tree("tmp")), (vec![], vec![], vec![]), "nothing is made");
}

#[test]
fn a_mistyped_flag_command_or_value_is_explained() {
    // req: D-21 partly: roadmap and prd come later
    refused(
        &["start", "x", "--promis", "true"],
        &expect![[r#"
        error: unknown argument --promis
          because: no flag has this name here
        hint: did you mean --promise?
    "#]],
    );
    refused(
        &["strat"],
        &expect![[r#"
        error: unknown command strat
          because: no command has this name
        hint: did you mean start?
    "#]],
    );
    refused(
        &start("true", "true", &["--timeout", "5"]),
        &expect![[r#"
        error: --timeout: timeout cannot be "5"
          because: a duration needs a unit
        hint: write a unit: 5s, 5m, 5h or 5d
    "#]],
    );
    refused(
        &start("true", "true", &["-n", "0"]),
        &expect![[r#"
        error: --max-iterations: max_iterations cannot be "0"
          because: it must be a whole number from 1 to 1000000, or unlimited
        hint: for example 10, or unlimited
    "#]],
    );
    refused(
        &start("true", "true", &["--agent", "cluade"]),
        &expect![[r#"
            error: --agent: there is no agent "cluade"
              because: there are opencode, claude, codex, gemini, aider, cursor, cline, qwen, copilot, grok, pi, kimi, goose, opencode-acp, claude-acp, codex-acp, gemini-acp, custom
            hint: did you mean claude?
        "#]],
    );
}

#[test]
fn other_wrong_calls_are_explained_too() {
    refused(
        &["start", "hi", "hello"],
        &expect![[r#"
        error: "hello" is one argument too many
          because: texts of several words need quotes
        hint: `loop --help` and `loop <command> --help` list what there is
    "#]],
    );
    refused(
        &["config"],
        &expect![[r#"
        error: a subcommand is missing
          because: it is followed by one of: show, get, set, check
        hint: `loop --help` and `loop <command> --help` list what there is
    "#]],
    );
    refused(
        &["start", "x", "--prompt-file", "f", "-p", "true"],
        &expect![[r#"
        error: [PROMPT] does not go with --prompt-file <FILE>
          because: they contradict each other
        hint: `loop --help` and `loop <command> --help` list what there is
    "#]],
    );
    let user = user().with("LOOP_CHECKPOINT", "svn");
    let ran = user.run(&start("true", "true", &[])).expect_code(4);
    assert!(ran.err().starts_with("error: LOOP_CHECKPOINT: checkpoint cannot be \"svn\""), "{}", ran.text());
}

#[test]
fn a_missing_or_empty_prompt_or_promise_is_refused() {
    // req: D-01 partly: with a custom agent
    refused(
        &["start", "--promise", "true", "--agent-cmd", "true"],
        &expect![[r#"
        error: the prompt is missing
          because: the agent needs a task
        hint: loop start "fix the failing tests" …, or --prompt-file FILE, or - for stdin
    "#]],
    );
    refused(
        &["start", "fix it", "--agent-cmd", "true"],
        &expect![[r#"
            error: --promise is missing
              because: without a check of its own, loop could only believe the agent
            hint: loop start 'fix it' --promise 'make test' …, with the command that shows that the work is done; or --no-promise, to believe the agent
        "#]],
    );
    refused(
        &start("true", "  ", &[]),
        &expect![[r#"
        error: --promise: promise cannot be "  "
          because: the command is empty
        hint: give a shell command, for example "make test"
    "#]],
    );
    refused(
        &["start", " ", "-p", "true", "--agent-cmd", "true"],
        &expect![[r#"
        error: the prompt is empty
          because: the agent needs a task
        hint: loop start "fix the failing tests" …
    "#]],
    );
    refused(
        &["start", "--prompt-file", "nothing.md", "-p", "true", "--agent-cmd", "true"],
        &expect![[r#"
        error: cannot read the prompt file nothing.md
          because: No such file or directory (os error 2)
        hint: name a readable file, or give the prompt itself
    "#]],
    );
}

#[test]
fn a_flag_of_something_that_is_not_built_is_refused_as_any_unknown_one() {
    // req: D-01 partly: with a custom agent
    let cases: [(&[&str], &str); 2] = [(&["-b"], "-b"), (&["--background"], "--background")];
    for (words, what) in cases {
        let user = user();
        let ran = user.run(&start("true", "true", words)).expect_code(4);
        assert!(ran.err().starts_with(&format!("error: unknown argument {what}\n")), "{}", ran.text());
        assert_eq!(user.tree("home"), Vec::<String>::new());
    }
}

#[test]
fn without_an_agent_it_says_what_was_looked_for_and_what_could_be_typed() {
    // req: D-03 partly: custom
    refused(
        &["start", "fix it", "-p", "npm test"],
        &expect![[r#"
            error: no agent was given, and opencode is not installed
              because: looked on PATH for opencode, claude, codex, gemini, aider, cursor-agent, cline, qwen, copilot, grok, pi, kimi, goose, claude-agent-acp, codex-acp
            hint: npm install -g opencode-ai
            hint: or give any command: loop start 'fix it' -p 'npm test' --agent-cmd 'your-agent --its-flags'
        "#]],
    );
    refused(
        &["start", "fix it", "-p", "npm test", "--agent", "custom"],
        &expect![[r#"
        error: the custom agent has no command
          because: --agent custom runs the command that --agent-cmd names
        hint: loop start 'fix it' -p 'npm test' --agent-cmd 'your-agent --its-flags'
    "#]],
    );
    let user = user();
    user.program("claude", "true");
    user.program("codex", "true");
    let ran = user.run(&["start", "fix it", "-p", "npm test"]).expect_code(4);
    assert!(ran.err().contains("hint: loop start 'fix it' -p 'npm test' --agent claude\n"), "{}", ran.text());
    assert!(ran.err().contains("--agent codex\n"), "{}", ran.text());
    let ran = user.run(&["start", "fix it", "-p", "npm test", "--agent", "gemini"]).expect_code(4);
    assert!(ran.err().starts_with("error: the agent gemini is not installed\n"), "{}", ran.text());
    assert!(ran.err().contains("hint: npm install -g @google/gemini-cli\n"), "{}", ran.text());
}

#[test]
fn the_hint_after_a_refused_start_keeps_the_words_that_were_typed() {
    let user = user();
    user.program("claude", "true");
    let words = ["start", "fix it", "--profile", "autonomous", "-p", "npm test", "--max-cost", "2", "-n", "3"];
    let gates = ["--gate", "lint=true", "--recover"];
    let kept = "loop start 'fix it' --profile autonomous -p 'npm test' --max-cost 2 -n 3 --gate 'lint=true' --recover";
    let hint = format!("hint: {kept} --agent claude\n");
    for agent in [&["--agent", "codex"][..], &["--agent=codex"], &[]] {
        let ran = user.run(&[&words[..], agent, &gates[..]].concat()).expect_code(4);
        assert!(ran.err().contains(&hint), "{agent:?}: {}", ran.text());
    }
    let ran = user.run(&["start", "fix it", "-p", "true", "--agent", "codex", "--", "--its-flag"]).expect_code(4);
    assert!(ran.err().contains("hint: add to what you typed: --agent claude\n"), "{}", ran.text());
}

#[test]
fn an_unknown_or_ambiguous_id_is_refused() {
    // req: D-21 partly: roadmap and prd come later
    let user = user();
    for command in ["history", "resume", "status", "rm"] {
        let ran = user.run(&[command, "zzz"]).expect_code(4);
        assert!(ran.err().starts_with("error: no loop has an id that begins with \"zzz\"\n"), "{}", ran.text());
    }
    user.run(&start("true", "true", &[])).expect_code(0);
    for _ in 0..40 {
        user.run(&["start", "x", "-p", "true", "--agent-cmd", "true", "-q"]).expect_code(0);
    }
    let ids = user.ids();
    let first = |id: &String| id[..1].to_owned();
    let shared = ids
        .iter()
        .map(first)
        .find(|letter| ids.iter().filter(|id| id.starts_with(letter.as_str())).count() > 1)
        .unwrap();
    let ran = user.run(&["history", &shared]).expect_code(4);
    assert!(ran.err().contains("is the beginning of several ids"), "{}", ran.text());
    user.run(&["history", &ids[0]]).expect_code(0);
}

#[test]
fn a_text_that_begins_with_a_dash_is_refused_with_the_line_that_works() {
    let user = user();
    let ran = user.run(&["inject", "-dash it"]).expect_code(4);
    assert!(ran.err().contains("two dashes: loop inject -- '-dash it'\n"), "{}", ran.text());
    let ran = user.run(&["resume", "--inject", "-look at"]).expect_code(4);
    assert!(ran.err().contains("a text that begins with a dash: --inject='-look at'\n"), "{}", ran.text());
}

#[test]
fn a_word_that_is_not_utf_8_is_refused_like_any_other() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let words = [OsStr::new("inject"), OsStr::from_bytes(b"-da\xffsh")];
    let ran = user().run(&words).expect_code(4);
    assert!(ran.err().starts_with("error: "), "{}", ran.text());
}
