//! Patterns for paths: `*` is any part of a name, `**/` any folders.

/// Whether a path matches.
#[must_use]
pub fn matches(pattern: &str, path: &str) -> bool {
    if let Some(rest) = pattern.strip_prefix("**/") {
        let mut tail = Some(path);
        while let Some(here) = tail {
            if matches(rest, here) {
                return true;
            }
            tail = here.split_once('/').map(|(_, behind)| behind);
        }
        return false;
    }
    match pattern.chars().next() {
        None => path.is_empty(),
        Some('*') => {
            let name = path.split('/').next().unwrap_or_default();
            let ends = name.char_indices().map(|(at, _)| at).chain([name.len()]);
            ends.into_iter().any(|at| matches(&pattern[1..], &path[at..]))
        }
        Some(letter) => path.strip_prefix(letter).is_some_and(|rest| matches(&pattern[letter.len_utf8()..], rest)),
    }
}
