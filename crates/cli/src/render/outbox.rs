//! What waits to be shown while a run works. A reader that pauses must never stop the harness: deadlines, signals
//! and the agent go on meanwhile.
use std::collections::VecDeque;
use std::io::{self, Write};

use loop_host::terminal::{PIECE_BYTES_MAX, can_take};

/// More than this is left out, and said.
const WAITING_BYTES_MAX: usize = 1024 * 1024;

/// Where it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum To {
    Stdout,
    Stderr,
}

/// Texts on their way out.
#[derive(Debug)]
pub(crate) struct Outbox {
    to: To,
    waiting: VecDeque<u8>,
    left_out: u64,
    closed: bool,
}

impl Outbox {
    pub(crate) fn new(to: To) -> Self {
        Self { to, waiting: VecDeque::new(), left_out: 0, closed: false }
    }

    /// Whether everything has gone out.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Sends a text, now or later. `gap` is what is sent for texts that found no room.
    pub(crate) fn send(&mut self, text: &str, gap: impl Fn(u64) -> String) {
        if self.closed {
            return;
        }
        if self.waiting.len() + text.len() > WAITING_BYTES_MAX {
            self.left_out += 1;
        } else {
            if self.left_out > 0 {
                self.waiting.extend(gap(std::mem::take(&mut self.left_out)).as_bytes());
            }
            self.waiting.extend(text.as_bytes());
        }
        self.flush();
    }

    /// Writes what can be written without waiting.
    pub(crate) fn flush(&mut self) {
        while !self.waiting.is_empty() && self.can_take() {
            self.write_piece();
        }
    }

    /// Writes everything, however long that takes: the work is over.
    pub(crate) fn finish(&mut self) {
        while !self.waiting.is_empty() {
            self.write_piece();
        }
    }

    fn can_take(&self) -> bool {
        match self.to {
            To::Stdout => can_take(io::stdout()),
            To::Stderr => can_take(io::stderr()),
        }
    }

    fn write_piece(&mut self) {
        let piece: Vec<u8> = self.waiting.drain(..self.waiting.len().min(PIECE_BYTES_MAX)).collect();
        let written = match self.to {
            To::Stdout => io::stdout().lock().write_all(&piece).and_then(|()| io::stdout().lock().flush()),
            To::Stderr => io::stderr().lock().write_all(&piece),
        };
        if written.is_err() {
            // A reader that went away is not an error.
            self.waiting.clear();
            self.closed = true;
        }
    }
}
