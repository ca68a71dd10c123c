//! Files that are published in the workspace for other programs. They are written from the journal and never read
//! back.
//!
//! | file | what it does | what it does not do |
//! |---|---|---|
//! | `loopr` | the files of the Loopr specification | |
//! | `alerts_log` | each alert as a line of JSON | |
//! | `harness_log` | the log of the autonomous specification | |
//! | `state_db` | its SQLite file, replaced whole | read it back |
//! | `log` | adds lines to a log; those that a killed driver owed, too | follow links of the workspace |
//! | `output_folder` | writes complete files and a bounded log into a folder of ours | follow links |
//!
//! | I want to … | I go to … |
//! |---|---|
//! | publish a file for other programs | `host/publish/`; its lines: a view such as `core/view/harness.rs` |
mod alerts_log;
mod harness_log;
mod log;
mod loopr;
mod output_folder;
mod state_db;

use std::path::Path;

use loop_core::run::{Entry, RunState};
use loop_core::settings::{AlertSettings, Profile};

pub use alerts_log::AlertsLog;
pub use harness_log::HarnessLog;
pub(crate) use log::check_path as check_log_path;
pub use loopr::Loopr;
pub use state_db::StateDb;

use crate::run_folder::RunFolder;

/// Writes files from the journal. No decision depends on it; what it cannot write becomes a warning.
pub trait Publisher {
    /// Takes in a line of an earlier driver; nothing is written.
    fn replay(&mut self, entry: &Entry, state: &RunState);
    /// A line was written to the journal; `state` has it applied. Returns a warning.
    fn on_entry(&mut self, entry: &Entry, state: &RunState) -> Option<String>;
}

/// Makes a publisher for a workspace.
type Make = fn(&Path) -> Box<dyn Publisher>;

/// Which profile publishes what.
const PUBLISHERS: [(Profile, Make); 1] = [(Profile::Loopr, |workspace| Box::new(Loopr::new(workspace)))];

/// What is published because a setting says so.
fn of_settings(settings: &AlertSettings, run: &RunFolder, workspace: &Path) -> Vec<Box<dyn Publisher>> {
    let alerts = settings.alerts_log.as_ref().map(|path| AlertsLog::new(workspace, path));
    let log = settings.harness_log.then(|| HarnessLog::new(workspace));
    let db = settings.state_db.then(|| StateDb::new(workspace, run));
    let boxed = [
        alerts.map(|log| Box::new(log) as Box<dyn Publisher>),
        log.map(|log| Box::new(log) as Box<dyn Publisher>),
        db.map(|db| Box::new(db) as Box<dyn Publisher>),
    ];
    boxed.into_iter().flatten().collect()
}

/// The publishers of a run, with all that its journal says so far taken in.
pub(crate) fn of(state: &RunState, run: &RunFolder, workspace: &Path, past: &[Entry]) -> Vec<Box<dyn Publisher>> {
    let values = &state.settings.shown().values;
    let profile = values.start.profile;
    let mut all: Vec<Box<dyn Publisher>> =
        PUBLISHERS.iter().filter(|(of, _)| *of == profile).map(|(_, make)| make(workspace)).collect();
    all.extend(of_settings(&values.alerts, run, workspace));
    if all.is_empty() {
        return all;
    }
    let mut folded = RunState::default();
    for entry in past {
        folded.apply(&entry.fact);
        all.iter_mut().for_each(|publisher| publisher.replay(entry, &folded));
    }
    all
}
