//! How long a wait for the provider is.
use loop_core::agent::{Failure, Reset, ResetSource};
use loop_core::machine::consult;
use loop_core::policy::wait::{Wait, until_text, wait_for};
use loop_core::run::StreamReport;

use crate::play::at;

#[test]
fn a_wait_is_what_was_said_and_a_little_more_and_where_nobody_says_it_ever_longer() {
    let heard = |failure: Failure, reset_in: Option<u64>| {
        let reset = reset_in.map(|ms| Reset { at_ms: at(0).wall_ms + ms, source: ResetSource::Provider });
        StreamReport { failure: Some(failure), reset, ..StreamReport::default() }
    };
    let waits = |failure: Failure, reset_in: Option<u64>, tries: u32| {
        let heard = heard(failure, reset_in);
        let all =
            (0..300_u64).map(|salt| consult(|deciding| wait_for(&heard, at(0), tries, salt * 977, deciding)).unwrap());
        let all: Vec<u64> = all.map(|wait| wait.until_ms - at(0).wall_ms).collect();
        (all.iter().copied().min().unwrap(), all.iter().copied().max().unwrap())
    };
    let (minute, day) = (60_000, 24 * 3_600_000);
    for (failure, reset_in, tries, least, most) in [
        (Failure::RateLimit, None, 1, 5_050, 6_000),
        (Failure::RateLimit, None, 2, 10_100, 12_000),
        (Failure::RateLimit, None, 30, 15 * minute + 3_000, 16 * minute),
        (Failure::Overload, None, 30, 5 * minute + 3_000, 6 * minute),
        (Failure::Network, None, 30, 5 * minute + 3_000, 6 * minute),
        (Failure::RateLimit, Some(10 * minute), 1, 10 * minute + 250, 10 * minute + 5_000),
        (Failure::RateLimit, Some(10 * minute + 1), 1, 10 * minute + 3_001, 11 * minute + 1),
        (Failure::RateLimit, Some(1_000), 2, 1_250, 6_000),
        (Failure::RateLimit, Some(1_000), 3, 5_000, 6_000),
        (Failure::RateLimit, Some(1_000), 12, 15 * minute, 15 * minute),
        (Failure::RateLimit, Some(32 * day - 1), 1, 32 * day + 2_999, 32 * day + minute - 1),
        (Failure::RateLimit, Some(32 * day), 1, 5_050, 6_000),
        (Failure::RateLimit, Some(0), 1, 5_050, 6_000),
    ] {
        let (shortest, longest) = waits(failure, reset_in, tries);
        assert!(shortest >= least && longest <= most, "{failure:?} {reset_in:?} {tries}: {shortest} to {longest}");
        let spread = most - least;
        assert!(longest - shortest >= spread * 9 / 10, "{failure:?} {reset_in:?} {tries}: {shortest} to {longest}");
    }
    let one = |heard: &StreamReport| consult(|deciding| wait_for(heard, at(0), 1, 7, deciding)).unwrap();
    let tries = consult(|deciding| {
        [Failure::RateLimit, Failure::Overload, Failure::Network]
            .map(|failure| one(&heard(failure, None)).tries_max(deciding))
    });
    assert_eq!(tries, [100, 30, 30]);
    assert_eq!(consult(|deciding| wait_for(&heard(Failure::Auth, Some(9)), at(0), 1, 7, deciding)), None);
    let said = StreamReport { error: Some("slow down".to_owned()), ..heard(Failure::Overload, Some(9_000)) };
    assert_eq!(one(&said).why, "the provider is overloaded: slow down");
    let text = Reset { at_ms: at(9_000).wall_ms, source: ResetSource::Text };
    let sources =
        [said.clone(), StreamReport { reset: Some(text), ..said.clone() }, StreamReport { reset: None, ..said }];
    assert_eq!(sources.map(|heard| one(&heard).source.word()), ["provider", "text", "back_off"]);
    let wait = Wait { until_ms: at(61_900).wall_ms, ..one(&heard(Failure::Network, None)) };
    assert_eq!(until_text(&wait, at(0)), "2023-11-14T22:14:21Z (1m 1s left)");
    assert_eq!(until_text(&wait, at(99_000)), "2023-11-14T22:14:21Z (0s left)");
}
