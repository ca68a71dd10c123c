//! Reads `opencode run --format json`. No event says how the run ended: the last step and the exit status do.
use serde_json::Value;

use super::errors;
use crate::agent::json::{EventReader, LineCounts, LineKind, micros, number_or_text};
use crate::agent::provider::failure::Failure;
use crate::agent::reading::{Denials, End, Live, Reading, Terminal, Usage};
use crate::agent::stream::is_session_name;
use crate::ended::Ended;
use crate::text;

/// The longest final text that is kept: its end, where a status block stands.
const TEXT_BYTES_MAX: usize = 1024 * 1024;
/// The longest words about a refused call.
const FIRST_CHARS_MAX: usize = 200;
/// How its tools begin their message that a rule forbids a call, or that no person could be asked.
const REFUSED: [&str; 2] = ["The user has specified a rule which prevents", "The user rejected permission"];

/// How the last step ended.
#[derive(Debug, Default, PartialEq, Eq)]
enum Step {
    /// None has.
    #[default]
    Open,
    /// For this reason.
    Ended(String),
    /// What should have said it could not be read.
    Malformed,
}

/// The stream of one attempt.
#[derive(Debug, Default)]
pub(super) struct OpencodeReader {
    session: Option<String>,
    text: String,
    usage: Usage,
    tool_calls: u32,
    denials: Denials,
    question: Option<String>,
    step: Step,
    /// The last error that nothing came after.
    error: Option<ErrorEvent>,
}

/// An error, and when it came.
#[derive(Debug)]
struct ErrorEvent {
    error: Value,
    at_ms: Option<u64>,
}

impl EventReader for OpencodeReader {
    const ENDS: &'static [&'static str] = &["{\"type\":\"step_finish\"", "{\"type\":\"error\""];

    fn event(&mut self, event: Value, live: &mut Vec<Live>) -> LineKind {
        if event["type"].is_string() { self.take(&event, live) } else { LineKind::Malformed }
    }

    fn malformed(&mut self, _head: &[u8], was_end: bool) {
        if was_end {
            self.step = Step::Malformed;
        }
    }

    fn session(&self) -> Option<&str> {
        self.session.as_deref().filter(|name| is_session_name(name))
    }

    fn end(self, _counts: &mut LineCounts, end: &End<'_>) -> Reading {
        let stderr = text::clean(end.stderr);
        let lost = end.continued && stderr.contains("Session not found");
        let terminal = self.terminal();
        let denials = denials(self.denials, &stderr);
        let halted = denials.count > 0 && self.step == Step::Ended("tool-calls".to_owned());
        let well = terminal == Terminal::Success && *end.ended == Ended::Exit(0);
        let told = self.error.filter(|_| !well);
        let told = told.map(|told| errors::found(&told.error, told.at_ms, end.clock()));
        let failure = if well {
            None
        } else if let Some(found) = &told {
            Some(found.failure)
        } else if *end.ended == Ended::ByUs {
            None
        } else if halted {
            Some(Failure::Permission)
        } else if self.step == Step::Ended("content-filter".to_owned()) {
            Some(Failure::Refusal)
        } else {
            Some(Failure::Crash)
        };
        let error = match (&told, failure) {
            (Some(found), _) => Some(found.message.clone()),
            (None, Some(_)) => words(&self.step, &stderr),
            (None, None) => None,
        };
        Reading {
            text: self.text,
            terminal,
            session: self.session.filter(|name| is_session_name(name)),
            session_lost: lost,
            usage: self.usage,
            // A tool is shown when it has ended: of one that was stopped it is not known whether a tool was at work.
            tool_calls: (self.tool_calls > 0 || *end.ended != Ended::ByUs).then_some(self.tool_calls),
            denials,
            question: self.question,
            failure,
            reset: told.and_then(|found| found.reset),
            error,
            ..Reading::default()
        }
    }
}

impl OpencodeReader {
    fn take(&mut self, event: &Value, live: &mut Vec<Live>) -> LineKind {
        let part = &event["part"];
        let session = event["sessionID"].as_str().or_else(|| part["sessionID"].as_str());
        if let Some(session) = session {
            let known = self.session.get_or_insert_with(|| session.to_owned());
            // What another session says is not the agent's own word.
            if known != session {
                return LineKind::Known;
            }
        }
        match event["type"].as_str().unwrap_or_default() {
            "step_start" => {
                self.step = Step::Open;
                self.text.clear();
            }
            "text" => self.says(part, live),
            "tool_use" => self.uses(part, live),
            "step_finish" => self.finishes(part),
            "error" => {
                live.push(Live::Note(errors::message(&event["error"])));
                self.step = Step::Open;
                let at_ms = number_or_text(&event["timestamp"]);
                self.error = Some(ErrorEvent { error: event["error"].clone(), at_ms });
            }
            "reasoning" => {}
            _ => return LineKind::Unknown,
        }
        LineKind::Known
    }

    fn says(&mut self, part: &Value, live: &mut Vec<Live>) {
        self.step = Step::Open;
        let Some(words) = part["text"].as_str() else { return };
        // Written by the program in the user's name.
        if part["synthetic"] == true || part["ignored"] == true {
            self.text.clear();
            return;
        }
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(words);
        text::keep_end(&mut self.text, TEXT_BYTES_MAX);
        live.push(Live::Text(words.to_owned()));
    }

    fn uses(&mut self, part: &Value, live: &mut Vec<Live>) {
        self.step = Step::Open;
        self.text.clear();
        self.tool_calls = self.tool_calls.saturating_add(1);
        let name = part["tool"].as_str().unwrap_or("a tool");
        let state = &part["state"];
        let telling = telling(&state["input"]);
        let error = state["error"].as_str().unwrap_or_default();
        if REFUSED.iter().any(|words| error.starts_with(words)) {
            self.denials.count = self.denials.count.saturating_add(1);
            self.denials.first.get_or_insert_with(|| telling.clone().unwrap_or_else(|| name.to_owned()));
        }
        if name == "question" {
            self.question = question(&state["input"]).or(self.question.take());
        }
        live.push(Live::Tool(name.to_owned(), telling.unwrap_or_default()));
    }

    fn finishes(&mut self, part: &Value) {
        let reason = part["reason"].as_str().unwrap_or("unknown");
        self.step = Step::Ended(reason.to_owned());
        if matches!(reason, "stop" | "tool-calls") {
            self.error = None;
        }
        let tokens = &part["tokens"];
        let usage = &mut self.usage;
        usage.turns = Some(usage.turns.unwrap_or(0).saturating_add(1));
        // Thoughts are paid for like words, and counted beside them.
        let thought = number_or_text(&tokens["reasoning"]).unwrap_or(0);
        let output = number_or_text(&tokens["output"]).map(|output| output.saturating_add(thought));
        add(&mut usage.input_tokens, number_or_text(&tokens["input"]));
        add(&mut usage.output_tokens, output);
        add(&mut usage.cache_read_tokens, number_or_text(&tokens["cache"]["read"]));
        add(&mut usage.cache_creation_tokens, number_or_text(&tokens["cache"]["write"]));
        add(&mut usage.cost_micros, part["cost"].as_f64().and_then(micros));
    }

    fn terminal(&self) -> Terminal {
        match &self.step {
            Step::Malformed => Terminal::Malformed,
            _ if self.error.is_some() => Terminal::Error,
            Step::Open => Terminal::Missing,
            // A step that ended so wants another.
            Step::Ended(reason) if reason == "tool-calls" => Terminal::Missing,
            Step::Ended(reason) if reason == "stop" => Terminal::Success,
            Step::Ended(_) => Terminal::Error,
        }
    }
}

fn add(sum: &mut Option<u64>, more: Option<u64>) {
    if let Some(more) = more {
        *sum = Some(sum.unwrap_or(0).saturating_add(more));
    }
}

/// The argument of a tool that tells most.
fn telling(input: &Value) -> Option<String> {
    let names = ["command", "filePath", "path", "pattern", "url", "description", "tool"];
    let words = names.iter().find_map(|name| input[*name].as_str())?;
    Some(words.chars().take(FIRST_CHARS_MAX).collect())
}

/// What is asked by its question tool.
fn question(input: &Value) -> Option<String> {
    let first = input["questions"].as_array().and_then(|all| all.first()).unwrap_or(input);
    first["question"].as_str().or_else(|| first["header"].as_str()).map(str::to_owned)
}

/// A call that needs a person's word is not among its events: only stderr tells.
fn denials(seen: Denials, stderr: &str) -> Denials {
    const ASKED: &str = "permission requested:";
    let mut asked = stderr.lines().filter_map(|line| line.split_once(ASKED)).map(|(_, rest)| rest.trim());
    if seen.count > 0 {
        return seen;
    }
    let first = asked.next().map(|rest| rest.split(';').next().unwrap_or(rest).trim().to_owned());
    let count = u32::from(first.is_some()).saturating_add(u32::try_from(asked.count()).unwrap_or(u32::MAX));
    Denials { count, first }
}

/// Words for an end that no event explains.
fn words(step: &Step, stderr: &str) -> Option<String> {
    let last = || stderr.lines().map(str::trim).rfind(|line| !line.is_empty()).map(str::to_owned);
    match step {
        Step::Ended(reason) if reason == "length" => {
            Some("the answer of the model was cut at its longest length".to_owned())
        }
        Step::Ended(reason) if reason != "stop" => {
            last().or_else(|| Some(format!("its last step ended for the reason {reason}")))
        }
        Step::Malformed => Some("its last event cannot be read".to_owned()),
        Step::Open | Step::Ended(_) => last(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::json::JsonLines;
    use crate::agent::stream::Stream;

    const NOW: u64 = 1_800_000_000_000;

    fn read(lines: &[&str], ended: &Ended, stderr: &str) -> Reading {
        let mut stream = Stream::new(JsonLines::reader(OpencodeReader::default()));
        for line in lines {
            stream.push(format!("{line}\n").as_bytes());
        }
        let (asked, now_ms) = ("", NOW);
        stream.end(&End { ended, stderr: stderr.as_bytes(), asked, now_ms, utc_offset_s: 0, continued: true })
    }

    fn stopped(reason: &str) -> String {
        format!(r#"{{"type":"step_finish","sessionID":"a","part":{{"reason":"{reason}"}}}}"#)
    }

    fn said(session: &str, words: &str) -> String {
        format!(r#"{{"type":"text","sessionID":"{session}","part":{{"text":"{words}"}}}}"#)
    }

    #[test]
    fn exit_0_after_a_step_that_did_not_stop_is_no_success() {
        for (reason, failure) in
            [("length", Failure::Crash), ("unknown", Failure::Crash), ("content-filter", Failure::Refusal)]
        {
            let reading = read(&[&said("a", "hm"), &stopped(reason)], &Ended::Exit(0), "");
            assert_eq!((reading.terminal, reading.failure), (Terminal::Error, Some(failure)), "{reason}");
        }
        let reading = read(&[&said("a", "hm"), &stopped("tool-calls")], &Ended::Exit(0), "");
        assert_eq!((reading.terminal, reading.failure), (Terminal::Missing, Some(Failure::Crash)));
    }

    #[test]
    fn a_step_that_stopped_does_not_help_a_program_that_failed() {
        let reading = read(&[&said("a", "hm"), &stopped("stop")], &Ended::Exit(1), "it broke");
        assert_eq!((reading.terminal, reading.failure), (Terminal::Success, Some(Failure::Crash)));
        assert_eq!(reading.error.as_deref(), Some("it broke"));
    }

    #[test]
    fn a_call_that_nobody_was_there_to_allow_is_a_denial_and_ends_the_run() {
        let stderr = "\u{1b}[33m! \u{1b}[0mpermission requested: bash (cargo test); auto-rejecting\n";
        let reading = read(&[&stopped("tool-calls")], &Ended::Exit(0), stderr);
        assert_eq!(reading.failure, Some(Failure::Permission));
        assert_eq!(reading.denials, Denials { count: 1, first: Some("bash (cargo test)".to_owned()) });
    }

    #[test]
    fn a_call_that_a_rule_forbids_is_a_denial_and_the_run_goes_on() {
        let call = r#"{"type":"tool_use","sessionID":"a","part":{"tool":"bash","state":{"status":"error",
            "input":{"command":"cargo test"},
            "error":"The user has specified a rule which prevents you from using this specific tool call. Here are"}}}"#
            .replace('\n', " ");
        let reading = read(&[&call, &call, &said("a", "I could not"), &stopped("stop")], &Ended::Exit(0), "");
        assert_eq!(reading.denials, Denials { count: 2, first: Some("cargo test".to_owned()) });
        assert_eq!((reading.failure, reading.text.as_str()), (None, "I could not"));
    }

    #[test]
    fn another_sessions_words_and_words_in_the_users_name_are_not_the_agents() {
        let synthetic = r#"{"type":"text","sessionID":"a","part":{"text":"Continue","synthetic":true}}"#;
        let reading = read(&[&said("a", "mine"), &said("b", "not mine"), &stopped("stop")], &Ended::Exit(0), "");
        assert_eq!((reading.text.as_str(), reading.session.as_deref()), ("mine", Some("a")));
        let reading = read(&[&said("a", "a summary"), &stopped("stop"), synthetic], &Ended::Exit(0), "");
        assert_eq!((reading.text.as_str(), reading.terminal), ("", Terminal::Missing));
    }

    #[test]
    fn an_end_that_cannot_be_read_is_an_error_be_it_cut_or_over_the_cap() {
        let cut = r#"{"type":"step_finish","sessionID":"a","part":{"rea"#;
        let long = format!(r#"{{"type":"step_finish","x":"{}"}}"#, "x".repeat(crate::agent::stream::LINE_BYTES_MAX));
        for line in [cut, &long] {
            let reading = read(&[&said("a", "done"), line], &Ended::Exit(0), "");
            assert_eq!((reading.terminal, reading.failure), (Terminal::Malformed, Some(Failure::Crash)));
            assert_eq!(reading.malformed_lines, 1);
        }
        let reading = read(&[cut, &said("a", "done"), &stopped("stop")], &Ended::Exit(0), "");
        assert_eq!((reading.terminal, reading.failure), (Terminal::Success, None));
    }

    #[test]
    fn an_error_that_the_run_got_over_is_forgotten_and_one_that_it_did_not_is_told_though_we_stopped_it() {
        let error =
            r#"{"type":"error","sessionID":"a","error":{"name":"ContextOverflowError","data":{"message":"long"}}}"#;
        let reading = read(&[error, &said("a", "done"), &stopped("stop")], &Ended::Exit(0), "");
        assert_eq!((reading.failure, reading.error), (None, None));
        let reading = read(&[error], &Ended::ByUs, "");
        assert_eq!(reading.failure, Some(Failure::Context));
        let reading = read(&[&said("a", "working")], &Ended::ByUs, "");
        assert_eq!((reading.failure, reading.text.as_str()), (None, "working"));
    }

    #[test]
    fn a_session_whose_name_could_be_an_option_is_not_told() {
        for (name, expected) in [("ses_1-B", Some("ses_1-B")), ("", None), ("--share", None), ("a/b", None)] {
            let done = stopped("stop").replace("\"a\"", &format!("\"{name}\""));
            let reading = read(&[&said(name, "mine"), &said("b", "not mine"), &done], &Ended::Exit(0), "");
            assert_eq!((reading.session.as_deref(), reading.text.as_str()), (expected, "mine"), "{name}");
        }
    }

    #[test]
    fn a_limit_without_a_moment_of_its_own_counts_from_now() {
        let error = r#"{"type":"error","error":{"name":"APIError","data":{"statusCode":429.0,"responseHeaders":{"retry-after":"3"}}}}"#;
        let reading = read(&[error], &Ended::Exit(1), "");
        assert_eq!(reading.failure, Some(Failure::RateLimit));
        assert_eq!(reading.reset.map(|reset| reset.at_ms), Some(NOW + 3000));
    }

    #[test]
    fn tokens_and_money_are_summed_over_the_steps_and_what_is_not_told_is_not_zero() {
        let step = r#"{"type":"step_finish","part":{"reason":"tool-calls","cost":0.25,
            "tokens":{"input":10.0,"output":2,"reasoning":3,"cache":{"read":7}}}}"#
            .replace('\n', " ");
        let usage = read(&[&step, &step], &Ended::ByUs, "").usage;
        assert_eq!((usage.input_tokens, usage.output_tokens, usage.cache_read_tokens), (Some(20), Some(10), Some(14)));
        assert_eq!((usage.cache_creation_tokens, usage.cost_micros, usage.turns), (None, Some(500_000), Some(2)));
    }

    #[test]
    fn a_question_is_told_and_odd_lines_are_counted() {
        let question =
            r#"{"type":"tool_use","part":{"tool":"question","state":{"input":{"questions":[{"question":"Which?"}]}}}}"#;
        let lines = [question, "not json", "[1]", r#"{"type":7}"#, r#"{"type":"new_kind"}"#, "", &stopped("stop")];
        let reading = read(&lines, &Ended::Exit(0), "");
        assert_eq!(reading.question.as_deref(), Some("Which?"));
        assert_eq!((reading.malformed_lines, reading.unknown_lines, reading.failure), (3, 1, None));
    }

    #[test]
    fn a_session_that_is_not_there_is_lost() {
        let reading = read(&[], &Ended::Exit(1), "\u{1b}[91m\u{1b}[1mError: \u{1b}[0mSession not found");
        assert!(reading.session_lost);
        assert_eq!(reading.error.as_deref(), Some("Error: Session not found"));
    }
}
