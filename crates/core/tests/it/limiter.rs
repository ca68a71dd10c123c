//! The hour that slides: stories, and laws over random suspends, restarts and jumps of the clock.
use loop_core::policy::limiter::{HOUR_MS, Window, age_ms, judge};
use loop_core::time::At;

use crate::world::Seed;

const MINUTE: u64 = 60_000;

fn minute(number: u64) -> At {
    At { wall_ms: 1_800_000_000_000 + number * MINUTE, boot_ms: 7 + number * MINUTE, boot_id: 1 }
}

#[test]
fn the_window_slides_call_by_call_and_is_not_emptied_at_once() {
    // req: C-09 partly: the window itself, not where it is kept
    let calls = [minute(0), minute(10), minute(20)];
    let full = judge(&calls, minute(30), 3);
    assert_eq!((full.calls, full.free_in_ms, full.oldest), (3, 30 * MINUTE, Some(minute(0))));
    let one_left = judge(&calls, minute(60), 3);
    assert_eq!((one_left.calls, one_left.free_in_ms, one_left.oldest), (2, 0, Some(minute(10))));
    assert_eq!(judge(&calls, minute(60), 2).free_in_ms, 10 * MINUTE, "only the next one has to leave");
    assert_eq!(judge(&calls, minute(60), 1).free_in_ms, 20 * MINUTE, "both have to leave");
}

#[test]
fn a_call_leaves_after_an_hour_to_the_millisecond() {
    let call = minute(0);
    let at = |ms| At { boot_ms: call.boot_ms + ms, ..call };
    assert_eq!(judge(&[call], at(HOUR_MS - 1), 1).free_in_ms, 1);
    assert_eq!(judge(&[call], at(HOUR_MS), 1), judge(&[], at(HOUR_MS), 1));
}

#[test]
fn the_order_of_the_calls_does_not_matter_and_no_limit_never_waits() {
    let calls = [minute(20), minute(0), minute(10)];
    assert_eq!(judge(&calls, minute(30), 3).free_in_ms, 30 * MINUTE);
    assert_eq!(judge(&calls, minute(30), 0).free_in_ms, 0);
    assert_eq!(judge(&calls, minute(30), 0).calls, 3);
}

#[test]
fn a_jump_of_the_clock_frees_no_call_of_this_start_of_the_machine_and_holds_none() {
    let calls = [minute(0), minute(10)];
    for wall_ms in [0, u64::MAX] {
        let window = judge(&calls, At { wall_ms, ..minute(30) }, 2);
        assert_eq!((window.calls, window.free_in_ms, window.dropped), (2, 30 * MINUTE, 0));
    }
}

#[test]
fn over_a_restart_the_clock_of_the_world_tells_and_what_lies_in_its_future_is_dropped_and_counted() {
    // req: C-09 partly: invalid state is dropped, and how much of it
    let calls = [minute(0), minute(10)];
    let restarted = |minutes: u64| At { boot_ms: 3, boot_id: 2, ..minute(minutes) };
    assert_eq!(judge(&calls, restarted(30), 2).free_in_ms, 30 * MINUTE);
    let back = At { wall_ms: minute(0).wall_ms - 2 * MINUTE, boot_ms: 3, boot_id: 2 };
    let window = judge(&calls, back, 2);
    assert_eq!((window.calls, window.free_in_ms, window.dropped), (0, 0, 2));
    // Two processes that ask in the same moment are no such thing.
    let raced = At { boot_ms: minute(0).boot_ms - 1, ..minute(0) };
    assert_eq!(judge(&calls[..1], raced, 1).free_in_ms, HOUR_MS, "a call of the same moment counts in full");
}

#[test]
fn a_start_of_the_machine_without_a_name_is_told_from_others_by_its_clock() {
    let nameless = |boot_ms: u64, minutes: u64| At { boot_ms, boot_id: 0, ..minute(minutes) };
    let before = nameless(90 * 24 * HOUR_MS, 0);
    assert_eq!(age_ms(before, nameless(5, 40)), Some(40 * MINUTE));
    assert_eq!(judge(&[before], nameless(5, 70), 1).calls, 0);
}

/// A machine whose true time goes on whatever its clocks show.
struct Machine {
    true_ms: u64,
    wall_shift: i64,
    booted_ms: u64,
    boot_id: u32,
}

impl Machine {
    fn now(&self) -> At {
        let wall_ms = self.true_ms.saturating_add_signed(self.wall_shift);
        At { wall_ms, boot_ms: self.true_ms - self.booted_ms, boot_id: self.boot_id }
    }

    /// Time goes on; suspended or not, the boot clock does too. Now and then the machine starts anew or its clock jumps.
    fn go_on(&mut self, seed: &mut Seed, jumps: bool) {
        self.true_ms += match seed.below(6) {
            0 => seed.below(50),
            1 => 9 * HOUR_MS + seed.below(HOUR_MS),
            _ => seed.below(20 * MINUTE),
        };
        if seed.one_in(25) {
            self.booted_ms = self.true_ms;
            self.boot_id += 1;
        }
        if jumps && seed.one_in(10) {
            let far = seed.below(6 * HOUR_MS).cast_signed() - (3 * HOUR_MS).cast_signed();
            self.wall_shift = [0, far, -1_790_000_000_000, 400_000_000_000][seed.below(4) as usize];
        }
    }
}

/// Plays a machine; gives the allowed calls with their true times.
fn played(number: u64, limit: u32, jumps: bool) -> Vec<(u64, At)> {
    let mut seed = Seed::new(number);
    let mut machine = Machine { true_ms: 1_800_000_000_000, wall_shift: 0, booted_ms: 1_799_999_000_000, boot_id: 1 };
    let mut allowed: Vec<(u64, At)> = Vec::new();
    let mut calls: Vec<At> = Vec::new();
    for _ in 0..200 {
        machine.go_on(&mut seed, jumps);
        let now = machine.now();
        // As the ledger does: what lies in the future is dropped for good.
        let (kept, dropped): (Vec<At>, Vec<At>) = calls.iter().partition(|call| age_ms(**call, now).is_some());
        let dropped = u32::try_from(dropped.len()).unwrap();
        assert_eq!(judge(&calls, now, limit), Window { dropped, ..judge(&kept, now, limit) });
        calls = kept;
        let window = judge(&calls, now, limit);
        assert!(window.free_in_ms <= HOUR_MS, "seed {number}: it waits too long");
        assert_eq!(window.free_in_ms == 0, window.calls < limit, "seed {number}");
        if window.free_in_ms == 0 {
            calls.push(now);
            allowed.push((machine.true_ms, now));
            continue;
        }
        let later = |ms: u64| At { wall_ms: now.wall_ms.saturating_add(ms), boot_ms: now.boot_ms + ms, ..now };
        assert_eq!(judge(&calls, later(window.free_in_ms), limit).free_in_ms, 0, "seed {number}: told too early");
        assert_ne!(judge(&calls, later(window.free_in_ms - 1), limit).free_in_ms, 0, "seed {number}: told too late");
    }
    allowed
}

/// The most of these that lie in any hour.
fn most_in_an_hour(times: &[u64]) -> usize {
    let within = |start: u64| times.iter().filter(|time| (start..start + HOUR_MS).contains(time)).count();
    times.iter().map(|start| within(*start)).max().unwrap_or(0)
}

#[test]
fn whatever_the_clocks_do_no_hour_of_the_boot_clock_has_more_calls_than_the_limit() {
    // req: C-09 partly: suspend, restart and jumps, without the disk
    let mut most_seen = 0;
    for number in 0..400 {
        let limit = 1 + u32::try_from(number % 7).unwrap();
        let allowed = played(number, limit, true);
        let last_boot = allowed.last().map_or(0, |(_, call)| call.boot_id);
        for boot_id in 1..=last_boot {
            let of_boot = allowed.iter().filter(|(_, call)| call.boot_id == boot_id);
            let times: Vec<u64> = of_boot.map(|(_, call)| call.boot_ms).collect();
            assert!(most_in_an_hour(&times) <= limit as usize, "seed {number}, start {boot_id}");
            most_seen = most_seen.max(most_in_an_hour(&times));
        }
    }
    assert_eq!(most_seen, 7, "the limit is reached, so the law says something");
}

#[test]
fn with_a_clock_that_is_right_no_true_hour_has_more_calls_than_the_limit_over_restarts() {
    for number in 1000..1400 {
        let limit = 1 + u32::try_from(number % 7).unwrap();
        let times: Vec<u64> = played(number, limit, false).into_iter().map(|(time, _)| time).collect();
        assert!(most_in_an_hour(&times) <= limit as usize, "seed {number}");
    }
}
