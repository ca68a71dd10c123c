//! The examples in doc comments, as one test program: rustdoc would build a program for each of them.

/// An example.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Example {
    /// A name for a test: the file and the line.
    pub name: String,
    pub code: String,
}

/// The examples of a source that are run.
#[must_use]
pub fn of_source(path: &str, text: &str) -> Vec<Example> {
    let stem: String = path.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' }).collect();
    let mut examples = Vec::new();
    // Whether a block is open, and the example in it, if it is one.
    let mut open: Option<Option<Example>> = None;
    for (number, line) in text.lines().enumerate() {
        let line = line.trim_start();
        let Some(doc) = line.strip_prefix("///").or_else(|| line.strip_prefix("//!")) else {
            open = None;
            continue;
        };
        let doc = doc.strip_prefix(' ').unwrap_or(doc);
        match (&mut open, doc.trim_start().strip_prefix("```")) {
            (None, Some(kind)) => {
                let is_run = matches!(kind.trim(), "" | "rust");
                let example = Example { name: format!("{stem}_{}", number + 1), code: String::new() };
                open = Some(is_run.then_some(example));
            }
            (Some(_), Some(_)) => examples.extend(open.take().flatten()),
            (Some(Some(example)), None) => {
                // A line that rustdoc does not show.
                let doc = if doc == "#" { "" } else { doc.strip_prefix("# ").unwrap_or(doc) };
                example.code.push_str(doc);
                example.code.push('\n');
            }
            (Some(None) | None, None) => {}
        }
    }
    examples
}

/// The source of the test program.
#[must_use]
pub fn program(examples: &[Example]) -> String {
    let mut text = "#![allow(warnings, clippy::all)]\n".to_owned();
    for example in examples {
        text.push_str(&format!("#[test]\nfn {}() {{\n{}}}\n", example.name, example.code));
    }
    text
}
