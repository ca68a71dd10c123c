//! A launch without a terminal: refusals, questions and the final state are values.
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use loop_core::run::{Change, Entry, Outcome, RunState};
use loop_core::settings::{Given, Layer, Origin, key};
use loop_core::time::At;
use loop_core::view::LiveDigest;
use loop_host::changes::{ChangeForm, RunActivity, check_changes};
use loop_host::driver::Reporter;
use loop_host::launch::{
    self, DrivenRun, LaunchAnswers, LaunchRequest, PersonAnswer, PreparedResume, ResumeRequest, TaskSource,
};
use loop_host::paths::Home;
use loop_host::process::run_if_asked;
use loop_host::refusal::{LaunchRefusal, RefusalKind};
use serde_json::json;

/// A user with a home of their own and an empty workspace.
struct TestUser {
    scratch: tempfile::TempDir,
    home: Home,
}

impl TestUser {
    fn new() -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let home = Home { state: scratch.path().join("state"), config: scratch.path().join("config") };
        for folder in ["work", "config"] {
            std::fs::create_dir(scratch.path().join(folder)).unwrap();
        }
        Self { scratch, home }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.scratch.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    fn request(&self, settings: &[&str]) -> LaunchRequest {
        LaunchRequest {
            given: settings.iter().map(|pair| given(pair)).collect(),
            workspace: Some(self.path("work")),
            task: TaskSource::Text(b"make it so".to_vec()),
            agent_args: Vec::new(),
            dry_run: false,
            plan: None,
        }
    }

    fn refusal(&self, settings: &[&str], answers: &mut LaunchAnswers) -> LaunchRefusal {
        launch::prepare(&self.home, self.request(settings), answers).unwrap_err()
    }

    /// Starts a run whose processes this test program itself keeps together.
    fn run(&self, settings: &[&str]) -> DrivenRun {
        let mut answers = LaunchAnswers::default();
        let common = ["containment=plain", "checkpoint=none"];
        let request = self.request(&[&common[..], settings].concat());
        let prepared = launch::prepare(&self.home, request, &mut answers).unwrap();
        let ready = launch::create(&self.home, &prepared, &mut answers).unwrap();
        launch::drive(&self.home, ready, &mut Silent).unwrap()
    }
}

fn given(pair: &str) -> Given {
    let (name, value) = pair.split_once('=').unwrap();
    let key = key(name).unwrap();
    let place = format!("--{}", key.flag.long);
    Given::read(key, value, Origin { layer: Layer::Flag, place }).unwrap()
}

fn change(pair: &str) -> Vec<Change> {
    let (key, value) = pair.split_once('=').unwrap();
    vec![Change::new(key, value.to_owned())]
}

/// Shows nothing.
struct Silent;

impl Reporter for Silent {
    fn on_entry(&mut self, _: &Entry, _: &RunState) {}

    fn on_output(&mut self, _: &[u8]) {}

    fn on_live(&mut self, _: &LiveDigest) {}

    fn tick(&self) -> Option<Duration> {
        None
    }

    fn draw(&mut self, _: &RunState, _: At) {}
}

/// A driver starts its own program as shim, with `__shim` as the first word. For a test program this word is a filter,
/// which fits this test alone: so it is the shim then, and nothing otherwise.
#[test]
#[expect(non_snake_case, reason = "the word of the shim is in the name")]
fn this_program_serves_as_a__shim() {
    assert!(run_if_asked().is_none_or(|code| code == ExitCode::SUCCESS));
}

#[test]
fn an_agent_that_is_not_there_is_refused_with_what_why_and_hint() {
    let user = TestUser::new();
    user.write("config/config.toml", "[agents.mine]\ncommand = [\"/nowhere/mine\", \"-p\"]\n");
    let mut answers = LaunchAnswers::default();
    let refusal = user.refusal(&["agent=mine", "promise=make test"], &mut answers);
    assert_eq!(refusal.kind, RefusalKind::Wrong);
    assert_eq!(refusal.what, "the agent mine is not installed");
    assert_eq!(refusal.why, ["there is no program /nowhere/mine on PATH"]);
    assert!(!refusal.hints.is_empty());
    let refusal = user.refusal(&["agent=mini", "promise=true"], &mut answers);
    let value = serde_json::to_value(&refusal).unwrap();
    assert_eq!(value["kind"], "wrong_call");
    assert_eq!(value["what"], "--agent: there is no agent \"mini\"");
    assert!(value["why"][0].as_str().unwrap().starts_with("there are "), "{value}");
    assert_eq!(value["hints"], json!(["did you mean mine?"]));
    assert_eq!(serde_json::from_value::<LaunchRefusal>(value).unwrap(), refusal, "a client reads back what was sent");
    assert!(!user.home.state.exists(), "nothing was made");
}

#[test]
fn a_task_that_the_caller_should_have_is_asked_for_only_when_the_settings_are_right() {
    let user = TestUser::new();
    let mut answers = LaunchAnswers::default();
    let mut request = user.request(&["agent_cmd=true", "promise=true"]);
    request.task = TaskSource::Caller;
    request.workspace = Some(user.path("missing"));
    let refusal = launch::prepare(&user.home, request.clone(), &mut answers).unwrap_err();
    assert!(refusal.what.starts_with("cannot use the workspace"), "{refusal:?}");
    request.workspace = Some(user.path("work"));
    let refusal = launch::prepare(&user.home, request, &mut answers).unwrap_err();
    assert_eq!(refusal.what, "cannot read the prompt from stdin");
}

#[test]
fn the_question_about_a_project_file_is_answered_by_a_value() {
    let user = TestUser::new();
    user.write("work/.loop.toml", "promise = \"true\"\nagent_cmd = \"true\"\n");
    for answer in [PersonAnswer::No, PersonAnswer::NobodyThere] {
        let mut answers = LaunchAnswers { approve_project_file: answer, ..LaunchAnswers::default() };
        let refusal = user.refusal(&[], &mut answers);
        assert_eq!(refusal.what, ".loop.toml is not approved as it is now");
        assert!(refusal.why[0].contains(".loop.toml:2: agent_cmd = true"), "{refusal:?}");
    }
    let mut answers = LaunchAnswers { approve_project_file: PersonAnswer::Yes, ..LaunchAnswers::default() };
    let prepared = launch::prepare(&user.home, user.request(&[]), &mut answers).unwrap();
    assert_eq!(prepared.agent.agent.name(), "custom");
    // The approval is stored with the run, so nobody is asked again.
    launch::create(&user.home, &prepared, &mut answers).unwrap();
    launch::prepare(&user.home, user.request(&[]), &mut LaunchAnswers::default()).unwrap();
}

#[test]
fn an_agent_that_may_do_anything_is_confirmed_by_a_value() {
    let user = TestUser::new();
    let settings = ["agent_cmd=true", "promise=true", "permissions=all"];
    let mut answers = LaunchAnswers { allow_everything: PersonAnswer::No, ..LaunchAnswers::default() };
    let refusal = user.refusal(&settings, &mut answers);
    assert_eq!(refusal.why, ["--permissions all was not confirmed"]);
    // Where nobody can be asked, the setting itself is the answer.
    launch::prepare(&user.home, user.request(&settings), &mut LaunchAnswers::default()).unwrap();
}

#[test]
fn a_drive_gives_back_the_final_state() {
    let user = TestUser::new();
    let result = format!("result={}", user.path("result.json").display());
    let driven = user.run(&["agent_cmd=touch done", "promise=test -e done", &result]);
    assert_eq!(driven.state.over.as_ref().unwrap().outcome, Outcome::Verified, "{:?}", driven.state.over);
    assert_eq!((driven.exit_code(), driven.state.iterations_done()), (0, 1));
    assert_eq!(driven.notes, []);
    let folded = loop_host::journal::read(&driven.folder.path).unwrap().fold();
    assert_eq!(folded.over, driven.state.over, "it is the state of the journal");
    let result: serde_json::Value = serde_json::from_slice(&read(&user.path("result.json"))).unwrap();
    assert_eq!(result["exit_code"], 0, "{result}");
}

fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap()
}

#[test]
fn resume_and_set_have_one_rule_about_limits_that_are_used_up() {
    let user = TestUser::new();
    let driven = user.run(&["agent_cmd=true", "promise=false", "max_iterations=2", "min_iteration_duration=none"]);
    assert_eq!((driven.state.iterations_done(), driven.exit_code()), (2, 1));
    let resume = |pair: &str| {
        let request = ResumeRequest { changes: change(pair), inject: None, by: "a test".to_owned() };
        launch::prepare_resume(driven.folder.clone(), request, &mut LaunchAnswers::default())
    };
    let refusal = resume("max_iterations=2").unwrap_err();
    assert_eq!(refusal.sentence(), "--max-iterations cannot be 2: 2 iterations are used up already");
    assert_eq!(refusal.hints, ["give a larger one, or add to it: --max-iterations +…"]);
    let check = |pair: &str, activity| {
        let checked = check_changes(&change(pair), &driven.state, activity, ChangeForm::Pairs);
        checked.map(|checked| checked.changes).map_err(|refusal| refusal.sentence())
    };
    // The one difference: an iteration that is at work may still be the last.
    check("max_iterations=2", RunActivity::Stopped).unwrap_err();
    check("max_iterations=2", RunActivity::AtWork).unwrap();
    let refused = "max_iterations cannot be 1: iteration 2 has begun already".to_owned();
    assert_eq!(check("max_iterations=1", RunActivity::AtWork), Err(refused));
    for activity in [RunActivity::AtWork, RunActivity::Stopped] {
        assert_eq!(check("max_iterations=+3", activity), Ok(change("max_iterations=5")));
        check("max_time=1ms", activity).unwrap_err();
        check("promise=true", activity).unwrap_err();
        check("colour=blue", activity).unwrap_err();
    }
    let PreparedResume::Run(run) = resume("max_iterations=+1").unwrap() else { panic!("it can be resumed") };
    let ready = launch::reopen(&user.home, *run, &mut LaunchAnswers::default()).unwrap();
    let mut past = 0;
    ready.replay_into(&mut |entry, _| past = entry.seq);
    let mut newest = 0;
    let resumed = launch::drive(&user.home, ready, &mut Silent).unwrap();
    for entry in loop_host::journal::read(&driven.folder.path).unwrap().entries {
        newest = entry.seq;
    }
    assert_eq!(resumed.state.iterations_done(), 3);
    assert!(past > 0 && newest > past, "{past} {newest}");
}

#[test]
fn a_request_for_a_start_goes_to_another_process_as_json_and_is_checked_there() {
    let user = TestUser::new();
    let sent = serde_json::to_value(user.request(&["promise=make test", "max_iterations=3"])).unwrap();
    assert_eq!(sent["given"][1]["key"], json!("max_iterations"));
    let received: LaunchRequest = serde_json::from_value(sent.clone()).unwrap();
    assert_eq!(serde_json::to_value(&received).unwrap(), sent);
    for (field, value) in [("key", "max_iterationz"), ("value", "many")] {
        let mut wrong = sent.clone();
        wrong["given"][1][field] = json!(value);
        let error = serde_json::from_value::<LaunchRequest>(wrong).unwrap_err().to_string();
        assert!(error.contains(value), "{error}");
    }
}
