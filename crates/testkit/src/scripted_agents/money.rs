//! Money, tokens and calls.
use super::{BASE, Behaviour, Check, Ends, Turn, WORKS, exhausted};

const DOLLAR: u32 = 1_000_000;

const BUSY: &str = "echo \"note $N\" >> src/notes.txt";

/// It works for ever at this price.
const fn costs(ends: Ends) -> Turn {
    Turn { does: BUSY, ends, ..WORKS }
}

pub(super) const ALL: &[Behaviour] = &[
    Behaviour {
        name: "overruns-budget",
        arguments: &["--max-cost", "2.50"],
        turns: &[costs(Ends::Costs(DOLLAR))],
        ideal: exhausted("budget_limit", 3),
        // What a call of codex cost nobody knows, so it counts as the worst case.
        ideal_codex: Some(exhausted("budget_limit", 1)),
        ..BASE
    },
    Behaviour {
        name: "hides-its-usage",
        arguments: &["--max-cost", "2.50"],
        turns: &[costs(Ends::Untold)],
        ideal: exhausted("budget_limit", 1),
        checks: &[Check::Calls(1)],
        ..BASE
    },
    Behaviour {
        name: "overruns-tokens",
        arguments: &["--max-tokens", "2500"],
        turns: &[costs(Ends::Well)],
        ideal: exhausted("budget_limit", 3),
        ..BASE
    },
    Behaviour {
        name: "stops-at-its-own-limit",
        agents: super::CLAUDE,
        arguments: &["--max-cost", "100"],
        turns: &[costs(Ends::Well), costs(Ends::Budget)],
        ideal: exhausted("budget_limit", 2),
        checks: &[Check::NeverWaited],
        ..BASE
    },
    Behaviour {
        name: "priced-by-a-table",
        agents: super::CODEX,
        arguments: &["--max-cost", "2.50", "--agent-model", "gpt-5.1", "--prices", "gpt-* input=1000 output=1000"],
        turns: &[costs(Ends::Well)],
        ideal: exhausted("budget_limit", 3),
        ..BASE
    },
    Behaviour {
        name: "overruns-the-day",
        agents: super::CLAUDE,
        arguments: &["--max-cost-per-day", "1.50"],
        turns: &[costs(Ends::Costs(DOLLAR))],
        ideal: exhausted("budget_limit", 2),
        checks: &[Check::Why("--max-cost-per-day")],
        ..BASE
    },
    Behaviour {
        name: "calls-per-day",
        arguments: &["--max-calls-per-day", "2"],
        turns: &[costs(Ends::Well)],
        ideal: exhausted("budget_limit", 2),
        checks: &[Check::Calls(2), Check::Why("--max-calls-per-day")],
        ..BASE
    },
    Behaviour {
        name: "calls-per-hour",
        arguments: &["--max-calls-per-hour", "2", "--max-time", "10s"],
        turns: &[costs(Ends::Well)],
        ideal: exhausted("time_limit", 2),
        checks: &[Check::Why("--max-calls-per-hour"), Check::Calls(2)],
        ..BASE
    },
    Behaviour {
        name: "cheap-enough",
        arguments: &["--max-cost", "2.50", "--max-tokens", "100000"],
        turns: &[WORKS],
        agents: super::CLAUDE,
        ..BASE
    },
];
