//! Single values of a file: texts with their variables filled in, numbers, lists.
use std::collections::BTreeSet;

use super::error::{Faults, FilePosition};
use super::shell::{self, Filling};
use super::tree::{Tree, YamlNode};
use super::variables::{FAILED_LOOP, PORT_NAMES, Piece, Variables, answer_of, pieces, place_of, port_mark};
use crate::settings::{Kind, parse_value};
use crate::text;

/// How a value stands in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// As it is.
    Plain,
    /// As it is; answers to questions are filled in later.
    Prompt,
    /// As it is, in a value of `env:`, which may ask for ports.
    Env,
    /// As one entry of a list: without line breaks.
    Entry,
    /// As one entry of a list that commas divide.
    CommaEntry,
    /// In a shell command.
    Shell,
    /// In a shell command of one line.
    ShellLine,
    /// In a line of arguments that no shell reads.
    Words,
    /// In a shell command of `on_failure`.
    FailureHook,
}

/// The reader of a file, and what is wrong so far.
#[derive(Debug)]
pub(super) struct Fields<'a> {
    pub(super) faults: Faults<'a>,
    pub(super) file: &'a str,
    source: &'a str,
    variables: &'a Variables,
    /// The questions whose answers were named so far, and where.
    answers: Vec<(String, FilePosition)>,
}

impl<'a> Fields<'a> {
    pub(super) fn new(source: &'a str, file: &'a str, variables: &'a Variables) -> Self {
        Self { faults: Faults::new(source, file), file, source, variables, answers: Vec::new() }
    }

    /// The questions whose answers were named since this was asked last.
    pub(super) fn take_answers(&mut self) -> Vec<(String, FilePosition)> {
        std::mem::take(&mut self.answers)
    }

    /// A value of another kind than its key takes.
    pub(super) fn wrong_kind(&mut self, node: &YamlNode, key: &str, wanted: &str) {
        if node.is_unquoted_variable() {
            let what = format!("{key}: a variable at the beginning of a value needs quotes");
            self.faults.at(node.at, what, "write it in quotes: \"{{name}}\"");
            return;
        }
        let hint = match &node.tree {
            Tree::Plain(word) if wanted == TEXT => format!("write it in quotes: \"{}\"", text::escaped_head(word, 40)),
            Tree::Null => format!("write {wanted} behind {key}:, or delete the key"),
            Tree::Plain(_) | Tree::Text(_) | Tree::List(_) | Tree::Map(_) => format!("write {wanted}"),
        };
        self.faults.at(node.at, format!("{key} must be {wanted}, not {}", node.describe()), hint);
    }

    /// A text that may have variables.
    pub(super) fn text(&mut self, node: &YamlNode, key: &str, how: Use) -> Option<String> {
        match &node.tree {
            Tree::Text(text) => self.filled(node, text, how),
            Tree::Null | Tree::Plain(_) | Tree::List(_) | Tree::Map(_) => {
                self.wrong_kind(node, key, TEXT);
                None
            }
        }
    }

    /// The same, where a number, `true` and `false` count as text.
    pub(super) fn scalar(&mut self, node: &YamlNode, key: &str, wanted: &str, how: Use) -> Option<String> {
        match &node.tree {
            Tree::Text(text) => self.filled(node, text, how),
            Tree::Plain(text) => Some(text.clone()),
            Tree::Null | Tree::List(_) | Tree::Map(_) => {
                self.wrong_kind(node, key, wanted);
                None
            }
        }
    }

    /// A text that is not empty and has no variables, such as an id.
    pub(super) fn word<'n>(&mut self, node: &'n YamlNode, key: &str) -> Option<&'n str> {
        match &node.tree {
            Tree::Text(word) => Some(word),
            Tree::Null | Tree::Plain(_) | Tree::List(_) | Tree::Map(_) => {
                self.wrong_kind(node, key, TEXT);
                None
            }
        }
    }

    /// A list of texts; one text alone is a list of one.
    pub(super) fn texts(&mut self, node: &YamlNode, key: &str, how: Use) -> Option<Vec<String>> {
        self.items(node, key)?.into_iter().map(|item| self.text(item, key, how)).collect()
    }

    /// The nodes of a list; one text alone is a list of one.
    pub(super) fn items<'n>(&mut self, node: &'n YamlNode, key: &str) -> Option<Vec<&'n YamlNode>> {
        match &node.tree {
            Tree::List(items) => Some(items.iter().collect()),
            Tree::Text(_) => Some(vec![node]),
            Tree::Null | Tree::Plain(_) | Tree::Map(_) => {
                self.wrong_kind(node, key, "a list of texts");
                None
            }
        }
    }

    /// A value of a kind of the settings, for a key that is not one of them.
    pub(super) fn amount(&mut self, node: &YamlNode, key: &str, kind: Kind) -> Option<String> {
        let wanted = kind.describe().replace('`', "");
        let text = self.scalar(node, key, &wanted, Use::Plain)?;
        if self.is_open(&text) {
            return None;
        }
        match parse_value(kind, &text) {
            Ok(value) => Some(value),
            Err(refusal) => {
                let what = format!("{key} cannot be {:?}: {}", text::escaped_head(&text, 60), refusal.why);
                self.faults.at(node.at, what, refusal.hint);
                None
            }
        }
    }

    /// Whether a filled text still has a variable without a value, which a file that is only shown may have.
    pub(super) fn is_open(&self, text: &str) -> bool {
        self.variables.may_be_unset() && text.contains("{{")
    }

    fn filled(&mut self, node: &YamlNode, text: &str, how: Use) -> Option<String> {
        if !text.contains("{{") {
            return Some(text.to_owned());
        }
        let pieces = pieces(text);
        if !self.check(node, &pieces, how) {
            return None;
        }
        let variables = self.variables;
        match how {
            Use::Plain | Use::Prompt | Use::Entry | Use::CommaEntry => {
                let has_answer =
                    |piece: &Piece<'_>| matches!(piece, Piece::Variable(name) if answer_of(name).is_some());
                let later = how == Use::Prompt && pieces.iter().any(has_answer);
                Some(pieces.iter().map(|piece| plain(piece, variables, later)).collect())
            }
            Use::Env => Some(pieces.iter().map(|piece| in_env(piece, variables)).collect()),
            Use::Shell | Use::ShellLine | Use::Words | Use::FailureHook => {
                if let Some(place) = unreadable(text, how) {
                    self.unquotable(node.at, place);
                    return None;
                }
                let filling = |name| match (variables.get(name), answer_of(name)) {
                    (Some(value), _) => Filling::Value(value),
                    (None, Some(id)) => Filling::Answer(id),
                    (None, None) if name == FAILED_LOOP => Filling::FailedLoop,
                    (None, None) => Filling::Unset(name),
                };
                match shell::fill(&pieces, filling) {
                    Ok(command) => Some(command),
                    Err(unquotable) => {
                        let at = self.place(node, &pieces, unquotable.piece);
                        self.unquotable(at, &unquotable.place);
                        None
                    }
                }
            }
        }
    }

    fn unquotable(&mut self, at: FilePosition, place: &str) {
        let hint = "put it into env: of the workflow, and use \"$NAME\" in the command";
        self.faults.at(at, format!("a variable cannot be quoted {place}"), hint);
    }

    /// Whether every variable of a text has a value that may stand there.
    fn check(&mut self, node: &YamlNode, pieces: &[Piece<'_>], how: Use) -> bool {
        let mut fine = true;
        for (at, piece) in pieces.iter().enumerate() {
            if let Piece::Variable(name) = piece
                && let Some(id) = answer_of(name)
            {
                let at = self.place(node, pieces, at);
                self.answers.push((id.to_owned(), at));
            }
            let fault = match piece {
                Piece::Text(_) | Piece::Braces => None,
                Piece::Bad(text) => Some((
                    format!("{} is not a variable", text::escaped_head(text, 60)),
                    "a variable is {{name}}; write {{{{ for the two signs themselves".to_owned(),
                )),
                Piece::Variable(name) => self.fault_of(name, how),
            };
            if let Some((what, hint)) = fault {
                let at = self.place(node, pieces, at);
                self.faults.at(at, what, hint);
                fine = false;
            }
        }
        fine
    }

    fn fault_of(&self, name: &str, how: Use) -> Option<(String, String)> {
        if name == FAILED_LOOP {
            let what = "{{failed_loop}} is known in on_failure only".to_owned();
            return (how != Use::FailureHook).then(|| (what, "take it out here".to_owned()));
        }
        if answer_of(name).is_some() {
            let known = match how {
                Use::Prompt | Use::Shell | Use::ShellLine | Use::FailureHook => true,
                Use::Plain | Use::Env | Use::Entry | Use::CommaEntry | Use::Words => false,
            };
            let what = format!("{{{{{name}}}}} is known in prompts and in commands only");
            return (!known).then(|| (what, "take it out here".to_owned()));
        }
        let Some(value) = self.variables.get(name) else {
            if self.variables.may_be_unset() || (how == Use::Env && PORT_NAMES.contains(&name)) {
                return None;
            }
            if PORT_NAMES.contains(&name) {
                let what = format!("{{{{{name}}}}} is known in env: only");
                return Some((what, format!("write env: {{PORT: \"{{{{{name}}}}}\"}}, and \"$PORT\" here")));
            }
            let near = text::nearest(name, self.variables.names());
            let hint = match near {
                Some(near) => format!("--set has {near}: did you mean {{{{{near}}}}}?"),
                None => format!("add --set {name}=VALUE"),
            };
            return Some((format!("the variable {name} is not set"), hint));
        };
        let divides = |letter: char| match how {
            Use::Plain | Use::Prompt | Use::Env | Use::Shell | Use::Words | Use::FailureHook => false,
            Use::Entry | Use::ShellLine => letter == '\n',
            Use::CommaEntry => ['\n', ',', '\\'].contains(&letter),
        };
        let sign = value.chars().find(|letter| divides(*letter))?;
        let sign = if sign == '\n' { "a line break".to_owned() } else { format!("{sign:?}") };
        let what = format!("the value of {name} has {sign}, which would begin another entry of this list");
        Some((what, "put it into env: of the workflow instead".to_owned()))
    }

    /// Where a piece stands in the file, or else its whole text.
    fn place(&self, node: &YamlNode, pieces: &[Piece<'_>], piece: usize) -> FilePosition {
        let is_sign = |piece: &&Piece<'_>| !matches!(piece, Piece::Text(_));
        let nth = pieces.iter().take(piece).filter(is_sign).count();
        let Some(at) = place_of(self.source, node.offset, nth) else { return node.at };
        let before = self.source.get(..at).unwrap_or_default();
        let line_begin = before.rfind('\n').map_or(0, |end| end + 1);
        FilePosition {
            line: before.matches('\n').count() + 1,
            column: before.get(line_begin..).unwrap_or_default().chars().count() + 1,
        }
    }

    /// Variables of the command line that no text of the file has.
    pub(super) fn check_unused(&mut self, root: &YamlNode) {
        let mut used = BTreeSet::new();
        collect(root, &mut used);
        let unused: Vec<&str> = self.variables.names().filter(|name| !used.contains(name)).collect();
        for name in unused {
            let what = format!("{} has no variable {name}", self.file);
            let hint = match text::nearest(name, used.iter().copied()) {
                Some(near) => format!("did you mean {near}?"),
                None => format!("take it out, or use {{{{{name}}}}} in the file"),
            };
            self.faults.typed(&format!("--set {name}"), what, hint);
        }
    }
}

/// The names of all variables in the texts of a file.
fn collect<'n>(node: &'n YamlNode, names: &mut BTreeSet<&'n str>) {
    match &node.tree {
        Tree::Text(text) => names.extend(pieces(text).into_iter().filter_map(|piece| match piece {
            Piece::Variable(name) => Some(name),
            Piece::Text(_) | Piece::Braces | Piece::Bad(_) => None,
        })),
        Tree::List(items) => items.iter().for_each(|item| collect(item, names)),
        Tree::Map(pairs) => pairs.iter().for_each(|pair| {
            collect(&pair.value, names);
            // A variable without quotes, which is reported as such.
            if let Tree::Map(inner) = &pair.key.tree {
                names.extend(inner.iter().filter_map(|pair| match &pair.key.tree {
                    Tree::Text(name) => Some(name.trim()),
                    Tree::Null | Tree::Plain(_) | Tree::List(_) | Tree::Map(_) => None,
                }));
            }
        }),
        Tree::Null | Tree::Plain(_) => {}
    }
}

/// The words for what most keys take.
pub(super) const TEXT: &str = "a text";

/// Where the quotes of a text would not mean the same to its own reader as to a shell; none if they do.
fn unreadable(text: &str, how: Use) -> Option<&'static str> {
    match how {
        // Each line is a command of its own.
        Use::ShellLine if text.trim_end().contains('\n') => Some("in several gates in one text: write them as a list"),
        Use::Words if text.contains(['$', '`', '#', '(', '<', '\n']) => Some("beside $, `, #, ( or <"),
        Use::ShellLine
        | Use::Words
        | Use::Plain
        | Use::Prompt
        | Use::Env
        | Use::Entry
        | Use::CommaEntry
        | Use::Shell
        | Use::FailureHook => None,
    }
}

/// A value of `env:`. A port that no `--set` gives is chosen when a process is started.
fn in_env(piece: &Piece<'_>, variables: &Variables) -> String {
    match piece {
        Piece::Variable(name) if variables.get(name).is_none() && !variables.may_be_unset() => {
            port_mark(name).map_or_else(|| plain(piece, variables, false), str::to_owned)
        }
        Piece::Text(_) | Piece::Bad(_) | Piece::Braces | Piece::Variable(_) => plain(piece, variables, false),
    }
}

/// `later`: answers are filled in later, so that the signs themselves, also in a value, stay as a file has them.
fn plain(piece: &Piece<'_>, variables: &Variables, later: bool) -> String {
    let kept = |text: &str| if later { text.replace("{{", "{{{{") } else { text.to_owned() };
    match piece {
        Piece::Text(text) | Piece::Bad(text) => (*text).to_owned(),
        Piece::Braces => kept("{{"),
        Piece::Variable(name) => variables.get(name).map_or_else(|| format!("{{{{{name}}}}}"), kept),
    }
}
