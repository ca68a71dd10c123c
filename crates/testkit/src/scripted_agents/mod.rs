//! The zoo of behaviours: scripted agents that are honest, lie, get stuck, meet limits, and how a loop with each should end.
//!
//! The program `behaviour` plays them as `claude` or as `codex`; [`judge`] runs the built `loop` with one and says what is wrong.
mod claims;
mod claude;
mod codex;
mod gates;
mod honest;
mod judge;
mod liars;
mod money;
mod play;
mod provider;
mod replayed;
mod said;
mod stuck;

pub use judge::{Row, judge, table};
pub use play::play;
pub use replayed::replay_faults;

/// One behaviour: the project, the agent's turns, and the end that a loop with it should have.
#[derive(Debug, Clone, Copy)]
pub struct Behaviour {
    /// What it is called.
    pub name: &'static str,
    /// Which agents show it.
    pub agents: &'static [&'static str],
    /// Lines of shell that change the usual project before the loop.
    pub project: &'static [&'static str],
    /// The task.
    pub goal: &'static str,
    /// What says when the work is done, as arguments.
    pub gate: &'static [&'static str],
    /// Other arguments of the start.
    pub arguments: &'static [&'static str],
    /// Its turns, call by call; the last one is taken again and again.
    pub turns: &'static [Turn],
    /// How it should end.
    pub ideal: Ideal,
    /// The same for codex, where it tells less than claude.
    pub ideal_codex: Option<Ideal>,
    /// So many iterations more are right, too: never more than the threshold of the breaker that ends it.
    pub over: u32,
    /// What holds when the work is truly done, where that is not the project's own test as it was before.
    pub truth: &'static str,
    /// What else must hold.
    pub checks: &'static [Check],
}

/// One call of the agent.
#[derive(Debug, Clone, Copy)]
pub struct Turn {
    /// What it does to the workspace: shell, where `N` is the number of the call.
    pub does: &'static str,
    /// What its program shows as the output of that.
    pub prints: &'static str,
    /// Its last message: `{n}` is the number of the call, `{asked}` all that it was asked.
    pub says: &'static str,
    /// The status block at the end of that.
    pub status: Status,
    /// How its program ends.
    pub ends: Ends,
}

/// What the status block says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// There is none.
    Nothing,
    Working,
    /// Complete, with the signal.
    Done,
    /// Complete, without the signal.
    DoneWithoutSignal,
    Blocked,
    Error,
    /// Values that no field has.
    Malformed,
}

/// How the agent's program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ends {
    /// Well, at the usual price.
    Well,
    /// Well, and it cost so many millionths of a dollar and 1,000 tokens.
    Costs(u32),
    /// Well, without a report of what it used.
    Untold,
    /// Well, after a warning that a limit is near.
    Warned,
    /// With code 0, and it never said a word.
    Mute,
    /// With code 1 and words on stderr, in the middle of its stream.
    Crashes,
    /// In an error with these words; `{n}` is the number of the call.
    Fails(&'static str),
    /// At the limit of money that its own program keeps.
    Budget,
    /// Never: it is silent after its work.
    Hangs,
    /// At a limit of the provider that ends in so many seconds.
    Limit(u32),
    /// At a limit without a known end.
    LimitOnly,
    /// The provider is overloaded.
    Overload,
    /// It is not signed in.
    Auth,
    /// It has no credit.
    Billing,
    /// The conversation is longer than the model takes.
    Context,
    /// Well, but its own program refused this command.
    Denied(&'static str),
    /// Well, after a question by the tool for that.
    Asks(&'static str),
}

/// The end that a loop should have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ideal {
    /// The outcome as JSON has it.
    pub outcome: &'static str,
    /// The reason as JSON has it.
    pub reason: &'static str,
    /// The exit code.
    pub code: i32,
    /// After so many iterations.
    pub iterations: u32,
}

/// Something that must hold at the end.
#[derive(Debug, Clone, Copy)]
pub enum Check {
    /// No call came before a limit was over, and it was shown that and until when it is waited; by this source.
    Waited(&'static str),
    /// Nothing was waited for.
    NeverWaited,
    /// The prompt of a call has these words.
    Told(usize, &'static str),
    /// The sentence of the end has these words.
    Why(&'static str),
    /// So many calls were made.
    Calls(u32),
    /// A line of shell succeeds in the workspace.
    Shell(&'static str),
}

const BOTH: &[&str] = &["claude", "codex"];
const CLAUDE: &[&str] = &["claude"];
const CODEX: &[&str] = &["codex"];
const NO_GATE: &[&str] = &["--no-promise"];

/// A step of real work.
const STEP: &str = "echo \"step $N\" >> src/work.txt";

/// What most behaviours have in common.
const BASE: Behaviour = Behaviour {
    name: "",
    agents: BOTH,
    project: &[],
    goal: "Make the tests pass.",
    gate: &["--promise", "sh run_tests.sh"],
    arguments: &[],
    turns: &[],
    ideal: kept(4),
    ideal_codex: None,
    over: 0,
    truth: "",
    checks: &[],
};

/// A turn that does a step and says so.
const WORKS: Turn = Turn {
    does: STEP,
    prints: "",
    says: "I added step {n} and ran the tests.",
    status: Status::Working,
    ends: Ends::Well,
};

/// A turn that changes nothing, with other words each time.
const IDLE: Turn = Turn {
    does: ":",
    prints: "",
    says: "I looked at part {n} of the code and thought about it.",
    status: Status::Working,
    ends: Ends::Well,
};

const fn kept(iterations: u32) -> Ideal {
    Ideal { outcome: "verified", reason: "goal_complete", code: 0, iterations }
}

const fn claimed(iterations: u32) -> Ideal {
    Ideal { outcome: "claimed", reason: "goal_complete", code: 0, iterations }
}

const fn tripped(reason: &'static str, iterations: u32) -> Ideal {
    Ideal { outcome: "tripped", reason, code: 1, iterations }
}

const fn exhausted(reason: &'static str, iterations: u32) -> Ideal {
    Ideal { outcome: "exhausted", reason, code: 1, iterations }
}

const fn passed_but(iterations: u32) -> Ideal {
    Ideal { outcome: "passed_but", reason: "not_proven", code: 1, iterations }
}

const fn tampered(iterations: u32) -> Ideal {
    Ideal { outcome: "tampered", reason: "tamper", code: 1, iterations }
}

const fn unable(iterations: u32) -> Ideal {
    Ideal { outcome: "unable", reason: "fatal_error", code: 3, iterations }
}

/// The groups, by name.
pub const GROUPS: [(&str, &[Behaviour]); 7] = [
    ("honest", honest::ALL),
    ("liars", liars::ALL),
    ("stuck", stuck::ALL),
    ("provider", provider::ALL),
    ("gates", gates::ALL),
    ("money", money::ALL),
    ("claims", claims::ALL),
];

/// The behaviour of that name.
#[must_use]
pub fn behaviour(name: &str) -> Option<&'static Behaviour> {
    GROUPS.iter().flat_map(|(_, all)| all.iter()).find(|behaviour| behaviour.name == name)
}
