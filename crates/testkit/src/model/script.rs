//! What a scripted model answers: turns in order, each an answer, a fault or a silence.
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::Seen;

/// Answers by what a request holds.
type Chooser = Arc<dyn Fn(&Seen) -> Option<Turn> + Send + Sync>;

/// A tool that the model calls: said by what it does, and played by whichever tool the program offers for that.
#[derive(Debug, Clone, PartialEq)]
pub enum Tool {
    /// Runs a command line.
    Shell(String),
    /// Writes a file: path, from the script's folder on, and text.
    Write(String, String),
    /// Reads a file.
    Read(String),
    /// A tool by its own name, with its own arguments, offered or not.
    Named(String, Value),
    /// A tool by its own name, with arguments that are no JSON.
    Broken(String, String),
}

/// What a provider refuses with; each API has its own status, headers and words for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// 401, or what the API has instead.
    Auth,
    /// 401 in every API, Gemini's too.
    Unauthorized,
    /// 403.
    Forbidden,
    /// No credit left.
    Billing,
    /// 429 with `retry-after`, in seconds.
    RateLimit(u64),
    /// The limit of a plan, over after so many seconds from the answer on; the moment is in [`Seen::resets_at`].
    UsageLimit(u64),
    /// The same for the weekly limit of a plan, where an API knows one.
    WeeklyLimit(u64),
    /// 529, or 503.
    Overloaded,
    /// 500.
    ServerError,
    /// The conversation is too long.
    Context,
    /// No such model.
    Model,
    /// Any status with any body.
    Raw {
        status: u16,
        /// What the body says it is.
        content_type: String,
        body: String,
    },
}

/// Where a stream is cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// After its first event.
    AfterStart,
    /// In its middle.
    Middle,
    /// Before the event that ends it.
    BeforeEnd,
}

/// How a turn is played.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) enum Play {
    /// As an answer.
    #[default]
    Answer,
    /// As an answer whose stream is cut.
    Cut(Cut),
    /// As an answer that begins and turns into bytes that cannot be read.
    Garbage,
    /// As an answer that begins and turns into the API's own error in the stream.
    ErrorInStream,
    /// As a refusal.
    Fault(Fault),
    /// Not at all: the connection stays open until the other side or the server ends.
    Hang,
    /// Not at all: the connection is closed.
    Close,
}

/// What an answer is said to have used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tokens {
    /// Tokens that went in, cached ones not counted.
    pub input: u64,
    /// Tokens that came out.
    pub output: u64,
    /// Tokens that came from a cache.
    pub cached: u64,
}

/// One answer of the model.
#[derive(Clone)]
pub struct Turn {
    pub(super) text: String,
    pub(super) thinking: String,
    pub(super) tools: Vec<Tool>,
    pub(super) tokens: Tokens,
    pub(super) stop: Option<String>,
    pub(super) headers: Vec<(String, String)>,
    pub(super) delay: Duration,
    pub(super) pace: Duration,
    pub(super) times: u32,
    pub(super) play: Play,
    pub(super) chosen: Option<Chooser>,
}

impl fmt::Debug for Turn {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Turn")
            .field("text", &self.text)
            .field("tools", &self.tools)
            .field("play", &self.play)
            .finish()
    }
}

impl Default for Turn {
    fn default() -> Self {
        Self {
            text: String::new(),
            thinking: String::new(),
            tools: Vec::new(),
            tokens: Tokens { input: 100, output: 20, cached: 0 },
            stop: None,
            headers: Vec::new(),
            delay: Duration::ZERO,
            pace: Duration::ZERO,
            times: 1,
            play: Play::Answer,
            chosen: None,
        }
    }
}

impl Turn {
    /// Says something.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }

    /// Runs a command line.
    #[must_use]
    pub fn shell(command: &str) -> Self {
        Self::default().and_shell(command)
    }

    /// Writes a file.
    #[must_use]
    pub fn write(path: &str, text: &str) -> Self {
        Self::default().and_write(path, text)
    }

    /// Reads a file.
    #[must_use]
    pub fn read(path: &str) -> Self {
        Self::default().and(Tool::Read(path.to_owned()))
    }

    /// Calls a tool by its own name.
    #[must_use]
    pub fn call(name: &str, arguments: Value) -> Self {
        Self::default().and(Tool::Named(name.to_owned(), arguments))
    }

    /// Refuses.
    #[must_use]
    pub fn fault(fault: Fault) -> Self {
        Self { play: Play::Fault(fault), ..Self::default() }
    }

    /// Answers with a page for people, as a proxy in between does.
    #[must_use]
    pub fn html() -> Self {
        let body = "<html><body>Sign in to the network</body></html>".to_owned();
        Self::fault(Fault::Raw { status: 200, content_type: "text/html".to_owned(), body })
    }

    /// Never answers.
    #[must_use]
    pub fn hang() -> Self {
        Self { play: Play::Hang, ..Self::default() }
    }

    /// Closes the connection without a word.
    #[must_use]
    pub fn close() -> Self {
        Self { play: Play::Close, ..Self::default() }
    }

    /// A turn made from the request when it comes.
    #[must_use]
    pub fn chosen(by: impl Fn(&Seen) -> Self + Send + Sync + 'static) -> Self {
        Self { chosen: Some(Arc::new(move |seen| Some(by(seen)))), ..Self::default() }
    }

    /// Calls one more tool in the same answer.
    #[must_use]
    pub fn and(mut self, tool: Tool) -> Self {
        self.tools.push(tool);
        self
    }

    /// Runs a command line too.
    #[must_use]
    pub fn and_shell(self, command: &str) -> Self {
        self.and(Tool::Shell(command.to_owned()))
    }

    /// Writes a file too.
    #[must_use]
    pub fn and_write(self, path: &str, text: &str) -> Self {
        self.and(Tool::Write(path.to_owned(), text.to_owned()))
    }

    /// Says something with it.
    #[must_use]
    pub fn saying(mut self, text: &str) -> Self {
        text.clone_into(&mut self.text);
        self
    }

    /// Thinks something first.
    #[must_use]
    pub fn thinking(mut self, text: &str) -> Self {
        text.clone_into(&mut self.thinking);
        self
    }

    /// Claims to have used so much.
    #[must_use]
    pub fn tokens(mut self, input: u64, output: u64, cached: u64) -> Self {
        self.tokens = Tokens { input, output, cached };
        self
    }

    /// Stops for this reason: `max_tokens`, `refusal`, or any word of the API.
    #[must_use]
    pub fn stopping_for(mut self, reason: &str) -> Self {
        self.stop = Some(reason.to_owned());
        self
    }

    /// Sends a header with it.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Answers only after so long.
    #[must_use]
    pub fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Waits so long before every event of its stream.
    #[must_use]
    pub fn paced(mut self, pace: Duration) -> Self {
        self.pace = pace;
        self
    }

    /// Is played so many times before the next one.
    #[must_use]
    pub fn times(mut self, times: u32) -> Self {
        self.times = times;
        self
    }

    /// Is cut off there. Only a stream can be.
    #[must_use]
    pub fn cut(mut self, at: Cut) -> Self {
        self.play = Play::Cut(at);
        self
    }

    /// Begins and turns into bytes that cannot be read.
    #[must_use]
    pub fn garbage(mut self) -> Self {
        self.play = Play::Garbage;
        self
    }

    /// Begins and turns into the API's own error in the stream.
    #[must_use]
    pub fn error_in_stream(mut self) -> Self {
        self.play = Play::ErrorInStream;
        self
    }
}

/// All that a server answers, in order. When all is said, the last turn is said again.
#[derive(Clone)]
pub struct Script {
    pub(super) turns: Vec<Turn>,
    pub(super) side: Turn,
    pub(super) count_all: bool,
    pub(super) folder: Option<PathBuf>,
    pub(super) chooser: Option<Chooser>,
}

impl fmt::Debug for Script {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Script").field("turns", &self.turns).finish_non_exhaustive()
    }
}

impl Script {
    /// These turns.
    #[must_use]
    pub fn new(turns: impl IntoIterator<Item = Turn>) -> Self {
        let turns = turns.into_iter().collect();
        Self { turns, side: Turn::text("Scripted title"), count_all: false, folder: None, chooser: None }
    }

    /// The folder that relative paths of writes and reads start from: the workspace as the agent sees it.
    #[must_use]
    pub fn in_folder(mut self, folder: impl AsRef<Path>) -> Self {
        self.folder = Some(folder.as_ref().to_owned());
        self
    }

    /// What requests that offer no tools get, such as one for a title. They take no turn.
    #[must_use]
    pub fn side(mut self, turn: Turn) -> Self {
        self.side = turn;
        self
    }

    /// Requests that offer no tools take turns like all others: for programs that have no tools.
    #[must_use]
    pub fn counting_all(mut self) -> Self {
        self.count_all = true;
        self
    }

    /// Looks at every request that would take a turn: what comes back is played instead, and no turn is taken.
    #[must_use]
    pub fn when(mut self, chooser: impl Fn(&Seen) -> Option<Turn> + Send + Sync + 'static) -> Self {
        self.chooser = Some(Arc::new(chooser));
        self
    }
}
