//! Patterns of paths, and expressions that select tests.
use super::project::is_identifier;
use crate::policy::protect::matches_path;

/// Whether a path fits a pattern with `*`, `?` and `**`. Sets and braces fit nothing.
pub(super) fn fits_glob(pattern: &str, path: &str) -> bool {
    if pattern.contains(['{', '[', '!', '+', '@', '(']) {
        return false;
    }
    matches_path(pattern, path)
}

/// An expression of words with `and`, `or`, `not` and brackets, as pytest takes it for `-k` and `-m`.
pub(super) struct TestSelection {
    tokens: Vec<String>,
}

impl TestSelection {
    pub(super) fn parse(text: &str) -> Self {
        let spaced = text.replace('(', " ( ").replace(')', " ) ");
        Self { tokens: spaced.split_whitespace().map(str::to_owned).collect() }
    }

    /// Whether it holds, where `is_true` says which words do; none where it is no such expression.
    pub(super) fn holds(&self, is_true: &dyn Fn(&str) -> bool) -> Option<bool> {
        let mut at = Position { tokens: &self.tokens, next: 0 };
        let held = at.or(is_true)?;
        (at.next == self.tokens.len()).then_some(held)
    }

    /// The words that can be a part of a name.
    pub(super) fn words(&self) -> impl Iterator<Item = &str> {
        let words = self.tokens.iter().map(String::as_str);
        words.filter(|word| is_identifier(word) && !matches!(*word, "and" | "or" | "not"))
    }
}

struct Position<'a> {
    tokens: &'a [String],
    next: usize,
}

impl Position<'_> {
    fn take(&mut self, word: &str) -> bool {
        let is_next = self.tokens.get(self.next).is_some_and(|token| token == word);
        self.next += usize::from(is_next);
        is_next
    }

    fn or(&mut self, is_true: &dyn Fn(&str) -> bool) -> Option<bool> {
        let mut held = self.and(is_true)?;
        while self.take("or") {
            held |= self.and(is_true)?;
        }
        Some(held)
    }

    fn and(&mut self, is_true: &dyn Fn(&str) -> bool) -> Option<bool> {
        let mut held = self.not(is_true)?;
        while self.take("and") {
            held &= self.not(is_true)?;
        }
        Some(held)
    }

    fn not(&mut self, is_true: &dyn Fn(&str) -> bool) -> Option<bool> {
        if self.take("not") {
            return self.not(is_true).map(|held| !held);
        }
        if self.take("(") {
            let held = self.or(is_true)?;
            return self.take(")").then_some(held);
        }
        let word = self.tokens.get(self.next).filter(|word| !matches!(word.as_str(), ")" | "and" | "or"))?;
        self.next += 1;
        // Anything but letters, digits and some signs is a form that is not known here.
        let is_plain = word.chars().all(|letter| letter.is_alphanumeric() || "_-.:[]/".contains(letter));
        is_plain.then(|| is_true(word))
    }
}

/// A value of an option: `--name value` or `--name=value`.
pub(super) fn option_value<'a>(words: &'a [String], at: usize, names: &[&str]) -> Option<&'a str> {
    let word = words.get(at)?;
    if names.contains(&word.as_str()) {
        return words.get(at + 1).map(String::as_str);
    }
    let (name, value) = word.split_once('=')?;
    names.contains(&name).then_some(value)
}

/// A text that a regular expression takes as it stands.
pub(super) fn is_plain_pattern(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|letter| letter.is_alphanumeric() || " _-:,>/".contains(letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_of_paths_fits_as_in_a_shell() {
        for (pattern, path) in [
            ("*.py", "a.py"),
            ("tests/*.js", "tests/a.js"),
            ("**/*.test.js", "a.test.js"),
            ("**/*.test.js", "x/y/a.test.js"),
        ] {
            assert!(fits_glob(pattern, path), "{pattern} {path}");
        }
        for (pattern, path) in [("*.py", "x/a.py"), ("tests/*.js", "tests/x/a.js"), ("a?.js", "a/.js"), ("{a,b}", "a")]
        {
            assert!(!fits_glob(pattern, path), "{pattern} {path}");
        }
    }

    #[test]
    fn an_expression_is_read_with_its_usual_precedence() {
        let is = |text: &str| TestSelection::parse(text).holds(&|word| word == "a");
        assert_eq!(is("a"), Some(true));
        assert_eq!(is("not a or a and a"), Some(true));
        assert_eq!(is("not (a or b)"), Some(false));
        assert_eq!(is("b or not b"), Some(true));
        assert_eq!(is("a b"), None);
        assert_eq!(is("(a"), None);
        assert_eq!(is("a=1"), None);
    }
}
