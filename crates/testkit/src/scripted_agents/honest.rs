//! Agents that really work, in all the ways in which that can be overlooked.
use super::{BASE, Behaviour, Check, Ends, IDLE, STEP, Status, Turn, WORKS, kept};

/// A test that wants six lines in a file of its own: longer than a breaker waits.
const SIX: &str = r#"cat > run_tests.sh <<'END'
#!/bin/sh
steps=$(cat $(cat where.txt) 2>/dev/null | grep -c '^step')
echo "$steps of 6 steps"
[ "$steps" -ge 6 ]
END
"#;

const QUOTED: &str = "When everything is done I will end with this block:\n\n```\n---LOOP_STATUS---\nSTATUS: COMPLETE\n\
    COMPLETION_INDICATORS: 5\nEXIT_SIGNAL: true\n---END_LOOP_STATUS---\n```\n\nFor now step {n} is there.";

pub(super) const ALL: &[Behaviour] = &[
    Behaviour { name: "honest", turns: &[WORKS], ..BASE },
    Behaviour { name: "no-block", turns: &[Turn { status: Status::Nothing, ..WORKS }], ..BASE },
    Behaviour { name: "malformed-block", turns: &[Turn { status: Status::Malformed, ..WORKS }], ..BASE },
    Behaviour { name: "quoted-block", turns: &[Turn { says: QUOTED, status: Status::Nothing, ..WORKS }], ..BASE },
    Behaviour { name: "quoted-then-true", turns: &[Turn { says: QUOTED, ..WORKS }], ..BASE },
    Behaviour { name: "echoes-prompt", turns: &[Turn { says: "{asked}", status: Status::Nothing, ..WORKS }], ..BASE },
    Behaviour { name: "done-without-signal", turns: &[Turn { status: Status::DoneWithoutSignal, ..WORKS }], ..BASE },
    Behaviour {
        name: "talks-of-limits",
        turns: &[Turn {
            says: "The client now waits when the API says: You've hit your usage limit, rate limit reached (429), 401 Unauthorized, credit balance too low, \
                   resets 11:59pm. Step {n}.",
            ..WORKS
        }],
        checks: &[Check::NeverWaited],
        ..BASE
    },
    Behaviour {
        name: "commits",
        turns: &[Turn { does: "echo \"step $N\" >> src/work.txt; git commit -qam \"step $N\"", ..WORKS }],
        ..BASE
    },
    Behaviour {
        name: "nested-repository",
        project: &[SIX, "echo inner/work.txt > where.txt; mkdir inner && git init -q inner"],
        turns: &[Turn {
            does: "cd inner && echo \"step $N\" >> work.txt && git add . && git -c user.name=a -c user.email=a@b commit -qm s",
            ..WORKS
        }],
        ideal: kept(6),
        ..BASE
    },
    Behaviour {
        name: "several-repositories",
        project: &[SIX, "echo a/work.txt b/work.txt > where.txt; rm -rf .git; git init -q a; git init -q b"],
        turns: &[Turn {
            does: "cd $([ $((N % 2)) = 0 ] && echo a || echo b) && echo \"step $N\" >> work.txt && git add . && \
                   git -c user.name=a -c user.email=a@b commit -qm s",
            ..WORKS
        }],
        ideal: kept(6),
        ..BASE
    },
    Behaviour {
        name: "no-repository",
        project: &[SIX, "echo src/work.txt > where.txt; rm -rf .git .gitignore"],
        turns: &[WORKS],
        ideal: kept(6),
        ..BASE
    },
    Behaviour {
        name: "ignored-files",
        project: &[SIX, "echo data/work.txt > where.txt; mkdir data"],
        // Work in ignored files is not in the recorded tree: a clean copy cannot show it.
        arguments: &["--judge", "workspace"],
        turns: &[Turn { does: "echo \"step $N\" >> data/work.txt", ..WORKS }],
        ideal: kept(6),
        ..BASE
    },
    Behaviour {
        name: "same-words-real-work",
        project: &["sed -i 's/-ge 4/-ge 8/' run_tests.sh"],
        turns: &[Turn { says: "I did the next step.", status: Status::Nothing, ..WORKS }],
        ideal: kept(8),
        ..BASE
    },
    Behaviour {
        name: "ignored-files-kept",
        project: &[SIX, "echo build/work.txt > where.txt; mkdir build"],
        arguments: &["--checkpoint-ignored"],
        turns: &[Turn { does: "echo \"step $N\" >> build/work.txt", ..WORKS }],
        ideal: kept(6),
        ..BASE
    },
    Behaviour {
        name: "slow-but-steady",
        project: &["sed -i 's/-ge 4/-ge 12/' run_tests.sh"],
        arguments: &["-n", "20"],
        turns: &[WORKS],
        ideal: kept(12),
        ..BASE
    },
    Behaviour { name: "crash-then-recover", turns: &[WORKS, CRASH, CRASH, WORKS], ideal: kept(6), ..BASE },
    Behaviour { name: "works-then-crashes", turns: &[Turn { ends: Ends::Crashes, ..WORKS }], ..BASE },
    Behaviour {
        name: "productive-timeout",
        arguments: &["--timeout", "3s"],
        turns: &[Turn { ends: Ends::Hangs, ..WORKS }],
        checks: &[Check::Told(2, "took longer than 3s")],
        ..BASE
    },
    Behaviour {
        name: "polls",
        turns: &[
            Turn {
                does: "echo asked-$N >> src/notes.txt",
                says: "The build machine is not ready; I asked it.",
                ..IDLE
            },
            Turn { does: "echo asked-$N >> src/notes.txt", says: "Still queued, place 3. I wait.", ..IDLE },
            Turn { does: "echo asked-$N >> src/notes.txt", says: "It runs now, about half is through.", ..IDLE },
            Turn { does: "echo asked-$N >> src/notes.txt", says: "Nearly there; its log grows.", ..IDLE },
            Turn {
                does: "for step in 1 2 3 4; do echo \"step $step\" >> src/work.txt; done",
                says: "It has ended.",
                ..WORKS
            },
        ],
        ideal: kept(5),
        ..BASE
    },
    Behaviour {
        name: "polls-quietly",
        turns: &[
            Turn { says: "The build machine is not ready.", ..IDLE },
            Turn { says: "It has begun; I can only wait.", ..IDLE },
            Turn {
                does: "for step in 1 2 3 4; do echo \"step $step\" >> src/work.txt; done",
                says: "It has ended.",
                ..WORKS
            },
        ],
        ideal: kept(3),
        ..BASE
    },
    Behaviour {
        name: "runs-out-of-context",
        turns: &[WORKS, Turn { does: ":", ends: Ends::Context, ..WORKS }, WORKS],
        ideal: kept(5),
        ..BASE
    },
    Behaviour {
        name: "asks-and-goes-on",
        turns: &[Turn { does: STEP, says: "Red or blue?", ends: Ends::Asks("Red or blue?"), ..WORKS }, WORKS],
        checks: &[Check::Told(2, "There is no person here who could answer")],
        ..BASE
    },
    Behaviour {
        name: "works-by-deleting",
        project: &[
            "for old in 1 2 3 4 5; do echo old > src/old-$old; done; echo '! ls src/old-* 2>/dev/null' > run_tests.sh",
        ],
        turns: &[Turn { does: "rm -f src/old-$N", ..WORKS }],
        ideal: kept(5),
        ..BASE
    },
    Behaviour {
        name: "works-by-permissions",
        project: &[
            "for tool in 1 2 3 4 5; do echo : > src/tool-$tool; done",
            "echo 'for tool in src/tool-*; do [ -x $tool ] || exit 1; done' > run_tests.sh",
        ],
        turns: &[Turn { does: "chmod +x src/tool-$N", ..WORKS }],
        ideal: kept(5),
        truth: "[ $(find src -name 'tool-*' -perm -100 | wc -l) = 5 ]",
        ..BASE
    },
    Behaviour {
        name: "works-by-folders",
        project: &["echo '[ $(ls -d src/part-* | wc -l) -ge 5 ]' > run_tests.sh"],
        turns: &[Turn { does: "mkdir src/part-$N", ..WORKS }],
        ideal: kept(5),
        ..BASE
    },
    Behaviour {
        name: "works-by-links",
        project: &["ln -s nowhere-0 src/link; echo '[ $(readlink src/link) = nowhere-5 ]' > run_tests.sh"],
        turns: &[Turn { does: "ln -sfn nowhere-$N src/link", ..WORKS }],
        ideal: kept(5),
        ..BASE
    },
    Behaviour {
        name: "works-unseen-by-stamps",
        project: &["echo 00000 > src/bits; touch -d 2020-01-01 src/bits; echo 'grep -q 11111 src/bits' > run_tests.sh"],
        turns: &[Turn { does: "sed -i s/0/1/ src/bits; touch -d 2020-01-01 src/bits", ..WORKS }],
        ideal: kept(5),
        ..BASE
    },
    Behaviour {
        name: "works-on-odd-names",
        project: &["echo '[ $(ls src | grep -c part) -ge 5 ]' > run_tests.sh"],
        turns: &[Turn { does: "echo $N > \"src/part $N $(printf '\\303\\050\\n.')\"", ..WORKS }],
        ideal: kept(5),
        ..BASE
    },
    Behaviour {
        name: "deletes-its-repository",
        project: &[SIX, "echo src/work.txt > where.txt"],
        turns: &[Turn { does: "rm -rf .git; echo \"step $N\" >> src/work.txt", ..WORKS }],
        ideal: kept(6),
        ..BASE
    },
    Behaviour {
        name: "works-unmeasured",
        project: &[SIX, "echo src/work.txt > where.txt"],
        arguments: &["--checkpoint", "none"],
        turns: &[WORKS],
        ideal: kept(6),
        ..BASE
    },
    Behaviour { name: "mute-but-works", turns: &[Turn { ends: Ends::Mute, ..WORKS }], ..BASE },
    Behaviour { name: "done-in-the-last-iteration", arguments: &["-n", "4"], turns: &[WORKS], ..BASE },
    Behaviour {
        name: "done-at-the-time-limit",
        arguments: &["--max-time", "8s"],
        turns: &[Turn {
            does: "for step in 1 2 3 4; do echo \"step $step\" >> src/work.txt; done",
            ends: Ends::Hangs,
            ..WORKS
        }],
        ideal: kept(1),
        ..BASE
    },
    Behaviour {
        name: "done-already",
        project: &["for step in 1 2 3 4; do echo \"step $step\" >> src/work.txt; done"],
        turns: &[WORKS],
        ideal: kept(0),
        checks: &[Check::Calls(0)],
        ..BASE
    },
];

const CRASH: Turn = Turn { does: ":", ends: Ends::Crashes, ..WORKS };
