//! What is tried when a loop is stuck.
use super::flag;
use crate::policy::ladder::{BranchNumbers, Ladder, MUTATIONS_MAX, Rung};
use crate::settings::value::Kind;

topic! {
    /// What is tried when a loop is stuck.
    RecoverySettings {
        /// When the loop is stuck, try something else before it ends: the rungs of the ladder, one after the other.
        recover: bool {
            kind: Kind::Switch,
            default: "false",
            flag: flag("recover", ""),
            may_change: true,
        }
        /// What is tried, each with its number of iterations: fresh, mutations, mutate:KIND, effort, model,
        /// effort_or_model, vendor, branches:COUNTxITERATIONS, human.
        ladder: Ladder {
            kind: Kind::Ladder,
            default: "fresh:2, effort_or_model:2, vendor:2, branches:2x2, human",
            flag: flag("ladder", "RUNGS"),
            may_change: true,
        }
        /// The loop is stuck after so many iterations in a row without a better result of the gates than the best so
        /// far. To return to an earlier state, or to fail twice in the same way, counts at once.
        stuck_after: Option<u32> {
            kind: Kind::CountOrUnlimited(1_000_000),
            default: "2",
            flag: flag("stuck-after", "N"),
            may_change: true,
        }
        /// So many iterations all rungs of one ladder may take together.
        recovery_budget: Option<u32> {
            kind: Kind::CountOrUnlimited(1_000_000),
            default: "10",
            flag: flag("recovery-budget", "N"),
            may_change: true,
        }
        /// How many forms of the task the rung mutations tries: rephrase, decompose, constrain, examples, negative, in
        /// this order.
        prompt_mutations: Option<u32> {
            kind: Kind::CountOrUnlimited(MUTATIONS_MAX),
            default: "3",
            flag: flag("prompt-mutations", "N"),
            may_change: true,
        }
        /// Try several ways beside each other in copies of the workspace where the ladder says branches.
        branch_exploration: bool {
            kind: Kind::Switch,
            default: "true",
            flag: flag("branch-exploration", ""),
            may_change: true,
        }
        /// How many branches the rung branches has where it names no numbers: 2 or 3.
        branch_count: Option<u32> {
            kind: Kind::CountOrUnlimited(3),
            default: "3",
            flag: flag("branch-count", "N"),
            may_change: true,
        }
        /// How many iterations each of them may take.
        branch_budget: Option<u32> {
            kind: Kind::CountOrUnlimited(1000),
            default: "10",
            flag: flag("branch-budget", "N"),
            may_change: true,
        }
    }
}

impl RecoverySettings {
    /// The rungs, in their order.
    #[must_use]
    pub fn rungs(&self) -> Vec<Rung> {
        let branches = BranchNumbers {
            count: self.branch_count.unwrap_or(3).max(2),
            iterations: self.branch_budget.unwrap_or(1000),
        };
        let branches = self.branch_exploration.then_some(branches);
        self.ladder.rungs(self.prompt_mutations.unwrap_or(MUTATIONS_MAX), branches)
    }
}
