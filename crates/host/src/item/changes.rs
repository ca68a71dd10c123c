//! What changed since an item began: the diff as a file, and the names.
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use loop_core::text::escape_path;

use crate::checkpoint::diff::Bounds;
use crate::checkpoint::{CheckpointContext, Comparison};

/// What changed between two checkpoints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemChanges {
    /// The diff.
    pub diff: PathBuf,
    /// The files, without those of the harness.
    pub changed: Vec<String>,
}

impl ItemChanges {
    /// Writes the diff to a file and names what changed, untracked files too. `own` are files of the harness.
    ///
    /// # Errors
    /// When a checkpoint is gone, or the file cannot be written.
    pub fn between(context: &CheckpointContext, from: &str, to: &str, own: &[String], diff: &Path) -> io::Result<Self> {
        let bounds = Bounds::default();
        let comparison = Comparison::open(context, from, to)?;
        let mut difference = comparison.changes(&bounds)?;
        difference.changes.retain(|change| {
            let path = escape_path(&change.path);
            !own.contains(&path) && !path.starts_with("loop/")
        });
        let mut file = BufWriter::new(File::create(diff)?);
        comparison.patch(&difference, &bounds, &mut |_, bytes| file.write_all(bytes))?;
        file.flush()?;
        let files = difference.changes.iter().filter(|change| change.is_of_files());
        let changed = files.map(|change| escape_path(&change.path)).collect();
        Ok(Self { diff: diff.to_owned(), changed })
    }
}
