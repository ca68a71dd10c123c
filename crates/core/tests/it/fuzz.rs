//! Recorded runs, spoiled in every way: no reader may panic, hold more than it should, or depend on where the bytes were cut.
//!
//! Each target runs for its share of a minute, for `FUZZ_SECONDS` where that is set, and from `FUZZ_SEED` where one failed before. An
//! input that comes out in a new way is kept and spoiled further (`docs/decisions/0022-fuzzing.md`).
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    reason = "a test that reads recordings, is told how long to run, and says how much it tried"
)]
use std::collections::BTreeSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use loop_core::agent::claims::{markers, status_block};
use loop_core::agent::plain_text::TextReader;
use loop_core::agent::provider::reset as limits;
use loop_core::agent::{ADAPTERS, Adapter, Begin, End, Reader, Reading, Stream};
use loop_core::run::Ended;

/// The targets together take a minute.
const SECONDS: u64 = 6;
/// The longest input: long enough for every bound but the cap of a line.
const INPUT_BYTES_MAX: usize = 256 * 1024;
/// How many inputs are kept for what came of them.
const KEPT_MAX: usize = 400;
/// No reader keeps more of a final message, and no more of anything else.
const TEXT_BYTES_MAX: usize = 1024 * 1024;
const OTHER_BYTES_MAX: usize = 256 * 1024;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// Numbers from a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(most.max(1)).unwrap()).unwrap()
    }

    fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }
}

/// What readers stumble over.
const TOKENS: &[&[u8]] = &[
    b"{",
    b"}",
    b"[",
    b"]",
    b"\"",
    b"\\",
    b":",
    b",",
    b"null",
    b"true",
    b"-1",
    b"1e999",
    b"18446744073709551616",
    b"0.1",
    b"\"\"",
    b"{}",
    b"[]",
    b"\n",
    b"\r\n",
    b"\n\n",
    b"\0",
    b"\xff",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\\ud800",
    b"\\u0000",
    b"\xf0\x9f\x98\x80",
    b"\x1b[0m",
    b"\x1b]0;",
    b"\"type\":\"result\"",
    b"\"type\":\"assistant\"",
    b"\"is_error\":true",
    b"\"status\":429",
    b"\"session_id\":null",
    b"\"text\":[{}]",
    b"\"content\":\"x\"",
    b"\"usage\":[]",
    b"\"error\":{\"message\":1}",
    b"---LOOP_STATUS---\n",
    b"---END_LOOP_STATUS---\n",
    b"---LOOPR_STATUS---\\nSTATUS: COMPLETE\\n---END_LOOPR_STATUS---",
    b"```\n",
    b"~~~",
    b"> ",
    b"    ",
    b"STATUS: COMPLETE\n",
    b"EXIT_SIGNAL: true\n",
    b"<promise>",
    b"</promise>",
    b"<progress>a</progress>",
    b"rate limit",
    b"try again at 99:99 PM",
    b"resets Feb 31, 3am",
    b"in 9999999999999999999 hours",
    b"retry-after: -5",
    b"2026-13-45T99:99:99Z",
    b"For example:\n",
];

/// One input, spoiled a few times over.
fn spoiled(dice: &mut Dice, from: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = from[dice.below(from.len())].clone();
    for _ in 0..=dice.below(5) {
        let at = dice.below(bytes.len() + 1);
        match dice.below(9) {
            0 => bytes.truncate(at),
            1 if at < bytes.len() => bytes[at] ^= 1 << dice.below(8),
            2 => drop(bytes.splice(at..at, dice.pick(TOKENS).iter().copied())),
            3 => {
                let to = (at + dice.below(200)).min(bytes.len());
                drop(bytes.splice(at..to, dice.pick(TOKENS).iter().copied()));
            }
            4 => {
                let other = &from[dice.below(from.len())];
                bytes.truncate(at);
                bytes.extend_from_slice(&other[dice.below(other.len() + 1)..]);
            }
            5 => lines_moved(dice, &mut bytes),
            6 => {
                let deep = dice.pick::<[u8]>(&[b"[", b"{\"a\":", b"[{\"content\":"]).repeat(1 + dice.below(3000));
                drop(bytes.splice(at..at, deep));
            }
            7 => {
                let letter = dice.pick::<[u8]>(&[b"9", b"x", b"\\n", b" ", b"`", b"\xe2"]).repeat(1 + dice.below(5000));
                drop(bytes.splice(at..at, letter));
            }
            _ => value_replaced(dice, &mut bytes, at),
        }
    }
    bytes.truncate(INPUT_BYTES_MAX);
    bytes
}

/// A line goes, comes twice, or changes places.
fn lines_moved(dice: &mut Dice, bytes: &mut Vec<u8>) {
    let mut lines: Vec<Vec<u8>> = bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    if lines.is_empty() {
        return;
    }
    let (one, other) = (dice.below(lines.len()), dice.below(lines.len()));
    match dice.below(3) {
        0 => drop(lines.remove(one)),
        1 => lines.insert(other, lines[one].clone()),
        _ => lines.swap(one, other),
    }
    *bytes = lines.concat();
}

/// What stands after the next colon becomes something else.
fn value_replaced(dice: &mut Dice, bytes: &mut Vec<u8>, at: usize) {
    let Some(colon) = bytes[at..].iter().position(|byte| *byte == b':').map(|colon| at + colon + 1) else { return };
    let end = bytes[colon..]
        .iter()
        .position(|byte| matches!(byte, b',' | b'}' | b'\n'))
        .map_or(bytes.len(), |end| colon + end);
    drop(bytes.splice(colon..end, dice.pick(TOKENS).iter().copied()));
}

/// How many recordings of each agent are taken for one that has none.
const BORROWED_MAX: usize = 4;

/// The recorded outputs of one agent; for one without recordings, some of all others.
fn recorded(agent: &str) -> Vec<Vec<u8>> {
    let folder = crate::transcripts::folder();
    let own = folder.join(agent);
    if own.is_dir() {
        return outputs(&own);
    }
    let all = ADAPTERS.iter().map(|other| folder.join(other.name)).filter(|folder| folder.is_dir());
    all.flat_map(|folder| outputs(&folder).into_iter().take(BORROWED_MAX)).collect()
}

/// What the recorded runs in this folder printed.
fn outputs(folder: &Path) -> Vec<Vec<u8>> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut outputs: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|end| end == "stdout")).collect();
    outputs.sort();
    let read = |path: &PathBuf| {
        let mut bytes = crate::bytes_of(path);
        bytes.truncate(INPUT_BYTES_MAX);
        bytes
    };
    outputs.iter().map(read).collect()
}

fn read(reader: Box<dyn Reader>, dice: &mut Dice, bytes: &[u8], whole: bool) -> Reading {
    let mut stream = Stream::new(reader);
    let mut rest = bytes;
    while !rest.is_empty() {
        let most = if whole { rest.len() } else { 1 + dice.below(3000) };
        let (piece, after) = rest.split_at(most.min(rest.len()));
        stream.push(piece);
        rest = after;
    }
    let code = i32::try_from(bytes.len() % 3).unwrap();
    let end = End {
        ended: &Ended::Exit(if code == 2 { 1 } else { 0 }),
        stderr: &bytes[bytes.len() - bytes.len().min(500)..],
        asked: "Fix it.",
        now_ms: 1_794_769_200_000,
        utc_offset_s: 3600,
        continued: code == 1,
    };
    stream.end(&end)
}

/// In what two readings differ, roughly: what is new is worth spoiling further.
fn outcome(reading: &Reading) -> String {
    let some = [
        reading.text.is_empty(),
        reading.session.is_some(),
        reading.session_lost,
        reading.usage.input_tokens.is_some(),
        reading.usage.cost_micros.is_some(),
        reading.denials.count > 0,
        reading.question.is_some(),
        reading.budget_hit,
        reading.claimed.is_some(),
        reading.block_error.is_some(),
        reading.promise.is_some(),
    ];
    let size = |count: u32| count.min(3);
    let source = reading.reset.map(|reset| reset.source);
    let lines = (size(reading.malformed_lines), size(reading.unknown_lines), reading.tool_calls.map(size));
    format!("{:?} {:?} {source:?} {lines:?} {some:?}", reading.terminal, reading.failure)
}

fn bounded(reading: &Reading) -> bool {
    let short = |text: &Option<String>| text.as_ref().is_none_or(|text| text.len() <= OTHER_BYTES_MAX);
    let progress: usize = reading.progress.iter().map(String::len).sum();
    reading.text.len() <= TEXT_BYTES_MAX + 4096
        && [&reading.error, &reading.question, &reading.session, &reading.promise, &reading.denials.first]
            .into_iter()
            .all(short)
        && progress <= OTHER_BYTES_MAX
}

/// Runs a target until its time is up. The target says what came of an input, and `Err` with what is wrong.
fn fuzz(name: &str, inputs: Vec<Vec<u8>>, target: impl Fn(&mut Dice, &[u8]) -> Result<String, String>) {
    fuzz_for(seconds(), name, inputs, target);
}

/// How long one target runs.
fn seconds() -> Duration {
    Duration::from_secs(number("FUZZ_SECONDS").unwrap_or(SECONDS))
}

/// The same for so long.
fn fuzz_for(
    length: Duration,
    name: &str,
    mut inputs: Vec<Vec<u8>>,
    target: impl Fn(&mut Dice, &[u8]) -> Result<String, String>,
) {
    let one = number("FUZZ_SEED");
    let first = one.unwrap_or_else(|| u64::try_from(length.as_nanos() % 1_000_003).unwrap() + 1);
    let (begin, mut seen, mut rounds) = (Instant::now(), BTreeSet::new(), 0_u64);
    while begin.elapsed() < length && (one.is_none() || rounds == 0) {
        let seed = first + rounds;
        let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let bytes = spoiled(&mut dice, &inputs);
        let came = catch_unwind(AssertUnwindSafe(|| target(&mut dice, &bytes)))
            .unwrap_or_else(|_| Err("it panicked".to_owned()));
        match came {
            Ok(outcome) => {
                if inputs.len() < KEPT_MAX && seen.insert(outcome) {
                    inputs.push(bytes);
                }
            }
            Err(error) => {
                let path = std::env::temp_dir().join(format!("loop-fuzz-{name}-{seed}"));
                fs::write(&path, &bytes).unwrap();
                panic!("{name}: {error}; the input is in {}", path.display());
            }
        }
        rounds += 1;
    }
    println!("{name}: {rounds} inputs, {} ways to come out", seen.len());
    assert!(rounds > 0);
}

/// Fuzzes the reader of one agent for so long.
fn stream(agent: &Adapter, length: Duration) {
    let reader = || (agent.reader)(Begin::default());
    fuzz_for(length, agent.name, recorded(agent.name), |dice, bytes| {
        let whole = read(reader(), dice, bytes, true);
        let pieces = read(reader(), dice, bytes, false);
        if whole != pieces {
            return Err(format!("in pieces it reads otherwise:\n{whole:?}\n{pieces:?}"));
        }
        if !bounded(&whole) {
            return Err("it keeps too much".to_owned());
        }
        Ok(outcome(&whole))
    });
}

#[test]
fn the_stream_of_every_agent() {
    let agents: Vec<&Adapter> = ADAPTERS.iter().filter(|agent| !agent.behind_bridge).collect();
    // They run side by side. On two cores each gets what it would get alone; a long run lasts as long as it is told to.
    let share = u32::try_from(agents.len().div_ceil(2)).unwrap();
    let length = if seconds() < Duration::from_secs(60) { seconds() * share } else { seconds() };
    std::thread::scope(|scope| {
        let running: Vec<_> = agents.iter().map(|agent| scope.spawn(move || stream(agent, length))).collect();
        let failed = running.into_iter().filter_map(|one| one.join().err()).count();
        assert_eq!(failed, 0, "see above");
    });
}

#[test]
fn the_stream_of_an_agent_that_is_added_and_not_recorded() {
    assert!(recorded("example").len() > 20, "recordings of all agents");
    stream(&crate::registry::added(), seconds());
}

/// What agents say in the end, true and false: blocks, fences, marks, limits.
fn texts() -> Vec<Vec<u8>> {
    let texts = [
        "Done.\n\n---LOOP_STATUS---\nSTATUS: COMPLETE\nTASKS_COMPLETED_THIS_LOOP: 1\nFILES_MODIFIED: 2\nEXIT_SIGNAL: true\n---END_LOOP_STATUS---\n",
        "For example:\n```\n---LOOPR_STATUS---\nSTATUS: BLOCKED\nERRORS: 1\nSUMMARY: x\n---END_LOOPR_STATUS---\n```\nand so on\n",
        "> quoted\n    indented\n~~~\n<promise>COMPLETE</promise>\n~~~\n<progress>a</progress> <progress>b</progress>\n",
        "You've hit your usage limit. Upgrade, or try again at 3:45 PM.\nrate limit reached, please try again in 20s\n",
        "Your limit resets Nov 17, 3am (Europe/Berlin). Quota will reset after 1h2m3s. retry-after: 30\n2026-11-16T06:00:00Z\n",
    ];
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

#[test]
fn text() {
    fuzz("text", texts(), |dice, bytes| {
        let whole = read(Box::new(TextReader::default()), dice, bytes, true);
        let text = String::from_utf8_lossy(bytes);
        let half = text.len() / 2;
        let half = (half..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let block = status_block::last(&text, &text[half..]);
        let marks = markers::find(&text, &text[..half]);
        let reset = limits::in_words(&text, limits::Clock { now_ms: 1_794_769_200_000, utc_offset_s: 3600 });
        if block.claim.is_some() && block.error.is_some() {
            return Err("a claim and an error".to_owned());
        }
        let echo = status_block::last(&text, &text);
        if echo.claim.is_some() {
            return Err(format!("an echo of everything counts: {echo:?}"));
        }
        if !bounded(&whole) || marks.progress.len() > markers::PROGRESS_MAX {
            return Err("it keeps too much".to_owned());
        }
        Ok(format!(
            "{:?} {} {:?} {} {}",
            block.claim.is_some(),
            reset.is_some(),
            block.error,
            marks.promise.is_some(),
            marks.progress.len().min(3)
        ))
    });
}
