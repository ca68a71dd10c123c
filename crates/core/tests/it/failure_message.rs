//! The one line that a person reads beside a gate that fails.
use expect_test::expect;
use loop_core::test_output::failure_message;

use crate::test_output::{RECORDED, recorded};

fn of(stdout: &str, stderr: &str) -> Option<String> {
    failure_message(stdout.as_bytes(), stderr.as_bytes())
}

#[test]
fn the_first_failing_test_is_named_with_its_message_in_every_format() {
    let lines = RECORDED.iter().filter(|name| !name.contains("-ok")).map(|name| {
        let (stdout, stderr) = recorded(name);
        format!("{name}: {}\n", failure_message(&stdout, &stderr).unwrap_or_default())
    });
    expect![[r#"
        cargo: shop tests::result: Error: "no luck"
        cargo-color: Running tests/api.rs (target/debug/deps/api-9bcfde99a7c554b8)
        cargo-error: error[E0308]: mismatched types
        cargo-ignored: Running unittests src/lib.rs (target/debug/deps/shop-507999230d6984fa)
        cargo-q: tests::result: Error: "no luck"
        go: example.com/shop TestTable/wrong: shop_test.go:6: Add = 2, want 3
        go-json: example.com/shop TestTable/wrong
        go-v: example.com/shop TestTable/wrong
        jest: jest/cart.test.js › cart › totals: expect(received).toEqual(expected) // deep equality
        jest-v: jest/cart.test.js › cart › totals: expect(received).toEqual(expected) // deep equality
        nextest: shop tests::result: Error: "no luck"
        nextest-color: shop tests::result: Error: "no luck"
        nextest-verbose: shop tests::result: Error: "no luck"
        node-junit: cart > test > totals: Expected values to be strictly deep-equal
        node-spec: cart > totals: Expected values to be strictly deep-equal
        node-tap: cart > totals: Expected values to be strictly deep-equal
        pytest: test_shop.py::test_error: RuntimeError: no database
        pytest-collect: bad/test_bad.py: ModuleNotFoundError: No module named 'nothere'
        pytest-n: test_shop.py::test_error: RuntimeError: no database
        pytest-q: test_shop.py::test_error: RuntimeError: no database
        pytest-qq: test_shop.py::TestCart::test_total
        pytest-ra: test_shop.py::test_error: RuntimeError: no database
        pytest-v: test_shop.py::test_error: RuntimeError: no database
        pytest-xml: pytest > test_shop > test_error
        vitest: broken.test.js: Error: Cannot find module './missing.js' imported from '/project/broken.test.js'
        vitest-color: broken.test.js: Error: Cannot find module './missing.js' imported from '/project/broken.test.js'
        vitest-tap: broken.test.js
        vitest-v: broken.test.js: Error: Cannot find module './missing.js' imported from '/project/broken.test.js'
    "#]]
    .assert_eq(&lines.collect::<String>());
}

#[test]
fn the_first_failing_test_of_unittest_is_named_with_its_message() {
    let stderr = "F.\n======================================================================\n\
                  FAIL: test_add (test_calc.TestCalc.test_add)\n\
                  ----------------------------------------------------------------------\n\
                  Traceback (most recent call last):\n  File \"/w/test_calc.py\", line 7, in test_add\n    \
                  self.assertEqual(calc.add(2, 3), 5)\nAssertionError: -1 != 5\n\n\
                  ----------------------------------------------------------------------\n\
                  Ran 2 tests in 0.001s\n\nFAILED (failures=1)\n";
    expect!["test_calc.TestCalc.test_add: AssertionError: -1 != 5"].assert_eq(&of("", stderr).unwrap_or_default());
}

#[test]
fn a_line_of_make_npm_or_a_count_is_never_shown() {
    for (stdout, stderr) in [
        ("", "make: *** [Makefile:2: test] Error 1\n"),
        ("", "make[2]: *** [Makefile:2: test] Error 1\nmake: *** [all] Error 2\n"),
        ("", "npm error Lifecycle script `test` failed with error:\nnpm error code 1\n"),
        ("# tests 2\n# pass 1\n# fail 1\n# duration_ms 569.7\n", ""),
        ("", "Ran 2 tests in 0.001s\n\nFAILED (failures=1)\n"),
        ("2 failed, 1 passed in 0.03s\n", ""),
        ("", ""),
    ] {
        assert_eq!(of(stdout, stderr), None, "{stdout}{stderr}");
    }
}

#[test]
fn without_tests_the_last_useful_line_is_shown() {
    let make = "make: *** [Makefile:2: test] Error 1\n";
    assert_eq!(of("one\nsum is 4, not 5\n", make).as_deref(), Some("sum is 4, not 5"));
    assert_eq!(of("", "sh: 1: pytest: not found\n").as_deref(), Some("sh: 1: pytest: not found"));
    let compiler = "cc -c a.c\na.c:3:5: error: expected ';' before 'return'\n    3 |     return 1\n";
    assert_eq!(of(compiler, make).as_deref(), Some("a.c:3:5: error: expected ';' before 'return'"));
}
