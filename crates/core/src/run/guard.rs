//! What is known about the protected files: when they are checked, what was found, and whether verdicts of gates count.
use super::fact::{GatePoint, GuardPoint};
use super::judgement::{GuardJudgement, Tamper};
use super::report::GuardReport;
use crate::policy::protect::{GateUse, GateUses, ProtectJudgement};

/// What the run knows about its protected files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Guard {
    files: Option<u32>,
    record: Option<String>,
    watched: u32,
    ran: Option<Ran>,
    times: u32,
    found: Option<Found>,
    /// The state that the gates judged when they changed them: their verdicts of it are void.
    void_at: Option<GatePoint>,
    targets: Vec<String>,
    /// People had time to change them, which is their right.
    people: bool,
    /// A changed file is left, and it was not people who changed it.
    suspect: bool,
    unjudged: Option<(GuardPoint, GuardReport)>,
    /// What a gate uses, and is not judged yet.
    used: Option<Vec<GateUse>>,
    /// Files that the gates use: protected since the baseline.
    learned: Vec<String>,
    /// How many of these, from the first on, have an original.
    with_original: usize,
    /// What was restored in the newest iterations.
    restored: Vec<RestoredFiles>,
    /// A person is asked about this file.
    asks: Option<String>,
    /// Programs of the gates that may be the work: a person is asked at the first change.
    maybe_work: Vec<String>,
    /// Files that the gates use, and that are not protected: the task names them, or a person allowed to change them.
    left: Vec<String>,
}

/// The protected files that were restored in an iteration.
#[derive(Debug, Clone, PartialEq, Eq)]
struct RestoredFiles {
    iteration: u32,
    paths: Vec<String>,
}

/// What ran since they were checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ran {
    /// The agent.
    Agent,
    /// A gate.
    Gates,
}

/// What was found last, while it concerns the state that is judged.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Found {
    report: GuardReport,
    tamper: Tamper,
}

impl Guard {
    /// The hash of the record of the originals, where there is one.
    #[must_use]
    pub fn record(&self) -> Option<&str> {
        self.record.as_deref()
    }

    /// How many iterations changed a protected file.
    #[must_use]
    pub fn times(&self) -> u32 {
        self.times
    }

    /// What was found last, while it concerns the state that is judged.
    #[must_use]
    pub fn found(&self) -> Option<&GuardReport> {
        self.found.as_ref().map(|found| &found.report)
    }

    /// Whether it was the gates that changed them.
    #[must_use]
    pub fn by_gates(&self) -> bool {
        self.void_at.is_some()
    }

    /// Where tests are run otherwise than at the start.
    #[must_use]
    pub fn targets(&self) -> &[String] {
        &self.targets
    }

    /// Whether a protected file is not what it was, and that counts.
    #[must_use]
    pub fn stands_tampered(&self) -> bool {
        self.found.as_ref().is_some_and(|found| found.tamper == Tamper::Found && !found.report.restored)
    }

    /// The files that the gates use, and that are protected since the baseline.
    #[must_use]
    pub fn learned(&self) -> &[String] {
        &self.learned
    }

    /// A file that was restored in two iterations running and changed again, or that may be the work itself: only a person
    /// can say what it may be.
    #[must_use]
    pub fn asks(&self) -> Option<&str> {
        self.asks.as_deref()
    }

    /// The files that were restored in both of the two iterations before this one.
    pub fn restored_twice_before(&self, iteration: u32) -> impl Iterator<Item = &str> {
        let of = |wanted: Option<u32>| {
            let found = self.restored.iter().find(|restored| Some(restored.iteration) == wanted);
            found.map_or(&[][..], |restored| &restored.paths[..])
        };
        let (first, second) = (of(iteration.checked_sub(2)), of(iteration.checked_sub(1)));
        first.iter().filter(|path| second.contains(path)).map(String::as_str)
    }

    /// Files that the gates use, and that are not protected: the task names them, or a person allowed to change them.
    #[must_use]
    pub fn left(&self) -> &[String] {
        &self.left
    }

    /// Programs of the gates that may be the work: they are not restored at the first change.
    #[must_use]
    pub fn maybe_work(&self) -> &[String] {
        &self.maybe_work
    }

    /// What a gate uses, and is not judged yet.
    pub(super) fn unjudged_uses(&self) -> Option<&[GateUse]> {
        self.used.as_deref()
    }

    /// Whether files are protected that have no original yet.
    pub(super) fn has_new(&self) -> bool {
        self.with_original < self.learned.len()
    }

    pub(super) fn gate_used(&mut self, uses: Option<&GateUses>) {
        self.used = uses.map(|uses| uses.files.clone()).filter(|files| !files.is_empty());
    }

    pub(super) fn protect(&mut self, judgement: &ProtectJudgement) {
        self.used = None;
        for path in &judgement.files {
            if !self.learned.contains(path) {
                self.learned.push(path.clone());
            }
        }
        let is_new = |path: &&String| !self.maybe_work.contains(path);
        let new: Vec<String> = judgement.maybe_work.iter().filter(is_new).cloned().collect();
        self.maybe_work.extend(new);
        let is_new = |path: &&String| !self.left.contains(path);
        let new: Vec<String> = judgement.left.iter().filter(is_new).cloned().collect();
        self.left.extend(new);
    }

    /// What was checked, and is not judged yet.
    pub(super) fn unjudged(&self) -> Option<&(GuardPoint, GuardReport)> {
        self.unjudged.as_ref()
    }

    pub(super) fn is_known(&self) -> bool {
        self.files.is_some()
    }

    /// What ran since they were checked, where there are any.
    pub(super) fn due(&self) -> Option<Ran> {
        self.ran.filter(|_| self.has_files())
    }

    /// Whether something ran since, and files are watched that say how tests are run.
    pub(super) fn watched_due(&self) -> bool {
        self.ran.is_some() && self.watched > 0
    }

    pub(super) fn ran(&self) -> Option<Ran> {
        self.ran
    }

    /// Whether people may have changed them.
    pub(super) fn due_for_people(&self) -> bool {
        self.people && self.has_files()
    }

    pub(super) fn is_suspect(&self) -> bool {
        self.suspect
    }

    fn has_files(&self) -> bool {
        self.files.is_some_and(|files| files > 0)
    }

    pub(super) fn opened(&mut self) {
        self.people |= self.is_known();
        // A person has seen what was asked: it is restored again.
        self.restored.clear();
        self.maybe_work.clear();
    }

    /// People have, or had, time to change them.
    pub(super) fn people_had_time(&mut self) {
        self.people = true;
    }

    pub(super) fn agent_begins(&mut self) {
        self.ran = Some(Ran::Agent);
        self.forget();
    }

    pub(super) fn gate_begins(&mut self, first: bool) {
        self.ran = Some(Ran::Gates);
        // What the gates did in the round before says nothing about this one.
        if first {
            self.void_at = None;
        }
    }

    /// Somebody else had the workspace since: what was found before says nothing about it.
    pub(super) fn forget(&mut self) {
        self.found = None;
        self.asks = None;
        self.void_at = None;
    }

    pub(super) fn checked(&mut self, point: GuardPoint, report: &GuardReport) {
        self.ran = None;
        self.files = Some(report.files);
        self.record = report.record.clone().or(self.record.take());
        self.watched = report.watched;
        match point {
            GuardPoint::Start => {}
            GuardPoint::Agent(..) => {
                self.targets = report.targets.clone();
                self.people = false;
            }
            GuardPoint::Gates(_) => {
                self.targets = report.targets.clone();
                self.with_original = self.learned.len();
            }
            GuardPoint::People => self.people = false,
        }
        self.unjudged = Some((point, report.clone()));
    }

    /// Stores what was decided. Returns whether the verdicts of the gates do not count because of it.
    pub(super) fn judged(&mut self, judgement: &GuardJudgement) -> bool {
        let Some((point, report)) = self.unjudged.take() else { return false };
        if point != GuardPoint::People {
            self.suspect = judgement.suspect;
        }
        let tamper = judgement.tamper;
        if matches!(tamper, Tamper::None | Tamper::Known) {
            return false;
        }
        self.times = self.times.saturating_add(1);
        self.asks = judgement.asks.clone();
        if let (GuardPoint::Agent(iteration, _), true) = (point, report.restored) {
            self.remember(iteration, &report.paths);
        }
        self.found = Some(Found { report, tamper });
        let GuardPoint::Gates(void) = point else { return false };
        if tamper == Tamper::Found {
            self.void_at = Some(void);
        }
        tamper == Tamper::Found
    }

    fn remember(&mut self, iteration: u32, paths: &[String]) {
        match self.restored.iter_mut().find(|restored| restored.iteration == iteration) {
            // Another attempt at the same iteration.
            Some(known) => known.paths.extend(paths.iter().cloned()),
            None => self.restored.push(RestoredFiles { iteration, paths: paths.to_vec() }),
        }
        let old = self.restored.len().saturating_sub(3);
        self.restored.drain(..old);
    }
}
