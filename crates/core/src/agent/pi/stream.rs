//! Reads the events of `pi --mode json`. It ends with exit code 0 also in an error: its last message says how it ended.
use serde_json::Value;

use crate::agent::json::{EventReader, LineCounts, LineKind, micros, number, owned, word};
use crate::agent::provider::failure::Failure;
use crate::agent::provider::wording::{ProviderError, Vendor};
use crate::agent::reading::{End, Live, Reading, Terminal, Usage};
use crate::ended::Ended;
use crate::text;

/// The end of a final message that is kept.
const TEXT_BYTES_MAX: usize = 1024 * 1024;
/// So many letters of an argument or an error are kept.
const BRIEF_LETTERS: usize = 200;
/// Its own words for a session that is not there.
const LOST: &str = "No session found matching";

/// Reads one attempt.
#[derive(Debug, Default)]
pub(super) struct PiReader {
    text: String,
    session: Option<String>,
    model: Option<String>,
    tool_calls: u32,
    usage: Usage,
    /// Why the last message of the model ended, and the words of its error.
    stop: Option<String>,
    error: Option<String>,
    retrying: bool,
    over: bool,
    broken_end: bool,
}

impl EventReader for PiReader {
    const ENDS: &'static [&'static str] = &["{\"type\":\"agent_end\""];

    fn event(&mut self, event: Value, live: &mut Vec<Live>) -> LineKind {
        match word(&event, "type") {
            "session" => self.session = owned(&event["id"]),
            "message_update" => {
                let update = &event["assistantMessageEvent"];
                if word(update, "type") == "text_delta" {
                    live.push(Live::Text(text::clean(word(update, "delta").as_bytes())));
                }
            }
            "message_end" if event["message"]["role"] == "assistant" => self.message(&event["message"]),
            "tool_execution_start" => {
                self.tool_calls = self.tool_calls.saturating_add(1);
                live.push(Live::Tool(word(&event, "toolName").to_owned(), telling(&event["args"])));
            }
            "auto_retry_start" => {
                let words = text::one_line(word(&event, "errorMessage"), BRIEF_LETTERS);
                live.push(Live::Note(words));
                self.retrying = true;
            }
            "agent_end" => {
                self.over = true;
                self.broken_end = false;
            }
            "agent_start" => self.over = false,
            "turn_start"
            | "turn_end"
            | "message_start"
            | "message_end"
            | "tool_execution_update"
            | "tool_execution_end"
            | "auto_retry_end"
            | "auto_compaction_start"
            | "auto_compaction_end"
            | "compaction_start"
            | "compaction_end"
            | "queue_update"
            | "session_info_changed" => {}
            _ => return LineKind::Unknown,
        }
        LineKind::Known
    }

    fn malformed(&mut self, _head: &[u8], was_end: bool) {
        self.broken_end |= was_end;
    }

    fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    fn is_retrying(&self) -> bool {
        self.retrying
    }

    fn end(self, _counts: &mut LineCounts, end: &End<'_>) -> Reading {
        let failed = matches!(self.stop.as_deref(), Some("error" | "aborted"));
        let terminal = match (self.over, failed) {
            (true, false) => Terminal::Success,
            (_, true) => Terminal::Error,
            (false, false) if self.broken_end => Terminal::Malformed,
            (false, false) => Terminal::Missing,
        };
        let mut reading = Reading {
            text: text::clean(self.text.as_bytes()),
            terminal,
            model: self.model,
            usage: self.usage,
            tool_calls: self.session.is_some().then_some(self.tool_calls),
            session: self.session,
            ..Reading::default()
        };
        if terminal == Terminal::Success && *end.ended == Ended::Exit(0) {
            return reading;
        }
        let stderr = text::clean(end.stderr);
        let last = || stderr.lines().rev().find(|line| !line.trim().is_empty()).map(|line| line.trim().to_owned());
        reading.error = self.error.or_else(last);
        let words = reading.error.clone().unwrap_or_default();
        let status = words.get(..3).and_then(|digits| digits.parse().ok());
        let told = ProviderError { status, ..ProviderError::of_words(Vendor::Any, &words) }.class();
        let crashed = (*end.ended != Ended::ByUs).then_some(Failure::Crash);
        reading.failure = told.or(crashed);
        reading.session_lost = end.continued && stderr.contains(LOST);
        reading.reset = end.reset_in(reading.failure, reading.error.as_deref());
        reading
    }
}

impl PiReader {
    /// A whole message of the model, with what it used.
    fn message(&mut self, message: &Value) {
        self.model = owned(&message["model"]).or(self.model.take());
        let told = &message["usage"];
        let used = Usage {
            input_tokens: number(&told["input"]),
            output_tokens: number(&told["output"]),
            cache_read_tokens: number(&told["cacheRead"]),
            cache_creation_tokens: number(&told["cacheWrite"]),
            cost_micros: told["cost"]["total"].as_f64().and_then(micros),
            turns: Some(1),
        };
        self.usage = self.usage.plus(used);
        self.stop = owned(&message["stopReason"]);
        self.error = owned(&message["errorMessage"]);
        self.retrying = false;
        let blocks = message["content"].as_array().map(Vec::as_slice).unwrap_or_default();
        let calls = blocks.iter().any(|block| word(block, "type") == "toolCall");
        let said: Vec<&str> =
            blocks.iter().filter(|block| word(block, "type") == "text").map(|block| word(block, "text")).collect();
        // Words that come with a tool call are not the last ones.
        self.text = if calls { String::new() } else { text::tail(&said.join("\n"), TEXT_BYTES_MAX).to_owned() };
    }
}

/// The argument that says most about a call.
fn telling(input: &Value) -> String {
    let names = ["command", "path", "pattern", "query", "url"];
    let value = names.iter().find_map(|name| input[*name].as_str());
    text::one_line(value.unwrap_or_default(), BRIEF_LETTERS)
}
