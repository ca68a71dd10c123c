//! What names and patterns say: which paths a pattern has, which files a runner reads, what a manifest loses.
use loop_core::machine::consult;
use loop_core::policy::protect::{
    FileChange, GateUse, OpportunityKind, UseKind, loses_nothing, matches_path, opportunity, paths_below_home,
    protected_by_default,
};

#[test]
fn a_pattern_with_several_signs_has_only_paths_that_fit_all_of_them() {
    for (pattern, path) in
        [("t?_*.sh", "t1_a.sh"), ("**/b.sh", "a/b.sh"), ("*.s?", "abc.sh"), ("a?c", "abc"), ("a", "a")]
    {
        assert!(matches_path(pattern, path), "{pattern} {path}");
    }
    for (pattern, path) in [
        ("**/b.sh", "a/xb.sh"),
        ("*.s?", "abc.py"),
        ("*.s?", "a/b.sh"),
        ("a?c", "a?cd"),
        ("t?_*.sh", "t/_a.sh"),
        ("a", "b"),
    ] {
        assert!(!matches_path(pattern, path), "{pattern} {path}");
    }
}

#[test]
fn paths_below_home_are_named_once_and_at_most_fifty() {
    assert_eq!(paths_below_home("sh ~/a.sh; sh $HOME/a.sh; sh /h/b.sh", "/h"), ["a.sh", "b.sh"]);
    assert!(paths_below_home("sh h/a.sh; sh x/h/b.sh; sh $X/h/c.sh", "/h").is_empty());
    let line: String = (0..60).map(|number| format!("sh ~/{number}.sh; ")).collect();
    assert_eq!(paths_below_home(&line, "/h").len(), 50);
}

#[test]
fn the_package_of_a_folder_of_checks_is_one_of_their_files() {
    for path in ["checks/__init__.py", "tools/sub/__init__.py", "tests/__init__.py", "test/a/__init__.py"] {
        assert_eq!(opportunity(path, FileChange::Removed), Some(OpportunityKind::ChangedTest), "{path}");
    }
    for path in ["src/__init__.py", "__init__.py", "checks/init.py"] {
        assert_eq!(opportunity(path, FileChange::Removed), None, "{path}");
    }
}

#[test]
fn a_person_is_asked_about_a_program_of_the_gate_and_not_about_data_or_what_it_uses() {
    let of = |path: &str, kind| GateUse { path: path.to_owned(), kind, in_task: false };
    let uses = [
        of("greet.py", UseKind::Direct),
        of("greeting", UseKind::Direct),
        of("greet.bin", UseKind::Direct),
        of("names.py", UseKind::Helper),
    ];
    let judgement = consult(|deciding| protected_by_default(&uses, &[], deciding));
    assert_eq!(judgement.maybe_work, ["greet.py"]);
}

#[test]
fn another_setting_of_a_runner_and_a_rule_that_runs_something_may_lose_tests() {
    let jest = r#"{"jest": {"verbose": true}}"#;
    assert!(loses_nothing("package.json", jest, jest));
    let ignoring = r#"{"jest": {"verbose": true, "testPathIgnorePatterns": ["sum"]}}"#;
    assert!(!loses_nothing("package.json", jest, ignoring));

    let make = "test:\n\tpytest -q\n";
    assert!(loses_nothing("Makefile", make, &format!("{make}lint: test\n\truff .\n")));
    for added in ["lint: $(shell rm -rf tests)\n\ttrue\n", "lint: ; rm -rf tests\n", "lint::\n\truff .\n"] {
        assert!(!loses_nothing("Makefile", make, &format!("{make}{added}")), "{added}");
    }
}
