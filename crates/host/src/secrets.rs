//! Secret values, which must not be in any file: those of variables declared secret, and the keys of agents.
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::sync::Arc;

use loop_core::agent::{ADAPTERS, Secrets};
use loop_core::run::RunState;
use loop_core::settings::AgentSettings;

/// What is secret in a run, by what is set now.
pub(crate) fn of(state: &RunState) -> Arc<Secrets> {
    let declared = state.settings.shown().values.agent.secret_names().map(str::to_owned);
    // Of all agents: a run can change its agent, and its gates see the variables of the person.
    let keys = ADAPTERS.iter().flat_map(|adapter| adapter.keys).map(|key| (*key).to_owned());
    Arc::new(named(declared.chain(keys)))
}

/// What is declared secret by these settings.
#[must_use]
pub fn declared(settings: &AgentSettings) -> Secrets {
    named(settings.secret_names().map(str::to_owned))
}

/// The values of variables by their names.
fn named(names: impl Iterator<Item = String>) -> Secrets {
    let value = |name: String| std::env::var_os(&name).map(OsString::into_vec).map(|value| (name, value));
    Secrets::new(names.filter_map(value)).0
}
