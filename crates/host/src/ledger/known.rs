//! Which ledgers the journals name. Only the bytes are searched: it must work for a damaged journal too.
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use loop_core::policy::reserve::{DAY_MS, LedgerId, day_of};

use crate::journal;
use crate::run_folder;

/// What stands before the id in a journal. In a text of a person or an agent the quotation marks would be escaped.
const MARK: &str = "\"ledger\":\"";

/// The ledgers that journals name, each with one run that does. With a moment: only those that changed since.
pub(super) fn named_by_journals(state: &Path, since: Option<SystemTime>) -> BTreeMap<LedgerId, String> {
    let mut named = BTreeMap::new();
    for run in run_folder::all_in(&state.join("runs")).unwrap_or_default() {
        let path = run.path.join(journal::FILE);
        let changed = fs::metadata(&path).and_then(|found| found.modified());
        if since.is_some_and(|since| changed.is_ok_and(|changed| changed < since)) {
            continue;
        }
        let text = fs::read(&path).unwrap_or_default();
        for id in ids_in(&String::from_utf8_lossy(&text)) {
            named.entry(id).or_insert_with(|| run.id.to_string());
        }
    }
    named
}

/// When the day of this moment began.
pub(super) fn day_begins(wall_ms: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(day_of(wall_ms).saturating_mul(DAY_MS))
}

fn ids_in(text: &str) -> impl Iterator<Item = LedgerId> {
    text.match_indices(MARK).filter_map(|(at, mark)| {
        let from = at + mark.len();
        text.get(from..from + LedgerId::DIGITS).and_then(LedgerId::parse)
    })
}
