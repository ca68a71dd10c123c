//! Small pure decisions. They have no state of their own: they get what they need as arguments.
//!
//! | file | what it decides |
//! |---|---|
//! | `gate` | the verdict of a gate, from how its process ended and from its tries |
//! | `promise_warning` | which promises pass although the work is not done |
//! | `rank` | which of two states of the workspace is better, by the results of the gates |
//! | `candidate` | which of several branches is the best |
//! | `breaker` | when to stop because there is no progress: counts of bad iterations |
//! | `crash` | when to stop because the agent crashes again and again |
//! | `runaway` | when to warn a person that a loop may run away |
//! | `failures` | what follows from each class of failure: wait, the next iteration, or the end |
//! | `wait` | how long to wait after the provider refused |
//! | `limiter` | how many calls were made in the last hour, and when the next one is free |
//! | `reserve` | what a call reserves in the ledger of all runs |
//! | `budget` | amounts of money and tokens, and what is left of a limit |
//! | `prices` | the cost of tokens, by the user's table |
//! | `time_budget` | how the time that is left is divided between agent and gates |
//! | `proof` | what speaks against a pass, how much it weighs, and what follows |
//! | `protect` | which files an agent must not change |
//! | `outside` | what outside of the workspace may decide what a gate says, and what a change there means |
//! | `probe` | how a copy is changed so that good gates must fail: canary, undo, hunks |
pub mod breaker;
pub mod budget;
pub mod candidate;
pub mod crash;
pub mod failures;
pub mod gate;
pub mod limiter;
pub mod outside;
pub mod prices;
pub mod probe;
pub mod promise_warning;
pub mod proof;
pub mod protect;
pub mod rank;
pub mod reserve;
pub mod runaway;
pub mod time_budget;
pub mod wait;
