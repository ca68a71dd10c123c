//! The word that people see: every face of an end says the same, and no success stands without its qualification.
use loop_testkit::TestEnv;
use serde_json::Value;

use crate::{start, user};

/// How a run ends, and what every face must say of it.
struct End {
    what: &'static str,
    promise: &'static [&'static str],
    more: &'static [&'static str],
    accept: bool,
    outcome: &'static str,
    status: &'static str,
    qualification: Option<&'static str>,
    code: i32,
}

const WORK: &str = "touch done.txt; echo '<promise>COMPLETE</promise>'";
const VERIFIED: End = End {
    what: "verified",
    promise: &["--promise", "test -e done.txt"],
    more: &["--strength", "off"],
    accept: false,
    outcome: "verified",
    status: "completed",
    qualification: None,
    code: 0,
};
const PASSED_BUT: End = End {
    what: "passed, but",
    more: &["--strength", "require"],
    outcome: "passed_but",
    status: "failed",
    qualification: Some("passed, but not verified"),
    code: 1,
    ..VERIFIED
};

const ENDS: [End; 8] = [
    VERIFIED,
    End {
        what: "verified, with a finding that is only named",
        promise: &["--promise", "make lint; make test"],
        qualification: Some("1 finding named"),
        ..VERIFIED
    },
    End {
        what: "verified in the workspace only",
        more: &["--strength", "off", "--judge", "workspace"],
        qualification: Some("in the workspace only"),
        ..VERIFIED
    },
    End {
        what: "verified, with a finding that was accepted from the start",
        more: &["--strength", "require", "--accept", "strength"],
        qualification: Some("1 finding accepted by you, 1 finding named"),
        ..VERIFIED
    },
    End {
        what: "verified before any iteration",
        promise: &["--promise", "true"],
        qualification: Some("before any iteration"),
        ..VERIFIED
    },
    PASSED_BUT,
    End {
        what: "accepted",
        accept: true,
        outcome: "accepted",
        status: "completed",
        qualification: Some("accepted by a person, not verified"),
        code: 1,
        ..PASSED_BUT
    },
    End {
        what: "claimed",
        promise: &["--no-promise"],
        outcome: "claimed",
        qualification: Some("claimed by the agent, not verified"),
        ..VERIFIED
    },
];

/// Everything that says how a run ended, for people: the name of the face and its text.
fn faces(user: &TestEnv, id: &str) -> Vec<(&'static str, String)> {
    let say = |words: &[&str]| user.run(words).expect_code(0).out();
    let first = |text: String| {
        text.lines()
            .find(|line| line.contains("done") || line.contains("passed, but"))
            .map(str::to_owned)
            .unwrap_or_default()
    };
    vec![
        ("exit screen", first(say(&["watch", id]))),
        ("-q", say(&["-q", "watch", id])),
        ("list", say(&["list"])),
        ("loop alone", say(&[])),
        ("status", say(&["status", id])),
        ("history", say(&["history", id])),
    ]
}

/// The same for programs: the object that has `outcome`, `qualification` and more.
fn objects(user: &TestEnv, id: &str) -> Vec<(&'static str, Value)> {
    let say = |words: &[&str]| user.run(words).expect_code(0).json();
    let result = serde_json::from_str(&user.read("result.json")).unwrap();
    vec![
        ("list --json", say(&["list", "--json"])["loops"][0].clone()),
        ("status --json", say(&["status", id, "--json"])["loops"][0].clone()),
        ("result file", result),
    ]
}

#[test]
fn every_face_of_an_end_says_the_same_with_its_qualification() {
    for end in &ENDS {
        let user = user();
        user.program("make", "test -e done.txt");
        user.program("notify-send", "printf '%s|' \"$1\" \"$LOOP_OUTCOME\" \"$LOOP_QUALIFICATION\" > \"$HOME/told\"");
        let result = user.root().join("result.json").display().to_string();
        let words = [
            &["start", "do it", "--agent-cmd", WORK, "--notify", "--json", "--result", &result][..],
            end.promise,
            end.more,
        ];
        let ran = user.run(&words.concat()).expect_code(end.code);
        let (id, what) = (user.id(), end.what);
        let told = user.read("home/told");
        let ended: Value = ran.out().lines().last().map(|line| serde_json::from_str(line).unwrap()).unwrap();
        let mut programs = Vec::new();
        if end.accept {
            user.run(&["accept", &id]).expect_code(0);
        } else {
            let title = match end.qualification {
                Some(words) => format!("loop {id}: {} ({words})|{}|{words}|", end.status, end.outcome),
                None => format!("loop {id}: {}|{}||", end.status, end.outcome),
            };
            assert_eq!(told, title, "{what}: notification");
            programs.push(("--json event", ended));
        }
        programs.extend(objects(&user, &id));
        for (face, object) in programs {
            let said = (object["outcome"].as_str(), object["qualification"].as_str());
            assert_eq!(said, (Some(end.outcome), end.qualification), "{what}: {face}: {object}");
            let code = object.get("exit_code").and_then(Value::as_i64);
            let wanted = if end.accept { 0 } else { i64::from(end.code) };
            assert!(code.is_none_or(|code| code == wanted), "{what}: {face}: {object}");
            let verified = object.get("verified").and_then(Value::as_bool);
            assert!(verified.is_none_or(|verified| verified == (end.outcome == "verified")), "{what}: {face}");
        }
        for (face, text) in faces(&user, &id) {
            match end.qualification {
                Some(words) => assert!(text.contains(words), "{what}: {face}: {text}"),
                None => {
                    for word in ["not verified", "only", "named", "accepted", "before any"] {
                        assert!(!text.contains(word), "{what}: {face}: {text}");
                    }
                }
            }
        }
    }
}

#[test]
fn an_agent_cannot_accept_a_loop_not_even_from_a_process_that_left_its_parents_and_its_environment() {
    let user = user();
    user.run(&["start", "do it", "--agent-cmd", WORK, "--promise", "test -e done.txt", "--strength", "require"])
        .expect_code(1);
    let ended = user.id();
    let (program, home) = (env!("CARGO_BIN_EXE_loop"), user.root().join("home"));
    std::fs::remove_file(user.work().join("done.txt")).unwrap();
    // It is a child of nobody that the agent started, and has no variable of the loop.
    let accept = format!("env -i HOME='{}' PATH=/usr/bin:/bin '{program}' accept {ended}", home.display());
    let agent = format!(
        "(setsid sh -c \"{accept} > ../said 2>&1; echo \\$? > ../code\" &) & \
         while ! test -s ../code; do sleep 0.05; done; touch done.txt"
    );
    user.run(&[
        "start",
        "again",
        "--agent-cmd",
        &agent,
        "--promise",
        "test -e done.txt",
        "--strength",
        "off",
        "-n",
        "1",
    ])
    .expect_code(0);
    assert_eq!(
        (user.read("code").trim(), user.read("said").contains("from inside a loop")),
        ("4", true),
        "{}",
        user.read("said")
    );
    let status = user.run(&["status", &ended, "--json"]).expect_code(0).json();
    assert_eq!(status["loops"][0]["outcome"], "passed_but");
}

#[test]
fn what_is_accepted_may_be_given_several_times() {
    let user = user();
    user.run(&start("true", "true", &["--accept", "renamed-tests", "--accept", "undo"])).expect_code(0);
    let journal = std::fs::read_to_string(user.run_folder(&user.id()).join("journal.jsonl")).unwrap();
    assert!(journal.contains(r"renamed-tests\nundo"), "{journal}");
}

#[test]
fn a_loop_that_is_done_and_was_rolled_back_says_so_in_its_status() {
    let user = user();
    user.run(&start("touch done", "test -e done", &[])).expect_code(0);
    let id = user.id();
    user.run(&["rollback", &id, "initial"]).expect_code(0);
    for words in [&["status", &id][..], &["list"], &["report", &id]] {
        let ran = user.run(words).expect_code(0);
        assert!(ran.out().contains("rolled back to initial since"), "{words:?}: {}", ran.text());
    }
    user.run(&["rollback", &id, "undo"]).expect_code(0);
    let ran = user.run(&["status", &id]).expect_code(0);
    assert!(!ran.out().contains("rolled back to"), "{}", ran.text());
}

#[test]
fn a_verified_loop_that_was_rolled_back_keeps_its_proof_where_its_resume_cannot_work() {
    let user = user();
    let agent = "test -e ../broken && exit 3; touch done";
    user.run(&start(agent, "test -e done", &["--strength", "off"])).expect_code(0);
    let id = user.id();
    let before = user.run(&["proof", &id]).expect_code(0).out();
    user.run(&["rollback", &id, "initial"]).expect_code(0);
    user.write("broken", "");
    let resumed = user.run(&["resume", &id, "-n", "+9"]).expect_code(3);
    let proof = user.run(&["proof", &id]).expect_code(0);
    assert!(proof.err().contains("could not work: this is the proof of its end before"), "{}", proof.text());
    assert!(!before.is_empty() && !proof.out().is_empty(), "{}", resumed.text());
    user.run(&["verify", &id]).expect_code(0);
    let status = user.run(&["status", &id]).expect_code(0);
    assert!(status.out().contains(&format!("its proof stays: loop proof {id}")), "{}", status.text());
    assert!(status.out().contains("crashed"), "{}", status.text());
}

#[test]
fn a_resume_without_its_agent_on_the_path_is_refused_before_anything_begins() {
    let user = user();
    user.program("claude", "[ \"$1\" = --version ] && { echo 1.0; exit 0; }; cat > /dev/null; exit 1");
    user.run(&["start", "x", "-p", "false", "--agent", "claude", "-n", "1"]).expect_code(1);
    let id = user.id();
    std::fs::remove_file(user.root().join("bin/claude")).unwrap();
    let ran = user.run(&["resume", &id, "-n", "+1"]).expect_code(4);
    assert!(ran.err().contains("the agent claude is not installed"), "{}", ran.text());
}
