//! What counts as progress of an iteration.
use super::flag;
use crate::settings::amounts::Fraction;
use crate::settings::choices::ProgressBy;
use crate::settings::value::Kind;

topic! {
    /// What counts as progress of an iteration.
    ProgressSettings {
        /// What says whether an iteration made progress: changed files and gates, or its score. The score is 30 % how
        /// different the output is from the one before, 30 % changed lines, 25 % the agent's progress marks, 15 % the
        /// ticked lines of the checklist.
        progress_by: ProgressBy {
            kind: ProgressBy::KIND,
            default: "gates",
            flag: flag("progress-by", "WHAT"),
            may_change: true,
        }
        /// An iteration with a score below this made no progress, where the score decides.
        progress_threshold: Fraction {
            kind: Kind::Fraction,
            default: "0.15",
            flag: flag("progress-threshold", "SCORE"),
            may_change: true,
        }
    }
}
