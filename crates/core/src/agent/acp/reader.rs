//! Reads the messages between us and an agent that speaks the Agent Client Protocol.
use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::permission::{ToolCall, Tools, is_allowing};
use super::{at, choose, list_at, text_at, trouble};
use crate::agent::adapter::Begin;
use crate::agent::json::{EventReader, JsonLines, LineCounts, LineKind, may_be_object, micros, number};
use crate::agent::provider::failure::{Failure, Reset, ResetSource};
use crate::agent::provider::reset;
use crate::agent::provider::wording::Vendor;
use crate::agent::reading::{Denials, End, Live, Reader, Reading, Terminal, Usage};
use crate::ended::Ended;
use crate::text;

/// The end of a final message that is kept.
const TEXT_BYTES_MAX: usize = 1024 * 1024;
/// So many requests of either side may be open at a time.
const OPEN_MAX: usize = 256;
/// So many ids of tool calls are remembered.
const IDS_MAX: usize = 4096;

/// One line of the transcript.
#[derive(Deserialize)]
struct Line<'a> {
    dir: &'a str,
    #[serde(borrow, default)]
    msg: Option<&'a RawValue>,
    #[serde(default)]
    why: Option<String>,
    #[serde(default)]
    detail: Option<String>,
}

/// What the answer to a request of ours is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    Session,
    Known,
    Prompt,
    Other,
}

/// A permission that was asked for.
#[derive(Debug)]
struct Request {
    tool: ToolCall,
    options: Vec<Value>,
}

/// In what agents differ that speak the protocol.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct AcpHabits {
    /// Who words its errors.
    pub(super) vendor: Vendor,
    /// How a message begins that is an error of the provider, sent as a message of the model. Nothing else is in it.
    pub(super) error_as_message: Option<&'static str>,
    /// It ends its turn without a word where the provider refused.
    pub(super) silent_errors: bool,
    /// What it reports at the end is the last call of the model alone, which says nothing about the prompt.
    pub(super) counts_last_call: bool,
}

/// Keeps what the end needs; everything in it is bounded.
#[derive(Debug, Default)]
struct AcpReader {
    habits: AcpHabits,
    begin: Usage,
    asked: BTreeMap<String, Asked>,
    requests: BTreeMap<String, Request>,
    tools: Tools,
    ids: BTreeSet<String>,
    tool_calls: u32,
    prompted: bool,
    session: Option<String>,
    session_lost: bool,
    model: Option<String>,
    text: String,
    /// The message that the text is of, where the agent says which one it is.
    message: Option<String>,
    usage: Usage,
    /// Sums of what single answers of the model used, where an agent reports that.
    summed: Usage,
    cost_before: Option<u64>,
    cost: Option<u64>,
    limit_reset: Option<Reset>,
    stop: Option<String>,
    error: Option<Value>,
    why: Option<String>,
    detail: Option<String>,
    denials: Denials,
    question: Option<String>,
    malformed_end: bool,
}

/// A reader for the stdout of our own process between the harness and an agent.
#[must_use]
pub fn reader(_: Begin) -> Box<dyn Reader> {
    reader_of(AcpHabits::default(), Usage::default())
}

/// The same for an agent with these habits. `begin`: what the session had cost before, where the agent
/// tells the cost of the whole session and not of its process.
pub(super) fn reader_of(habits: AcpHabits, begin: Usage) -> Box<dyn Reader> {
    JsonLines::reader(AcpReader { habits, begin, ..AcpReader::default() })
}

impl EventReader for AcpReader {
    const ENDS: &'static [&'static str] = &["{\"dir\":\"end\""];

    fn line(&mut self, line: &[u8], live: &mut Vec<Live>) -> LineKind {
        if !may_be_object(line) {
            return LineKind::Malformed;
        }
        let Ok(read) = serde_json::from_slice::<Line<'_>>(line) else { return LineKind::Malformed };
        let message = read.msg.map(|raw| serde_json::from_str::<Value>(raw.get()).unwrap_or_default());
        match (read.dir, message) {
            ("end", _) => {
                self.why = read.why;
                self.detail = read.detail;
            }
            ("->", Some(message)) => self.ours(&message),
            ("<-", Some(message)) => return self.theirs(&message, live),
            // What the agent printed that is no message: a warning, a stack trace.
            ("<-", None) => return LineKind::Malformed,
            (_, _) => return LineKind::Unknown,
        }
        LineKind::Known
    }

    fn malformed(&mut self, _head: &[u8], was_end: bool) {
        self.malformed_end |= was_end;
    }

    fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    fn end(self, _counts: &mut LineCounts, end: &End<'_>) -> Reading {
        let terminal = self.terminal();
        let (failure, error) = self.failure(terminal, end);
        // Some agents say the error as if the model had: those are not its words.
        let echo = error.as_ref().is_some_and(|error| error.contains(self.text.trim()));
        let reset = self.error.as_ref().and_then(|error| trouble::reset(error, end)).or(self.limit_reset);
        let reset = reset.or_else(|| end.reset_in(failure, self.error_said()));
        Reading {
            text: if echo { String::new() } else { text::clean(self.text.as_bytes()) },
            terminal,
            session_lost: self.session_lost || self.why.as_deref() == Some("session_lost"),
            usage: self.used(),
            tool_calls: self.prompted.then_some(self.tool_calls),
            reset: reset.filter(|_| failure.is_some_and(Failure::ends_by_itself)),
            failure,
            error,
            session: self.session,
            model: self.model,
            denials: self.denials,
            question: self.question,
            ..Reading::default()
        }
    }
}

impl AcpReader {
    /// Something that we said.
    fn ours(&mut self, message: &Value) {
        let id = message.get("id").map(Value::to_string).unwrap_or_default();
        let Some(method) = text_at(message, &["method"]) else {
            return self.answered_by_us(&id, message);
        };
        let asked = match method {
            "session/new" => Asked::Session,
            "session/load" | "session/resume" => {
                self.session = text_at(message, &["params", "sessionId"]).map(str::to_owned);
                Asked::Known
            }
            "session/prompt" => {
                self.prompt_sent(message);
                Asked::Prompt
            }
            _ => Asked::Other,
        };
        if self.asked.len() < OPEN_MAX {
            self.asked.insert(id, asked);
        }
    }

    /// What is said counts from here on: before it, an agent may have sent an old conversation again.
    fn prompt_sent(&mut self, message: &Value) {
        if self.session.is_none() {
            self.session = text_at(message, &["params", "sessionId"]).map(str::to_owned);
        }
        self.prompted = true;
        self.text.clear();
        self.stop = None;
        self.error = None;
        self.cost_before = self.cost.or(self.cost_before);
    }

    fn answered_by_us(&mut self, id: &str, message: &Value) {
        let Some(request) = self.requests.remove(id) else { return };
        let chosen = text_at(message, &["result", "outcome", "optionId"]);
        if request.tool.question().is_some() || chosen.is_some_and(|id| is_allowing(&request.options, id)) {
            return;
        }
        self.denials.count = self.denials.count.saturating_add(1);
        self.denials.first.get_or_insert_with(|| request.tool.label());
    }

    /// Something that the agent said.
    fn theirs(&mut self, message: &Value, live: &mut Vec<Live>) -> LineKind {
        let id = message.get("id").filter(|id| !id.is_null()).map(Value::to_string);
        match (text_at(message, &["method"]), id) {
            (Some("session/update"), _) => return self.update(message, live),
            (Some("session/request_permission"), Some(id)) => self.permission_asked(id, message),
            (Some("elicitation/create" | "session/elicitation"), _) => {
                let words = text_at(message, &["params", "message"]).unwrap_or("a question without words");
                self.question.get_or_insert_with(|| words.to_owned());
            }
            (None, Some(id)) => {
                let asked = self.asked.remove(&id);
                self.answered(asked, message);
            }
            (Some(_), _) => {}
            (None, None) => return LineKind::Unknown,
        }
        LineKind::Known
    }

    fn permission_asked(&mut self, id: String, message: &Value) {
        let tool = self.tools.take(at(message, &["params", "toolCall"]).unwrap_or(&Value::Null));
        if let Some(question) = tool.question() {
            self.question.get_or_insert_with(|| question.to_owned());
        }
        if self.requests.len() < OPEN_MAX {
            let options = list_at(message, &["params", "options"]).to_vec();
            self.requests.insert(id, Request { tool, options });
        }
    }

    fn answered(&mut self, asked: Option<Asked>, message: &Value) {
        if let Some(error) = message.get("error").filter(|error| !error.is_null()) {
            let lost = asked == Some(Asked::Known) && trouble::class(self.habits.vendor, error) != Some(Failure::Auth);
            self.session_lost = lost || (self.session_lost && asked != Some(Asked::Known));
            self.error = Some(error.clone());
            return;
        }
        let result = message.get("result").unwrap_or(&Value::Null);
        match asked {
            Some(Asked::Session) => {
                self.session = text_at(result, &["sessionId"]).map(str::to_owned);
                self.error = None;
                self.session_lost = false;
                self.model_told(result);
            }
            Some(Asked::Known) => {
                self.error = None;
                self.session_lost = false;
                self.model_told(result);
            }
            Some(Asked::Prompt) => {
                self.stop = Some(text_at(result, &["stopReason"]).unwrap_or("no reason").to_owned());
                self.result_usage(result);
            }
            Some(Asked::Other) | None => {}
        }
    }

    fn model_told(&mut self, value: &Value) {
        let option = choose::config_option(value, "model").and_then(|option| text_at(option, &["currentValue"]));
        let model = text_at(value, &["models", "currentModelId"]).or(option);
        self.model = model.map(str::to_owned).or(self.model.take());
    }

    fn update(&mut self, message: &Value, live: &mut Vec<Live>) -> LineKind {
        let update = at(message, &["params", "update"]).unwrap_or(&Value::Null);
        let of = text_at(message, &["params", "sessionId"]);
        let other = of.is_some() && self.session.is_some() && of != self.session.as_deref();
        // A sub-agent's words and tools are not the agent's own.
        let below = text_at(update, &["_meta", "claudeCode", "parentToolUseId"]).is_some();
        match text_at(update, &["sessionUpdate"]).unwrap_or_default() {
            "usage_update" => self.usage_told(update),
            "config_option_update" => self.model_told(update),
            _ if !self.prompted || other => {}
            "agent_message_chunk" if !below => self.said(update, live),
            "tool_call" | "tool_call_update" => self.tool(update, below, live),
            "agent_message_chunk"
            | "agent_thought_chunk"
            | "user_message_chunk"
            | "plan"
            | "plan_update"
            | "available_commands_update"
            | "current_mode_update"
            | "session_info_update" => {}
            _ => return LineKind::Unknown,
        }
        LineKind::Known
    }

    fn said(&mut self, update: &Value, live: &mut Vec<Live>) {
        if let Some(usage) = at(update, &["_meta", "usage"]) {
            self.summed = self.summed.plus(Usage { turns: Some(1), ..tokens(usage) });
        }
        let piece = text_at(update, &["content", "text"]).or_else(|| text_at(update, &["content"])).unwrap_or_default();
        if piece.is_empty() {
            return;
        }
        let message = text_at(update, &["messageId"]);
        if message != self.message.as_deref() {
            if message.is_some() && self.message.is_some() && !self.text.is_empty() {
                self.text.push_str("\n\n");
            }
            self.message = message.map(str::to_owned);
        }
        self.text.push_str(piece);
        text::keep_end(&mut self.text, TEXT_BYTES_MAX);
        live.push(Live::Text(text::clean(piece.as_bytes())));
    }

    fn tool(&mut self, update: &Value, below: bool, live: &mut Vec<Live>) {
        let tool = self.tools.take(update);
        let id = text_at(update, &["toolCallId"]).unwrap_or_default();
        if self.ids.contains(id) {
            return;
        }
        if self.ids.len() < IDS_MAX {
            self.ids.insert(id.to_owned());
        } else if text_at(update, &["sessionUpdate"]) != Some("tool_call") {
            return;
        }
        self.tool_calls = self.tool_calls.saturating_add(1);
        if !below {
            self.text.clear();
        }
        let name = text_at(update, &["_meta", "claudeCode", "toolName"]).or_else(|| text_at(update, &["kind"]));
        live.push(Live::Tool(name.unwrap_or("tool").to_owned(), tool.label()));
    }

    fn usage_told(&mut self, update: &Value) {
        if let Some(limit) = at(update, &["_meta", "_claude/rateLimit"])
            && text_at(limit, &["status"]) == Some("rejected")
        {
            let moment = limit.get("resetsAt").and_then(reset::in_field);
            let told = moment.map(|at_ms| Reset { at_ms, source: ResetSource::Provider });
            self.limit_reset = told.or(self.limit_reset);
        }
        let dollars = text_at(update, &["cost", "currency"]).is_none_or(|currency| currency == "USD");
        let amount = at(update, &["cost", "amount"]).and_then(Value::as_f64).filter(|_| dollars);
        self.cost = amount.and_then(micros).or(self.cost);
    }

    fn result_usage(&mut self, result: &Value) {
        if self.habits.counts_last_call {
            return;
        }
        let usage = result.get("usage").or_else(|| at(result, &["_meta", "usage"]));
        let quota = at(result, &["_meta", "quota", "token_count"]);
        if let Some(usage) = usage.or(quota) {
            self.usage = tokens(usage);
        }
        let models = list_at(result, &["_meta", "quota", "model_usage"]);
        let model = models.first().and_then(|first| text_at(first, &["model"]));
        self.model = model.map(str::to_owned).or(self.model.take());
    }

    /// What this prompt used. The agent reports the cost of the whole session.
    fn used(&self) -> Usage {
        let mut usage = if self.usage == Usage::default() { self.summed } else { self.usage };
        let before = self.cost_before.or(self.begin.cost_micros);
        usage.cost_micros = self.cost.map(|cost| match before {
            Some(before) if before <= cost => cost - before,
            Some(_) | None => cost,
        });
        usage
    }

    fn terminal(&self) -> Terminal {
        match (&self.stop, &self.error, self.why.as_deref()) {
            _ if self.malformed_end => Terminal::Malformed,
            (_, _, Some("malformed")) => Terminal::Malformed,
            (Some(_), _, _) if self.error_said().is_some() || self.ended_silently() => Terminal::Error,
            (Some(stop), _, _) if stop == "end_turn" => Terminal::Success,
            (Some(_), _, _) | (None, Some(_), _) | (None, None, Some(_)) => Terminal::Error,
            (None, None, None) => Terminal::Missing,
        }
    }

    /// The error that its last message is.
    fn error_said(&self) -> Option<&str> {
        let text = self.text.trim();
        self.habits.error_as_message.filter(|beginning| text.starts_with(beginning)).map(|_| text)
    }

    fn ended_silently(&self) -> bool {
        let ended = self.stop.as_deref() == Some("end_turn");
        self.habits.silent_errors && ended && self.text.trim().is_empty() && self.tool_calls == 0
    }

    /// Why it could not work, as a class and in words.
    fn failure(&self, terminal: Terminal, end: &End<'_>) -> (Option<Failure>, Option<String>) {
        let by_us = *end.ended == Ended::ByUs;
        if terminal == Terminal::Success && (by_us || *end.ended == Ended::Exit(0)) {
            return (None, None);
        }
        if self.ended_silently() {
            return (Some(Failure::Crash), Some("it ended its turn without a word or a tool call".to_owned()));
        }
        if let Some(words) = self.error_said() {
            let class = trouble::class_of_words(self.habits.vendor, words).unwrap_or(Failure::Crash);
            return (Some(class), Some(words.to_owned()));
        }
        if let Some(error) = &self.error {
            return (
                Some(trouble::class(self.habits.vendor, error).unwrap_or(Failure::Crash)),
                Some(trouble::words(error)),
            );
        }
        let cancelled = self.stop.as_deref() == Some("cancelled") || self.why.as_deref() == Some("cancelled");
        if by_us && (cancelled || terminal == Terminal::Missing || self.why.as_deref() == Some("agent_ended")) {
            return (None, None);
        }
        match self.stop.as_deref() {
            Some("refusal") => return (Some(Failure::Refusal), Some("the model refused".to_owned())),
            Some("end_turn") | None => {}
            Some(stop) => return (Some(Failure::Crash), Some(format!("it stopped: {stop}"))),
        }
        // An agent that never came so far as to have a session says why on its stderr, if anywhere.
        let stderr = text::clean(end.stderr);
        let told = trouble::class_of_words(self.habits.vendor, &stderr).filter(|_| self.session.is_none());
        let last = stderr.lines().rev().find(|line| !line.trim().is_empty()).map(|line| line.trim().to_owned());
        let words = self.detail.clone().filter(|detail| !detail.is_empty()).or(last);
        (Some(told.unwrap_or(Failure::Crash)), words)
    }
}

/// Tokens by any of the names that agents use.
fn tokens(usage: &Value) -> Usage {
    let count = |names: &[&str]| names.iter().find_map(|name| number(usage.get(name)?));
    let input = count(&["inputTokens", "input_tokens"]);
    let output = count(&["outputTokens", "output_tokens"]);
    let read = count(&["cachedReadTokens", "cached_read_tokens"]);
    let thought = count(&["thoughtTokens", "thought_tokens"]).unwrap_or(0);
    let total = count(&["totalTokens", "total_tokens"]);
    // Some count what came from a cache among what went in: then the total has no room for it beside.
    let whole = input.unwrap_or(0).saturating_add(output.unwrap_or(0));
    let within = total.is_some_and(|total| total == whole || total == whole.saturating_add(thought));
    let cached = read.filter(|_| within).unwrap_or(0);
    Usage {
        input_tokens: input.map(|input| input.saturating_sub(cached)),
        output_tokens: output,
        cache_read_tokens: read,
        cache_creation_tokens: count(&["cachedWriteTokens", "cached_write_tokens"]),
        ..Usage::default()
    }
}
