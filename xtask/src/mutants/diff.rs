//! Which lines of which files a diff changed.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// Lines of the new files, as `git diff` writes them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChangedLines {
    files: BTreeMap<String, Vec<usize>>,
}

impl ChangedLines {
    /// Reads a unified diff. Where lines were only removed, the line behind them counts.
    #[must_use]
    pub fn read(diff: &str) -> Self {
        let mut files: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        let mut lines: Option<&mut Vec<usize>> = None;
        let mut at = 0;
        let mut in_hunk = false;
        for line in diff.lines() {
            if let Some(range) = line.strip_prefix("@@ ") {
                let new = range.split_whitespace().find_map(|word| word.strip_prefix('+')).unwrap_or_default();
                at = new.split(',').next().and_then(|number| number.parse().ok()).unwrap_or(0);
                in_hunk = true;
            } else if line.starts_with("diff ") {
                in_hunk = false;
                lines = None;
            } else if !in_hunk {
                if let Some(path) = line.strip_prefix("+++ ") {
                    let path = path.strip_prefix("b/").unwrap_or(path);
                    lines = Some(files.entry(path.to_owned()).or_default());
                }
            } else if let Some(lines) = lines.as_deref_mut() {
                match line.chars().next() {
                    Some('+') => {
                        lines.push(at);
                        at += 1;
                    }
                    Some('-') => lines.push(at),
                    _ => at += 1,
                }
            }
        }
        Self { files }
    }

    /// Whether one of these lines changed.
    #[must_use]
    pub fn touches(&self, file: &str, lines: &RangeInclusive<usize>) -> bool {
        self.files.get(file).is_some_and(|changed| changed.iter().any(|line| lines.contains(line)))
    }
}
