//! One JSON event per line, as most agent programs print them: what their readers share.
//!
//! A reader says what its events mean ([`EventReader`]); [`JsonLines`] splits good lines from bad ones and counts them.
use serde_json::Value;

use super::reading::{End, Live, Reader, Reading};

/// How much of a line that cannot be read is looked at, to tell what it would have been.
const HEAD_BYTES: usize = 200;

/// What became of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineKind {
    /// It was understood.
    Known,
    /// It is an event of a kind that the reader does not know.
    Unknown,
    /// It is no event.
    Malformed,
}

impl LineKind {
    /// The one of two that is of less use.
    pub(super) fn worse(self, other: Self) -> Self {
        match (self, other) {
            (Self::Malformed, _) | (_, Self::Malformed) => Self::Malformed,
            (Self::Unknown, _) | (_, Self::Unknown) => Self::Unknown,
            (Self::Known, Self::Known) => Self::Known,
        }
    }
}

/// How many lines were of no use.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LineCounts {
    /// Those that are no event, and those over the cap.
    pub(super) malformed: u32,
    /// How many events have a kind that the reader does not know.
    pub(super) unknown: u32,
}

/// What the events of one program mean.
pub(super) trait EventReader: std::fmt::Debug + Send {
    /// How the last event of a stream begins, without white space. An entry without a brace may stand anywhere in the
    /// beginning of a line.
    const ENDS: &'static [&'static str];

    /// Takes an event: an object. Not called where `line` is replaced.
    fn event(&mut self, _event: Value, _live: &mut Vec<Live>) -> LineKind {
        LineKind::Unknown
    }

    /// Takes a line that is not blank. A program that prints other things than events has its own.
    fn line(&mut self, line: &[u8], live: &mut Vec<Live>) -> LineKind {
        if !may_be_object(line) {
            return LineKind::Malformed;
        }
        match serde_json::from_slice::<Value>(line) {
            Ok(event) if event.is_object() => self.event(event, live),
            Ok(_) | Err(_) => LineKind::Malformed,
        }
    }

    /// Takes a line of white space alone.
    fn blank(&mut self, _line: &[u8], _live: &mut Vec<Live>) {}

    /// A line could not be read, or was over the cap. `was_end`: it would have been the last event.
    fn malformed(&mut self, head: &[u8], was_end: bool);

    /// The session, as soon as it is known.
    fn session(&self) -> Option<&str> {
        None
    }

    /// Takes a piece of its stderr.
    fn stderr(&mut self, _bytes: &[u8]) {}

    /// Whether its stderr is only for us and is not shown to a person.
    fn stderr_is_private(&self) -> bool {
        false
    }

    /// The program has begun to retry by itself.
    fn is_retrying(&self) -> bool {
        false
    }

    /// What it all amounted to. The counts go into the reading.
    fn end(self, counts: &mut LineCounts, end: &End<'_>) -> Reading;
}

/// A reader of such a stream.
#[derive(Debug, Default)]
pub(super) struct JsonLines<E> {
    events: E,
    counts: LineCounts,
}

impl<E: EventReader + 'static> JsonLines<E> {
    /// A reader for these events.
    pub(super) fn reader(events: E) -> Box<dyn Reader> {
        Box::new(Self { events, counts: LineCounts::default() })
    }

    fn malformed(&mut self, head: &[u8]) {
        self.counts.malformed = self.counts.malformed.saturating_add(1);
        let was_end = begins_like(head, E::ENDS);
        self.events.malformed(head, was_end);
    }
}

impl<E: EventReader + 'static> Reader for JsonLines<E> {
    fn line(&mut self, line: &[u8], live: &mut Vec<Live>) {
        if line.trim_ascii().is_empty() {
            return self.events.blank(line, live);
        }
        match self.events.line(line, live) {
            LineKind::Known => {}
            LineKind::Unknown => self.counts.unknown = self.counts.unknown.saturating_add(1),
            LineKind::Malformed => self.malformed(line),
        }
    }

    fn long_line(&mut self, head: &[u8]) {
        self.malformed(head);
    }

    fn session(&self) -> Option<&str> {
        self.events.session()
    }

    fn stderr(&mut self, bytes: &[u8]) {
        self.events.stderr(bytes);
    }

    fn stderr_is_private(&self) -> bool {
        self.events.stderr_is_private()
    }

    fn is_retrying(&self) -> bool {
        self.events.is_retrying()
    }

    fn end(self: Box<Self>, end: &End<'_>) -> Reading {
        let Self { events, mut counts } = *self;
        let mut reading = events.end(&mut counts, end);
        reading.malformed_lines = counts.malformed;
        reading.unknown_lines = counts.unknown;
        reading
    }
}

/// Whether a line begins as an object does. An agent that floods prints lines that do not: these cost no parsing.
pub(super) fn may_be_object(line: &[u8]) -> bool {
    line.trim_ascii_start().first() == Some(&b'{')
}

/// Whether a line begins like one of these, white space apart.
fn begins_like(line: &[u8], ends: &[&str]) -> bool {
    if ends.iter().all(|end| line.len() < end.len()) {
        return false;
    }
    let head = String::from_utf8_lossy(line.get(..HEAD_BYTES).unwrap_or(line));
    let head: String = head.split_ascii_whitespace().collect();
    ends.iter().any(|end| if end.starts_with('{') { head.starts_with(end) } else { head.contains(end) })
}

/// The text of a member; empty where there is none.
pub(super) fn word<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// The text of a value.
pub(super) fn owned(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// A whole number, be it written as a float.
pub(super) fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| rounded(value.as_f64()?))
}

/// The same, be it in a text.
pub(super) fn number_or_text(value: &Value) -> Option<u64> {
    number(value).or_else(|| rounded(value.as_str()?.trim().parse().ok()?))
}

/// The nearest whole number; none where there is none. There is no safe cast from floats.
pub(super) fn rounded(number: f64) -> Option<u64> {
    format!("{number:.0}").parse().ok()
}

/// Dollars in millionths.
pub(super) fn micros(dollars: f64) -> Option<u64> {
    rounded(dollars * 1_000_000.0)
}
