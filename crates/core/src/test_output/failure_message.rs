//! One line for people about a gate that fails: its first failing test with the message, or what else helps most.
use super::excerpt::StreamLines;
use super::failure_lines::{Worth, is_error_name};
use super::{TestStatus, read};
use crate::text;

/// How much of the name of a test is shown, and how much of the message.
const NAME_LETTERS_MAX: usize = 60;
const MESSAGE_LETTERS_MAX: usize = 100;
/// So many lines after the head of a failure may hold its message.
const HEAD_LINES_MAX: usize = 60;

/// What a person should read first of the output of a gate that failed; none where nothing of it helps. It is never a
/// line of make or npm, nor a summary that only repeats how many tests there are.
#[must_use]
pub fn failure_message(stdout: &[u8], stderr: &[u8]) -> Option<String> {
    let streams = [StreamLines::new("stderr", stderr), StreamLines::new("stdout", stdout)];
    let tests = read(stdout, stderr);
    let failing = tests.iter().flat_map(|tests| &tests.statuses);
    let failing: Vec<&str> =
        failing.filter(|(_, status)| **status == TestStatus::Failed).map(|(id, _)| id.as_str()).collect();
    let lines: Vec<&[(String, Worth)]> = streams.iter().map(|stream| stream.lines.as_slice()).collect();
    let first = lines.iter().find_map(|lines| first_failing(lines, &failing));
    if let Some((name, message)) = first {
        let name = text::one_line(name, NAME_LETTERS_MAX);
        return Some(message.map_or_else(|| name.clone(), |message| format!("{name}: {message}")));
    }
    let message = lines.iter().find_map(|lines| message_in(lines));
    let named = failing.first().map(|name| text::one_line(name, NAME_LETTERS_MAX));
    match (named, message) {
        (Some(name), Some(message)) if failing.len() == 1 => Some(format!("{name}: {message}")),
        // Whose message it is, is not known.
        (Some(name), Some(_)) => Some(name),
        (None, Some(message)) => Some(message),
        (Some(name), None) => Some(name),
        (None, None) => lines.iter().find_map(|lines| last_useful(lines)),
    }
}

/// The failing test whose details come first, and its message.
fn first_failing<'a>(lines: &[(String, Worth)], failing: &[&'a str]) -> Option<(&'a str, Option<String>)> {
    let mut without_message = None;
    for (at, (line, worth)) in lines.iter().enumerate() {
        if *worth != Worth::Failure || repeats_counts(line) {
            continue;
        }
        let Some(name) = failing.iter().filter(|id| names(line, id)).max_by_key(|id| id.len()) else { continue };
        let rest = lines.get(at + 1..).unwrap_or_default();
        // The details of the next test are not this one's.
        let other = |line: &str| failing.iter().any(|id| id != name && names(line, id));
        let end = rest.iter().take(HEAD_LINES_MAX).position(|(line, worth)| *worth == Worth::Failure && other(line));
        let details = rest.get(..end.unwrap_or(rest.len().min(HEAD_LINES_MAX))).unwrap_or_default();
        match message_in(details) {
            Some(message) => return Some((*name, Some(message))),
            None => without_message = without_message.or(Some((*name, None))),
        }
    }
    without_message
}

/// Whether a line names a test: by the last part of its id, as a whole word.
fn names(line: &str, id: &str) -> bool {
    let parts = [" > ", " › ", "::"];
    let last = parts.iter().fold(id, |rest, part| rest.rsplit(part).next().unwrap_or(rest));
    // The name of a package or file comes first.
    let last = if last == id { id.split_once(' ').map_or(id, |(_, name)| name) } else { last };
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    line.match_indices(last).any(|(from, found)| {
        let before = line.get(..from).and_then(|before| before.chars().next_back());
        let after = line.get(from + found.len()..).and_then(|after| after.chars().next());
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    })
}

/// The first message among lines that are about a failure, with what belongs to it.
fn message_in(lines: &[(String, Worth)]) -> Option<String> {
    let failures = || lines.iter().enumerate().filter(|(_, (_, worth))| *worth == Worth::Failure);
    let (at, said) = failures().find_map(|(at, (line, _))| Some((at, message(line)?)))?;
    let mut said = said.to_owned();
    let mut rest = lines.iter().skip(at + 1).map(|(line, _)| line.trim()).filter(|line| !line.is_empty());
    // What a list of differences begins with says nothing.
    let is_text = |line: &&str| line.chars().any(char::is_alphanumeric) && *line != "+ actual - expected";
    // The next line says it, and once more after `error: |-`.
    for _ in 0..2 {
        if !said.is_empty() && !said.ends_with(':') {
            break;
        }
        let next = rest.next().filter(is_text).unwrap_or_default();
        let next = next.strip_prefix("E ").map_or(next, str::trim);
        said = format!("{said} {next}").trim().to_owned();
    }
    for more in rest.take(2) {
        let detail = ["left: ", "right: ", "Expected: ", "Received: "].iter().any(|begin| more.starts_with(begin));
        if !detail {
            break;
        }
        said = format!("{said}, {more}");
    }
    if said.ends_with(':') {
        said.pop();
    }
    Some(text::one_line(&said, MESSAGE_LETTERS_MAX)).filter(|said| !said.is_empty())
}

/// What a line says is wrong; empty where the next line says it.
fn message(line: &str) -> Option<&str> {
    let rest = line.trim();
    if let Some(said) = rest.strip_prefix("E  ") {
        return Some(said.trim());
    }
    if rest.starts_with("thread '") && rest.contains(" panicked at") {
        return Some("");
    }
    if let Some(said) = rest.strip_prefix("error: ").filter(|_| line.starts_with(' ')) {
        // The details of a TAP point.
        let said = said.trim_matches(['\'', '"']);
        return Some(if ["|-", "|", ">-", ">"].contains(&said) { "" } else { said });
    }
    if rest.starts_with("expect(") || is_place_with_text(rest) {
        return Some(rest);
    }
    let compiler = ["error: ", "error[", "fatal error: "].iter().any(|begin| rest.starts_with(begin))
        || [": error: ", ": fatal error: ", "error TS"].iter().any(|word| rest.contains(word));
    if compiler && !rest.starts_with("error: test failed") && !rest.starts_with("error: could not compile") {
        return Some(rest);
    }
    if let Some((_, said)) = rest.split_once("[ERR_ASSERTION]: ") {
        return Some(said);
    }
    is_error_name(rest).then_some(rest)
}

/// `calc_test.go:8: add(2, 3) = -1`.
fn is_place_with_text(rest: &str) -> bool {
    let Some((place, _)) = rest.split_once(": ") else { return false };
    let mut parts = place.split(':');
    let file = parts.next().is_some_and(|file| file.ends_with(".go") && !file.contains(' '));
    let mut numbers = parts.peekable();
    file && numbers.peek().is_some()
        && numbers.all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The last line that is neither a summary nor from a program that only started the gate.
fn last_useful(lines: &[(String, Worth)]) -> Option<String> {
    let useful =
        |line: &&(String, Worth)| line.1 != Worth::Noise && !line.0.trim().is_empty() && !repeats_counts(&line.0);
    lines.iter().rev().find(useful).map(|(line, _)| text::one_line(line, MESSAGE_LETTERS_MAX))
}

/// A line of make, npm and others that start a gate, or one that only says how many tests there are or how long they
/// took.
fn repeats_counts(line: &str) -> bool {
    let rest = line.trim();
    let make = rest.strip_prefix("make").or_else(|| rest.strip_prefix("gmake"));
    let make = make.is_some_and(|rest| rest.starts_with(": ") || (rest.starts_with('[') && rest.contains("]: ")));
    let begins = [
        "npm ERR!",
        "npm error",
        "pnpm: ",
        " ELIFECYCLE",
        "ELIFECYCLE",
        "error Command failed",
        "info Visit ",
        "FAILED (",
        "Ran ",
        "test result: ",
        "error: test failed",
        "Test Suites: ",
        "Tests: ",
        "Test Files ",
        "Tests  ",
        "Snapshots: ",
        "Time: ",
        "Duration ",
        "Start at ",
        "FAIL\t",
        "exit status ",
        "Summary [",
        "1..",
    ];
    let count = rest.strip_prefix("# ").or_else(|| rest.strip_prefix("ℹ ")).is_some_and(|rest| {
        let words = ["tests", "suites", "pass", "fail", "cancelled", "skipped", "todo", "duration_ms"];
        rest.split_once(' ').is_some_and(|(word, _)| words.contains(&word))
    });
    make || count
        || rest == "FAIL"
        || rest == "OK"
        || begins.iter().any(|begin| rest.starts_with(begin))
        || rest.chars().all(|letter| "=-_─⎯.*#".contains(letter))
        || (rest.starts_with("==") && rest.ends_with("=="))
        || is_pytest_count(rest)
}

/// `2 failed, 1 passed in 0.03s`.
fn is_pytest_count(rest: &str) -> bool {
    let counts = ["failed", "passed", "error", "errors", "skipped", "warnings"];
    rest.contains(" in ")
        && rest.split_whitespace().nth(1).is_some_and(|word| counts.contains(&word.trim_end_matches(',')))
}
