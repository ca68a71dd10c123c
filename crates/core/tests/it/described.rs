//! Agents that a person describes in their own settings.
use std::collections::BTreeMap;

use expect_test::expect;
use loop_core::agent::{
    Agent, AgentCommand, AgentEnv, AttemptSpec, Begin, Described, End, Failure, Permissions, Stdin, StopSignal, Stream,
    SystemBy, Terminal,
};
use loop_core::run::Ended;
use loop_core::settings::*;

const WHOLE: &str = r#"
max_iterations = 3

[agents.mine]
command = "my-agent --json {args} -"
session = ["resume", "{session}"]
model = ["--model={model}"]
system = ["--system-file", "{system_file}"]
output = "codex-jsonl"
gentle = "interrupt"
env = ["MY_API_KEY", "MINE_*"]
litter = [".mine*"]
install = "npm install -g my-agent"
sign_in = "my-agent login"

[agents.mine.permissions]
edit = ["--no-shell"]
work = ["--sandbox", "{workspace}"]
all = ["--yolo"]

[agents.filer]
command = ["filer", "--from", "{prompt_file}", "{\"json\": {}}"]
prompt = "file"
"#;

fn ask<'a>(args: &'a [String], nothing: &'a BTreeMap<String, String>) -> AttemptSpec<'a> {
    AttemptSpec {
        program: "/bin/agent",
        harness: "/bin/loop",
        workspace: "/w",
        folder: "/f",
        prompt_file: "/f/prompt.md",
        system: "say more",
        system_file: "/f/system.md",
        session: Some("s{model}"),
        permissions: Permissions::Work,
        network: false,
        model: Some("m1"),
        effort: None,
        args,
        root: false,
        budget: None,
        ambient: nothing,
    }
}

fn refuse(error: &SettingsError) -> String {
    format!("{error}\n  because: {}\nhint: {}", error.why(), error.hint())
}

#[test]
fn an_agent_that_was_described_is_called_as_it_was_described() {
    // req: D-03 partly: agents that a user describes; choosing one comes with start
    let all = agents_from_toml(WHOLE, "config.toml").unwrap();
    let [mine, filer] = all.as_slice() else { panic!("{all:?}") };
    let (args, nothing) = (["--their".to_owned(), "own one".to_owned()], BTreeMap::new());
    let full = ask(&args, &nothing);
    let mine = Agent::find("mine", &all, "").unwrap_or_else(|| panic!("{mine:?}"));
    let words: [&str; 13] = [
        "/bin/agent",
        "--json",
        "--sandbox",
        "/w",
        "--model=m1",
        "resume",
        "s{model}",
        "--system-file",
        "/f/system.md",
        "--their",
        "own one",
        "-",
        "",
    ];
    assert_eq!(mine.call(&full).argv, words[..12], "a value is never looked into for braces");
    assert_eq!(mine.call(&full).stdin, Stdin::Prompt);
    let bare = AttemptSpec {
        session: None,
        model: None,
        effort: None,
        system: "",
        args: &[],
        permissions: Permissions::Edit,
        ..full.clone()
    };
    assert_eq!(mine.call(&bare).argv, ["/bin/agent", "--json", "--no-shell", "-"]);
    let all_of_it = AttemptSpec { permissions: Permissions::All, ..bare.clone() };
    assert_eq!(mine.call(&all_of_it).argv, ["/bin/agent", "--json", "--yolo", "-"]);
    assert_eq!((mine.system(), mine.continues(), mine.stop_signal()), (SystemBy::Call, true, StopSignal::Interrupt));
    assert_eq!(
        (mine.program(), mine.install(), mine.litter()),
        (Some("my-agent"), "npm install -g my-agent", vec![".mine*"])
    );

    let argv = ["/bin/agent", "--from", "/f/prompt.md", "{\"json\": {}}", "--their", "own one"].map(str::to_owned);
    assert_eq!(
        filer.call(&full),
        AgentCommand { argv: argv.to_vec(), stdin: Stdin::Nothing, ..AgentCommand::default() }
    );
    assert_eq!((filer.system(), filer.continues()), (SystemBy::Prompt, false));
    assert!(!filer.can(Permissions::Edit) && filer.can(Permissions::Work) && mine.can(Permissions::Edit));
}

#[test]
fn an_agent_that_was_described_gets_the_families_and_what_it_names() {
    let all = agents_from_toml(WHOLE, "config.toml").unwrap();
    let mine = Agent::find("mine", &all, "").unwrap();
    let names = ["PATH", "MY_API_KEY", "MINE_URL", "MINE_SOCK", "OPENAI_API_KEY", "EXTRA"];
    let ambient = names.map(|name| (name.to_owned(), "x".to_owned()));
    let got = mine.environment(ambient, &AgentEnv::parse("EXTRA,GONE").unwrap());
    assert_eq!(got.passed.keys().collect::<Vec<_>>(), ["EXTRA", "MINE_URL", "MY_API_KEY", "PATH"]);
    assert_eq!(got.unset, ["GONE"]);
}

#[test]
fn what_a_run_keeps_of_a_described_agent_is_the_agent() {
    for one in agents_from_toml(WHOLE, "config.toml").unwrap() {
        let kept = serde_json::to_string(&one).unwrap();
        assert_eq!(serde_json::from_str::<Described>(&kept).unwrap(), one);
    }
    let kept: Described = serde_json::from_str(r#"{"name":"old","command":["x"],"later":1}"#).unwrap();
    assert_eq!(kept.command, ["x"], "what a later version adds is not needed to read it");
}

#[test]
fn the_table_stands_in_the_users_own_file_in_toml_and_yaml_and_in_no_project() {
    assert_eq!(resolve(from_toml(WHOLE, "config.toml", Layer::User).unwrap()).text(keys::max_iterations()), "3");
    let error = from_toml(WHOLE, "loop.toml", Layer::Project).unwrap_err();
    assert!(matches!(&error, SettingsError::NotInProject { key: "agents", .. }), "{error:?}");
    let yaml = "max_iterations: 4\nagents:\n  mine:\n    command: my-agent -p\n    output: text\n";
    assert_eq!(resolve(from_yaml(yaml, "config.yaml", Layer::User).unwrap()).text(keys::max_iterations()), "4");
    assert_eq!(agents_from_yaml(yaml, "config.yaml").unwrap()[0].command, ["my-agent", "-p"]);
    let set = set_in_toml(WHOLE, "config.toml", key("timeout").unwrap(), "9m").unwrap();
    assert_eq!(resolve(from_toml(&set, "config.toml", Layer::User).unwrap()).text(keys::timeout()), "9m");
    assert_eq!(agents_from_toml(&set, "config.toml").unwrap().len(), 2, "{set}");
}

#[test]
fn a_mistake_is_told_with_file_line_key_and_what_to_do() {
    let error = |text: &str| refuse(&from_toml(text, "config.toml", Layer::User).unwrap_err());
    let told = [
        error("[agents.mine]\nprompt = \"stdin\"\n"),
        error("[agents.mine]\ncommand = \"a 'b\"\n"),
        error("[agents.mine]\ncommand = [\"a\", 1]\n"),
        error("[agents.mine]\ncommand = [\"a\"]\noutptu = \"text\"\n"),
        error("[agents.mine]\ncommand = [\"a\"]\noutput = \"claude\"\n"),
        error("[agents.mine]\ncommand = [\"a\", \"{prompt}\"]\n"),
        error("[agents.mine]\ncommand = [\"a\"]\nprompt = \"file\"\n"),
        error("[agents.mine]\ncommand = [\"a\"]\nsession = [\"--resume\"]\n"),
        error("[agents.mine]\ncommand = [\"a\"]\nsuccess = \"terminal\"\n"),
        error("[agents.mine]\ncommand = [\"a\"]\npermissions.none = []\n"),
        error("[agents.mine]\ncommand = [\"a\"]\nenv = [\"A=1\"]\n"),
        error("[agents.claude]\ncommand = [\"a\"]\n"),
        error("[agents.\"My Agent\"]\ncommand = [\"a\"]\n"),
        error("agents = 1\n"),
        error("[agents]\nmine = \"x\"\n"),
    ];
    expect![[r#"
        config.toml:1: agents.mine.command is wrong
          because: it is missing
        hint: for example command = ["my-agent", "--json"]
        config.toml:2: agents.mine.command is wrong
          because: the ' at letter 3 is never closed
        hint: close the quote, or put a \ before it
        config.toml:2: agents.mine.command is wrong
          because: it must be a list of texts
        hint: for example ["--flag", "value"]
        config.toml:3: agents.mine.outptu is wrong
          because: an agent has no such key
        hint: did you mean output?
        config.toml:3: agents.mine.output is wrong
          because: "claude" is none of: text, claude-stream, codex-jsonl, gemini-stream, opencode-json, acp
        hint: did you mean claude-stream?
        config.toml:2: agents.mine.command is wrong
          because: nothing is called {prompt}
        hint: here may stand: {prompt_file}, {workspace}, {args}
        config.toml:2: agents.mine.command is wrong
          because: prompt = "file", and {prompt_file} is not in the command
        hint: for example command = ["my-agent", "--file", "{prompt_file}"]
        config.toml:3: agents.mine.session is wrong
          because: {session} is not in it
        hint: for example ["--x", "{session}"]
        config.toml:3: agents.mine.success is wrong
          because: plain text has no terminal event
        hint: use success = "exit"
        config.toml:3: agents.mine.permissions.none is wrong
          because: there is no such way of working
        hint: use one of: edit, work, all
        config.toml:3: agents.mine.env is wrong
          because: "A=1" is not a name of a variable
        hint: name variables whose values are passed, for example ["MY_API_KEY", "MY_*"]
        config.toml:1: agents.claude is wrong
          because: loop has an agent of that name
        hint: rename it, for example [agents.my-claude]
        config.toml:1: agents.My Agent is wrong
          because: a name has up to 32 small letters, digits, - and _
        hint: rename it, for example [agents.my-agent]
        config.toml:1: agents is wrong
          because: it must be a table and is integer
        hint: write [agents]
        config.toml:2: agents.mine is wrong
          because: it must be a table and is text
        hint: write [agents.mine]"#]]
    .assert_eq(&told.join("\n"));
    let yaml = from_yaml("agents:\n  mine:\n    command: a\n    output: no\n", "config.yaml", Layer::User).unwrap_err();
    assert!(yaml.to_string().starts_with("config.yaml:4: agents.mine.output"), "{yaml}");
}

fn reading(toml: &str, stdout: &str, code: i32) -> (Terminal, Option<Failure>) {
    let all = agents_from_toml(toml, "config.toml").unwrap();
    let mut stream = Stream::new(all[0].reader(Begin::default()));
    stream.push(stdout.as_bytes());
    let ended = Ended::Exit(code);
    let end = End { ended: &ended, stderr: b"", asked: "", now_ms: 0, utc_offset_s: 0, continued: false };
    let reading = stream.end(&end);
    (reading.terminal, reading.failure)
}

#[test]
fn success_is_told_by_the_exit_code_alone_where_that_was_said() {
    let toml = |output: &str| format!("[agents.mine]\ncommand = [\"a\"]\noutput = \"{output}\"\nsuccess = \"exit\"\n");
    for output in ["text", "claude-stream", "codex-jsonl", "gemini-stream", "opencode-json"] {
        assert_eq!(reading(&toml(output), "{}\n", 0), (Terminal::Success, None), "{output}");
        assert_eq!(reading(&toml(output), "{}\n", 1).0, Terminal::Error, "{output}");
        assert!(reading(&toml(output), "{}\n", 1).1.is_some(), "{output}");
    }
}

#[test]
fn an_agent_that_speaks_the_protocol_runs_below_our_own_program() {
    let toml = "[agents.mine]\ncommand = [\"mine\", \"acp\"]\noutput = \"acp\"\n";
    let all = agents_from_toml(toml, "config.toml").unwrap();
    let (args, nothing) = (["--x".to_owned()], BTreeMap::new());
    let call = all[0].call(&ask(&args, &nothing));
    let ours = "/bin/loop acp-bridge --permissions work --prompt-file /f/prompt.md --system-file /f/system.md \
                --session s{model} --model m1 -- /bin/agent acp --x";
    assert_eq!((call.argv.join(" ").as_str(), call.stdin), (ours, Stdin::Nothing));
    assert!(all[0].continues() && all[0].can(Permissions::Edit), "the protocol asks for every step");
}

#[test]
fn an_agent_whose_exit_decides_is_still_ended_when_it_waits_by_itself() {
    let waiting = |success: &str| {
        let toml = format!("[agents.mine]\ncommand = [\"a\"]\noutput = \"gemini-stream\"\nsuccess = \"{success}\"\n");
        let all = agents_from_toml(&toml, "config.toml").unwrap();
        let mut stream = Stream::new(all[0].reader(Begin::default()));
        stream.stderr(b"Attempt 1 failed: You have exhausted your capacity. Retrying after 5000ms...\n");
        stream.is_retrying()
    };
    assert!(waiting("terminal"), "its stream says so");
    assert!(waiting("exit"), "what its stream says while it runs counts in the same way");
}

fn with_error_words(table: &str) -> Result<Vec<Described>, SettingsError> {
    let text = format!("[agents.mine]\ncommand = \"mine\"\noutput = \"text\"\nerror_words = {table}\n");
    agents_from_toml(&text, "config.toml")
}

#[test]
fn words_that_a_person_named_are_errors_of_the_provider_in_the_last_message_alone() {
    let agents = with_error_words("{auth = [\"(HTTP 401)\"], rate_limit = [\"429 too many\"]}").unwrap();
    let read = |said: &str, ended: Ended| {
        let mut stream = Stream::new(agents[0].reader(Begin::default()));
        stream.push(said.as_bytes());
        let end = End { ended: &ended, stderr: b"", asked: "", now_ms: 0, utc_offset_s: 0, continued: false };
        let reading = stream.end(&end);
        (reading.failure, reading.terminal, reading.text.trim().to_owned())
    };
    let refused = read("Error: no key (http 401).\n", Ended::Exit(0));
    assert_eq!(refused, (Some(Failure::Auth), Terminal::Error, String::new()), "capital letters or not");
    assert_eq!(read("429 Too Many Requests\n", Ended::Exit(1)).0, Some(Failure::RateLimit));
    assert_eq!(read("All done.\n", Ended::Exit(0)), (None, Terminal::Success, "All done.".to_owned()));
    let long = format!("It says (HTTP 401).\n{}", "work\n".repeat(1000));
    assert_eq!(read(&long, Ended::Exit(0)).0, None, "only the end is looked at");
    assert_eq!(read("(HTTP 401)", Ended::ByUs).0, Some(Failure::Crash), "one that we ended says nothing");
}

#[test]
fn wrong_error_words_are_named_with_their_line() {
    let refused = |table: &str| refuse(&with_error_words(table).unwrap_err());
    for (table, why) in [
        ("{atuh = [\"x\"]}", "\"atuh\" is none of:"),
        ("{hang = [\"xyz\"]}", "hang is not an error that a provider has"),
        ("{auth = [\"ab\"]}", "auth: a word has at least 3 letters"),
        ("{auth = []}", "auth: a word has at least 3 letters"),
    ] {
        let told = refused(table);
        assert!(told.contains(why) && told.contains("config.toml:4"), "{told}");
    }
}
