//! Runs gates in a separate copy of the files of a checkout.
use std::path::Path;
use std::sync::Arc;

use loop_core::settings::{GateSpec, Values};
use loop_core::view::GateRun;

use super::check::CheckError;
use super::checkout::RecordedCheckout;
use crate::checkpoint::open_folder;
use crate::gate::{GateContext, GateMemory, GateProgress, GateRunner};
use crate::process::{Containment, become_reaper};
use crate::signals::Signals;
use crate::workspace::copy::{self, CopyExtras, CopyRequest};

/// What comes along that is not recorded.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Extras {
    /// Ignored files, such as `node_modules`.
    pub(super) ignored: bool,
    /// The repository.
    pub(super) git: bool,
}

/// Runs each gate, in a copy that is made below `room`.
pub(super) fn rerun(
    gates: &[GateSpec],
    checkout: &RecordedCheckout,
    along: Extras,
    room: &Path,
    show: &mut dyn FnMut(GateProgress<'_>),
) -> Result<Vec<GateRun>, CheckError> {
    let unable = |error: &dyn std::fmt::Display| CheckError::Unable(format!("the gates cannot be run again: {error}"));
    let mut signals = Signals::listen().map_err(|error| unable(&error))?;
    become_reaper().map_err(|error| unable(&error))?;
    let tree = room.join("tree");
    std::fs::create_dir(&tree).map_err(|error| unable(&error))?;
    let to = open_folder(&tree).map_err(|error| unable(&error))?;
    let recorded = &checkout.recorded;
    let extras =
        CopyExtras { workspace: &checkout.opened, now: &recorded.checkpoint, ignored: along.ignored, git: along.git };
    let request =
        CopyRequest { checkpoint: &recorded.checkpoint, source: recorded.source(), key: "checkout", along: extras };
    copy::put(&request, &to).and_then(|()| copy::copy_extras(&request, &to)).map_err(|error| unable(&error))?;
    let values = Values::default();
    // Same form as a run id, so that a gate cannot detect a re-run.
    let owner = crate::fs::fresh_id().map_err(|error| unable(&error))?;
    let containment = Containment::new(owner.as_str(), values.agent.containment.word(), None);
    let containment = containment.map_err(|error| unable(&error))?;
    let context =
        GateContext { folder: &tree, same: None, is_copy: true, secrets: Arc::default(), variables: Vec::new() };
    let mut runner =
        GateRunner::new(context, values.gate.gate_timeout.0, room.join("outputs"), containment, &mut signals);
    let mut ran = Vec::new();
    for gate in gates {
        // It ran to its end where the proof was made: a time-out is a failure here.
        match runner.judge(gate, &GateMemory::fresh(true), show) {
            Ok(Some(again)) => ran.push(again),
            Ok(None) => return Err(CheckError::Stopped),
            Err(failure) => return Err(unable(&format!("{} {failure}", gate.name))),
        }
    }
    Ok(ran)
}
