//! `flood SHAPE BYTES`: writes that much to stdout, as fast as somebody reads it. Stands in for an
//! agent that has gone mad.
#![forbid(unsafe_code)]
use std::io::{self, Write};
use std::process::ExitCode;

/// What one write carries: as much as a pipe holds.
const PIECE_BYTES: usize = 64 * 1024;

/// What is written again and again; `one-line` ends with a newline, the others as they are.
fn piece(shape: &str) -> Option<&'static [u8]> {
    Some(match shape {
        "one-line" | "no-newline" => b"x",
        "short-lines" => b"x\n",
        "empty-lines" => b"\n",
        "nuls" => b"\0",
        "not-utf8" => b"\xff\xfe\xc3(\xe2\x82",
        "escapes" => b"\x1b[31mred\x1b[0m\x1b]0;title\x07\x1b[2J\r\n",
        _ => return None,
    })
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().collect();
    let shape = words.get(1).map_or("", String::as_str);
    let count = words.get(2).and_then(|word| word.parse().ok());
    match (piece(shape), count) {
        (Some(piece), Some(count)) => match flood(piece, count, shape == "one-line") {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        },
        (_, _) => ExitCode::from(4),
    }
}

fn flood(piece: &[u8], count: u64, newline_last: bool) -> io::Result<()> {
    // Not through `Stdout`, which would look for line breaks in all of it.
    let mut out = std::fs::File::from(std::os::fd::AsFd::as_fd(&io::stdout()).try_clone_to_owned()?);
    let block = piece.repeat(PIECE_BYTES / piece.len());
    let mut left = count;
    while left > 0 {
        let now = usize::try_from(left).unwrap_or(usize::MAX).min(block.len());
        out.write_all(&block[..now])?;
        left -= u64::try_from(now).unwrap_or(left);
    }
    if newline_last { out.write_all(b"\n") } else { Ok(()) }
}
