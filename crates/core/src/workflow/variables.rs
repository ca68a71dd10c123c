//! `{{name}}` in a text. `{{{{` stands for the two signs themselves.
use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;

use crate::plan::NodeId;

/// The variable that only `on_failure` has: the id of the loop that failed, for `loop rollback`.
pub const FAILED_LOOP: &str = "failed_loop";
/// Its value, as a variable of the environment of the commands in `on_failure`.
pub const FAILED_LOOP_VARIABLE: &str = "LOOP_FAILED_LOOP";
/// Before the id of a question: `{{answer.look}}` is what a person answered to the question `look`.
const ANSWER: &str = "answer.";
/// Known in `env:` only: the first and the last port of the range that is reserved for a loop.
pub(super) const PORT_NAMES: [&str; 2] = ["port", "port_last"];
/// What stands in a value of `env:` for a port until a process is started. No value that people write has a NUL byte.
const PORT_MARKS: [&str; 2] = ["\0port\0", "\0port_last\0"];

/// What stands for a port in a value of `env:`.
pub(super) fn port_mark(name: &str) -> Option<&'static str> {
    PORT_NAMES.iter().position(|known| *known == name).and_then(|at| PORT_MARKS.get(at).copied())
}

/// Whether a value of `env:` asks for ports.
#[must_use]
pub fn wants_ports(value: &str) -> bool {
    PORT_MARKS.iter().any(|mark| value.contains(mark))
}

/// A value of `env:` with the first and the last port of a range.
#[must_use]
pub fn with_ports(value: &str, first: u16, last: u16) -> String {
    let [first_mark, last_mark] = PORT_MARKS;
    value.replace(first_mark, &first.to_string()).replace(last_mark, &last.to_string())
}

/// A longer value belongs into a file of the workspace.
const VALUE_BYTES_MAX: usize = 64 * 1024;

/// Values for the variables of a file.
#[derive(Debug, Clone, Default)]
pub struct Variables {
    values: BTreeMap<String, String>,
    may_be_unset: bool,
}

/// A `--set` that cannot be taken.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("--set {typed}: {why}")]
pub struct VariablesError {
    pub typed: String,
    pub why: String,
    pub hint: String,
}

impl Variables {
    /// Reads `NAME=VALUE` of a command line.
    ///
    /// # Errors
    /// The first that cannot be taken.
    pub fn read<'a>(typed: impl IntoIterator<Item = &'a str>) -> Result<Self, VariablesError> {
        let mut values = BTreeMap::new();
        for word in typed {
            let refused = |why: String, hint: &str| VariablesError {
                typed: crate::text::escaped_head(word.split('=').next().unwrap_or_default(), 60),
                why,
                hint: hint.to_owned(),
            };
            let Some((name, value)) = word.split_once('=') else {
                return Err(refused("it has no value".to_owned(), "write --set NAME=VALUE"));
            };
            if !is_name(name) {
                let why = "a name is made of letters, digits, dashes and underscores".to_owned();
                return Err(refused(why, "for example --set feature=user-auth"));
            }
            if name == FAILED_LOOP {
                let why = "loop itself sets it, in on_failure".to_owned();
                return Err(refused(why, "use another name"));
            }
            if value.len() > VALUE_BYTES_MAX || value.contains('\0') {
                let why = format!("a value has at most {VALUE_BYTES_MAX} bytes and no NUL byte");
                return Err(refused(why, "put it into a file of the workspace, and name the file"));
            }
            if values.insert(name.to_owned(), value.to_owned()).is_some() {
                return Err(refused("it is given twice".to_owned(), "give it once"));
            }
        }
        Ok(Self { values, may_be_unset: false })
    }

    /// The same, where a variable without a value stays as it is written: for showing a file.
    #[must_use]
    pub fn with_unset(self) -> Self {
        Self { may_be_unset: true, ..self }
    }

    /// The value of a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    pub(super) fn may_be_unset(&self) -> bool {
        self.may_be_unset
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str)
    }
}

fn is_name(text: &str) -> bool {
    let first = text.chars().next().is_some_and(|letter| letter.is_ascii_alphabetic() || letter == '_');
    first && text.len() <= 64 && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}

/// The question whose answer a variable is; none for another variable.
pub(super) fn answer_of(name: &str) -> Option<&str> {
    name.strip_prefix(ANSWER).filter(|id| NodeId::parse(id).is_ok())
}

/// The variable of the environment that has the answer to a question.
#[must_use]
pub fn answer_variable(id: &str) -> String {
    let letter = |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_uppercase() } else { '_' };
    format!("ANSWER_{}", id.chars().map(letter).collect::<String>())
}

/// A prompt with the answers to questions, for a prompt that has some. A person's words are not filled in again.
#[must_use]
pub fn with_answers(prompt: &str, answer: impl Fn(&str) -> Option<String>) -> String {
    let mut text = String::new();
    for piece in pieces(prompt) {
        match piece {
            Piece::Text(piece) | Piece::Bad(piece) => text.push_str(piece),
            Piece::Braces => text.push_str("{{"),
            Piece::Variable(name) => match answer_of(name).and_then(&answer) {
                Some(said) => text.push_str(&said),
                None => text.push_str(&format!("{{{{{name}}}}}")),
            },
        }
    }
    text
}

/// A part of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// As it is.
    Text(&'a str),
    /// `{{{{`: the two signs themselves.
    Braces,
    /// `{{name}}`.
    Variable(&'a str),
    /// `{{` with something else behind it.
    Bad(&'a str),
}

/// The parts of a text.
pub(super) fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut all = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("{{") {
        let (before, found) = rest.split_at(at);
        if !before.is_empty() {
            all.push(Piece::Text(before));
        }
        let (piece, length) = one(found);
        all.push(piece);
        rest = found.get(length..).unwrap_or_default();
    }
    if !rest.is_empty() {
        all.push(Piece::Text(rest));
    }
    all
}

/// Every name that stands in a text as `{{name}}`.
#[must_use]
pub fn variables_in(text: &str) -> BTreeSet<&str> {
    let name = |piece| if let Piece::Variable(name) = piece { Some(name) } else { None };
    pieces(text).into_iter().filter_map(name).collect()
}

/// The part that begins with `{{`, and its length.
fn one(text: &str) -> (Piece<'_>, usize) {
    if text.starts_with("{{{{") {
        return (Piece::Braces, 4);
    }
    let inside = text.get(2..).unwrap_or_default();
    match inside.split_once("}}") {
        Some((name, _)) if is_name(name.trim()) || answer_of(name.trim()).is_some() => {
            (Piece::Variable(name.trim()), name.len() + 4)
        }
        Some(_) | None => {
            let end = inside.find("}}").map_or(text.len().min(20), |end| end + 4);
            (Piece::Bad(crate::text::head(text, end.min(60))), 2)
        }
    }
}

/// Where the signs of each piece stand in the source, from a byte on: the first, the second, …
pub(super) fn place_of(source: &str, offset: usize, nth: usize) -> Option<usize> {
    let mut from = offset;
    for _ in 0..nth {
        let at = from + source.get(from..)?.find("{{")?;
        let (_, length) = one(source.get(at..)?);
        from = at + length;
    }
    Some(from + source.get(from..)?.find("{{")?)
}
