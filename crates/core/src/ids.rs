//! Ids: opaque texts and numbers. They are never paths, and no meaning is read from them.
use std::fmt;

use serde::{Deserialize, Serialize};

/// The name of a run: lower-case letters and digits, so it can be used in a path or a shell line.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RunId(String);

/// The letters of an id: no vowels that spell words, no look-alikes.
pub const ID_LETTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const ID_BYTES_MAX: usize = 32;

impl RunId {
    /// Takes a text that is an id.
    ///
    /// # Errors
    /// When it holds anything but lower-case letters and digits.
    pub fn parse(text: &str) -> Result<Self, BadId> {
        let fits = !text.is_empty()
            && text.len() <= ID_BYTES_MAX
            && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
        if fits { Ok(Self(text.to_owned())) } else { Err(BadId) }
    }

    /// Makes an id of random bytes. The last letter is a digit, so that no id is a word.
    #[must_use]
    pub fn from_random(bytes: [u8; 7]) -> Self {
        let (last, first) = (bytes[6], &bytes[..6]);
        let letters = first.iter().map(|byte| ID_LETTERS[usize::from(byte % 32)]);
        Self(letters.chain([ID_LETTERS[usize::from(last % 10)]]).map(char::from).collect())
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl TryFrom<String> for RunId {
    type Error = BadId;
    fn try_from(text: String) -> Result<Self, BadId> {
        Self::parse(&text)
    }
}

impl From<RunId> for String {
    fn from(id: RunId) -> Self {
        id.0
    }
}

/// The text is not an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an id has only lower-case letters and digits")]
pub struct BadId;

/// Numbers the orders of a run from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OrderId(pub u32);

/// A process beyond doubt: a number alone may have been given to another since.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessId {
    /// Its number.
    pub pid: i32,
    /// When it started, in clock ticks since the machine did.
    pub start_ticks: u64,
}
