//! Pieces of the change, taken back one after the other.
use std::io;
use std::time::{Duration, Instant};

use loop_core::policy::probe::{
    ChangedFile, FileRole, Hunk, LineChange, TreeVersion, first_test_line, in_order, is_worth_trying, join_near,
    role_of,
};
use loop_core::run::{HunkReport, NameList};

use super::writer::ProbedCopy;
use super::{ProbeContext, gate_files};
use crate::checkpoint::diff::{Bounds, is_binary, line_changes};
use crate::checkpoint::{RecordedTrees, StoredKind};

/// A longer file is one piece.
const FILE_BYTES_MAX: usize = 4 << 20;

/// Takes back one piece of the change after the other, the largest first, lets the gates run each time, and puts it
/// back. `run_gates` says whether a required gate did not pass; none means that it was stopped. The copy is the final
/// tree again afterwards.
///
/// # Errors
/// When a checkpoint cannot be read, or the copy cannot be changed.
pub fn try_hunks(
    context: &ProbeContext<'_>,
    budget: Duration,
    run_gates: &mut dyn FnMut() -> Option<bool>,
) -> io::Result<HunkReport> {
    let started = Instant::now();
    let trees = RecordedTrees::new(context.initial, context.last);
    let pieces = trees.pieces(&gate_files(context))?;
    let mut copy = ProbedCopy::open(context)?;
    let mut report = HunkReport { all: u32::try_from(pieces.len()).unwrap_or(u32::MAX), ..HunkReport::default() };
    let mut not_noticed: Vec<String> = Vec::new();
    for piece in &pieces {
        if started.elapsed() >= budget {
            break;
        }
        let path = piece.path.as_bytes();
        match &piece.lines {
            None => copy.put(path, context.initial)?,
            Some(lines) => {
                let mode = trees.entry(TreeVersion::Last, path).map_or(0o644, |entry| entry.mode);
                copy.write(path, &trees.without(path, lines)?, mode)?;
            }
        }
        let noticed = run_gates();
        copy.put(path, context.last)?;
        let Some(noticed) = noticed else { break };
        report.tried += 1;
        report.noticed += u32::from(noticed);
        if !noticed {
            not_noticed.push(piece.name());
        }
    }
    report.not_noticed = NameList::of(not_noticed.iter().map(String::as_str));
    Ok(report)
}

impl RecordedTrees<'_> {
    /// The pieces of all sources, the largest first.
    fn pieces(&self, gate_files: &[String]) -> io::Result<Vec<Hunk>> {
        let mut pieces = Vec::new();
        for file in self.changed() {
            if role_of(&file.path, gate_files) == FileRole::Source {
                self.pieces_of(&file, &mut pieces)?;
            }
        }
        in_order(&mut pieces);
        Ok(pieces)
    }

    fn pieces_of(&self, file: &ChangedFile, pieces: &mut Vec<Hunk>) -> io::Result<()> {
        let path = file.path.as_bytes();
        let text = |version| -> io::Result<Option<Vec<u8>>> {
            Ok(self.bytes(version, path, FILE_BYTES_MAX)?.filter(|bytes| !is_binary(bytes)))
        };
        let (before, after) = (text(TreeVersion::Initial)?, text(TreeVersion::Last)?);
        let changes = match (&before, &after) {
            (Some(before), Some(after)) => line_changes(before, after, Bounds::default().file_steps),
            (Some(_), None) | (None, Some(_)) | (None, None) => None,
        };
        let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
        let (old, new) = (lines_of(&before), lines_of(&after));
        let Some(changes) = changes else {
            let all: Vec<String> =
                old.iter().chain(&new).map(|line| String::from_utf8_lossy(line).into_owned()).collect();
            let is_text = !all.is_empty();
            if !is_text && self.is_empty_file(path)
                || is_text && !is_worth_trying(&file.path, all.iter().map(String::as_str))
            {
                return Ok(());
            }
            let size = u64::try_from(all.len()).unwrap_or(u64::MAX).max(1);
            pieces.push(Hunk { path: file.path.clone(), lines: None, size });
            return Ok(());
        };
        let tests = first_test_line(&file.path, &String::from_utf8_lossy(&after)).unwrap_or(u32::MAX);
        for change in join_near(&changes) {
            let lines: Vec<String> = part(&old, &change.before)
                .iter()
                .chain(part(&new, &change.after))
                .map(|line| String::from_utf8_lossy(line).into_owned())
                .collect();
            if change.after.start >= tests || !is_worth_trying(&file.path, lines.iter().map(String::as_str)) {
                continue;
            }
            let size = u64::try_from(lines.len()).unwrap_or(u64::MAX);
            pieces.push(Hunk { path: file.path.clone(), lines: Some(change), size });
        }
        Ok(())
    }

    /// Whether both versions have nothing in them: a mark such as `__init__.py`.
    fn is_empty_file(&self, path: &[u8]) -> bool {
        let is_empty = |version| self.bytes(version, path, 0).is_ok_and(|bytes| bytes.is_some());
        let is_file = |version| matches!(self.entry(version, path).map(|entry| &entry.what), Some(StoredKind::File(_)));
        [TreeVersion::Initial, TreeVersion::Last].into_iter().filter(|version| is_file(*version)).all(is_empty)
    }

    /// The final file with these lines as they were.
    fn without(&self, path: &[u8], lines: &LineChange) -> io::Result<Vec<u8>> {
        let read = |version| {
            let bytes = self.bytes(version, path, FILE_BYTES_MAX)?;
            bytes.ok_or_else(|| io::Error::other("a file is not what it was"))
        };
        let (before, after) = (read(TreeVersion::Initial)?, read(TreeVersion::Last)?);
        let (old, new) = (lines_of(&before), lines_of(&after));
        let head = part(&new, &(0..lines.after.start));
        let tail = part(&new, &(lines.after.end..u32::MAX));
        Ok([head, part(&old, &lines.before), tail].concat().concat())
    }
}

/// The lines, each with its end.
fn lines_of(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n').collect()
}

fn part<'a, 'b>(lines: &'a [&'b [u8]], range: &std::ops::Range<u32>) -> &'a [&'b [u8]] {
    let index = |at: u32| usize::try_from(at).unwrap_or(usize::MAX).min(lines.len());
    lines.get(index(range.start)..index(range.end)).unwrap_or_default()
}
