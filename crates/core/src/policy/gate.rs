//! What the end of a gate means: pass, fail, or unverifiable.
use serde::{Deserialize, Serialize};

use crate::ended::Ended;
use crate::machine::Deciding;

/// The three answers of a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The condition holds.
    Pass,
    /// It does not hold.
    Fail,
    /// Nobody knows: the gate itself could not do its work.
    Unverifiable,
}

impl Verdict {
    /// The verdict as JSON has it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Unverifiable => "unverifiable",
        }
    }
}

/// What several tries of one gate said so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    passed: u32,
    failed: u32,
    unverifiable: u32,
}

impl Tally {
    /// With one more try.
    #[must_use]
    pub fn with(mut self, verdict: Verdict) -> Self {
        match verdict {
            Verdict::Pass => self.passed += 1,
            Verdict::Fail => self.failed += 1,
            Verdict::Unverifiable => self.unverifiable += 1,
        }
        self
    }

    /// How many tries there were.
    #[must_use]
    pub fn tries(self) -> u32 {
        self.passed + self.failed + self.unverifiable
    }

    /// The answer, as soon as no further try can change it. `need` of `all` tries must hold.
    #[must_use]
    pub fn verdict(self, (need, all): (u32, u32), _: &Deciding) -> Option<Verdict> {
        let left = all.saturating_sub(self.tries());
        if self.passed >= need {
            Some(Verdict::Pass)
        } else if self.passed + left + self.unverifiable < need {
            Some(Verdict::Fail)
        } else if left == 0 || self.passed + left < need {
            Some(Verdict::Unverifiable)
        } else {
            None
        }
    }
}

/// So many iterations in a row with an unverifiable gate end the run.
pub const UNVERIFIABLE_MAX: u32 = 2;

const NOT_EXECUTABLE: i32 = 126;
const NOT_FOUND: i32 = 127;
const SIGKILL: i32 = 9;
/// How a shell says that a signal ended its command.
const SHELL_SIGNAL_BASE: i32 = 128;

/// A promise as it is run: the harness itself turns the answer of a leading `!` round, because the
/// shell's own `!` calls a command that cannot run a success.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Promise<'a> {
    /// What `sh -c` gets.
    pub command: &'a str,
    /// Whether the answer is turned round.
    pub negated: bool,
    /// Whether a program has a part in it that says 2 or more when it could not search.
    pub searches: bool,
    /// Whether `timeout` has a part in it, which says 124 or 125 when the command gave no answer.
    pub times: bool,
    /// A `!` before several commands would be the shell's own, to which a failure to run is success.
    pub left_to_shell: bool,
}

impl<'a> Promise<'a> {
    /// Reads a promise. The line itself is never changed but for the leading `!`.
    ///
    /// ```
    /// use loop_core::machine::consult;
    /// use loop_core::policy::gate::{Promise, Verdict};
    /// use loop_core::ended::Ended;
    ///
    /// let promise = Promise::parse("! grep -q TODO src/main.rs");
    /// assert_eq!(promise.command, "grep -q TODO src/main.rs");
    /// assert_eq!(consult(|deciding| promise.judge(&Ended::Exit(1), true, deciding)), Verdict::Pass);
    /// // The file is not there: nobody knows, and that is not a pass.
    /// assert_eq!(consult(|deciding| promise.judge(&Ended::Exit(2), true, deciding)), Verdict::Unverifiable);
    /// ```
    #[must_use]
    pub fn parse(line: &'a str) -> Self {
        let whole = line.trim();
        let plain = Self { command: whole, negated: false, searches: false, times: false, left_to_shell: false };
        let Some(rest) = whole.strip_prefix('!').map(str::trim_start) else { return plain };
        let rest = without_last_semicolon(rest);
        match Shape::of(rest) {
            Shape::Pipe { last } => Self {
                command: rest,
                negated: true,
                searches: says_two_for_trouble(last),
                times: programs(last).any(|program| program == "timeout"),
                left_to_shell: false,
            },
            Shape::Several => Self { left_to_shell: true, ..plain },
        }
    }

    /// What the end of its process means. `ran_before`: it has run to an end in this run already, so
    /// that a timeout or a crash is news about the work and not about the gate.
    #[must_use]
    pub fn judge(&self, ended: &Ended, ran_before: bool, _: &Deciding) -> Verdict {
        if self.negated { self.judge_negated(ended) } else { judge_plain(ended, ran_before) }
    }

    fn judge_negated(&self, ended: &Ended) -> Verdict {
        match ended {
            Ended::Exit(0) => Verdict::Fail,
            Ended::Exit(NOT_EXECUTABLE | NOT_FOUND) => Verdict::Unverifiable,
            Ended::Exit(code) if *code >= SHELL_SIGNAL_BASE || (self.searches && *code >= 2) => Verdict::Unverifiable,
            Ended::Exit(124 | 125) if self.times => Verdict::Unverifiable,
            Ended::Exit(_) => Verdict::Pass,
            Ended::Signal(_) | Ended::ByUs | Ended::NotStarted(_) => Verdict::Unverifiable,
        }
    }
}

fn judge_plain(ended: &Ended, ran_before: bool) -> Verdict {
    let by_the_work = if ran_before { Verdict::Fail } else { Verdict::Unverifiable };
    match ended {
        Ended::Exit(0) => Verdict::Pass,
        Ended::Exit(_) if !completed(ended) => Verdict::Unverifiable,
        Ended::Exit(_) => Verdict::Fail,
        Ended::Signal(SIGKILL) | Ended::NotStarted(_) => Verdict::Unverifiable,
        Ended::Signal(_) | Ended::ByUs => by_the_work,
    }
}

/// Whether the gate did its work, whatever its answer. The shell's word for a child that was killed
/// (137, most likely out of memory) is no end.
#[must_use]
pub fn ran_to_an_end(ended: &Ended, _: &Deciding) -> bool {
    completed(ended)
}

fn completed(ended: &Ended) -> bool {
    match ended {
        Ended::Exit(code) => ![NOT_EXECUTABLE, NOT_FOUND, SHELL_SIGNAL_BASE + SIGKILL].contains(code),
        Ended::Signal(_) | Ended::ByUs | Ended::NotStarted(_) => false,
    }
}

/// One command or pipe, or several commands.
enum Shape<'a> {
    /// Its last command, from the bar on.
    Pipe {
        last: &'a str,
    },
    Several,
}

impl<'a> Shape<'a> {
    /// Looks at a shell line from afar: quotes, escapes and brackets, and what stands between commands.
    fn of(line: &'a str) -> Self {
        let bytes = line.as_bytes();
        let (mut depth, mut quote, mut from, mut at) = (0_u32, None, 0, 0);
        while at < bytes.len() {
            let byte = bytes[at];
            match (quote, byte) {
                (None | Some(b'"' | b'`'), b'\\') => at += 1,
                (Some(open), _) if open == byte => quote = None,
                (Some(_), _) => {}
                (None, b'\'' | b'"' | b'`') => quote = Some(byte),
                (None, b'(' | b'{') => depth += 1,
                (None, b')' | b'}') if depth == 0 => return Self::Several, // No shell would read it.
                (None, b')' | b'}') => depth -= 1,
                (None, b'#') if starts_a_word(bytes, at) => match line[at..].find('\n') {
                    Some(length) => at += length - 1,
                    None => break,
                },
                (None, b';' | b'\n') if depth == 0 => return Self::Several,
                (None, b'&') if depth == 0 && !is_redirection(bytes, at) => return Self::Several,
                (None, b'|') if depth == 0 && bytes.get(at + 1) == Some(&b'|') => return Self::Several,
                (None, b'|') if depth == 0 && at > 0 && bytes[at - 1] == b'>' => {} // `>|` writes a file.
                (None, b'|') if depth == 0 => from = at,
                (None, _) => {}
            }
            at += 1;
        }
        if quote.is_some() || depth > 0 { Self::Several } else { Self::Pipe { last: &line[from..] } }
    }
}

fn is_redirection(bytes: &[u8], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|at| bytes.get(at));
    matches!(before, Some(b'>' | b'<' | b'|')) || bytes.get(at + 1) == Some(&b'>')
}

/// Programs whose 1 is an answer and whose 2 is a failure to answer.
const SAY_TWO_FOR_TROUBLE: [&str; 7] = ["rg", "ag", "ack", "diff", "cmp", "test", "["];

fn starts_a_word(bytes: &[u8], at: usize) -> bool {
    at.checked_sub(1).and_then(|at| bytes.get(at)).is_none_or(|before| b" \t\n;|&()".contains(before))
}

/// Whether a program has a part in the command whose 2 is a failure to answer, also behind `env`,
/// `timeout 5`, quotes or brackets. One too many costs an *unverifiable*; one missed would be a false *kept*.
fn says_two_for_trouble(command: &str) -> bool {
    programs(command).any(|program| program.ends_with("grep") || SAY_TWO_FOR_TROUBLE.contains(&program))
}

/// Everything in a line that could be a program.
fn programs(command: &str) -> impl Iterator<Item = &str> {
    let words = command.split(|letter: char| letter.is_whitespace() || "'\"(){}$`\\;&|<>=".contains(letter));
    words.filter_map(|word| word.rsplit('/').next())
}

/// A line that ends in `;` is still one command; in `\;` the semicolon is an argument.
fn without_last_semicolon(line: &str) -> &str {
    let line = line.trim_end();
    match line.strip_suffix(';') {
        Some(rest) if !rest.ends_with('\\') => without_last_semicolon(rest),
        Some(_) | None => line,
    }
}
