//! Which changed files the gates and the tests use, by what the texts of the start say.
use loop_core::policy::probe::TreeVersion;
use loop_core::policy::protect::{FileChange, GateReads, OpportunityKind, PathChange, ProjectText, is_for_tests};

use FileChange::{Changed, New};
use OpportunityKind::{GateFile, NewRunnerFile};

fn texts(all: &[(&str, &str)]) -> Vec<ProjectText> {
    all.iter().map(|(path, text)| ProjectText { path: (*path).to_owned(), text: (*text).to_owned() }).collect()
}

/// What a change of a file is, whose text at the start was this.
fn kind(reads: &GateReads, path: &str, what: FileChange, text: &str) -> Option<OpportunityKind> {
    let change = PathChange { path, what, is_program: false, is_empty: false, new_folder: None };
    reads.kind(&change, &|_: TreeVersion, _: &str| Some(text.to_owned()))
}

const COMPARES: &str = "exports.same = (a, b) => { if (a !== b) throw new Error(`expected ${b}`); assert(a); };\n";

#[test]
fn a_changed_file_counts_where_the_tests_name_it_and_its_name_is_no_common_word() {
    let tests = "import pytest, eq, calc\nfor x in cases('data/cases.json'): assert eq(x)\n";
    let reads = GateReads::of(&[], &texts(&[("tests/test_a.py", tests)]));

    assert_eq!(kind(&reads, "data/cases.json", Changed, "{}"), Some(GateFile));
    for (path, what) in [
        // New data may be the work.
        ("data/cases.json", New),
        ("in", Changed),
        ("support/eq.py", Changed),
        ("calc.py", Changed),
        ("tests/test_new.py", New),
        ("src/__init__.py", New),
    ] {
        assert_eq!(kind(&reads, path, what, "x"), None, "{path}");
    }
    assert_eq!(kind(&reads, "tests/__init__.py", New, "x"), Some(NewRunnerFile));
}

#[test]
fn a_source_that_asserts_counts_where_tests_import_it_and_no_other_source_does() {
    let test = ("test/a.test.js", "import { same } from '../lib/compare';\nimport b from '../lib/b';\n");
    let of = |more: &[(&str, &str)]| GateReads::of(&[], &texts(&[&[test], more].concat()));
    let is = |reads: &GateReads, path: &str| kind(reads, path, Changed, COMPARES);

    let alone = of(&[]);
    assert_eq!([is(&alone, "lib/compare.js"), is(&alone, "lib/b.js")], [Some(GateFile); 2]);
    assert_eq!(kind(&alone, "lib/compare.js", Changed, "exports.same = 1;"), None);
    // It may name itself, and more than once.
    let own = of(&[("lib/compare.js", "// compare.js: compare.js compares\n")]);
    assert_eq!(is(&own, "lib/compare.js"), Some(GateFile));
    let also = of(&[("lib/compare.js", "// compare.js\n"), ("src/app.js", "require('../lib/compare.js');\n")]);
    assert_eq!(is(&also, "lib/compare.js"), None);
}

#[test]
fn what_a_program_of_the_gate_imports_judges_only_where_it_compares_and_fails() {
    let reads = GateReads::of(&texts(&[("ci/verify.js", "require('../lib/same.js');\n")]), &[]);

    assert_eq!(kind(&reads, "lib/same.js", Changed, COMPARES), Some(GateFile));
    assert_eq!(kind(&reads, "lib/same.js", Changed, "exports.same = (a, b) => a === b;\n"), None);
    assert_eq!(kind(&reads, "lib/same.js", Changed, "exports.stop = () => { throw new Error('stop'); };\n"), None);
}

#[test]
fn what_only_looks_like_a_target_of_a_makefile_is_none() {
    let makefile = "OUT := a; b\n.DEFAULT:\n\techo no rule for $@\n%:\n\techo no rule for $@\n\
        sum: sum.c\n\tmkdir -p made\n\tcc -o sum sum.c\n$(GEN):\n\techo $@\n";
    let reads = GateReads::of(&texts(&[("Makefile", makefile)]), &[]);

    // The makefile names it, as a variable.
    assert_eq!(kind(&reads, "OUT", New, ""), Some(GateFile));
    for path in [".DEFAULT", "notes.txt", "$(GEN)"] {
        assert_eq!(kind(&reads, path, New, ""), None, "{path}");
        assert!(!reads.is_made_by_gates(path), "{path}");
    }
    assert_eq!(kind(&reads, "sum", New, ""), Some(GateFile));
    assert!(reads.is_made_by_gates("sum"), "the second line of its recipe makes it");
}

#[test]
fn a_line_of_a_script_replaces_a_name_of_the_gates_only_where_it_gives_it_a_meaning() {
    let check = "WANT_SUM=5\necho WANT=5\n  echo \"usage: check()\"\nfail() { exit 1; }\n";
    let reads = GateReads::of(&texts(&[("check.sh", check)]), &[]);

    assert!(reads.replaces_shell_name("WANT_SUM=6") && reads.replaces_shell_name("function fail { :; }"));
    assert!(!reads.replaces_shell_name("echo WANT=4"));
    assert!(!reads.replaces_shell_name("  echo \"usage: check()\""));
}

#[test]
fn another_value_counts_for_a_constant_of_three_letters_or_more_that_the_tests_use() {
    let text = "assert calc.MAX > calc.PI and calc.MAX_ERROR < limit and total == sizes[0] and max-error";
    let reads = GateReads::of(&[], &texts(&[("tests/test_a.py", text)]));
    let changes = |before: &str, after: &str| reads.changes_test_value(after, &[before.to_owned()]);

    for (before, after) in [
        ("MAX = 3", "MAX = 9"),
        ("MAX_ERROR = 0.1", "MAX_ERROR = 9"),
        ("limit = 5", "limit = 9"),
        ("limit = 5", "limit = -1"),
        ("sizes = [1]", "sizes = []"),
    ] {
        assert!(changes(before, after), "{after}");
    }
    for (before, after) in [
        ("PI = 3", "PI = 4"),
        ("MAX = 3", "MAX == 4"),
        ("MAX = 3", "MAX <= 4"),
        ("total = a + b", "total = a - b"),
        ("max-error = 1", "max-error = 2"),
    ] {
        assert!(!changes(before, after), "{after}");
    }
}

#[test]
fn a_line_names_data_of_the_gates_by_a_whole_name_and_not_by_an_ending() {
    let gate = "sh greet.sh ann | diff - expected.txt && cat *.csv";
    let tests = "assert name.endswith('.json') and open('a.csv') and name != '.csv'";
    let reads = GateReads::of(&texts(&[("", gate)]), &texts(&[("tests/test_a.py", tests)]));

    assert!(reads.names_data("cat expected.txt") && reads.names_data("open('x/a.csv')"));
    for line in ["sh greet.sh ann", "if name.endswith('.json'):", "if end == '.csv':", "name = 1"] {
        assert!(!reads.names_data(line), "{line}");
    }
}

#[test]
fn a_line_names_a_test_by_the_name_of_its_file_where_no_other_file_has_it() {
    let project = [("tests/test_sum.py", ""), ("tests/data.json", ""), ("src/data.json", "")];
    let reads = GateReads::of(&[], &texts(&project));

    assert!(reads.names_test("open('tests/test_sum.py')"));
    assert!(!reads.names_test("open('sum.py')") && !reads.names_test("open('src/data.json')"));
}

#[test]
fn a_source_is_for_tests_where_it_takes_what_only_test_runners_have() {
    for (path, text) in [
        ("same.go", "func Same(t testing.TB) {}"),
        ("same.ts", "expect.extend({ toBeSame() {} });"),
        ("same.js", "import { expect } from 'vitest';\nexport const same = (a) => expect(a);"),
        ("same.mjs", "import { expect } from \"@jest/globals\";\nexpect(1);"),
        ("same.py", "@pytest.fixture\ndef same(): ...\n"),
        ("same.py", "class Same(unittest.TestCase):\n"),
    ] {
        assert!(is_for_tests(path, text), "{path} {text}");
    }
    for (path, text) in [
        ("same.js", "export const same = (a) => expect(a);"),
        ("same.js", "import 'vitest';"),
        ("same.py", "def same(): ...\n"),
        ("same.rb", "@pytest.fixture\n"),
        ("same.go", "expect.extend({});"),
    ] {
        assert!(!is_for_tests(path, text), "{path} {text}");
    }
}
