//! An excerpt of a gate's output for the next prompt: failures and their details, then the end, within a bound.
use serde::Deserialize;

use super::failure_lines::{FailureLines, Worth};
use crate::text;

/// A longer line is shortened.
const LINE_BYTES_MAX: usize = 2_000;
/// What a note about lines left out may cost.
const NOTE_BYTES: usize = 34;
/// The share of the room that failures may take before the end gets its own, in parts of four.
const FAILURE_QUARTERS: usize = 3;

/// What an agent should get of a gate's output, at most `most` bytes: what tells of failures, then the end of stderr and of stdout, in the
/// order in which they were written. Noise goes first; a note says where lines were left out.
#[must_use]
pub fn excerpt(stdout: &[u8], stderr: &[u8], most: usize) -> String {
    let mut streams = [StreamLines::new("stderr", stderr), StreamLines::new("stdout", stdout)];
    let heads: usize =
        streams.iter().filter(|stream| !stream.lines.is_empty()).map(|stream| stream.name.len() + 4 + NOTE_BYTES).sum();
    let room = most.saturating_sub(heads);
    let [stderr, stdout] = &mut streams;
    let for_failures = room / 4 * FAILURE_QUARTERS;
    // Neither stream's failures crowd out the other's.
    let first = if stdout.fails() { for_failures / 2 } else { for_failures };
    let first_left = stderr.take_failures(first);
    let left = stdout.take_failures(for_failures - first + first_left);
    let mut room = room - for_failures + left;
    // The end of the stream that tells of the failures comes first; of those that tell of none, that of stderr.
    let order = if stdout.fails() && !stderr.fails() { [stdout, stderr] } else { [stderr, stdout] };
    for stream in order {
        room = stream.take_end(room);
    }
    let shown: Vec<String> = streams.iter().map(StreamLines::shown).filter(|shown| !shown.is_empty()).collect();
    let names: Vec<&str> =
        streams.iter().filter(|stream| stream.taken.contains(&true)).map(|stream| stream.name).collect();
    let out = match (shown.as_slice(), names.as_slice()) {
        ([first, second], [one, other]) => format!("[{one}]\n{first}[{other}]\n{second}"),
        _ => shown.concat(),
    };
    // Where not even a line fits, its end is better than nothing.
    if out.is_empty() || out.len() > most { bare_end(&streams, most) } else { out.trim_end().to_owned() }
}

/// The lines of one stream, and which of them are taken.
pub(super) struct StreamLines {
    name: &'static str,
    pub(super) lines: Vec<(String, Worth)>,
    taken: Vec<bool>,
}

impl StreamLines {
    pub(super) fn new(name: &'static str, bytes: &[u8]) -> Self {
        let cleaned = text::clean(bytes);
        let mut failure_lines = FailureLines::default();
        let mut lines: Vec<(String, Worth)> = Vec::new();
        for line in cleaned.trim_end().split('\n').filter(|_| !cleaned.trim_end().is_empty()) {
            if let Some(said) = of_go(line) {
                for line in said.trim_end_matches('\n').split('\n').filter(|_| !said.is_empty()) {
                    lines.push((shortened(line), failure_lines.worth(line)));
                }
            } else {
                lines.push((shortened(line), failure_lines.worth(line)));
            }
        }
        // Where all is noise, noise is all there is to say.
        if lines.iter().all(|(line, worth)| *worth == Worth::Noise || line.trim().is_empty()) {
            for (_, worth) in &mut lines {
                *worth = Worth::Plain;
            }
        }
        let taken = vec![false; lines.len()];
        Self { name, lines, taken }
    }

    fn fails(&self) -> bool {
        self.lines.iter().any(|(_, worth)| *worth == Worth::Failure)
    }

    /// Takes what tells of failures, from the first on; says what room is left.
    fn take_failures(&mut self, room: usize) -> usize {
        let mut room = room;
        let mut before = false;
        for (taken, (line, worth)) in self.taken.iter_mut().zip(&self.lines) {
            let cost = line.len() + 1 + if before { 0 } else { NOTE_BYTES };
            before = *worth == Worth::Failure && cost <= room;
            if before {
                room -= cost;
                *taken = true;
            } else if *worth == Worth::Failure {
                // What comes later is smaller only by chance: the first failures are told whole.
                break;
            }
        }
        room
    }

    /// Takes from the end on what is not noise; says what room is left.
    fn take_end(&mut self, room: usize) -> usize {
        let mut room = room;
        let mut after = true;
        for at in (0..self.lines.len()).rev() {
            let (Some((line, worth)), Some(taken)) = (self.lines.get(at), self.taken.get_mut(at)) else { break };
            if *taken || *worth == Worth::Noise {
                after = *taken;
                continue;
            }
            let cost = line.len() + 1 + NOTE_BYTES * (1 + usize::from(!after));
            if cost > room {
                break;
            }
            room -= line.len() + 1 + if after { 0 } else { NOTE_BYTES };
            *taken = true;
            after = true;
        }
        room
    }

    fn shown(&self) -> String {
        let mut out = String::new();
        let mut left = 0_usize;
        if !self.taken.contains(&true) {
            return out;
        }
        for ((line, _), taken) in self.lines.iter().zip(&self.taken) {
            // An empty line beside a note says nothing.
            if !taken || (left > 0 && line.is_empty()) {
                left += 1;
                continue;
            }
            note(&mut out, left);
            left = 0;
            out.push_str(line);
            out.push('\n');
        }
        note(&mut out, left);
        out
    }
}

fn note(out: &mut String, left: usize) {
    match left {
        0 => {}
        1 => out.push_str("[… 1 line skipped …]\n"),
        _ => out.push_str(&format!("[… {left} lines skipped …]\n")),
    }
}

fn shortened(line: &str) -> String {
    if line.len() <= LINE_BYTES_MAX {
        return line.trim_end().to_owned();
    }
    format!("{}…", text::head(line, LINE_BYTES_MAX))
}

fn bare_end(streams: &[StreamLines], most: usize) -> String {
    let whole = streams.iter().find_map(|stream| stream.lines.iter().rev().find(|(line, _)| !line.trim().is_empty()));
    whole.map_or_else(String::new, |(line, _)| text::tail(line, most).to_owned())
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(rename = "Action", borrow)]
    action: std::borrow::Cow<'a, str>,
    #[serde(rename = "Output", borrow, default)]
    output: Option<std::borrow::Cow<'a, str>>,
}

/// What `go test -json` wraps; empty for its other events.
fn of_go(line: &str) -> Option<String> {
    if !line.starts_with('{') || !line.contains("\"Action\":") {
        return None;
    }
    let event: Event<'_> = serde_json::from_str(line).ok()?;
    match event.action.as_ref() {
        "output" | "build-output" => Some(event.output.unwrap_or_default().into_owned()),
        _ => Some(String::new()),
    }
}
