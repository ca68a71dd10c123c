//! Why a text is refused, and what would be right.

/// Why a value is refused, and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What is wrong with it.
    pub why: String,
    /// What would be right.
    pub hint: String,
}

impl Refusal {
    /// Both sentences.
    #[must_use]
    pub fn new(why: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { why: why.into(), hint: hint.into() }
    }
}
