//! The hash chain over the lines of a journal: a changed, removed or inserted line is damage with its number.
//!
//! It holds no secret. A process that may write the file can make all hashes again; see decision 0033.
use sha2::{Digest, Sha256};

use crate::fs::hex;

/// What stands before the hash in a line; the hash is over everything before this.
const MARK: &[u8] = b",\"chain\":\"";
/// What stands after it.
const END: &[u8] = b"\"}";
/// How many hexadecimal digits of the SHA-256 are kept.
pub const CHAIN_DIGITS: usize = 32;
/// How much longer a line is because of its hash.
const TAIL_BYTES: usize = MARK.len() + CHAIN_DIGITS + END.len();

/// The hash of a line and of all lines before it. That of no line is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChainHash(String);

impl ChainHash {
    /// The hexadecimal digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn after(&self, line: &[u8]) -> Self {
        let hash = Sha256::new().chain_update(self.0.as_bytes()).chain_update(line).finalize();
        let mut digits = hex(&hash);
        digits.truncate(CHAIN_DIGITS);
        Self(digits)
    }

    /// A JSON object as the next line, with its hash and its line break. This becomes the hash of that line.
    #[must_use]
    pub fn link(&mut self, object: &str) -> String {
        let open = object.strip_suffix('}').unwrap_or(object);
        *self = self.after(open.as_bytes());
        let (mark, end) = (String::from_utf8_lossy(MARK), String::from_utf8_lossy(END));
        format!("{open}{mark}{}{end}\n", self.0)
    }

    /// The hash of this line, without its line break, where it is the next one and as it was written.
    #[must_use]
    pub fn check(&self, line: &[u8]) -> Option<Self> {
        let (open, tail) = line.split_at_checked(line.len().checked_sub(TAIL_BYTES)?)?;
        let stated = tail.strip_prefix(MARK)?.strip_suffix(END)?;
        let found = self.after(open);
        (found.0.as_bytes() == stated).then_some(found)
    }
}

/// What a file of whole lines ends with, where each of them is as it was written.
pub(super) fn head_of(bytes: &[u8]) -> Option<ChainHash> {
    let lines = bytes.split_inclusive(|byte| *byte == b'\n');
    lines.map(|line| line.strip_suffix(b"\n")).try_fold(ChainHash::default(), |head, line| head.check(line?))
}
