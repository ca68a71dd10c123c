//! What an agent gets of a gate's output: failures first, then the end, whole lines, within the bound.
use loop_core::test_output::excerpt;

use crate::test_output::{RECORDED, recorded};

const NOTE: &str = "skipped …]";

fn of(name: &str, most: usize) -> String {
    let (stdout, stderr) = recorded(name);
    excerpt(&stdout, &stderr, most)
}

#[test]
fn what_failed_is_told_with_its_details_in_every_format() {
    for (name, wanted) in [
        (
            "cargo",
            &[
                "---- tests::subtracts stdout ----",
                "assertion `left == right` failed: of the shop",
                "  left: 1",
                "Error: \"no luck\"",
            ][..],
        ),
        (
            "cargo-error",
            &[
                "error[E0308]: mismatched types",
                "  --> src/lib.rs:22:23",
                "error[E0425]: cannot find function `nothere` in this scope",
            ],
        ),
        ("nextest", &["FAIL [   0.024s] (2/6) shop tests::result", "assertion `left == right` failed: of the shop"]),
        (
            "pytest",
            &[
                "E       AssertionError: assert {'a': 1, 'b': 2} == {'a': 1, 'b': 3}",
                "FAILED test_shop.py::test_n[3] - assert 3 < 3",
            ],
        ),
        (
            "go",
            &[
                "--- FAIL: TestTable/wrong (0.00s)",
                "shop_test.go:6: Add = 2, want 3",
                "panic: assignment to entry in nil map",
                "bad/b_test.go:3:32: declared and not used: s",
            ],
        ),
        ("go-json", &["--- FAIL: TestTable/wrong (0.00s)", "panic: assignment to entry in nil map"]),
        ("jest", &["● cart › totals", "+   \"b\": 2,", "Cannot find module './missing.js' from 'broken.test.js'"]),
        (
            "vitest",
            &[
                "AssertionError: expected { a: 1, b: 2 } to deeply equal { a: 1, b: 3 }",
                "Cannot find module './missing.js'",
            ],
        ),
        ("node-spec", &["✖ failing tests:", "test at test/shop.test.js:5:3", "actual: { a: 1, b: 2 },"]),
        ("node-tap", &["not ok 2 - totals", "code: 'ERR_ASSERTION'"]),
    ] {
        let said = of(name, 2600);
        for words in wanted {
            assert!(said.contains(words), "{name} lacks {words:?}:\n{said}");
        }
    }
}

#[test]
fn what_passed_is_left_out() {
    for (name, noise) in [
        ("cargo", "test tests::adds ... ok"),
        ("nextest", "        PASS ["),
        ("pytest-v", "test_ok PASSED"),
        ("go-v", "--- PASS"),
        ("jest-v", "✓"),
        ("vitest", "✓"),
        ("node-spec", "✔"),
        ("node-tap", "ok 1 - passes"),
        ("cargo", "at /rustc/"),
    ] {
        let said = of(name, 8000);
        assert!(!said.contains(noise), "{name} tells {noise:?}:\n{said}");
        assert!(said.contains(NOTE), "{name} does not say that lines are left out");
    }
}

#[test]
fn it_is_never_longer_than_asked_and_every_line_is_whole_and_comes_once() {
    for name in RECORDED {
        let (stdout, stderr) = recorded(name);
        let source = loop_core::text::clean(&[stdout.clone(), b"\n".to_vec(), stderr.clone()].concat());
        for most in [0, 1, 50, 300, 900, 2000, 8192] {
            let said = excerpt(&stdout, &stderr, most);
            assert!(said.len() <= most, "{name} {most}: {} bytes", said.len());
            assert!(
                most < 300 || said.lines().count() > 1 || source.trim().lines().count() < 3,
                "{name} {most}: {said}"
            );
            if most < 900 || name == "go-json" || name == "pytest-xml" {
                continue;
            }
            for line in said.lines().filter(|line| !line.is_empty() && !line.ends_with(NOTE)) {
                let many = source.lines().filter(|known| known.trim_end() == line).count();
                let told = said.lines().filter(|known| *known == line).count();
                assert!(told <= many || line == "[stderr]" || line == "[stdout]", "{name} {most}: {line:?}");
            }
        }
    }
}

#[test]
fn of_an_unknown_format_the_end_is_told_stderr_before_stdout() {
    let numbered = |word: &str| (1..=500).map(|number| format!("{word} {number}\n")).collect::<String>();
    let said = excerpt(numbered("out").as_bytes(), b"first complaint\nlast complaint\n", 400);
    let at = |words: &str| said.find(words).unwrap_or_else(|| panic!("{words:?} is not in {said:?}"));
    assert!(at("first complaint") < at("last complaint") && at("last complaint") < at("out 500"));
    assert!(said.contains("out 499\nout 500") && !said.contains("out 1\n") && said.contains(NOTE), "{said}");
    assert_eq!(excerpt(b"only\nthis\n", b"", 100), "only\nthis");
    assert_eq!(excerpt(b"", b"", 100), "");
}

#[test]
fn the_first_failures_and_the_summary_of_a_long_output_both_fit() {
    let mut out = String::from("\nrunning 3000 tests\n");
    for number in 0..3000 {
        let end = if number % 3 == 0 { "FAILED" } else { "ok" };
        out.push_str(&format!("test t{number} ... {end}\n"));
    }
    out.push_str("\nfailures:\n\n");
    for number in (0..3000).step_by(3) {
        out.push_str(&format!(
            "---- t{number} stdout ----\nthread 't{number}' panicked at src/a.rs:{number}:1:\nboom {number}\n\n"
        ));
    }
    out.push_str(
        "test result: FAILED. 2000 passed; 1000 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1s\n",
    );
    let mut noise = "   Compiling a v1.0.0\n".repeat(20_000);
    noise.push_str("error: test failed, to rerun pass `--lib`\n");
    let said = excerpt(out.as_bytes(), noise.as_bytes(), 8192);
    for words in
        ["test t0 ... FAILED", "test result: FAILED. 2000 passed; 1000 failed", "boom 2997", "error: test failed"]
    {
        assert!(said.contains(words), "{words:?} is not in\n{said}");
    }
    assert!(!said.contains("Compiling") && !said.contains("t1 ... ok"));
    assert!(said.len() > 6000 && said.len() <= 8192, "{}", said.len());
}

#[test]
fn a_line_without_end_is_shortened_and_only_noise_is_still_told() {
    let long = format!("error: {}\nend\n", "x".repeat(3_000_000));
    let said = excerpt(b"", long.as_bytes(), 4000);
    assert!(said.starts_with("error: xxx") && said.ends_with("end") && said.contains('…'), "{}", said.len());
    assert_eq!(excerpt(b"test a ... ok\n", b"", 100), "test a ... ok");
    assert_eq!(excerpt(b"\x1b[31mred\x1b[0m\r\n", b"", 100), "red");
}
