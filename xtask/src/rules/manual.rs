//! Nothing that people see is missing from the manual: words, exit codes, variables of the environment, events.
//!
//! Pages that are written from the code are compared with it by a test (`xtask/tests/it/reference.rs`). This rule finds
//! what such a page cannot say by itself, and what hand-written pages leave out.

use std::collections::BTreeSet;

use loop_core::plan::{PlanOutcome, plan_standing};
use proc_macro2::{Delimiter, TokenTree};

use crate::manual::{EXIT_CODES, TABLES, text_of, variants, words_of};
use crate::tokens::{attribute_at, each_sequence, group_of, is_sign, is_word, lex, word_of};
use crate::{File, Finding, Tree};

/// The page of variables.
pub const ENVIRONMENT: &str = "docs/reference/environment.md";
/// The page of events.
const JSON: &str = "docs/formats/json.md";
/// Enums whose words that page lists, too.
const IN_JSON: [&str; 4] = ["Outcome", "ReasonCode", "Status", "Verdict"];
/// Where events get their names.
const EVENTS: &str = "crates/core/src/view/events.rs";
/// Where errors get their exit codes.
const ERRORS: &str = "crates/cli/src/render/error.rs";

/// Crates whose variables people see.
const PRODUCT: [&str; 4] = ["core", "host", "daemon", "cli"];
/// Beginnings of variables that are ours.
const OURS: [&str; 4] = ["LOOP_", "LOOPR_", "LOOPD_", "HARNESS_"];
/// Functions that read a variable of the environment.
const READERS: [&str; 4] = ["var", "var_os", "lookup", "folder"];
/// Words that only look like variables, and why.
const NOT_VARIABLES: [(&str, &str); 6] = [
    ("LOOP_GATE", "only looked for in lines that an agent wrote"),
    ("LOOP_STATUS", "a mark in what an agent prints"),
    ("LOOPR_STATUS", "a mark in what an agent prints"),
    ("LOOP_BUILD_COMMIT", "only while the program is built"),
    ("LOOP_BUILD_PROFILE", "only while the program is built"),
    ("LOOP_BUILD_TARGET", "only while the program is built"),
];

/// Finds what the manual leaves out.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    [words(tree), exit_codes(tree), variables(tree), events(tree)].concat()
}

/// Variants without a sentence, and words that mean nothing.
fn words(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for table in TABLES {
        let Some(file) = tree.file(table.file) else { continue };
        for variant in variants(&file.text, table.name).iter().filter(|variant| variant.doc.is_empty()) {
            let message =
                format!("`{}::{}` has no doc comment: it is its sentence in the manual", table.name, variant.name);
            findings.push(Finding::new(table.file, 1, message));
        }
        let words = words_of(tree, table);
        let page = tree.file(JSON).filter(|_| IN_JSON.contains(&table.name));
        for word in page
            .into_iter()
            .flat_map(|page| words.iter().filter(|word| !page.text.contains(&format!("`{}`", word.word))))
        {
            let message = format!("`{}` of {} is not in {JSON}; add it there", word.word, table.name);
            findings.push(Finding::new(table.file, 1, message));
        }
        if words.is_empty() {
            let message = format!("the manual expects the enum `{}` here; correct xtask/src/manual.rs", table.name);
            findings.push(Finding::new(table.file, 1, message));
        }
    }
    findings
}

/// Exit codes that are not in the table.
fn exit_codes(tree: &Tree) -> Vec<Finding> {
    let mut codes: BTreeSet<u8> = PlanOutcome::ALL.iter().map(|outcome| plan_standing(*outcome).exit_code).collect();
    if let Some(stream) = tree.file(ERRORS).and_then(|file| lex(&file.text)) {
        each_sequence(stream, &mut |sequence| {
            for at in 0..sequence.len() {
                if is_sign(sequence.get(at), '=') && is_sign(sequence.get(at + 1), '>') {
                    codes.extend(sequence.get(at + 2).and_then(|token| token.to_string().parse::<u8>().ok()));
                }
            }
        });
    }
    let known = |code: &u8| EXIT_CODES.iter().any(|(known, _)| known == code);
    let missing = codes.into_iter().filter(|code| !known(code));
    let told = |code| format!("exit code {code} is not in EXIT_CODES of xtask/src/manual.rs; say what it means");
    missing.map(|code| Finding::new(ERRORS, 1, told(code))).collect()
}

/// Variables that the page does not name, and those of the page that no code knows.
fn variables(tree: &Tree) -> Vec<Finding> {
    let Some(page) = tree.file(ENVIRONMENT) else { return Vec::new() };
    let named: BTreeSet<(usize, String)> = named_variables(&page.text);
    let mut findings = Vec::new();
    let mut known = BTreeSet::new();
    let is_product = |file: &&File| {
        file.in_crate().is_some_and(|(krate, path)| PRODUCT.contains(&krate) && path.starts_with("src/"))
    };
    for file in tree.rust().filter(is_product) {
        let used = used_variables(file);
        for (line, name) in &used.ours {
            if !named.iter().any(|(_, known)| known == name) {
                let message = format!("the variable {name} is not in {ENVIRONMENT}; add it");
                findings.push(Finding::new(&file.path, *line, message));
            }
        }
        known.extend(used.all);
    }
    for (line, name) in &named {
        if !known.contains(name) {
            findings.push(Finding::new(ENVIRONMENT, *line, format!("no code knows the variable {name}; remove it")));
        }
    }
    findings
}

/// The variables that begin the lines of the lists.
fn named_variables(page: &str) -> BTreeSet<(usize, String)> {
    let mut found = BTreeSet::new();
    for (number, line) in page.lines().enumerate() {
        let first = line.strip_prefix("- `").and_then(|_| line.split(": ").next()).unwrap_or_default();
        let words = first.split('`').skip(1).step_by(2);
        found.extend(words.map(|name| (number + 1, name.to_owned())));
    }
    found
}

/// The texts of a file that are names of variables.
#[derive(Debug, Default)]
struct UsedVariables {
    /// Those that must be in the manual.
    ours: Vec<(usize, String)>,
    /// All texts, for the other direction.
    all: BTreeSet<String>,
}

fn used_variables(file: &File) -> UsedVariables {
    let mut used = UsedVariables::default();
    let Some(stream) = lex(&file.text) else { return used };
    let tests = test_modules(stream.clone());
    let is_test = |line: usize| tests.iter().any(|(from, to)| (*from..=*to).contains(&line));
    each_sequence(stream, &mut |sequence| {
        for at in 0..sequence.len() {
            let line = sequence.get(at).map(|token| token.span().start().line).unwrap_or_default();
            if is_test(line) {
                continue;
            }
            if let Some(text) = text_of(sequence.get(at)).filter(|text| is_name(text)) {
                let is_ours = OURS.iter().any(|own| text.starts_with(own));
                if is_ours && !text.ends_with('_') && !NOT_VARIABLES.iter().any(|(other, _)| *other == text) {
                    used.ours.push((line, text.clone()));
                }
                used.all.insert(text);
            }
            let reads = word_of(sequence.get(at)).is_some_and(|word| READERS.contains(&word.as_str()));
            if let (true, Some(group)) = (reads, group_of(sequence.get(at + 1), Delimiter::Parenthesis)) {
                let first: Option<TokenTree> = group.stream().into_iter().next();
                let name = text_of(first.as_ref()).filter(|text| is_name(text));
                used.ours.extend(name.map(|name| (line, name)));
            }
        }
    });
    used
}

fn is_name(text: &str) -> bool {
    let allowed = |sign: char| sign.is_ascii_uppercase() || sign.is_ascii_digit() || sign == '_';
    text.len() > 2 && text.starts_with(|sign: char| sign.is_ascii_uppercase()) && text.chars().all(allowed)
}

/// The lines of modules that are only built for tests.
fn test_modules(stream: proc_macro2::TokenStream) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    each_sequence(stream, &mut |sequence| {
        for at in 0..sequence.len() {
            let is_cfg_test =
                attribute_at(sequence, at).is_some_and(|inside| inside.to_string().replace(' ', "") == "cfg(test)");
            if !is_cfg_test {
                continue;
            }
            let mut rest = sequence.iter().skip(at + 2).take(4);
            if let Some(TokenTree::Group(body)) = rest.find(|token| matches!(token, TokenTree::Group(_))) {
                found.push((body.span().start().line, body.span().end().line));
            }
        }
    });
    found
}

/// Public events that the page does not name.
fn events(tree: &Tree) -> Vec<Finding> {
    let (Some(code), Some(page)) = (tree.file(EVENTS), tree.file(JSON)) else { return Vec::new() };
    let Some(stream) = lex(&code.text) else { return Vec::new() };
    let mut findings = Vec::new();
    each_sequence(stream, &mut |sequence| {
        let Some(name) = text_of(sequence.first()).filter(|_| is_sign(sequence.get(1), ',')) else { return };
        let is_event = name.chars().all(|sign| sign.is_ascii_lowercase() || sign == '_');
        if is_event && !page.text.contains(&format!("`{name}`")) && !is_word(sequence.get(2), "in") {
            let line = sequence.first().map(|token| token.span().start().line).unwrap_or(1);
            findings.push(Finding::new(EVENTS, line, format!("the event `{name}` is not in {JSON}; describe it")));
        }
    });
    findings
}
