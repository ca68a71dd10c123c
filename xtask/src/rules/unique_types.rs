//! Names of types that stand twice in one crate. Where two types share a name, a search and an import mislead.

use std::collections::BTreeMap;

use proc_macro2::TokenTree;

use crate::tokens::{each_sequence, group_of, is_word, lex, line_of, word_of};
use crate::{File, Finding, Tree};

/// A name that a crate still uses for more than one type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownName {
    /// The folder under `crates`.
    pub folder: &'static str,
    /// The name.
    pub name: &'static str,
}

/// The names that are left. The list only gets shorter: a name that stands once is reported until it is taken out.
pub const KNOWN: &[KnownName] = &[known("testkit", "Call"), known("testkit", "Turn")];

const fn known(folder: &'static str, name: &'static str) -> KnownName {
    KnownName { folder, name }
}

/// Finds types of a crate that others can use (`pub`, `pub(crate)` and the like) and that share their name.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    check_with(tree, KNOWN)
}

/// The same, with another list.
#[must_use]
pub fn check_with(tree: &Tree, known: &[KnownName]) -> Vec<Finding> {
    let mut types: BTreeMap<(&str, String), Vec<Declaration<'_>>> = BTreeMap::new();
    for file in tree.rust().filter(|file| file.is_src()) {
        let Some((folder, _)) = file.in_crate() else { continue };
        for (name, line) in types_of(file) {
            types.entry((folder, name)).or_default().push(Declaration { path: &file.path, line });
        }
    }
    let is_known = |folder: &str, name: &str| known.iter().any(|row| row.folder == folder && row.name == name);
    let mut findings = Vec::new();
    for ((folder, name), places) in &types {
        let [first, others @ ..] = places.as_slice() else { continue };
        if is_known(folder, name) {
            if others.is_empty() {
                let fault = format!("`{name}` of {folder} is unique; take it out of KNOWN");
                findings.push(Finding::new("xtask/src/rules/unique_types.rs", 1, fault));
            }
            continue;
        }
        findings.extend(others.iter().map(|place| {
            let fault = format!("{folder} has another type `{name}` in {}:{}; rename one", first.path, first.line);
            Finding::new(place.path, place.line, fault)
        }));
    }
    findings
}

/// Where a type is declared.
struct Declaration<'a> {
    path: &'a str,
    line: usize,
}

/// The types of a file that are visible outside of their module, with their lines.
fn types_of(file: &File) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    let Some(stream) = lex(&file.text) else { return found };
    each_sequence(stream, &mut |sequence| {
        for (at, token) in sequence.iter().enumerate() {
            if is_word(Some(token), "pub")
                && let Some(name) = type_after(sequence.get(at + 1..).unwrap_or_default())
            {
                found.push((name, line_of(token)));
            }
        }
    });
    found
}

/// The name of the type that is declared behind `pub`; none where something else is.
fn type_after(rest: &[TokenTree]) -> Option<String> {
    let is_scope = group_of(rest.first(), proc_macro2::Delimiter::Parenthesis).is_some();
    let rest = rest.get(usize::from(is_scope)..)?;
    let is_type = ["struct", "enum", "trait", "type", "union"].iter().any(|word| is_word(rest.first(), word));
    if is_type { word_of(rest.get(1)) } else { None }
}
