//! Bytes to lines without colours, wherever the bytes are cut.
use crate::text;

/// Of a longer line only the beginning is looked at.
pub(super) const LINE_BYTES_MAX: usize = 64 * 1024;

/// The line whose end has not come.
#[derive(Debug, Default)]
pub(super) struct Lines {
    partial: Vec<u8>,
}

impl Lines {
    /// Whether no line has begun.
    pub(super) fn is_empty(&self) -> bool {
        self.partial.is_empty()
    }

    /// The line that is there is whole. A line that a carriage return overwrites is several.
    pub(super) fn finish(&mut self, take: &mut impl FnMut(&str)) {
        let cleaned = text::clean(&self.partial);
        self.partial.clear();
        for line in cleaned.trim_end_matches('\n').split('\n') {
            take(line);
        }
    }

    /// Takes a piece of a line.
    pub(super) fn keep(&mut self, bytes: &[u8]) {
        let room = LINE_BYTES_MAX - self.partial.len().min(LINE_BYTES_MAX);
        self.partial.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
    }
}
