//! Reads the events of `copilot --output-format json`.
use serde_json::Value;

use crate::agent::json::{EventReader, LineCounts, LineKind, number, owned, word};
use crate::agent::provider::failure::Failure;
use crate::agent::provider::wording::{ProviderError, Vendor};
use crate::agent::reading::{Denials, End, Live, Reading, Terminal};
use crate::ended::Ended;
use crate::text;

/// The end of a final message that is kept.
const TEXT_BYTES_MAX: usize = 1024 * 1024;
/// So many letters of a command or a message are kept.
const BRIEF_LETTERS: usize = 200;
/// An overload and a broken connection may be tried so often by the program itself.
const OWN_TRIES_MAX: u64 = 1;
/// Its own words for a session that is not there.
const LOST: &str = "No session, task, or name matched";

/// Reads one attempt.
#[derive(Debug, Default)]
pub(super) struct CopilotReader {
    text: String,
    /// What came of a message that is not whole yet.
    partial: String,
    streamed: bool,
    session: Option<String>,
    model: Option<String>,
    tool_calls: u32,
    began: bool,
    denials: Denials,
    question: Option<String>,
    /// The newest refusal of the provider: its class and words. An answer takes it back.
    refused: Option<(Failure, String)>,
    error: Option<(Option<Failure>, String)>,
    retrying: bool,
    exit: Option<i64>,
    broken_end: bool,
}

impl EventReader for CopilotReader {
    const ENDS: &'static [&'static str] = &["{\"type\":\"result\""];

    fn event(&mut self, event: Value, live: &mut Vec<Live>) -> LineKind {
        let data = &event["data"];
        // A sub-agent's words are not the agent's own.
        let below = data["parentToolCallId"].is_string();
        match word(&event, "type") {
            "assistant.message_delta" if !below => {
                self.streamed = true;
                let piece = word(data, "deltaContent");
                self.partial.push_str(piece);
                text::keep_end(&mut self.partial, TEXT_BYTES_MAX);
                live.push(Live::Text(text::clean(piece.as_bytes())));
            }
            "assistant.message" => self.message(data, below, live),
            "tool.execution_start" => self.tool(data, live),
            "tool.execution_complete" => self.tool_ended(data),
            "model.call_failure" => self.call_failed(data, live),
            "session.error" => {
                let words = word(data, "message").to_owned();
                self.error = Some((class(data, &words), words));
            }
            "result" => {
                self.broken_end = false;
                self.session = owned(&event["sessionId"]);
                self.exit = event["exitCode"].as_i64();
            }
            kind if IDLE.iter().any(|idle| kind.starts_with(idle)) => {}
            _ => return LineKind::Unknown,
        }
        self.began = true;
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
        let terminal = match self.exit {
            Some(0) if self.error.is_none() => Terminal::Success,
            Some(_) => Terminal::Error,
            None if self.broken_end => Terminal::Malformed,
            None => Terminal::Missing,
        };
        let mut reading = Reading {
            text: text::clean(if self.text.is_empty() { &self.partial } else { &self.text }.as_bytes()),
            terminal,
            session: self.session,
            model: self.model,
            tool_calls: self.began.then_some(self.tool_calls),
            denials: self.denials,
            question: self.question,
            ..Reading::default()
        };
        if terminal == Terminal::Success && *end.ended == Ended::Exit(0) {
            return reading;
        }
        let stderr = text::clean(end.stderr);
        // The last event also says how long the program has waited: only the provider's own words name a reset.
        let of_provider = self.refused.as_ref().map(|(_, words)| words.clone());
        let (told, words) = match (self.error, self.refused) {
            // The class of the call is by its status; the last event has the words for people.
            (Some((told, words)), refused) => (told.or(refused.map(|(class, _)| class)), words),
            (None, Some((class, words))) => (Some(class), words),
            (None, None) => {
                let first = stderr.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
                let words = first.trim_start_matches("Error: ").to_owned();
                (ProviderError::of_words(Vendor::Any, &stderr).class(), words)
            }
        };
        let by_us = *end.ended == Ended::ByUs;
        reading.session_lost = end.continued && stderr.contains(LOST);
        reading.failure = told.or((!by_us).then_some(Failure::Crash));
        reading.error = Some(words).filter(|words| !words.is_empty());
        reading.reset = end.reset_in(reading.failure, of_provider.as_deref());
        reading
    }
}

/// Beginnings of kinds that bring nothing that we need.
const IDLE: [&str; 16] = [
    "session.",
    "user.",
    "assistant.turn_",
    "assistant.message_start",
    "assistant.message_delta",
    "assistant.tool_call_delta",
    "assistant.reasoning",
    "assistant.intent",
    "assistant.usage",
    "assistant.idle",
    "model.",
    "tool.execution_p",
    "subagent.",
    "agent.",
    "permission.",
    "abort",
];

impl CopilotReader {
    fn message(&mut self, data: &Value, below: bool, live: &mut Vec<Live>) {
        self.refused = None;
        self.retrying = false;
        self.partial.clear();
        self.model = owned(&data["model"]).or(self.model.take());
        if below {
            return;
        }
        let said = word(data, "content");
        if !self.streamed && !said.is_empty() {
            live.push(Live::Text(text::clean(said.as_bytes())));
        }
        // Words that come with a tool call are not the last ones.
        let calls = data["toolRequests"].as_array().is_some_and(|calls| !calls.is_empty());
        self.text = if calls { String::new() } else { text::tail(said, TEXT_BYTES_MAX).to_owned() };
    }

    fn tool(&mut self, data: &Value, live: &mut Vec<Live>) {
        self.tool_calls = self.tool_calls.saturating_add(1);
        let name = word(data, "toolName");
        let argument = telling(&data["arguments"]);
        if name == "ask_user" {
            self.question = Some(argument.clone());
        }
        live.push(Live::Tool(name.to_owned(), argument));
    }

    fn tool_ended(&mut self, data: &Value) {
        if word(&data["error"], "code") != "denied" {
            return;
        }
        self.denials.count = self.denials.count.saturating_add(1);
        let what = text::one_line(word(&data["error"], "message"), BRIEF_LETTERS);
        self.denials.first.get_or_insert(what);
    }

    /// A request that failed. The program would try it again by itself.
    fn call_failed(&mut self, data: &Value, live: &mut Vec<Live>) {
        let told = word(data, "errorMessage");
        let body: Value = serde_json::from_str(told).unwrap_or_default();
        let words = body["message"].as_str().unwrap_or(told);
        let class = class(data, words).unwrap_or(Failure::Network);
        live.push(Live::Note(text::one_line(words, BRIEF_LETTERS)));
        let tries = number(&data["retryAttempt"]).unwrap_or(0);
        self.retrying = match class {
            Failure::RateLimit | Failure::Auth | Failure::Billing | Failure::Model => true,
            Failure::Overload | Failure::Network => tries >= OWN_TRIES_MAX,
            Failure::Permission
            | Failure::Context
            | Failure::TurnLimit
            | Failure::Crash
            | Failure::Hang
            | Failure::Refusal
            | Failure::Question => false,
        };
        self.refused = Some((class, words.to_owned()));
    }
}

/// The class of a failure by its code, its status and its words.
fn class(data: &Value, words: &str) -> Option<Failure> {
    let codes = ["errorCode", "errorType"].iter().map(|name| word(data, name));
    let code =
        codes.filter(|code| !code.is_empty()).find(|code| crate::agent::provider::wording::of_code(code).is_some());
    let status = number(&data["statusCode"]);
    let too_long = words.contains("rejected the prompt as too long").then_some(Failure::Context);
    too_long.or_else(|| ProviderError { vendor: Vendor::Any, code, status, words }.class())
}

/// The argument that says most about a call.
fn telling(input: &Value) -> String {
    let names = ["command", "path", "pattern", "query", "url", "question", "prompt", "description"];
    let value = names.iter().find_map(|name| input[*name].as_str());
    text::one_line(value.unwrap_or_default(), BRIEF_LETTERS)
}
