//! Rust code as tokens: what a text search would find in strings and comments is not there.

use std::cell::RefCell;
use std::collections::HashMap;

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

/// A function with a test attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestFunction {
    pub name: String,
    /// The line of the test attribute.
    pub first_line: usize,
    /// The line of the closing brace.
    pub last_line: usize,
}

/// The tokens of a file; `None` when it is not Rust (the size rule reports that).
#[must_use]
pub fn lex(text: &str) -> Option<TokenStream> {
    thread_local! {
        // Many rules read each file.
        static READ: RefCell<HashMap<String, Option<TokenStream>>> = RefCell::default();
    }
    READ.with_borrow_mut(|read| match read.get(text) {
        Some(stream) => stream.clone(),
        None => {
            let stream: Option<TokenStream> = text.parse().ok();
            read.insert(text.to_owned(), stream.clone());
            stream
        }
    })
}

/// Shows `see` every sequence of neighbouring tokens: the file, and what is inside each bracket.
pub fn each_sequence(stream: TokenStream, see: &mut dyn FnMut(&[TokenTree])) {
    let sequence: Vec<TokenTree> = stream.into_iter().collect();
    see(&sequence);
    for token in sequence {
        if let TokenTree::Group(group) = token {
            each_sequence(group.stream(), see);
        }
    }
}

/// The line of a token, counted from 1.
#[must_use]
pub fn line_of(token: &TokenTree) -> usize {
    token.span().start().line
}

/// Is it this word? A raw name counts as the plain one.
#[must_use]
pub fn is_word(token: Option<&TokenTree>, word: &str) -> bool {
    word_of(token).is_some_and(|found| found == word)
}

/// The word, if it is one. A raw name is given as the plain one.
#[must_use]
pub fn word_of(token: Option<&TokenTree>) -> Option<String> {
    let TokenTree::Ident(ident) = token? else { return None };
    let word = ident.to_string();
    Some(word.strip_prefix("r#").map_or(word.clone(), str::to_owned))
}

/// Is it this sign?
#[must_use]
pub fn is_sign(token: Option<&TokenTree>, sign: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == sign)
}

/// The bracketed part, if it is one with this bracket.
#[must_use]
pub fn group_of(token: Option<&TokenTree>, delimiter: Delimiter) -> Option<&Group> {
    let TokenTree::Group(group) = token? else { return None };
    (group.delimiter() == delimiter).then_some(group)
}

/// The inside of the attribute whose `#` stands at `at`.
#[must_use]
pub fn attribute_at(sequence: &[TokenTree], at: usize) -> Option<TokenStream> {
    if !is_sign(sequence.get(at), '#') {
        return None;
    }
    group_of(sequence.get(at + 1), Delimiter::Bracket).map(Group::stream)
}

/// The modules that the file declares to lie in files of their own (`mod name;`).
#[must_use]
pub fn declared_modules(stream: TokenStream) -> Vec<String> {
    let mut names = Vec::new();
    each_sequence(stream, &mut |sequence| {
        for at in 0..sequence.len() {
            if is_word(sequence.get(at), "mod") && is_sign(sequence.get(at + 2), ';') {
                names.extend(word_of(sequence.get(at + 1)));
            }
        }
    });
    names
}

/// The test functions of a file, also those inside a macro call.
#[must_use]
pub fn test_functions(stream: TokenStream) -> Vec<TestFunction> {
    let mut found = Vec::new();
    each_sequence(stream, &mut |sequence| {
        for at in 0..sequence.len() {
            if attribute_at(sequence, at).is_some_and(is_test_attribute) {
                found.extend(function_after(sequence, at));
            }
        }
    });
    found
}

/// `test`, `tokio::test`, `tokio::test(…)`; but not `cfg(test)`.
fn is_test_attribute(attribute: TokenStream) -> bool {
    let path: Vec<TokenTree> =
        attribute.into_iter().take_while(|token| !matches!(token, TokenTree::Group(_))).collect();
    is_word(path.last(), "test")
}

fn function_after(sequence: &[TokenTree], attribute: usize) -> Option<TestFunction> {
    let rest = sequence.get(attribute..)?;
    let at = rest.iter().position(|token| is_word(Some(token), "fn"))?;
    let after = rest.get(at + 1..)?;
    let body = after.iter().find_map(|token| group_of(Some(token), Delimiter::Brace))?;
    Some(TestFunction {
        name: word_of(after.first()).unwrap_or_default(),
        first_line: line_of(rest.first()?),
        last_line: body.span().end().line,
    })
}
