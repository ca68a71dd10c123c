//! What an iteration changed in the workspace: files by kind, ignored files, the commit of the user's repository. Without
//! checkpoints only whether anything changed.
use loop_core::run::Measurement;

use crate::checkpoint::user_git::head_of;
use crate::checkpoint::{
    CheckpointContext, CheckpointError, IgnoredDigest, RunCheckpoints, ignored_digest, whole_digest,
};
use crate::guard::RunGuard;

/// What the next measurement is compared with.
pub(crate) struct Measure {
    context: CheckpointContext,
    /// The digest of ignored files.
    ignored: Option<String>,
    /// The digest of all files, where there are no checkpoints.
    whole: Option<IgnoredDigest>,
    /// The commit of the user's repository; none before it was first read.
    head: Option<Option<String>>,
}

impl Measure {
    pub(crate) fn new(context: &CheckpointContext) -> Self {
        Self { context: context.clone(), ignored: None, whole: None, head: None }
    }

    /// Before the first iteration, with checkpoints: reads the commit.
    pub(crate) fn begin(&mut self) {
        if self.head.is_none() {
            self.head = Some(head_of(&self.context.workspace));
        }
    }

    /// Before the first iteration, without checkpoints: reads all files.
    pub(crate) fn begin_whole(&mut self, guard: &RunGuard) {
        self.whole = self.read_whole(guard);
    }

    /// Without checkpoints: whether the workspace changed since the last time, as far as that is known.
    pub(crate) fn measure_whole(&mut self, guard: &RunGuard) -> Measurement {
        let before = self.whole.take();
        self.whole = self.read_whole(guard);
        let noticed = before.as_ref().zip(self.whole.as_ref()).and_then(|(before, now)| {
            let differ = before.digest != now.digest;
            // A part that was not read may have changed.
            (differ || !now.is_cut).then_some(differ)
        });
        Measurement { noticed, ..Measurement::default() }
    }

    fn read_whole(&self, guard: &RunGuard) -> Option<IgnoredDigest> {
        whole_digest(&self.context, &|path| guard.is_excluded(path)).ok()
    }

    /// After the gates: what they changed in ignored files is not work of the next iteration.
    pub(crate) fn skip_gates(&mut self, guard: &RunGuard) {
        if self.ignored.is_some() {
            self.ignored = self.read_ignored(guard);
        }
    }

    fn read_ignored(&self, guard: &RunGuard) -> Option<String> {
        ignored_digest(&self.context, &|path| guard.is_excluded(path)).ok().map(|read| read.digest)
    }

    /// What changed between two checkpoints. Ignored files are read only where nothing else changed.
    pub(crate) fn measure(
        &mut self,
        guard: &mut RunGuard,
        checkpoints: &RunCheckpoints,
        from: Option<&str>,
        to: &str,
    ) -> Result<Measurement, CheckpointError> {
        let (mut measured, tally) = checkpoints.measure_by_kind(from, to, &|path| guard.is_excluded(path))?;
        let number = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        measured.protected = number(tally.protected);
        measured.tests = number(tally.tests);
        if tally.work() == 0 {
            let now = self.read_ignored(guard);
            let differ = self.ignored.is_some() && now.is_some() && now != self.ignored;
            measured.ignored = differ || tally.folders > 0;
            self.ignored = now.or(self.ignored.take());
        } else {
            self.ignored = None;
        }
        let head = head_of(&self.context.workspace);
        measured.head_moved = self.head.as_ref().is_some_and(|before| *before != head);
        self.head = Some(head);
        Ok(measured)
    }
}
