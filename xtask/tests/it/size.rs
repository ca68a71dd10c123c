//! Sizes that a reader can hold.

use xtask::Tree;
use xtask::rules::size::check;

use crate::told;

/// A file of so many lines, all product.
fn lines(count: usize) -> String {
    "// a line\n".repeat(count)
}

/// A function of so many lines, from `fn` to its closing brace.
fn function(lines: usize) -> String {
    format!("#[inline]\nfn long() {{\n{}}}\n", "    step();\n".repeat(lines - 2))
}

fn findings_at(path: &str, text: &str) -> Vec<String> {
    told(&check(&Tree::of(&[(path, text)])))
}

#[test]
fn a_file_may_have_eight_hundred_product_lines() {
    let path = "crates/core/src/a.rs";
    assert_eq!(findings_at(path, &lines(800)), [""; 0]);
    assert_eq!(
        findings_at(path, &lines(801)),
        ["crates/core/src/a.rs:801: 801 product lines, at most 800; cut the file by topic"]
    );
    assert_eq!(findings_at("xtask/src/a.rs", &lines(801)).len(), 1);
}

#[test]
fn test_files_may_be_longer_and_no_product_file() {
    assert_eq!(findings_at("crates/core/src/settings/keys.rs", &lines(900)).len(), 1);
    assert_eq!(findings_at("crates/core/tests/it/a.rs", &lines(900)), [""; 0]);
}

#[test]
fn inline_tests_are_not_product_lines() {
    let path = "crates/core/src/a.rs";
    let tests = |attribute: &str| format!("{}{attribute}\nmod tests {{\n{}}}\n", lines(799), lines(100));
    assert_eq!(findings_at(path, &tests("#[cfg(test)]")), [""; 0]);
    assert_eq!(findings_at(path, &tests("#[cfg(all(test, unix))]")), [""; 0]);
    assert_eq!(findings_at(path, &tests("#[cfg(not(test))]")).len(), 1);
    assert_eq!(findings_at(path, &tests("#[cfg(unix)]")).len(), 1);
}

#[test]
fn a_function_may_have_seventy_lines() {
    for path in ["crates/host/src/a.rs", "crates/host/tests/it/a.rs", "xtask/src/a.rs"] {
        assert_eq!(findings_at(path, &function(70)), [""; 0]);
        assert_eq!(
            findings_at(path, &function(71)),
            [format!("{path}:2: `long` has 71 lines, at most 70; keep the decisions, move the steps out")]
        );
    }
}

#[test]
fn functions_in_implementations_traits_and_modules_count_too() {
    let long = function(71);
    for text in [
        format!("struct A;\nimpl A {{\n{long}}}\n"),
        format!("trait A {{\n{long}}}\n"),
        format!("mod a {{\n{long}}}\n"),
        format!("fn outer() {{ mod a {{\n{long}}} }}\n"),
    ] {
        let findings = findings_at("crates/host/src/a.rs", &text);
        let of_long = findings.iter().filter(|finding| finding.contains("`long`"));
        assert_eq!(of_long.count(), 1, "{findings:?}");
    }
}

#[test]
fn a_function_may_have_five_parameters_and_itself() {
    let five = "trait T { fn take(&self, a: u8, b: u8, c: u8, d: u8, e: u8); }\n";
    assert_eq!(findings_at("crates/host/src/a.rs", five), [""; 0]);
    let six = "trait T { fn take(&self, a: u8, b: u8, c: u8, d: u8, e: u8, f: u8); }\n";
    assert_eq!(
        findings_at("crates/host/src/a.rs", six),
        ["crates/host/src/a.rs:1: `take` has 6 parameters, at most 5; \
          give what belongs together a type"]
    );
}

#[test]
fn a_file_that_is_not_rust_is_found() {
    let findings = findings_at("crates/host/src/a.rs", "//! A.\nfn (\n");
    assert_eq!(findings.len(), 1);
    assert!(findings[0].contains("not Rust ("), "{findings:?}");
}
