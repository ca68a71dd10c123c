//! Small pure decisions. They have no state of their own: they get what they need as arguments.
//!
//! | file | what it decides |
//! |---|---|
//! | `gate` | the verdict of a gate, from how its process ended and from its tries |
//! | `promise_warning` | which promises pass although the work is not done |
//! | `rank` | which of two states of the workspace is better, by the results of the gates |
//! | `candidate` | which of several branches is the best |
//! | `breaker` | when to stop because there is no progress: counts of bad iterations |
//! | `stuck` | when a loop is stuck, so that recovery starts |
//! | `ladder` | the rungs of recovery, as they are set |
//! | `score` | how much came of an iteration, from four signals: the score of the autonomous loop specification |
//! | `similarity` | how alike two outputs are, as Python's difflib says it |
//! | `crash` | when to stop because the agent crashes again and again |
//! | `alert` | what is reported at once, how severe it is, and that each cause is reported once |
//! | `runaway` | when to warn a person that a loop may run away |
//! | `failures` | what follows from each class of failure: wait, the next iteration, or the end |
//! | `wait` | how long to wait after the provider refused |
//! | `limiter` | how many calls were made in the last hour, and when the next one is free |
//! | `router` | which agent and model work next, where several are enabled |
//! | `reserve` | what a call reserves in the ledger of all runs |
//! | `forecast` | how long a limit of a provider lasts, by what it said and by the pace of the last hours |
//! | `budget` | amounts of money and tokens, and what is left of a limit |
//! | `prices` | the cost of tokens, by the user's table |
//! | `time_budget` | how the time that is left is divided between agent and gates |
//! | `proof` | what speaks against a pass, how much it weighs, and what follows |
//! | `protect` | which files an agent must not change |
//! | `outside` | what outside of the workspace may decide what a gate says, and what a change there means |
//! | `item` | whether a loop of one item of a list passed, what the next one changes, when the item ends |
//! | `probe` | how a copy is changed so that good gates must fail: canary, undo, hunks |
//!
//! | I want to … | I go to … |
//! |---|---|
//! | change what a gate's exit means | `judge_plain`, `judge_negated` (`!`) in `gate.rs`; `run/judgement.rs` |
//! | change when a gate is tried again | `Tally` in `gate.rs`; its users: `run/judge.rs`, `host/gate/runner.rs` |
//! | let a gate wait before a try | `HoldCause` in `run/fact.rs` (grep `HoldCause::`), `order_next` in `run/step.rs` |
//! | a gate that waits: its end, its time | `Held` in `run/apply.rs`; `all_tries_ms` here; `next_try` in `run/gates.rs` |
//! | a gate that waits: hidden ones | `HiddenGates::limit_ms` in `run/spec.rs`, `host/hidden.rs` |
//! | add a rung of recovery | `RungKind` in `ladder.rs`, `run/rung_choice.rs`, `run/recover.rs`, `view/harness.rs` |
//! | words of a rung | `settings/catalogue/recovery.rs`, `settings/value.rs`, `docs/guide/when-stuck.md` |
//! | change when a loop counts as stuck | `core/policy/breaker.rs`; what it counts: `evidence` in `core/run/judge.rs` |
//! | change the progress score, or compare outputs | `core/policy/score.rs`, `similarity.rs`; `host/score_signals.rs` |
//! | change what is expected of a provider's limits | `core/policy/forecast.rs`; kept by `host/ledger/quota.rs` |
//! | change which state is the best | `core/policy/rank.rs` |
//! | change what a call costs, a limit over all runs | `core/policy/reserve.rs`, `host/ledger/` |
//! | change what follows from a class of failure | `core/policy/failures.rs`; how long to wait: `core/policy/wait.rs` |
pub mod alert;
pub mod breaker;
pub mod budget;
pub mod candidate;
pub mod crash;
pub mod failures;
pub mod forecast;
pub mod gate;
pub mod item;
pub mod ladder;
pub mod limiter;
pub mod outside;
pub mod prices;
pub mod probe;
pub mod promise_warning;
pub mod proof;
pub mod protect;
pub mod rank;
pub mod reserve;
pub mod router;
pub mod runaway;
pub mod score;
pub mod similarity;
pub mod stuck;
pub mod time_budget;
pub mod wait;
