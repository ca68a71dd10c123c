//! Values in a shell command, each quoted for where it stands, so that a value is never code.
//!
//! The command is read as `sh` and `bash` read it: bare words, single quotes, double quotes, `$(…)` and parentheses. A
//! place where a value cannot be quoted for certain is refused: here-documents, backticks, arithmetic, comments, and the
//! arguments of commands that run their arguments as code (`eval`, `sh -c`, `sed`, …). The environment is the way there.
use super::variables::{FAILED_LOOP_VARIABLE, Piece, answer_variable};

/// Commands whose arguments are code, whatever they look like.
const RUN_THEIR_ARGUMENTS: [&str; 14] =
    ["eval", "trap", "let", "declare", "typeset", "ssh", "su", "watch", "sed", "gsed", "awk", "gawk", "mawk", "nawk"];

/// Programs that take code as an argument, and the letters of the flags for it.
const INTERPRETERS: [(&[&str], &str); 5] = [
    (&["sh", "bash", "dash", "zsh", "ksh", "ash", "fish"], "c"),
    (&["python", "python2", "python3", "pypy", "pypy3"], "c"),
    (&["perl", "ruby", "lua"], "eE"),
    (&["node", "nodejs", "bun", "deno"], "ep"),
    (&["php"], "rR"),
];

/// A variable that stands where it cannot be quoted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unquotable {
    /// Which piece it is.
    pub(super) piece: usize,
    /// Where it stands.
    pub(super) place: String,
}

/// What stands in the place of a variable.
#[derive(Debug, Clone, Copy)]
pub(super) enum Filling<'a> {
    /// This value.
    Value(&'a str),
    /// The id of the loop that failed, which is known later.
    FailedLoop,
    /// The answer to this question, which is known later.
    Answer(&'a str),
    /// Nothing yet: the text stays as it is.
    Unset(&'a str),
}

impl Filling<'_> {
    /// The variable of the environment that has the value when the command runs.
    fn variable(&self) -> String {
        match self {
            Self::Answer(id) => answer_variable(id),
            Self::Value(_) | Self::FailedLoop | Self::Unset(_) => FAILED_LOOP_VARIABLE.to_owned(),
        }
    }
}

/// A letter of the command, or a variable.
#[derive(Debug, Clone, Copy)]
enum Token<'a> {
    Letter(char),
    Variable { piece: usize, filling: Filling<'a> },
}

/// Fills a command. `filling` says what stands in the place of each variable.
///
/// # Errors
/// The first variable that cannot be quoted.
pub(super) fn fill<'a>(
    pieces: &'a [Piece<'a>],
    filling: impl Fn(&'a str) -> Filling<'a>,
) -> Result<String, Unquotable> {
    let mut tokens = Vec::new();
    for (at, piece) in pieces.iter().enumerate() {
        match piece {
            Piece::Text(text) | Piece::Bad(text) => tokens.extend(text.chars().map(Token::Letter)),
            Piece::Braces => tokens.extend("{{".chars().map(Token::Letter)),
            Piece::Variable(name) => tokens.push(Token::Variable { piece: at, filling: filling(name) }),
        }
    }
    let mut reader = Reader { tokens, at: 0, out: String::new(), places: vec![Place::Bare(Words::default())] };
    while reader.step()? {}
    Ok(reader.out)
}

/// Where the reader is.
#[derive(Debug)]
enum Place {
    /// Words without quotes; inside `$(…)` and `(…)` these are their own.
    Bare(Words),
    Double,
    Single,
    /// From `#` to the end of the line.
    Comment,
    /// Something that is not followed further: no variable may stand behind it.
    Unknown(&'static str),
}

/// The simple command that is being read.
#[derive(Debug, Default)]
struct Words {
    /// The word at the cursor, without its quotes.
    word: String,
    /// Whether anything of that word is there, quotes included.
    begun: bool,
    /// The interpreter of the command, by the letters of its flags.
    flags: Option<&'static str>,
    /// The command whose arguments are code.
    runs: Option<String>,
}

impl Words {
    /// The word ends. What follows from it, where it is a word that changes how the rest is read.
    fn end_word(&mut self) -> Option<&'static str> {
        let word = std::mem::take(&mut self.word);
        self.begun = false;
        let name = word.rsplit('/').next().unwrap_or_default();
        if let Some((_, letters)) = INTERPRETERS.iter().find(|(names, _)| names.contains(&name)) {
            self.flags = Some(letters);
        }
        let is_code_flag = |letters: &str| {
            let single = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
            single.is_some_and(|rest| rest.contains(|letter| letters.contains(letter)))
                || ["--eval", "--print", "--command"].iter().any(|long| word.starts_with(long))
        };
        if RUN_THEIR_ARGUMENTS.contains(&name) || self.flags.is_some_and(is_code_flag) {
            self.runs.get_or_insert(name.to_owned());
        }
        match word.as_str() {
            "case" => Some("behind case"),
            "[[" => Some("in [[ … ]]"),
            _ => None,
        }
    }

    /// The command ends, and another one may follow.
    fn end_command(&mut self) -> Option<&'static str> {
        let found = self.end_word();
        *self = Self::default();
        found
    }
}

struct Reader<'a> {
    tokens: Vec<Token<'a>>,
    at: usize,
    out: String,
    places: Vec<Place>,
}

impl Reader<'_> {
    /// The letter so many places behind the cursor.
    fn letter(&self, behind: usize) -> Option<char> {
        match self.tokens.get(self.at + behind)? {
            Token::Letter(letter) => Some(*letter),
            Token::Variable { .. } => None,
        }
    }

    /// The letter before the cursor.
    fn before(&self) -> Option<char> {
        match self.tokens.get(self.at.checked_sub(1)?)? {
            Token::Letter(letter) => Some(*letter),
            Token::Variable { .. } => None,
        }
    }

    /// Takes letters as they are.
    fn take(&mut self, count: usize) {
        for _ in 0..count {
            if let Some(Token::Letter(letter)) = self.tokens.get(self.at) {
                self.out.push(*letter);
                self.at += 1;
            }
        }
    }

    /// Reads on; false at the end.
    fn step(&mut self) -> Result<bool, Unquotable> {
        match self.tokens.get(self.at) {
            None => return Ok(false),
            Some(Token::Variable { piece, filling }) => {
                let (piece, filling) = (*piece, *filling);
                self.put(filling).map_err(|place| Unquotable { piece, place })?;
                self.at += 1;
            }
            Some(Token::Letter(letter)) => {
                let letter = *letter;
                match self.places.last() {
                    Some(Place::Bare(_)) => self.bare(letter),
                    Some(Place::Double) => self.double(letter),
                    Some(Place::Single) => self.single(letter),
                    // The line ends outside the comment.
                    Some(Place::Comment) if letter == '\n' => drop(self.places.pop()),
                    Some(Place::Comment) => self.take(1),
                    Some(Place::Unknown(_)) | None => self.take(1),
                }
            }
        }
        Ok(true)
    }

    fn single(&mut self, letter: char) {
        self.take(1);
        if letter == '\'' {
            self.places.pop();
        } else {
            self.add_to_word(letter);
        }
    }

    fn words(&mut self) -> Option<&mut Words> {
        self.places.iter_mut().rev().find_map(|place| match place {
            Place::Bare(words) => Some(words),
            Place::Double | Place::Single | Place::Comment | Place::Unknown(_) => None,
        })
    }

    fn add_to_word(&mut self, letter: char) {
        if let Some(words) = self.words() {
            words.word.push(letter);
            words.begun = true;
        }
    }

    /// From here on no variable may stand.
    fn lose(&mut self, why: &'static str) {
        self.places.push(Place::Unknown(why));
    }

    /// A `$`, in double quotes or bare; false if there is nothing special behind it.
    fn dollar(&mut self) -> bool {
        match (self.letter(1), self.letter(2)) {
            (Some('('), Some('(')) | (Some('['), _) => self.lose("in arithmetic"),
            (Some('('), _) => {
                self.take(2);
                self.places.push(Place::Bare(Words::default()));
            }
            (Some('{'), _) => {
                let plain = |letter: &char| letter.is_ascii_alphanumeric() || "_#@*?!-".contains(*letter);
                let name = (2..).map_while(|behind| self.letter(behind)).take_while(plain).count();
                match self.letter(2 + name) {
                    Some('}') => self.take(3 + name),
                    Some(_) | None => self.lose("in ${…}"),
                }
            }
            _ => return false,
        }
        true
    }

    fn double(&mut self, letter: char) {
        match letter {
            '"' => {
                self.take(1);
                self.places.pop();
            }
            '\\' => self.take(2),
            '`' => self.lose("in backticks"),
            '$' if self.dollar() => {}
            letter => {
                self.take(1);
                self.add_to_word(letter);
            }
        }
    }

    fn bare(&mut self, letter: char) {
        let begun = self.words().is_some_and(|words| words.begun);
        match letter {
            '\'' | '"' => {
                self.take(1);
                if let Some(words) = self.words() {
                    words.begun = true;
                }
                self.places.push(if letter == '"' { Place::Double } else { Place::Single });
            }
            '\\' => {
                let next = self.letter(1).filter(|next| *next != '\n');
                self.take(2);
                next.into_iter().for_each(|next| self.add_to_word(next));
            }
            '`' => self.lose("in backticks"),
            '#' if !begun => {
                self.take(1);
                self.places.push(Place::Comment);
            }
            '$' if self.letter(1) == Some('\'') => self.lose("behind $'"),
            '$' if self.dollar() => {
                if let Some(words) = self.words() {
                    words.begun = true;
                }
            }
            '<' if self.letter(1) == Some('<') => self.lose("behind <<"),
            '(' if self.letter(1) == Some('(') => self.lose("in (( … ))"),
            ' ' | '\t' | '<' | '>' => self.ends(Words::end_word),
            // `2>&1`, `&>` and `>|` belong to a redirection.
            '&' | '|' if self.before().is_some_and(|before| "<>".contains(before)) => self.ends(Words::end_word),
            '&' if self.letter(1) == Some('>') => self.ends(Words::end_word),
            '\n' | ';' | '&' | '|' => self.ends(Words::end_command),
            '(' => {
                self.ends(Words::end_command);
                if matches!(self.places.last(), Some(Place::Bare(_))) {
                    self.places.push(Place::Bare(Words::default()));
                }
            }
            ')' => {
                self.ends(Words::end_command);
                if self.places.len() > 1 && matches!(self.places.last(), Some(Place::Bare(_))) {
                    self.places.pop();
                }
            }
            letter => {
                self.take(1);
                self.add_to_word(letter);
            }
        }
    }

    /// A sign that ends a word.
    fn ends(&mut self, end: impl Fn(&mut Words) -> Option<&'static str>) {
        self.take(1);
        if let Some(why) = self.words().and_then(end) {
            self.lose(why);
        }
    }

    /// Puts a value where the cursor is.
    fn put(&mut self, filling: Filling<'_>) -> Result<(), String> {
        if let Filling::Unset(name) = filling {
            self.out.push_str(&format!("{{{{{name}}}}}"));
            "x".chars().for_each(|letter| self.add_to_word(letter));
            return Ok(());
        }
        if let Some(runs) = self.places.iter().find_map(|place| match place {
            Place::Bare(words) => words.runs.clone(),
            Place::Double | Place::Single | Place::Comment | Place::Unknown(_) => None,
        }) {
            return Err(format!("in an argument of {runs}, which is run as code"));
        }
        let in_subscript = self.words().is_some_and(|words| words.word.contains('['));
        let is_behind_dollar = self.before() == Some('$');
        let text = match self.places.last() {
            None => return Err("here".to_owned()),
            Some(Place::Unknown(why)) => return Err((*why).to_owned()),
            Some(Place::Comment) => return Err("in a comment".to_owned()),
            Some(Place::Bare(_) | Place::Double) if is_behind_dollar => return Err("directly behind $".to_owned()),
            Some(Place::Bare(_) | Place::Double) if self.is_behind_backslash() => {
                return Err("directly behind a backslash".to_owned());
            }
            Some(Place::Bare(_)) if in_subscript => return Err("behind [ in the same word".to_owned()),
            Some(Place::Bare(_)) => match filling {
                Filling::Value(value) => format!("'{}'", value.replace('\'', "'\\''")),
                late => format!("\"${{{}}}\"", late.variable()),
            },
            Some(Place::Double) => match filling {
                Filling::Value(value) => value.chars().fold(String::new(), escape_in_double),
                late => format!("${{{}}}", late.variable()),
            },
            Some(Place::Single) => match filling {
                Filling::Value(value) => value.replace('\'', "'\\''"),
                late => format!("'\"${{{}}}\"'", late.variable()),
            },
        };
        self.out.push_str(&text);
        // A value is some word: never one of those that the reader knows.
        self.add_to_word('\u{0}');
        Ok(())
    }

    /// Whether the letter before the cursor is a backslash that protects nothing yet.
    fn is_behind_backslash(&self) -> bool {
        let letters = self.tokens.get(..self.at).unwrap_or_default().iter().rev();
        let count = letters.take_while(|token| matches!(token, Token::Letter('\\'))).count();
        count % 2 == 1
    }
}

fn escape_in_double(mut text: String, letter: char) -> String {
    if ['$', '`', '"', '\\'].contains(&letter) {
        text.push('\\');
    }
    text.push(letter);
    text
}
