//! Promises with quotes, comments, options and runners of all kinds: each flaw with its better line, and no others.
use loop_core::policy::promise_warning::promise_warnings;

/// A promise, and what is said about it: the flaw and the better line.
type Case = (&'static str, &'static [&'static str]);

fn check(cases: &[Case]) {
    let said = |promise: &str| -> Vec<String> {
        let warnings = promise_warnings(promise, "/w").into_iter();
        warnings.map(|warning| format!("{:?}: {}", warning.flaw, warning.instead)).collect()
    };
    let wrong: Vec<_> = cases.iter().filter(|(promise, wanted)| said(promise) != *wanted).collect();
    let wrong: Vec<_> = wrong.iter().map(|case| (case, said(case.0))).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn quotes_comments_and_line_ends_do_not_hide_a_flaw() {
    check(&[
        ("make test |\n tee log", &["PipeHidesExit: make test > log 2>&1"]),
        ("make test | \\\n tee log", &["PipeHidesExit: make test > log 2>&1"]),
        ("make test | # all of it\n tee log", &["PipeHidesExit: make test > log 2>&1"]),
        ("make test # || true", &[]),
        ("make test;\n\n# last\necho done", &["LastCommandDecides: make test && echo done"]),
        ("pytest \"a \\\" b\" || true", &["FailureAllowed: pytest \"a \\\" b\""]),
        ("pytest \"a \\\n b\" || true", &["FailureAllowed: pytest \"a \\\n b\""]),
        ("pytest \"a \\x b\" || true", &["FailureAllowed: pytest \"a \\x b\""]),
        ("pytest \"$(ls (a) | wc)\" || true", &["FailureAllowed: pytest \"$(ls (a) | wc)\""]),
        ("pytest \"$(echo ')' x)\" || true", &["FailureAllowed: pytest \"$(echo ')' x)\""]),
        ("pytest \"$(echo \")\" x)\" || true", &["FailureAllowed: pytest \"$(echo \")\" x)\""]),
        ("pytest $(echo \\) x) || true", &["FailureAllowed: pytest $(echo \\) x)"]),
        ("pytest ${X} `ls x` || true", &["FailureAllowed: pytest ${X} `ls x`"]),
        ("pytest \\\n -q || true", &["FailureAllowed: pytest \\\n -q"]),
        ("pytest ü\\ö || true", &["FailureAllowed: pytest ü\\ö"]),
        ("if make test; then true; fi", &[]),
        ("f() { make test; }; f", &[]),
        ("make test << X", &[]),
        ("diff <(make test) a || true", &[]),
        ("case a in b) make test;; esac", &[]),
        ("{ make test; echo x; }", &["LastCommandDecides: { make test && echo x; }"]),
        ("!\tmake test | tee log", &[]),
        ("! make test", &[]),
        ("! make test || true", &["FailureAllowed: ! make test"]),
        ("pytest a{b || true", &["FailureAllowed: pytest a{b"]),
        ("pytest {a} || true", &["FailureAllowed: pytest {a}"]),
        ("pytest } || true", &[]),
        ("pytest a#b || true", &["FailureAllowed: pytest a#b"]),
        ("pytest !x || true", &["FailureAllowed: pytest !x"]),
    ]);
}

#[test]
fn a_failure_that_is_allowed_is_named_whatever_runs_the_program() {
    check(&[
        ("uv run pytest | tee log", &["PipeHidesExit: uv run pytest > log 2>&1"]),
        ("uv sync | tee log", &["PipeHidesExit: uv sync > log 2>&1"]),
        ("timeout 60 pytest || true", &["FailureAllowed: timeout 60 pytest"]),
        ("env A=1 nice -n 5 pytest || true", &["FailureAllowed: env A=1 nice -n 5 pytest"]),
        ("poetry exec pytest || true", &["FailureAllowed: poetry exec pytest"]),
        ("npx jest || true", &["FailureAllowed: npx jest"]),
        ("A=1 pytest || true", &["FailureAllowed: A=1 pytest"]),
        ("pnpm test || true", &["FailureAllowed: pnpm test"]),
        ("ruff check . || true", &["FailureAllowed: ruff check ."]),
        ("ruff format --check || true", &["FailureAllowed: ruff format --check"]),
        ("ruff format . || true", &["FailureAllowed: ruff format ."]),
        ("go test ./... || true", &["FailureAllowed: go test ./..."]),
        ("go vet || true", &["FailureAllowed: go vet"]),
        ("go build || true", &["FailureAllowed: go build"]),
        ("dotnet test || true", &["FailureAllowed: dotnet test"]),
        ("dotnet build || true", &["FailureAllowed: dotnet build"]),
        ("node --test || true", &["FailureAllowed: node --test"]),
        ("node a.js || true", &["FailureAllowed: node a.js"]),
        ("npm t || true", &["FailureAllowed: npm t"]),
        ("yarn t || true", &["FailureAllowed: yarn t"]),
        ("python3 -m pytest -q || true", &["FailureAllowed: python3 -m pytest -q"]),
        ("python3 -m http.server || true", &["FailureAllowed: python3 -m http.server"]),
        ("pypy3 -m pytest || true", &["FailureAllowed: pypy3 -m pytest"]),
        ("perl -m pytest || true", &["FailureAllowed: perl -m pytest"]),
        ("cargo fmt --check || true", &["FailureAllowed: cargo fmt --check"]),
        ("cargo build || true", &["FailureAllowed: cargo build"]),
        ("make -k test=1 || true", &["FailureAllowed: make -k test=1"]),
        ("make all || true", &["FailureAllowed: make all"]),
    ]);
}

#[test]
fn filters_inner_shells_options_and_files_are_read_as_a_shell_reads_them() {
    check(&[
        ("make test | sed -n 1p", &["PipeHidesExit: make test"]),
        ("make test | sed 5q", &[]),
        ("make test | cat -q", &["PipeHidesExit: make test"]),
        ("make test | grep ok", &["OutputMatched: make test"]),
        ("make test | wc -l", &["PipeHidesExit: make test"]),
        ("./run | awk x", &[]),
        ("bash -c -e 'make test | tee log'", &["PipeHidesExit: bash -c -e 'make test > log 2>&1'"]),
        ("bash -co pipefail 'make test | tee log'", &[]),
        ("bash -o pipefail -c 'make test | tee log'", &[]),
        ("bash --norc -c 'make test || true'", &["FailureAllowed: bash --norc -c 'make test'"]),
        ("bash --c 'make test || true'", &[]),
        ("bash -ec 'make test; echo done'", &[]),
        ("bash -e -o errexit -c 'make test; echo x'", &[]),
        ("set -o errexit; make test; echo done", &[]),
        ("set -o pipefail; make test | tee log", &[]),
        ("set -e; make test; echo done", &[]),
        ("set --e; make test; echo done", &["LastCommandDecides: set --e; make test && echo done"]),
        ("set -x pipefail; make test | tee log", &["PipeHidesExit: set -x pipefail; make test > log 2>&1"]),
        ("grep -e PASS report.txt", &["ReadsOnlyFiles: make test && grep -e PASS report.txt"]),
        ("grep -f pat report.txt", &["ReadsOnlyFiles: make test && grep -f pat report.txt"]),
        ("grep PASS", &[]),
        ("cat", &[]),
        ("cat a.txt", &["ReadsOnlyFiles: make test && cat a.txt"]),
        ("tr a b < x", &["ReadsOnlyFiles: make test && tr a b < x"]),
        ("test ! -f a", &[]),
        ("test -z \"$(cat a)\"", &[]),
        ("test -f ~/a", &[]),
        ("[ -n \"$(cat a)\" ]", &["ReadsOnlyFiles: make test && [ -n \"$(cat a)\" ]"]),
        ("grep x ../a", &[]),
        ("grep x /etc/passwd", &[]),
        ("[ \"$(make test)\" = ok ]", &[]),
        ("make test; exit $?", &[]),
        ("make test; exit 1", &["LastCommandDecides: make test"]),
        ("make test; rc=$?; exit $rc", &[]),
        ("bash -c \"make; exit $_rc\"", &[]),
        ("bash -c \"_rc=1; exit ${_rc}\"", &["ExpandedTooEarly: bash -c '_rc=1; exit ${_rc}'"]),
        (
            "sh -c 'sh -c \"sh -c \\\"make test || true\\\"\"'",
            &["FailureAllowed: sh -c 'sh -c '\\''sh -c '\\''\\'\\'''\\''make test'\\''\\'\\'''\\'''\\'''"],
        ),
        ("make test & wait", &[]),
        ("( ! make test; true )", &["LastCommandDecides: ( ! make test && true )"]),
    ]);
}

#[test]
fn only_the_exit_code_of_a_judging_program_may_not_be_lost() {
    check(&[
        ("ruff check .; ./a.out", &["LastCommandDecides: ruff check . && ./a.out"]),
        ("ruff format --check; ./a.out", &["LastCommandDecides: ruff format --check && ./a.out"]),
        ("ruff format .; ./a.out", &[]),
        ("go test ./...; ./a.out", &["LastCommandDecides: go test ./... && ./a.out"]),
        ("go build; ./a.out", &[]),
        ("dotnet test; ./a.out", &["LastCommandDecides: dotnet test && ./a.out"]),
        ("dotnet build; ./a.out", &[]),
        ("node --test; ./a.out", &["LastCommandDecides: node --test && ./a.out"]),
        ("node a.js; ./a.out", &[]),
        ("npm t; ./a.out", &["LastCommandDecides: npm t && ./a.out"]),
        ("yarn t; ./a.out", &[]),
        ("python3 -m pytest -q; ./a.out", &["LastCommandDecides: python3 -m pytest -q && ./a.out"]),
        ("python3 -m http.server; ./a.out", &[]),
        ("pypy3 -m pytest; ./a.out", &["LastCommandDecides: pypy3 -m pytest && ./a.out"]),
        ("perl -m pytest; ./a.out", &[]),
        ("cargo fmt --check; ./a.out", &["LastCommandDecides: cargo fmt --check && ./a.out"]),
        ("cargo build; ./a.out", &[]),
        ("make test=1; ./a.out", &[]),
        ("make all; ./a.out", &[]),
        ("make -test; ./a.out", &[]),
        ("uv run pytest; ./a.out", &["LastCommandDecides: uv run pytest && ./a.out"]),
        ("uv sync; ./a.out", &[]),
        ("timeout 60 pytest; ./a.out", &["LastCommandDecides: timeout 60 pytest && ./a.out"]),
        ("nice -n 5 pytest; ./a.out", &["LastCommandDecides: nice -n 5 pytest && ./a.out"]),
        ("./check.sh; ./a.out", &[]),
        ("jest; ./a.out", &["LastCommandDecides: jest && ./a.out"]),
        ("uv pytest; ./a.out", &[]),
    ]);
}

#[test]
fn exit_without_a_number_is_read_as_the_exit_code_before_it() {
    check(&[
        ("make test; exit", &[]),
        ("make test && exit", &[]),
        ("make test || exit", &[]),
        ("( make test; exit )", &[]),
        ("make test\nexit", &[]),
        ("make test; echo done; exit", &["LastCommandDecides: make test && echo done; exit"]),
        ("./check.sh; echo done; exit", &["LastCommandDecides: ./check.sh && echo done; exit"]),
        ("make test | tee log; exit", &["PipeHidesExit: make test > log 2>&1; exit"]),
        ("make test || true; exit", &["FailureAllowed: make test; exit"]),
        ("make test || { echo failed; exit; }", &["FailureAllowed: make test"]),
        ("make test || { echo failed; exit 1; }", &[]),
        ("make test & exit", &["InBackground: make test; exit"]),
        ("./check.sh; exit 0", &["LastCommandDecides: ./check.sh"]),
        ("( ./check.sh; exit 0 )", &["LastCommandDecides: ( ./check.sh )"]),
        ("make test; ! exit", &["LastCommandDecides: make test && ! exit"]),
    ]);
}

#[test]
fn a_better_line_keeps_the_brackets_and_what_is_around_the_flaw() {
    check(&[
        ("( make test || true )", &["FailureAllowed: ( make test )"]),
        ("(((( make test || true ))))", &["FailureAllowed: (((( make test ))))"]),
        ("{ make test || true; }", &["FailureAllowed: { make test; }"]),
        ("{ make test & }", &["InBackground: { make test; }"]),
        ("( pytest; [ $? = 5 ] )", &["FailureAllowed: ( pytest )"]),
        ("cd app && cargo test | grep -q ok", &["OutputMatched: cd app && cargo test"]),
        ("( cargo test 2>&1 | grep -q ok )", &["OutputMatched: ( cargo test )"]),
    ]);
}

#[test]
fn brackets_are_read_eight_deep_and_a_line_with_more_is_not_judged() {
    let nested = |depth: usize| format!("pytest || true && {}make lint{}", "( ".repeat(depth), " )".repeat(depth));
    assert_eq!(promise_warnings(&nested(8), "/w").len(), 1);
    assert!(promise_warnings(&nested(9), "/w").is_empty());
}

#[test]
fn a_command_that_only_reads_standard_input_reads_no_file_of_the_agent() {
    check(&[
        ("tr a b", &[]),
        ("tr -d x", &[]),
        ("grep -e PASS", &[]),
        ("grep -e PASS -e ok", &[]),
        ("grep -e PASS -e ok report.txt", &["ReadsOnlyFiles: make test && grep -e PASS -e ok report.txt"]),
        ("cat report.txt | tr a b", &["PipeHidesExit: cat report.txt"]),
        ("tr a b < /etc/passwd", &[]),
    ]);
}

#[test]
fn escapes_and_quotes_are_taken_off_as_a_shell_does() {
    check(&[
        ("make test | \\tee log", &["PipeHidesExit: make test > log 2>&1"]),
        ("\\pytest; ./a.out", &["LastCommandDecides: \\pytest && ./a.out"]),
        ("find . -exec false \\; || true", &["FailureAllowed: find . -exec false \\;"]),
        (
            "bash -c \"printf 'a\\n' && make test || true\"",
            &["FailureAllowed: bash -c 'printf '\\''a\\n'\\'' && make test'"],
        ),
        ("sh -c \"make \\\ntest || true\"", &["FailureAllowed: sh -c 'make test'"]),
        ("pytest $(cat $(ls list) more) || true", &["FailureAllowed: pytest $(cat $(ls list) more)"]),
        ("pytest $(echo 'ab)' x) || true", &["FailureAllowed: pytest $(echo 'ab)' x)"]),
        ("A=1 MY_VAR=2 pytest; ./a.out", &["LastCommandDecides: A=1 MY_VAR=2 pytest && ./a.out"]),
        ("bash -c \"status=0; make; exit $status\"", &["ExpandedTooEarly: bash -c 'status=0; make; exit $status'"]),
        ("./check.sh; ( echo done; true )", &["LastCommandDecides: ./check.sh && ( echo done; true )"]),
    ]);
}

#[test]
fn a_line_that_is_not_understood_or_whose_flaw_does_not_count_is_not_warned_about() {
    check(&[
        ("( make test || true ) again", &[]),
        ("make test ;; true", &[]),
        ("make test || true (x)", &[]),
        ("( make test || true", &[]),
        ("pytest <<EOF || true\nx\nEOF", &[]),
        ("tee >(cat) || true", &[]),
        ("if make test; then echo ok; fi | tee log", &[]),
        ("cd app && ! make test | tee log", &[]),
        ("cd app && !\tmake test | tee log", &[]),
        ("make test && ! ( make lint || true )", &[]),
        ("( ./prepare || true ); make test", &[]),
        ("make test && sh -c 'true'", &[]),
    ]);
}
