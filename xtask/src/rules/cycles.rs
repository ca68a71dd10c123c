//! Modules of a crate that use each other in a circle. Where two modules need each other, neither can be read, tested
//! or moved alone.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, TokenTree};

use crate::tokens::{attribute_at, each_sequence, group_of, is_sign, is_word, lex, line_of, word_of};
use crate::{File, Finding, Tree};

/// Pairs of a crate that still use each other. They must become fewer: one that is not there any more is reported
/// until it is taken out of this list.
pub const KNOWN: &[Known] = &[];

/// A pair of modules of a crate that use each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// The folder of the crate.
    pub of: &'static str,
    /// One of them.
    pub one: &'static str,
    /// The other.
    pub other: &'static str,
}

/// Where one module uses another one: the first place.
type Uses<'a> = BTreeMap<(String, String), (&'a str, usize)>;

/// Finds circles among the top-level modules of each crate. What only tests use does not count.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    check_with(tree, KNOWN)
}

/// The same, with another list.
#[must_use]
pub fn check_with(tree: &Tree, known: &[Known]) -> Vec<Finding> {
    let mut crates: BTreeMap<&str, Vec<&File>> = BTreeMap::new();
    for file in tree.rust().filter(|file| file.is_src()) {
        if let Some((name, _)) = file.in_crate() {
            crates.entry(name).or_default().push(file);
        }
    }
    let mut findings: Vec<Finding> = crates.iter().flat_map(|(name, files)| check_crate(name, files, known)).collect();
    let is_stale = |known: &&Known| {
        let Some(files) = crates.get(known.of) else { return false };
        let is_there = |name: &str| files.iter().any(|file| module_of(file) == Some(name));
        let uses_both = circle_pairs(&uses_of(files)).contains(&pair(known.one, known.other));
        is_there(known.one) && is_there(known.other) && !uses_both
    };
    let stale = known.iter().filter(is_stale);
    findings.extend(stale.map(|Known { of: name, one, other }| {
        let fault = format!("`{one}` and `{other}` of {name} use each other no more; take the pair out of KNOWN");
        Finding::new("xtask/src/rules/cycles.rs", 1, fault)
    }));
    findings
}

fn check_crate(name: &str, files: &[&File], known: &[Known]) -> Vec<Finding> {
    let uses = uses_of(files);
    let is_known =
        |one: &str, other: &str| known.iter().any(|row| row.of == name && pair(row.one, row.other) == pair(one, other));
    let circles = circle_pairs(&uses);
    let faults = uses.iter().filter(|((from, to), _)| circles.contains(&pair(from, to)) && !is_known(from, to));
    let fault = |((from, to), (path, line)): (&(String, String), &(&str, usize))| {
        let fault = format!("`{from}` uses `{to}`, which uses `{from}`; move what both need into a module below them");
        Finding::new(*path, *line, fault)
    };
    let mut findings: Vec<Finding> = faults.map(fault).collect();
    // A circle of more than two has no pair; it is reported once.
    if let Some(circle) = longer_circle(&uses, &|one, other| circles.contains(&pair(one, other))) {
        let first = circle.first().zip(circle.get(1)).map(|(from, to)| (from.clone(), to.clone()));
        let place = first.and_then(|first| uses.get(&first)).copied().unwrap_or(("", 1));
        findings.push(Finding::new(place.0, place.1, format!("modules in a circle: {}", circle.join(" → "))));
    }
    findings
}

/// Two names, in one order.
fn pair(one: &str, other: &str) -> (String, String) {
    if one < other { (one.to_owned(), other.to_owned()) } else { (other.to_owned(), one.to_owned()) }
}

fn circle_pairs(uses: &Uses<'_>) -> BTreeSet<(String, String)> {
    let both = uses.keys().filter(|(from, to)| uses.contains_key(&(to.clone(), from.clone())));
    both.map(|(from, to)| pair(from, to)).collect()
}

/// A circle without an edge back to the one before it, if there is one.
fn longer_circle(uses: &Uses<'_>, is_pair: &dyn Fn(&str, &str) -> bool) -> Option<Vec<String>> {
    let mut next: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (from, to) in uses.keys().filter(|(from, to)| !is_pair(from, to)) {
        next.entry(from).or_default().push(to);
    }
    // What uses nothing that is left is in no circle.
    loop {
        let alive: BTreeSet<&str> = next.keys().copied().collect();
        next.values_mut().for_each(|used| used.retain(|name| alive.contains(name)));
        let before = next.len();
        next.retain(|_, used| !used.is_empty());
        if next.len() == before {
            break;
        }
    }
    let mut circle: Vec<&str> = vec![next.keys().next()?];
    loop {
        let name = next.get(circle.last()?)?.first()?;
        if let Some(at) = circle.iter().position(|seen| seen == name) {
            let around = circle.get(at..)?.iter().chain([name]);
            return Some(around.map(|name| (*name).to_owned()).collect());
        }
        circle.push(name);
    }
}

fn uses_of<'a>(files: &[&'a File]) -> Uses<'a> {
    let modules: BTreeSet<&str> = files.iter().filter_map(|file| module_of(file)).collect();
    let mut uses = Uses::new();
    for file in files {
        let Some(from) = module_of(file) else { continue };
        for (to, line) in used_in(file) {
            if to != from && modules.contains(to.as_str()) {
                uses.entry((from.to_owned(), to)).or_insert((&file.path, line));
            }
        }
    }
    uses
}

/// The top-level module that a file belongs to; none for the root of the crate and for programs.
fn module_of(file: &File) -> Option<&str> {
    let inside = file.in_crate()?.1.strip_prefix("src/")?;
    let name = inside.split('/').next()?;
    let name = name.strip_suffix(".rs").unwrap_or(name);
    (!matches!(name, "lib" | "main" | "bin")).then_some(name)
}

/// How deep in the crate the module of a file lies: 1 for `src/name.rs`.
fn depth_of(file: &File) -> usize {
    let inside = file.in_crate().map_or("", |(_, rest)| rest);
    let slashes = inside.matches('/').count();
    if file.stem() == "mod" { slashes.saturating_sub(1) } else { slashes }
}

/// The top-level modules that a file names, by `crate::name`, `crate::{name, …}` or enough `super::`.
fn used_in(file: &File) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    let Some(stream) = lex(&file.text) else { return found };
    let mut tests: Vec<(usize, usize)> = Vec::new();
    each_sequence(stream.clone(), &mut |sequence| tests.extend(test_modules(sequence)));
    let depth = depth_of(file);
    each_sequence(stream, &mut |sequence| {
        for (at, token) in sequence.iter().enumerate() {
            let line = line_of(token);
            if tests.iter().any(|(first, last)| (first..=last).contains(&&line)) {
                continue;
            }
            // Not a part of a longer path.
            if at > 0 && is_sign(sequence.get(at - 1), ':') {
                continue;
            }
            let Some(behind) = root_at(sequence, at, depth) else { continue };
            found.extend(names_at(sequence, behind).into_iter().map(|name| (name, line)));
        }
    });
    found
}

/// The lines of test modules in a file.
fn test_modules(sequence: &[TokenTree]) -> Vec<(usize, usize)> {
    let is_test = |at: usize| {
        attribute_at(sequence, at).is_some_and(|inside| {
            let words: Vec<TokenTree> = inside.into_iter().collect();
            let condition = group_of(words.get(1), Delimiter::Parenthesis);
            is_word(words.first(), "cfg")
                && condition.is_some_and(|inside| is_word(inside.stream().into_iter().next().as_ref(), "test"))
        })
    };
    let body = |at: usize| {
        let rest = sequence.get(at + 2..)?;
        rest.iter().find_map(|token| group_of(Some(token), Delimiter::Brace))
    };
    let found = (0..sequence.len()).filter(|at| is_test(*at)).filter_map(|at| {
        let body = body(at)?;
        Some((line_of(sequence.get(at)?), body.span_close().end().line))
    });
    found.collect()
}

/// Where the names behind the root of the crate begin, if the path that begins here starts at the root.
fn root_at(sequence: &[TokenTree], at: usize, depth: usize) -> Option<usize> {
    let is_path = |at: usize| is_sign(sequence.get(at), ':') && is_sign(sequence.get(at + 1), ':');
    if is_word(sequence.get(at), "crate") && is_path(at + 1) {
        return Some(at + 3);
    }
    let mut behind = at;
    let mut up = 0;
    while is_word(sequence.get(behind), "super") && is_path(behind + 1) {
        behind += 3;
        up += 1;
    }
    (up > 0 && up == depth).then_some(behind)
}

/// The first names of the path, or of the list of paths, that begins here.
fn names_at(sequence: &[TokenTree], at: usize) -> Vec<String> {
    if let Some(name) = word_of(sequence.get(at)) {
        return vec![name];
    }
    let Some(list) = group_of(sequence.get(at), Delimiter::Brace) else { return Vec::new() };
    let inside: Vec<TokenTree> = list.stream().into_iter().collect();
    let parts = inside.split(|token| is_sign(Some(token), ','));
    parts.filter_map(|part| word_of(part.first())).collect()
}
