//! Files that are published in the workspace for other programs. They are written from the journal and never read
//! back.
//!
//! | file | what it does | what it does not do |
//! |---|---|---|
//! | `loopr` | the files of the Loopr specification | |
//! | `output_folder` | writes complete files and a bounded log into a folder of ours | follow links |
mod loopr;
mod output_folder;

use std::path::Path;

use loop_core::run::{Entry, RunState};
use loop_core::settings::Profile;

pub use loopr::Loopr;

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

/// The publishers of a run, with all that its journal says so far taken in.
pub(crate) fn of(state: &RunState, workspace: &Path, past: &[Entry]) -> Vec<Box<dyn Publisher>> {
    let profile = state.settings.shown().values.start.profile;
    let mut all: Vec<Box<dyn Publisher>> =
        PUBLISHERS.iter().filter(|(of, _)| *of == profile).map(|(_, make)| make(workspace)).collect();
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
