//! What a gate uses to judge, from its command, the files that it opened and their texts; and what of it is protected.
use std::collections::{BTreeMap, BTreeSet};

use loop_core::machine::consult;
use loop_core::policy::protect::{
    FilesSeen, GateUse, UseKind, is_allowed, matches_path, names_file, protected_by_default, uses_of,
};

/// A workspace: paths and texts. A text that begins with `unopened:` is there and was not opened.
pub(crate) struct Workspace {
    pub(crate) texts: BTreeMap<String, String>,
    pub(crate) opened: Option<BTreeSet<String>>,
}

impl Workspace {
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let opened = files.iter().filter(|(_, text)| !text.starts_with("unopened:"));
        let opened = Some(opened.map(|(path, _)| (*path).to_owned()).collect());
        let text = |text: &str| text.strip_prefix("unopened:").unwrap_or(text).to_owned();
        Self { texts: files.iter().map(|(path, of)| ((*path).to_owned(), text(of))).collect(), opened }
    }
}

impl FilesSeen for Workspace {
    fn home(&self) -> &str {
        ""
    }

    fn opened(&self) -> Option<&BTreeSet<String>> {
        self.opened.as_ref()
    }

    fn text(&self, path: &str) -> Option<String> {
        self.texts.get(path).cloned()
    }

    fn inside(&self, folder: &str) -> Vec<String> {
        let is_in = |path: &&String| path.rsplit_once('/').map_or("", |(above, _)| above) == folder;
        self.texts.keys().filter(is_in).cloned().collect()
    }
}

pub(crate) fn used(command: &str, files: &[(&str, &str)]) -> Vec<String> {
    let uses = uses_of(command, "/w", "", &Workspace::of(files));
    uses.files.iter().map(|used| format!("{} {:?}", used.path, used.kind).to_lowercase()).collect()
}

const JSON: &str = r#"{"scripts": {"test": "node test.js && sh scripts/more.sh", "start": "node src/index.js"}}"#;

/// A path and its text.
pub(crate) type TestFile = (&'static str, &'static str);
/// A gate's command, the files of the workspace, and what it uses.
pub(crate) type Case = (&'static str, &'static [TestFile], &'static [&'static str]);

const RUN: &[Case] = &[
    (
        "make test",
        &[
            ("Makefile", "include mk.d/*.mk\ntest:\n\t@sh scripts/run.sh\n"),
            ("mk.d/a.mk", "A = 1\n"),
            ("scripts/run.sh", "exit 1"),
        ],
        &["makefile makefile", "mk.d/a.mk makefile", "scripts/run.sh script"],
    ),
    (
        "sh check.sh",
        &[("check.sh", ". ./lib.sh\nfail\n"), ("lib.sh", "fail() { exit 1; }")],
        &["check.sh direct", "lib.sh script"],
    ),
    (
        "sh all.sh",
        &[
            ("all.sh", "find . -newer mark -type f | while read f; do sh \"$f\"; done\n"),
            ("t/1.sh", "x"),
            ("greet.sh", "x"),
        ],
        &["all.sh direct", "t/1.sh script"],
    ),
    (
        "sh ci/check.sh",
        &[("ci/check.sh", ". \"$(dirname \"$0\")/more.sh\"\n"), ("ci/more.sh", "x")],
        &["ci/check.sh direct", "ci/more.sh script"],
    ),
    ("sh ci/a.sh", &[("ci/a.sh", "cd ci\nsh b.sh\n"), ("ci/b.sh", "x")], &["ci/a.sh direct", "ci/b.sh script"]),
    (
        "for f in t/*.sh; do sh \"$f\" || exit 1; done",
        &[("t/1.sh", "exit 1"), ("t/2.sh", "unopened:exit 1"), ("src/x.sh", "y")],
        &["t/1.sh direct", "t/2.sh direct"],
    ),
    ("ls t/*.sh | xargs -n1 sh", &[("t/1.sh", "exit 1")], &["t/1.sh direct"]),
    ("S=check.sh; sh \"$S\"", &[("check.sh", "exit 1"), ("other.sh", "x")], &["check.sh direct"]),
    ("cat check.sh | sh", &[("check.sh", "exit 1")], &["check.sh direct"]),
    ("find t -name '*.sh' -exec sh {} \\;", &[("t/1.sh", "exit 1")], &["t/1.sh direct"]),
    (
        "make test",
        &[
            ("Makefile", "T = $(wildcard t/*.sh)\ntest:\n\tfor f in $(T); do sh $$f; done\n"),
            ("t/1.sh", "x"),
            ("z.sh", "y"),
        ],
        &["makefile makefile", "t/1.sh script"],
    ),
    (
        "sh ci/run.sh part.sh",
        &[("ci/run.sh", "sh \"$1\"\n"), ("part.sh", "x"), ("z.sh", "y")],
        &["ci/run.sh direct", "part.sh script"],
    ),
    ("sh \"$CHECK\"", &[("ci/all", "#!/bin/sh\nexit 1"), ("a.txt", "x")], &["ci/all direct"]),
    (
        "python3 -m tools.check",
        &[
            ("tools/__init__.py", ""),
            ("tools/check.py", "import tools.more, app"),
            ("tools/more.py", ""),
            ("app.py", ""),
        ],
        &["tools/__init__.py helper", "tools/check.py direct", "tools/more.py helper"],
    ),
    (
        "npm test",
        &[
            ("package.json", JSON),
            ("test.js", "x"),
            ("scripts/more.sh", "unopened:x"),
            ("src/index.js", "x"),
            (".npmrc", "a=b"),
        ],
        &[".npmrc runner", "scripts/more.sh script", "test.js script"],
    ),
    ("sh verify.sh | diff - ok.txt", &[("verify.sh", "x"), ("ok.txt", "x")], &["verify.sh direct"]),
    ("sh all.sh | grep -q passed", &[("all.sh", "x")], &["all.sh direct"]),
    ("sh all.sh | tee log", &[("all.sh", "x")], &["all.sh direct"]),
    ("sh all.sh > log && grep -q passed log", &[("all.sh", "x")], &["all.sh direct"]),
    ("sh all.sh > log && echo fine", &[("all.sh", "x")], &["all.sh direct"]),
    (
        "PATH=$PWD/tools:$PATH; check-greeting",
        &[("tools/check-greeting", "#!/bin/sh\nx"), ("tools/other", "#!/bin/sh\nx")],
        &["tools/check-greeting direct"],
    ),
    (
        "python3 tools/check.py",
        &[("tools/check.py", "x"), ("tools/limits.json", "{}"), ("data.json", "{}")],
        &["tools/check.py direct", "tools/limits.json helper"],
    ),
    ("sh a.sh && sh b.sh", &[("a.sh", "exit 1"), ("b.sh", "unopened:x")], &["a.sh direct", "b.sh direct"]),
    (
        "python3 -m pytest -q",
        &[("pytest.ini", ""), ("tests/conftest.py", ""), ("tests/test_a.py", ""), ("calc.py", ""), ("setup.cfg", "")],
        &["pytest.ini runner", "tests/conftest.py runner"],
    ),
    (
        "cargo test",
        &[("Cargo.toml", ""), (".cargo/config.toml", ""), ("src/lib.rs", ""), ("build.rs", "")],
        &[".cargo/config.toml runner"],
    ),
];

#[test]
fn what_a_gate_runs_is_found_one_step_and_further_in_every_spelling() {
    // req: RT-R9
    for (command, files, expected) in RUN {
        assert_eq!(used(command, files), *expected, "{command}");
    }
}

const SUB_MAKE: &[TestFile] =
    &[("sub/Makefile", "test:\n\tsh ci/run.sh\n"), ("sub/ci/run.sh", "sh ci/more.sh\n"), ("sub/ci/more.sh", "exit 1")];
const SUB_PACKAGE: &[TestFile] =
    &[("sub/package.json", r#"{"scripts": {"test": "sh ci/run.sh"}}"#), ("sub/ci/run.sh", "exit 1")];

#[test]
fn what_make_and_npm_run_in_another_folder_is_found_in_that_folder() {
    let made: &[&str] = &["sub/ci/more.sh script", "sub/ci/run.sh script", "sub/makefile makefile"];
    for command in [
        "make -C sub test",
        "make -Csub test",
        "make --directory=sub",
        "cd sub && make test",
        "(cd sub && make) && true",
        "make --directory sub -f Makefile",
    ] {
        let found: BTreeSet<String> =
            used(command, SUB_MAKE).into_iter().map(|used| used.replace("direct", "makefile")).collect();
        assert_eq!(found.into_iter().collect::<Vec<_>>(), made, "{command}");
    }
    let file: &[TestFile] = &[("sub/x.mk", "test:\n\tsh ci/run.sh\n"), ("ci/run.sh", "exit 1"), ("ci/z.sh", "x")];
    assert_eq!(used("make -f sub/x.mk", file), ["ci/run.sh script", "sub/x.mk makefile"]);
    for command in ["npm --prefix sub test", "npm test --prefix=sub", "cd sub && npm test", "yarn --cwd sub test"] {
        for opened in [true, false] {
            let files = Workspace::of(SUB_PACKAGE);
            let files = if opened { files } else { Workspace { opened: None, ..files } };
            let paths: Vec<String> =
                uses_of(command, "/w", "", &files).files.into_iter().map(|used| used.path).collect();
            assert_eq!(paths, ["sub/ci/run.sh"], "{command}");
        }
    }
}

#[test]
fn a_makefile_of_another_folder_is_found_by_the_texts_alone() {
    let files = Workspace { opened: None, ..Workspace::of(SUB_MAKE) };
    let paths: Vec<String> =
        uses_of("make -C sub test", "/w", "", &files).files.into_iter().map(|used| used.path).collect();
    assert_eq!(paths, ["sub/Makefile", "sub/ci/more.sh", "sub/ci/run.sh"]);
}

#[test]
fn the_product_is_not_what_a_gate_uses_to_judge() {
    let cases: &[Case] = &[
        (
            "sh check.sh",
            &[("check.sh", ". ./calc.sh\n[ \"$(add 2 3)\" = 5 ]\n"), ("calc.sh", "add() {\n")],
            &["check.sh direct"],
        ),
        ("sh check.sh", &[("check.sh", "[ \"$(sh calc.sh 2 3)\" = 5 ]\n"), ("calc.sh", "x")], &["check.sh direct"]),
        ("sh check.sh", &[("check.sh", "x=$(./calc 2 3)\n"), ("calc", "#!/bin/sh\nx")], &["check.sh direct"]),
        ("./check", &[("check", "#!/bin/sh\nbin/tool | grep -q 5\n"), ("bin/tool", "#!/bin/sh\n")], &["check direct"]),
        ("sh greet.sh ann | diff - expected.txt", &[("greet.sh", "x"), ("expected.txt", "x")], &[]),
        ("./greet ann | sort | grep -qx 'hello ann'", &[("greet", "#!/bin/sh\nx")], &[]),
        ("[ \"$(sh greet.sh ann)\" = 'hello ann' ]", &[("greet.sh", "x")], &[]),
        ("sh make.sh > out.txt && git diff --exit-code out.txt", &[("make.sh", "x"), ("out.txt", "x")], &[]),
        ("sh make.sh > out.txt && diff out.txt wanted.txt", &[("make.sh", "x"), ("wanted.txt", "x")], &[]),
        ("sh make.sh > out.txt; [ \"$(cat out.txt)\" = 5 ]", &[("make.sh", "x")], &[]),
        ("shellcheck scripts/*.sh", &[("scripts/a.sh", "x")], &[]),
        ("bash -n a.sh", &[("a.sh", "x")], &[]),
        ("! grep -rq TODO .", &[("a.sh", "x"), ("Makefile", "a:\n\tsh a.sh\n")], &[]),
        ("npm test", &[("package.json", r#"{"scripts": {"test": "mocha test/*.js"}}"#), ("test/a.js", "x")], &[]),
        ("jest", &[("package.json", JSON), ("src/a.js", "x"), ("src/a.test.js", "x")], &[]),
    ];
    for (command, files, expected) in cases {
        assert_eq!(used(command, files), *expected, "{command}");
    }
}

#[test]
fn where_opens_are_not_known_the_texts_still_say_what_is_run() {
    let files =
        [("Makefile", "test:\n\tsh scripts/run.sh\n"), ("scripts/run.sh", "x"), ("pytest.ini", ""), ("a.sh", "x")];
    let workspace = Workspace { opened: None, ..Workspace::of(&files) };
    let uses = uses_of("make test", "/w", "", &workspace);
    let paths: Vec<&str> = uses.files.iter().map(|used| used.path.as_str()).collect();
    assert_eq!(paths, ["Makefile", "pytest.ini", "scripts/run.sh"]);
}

#[test]
fn a_check_that_an_unknown_program_gets_may_be_run_by_it() {
    let check = ("ci/check.sh", "exit 1");
    assert_eq!(used("retry -t 3 ./ci/check.sh", &[check]), ["ci/check.sh direct"]);
    // A program that only reads it, the product, and a file that was not opened.
    assert!(used("shellcheck ./ci/check.sh", &[check]).is_empty());
    assert!(used("retry -t 3 ./greet.sh", &[("greet.sh", "exit 1")]).is_empty());
    assert!(used("retry -t 3 ./ci/check.sh", &[("ci/check.sh", "unopened:exit 1")]).is_empty());
}

#[test]
fn no_gate_uses_more_files_than_a_fact_can_hold() {
    let names: Vec<String> = (0..500).map(|number| format!("t/{number:03}.sh")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "x")).collect();
    let uses = uses_of("for f in t/*.sh; do sh $f; done", "/w", "", &Workspace::of(&files));
    assert_eq!((uses.files.len(), uses.more, uses.rest.len()), (100, 400, 400));
    assert_eq!(uses.rest.first().map(String::as_str), Some("t/100.sh"));
}

#[test]
fn a_task_names_a_file_by_its_path_or_its_whole_name() {
    for (task, path) in [
        ("Repair the Makefile, please", "Makefile"),
        ("change scripts/run.sh.", "scripts/run.sh"),
        ("change ./run.sh so that", "scripts/run.sh"),
        ("update `jest.config.js`", "jest.config.js"),
        ("add() in calc is wrong", "calc.sh"),
    ] {
        assert!(names_file(task, path), "{task}");
    }
    for (task, path) in [
        ("make the test pass", "Makefile"),
        ("make check pass", "check.sh"),
        ("run it", "run"),
        ("make all tests pass", "t/tests"),
        ("do not overrun.sh", "run.sh"),
    ] {
        assert!(!names_file(task, path), "{task}");
    }
}

#[test]
fn a_mention_that_forbids_a_change_does_not_name_the_file() {
    for task in [
        "Do not change the Makefile",
        "do not touch Makefile or run.sh",
        "fix the sum without touching the Makefile",
        "Leave the Makefile alone.",
        "You may change everything except the Makefile",
        "Make it work; don't ever modify the Makefile!",
        "The Makefile must not be changed.",
        "the Makefile stays unchanged",
        "keep the Makefile as it is, fix sum.py",
        "no changes to the Makefile, please",
        "repair sum.py instead of editing the Makefile",
        "Repair the Makefile. On second thought: never edit the Makefile.",
        "change all files but the Makefile",
        "the Makefile is not to be changed",
    ] {
        assert!(!names_file(task, "Makefile"), "{task}");
    }
    for task in [
        "The Makefile does not work; repair it",
        "do not touch run.sh, repair the Makefile",
        "Repair the Makefile and do not change run.sh",
        "Do not change anything except the Makefile",
        "change nothing but the Makefile",
        "Leave the tests alone. Repair the Makefile.",
        "do not change the tests, but repair the Makefile",
        "fix the Makefile without changing the tests",
        "only change the Makefile",
        "the Makefile does not update the list; repair that",
        "the test fails because the Makefile is not changed to the new name",
        "the Makefile is not right: the target test must run pytest",
    ] {
        assert!(names_file(task, "Makefile"), "{task}");
    }
}

#[test]
fn a_program_of_the_gate_that_may_be_the_work_is_told_from_one_that_judges() {
    let of = |path: &str, kind| GateUse { path: path.to_owned(), kind, in_task: false };
    let uses = [
        of("app.py", UseKind::Direct),
        of("build.js", UseKind::Direct),
        of("check.py", UseKind::Direct),
        of("judge.js", UseKind::Direct),
        of("tools/gen.py", UseKind::Direct),
        of("run", UseKind::Direct),
        of("greet.sh", UseKind::Direct),
        of("lib.py", UseKind::Helper),
    ];
    let judgement = consult(|deciding| protected_by_default(&uses, &["build.js".to_owned()], deciding));
    assert_eq!(judgement.maybe_work, ["app.py"]);
}

#[test]
fn what_a_node_script_of_the_gate_imports_is_protected_where_it_is_named_as_a_check() {
    let files: &[TestFile] = &[
        (
            "scripts/verify.js",
            "const same = require('../support/assert-same');\nsame(require('../calc.js').add(2, 3), 5);\n",
        ),
        ("support/assert-same.js", "import './helpers/more.mjs'\n"),
        ("support/helpers/more.mjs", ""),
        ("support/helpers/test-kit.mjs", ""),
        ("calc.js", ""),
    ];
    assert_eq!(used("node scripts/verify.js", files), ["scripts/verify.js direct", "support/assert-same.js helper"]);
}

#[test]
fn what_the_task_or_allow_names_is_left_but_not_what_the_gate_itself_runs() {
    let of = |path: &str, kind, in_task| GateUse { path: path.to_owned(), kind, in_task };
    let uses = [
        of("check.sh", UseKind::Direct, true),
        of("Makefile", UseKind::Makefile, true),
        of("lib.sh", UseKind::Script, false),
        of("tools/more.py", UseKind::Helper, false),
    ];
    let judged = |allow: &[&str]| {
        let allow: Vec<String> = allow.iter().map(|glob| (*glob).to_owned()).collect();
        let judgement = consult(|deciding| protected_by_default(&uses, &allow, deciding));
        (judgement.files.join(" "), judgement.left.join(" "))
    };
    assert_eq!(judged(&[]), ("check.sh lib.sh tools/more.py".to_owned(), "Makefile".to_owned()));
    assert_eq!(judged(&["*.sh", "/tools/"]), (String::new(), "check.sh Makefile lib.sh tools/more.py".to_owned()));
    assert!(!is_allowed(&["/lib.sh".to_owned()], "sub/lib.sh"));
    assert!(
        matches_path("a/**/b.sh", "a/b.sh") && matches_path("a/**/b.sh", "a/x/y/b.sh") && !matches_path("a/*", "a/b/c")
    );
}
