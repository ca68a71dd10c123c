//! How long a limit of a provider lasts: by what it said, and by the pace of the last hours.
use loop_core::agent::provider::window::{
    length_ms, name_of_minutes, of_rate_limits, of_refusal, permille_of_percent, permille_of_share,
};
use loop_core::agent::{Failure, LimitWindow, Reset, ResetSource, WindowSource, WindowState};
use loop_core::policy::forecast::{
    DayCap, LikelyLimit, Outlook, PaceBasis, UnknownOutlook, WindowForecast, WindowSeen, WindowUse, forecast,
    likely_limits, share_by_run,
};
use serde_json::json;

const MINUTE: u64 = 60_000;
const HOUR: u64 = 60 * MINUTE;
/// Noon of some day.
const NOON: u64 = 20_000 * 24 * HOUR + 12 * HOUR;

/// So many minutes before noon so much was used of the window of five hours that resets two hours after noon.
fn seen(minutes_before: u64, used: Option<u32>) -> WindowSeen {
    said("run", minutes_before, used, Some(NOON + 2 * HOUR))
}

fn said(run: &str, minutes_before: u64, used: Option<u32>, resets_ms: Option<u64>) -> WindowSeen {
    WindowSeen {
        at_ms: NOON - minutes_before * MINUTE,
        run: run.to_owned(),
        window: LimitWindow {
            name: "five_hour".to_owned(),
            used_permille: used,
            resets_ms,
            state: WindowState::Open,
            source: WindowSource::Event,
        },
    }
}

fn only(seen: &[WindowSeen], work_ms: Option<u64>) -> WindowForecast {
    let mut all = forecast(seen, NOON, work_ms);
    assert_eq!(all.len(), 1);
    all.remove(0)
}

#[test]
fn at_the_pace_of_the_last_hours_it_is_said_when_a_window_is_used_up() {
    // A tenth of it in an hour: of the 60 % that are left nothing is missing before the reset.
    let slow = only(&[seen(60, Some(300)), seen(0, Some(400))], None);
    assert_eq!(slow.used, WindowUse::Known { permille: 400, at_ms: NOON });
    assert_eq!(slow.pace.unwrap().permille_per_hour(), 100);
    assert_eq!(slow.outlook, Outlook::Lasts);
    // Half of it in an hour: the rest is used up after 72 minutes.
    let fast = only(&[seen(60, Some(0)), seen(30, Some(200)), seen(0, Some(400))], None);
    assert_eq!(fast.pace.unwrap().basis, PaceBasis::LastHours);
    assert_eq!(fast.outlook, Outlook::UsedUp { at_ms: NOON + 90 * MINUTE, again_ms: Some(NOON + 2 * HOUR) });
}

#[test]
fn work_that_goes_past_a_reset_has_the_whole_next_window() {
    let slow = [seen(60, Some(300)), seen(0, Some(400))];
    // A whole window lasts ten hours at this pace, longer than it is.
    assert_eq!(only(&slow, Some(12 * HOUR)).outlook, Outlook::Lasts);
    // A quarter in an hour: the rest of this one lasts until its reset, the next one four hours of its five.
    let fast = [seen(60, Some(250)), seen(0, Some(500))];
    let at_ms = NOON + 2 * HOUR + 4 * HOUR;
    assert_eq!(only(&fast, Some(6 * HOUR)).outlook, Outlook::Lasts);
    let again_ms = Some(NOON + 7 * HOUR);
    assert_eq!(only(&fast, Some(6 * HOUR + 1)).outlook, Outlook::UsedUp { at_ms, again_ms });
}

#[test]
fn what_was_not_said_is_unknown() {
    let without_share = only(&[seen(60, None), seen(0, None)], None);
    assert_eq!(without_share.used, WindowUse::NeverSaid);
    assert_eq!(without_share.outlook, Outlook::Unknown(UnknownOutlook::NoShare));
    assert_eq!(without_share.resets_ms, Some(NOON + 2 * HOUR));
    let reset = [said("run", 60, Some(300), Some(NOON - MINUTE)), said("run", 30, Some(500), Some(NOON - MINUTE))];
    let reset = only(&reset, None);
    assert_eq!(reset.used, WindowUse::ResetSince { at_ms: NOON - MINUTE });
    assert_eq!((reset.outlook, reset.resets_ms), (Outlook::Unknown(UnknownOutlook::ResetSince), None));
    assert!(forecast(&[], NOON, None).is_empty());
}

#[test]
fn one_word_about_a_window_gives_the_mean_pace_since_it_began() {
    // It began three hours before noon.
    let one = only(&[seen(0, Some(600))], None);
    let pace = one.pace.unwrap();
    assert_eq!((pace.permille_per_hour(), pace.basis), (200, PaceBasis::SinceItBegan));
    assert_eq!(one.outlook, Outlook::Lasts, "it is used up at the very reset");
    // Without a length by its name, and without a second word, there is none.
    let mut unnamed = seen(0, Some(600));
    unnamed.window.name = "limit".to_owned();
    assert_eq!(only(&[unnamed], None).outlook, Outlook::Unknown(UnknownOutlook::NoPace));
}

#[test]
fn a_window_that_began_again_has_the_pace_of_the_one_before() {
    let before = [said("run", 300, Some(100), Some(NOON - HOUR)), said("run", 240, Some(300), Some(NOON - HOUR))];
    let now = said("run", 0, Some(10), None);
    let shown = only(&[before[0].clone(), before[1].clone(), now], None);
    let pace = shown.pace.unwrap();
    assert_eq!((pace.permille_per_hour(), pace.basis), (200, PaceBasis::Earlier));
    assert_eq!(shown.used, WindowUse::Known { permille: 10, at_ms: NOON });
}

#[test]
fn a_window_that_was_refused_is_refused_until_its_reset() {
    let mut refused = seen(10, None);
    refused.window.state = WindowState::Reached;
    let shown = only(&[seen(60, Some(800)), refused], Some(HOUR));
    assert_eq!(shown.outlook, Outlook::Reached { until_ms: Some(NOON + 2 * HOUR) });
}

#[test]
fn a_share_belongs_to_the_run_that_said_it_and_five_finished_runs_say_what_one_uses() {
    let mut all = vec![seen(200, Some(100))];
    for (number, used) in [(1, 200), (2, 280), (3, 380), (4, 520), (5, 600)] {
        all.push(said(&format!("run{number}"), 200 - number * 30, Some(used), Some(NOON + 2 * HOUR)));
    }
    let shares: Vec<u32> = share_by_run(&all, "five_hour").into_values().collect();
    assert_eq!(shares, [100, 80, 100, 140, 80]);
    let now = |used| [all.clone(), vec![said("open", 1, Some(used), Some(NOON + 2 * HOUR))]].concat();
    // Of what is left, 15 % are enough for three of four runs, and 10 % are not.
    let finished = |run: &str| run.starts_with("run");
    assert_eq!(likely_limits(&now(850), &finished, NOON), []);
    let likely = LikelyLimit::NotEnough {
        window: "five_hour".to_owned(),
        left: 100,
        typical: 100,
        runs: 5,
        resets_ms: Some(NOON + 2 * HOUR),
    };
    assert_eq!(likely_limits(&now(900), &finished, NOON), [likely]);
    // Four say nothing yet.
    assert_eq!(likely_limits(&now(900), &|run| finished(run) && run != "run5", NOON), []);
}

#[test]
fn an_own_cap_of_the_day_lasts_until_midnight_or_is_used_up_before() {
    let cap = |used, lately| DayCap { used, most: 1000, lately }.outlook(NOON, None);
    assert_eq!(cap(500, 60), Outlook::Lasts);
    assert_eq!(cap(1000, 0), Outlook::Reached { until_ms: Some(NOON + 12 * HOUR) });
    assert_eq!(cap(500, 0), Outlook::Unknown(UnknownOutlook::NoPace));
    let used_up = Outlook::UsedUp { at_ms: NOON + 5 * HOUR, again_ms: Some(NOON + 12 * HOUR) };
    assert_eq!(cap(500, 300), used_up);
    let five_hours = DayCap { used: 500, most: 1000, lately: 300 }.outlook(NOON, Some(5 * HOUR));
    assert_eq!(five_hours, Outlook::Lasts);
}

/// Numbers without a pattern, the same each time.
fn numbers() -> impl FnMut(u64) -> u64 {
    let mut seed: u64 = 0x9E37_79B9_7F4A_7C15;
    move |most| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed % most
    }
}

/// When work must stop at the latest: never is the end of time.
fn stops_at(outlook: Outlook) -> u64 {
    match outlook {
        Outlook::Reached { .. } => 0,
        Outlook::UsedUp { at_ms, .. } => at_ms,
        Outlook::Lasts | Outlook::Unknown(_) => u64::MAX,
    }
}

#[test]
fn whatever_was_said_more_used_or_a_faster_pace_is_never_used_up_later_and_nothing_in_the_past() {
    let mut next = numbers();
    for _ in 0..20_000 {
        let first = u32::try_from(next(900)).unwrap();
        let gained = u32::try_from(next(u64::from(1000 - first))).unwrap();
        let minutes = 10 + next(160);
        let work = [None, Some(next(30) * HOUR)][usize::try_from(next(2)).unwrap()];
        let of = |from: u32, to: u32| only(&[seen(minutes, Some(from)), seen(0, Some(to))], work).outlook;
        let outlook = of(first, first + gained);
        if let Outlook::UsedUp { at_ms, again_ms } = outlook {
            assert!(at_ms >= NOON && again_ms.is_none_or(|again| again > at_ms), "{outlook:?}");
            assert!(work.is_none_or(|work| at_ms < NOON + work), "{outlook:?}");
        }
        assert!(!matches!(outlook, Outlook::Unknown(_)), "all was said");
        // One more of the same pace, and one more in the same time.
        let more = of((first + 1).min(999), (first + gained + 1).min(1000));
        assert!(stops_at(more) <= stops_at(outlook), "{outlook:?} {more:?}");
        let faster = of(first, (first + gained + 1).min(1000));
        assert!(stops_at(faster) <= stops_at(outlook), "{outlook:?} {faster:?}");
    }
}

#[test]
fn the_order_in_which_it_was_seen_does_not_matter() {
    let mut next = numbers();
    for _ in 0..500 {
        let mut all: Vec<WindowSeen> = (0..6)
            .map(|_| {
                let resets = [None, Some(NOON + HOUR), Some(NOON - 3 * HOUR)][usize::try_from(next(3)).unwrap()];
                let used = [None, Some(u32::try_from(next(1001)).unwrap())][usize::try_from(next(2)).unwrap()];
                said("run", next(600), used, resets)
            })
            .collect();
        all.dedup_by_key(|one| one.at_ms);
        let shown = forecast(&all, NOON, Some(6 * HOUR));
        all.reverse();
        let distinct: std::collections::BTreeSet<u64> = all.iter().map(|one| one.at_ms).collect();
        if distinct.len() == all.len() {
            assert_eq!(forecast(&all, NOON, Some(6 * HOUR)), shown);
        }
    }
}

#[test]
fn windows_of_codex_are_told_apart_by_their_length() {
    let limits = json!({
        "primary": {"used_percent": 42.5, "window_minutes": 10080, "resets_at": 1_794_772_424},
        "secondary": {"used_percent": 100.0, "window_minutes": 300, "resets_at": 1_794_771_000},
    });
    let found = of_rate_limits(&limits, WindowSource::SessionFile);
    let names: Vec<(&str, Option<u32>, WindowState)> =
        found.iter().map(|one| (one.name.as_str(), one.used_permille, one.state)).collect();
    assert_eq!(names, [("seven_day", Some(425), WindowState::Open), ("five_hour", Some(1000), WindowState::Reached)]);
    assert_eq!(of_rate_limits(&json!({"primary": null, "secondary": {}}), WindowSource::Event), []);
    assert_eq!(of_rate_limits(&json!("none"), WindowSource::Event), []);
}

#[test]
fn a_refused_call_names_its_window_where_its_words_do() {
    let reset = Reset { at_ms: NOON, source: ResetSource::Text };
    let of = |failure, reset, words| of_refusal(failure, reset, words).map(|found| (found.name, found.resets_ms));
    let limited = Some(Failure::RateLimit);
    let day = "Quota exceeded for metric: GenerateRequestsPerDayPerProjectPerModel";
    assert_eq!(of(limited, None, day), Some(("day".to_owned(), None)));
    assert_eq!(of(limited, Some(reset), "try again later"), Some(("limit".to_owned(), Some(NOON))));
    assert_eq!(of(limited, None, "try again later"), None);
    assert_eq!(of(Some(Failure::Overload), Some(reset), day), None);
}

#[test]
fn names_and_shares_of_windows_are_read_with_care() {
    assert_eq!(
        ["five_hour", "seven_day_opus", "day", "90_minute"].map(length_ms).map(Option::unwrap),
        [5 * HOUR, 168 * HOUR, 24 * HOUR, 90 * MINUTE]
    );
    assert_eq!(["limit", "0_day", "five", "overage_day", ""].map(length_ms), [None; 5]);
    assert_eq!(
        [300, 10_080, 1440, 4320, 120, 7].map(name_of_minutes),
        ["five_hour", "seven_day", "day", "3_day", "2_hour", "7_minute"]
    );
    for minutes in 1..20_000 {
        assert_eq!(length_ms(&name_of_minutes(minutes)), Some(minutes * MINUTE));
    }
    let shares = [json!(0.92), json!(0), json!(7), json!(-1), json!("half"), json!(null)];
    assert_eq!(shares.each_ref().map(permille_of_share), [Some(920), Some(0), Some(1000), None, None, None]);
    assert_eq!(permille_of_percent(&json!(12.34)), Some(123));
}
