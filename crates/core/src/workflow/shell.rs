//! Values in a shell command, each quoted for where it stands, so that a value is never code.
//!
//! The command is read as `sh` and `bash` read it: bare words, single quotes, double quotes, `$(…)` and parentheses. A
//! place where a value cannot be quoted for certain is refused: here-documents, backticks, arithmetic, comments, and the
//! arguments of commands that run their arguments as code (`eval`, `sh -c`, `sed`, …). The environment is the way there.
use super::variables::{FAILED_LOOP_VARIABLE, Piece, answer_variable};

/// Commands whose arguments are code, whatever they look like.
const RUN_THEIR_ARGUMENTS: [&str; 17] = [
    "eval", "trap", "let", "declare", "typeset", "alias", "ssh", "su", "watch", "parallel", "tmux", "sed", "gsed",
    "awk", "gawk", "mawk", "nawk",
];

const SHELLS: [&str; 7] = ["sh", "bash", "dash", "zsh", "ksh", "ash", "fish"];

/// Programs that read code from their input, whatever their arguments are.
const READ_CODE: [&str; 8] = ["parallel", "at", "batch", "ed", "ex", "sqlite3", "psql", "gdb"];

/// Words before the name of a program, with arguments of their own.
const BEFORE_PROGRAM: [&str; 14] = [
    "env", "sudo", "doas", "nice", "ionice", "timeout", "stdbuf", "setsid", "nohup", "exec", "command", "builtin",
    "xargs", "time",
];

/// Words of the shell before a command.
const BEFORE_COMMAND: [&str; 9] = ["if", "then", "else", "elif", "do", "while", "until", "!", "{"];

/// A program that takes code by an option.
#[derive(Debug)]
struct CodeOptions {
    names: &'static [&'static str],
    /// Letters of short options.
    short: &'static str,
    /// Long options.
    long: &'static [&'static str],
    /// Without a script among its arguments it runs what it reads.
    interprets: bool,
}

/// An interpreter.
const fn interpreter(names: &'static [&'static str], short: &'static str) -> CodeOptions {
    CodeOptions { names, short, long: &["--eval", "--print", "--command"], interprets: true }
}

/// A program that runs what one of its options says.
const fn tool(names: &'static [&'static str], short: &'static str, long: &'static [&'static str]) -> CodeOptions {
    CodeOptions { names, short, long, interprets: false }
}

/// Programs that take code as an argument, and the options for it.
const CODE_OPTIONS: [CodeOptions; 14] = [
    interpreter(&SHELLS, "c"),
    interpreter(&["python", "python2", "python3", "pypy", "pypy3"], "c"),
    interpreter(&["perl", "ruby", "lua"], "eE"),
    interpreter(&["node", "nodejs", "bun", "deno"], "ep"),
    interpreter(&["php"], "rR"),
    tool(&["flock", "script"], "c", &["--command"]),
    tool(&["env"], "S", &["--split-string"]),
    tool(&["npx", "npm", "pnpm"], "c", &["--call", "--shell-mode"]),
    tool(&["make", "gmake"], "E", &["--eval"]),
    tool(&["git"], "O", &["--open-files-in-pager", "--upload-pack", "--receive-pack", "--exec", "--extcmd"]),
    tool(&["rsync"], "e", &["--rsh", "--rsync-path"]),
    tool(
        &["tar", "gtar", "bsdtar"],
        "IF",
        &[
            "--to-command",
            "--checkpoint-action",
            "--use-compress-program",
            "--info-script",
            "--new-volume-script",
            "--rsh-command",
        ],
    ),
    tool(&["sort"], "", &["--compress-program"]),
    tool(&["nc", "ncat", "netcat"], "ce", &["--exec", "--sh-exec", "--lua-exec"]),
];

impl CodeOptions {
    /// Whether this word is such an option, or begins with it. Long options may be cut short.
    fn has(&self, word: &str) -> bool {
        let Some(rest) = word.strip_prefix('-') else { return false };
        if !rest.starts_with('-') {
            return rest.contains(|letter| self.short.contains(letter));
        }
        let name = word.split('=').next().unwrap_or_default();
        let is_cut = |long: &str| name.len() > 3 && long.starts_with(name);
        self.long.iter().any(|long| is_cut(long) || self.interprets && word.starts_with(long))
    }
}

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
    let places = vec![ShellContext::Bare(Words::default())];
    let mut reader = Reader { tokens, at: 0, out: String::new(), places, value: None, piped: None, refused: None };
    while reader.step()? {}
    reader.end_command();
    reader.refused.map_or(Ok(reader.out), Err)
}

/// Where the reader is.
#[derive(Debug)]
enum ShellContext {
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
    /// The word at the cursor, without its quotes. A `$` is in it where the shell puts something.
    word: String,
    /// Whether anything of that word is there, quotes included.
    begun: bool,
    /// Programs of the command that take code by an option.
    programs: Vec<&'static CodeOptions>,
    /// The command whose arguments are code.
    runs: Option<String>,
    /// Whether the name of the program is there.
    has_program: bool,
    /// Whether a word such as `sudo` stands before the program.
    is_prefixed: bool,
    /// The program is a value: what it does with its arguments is not known.
    is_unknown: bool,
    /// The word names a file of a redirection.
    is_redirected: bool,
    /// The word belongs to the option before it.
    is_of_option: bool,
    /// The program that runs what it reads.
    reads_code: Option<String>,
    /// It does so whatever its other arguments are: `sh -s`.
    reads_input: bool,
    /// It is `source`.
    is_source: bool,
}

impl Words {
    /// The word ends. What follows from it, where it is a word that changes how the rest is read.
    fn end_word(&mut self) -> Option<&'static str> {
        let word = std::mem::take(&mut self.word);
        if !std::mem::take(&mut self.begun) || std::mem::take(&mut self.is_redirected) {
            return None;
        }
        let name = word.rsplit('/').next().unwrap_or_default();
        let is_program = self.is_program(&word, name);
        self.note_input(&word, name, is_program);
        let known = CODE_OPTIONS.iter().find(|options| options.names.contains(&name));
        if RUN_THEIR_ARGUMENTS.contains(&name) || self.is_code_option(&word) {
            self.runs.get_or_insert(name.to_owned());
        }
        self.programs.extend(known);
        match word.as_str() {
            "case" => Some("behind case"),
            "[[" => Some("in [[ … ]]"),
            // What follows is a command of the shell.
            "foreach" if self.programs.iter().any(|options| options.names.contains(&"git")) => {
                self.runs.get_or_insert(name.to_owned());
                None
            }
            _ => None,
        }
    }

    /// Whether what follows this word, or stands in it, is code.
    fn is_code_option(&self, word: &str) -> bool {
        let is_unknown_code = || {
            let single = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
            single.is_some_and(|rest| rest.contains(['c', 'e']))
        };
        self.programs.iter().any(|options| options.has(word)) || self.is_unknown && is_unknown_code()
    }

    /// Whether this word is the name of the program that runs.
    fn is_program(&mut self, word: &str, name: &str) -> bool {
        if self.has_program {
            return self.is_prefixed && CODE_OPTIONS.iter().any(|options| options.names.contains(&name));
        }
        let assigned = word.split_once('=').map(|(before, _)| before);
        let is_identifier = |text: &str| text.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
        if BEFORE_COMMAND.contains(&word) || assigned.is_some_and(is_identifier) {
            return false;
        }
        if BEFORE_PROGRAM.contains(&name) {
            self.is_prefixed = true;
            return false;
        }
        if self.is_prefixed && word.starts_with(|first: char| first == '-' || first.is_ascii_digit()) {
            return false;
        }
        self.has_program = true;
        if name.contains('$') {
            self.runs.get_or_insert("a program that a variable names".to_owned());
        }
        self.is_unknown = name.contains('\u{0}');
        self.is_source = [".", "source"].contains(&word);
        true
    }

    /// Whether the program runs what it reads, as far as its words up to this one say.
    fn note_input(&mut self, word: &str, name: &str, is_program: bool) {
        let is_interpreter = CODE_OPTIONS.iter().any(|options| options.interprets && options.names.contains(&name));
        if is_program && (is_interpreter || READ_CODE.contains(&name)) {
            self.reads_code = Some(name.to_owned());
            return;
        }
        let is_option = word.starts_with(['-', '+']);
        let is_script = !is_option && word != "/dev/stdin" && !std::mem::take(&mut self.is_of_option);
        self.is_of_option = ["-o", "-O", "+o", "+O", "--rcfile", "--init-file"].contains(&word);
        let is_template = self.is_prefixed && word.contains("{}");
        self.reads_input |= SHELLS.iter().any(|shell| Some(*shell) == self.reads_code.as_deref())
            && word.strip_prefix('-').is_some_and(|rest| !rest.starts_with('-') && rest.contains('s'));
        let reads_input = self.reads_input || is_template;
        let stays = |program: &String| reads_input || READ_CODE.contains(&program.as_str());
        if is_script && !self.reads_code.as_ref().is_some_and(stays) {
            self.reads_code = None;
        }
    }

    /// The command ends, and another one may follow. `ran` is the program of it that ran what it read.
    fn end_command(&mut self, ran: &mut Option<String>) -> Option<&'static str> {
        let found = self.end_word();
        *ran = self.reads_code.take();
        *self = Self::default();
        found
    }
}

struct Reader<'a> {
    tokens: Vec<Token<'a>>,
    at: usize,
    out: String,
    places: Vec<ShellContext>,
    /// The first variable so far.
    value: Option<usize>,
    /// One that may be in what a later command reads.
    piped: Option<usize>,
    /// One that a later command runs as code.
    refused: Option<Unquotable>,
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
                self.value.get_or_insert(piece);
                self.at += 1;
            }
            Some(Token::Letter(letter)) => {
                let letter = *letter;
                match self.places.last() {
                    Some(ShellContext::Bare(_)) => self.bare(letter),
                    Some(ShellContext::Double) => self.double(letter),
                    Some(ShellContext::Single) => self.single(letter),
                    // The line ends outside the comment.
                    Some(ShellContext::Comment) if letter == '\n' => drop(self.places.pop()),
                    Some(ShellContext::Comment) => self.take(1),
                    Some(ShellContext::Unknown(_)) | None => self.take(1),
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
            ShellContext::Bare(words) => Some(words),
            ShellContext::Double | ShellContext::Single | ShellContext::Comment | ShellContext::Unknown(_) => None,
        })
    }

    fn add_to_word(&mut self, letter: char) {
        if let Some(words) = self.words() {
            words.word.push(letter);
            words.begun = true;
        }
    }

    /// The shell puts something here.
    fn put_by_shell(&mut self) {
        let Some(words) = self.words() else { return };
        if words.word.is_empty() && !words.has_program {
            // What the shell puts here is the program, and arguments of it.
            words.runs.get_or_insert("a program that a variable names".to_owned());
        }
        self.add_to_word('$');
    }

    /// A command ends, and another one may follow.
    fn end_command(&mut self) {
        let mut ran = None;
        if let Some(why) = self.words().and_then(|words| words.end_command(&mut ran)) {
            self.lose(why);
        }
        if let (Some(program), Some(piece)) = (ran, self.piped) {
            let place = format!("before a pipe into {program}, which runs what it reads as code");
            self.refused.get_or_insert(Unquotable { piece, place });
        }
    }

    /// From here on no variable may stand.
    fn lose(&mut self, why: &'static str) {
        self.places.push(ShellContext::Unknown(why));
    }

    /// A `$`, in double quotes or bare; false if there is nothing special behind it.
    fn dollar(&mut self) -> bool {
        match (self.letter(1), self.letter(2)) {
            (Some('('), Some('(')) | (Some('['), _) => self.lose("in arithmetic"),
            (Some('('), _) => {
                self.take(2);
                self.put_by_shell();
                self.places.push(ShellContext::Bare(Words::default()));
            }
            (Some('{'), _) => {
                let plain = |letter: &char| letter.is_ascii_alphanumeric() || "_#@*?!-".contains(*letter);
                let name = (2..).map_while(|behind| self.letter(behind)).take_while(plain).count();
                match self.letter(2 + name) {
                    Some('}') => {
                        self.take(3 + name);
                        self.put_by_shell();
                    }
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
                self.places.push(if letter == '"' { ShellContext::Double } else { ShellContext::Single });
            }
            '\\' => {
                let next = self.letter(1).filter(|next| *next != '\n');
                self.take(2);
                next.into_iter().for_each(|next| self.add_to_word(next));
            }
            '`' => self.lose("in backticks"),
            '#' if !begun => {
                self.take(1);
                self.places.push(ShellContext::Comment);
            }
            '$' if self.letter(1) == Some('\'') => self.lose("behind $'"),
            '$' if self.dollar() => {
                if let Some(words) = self.words() {
                    words.begun = true;
                }
            }
            '<' if self.letter(1) == Some('<') => self.lose("behind <<"),
            '(' if self.letter(1) == Some('(') => self.lose("in (( … ))"),
            ' ' | '\t' => self.end_word(),
            '<' | '>' => self.redirect(),
            // `2>&1`, `&>` and `>|` belong to a redirection.
            '&' | '|' if self.before().is_some_and(|before| "<>".contains(before)) => self.redirect(),
            '&' if self.letter(1) == Some('>') => self.redirect(),
            '\n' | ';' | '&' | '|' => self.end_simple_command(letter),
            '(' if self.before().is_some_and(|before| "<>".contains(before)) => {
                if self.runs_files() {
                    self.lose("in a file that is run as code");
                    return;
                }
                self.take(1);
                if let Some(words) = self.words() {
                    words.is_redirected = false;
                }
                self.add_to_word('$');
                self.places.push(ShellContext::Bare(Words::default()));
            }
            '(' => {
                self.take(1);
                self.end_command();
                if matches!(self.places.last(), Some(ShellContext::Bare(_))) {
                    self.places.push(ShellContext::Bare(Words::default()));
                }
            }
            ')' => {
                self.take(1);
                self.end_command();
                if self.places.len() > 1 && matches!(self.places.last(), Some(ShellContext::Bare(_))) {
                    self.places.pop();
                }
            }
            letter => {
                self.take(1);
                self.add_to_word(letter);
            }
        }
    }

    /// A sign that ends a simple command.
    fn end_simple_command(&mut self, letter: char) {
        self.take(1);
        self.end_command();
        // Also before `||`: to refuse too much does no harm.
        self.piped = self.piped.or(self.value.filter(|_| letter == '|'));
    }

    /// A sign that ends a word.
    fn end_word(&mut self) {
        self.take(1);
        if let Some(why) = self.words().and_then(Words::end_word) {
            self.lose(why);
        }
    }

    /// A sign of a redirection: a number before it and the name behind it are no arguments.
    fn redirect(&mut self) {
        if let Some(words) = self.words()
            && words.word.bytes().all(|byte| byte.is_ascii_digit())
        {
            words.word.clear();
            words.begun = false;
        }
        self.end_word();
        if let Some(words) = self.words() {
            words.is_redirected = true;
        }
    }

    /// Whether the command runs a file that it is given.
    fn runs_files(&mut self) -> bool {
        self.words().is_some_and(|words| words.reads_code.is_some() || words.is_source)
    }

    /// Puts a value where the cursor is.
    fn put(&mut self, filling: Filling<'_>) -> Result<(), String> {
        if let Some(runs) = self.places.iter().find_map(|place| match place {
            ShellContext::Bare(words) => words.runs.clone(),
            ShellContext::Double | ShellContext::Single | ShellContext::Comment | ShellContext::Unknown(_) => None,
        }) {
            return Err(format!("in an argument of {runs}, which is run as code"));
        }
        if let Some(words) = self.words().filter(|words| words.is_code_option(&words.word)) {
            let option = words.word.trim_end_matches('=');
            return Err(format!("in an argument of {option}, which is run as code"));
        }
        let in_subscript = self.words().is_some_and(|words| words.word.contains('['));
        let is_behind_dollar = self.before() == Some('$');
        let text = match self.places.last() {
            None => return Err("here".to_owned()),
            Some(ShellContext::Unknown(why)) => return Err((*why).to_owned()),
            Some(ShellContext::Comment) => return Err("in a comment".to_owned()),
            Some(ShellContext::Bare(_) | ShellContext::Double) if is_behind_dollar => {
                return Err("directly behind $".to_owned());
            }
            Some(ShellContext::Bare(_) | ShellContext::Double) if self.is_behind_backslash() => {
                return Err("directly behind a backslash".to_owned());
            }
            Some(ShellContext::Bare(_)) if in_subscript => return Err("behind [ in the same word".to_owned()),
            Some(ShellContext::Bare(_)) => match filling {
                Filling::Value(value) => format!("'{}'", value.replace('\'', "'\\''")),
                late @ (Filling::FailedLoop | Filling::Answer(_) | Filling::Unset(_)) => {
                    format!("\"${{{}}}\"", late.variable())
                }
            },
            Some(ShellContext::Double) => match filling {
                Filling::Value(value) => value.chars().fold(String::new(), escape_in_double),
                late @ (Filling::FailedLoop | Filling::Answer(_) | Filling::Unset(_)) => {
                    format!("${{{}}}", late.variable())
                }
            },
            Some(ShellContext::Single) => match filling {
                Filling::Value(value) => value.replace('\'', "'\\''"),
                late @ (Filling::FailedLoop | Filling::Answer(_) | Filling::Unset(_)) => {
                    format!("'\"${{{}}}\"'", late.variable())
                }
            },
        };
        match filling {
            Filling::Unset(name) => self.out.push_str(&format!("{{{{{name}}}}}")),
            Filling::Value(_) | Filling::FailedLoop | Filling::Answer(_) => self.out.push_str(&text),
        }
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
