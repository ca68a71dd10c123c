//! The gate runner: tries, time limits, verdicts, and what a gate sees.
use std::path::Path;
use std::sync::Arc;

use loop_core::policy::gate::Verdict;
use loop_core::run::Ended;
use loop_core::settings::GateSpec;
use loop_core::view::GateRun;
use loop_host::gate::{GateContext, GateMemory, GateProgress, GateRunner};
use loop_host::process::{Containment, become_reaper, tail_of};
use loop_host::signals::Signals;

/// Long enough for every gate here that ends by itself.
const TIMEOUT_MS: u64 = 60_000;

/// Gives the test a runner whose gates run in a folder.
fn with_runner<T>(folder: &Path, is_copy: bool, test: impl FnOnce(&mut GateRunner<'_>) -> T) -> T {
    with_context(GateContext { folder, same: None, is_copy, secrets: Arc::default(), variables: Vec::new() }, test)
}

fn with_context<T>(context: GateContext<'_>, test: impl FnOnce(&mut GateRunner<'_>) -> T) -> T {
    become_reaper().unwrap();
    let name = format!("gate-test-{}", std::process::id());
    let containment = Containment::with_program(&loop_testkit::built("loop"), &name, "plain", None).unwrap();
    let mut signals = Signals::listen().unwrap();
    let outputs = context.folder.join("outputs");
    test(&mut GateRunner::new(context, TIMEOUT_MS, outputs, containment, &mut signals))
}

fn judge(folder: &Path, gate: &GateSpec, completed: bool) -> GateRun {
    with_runner(folder, false, |runner| {
        runner.judge(gate, &GateMemory::completed(completed), &mut |_| {}).unwrap().unwrap()
    })
}

fn tries(command: &str, need: u32, all: u32) -> GateSpec {
    GateSpec { tries: Some((need, all)), ..GateSpec::new("flaky", command) }
}

#[test]
fn a_gate_is_tried_until_no_further_try_can_change_its_verdict() {
    let folder = tempfile::tempdir().unwrap();
    let judged = |command: &str, need, all| {
        let judged = judge(folder.path(), &tries(command, need, all), false);
        (judged.verdict, judged.tries)
    };
    assert_eq!(judged("true", 1, 1), (Verdict::Pass, 1));
    assert_eq!(judged("true", 2, 3), (Verdict::Pass, 2), "two of three are enough");
    assert_eq!(judged("false", 2, 3), (Verdict::Fail, 2), "the third cannot help");
    // Each try adds a letter: the first fails, the others pass.
    let flaky = "printf x >> count; test \"$(cat count)\" != x";
    assert_eq!(judged(flaky, 2, 3), (Verdict::Pass, 3));
    std::fs::remove_file(folder.path().join("count")).unwrap();
    assert_eq!(judged(flaky, 3, 3), (Verdict::Fail, 1), "all three had to pass");
}

#[test]
fn a_gate_past_its_limit_is_ended_and_fails_only_if_it_ran_to_its_end_before() {
    let folder = tempfile::tempdir().unwrap();
    let slow = GateSpec { timeout_ms: Some(300), ..GateSpec::new("slow", "touch began; sleep 300") };
    let judged = judge(folder.path(), &slow, false);
    assert_eq!((judged.verdict, &judged.report.ended), (Verdict::Unverifiable, &Ended::ByUs));
    assert!((300..60_000).contains(&judged.report.duration_ms), "{}", judged.report.duration_ms);
    assert!(folder.path().join("began").exists());
    assert_eq!(judge(folder.path(), &slow, true).verdict, Verdict::Fail);
    // A try that ran to its end in the same judgement counts as before.
    let once = "test -e ran && sleep 300; touch ran; false";
    let gate = GateSpec { timeout_ms: Some(2_000), ..tries(once, 1, 2) };
    let judged = judge(folder.path(), &gate, false);
    assert_eq!((judged.verdict, judged.tries), (Verdict::Fail, 2), "{:?}", judged.report);
}

#[test]
fn a_gate_that_cannot_do_its_work_is_unverifiable() {
    let folder = tempfile::tempdir().unwrap();
    let judged = judge(folder.path(), &GateSpec::new("gone", "no-such-program-anywhere"), true);
    assert_eq!((judged.verdict, &judged.report.ended), (Verdict::Unverifiable, &Ended::Exit(127)));
    assert!(judged.report.excerpt.contains("no-such-program-anywhere"), "{}", judged.report.excerpt);
    let missing = folder.path().join("missing");
    let judged = judge(&missing, &GateSpec::new("nowhere", "true"), true);
    assert!(matches!(judged.report.ended, Ended::NotStarted(_)), "{:?}", judged.report.ended);
    assert_eq!(judged.verdict, Verdict::Unverifiable);
}

#[test]
fn a_gate_gets_its_variables_and_what_it_prints_is_shown_stored_and_read() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = folder.path().join("copy");
    std::fs::create_dir(&workspace).unwrap();
    let command = "echo \"$LOOP_ID$LOOP_ITERATION$GIT_CEILING_DIRECTORIES $PWD\"; echo 'ok 1 - a'; echo 'not ok 2 - b'; \
                   echo '1..2'; echo trouble >&2; exit 1";
    let mut shown = Vec::new();
    let mut steps = Vec::new();
    let judged = with_runner(&workspace, true, |runner| {
        let judged =
            runner.judge(&GateSpec::new("tap", command), &GateMemory::default(), &mut |progress| match progress {
                GateProgress::Started(gate) => steps.push(format!("started {}", gate.name)),
                GateProgress::Output(bytes) => shown.extend_from_slice(bytes),
                GateProgress::Judged(judged) => steps.push(format!("judged {}", judged.verdict.name())),
                GateProgress::Message(text) => steps.push(text),
            });
        let stored = String::from_utf8(tail_of(&runner.output().join("stdout"), 4096)).unwrap();
        assert!(stored.starts_with(&format!("{} {}\n", folder.path().display(), workspace.display())), "{stored}");
        judged.unwrap().unwrap()
    });
    assert_eq!(steps, ["started tap", "judged fail"]);
    assert!(String::from_utf8_lossy(&shown).contains("trouble"));
    assert_eq!(judged.report.excerpt, "trouble", "stderr comes before stdout");
    let tests = judged.tests.unwrap();
    assert_eq!((tests.passed, tests.failed), (1, 1));
}

#[test]
fn a_gate_is_not_started_in_another_folder_that_took_the_place_of_its_own() {
    // req: RT-R1
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().join("work");
    std::fs::create_dir(&folder).unwrap();
    let opened = loop_host::fs::open_folder(&folder).unwrap();
    let same = Some(loop_host::fs::FolderId::of(&opened).unwrap());
    let gate = GateSpec::new("touches", "touch here");
    let context =
        || GateContext { folder: &folder, same, is_copy: false, secrets: Arc::default(), variables: Vec::new() };
    let judge = || {
        with_context(context(), |runner| {
            runner.judge(&gate, &GateMemory::completed(true), &mut |_| {}).unwrap().unwrap()
        })
    };
    assert_eq!(judge().verdict, Verdict::Pass);
    std::fs::rename(&folder, scratch.path().join("old")).unwrap();
    std::fs::create_dir(&folder).unwrap();
    let judged = judge();
    assert!(matches!(&judged.report.ended, Ended::NotStarted(why) if why.contains("replaced")), "{:?}", judged.report);
    assert_eq!((judged.verdict, folder.join("here").exists()), (Verdict::Unverifiable, false));
}
