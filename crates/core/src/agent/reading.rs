//! What a reader makes of the bytes of one attempt: the same form for every agent.
use serde::{Deserialize, Serialize};

use super::claims::status_block::Claim;
use super::provider::failure::{Failure, Reset};
use super::provider::reset::{self, Clock};
use super::provider::window::{self, LimitWindow, WindowState};
use super::stream::LINE_BYTES_MAX;
use crate::ended::Ended;
use crate::text::NameList;

/// How the stream of an agent ended by its own account.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Terminal {
    /// It did not say.
    #[default]
    Missing,
    /// What should have said it could not be read.
    Malformed,
    /// Well.
    Success,
    /// In an error.
    Error,
}

/// What an attempt used. What a program does not report is unknown, not zero.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens that went in, those from a cache not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Tokens that came out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// Tokens that went in from a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read_tokens: Option<u64>,
    /// Tokens that were put into a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_creation_tokens: Option<u64>,
    /// Cost in millionths of a dollar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
    /// Turns of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<u32>,
}

impl Usage {
    /// Both together; what neither reports stays unknown.
    #[must_use]
    pub fn plus(self, more: Self) -> Self {
        self.each(more, |one, other| match (one, other) {
            (None, None) => None,
            (one, other) => Some(one.unwrap_or(0).saturating_add(other.unwrap_or(0))),
        })
    }

    /// What is more than before; what is not reported now stays unknown.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        self.each(before, |now, before| now.map(|now| now.saturating_sub(before.unwrap_or(0))))
    }

    /// Each number of both.
    fn each(self, other: Self, of: impl Fn(Option<u64>, Option<u64>) -> Option<u64>) -> Self {
        let turns = of(self.turns.map(u64::from), other.turns.map(u64::from));
        Self {
            input_tokens: of(self.input_tokens, other.input_tokens),
            output_tokens: of(self.output_tokens, other.output_tokens),
            cache_read_tokens: of(self.cache_read_tokens, other.cache_read_tokens),
            cache_creation_tokens: of(self.cache_creation_tokens, other.cache_creation_tokens),
            cost_micros: of(self.cost_micros, other.cost_micros),
            turns: turns.map(|turns| u32::try_from(turns).unwrap_or(u32::MAX)),
        }
    }

    /// Tokens in and out, where either was reported.
    #[must_use]
    pub fn tokens(self) -> Option<u64> {
        match (self.input_tokens, self.output_tokens) {
            (None, None) => None,
            (input, output) => Some(input.unwrap_or(0).saturating_add(output.unwrap_or(0))),
        }
    }

    /// Whether no token is known to have been used, not even one from a cache.
    #[must_use]
    pub fn is_without_tokens(self) -> bool {
        let counts = [self.input_tokens, self.output_tokens, self.cache_read_tokens, self.cache_creation_tokens];
        counts.into_iter().flatten().all(|count| count == 0)
    }

    /// The cost in dollars.
    #[must_use]
    pub fn cost_usd(self) -> Option<f64> {
        let micros = self.cost_micros?;
        let whole = u32::try_from(micros / 1_000_000).unwrap_or(u32::MAX);
        let rest = u32::try_from(micros % 1_000_000).unwrap_or(0);
        Some(f64::from(whole) + f64::from(rest) / 1_000_000.0)
    }
}

/// Tool calls that the program itself refused.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Denials {
    /// How many.
    pub count: u32,
    /// The first of them, in a few words: the command, or the tool's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<String>,
}

/// What the program said about its own run: how it began, and how long it waited for its provider.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProgramReport {
    /// The tools that its model may call, the first of them by name.
    #[serde(skip_serializing_if = "NameList::is_nothing")]
    pub tools: NameList,
    /// The folder that it works in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// What it may do without a question, in its own word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission_mode: Option<String>,
    /// How much of its time its provider took, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_duration_ms: Option<u64>,
}

impl ProgramReport {
    /// Whether it said nothing of this.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// Everything that a reader finds in a stream. The texts are as long as they came; the code that stores them shortens
/// them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reading {
    /// The agent's own final message. Never tool output, a sub-agent's words or thoughts.
    pub text: String,
    /// How it ended by its own account.
    pub terminal: Terminal,
    /// The session by the program's own name for it.
    pub session: Option<String>,
    /// The session that was to be continued does not exist.
    pub session_lost: bool,
    /// The model, as the program reported it.
    pub model: Option<String>,
    /// What the program said about its own run.
    pub program: ProgramReport,
    /// What it used.
    pub usage: Usage,
    /// How many tools were called; none where that is not known.
    pub tool_calls: Option<u32>,
    /// What the program refused.
    pub denials: Denials,
    /// A question that it asked by a tool.
    pub question: Option<String>,
    /// Why it could not work.
    pub failure: Option<Failure>,
    /// When the provider goes on.
    pub reset: Option<Reset>,
    /// What the provider said about its limits, a bounded number.
    pub windows: Vec<LimitWindow>,
    /// The words of the error.
    pub error: Option<String>,
    /// It stopped because of the money that it was given.
    pub budget_hit: bool,
    /// Lines that could not be read, those over the cap included.
    pub malformed_lines: u32,
    /// Lines that could be read and are of no kind that we know.
    pub unknown_lines: u32,
    /// The status block of the final message. Filled in by [`super::stream::Stream::end`].
    pub claimed: Option<Claim>,
    /// Why a status block there does not count.
    pub block_error: Option<String>,
    /// The words in `<promise>`, likewise.
    pub promise: Option<String>,
    /// The words in `<progress>`, likewise.
    pub progress: Vec<String>,
    /// The words in `<note>`, likewise.
    pub notes: Vec<String>,
    /// The numbers in `<strike>`, likewise.
    pub struck: Vec<u32>,
}

impl Reading {
    /// A refusal that no window was named for is a window too.
    pub(super) fn settle_windows(&mut self) {
        let reached = self.windows.iter().any(|window| window.state == WindowState::Reached);
        if reached {
            return;
        }
        let words = self.error.as_deref().unwrap_or_default();
        if let Some(window) = window::of_refusal(self.failure, self.reset, words) {
            window::keep(&mut self.windows, window);
        }
    }

    /// What the usage means. A program that knows no price reports a cost of 0: that is not known. A call that the provider
    /// refused before the model said or did anything costs nothing, also where the program does not say so.
    pub(super) fn settle_usage(&mut self) {
        if !self.usage.is_without_tokens() {
            self.usage.cost_micros = self.usage.cost_micros.filter(|cost| *cost > 0);
            return;
        }
        let refused = self.failure.is_some_and(Failure::is_refusal_of_provider) || self.session_lost;
        let silent = self.text.trim().is_empty() && self.tool_calls.unwrap_or(0) == 0;
        if refused && silent && self.usage.cost_micros.unwrap_or(0) == 0 {
            let usage = &mut self.usage;
            usage.input_tokens = usage.input_tokens.or(Some(0));
            usage.output_tokens = usage.output_tokens.or(Some(0));
            usage.cost_micros = Some(0);
        }
    }
}

/// What is known at the end beside the stream itself.
#[derive(Debug, Clone, Copy)]
pub struct End<'a> {
    /// How the program ended.
    pub ended: &'a Ended,
    /// The end of its stderr, raw.
    pub stderr: &'a [u8],
    /// Everything it was asked, system prompt and prompt: a status block that stands in there is an echo.
    pub asked: &'a str,
    /// The wall clock when it ended.
    pub now_ms: u64,
    /// How far local time is ahead of UTC, in seconds: some programs report a reset in local time.
    pub utc_offset_s: i32,
    /// Whether a session was to be continued.
    pub continued: bool,
}

impl End<'_> {
    /// The clock by which words about a reset are to be understood.
    #[must_use]
    pub fn clock(&self) -> Clock {
        Clock { now_ms: self.now_ms, utc_offset_s: self.utc_offset_s }
    }

    /// When it goes on by the words of the error, where the failure is of a kind that ends by itself.
    #[must_use]
    pub fn reset_in(&self, failure: Option<Failure>, words: Option<&str>) -> Option<Reset> {
        words
            .filter(|_| failure.is_some_and(Failure::ends_by_itself))
            .and_then(|words| reset::in_words(words, self.clock()))
    }
}

/// Something to show while an agent works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Live {
    /// A piece of what it says.
    Text(String),
    /// It calls a tool: name, and the most telling argument.
    Tool(String, String),
    /// Something about the provider or the program: a retry, a limit that is near.
    Note(String),
}

/// Reads the lines of one stream of stdout. One value reads one attempt.
pub trait Reader: std::fmt::Debug + Send {
    /// Takes one line, without its end.
    fn line(&mut self, line: &[u8], live: &mut Vec<Live>);
    /// Takes many whole lines with their ends, none of them longer than the cap. False where it wants them one by one.
    fn whole_lines(&mut self, _lines: &[u8]) -> bool {
        false
    }
    /// A line was longer than the cap. Its beginning is given, to find out which event it would have been.
    fn long_line(&mut self, head: &[u8]);
    /// The session, as soon as it is known.
    fn session(&self) -> Option<&str>;
    /// Whether people can read it as it is.
    fn is_plain(&self) -> bool {
        false
    }
    /// A line longer than this is skipped whole.
    fn line_bytes_max(&self) -> usize {
        LINE_BYTES_MAX
    }
    /// Takes a piece of its stderr: some programs write there that they wait.
    fn stderr(&mut self, _bytes: &[u8]) {}
    /// Whether its stderr is only for us and is not shown to a person.
    fn stderr_is_private(&self) -> bool {
        false
    }
    /// The program has begun to retry by itself what only the harness waits for: it may be ended, and what it said holds.
    fn is_retrying(&self) -> bool {
        false
    }
    /// What it all amounted to.
    fn end(self: Box<Self>, end: &End<'_>) -> Reading;
}
