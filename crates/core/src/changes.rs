//! How much changed in a workspace.
use serde::{Deserialize, Serialize};

use crate::text;

/// How long the names of changed files are together at most, in letters.
const NAMES_LETTERS_MAX: usize = 400;

/// How much changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changes {
    /// Files made, changed or removed.
    pub files: u32,
    /// Lines that came.
    pub insertions: u64,
    /// Lines that went.
    pub deletions: u64,
}

/// The first changed files by their names, and how many more there are: `a.rs, b.rs and 3 more`. None without names.
#[must_use]
pub fn changed_names(files: u32, names: &[String]) -> Option<String> {
    let more = usize::try_from(files).unwrap_or(usize::MAX).saturating_sub(names.len());
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    (!names.is_empty()).then(|| format!("{}{more}", text::one_line(&names.join(", "), NAMES_LETTERS_MAX)))
}
