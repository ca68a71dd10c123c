//! Promises that say yes although the work is not done are warned about; honest ones are not.
use loop_core::policy::promise_warning::{PromiseFlaw, promise_warnings};

use PromiseFlaw::*;

/// The flaws of a promise, and the better lines.
fn found(promise: &str) -> Vec<(PromiseFlaw, String)> {
    promise_warnings(promise, "/w").into_iter().map(|warning| (warning.flaw, warning.instead)).collect()
}

// req: RT-R6 partly: warned about before the first iteration
#[test]
fn a_promise_that_deceives_itself_is_named_with_a_better_line() {
    let cases: &[(&str, PromiseFlaw, &str)] = &[
        ("pytest -q | tee log", PipeHidesExit, "pytest -q > log 2>&1"),
        ("python3 -m pytest -q 2>&1 | tee -a out.log", PipeHidesExit, "python3 -m pytest -q > out.log 2>&1"),
        ("make test | tail -5", PipeHidesExit, "make test"),
        ("./check.sh | cat", PipeHidesExit, "./check.sh"),
        ("cargo test |& tee log && echo ok", PipeHidesExit, "cargo test > log 2>&1 && echo ok"),
        ("set -e; pytest | tee log; echo done", PipeHidesExit, "set -e; pytest > log 2>&1; echo done"),
        ("cd app && npm test | tee log", PipeHidesExit, "cd app && npm test > log 2>&1"),
        ("sh -c 'make test | tee log'", PipeHidesExit, "sh -c 'make test > log 2>&1'"),
        ("cargo test 2>&1 | grep -q \"test result: ok\"", OutputMatched, "cargo test"),
        ("! pytest -q 2>&1 | grep -q FAILED", OutputMatched, "pytest -q"),
        ("npm run test:unit | grep passed", OutputMatched, "npm run test:unit"),
        ("pytest -q; echo done", LastCommandDecides, "pytest -q && echo done"),
        ("./check.sh\necho finished", LastCommandDecides, "./check.sh && echo finished"),
        ("make test; exit 0", LastCommandDecides, "make test"),
        ("make test; cat report.txt", LastCommandDecides, "make test && cat report.txt"),
        ("make lint; make test", LastCommandDecides, "make lint && make test"),
        ("./server & pytest; kill %1", LastCommandDecides, "./server & pytest && kill %1"),
        ("( ./run.sh; true )", LastCommandDecides, "( ./run.sh && true )"),
        ("pytest -q || true", FailureAllowed, "pytest -q"),
        ("./check.sh || :", FailureAllowed, "./check.sh"),
        ("npm test || echo failed", FailureAllowed, "npm test"),
        ("make test || exit 0", FailureAllowed, "make test"),
        ("pytest -k smoke || [ $? = 5 ]", FailureAllowed, "pytest -k smoke"),
        ("pytest -k smoke || test $? -eq 5", FailureAllowed, "pytest -k smoke"),
        ("pytest -k smoke; [ $? -eq 5 ]", FailureAllowed, "pytest -k smoke"),
        ("make test || { echo failed; cat log; }", FailureAllowed, "make test"),
        ("pytest || true && make lint", FailureAllowed, "pytest && make lint"),
        ("bash -c 'npm test || true'", FailureAllowed, "bash -c 'npm test'"),
        ("make test &", InBackground, "make test"),
        ("sh -c \"make test; echo done; exit $?\"", ExpandedTooEarly, "sh -c 'make test; echo done; exit $?'"),
        ("bash -c \"rc=0; make || rc=1; exit $rc\"", ExpandedTooEarly, "bash -c 'rc=0; make || rc=1; exit $rc'"),
        ("grep PASS report.txt", ReadsOnlyFiles, "make test && grep PASS report.txt"),
        (
            "grep -q done notes.md && test -f out.txt",
            ReadsOnlyFiles,
            "make test && grep -q done notes.md && test -f out.txt",
        ),
        ("test -f done", ReadsOnlyFiles, "make test && test -f done"),
        ("[ -s result.json ]", ReadsOnlyFiles, "make test && [ -s result.json ]"),
        ("cat report.txt | grep -q PASS", ReadsOnlyFiles, "make test && cat report.txt | grep -q PASS"),
        ("grep -q PASS < report.txt", ReadsOnlyFiles, "make test && grep -q PASS < report.txt"),
        ("grep -q ok /w/report.txt", ReadsOnlyFiles, "make test && grep -q ok /w/report.txt"),
        ("[ \"$(cat result)\" = PASS ]", ReadsOnlyFiles, "make test && [ \"$(cat result)\" = PASS ]"),
        ("test $(grep -c PASS r.txt) -ge 3", ReadsOnlyFiles, "make test && test $(grep -c PASS r.txt) -ge 3"),
        ("jq -e .ok report.json", ReadsOnlyFiles, "make test && jq -e .ok report.json"),
        ("true", AlwaysPasses, "make test"),
        ("cd app; echo ok", AlwaysPasses, "make test"),
        ("exit 0", AlwaysPasses, "make test"),
    ];
    let is_missed = |(promise, flaw, instead): &&(&str, PromiseFlaw, &str)| {
        !found(promise).contains(&(*flaw, (*instead).to_owned()))
    };
    let missed: Vec<_> = cases.iter().filter(is_missed).map(|case| (case, found(case.0))).collect();
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn what_the_outer_shell_puts_in_is_named() {
    for (promise, name) in [
        ("sh -c \"make test; echo done; exit $?\"", "$?"),
        ("bash -c \"make test | tee log; exit ${PIPESTATUS[0]}\"", "$PIPESTATUS"),
        ("bash -c \"rc=0; make || rc=1; exit $rc\"", "$rc"),
    ] {
        let sentences: Vec<String> = promise_warnings(promise, "/w").into_iter().map(|found| found.sentence).collect();
        let wanted = format!("the outer shell puts the value of {name} in before the inner command runs");
        assert!(sentences.iter().any(|sentence| sentence.starts_with(&wanted)), "{promise}: {sentences:?}");
    }
}

/// Promises as people write them.
const HONEST: &[&str] = &[
    "make test",
    "make test && echo ok",
    "! grep -rn TODO src",
    "! grep -q FIXME notes.md",
    "pytest -q",
    "python3 -m pytest -q tests/test_a.py::test_x",
    "python -m unittest discover -s tests",
    "cargo test --workspace",
    "cargo fmt --check && cargo clippy -- -D warnings && cargo test",
    "cargo fmt; cargo test",
    "cargo build; ./target/debug/app --self-test",
    "npm ci && npm test",
    "npm ci; npm test",
    "npm run build && npm run test:unit -- --ci",
    "npx jest --ci 2>&1",
    "go vet ./... && go test ./...",
    "cd app && make check",
    "cd app; make check",
    "(cd app && make check)",
    "rm -rf build; mkdir build; cd build && cmake .. && make && ctest",
    "rm -f out || true; make test",
    "docker compose down || true; docker compose up -d && pytest",
    "set -e; pytest -q; echo all is well",
    "set -euo pipefail; pytest | tee log",
    "bash -eo pipefail -c 'pytest | tee log'",
    "bash -c 'set -o pipefail; make test 2>&1 | tee log'",
    "sh -c 'make test; rc=$?; rm -f tmp; exit $rc'",
    "sh -c \"make test; exit \\$?\"",
    "make test; rc=$?; cat log; exit $rc",
    "make test; exit $?",
    "pytest -q > report.txt 2>&1",
    "make test || exit 1",
    "make test || { cat log; exit 1; }",
    "make test || (tail -50 log; false)",
    "./server & pid=$!; pytest; st=$?; kill $pid; exit $st",
    "./run.sh > out.txt && diff out.txt expected.txt",
    "./prog < in.txt | diff - expected.txt",
    "curl -sf http://localhost:8080/health | grep -q ok",
    "./app --version | grep -q '^2\\.'",
    "git log --oneline | grep -q fix",
    "echo 2 3 | ./add | grep -qx 5",
    "test \"$(./count)\" = 3",
    "test -z \"$(git status --porcelain)\"",
    "[ $(./count | wc -l) -eq 3 ]",
    "test -f dist/app.js && node dist/app.js",
    "grep -q ok /var/log/nightly.log",
    "sh check.sh",
    "./check --all",
    "timeout 60 ./check",
    "env CI=1 npm test",
    "uv run pytest -q",
    "bundle exec rspec",
    "mvn -q verify",
    "./gradlew test",
    "if make test; then echo ok; else exit 1; fi",
    "for f in t/*.sh; do sh \"$f\" || exit 1; done",
    "node --test",
    "test -f a.txt || ./make-a",
    "./one || ./two",
    "! ./has-errors",
    "ls *.md | xargs markdownlint",
    "jq -e . config.json && ./load config.json",
    "eslint . && tsc --noEmit",
    "pytest -q && ! grep -rn 'print(' src",
];

#[test]
fn an_honest_promise_gets_no_warning() {
    assert!(HONEST.len() >= 40);
    let alarms: Vec<_> = HONEST.iter().map(|promise| (promise, found(promise))).collect();
    let alarms: Vec<_> = alarms.into_iter().filter(|(_, found)| !found.is_empty()).collect();
    assert!(alarms.is_empty(), "{alarms:#?}");
}

#[test]
fn no_line_is_too_odd_to_be_looked_at() {
    let odd = [
        "",
        "!",
        "'",
        "\"",
        "\\",
        "$(",
        "`",
        "<<EOF",
        "2>&",
        "| |",
        "&&",
        "a ||",
        "((((",
        "{ ",
        "sh -c",
        "[[ a && b ]]",
        "a\u{1f600}b | tee \u{1f600}",
        "f() { true; }",
        "case x in x) true;; esac",
    ];
    for line in odd.iter().map(|line| (*line).to_owned()).chain(["( ".repeat(500), "a|".repeat(2000), "$(".repeat(900)])
    {
        assert!(promise_warnings(&line, "/w").len() <= 8, "{line}");
    }
    for (from, _) in "sh -c \"a 'b' $(c \\\" d) `e` ; exit $?\" | tee x || [ $? = 5 ] # é".char_indices() {
        let whole = "sh -c \"a 'b' $(c \\\" d) `e` ; exit $?\" | tee x || [ $? = 5 ] # é";
        for part in [&whole[from..], &whole[..from]] {
            assert!(promise_warnings(part, "/w").len() <= 8, "{part}");
        }
    }
}
