//! Tags: the comment in a test that names the requirements it would notice the loss of.
//!
//! ```text
//! // req: B-05
//! // req: B-05, B-06 partly: without --diff
//! ```

use std::collections::BTreeSet;

use proc_macro2::{LineColumn, TokenStream, TokenTree};

use crate::tokens::{self, TestFunction};
use crate::tree::{File, Tree};

/// One tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tag {
    /// The file that it stands in.
    pub path: String,
    pub line: usize,
    /// The ids that it names.
    pub ids: Vec<String>,
    /// What the test leaves open, if it meets the requirement only in part.
    pub partly: Option<String>,
    /// The test that it belongs to.
    pub test: Option<Test>,
}

/// The test that a tag belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Test {
    /// The folder name of the crate.
    pub krate: String,
    /// The name of the file, without `.rs`.
    pub file: String,
    pub name: String,
}

/// All tags of a tree, in order of path and line.
#[must_use]
pub fn collect(tree: &Tree) -> Vec<Tag> {
    tree.rust().flat_map(in_file).collect()
}

/// The names of all tests of a tree: `core/decide::name`, with the file as a state of the ledger names it.
#[must_use]
pub fn test_names(tree: &Tree) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for file in tree.rust().filter(|file| file.text.contains("test")) {
        let krate = file.in_crate().map_or("", |(krate, _)| krate);
        let tests = tokens::lex(&file.text).map(tokens::test_functions).unwrap_or_default();
        names.extend(tests.iter().map(|test| format!("{krate}/{}::{}", topic(file), test.name)));
    }
    names
}

fn in_file(file: &File) -> Vec<Tag> {
    if !file.text.contains("req:") {
        return Vec::new();
    }
    let Some(stream) = tokens::lex(&file.text) else {
        return Vec::new();
    };
    let literals = literal_spans(stream.clone());
    let lines: Vec<&str> = file.text.lines().collect();
    let tests = tokens::test_functions(stream);
    let mut tags = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let comment = comment_in(line, index + 1, &literals);
        if let Some(said) = comment.and_then(|comment| comment.trim().strip_prefix("req:")) {
            let owner = tests.iter().find(|test| owns(test, index + 1, &lines));
            tags.push(read(file, index + 1, said, owner));
        }
    }
    tags
}

fn read(file: &File, line: usize, said: &str, owner: Option<&TestFunction>) -> Tag {
    let (ids, partly) = match said.split_once("partly:") {
        Some((ids, text)) => (ids, Some(text.trim().to_owned())),
        None => (said, None),
    };
    let krate = file.in_crate().map_or("", |(krate, _)| krate);
    Tag {
        path: file.path.clone(),
        line,
        ids: ids
            .split(|sign: char| sign == ',' || sign.is_whitespace())
            .filter(|id| !id.is_empty())
            .map(str::to_owned)
            .collect(),
        partly,
        test: owner.map(|test| Test { krate: krate.to_owned(), file: topic(file).to_owned(), name: test.name.clone() }),
    }
}

/// The file's stem; for a `mod.rs` the name of its folder.
fn topic(file: &File) -> &str {
    match file.stem() {
        "mod" => file.folder().rsplit('/').next().unwrap_or("mod"),
        stem => stem,
    }
}

/// A tag inside the test, among its attributes, or in the comment right above them.
fn owns(test: &TestFunction, line: usize, lines: &[&str]) -> bool {
    let mut first = test.first_line;
    while first > 1 {
        let above = lines.get(first - 2).map_or("", |above| above.trim_start());
        let belongs = above.starts_with("#[") || (above.starts_with("//") && !above.starts_with("//!"));
        if !belongs {
            break;
        }
        first -= 1;
    }
    (first..=test.last_line).contains(&line)
}

/// The text of the comment in this line. What stands in a string or a doc comment is none.
fn comment_in<'a>(line: &'a str, number: usize, literals: &[(LineColumn, LineColumn)]) -> Option<&'a str> {
    line.match_indices("//").find_map(|(at, _)| {
        let column = line[..at].chars().count();
        let place = LineColumn { line: number, column };
        let in_literal = literals.iter().any(|(start, end)| *start <= place && place < *end);
        (!in_literal).then(|| &line[at + 2..])
    })
}

fn literal_spans(stream: TokenStream) -> Vec<(LineColumn, LineColumn)> {
    let mut spans = Vec::new();
    tokens::each_sequence(stream, &mut |sequence| {
        for token in sequence {
            if let TokenTree::Literal(literal) = token {
                spans.push((literal.span().start(), literal.span().end()));
            }
        }
    });
    spans
}
