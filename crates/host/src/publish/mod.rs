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

/// Who publishes. Nothing is decided by what it does, and what it cannot write is only said.
pub trait Publisher {
    /// A line of an earlier driver: it is taken in, and nothing is written.
    fn replay(&mut self, entry: &Entry, state: &RunState);
    /// A line was written to the journal; `state` has it taken in. What comes back is a warning.
    fn on_entry(&mut self, entry: &Entry, state: &RunState) -> Option<String>;
}

/// Makes a publisher for a workspace.
type Make = fn(&Path) -> Box<dyn Publisher>;

/// Which profile publishes what.
const PUBLISHERS: [(Profile, Make); 1] = [(Profile::Loopr, |workspace| Box::new(Loopr::new(workspace)))];

/// The publishers of a run, with all that its journal says so far taken in.
pub(crate) fn of(state: &RunState, workspace: &Path, run: &Path) -> Vec<Box<dyn Publisher>> {
    let profile = state.settings.shown().values.start.profile;
    let mut all: Vec<Box<dyn Publisher>> =
        PUBLISHERS.iter().filter(|(of, _)| *of == profile).map(|(_, make)| make(workspace)).collect();
    if all.is_empty() {
        return all;
    }
    let mut folded = RunState::default();
    for entry in crate::journal::read(run).map(|reading| reading.entries).unwrap_or_default() {
        folded.apply(&entry.fact);
        all.iter_mut().for_each(|publisher| publisher.replay(&entry, &folded));
    }
    all
}
