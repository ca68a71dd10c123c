//! Boxes in a Markdown file of no known tool.
use super::ListFormat;
use super::draft::Draft;
use super::markdown;
use super::outline::{self, OutlineRules};

/// Reads a file.
pub(super) fn read(text: &str) -> Draft {
    let mut draft = Draft::new(ListFormat::TaskList, "task list");
    outline::add(&mut draft, &markdown::lines(text), &OutlineRules::PLAIN);
    draft
}
