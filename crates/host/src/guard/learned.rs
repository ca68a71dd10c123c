//! The protected set after the start: what the gates use is added after the baseline, what a person allows is taken out.
use std::io;

use loop_core::policy::protect::is_allowed;
use loop_core::text::unescape_path;

use super::Originals;

impl Originals {
    /// Protects further files as they are now. What the gates change themselves is left out. Gives those that are new.
    ///
    /// # Errors
    /// When that cannot be stored.
    pub fn add(&mut self, paths: &[String]) -> io::Result<Vec<String>> {
        let is_new = |path: &&String| !self.record.files.contains_key(*path) && !self.record.known.contains(*path);
        let mut new: Vec<String> = paths.iter().filter(is_new).cloned().collect();
        new.retain(|path| self.store(&unescape_path(path)).is_ok());
        if !new.is_empty() {
            self.write()?;
        }
        Ok(new)
    }

    /// Protects what these globs name no longer, also where a pattern of a person protects it.
    ///
    /// # Errors
    /// When that cannot be stored.
    pub fn leave(&mut self, allow: &[String]) -> io::Result<()> {
        let left: Vec<String> = self.record.files.keys().filter(|path| is_allowed(allow, path)).cloned().collect();
        for path in &left {
            let old = self.record.files.remove(path);
            self.bytes = self.bytes.saturating_sub(old.map_or(0, |old| old.bytes()));
            self.record.known.insert(path.clone());
        }
        if left.is_empty() { Ok(()) } else { self.write() }
    }
}
