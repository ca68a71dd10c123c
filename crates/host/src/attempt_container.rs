//! An attempt in a container: its files are copied there, our own program runs in the agent's place on this side, and
//! processes that the agent left in the container are ended with it.
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use loop_core::agent::{AgentCommand, Permissions, StopSignal};
use loop_core::run::{Answer, Ended};
use loop_core::settings::AgentSettings;

use crate::container::exec::{failure, for_agent, reported};
use crate::container::{ContainerRecord, Gone, put};
use crate::process::TaskEnd;
use crate::run_folder::RunFolder;

const REPORT: &str = "container-report.json";

/// The container of an attempt.
#[derive(Debug)]
pub(crate) struct AttemptContainer {
    record: ContainerRecord,
    /// The file in which our program reports what was left in the container.
    report: PathBuf,
    /// Whether the agent may do anything. Some agents need a variable for that, which says that they are contained.
    all: bool,
}

impl AttemptContainer {
    /// The container of the attempt; none if it works on this machine.
    pub(crate) fn of(run: &RunFolder, settings: &AgentSettings, folder: &Path) -> io::Result<Option<Self>> {
        if !settings.in_container() {
            return Ok(None);
        }
        // It must never run on this machine instead.
        let gone = || io::Error::other("it is not known any more which container the agent belongs in");
        let record = ContainerRecord::read(&run.path).ok_or_else(gone)?;
        let report = folder.join(REPORT);
        // A report of an attempt that was cut off says nothing about this one.
        std::fs::remove_file(&report).ok();
        Ok(Some(Self { record, report, all: settings.allowed() == Permissions::All }))
    }

    pub(crate) fn workdir(&self) -> String {
        self.record.workdir.clone()
    }

    /// The folder in the container for the files that the agent reads.
    pub(crate) fn files(&self) -> String {
        self.record.files()
    }

    /// Copies into the container what the agent reads: texts by their names, and files by their paths there.
    pub(crate) fn copy(&self, texts: &[(&str, &String)], files: &[(String, String)]) -> io::Result<()> {
        let texts = texts.iter().map(|(name, text)| (format!("{}/{name}", self.files()), text.as_bytes().to_vec()));
        let files = files.iter().map(|(path, text)| (path.clone(), text.as_bytes().to_vec()));
        let all: Vec<(String, Vec<u8>)> = texts.chain(files).collect();
        put(&self.record.socket, &self.record.container, &all).map_err(|error| io::Error::other(error.to_string()))
    }

    /// The command of our own program that runs the agent in the container, with the agent's variables.
    pub(crate) fn wrap(
        &self,
        call: AgentCommand,
        env: Vec<(String, OsString)>,
        stop_signal: StopSignal,
    ) -> (AgentCommand, Vec<(String, OsString)>) {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let ours = std::env::current_exe().map_or_else(|_| "loop".to_owned(), |path| text(&path));
        let record = &self.record;
        let signal = if stop_signal == StopSignal::Interrupt { "INT" } else { "TERM" };
        let (socket, report) = (text(&record.socket), text(&self.report));
        let words = [
            [ours.as_str(), "container-exec"],
            ["--socket", &socket],
            ["--container", &record.container],
            ["--run", &record.run],
            ["--workdir", &record.workdir],
            ["--report", &report],
            ["--gentle", signal],
        ];
        let words = words.into_iter().flatten().chain(["--"]).map(str::to_owned);
        let argv = words.chain(call.argv.iter().cloned()).collect();
        // Some agents refuse to work unattended as root, unless this variable says that they are contained.
        let sandbox = self.all.then(|| ("IS_SANDBOX".to_owned(), OsString::from("1")));
        let env = sandbox.into_iter().chain(env).map(|(name, value)| (for_agent(&name), value)).collect();
        (AgentCommand { argv, files: Vec::new(), ..call }, env)
    }

    /// The end of our program, with what it reported of the container.
    pub(crate) fn finish(&self, mut end: TaskEnd) -> TaskEnd {
        let Gone { ended, left } = reported(&self.report).unwrap_or_else(|| self.record.clean());
        if end.ended != Ended::ByUs {
            // Of an attempt that we ended, all processes are counted by us, its own too.
            end.left_running = end.left_running.saturating_add(ended);
            let failed = failure(&self.report).map(|why| format!("the agent in its container: {why}"));
            end.failed = end.failed.or(failed);
        }
        end.lost.extend(left);
        end
    }
}

/// Ends the processes of a run in its container too, after those on this machine.
pub(crate) fn clean_up(run: &RunFolder, swept: Answer) -> Answer {
    let Some(record) = ContainerRecord::read(&run.path) else { return swept };
    let Gone { ended, left } = record.clean();
    let here = if let Answer::Lost { left } = &swept { left.clone() } else { Vec::new() };
    let left = [here, left].concat();
    if !left.is_empty() {
        return Answer::Lost { left };
    }
    if let Answer::Cleaned { killed } = swept {
        return Answer::Cleaned { killed: killed.saturating_add(ended) };
    }
    swept
}

/// Removes the container of a run that is not driven, if it belongs to the run. One that cannot be removed now is tried
/// again later.
pub(crate) fn remove_own(run: &RunFolder) {
    if let Some(record) = ContainerRecord::read(&run.path).filter(|record| record.own) {
        record.remove(&run.path).ok();
    }
}
