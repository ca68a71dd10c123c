//! Wakes the driver at a deadline, by the boot clock or by the wall clock.
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use loop_core::time::Deadline;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};

use crate::clock;

/// One timer a clock. Where the system gives none, `poll` gets a time-out instead.
#[derive(Debug)]
pub(super) struct Timers {
    boot: Option<OwnedFd>,
    wall: Option<OwnedFd>,
}

impl Timers {
    pub(super) fn new() -> Self {
        let make = |clock| timerfd_create(clock, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK).ok();
        Self { boot: make(TimerfdClockId::Boottime), wall: make(TimerfdClockId::Realtime) }
    }

    /// What wakes the driver.
    pub(super) fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        [&self.boot, &self.wall].into_iter().flatten().map(AsFd::as_fd)
    }

    /// Sets both. Returns how long `poll` may sleep, where there is no timer of the boot clock.
    pub(super) fn set(&self, deadline: Option<Deadline>, wall_ms: Option<u64>) -> Option<Duration> {
        self.set_wall(wall_ms);
        let by_timer = self.set_boot(deadline);
        let deadline = deadline.filter(|_| !by_timer)?;
        Some(Duration::from_millis(deadline.due_in_ms(clock::now())))
    }

    /// By the boot clock, which runs on in suspend. Without a deadline it is set to never: a timer that has fired would
    /// wake the driver for ever.
    fn set_boot(&self, deadline: Option<Deadline>) -> bool {
        let Some(timer) = &self.boot else { return false };
        let due = |deadline: Deadline| i64::try_from(deadline.due_in_ms(clock::now())).unwrap_or(i64::MAX / 2).max(1);
        timerfd_settime(timer, TimerfdTimerFlags::empty(), &once(deadline.map_or(0, due))).is_ok()
    }

    /// A stated time comes when the wall clock shows it, also when a person sets that clock.
    fn set_wall(&self, until_ms: Option<u64>) {
        let Some(timer) = &self.wall else { return };
        let until = until_ms.map_or(0, |until| i64::try_from(until).unwrap_or(0));
        // Without it the deadline by the boot clock comes, later at worst.
        timerfd_settime(timer, TimerfdTimerFlags::ABSTIME, &once(until)).ok();
    }
}

fn once(ms: i64) -> Itimerspec {
    let value = Timespec { tv_sec: ms / 1000, tv_nsec: ms % 1000 * 1_000_000 };
    Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: value }
}
