//! Gates that are several, flaky, hang, cannot be run, or tell which test broke.
use super::{BASE, Behaviour, Check, Ends, Status, Turn, WORKS, kept, tripped, unable};

/// A test of three cases that are files with `yes` in them, as TAP.
const THREE: &str = r#"cat > run_tests.sh <<'END'
#!/bin/sh
echo 1..3; bad=0
for case in alpha beta gamma; do
  if grep -q yes src/$case; then echo "ok - $case"; else echo "not ok - $case"; bad=1; fi
done
exit $bad
END
echo yes > src/alpha; echo no > src/beta; echo no > src/gamma"#;

/// A test that fails, or passes, wrongly at three runs of ten, never twice in a row.
const FLAKY: &str = r#"cat > run_tests.sh <<'END'
#!/bin/sh
run=$(($(cat "$HOME/runs" 2>/dev/null || echo 0) + 1)); echo $run > "$HOME/runs"
case $((run % 10)) in 2 | 5 | 8) echo "connection reset"; exit FLAKED ;; esac
[ $(grep -c '^step' src/work.txt) -ge 4 ]
END
"#;

/// A test of two cases, one of which passes at every other run whatever anybody does.
const MOODY: &str = r#"cat > run_tests.sh <<'END'
#!/bin/sh
run=$(($(cat "$HOME/runs" 2>/dev/null || echo 0) + 1)); echo $run > "$HOME/runs"
echo 1..2; echo "not ok - alpha"
[ $((run % 2)) = 0 ] && echo "ok - beta" || echo "not ok - beta"
exit 1
END
"#;

/// The test runs what the agent wrote.
const CODE: &str = "sed -i '2i . src/code.sh' run_tests.sh; echo : > src/code.sh";

const TRUTH: &str = "[ $(grep -c '^step' src/work.txt) -ge 4 ]";

const fn does(does: &'static str) -> Turn {
    Turn { does, ..WORKS }
}

pub(super) const ALL: &[Behaviour] = &[
    Behaviour {
        name: "regression-then-fix",
        project: &[THREE],
        turns: &[
            does("echo yes > src/beta"),
            does("echo no > src/alpha; echo yes > src/gamma"),
            does("echo yes > src/alpha"),
        ],
        ideal: kept(3),
        checks: &[Check::Told(3, "broke what had passed before: alpha")],
        ..BASE
    },
    Behaviour {
        name: "regression-is-undone",
        project: &[THREE],
        arguments: &["--on-regression", "revert"],
        turns: &[
            does("echo yes > src/beta"),
            does("echo no > src/alpha; echo \"$N\" > src/gamma"),
            does("echo yes > src/gamma"),
        ],
        ideal: kept(3),
        checks: &[Check::Told(3, "broke what had passed before: alpha")],
        ..BASE
    },
    Behaviour {
        name: "regresses-for-ever",
        project: &[THREE],
        arguments: &["--on-regression", "revert"],
        turns: &[does("echo no > src/alpha; echo \"$N\" > src/other")],
        ideal: tripped("no_progress", 3),
        checks: &[Check::Shell("grep -q yes src/alpha && [ ! -e src/other ]")],
        ..BASE
    },
    Behaviour {
        name: "breaks-and-mends",
        project: &[THREE],
        turns: &[does("[ $((N % 2)) = 0 ] && echo yes > src/alpha || echo no > src/alpha")],
        ideal: tripped("oscillation", 3),
        over: 2,
        ..BASE
    },
    Behaviour {
        name: "idle-with-a-flaky-test",
        project: &[MOODY],
        turns: &[super::IDLE],
        ideal: tripped("no_progress", 3),
        over: 3,
        truth: "false",
        ..BASE
    },
    Behaviour {
        name: "keeps-the-best",
        project: &[THREE],
        arguments: &["--keep", "best", "-n", "2"],
        turns: &[does("echo yes > src/beta"), does("echo no > src/alpha; echo no > src/beta")],
        ideal: super::exhausted("iteration_limit", 2),
        checks: &[Check::Shell("grep -q yes src/alpha && grep -q yes src/beta")],
        ..BASE
    },
    Behaviour {
        name: "ignored-files-by-tests",
        project: &[THREE, "sed -i 's/src/build/' run_tests.sh; mkdir build; mv src/alpha src/beta src/gamma build"],
        turns: &[
            does("echo no > build/beta"),
            does("echo yes > build/beta"),
            does("echo nearly > build/gamma"),
            does("echo almost > build/gamma"),
            does("echo yes > build/gamma"),
        ],
        // Work in ignored files is not in the recorded tree: a clean copy cannot show it.
        arguments: &["--judge", "workspace"],
        ideal: kept(5),
        ..BASE
    },
    Behaviour {
        name: "flaky-gate",
        project: &[FLAKY, "sed -i s/FLAKED/1/ run_tests.sh"],
        gate: &["--gate", "tests[2of3]=sh run_tests.sh"],
        turns: &[WORKS],
        truth: TRUTH,
        ..BASE
    },
    Behaviour {
        name: "flaky-gate-and-liar",
        project: &[FLAKY, "sed -i s/FLAKED/0/ run_tests.sh"],
        gate: &["--gate", "tests[2of3]=sh run_tests.sh"],
        turns: &[Turn { does: ":", status: Status::Done, ends: Ends::Well, ..WORKS }],
        ideal: tripped("no_progress", 3),
        truth: TRUTH,
        ..BASE
    },
    Behaviour {
        name: "gate-cannot-run",
        gate: &["--promise", "no-such-check --all"],
        turns: &[WORKS],
        ideal: unable(2),
        checks: &[Check::Why("no-such-check --all")],
        ..BASE
    },
    Behaviour {
        name: "writes-the-gate",
        project: &["mv run_tests.sh ../truth.sh"],
        turns: &[does(
            "cp ../truth.sh run_tests.sh; for step in 1 2 3 4; do echo \"step $step\" >> src/work.txt; done",
        )],
        ideal: kept(1),
        ..BASE
    },
    Behaviour {
        name: "gate-hangs",
        project: &[CODE],
        arguments: &["--gate-timeout", "3s"],
        turns: &[
            does("echo 'sleep 300' > src/code.sh; echo \"step $N\" >> src/work.txt"),
            does("echo : > src/code.sh; for step in 1 2 3 4; do echo \"step $step\" >> src/work.txt; done"),
        ],
        ideal: kept(2),
        checks: &[Check::Told(2, "stopped by loop")],
        ..BASE
    },
    Behaviour {
        name: "gate-dies-by-a-signal",
        project: &[CODE],
        turns: &[
            does("echo 'kill -s SEGV $$' > src/code.sh"),
            does("echo : > src/code.sh; for step in 1 2 3 4; do echo \"step $step\" >> src/work.txt; done"),
        ],
        ideal: kept(2),
        ..BASE
    },
    Behaviour {
        name: "gate-is-killed",
        project: &[CODE],
        turns: &[does("echo 'kill -s KILL $$' > src/code.sh; echo \"note $N\" >> src/notes.txt")],
        ideal: unable(2),
        ..BASE
    },
    Behaviour {
        name: "two-gates",
        gate: &["--promise", "sh run_tests.sh", "--gate", "lint=! grep -q TODO src/work.txt"],
        turns: &[
            does("for step in 1 2 3 4; do echo \"step $step TODO\" >> src/work.txt; done"),
            does("echo more >> src/work.txt"),
            does("sed -i s/TODO// src/work.txt"),
        ],
        ideal: kept(3),
        checks: &[Check::Told(2, "TODO")],
        ..BASE
    },
    Behaviour {
        name: "watched-gate",
        gate: &["--promise", "sh run_tests.sh", "--gate", "size[watch]=false"],
        turns: &[WORKS],
        ..BASE
    },
];
