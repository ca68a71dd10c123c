//! The dry run of a prepared start: its gates once each, and the files that its first prompt names as protected.
use std::io;

use loop_core::machine::consult;
use loop_core::policy::protect::protected_by_default;
use loop_core::policy::rank::Rank;
use loop_core::prompt::RankWords;

use super::gates;
use super::start::Prepared;
use crate::checkpoint::CheckpointContext;
use crate::checkpoint::user_git::GitUser;
use crate::gate::{Rehearsal, RehearsedTask, rehearse_watched};
use crate::paths::Home;
use crate::prompt_file::protected_names;
use crate::run_folder;

/// What a dry run showed.
#[derive(Debug)]
pub struct RehearsedStart {
    /// Each gate, in the order of the settings.
    pub gates: Vec<Rehearsal>,
    /// The files that the agent may not change, as the first prompt names them.
    pub protected: Vec<String>,
    /// How good the workspace is now, as the first prompt says it.
    pub standing: RankWords,
}

/// Runs each gate once. None when a signal stopped it, such as Ctrl-C.
///
/// # Errors
/// When one cannot be started.
pub fn rehearse_start(home: &Home, prepared: &Prepared) -> io::Result<Option<RehearsedStart>> {
    let settings = &prepared.settings;
    let context = CheckpointContext {
        run: String::new(),
        store: home.state.join("checkpoints").join(run_folder::store_name(&prepared.workspace)),
        workspace: prepared.workspace.clone(),
        settings: settings.values.checkpoint.clone(),
        backend: prepared.checkpoints.backend.to_owned(),
        litter: prepared.litter.clone(),
        user: GitUser::of_environment(),
    };
    let task = RehearsedTask { context, task: &prepared.goal };
    let Some(gates) = rehearse_watched(settings, &prepared.workspace, Some(&task))? else { return Ok(None) };
    let allow = &settings.values.guard.allow;
    let learned: Vec<String> = gates
        .iter()
        .flat_map(|gate| consult(|deciding| protected_by_default(&gate.uses, allow, deciding)).files)
        .collect();
    let guard = gates::guard(settings, &prepared.workspace);
    let protected = protected_names(settings, guard.as_ref(), &learned);
    let rank = consult(|deciding| Rank::of(gates.iter().map(|gate| gate.score), deciding));
    let standing = RankWords { now: (!gates.is_empty()).then(|| rank.words()), best: None };
    Ok(Some(RehearsedStart { gates, protected, standing }))
}
