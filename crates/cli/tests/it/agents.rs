//! `loop agents`: programs on PATH, what they say of themselves, and how they would be called.
use serde_json::Value;

use crate::user;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn one<'a>(all: &'a Value, name: &str) -> &'a Value {
    let agents = all["agents"].as_array().unwrap();
    agents.iter().find(|agent| agent["name"] == name).unwrap_or_else(|| panic!("{name} is not among them"))
}

#[test]
fn installed_agents_are_shown_with_version_path_and_sign_in_and_the_others_with_the_next_step() {
    // req: D-03 partly: what is not installed says how to install it
    let user = user().with("ANTHROPIC_API_KEY", "sk-ant-secretsecret");
    user.program("claude", "echo '2.1.197 (Claude Code)'");
    user.program("codex", "echo warning >&2; echo codex-cli 0.166.0");
    let ran = user.run(&["agents"]);
    assert_eq!(ran.code, Some(0), "{}", ran.text());
    let out = ran.out();
    let line = |name: &str| out.lines().find(|line| line.starts_with(name)).unwrap_or_default().to_owned();
    let words: Vec<String> = line("claude ").split_whitespace().map(str::to_owned).collect();
    let path = user.root().join("bin/claude").display().to_string();
    assert_eq!(words, ["claude", "2.1.197", "2.1.326", "ANTHROPIC_API_KEY", path.as_str()], "{out}");
    assert!(line("codex ").contains("0.166.0") && line("codex ").contains("not seen"), "{out}");
    assert!(line("gemini ").contains("not installed: npm install -g @google/gemini-cli"), "{out}");
    assert!(line("cursor ").contains("untried"), "{out}");
    assert!(line("custom ").contains("--agent-cmd"), "{out}");
    assert!(out.contains("containment: ") && out.contains("loop agents NAME"), "{out}");
    assert!(!out.contains("secretsecret"), "{out}");
}

#[test]
fn one_agent_is_shown_with_its_call_in_each_permission_mode_and_the_variables_it_would_get() {
    let user = user().with("CLAUDECODE", "1").with("SSH_AUTH_SOCK", "/run/x").with("MY_THING", "x").with("LANG", "C");
    user.program("claude", "echo '2.1.197 (Claude Code)'");
    let ran = user.run(&["agents", "claude"]);
    assert_eq!(ran.code, Some(0), "{}", ran.text());
    let out = ran.out();
    for words in [
        "claude: 2.1.197 (Claude Code), ",
        "tried with:  2.1.326",
        "signed in:   not seen from here",
        "--permissions edit",
        "--permissions work (default)",
        "--permissions all",
        "not on the list: MY_THING",
        "leads to a socket: SSH_AUTH_SOCK",
        "marks another agent's session: CLAUDECODE",
        "--agent-env NAME",
    ] {
        assert!(out.contains(words), "{words}: {out}");
    }
}

#[test]
fn a_program_that_hangs_floods_or_fails_does_not_hold_the_answer() {
    let user = user();
    user.program("claude", "sleep 300 & sleep 300");
    user.program("codex", "yes 1.2.3");
    user.program("gemini", "echo 0.61.0; exit 3");
    user.program("opencode", "(sleep 300 &); echo 1.18.33");
    let began = std::time::Instant::now();
    let ran = user.run(&["agents", "--json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.text());
    assert!(began.elapsed().as_secs() < 45, "asked two at once, and for 20 s at most: {:?}", began.elapsed());
    let all = json(&ran.out());
    assert_eq!(one(&all, "claude")["version_error"], "no answer to --version within 20 s");
    assert_eq!(one(&all, "codex")["version"], Value::Null);
    assert_eq!(one(&all, "gemini")["version_error"], "its answer to --version is not a version");
    assert_eq!(one(&all, "opencode")["version"], "1.18.33");
}

#[test]
fn programs_are_told_the_same_in_json() {
    let user = user().with("OPENAI_API_KEY", "sk-secretsecret").with("GITHUB_TOKEN", "ghp-secretsecret");
    user.program("codex", "echo codex-cli 0.166.0; env > \"$HOME/env\"");
    let ran = user.run(&["agents", "codex", "--json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.text());
    assert!(!ran.out().contains("secretsecret"), "names only: {}", ran.out());
    let all = json(&ran.out());
    assert_eq!(all["version"], 1);
    let codex = one(&all, "codex");
    assert_eq!(
        (&codex["installed"], &codex["version"], &codex["kind"]),
        (&true.into(), &"0.166.0".into(), &"known".into())
    );
    assert_eq!(codex["variables"]["withheld"]["GITHUB_TOKEN"], "not on the list");
    for mode in ["edit", "work", "all"] {
        assert_eq!(codex["calls"][mode]["argv"][0], "codex", "{mode}");
    }
    assert!(!user.read("home/env").contains("GITHUB_TOKEN"), "--version gets what the agent would get");
    assert!(user.read("home/env").contains("PATH="));
}

#[test]
fn an_agent_of_the_users_own_is_among_them_and_a_wrong_one_says_where() {
    let user = user();
    user.program("my-agent", "echo my-agent 3.2.1");
    let text = "[agents.mine]\ncommand = \"my-agent --json\"\nsign_in = \"my-agent login\"\n[agents.mine.permissions]\nall = [\"--yolo\"]\n";
    user.write("home/.config/loop/config.toml", text);
    let ran = user.run(&["agents", "mine"]);
    assert_eq!(ran.code, Some(0), "{}", ran.text());
    assert!(ran.out().contains("mine: my-agent 3.2.1"), "{}", ran.text());
    assert!(ran.out().contains("my-agent --json --yolo < {prompt_file}"), "{}", ran.out());
    assert!(ran.out().contains("not available: it is not known how"), "{}", ran.out());
    assert!(ran.out().contains("→ my-agent login"), "{}", ran.out());
    user.run(&["config", "check"]).expect_code(0);
    user.write("home/.config/loop/config.toml", &text.replace("command", "comand"));
    let ran = user.run(&["agents"]);
    assert_eq!(ran.code, Some(4), "{}", ran.text());
    assert!(
        ran.err().contains(":2: agents.mine.comand is wrong") && ran.err().contains("did you mean command?"),
        "{}",
        ran.err()
    );
    user.run(&["config", "check"]).expect_code(4);
}

#[test]
fn an_unknown_name_is_refused_with_what_was_meant() {
    let ran = user().run(&["agents", "cluade"]);
    assert_eq!(ran.code, Some(4), "{}", ran.text());
    assert!(ran.err().contains("did you mean claude?"), "{}", ran.err());
}
