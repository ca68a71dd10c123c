//! The collection of projects: that it can be read, that it has every kind, and how projects are judged. It is not played.

use std::process::ExitCode;

use xtask::projects::table::{exit_code, table, to_json};
use xtask::projects::{ProjectOptions, ProjectPlayed, Verifies, picked};

fn good() -> ProjectPlayed {
    let verifies = Verifies { times: 20, ..Verifies::default() };
    ProjectPlayed { name: "a".to_owned(), outcome: "verified".to_owned(), verifies, ..ProjectPlayed::default() }
}

#[test]
fn the_collection_has_ten_kinds_of_projects_and_three_are_for_another_user_too() -> anyhow::Result<()> {
    let cases = picked(&ProjectOptions::default())?;
    let mut kinds: Vec<&str> = cases.iter().map(|case| case.class.as_str()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    assert_eq!(kinds.len(), 10, "{kinds:?}");
    assert!(cases.iter().all(|case| case.expected.is_honest()));
    let for_users = cases.iter().filter(|case| case.needs.iter().any(|need| need == xtask::projects::USER_TOO));
    assert!(for_users.count() >= 3);
    Ok(())
}

#[test]
fn words_that_mean_nothing_are_refused() {
    assert!(ProjectOptions::read(&["--sometimes"]).is_err() && ProjectOptions::read(&["--verify", "x"]).is_err());
    let options = ProjectOptions::read(&["--only", "node", "--verify", "3", "--user", "0"]).unwrap_or_default();
    assert_eq!((options.only, options.verify, options.user), (vec!["node".to_owned()], 3, 0));
}

#[test]
fn one_disagreement_is_a_failure_and_what_was_not_run_counts_as_nothing() {
    let mut bad = good();
    bad.verifies.disagree = 1;
    bad.verifies.why = vec!["promise (exit 1)".to_owned()];
    let missing = ProjectPlayed { not_run: Some("no engine".to_owned()), ..ProjectPlayed::default() };
    assert_eq!(exit_code(&[good(), missing.clone()]), ExitCode::SUCCESS);
    assert_eq!(exit_code(&[good(), bad.clone()]), ExitCode::FAILURE);
    assert_eq!(exit_code(std::slice::from_ref(&missing)), ExitCode::FAILURE);
    let told = table(&[good(), bad, missing.clone()]);
    assert!(told.contains("1/20  BAD") && told.contains("NOT RUN: no engine"), "{told}");
    assert!(to_json(&[missing]).contains("\"good\": null"));
}

#[test]
fn a_flaky_project_may_disagree_if_each_time_names_it_flaky() {
    let mut flaky = ProjectPlayed { is_flaky: true, ..good() };
    flaky.verifies.disagree = 1;
    flaky.verifies.why = vec!["hint: promise is flaky".to_owned()];
    assert!(flaky.is_good());
    flaky.verifies.why = vec!["promise (exit 1)".to_owned()];
    assert!(!flaky.is_good());
}
