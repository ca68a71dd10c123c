//! What codex's own record of a session says about limits: its stream does not say it.
use memchr::memmem;
use serde_json::Value;

use crate::agent::provider::window::{self, LimitWindow, WindowSource};

/// The newest windows in the end of a record: lines of JSON, the first of which may be cut.
pub(super) fn windows(tail: &[u8]) -> Vec<LimitWindow> {
    let newest_first =
        tail.rsplit(|byte| *byte == b'\n').filter(|line| memmem::find(line, b"\"rate_limits\"").is_some());
    let limits = newest_first.filter_map(|line| {
        let record: Value = serde_json::from_slice(line).ok()?;
        let told = record.get("payload").unwrap_or(&record);
        (told.get("type")? == "token_count").then(|| told.get("rate_limits").cloned()).flatten()
    });
    let mut found = limits.map(|limits| window::of_rate_limits(&limits, WindowSource::SessionFile));
    found.find(|windows| !windows.is_empty()).unwrap_or_default()
}
