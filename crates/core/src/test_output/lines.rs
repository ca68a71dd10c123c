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
    pub(super) fn push(&mut self, bytes: &[u8], take: &mut impl FnMut(&str)) {
        let mut rest = bytes;
        while let Some(at) = memchr::memchr(b'\n', rest) {
            let (line, after) = rest.split_at(at);
            self.keep(line);
            self.finish(take);
            rest = after.get(1..).unwrap_or_default();
        }
        self.keep(rest);
    }

    /// The line that is there is whole. A line that a carriage return overwrites is several.
    pub(super) fn finish(&mut self, take: &mut impl FnMut(&str)) {
        let cleaned = text::clean(&self.partial);
        self.partial.clear();
        for line in cleaned.trim_end_matches('\n').split('\n') {
            take(line);
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = LINE_BYTES_MAX - self.partial.len().min(LINE_BYTES_MAX);
        self.partial.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
    }
}
