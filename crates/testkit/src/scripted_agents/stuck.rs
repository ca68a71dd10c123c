//! Agents that make no progress: each ends by the breaker that is meant for it.
use super::liars::ASKED;
use super::{BASE, Behaviour, Check, Ends, IDLE, Ideal, Status, Turn, WORKS, exhausted, tampered, tripped, unable};

/// It does this and says something new each time.
const fn does(does: &'static str) -> Turn {
    Turn { does, ..IDLE }
}

/// The same error, with other numbers in it each time.
const FAILS: Ends = Ends::Fails("tool failed: error[E0425] at src/parse.rs:{n}3:7 (thread 91{n}, 0.{n}2 s)");
/// The same words, whatever it does.
const SAME: &str = "I improved the handling of the input.";
const LONG: &str = include_str!("long.txt");

pub(super) const ALL: &[Behaviour] = &[
    Behaviour {
        name: "stuck-clean",
        turns: &[IDLE],
        ideal: tripped("no_progress", 3),
        checks: &[Check::Calls(3)],
        ..BASE
    },
    Behaviour {
        name: "stuck-dirty",
        turns: &[does("echo x >> src/notes.txt"), IDLE],
        ideal: tripped("no_progress", 4),
        ..BASE
    },
    Behaviour {
        name: "stuck-unmeasured",
        arguments: &["--checkpoint", "none"],
        turns: &[does("echo $N >> src/notes.txt"), IDLE],
        ideal: tripped("no_progress", 4),
        ..BASE
    },
    Behaviour {
        name: "writes-unmeasured",
        arguments: &["--checkpoint", "none", "-n", "6"],
        turns: &[does("echo $N >> src/notes.txt")],
        ideal: exhausted("iteration_limit", 6),
        ..BASE
    },
    Behaviour {
        name: "dirty-before",
        project: &["echo unsaved >> src/work.txt; echo new > src/new.txt"],
        turns: &[IDLE],
        ideal: tripped("no_progress", 3),
        ..BASE
    },
    Behaviour {
        name: "oscillates-2",
        turns: &[does("echo state-$((N % 2)) > src/code.txt")],
        ideal: tripped("oscillation", 4),
        over: 2,
        ..BASE
    },
    Behaviour {
        name: "oscillates-3",
        turns: &[does("echo state-$((N % 3)) > src/code.txt")],
        ideal: tripped("oscillation", 5),
        over: 2,
        ..BASE
    },
    Behaviour {
        name: "undoes-itself",
        turns: &[does("git stash -q 2>/dev/null; [ $((N % 2)) = 0 ] || echo try >> src/work.txt")],
        ideal: tripped("oscillation", 3),
        over: 2,
        ..BASE
    },
    Behaviour {
        name: "same-error",
        turns: &[Turn {
            does: "echo \"try $N\" >> src/code.txt",
            says: "The build fails again, try {n}.",
            status: Status::Error,
            ..WORKS
        }],
        ideal: tripped("same_error", 5),
        ..BASE
    },
    Behaviour {
        // Its program fails, and nothing comes of it.
        name: "same-failure",
        turns: &[Turn { does: "true", ends: FAILS, ..WORKS }],
        ideal: unable(3),
        ..BASE
    },
    Behaviour {
        // Its program fails in the same way, but each iteration leaves some work: that is not stuck.
        name: "same-failure-with-work",
        arguments: &["-n", "7"],
        turns: &[Turn { does: "echo \"try $N\" >> src/code.txt", ends: FAILS, ..WORKS }],
        ideal: exhausted("iteration_limit", 7),
        ..BASE
    },
    Behaviour {
        name: "test-only",
        turns: &[does("echo \"case $N\" >> tests/cases.txt")],
        ideal: tripped("test_loops", 3),
        ..BASE
    },
    Behaviour {
        name: "identical-output",
        turns: &[Turn { does: "echo \"line $N\" >> src/code.txt", says: SAME, status: Status::Nothing, ..WORKS }],
        ideal: tripped("identical_output", 5),
        ..BASE
    },
    Behaviour {
        name: "output-decline",
        turns: &[
            Turn { does: "echo begun >> src/code.txt", says: LONG, status: Status::Nothing, ..WORKS },
            Turn {
                says: "I looked at the parser once more and at the way it treats the end of the input, and at its tests; \
                nothing there explains what we see, so I will look at the reader of files next, then at the writer, and \
                at last at the way in which both share the buffer {n}.",
                status: Status::Nothing,
                ..IDLE
            },
            Turn { says: "No {n}.", status: Status::Nothing, ..IDLE },
        ],
        ideal: tripped("output_decline", 3),
        over: 1,
        ..BASE
    },
    Behaviour {
        name: "empty-commits",
        turns: &[does("git commit -q --allow-empty -m \"step $N\"")],
        ideal: tripped("no_progress", 3),
        ..BASE
    },
    Behaviour {
        name: "our-own-files",
        turns: &[does("mkdir -p .loopr .harness; date +%N > .loopr/status.json; echo $N > .harness/state")],
        ideal: tripped("no_progress", 3),
        ..BASE
    },
    Behaviour {
        name: "touches-only",
        turns: &[does("touch src/work.txt run_tests.sh")],
        ideal: tripped("no_progress", 3),
        ..BASE
    },
    Behaviour {
        name: "works-elsewhere",
        turns: &[does("echo \"step $N\" >> ../elsewhere.txt")],
        ideal: tripped("no_progress", 3),
        ..BASE
    },
    Behaviour {
        name: "makes-files-that-are-built",
        turns: &[does("mkdir -p build; echo $N > build/cache; echo $N > data.log")],
        project: &["echo '*.log' >> .gitignore"],
        ideal: tripped("no_progress", 3),
        ..BASE
    },
    Behaviour {
        name: "gate-writes-ignored-files",
        project: &["sed -i '2i mkdir -p data; date +%N >> data/count' run_tests.sh"],
        turns: &[IDLE],
        ideal: tripped("no_progress", 3),
        truth: "[ $(grep -c step src/work.txt) -ge 4 ]",
        ..BASE
    },
    Behaviour {
        name: "gate-writes-files",
        project: &["sed -i '2i date +%N >> gate.log' run_tests.sh"],
        turns: &[IDLE],
        ideal: tripped("no_progress", 3),
        truth: "[ $(grep -c step src/work.txt) -ge 4 ]",
        ..BASE
    },
    Behaviour {
        name: "stuck-without-breaker",
        arguments: &["--breaker", "off", "-n", "6"],
        turns: &[IDLE],
        ideal: exhausted("iteration_limit", 6),
        ..BASE
    },
    Behaviour {
        name: "crash-for-ever",
        turns: &[Turn { does: ":", ends: Ends::Crashes, ..WORKS }],
        ideal: unable(3),
        checks: &[Check::Why("failed 3 times in a row")],
        ..BASE
    },
    Behaviour { name: "mute", turns: &[Turn { does: ":", ends: Ends::Mute, ..WORKS }], ideal: unable(3), ..BASE },
    Behaviour {
        name: "hangs-until-the-time-limit",
        arguments: &["--max-time", "8s"],
        turns: &[Turn { ends: Ends::Hangs, ..WORKS }],
        ideal: exhausted("time_limit", 1),
        ..BASE
    },
    Behaviour {
        name: "deletes-everything",
        turns: &[does("rm -rf src tests run_tests.sh .git .gitignore")],
        ideal: tampered(3),
        checks: &[ASKED],
        ..BASE
    },
    Behaviour {
        name: "hangs",
        arguments: &["--timeout", "2s"],
        turns: &[Turn { does: ":", ends: Ends::Hangs, ..WORKS }],
        ideal: unable(3),
        checks: &[Check::Why("at a time limit")],
        ..BASE
    },
    Behaviour {
        name: "refuses",
        turns: &[Turn {
            does: ":",
            ends: Ends::Fails(
                "API Error: the model is unable to respond to this request, which appears to violate our Usage Policy",
            ),
            ..WORKS
        }],
        ideal: unable(3),
        ..BASE
    },
    Behaviour {
        name: "blocked",
        turns: &[Turn { says: "I need the password of the database, try {n}.", status: Status::Blocked, ..IDLE }],
        ideal: tripped("no_progress", 3),
        ..BASE
    },
    Behaviour {
        name: "blocked-stops",
        arguments: &["--on-blocked", "stop"],
        turns: &[WORKS, Turn { says: "I need the password of the database.", status: Status::Blocked, ..IDLE }],
        ideal: Ideal { outcome: "blocked", reason: "agent_blocked", code: 1, iterations: 2 },
        ..BASE
    },
    Behaviour {
        name: "denied-everything",
        turns: &[Turn { does: ":", ends: Ends::Denied("make all"), ..IDLE }],
        ideal: tripped("no_progress", 3),
        checks: &[Check::Told(2, "refused")],
        ..BASE
    },
    Behaviour {
        name: "asks-in-words",
        turns: &[Turn { says: "Should I use tabs or spaces, {n}?", status: Status::Nothing, ..IDLE }],
        ideal: tripped("no_progress", 3),
        ..BASE
    },
];
