//! An order to judge: its child is started, and its report read at the end.
//!
//! The report is what the child writes to its stdout, one JSON object: no file that the code under test could find and
//! write. It counts only if the child ended by itself with exit code 0, and wrote nothing else. So code that kills the
//! child, or writes into its pipe (a process of the same user can, by `/proc`), ends the order without a result.
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use loop_core::ids::OrderId;
use loop_core::run::{Answer, Ended, JudgeReport, JudgedTree, NotJudged, RunState};
use loop_core::text;

use super::baseline;
use super::child::{CHILD, JudgeRequest, REPORT_LENGTH_MAX};
use crate::paths::{text_of, write_whole};
use crate::process::{Containment, MAIN, Task, TaskEnd, TaskSpec, Voice};
use crate::run_folder::RunFolder;
use crate::workspace::copy::sweep;

const REQUEST: &str = "request.json";
/// How much of its errors is in an answer.
const WHY_BYTES_MAX: usize = 300;

/// An order that is under way.
#[derive(Debug)]
pub(crate) struct JudgeWork {
    copies: PathBuf,
    /// What the child wrote to its stdout; what is too long for a report is not needed.
    written: Vec<u8>,
}

/// Starts the child of an order.
///
/// # Errors
/// The answer, where it cannot be started.
pub(crate) fn start(
    run: &RunFolder,
    state: &RunState,
    id: OrderId,
    tree: JudgedTree,
    containment: &mut Containment,
) -> Result<(Task, JudgeWork), Answer> {
    let not_done = |why: String| Answer::Judged(Box::new(JudgeReport::not_done(NotJudged::HostFailed { why })));
    let needs_copy = !matches!(tree, JudgedTree::Hidden { in_copy: false, .. });
    let Some(checkpoint) = state.checkpoints.newest().or((!needs_copy).then_some("")) else {
        return Err(not_done("this loop keeps no checkpoints, so there is nothing to copy".to_owned()));
    };
    // Where it is damaged, nothing else may decide instead.
    let recorded = state.proving.baseline().filter(|_| state.iteration > 0);
    if let Err(damaged) = baseline::check(&run.path, recorded) {
        return Err(Answer::Blocked { why: format!("{damaged}; {}", baseline::RECORD_HINT) });
    }
    let home = run.path.parent().and_then(Path::parent).unwrap_or(&run.path);
    let copies = home.join("copies");
    let request =
        JudgeRequest { run: run.path.clone(), tree, checkpoint: checkpoint.to_owned(), copies: copies.clone() };
    let folder = run.gate(state.iteration, id);
    let file = folder.join(REQUEST);
    let written = DirBuilder::new().recursive(true).mode(0o700).create(&folder).and_then(|()| {
        let text = serde_json::to_string(&request)?;
        write_whole(&file, &text)
    });
    if let Err(error) = written {
        return Err(not_done(format!("the request cannot be written: {error}")));
    }
    let argv = ["/proc/self/exe".to_owned(), CHILD.to_owned(), text_of(&file)];
    let spec = TaskSpec {
        lane: MAIN,
        argv: &argv,
        clear: false,
        env: Vec::new(),
        folder: PathBuf::from("/"),
        same: None,
        stdin: None,
        output: folder.clone(),
        secrets: Arc::default(),
    };
    let task = Task::start(spec, containment).map_err(|error| not_done(format!("it cannot be started: {error}")))?;
    Ok((task.interrupted_gently(), JudgeWork { copies, written: Vec::new() }))
}

impl JudgeWork {
    /// Takes what the child writes.
    pub(crate) fn read(&mut self, voice: Voice, bytes: &[u8]) {
        if voice == Voice::Stdout && self.written.len() <= REPORT_LENGTH_MAX {
            self.written.extend_from_slice(bytes);
        }
    }

    /// The answer, once the child and all its processes are dead.
    pub(crate) fn answer(self, end: TaskEnd) -> Answer {
        if !end.lost.is_empty() {
            return Answer::Lost { left: end.lost };
        }
        // A child that was killed could not remove its copy.
        sweep(&self.copies).ok();
        let report = report_of(&self.written, &end.ended).unwrap_or_else(|| {
            let why = match &end.ended {
                Ended::ByUs => NotJudged::Stopped,
                Ended::Exit(0) => {
                    let why = "it wrote no report, or something else beside it".to_owned();
                    NotJudged::HostFailed { why }
                }
                Ended::Exit(_) | Ended::Signal(_) | Ended::NotStarted(_) => {
                    let said = text::clean(&end.stderr_end);
                    let why = format!("{}: {}", end.ended.brief(), text::tail(said.trim(), WHY_BYTES_MAX));
                    NotJudged::HostFailed { why }
                }
            };
            JudgeReport { duration_ms: end.duration_ms, ..JudgeReport::not_done(why) }
        });
        Answer::Judged(Box::new(report))
    }
}

/// The report, if it counts.
fn report_of(written: &[u8], ended: &Ended) -> Option<JudgeReport> {
    if *ended != Ended::Exit(0) || written.len() > REPORT_LENGTH_MAX {
        return None;
    }
    serde_json::from_slice(written).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_counts_only_from_a_child_that_ended_by_itself_and_wrote_nothing_else() {
        let report = serde_json::to_vec(&JudgeReport { duration_ms: 7, ..JudgeReport::default() }).unwrap();
        let read = |written: &[u8], ended: Ended| report_of(written, &ended).map(|report| report.duration_ms);
        assert_eq!(read(&report, Ended::Exit(0)), Some(7));
        for ended in [Ended::Exit(1), Ended::Signal(9), Ended::ByUs, Ended::NotStarted("no".to_owned())] {
            assert_eq!(read(&report, ended.clone()), None, "{ended:?}");
        }
        let long = vec![b' '; REPORT_LENGTH_MAX + 1];
        for written in
            [&b""[..], b"{", &[b"{}", report.as_slice()].concat(), &[report.as_slice(), b"{}"].concat(), &long]
        {
            assert_eq!(read(written, Ended::Exit(0)), None);
        }
    }
}
