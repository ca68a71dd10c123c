//! What it costs to compare two long outputs; `cargo xtask bench --only similarity` reads what it prints.
//!
//! `ROUNDS MEGABYTES` prints a line a round: nanoseconds on the processor for two texts of that length with a tenth of the
//! lines replaced, for two unrelated ones, and for one in which each line was changed.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a measurement, read by xtask"
)]
use std::hint::black_box;

use loop_core::policy::similarity::output_difference;

const WORDS: [&str; 16] = [
    "the", "test", "fails", "with", "error", "in", "line", "fixed", "parser", "now", "and", "build", "done", "module",
    "returns", "value",
];

/// Numbers from a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u64) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % most).unwrap()
    }

    fn line(&mut self) -> String {
        let count = 4 + self.below(9);
        (0..count).map(|_| WORDS[self.below(16)]).collect::<Vec<_>>().join(" ")
    }

    fn lines(&mut self, bytes: usize) -> Vec<String> {
        let mut lines = Vec::new();
        let mut length = 0;
        while length < bytes {
            let line = self.line();
            length += line.len() + 1;
            lines.push(line);
        }
        lines
    }
}

fn main() {
    let numbers: Vec<usize> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let (rounds, bytes) = (numbers[0], numbers[1] * 1_000_000);
    let mut dice = Dice(20_261_118);
    let before = dice.lines(bytes);
    let replaced = before.iter().zip(0..).map(|(line, at)| if at % 10 == 0 { dice.line() } else { line.clone() });
    let replaced = replaced.collect::<Vec<String>>().join("\n");
    let other = dice.lines(bytes).join("\n");
    let changed = before.iter().map(|line| format!("{line} again")).collect::<Vec<String>>().join("\n");
    let before = before.join("\n");
    for _ in 0..rounds {
        let spent = [&replaced, &other, &changed].map(|now| timed(|| output_difference(Some(&before), now)));
        println!("{} {} {}", spent[0], spent[1], spent[2]);
    }
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
