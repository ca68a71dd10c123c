//! The gates of a dry run: each is run once, outside of any run, and nothing is stored.
use std::io;
use std::path::Path;
use std::sync::Arc;

use loop_core::machine::consult;
use loop_core::policy::gate::Verdict;
use loop_core::policy::protect::GateUse;
use loop_core::policy::rank::GateScore;
use loop_core::prompt::GATE_OUTPUT_BYTES_MAX;
use loop_core::run::Ended;
use loop_core::settings::Settings;
use loop_core::test_output::excerpt;

use super::baseline_watch::GateOpens;
use super::{GateContext, GateRunner, GateTry};
use crate::checkpoint::CheckpointContext;
use crate::process::{Containment, become_reaper, tail_of};
use crate::prompt_file::TESTED_BYTES_MAX;
use crate::signals::Signals;

/// How much of each stream is given back.
const TAIL_BYTES_MAX: u64 = 64 * 1024;

/// What a gate showed.
#[derive(Debug)]
pub struct Rehearsal {
    /// What its end means.
    pub verdict: Verdict,
    /// How it ended.
    pub ended: Ended,
    /// How long it took.
    pub duration_ms: u64,
    /// The end of its stdout.
    pub stdout: Vec<u8>,
    /// The end of its stderr.
    pub stderr: Vec<u8>,
    /// What of its output is about failures, where tests are known in it: as a prompt has it.
    pub useful: Option<String>,
    /// The files that it uses to judge, where they were looked at.
    pub(crate) uses: Vec<GateUse>,
    /// How good the state is by this gate.
    pub(crate) score: GateScore,
}

/// Where the files are that the gates of a dry run use, and the task that may name them.
#[derive(Debug)]
pub(crate) struct RehearsedTask<'a> {
    pub(crate) context: CheckpointContext,
    pub(crate) task: &'a str,
}

/// Runs each gate of these settings once, in their order. None when a signal stopped it, such as Ctrl-C.
///
/// # Errors
/// When one cannot be started.
pub fn rehearse(settings: &Settings, folder: &Path) -> io::Result<Option<Vec<Rehearsal>>> {
    rehearse_watched(settings, folder, None)
}

/// The same; with a task, the files that each gate uses are looked at.
pub(crate) fn rehearse_watched(
    settings: &Settings,
    folder: &Path,
    task: Option<&RehearsedTask<'_>>,
) -> io::Result<Option<Vec<Rehearsal>>> {
    let mut signals = Signals::listen()?;
    become_reaper()?;
    let outputs = std::env::temp_dir().join(format!("loop-rehearsal-{}", crate::fs::fresh_id()?));
    let mode = settings.values.agent.containment.word();
    // An id as that of a run: a gate cannot tell where it is run.
    let containment = Containment::new(crate::fs::fresh_id()?.as_str(), mode, None)?;
    let context = GateContext { folder, same: None, is_copy: false, secrets: Arc::default(), variables: Vec::new() };
    let mut runner = GateRunner::new(context, settings.gate_timeout_ms, outputs.clone(), containment, &mut signals);
    let rehearsed = settings.gates.iter().map(|gate| {
        if let Some(task) = task {
            runner.watch(GateOpens::begin(&task.context));
        }
        let tried = runner.try_once(gate, &mut |_| {});
        let opens = runner.take_opens().zip(task);
        let uses = opens.map(|(opens, task)| opens.finish(&gate.command, task.task).0.files).unwrap_or_default();
        if runner.was_stopped() {
            return Ok(None);
        }
        let GateTry { report, tests } = tried.map_err(io::Error::other)?;
        let end = |name: &str, most: u64| tail_of(&runner.output().join(name), most);
        let useful = tests.is_some().then(|| {
            excerpt(&end("stdout", TESTED_BYTES_MAX), &end("stderr", TESTED_BYTES_MAX), GATE_OUTPUT_BYTES_MAX)
        });
        let (passed, failed) = tests.as_ref().map_or((0, 0), |tests| (tests.passed, tests.failed));
        let ended = report.ended;
        if let Ended::NotStarted(why) = ended {
            return Err(io::Error::other(why));
        }
        let verdict = consult(|deciding| gate.promise().judge(&ended, false, deciding));
        Ok(Some(Rehearsal {
            verdict,
            score: GateScore { verdict, required: !gate.watch, passed, failed },
            ended,
            duration_ms: report.duration_ms,
            stdout: end("stdout", TAIL_BYTES_MAX),
            stderr: end("stderr", TAIL_BYTES_MAX),
            useful,
            uses,
        }))
    });
    let rehearsed = rehearsed.collect();
    if outputs.exists() {
        std::fs::remove_dir_all(&outputs)?;
    }
    rehearsed
}
