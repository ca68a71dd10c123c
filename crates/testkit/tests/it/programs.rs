//! Real programs, called plainly, understand what the scripted model says: a whole turn each, with a file written and a command run.
use std::process::Command;
use std::time::Duration;

use loop_testkit::agents::{RealAgent, with_real};
use loop_testkit::model::{Api, ModelServer, Script, Turn};
use loop_testkit::{TestEnv, wait_at_most};

/// Lets a program do one task and looks at what came of it.
fn whole_turn(agent: RealAgent, api: Api, arguments: &[&str]) {
    let env = TestEnv::new("/bin/true");
    let turns = [
        Turn::write("hello.txt", "hello\n").saying("I write."),
        Turn::shell("cp hello.txt copy.txt"),
        Turn::text("All done here."),
    ];
    let server = ModelServer::start(Script::new(turns).in_folder(env.work()));
    let env = with_real(env, agent, &server).with("IS_SANDBOX", "1");
    env.write("prompt", "Write hello.txt and copy it.");
    let said = run(&env, agent, arguments);
    assert_eq!((env.read("work/hello.txt"), env.read("work/copy.txt")), ("hello\n".into(), "hello\n".into()), "{said}");
    assert!(said.contains("All done here."), "{said}");
    let seen = server.turns();
    assert_eq!(seen.len(), 3, "{seen:?}");
    assert!(seen.iter().all(|seen| seen.api == Some(api)), "{seen:?}");
    assert!(seen[0].body.contains("Write hello.txt and copy it."), "{:?}", seen[0]);
}

fn run(env: &TestEnv, agent: RealAgent, arguments: &[&str]) -> String {
    let mut command = Command::new(env.root().join("bin").join(agent.program()));
    env.apply_env(&mut command);
    command.args(arguments).stdin(std::fs::File::open(env.root().join("prompt")).unwrap());
    let (out, log) = (env.root().join("out"), env.root().join("log"));
    command.stdout(std::fs::File::create(&out).unwrap()).stderr(std::fs::File::create(&log).unwrap());
    let mut child = command.spawn().unwrap();
    let ended = wait_at_most(Duration::from_secs(240), || child.try_wait().unwrap().is_some());
    if !ended {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let said = format!("{}\n{}", env.read("out"), env.read("log"));
    assert!(ended, "no end in four minutes: {said}");
    said
}

#[test]
fn claude_understands_it() {
    let arguments = ["-p", "--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions"];
    whole_turn(RealAgent::Claude, Api::Anthropic, &arguments);
}

#[test]
fn codex_understands_it() {
    let arguments = ["exec", "--json", "--dangerously-bypass-approvals-and-sandbox", "--disable", "plugins", "-"];
    whole_turn(RealAgent::Codex, Api::Responses, &arguments);
}

#[test]
fn gemini_understands_it() {
    let arguments = ["--output-format", "stream-json", "--yolo", "--skip-trust", "-m", "gemini-2.5-pro"];
    whole_turn(RealAgent::Gemini, Api::Gemini, &arguments);
}

#[test]
fn qwen_understands_it() {
    whole_turn(RealAgent::Qwen, Api::Chat, &["--output-format", "stream-json", "--yolo"]);
}

#[test]
fn opencode_understands_it_in_all_three_apis() {
    let agents = [
        (RealAgent::Opencode, Api::Chat),
        (RealAgent::OpencodeAnthropic, Api::Anthropic),
        (RealAgent::OpencodeResponses, Api::Responses),
    ];
    for (agent, api) in agents {
        whole_turn(agent, api, &["run", "--format", "json", "--auto"]);
    }
}

#[test]
fn copilot_understands_it() {
    let arguments =
        ["--output-format", "json", "--allow-all-tools", "--allow-all-paths", "--no-ask-user", "--log-level", "none"];
    whole_turn(RealAgent::Copilot, Api::Chat, &arguments);
}

#[test]
fn pi_understands_it() {
    whole_turn(RealAgent::Pi, Api::Chat, &["--print", "--mode", "json"]);
}

#[test]
fn aider_understands_it() {
    let env = TestEnv::new("/bin/true");
    let block = "hello.txt\n```\n<<<<<<< SEARCH\n=======\nhello\n>>>>>>> REPLACE\n```\n";
    let server = ModelServer::start(Script::new([Turn::text(block)]).counting_all());
    let env = with_real(env, RealAgent::Aider, &server);
    env.write("prompt", "");
    env.write("message", "Write hello.txt.");
    let message = env.root().join("message").display().to_string();
    let plain = ["--edit-format", "diff", "--yes-always", "--no-git", "--no-pretty", "--no-show-model-warnings"];
    let said = run(&env, RealAgent::Aider, &[&plain[..], &["--message-file", &message]].concat());
    assert_eq!(env.read("work/hello.txt"), "hello\n", "{said}");
}
