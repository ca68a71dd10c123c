//! Which checkpoints of a loop are kept, until when, and since when others are not.
use loop_core::run::{CheckpointClass, RunState};
use loop_host::checkpoint::{self, CheckpointContext, KeptNames, KeptUntil, Limit, last_iteration};
use loop_host::launch;
use loop_host::paths::Home;
use loop_host::run_folder::RunFolder;

/// What is known of the checkpoints of a loop.
#[derive(Debug, Clone, Default)]
pub(crate) struct KeptCheckpoints {
    /// None where they could not be read: then nothing is said to be gone.
    names: Option<KeptNames>,
    /// None while all of them are kept.
    until: Option<KeptUntil>,
}

impl KeptCheckpoints {
    /// Of a loop.
    pub(crate) fn of(home: &Home, folder: &RunFolder, state: &RunState) -> Self {
        let Some(spec) = state.spec.as_ref().filter(|spec| spec.has_checkpoints()) else { return Self::default() };
        Self::in_store(home, &folder.checkpoints(spec), state)
    }

    /// The same, where its store is known.
    pub(crate) fn in_store(home: &Home, place: &CheckpointContext, state: &RunState) -> Self {
        let settings = launch::own_settings(home).ok();
        let until = settings.and_then(|settings| KeptUntil::of(state, Limit::of(&settings.values.checkpoint)));
        Self { names: checkpoint::kept_names(place).ok(), until }
    }

    /// Whether a checkpoint can be restored, as far as is known.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.names.as_ref().is_none_or(|kept| kept.names.contains(name))
    }

    /// Whether none can be restored.
    pub(crate) fn is_empty(&self) -> bool {
        self.names.as_ref().is_some_and(|kept| kept.names.is_empty())
    }

    /// The last iteration that is kept.
    pub(crate) fn last_iteration(&self) -> Option<u32> {
        self.names.as_ref().and_then(|kept| last_iteration(kept.names.iter().map(String::as_str)))
    }

    /// Until when a checkpoint is kept: milliseconds since 1970; none where no time is set.
    pub(crate) fn until(&self, name: &str, state: &RunState) -> Option<u64> {
        self.until?.of_class(CheckpointClass::of(name, self.last_iteration(), state))
    }

    /// Until when the main checkpoints and the iterations in between are kept, where a time is set.
    pub(crate) fn times(&self) -> Option<KeptUntil> {
        self.until
    }

    /// `not kept any more since 2026-11-18 14:30`.
    pub(crate) fn since(&self, name: &str) -> String {
        let since = self.names.as_ref().and_then(|kept| kept.not_kept.get(name));
        since.map_or_else(
            || "not kept any more".to_owned(),
            |since| format!("not kept any more since {}", local_time(*since)),
        )
    }

    /// `none is kept any more since 2026-12-17 14:30`: of the last that went.
    pub(crate) fn none_since(&self) -> String {
        let last = self.names.as_ref().and_then(|kept| kept.not_kept.values().max());
        last.map_or_else(
            || "none is kept any more".to_owned(),
            |since| format!("none is kept any more since {}", local_time(*since)),
        )
    }
}

/// A moment in the time of this place: `2026-12-17 14:30`.
pub(crate) fn local_time(wall_ms: u64) -> String {
    let stamp = i64::try_from(wall_ms).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    let zoned = stamp.map(|stamp| stamp.to_zoned(jiff::tz::TimeZone::system()));
    zoned.map_or_else(|| "no limit".to_owned(), |zoned| zoned.strftime("%Y-%m-%d %H:%M").to_string())
}
