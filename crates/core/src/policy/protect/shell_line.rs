//! A shell line taken apart: words, simple commands, options and files, and whether what a command prints is compared.
use super::wrappers::behind_first_words;

/// A piece of a line.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::policy) enum Token {
    Word(String),
    /// The command ends.
    End,
    /// The command ends, and the next one reads what it prints.
    Pipe,
    /// What comes next is read by the command.
    Input,
    /// What comes next is written.
    Output,
}

/// A simple command of a line.
#[derive(Debug, Default)]
pub(super) struct SimpleCommand {
    pub(super) words: Vec<String>,
    pub(super) input: Option<String>,
    /// The file to which it prints.
    pub(super) output: Option<String>,
    /// The next one reads what it prints.
    pub(super) is_piped: bool,
}

pub(super) fn simple_commands(line: &str) -> Vec<SimpleCommand> {
    let mut found = Vec::new();
    let mut now = SimpleCommand::default();
    let mut tokens = tokens(line).into_iter().chain([Token::End]);
    while let Some(token) = tokens.next() {
        match token {
            Token::Word(word) => now.words.push(word),
            Token::Input => {
                if let Some(Token::Word(file)) = tokens.next() {
                    now.input = Some(file);
                }
            }
            Token::Output => {
                if let Some(Token::Word(file)) = tokens.next() {
                    now.output = Some(file).filter(|file| !file.starts_with("/dev/"));
                }
            }
            Token::End => found.push(std::mem::take(&mut now)),
            Token::Pipe => found.push(SimpleCommand { is_piped: true, ..std::mem::take(&mut now) }),
        }
    }
    found
}

/// A line as a shell would take it apart, without doing anything.
pub(in crate::policy) fn tokens(line: &str) -> Vec<Token> {
    let mut found = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = line.chars().peekable();
    while let Some(letter) = rest.next() {
        match letter {
            '\'' => word.get_or_insert_default().extend(rest.by_ref().take_while(|letter| *letter != '\'')),
            '"' => quoted(&mut rest, word.get_or_insert_default()),
            '\\' => word.get_or_insert_default().extend(rest.next().filter(|letter| *letter != '\n')),
            '#' if word.is_none() => drop(rest.by_ref().find(|letter| *letter == '\n')),
            ' ' | '\t' | '\r' => end_word(&mut word, &mut found),
            '|' => {
                end_word(&mut word, &mut found);
                let is_or = rest.next_if_eq(&'|').is_some();
                rest.next_if_eq(&'&');
                found.push(if is_or { Token::End } else { Token::Pipe });
            }
            ';' | '&' | '(' | ')' | '`' | '\n' => {
                end_word(&mut word, &mut found);
                found.push(Token::End);
            }
            '<' | '>' => {
                // The number of a handle is no word.
                word = word.filter(|word| !word.chars().all(|letter| letter.is_ascii_digit()));
                end_word(&mut word, &mut found);
                let again = rest.next_if(|next| matches!(next, '<' | '>' | '|')).is_some();
                if rest.next_if_eq(&'&').is_some() {
                    while rest.next_if(|next| next.is_ascii_digit() || *next == '-').is_some() {}
                    continue;
                }
                found.push(if letter == '<' && !again { Token::Input } else { Token::Output });
            }
            letter => word.get_or_insert_default().push(letter),
        }
    }
    end_word(&mut word, &mut found);
    found
}

fn end_word(word: &mut Option<String>, found: &mut Vec<Token>) {
    found.extend(word.take().map(Token::Word));
}

/// What stands in double quotes.
fn quoted(rest: &mut impl Iterator<Item = char>, word: &mut String) {
    while let Some(letter) = rest.next() {
        match letter {
            '"' => return,
            '\\' => word.extend(rest.next()),
            letter => word.push(letter),
        }
    }
}

/// An absolute path without `.` and `..`.
pub(super) fn full_path(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// A path of the workspace without `.` and `..`; none where it leads outside or is not known before it is run.
pub(in crate::policy) fn clean(folder: &str, word: &str) -> Option<String> {
    if word.is_empty() || word.starts_with(['/', '~', '-']) || word.contains(['$', '`', '\0', '\n', '{']) {
        return None;
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(word.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}

/// Whether short options have a letter: `-n`, `-en`.
pub(super) fn has_letter(word: &str, letter: char) -> bool {
    let letters = word.strip_prefix('-').unwrap_or_default();
    letters.contains(letter) && letters.chars().all(|letter| letter.is_ascii_alphabetic())
}

/// The values of options: `-f x`, `-fx`, `--file x`, `--file=x`.
pub(super) fn option_values<'a>(words: &'a [String], options: &[&str]) -> Vec<&'a str> {
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let value = options.iter().find_map(|option| {
            let value = word.strip_prefix(option)?;
            match value.strip_prefix('=') {
                _ if value.is_empty() => words.get(at + 1).map(String::as_str),
                Some(value) => Some(value),
                // Only short options have their value joined.
                None => (!option.starts_with("--")).then_some(value),
            }
        });
        found.extend(value);
    }
    found
}

/// The first word that is neither an option nor the value of one, and the words after it.
pub(super) fn first_file(words: &[String]) -> Option<(&str, &[String])> {
    let mut rest = words;
    while let Some((word, behind)) = rest.split_first() {
        if !word.starts_with(['-', '+']) {
            return Some((word, behind));
        }
        // Short options may stand together: `-euo pipefail`.
        let many = !word.starts_with("--") && word.ends_with('o');
        let skipped = usize::from(many || WITH_VALUE.contains(&word.as_str()));
        rest = behind.get(skipped..).unwrap_or_default();
    }
    None
}

/// A program that prints one of these judges itself.
const VERDICTS: &[&str] = &[
    "pass",
    "passed",
    "passes",
    "passing",
    "fail",
    "failed",
    "failures",
    "ok",
    "success",
    "successful",
    "error",
    "errors",
    "done",
    "green",
    "valid",
    "true",
    "yes",
];

/// These compare what another program prints.
const COMPARERS: &[&str] = &["diff", "cmp", "comm", "grep", "egrep", "fgrep", "rg", "jq"];

/// These compare a file with what it was.
const FILE_COMPARERS: &[&str] = &["git", "[", "test", "sha256sum", "sha1sum", "md5sum", "shasum", "cksum", "b2sum"];

/// Options whose value is the next word, of shells and interpreters.
const WITH_VALUE: &[&str] = &[
    "-O",
    "-I",
    "-W",
    "-X",
    "-r",
    "--require",
    "--import",
    "--loader",
    "--experimental-loader",
    "-L",
    "-d",
    "--project",
    "--tsconfig",
    "--env-file",
    "--conditions",
    "--config",
    "--cwd",
    "--rcfile",
    "--init-file",
    "--import-map",
    "--test-reporter",
    "--test-concurrency",
    "--check-hash-based-pycs",
];

/// Whether what the first command prints is compared with something: by a program of its pipe, or in a file by a later
/// command. A word like `passed` does not count: the command has judged already.
pub(super) fn is_compared(commands: &[SimpleCommand]) -> bool {
    let is_verdict = |word: &String| {
        let mut parts = word.split(|letter: char| !letter.is_alphanumeric());
        parts.any(|part| VERDICTS.contains(&part.to_ascii_lowercase().as_str()))
    };
    if let [SimpleCommand { output: Some(file), .. }, rest @ ..] = commands {
        let is_sum = |program: &str| program.ends_with("sum");
        let mut later = rest.iter().map(|next| behind_first_words(&next.words));
        return later.any(|words| {
            let Some((program, words)) = words.split_first() else { return false };
            let compares = [COMPARERS, FILE_COMPARERS].iter().any(|list| list.contains(&program.as_str()));
            let names = is_sum(program) || words.iter().any(|word| word.contains(file.as_str()));
            compares && names && !words.iter().any(is_verdict)
        });
    }
    let mut before = commands;
    while let [first, rest @ ..] = before
        && first.is_piped
    {
        let words = rest.first().map(|next| behind_first_words(&next.words)).unwrap_or_default();
        if words.first().is_some_and(|program| COMPARERS.contains(&program.as_str())) {
            return !words.iter().any(is_verdict);
        }
        before = rest;
    }
    false
}
