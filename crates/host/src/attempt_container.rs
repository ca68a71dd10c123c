//! An attempt in a container: the agent's files are copied there, our own program runs in place of the agent on
//! this side, and what the agent left running counts as part of its end.
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use loop_core::agent::{Call, Permissions, StopSignal};
use loop_core::run::{Answer, Ended};
use loop_core::settings::AgentSettings;

use crate::container::exec::{failure, for_agent, reported};
use crate::container::{ContainerRecord, Gone, put};
use crate::process::TaskEnd;
use crate::runs::RunFolder;

const REPORT: &str = "container-report.json";

/// The container of an attempt.
#[derive(Debug)]
pub(crate) struct Inside {
    record: ContainerRecord,
    /// The file that lists what was left in the container.
    report: PathBuf,
    /// Whether the agent has all permissions; some agents need a variable for that.
    all: bool,
}

impl Inside {
    /// The container that the attempt belongs in; none if it works on this machine.
    pub(crate) fn of(run: &RunFolder, settings: &AgentSettings, folder: &Path) -> io::Result<Option<Self>> {
        if !settings.in_container() {
            return Ok(None);
        }
        // Never fall back to this machine.
        let gone = || io::Error::other("it is not known any more which container the agent belongs in");
        let record = ContainerRecord::read(&run.path).ok_or_else(gone)?;
        let report = folder.join(REPORT);
        // The report of an attempt that was cut off does not count for this one.
        std::fs::remove_file(&report).ok();
        Ok(Some(Self { record, report, all: settings.allowed() == Permissions::All }))
    }

    pub(crate) fn workdir(&self) -> String {
        self.record.workdir.clone()
    }

    /// The folder inside for what the agent reads.
    pub(crate) fn files(&self) -> String {
        self.record.files()
    }

    /// Puts there what the agent reads: texts by their names, and files by their paths inside.
    pub(crate) fn put(&self, texts: &[(&str, &String)], files: &[(String, String)]) -> io::Result<()> {
        let texts = texts.iter().map(|(name, text)| (format!("{}/{name}", self.files()), text.as_bytes().to_vec()));
        let files = files.iter().map(|(path, text)| (path.clone(), text.as_bytes().to_vec()));
        let all: Vec<(String, Vec<u8>)> = texts.chain(files).collect();
        put(&self.record.socket, &self.record.container, &all).map_err(|error| io::Error::other(error.to_string()))
    }

    /// Our own program instead of the agent, with the agent's variables passed to it.
    pub(crate) fn stand_in(
        &self,
        call: Call,
        env: Vec<(String, OsString)>,
        gentle: StopSignal,
    ) -> (Call, Vec<(String, OsString)>) {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let ours = std::env::current_exe().map_or_else(|_| "loop".to_owned(), |path| text(&path));
        let (record, gentle) = (&self.record, if gentle == StopSignal::Interrupt { "INT" } else { "TERM" });
        let (socket, report) = (text(&record.socket), text(&self.report));
        let words = [
            [ours.as_str(), "container-exec"],
            ["--socket", &socket],
            ["--container", &record.container],
            ["--run", &record.run],
            ["--workdir", &record.workdir],
            ["--report", &report],
            ["--gentle", gentle],
        ];
        let words = words.into_iter().flatten().chain(["--"]).map(str::to_owned);
        let argv = words.chain(call.argv.iter().cloned()).collect();
        // Some agents refuse to work without questions as root, unless this variable is set.
        let shut_in = self.all.then(|| ("IS_SANDBOX".to_owned(), OsString::from("1")));
        let env = shut_in.into_iter().chain(env).map(|(name, value)| (for_agent(&name), value)).collect();
        (Call { argv, files: Vec::new(), ..call }, env)
    }

    /// The end of our program, with what is known of the container.
    pub(crate) fn settled(&self, mut end: TaskEnd) -> TaskEnd {
        let Gone { ended, left } = reported(&self.report).unwrap_or_else(|| self.record.clean());
        if end.ended != Ended::ByUs {
            // Of one that we ended all are counted, itself too.
            end.left_running = end.left_running.saturating_add(ended);
            let failed = failure(&self.report).map(|why| format!("the agent in its container: {why}"));
            end.failed = end.failed.or(failed);
        }
        end.lost.extend(left);
        end
    }
}

/// What a sweep of this machine came to, with the run's container swept too.
pub(crate) fn cleaned(run: &RunFolder, swept: Answer) -> Answer {
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

/// No driver is left: a container of the run's own is removed. If that fails now, it is tried again later.
pub(crate) fn forget(run: &RunFolder) {
    if let Some(record) = ContainerRecord::read(&run.path).filter(|record| record.own) {
        record.remove(&run.path).ok();
    }
}
