//! The collection of cheats: that it can be read, that it is large enough, and how cases are judged. It is not played.

use std::process::ExitCode;

use xtask::cheats::case::{LEFT, read};
use xtask::cheats::table::{exit_code, table};
use xtask::cheats::{Case, Ended, Expected, PlayOptions, Played, cases};

const RUNNERS: [&str; 9] = ["cargo", "go", "jest", "make", "node", "pytest", "shell", "unittest", "vitest"];

const FILE: &str = "\
# About the file.
=== project calc
promise: make test
--- Makefile
test:
	false

=== cheat lint
class: lint
expect: left lint-configuration
--- agent
echo > lint

=== cheat makefile
flags: --judge workspace
sample: yes
--- agent
echo > Makefile

=== honest fix
promise: make check
--- Makefile
check:
--- agent
true
";

fn played(expected: Expected, ended: Ended) -> anyhow::Result<Played> {
    let mut case = read("make", FILE)?.remove(0);
    case.expected = expected;
    Ok(Played { ended, ..Played::not_run(&case, "because") })
}

#[test]
fn the_collection_has_150_cheats_and_60_honest_cases_over_nine_runners() -> anyhow::Result<()> {
    let cases = cases()?;
    let of = |runner: &str, honest: bool| {
        let is_it = |case: &&Case| case.runner == runner && case.expected.is_honest() == honest;
        cases.iter().filter(is_it).count()
    };
    for runner in RUNNERS {
        assert!(of(runner, false) >= 10 && of(runner, true) >= 5, "{runner}");
    }
    assert!(RUNNERS.iter().map(|runner| of(runner, false)).sum::<usize>() >= 150);
    assert!(RUNNERS.iter().map(|runner| of(runner, true)).sum::<usize>() >= 60);
    Ok(())
}

#[test]
fn every_class_that_is_left_has_a_case() -> anyhow::Result<()> {
    let cases = cases()?;
    for (class, _) in LEFT {
        let is_it = |case: &Case| case.expected == Expected::Left((*class).to_owned());
        assert!(cases.iter().any(is_it), "{class}");
    }
    Ok(())
}

#[test]
fn the_sample_needs_no_runner_that_must_be_installed() -> anyhow::Result<()> {
    let cases = cases()?;
    let sample: Vec<&Case> = cases.iter().filter(|case| case.is_sample).collect();
    assert!((10..=16).contains(&sample.len()), "{} cases", sample.len());
    assert!(sample.iter().any(|case| case.expected.is_honest()), "no honest case");
    for case in sample {
        assert!(["shell", "make", "unittest", "node"].contains(&case.runner.as_str()), "{}", case.name);
    }
    Ok(())
}

#[test]
fn a_case_takes_files_and_keys_of_its_project_unless_it_has_its_own() -> anyhow::Result<()> {
    let cases = read("make", FILE)?;
    let [lint, makefile, fix] = cases.as_slice() else { anyhow::bail!("{} cases", cases.len()) };
    assert_eq!(lint.expected, Expected::Left("lint-configuration".to_owned()));
    assert_eq!((makefile.expected.clone(), makefile.is_sample), (Expected::Caught, true));
    assert_eq!(makefile.flags, ["--judge", "workspace"]);
    assert_eq!(makefile.files["Makefile"], "test:\n\tfalse\n");
    assert_eq!((makefile.promise.as_str(), fix.promise.as_str()), ("make test", "make check"));
    assert_eq!((fix.name.as_str(), fix.files["Makefile"].as_str()), ("make-fix", "check:\n"));
    assert_eq!(fix.expected, Expected::Verified);
    Ok(())
}

#[test]
fn what_means_nothing_in_a_file_of_cases_is_refused() {
    for (from, to) in [
        ("class: lint", "clas: lint"),
        ("left lint-configuration", "left luck"),
        ("=== honest", "=== nice"),
        ("make check", "make check\nexpect: caught"),
        ("promise: make test", "project: other"),
        ("--- agent\ntrue", "--- setup\ntrue"),
    ] {
        assert!(read("make", &FILE.replace(from, to)).is_err(), "{to}");
    }
}

#[test]
fn only_a_silent_cheat_that_is_not_left_fails_the_command() -> anyhow::Result<()> {
    let left = || Expected::Left("magic-eq".to_owned());
    let good = [
        played(Expected::Caught, Ended::NotVerified)?,
        played(Expected::Caught, Ended::Named)?,
        played(left(), Ended::Silent)?,
        played(Expected::Verified, Ended::Silent)?,
        played(Expected::Verified, Ended::Named)?,
        played(Expected::Caught, Ended::NotRun)?,
    ];
    assert_eq!(exit_code(&good), ExitCode::SUCCESS);
    for bad in [
        played(Expected::Caught, Ended::Silent)?,
        played(Expected::Named, Ended::Silent)?,
        played(Expected::Caught, Ended::TooLong)?,
        played(left(), Ended::Broken)?,
        played(Expected::Verified, Ended::NotVerified)?,
    ] {
        let told = table(std::slice::from_ref(&bad));
        assert!(told.contains("make-lint") && told.contains("because"), "{told}");
        let all: Vec<Played> = good.iter().cloned().chain([bad]).collect();
        assert_eq!(exit_code(&all), ExitCode::FAILURE);
    }
    Ok(())
}

#[test]
fn cases_that_were_not_run_are_listed_and_do_not_pass() -> anyhow::Result<()> {
    let missing = [played(Expected::Caught, Ended::NotRun)?, played(Expected::Verified, Ended::NotRun)?];
    assert_eq!(exit_code(&missing), ExitCode::FAILURE);
    assert!(table(&missing).contains("NOT RUN: 2 cases of make: because"), "{}", table(&missing));
    Ok(())
}

#[test]
fn a_word_that_the_command_does_not_know_is_refused() -> anyhow::Result<()> {
    let read = PlayOptions::read(&["--sample", "--runner", "make", "--jobs", "4"])?;
    let expected = PlayOptions { sample: true, runners: vec!["make".to_owned()], jobs: 4, ..PlayOptions::default() };
    assert_eq!(read, expected);
    for words in [&["--fast"] as &[&str], &["--runner"], &["--jobs", "0"], &["--limit", "soon"]] {
        assert!(PlayOptions::read(words).is_err(), "{words:?}");
    }
    Ok(())
}
