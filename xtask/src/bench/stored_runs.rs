//! Many runs on disk in little time: copies of real ones, each with an id of its own, at another time.
//!
//! The lines of a journal are chained by hashes, so a copy with another id or time is chained again here.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use sha2::{Digest, Sha256};

/// What stands before the hash in a line.
const MARK: &str = ",\"chain\":\"";
/// What stands after it.
const END: &str = "\"}";
/// How many hexadecimal digits a hash has.
const DIGITS: usize = 32;
/// Behind this a line has the time of its fact, in milliseconds since 1970.
const WALL: &str = "\"wall\":";

/// What differs in a copy of a run.
#[derive(Debug, Clone, Copy)]
pub struct Changed<'a> {
    /// Its id, which is as long as the one of the original.
    pub id: &'a str,
    /// How much earlier it was.
    pub earlier_ms: u64,
}

/// Copies a run beside the original, or changes the original where the id stays the same.
///
/// # Errors
/// When its journal has another form than this file knows.
pub fn copy_run(folder: &Path, changed: Changed<'_>) -> Result<()> {
    let old = folder.file_name().and_then(|name| name.to_str()).context("an odd folder of a run")?;
    ensure!(old.len() == changed.id.len(), "an id of another length");
    let journal = fs::read_to_string(folder.join("journal.jsonl"))?;
    let mut chain = String::new();
    let mut copy = String::new();
    let mut seq = 0;
    for line in journal.lines() {
        let at = line.len().checked_sub(MARK.len() + DIGITS + END.len()).context("a line without a hash")?;
        ensure!(line[at..].starts_with(MARK) && line.ends_with(END), "a line without a hash");
        let open = earlier(&line[..at], changed.earlier_ms)?.replace(old, changed.id);
        let hash = Sha256::new().chain_update(chain.as_bytes()).chain_update(open.as_bytes()).finalize();
        chain = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        chain.truncate(DIGITS);
        copy.push_str(&format!("{open}{MARK}{chain}{END}\n"));
        let value: serde_json::Value = serde_json::from_str(line)?;
        seq = value["seq"].as_u64().unwrap_or(seq);
    }
    let to = folder.with_file_name(changed.id);
    fs::create_dir_all(&to)?;
    fs::write(to.join("journal.jsonl"), copy)?;
    fs::write(to.join("journal.head"), serde_json::json!({ "seq": seq, "chain": chain }).to_string())?;
    fs::write(to.join("lock"), "")?;
    Ok(())
}

/// A line whose time is earlier.
fn earlier(line: &str, ms: u64) -> Result<String> {
    let mut pieces = line.split(WALL);
    let mut older = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let end = piece.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(piece.len());
        let wall = piece[..end].parse::<u64>().context("an odd time")?.saturating_sub(ms);
        older.push_str(&format!("{WALL}{wall}{}", &piece[end..]));
    }
    Ok(older)
}
