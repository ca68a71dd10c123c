//! Recorded runs of real programs, read by our readers, against files that a person can read.
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use loop_core::agent::{ADAPTERS, Adapter, Begin, End, Reading, Stream, adapter};
use loop_core::run::Ended;

/// What the clock showed when the recordings were read: one moment for all of them, 2026-11-15T19:00:00Z.
const NOW_MS: u64 = 1_794_769_200_000;

pub(crate) fn folder() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "..", "testkit", "transcripts"].iter().collect()
}

/// One recorded run.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    pub(crate) ended: Ended,
    pub(crate) continued: bool,
    /// What the session had used before, by the recording that this one follows.
    pub(crate) begin: Begin,
}

fn cases(agent: &str) -> Vec<Case> {
    let folder = folder().join(agent);
    let mut names: Vec<String> = fs::read_dir(&folder)
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().to_str().unwrap().strip_suffix(".json").map(str::to_owned))
        .collect();
    names.sort();
    names.into_iter().map(|name| case(&folder, name)).collect()
}
fn case(folder: &std::path::Path, name: String) -> Case {
    let read = |ending: &str| crate::bytes_of(folder.join(format!("{name}.{ending}")));
    let meta: serde_json::Value = serde_json::from_slice(&read("json")).unwrap();
    let ended = if meta["timed_out_by_recorder"] == true {
        Ended::ByUs
    } else if let Some(code) = meta["exit_code"].as_i64() {
        Ended::Exit(i32::try_from(code).unwrap())
    } else {
        let signal = if meta["term_signal"].to_string().contains("KILL") { 9 } else { 15 };
        Ended::Signal(signal)
    };
    let argv = meta["argv"].to_string();
    let continued = ["resume", "--session\"", "--continue"].iter().any(|word| argv.contains(word));
    let before = meta["after"].as_str().map(|before| case(folder, before.to_owned()));
    let agent = folder.file_name().and_then(|name| adapter(name.to_str()?));
    let used = before.zip(agent).map(|(before, agent)| read_case(agent, &before, &[&before.stdout]).usage);
    let begin = Begin { used: used.unwrap_or_default() };
    Case { stdout: read("stdout"), stderr: read("stderr"), name, ended, continued, begin }
}

pub(crate) fn read_case(agent: &Adapter, case: &Case, pieces: &[&[u8]]) -> Reading {
    let mut stream = Stream::new((agent.reader)(case.begin));
    for piece in pieces {
        stream.push(piece);
    }
    let end = End {
        ended: &case.ended,
        stderr: &case.stderr[case.stderr.len().saturating_sub(4096)..],
        asked: "",
        now_ms: NOW_MS,
        utc_offset_s: 0,
        continued: case.continued,
    };
    stream.end(&end)
}

/// One case for people: what is not there is left out.
pub(crate) fn shown(case: &Case, reading: &Reading) -> String {
    let mut out = format!("== {} ({})\n", case.name, case.ended.brief());
    let mut line = |name: &str, value: Option<String>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            writeln!(out, "{name}: {}", value.replace('\n', "\n    ")).unwrap();
        }
    };
    let usage = &reading.usage;
    let count = |name: &str, value: Option<u64>| value.map(|value| format!("{name} {value}"));
    let counts = [
        count("in", usage.input_tokens),
        count("out", usage.output_tokens),
        count("cache read", usage.cache_read_tokens),
        count("cache made", usage.cache_creation_tokens),
        count("micros", usage.cost_micros),
        count("turns", usage.turns.map(u64::from)),
        count("tools", reading.tool_calls.map(u64::from)),
    ];
    line("terminal", Some(format!("{:?}", reading.terminal).to_lowercase()));
    line("failure", reading.failure.map(|failure| failure.word().to_owned()));
    line(
        "reset",
        reading.reset.map(|reset| {
            let ahead = i64::try_from(reset.at_ms).unwrap() - i64::try_from(NOW_MS).unwrap();
            format!("{} s after the recording was read, by {:?}", ahead / 1000, reset.source)
        }),
    );
    let windows: Vec<String> = reading
        .windows
        .iter()
        .map(|window| {
            let used = window.used_permille.map_or("?".to_owned(), |used| used.to_string());
            let resets = window.resets_ms.map_or("?".to_owned(), |at| at.to_string());
            format!("{} {used} of 1000, resets {resets}, {:?}, {:?}", window.name, window.state, window.source)
        })
        .collect();
    line("windows", Some(windows.join("; ")));
    line("error", reading.error.clone());
    line("budget hit", reading.budget_hit.then(|| "yes".to_owned()));
    line("session", reading.session.clone());
    line("session lost", reading.session_lost.then(|| "yes".to_owned()));
    line("usage", Some(counts.into_iter().flatten().collect::<Vec<_>>().join(", ")));
    let first = reading.denials.first.clone().unwrap_or_default();
    line("denied", (reading.denials.count > 0).then(|| format!("{} (first: {first})", reading.denials.count)));
    line("question", reading.question.clone());
    let odd = reading.malformed_lines + reading.unknown_lines;
    line(
        "odd lines",
        (odd > 0).then(|| format!("{} malformed, {} unknown", reading.malformed_lines, reading.unknown_lines)),
    );
    line("claimed", reading.claimed.as_ref().map(|claim| serde_json::to_string(claim).unwrap()));
    line("block", reading.block_error.clone());
    let text: String = reading.text.chars().take(600).collect();
    line("text", Some(text));
    out
}

fn compare(name: &str) {
    let agent = adapter(name).unwrap();
    let text: Vec<String> =
        cases(name).iter().map(|case| shown(case, &read_case(agent, case, &[&case.stdout]))).collect();
    expect_test::expect_file![folder().join(format!("{name}.expect"))].assert_eq(&text.join("\n"));
}

/// Cutting the bytes anywhere changes nothing.
fn cut(name: &str) {
    cut_cases(adapter(name).unwrap(), &cases(name));
}

/// The same for these.
pub(crate) fn cut_cases(agent: &Adapter, cases: &[Case]) {
    let mut seed: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut next = move |most: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        usize::try_from(seed % u64::try_from(most).unwrap()).unwrap()
    };
    for case in cases {
        let whole = read_case(agent, case, &[&case.stdout]);
        for _ in 0..5 {
            let (mut rest, mut pieces) = (&case.stdout[..], Vec::new());
            while !rest.is_empty() {
                let most = [1, 7, 300, 5000][next(4)];
                let (piece, after) = rest.split_at(rest.len().min(1 + next(most)));
                pieces.push(piece);
                rest = after;
            }
            assert_eq!(read_case(agent, case, &pieces), whole, "{}/{}", agent.name, case.name);
        }
    }
}

/// The agents that somebody could try; those behind a bridge have tests of their own.
fn recorded() -> impl Iterator<Item = &'static Adapter> {
    ADAPTERS.iter().filter(|agent| !agent.behind_bridge && agent.tried.is_some())
}

// req: C-05
#[test]
fn every_recorded_run_reads_as_the_file_says() {
    recorded().for_each(|agent| compare(agent.name));
}

#[test]
fn bytes_that_come_in_other_pieces_read_the_same() {
    recorded().for_each(|agent| cut(agent.name));
}

#[test]
fn an_agent_that_is_added_is_missed_until_it_is_recorded() {
    assert!(recorded().all(|agent| cases(agent.name).len() >= 5));
    let added = crate::registry::added();
    assert!(
        added.tried.is_some() && fs::read_dir(folder().join(added.name)).is_err(),
        "its recordings would not be found"
    );
}
