//! The lines of `codex exec --json`: threads, turns and items.
use serde_json::Value;

use super::words::{self, Refused};
use crate::agent::json::{EventReader, LineCounts, LineKind, number, word};
use crate::agent::provider::failure::Failure;
use crate::agent::provider::window::{self, LimitWindow, WindowSource};
use crate::agent::reading::{Denials, End, Live, Reading, Terminal, Usage};
use crate::agent::stream::is_session_name;
use crate::ended::Ended;
use crate::text;

/// The end of a message that is kept.
const TEXT_BYTES_MAX: usize = 1024 * 1024;
/// How many tool calls that have begun and not ended are remembered.
const OPEN_MAX: usize = 256;
/// How much of an error is kept.
const ERROR_BYTES_MAX: usize = 2000;

/// A retry that the program has begun by itself.
#[derive(Debug)]
struct Retry {
    why: String,
    /// It has tried often enough, or nothing comes of trying.
    hopeless: bool,
}

/// Reads one attempt.
#[derive(Debug, Default)]
pub(in crate::agent) struct CodexReader {
    used: Usage,
    session: Option<String>,
    text: String,
    terminal: Terminal,
    error: Option<String>,
    retry: Option<Retry>,
    usage: Usage,
    tool_calls: u32,
    open: Vec<String>,
    denials: Denials,
    windows: Vec<LimitWindow>,
}

impl CodexReader {
    pub(in crate::agent) fn new(used: Usage) -> Self {
        Self { used, ..Self::default() }
    }

    fn take(&mut self, event: &Value, live: &mut Vec<Live>) -> LineKind {
        let kind = word(event, "type");
        if !["error", "thread.started"].contains(&kind) {
            self.retry = None;
        }
        if let Some(limits) = event.get("rate_limits") {
            let said = window::of_rate_limits(limits, WindowSource::Event);
            said.into_iter().for_each(|window| window::keep(&mut self.windows, window));
        }
        match kind {
            "token_count" => {}
            "thread.started" => {
                let name = Some(word(event, "thread_id")).filter(|name| is_session_name(name));
                self.session = name.map(str::to_owned);
            }
            "turn.started" => {}
            "item.started" | "item.updated" | "item.completed" => return self.item(kind, event.get("item"), live),
            "turn.completed" => {
                self.terminal = Terminal::Success;
                self.usage = self.usage_of(event.get("usage"));
            }
            "turn.failed" => {
                self.terminal = Terminal::Error;
                self.error = message(event.get("error").unwrap_or(event)).or_else(|| self.error.take());
            }
            "error" => self.failing(&message(event).unwrap_or_default(), live),
            _ => return LineKind::Unknown,
        }
        LineKind::Known
    }

    /// A retry that is announced, or the last word before the end.
    fn failing(&mut self, message: &str, live: &mut Vec<Live>) {
        live.push(Live::Note(text::one_line(message, 300)));
        let Some(retry) = words::retry(message) else {
            self.error = Some(message.to_owned());
            return;
        };
        let hopeless = match words::class(retry.why) {
            Failure::RateLimit
            | Failure::Auth
            | Failure::Billing
            | Failure::Model
            | Failure::Context
            | Failure::Refusal => true,
            Failure::Overload => retry.count >= 2,
            // It may be on its way from WebSockets to plain HTTPS.
            Failure::Network
            | Failure::Permission
            | Failure::TurnLimit
            | Failure::Crash
            | Failure::Hang
            | Failure::Question => retry.endless,
        };
        // A proxy that refuses WebSockets says nothing about the way that is tried next.
        let hopeless = hopeless && !retry.why.contains("url: ws");
        self.retry = Some(Retry { why: retry.why.to_owned(), hopeless });
    }

    fn item(&mut self, phase: &str, item: Option<&Value>, live: &mut Vec<Live>) -> LineKind {
        let Some(item) = item else { return LineKind::Unknown };
        let done = phase == "item.completed";
        match word(item, "type").trim_start_matches("assistant_") {
            "agent_message" | "message" if done => {
                let said = words_of(item);
                live.push(Live::Text(format!("{said}\n")));
                self.text = text::tail(&said, TEXT_BYTES_MAX).to_owned();
            }
            "agent_message" | "message" | "reasoning" | "todo_list" | "plan_update" | "context_compaction" => {}
            "error" if done => live.push(Live::Note(text::one_line(word(item, "message"), 300))),
            "error" => {}
            kind @ ("command_execution" | "file_change" | "mcp_tool_call" | "collab_tool_call" | "web_search"
            | "dynamic_tool_call" | "image_generation" | "image_view" | "sleep") => {
                self.tool(kind, item, done, live);
            }
            _ => return LineKind::Unknown,
        }
        LineKind::Known
    }

    /// A tool call that begins, goes on or ends. Words before its beginning were not the last ones.
    fn tool(&mut self, kind: &str, item: &Value, done: bool, live: &mut Vec<Live>) {
        let id = word(item, "id");
        let known = self.open.iter().position(|open| open == id);
        if known.is_none() {
            self.tool_calls = self.tool_calls.saturating_add(1);
            self.text.clear();
            live.push(Live::Tool(kind.to_owned(), argument(item)));
        }
        match known {
            Some(at) if done => {
                self.open.remove(at);
            }
            None if !done && self.open.len() < OPEN_MAX => self.open.push(id.to_owned()),
            Some(_) | None => {}
        }
        if done && ["declined", "rejected", "denied"].contains(&word(item, "status")) {
            self.denials.count = self.denials.count.saturating_add(1);
            self.denials.first.get_or_insert_with(|| argument(item));
        }
    }

    /// What this attempt used: the program counts over the whole session.
    fn usage_of(&self, usage: Option<&Value>) -> Usage {
        let count = |name: &str| usage.and_then(|usage| usage.get(name)).and_then(number);
        let read = count("cached_input_tokens");
        let now = Usage {
            input_tokens: count("input_tokens").map(|all| all.saturating_sub(read.unwrap_or(0))),
            output_tokens: count("output_tokens"),
            cache_read_tokens: read,
            cache_creation_tokens: count("cache_write_input_tokens"),
            ..Usage::default()
        };
        // A thread that goes on never counts less than before. Less in any field is another thread, or a count of this turn
        // alone: nothing of that was counted before, and it is taken as it is.
        let less = |now: Option<u64>, used: Option<u64>| now.zip(used).is_some_and(|(now, used)| now < used);
        if less(now.input_tokens, self.used.input_tokens)
            || less(now.output_tokens, self.used.output_tokens)
            || less(now.cache_read_tokens, self.used.cache_read_tokens)
            || less(now.cache_creation_tokens, self.used.cache_creation_tokens)
        {
            return now;
        }
        let rest = |now: Option<u64>, used: Option<u64>| now.map(|now| now.saturating_sub(used.unwrap_or(0)));
        Usage {
            input_tokens: rest(now.input_tokens, self.used.input_tokens),
            output_tokens: rest(now.output_tokens, self.used.output_tokens),
            cache_read_tokens: rest(now.cache_read_tokens, self.used.cache_read_tokens),
            cache_creation_tokens: rest(now.cache_creation_tokens, self.used.cache_creation_tokens),
            ..now
        }
    }

    /// Why it failed and its words for that, if it failed.
    fn failure(&self, end: &End<'_>) -> Option<(Failure, String)> {
        let told = self.error.clone().or_else(|| self.retry.as_ref().map(|retry| retry.why.clone()));
        let well = self.terminal == Terminal::Success;
        match end.ended {
            Ended::Exit(0) | Ended::ByUs if well => None,
            // We stopped it; that it was retrying is why there was nothing to wait for.
            Ended::ByUs if self.terminal == Terminal::Missing => {
                self.retry.as_ref().map(|retry| (words::class(&retry.why), retry.why.clone()))
            }
            Ended::NotStarted(why) => Some((Failure::Crash, why.clone())),
            _ if self.terminal == Terminal::Malformed => {
                Some((Failure::Crash, "its last line cannot be read".to_owned()))
            }
            // What it prints beside the stream when all is well says nothing.
            Ended::Exit(0) if told.is_none() => {
                Some((Failure::Crash, "its stream ended without its last event".to_owned()))
            }
            Ended::Exit(_) | Ended::Signal(_) | Ended::ByUs => {
                let words = if well { None } else { told };
                let words = words.unwrap_or_else(|| words::plain(end.stderr));
                Some((words::class(&words), words))
            }
        }
    }

    fn denials(&self, refused: Refused) -> Denials {
        let first = self.denials.first.clone().or(refused.first);
        Denials { count: self.denials.count.max(refused.count), first }
    }
}

impl EventReader for CodexReader {
    const ENDS: &'static [&'static str] = &["\"type\":\"turn.completed\"", "\"type\":\"turn.failed\""];

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

    fn is_retrying(&self) -> bool {
        self.retry.as_ref().is_some_and(|retry| retry.hopeless)
    }

    fn end(self, _counts: &mut LineCounts, end: &End<'_>) -> Reading {
        let failed = self.failure(end);
        let failure = failed.as_ref().map(|(failure, _)| *failure);
        let words = failed.map(|(_, words)| words).filter(|words| !words.is_empty());
        let refused = words::refused(end.stderr);
        let asked = refused
            .asked
            .then(|| if self.text.is_empty() { "request_user_input".to_owned() } else { self.text.clone() });
        Reading {
            session_lost: end.continued && self.session.is_none() && words::session_lost(end.stderr),
            reset: end.reset_in(failure, words.as_deref()),
            denials: self.denials(refused),
            failure,
            error: words.map(|words| text::head(&words, ERROR_BYTES_MAX).to_owned()),
            question: asked,
            text: self.text,
            terminal: self.terminal,
            session: self.session,
            usage: self.usage,
            tool_calls: Some(self.tool_calls),
            windows: self.windows,
            ..Reading::default()
        }
    }
}

/// The words of an error, whether it is a text or holds one.
fn message(value: &Value) -> Option<String> {
    let text = value.as_str().or_else(|| value.get("message").and_then(Value::as_str));
    text.map(str::to_owned)
}

/// The words of a message: a text, or a list of parts.
fn words_of(item: &Value) -> String {
    let content = item.get("text").or_else(|| item.get("content"));
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            parts.iter().map(|part| part.as_str().unwrap_or_else(|| word(part, "text"))).collect::<Vec<_>>().join("")
        }
        _ => String::new(),
    }
}

/// The most telling argument of a tool call.
fn argument(item: &Value) -> String {
    let path = item.get("changes").and_then(|changes| changes.get(0)).map(|change| word(change, "path"));
    let told = ["command", "query", "tool"].iter().map(|name| word(item, name)).find(|told| !told.is_empty());
    let command = words::bare_command(told.or(path).unwrap_or_else(|| word(item, "type")));
    text::one_line(&command, 300)
}
