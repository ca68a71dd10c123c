//! Which variables an agent gets, and how a line of arguments becomes words.
use loop_core::agent::shell_words::{self as words, ShellWordsError};
use loop_core::agent::{
    ADAPTERS, AgentEnv, AgentVariables, WithheldReason, adapter, choose, choose_inside, everything,
};

fn pairs(names: &[&str]) -> Vec<(String, String)> {
    names.iter().map(|name| ((*name).to_owned(), format!("value of {name}"))).collect()
}

fn chosen(agent: &str, names: &[&str], extra: &str) -> AgentVariables {
    choose(adapter(agent).unwrap().variables, pairs(names), &AgentEnv::parse(extra).unwrap())
}

#[test]
fn an_agent_gets_families_and_its_own_variables_and_nothing_else() {
    let passed = [
        "PATH",
        "HOME",
        "LANG",
        "LC_ALL",
        "TZ",
        "TERM",
        "NO_COLOR",
        "CARGO_HOME",
        "GOPATH",
        "JAVA_HOME",
        "VIRTUAL_ENV",
        "NVM_DIR",
        "npm_config_cache",
        "PYTHONPATH",
        "https_proxy",
        "NO_PROXY",
        "SSL_CERT_FILE",
        "NODE_EXTRA_CA_CERTS",
        "XDG_CONFIG_HOME",
        "ANTHROPIC_API_KEY",
        "CLAUDE_CONFIG_DIR",
        "LD_LIBRARY_PATH",
    ];
    let withheld = [
        ("GITHUB_TOKEN", WithheldReason::Unlisted),
        ("DATABASE_URL", WithheldReason::Unlisted),
        ("OPENAI_API_KEY", WithheldReason::Unlisted),
        ("CARGO_REGISTRY_TOKEN", WithheldReason::Secret),
        ("npm_config__authToken", WithheldReason::Secret),
        ("GRADLE_PUBLISH_KEY", WithheldReason::Secret),
        ("SSH_AUTH_SOCK", WithheldReason::Socket),
        ("CARGO_ODD_SOCK", WithheldReason::Socket),
        ("DBUS_SESSION_BUS_ADDRESS", WithheldReason::Socket),
        ("XDG_RUNTIME_DIR", WithheldReason::Socket),
        ("DISPLAY", WithheldReason::Socket),
        ("DOCKER_HOST", WithheldReason::Socket),
        ("CLAUDECODE", WithheldReason::Marker),
        ("CLAUDE_CODE_ENTRYPOINT", WithheldReason::Marker),
        ("CLAUDE_CODE_SESSION_ID", WithheldReason::Marker),
        ("LOOP_WEB_TOKEN", WithheldReason::Token),
        ("LOOPD_SOCKET", WithheldReason::Token),
    ];
    let names: Vec<&str> = passed.iter().copied().chain(withheld.map(|(name, _)| name)).chain(["PWD", "_"]).collect();
    let got = chosen("claude", &names, "");
    assert_eq!(got.passed.keys().map(String::as_str).collect::<Vec<_>>(), sorted(&passed));
    assert_eq!(got.passed["HOME"], "value of HOME");
    for (name, why) in withheld {
        assert_eq!(got.withheld.get(name), Some(&why), "{name}");
    }
    assert_eq!(got.withheld.len(), withheld.len(), "what a shell sets anew is not worth telling");
    assert_eq!(got.unset, Vec::<String>::new());
}

fn sorted<'a>(names: &[&'a str]) -> Vec<&'a str> {
    let mut names = names.to_vec();
    names.sort_unstable();
    names
}

#[test]
fn what_agents_set_in_the_shells_of_their_tools_does_not_reach_the_agent_that_we_start() {
    // As the recordings `*/tool-env.stdout` have them.
    let sessions = [
        (
            "claude",
            "AI_AGENT CLAUDECODE CLAUDE_CODE_CHILD_SESSION CLAUDE_CODE_ENTRYPOINT CLAUDE_CODE_EXECPATH CLAUDE_CODE_SESSION_ID CLAUDE_EFFORT",
        ),
        (
            "codex",
            "CODEX_CI CODEX_MANAGED_BY_NPM CODEX_MANAGED_PACKAGE_ROOT CODEX_SESSION_ID CODEX_THREAD_ID CODEX_TOOL_CALL_ID CODEX_VERSION CODEX_SANDBOX CODEX_SANDBOX_NETWORK_DISABLED",
        ),
        (
            "gemini",
            "GEMINI_CLI GEMINI_CLI_NO_RELAUNCH GIT_CONFIG_COUNT GIT_CONFIG_KEY_0 SSH_ASKPASS DBUS_SESSION_BUS_ADDRESS",
        ),
        ("opencode", "AGENT OPENCODE OPENCODE_PID"),
        ("qwen", "QWEN_CODE QWEN_CODE_NO_RELAUNCH"),
        ("cursor", "CURSOR_AGENT CURSOR_TRACE_ID"),
        ("cline", "CLINE_ACTIVE"),
        (
            "copilot",
            "COPILOT_CLI COPILOT_AGENT_SESSION_ID COPILOT_CLI_BINARY_VERSION COPILOT_CLI_RESOLVED_DIST_DIR COPILOT_LOADER_PID",
        ),
        ("grok", "GROK_AGENT GROK_SESSION_ID"),
        ("pi", "AI_AGENT PI_CODING_AGENT PI_REASONING_LEVEL PI_SESSION_FILE PI_SESSION_ID PI_PROVIDER PI_MODEL"),
    ];
    let known = |agent: &str| sessions.iter().any(|(name, _)| *name == agent);
    for agent in ADAPTERS {
        // A marker with a star stands for names that begin so.
        let names: Vec<String> = agent.markers.iter().map(|marker| marker.replace('*', "X")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        assert!(known(agent.name) || agent.markers.is_empty(), "{}: what does it set for its tools?", agent.name);
        for other in ADAPTERS {
            assert!(chosen(other.name, &names, "*").passed.is_empty(), "{}: {}", agent.name, other.name);
        }
    }
    for (_, names) in sessions {
        let names: Vec<&str> = names.split(' ').collect();
        for (agent, _) in sessions {
            let got = chosen(agent, &names, "*");
            let left: Vec<&String> =
                got.passed.keys().filter(|name| !name.starts_with("GIT_CONFIG") && *name != "SSH_ASKPASS").collect();
            assert!(left.is_empty(), "{agent}: {left:?}");
            assert!(chosen(agent, &names, "").passed.is_empty(), "{agent}: {names:?}");
        }
    }
    assert_eq!(chosen("opencode", &["OPENCODE_CONFIG_CONTENT"], "").passed.len(), 1, "a setting is no marker");
}

#[test]
fn agent_env_passes_sets_and_matches_but_never_our_own_tokens() {
    let names = ["AWS_REGION", "AWS_PROFILE", "SSH_AUTH_SOCK", "CLAUDECODE", "MY_SOCK", "LOOPD_KEY", "OTHER"];
    let got = chosen("aider", &names, "AWS_*,SSH_AUTH_SOCK,MODE=a\\,b,EMPTY=,GONE,*");
    let passed: Vec<(&str, &str)> = got.passed.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let expected = [
        ("AWS_PROFILE", "value of AWS_PROFILE"),
        ("AWS_REGION", "value of AWS_REGION"),
        ("EMPTY", ""),
        ("MODE", "a,b"),
        ("OTHER", "value of OTHER"),
        ("SSH_AUTH_SOCK", "value of SSH_AUTH_SOCK"),
    ];
    assert_eq!(passed, expected, "a pattern never fetches a socket, a marker or a token");
    assert_eq!(got.unset, ["GONE"]);
    assert_eq!(got.withheld["LOOPD_KEY"], WithheldReason::Token);
    for (bad, words) in [
        ("LOOPD_KEY", "a token of this program's own"),
        ("LOOP_WEB_TOKEN=x", "a token of this program's own"),
        ("1A=secretvalue", "begins with a digit"),
        ("A B=secretvalue", "is not a name"),
        ("A-B", "is not a name"),
        ("A*=secretvalue", "is not a name"),
        ("=secretvalue", "has no name"),
        ("A=secretvalue\0", "NUL"),
    ] {
        let error = AgentEnv::parse(&format!("FINE,{bad}")).unwrap_err().to_string();
        assert!(error.contains(words), "{bad}: {error}");
        assert!(!error.contains("secretvalue"), "a value may be a secret: {error}");
    }
    assert_eq!(AgentEnv::parse(" A , B=1 \n\n C*").unwrap(), AgentEnv::parse("A,B=1 ,C*").unwrap());
}

#[test]
fn a_command_of_the_persons_own_gets_everything_but_our_tokens() {
    let names = ["GITHUB_TOKEN", "SSH_AUTH_SOCK", "CLAUDECODE", "LOOP_AGENT", "LOOP_WEB_TOKEN", "LOOPD_PORT"];
    let got = everything(pairs(&names), &AgentEnv::default());
    assert_eq!(got.passed.keys().collect::<Vec<_>>(), ["CLAUDECODE", "GITHUB_TOKEN", "LOOP_AGENT", "SSH_AUTH_SOCK"]);
}

#[test]
fn a_line_is_split_as_a_shell_would() {
    for (line, words) in [
        ("", &[][..]),
        ("  a\tb\nc  ", &["a", "b", "c"]),
        ("-c 'model=\"x y\"' \"it's\"", &["-c", "model=\"x y\"", "it's"]),
        ("a''b \"\" ''", &["ab", "", ""]),
        (r#""\$\`\"\\\n""#, &["$`\"\\\\n"]),
        (r"a\ b \' \\", &["a b", "'", "\\"]),
        ("a\\\nb \"c\\\nd\"", &["ab", "cd"]),
        ("$HOME `id` $(id) *.rs ~ #x; a|b", &["$HOME", "`id`", "$(id)", "*.rs", "~", "#x;", "a|b"]),
        ("grüße 'ä ö'", &["grüße", "ä ö"]),
    ] {
        assert_eq!(words::split(line).unwrap(), words, "{line:?}");
    }
    assert_eq!(words::split("a 'b").unwrap_err(), ShellWordsError::Open { quote: '\'', at: 3 });
    assert_eq!(words::split("ä \"b\\").unwrap_err(), ShellWordsError::Open { quote: '"', at: 3 });
    assert_eq!(words::split("ab\\").unwrap_err().to_string(), "the \\ at letter 3 has nothing after it");
    assert_eq!(words::split("a 'b\0'").unwrap_err(), ShellWordsError::Nul { at: 5 });
}

#[test]
fn words_joined_are_split_into_the_same_words() {
    let mut seed = crate::world::Seed::new(7);
    let letters: Vec<char> = "ab \t\n'\"\\$`#*?ü{}=-".chars().collect();
    for _ in 0..2000 {
        let all: Vec<String> = (0..seed.below(5))
            .map(|_| (0..seed.below(6)).map(|_| letters[usize::try_from(seed.below(18)).unwrap()]).collect())
            .collect();
        let line = words::join(all.iter().map(String::as_str));
        assert_eq!(words::split(&line).unwrap(), all, "{line}");
    }
}

#[test]
fn an_agent_in_a_container_gets_its_own_variables_and_those_named_by_hand() {
    let place = |name: &str| (name.to_owned(), "/srv/there".to_owned());
    let mut all = pairs(&["PATH", "HOME", "LANG", "CARGO_HOME", "https_proxy", "ANTHROPIC_API_KEY", "MINE", "OTHER"]);
    all.extend([place("CLAUDE_CONFIG_DIR"), place("AWS_HOME")]);
    let extra = AgentEnv::parse("MINE,https_*,SET=1,AWS_HOME").unwrap();
    let got = choose_inside(adapter("claude").unwrap().variables, all, &extra);
    let names: Vec<&str> = got.passed.keys().map(String::as_str).collect();
    assert_eq!(names, ["ANTHROPIC_API_KEY", "AWS_HOME", "MINE", "SET", "https_proxy"]);
}
