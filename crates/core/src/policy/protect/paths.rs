//! Parts of paths, and patterns of paths as shells have them.

/// The last part of a path.
pub(crate) fn name_of(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// The folder of a path; empty for one at the root.
pub(crate) fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// A path in a folder; the empty folder is the root.
pub(crate) fn joined(folder: &str, path: &str) -> String {
    if folder.is_empty() { path.to_owned() } else { format!("{folder}/{path}") }
}

/// Whether a path lies in a folder, at any depth. The empty folder holds all.
pub(crate) fn is_below(path: &str, folder: &str) -> bool {
    folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// The folder and all above it, the nearest first; the root is empty.
pub(crate) fn upwards(folder: &str) -> Vec<&str> {
    let mut all = vec![folder];
    let mut at = folder;
    while !at.is_empty() {
        at = folder_of(at);
        all.push(at);
    }
    all
}

/// Whether a path matches a pattern as shells have them: `*` and `?` stand for letters of one name, `**` for any folders.
#[must_use]
pub fn matches_path(pattern: &str, path: &str) -> bool {
    fn fits(pattern: &[u8], path: &[u8]) -> bool {
        match pattern {
            [] => path.is_empty(),
            [b'*', b'*', b'/', rest @ ..] => {
                fits(rest, path)
                    || path
                        .iter()
                        .enumerate()
                        .any(|(at, byte)| *byte == b'/' && fits(rest, path.get(at + 1..).unwrap_or_default()))
            }
            [b'*', b'*', rest @ ..] => (0..=path.len()).any(|at| fits(rest, path.get(at..).unwrap_or_default())),
            [b'*', rest @ ..] => {
                fits(rest, path) || path.split_first().is_some_and(|(byte, path)| *byte != b'/' && fits(pattern, path))
            }
            [b'?', rest @ ..] => path.split_first().is_some_and(|(byte, path)| *byte != b'/' && fits(rest, path)),
            [byte, rest @ ..] => path.split_first().is_some_and(|(first, path)| first == byte && fits(rest, path)),
        }
    }
    match pattern.split_once('*') {
        // Most patterns have one star. They are compared with every path of a project.
        Some((begin, end)) if !end.contains('*') && !pattern.contains('?') => {
            let middle = path.strip_prefix(begin).and_then(|rest| rest.strip_suffix(end));
            middle.is_some_and(|middle| !middle.contains('/'))
        }
        // Many stars take long, and no pattern that people write has them.
        None | Some(_) => pattern.matches('*').count() <= 8 && fits(pattern.as_bytes(), path.as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_is_a_part_of_one_name_and_two_stars_are_any_folders() {
        for (pattern, path) in [
            ("*.py", "a.py"),
            ("test_*.py", "test_.py"),
            ("tests/*.js", "tests/a.js"),
            ("a/**/b.sh", "a/b.sh"),
            ("a/**/b.sh", "a/x/y/b.sh"),
            ("**/*.test.js", "x/y/a.test.js"),
            ("a/**", "a/b/c"),
            ("t?.sh", "t1.sh"),
            ("*a*b*", "xaxbx"),
        ] {
            assert!(matches_path(pattern, path), "{pattern} {path}");
        }
        for (pattern, path) in [
            ("*.py", "x/a.py"),
            ("a/*", "a/b/c"),
            ("aa*aa", "aaa"),
            ("t?.sh", "t/.sh"),
            ("a", "ab"),
            ("*********", "a"),
        ] {
            assert!(!matches_path(pattern, path), "{pattern} {path}");
        }
    }

    #[test]
    fn a_folder_holds_what_is_below_it_and_the_root_holds_all() {
        assert!(is_below("a/b/c", "a/b") && is_below("a", ""));
        assert!(!is_below("ab/c", "a") && !is_below("a", "a"));
        assert_eq!(upwards("a/b"), ["a/b", "a", ""]);
    }
}
