//! What aider prints: a head, then answers of the model, each followed by a line with token counts, and errors between.
//!
//! An error counts only if no answer was closed after it: so words of the model that look like one do not.
use crate::agent::provider::failure::Failure;
use crate::agent::provider::wording::{ProviderError, Vendor};
use crate::agent::reading::{End, Live, Reader, Reading, Terminal, Usage};
use crate::ended::Ended;
use crate::text;

/// The end of an answer that is kept.
const TEXT_BYTES_MAX: usize = 1024 * 1024;
/// How many lines an error may have.
const ERROR_LINES_MAX: usize = 12;
/// So many retries of its own are let go by.
const RETRIES_MAX: u32 = 2;

/// How lines of its log begin that belong to what was asked.
const ASKED: [&str; 4] = ["USER", "SYSTEM", "TO LLM 2", "-------"];

/// An error of its own.
#[derive(Debug)]
struct Trouble {
    words: String,
    lines: usize,
    /// Its words go on in the next line.
    open: bool,
    /// It waits and tries again.
    retried: bool,
}

/// Reads one attempt.
#[derive(Debug, Default)]
pub(super) struct AiderReader {
    /// Its own first lines have begun, and have ended.
    head: (bool, bool),
    /// What came since the last answer was closed.
    segment: String,
    /// The last answer that was closed.
    text: Option<String>,
    trouble: Option<Trouble>,
    retries: u32,
    usage: Usage,
    malformed_lines: u32,
}

impl AiderReader {
    fn own_line(&mut self, line: &str) -> bool {
        if let Some(trouble) = self.trouble.as_mut().filter(|trouble| trouble.open) {
            if line.starts_with("Retrying in ") {
                trouble.open = false;
                trouble.retried = true;
                self.retries = self.retries.saturating_add(1);
                // What was said before a retry is said again after it.
                self.segment.clear();
            } else if line.trim().is_empty() || trouble.lines >= ERROR_LINES_MAX {
                trouble.open = false;
            } else {
                trouble.words = format!("{} {}", trouble.words.trim_end(), line.trim());
                trouble.lines += 1;
            }
            return true;
        }
        // Without a key it waits for somebody to sign in by a browser.
        let signed_out = line.starts_with("No LLM model was specified and no API keys were provided");
        let begins = error_name(line).is_some()
            || (line.starts_with("Model ") && line.trim_end().ends_with(" has hit a token limit!"));
        if begins || signed_out {
            let words = line.trim().to_owned();
            self.trouble = Some(Trouble { words, lines: 1, open: begins, retried: signed_out });
        }
        false
    }

    /// "Tokens: 1.2k sent, 300 cache hit, 34 received. Cost: $0.01 message, $0.05 session."
    fn close(&mut self, counted: Counted) {
        let add = |sum: &mut Option<u64>, more: u64| *sum = Some(sum.unwrap_or(0).saturating_add(more));
        add(&mut self.usage.input_tokens, counted.sent.saturating_sub(counted.cache_read));
        add(&mut self.usage.output_tokens, counted.received);
        if counted.cache_read + counted.cache_made > 0 {
            add(&mut self.usage.cache_read_tokens, counted.cache_read);
            add(&mut self.usage.cache_creation_tokens, counted.cache_made);
        }
        self.usage.cost_micros = counted.session_micros.or(self.usage.cost_micros);
        self.usage.turns = Some(self.usage.turns.unwrap_or(0).saturating_add(1));
        // Cleaned as a whole: a sequence may span lines.
        self.text = Some(text::clean(std::mem::take(&mut self.segment).as_bytes()));
        self.trouble = None;
        self.retries = 0;
    }

    fn failure(&self, end: &End<'_>) -> Option<(Failure, String)> {
        let trouble = self.trouble.as_ref().map(|trouble| (class(&trouble.words), trouble.words.clone()));
        match end.ended {
            Ended::ByUs => trouble.filter(|_| self.trouble.as_ref().is_some_and(|trouble| trouble.retried)),
            Ended::NotStarted(why) => Some((Failure::Crash, why.clone())),
            Ended::Exit(0) if trouble.is_none() && self.text.is_some() => None,
            Ended::Exit(_) | Ended::Signal(_) => {
                Some(trouble.unwrap_or_else(|| (Failure::Crash, "it ended without an answer".to_owned())))
            }
        }
    }
}

impl Reader for AiderReader {
    /// Stderr has the log of what was said to the model. It is needed to know which words are the agent's own.
    fn stderr_is_private(&self) -> bool {
        true
    }

    fn line(&mut self, raw: &[u8], live: &mut Vec<Live>) {
        let line = text::clean(raw);
        let (begun, ended) = self.head;
        if !ended {
            self.head = (begun || line.starts_with("Aider v"), begun && line.trim().is_empty());
            self.own_line(&line);
            return;
        }
        if let Some(counted) = counted(&line) {
            live.push(Live::Note(line));
            self.close(counted);
            return;
        }
        if self.own_line(&line) {
            live.push(Live::Note(line));
            return;
        }
        self.segment.push_str(&String::from_utf8_lossy(raw));
        self.segment.push('\n');
        if self.segment.len() > 2 * TEXT_BYTES_MAX {
            self.segment = text::tail(&self.segment, TEXT_BYTES_MAX).to_owned();
        }
        live.push(Live::Text(format!("{line}\n")));
    }

    fn long_line(&mut self, _head: &[u8]) {
        self.malformed_lines = self.malformed_lines.saturating_add(1);
    }

    fn session(&self) -> Option<&str> {
        None
    }

    fn is_retrying(&self) -> bool {
        self.trouble.as_ref().is_some_and(|trouble| {
            let now =
                matches!(class(&trouble.words), Failure::RateLimit | Failure::Auth | Failure::Billing | Failure::Model);
            trouble.retried && (now || self.retries > RETRIES_MAX)
        })
    }

    fn end(self: Box<Self>, end: &End<'_>) -> Reading {
        let failed = self.failure(end);
        let terminal = match (&self.text, &self.trouble) {
            (_, Some(_)) => Terminal::Error,
            (Some(_), None) => Terminal::Success,
            (None, None) => Terminal::Missing,
        };
        let failure = failed.as_ref().map(|(failure, _)| *failure);
        let error = failed.map(|(_, words)| words.split_whitespace().collect::<Vec<_>>().join(" "));
        let logged = logged(end.stderr).filter(|_| terminal == Terminal::Success);
        Reading {
            text: logged.unwrap_or_else(|| self.text.as_deref().map(answer).unwrap_or_default()),
            terminal,
            reset: end.reset_in(failure, error.as_deref()),
            failure,
            error,
            usage: self.usage,
            malformed_lines: self.malformed_lines,
            ..Reading::default()
        }
    }
}

/// What one such line counts.
struct Counted {
    sent: u64,
    received: u64,
    cache_read: u64,
    cache_made: u64,
    session_micros: Option<u64>,
}

fn counted(line: &str) -> Option<Counted> {
    let (tokens, cost) = line.trim().strip_prefix("Tokens: ")?.split_once(" received.")?;
    let parts: Vec<&str> = tokens.split(", ").collect();
    let count = |ending: &str| parts.iter().find_map(|part| thousands(part.strip_suffix(ending)?));
    let (sent, received) = (count(" sent")?, thousands(parts.last()?)?);
    let session = cost.split('$').nth(2).and_then(|rest| micros(rest.split(' ').next()?));
    Some(Counted {
        sent,
        received,
        cache_read: count(" cache hit").unwrap_or(0),
        cache_made: count(" cache write").unwrap_or(0),
        session_micros: session,
    })
}

/// "42", "1.8k", "12k", "1,234".
fn thousands(text: &str) -> Option<u64> {
    let text = text.trim().replace(',', "");
    match text.strip_suffix('k') {
        Some(thousands) => Some(micros(thousands)? / 1000),
        None => text.parse().ok(),
    }
}

/// A decimal number in millionths.
fn micros(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let part: String = part.chars().chain(std::iter::repeat('0')).take(6).collect();
    whole.parse::<u64>().ok()?.checked_mul(1_000_000)?.checked_add(part.parse().ok()?)
}

/// The name of the error that begins in this line.
fn error_name(line: &str) -> Option<&str> {
    let name = line.strip_prefix("litellm.")?.split(':').next()?;
    let known = name.ends_with("Error") || name == "Timeout";
    (known && name.bytes().all(|byte| byte.is_ascii_alphanumeric())).then_some(name)
}

/// What an error of its own means: its name counts as a code.
fn class(words: &str) -> Failure {
    let code = error_name(words);
    let error = ProviderError { code, ..ProviderError::of_words(Vendor::Any, words) };
    // Its library gives a connection that failed the name of an overload, and adds words about servers that are down.
    let unreachable = ["Connection error", "Connection refused", "Cannot connect", "timed out"];
    match error.class() {
        Some(Failure::Overload) if unreachable.iter().any(|part| words.contains(part)) => Failure::Network,
        Some(class) => class,
        None => Failure::Crash,
    }
}

/// The words of the last answer without what it says itself at their beginning.
fn answer(segment: &str) -> String {
    let own = ["Applied edit to ", "Commit ", "You can use /undo", "diff> ", "Only 3 reflections"];
    let mut rest = segment.trim_start();
    while let Some(line) = rest.lines().next().filter(|line| own.iter().any(|own| line.starts_with(own))) {
        rest = rest.get(line.len()..).unwrap_or_default().trim_start();
    }
    text::tail(rest.trim_end(), TEXT_BYTES_MAX).to_owned()
}

/// The last answer in its log, in which every line begins with the speaker's role. The beginning may be cut off.
fn logged(stderr: &[u8]) -> Option<String> {
    let log = text::clean(stderr);
    let lines: Vec<&str> = log.lines().collect();
    let mut said: Vec<&str> = Vec::new();
    for (at, line) in lines.iter().enumerate().rev() {
        match line.strip_prefix("ASSISTANT") {
            Some(words) => said.push(words.strip_prefix(' ').unwrap_or(words)),
            // An answer that was asked for, and no other: what was asked holds answers of old.
            None if line.starts_with("LLM RESPONSE 2") || at == 0 => break,
            None if said.is_empty() && !ASKED.iter().any(|word| line.starts_with(word)) => {}
            None => return None,
        }
    }
    said.reverse();
    (!said.is_empty()).then(|| said.join("\n"))
}
