//! The verdict of a gate, from how its process ended.
//!
//! | verdict | meaning |
//! |---|---|
//! | pass | the condition holds |
//! | fail | the condition does not hold |
//! | unverifiable | the gate could not check it: it did not start, was ended, or reported an error of its own |
//!
//! A gate that is tried several times (`2of3`) gets one verdict from all its tries ([`Tally`]).
use serde::{Deserialize, Serialize};

use crate::ended::Ended;
use crate::machine::Deciding;
use crate::test_output::TestsSeen;

/// The result of a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The condition holds.
    Pass,
    /// The condition does not hold.
    Fail,
    /// It is not known: the gate could not check the condition.
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

/// How many tries of a gate must pass: `2of3` is 2 passes of 3 tries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PassesNeeded {
    /// So many tries must pass.
    pub passes: u32,
    /// So many tries there are at most.
    pub tries: u32,
}

impl PassesNeeded {
    /// How long all tries take at most, where one takes so long.
    #[must_use]
    pub fn all_tries_ms(self, one_ms: u64) -> u64 {
        one_ms.saturating_mul(u64::from(self.tries))
    }
}

/// The verdicts of the tries of one gate so far.
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

    /// The verdict, as soon as no further try can change it.
    #[must_use]
    pub fn verdict(self, needed: PassesNeeded, _: &Deciding) -> Option<Verdict> {
        let left = needed.tries.saturating_sub(self.tries());
        if self.passed >= needed.passes {
            Some(Verdict::Pass)
        } else if self.passed + left + self.unverifiable < needed.passes {
            Some(Verdict::Fail)
        } else if left == 0 || self.passed + left < needed.passes {
            Some(Verdict::Unverifiable)
        } else {
            None
        }
    }
}

/// Why exit code 0 is not a pass: the output of a known test runner says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExitContradiction {
    /// The last summary names failing tests.
    FailingTests {
        /// How many.
        count: u32,
    },
    /// No test ran, where some did before.
    NoTests {
        /// How many ran at most in an earlier round.
        before: u32,
    },
}

/// What earlier rounds of a gate said about its tests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EarlierTests {
    /// How many ran at most.
    pub most: u32,
    /// How many failed before iteration 1 while the gate passed: the gate accepts these.
    pub accepted: u32,
}

/// Why exit code 0 of a gate is not believed, where its output says so.
#[must_use]
pub fn contradiction(tests: Option<&TestsSeen>, earlier: EarlierTests, _: &Deciding) -> Option<ExitContradiction> {
    let tests = tests?;
    let new = new_failures(tests, earlier);
    if new > 0 {
        return Some(ExitContradiction::FailingTests { count: new });
    }
    (tests.ran() == 0 && earlier.most > 0).then_some(ExitContradiction::NoTests { before: earlier.most })
}

/// How many tests fail that did not fail at the start. Where failing tests are named, those of the start are known by
/// name; else there may be as many.
fn new_failures(tests: &TestsSeen, earlier: EarlierTests) -> u32 {
    match (earlier.accepted, tests.failing_since_start.count) {
        (0, _) => tests.failed,
        (accepted, 0) => tests.failed.saturating_sub(accepted),
        (_, named) => named,
    }
}

impl ExitContradiction {
    /// For people.
    #[must_use]
    pub fn words(self) -> String {
        match self {
            Self::FailingTests { count: 1 } => "1 test fails".to_owned(),
            Self::FailingTests { count } => format!("{count} tests fail"),
            Self::NoTests { before } => format!("no test ran, and {before} did before"),
        }
    }
}

/// One try of a gate that ended, and what is known of the gate from before.
#[derive(Debug, Clone, Copy)]
pub struct TryEvidence<'a> {
    /// How it ended.
    pub ended: &'a Ended,
    /// What its output says about tests.
    pub tests: Option<&'a TestsSeen>,
    /// The gate has completed in this run before.
    pub ran_before: bool,
    /// What earlier rounds said about its tests. None where no agent has worked on the tree: what fails there while the
    /// gate passes is not its work.
    pub earlier: Option<EarlierTests>,
    /// The exit code alone decides.
    pub trust_exit: bool,
}

/// What one try of a gate means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TryVerdict {
    /// Its verdict.
    pub verdict: Verdict,
    /// Why its exit code 0 is not believed.
    pub contradiction: Option<ExitContradiction>,
}

/// So many iterations in a row with an unverifiable gate end the run.
pub const UNVERIFIABLE_MAX: u32 = 2;

const NOT_EXECUTABLE: i32 = 126;
const NOT_FOUND: i32 = 127;
const SIGKILL: i32 = 9;
/// A shell adds the number of the signal that ended its command.
const SHELL_SIGNAL_BASE: i32 = 128;

/// A promise as it is run. The harness itself negates the verdict for a leading `!`, because the shell's own `!` makes
/// a success of a command that cannot run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Promise<'a> {
    /// What `sh -c` gets.
    pub command: &'a str,
    /// Whether the verdict is negated.
    pub negated: bool,
    /// Whether one of its programs exits with 2 or more when it could not search.
    pub searches: bool,
    /// Whether `timeout` is one of its programs: it exits with 124 or 125 when the command did not end by itself.
    pub times: bool,
    /// Whether a `!` stands before several commands. It is the shell's own, for which a failure to run is a success.
    pub left_to_shell: bool,
    /// Whether it passes when its tests run and at least one of them fails.
    pub red: bool,
}

impl<'a> Promise<'a> {
    /// Reads a promise. A line without a leading `!` is only trimmed.
    ///
    /// ```
    /// use loop_core::machine::consult;
    /// use loop_core::policy::gate::{Promise, Verdict};
    /// use loop_core::ended::Ended;
    ///
    /// let promise = Promise::parse("! grep -q TODO src/main.rs");
    /// assert_eq!(promise.command, "grep -q TODO src/main.rs");
    /// assert_eq!(consult(|deciding| promise.judge(&Ended::Exit(1), true, deciding)), Verdict::Pass);
    /// // The file is not there: the result is not known, and that is not a pass.
    /// assert_eq!(consult(|deciding| promise.judge(&Ended::Exit(2), true, deciding)), Verdict::Unverifiable);
    /// ```
    #[must_use]
    pub fn parse(line: &'a str) -> Self {
        let whole = line.trim();
        let plain =
            Self { command: whole, negated: false, searches: false, times: false, left_to_shell: false, red: false };
        let Some(rest) = whole.strip_prefix('!').map(str::trim_start) else { return plain };
        let rest = without_last_semicolon(rest);
        match Shape::of(rest) {
            Shape::Pipe { last } => Self {
                command: rest,
                negated: true,
                searches: exit_2_is_error(last),
                times: programs(last).any(|program| program == "timeout"),
                left_to_shell: false,
                red: false,
            },
            Shape::Several => Self { left_to_shell: true, ..plain },
        }
    }

    /// The same command as a promise that tests fail.
    #[must_use]
    pub fn wanting_red(self) -> Self {
        Self { red: true, ..self }
    }

    /// Whether a command that fails is a pass: what its tests say is then no evidence against it.
    #[must_use]
    pub fn wants_failure(&self) -> bool {
        self.negated || self.red
    }

    /// The verdict for the end of its process. `ran_before`: the gate has completed in this run before, so that a
    /// timeout or a crash comes from the work and not from the gate.
    #[must_use]
    pub fn judge(&self, ended: &Ended, ran_before: bool, _: &Deciding) -> Verdict {
        if self.negated { self.judge_negated(ended) } else { judge_plain(ended, ran_before) }
    }

    /// The verdict for a try, by its exit code and by its output.
    #[must_use]
    pub fn judge_try(&self, tried: &TryEvidence<'_>, deciding: &Deciding) -> TryVerdict {
        if self.red {
            return TryVerdict { verdict: judge_red(tried), contradiction: None };
        }
        let verdict = self.judge(tried.ended, tried.ran_before, deciding);
        let believes_tests = verdict == Verdict::Pass && !self.negated && !tried.trust_exit;
        let tests = tried.tests.filter(|_| believes_tests);
        let contradiction = tried.earlier.and_then(|earlier| contradiction(tests, earlier, deciding));
        TryVerdict { verdict: if contradiction.is_some() { Verdict::Fail } else { verdict }, contradiction }
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

/// Red: the command says that it failed, and its output shows that tests ran and which failed. A file that cannot be
/// loaded and a build that fails show nothing, and neither does what failed before any work.
fn judge_red(tried: &TryEvidence<'_>) -> Verdict {
    let is_red = |tests: &TestsSeen| {
        let new = tried.earlier.map_or(tests.failed, |earlier| new_failures(tests, earlier));
        !tests.files_only && tests.failed > 0 && new > 0
    };
    match judge_plain(tried.ended, tried.ran_before) {
        Verdict::Pass => Verdict::Fail,
        Verdict::Fail if tried.tests.is_some_and(is_red) => Verdict::Pass,
        Verdict::Fail => Verdict::Fail,
        Verdict::Unverifiable => Verdict::Unverifiable,
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

/// Whether the gate completed, with any verdict. Exit code 137 (a child of the shell was killed, most likely out of
/// memory) does not count as completed.
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
    /// Scans roughly: only quotes, escapes, brackets and what separates commands.
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

/// Programs that exit with 1 for *no* and with 2 for an error.
const EXIT_2_IS_ERROR: [&str; 7] = ["rg", "ag", "ack", "diff", "cmp", "test", "["];

fn starts_a_word(bytes: &[u8], at: usize) -> bool {
    at.checked_sub(1).and_then(|at| bytes.get(at)).is_none_or(|before| b" \t\n;|&()".contains(before))
}

/// Whether one of the programs of a command exits with 2 for an error, also after `env`, `timeout 5`, quotes or
/// brackets. One that is found wrongly makes a gate *unverifiable*; one that is missed would be a false pass.
fn exit_2_is_error(command: &str) -> bool {
    programs(command).any(|program| program.ends_with("grep") || EXIT_2_IS_ERROR.contains(&program))
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
