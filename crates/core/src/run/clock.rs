//! Who drives a run, and how much of its time is used. When something is due is decided in `deadline`.
use super::fact::HoldCause;
use crate::time::At;

/// Who drives the run, and how much of its time is used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RunClock {
    created: At,
    driver: DriverMode,
    since: Option<At>,
    used_ms: u64,
    share: TimeShare,
    ended_agent: bool,
    unattended: bool,
}

/// Whether a driver works on the run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DriverMode {
    /// None does.
    #[default]
    None,
    /// One drives it.
    Driving,
    /// A command opened it for one request and does not resume it.
    OneRequest,
}

/// What the time limit of the run has done so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum TimeShare {
    /// Nothing.
    #[default]
    Unused,
    /// The run was opened again: the gates run first, whatever the time.
    GatesFirst,
    /// It ended a gate: nothing more is done.
    EndedGate,
}

impl RunClock {
    /// When the run was created.
    #[must_use]
    pub fn created(&self) -> At {
        self.created
    }

    pub(super) fn create(&mut self, at: At) {
        self.created = at;
    }

    /// Whether a driver works on the run.
    #[must_use]
    pub fn driver(&self) -> DriverMode {
        self.driver
    }

    /// How long the run has been at work: not while it was paused, or while no driver worked on it.
    #[must_use]
    pub fn active_ms(&self, now: At) -> u64 {
        self.used_ms + self.since.map_or(0, |since| now.ms_since(since))
    }

    /// Whether no person can see that the run waits for one.
    #[must_use]
    pub fn is_unattended(&self) -> bool {
        self.unattended
    }

    pub(super) fn set_unattended(&mut self, unattended: bool) {
        self.unattended = unattended;
    }

    /// Whether the time of the run does not pass while it holds. A failure of this machine that no person can see is
    /// different: its time counts.
    pub(super) fn stops_for(&self, cause: HoldCause) -> bool {
        cause.waits_for_person() && !(cause == HoldCause::Blocked && self.unattended)
    }

    /// The time that was used before the clock was started last.
    pub(super) fn used_ms(&self) -> u64 {
        self.used_ms
    }

    /// Since when the time counts; none while it does not.
    pub(super) fn since(&self) -> Option<At> {
        self.since
    }

    /// The run was opened again: the gates run first, whatever the time.
    pub(super) fn gates_come_first(&self) -> bool {
        self.share == TimeShare::GatesFirst
    }

    /// The limit ended the agent: the rest is for the gates, and not for another call, also after a resume.
    pub(super) fn ended_agent(&self) -> bool {
        self.ended_agent
    }

    pub(super) fn ended_gate(&self) -> bool {
        self.share == TimeShare::EndedGate
    }

    pub(super) fn open(&mut self, before: At, now: At, gates_first: bool) {
        self.stop(before);
        self.since = Some(now);
        self.share = if gates_first { TimeShare::GatesFirst } else { TimeShare::Unused };
        self.driver = DriverMode::Driving;
    }

    pub(super) fn open_for_request(&mut self) {
        self.since = None;
        self.driver = DriverMode::OneRequest;
    }

    pub(super) fn close(&mut self, now: At) {
        self.stop(now);
        self.driver = DriverMode::None;
    }

    /// Time that passes from now on does not count.
    pub(super) fn stop(&mut self, now: At) {
        self.used_ms = self.active_ms(now);
        self.since = None;
    }

    pub(super) fn go_on(&mut self, now: At) {
        self.since = self.since.or(Some(now));
    }

    pub(super) fn agent_begins(&mut self) {
        self.ended_agent = false;
        self.share = TimeShare::Unused;
    }

    pub(super) fn agent_ended(&mut self, by_time: bool) {
        self.ended_agent |= by_time;
    }

    pub(super) fn gate_ended_by_time(&mut self) {
        self.share = TimeShare::EndedGate;
    }

    /// There is another limit of time.
    pub(super) fn limit_changed(&mut self) {
        self.ended_agent = false;
        if self.share != TimeShare::GatesFirst {
            self.share = TimeShare::Unused;
        }
    }
}
