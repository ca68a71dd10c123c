//! The stream of Gemini CLI: one event a line, what the agent says in pieces.
use std::collections::BTreeMap;

use serde_json::Value;

use crate::agent::json::{EventReader, LineCounts, LineKind, number, owned};
use crate::agent::provider::failure::{Failure, Reset, ResetSource};
use crate::agent::provider::reset;
use crate::agent::provider::wording::{self, ProviderError, Vendor};
use crate::agent::reading::{Denials, End, Live, Reading, Terminal, Usage};
use crate::ended::Ended;
use crate::text;

/// The end of a message that is kept: a status block stands last.
const TEXT_BYTES_MAX: usize = 1024 * 1024;
/// Tool calls under way that are remembered, to tell what was refused.
const CALLS_MAX: usize = 256;
/// How many letters of a command or a question are kept.
const BRIEF_LETTERS: usize = 200;
/// Tools that Gemini CLI takes away, and what models call them; a call of one that it does not know was not allowed.
const KEPT_BACK: [&str; 12] = [
    "run_shell_command",
    "shell",
    "bash",
    "execute_command",
    "run_command",
    "write_file",
    "write",
    "replace",
    "edit",
    "web_fetch",
    "activate_skill",
    "apply_patch",
];
/// Lines of its stderr that say nothing about an error.
const NOISE: [&str; 9] = [
    "Warning:",
    "YOLO mode",
    "Ripgrep",
    "[STARTUP]",
    "Loaded cached",
    "Attempt ",
    "    at ",
    "(node:",
    "Security Warning: Skipping system defaults",
];

/// The exit code that means: not signed in.
const SIGNED_OUT: i32 = 41;
/// As long as the words that are looked for, and not much more.
const STDERR_BYTES_KEPT: usize = 32;
/// What it writes to stderr when it waits by itself: for a limit, and for a server that fails.
const WAITS: [&str; 2] = ["Retrying after", "Retrying with backoff"];

/// Reads it.
#[derive(Debug, Default)]
pub(super) struct GeminiReader {
    session: Option<String>,
    model: Option<String>,
    /// What was said since the last tool call.
    said: String,
    /// Output that is not an event; it counts only where there was no event at all, as in another output format.
    plain: Vec<u8>,
    /// There was an event.
    seen: bool,
    /// A line that should have been the last event could not be read.
    broken_end: bool,
    tool_calls: u32,
    calls: BTreeMap<String, String>,
    denials: Denials,
    question: Option<String>,
    /// The last error that was reported before the end.
    told: Option<String>,
    result: Option<Value>,
    /// The end of its stderr, to find words that came in two pieces.
    stderr_tail: Vec<u8>,
    /// It waits by itself.
    waits: bool,
}

impl EventReader for GeminiReader {
    const ENDS: &'static [&'static str] = &["{\"type\":\"result\""];

    fn blank(&mut self, line: &[u8], _live: &mut Vec<Live>) {
        self.keep_plain(line);
    }

    fn line(&mut self, line: &[u8], live: &mut Vec<Live>) -> LineKind {
        match serde_json::from_slice::<Value>(line) {
            Ok(event) if event.get("type").is_some() => self.take(event, live),
            Ok(_) if self.seen => LineKind::Unknown,
            Ok(_) => {
                self.keep_plain(line);
                LineKind::Known
            }
            Err(_) => {
                self.keep_plain(line);
                LineKind::Malformed
            }
        }
    }

    fn malformed(&mut self, head: &[u8], was_end: bool) {
        self.broken_end |= was_end;
        self.seen |= head.starts_with(b"{\"type\"");
    }

    fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    fn stderr(&mut self, bytes: &[u8]) {
        self.stderr_tail.extend_from_slice(bytes);
        let waits = |words: &&str| memchr::memmem::find(&self.stderr_tail, words.as_bytes()).is_some();
        self.waits |= WAITS.iter().any(waits);
        let surplus = self.stderr_tail.len().saturating_sub(STDERR_BYTES_KEPT);
        self.stderr_tail.drain(..surplus);
    }

    fn is_retrying(&self) -> bool {
        self.waits && self.result.is_none()
    }

    fn end(mut self, counts: &mut LineCounts, end: &End<'_>) -> Reading {
        let stderr = String::from_utf8_lossy(end.stderr).into_owned();
        if !self.seen {
            self.other_format(counts, end, &stderr);
        }
        let result = self.result.take();
        let terminal = match &result {
            Some(result) if result["status"] == "success" => Terminal::Success,
            Some(_) => Terminal::Error,
            None if self.broken_end => Terminal::Malformed,
            None => Terminal::Missing,
        };
        let well = terminal == Terminal::Success && *end.ended == Ended::Exit(0);
        let idle = result.is_none() && (self.waits || (self.tool_calls == 0 && self.said.is_empty()));
        let retrying = if idle { still_retrying(&stderr) } else { None };
        let error = result.as_ref().and_then(error_of).or_else(|| self.told.take()).or_else(|| retrying.clone());
        let of_stderr = !well && *end.ended != Ended::ByUs;
        let error = error.or_else(|| if of_stderr { last_words(&stderr) } else { None });
        let mut reading = Reading {
            text: text::clean(self.said.as_bytes()),
            terminal,
            session: self.session,
            session_lost: end.continued && *end.ended == Ended::Exit(42) && lost(&stderr),
            model: self.model,
            usage: result.as_ref().map(usage).unwrap_or_default(),
            tool_calls: result.as_ref().and_then(calls_made).or(self.seen.then_some(self.tool_calls)),
            denials: self.denials,
            question: self.question,
            ..Reading::default()
        };
        if !well {
            let certain = terminal == Terminal::Error || retrying.is_some();
            let words = error.as_deref().unwrap_or_default();
            let body = wording::object_in(words, "error");
            let body = body.as_ref().map(|body| &body["error"]);
            reading.failure = failure(certain, body, words, end);
            reading.reset = reset(reading.failure, body, words, end);
        }
        reading.error = error;
        reading
    }
}

impl GeminiReader {
    fn take(&mut self, event: Value, live: &mut Vec<Live>) -> LineKind {
        self.seen = true;
        self.plain = Vec::new();
        match event["type"].as_str().unwrap_or_default() {
            "init" => {
                self.session = owned(&event["session_id"]).or(self.session.take());
                self.model = owned(&event["model"]).or(self.model.take());
            }
            "message" => self.message(&event, live),
            "tool_use" => self.tool_use(&event, live),
            "tool_result" => self.tool_result(&event),
            "error" => {
                if let Some(message) = owned(&event["message"]).or_else(|| error_of(&event)) {
                    live.push(Live::Note(text::one_line(&message, BRIEF_LETTERS)));
                    self.told = Some(message);
                }
            }
            "result" => {
                self.broken_end = false;
                self.session = owned(&event["session_id"]).or(self.session.take());
                self.result = Some(event);
            }
            _ => return LineKind::Unknown,
        }
        LineKind::Known
    }

    fn message(&mut self, event: &Value, live: &mut Vec<Live>) {
        let role = event["role"].as_str().unwrap_or_default();
        let inner = ["parent_tool_use_id", "parent_tool_id", "parent_id", "subagent"];
        if !matches!(role, "assistant" | "model") || inner.iter().any(|name| event[*name].is_string()) {
            return;
        }
        let piece = words(&event["content"]);
        if piece.is_empty() {
            return;
        }
        live.push(Live::Text(text::clean(piece.as_bytes())));
        if event["delta"] != true && piece.starts_with(&self.said) {
            // The whole of what came in pieces before.
            self.said.clear();
        }
        self.said.push_str(&piece);
        text::keep_end(&mut self.said, TEXT_BYTES_MAX);
    }

    fn tool_use(&mut self, event: &Value, live: &mut Vec<Live>) {
        self.said.clear();
        self.tool_calls = self.tool_calls.saturating_add(1);
        let name = event["tool_name"].as_str().or_else(|| event["name"].as_str()).unwrap_or("a tool");
        let with = telling(&event["parameters"]);
        if name == "ask_user" {
            let asked =
                event.pointer("/parameters/questions/0/question").or_else(|| event.pointer("/parameters/question"));
            let asked = asked.and_then(Value::as_str).unwrap_or(&with);
            self.question = Some(text::one_line(asked, BRIEF_LETTERS));
        }
        live.push(Live::Tool(name.to_owned(), with.clone()));
        if let Some(id) = owned(&event["tool_id"])
            && self.calls.len() < CALLS_MAX
        {
            let shell = event.pointer("/parameters/command").is_some();
            let brief = if shell { with } else { format!("{name} {with}").trim().to_owned() };
            self.calls.insert(id, format!("{name}\n{brief}"));
        }
    }

    fn tool_result(&mut self, event: &Value) {
        self.said.clear();
        let call = event["tool_id"].as_str().and_then(|id| self.calls.remove(id)).unwrap_or_default();
        let (name, brief) = call.split_once('\n').unwrap_or_default();
        if event["status"] != "error" || name == "ask_user" {
            return;
        }
        let message = error_of(event).or_else(|| owned(&event["output"])).unwrap_or_default();
        let refused = match event.pointer("/error/type").and_then(Value::as_str) {
            Some("policy_violation" | "path_not_in_workspace") => true,
            Some("tool_not_registered") => KEPT_BACK.contains(&name),
            Some(_) | None => {
                message.contains("denied by policy") || message.contains("requires user confirmation, which is not")
            }
        };
        if refused {
            self.denials.count = self.denials.count.saturating_add(1);
            let first = if brief.is_empty() { text::one_line(&message, BRIEF_LETTERS) } else { brief.to_owned() };
            self.denials.first.get_or_insert(first);
        }
    }

    fn keep_plain(&mut self, line: &[u8]) {
        if !self.seen {
            self.plain.extend_from_slice(line);
            self.plain.push(b'\n');
            if self.plain.len() > 2 * TEXT_BYTES_MAX {
                self.plain.drain(..self.plain.len() - TEXT_BYTES_MAX);
            }
        }
    }

    /// `--output-format json`, whose errors are on stderr, and `text`, which has no end but its exit code.
    fn other_format(&mut self, counts: &mut LineCounts, end: &End<'_>, stderr: &str) {
        let plain = String::from_utf8_lossy(&self.plain).into_owned();
        let failed = stderr.rfind("{\n  \"").and_then(|at| wording::object_in(stderr.get(at..)?, "error"));
        let object = failed.or_else(|| serde_json::from_str::<Value>(&plain).ok().filter(Value::is_object));
        if let Some(mut object) = object {
            counts.malformed = 0;
            self.session = owned(&object["session_id"]);
            self.said = owned(&object["response"]).unwrap_or_default();
            let well = object["error"].is_null() && object["response"].is_string();
            object["status"] = if well { "success" } else { "error" }.into();
            self.result = Some(object);
        } else if *end.ended == Ended::Exit(0) && !plain.trim().is_empty() && !plain.trim_start().starts_with('{') {
            counts.malformed = 0;
            self.said = plain;
            self.result = Some(serde_json::json!({"status": "success"}));
        }
    }
}

/// Why the attempt failed. `certain` says that the error is the run's own, not just the last words.
fn failure(certain: bool, body: Option<&Value>, words: &str, end: &End<'_>) -> Option<Failure> {
    let code = match end.ended {
        Ended::Exit(code) => Some(*code),
        Ended::Signal(_) | Ended::ByUs | Ended::NotStarted(_) => None,
    };
    // Its exit code is the provider's status modulo 256.
    let status = body.and_then(|body| body["code"].as_u64()).or_else(|| match code {
        Some(code @ 144..=255) => u64::try_from(code + 256).ok(),
        Some(_) | None => None,
    });
    let error = ProviderError { status, ..ProviderError::of_words(Vendor::Google, words) };
    let class = if code == Some(SIGNED_OUT) { Some(Failure::Auth) } else { error.class() };
    match class {
        Some(class) if certain || code.is_some_and(|code| code != 0) => Some(class),
        Some(_) | None if *end.ended == Ended::ByUs => None,
        Some(_) | None => Some(Failure::Crash),
    }
}

/// When the provider goes on. A quota of the day comes with a short delay that means nothing.
fn reset(failure: Option<Failure>, body: Option<&Value>, words: &str, end: &End<'_>) -> Option<Reset> {
    let lower = words.to_lowercase();
    if ["perday", "daily quota", "quotaid\":\"daily"].iter().any(|word| lower.contains(word)) {
        return None;
    }
    let details = body.and_then(|body| body["details"].as_array()).map(Vec::as_slice).unwrap_or_default();
    let wait = details.iter().find_map(|detail| reset::duration_in_field(detail["retryDelay"].as_str()?));
    let wait = wait.filter(|_| failure.is_some_and(Failure::ends_by_itself));
    let told = wait.map(|wait| Reset { at_ms: end.now_ms.saturating_add(wait), source: ResetSource::Provider });
    told.or_else(|| end.reset_in(failure, Some(words)))
}

/// The words of the error in an event or an object.
fn error_of(value: &Value) -> Option<String> {
    let error = &value["error"];
    owned(&error["message"]).or_else(|| owned(error))
}

/// The last lines of stderr that may tell of an error.
fn last_words(stderr: &str) -> Option<String> {
    let clean = text::clean(stderr.as_bytes());
    let telling = |line: &&str| !line.trim().is_empty() && !NOISE.iter().any(|noise| line.starts_with(noise));
    let lines: Vec<&str> = clean.lines().filter(telling).collect();
    let last = lines.get(lines.len().saturating_sub(4)..).unwrap_or_default();
    (!last.is_empty()).then(|| last.join("\n"))
}

/// The error that it was waiting out when it was ended, where that is the last thing that its stderr tells.
fn still_retrying(stderr: &str) -> Option<String> {
    let last = stderr.get(stderr.rfind("Attempt ")?..)?;
    let (error, _) = last.split_once("\n    at ").unwrap_or((last, ""));
    (error.contains("Retrying") && error.contains("failed")).then(|| text::clean(error.trim().as_bytes()))
}

fn lost(stderr: &str) -> bool {
    ["Error resuming session", "Invalid session identifier", "No previous sessions"]
        .iter()
        .any(|word| stderr.contains(word))
}

/// What was used, in the form of the stream or of the one object, in which it stands by model.
fn usage(result: &Value) -> Usage {
    let stats = &result["stats"];
    let by_model = |name: &str| {
        let models = stats["models"].as_object()?;
        models.values().map(|model| model.pointer("/tokens")?.get(name).and_then(number)).sum::<Option<u64>>()
    };
    let told = |name: &str, other: &str| stats.get(name).and_then(number).or_else(|| by_model(other));
    let cached = told("cached", "cached");
    let all = told("input_tokens", "prompt");
    let fresh = stats.get("input").and_then(number).or_else(|| all.map(|all| all.saturating_sub(cached.unwrap_or(0))));
    Usage {
        input_tokens: fresh,
        output_tokens: told("output_tokens", "candidates"),
        cache_read_tokens: cached,
        ..Usage::default()
    }
}

fn calls_made(result: &Value) -> Option<u32> {
    let told =
        ["/stats/tool_calls", "/stats/tools/totalCalls"].iter().find_map(|path| result.pointer(path).and_then(number));
    told.and_then(|number| u32::try_from(number).ok())
}

/// The text of a content that is a string or a list of parts.
fn words(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(words).collect(),
        Value::Object(part) if part.get("thought").and_then(Value::as_bool) != Some(true) => {
            part.get("text").and_then(Value::as_str).unwrap_or_default().to_owned()
        }
        Value::Object(_) | Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
    }
}

/// The argument that says most about a call.
fn telling(parameters: &Value) -> String {
    let names = ["command", "file_path", "path", "pattern", "query", "url", "prompt"];
    let value = names.iter().find_map(|name| parameters[*name].as_str()).unwrap_or_default();
    text::one_line(value, BRIEF_LETTERS)
}
