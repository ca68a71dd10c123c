//! The only place that prints. Answers go to stdout, progress and errors to stderr.
use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;

use loop_core::policy::alert::Severity;

/// Why an answer could not be written, where that is so.
static LOST: OnceLock<String> = OnceLock::new();

/// Why an answer could not be written: a full disk, not a reader that went away.
pub(crate) fn lost() -> Option<&'static String> {
    LOST.get()
}

fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::BrokenPipe
}

/// How much is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Loudness {
    /// Only answers and errors.
    Quiet,
    /// Progress too.
    Normal,
    /// And what agents and gates write.
    Verbose,
}

/// The way out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Printer {
    pub(crate) loudness: Loudness,
    colour_out: bool,
    colour_err: bool,
    /// Whether stderr is a terminal that a live line can be drawn on.
    pub(crate) live: bool,
}

/// Colours with a meaning; never the only carrier of it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Paint {
    Good,
    Bad,
    Warn,
    Dim,
    /// A heading.
    Head,
    /// Where something is.
    Place,
    /// Good to know.
    Info,
    /// What was tried.
    Tried,
}

impl Paint {
    /// The colour of an alert: blue, yellow, red, green, red.
    pub(crate) fn of_alert(severity: Severity) -> Self {
        match severity {
            Severity::Info => Self::Info,
            Severity::Warning => Self::Warn,
            Severity::Critical | Severity::Error => Self::Bad,
            Severity::Success => Self::Good,
        }
    }

    fn code(self) -> &'static str {
        match self {
            Self::Good => "32",
            Self::Bad => "31",
            Self::Warn => "33",
            Self::Dim => "2",
            Self::Head => "1",
            Self::Place => "36",
            Self::Info => "34",
            Self::Tried => "35",
        }
    }
}

impl Printer {
    pub(crate) fn new(loudness: Loudness) -> Self {
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || std::env::var_os("TERM").is_some_and(|value| value == "dumb");
        let (out, err) = (io::stdout().is_terminal(), io::stderr().is_terminal());
        let dumb = std::env::var_os("TERM").is_none_or(|value| value == "dumb");
        Self {
            loudness,
            colour_out: out && !plain,
            colour_err: err && !plain,
            live: err && !dumb && loudness != Loudness::Quiet,
        }
    }

    /// One whose progress is its answer: everything, in plain lines, coloured where stdout may be.
    pub(crate) fn for_answers(self) -> Self {
        Self { colour_err: self.colour_out, loudness: Loudness::Verbose, live: false, ..self }
    }

    /// The same, or one that may draw lines over again.
    pub(crate) fn for_watching(self, draws: bool) -> Self {
        Self { live: draws, ..self.for_answers() }
    }

    /// One that shows only answers.
    pub(crate) fn for_events(self) -> Self {
        Self { loudness: Loudness::Quiet, live: false, ..self }
    }

    /// An answer. A reader that went away is not an error; any other loss is remembered.
    pub(crate) fn answer(&self, text: &str) {
        self.answer_bytes(text.as_bytes());
    }

    /// The same for what may be no text; says whether there is any sense in going on.
    pub(crate) fn answer_bytes(&self, bytes: &[u8]) -> bool {
        let mut out = io::stdout().lock();
        let written = out.write_all(bytes).and_then(|()| out.flush());
        let well = written.is_ok();
        if let Err(error) = written.or_else(|error| if is_gone(&error) { Ok(()) } else { Err(error) }) {
            LOST.get_or_init(|| error.to_string());
        }
        well
    }

    /// An answer as JSON.
    pub(crate) fn json(&self, value: &impl serde::Serialize) {
        self.answer(&(serde_json::to_string_pretty(value).unwrap_or_default() + "\n"));
    }

    /// One event as one line of JSON.
    pub(crate) fn json_line(&self, value: &serde_json::Value) {
        self.answer(&format!("{value}\n"));
    }

    /// Shows a message about the work, unless the user asked for none.
    pub(crate) fn progress(&self, text: &str) {
        if self.loudness != Loudness::Quiet {
            self.error(text);
        }
    }

    /// Shows a message that is never left out.
    pub(crate) fn error(&self, text: &str) {
        let mut err = io::stderr().lock();
        err.write_all(text.as_bytes()).and_then(|()| err.flush()).ok();
    }

    /// Paints a piece of an answer.
    pub(crate) fn paint(&self, paint: Paint, text: &str) -> String {
        painted(self.colour_out, paint, text)
    }

    /// Paints a piece of progress.
    pub(crate) fn paint_progress(&self, paint: Paint, text: &str) -> String {
        painted(self.colour_err, paint, text)
    }
}

fn painted(colour: bool, paint: Paint, text: &str) -> String {
    if colour { format!("\u{1b}[{}m{text}\u{1b}[0m", paint.code()) } else { text.to_owned() }
}

/// How wide an answer may be: as wide as the terminal, or as is usual where there is none.
pub(crate) fn width() -> usize {
    loop_host::terminal::columns(io::stdout()).unwrap_or(80)
}

/// The same for sentences: where there is no terminal, files and logs have room for more.
pub(crate) fn text_width() -> usize {
    loop_host::terminal::columns(io::stdout()).unwrap_or(120)
}

/// Whether stdout is a terminal.
pub(crate) fn stdout_is_terminal() -> bool {
    io::stdout().is_terminal()
}
