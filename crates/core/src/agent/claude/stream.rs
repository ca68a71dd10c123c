//! Reads stream-json as Claude Code writes it, and as programs do that copied the format with changes.
use std::borrow::Cow;

use memchr::memmem;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::lines::{
    Assistant, ClaudeMessage, ContentBlock, LineFinders, System, delta, kind_anywhere, kind_first, of_use, plain,
    telling,
};
use super::result::{self, ResultLine};
use crate::agent::adapter::Begin;
use crate::agent::json::{EventReader, LineCounts, LineKind, may_be_object};
use crate::agent::provider::failure::{Failure, Reset, ResetSource};
use crate::agent::provider::reset;
use crate::agent::provider::window::{self, LimitWindow, WindowSource, WindowState};
use crate::agent::provider::wording::{ProviderError, Vendor};
use crate::agent::reading::{End, Live, ProgramReport, Reading, Terminal, Usage};
use crate::ended::Ended;
use crate::text;

/// In what programs differ that write this stream.
#[derive(Debug)]
pub(in crate::agent) struct Habits {
    /// Tools by which it asks a person something.
    pub(in crate::agent) asks: &'static [&'static str],
    /// How a message begins that is an error of the provider, sent as a message of the model.
    pub(in crate::agent) error_as_message: Option<&'static str>,
    /// Its input tokens include those from a cache, and it counts over the whole session.
    pub(in crate::agent) counts_all: bool,
    /// Who words its errors.
    pub(in crate::agent) vendor: Vendor,
    /// Words that say that a session is not there.
    pub(in crate::agent) lost: &'static [&'static str],
    /// Words on its stderr that people need explained, and the explanation.
    pub(in crate::agent) explained: &'static [(&'static str, &'static str)],
}

/// The end of a message that is kept: a status block stands last.
const TEXT_BYTES_MAX: usize = 1024 * 1024;
/// Arguments of a tool that are longer than this are not looked into.
const ARGUMENTS_BYTES_MAX: usize = 256 * 1024;
/// Kinds of lines that bring nothing that we need.
const IDLE: [&str; 10] = [
    "auth_status",
    "control_cancel_request",
    "control_request",
    "control_response",
    "keep_alive",
    "prompt_suggestion",
    "streamlined_text",
    "streamlined_tool_use_summary",
    "tool_progress",
    "tool_use_summary",
];

/// Reads one attempt.
#[derive(Debug)]
pub(in crate::agent) struct ClaudeStream {
    habits: &'static Habits,
    /// What the session had used before.
    used: Usage,
    /// What lines are searched for.
    marks: LineFinders,
    session: Option<String>,
    model: Option<String>,
    /// What its first line says about its run.
    program: ProgramReport,
    /// The last message of the main thread, as far as it came after its last tool call, and its id.
    said: String,
    said_id: Option<String>,
    /// Somebody else spoke since.
    interrupted: bool,
    /// Text comes in pieces, so whole messages need not be shown again.
    streamed: bool,
    /// How many tools were called; unknown before the first sign of the program.
    tool_calls: Option<u32>,
    question: Option<String>,
    /// The program's word for the last error, and its words.
    error_word: Option<String>,
    error_words: Option<String>,
    refused: bool,
    /// The provider stopped us until then.
    rejected: bool,
    resets_ms: Option<u64>,
    /// What was said of each limit last.
    windows: Vec<LimitWindow>,
    terminal: Terminal,
    /// The last line that says how the run came out, and what it says.
    result: Vec<u8>,
    outcome: ResultLine,
}

impl ClaudeStream {
    pub(in crate::agent) fn new(habits: &'static Habits, begin: Begin) -> Self {
        Self {
            habits,
            used: begin.used,
            marks: LineFinders::default(),
            session: None,
            model: None,
            program: ProgramReport::default(),
            said: String::new(),
            said_id: None,
            interrupted: false,
            streamed: false,
            tool_calls: None,
            question: None,
            error_word: None,
            error_words: None,
            refused: false,
            rejected: false,
            resets_ms: None,
            windows: Vec::new(),
            terminal: Terminal::Missing,
            result: Vec::new(),
            outcome: ResultLine::default(),
        }
    }

    fn take(&mut self, kind: &str, line: &[u8], live: &mut Vec<Live>) -> LineKind {
        let read = match kind {
            "stream_event" => self.piece(line, live),
            "user" => self.interrupt(line),
            "assistant" => self.message(line, live),
            "system" => self.system(line, live),
            "rate_limit_event" => self.limit(line, live),
            "result" => self.result(line),
            idle if IDLE.contains(&idle) => Some(()),
            _ if serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok() => return LineKind::Unknown,
            _ => None,
        };
        if read.is_none() { LineKind::Malformed } else { LineKind::Known }
    }

    fn piece(&mut self, line: &[u8], live: &mut Vec<Live>) -> Option<()> {
        if let Some(text) = delta(line, &self.marks).ok()? {
            self.streamed = true;
            live.push(Live::Text(fit(text)));
        }
        Some(())
    }

    /// Results of tools and words of the user's: what they hold is not the agent's, and may be long, so it stays unread.
    fn interrupt(&mut self, line: &[u8]) -> Option<()> {
        self.interrupted = true;
        line.ends_with(b"}").then_some(())
    }

    fn message(&mut self, line: &[u8], live: &mut Vec<Live>) -> Option<()> {
        let mut event = Assistant::read(line, &self.marks)?;
        if self.session.as_ref().is_some_and(|ours| of_another_session(line, ours)) {
            return Some(());
        }
        self.tool_calls.get_or_insert(0);
        let blocks = std::mem::take(&mut event.message.content.0);
        if event.of_sub_agent() {
            for block in &blocks {
                self.tool(block, live);
            }
            return Some(());
        }
        if let Some(words) = self.error_told(&event, &blocks) {
            self.error_word = event.error();
            self.error_words = Some(words);
            return Some(());
        }
        self.error_word = None;
        self.error_words = None;
        self.refused = event.message.refused();
        self.begin_message(&event.message);
        for block in &blocks {
            if self.tool(block, live) {
                self.said.clear();
            } else if block.kind.as_ref().is_some_and(|kind| kind.0 == "text") {
                self.say(block.text.as_ref().map_or("", |text| &text.0), live);
            }
        }
        Some(())
    }

    /// The words of a message that no model wrote.
    fn error_told(&self, event: &Assistant<'_>, blocks: &[ContentBlock<'_>]) -> Option<String> {
        let first = blocks.iter().find_map(|block| block.text.as_ref()).map_or("", |text| &text.0);
        let as_message = self.habits.error_as_message.is_some_and(|beginning| first.starts_with(beginning));
        let told = event.error().is_some() || event.message.synthetic() || as_message && event.message.unused();
        told.then(|| first.to_owned())
    }

    /// Blocks of one message come in several lines; only those of the last message are kept.
    fn begin_message(&mut self, message: &ClaudeMessage<'_>) {
        let goes_on = match message.id() {
            Some(id) => self.said_id.as_deref() == Some(id),
            None => self.said_id.is_none() && !self.interrupted,
        };
        self.interrupted = false;
        if !goes_on {
            self.said.clear();
            self.said_id = message.id().map(str::to_owned);
        }
    }

    fn say(&mut self, words: &str, live: &mut Vec<Live>) {
        if !self.said.is_empty() && !self.said.ends_with('\n') {
            self.said.push('\n');
        }
        self.said.push_str(words);
        if self.said.len() > TEXT_BYTES_MAX {
            self.said = text::tail(&self.said, TEXT_BYTES_MAX).to_owned();
        }
        if !self.streamed {
            live.push(Live::Text(fit(Cow::Borrowed(words))));
        }
    }

    /// Takes a block that calls a tool; says whether it does.
    fn tool(&mut self, block: &ContentBlock<'_>, live: &mut Vec<Live>) -> bool {
        let calls = block.kind.as_ref().is_some_and(|kind| kind.0.ends_with("tool_use"));
        if calls {
            let name = block.name.as_ref().map_or("", |name| &name.0);
            let input = block.input.map(RawValue::get).filter(|input| input.len() <= ARGUMENTS_BYTES_MAX);
            let input = input.unwrap_or_default();
            self.tool_calls = Some(self.tool_calls.unwrap_or(0).saturating_add(1));
            if self.habits.asks.contains(&name) {
                self.question = Some(question(input));
            }
            let argument = block.argument.as_deref().map_or_else(|| telling(input), str::to_owned);
            live.push(Live::Tool(name.to_owned(), argument));
        }
        calls
    }

    fn system(&mut self, line: &[u8], live: &mut Vec<Live>) -> Option<()> {
        if !of_use(line, self.session.is_some()) {
            return Some(());
        }
        let told: System<'_> = serde_json::from_slice(line).ok()?;
        let or_unknown = |value: Option<&RawValue>| value.map_or_else(|| "?".to_owned(), plain);
        match told.subtype.map(plain).unwrap_or_default().as_str() {
            "init" => {
                self.tool_calls.get_or_insert(0);
                self.session = told.session_id.map(plain);
                self.model = told.model.map(plain);
                self.program = told.program();
            }
            "api_retry" => {
                let why = told.error_status.or(told.error);
                let (attempt, most) = (or_unknown(told.attempt), or_unknown(told.max_retries));
                live.push(Live::Note(format!("it tries again, {attempt} of {most}: {}", or_unknown(why))));
            }
            "model_fallback" => {
                live.push(Live::Note(format!("it continues with the model {}", or_unknown(told.fallback_model))));
            }
            "compact_boundary" => live.push(Live::Note("it shortened the conversation".to_owned())),
            subtype if subtype.starts_with("model_refusal") => self.refused = true,
            _ => {}
        }
        Some(())
    }

    fn limit(&mut self, line: &[u8], live: &mut Vec<Live>) -> Option<()> {
        let event: Value = serde_json::from_slice(line).ok()?;
        let info = event.get("rate_limit_info")?;
        let kind = info.get("rateLimitType").and_then(Value::as_str).unwrap_or("some").replace('_', " ");
        let status = info.get("status").and_then(Value::as_str).unwrap_or_default();
        self.rejected = status == "rejected";
        window::keep(&mut self.windows, window_of(info, status));
        // Of several limits that are reached, the one that lasts longest is to be waited for.
        self.resets_ms = self.resets_ms.filter(|_| self.rejected);
        if self.rejected {
            self.resets_ms = self.resets_ms.max(resets_ms(info));
            live.push(Live::Note(format!("the {kind} limit is reached")));
        } else if status == "allowed_warning" {
            let used =
                info.get("utilization").and_then(Value::as_f64).map(|part| format!(": {:.0} % used", part * 100.0));
            live.push(Live::Note(format!("the {kind} limit is near{}", used.unwrap_or_default())));
        }
        Some(())
    }

    /// Only the last of these lines counts, so it is kept and read at the end.
    fn result(&mut self, line: &[u8]) -> Option<()> {
        self.terminal = Terminal::Malformed;
        self.result.clear();
        self.result.extend_from_slice(line);
        line.ends_with(b"}").then_some(())
    }

    /// Reads the last line that says how the run came out.
    fn settle(&mut self, counts: &mut LineCounts) {
        if self.result.is_empty() {
            return;
        }
        let Some(outcome) = result::read(&self.result, self.habits.asks) else {
            // One that was cut is counted already.
            counts.malformed += u32::from(self.result.ends_with(b"}"));
            return;
        };
        let error_as_message = self.error_words.is_some() && self.habits.error_as_message.is_some();
        self.terminal = if outcome.error || error_as_message { Terminal::Error } else { Terminal::Success };
        self.session = self.session.take().or_else(|| outcome.session.clone());
        self.outcome = outcome;
    }
}

/// When a limit begins again.
fn resets_ms(info: &Value) -> Option<u64> {
    info.get("resetsAt").or_else(|| info.get("resets_at")).and_then(reset::in_field)
}

/// What an event says about one limit.
fn window_of(info: &Value, status: &str) -> LimitWindow {
    let name = info.get("rateLimitType").and_then(Value::as_str).and_then(window::name);
    LimitWindow {
        name: name.unwrap_or_else(|| window::UNNAMED.to_owned()),
        used_permille: info.get("utilization").and_then(window::permille_of_share),
        resets_ms: resets_ms(info),
        state: match status {
            "rejected" => WindowState::Reached,
            "allowed_warning" => WindowState::Near,
            _ => WindowState::Open,
        },
        source: WindowSource::Event,
    }
}

/// Text to be shown: what could steer a terminal is taken out. Plain letters, the most by far, need no second look.
fn fit(words: Cow<'_, str>) -> String {
    let plain = words.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t'));
    if plain { words.into_owned() } else { text::clean(words.as_bytes()) }
}

/// What is asked, or all arguments where they are of another form.
fn question(input: &str) -> String {
    let asked: Value = serde_json::from_str(input).unwrap_or_default();
    let first = asked.pointer("/questions/0/question").or_else(|| asked.get("question"));
    first.and_then(Value::as_str).unwrap_or(input).to_owned()
}

impl EventReader for ClaudeStream {
    /// Newer versions begin it with a count.
    const ENDS: &'static [&'static str] = &["{\"type\":\"result\"", "{\"duration_api_ms\":"];

    /// Lines are long and many, so most of each stays unread.
    fn line(&mut self, line: &[u8], live: &mut Vec<Live>) -> LineKind {
        if let Some(kind) = kind_first(line) {
            return self.take(kind, line, live);
        }
        if line.starts_with(b"[")
            && let Ok(events) = serde_json::from_slice::<Vec<&RawValue>>(line)
        {
            let kinds = events.iter().map(|event| self.line(event.get().as_bytes(), live));
            return kinds.fold(LineKind::Known, LineKind::worse);
        }
        if !may_be_object(line) {
            return LineKind::Malformed;
        }
        kind_anywhere(line).map_or(LineKind::Malformed, |kind| self.take(&kind, line, live))
    }

    fn malformed(&mut self, _head: &[u8], was_end: bool) {
        if was_end {
            self.terminal = Terminal::Malformed;
            self.result.clear();
        }
    }

    fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    fn end(mut self, counts: &mut LineCounts, end: &End<'_>) -> Reading {
        self.settle(counts);
        let mut reading = Reading {
            terminal: self.terminal,
            session: self.session.clone(),
            model: self.model.clone(),
            program: ProgramReport { api_duration_ms: self.outcome.api_duration_ms, ..self.program.clone() },
            usage: self.usage(),
            tool_calls: self.tool_calls,
            denials: self.outcome.denials.clone(),
            question: self.question.clone(),
            windows: self.windows.clone(),
            ..Reading::default()
        };
        let well = self.terminal == Terminal::Success && *end.ended == Ended::Exit(0);
        if !well {
            self.failed(end, &mut reading);
        } else if self.refused || self.outcome.refused {
            reading.failure = Some(Failure::Refusal);
        }
        reading.text = self.text();
        reading
    }
}

impl ClaudeStream {
    /// The last message; where there were no messages, what the last line says it was.
    fn text(self) -> String {
        let told = self.said.is_empty() && self.terminal == Terminal::Success;
        if told { self.outcome.words } else { self.said }
    }

    fn usage(&self) -> Usage {
        let told = self.outcome.usage;
        let less = |all: Option<u64>, part: Option<u64>| all.map(|all| all.saturating_sub(part.unwrap_or(0)));
        if !self.habits.counts_all {
            let before = if self.is_sum_of_session() { self.used } else { Usage::default() };
            return Usage {
                input_tokens: less(told.input_tokens, before.input_tokens),
                output_tokens: less(told.output_tokens, before.output_tokens),
                cache_read_tokens: less(told.cache_read_tokens, before.cache_read_tokens),
                cache_creation_tokens: less(told.cache_creation_tokens, before.cache_creation_tokens),
                cost_micros: less(told.cost_micros, before.cost_micros),
                ..told
            };
        }
        Usage {
            input_tokens: less(less(told.input_tokens, told.cache_read_tokens), self.used.input_tokens),
            output_tokens: less(told.output_tokens, self.used.output_tokens),
            cache_read_tokens: less(told.cache_read_tokens, self.used.cache_read_tokens),
            ..told
        }
    }

    /// Whether the counts include what the session had used before: versions differ. `usage` is always of this run, so a
    /// sum over the session is at least that and what was used before.
    fn is_sum_of_session(&self) -> bool {
        let (told, thread, before) = (self.outcome.usage, self.outcome.thread, self.used);
        let holds = |told: Option<u64>, run: Option<u64>, before: Option<u64>| {
            told.unwrap_or(0) >= run.unwrap_or(0).saturating_add(before.unwrap_or(0))
        };
        before.tokens().is_some_and(|tokens| tokens > 0)
            && holds(told.input_tokens, thread.input_tokens, before.input_tokens)
            && holds(told.output_tokens, thread.output_tokens, before.output_tokens)
            && holds(told.cache_read_tokens, thread.cache_read_tokens, before.cache_read_tokens)
            && holds(told.cache_creation_tokens, thread.cache_creation_tokens, before.cache_creation_tokens)
            && holds(told.cost_micros, None, before.cost_micros)
    }

    /// Sets why the attempt failed. That we ended it is not a failure, but an earlier error of the provider may be one.
    fn failed(&self, end: &End<'_>, reading: &mut Reading) {
        let stderr = text::clean(end.stderr);
        let words = self.error_said(&stderr);
        let explained = self.habits.explained.iter().find(|(part, _)| words.contains(part));
        if self.outcome.subtype == "error_max_budget_usd" {
            reading.budget_hit = true;
        } else {
            let class = self.class(&words);
            let by_us = *end.ended == Ended::ByUs;
            reading.failure = (!by_us || class != Failure::Crash).then_some(class);
        }
        if reading.failure == Some(Failure::RateLimit) {
            let told = self.resets_ms.map(|at_ms| Reset { at_ms, source: ResetSource::Provider });
            reading.reset = told.or_else(|| reset::in_words(&words, end.clock()));
        }
        if end.continued && self.habits.lost.iter().any(|part| words.contains(part)) {
            reading.session_lost = true;
            reading.session = None;
        }
        let words = explained.map_or(words.as_str(), |(_, explanation)| explanation);
        reading.error = (!words.is_empty()).then(|| words.to_owned());
    }

    /// The words of the error: those of the last line, of the last message, or on stderr.
    fn error_said(&self, stderr: &str) -> String {
        let told = self.terminal == Terminal::Error;
        let from_result = Some(&self.outcome.words).filter(|words| told && !words.is_empty());
        let from_message = self.error_words.as_ref();
        from_result.or(from_message).map_or(stderr, String::as_str).trim().to_owned()
    }

    fn class(&self, words: &str) -> Failure {
        if self.terminal == Terminal::Malformed {
            return Failure::Crash;
        }
        if self.outcome.subtype == "error_max_turns" {
            return Failure::TurnLimit;
        }
        if self.refused || self.outcome.refused {
            return Failure::Refusal;
        }
        let code = self.error_word.as_deref();
        let class = ProviderError { vendor: self.habits.vendor, code, status: self.outcome.status, words }.class();
        match class {
            None | Some(Failure::Crash) if self.rejected => Failure::RateLimit,
            None => Failure::Crash,
            Some(class) => class,
        }
    }
}

/// Whether a line names another session than ours.
fn of_another_session(line: &[u8], ours: &str) -> bool {
    #[derive(Deserialize)]
    struct Named<'a> {
        #[serde(borrow)]
        session_id: Option<&'a RawValue>,
    }
    if ends_with_session(line, ours) {
        return false;
    }
    match serde_json::from_slice::<Named<'_>>(line) {
        Ok(named) => named.session_id.is_some_and(|name| plain(name) != ours),
        // Named twice, or not to be read: it may be anybody's.
        Err(_) => memmem::find(line, b"\"session_id\"").is_some(),
    }
}

/// Whether our session stands near the end, as in every line of the real program: no object ends between it and the
/// end of the line, so it is the line's own name. Within a text its quotes would be escaped.
fn ends_with_session(line: &[u8], ours: &str) -> bool {
    const NAME: &[u8] = b"\"session_id\":\"";
    let named = memmem::rfind(line, NAME).and_then(|at| line.get(at + NAME.len()..));
    let rest = named.and_then(|name| name.strip_prefix(ours.as_bytes())?.strip_prefix(b"\""));
    rest.is_some_and(|rest| rest.strip_suffix(b"}").is_some_and(|rest| !rest.contains(&b'}')))
}
