//! What it costs to read a stream of Claude's; `cargo xtask bench --only parser` reads what it prints.
//!
//! `speed ROUNDS MIB` prints a line a round: nanoseconds on the processor for a plain search of line ends, and for our reader, over the
//! same bytes in turns. `memory MIB` reads a stream of that length, the same lines over and over, and prints the most memory that was held, in KiB.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a measurement, read by xtask"
)]
use std::hint::black_box;

use loop_core::agent::{Begin, End, Stream, Terminal, adapter};
use loop_core::run::Ended;
use serde_json::{Value, json};

/// What comes from a pipe at once.
const PIECE: usize = 64 * 1024;
const SESSION: &str = "d9de16de-3af6-475a-bf41-308471ff016d";

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| words.get(at).and_then(|word| word.parse::<usize>().ok()).unwrap();
    match words.first().map(String::as_str) {
        Some("speed") => speed(number(1), number(2)),
        Some("memory") => memory(number(1)),
        _ => panic!("speed ROUNDS MIB, or memory MIB"),
    }
}

/// At least so many bytes of whole lines.
fn lines(mib: usize) -> Vec<u8> {
    let mut lines = Lines::default();
    let mut bytes = Vec::new();
    while bytes.len() < mib << 20 {
        bytes.extend_from_slice(&lines.next_line());
    }
    bytes
}

fn speed(rounds: usize, mib: usize) {
    let mut bytes = lines(mib);
    bytes.extend_from_slice(&last_line());
    for _ in 0..rounds {
        let scan = timed(|| black_box(memchr::memchr_iter(b'\n', black_box(&bytes)).count()));
        let read = timed(|| read(bytes.chunks(PIECE)));
        println!("{scan} {read}");
    }
}

/// The same lines again and again: whatever more is held after a longer stream is the reader's.
fn memory(mib: usize) {
    let bytes = lines(16);
    let mut stream = begin();
    let mut length = 0;
    while length < mib << 20 {
        for piece in bytes.chunks(PIECE) {
            black_box(stream.push(piece));
        }
        length += bytes.len();
    }
    black_box(stream.push(&last_line()));
    finish(stream);
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    println!("{}", most.trim().trim_end_matches(" kB"));
}

fn begin() -> Stream {
    Stream::new((adapter("claude").unwrap().reader)(Begin::default()))
}

fn read<'a>(pieces: impl Iterator<Item = &'a [u8]>) {
    let mut stream = begin();
    for piece in pieces {
        black_box(stream.push(piece));
    }
    finish(stream);
}

/// A stream that was not understood would be read in no time.
fn finish(stream: Stream) {
    let end = End { ended: &Ended::Exit(0), stderr: b"", asked: "", now_ms: 0, utc_offset_s: 0, continued: false };
    let reading = stream.end(&end);
    assert_eq!((reading.terminal, reading.malformed_lines), (Terminal::Success, 0));
    assert!(reading.claimed.is_some_and(|claim| claim.complete()));
    assert!(reading.tool_calls.is_some_and(|calls| calls > 0));
}

/// Time on the processor, which others on the machine do not lengthen.
fn timed<T>(work: impl FnOnce() -> T) -> u64 {
    let spent = || -> u64 {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
        text.split_whitespace().next().unwrap().parse().unwrap()
    };
    // The figure is brought up to date when the thread gives way.
    std::thread::yield_now();
    let before = spent();
    black_box(work());
    std::thread::yield_now();
    spent() - before
}

/// Lines without end, of 313 bytes to 5 MB, in the mix of a long session: mostly pieces of text, some messages and tool calls,
/// results of a few KiB, now and then a whole log.
#[derive(Default)]
struct Lines {
    count: usize,
    seed: u64,
}

impl Lines {
    fn below(&mut self, most: usize) -> usize {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.seed >> 33).unwrap() % most
    }

    fn next_line(&mut self) -> Vec<u8> {
        self.count += 1;
        let value = match self.count % 200 {
            1 if self.count == 1 => {
                json!({"type":"system","subtype":"init","cwd":"/workspace","session_id":SESSION,"model":"m","tools":["Bash"]})
            }
            // The longest comes early, so that a short stream has met it too.
            2 if self.count == 2 => self.result(5_000_000, 1),
            0 => self.result(1_000_000, 4_000_000),
            at if at % 20 == 0 => self.result(20_000, 200_000),
            at if at % 5 == 0 => self.result(500, 16_000),
            at if at % 5 == 1 => {
                let command = self.words(400);
                assistant(
                    &json!({"type":"tool_use","id":"toolu_0174816ab6b5bb4fc2ad3588","name":"Bash","input":{"command":command}}),
                )
            }
            at if at % 5 == 2 => {
                let length = 200 + self.below(6000);
                let text = self.words(length);
                assistant(&json!({"type":"text","text":text}))
            }
            _ => {
                let text = self.words(30);
                json!({"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":text}},
                    "session_id":SESSION,"parent_tool_use_id":null,"uuid":"842cb47a-6a89-4d0f-bc57-603b6e19c1d8"})
            }
        };
        format!("{}\n", in_order(&value)).into_bytes()
    }

    fn result(&mut self, least: usize, more: usize) -> Value {
        let length = least + self.below(more);
        let text = self.words(length);
        json!({"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_0174816ab6b5bb4fc2ad3588","type":"tool_result","content":text}]},
            "parent_tool_use_id":null,"session_id":SESSION,"uuid":"634a3630-c607-4a47-a16a-f9aeefa72904"})
    }

    /// Text as programs print it: words, quotes, line ends, a path now and then.
    fn words(&mut self, length: usize) -> String {
        const WORDS: [&str; 8] =
            ["error", "the test", "\n", "\"name\"", "src/lib.rs:42", "passed", "→", "\tlet value = 1;"];
        let mut text = String::with_capacity(length + 20);
        while text.len() < length {
            text.push_str(WORDS[self.below(WORDS.len())]);
            text.push(' ');
        }
        text
    }
}

fn assistant(content: &Value) -> Value {
    json!({"type":"assistant","message":{"id":"msg_01e9bc7801ae2141c382771d1b","type":"message","role":"assistant","model":"claude-opus-4-8","content":[content],
        "stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1200,"output_tokens":1}},"parent_tool_use_id":null,"session_id":SESSION,
        "uuid":"54118172-9a48-4e0e-9234-d23d57bf2e78"})
}

fn last_line() -> Vec<u8> {
    let block = "Done.\n\n---LOOP_STATUS---\nSTATUS: COMPLETE\nEXIT_SIGNAL: true\n---END_LOOP_STATUS---\n";
    let said =
        in_order(&assistant(&json!({"type":"text","text":block}))).replace("msg_01e9bc7801ae2141c382771d1b", "msg_2");
    let result = json!({"type":"result","subtype":"success","is_error":false,"num_turns":3,"result":block,"session_id":SESSION,
        "total_cost_usd":0.01,"usage":{"input_tokens":1400,"output_tokens":100}});
    format!("{said}\n{}\n", in_order(&result)).into_bytes()
}

/// A value with its fields in the order in which the real programs write them, by which readers may take a short way.
fn in_order(value: &Value) -> String {
    const MESSAGE: [&str; 8] = ["id", "type", "role", "model", "content", "stop_reason", "stop_sequence", "usage"];
    const OTHER: [&str; 6] = ["type", "subtype", "is_error", "message", "event", "id"];
    match value {
        Value::Object(fields) => {
            let first: &[&str] = if fields.contains_key("role") { &MESSAGE } else { &OTHER };
            let mut names: Vec<&String> = fields.keys().collect();
            names.sort_by_key(|name| first.iter().position(|known| known == name).unwrap_or(first.len()));
            let fields = names.into_iter().map(|name| format!("{}:{}", json!(name), in_order(&fields[name])));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
        }
        Value::Array(values) => format!("[{}]", values.iter().map(in_order).collect::<Vec<_>>().join(",")),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    }
}
