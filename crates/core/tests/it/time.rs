//! The two clocks.
use loop_core::time::{At, Deadline, compact, rfc3339, spaced};

#[test]
fn a_jump_of_the_wall_clock_moves_no_deadline() {
    let start = At { wall_ms: 1_000_000, boot_ms: 500, boot_id: 1 };
    let deadline = Deadline { since: start, after_ms: 1000 };
    let jumped = At { wall_ms: 99_000_000, boot_ms: 600, boot_id: 1 };
    assert_eq!(deadline.due_in_ms(jumped), 900);
    let back = At { wall_ms: 0, boot_ms: 1500, boot_id: 1 };
    assert!(deadline.is_due(back));
}

#[test]
fn over_a_restart_of_the_machine_the_wall_clock_tells() {
    let start = At { wall_ms: 1_000_000, boot_ms: 9_999_999, boot_id: 1 };
    let after = At { wall_ms: 1_000_400, boot_ms: 20, boot_id: 2 };
    assert_eq!(after.ms_since(start), 400);
    assert_eq!(start.ms_since(after), 0);
}

#[test]
fn durations_read_like_people_say_them() {
    // req: D-04
    let cases = [
        (0, "0s"),
        (4_200, "4.2s"),
        (38_000, "38s"),
        (154_000, "2m 34s"),
        (3_720_000, "1h 2m"),
        (273_600_000, "3d 4h"),
    ];
    for (ms, text) in cases {
        assert_eq!(spaced(ms), text);
    }
    assert_eq!(compact(252_000), "4m12s");
    assert_eq!(rfc3339(1_700_000_000_000), "2023-11-14T22:13:20Z");
}
