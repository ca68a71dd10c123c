//! A shell line taken apart: lists, pipes, commands, words. It is read and never run. What is not understood (loops,
//! conditions, here-documents) gives no line, so that nothing is said about it.

/// Brackets in brackets are read so deep.
const DEPTH_MAX: usize = 8;

/// Words that begin what is not read here.
const KEYWORDS: [&str; 11] =
    ["if", "for", "while", "until", "case", "function", "select", "then", "do", "coproc", "[["];

/// A line: pipes, and what joins each to the next.
#[derive(Debug)]
pub(super) struct ShellLine {
    pub(super) steps: Vec<Step>,
}

/// One pipe of a line.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) pipe: Vec<ShellCommand>,
    pub(super) negated: bool,
    /// What stands behind it.
    pub(super) joint: Joint,
    /// Where it is in the text of the line.
    pub(super) span: Span,
}

impl Step {
    /// Whether it is `exit` without a number.
    fn is_bare_exit(&self) -> bool {
        match &self.pipe[..] {
            [ShellCommand { what: Parts::Words { words, .. }, .. }] => {
                let is_plain = !self.negated && self.joint != Joint::Background;
                is_plain && words.len() == 1 && words.iter().all(|word| word.text == "exit")
            }
            _ => false,
        }
    }

    fn end(&mut self) {
        self.joint = Joint::End;
    }
}

/// A piece of a text, by its bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    pub(super) from: usize,
    pub(super) to: usize,
}

/// What joins a pipe to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Joint {
    /// `&&`
    And,
    /// `||`
    Or,
    /// `;` or a line break
    Next,
    /// `&`
    Background,
    /// The end of the line.
    End,
}

/// One command of a pipe.
#[derive(Debug)]
pub(super) struct ShellCommand {
    pub(super) what: Parts,
    pub(super) span: Span,
}

/// What a command is made of.
#[derive(Debug)]
pub(super) enum Parts {
    /// Its words, and the files that it reads by `<`.
    Words { words: Vec<ShellWord>, inputs: Vec<String> },
    /// A line in brackets.
    Group(ShellLine),
}

/// A word.
#[derive(Debug, Default, Clone)]
pub(super) struct ShellWord {
    /// Without its quotes.
    pub(super) text: String,
    /// The part of it that the shell of this line expands: not in single quotes, not behind a backslash.
    pub(super) expanded: String,
}

impl ShellLine {
    /// Reads a line; none where it is not understood.
    pub(super) fn read(text: &str) -> Option<Self> {
        let mut scan = Scan { text, at: 0 };
        let line = scan.line(None, 0)?;
        (scan.at >= text.len()).then_some(line)
    }
}

struct Scan<'a> {
    text: &'a str,
    at: usize,
}

impl Scan<'_> {
    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn is_next(&self, words: &str) -> bool {
        self.text.as_bytes().get(self.at..).is_some_and(|rest| rest.starts_with(words.as_bytes()))
    }

    fn take(&mut self, words: &str) -> bool {
        let found = self.is_next(words);
        self.at += if found { words.len() } else { 0 };
        found
    }

    /// Blanks, lines that go on, and comments.
    fn skip_blanks(&mut self, breaks: bool) {
        loop {
            match self.byte() {
                Some(b' ' | b'\t' | b'\r') => self.at += 1,
                Some(b'\n') if breaks => self.at += 1,
                Some(b'\\') if self.is_next("\\\n") => self.at += 2,
                Some(b'#') => {
                    let end = self.text.get(self.at..).and_then(|rest| rest.find('\n'));
                    self.at = end.map_or(self.text.len(), |end| self.at + end);
                }
                _ => return,
            }
        }
    }

    /// A list up to its closing bracket, which is taken, or to the end of the text.
    fn line(&mut self, close: Option<u8>, depth: usize) -> Option<ShellLine> {
        if depth > DEPTH_MAX {
            return None;
        }
        let mut steps = Vec::new();
        loop {
            self.skip_blanks(true);
            match (self.byte(), close) {
                (None, None) => break,
                (Some(byte), Some(close)) if byte == close => {
                    self.at += 1;
                    break;
                }
                _ => {}
            }
            let mut step = self.step(depth)?;
            self.skip_blanks(false);
            step.joint = match self.byte() {
                _ if self.take("&&") => Joint::And,
                _ if self.take("||") => Joint::Or,
                _ if self.take(";") || self.take("\n") => Joint::Next,
                _ if self.take("&") => Joint::Background,
                None => Joint::End,
                byte if byte == close => Joint::End,
                Some(_) => return None,
            };
            steps.push(step);
        }
        // `exit` without a number keeps the exit code of what was before it.
        if steps.len() > 1 && steps.last().is_some_and(Step::is_bare_exit) {
            steps.pop();
            steps.last_mut().filter(|last| last.joint != Joint::Background).into_iter().for_each(Step::end);
        }
        steps.last_mut().filter(|last| last.joint == Joint::Next).into_iter().for_each(Step::end);
        let ends = steps.last().is_some_and(|last| matches!(last.joint, Joint::End | Joint::Background));
        ends.then_some(ShellLine { steps })
    }

    fn step(&mut self, depth: usize) -> Option<Step> {
        let from = self.at;
        let mut negated = false;
        while self.is_next("! ") || self.is_next("!\t") {
            self.at += 1;
            self.skip_blanks(false);
            negated = !negated;
        }
        let mut pipe = vec![self.command(depth)?];
        loop {
            self.skip_blanks(false);
            if self.is_next("||") || !self.take("|") {
                break;
            }
            self.take("&");
            self.skip_blanks(true);
            pipe.push(self.command(depth)?);
        }
        let to = pipe.last().map_or(self.at, |last| last.span.to);
        Some(Step { pipe, negated, joint: Joint::End, span: Span { from, to } })
    }

    fn command(&mut self, depth: usize) -> Option<ShellCommand> {
        self.skip_blanks(false);
        let from = self.at;
        let group = self.is_next("{ ") || self.is_next("{\n");
        if group || self.is_next("(") {
            self.at += 1;
            let line = self.line(Some(if group { b'}' } else { b')' }), depth + 1)?;
            let to = self.redirected(&mut Vec::new())?;
            return Some(ShellCommand { what: Parts::Group(line), span: Span { from, to } });
        }
        let (mut words, mut inputs) = (Vec::new(), Vec::new());
        let mut to = self.redirected(&mut inputs)?;
        while let Some(word) = self.word()? {
            words.push(word);
            self.redirected(&mut inputs)?;
            to = self.text.get(..self.at)?.trim_end().len();
        }
        let first = words.first()?;
        // A function, a loop, a condition.
        if KEYWORDS.contains(&first.text.as_str()) || self.byte() == Some(b'(') {
            return None;
        }
        Some(ShellCommand { what: Parts::Words { words, inputs }, span: Span { from, to } })
    }

    /// Takes redirections; gives where they end.
    fn redirected(&mut self, inputs: &mut Vec<String>) -> Option<usize> {
        loop {
            let end = self.at;
            self.skip_blanks(false);
            let digits = self.text.get(self.at..)?.bytes().take_while(u8::is_ascii_digit).count();
            let sign = self.text.as_bytes().get(self.at + digits);
            let is_redirection = matches!(sign, Some(b'<' | b'>')) || self.is_next("&>");
            if !is_redirection {
                return Some(end);
            }
            self.at += digits;
            let is_input = self.is_next("<");
            for sign in ["&>>", "&>", ">>", ">|", ">&", "<&", "<>", ">", "<"] {
                if self.take(sign) {
                    break;
                }
            }
            let file = self.word()??;
            if is_input {
                inputs.push(file.text);
            }
        }
    }

    /// The next word; none where the command ends.
    #[expect(clippy::option_option, reason = "the outer one says that the line is not understood")]
    fn word(&mut self) -> Option<Option<ShellWord>> {
        self.skip_blanks(false);
        let mut word = ShellWord::default();
        let from = self.at;
        loop {
            match self.byte() {
                None | Some(b' ' | b'\t' | b'\r' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>') => break,
                Some(b'}') if self.at == from => break,
                Some(b'\'') => {
                    self.at += 1;
                    let length = self.text.get(self.at..)?.find('\'')?;
                    word.text.push_str(self.text.get(self.at..self.at + length)?);
                    word.expanded.push('\0');
                    self.at += length + 1;
                }
                Some(b'"') => self.double(&mut word)?,
                Some(b'\\') => {
                    self.at += 1;
                    let letter = self.text.get(self.at..)?.chars().next()?;
                    word.text.extend((letter != '\n').then_some(letter));
                    word.expanded.push('\0');
                    self.at += letter.len_utf8();
                }
                Some(_) => self.letter(&mut word)?,
            }
        }
        Some((self.at > from).then_some(word))
    }

    /// One letter, or a whole `$(…)` or `` `…` ``.
    fn letter(&mut self, word: &mut ShellWord) -> Option<()> {
        let from = self.at;
        if self.is_next("$(") || self.is_next("`") {
            self.substitution()?;
        } else {
            self.at += self.text.get(self.at..)?.chars().next()?.len_utf8();
        }
        let piece = self.text.get(from..self.at)?;
        word.text.push_str(piece);
        word.expanded.push_str(piece);
        Some(())
    }

    fn double(&mut self, word: &mut ShellWord) -> Option<()> {
        self.at += 1;
        loop {
            match self.byte()? {
                b'"' => {
                    self.at += 1;
                    return Some(());
                }
                b'\\' if ["\\$", "\\`", "\\\"", "\\\\"].iter().any(|pair| self.is_next(pair)) => {
                    word.text.push_str(self.text.get(self.at + 1..self.at + 2)?);
                    word.expanded.push('\0');
                    self.at += 2;
                }
                b'\\' if self.is_next("\\\n") => self.at += 2,
                _ => self.letter(word)?,
            }
        }
    }

    /// Goes behind a `$(…)` or `` `…` ``.
    fn substitution(&mut self) -> Option<()> {
        if self.take("`") {
            let length = self.text.get(self.at..)?.find('`')?;
            self.at += length + 1;
            return Some(());
        }
        self.at += 2;
        let mut depth = 1_usize;
        while depth > 0 {
            match self.byte()? {
                b'(' => depth += 1,
                b')' => depth -= 1,
                b'\'' => self.at += 1 + self.text.get(self.at + 1..)?.find('\'')?,
                b'"' => {
                    self.double(&mut ShellWord::default())?;
                    continue;
                }
                b'\\' => self.at += 1,
                _ => {}
            }
            self.at += self.text.get(self.at..)?.chars().next()?.len_utf8();
        }
        Some(())
    }
}
