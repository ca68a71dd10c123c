//! An attempt in a container: what the agent reads is put there, our own program stands for it on this side, and what it left there
//! belongs to its end.
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use loop_core::agent::{AgentCommand, Permissions, StopSignal};
use loop_core::run::{Answer, Ended};
use loop_core::settings::AgentSettings;

use crate::container::exec::{failure, for_agent, reported};
use crate::container::{Gone, Kept, put};
use crate::process::TaskEnd;
use crate::runs::RunFolder;

const REPORT: &str = "container-report.json";

/// The container of an attempt.
#[derive(Debug)]
pub(crate) struct Inside {
    kept: Kept,
    /// Where it is told what was left in there.
    report: PathBuf,
    /// Whether the agent may do anything, which some only do where they are told that it is safe.
    all: bool,
}

impl Inside {
    /// The container that the attempt belongs in; none if it works on this machine.
    pub(crate) fn of(run: &RunFolder, settings: &AgentSettings, folder: &Path) -> io::Result<Option<Self>> {
        if !settings.in_container() {
            return Ok(None);
        }
        // On this machine instead is the one thing that it must not be.
        let gone = || io::Error::other("it is not known any more which container the agent belongs in");
        let kept = Kept::read(&run.path).ok_or_else(gone)?;
        let report = folder.join(REPORT);
        // That of an attempt that was cut off says nothing about this one.
        std::fs::remove_file(&report).ok();
        Ok(Some(Self { kept, report, all: settings.allowed() == Permissions::All }))
    }

    pub(crate) fn workdir(&self) -> String {
        self.kept.workdir.clone()
    }

    /// The folder inside for what the agent reads.
    pub(crate) fn files(&self) -> String {
        self.kept.files()
    }

    /// Puts there what the agent reads: texts by their names, and files by their paths inside.
    pub(crate) fn put(&self, texts: &[(&str, &String)], files: &[(String, String)]) -> io::Result<()> {
        let texts = texts.iter().map(|(name, text)| (format!("{}/{name}", self.files()), text.as_bytes().to_vec()));
        let files = files.iter().map(|(path, text)| (path.clone(), text.as_bytes().to_vec()));
        let all: Vec<(String, Vec<u8>)> = texts.chain(files).collect();
        put(&self.kept.socket, &self.kept.container, &all).map_err(|error| io::Error::other(error.to_string()))
    }

    /// Our own program in the agent's place, with the agent's variables handed to it.
    pub(crate) fn stand_in(
        &self,
        call: AgentCommand,
        env: Vec<(String, OsString)>,
        gentle: StopSignal,
    ) -> (AgentCommand, Vec<(String, OsString)>) {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let ours = std::env::current_exe().map_or_else(|_| "loop".to_owned(), |path| text(&path));
        let (kept, gentle) = (&self.kept, if gentle == StopSignal::Interrupt { "INT" } else { "TERM" });
        let (socket, report) = (text(&kept.socket), text(&self.report));
        let words = [
            [ours.as_str(), "container-exec"],
            ["--socket", &socket],
            ["--container", &kept.container],
            ["--run", &kept.run],
            ["--workdir", &kept.workdir],
            ["--report", &report],
            ["--gentle", gentle],
        ];
        let words = words.into_iter().flatten().chain(["--"]).map(str::to_owned);
        let argv = words.chain(call.argv.iter().cloned()).collect();
        // Some agents refuse as root to do anything unasked, unless they are told that they are shut in.
        let shut_in = self.all.then(|| ("IS_SANDBOX".to_owned(), OsString::from("1")));
        let env = shut_in.into_iter().chain(env).map(|(name, value)| (for_agent(&name), value)).collect();
        (AgentCommand { argv, files: Vec::new(), ..call }, env)
    }

    /// The end of our program, with what is known of the container.
    pub(crate) fn settled(&self, mut end: TaskEnd) -> TaskEnd {
        let Gone { ended, left } = reported(&self.report).unwrap_or_else(|| self.kept.clean());
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
    let Some(kept) = Kept::read(&run.path) else { return swept };
    let Gone { ended, left } = kept.clean();
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

/// Nobody drives the run: a container of its own goes. One that cannot be removed now is remembered.
pub(crate) fn forget(run: &RunFolder) {
    if let Some(kept) = Kept::read(&run.path).filter(|kept| kept.own) {
        kept.remove(&run.path).ok();
    }
}
