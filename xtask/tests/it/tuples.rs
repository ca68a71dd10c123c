//! Tuples as parameters, and assignments to several places.

use xtask::Tree;
use xtask::rules::tuples::{Baseline, check_with};

use crate::told;

const PATH: &str = "crates/core/src/a.rs";

fn findings(text: &str, baselines: &[Baseline]) -> Vec<String> {
    told(&check_with(&Tree::of(&[(PATH, text)]), baselines))
}

#[test]
fn a_function_that_takes_a_tuple_is_found() {
    for text in [
        "fn x((a, b): (u8, u8)) {}",
        "fn x(a: (u8, u8)) {}",
        "fn x(a: &(u8, u8)) {}",
        "impl A { fn x(&self, a: (u8, u8)) {} }",
        "trait A { fn x(a: (u8, u8)); }",
        "mod inside { fn x(a: (u8, u8)) {} }",
        "fn outer() { fn x(a: (u8, u8)) {} }",
    ] {
        let expected = format!("{PATH}:1: `x` takes a tuple; give what belongs together a type");
        assert_eq!(findings(text, &[]), [expected], "{text}");
    }
}

#[test]
fn an_assignment_to_several_places_is_found() {
    for text in ["fn x() { (a.b, a.c) = (1, 2); }", "fn x() { if y { (a, b) = z(); } }"] {
        let expected = format!("{PATH}:1: an assignment to several places at once; write one for each");
        assert_eq!(findings(text, &[]), [expected], "{text}");
    }
}

#[test]
fn lists_of_pairs_closures_bindings_tests_and_what_a_trait_asks_for_are_left_alone() {
    for text in [
        "fn x(a: &[(u8, u8)], b: Vec<(u8, u8)>, c: Option<(u8, u8)>, d: ()) {}",
        "fn x() { list.map(|(a, b)| a); let (a, b) = (1, 2); (a, _) = y(); }",
        "impl From<(u8, u8)> for A { fn from(pair: (u8, u8)) -> Self { A } }",
        "#[cfg(test)]\nmod tests { fn x(a: (u8, u8)) { (a, b) = (1, 2); } }",
    ] {
        assert_eq!(findings(text, &[]), [""; 0], "{text}");
    }
    let test = Tree::of(&[("crates/core/tests/it/a.rs", "fn x(a: (u8, u8)) {}")]);
    assert_eq!(told(&check_with(&test, &[])), [""; 0]);
}

#[test]
fn the_number_that_is_written_down_may_only_go_down_and_must_be_the_real_one() {
    let baseline = |count| Baseline { folder: "core", tuple_parameters: count, multi_assignments: 0 };
    let text = "fn x(a: (u8, u8)) {}\nfn y(a: (u8, u8)) {}";
    assert_eq!(findings(text, &[baseline(2)]), [""; 0]);
    assert_eq!(findings(text, &[baseline(1)]).len(), 2, "one more than allowed: all are shown");
    assert_eq!(
        findings(text, &[baseline(3)]),
        ["xtask/src/rules/tuples.rs:1: core has 2 tuple_parameters, not 3: write 2"]
    );
}
