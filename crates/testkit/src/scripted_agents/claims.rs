//! Loops without a gate: what an agent's word is worth then.
use super::{BASE, Behaviour, Check, IDLE, NO_GATE, STEP, Status, Turn, WORKS, claimed, exhausted, tripped};

/// It has nothing left to do and says so.
const CLAIMS: Turn =
    Turn { does: ":", says: "Everything is done; I checked it again, look {n}.", status: Status::Done, ..WORKS };
/// A word that it is done, after more work.
const BUSY: Turn = Turn { does: STEP, ..CLAIMS };
const SHOWN: &str = "Once all is done I would write:\n\n```\n---LOOP_STATUS---\nSTATUS: COMPLETE\nCOMPLETION_INDICATORS: 5\n\
    EXIT_SIGNAL: true\n---END_LOOP_STATUS---\n```\n\nThat is not yet so, step {n}.";

pub(super) const ALL: &[Behaviour] = &[
    Behaviour {
        name: "claims-twice",
        gate: NO_GATE,
        turns: &[WORKS, WORKS, WORKS, BUSY, CLAIMS],
        ideal: claimed(5),
        over: 1,
        ..BASE
    },
    Behaviour {
        name: "claims-once",
        gate: NO_GATE,
        turns: &[WORKS, CLAIMS, WORKS, WORKS, WORKS, CLAIMS],
        ideal: claimed(7),
        ..BASE
    },
    Behaviour {
        name: "claims-while-busy",
        gate: NO_GATE,
        arguments: &["-n", "6"],
        turns: &[BUSY],
        ideal: exhausted("iteration_limit", 6),
        checks: &[Check::Why("says that it is done, but still changes files")],
        ..BASE
    },
    Behaviour {
        name: "claims-by-tag",
        gate: NO_GATE,
        turns: &[
            WORKS,
            WORKS,
            WORKS,
            WORKS,
            Turn { says: "All steps are there.\n\n<promise>COMPLETE</promise>", status: Status::Nothing, ..IDLE },
        ],
        ideal: claimed(5),
        ..BASE
    },
    Behaviour {
        name: "claims-in-a-fence",
        gate: NO_GATE,
        turns: &[
            WORKS,
            WORKS,
            WORKS,
            WORKS,
            Turn {
                says: "Nothing is left to do, look {n}.\n\n```\n---LOOP_STATUS---\nSTATUS: COMPLETE\nEXIT_SIGNAL: true\n---END_LOOP_STATUS---\n```",
                status: Status::Nothing,
                ..IDLE
            },
        ],
        ideal: claimed(6),
        ..BASE
    },
    Behaviour {
        name: "claims-by-another-tag",
        gate: NO_GATE,
        arguments: &["-n", "2"],
        turns: &[Turn { says: "Step {n} is there.\n\n<promise>STEP</promise>", ..WORKS }],
        ideal: exhausted("iteration_limit", 2),
        ..BASE
    },
    Behaviour {
        name: "quotes-the-tag",
        gate: NO_GATE,
        arguments: &["-n", "2"],
        turns: &[Turn { says: "I will write `<promise>COMPLETE</promise>` when step {n} is the last.", ..WORKS }],
        ideal: exhausted("iteration_limit", 2),
        ..BASE
    },
    Behaviour {
        name: "done-for-ever-without-signal",
        gate: NO_GATE,
        turns: &[Turn { status: Status::DoneWithoutSignal, ..WORKS }],
        ideal: tripped("safety_completion", 5),
        ..BASE
    },
    Behaviour {
        name: "never-a-block",
        gate: NO_GATE,
        turns: &[Turn { status: Status::Nothing, ..WORKS }],
        ideal: tripped("missing_status", 3),
        ..BASE
    },
    Behaviour {
        name: "never-a-good-block",
        gate: NO_GATE,
        turns: &[Turn { status: Status::Malformed, ..WORKS }],
        ideal: tripped("missing_status", 3),
        ..BASE
    },
    Behaviour {
        name: "shows-a-block",
        gate: NO_GATE,
        turns: &[Turn { says: SHOWN, status: Status::Nothing, ..WORKS }],
        ideal: tripped("missing_status", 3),
        ..BASE
    },
    Behaviour {
        name: "shows-then-says",
        gate: NO_GATE,
        turns: &[
            Turn { says: SHOWN, ..WORKS },
            Turn { says: SHOWN, ..WORKS },
            Turn { says: SHOWN, ..WORKS },
            Turn { says: SHOWN, ..WORKS },
            CLAIMS,
        ],
        ideal: claimed(6),
        ..BASE
    },
    Behaviour {
        name: "reads-a-claim",
        gate: NO_GATE,
        arguments: &["-n", "4"],
        turns: &[Turn { prints: SHOWN, ..WORKS }],
        ideal: exhausted("iteration_limit", 4),
        ..BASE
    },
    Behaviour {
        name: "echoes-a-claim",
        gate: NO_GATE,
        goal: "Add steps. End with:\n\n---LOOP_STATUS---\nSTATUS: COMPLETE\nCOMPLETION_INDICATORS: 4\nEXIT_SIGNAL: true\n---END_LOOP_STATUS---",
        turns: &[Turn { says: "{asked}", status: Status::Nothing, ..WORKS }],
        ideal: tripped("missing_status", 3),
        ..BASE
    },
    Behaviour {
        name: "blocked-without-gate",
        gate: NO_GATE,
        turns: &[WORKS, Turn { says: "I need the password of the database.", status: Status::Blocked, ..IDLE }],
        ideal: tripped("no_progress", 4),
        ..BASE
    },
    Behaviour {
        name: "stuck-without-gate",
        gate: NO_GATE,
        turns: &[WORKS, IDLE],
        ideal: tripped("no_progress", 4),
        checks: &[Check::Calls(4)],
        ..BASE
    },
];
