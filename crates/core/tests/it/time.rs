//! The two clocks.
use loop_core::time::{At, Deadline, compact, duration_text, leading_duration_ms, parse_duration_ms, rfc3339, spaced};

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

#[test]
fn one_parser_reads_every_unit_and_what_the_printer_writes() {
    let cases = [
        ("1h30m", 5_400_000),
        ("1h 30m", 5_400_000),
        ("30m 1h", 5_400_000),
        (" 5 min ", 300_000),
        ("1.5h", 5_400_000),
        ("2weeks 1day", 15 * 86_400_000),
        ("1M", 2_630_016_000),
        ("1month", 2_630_016_000),
        ("1y", 31_557_600_000),
        ("250ms", 250),
        ("1500us", 1),
        ("0s", 0),
        ("0", 0),
        ("2000µs", 2),
        ("18446744073709551615d", u64::MAX),
    ];
    for (text, ms) in cases {
        assert_eq!(parse_duration_ms(text), Ok(ms), "{text}");
    }
    for ms in [1, 4_200, 61_000, 5_400_000, 90_061_001, u64::MAX / 2] {
        assert_eq!(parse_duration_ms(&duration_text(ms)), Ok(ms));
    }
    for text in ["", "5", "h", "-5m", "5 parsecs", "5m later", "1.h", "5m 3"] {
        assert!(parse_duration_ms(text).is_err(), "{text}");
    }
    assert_eq!(leading_duration_ms("3 days, 4 hours and 5 minutes, or so"), Some(273_900_000));
    assert_eq!((leading_duration_ms("an hour"), leading_duration_ms("6m0s.")), (Some(3_600_000), Some(360_000)));
    assert_eq!((leading_duration_ms("5 us"), leading_duration_ms("2 months")), (None, None), "not in a sentence");
}
