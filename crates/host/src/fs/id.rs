//! Fresh random ids, and bytes as text.
use std::io;

use loop_core::ids::RunId;

/// A fresh id: for a run, or for a file beside another one. Two are the same once in ten thousand million times, so
/// that creating something by it must fail if it exists.
///
/// # Errors
/// When the machine gives no randomness.
pub fn fresh_id() -> io::Result<RunId> {
    let mut bytes = [0_u8; 7];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    Ok(RunId::from_random(bytes))
}

/// Bytes as hexadecimal digits.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect()
}
