//! The table of the benchmark, on made-up figures. The benchmark itself is no test: a busy machine would fail it.

use std::process::ExitCode;

use expect_test::expect;
use xtask::bench::figure::{all_measured, exit_code, json, table};
use xtask::bench::{Effort, Figure, Options, median};

fn figures() -> Vec<Figure> {
    vec![
        Figure::of("overhead", &[1.25, 1.5, 9.0], "ms", 2.0).note("CPU per iteration"),
        Figure::once("memory", 16.0, "MB", 15.0),
    ]
}

#[test]
fn a_figure_above_its_limit_is_not_reached_and_fails_the_command() {
    expect![[r"
        name      figure    limit               spread       how
        overhead  1.50 ms   ≤ 2    ok           1.25 … 9.00  CPU per iteration
        memory    16.00 MB  ≤ 15   NOT REACHED
    "]]
    .assert_eq(&table(&figures()));
    assert_eq!(exit_code(&figures()), ExitCode::FAILURE);
    assert_eq!(exit_code(&figures()[..1]), ExitCode::SUCCESS);
}

#[test]
fn a_figure_at_its_limit_is_reached_and_one_that_is_not_a_number_is_not() {
    assert!(Figure::once("wakeups", 0.0, "", 0.0).is_reached());
    assert!(!Figure::once("wakeups", 1.0, "", 0.0).is_reached());
    assert!(!Figure::of("flat", &[], "×", 1.25).is_reached());
    assert_eq!(exit_code(&[]), ExitCode::FAILURE, "nothing was measured");
}

#[test]
fn a_smoke_test_judges_no_limit_but_fails_where_something_was_not_measured() {
    assert_eq!(all_measured(&figures()), ExitCode::SUCCESS);
    assert_eq!(all_measured(&[]), ExitCode::FAILURE);
    assert_eq!(all_measured(&[Figure::of("flat", &[], "×", 1.25)]), ExitCode::FAILURE);
}

#[test]
fn programs_read_the_same_as_people() {
    expect![[r#"
        {
          "figures": [
            {
              "figure": 16.0,
              "greatest": null,
              "how": "",
              "least": null,
              "limit": 15.0,
              "name": "memory",
              "reached": false,
              "unit": "MB"
            }
          ]
        }
    "#]]
    .assert_eq(&json(&figures()[1..]));
}

#[test]
fn the_median_is_the_middle_and_of_two_between_them() {
    assert!((median(&[5.0, 1.0, 3.0]) - 3.0).abs() < f64::EPSILON);
    assert!((median(&[4.0, 1.0]) - 2.5).abs() < f64::EPSILON);
    assert!(median(&[]).is_nan());
}

#[test]
fn a_word_that_the_benchmark_does_not_know_is_refused() -> anyhow::Result<()> {
    let read = Options::read(&["--quick", "--only", "syncs", "--loop", "other"])?;
    let expected =
        Options { effort: Effort::Quick, json: false, only: vec!["syncs".to_owned()], program: Some("other".into()) };
    assert_eq!(read, expected);
    assert_eq!(Options::read(&["--smoke"])?.effort, Effort::Smoke);
    for words in [&["--fast"] as &[&str], &["--only"], &["--only", "speed"], &["--loop"]] {
        assert!(Options::read(words).is_err(), "{words:?}");
    }
    Ok(())
}
