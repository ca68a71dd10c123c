//! The part of the catalogue about judgement: when a loop is done, stuck, too dear, or to be warned of.
use super::keys::{BASE, InProject, Key, flag};
use super::value::Kind;

/// These settings, in the order in which help shows them.
pub(super) const JUDGEMENT: &[Key] = &[
    Key {
        name: "gate",
        kind: Kind::Gates,
        doc: "Another condition that must hold, by name: NAME=CMD, or NAME[2of3,timeout=2m,order=1,watch]=CMD. May be given several times. 2of3 runs it up to three times, two of which must hold; watch only shows it; cheap ones run first among those of the same order.",
        flag: flag("gate", "NAME=CMD"),
        ..BASE
    },
    Key {
        name: "no_promise",
        kind: Kind::Switch,
        default: "false",
        doc: "Start without any gate: the loop ends when the agent says twice in a row that it is done and changes nothing more, and the outcome is claimed, not verified.",
        flag: flag("no-promise", ""),
        ..BASE
    },
    Key {
        name: "profile",
        kind: Kind::Choice(&["loop", "loopr", "container"]),
        default: "loop",
        doc: "Whose defaults hold: those of loop, of loopr, or of the container front. What is set elsewhere counts more.",
        flag: flag("profile", "NAME"),
        ..BASE
    },
    Key {
        name: "strict_completion",
        kind: Kind::Switch,
        default: "true",
        doc: "Without a gate: believe that it is done only if the agent gives its exit signal and has said so often enough. Off, one word of completion is enough.",
        flag: flag("strict-completion", ""),
        may_change: true,
        ..BASE
    },
    Key {
        name: "completion_threshold",
        kind: Kind::CountOrUnlimited(1_000_000),
        default: "2",
        doc: "Without a gate: how often in a row the agent must say that it is done.",
        flag: flag("completion-threshold", "N"),
        may_change: true,
        ..BASE
    },
    Key {
        name: "completion_promise",
        kind: Kind::Text,
        default: "COMPLETE",
        doc: "Without a gate: the words in <promise>…</promise> by which the agent says, once, that it is done.",
        flag: flag("completion-promise", "WORDS"),
        may_change: true,
        ..BASE
    },
    Key {
        name: "on_regression",
        kind: Kind::Choice(&["keep", "tell", "revert"]),
        default: "tell",
        doc: "What becomes of an iteration after which something fails that had passed: it is kept, the agent is told which, or it is told and the workspace goes back to before the iteration.",
        flag: flag("on-regression", "WHAT"),
        may_change: true,
        ..BASE
    },
    Key {
        name: "keep",
        kind: Kind::Choice(&["last", "best"]),
        default: "last",
        doc: "Which state of the workspace stays when the loop ends without success: the last one, or the best by its gates.",
        flag: flag("keep", "WHICH"),
        may_change: true,
        ..BASE
    },
    Key {
        name: "protect",
        kind: Kind::Paths,
        doc: "A glob of files that the agent may not change, as in a .gitignore, beside the scripts that the gates name. Only files that are there at the start count. May be given several times.",
        flag: flag("protect", "GLOB"),
        in_project: InProject::Yes,
        ..BASE
    },
    Key {
        name: "protect_tests",
        kind: Kind::Switch,
        default: "false",
        doc: "Protect the usual test folders and files, too.",
        flag: flag("protect-tests", ""),
        in_project: InProject::Yes,
        ..BASE
    },
    Key {
        name: "on_tamper",
        kind: Kind::Choice(&["restore", "stop", "allow"]),
        default: "restore",
        doc: "What becomes of a protected file that was changed: it is put back before the gates judge and the agent is told, the loop stops, or nothing.",
        flag: flag("on-tamper", "WHAT"),
        may_change: true,
        ..BASE
    },
    Key {
        name: "require_tests_kept",
        kind: Kind::Switch,
        default: "false",
        doc: "Not done while there are fewer tests than at the start, more skipped ones, or another test command.",
        flag: flag("require-tests-kept", ""),
        in_project: InProject::Yes,
        may_change: true,
        ..BASE
    },
    Key {
        name: "breaker",
        kind: Kind::Choice(&["on", "off"]),
        default: "on",
        doc: "Whether a loop that gets nowhere is stopped before its last iteration.",
        flag: flag("breaker", "WHAT"),
        may_change: true,
        ..BASE
    },
    Key {
        name: "max_no_progress",
        kind: Kind::CountOrUnlimited(1_000_000),
        default: "3",
        doc: "So many iterations in a row without progress end the loop.",
        flag: flag("max-no-progress", "N"),
        in_project: InProject::Narrow,
        may_change: true,
        ..BASE
    },
    Key {
        name: "max_same_error",
        kind: Kind::CountOrUnlimited(1_000_000),
        default: "5",
        doc: "So many iterations in a row in which the agent ends in the same error end the loop.",
        flag: flag("max-same-error", "N"),
        in_project: InProject::Narrow,
        may_change: true,
        ..BASE
    },
    Key {
        name: "max_oscillation",
        kind: Kind::CountOrUnlimited(1_000_000),
        default: "2",
        doc: "So many returns of the workspace to a state that it had before end the loop.",
        flag: flag("max-oscillation", "N"),
        in_project: InProject::Narrow,
        may_change: true,
        ..BASE
    },
    Key {
        name: "max_identical_output",
        kind: Kind::CountOrUnlimited(1_000_000),
        default: "5",
        doc: "So many iterations in a row in which the agent says the same words, and the gates too, end the loop.",
        flag: flag("max-identical-output", "N"),
        in_project: InProject::Narrow,
        may_change: true,
        ..BASE
    },
    Key {
        name: "max_test_only",
        kind: Kind::CountOrUnlimited(1_000_000),
        default: "3",
        doc: "So many iterations in a row that work on nothing but tests end the loop.",
        flag: flag("max-test-only", "N"),
        in_project: InProject::Narrow,
        may_change: true,
        ..BASE
    },
    Key {
        name: "test_only_by",
        kind: Kind::Choice(&["measured", "claimed"]),
        default: "measured",
        doc: "How an iteration that works on nothing but tests is told: by the files that changed, or by the word of the agent.",
        flag: flag("test-only-by", "HOW"),
        may_change: true,
        ..BASE
    },
    Key {
        name: "output_decline",
        kind: Kind::CountOrUnlimited(100),
        default: "70",
        doc: "An answer that is by so many percent shorter than the one before, twice in a row, ends the loop.",
        flag: flag("output-decline", "PERCENT"),
        in_project: InProject::Narrow,
        may_change: true,
        ..BASE
    },
    Key {
        name: "decline_alone",
        kind: Kind::Switch,
        default: "false",
        doc: "Let ever shorter answers end the loop even when there was progress.",
        flag: flag("decline-alone", ""),
        may_change: true,
        ..BASE
    },
    Key {
        name: "max_missing_status",
        kind: Kind::CountOrUnlimited(1_000_000),
        default: "3",
        doc: "Without a gate: so many iterations in a row without a status block end the loop.",
        flag: flag("max-missing-status", "N"),
        in_project: InProject::Narrow,
        may_change: true,
        ..BASE
    },
    Key {
        name: "max_done_claims",
        kind: Kind::CountOrUnlimited(1_000_000),
        default: "5",
        doc: "Without a gate: so many iterations in a row in which the agent says that it is done but gives no exit signal end the loop.",
        flag: flag("max-done-claims", "N"),
        in_project: InProject::Narrow,
        may_change: true,
        ..BASE
    },
    Key {
        name: "on_blocked",
        kind: Kind::Choice(&["question", "stop"]),
        default: "question",
        doc: "What STATUS BLOCKED is: a question (see on_question), or the end of the loop.",
        flag: flag("on-blocked", "WHAT"),
        may_change: true,
        ..BASE
    },
    Key {
        name: "breaker_reset",
        kind: Kind::Choice(&["resume", "manual"]),
        default: "resume",
        doc: "What closes a breaker that has tripped: going on with the loop, or only loop reset and --reset-circuit.",
        flag: flag("breaker-reset", "HOW"),
        may_change: true,
        ..BASE
    },
    Key {
        name: "reset_circuit",
        kind: Kind::Switch,
        default: "false",
        doc: "Close the breaker that an earlier loop of this project and agent name has tripped, and start.",
        flag: flag("reset-circuit", ""),
        in_file: false,
        may_change: true,
        ..BASE
    },
    Key {
        name: "max_calls_per_hour",
        kind: Kind::CountOrUnlimited(10_000),
        default: "unlimited",
        doc: "How often an agent is called at most in any hour; the loop waits.",
        flag: flag("max-calls-per-hour", "N"),
        in_project: InProject::Narrow,
        may_change: true,
        ..BASE
    },
    Key {
        name: "max_calls_per_day",
        kind: Kind::CountOrUnlimited(1_000_000),
        default: "unlimited",
        doc: "How often agents are called at most in a day by all loops together.",
        flag: flag("max-calls-per-day", "N"),
        may_change: true,
        ..BASE
    },
    Key {
        name: "max_cost",
        kind: Kind::MoneyOrUnlimited,
        default: "unlimited",
        doc: "How much the loop may cost, in dollars. At most the call that runs goes past it; an agent that takes a limit is given what is left.",
        flag: flag("max-cost", "USD"),
        in_project: InProject::Narrow,
        may_change: true,
        ..BASE
    },
    Key {
        name: "max_cost_per_day",
        kind: Kind::MoneyOrUnlimited,
        default: "unlimited",
        doc: "How much all loops together may cost in a day, in dollars.",
        flag: flag("max-cost-per-day", "USD"),
        may_change: true,
        ..BASE
    },
    Key {
        name: "max_tokens",
        kind: Kind::CountOrUnlimited(u32::MAX),
        default: "unlimited",
        doc: "How many tokens the loop may use, in and out.",
        flag: flag("max-tokens", "N"),
        in_project: InProject::Narrow,
        may_change: true,
        ..BASE
    },
    Key {
        name: "max_tokens_per_day",
        kind: Kind::CountOrUnlimited(u32::MAX),
        default: "unlimited",
        doc: "How many tokens all loops together may use in a day.",
        flag: flag("max-tokens-per-day", "N"),
        may_change: true,
        ..BASE
    },
    Key {
        name: "worst_cost",
        kind: Kind::MoneyOrUnlimited,
        doc: "What a call counts as whose cost nobody tells, in dollars; each known agent has a value of its own.",
        flag: flag("worst-cost", "USD"),
        may_change: true,
        ..BASE
    },
    Key {
        name: "worst_tokens",
        kind: Kind::CountOrUnlimited(u32::MAX),
        default: "1000000",
        doc: "What a call counts as whose tokens nobody tells.",
        flag: flag("worst-tokens", "N"),
        may_change: true,
        ..BASE
    },
    Key {
        name: "prices",
        kind: Kind::Prices,
        doc: "Prices for agents that tell tokens but no cost, in dollars a million tokens, one model a line: MODEL-GLOB input=3.00 output=15.00 cache_read=0.30 cache_write=3.75.",
        flag: flag("prices", "PRICES"),
        may_change: true,
        ..BASE
    },
    Key {
        name: "max_iterations_warning",
        kind: Kind::CountOrUnlimited(1_000_000),
        default: "100",
        doc: "More iterations than this, with neither a time nor an iteration limit, are warned of.",
        flag: flag("max-iterations-warning", "N"),
        may_change: true,
        ..BASE
    },
    Key {
        name: "identical_output_window",
        kind: Kind::CountOrUnlimited(1_000_000),
        default: "5",
        doc: "So many equal answers in a row are warned of.",
        flag: flag("identical-output-window", "N"),
        may_change: true,
        ..BASE
    },
    Key {
        name: "min_iteration_duration",
        kind: Kind::DurationOrNone,
        default: "1s",
        doc: "Iterations shorter than this are warned of.",
        flag: flag("min-iteration-duration", "DURATION"),
        may_change: true,
        ..BASE
    },
    Key {
        name: "approve",
        kind: Kind::Switch,
        default: "false",
        doc: "Approve what the project file wants to run, as it is now.",
        flag: flag("approve", ""),
        in_file: false,
        ..BASE
    },
    Key {
        name: "rate_line",
        kind: Kind::Switch,
        default: "true",
        doc: "Say how many calls are left in the hour, where there is a limit.",
        flag: flag("rate-line", ""),
        may_change: true,
        ..BASE
    },
];
