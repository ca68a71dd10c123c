//! Whether two nodes may write the same files, by their globs. Where it is not sure, they may.

/// Whether a path may match one of the globs of each list. A list without globs says nothing, and hinders no other.
pub(super) fn may_overlap(some: &[String], others: &[String]) -> bool {
    some.iter().any(|one| others.iter().any(|other| globs_may_overlap(one, other)))
}

fn globs_may_overlap(one: &str, other: &str) -> bool {
    parts_may_overlap(&parts(one), &parts(other))
}

/// A glob names a file, or a folder with all in it. Without a slash it may lie in any folder, as in a `.gitignore`.
fn parts(glob: &str) -> Vec<&str> {
    let glob = glob.trim().trim_start_matches("./");
    let anywhere = !glob.trim_end_matches('/').contains('/');
    let named = glob.split('/').filter(|part| !part.is_empty());
    anywhere.then_some("**").into_iter().chain(named).collect()
}

/// A glob that has ended matches everything below what it names. In time of the product of both lengths.
fn parts_may_overlap(one: &[&str], other: &[&str]) -> bool {
    let mut below = vec![true; other.len() + 1];
    for part in one.iter().rev() {
        // The rest of `one` from this part on, against the rest of `other` from each of its parts on.
        let mut row = vec![true];
        for (at, other_part) in other.iter().enumerate().rev() {
            let next = |row: &[bool], at: usize| row.get(at).copied().unwrap_or(true);
            let beside = row.last().copied().unwrap_or(true);
            let fits = if *part == "**" || *other_part == "**" {
                next(&below, at) || beside
            } else {
                names_may_overlap(part, other_part) && next(&below, at + 1)
            };
            row.push(fits);
        }
        row.reverse();
        below = row;
    }
    below.first().copied().unwrap_or(true)
}

/// Two names with signs: what stands before the first sign, and behind the last one, must agree.
fn names_may_overlap(one: &str, other: &str) -> bool {
    const SIGNS: [char; 5] = ['*', '?', '[', '{', '\\'];
    let begin = |name: &str| name.split(SIGNS).next().unwrap_or_default().to_owned();
    let end = |name: &str| name.rsplit(['*', '?', ']', '}', '\\']).next().unwrap_or_default().to_owned();
    let plain = |name: &str| !name.contains(SIGNS);
    if plain(one) && plain(other) {
        return one == other;
    }
    let (begins, ends) = ([begin(one), begin(other)], [end(one), end(other)]);
    let [one_begin, other_begin] = &begins;
    let [one_end, other_end] = &ends;
    let begin_fits = one_begin.starts_with(other_begin) || other_begin.starts_with(one_begin);
    let end_fits = one_end.ends_with(other_end.as_str()) || other_end.ends_with(one_end.as_str());
    begin_fits && end_fits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_overlap_where_one_path_may_match_both() {
        for (one, other) in [
            ("src/api", "src/api/v1/users.rs"),
            ("src/**", "src/a/b.rs"),
            ("src/*.rs", "src/main.*"),
            ("**/*.md", "docs/guide.md"),
            ("*.md", "docs/guide.md"),
            ("docs/", "docs/a.md"),
            ("src/{a,b}.rs", "src/b.rs"),
            ("./src/x.rs", "src/x.rs"),
        ] {
            assert!(globs_may_overlap(one, other), "{one} {other}");
            assert!(globs_may_overlap(other, one), "{other} {one}");
        }
    }

    #[test]
    fn globs_of_different_folders_or_endings_do_not() {
        for (one, other) in [
            ("src/api/**", "src/web/**"),
            ("src/*.rs", "src/*.py"),
            ("docs/a.md", "docs/b.md"),
            ("src/*.rs", "tests/*.rs"),
            ("crates/core/**", "crates/host/src/lib.rs"),
        ] {
            assert!(!globs_may_overlap(one, other), "{one} {other}");
            assert!(!globs_may_overlap(other, one), "{other} {one}");
        }
        assert!(!may_overlap(&[], &["**".to_owned()]));
    }
}
