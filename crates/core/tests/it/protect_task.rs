//! What a task allows to change, and which tests it asks to remove.
use loop_core::policy::protect::{asks_to_remove_test, names_file};

#[test]
fn a_task_names_a_file_that_it_neither_forbids_nor_excepts() {
    for (task, path) in [
        ("The Makefile is not to blame", "Makefile"),
        ("Do not forget the Makefile.", "Makefile"),
        ("Change nothing other than the Makefile", "Makefile"),
        ("Repair the other Makefile", "Makefile"),
        ("Make it faster than before in the Makefile", "Makefile"),
        ("change ci/run", "ci/run"),
        ("calc is wrong", "calc.sh"),
    ] {
        assert!(names_file(task, path), "{task}");
    }
    for (task, path) in [
        ("Change everything other than the Makefile", "Makefile"),
        ("The Makefile is not to be changed", "Makefile"),
        ("go and repair it", "go.sh"),
        ("change run", "ci/run"),
    ] {
        assert!(!names_file(task, path), "{task}");
    }
}

#[test]
fn a_test_is_named_by_a_last_part_that_is_no_plain_word() {
    for (task, id) in [
        ("Delete TestParse", "parser::TestParse"),
        ("Delete testParse", "Parser.testParse"),
        ("drop parses_old", "parser::tests::parses_old"),
        ("remove tests", "tests"),
    ] {
        assert_eq!(asks_to_remove_test(task, id), task != "remove tests", "{task}");
    }
    for (task, id) in [
        ("Remove Adds", "TestMath/Adds"),
        ("remove subtracts", "calc.test.js > subtracts"),
        ("Remove old_api and test", "calc::test"),
        ("remove numbers", "calc.test.js adds numbers"),
    ] {
        assert!(!asks_to_remove_test(task, id), "{task}");
    }
}
