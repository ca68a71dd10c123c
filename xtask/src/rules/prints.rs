//! Calls that have no place: printing past the printer, sleeping in tests, tests that never run.

use proc_macro2::{Delimiter, TokenTree};

use crate::tokens::{attribute_at, each_sequence, group_of, is_sign, is_word, lex, line_of, word_of};
use crate::{File, Finding, Tree};

const PRINTS: &[&str] = &["dbg", "eprint", "eprintln", "print", "println"];
const UNFINISHED: &[&str] = &["todo", "unimplemented"];

/// The files of the product that may print; an entry that ends in `/` stands for a folder.
const PRINTERS: &[&str] = &["crates/cli/src/render/printer.rs", "crates/daemon/src/bin/", "crates/daemon/src/main.rs"];

/// Finds banned calls and attributes, in code only: strings and comments may speak of them.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    tree.rust().flat_map(check_file).collect()
}

fn check_file(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    let Some(stream) = lex(&file.text) else {
        return findings;
    };
    each_sequence(stream, &mut |sequence| {
        for (at, token) in sequence.iter().enumerate() {
            let faults = [macro_fault(file, sequence, at), sleep_fault(file, sequence, at), ignore_fault(sequence, at)];
            let faults = faults.into_iter().flatten();
            findings.extend(faults.map(|fault| Finding::new(&file.path, line_of(token), fault)));
        }
    });
    findings
}

fn macro_fault(file: &File, sequence: &[TokenTree], at: usize) -> Option<String> {
    let name = word_of(sequence.get(at))?;
    let is_call = is_sign(sequence.get(at + 1), '!') && matches!(sequence.get(at + 2), Some(TokenTree::Group(_)));
    if !is_call {
        return None;
    }
    if UNFINISHED.contains(&name.as_str()) {
        return Some(format!("`{name}!` is a promise; write the code, or return an error"));
    }
    let must_not_print = file.path.starts_with("crates/") && file.is_src() && !may_print(file);
    (must_not_print && PRINTS.contains(&name.as_str()))
        .then(|| format!("`{name}!` outside the printer; return the text and let the cli's printer show it"))
}

fn may_print(file: &File) -> bool {
    PRINTERS.iter().any(|printer| file.path == *printer || (printer.ends_with('/') && file.path.starts_with(printer)))
}

/// `thread::sleep`, also imported by `thread::{sleep}`.
fn sleep_fault(file: &File, sequence: &[TokenTree], at: usize) -> Option<String> {
    let is_path =
        is_word(sequence.get(at), "thread") && is_sign(sequence.get(at + 1), ':') && is_sign(sequence.get(at + 2), ':');
    if !file.is_tests() || !is_path {
        return None;
    }
    let callee = sequence.get(at + 3);
    let in_list = group_of(callee, Delimiter::Brace).is_some_and(|list| {
        let mut names = list.stream().into_iter();
        names.any(|name| is_word(Some(&name), "sleep"))
    });
    (is_word(callee, "sleep") || in_list)
        .then(|| "`thread::sleep` in a test; wait for a fact, with a time limit".to_owned())
}

/// `#[ignore]`, `#[ignore = "…"]`, `#[cfg_attr(…, ignore)]`.
fn ignore_fault(sequence: &[TokenTree], at: usize) -> Option<String> {
    let attribute: Vec<TokenTree> = attribute_at(sequence, at)?.into_iter().collect();
    let under_condition = is_word(attribute.first(), "cfg_attr")
        && group_of(attribute.get(1), Delimiter::Parenthesis).is_some_and(|inside| {
            let mut words = inside.stream().into_iter();
            words.any(|word| is_word(Some(&word), "ignore"))
        });
    (is_word(attribute.first(), "ignore") || under_condition)
        .then(|| "an ignored test proves nothing; make it run, or remove it".to_owned())
}
