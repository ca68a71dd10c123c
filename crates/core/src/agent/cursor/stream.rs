//! The lines of `cursor-agent --output-format stream-json`, by its documentation.
use serde_json::Value;

use crate::agent::codex::words;
use crate::agent::json::{EventReader, LineCounts, LineKind, word};
use crate::agent::provider::failure::Failure;
use crate::agent::provider::wording::{ProviderError, Vendor};
use crate::agent::reading::{Denials, End, Live, Reading, Terminal, Usage};
use crate::ended::Ended;
use crate::text;

/// The end of a message that is kept.
const TEXT_BYTES_MAX: usize = 1024 * 1024;

/// Reads one attempt.
#[derive(Debug, Default)]
pub(super) struct CursorReader {
    session: Option<String>,
    model: Option<String>,
    /// Whole messages since the last tool call.
    text: String,
    /// Pieces of a message whose whole has not come.
    pieces: String,
    terminal: Terminal,
    error: Option<String>,
    usage: Usage,
    tool_calls: u32,
    denials: Denials,
}

impl CursorReader {
    fn take(&mut self, event: &Value, live: &mut Vec<Live>) -> LineKind {
        if let Some(session) = event.get("session_id").and_then(Value::as_str) {
            // Words of another session are not its words.
            if self.session.get_or_insert_with(|| session.to_owned()) != session {
                return LineKind::Known;
            }
        }
        match (word(event, "type"), word(event, "subtype")) {
            ("system", "init") => self.model = event.get("model").and_then(Value::as_str).map(str::to_owned),
            ("assistant", _) => self.said(event, live),
            ("tool_call", "started") => self.tool(event, live),
            ("tool_call", "completed") => self.tool_ended(event),
            ("result", _) => self.result(event),
            ("system" | "user" | "thinking" | "tool_call" | "interaction_query" | "connection" | "retry", _) => {}
            _ => return LineKind::Unknown,
        }
        LineKind::Known
    }

    /// A whole message, or a piece of one: pieces carry the time and no number of a call to the model.
    fn said(&mut self, event: &Value, live: &mut Vec<Live>) {
        let said = words_of(event.get("message"));
        if event.get("timestamp_ms").is_some() && event.get("model_call_id").is_none() {
            live.push(Live::Text(said.clone()));
            self.pieces.push_str(&said);
        } else if said.trim() != self.text.trim() {
            if self.pieces.is_empty() {
                live.push(Live::Text(format!("{said}\n")));
            }
            self.pieces.clear();
            self.text = said;
        } else {
            self.pieces.clear();
        }
        for kept in [&mut self.text, &mut self.pieces] {
            if kept.len() > 2 * TEXT_BYTES_MAX {
                *kept = text::tail(kept, TEXT_BYTES_MAX).to_owned();
            }
        }
    }

    fn tool(&mut self, event: &Value, live: &mut Vec<Live>) {
        self.text.clear();
        self.pieces.clear();
        self.tool_calls = self.tool_calls.saturating_add(1);
        let (name, argument) = call(event);
        live.push(Live::Tool(name, argument));
    }

    fn tool_ended(&mut self, event: &Value) {
        let body = event.get("tool_call").and_then(Value::as_object).and_then(|call| call.values().next());
        let result = body.and_then(|body| body.get("result"));
        let refused =
            ["rejected", "permissionDenied"].iter().any(|word| result.and_then(|result| result.get(word)).is_some());
        if refused {
            self.denials.count = self.denials.count.saturating_add(1);
            self.denials.first.get_or_insert_with(|| call(event).1);
        }
    }

    fn result(&mut self, event: &Value) {
        let failed =
            event.get("is_error").and_then(Value::as_bool).unwrap_or(false) || word(event, "subtype") != "success";
        self.terminal = if failed { Terminal::Error } else { Terminal::Success };
        if failed {
            let words =
                ["result", "error", "message"].iter().map(|name| word(event, name)).find(|words| !words.is_empty());
            self.error = words.map(str::to_owned);
        }
        let count = |name: &str| event.get("usage").and_then(|usage| usage.get(name)).and_then(Value::as_u64);
        self.usage = Usage {
            input_tokens: count("inputTokens").or_else(|| count("input_tokens")),
            output_tokens: count("outputTokens").or_else(|| count("output_tokens")),
            cache_read_tokens: count("cacheReadTokens").or_else(|| count("cache_read_tokens")),
            cache_creation_tokens: count("cacheWriteTokens").or_else(|| count("cache_write_tokens")),
            ..Usage::default()
        };
    }

    fn failure(&self, end: &End<'_>) -> Option<(Failure, String)> {
        match end.ended {
            Ended::ByUs if self.terminal != Terminal::Error => None,
            Ended::Exit(0) if self.terminal == Terminal::Success => None,
            Ended::NotStarted(why) => Some((Failure::Crash, why.clone())),
            _ if self.terminal == Terminal::Malformed => {
                Some((Failure::Crash, "its last line cannot be read".to_owned()))
            }
            Ended::Exit(_) | Ended::Signal(_) | Ended::ByUs => {
                let words = self.error.clone().unwrap_or_else(|| words::plain(end.stderr));
                let class = ProviderError::of_words(Vendor::Any, &words).class();
                Some((class.unwrap_or(Failure::Crash), words))
            }
        }
    }
}

impl EventReader for CursorReader {
    const ENDS: &'static [&'static str] = &["{\"type\":\"result\""];

    fn event(&mut self, event: Value, live: &mut Vec<Live>) -> LineKind {
        self.take(&event, live)
    }

    fn malformed(&mut self, _head: &[u8], was_end: bool) {
        if was_end {
            self.terminal = Terminal::Malformed;
        }
    }

    fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    fn end(self, _counts: &mut LineCounts, end: &End<'_>) -> Reading {
        let failed = self.failure(end);
        let failure = failed.as_ref().map(|(failure, _)| *failure);
        let error = failed.map(|(_, words)| words).filter(|words| !words.is_empty());
        Reading {
            session_lost: end.continued && self.session.is_none() && words::session_lost(end.stderr),
            reset: end.reset_in(failure, error.as_deref()),
            failure,
            error,
            text: if self.text.is_empty() { self.pieces } else { self.text },
            terminal: self.terminal,
            session: self.session,
            model: self.model,
            usage: self.usage,
            tool_calls: Some(self.tool_calls),
            denials: self.denials,
            ..Reading::default()
        }
    }
}

/// The words of a message: a text, or a list of parts.
fn words_of(message: Option<&Value>) -> String {
    match message.and_then(|message| message.get("content")) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts
            .iter()
            .filter(|part| word(part, "type") == "text")
            .map(|part| word(part, "text"))
            .collect::<Vec<_>>()
            .join(""),
        _ => String::new(),
    }
}

/// The name of a tool and its most telling argument: `{"shellToolCall":{"args":{"command":…}}}`.
fn call(event: &Value) -> (String, String) {
    let first = event.get("tool_call").and_then(Value::as_object).and_then(|call| call.iter().next());
    let Some((name, body)) = first else { return ("tool".to_owned(), String::new()) };
    let args = body.get("args");
    let told = ["command", "path", "pattern", "url"].iter().find_map(|name| args?.get(name)?.as_str());
    let name = name.trim_end_matches("ToolCall").to_owned();
    let told = text::one_line(told.unwrap_or(&name), 300);
    (name, told)
}
