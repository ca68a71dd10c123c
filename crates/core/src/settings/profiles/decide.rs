//! The profile of the PRD loop specification: one item at a time, 3 loops for it, 2 retries for each type of failure.
use super::Table;

/// The defaults. The checks decide, so no status block is asked for; what a retry changes is decided by the rules of the
/// item, so there is no other recovery.
pub(super) const DEFAULTS: Table = &[
    ("max_iterations", "3"),
    ("item_loops", "3"),
    ("item_retries", "2"),
    ("item_time", "unlimited"),
    ("item_tokens", "unlimited"),
    ("status_block", "none"),
    ("max_missing_status", "unlimited"),
    ("recover", "false"),
];
