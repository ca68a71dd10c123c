//! The word that people see of the end of a plan: every face says the same, and nothing is called done or verified without
//! what qualifies it.
use loop_testkit::TestEnv;
use serde_json::Value;

use crate::user;

/// How a plan ends, and what every face must say of it.
struct End {
    what: &'static str,
    start: &'static [&'static str],
    /// The workflow file; empty for a best-of.
    file: &'static str,
    /// In the row of a list.
    outcome: &'static str,
    qualification: Option<&'static str>,
}

const WORK: &str = "touch done.txt; echo '<promise>COMPLETE</promise>'";
const BEST_OF: &[&str] = &["start", "do it", "--best-of", "2", "--strength", "off"];
const WORKFLOW: &[&str] = &["workflow", "run", "flow.yaml", "--strength", "off"];
const VERIFIED: End = End {
    what: "a branch verified in a clean copy",
    start: &["start", "do it", "--best-of", "2", "--strength", "off", "--promise", "test -e done.txt"],
    file: "",
    outcome: "verified",
    qualification: None,
};

const ENDS: [End; 6] = [
    VERIFIED,
    End {
        what: "a branch verified where it worked",
        start: &[
            "start",
            "do it",
            "--best-of",
            "2",
            "--strength",
            "off",
            "--promise",
            "test -e done.txt",
            "--judge",
            "workspace",
        ],
        qualification: Some("in the workspace only"),
        ..VERIFIED
    },
    End {
        what: "a branch with a finding that is only named",
        start: &["start", "do it", "--best-of", "2", "--strength", "off", "--promise", "make lint; make test"],
        qualification: Some("1 finding named"),
        ..VERIFIED
    },
    End {
        what: "a workflow of loops that were only claimed",
        start: WORKFLOW,
        file: "loops: [{id: a, prompt: one, no_promise: true}]",
        outcome: "claimed",
        qualification: Some("claimed by the agent, not verified"),
    },
    End {
        what: "a workflow with one claimed loop",
        start: WORKFLOW,
        file: "loops: [{id: a, prompt: one, promise: test -e done.txt}, \
               {id: b, prompt: two, no_promise: true, depends_on: [a]}]",
        outcome: "claimed",
        qualification: Some("claimed by the agent, not verified (b)"),
    },
    End {
        what: "a workflow whose loops have different qualifications",
        start: WORKFLOW,
        file: "loops: [{id: a, prompt: one, promise: test -e done.txt, judge: workspace}, \
               {id: b, prompt: two, promise: test -e done.txt, depends_on: [a]}]",
        qualification: Some("in the workspace only (a); before any iteration (b)"),
        ..VERIFIED
    },
];

/// The id of the only plan.
fn plan(user: &TestEnv) -> String {
    let entries = std::fs::read_dir(user.state().join("plans")).into_iter().flatten().flatten();
    let ids: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    assert_eq!(ids.len(), 1, "one plan: {ids:?}");
    ids[0].clone()
}

/// Everything that says how a plan ended, for people: the name of the face and its text.
fn faces(user: &TestEnv, id: &str) -> Vec<(&'static str, String)> {
    let say = |words: &[&str]| user.run(words).expect_code(0).out();
    let line = |text: String, part: &str| {
        let begins = text.lines().find(|line| line.trim_start().starts_with(part));
        let found = begins.or_else(|| text.lines().find(|line| line.contains(part))).map(str::to_owned);
        found.unwrap_or_else(|| format!("no line with {part}: {text}"))
    };
    vec![
        ("exit screen", line(say(&["watch", id]), "done")),
        ("-q", say(&["-q", "watch", id])),
        ("list", line(say(&["list"]), id)),
        ("loop alone", line(say(&[]), id)),
        ("status", line(say(&["status", id]), "status ")),
        ("history", line(say(&["history", id]), "ended: ")),
        ("report", say(&["report", id])),
    ]
}

#[test]
fn every_face_of_the_end_of_a_plan_says_the_same_with_its_qualification() {
    for end in &ENDS {
        let user = user();
        user.program("make", "test -e done.txt");
        let told = "printf '%s|%s|%s|' \"$1\" \"$LOOP_OUTCOME\" \"$LOOP_QUALIFICATION\" > \"$HOME/told\"";
        user.program("notify-send", told);
        user.write("work/flow.yaml", end.file);
        let what = end.what;
        let notify: &[&str] = if end.file.is_empty() { &["--notify"] } else { &[] };
        let ran = user.run(&[end.start, &["--agent-cmd", WORK, "--json"], notify].concat()).expect_code(0);
        let id = plan(&user);
        let ended: Value = ran.out().lines().last().map(|line| serde_json::from_str(line).unwrap()).unwrap();
        if end.file.is_empty() {
            let words = end.qualification.map_or_else(String::new, |words| format!(" ({words})"));
            let title = format!("plan {id}: completed{words}|applied|{}|", end.qualification.unwrap_or_default());
            assert_eq!(user.read("home/told"), title, "{what}: notification");
        }
        let say = |words: &[&str]| user.run(words).expect_code(0).json();
        let listed = say(&["list", "--json"])["plans"][0].clone();
        let status = say(&["status", &id, "--json"]);
        let history = say(&["history", &id, "--json"])["plan"].clone();
        for (face, object) in [("event", ended), ("list", listed), ("status", status), ("history", history)] {
            let said = (object["qualification"].as_str(), object["result"].as_str());
            assert_eq!(said, (end.qualification, Some(end.outcome)), "{what}: {face} --json: {object}");
        }
        for (face, text) in faces(&user, &id) {
            match end.qualification {
                Some(words) => {
                    // A column of a list gets narrower where a row does not fit.
                    let is_row = matches!(face, "list" | "loop alone");
                    let words = if is_row { words.get(..20).unwrap_or(words) } else { words };
                    assert!(text.contains(words), "{what}: {face}: {text}");
                }
                None => {
                    for word in ["not verified", "workspace only", "named", "accepted", "before any"] {
                        assert!(!text.contains(word), "{what}: {face}: {text}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_plan_that_was_rolled_back_is_not_shown_as_done_without_a_word() {
    let user = user();
    drop(user.run(&[BEST_OF, &["--promise", "test -e done.txt", "--agent-cmd", WORK]].concat()).expect_code(0));
    let id = plan(&user);
    drop(user.run(&["rollback", &id, "initial"]).expect_code(0));
    let listed = user.run(&["list", "--json"]).expect_code(0).json();
    assert_eq!(listed["plans"][0]["qualification"], "rolled back to initial since", "{listed}");
}
