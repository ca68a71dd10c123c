//! One case: a kind, a cause, and who is left of it.
use std::collections::BTreeSet;
use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use loop_testkit::{Being, Escapees, TestEnv, kill, processes_of, wait_at_most};

use super::modes::{self, Delegated, Mode, Programs};

/// Nobody may be left after so long.
const GONE_AFTER: Duration = Duration::from_secs(5);
/// Within this an escapee has escaped, even if the machine is busy.
const READY_AFTER: Duration = Duration::from_secs(20);
/// Within this the harness has ended of itself: the grace of 5 s, the 5 s, and some for a busy machine.
const ENDED_AFTER: Duration = Duration::from_secs(20);

/// Why the escapees should be gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Cause {
    End,
    Timeout,
    Cancel,
    Kill,
}

pub(super) const CAUSES: [Cause; 4] = [Cause::End, Cause::Timeout, Cause::Cancel, Cause::Kill];

impl Cause {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::End => "end",
            Self::Timeout => "timeout",
            Self::Cancel => "cancel",
            Self::Kill => "SIGKILL",
        }
    }
}

#[derive(Debug)]
pub(super) struct Case {
    pub(super) kind: &'static str,
    pub(super) cause: Cause,
}

/// A case under way.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) user: TestEnv,
    harness: Child,
    tag: String,
    program: PathBuf,
    is_ready: bool,
    seen: BTreeSet<Being>,
    /// Removed when everybody in it is gone.
    cgroup: Option<Delegated>,
}

/// How a case went.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    left: usize,
    ours: usize,
    hung: bool,
    unready: bool,
    /// From the cause, or from when all had escaped before a timeout, to the last death.
    pub(super) took: Duration,
    pub(super) notes: Vec<String>,
}

impl Verdict {
    pub(super) fn is_fault(&self) -> bool {
        self.left > 0 || self.ours > 0 || self.hung || self.unready
    }

    /// `0`, or how many are left, those of the harness itself apart.
    pub(super) fn words(&self) -> String {
        let mut words = self.left.to_string();
        for (holds, text) in [
            (self.ours > 0, format!(" + {} of loop", self.ours)),
            (self.hung, " (hangs)".to_owned()),
            (self.unready, " (never ready)".to_owned()),
        ] {
            words.push_str(if holds { &text } else { "" });
        }
        words
    }
}

impl Case {
    pub(super) fn play(&self, mode: &Mode, programs: &Programs) -> Verdict {
        self.begin(mode, programs).end(self)
    }

    /// Starts the loop and waits until the escapees have escaped.
    pub(super) fn begin(&self, mode: &Mode, programs: &Programs) -> Run {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let tag = format!("{}-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::SeqCst), self.kind);
        let (user, cgroup) = mode.user(programs, &tag);
        let (program, zoo, folder) = (programs.path("loop"), programs.path("zoo"), user.root().join("zoo"));
        let how = if self.cause == Cause::End { "end" } else { "stay" };
        let agent = format!(
            "ZOO_TAG={tag} ZOO_LOOP={} exec {} {} {} {how}",
            program.display(),
            zoo.display(),
            self.kind,
            folder.display()
        );
        let mut more = vec!["-n", "1"];
        more.extend(mode.words());
        if self.cause == Cause::Timeout {
            more.extend(["--timeout", "2s"]);
        }
        let mut command = user.command(&crate::start(&agent, "false", &more));
        // Files: who outlives the harness with its outputs must not make us wait.
        let said = File::create(user.root().join("said")).unwrap();
        command.stdout(said.try_clone().unwrap()).stderr(said);
        let mut harness = command.spawn().unwrap();
        let there = |name: &str| folder.join(name).exists();
        let is_ready = wait_at_most(READY_AFTER, || {
            there("ready") || there("done") || harness.try_wait().is_ok_and(|status| status.is_some())
        });
        let seen = Escapees { tag: &tag, folder: &folder }.alive();
        Run { user, harness, tag, program, is_ready, seen, cgroup }
    }
}

impl Run {
    fn folder(&self) -> PathBuf {
        self.user.root().join("zoo")
    }

    /// Who is alive of the escapees.
    pub(super) fn left(&self) -> BTreeSet<Being> {
        let folder = self.folder();
        let mut left = Escapees { tag: &self.tag, folder: &folder }.alive();
        left.extend(self.seen.iter().filter(|being| being.is_alive()));
        left
    }

    /// Who is alive of the program itself.
    pub(super) fn ours(&self) -> BTreeSet<Being> {
        processes_of(&self.program, &self.user.root().join("home"))
    }

    /// The cgroup that the loop made for itself, if it is still there.
    fn groups(&self) -> Option<PathBuf> {
        let above = self.cgroup.as_ref().map_or_else(modes::place_of_cgroups, |given| given.path.clone());
        let ids = self.user.ids().into_iter();
        ids.map(|id| above.join(format!("loop-{id}"))).find(|path| path.exists())
    }

    fn wait(&mut self) -> Option<ExitStatus> {
        wait_at_most(ENDED_AFTER, || self.harness.try_wait().is_ok_and(|status| status.is_some()));
        self.harness.try_wait().unwrap()
    }

    /// Lets the cause happen and counts who is left after it.
    pub(super) fn end(&mut self, case: &Case) -> Verdict {
        let folder = self.folder();
        let escaped = !Escapees { tag: &self.tag, folder: &folder }.reported().is_empty();
        let mut verdict = Verdict { unready: !self.is_ready || !escaped, ..Verdict::default() };
        let began = Instant::now();
        match case.cause {
            Cause::End | Cause::Timeout => verdict.hung = self.wait().is_none(),
            Cause::Cancel => {
                let cancelled = self.user.ids().first().map(|id| self.user.run(&["cancel", id]));
                verdict.hung = self.wait().is_none();
                let refused = cancelled.filter(|ran| ran.code != Some(0)).map(|ran| ran.err());
                verdict.notes.extend(
                    refused.map(|why| format!("cancel was refused: {}", why.lines().next().unwrap_or_default())),
                );
            }
            Cause::Kill => {
                self.harness.kill().unwrap();
                self.harness.wait().unwrap();
            }
        }
        if verdict.hung {
            self.harness.kill().ok();
            self.harness.wait().unwrap();
        } else if case.cause != Cause::Kill && !self.left().is_empty() {
            verdict.notes.push("somebody was alive when the loop said that it had ended".to_owned());
        }
        self.is_over_in_time();
        (verdict.left, verdict.ours) = (self.left().len(), self.ours().len());
        verdict.took = began.elapsed();
        let impossible = self.user.read("zoo/impossible");
        verdict.notes.extend(Some(impossible.trim().to_owned()).filter(|text| !text.is_empty()));
        verdict.notes.extend(self.groups().map(|group| format!("a cgroup is left: {}", group.display())));
        if verdict.is_fault() {
            let said = self.user.read("said");
            verdict.notes.push(format!("the loop's last word was: {}", said.lines().last().unwrap_or("nothing")));
        }
        self.clean_up();
        verdict
    }

    /// Harness, shim and init, each the child of the one before, while an order is under way.
    pub(super) fn keepers(&self) -> Vec<Being> {
        let mut chain: Vec<Being> = Being::at(i32::try_from(self.harness.id()).unwrap()).into_iter().collect();
        let ours = self.ours();
        while let Some(next) = ours.iter().find(|being| being.parent() == chain.last().map(|above| above.pid)) {
            chain.push(*next);
        }
        chain
    }

    /// Takes in the end of a harness that was killed.
    pub(super) fn take_in(&mut self) {
        self.harness.wait().unwrap();
    }

    /// Whether all are gone in time.
    pub(super) fn is_over_in_time(&self) -> bool {
        wait_at_most(GONE_AFTER, || self.left().is_empty() && self.ours().is_empty())
    }

    /// Nobody is left behind by a test that fails.
    pub(super) fn clean_up(&self) {
        let folder = self.folder();
        for _ in 0..3 {
            Escapees { tag: &self.tag, folder: &folder }.end();
            kill(&self.ours());
            kill(&self.left());
        }
        if let Some(group) = self.groups() {
            modes::remove_below(&group);
        }
    }
}
