//! Laws of the ranking: total, stable, transitive; a branch that passes always beats one that does not.
use std::cmp::Ordering;

use loop_core::machine::consult;
use loop_core::policy::candidate::{Candidate, CandidateGates, compare, rank};

use crate::world::Seed;

const ROUNDS: u64 = 3_000;

fn random(seed: &mut Seed) -> Candidate {
    let passes = seed.one_in(2);
    let gates =
        [CandidateGates::Claimed, CandidateGates::InBranch, CandidateGates::OnCleanCopy][seed.below(3) as usize];
    Candidate {
        name: String::new(),
        passes,
        gates: if passes { gates } else { CandidateGates::NotPassed },
        regressions: seed.below(2) as u32,
        tampered: seed.one_in(4),
        weaker: seed.below(2) as u32,
        rank: serde_json::from_value(serde_json::json!({ "passed": seed.below(3) })).unwrap(),
        watched_passed: seed.below(2) as u32,
        watched_failed: seed.below(2) as u32,
        metric_micros: seed.one_in(2).then(|| seed.below(3) as i64 - 1),
        lines: seed.below(3),
        files: 1,
        coverage: seed.one_in(2).then(|| seed.below(3) as i32 - 1),
        strength: seed.one_in(2).then(|| seed.below(2) as u32 * 100),
        metric_trouble: None,
        cost_micros: seed.below(2),
        cost_unknown: seed.one_in(3),
        elapsed_ms: seed.below(2),
    }
}

#[test]
fn the_ranking_is_total_transitive_and_puts_what_passes_first() {
    let mut seed = Seed::new(9);
    for round in 0..ROUNDS {
        let lower = round % 2 == 0;
        let [one, two, three] = std::array::from_fn(|_| random(&mut seed));
        let order = |left: &Candidate, right: &Candidate| consult(|deciding| compare(left, right, lower, deciding).1);
        assert_eq!(order(&one, &two), order(&two, &one).reverse(), "{one:?} {two:?}");
        assert_eq!(order(&one, &one), Ordering::Equal);
        if order(&one, &two) != Ordering::Less && order(&two, &three) != Ordering::Less {
            assert_ne!(order(&one, &three), Ordering::Less, "{one:?} {two:?} {three:?}");
        }
        if one.passes && !two.passes {
            assert_eq!(order(&one, &two), Ordering::Greater, "{one:?} {two:?}");
        }
    }
}

#[test]
fn the_same_branches_in_any_order_are_ranked_alike_and_equal_ones_keep_their_order() {
    let mut seed = Seed::new(10);
    for _ in 0..ROUNDS / 10 {
        let mut rows: Vec<Candidate> = (0..6).map(|_| random(&mut seed)).collect();
        rows.iter_mut().enumerate().for_each(|(at, row)| row.name = at.to_string());
        let ranked = consult(|deciding| rank(rows.clone(), false, deciding));
        rows.reverse();
        let again = consult(|deciding| rank(rows, false, deciding));
        for (one, other) in ranked.rows.iter().zip(&again.rows) {
            assert_eq!(
                consult(|deciding| compare(one, other, false, deciding).1),
                Ordering::Equal,
                "{one:?} {other:?}"
            );
        }
        for pair in ranked.rows.windows(2) {
            let equal = consult(|deciding| compare(&pair[0], &pair[1], false, deciding).1) == Ordering::Equal;
            assert!(!equal || pair[0].name < pair[1].name, "{pair:?}");
        }
        assert_eq!(ranked.winner().is_some(), ranked.rows.iter().any(|row| row.passes));
    }
}

#[test]
fn a_cost_that_nobody_knows_is_worse_than_every_known_cost() {
    let row = |name: &str, cost_micros: u64, cost_unknown: bool| Candidate {
        name: name.to_owned(),
        passes: true,
        cost_micros,
        cost_unknown,
        ..Candidate::default()
    };
    let rows = vec![row("unknown", 0, true), row("dear", 9_000_000, false), row("cheap", 1, false)];
    let ranked = consult(|deciding| rank(rows, false, deciding));
    let names: Vec<&str> = ranked.rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["cheap", "dear", "unknown"]);
}
