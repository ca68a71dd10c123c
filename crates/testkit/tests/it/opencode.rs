//! The real opencode, called and read as our adapter does it.
use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use loop_core::agent::{
    AttemptSpec, Begin, End, Failure, Permissions, Reading, ResetSource, Stream, Terminal, adapter,
};
use loop_core::run::Ended;
use loop_testkit::agents::{RealAgent, with_real};
use loop_testkit::model::{Fault, ModelServer, Script, Turn};
use loop_testkit::{TestEnv, wait_at_most};

const TESTS: &str = "echo ran > ran.txt; echo TESTS PASS\n";

/// A user of opencode whose model says this.
fn user(turns: impl IntoIterator<Item = Turn>) -> (TestEnv, ModelServer) {
    let env = TestEnv::new("/bin/true");
    let server = ModelServer::start(Script::new(turns).in_folder(env.work()));
    let env = with_real(env, RealAgent::Opencode, &server);
    env.write("work/run_tests.sh", TESTS);
    env.write("an attempt/prompt.md", "Please do the task.");
    env.write("an attempt/system.md", "End with a word of thanks.");
    (env, server)
}

/// One attempt.
fn attempt(env: &TestEnv, permissions: Permissions, session: Option<&str>) -> Reading {
    let mut command = Command::new("env");
    env.apply_env(&mut command);
    let text = |word: &std::ffi::OsStr| word.to_str().unwrap().to_owned();
    let ambient = command.get_envs().filter_map(|(name, value)| Some((text(name), text(value?)))).collect();
    let path = |name: &str| env.root().join("an attempt").join(name).display().to_string();
    let opencode = adapter("opencode").unwrap();
    let program = env.root().join("bin/opencode").display().to_string();
    let (folder, prompt_file, system_file) = (path(""), path("prompt.md"), path("system.md"));
    let call = (opencode.call)(&AttemptSpec {
        program: &program,
        harness: "loop",
        workspace: env.work().to_str().unwrap(),
        folder: folder.trim_end_matches('/'),
        prompt_file: &prompt_file,
        system: "End with a word of thanks.",
        system_file: &system_file,
        session,
        permissions,
        network: false,
        model: None,
        effort: None,
        args: &[],
        root: true,
        budget: None,
        ambient: &ambient,
    });
    for (path, text) in &call.files {
        fs::write(path, text).unwrap();
    }
    command.args(&call.argv).envs(call.env.iter().map(|(name, value)| (name, value)));
    command.stdin(fs::File::open(&prompt_file).unwrap());
    command.stdout(Stdio::from(fs::File::create(path("stdout")).unwrap()));
    command.stderr(Stdio::from(fs::File::create(path("stderr")).unwrap()));
    let mut child = command.spawn().unwrap();
    let in_time = wait_at_most(Duration::from_secs(240), || child.try_wait().unwrap().is_some());
    child.kill().unwrap();
    let status = child.wait().unwrap();
    let ended = if in_time { Ended::Exit(status.code().unwrap_or(-1)) } else { Ended::ByUs };
    let mut stream = Stream::new((opencode.reader)(Begin::default()));
    stream.push(&fs::read(path("stdout")).unwrap());
    let stderr = fs::read(path("stderr")).unwrap();
    let continued = session.is_some();
    let now = std::time::SystemTime::now().duration_since(std::time::SystemTime::UNIX_EPOCH).unwrap();
    let now_ms = u64::try_from(now.as_millis()).unwrap();
    stream.end(&End { ended: &ended, stderr: &stderr, asked: "", now_ms, utc_offset_s: 0, continued })
}

// req: C-18 partly: opencode, in the default mode
#[test]
fn in_work_it_edits_and_runs_commands_and_its_session_goes_on() {
    let turns = [
        Turn::write("hello.txt", "hi\n"),
        Turn::shell("sh run_tests.sh").tokens(10, 5, 1000),
        Turn::write("/var/tmp/loop-test-outside.txt", "out\n"),
        Turn::text("Done, thanks."),
        Turn::text("Still done."),
    ];
    let (env, server) = user(turns);
    let reading = attempt(&env, Permissions::Work, None);
    assert_eq!((reading.failure, reading.terminal), (None, Terminal::Success), "{reading:?}");
    assert_eq!((env.read("work/hello.txt"), env.read("work/ran.txt")), ("hi\n".to_owned(), "ran\n".to_owned()));
    assert_eq!(reading.text, "Done, thanks.");
    assert_eq!((reading.usage.turns, reading.tool_calls), (Some(4), Some(3)));
    assert_eq!((reading.usage.input_tokens, reading.usage.cache_read_tokens), (Some(310), Some(1000)));
    assert!(reading.usage.cost_micros.is_some_and(|cost| cost > 0), "{:?}", reading.usage);
    assert_eq!(reading.denials.first.as_deref(), Some("/var/tmp/loop-test-outside.txt"));
    assert!(!std::path::Path::new("/var/tmp/loop-test-outside.txt").exists());
    assert_eq!(server.requests().len(), 4, "not even one for a title");
    assert!(server.turns()[0].body.contains("End with a word of thanks."));
    let session = reading.session.unwrap();
    let reading = attempt(&env, Permissions::Work, Some(&session));
    assert_eq!((reading.session.as_deref(), reading.text.as_str()), (Some(session.as_str()), "Still done."));
    assert!(server.turns()[4].body.contains("Done, thanks."), "it remembers");
}

// req: C-18 partly: opencode, where commands are refused
#[test]
fn in_edit_it_edits_and_its_commands_are_refused_and_told() {
    let (env, _server) = user([Turn::write("hello.txt", "hi\n"), Turn::shell("sh run_tests.sh"), Turn::text("Hm.")]);
    let reading = attempt(&env, Permissions::Edit, None);
    assert_eq!((env.read("work/hello.txt"), env.read("work/ran.txt")), ("hi\n".to_owned(), String::new()));
    assert_eq!((reading.denials.count, reading.denials.first.as_deref()), (1, Some("sh run_tests.sh")), "{reading:?}");
    assert_eq!((reading.failure, reading.text.as_str()), (None, "Hm."));
}

#[test]
fn a_limit_ends_it_after_one_request_with_the_providers_moment() {
    let (env, server) = user([Turn::write("a", "b"), Turn::fault(Fault::UsageLimit(600))]);
    let reading = attempt(&env, Permissions::Work, None);
    assert_eq!(reading.failure, Some(Failure::RateLimit), "{reading:?}");
    assert_eq!(server.requests().len(), 2);
    let reset = reading.reset.unwrap();
    assert_eq!((Some(reset.at_ms / 1000), reset.source), (server.turns()[1].resets_at, ResetSource::Provider));
    assert!(reading.session.is_some(), "so that it can go on");
}

/// The model says one thing for ever: the class that is read from it, after so many requests at most.
fn ends_soon(turn: Turn, failure: Failure, requests: usize) {
    let (env, server) = user([turn]);
    let reading = attempt(&env, Permissions::Work, None);
    let seen = server.turns().len();
    assert_eq!(reading.failure, Some(failure), "after {seen} requests: {reading:?}");
    assert!(seen <= requests, "{seen} requests");
    assert!(reading.error.is_some(), "{reading:?}");
}

#[test]
fn a_401_ends_it_at_once() {
    ends_soon(Turn::fault(Fault::Auth), Failure::Auth, 1);
}

#[test]
fn no_credit_ends_it_at_once() {
    ends_soon(Turn::fault(Fault::Billing), Failure::Billing, 1);
}

#[test]
fn a_server_that_fails_is_asked_once_more_and_not_five_times() {
    ends_soon(Turn::fault(Fault::ServerError), Failure::Overload, 2);
}

#[test]
fn a_connection_that_breaks_is_tried_once_more_and_not_five_times() {
    ends_soon(Turn::close(), Failure::Network, 2);
}

#[test]
fn a_conversation_that_stays_too_long_does_not_go_on_for_ever() {
    ends_soon(Turn::fault(Fault::Context), Failure::Context, 3);
}

#[test]
fn answers_without_an_end_do_not_go_on_for_ever() {
    ends_soon(Turn::html(), Failure::Crash, 3);
}

#[test]
fn a_session_that_is_gone_is_lost() {
    let (env, server) = user([Turn::text("never")]);
    let reading = attempt(&env, Permissions::Work, Some("ses_000000000000000000000000"));
    assert!(reading.session_lost, "{reading:?}");
    assert_eq!(server.requests().len(), 0);
}
