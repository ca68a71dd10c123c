//! How large the program is: what is not there is neither downloaded nor paged in.

use std::fs;

use anyhow::Result;

use super::scratch::Scratch;
use super::{Effort, Figure};

/// Megabytes of the file.
const LIMIT_MB: f64 = 10.0;

/// The length of the file.
///
/// # Errors
/// When it is not there.
pub fn measure(scratch: &Scratch, _effort: Effort) -> Result<Vec<Figure>> {
    let bytes = u32::try_from(fs::metadata(scratch.program())?.len())?;
    Ok(vec![Figure::once("size", f64::from(bytes) / 1e6, "MB", LIMIT_MB).note("the file of the program")])
}
