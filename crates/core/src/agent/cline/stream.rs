//! The events of Cline's command line, one a line.
use std::collections::BTreeMap;

use serde_json::Value;

use crate::agent::json::{EventReader, LineCounts, LineKind, micros, number, word};
use crate::agent::provider::failure::Failure;
use crate::agent::provider::wording::{ProviderError, Vendor};
use crate::agent::reading::{Denials, End, Live, Reading, Terminal, Usage};
use crate::ended::Ended;
use crate::text;

/// The end of a message that is kept: a status block stands last.
const TEXT_BYTES_MAX: usize = 1024 * 1024;
/// Tool calls under way that are remembered, to tell what was refused.
const CALLS_MAX: usize = 256;
/// How many letters of a command or a question are kept.
const BRIEF_LETTERS: usize = 200;
/// Tools that it takes away, and what models call them; a call of one that it does not know was not allowed.
const KEPT_BACK: [&str; 6] = ["run_commands", "execute_command", "shell", "bash", "editor", "apply_patch"];

/// Reads them.
#[derive(Debug, Default)]
pub(super) struct ClineReader {
    /// What was said since the last tool call, whole messages.
    said: String,
    /// Output that is not an event; it counts only where there was no event at all.
    plain: Vec<u8>,
    /// There was an event.
    seen: bool,
    broken_end: bool,
    /// Sub-agents under way: their words come like the agent's own.
    inner: u32,
    tool_calls: u32,
    calls: BTreeMap<String, String>,
    denials: Denials,
    question: Option<String>,
    usage: Usage,
    /// The last error.
    told: Option<ErrorEvent>,
    result: Option<Value>,
}

/// An error as an event tells it.
#[derive(Debug, Default)]
struct ErrorEvent {
    /// Cline's own word for it.
    code: String,
    words: String,
}

impl EventReader for ClineReader {
    /// Its kind comes after a time.
    const ENDS: &'static [&'static str] = &["\"type\":\"run_result\""];

    /// Its library writes stack traces there, between the words of the model. The errors of it are events, too.
    fn stderr_is_private(&self) -> bool {
        true
    }

    fn blank(&mut self, line: &[u8], live: &mut Vec<Live>) {
        if !self.seen {
            self.plain_line(line, live);
        }
    }

    fn line(&mut self, line: &[u8], live: &mut Vec<Live>) -> LineKind {
        match serde_json::from_slice::<Value>(line) {
            Ok(event) if event.get("type").is_some() => self.take(event, live),
            Ok(_) => LineKind::Unknown,
            Err(_) if self.seen || line.starts_with(b"{") => LineKind::Malformed,
            Err(_) => {
                self.plain_line(line, live);
                LineKind::Known
            }
        }
    }

    fn malformed(&mut self, head: &[u8], was_end: bool) {
        self.seen |= head.starts_with(b"{");
        self.broken_end |= was_end && head.starts_with(b"{");
    }

    fn end(mut self, _counts: &mut LineCounts, end: &End<'_>) -> Reading {
        let stderr = String::from_utf8_lossy(end.stderr).into_owned();
        let mut terminal = match &self.result {
            Some(result) if result["finishReason"] == "completed" => Terminal::Success,
            Some(_) => Terminal::Error,
            None if self.broken_end => Terminal::Malformed,
            None => Terminal::Missing,
        };
        let plain = if self.seen { String::new() } else { after_the_last_tool(&text::clean(&self.plain)) };
        if !self.seen && *end.ended == Ended::Exit(0) && !plain.trim().is_empty() {
            terminal = Terminal::Success;
            self.said = plain;
        }
        let well = terminal == Terminal::Success && *end.ended == Ended::Exit(0);
        let result = self.result.take().unwrap_or_default();
        // Of a run that failed this is the text of the error.
        if let (Terminal::Success, Some(text)) = (terminal, result["text"].as_str()) {
            text.clone_into(&mut self.said);
        }
        let mut reading = Reading {
            text: text::clean(self.said.as_bytes()),
            terminal,
            model: result.pointer("/model/id").and_then(Value::as_str).map(str::to_owned),
            usage: self.usage(&result),
            tool_calls: self.seen.then_some(self.tool_calls),
            denials: self.denials,
            question: self.question,
            ..Reading::default()
        };
        if !well {
            let told = self.told.unwrap_or_default();
            reading.error = if told.words.is_empty() { last_words(&stderr) } else { Some(told.words) };
            reading.failure = failure(&told.code, reading.error.as_deref().unwrap_or_default(), end.ended);
            reading.reset = end.reset_in(reading.failure, reading.error.as_deref());
        }
        reading
    }
}

impl ClineReader {
    fn take(&mut self, event: Value, live: &mut Vec<Live>) -> LineKind {
        self.seen = true;
        self.plain = Vec::new();
        match event["type"].as_str().unwrap_or_default() {
            "hook_event" if event["parentAgentId"].is_string() => match event["hookEventName"].as_str() {
                Some("agent_start") => self.inner = self.inner.saturating_add(1),
                Some("agent_end" | "agent_error" | "agent_abort") => self.inner = self.inner.saturating_sub(1),
                Some(_) | None => {}
            },
            "hook_event" => {}
            "agent_event" => return self.of_agent(&event["event"], live),
            "error" => self.error(&event, live),
            "run_result" => {
                self.broken_end = false;
                self.result = Some(event);
            }
            _ => return LineKind::Unknown,
        }
        LineKind::Known
    }

    fn of_agent(&mut self, event: &Value, live: &mut Vec<Live>) -> LineKind {
        let kind = event["type"].as_str().unwrap_or_default();
        match (kind, event["contentType"].as_str().unwrap_or_default()) {
            ("content_start", "text") => {
                if let Some(piece) = event["text"].as_str().filter(|piece| !piece.is_empty()) {
                    live.push(Live::Text(text::clean(piece.as_bytes())));
                }
            }
            ("content_end", "text") if self.inner == 0 => {
                self.said.push_str(event["text"].as_str().unwrap_or_default());
                text::keep_end(&mut self.said, TEXT_BYTES_MAX);
            }
            ("content_start", "tool") => self.tool_use(event, live),
            ("content_end", "tool") => self.tool_result(event),
            ("error", _) => self.error(event, live),
            ("usage", _) if self.inner > 0 => {}
            ("usage", _) => {
                self.usage = tokens(
                    event,
                    ["totalInputTokens", "totalOutputTokens", "totalCacheReadTokens", "totalCacheWriteTokens"],
                )
            }
            (
                "content_start" | "content_update" | "content_end" | "iteration_start" | "iteration_end" | "done"
                | "notice",
                _,
            ) => {}
            _ => return LineKind::Unknown,
        }
        LineKind::Known
    }

    fn error(&mut self, event: &Value, live: &mut Vec<Live>) {
        let message = event.pointer("/error/message").or_else(|| event.get("message")).and_then(Value::as_str);
        if let Some(message) = message {
            live.push(Live::Note(text::one_line(message, BRIEF_LETTERS)));
            let code = word(event, "errorClass").to_owned();
            self.told = Some(ErrorEvent { code, words: message.to_owned() });
        }
    }

    fn tool_use(&mut self, event: &Value, live: &mut Vec<Live>) {
        self.said.clear();
        self.tool_calls = self.tool_calls.saturating_add(1);
        let name = event["toolName"].as_str().unwrap_or("a tool");
        let input = &event["input"];
        let with = telling(input);
        if name == "ask_question" || name == "ask_followup_question" {
            self.question = Some(text::one_line(input["question"].as_str().unwrap_or(&with), BRIEF_LETTERS));
        }
        live.push(Live::Tool(name.to_owned(), with.clone()));
        if let Some(id) = event["toolCallId"].as_str()
            && self.calls.len() < CALLS_MAX
        {
            let command = input["commands"].is_array() || input["command"].is_string();
            let brief = if command { with } else { format!("{name} {with}").trim().to_owned() };
            self.calls.insert(id.to_owned(), brief);
        }
    }

    fn tool_result(&mut self, event: &Value) {
        self.said.clear();
        let brief = event["toolCallId"].as_str().and_then(|id| self.calls.remove(id));
        let Some(error) = event["error"].as_str() else { return };
        let name = event["toolName"].as_str().unwrap_or_default();
        let refused = ["requires approval", "is disabled by policy", "was blocked by a runtime hook"];
        let absent = error.contains("rejected before execution: AI_NoSuchToolError") || error.contains("Unknown tool");
        if refused.iter().any(|word| error.contains(word)) || (absent && KEPT_BACK.contains(&name)) {
            self.denials.count = self.denials.count.saturating_add(1);
            self.denials.first.get_or_insert(brief.unwrap_or_else(|| name.to_owned()));
        }
    }

    fn plain_line(&mut self, line: &[u8], live: &mut Vec<Live>) {
        live.push(Live::Text(text::clean(line)));
        self.plain.extend_from_slice(line);
        self.plain.push(b'\n');
        if self.plain.len() > 2 * TEXT_BYTES_MAX {
            self.plain.drain(..self.plain.len() - TEXT_BYTES_MAX);
        }
    }

    /// From the last event, else the sum of what was reported until then.
    fn usage(&self, result: &Value) -> Usage {
        let whole = ["aggregateUsage", "usage"].iter().map(|name| &result[*name]).find(|usage| usage.is_object());
        let Some(whole) = whole else { return self.usage };
        let mut usage = tokens(whole, ["inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens"]);
        usage.turns = number(&result["iterations"]).and_then(|turns| u32::try_from(turns).ok());
        usage
    }
}

/// Input, output, read from a cache and written to one, by their names there. The input counts what was cached.
fn tokens(told: &Value, names: [&str; 4]) -> Usage {
    let [input, output, read, written] = names.map(|name| number(&told[name]));
    Usage {
        input_tokens: input.map(|input| input.saturating_sub(read.unwrap_or(0))),
        output_tokens: output,
        cache_read_tokens: read,
        cache_creation_tokens: written,
        cost_micros: told["totalCost"].as_f64().and_then(micros),
        turns: None,
    }
}

/// Why the attempt failed.
fn failure(code: &str, words: &str, ended: &Ended) -> Option<Failure> {
    // A refused tool call is told as an error too, and is none of the run.
    let words = if words.contains("tool call(s) failed") { "" } else { words };
    let error = ProviderError { code: Some(code), ..ProviderError::of_words(Vendor::Any, words) };
    match ended {
        Ended::ByUs => None,
        Ended::Exit(_) | Ended::Signal(_) | Ended::NotStarted(_) => Some(error.class().unwrap_or(Failure::Crash)),
    }
}

/// The last error on stderr: an event, or a line of text.
fn last_words(stderr: &str) -> Option<String> {
    let clean = text::clean(stderr.as_bytes());
    let event = |line: &str| serde_json::from_str::<Value>(line).ok()?["message"].as_str().map(str::to_owned);
    let line = |line: &str| line.strip_prefix("error:").map(|rest| rest.trim().to_owned());
    clean.lines().rev().find_map(|text| event(text).or_else(|| line(text)))
}

/// Without events its tools are lines of their own, the last one of each a mark and what came of it.
fn after_the_last_tool(plain: &str) -> String {
    let last = plain.lines().rev().take_while(|line| !line.trim_start().starts_with('⎿'));
    let mut lines: Vec<&str> = last.collect();
    lines.reverse();
    lines.join("\n")
}

/// The argument that says most about a call.
fn telling(input: &Value) -> String {
    let names = ["command", "path", "query", "url", "question", "prompt", "task"];
    let first = |name: &&str| input[*name].as_str();
    let value = input.pointer("/commands/0").and_then(Value::as_str).or_else(|| names.iter().find_map(first));
    text::one_line(value.unwrap_or_default(), BRIEF_LETTERS)
}
