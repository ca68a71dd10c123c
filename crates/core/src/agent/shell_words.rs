//! A line of arguments as words, split as a POSIX shell would and never run by one: quotes and backslashes, no
//! expansion, no comments. (The crate `shlex` was looked at: it takes `#` for a comment, which would lose arguments
//! without a word, and cannot say where a quote was opened.)

/// Why a line cannot be split, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ShellWordsError {
    /// A quote has no end.
    #[error("the {quote} at letter {at} is never closed")]
    Open {
        /// Which quote.
        quote: char,
        /// The letter at which it stands, counted from 1.
        at: usize,
    },
    /// A backslash stands at the end, with nothing to protect.
    #[error("the \\ at letter {at} has nothing after it")]
    Backslash {
        /// The letter at which it stands, counted from 1.
        at: usize,
    },
    /// A byte that no argument can hold.
    #[error("there is a NUL byte at letter {at}")]
    Nul {
        /// The letter at which it stands, counted from 1.
        at: usize,
    },
}

impl ShellWordsError {
    /// What to do.
    #[must_use]
    pub fn hint(self) -> &'static str {
        match self {
            Self::Open { .. } => "close the quote, or put a \\ before it",
            Self::Backslash { .. } => "write \\\\ for a backslash",
            Self::Nul { .. } => "take it out",
        }
    }
}

/// Splits a line into words.
///
/// # Errors
/// When a quote is not closed, or a backslash ends the line.
pub fn split(line: &str) -> Result<Vec<String>, ShellWordsError> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = line.chars().enumerate();
    while let Some((at, letter)) = letters.next() {
        match letter {
            ' ' | '\t' | '\n' => words.extend(word.take()),
            '\'' => single(&mut letters, at, word.get_or_insert_default())?,
            '"' => double(&mut letters, at, word.get_or_insert_default())?,
            '\\' => match letters.next() {
                // A line that goes on.
                Some((_, '\n')) => {}
                Some((_, '\0')) => return Err(ShellWordsError::Nul { at: at + 2 }),
                Some((_, letter)) => word.get_or_insert_default().push(letter),
                None => return Err(ShellWordsError::Backslash { at: at + 1 }),
            },
            '\0' => return Err(ShellWordsError::Nul { at: at + 1 }),
            letter => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    Ok(words)
}

type Letters<'a> = std::iter::Enumerate<std::str::Chars<'a>>;

fn single(letters: &mut Letters<'_>, opened: usize, word: &mut String) -> Result<(), ShellWordsError> {
    for (at, letter) in letters {
        match letter {
            '\'' => return Ok(()),
            '\0' => return Err(ShellWordsError::Nul { at: at + 1 }),
            letter => word.push(letter),
        }
    }
    Err(ShellWordsError::Open { quote: '\'', at: opened + 1 })
}

fn double(letters: &mut Letters<'_>, opened: usize, word: &mut String) -> Result<(), ShellWordsError> {
    let open = ShellWordsError::Open { quote: '"', at: opened + 1 };
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Ok(()),
            '\0' => return Err(ShellWordsError::Nul { at: at + 1 }),
            '\\' => match letters.next() {
                Some((_, '\n')) => {}
                Some((_, letter @ ('$' | '`' | '"' | '\\'))) => word.push(letter),
                Some((at, '\0')) => return Err(ShellWordsError::Nul { at: at + 1 }),
                Some((_, letter)) => word.extend(['\\', letter]),
                None => return Err(open),
            },
            letter => word.push(letter),
        }
    }
    Err(open)
}

/// Words as one line that a shell, and [`split`], would read as the same words.
#[must_use]
pub fn join<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    words.into_iter().map(quoted).collect::<Vec<_>>().join(" ")
}

/// One word of such a line.
#[must_use]
pub fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "@%+=:,./_-{}".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}
