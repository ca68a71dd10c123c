//! Whether an output says that something could not be built or loaded: then tests failed before one of them ran.

/// What a line begins with, spaces aside.
const BEGINS: [&str; 14] = [
    "error: could not compile `",
    "error[E",
    "ERROR collecting ",
    "ImportError while importing test module",
    "Failed to import test module",
    "ImportError: Failed to import test module",
    "ModuleNotFoundError: ",
    "IndentationError: ",
    "SyntaxError: ",
    "Error [ERR_MODULE_NOT_FOUND]",
    "Error: Cannot find module ",
    "● Test suite failed to run",
    "[ERROR] COMPILATION ERROR",
    "Execution failed for task ':compile",
];

/// What a line holds.
const HOLDS: [&str; 7] = [
    " [build failed]",
    " [setup failed]",
    " error TS",
    ": error TS",
    "error during collection",
    "errors during collection",
    "Transform failed with ",
];

/// Looks at the lines of an output.
#[derive(Debug, Default)]
pub(super) struct BuildErrors {
    found: bool,
}

impl BuildErrors {
    pub(super) fn line(&mut self, line: &str) {
        // pytest has a mark before the lines of an error, and rules around its titles.
        let line = line.trim_start_matches([' ', '_', '=', '\t']);
        let line = line.strip_prefix("E ").map_or(line, str::trim_start);
        let begins = || BEGINS.iter().any(|begin| line.starts_with(begin));
        self.found = self.found || begins() || HOLDS.iter().any(|part| line.contains(part));
    }

    pub(super) fn found(&self) -> bool {
        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finds(line: &str) -> bool {
        let mut errors = BuildErrors::default();
        errors.line(line);
        errors.found()
    }

    #[test]
    fn the_errors_of_compilers_and_loaders_are_known() {
        let lines = [
            "error[E0425]: cannot find function `add` in this scope",
            "error: could not compile `shop` (lib test) due to 1 previous error",
            "FAIL\texample.org/shop [build failed]",
            "src/a.ts(3,7): error TS2322: Type 'string' is not assignable to type 'number'.",
            "src/a.ts:3:7 - error TS2322: Type 'string' is not assignable to type 'number'.",
            "________________ ERROR collecting tests/test_a.py ________________",
            "E   ModuleNotFoundError: No module named 'calc'",
            "!!!!!!!!!! Interrupted: 1 error during collection !!!!!!!!!!",
            "ImportError: Failed to import test module: test_a",
            "  ● Test suite failed to run",
            "Error: Cannot find module './calc'",
        ];
        for line in lines {
            assert!(finds(line), "{line}");
        }
    }

    #[test]
    fn a_failing_assertion_is_no_error_of_a_build() {
        let lines = [
            "E       assert 1 == 2",
            "thread 'tests::add' panicked at src/lib.rs:9:9:",
            "error: test failed, to rerun pass `--lib`",
            "    a_test.go:5: want 5, got -1",
            "AssertionError: expected 2 to be 3",
            "not ok 1 - adds",
        ];
        for line in lines {
            assert!(!finds(line), "{line}");
        }
    }
}
