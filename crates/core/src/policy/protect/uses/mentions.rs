//! The words of a text that may be paths.
use crate::policy::protect::paths::{is_below, matches_path, name_of};

/// The words of a text that may be paths.
#[derive(Debug)]
pub(in crate::policy::protect) struct Mentions {
    names: Vec<String>,
    patterns: Vec<String>,
}

impl Mentions {
    /// The words that are not patterns.
    pub(in crate::policy::protect) fn names(&self) -> impl Iterator<Item = &String> {
        self.names.iter()
    }

    pub(in crate::policy::protect) fn of(text: &str) -> Self {
        let apart = |letter: char| letter.is_whitespace() || "\"'`;|&()<>={}".contains(letter);
        let (mut names, mut patterns) = (Vec::new(), Vec::new());
        for word in text.split(apart).filter(|word| !word.is_empty()) {
            let word = word.trim_start_matches("./").trim_end_matches('/');
            // What stands in a variable may be anything.
            let parts = word.split('$').enumerate().map(|(at, part)| match at {
                0 => part.to_owned(),
                _ => format!("*{}", part.trim_start_matches(|letter: char| letter.is_alphanumeric() || letter == '_')),
            });
            let word: String = parts.collect();
            if !word.chars().any(char::is_alphanumeric) {
                continue;
            }
            if word.contains(['*', '?']) {
                patterns.push(word);
            } else {
                names.push(word);
            }
        }
        Self { names, patterns }
    }

    pub(super) fn has(&self, path: &str) -> bool {
        let name = name_of(path);
        self.has_by_pattern(path) || self.names.iter().any(|word| name_of(word) == name || is_below(path, word))
    }

    /// Whether a word or a pattern of this text stands for a word of the other one that fits.
    pub(in crate::policy::protect) fn shares(&self, other: &Self, is_wanted: &dyn Fn(&str) -> bool) -> bool {
        let fits = |word: &&String| {
            self.names.contains(*word) || self.patterns.iter().any(|pattern| matches_path(pattern, word.as_str()))
        };
        let known = other.names.iter().filter(|word| is_wanted(word));
        let mut patterns = other.patterns.iter().filter(|word| is_wanted(word));
        { known }.any(|word| fits(&word)) || patterns.any(|word| self.patterns.contains(word))
    }

    /// Whether a word or a pattern is this path from the folder of the text on.
    pub(in crate::policy::protect) fn has_path(&self, path: &str) -> bool {
        // `find . -name '*.conf'` looks in all folders.
        let searches = self.names.iter().any(|word| word == "find");
        let by_pattern = |pattern: &String| {
            pattern.contains('/') == path.contains('/') && matches_path(pattern, path)
                || searches && pattern.starts_with("*.") && matches_path(pattern, name_of(path))
        };
        self.names.iter().any(|word| word == path) || self.patterns.iter().any(by_pattern)
    }

    pub(super) fn has_by_pattern(&self, path: &str) -> bool {
        let fits = |pattern: &String| {
            matches_path(pattern, path) || !pattern.contains('/') && matches_path(pattern, name_of(path))
        };
        self.patterns.iter().any(fits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_of_a_text_that_searches_holds_in_all_folders() {
        let found = Mentions::of("for one in $(find . -name '*.conf'); do . $one; done");
        assert!(found.has_path("a/b.conf") && found.has_path("b.conf") && !found.has_path("a/b.txt"));
        let listed = Mentions::of("for one in *.conf; do . $one; done");
        assert!(listed.has_path("b.conf") && !listed.has_path("a/b.conf"));
    }
}
