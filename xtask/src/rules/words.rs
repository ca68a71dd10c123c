//! Plain English: words and phrases that readers stumble over may not stand in what people read.
//!
//! Read are documents (outside code), and of product code the doc comments, module headers and texts of more than one
//! word: help, messages, prompts. Ordinary comments and tests are not read.
//!
//! Documents have none. What is left in code is counted for each folder in [`COUNTS`]; a count may only go down.
//! `cargo xtask tidy --write-counts` writes the counts of today, for example after a merge that moved files.

use std::collections::BTreeMap;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::{File, Finding, Tree, markdown, tokens};

/// Where the counts are.
pub const COUNTS: &str = ".config/banned-words.txt";

/// The first lines of [`COUNTS`].
const COUNTS_HEAD: &str = "\
# Banned words and phrases that are left in doc comments and texts, for each folder (xtask/src/rules/words.rs).
# A folder that is not here has none. Counts go down, never up. Written by `cargo xtask tidy --write-counts`.
";

/// The list itself.
const THIS_FILE: &str = "xtask/src/rules/words.rs";

/// A phrase, and what to write instead.
struct Banned {
    phrase: &'static str,
    instead: &'static str,
    /// Words before it with which it is fine.
    unless_after: &'static [&'static str],
    /// Words behind it with which it is fine.
    unless_before: &'static [&'static str],
}

const fn banned(phrase: &'static str, instead: &'static str) -> Banned {
    Banned { phrase, instead, unless_after: &[], unless_before: &[] }
}

/// The phrases, in small letters.
const BANNED: &[Banned] = &[
    banned("a wish", "request"),
    banned("anew", "again"),
    banned("are told", "get, or are reported"),
    banned("at the ledger", "in the ledger"),
    banned("be had", "is available"),
    banned("been told", "got, or was reported"),
    banned("behind its back", "without its knowledge"),
    banned("behind the back", "without its knowledge"),
    banned("came to nothing", "failed"),
    banned("comes to nothing", "fails"),
    banned("container front", "container profile"),
    banned("get nowhere", "make no progress"),
    banned("gets nowhere", "makes no progress"),
    banned("go on with", "continue, resume"),
    banned("goes on with", "continues, resumes"),
    banned("going on with", "continuing, resuming"),
    banned("gone back to", "restored"),
    banned("gone on with", "resumed"),
    banned("got nowhere", "made no progress"),
    banned("half this and half that", "half-restored"),
    banned("has spoken", "has a result"),
    banned("have spoken", "have results"),
    Banned {
        phrase: "is no",
        instead: "is not a",
        unless_after: &["there", "it"],
        unless_before: &["longer", "more", "one"],
    },
    banned("is told", "gets, or is reported"),
    banned("left lying", "left"),
    banned("let stand", "unchanged"),
    banned("mend", "fix"),
    banned("mended", "fixed"),
    banned("mending", "fixing"),
    banned("mends", "fixes"),
    banned("neither this nor that", "half-restored"),
    banned("nobody", "no person, or name who it is"),
    banned("shelf", "snapshot folder"),
    banned("shelved", "stored"),
    banned("the document's", "name the specification"),
    banned("the eyes", "the scanner"),
    banned("the five documents", "the specifications"),
    banned("the hands", "the executor"),
    banned("turned round", "negated"),
    banned("turns the answer round", "negates the verdict"),
    banned("was given up", "was cancelled"),
    banned("was told", "got, or was reported"),
    banned("were told", "got, or were reported"),
    banned("whoever", "name who it is"),
    banned("would not let us", "refused"),
    banned("yard", "work queue"),
];

/// Finds banned words where there may be none, or more of them than are counted, and counts that are too high.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = found_in(tree);
    let mut findings = Vec::new();
    for (line, folder, allowed) in counts(tree) {
        let here = found.remove(folder).unwrap_or_default();
        if here.len() > allowed {
            findings.extend(here);
        } else if here.len() < allowed {
            let message = format!(
                "{folder} has {} banned words, not {allowed}; run `cargo xtask tidy --write-counts`",
                here.len()
            );
            findings.push(Finding::new(COUNTS, line, message));
        }
    }
    findings.extend(found.into_values().flatten());
    findings
}

/// The text of [`COUNTS`] as it would be right. Documents are left out: they may have none.
#[must_use]
pub fn counted(tree: &Tree) -> String {
    let mut text = String::from(COUNTS_HEAD);
    for (folder, findings) in found_in(tree) {
        if !folder.is_empty() {
            text.push_str(&format!("{folder} {}\n", findings.len()));
        }
    }
    text
}

/// The lines of [`COUNTS`]: number, folder, count.
fn counts(tree: &Tree) -> Vec<(usize, &str, usize)> {
    let text = tree.file(COUNTS).map_or("", |file| &file.text);
    let lines = text.lines().enumerate().filter(|(_, line)| !line.starts_with('#'));
    lines
        .filter_map(|(index, line)| {
            let (folder, count) = line.split_once(' ')?;
            Some((index + 1, folder, count.trim().parse().ok()?))
        })
        .collect()
}

/// The phrases by their first word, so that most words of a text need one look-up.
type Phrases = BTreeMap<&'static str, Vec<&'static Banned>>;

fn phrases() -> Phrases {
    let mut phrases = Phrases::new();
    for banned in BANNED {
        let first = banned.phrase.split(' ').next().unwrap_or_default();
        phrases.entry(first).or_default().push(banned);
    }
    phrases
}

/// All banned words, by folder; those of documents by the empty name.
fn found_in(tree: &Tree) -> BTreeMap<String, Vec<Finding>> {
    let mut found: BTreeMap<String, Vec<Finding>> = BTreeMap::new();
    let phrases = phrases();
    for file in tree.files().filter(|file| file.path != THIS_FILE) {
        let (folder, passages) = if file.is_markdown() {
            (String::new(), document_passages(&file.text))
        } else if file.is_rust() && file.is_src() && !is_test_code(file) {
            (folder_of(file), code_passages(&file.text))
        } else {
            continue;
        };
        let findings: Vec<Finding> = passages
            .iter()
            .flat_map(|passage| passage.banned(&phrases))
            .map(|(line, banned)| {
                let message = format!("plain English: not `{}`; write: {}", banned.phrase, banned.instead);
                Finding::new(&file.path, line, message)
            })
            .collect();
        if !findings.is_empty() {
            found.entry(folder).or_default().extend(findings);
        }
    }
    found
}

/// Inline tests that have a file or a folder of their own.
fn is_test_code(file: &File) -> bool {
    file.path.contains("/tests/") || file.path.ends_with("/tests.rs")
}

/// `crates/host/src/checkpoint` for all below it; `crates/host/src` for the files directly in it.
fn folder_of(file: &File) -> String {
    let mut parts: Vec<&str> = file.folder().split('/').collect();
    let src = parts.iter().position(|part| *part == "src").unwrap_or_default();
    parts.truncate(src + 2);
    parts.join("/")
}

/// Lines of text that belong together, so that a phrase may be broken over two of them.
#[derive(Default)]
struct Passage {
    /// Each word in small letters without signs around it, with its line.
    words: Vec<(usize, String)>,
}

impl Passage {
    fn add(&mut self, line: usize, text: &str) {
        let text = markdown::without_code(text).to_lowercase();
        let words = text.split(|sign: char| sign.is_whitespace() || "·—/".contains(sign));
        let bare = words.map(|word| word.trim_matches(|sign: char| !sign.is_alphanumeric()));
        self.words.extend(bare.filter(|word| !word.is_empty()).map(|word| (line, word.to_owned())));
    }

    fn banned(&self, phrases: &Phrases) -> Vec<(usize, &'static Banned)> {
        let mut found = Vec::new();
        for (at, (line, word)) in self.words.iter().enumerate() {
            let begun = phrases.get(word.as_str()).into_iter().flatten().copied();
            found.extend(begun.filter(|banned| self.has(at, banned)).map(|banned| (*line, banned)));
        }
        found
    }

    fn has(&self, at: usize, banned: &Banned) -> bool {
        let word = |at: usize| self.words.get(at).map_or("", |(_, word)| word.as_str());
        let length = banned.phrase.split(' ').count();
        let is_here = banned.phrase.split(' ').enumerate().all(|(index, part)| word(at + index) == part);
        let before = at.checked_sub(1).map_or("", word);
        is_here && !banned.unless_after.contains(&before) && !banned.unless_before.contains(&word(at + length))
    }
}

/// The paragraphs of a document, outside code.
fn document_passages(text: &str) -> Vec<Passage> {
    let mut passages = vec![Passage::default()];
    for (number, line) in markdown::prose_lines(text) {
        if line.trim().is_empty() {
            passages.push(Passage::default());
        } else if let Some(passage) = passages.last_mut() {
            passage.add(number, line);
        }
    }
    passages
}

/// The doc comments and the texts of more than one word, without those of inline tests.
fn code_passages(text: &str) -> Vec<Passage> {
    let mut passages = Passages::default();
    if let Some(stream) = tokens::lex(text) {
        passages.read(stream);
    }
    passages.found
}

#[derive(Default)]
struct Passages {
    found: Vec<Passage>,
    /// The line of the newest doc comment, and whether code in it is open.
    doc_line: usize,
    in_code: bool,
}

impl Passages {
    fn read(&mut self, stream: TokenStream) {
        let sequence: Vec<TokenTree> = stream.into_iter().collect();
        let mut is_test = false; // the next block in braces is one of tests
        let mut at = 0;
        while let Some(token) = sequence.get(at) {
            // The inner form has a `!` between.
            let bracket = if tokens::is_sign(sequence.get(at + 1), '!') { at + 2 } else { at + 1 };
            let attribute = tokens::group_of(sequence.get(bracket), Delimiter::Bracket);
            if let (true, Some(attribute)) = (tokens::is_sign(Some(token), '#'), attribute) {
                let inside: Vec<TokenTree> = attribute.stream().into_iter().collect();
                is_test |= is_cfg_test(&inside);
                if tokens::is_word(inside.first(), "doc") {
                    self.add_doc(tokens::line_of(token), inside.get(2));
                } else {
                    self.read(attribute.stream());
                }
                at = bracket + 1;
                continue;
            }
            match token {
                TokenTree::Group(group) if is_test && group.delimiter() == Delimiter::Brace => is_test = false,
                TokenTree::Group(group) => self.read(group.stream()),
                TokenTree::Literal(_) => self.add_text(token),
                TokenTree::Punct(punct) => is_test &= punct.as_char() != ';',
                TokenTree::Ident(_) => {}
            }
            at += 1;
        }
    }

    fn add_doc(&mut self, line: usize, literal: Option<&TokenTree>) {
        let Some(text) = literal.and_then(value_of) else { return };
        if self.found.is_empty() || line != self.doc_line + 1 || text.trim().is_empty() {
            self.found.push(Passage::default());
            self.in_code &= line == self.doc_line + 1;
        }
        self.doc_line = line;
        if text.trim_start().starts_with("```") {
            self.in_code = !self.in_code;
        } else if !self.in_code
            && let Some(passage) = self.found.last_mut()
        {
            passage.add(line, &text);
        }
    }

    fn add_text(&mut self, literal: &TokenTree) {
        let Some(text) = value_of(literal).filter(|text| text.trim().contains(char::is_whitespace)) else { return };
        let mut passage = Passage::default();
        passage.add(tokens::line_of(literal), &text);
        self.found.push(passage);
    }
}

/// The value of a text; `None` for numbers and bytes.
fn value_of(literal: &TokenTree) -> Option<String> {
    let parsed = syn::parse_str::<syn::LitStr>(&literal.to_string());
    parsed.ok().map(|parsed| parsed.value())
}

/// `cfg(test)`, `cfg(all(test, …))`.
fn is_cfg_test(attribute: &[TokenTree]) -> bool {
    tokens::is_word(attribute.first(), "cfg") && {
        let text: String = attribute.iter().map(ToString::to_string).collect();
        text.contains("test") && !text.contains("not")
    }
}
