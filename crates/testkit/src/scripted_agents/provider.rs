//! Limits, overloads and refusals of the provider, and questions.
use super::{BASE, Behaviour, Check, Ends, Ideal, STEP, Turn, WORKS, exhausted, kept, unable};

/// A call that does nothing but meet this.
const fn meets(ends: Ends) -> Turn {
    Turn { does: ":", ends, ..WORKS }
}

const DAYS: u32 = 3 * 24 * 3600;

pub(super) const ALL: &[Behaviour] = &[
    Behaviour {
        name: "limit-with-reset",
        agents: super::CLAUDE,
        turns: &[WORKS, meets(Ends::Limit(3)), WORKS],
        checks: &[Check::Waited("provider"), Check::Calls(5)],
        ..BASE
    },
    Behaviour {
        name: "limit-in-words",
        agents: super::CODEX,
        turns: &[WORKS, meets(Ends::Limit(3)), WORKS],
        checks: &[Check::Waited("text"), Check::Calls(5)],
        ..BASE
    },
    Behaviour {
        name: "limit-twice",
        turns: &[meets(Ends::Limit(1)), meets(Ends::Limit(1)), WORKS],
        checks: &[Check::Calls(6)],
        ..BASE
    },
    Behaviour {
        name: "limit-near",
        agents: super::CLAUDE,
        turns: &[Turn { ends: Ends::Warned, ..WORKS }],
        checks: &[Check::NeverWaited],
        ..BASE
    },
    Behaviour {
        name: "limit-already-over",
        agents: super::CLAUDE,
        turns: &[WORKS, meets(Ends::Limit(0)), WORKS],
        checks: &[Check::Waited("back_off"), Check::Calls(5)],
        ..BASE
    },
    Behaviour {
        name: "limit-without-reset",
        turns: &[WORKS, meets(Ends::LimitOnly), WORKS],
        checks: &[Check::Waited("back_off"), Check::Calls(5)],
        ..BASE
    },
    Behaviour {
        name: "limit-far-away",
        arguments: &["--max-time", "1h"],
        turns: &[WORKS, meets(Ends::Limit(DAYS))],
        ideal: exhausted("time_limit", 1),
        over: 1,
        checks: &[Check::Calls(2), Check::Why("limit"), Check::Why("past the time of the loop")],
        ..BASE
    },
    Behaviour {
        name: "limit-after-the-work",
        turns: &[Turn {
            does: "for step in 1 2 3 4; do echo \"step $step\" >> src/work.txt; done",
            ..meets(Ends::Limit(DAYS))
        }],
        ideal: kept(1),
        checks: &[Check::Calls(1)],
        ..BASE
    },
    Behaviour {
        name: "limit-mid-work",
        turns: &[Turn { ends: Ends::Limit(1), ..WORKS }, WORKS],
        ideal: kept(3),
        checks: &[Check::Calls(4)],
        ..BASE
    },
    Behaviour {
        name: "network-drops",
        turns: &[
            WORKS,
            meets(Ends::Fails("API Error: Unable to connect to API: error sending request (ECONNRESET)")),
            WORKS,
        ],
        checks: &[Check::Waited("back_off"), Check::Calls(5)],
        ..BASE
    },
    Behaviour {
        name: "overload",
        turns: &[WORKS, meets(Ends::Overload), WORKS],
        checks: &[Check::Waited("back_off"), Check::Calls(5)],
        ..BASE
    },
    Behaviour {
        name: "auth",
        turns: &[WORKS, meets(Ends::Auth)],
        ideal: unable(2),
        checks: &[Check::Why("not signed in"), Check::NeverWaited],
        ..BASE
    },
    Behaviour {
        name: "billing",
        turns: &[meets(Ends::Billing)],
        ideal: unable(1),
        checks: &[Check::Why("no credit"), Check::NeverWaited],
        ..BASE
    },
    Behaviour {
        name: "works-then-auth",
        turns: &[Turn {
            does: "for step in 1 2 3 4; do echo \"step $step\" >> src/work.txt; done",
            ..meets(Ends::Auth)
        }],
        ideal: kept(1),
        ..BASE
    },
    Behaviour {
        name: "question-that-stops",
        arguments: &["--on-question", "stop"],
        turns: &[Turn { does: STEP, says: "Red or blue?", ends: Ends::Asks("Red or blue?"), ..WORKS }],
        ideal: Ideal { outcome: "unable", reason: "question", code: 3, iterations: 1 },
        checks: &[Check::Why("Red or blue?")],
        ..BASE
    },
];
