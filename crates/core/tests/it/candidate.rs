//! Laws of the ranking: total, stable, transitive; a branch that passes always beats one that does not.
use std::cmp::Ordering;

use loop_core::machine::consult;
use loop_core::policy::candidate::{Candidate, CandidateGates, RankBy, RankColumn, compare, rank};

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
        score: seed.one_in(2).then(|| seed.below(3) as u32 * 1_000),
    }
}

#[test]
fn the_ranking_is_total_transitive_and_puts_what_passes_first() {
    let mut seed = Seed::new(9);
    for round in 0..ROUNDS {
        let by = RankBy { lower: round % 2 == 0, by_score: round % 4 < 2 };
        let [one, two, three] = std::array::from_fn(|_| random(&mut seed));
        let order = |left: &Candidate, right: &Candidate| consult(|deciding| compare(left, right, by, deciding).1);
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
        let ranked = consult(|deciding| rank(rows.clone(), RankBy::default(), deciding));
        rows.reverse();
        let again = consult(|deciding| rank(rows, RankBy::default(), deciding));
        for (one, other) in ranked.rows.iter().zip(&again.rows) {
            assert_eq!(
                consult(|deciding| compare(one, other, RankBy::default(), deciding).1),
                Ordering::Equal,
                "{one:?} {other:?}"
            );
        }
        for pair in ranked.rows.windows(2) {
            let equal =
                consult(|deciding| compare(&pair[0], &pair[1], RankBy::default(), deciding).1) == Ordering::Equal;
            assert!(!equal || pair[0].name < pair[1].name, "{pair:?}");
        }
        assert_eq!(ranked.winner().is_some(), ranked.rows.iter().any(|row| row.passes));
    }
}

fn order(one: &Candidate, other: &Candidate, lower: bool) -> (RankColumn, Ordering) {
    consult(|deciding| compare(one, other, RankBy { lower, by_score: false }, deciding))
}

/// A branch that is good or bad in one column.
fn set(row: &mut Candidate, column: RankColumn, good: bool) {
    let bad = u32::from(!good);
    match column {
        RankColumn::Gates => {
            row.passes = good;
            row.gates = if good { CandidateGates::InBranch } else { CandidateGates::NotPassed };
        }
        RankColumn::Faults => row.regressions = bad,
        RankColumn::State => {
            row.rank = serde_json::from_value(serde_json::json!({ "passed": 2 - bad })).unwrap();
        }
        RankColumn::Watched => row.watched_failed = bad,
        RankColumn::Metric => row.metric_micros = Some(i64::from(good)),
        RankColumn::Size => row.lines = u64::from(bad),
        RankColumn::Coverage => row.coverage = Some(if good { 1 } else { -1 }),
        RankColumn::Strength => row.strength = Some(if good { 100 } else { 50 }),
        RankColumn::Cost => row.cost_micros = u64::from(bad),
        RankColumn::Time => row.elapsed_ms = u64::from(bad),
        RankColumn::Score => row.score = Some(5_000 - bad),
        RankColumn::Order => {}
    }
}

#[test]
fn each_column_decides_against_all_that_follow_it() {
    for (at, column) in RankColumn::ALL.into_iter().enumerate() {
        let (mut better, mut worse) = (Candidate::default(), Candidate::default());
        set(&mut better, column, true);
        set(&mut worse, column, false);
        for later in RankColumn::ALL.into_iter().skip(at + 1) {
            set(&mut better, later, false);
            set(&mut worse, later, true);
        }
        let wanted = if column == RankColumn::Order { Ordering::Equal } else { Ordering::Greater };
        assert_eq!(order(&better, &worse, false), (column, wanted));
        assert_eq!(order(&worse, &better, false), (column, wanted.reverse()));
        assert_eq!(serde_json::to_value(column).unwrap(), column.name());
    }
}

#[test]
fn every_fault_counts_and_a_clean_copy_is_better_than_the_branch() {
    let plain = Candidate { passes: true, gates: CandidateGates::InBranch, ..Candidate::default() };
    for faulty in [
        Candidate { regressions: 1, ..plain.clone() },
        Candidate { tampered: true, ..plain.clone() },
        Candidate { weaker: 1, ..plain.clone() },
    ] {
        assert_eq!(order(&plain, &faulty, false), (RankColumn::Faults, Ordering::Greater), "{faulty:?}");
        assert!(!faulty.has_no_fault() && plain.has_no_fault());
    }
    let clean = Candidate { gates: CandidateGates::OnCleanCopy, ..plain.clone() };
    assert_eq!(order(&clean, &plain, false), (RankColumn::Gates, Ordering::Greater));
}

#[test]
fn more_tests_are_not_better_among_those_that_pass_and_a_lower_metric_may_win() {
    let plain = Candidate { passes: true, gates: CandidateGates::InBranch, ..Candidate::default() };
    let more = Candidate { rank: serde_json::from_value(serde_json::json!({ "passed": 9 })).unwrap(), ..plain.clone() };
    assert_eq!(order(&more, &plain, false), (RankColumn::Order, Ordering::Equal));
    let measured = |number: Option<i64>| Candidate { metric_micros: number, ..plain.clone() };
    let (high, low, none) = (measured(Some(5)), measured(Some(-5)), measured(None));
    assert_eq!(order(&high, &low, false), (RankColumn::Metric, Ordering::Greater));
    assert_eq!(order(&high, &low, true), (RankColumn::Metric, Ordering::Less));
    for lower in [false, true] {
        assert_eq!(order(&low, &none, lower), (RankColumn::Metric, Ordering::Greater), "not measured is the worst");
    }
    let watched = Candidate { watched_passed: 1, ..plain.clone() };
    assert_eq!(order(&watched, &plain, false), (RankColumn::Watched, Ordering::Greater));
    let grown = Candidate { coverage: Some(1), ..plain.clone() };
    assert_eq!(order(&grown, &plain, false), (RankColumn::Coverage, Ordering::Greater), "unknown is no change");
}

#[test]
fn the_ranking_names_the_column_that_decided_and_a_winner_that_passes() {
    let row = |name: &str, passes: bool, lines: u64| Candidate {
        name: name.to_owned(),
        passes,
        gates: if passes { CandidateGates::InBranch } else { CandidateGates::NotPassed },
        lines,
        ..Candidate::default()
    };
    let ranked = consult(|deciding| {
        rank(
            vec![row("a", false, 0), row("b", true, 9), row("c", true, 1)],
            RankBy { lower: true, by_score: false },
            deciding,
        )
    });
    let names: Vec<&str> = ranked.rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!((names, ranked.lower), (vec!["c", "b", "a"], true));
    assert_eq!(ranked.decided, [RankColumn::Size, RankColumn::Gates]);
    assert_eq!(ranked.winner().map(|row| row.name.as_str()), Some("c"));
    let none = consult(|deciding| rank(vec![row("a", false, 0), row("b", false, 9)], RankBy::default(), deciding));
    assert_eq!(none.winner(), None);
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
    let ranked = consult(|deciding| rank(rows, RankBy::default(), deciding));
    let names: Vec<&str> = ranked.rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["cheap", "dear", "unknown"]);
}

/// Where the score decides about progress, it is asked right after the gates and the tests; else before the order alone.
#[test]
fn the_score_decides_after_the_state_where_it_decides_about_progress_and_else_only_among_equals() {
    // req: A-09 partly: the score ranks after what gates and tests say
    let both = |one: &Candidate, other: &Candidate| {
        [false, true]
            .map(|by_score| consult(|deciding| compare(one, other, RankBy { lower: false, by_score }, deciding)))
    };
    let plain = Candidate { score: Some(3_000), lines: 1, ..Candidate::default() };
    let scored = Candidate { score: Some(3_001), lines: 9, ..plain.clone() };
    let (size, score) = ((RankColumn::Size, Ordering::Less), (RankColumn::Score, Ordering::Greater));
    assert_eq!(both(&scored, &plain), [size, score], "a larger change with a higher score");
    let equal = Candidate { lines: 1, ..scored.clone() };
    assert_eq!(both(&equal, &plain), [score, score]);
    // Gates, faults and state come first either way.
    let better = |change: fn(&mut Candidate)| {
        let mut better = Candidate { score: None, ..plain.clone() };
        change(&mut better);
        both(&better, &scored).map(|(column, order)| (column, order == Ordering::Greater))
    };
    let gates = better(|row| (row.passes, row.gates) = (true, CandidateGates::InBranch));
    assert_eq!(gates, [(RankColumn::Gates, true); 2]);
    let state = better(|row| row.rank = serde_json::from_value(serde_json::json!({ "passed": 1 })).unwrap());
    assert_eq!(state, [(RankColumn::State, true); 2]);
    let faulty = Candidate { regressions: 1, ..scored.clone() };
    assert_eq!(both(&plain, &faulty), [(RankColumn::Faults, Ordering::Greater); 2]);
    // What was not measured is no progress.
    let unmeasured = Candidate { score: None, ..equal.clone() };
    assert_eq!(both(&equal, &unmeasured), [score, score]);
}
