//! Moments in the words of limits.
use loop_core::agent::provider::reset::{Clock, in_words as reset};

/// 2026-11-15T19:00:00Z, a Sunday.
const NOW_MS: u64 = 1_794_769_200_000;
const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
/// A clock on the wall is cut to the minute: what it names may be as late as the end of that minute.
const REST: i64 = 59;

/// How many seconds after now the words name a moment, local time being so far ahead of UTC.
fn ahead(words: &str, utc_offset_s: i32) -> Option<i64> {
    let reset = reset(words, Clock { now_ms: NOW_MS, utc_offset_s })?;
    Some((i64::try_from(reset.at_ms).unwrap() - i64::try_from(NOW_MS).unwrap()) / 1000)
}

#[test]
fn a_clock_time_is_the_next_such_moment() {
    let codex =
        "You’ve hit your usage limit. Upgrade to Pro (https://x.y/pro), visit https://x.y or try again at 7:45 PM.";
    assert_eq!(ahead(codex, 0), Some(45 * MINUTE + REST));
    assert_eq!(ahead("resets 7:44pm (UTC)", 0), Some(44 * MINUTE + REST));
    assert_eq!(ahead("resets 8pm (UTC)", 7200), Some(HOUR + REST));
    assert_eq!(ahead("Your limit will reset at 19:30.", 0), Some(30 * MINUTE + REST));
    assert_eq!(ahead("try again at 2:00 AM.", 0), Some(7 * HOUR + REST));
    assert_eq!(ahead("try again at 12:05 AM", 0), Some(5 * HOUR + 5 * MINUTE + REST));
    assert_eq!(ahead("try again at 12:05 PM", 0), Some(17 * HOUR + 5 * MINUTE + REST));
}

#[test]
fn a_clock_time_is_local_unless_it_says_utc() {
    assert_eq!(ahead("try again at 9:45 PM.", 7200), Some(45 * MINUTE + REST));
    assert_eq!(ahead("resets 9:45pm (Europe/Berlin)", 7200), Some(45 * MINUTE + REST));
    assert_eq!(ahead("try again at 12:30 AM", 5 * 3600), Some(30 * MINUTE + REST));
    assert_eq!(ahead("try again at 3:00 PM", -5 * 3600), Some(HOUR + REST));
}

#[test]
fn a_clock_time_of_just_now_is_not_tomorrow() {
    assert_eq!(ahead("try again at 6:58 PM.", 0), Some(-2 * MINUTE + REST));
    assert_eq!(ahead("try again at 7:00 PM.", 0), Some(REST));
    assert_eq!(ahead("try again at 6:00 PM.", 0), Some(23 * HOUR + REST));
}

#[test]
fn a_date_with_or_without_a_year() {
    let days = 2 * DAY + 7 * HOUR + 27 * MINUTE + REST;
    assert_eq!(ahead("or try again at Nov 18th, 2026 2:27 AM.", 0), Some(days));
    assert_eq!(ahead("You've hit your weekly limit · resets Nov 18, 2:27am (UTC)", 0), Some(days));
    assert_eq!(ahead("resets November 18 at 2:27am", 0), Some(days));
    assert_eq!(ahead("resets Jan 2, 7pm (UTC)", 0), Some(48 * DAY + REST));
    assert_eq!(ahead("try again at 2026-11-15T20:00:00Z", 0), Some(HOUR));
    assert_eq!(ahead("Claude AI usage limit reached|1794772800", 0), Some(HOUR));
}

#[test]
fn a_time_from_now() {
    assert_eq!(ahead("try again in 3 days 4 hours 5 minutes.", 0), Some(3 * DAY + 4 * HOUR + 5 * MINUTE));
    assert_eq!(ahead("Please try again in 2s.", 0), Some(2));
    assert_eq!(ahead("Please try again in 6m0s. Visit", 0), Some(6 * MINUTE));
    assert_eq!(ahead("Please retry in 34.074824224s.", 0), Some(34));
    assert_eq!(ahead("retry after 30 seconds", 0), Some(30));
    assert_eq!(ahead("Retry-After: 120", 0), Some(120));
    assert_eq!(ahead(r#"{"retry_after": 15}"#, 0), Some(15));
    assert_eq!(ahead("Your quota will reset after 2h15m10s.", 0), Some(2 * HOUR + 15 * MINUTE + 10));
    assert_eq!(ahead("try again in 1 hour and 2 minutes", 0), Some(HOUR + 2 * MINUTE));
    assert_eq!(ahead("try again in an hour", 0), Some(HOUR));
}

#[test]
fn words_that_name_no_moment() {
    for words in [
        "",
        "exceeded retry limit, last status: 429 Too Many Requests",
        "Rate limit reached: Limit 3, Used 3. Try again later or check your quotas.",
        "Retrying in 32.0 seconds...",
        "try again at 25:99 PM",
        "try again at 7",
        "try again in 99999999999999999999 days",
        "try again in 9999 days",
        "resets Feb 31, 2am",
        "retry 1/5",
        "limit reached|99999999999999999",
    ] {
        assert_eq!(ahead(words, 0), None, "{words}");
    }
}

#[test]
fn no_bytes_are_too_odd() {
    let pieces = [
        "try again",
        " at ",
        " in ",
        "7:45 PM",
        "’",
        "nov ",
        "18th",
        ", ",
        "\u{202f}",
        "99999999999999999999",
        ".",
        "(UTC",
        "😀",
        "9",
        "resets",
    ];
    let mut seed: u64 = 7;
    for _ in 0..20_000 {
        let mut words = String::new();
        for _ in 0..8 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            words.push_str(pieces[usize::try_from((seed >> 33) % 15).unwrap()]);
        }
        for (now_ms, utc_offset_s) in [(NOW_MS, 0), (0, i32::MIN), (u64::MAX, i32::MAX), (NOW_MS, -43_200)] {
            let _seen = reset(&words, Clock { now_ms, utc_offset_s });
        }
    }
}
