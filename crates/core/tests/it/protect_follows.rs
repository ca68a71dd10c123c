//! How far a gate's command is followed through scripts, makefiles, manifests and imports, and what it does not use.
use loop_core::policy::protect::{GateUses, WatchGap, texts_of, uses_of};

use crate::gate_uses::{Case, Workspace, used};

fn check(cases: &[Case]) {
    for (command, files, expected) in cases {
        assert_eq!(used(command, files), *expected, "{command} {files:?}");
    }
}

/// How many files are used in all.
fn count(command: &str, files: &[(String, String)]) -> usize {
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let uses = uses_of(command, "/w", "", &Workspace::of(&files));
    uses.files.len() + uses.rest.len()
}

#[test]
fn what_a_command_runs_itself_is_found_in_rare_spellings() {
    check(&[
        (
            "bun run test",
            &[("package.json", r#"{"scripts": {"test": "sh ci/run.sh"}}"#), ("ci/run.sh", "x")],
            &["ci/run.sh script"],
        ),
        ("find checks -name '*.sh' -exec {} \\;", &[("checks/1.sh", "exit 1")], &["checks/1.sh direct"]),
        ("retry -t 3 ./check", &[("check", "#!/bin/sh\nexit 1")], &["check direct"]),
        ("retry -t 3 check.sh", &[("check.sh", "exit 1")], &["check.sh direct"]),
        ("python3 -m my_checks", &[("my_checks.py", "x")], &["my_checks.py direct"]),
        ("sh \"$JOB\"", &[("greeting", "#!/bin/sh\nx"), ("LICENSE", "MIT")], &["greeting direct"]),
        ("bats checks/*.bats", &[("checks/a.bats", "x")], &["checks/a.bats direct"]),
    ]);
}

#[test]
fn what_a_command_only_mentions_is_not_used() {
    check(&[
        ("$(./env) && grep -q x notes.sh", &[("notes.sh", "x"), ("env", "#!/bin/sh\n")], &[]),
        ("find . -name '*.txt' -exec cat {} +", &[("a.sh", "x"), ("a.txt", "x")], &[]),
        ("python3 -m tools/check", &[("tools/check.py", "x")], &[]),
        ("jest", &[("package.json", r#"{"scripts": {"test": "sh ci/run.sh"}}"#), ("ci/run.sh", "x")], &[]),
        ("PATH=$PWD/docs:$PATH; report", &[("docs/report", "plain text")], &[]),
        (
            "sh check.sh",
            &[("check.sh", "verify_it() { exit 1; }\nverify_it\n"), ("tools/verify_it", "#!/bin/sh\n")],
            &["check.sh direct"],
        ),
    ]);
}

#[test]
fn scripts_that_a_script_hands_to_a_shell_are_found_by_the_folder_or_the_pattern_that_it_mentions() {
    check(&[
        (
            "sh all.sh",
            &[("all.sh", "cd parts\nls . | xargs -n1 sh\n"), ("parts/one.sh", "x"), ("other.sh", "x")],
            &["all.sh direct", "parts/one.sh script"],
        ),
        (
            "sh all.sh",
            &[("all.sh", "for f in unit*; do sh \"$f\"; done\n"), ("unit1.sh", "x"), ("other.sh", "x")],
            &["all.sh direct", "unit1.sh script"],
        ),
        (
            "sh all.sh",
            &[("all.sh", "find . -name 'unit*' | xargs sh\n"), ("parts/unit1.sh", "x"), ("other.sh", "x")],
            &["all.sh direct", "parts/unit1.sh script"],
        ),
        (
            "sh all.sh",
            &[("all.sh", "sh \"$JOB\"\n"), ("greeting.sh", "x"), ("t/1.sh", "x")],
            &["all.sh direct", "t/1.sh script"],
        ),
    ]);
}

#[test]
fn the_product_is_told_from_what_judges_it_by_how_a_script_uses_it() {
    check(&[
        (
            "sh check.sh",
            &[("check.sh", "sh src/build.sh\npython3 main.py\nsh greeting.sh\n"), ("src/build.sh", "x")],
            &["check.sh direct"],
        ),
        ("sh check.sh", &[("check.sh", "python3 main.py\n"), ("main.py", "x")], &["check.sh direct"]),
        (
            "sh check.sh",
            &[("check.sh", "sh greeting.sh\n"), ("greeting.sh", "x")],
            &["check.sh direct", "greeting.sh script"],
        ),
        (
            "sh check.sh",
            &[("check.sh", "[ \"$(sh verify.sh)\" = ok ]\n"), ("verify.sh", "x")],
            &["check.sh direct", "verify.sh script"],
        ),
        // A function that is called for its exit code judges.
        (
            "sh check.sh",
            &[
                ("check.sh", ". ./calc.sh\nx=$(add 2 3)\nif add 1 1; then exit 1; fi\n"),
                ("calc.sh", "add() {\n  echo $(($1 + $2))\n}\n"),
            ],
            &["calc.sh script", "check.sh direct"],
        ),
        // Its values are used, and none of its functions.
        (
            "sh check.sh",
            &[
                ("check.sh", ". ./values.sh\n[ \"$(cat out)\" = \"$WANT\" ]\n"),
                ("values.sh", "WANT=5\nadd() {\n:\n}\n"),
            ],
            &["check.sh direct", "values.sh script"],
        ),
        ("python3 tests/run.py", &[("tests/run.py", "x"), ("tests/cases.json", "{}")], &["tests/run.py direct"]),
    ]);
}

#[test]
fn only_the_lines_of_a_shell_are_followed() {
    check(&[
        ("python3 check.py", &[("check.py", "'''\nsh more.sh\n'''\n"), ("more.sh", "x")], &["check.py direct"]),
        ("./check", &[("check", "#!/usr/bin/env python3\nsh more.sh\n"), ("more.sh", "x")], &["check direct"]),
        (
            "./check",
            &[("check", "#!/usr/bin/env bash\nsh more.sh\n"), ("more.sh", "x")],
            &["check direct", "more.sh script"],
        ),
        (
            "make test",
            &[
                ("Makefile", "RUN = sh other.sh\nMSG = a; sh other.sh\ntest: ; sh ci/run.sh\n"),
                ("other.sh", "x"),
                ("ci/run.sh", "x"),
            ],
            &["makefile makefile", "ci/run.sh script"],
        ),
    ]);
}

#[test]
fn what_a_makefile_includes_is_used_where_make_read_it() {
    check(&[(
        "make test",
        &[
            ("Makefile", "include rules.d/*.inc more.inc\ntest:\n\ttrue\n"),
            ("rules.d/a.inc", "A = 1\n"),
            ("more.inc", "unopened:B = 1\n"),
        ],
        &["makefile makefile", "rules.d/a.inc makefile"],
    )]);
    // The gate made it: it has no text of the start.
    let mut workspace = Workspace::of(&[("Makefile", "include made.mk gen.inc\ntest:\n\ttrue\n")]);
    workspace.opened.iter_mut().for_each(|opened| opened.extend(["made.mk".to_owned(), "gen.inc".to_owned()]));
    let paths: Vec<String> =
        uses_of("make test", "/w", "", &workspace).files.into_iter().map(|used| used.path).collect();
    assert_eq!(paths, ["Makefile"]);
}

#[test]
fn make_is_followed_into_eight_folders_where_opens_are_not_known() {
    let line: Vec<String> = (0..12).map(|number| format!("make -C sub{number:02}")).collect();
    let paths: Vec<String> = (0..12).map(|number| format!("sub{number:02}/Makefile")).collect();
    let files: Vec<(&str, &str)> = paths.iter().map(|path| (path.as_str(), "test:\n\ttrue\n")).collect();
    let workspace = Workspace { opened: None, ..Workspace::of(&files) };
    assert_eq!(uses_of(&line.join(" && "), "/w", "", &workspace).files.len(), 8);
}

#[test]
fn two_hundred_texts_are_read_and_no_more() {
    let scripts: Vec<(String, String)> =
        (1..=250).map(|number| (format!("s{number}.sh"), format!("sh s{}.sh\n", number + 1))).collect();
    assert_eq!(count("sh s1.sh", &scripts), 200);
    let sources: Vec<(String, String)> = (1..=250)
        .map(|number| (format!("lib/check{number}.js"), format!("require('./check{}.js')\n", number + 1)))
        .collect();
    assert_eq!(count("node lib/check1.js", &sources), 201);
}

#[test]
fn a_source_imports_only_by_an_import_of_a_relative_place_and_at_most_a_hundred() {
    const VERIFY: &str = "console.log('./assert-a.js');\nrequire('assert-b.js');\nimport('./assert-c.js');\n\
        require('./assert d.js');\n";
    check(&[(
        "node scripts/verify.js",
        &[
            ("scripts/verify.js", VERIFY),
            ("scripts/assert-a.js", "unopened:"),
            ("scripts/assert-b.js", "unopened:"),
            ("scripts/assert-c.js", "unopened:"),
            ("scripts/assert d.js", "unopened:"),
        ],
        &["scripts/assert-c.js helper", "scripts/verify.js direct"],
    )]);
    let text: String = (0..120).map(|number| format!("require('./check{number}.js');\n")).collect();
    let mut files = vec![("all.js".to_owned(), text)];
    files.extend((0..120).map(|number| (format!("check{number}.js"), String::new())));
    assert_eq!(count("node all.js", &files), 101);
}

#[test]
fn the_texts_that_a_gate_runs_are_given_with_the_folders_in_which_their_paths_may_begin() {
    let files = [
        ("Makefile", "include x.mk\ntest:\n\t@sh ci/check.sh\n"),
        ("ci/check.sh", "node verify.js\n"),
        ("ci/verify.js", "require('../../shared/same');\nrequire('./near.js');\n"),
        ("ci/near.js", ""),
    ];
    let found = texts_of("make test && sh run.sh", "/w", &Workspace::of(&files));
    let shown: Vec<(&str, String)> =
        found.iter().map(|text| (text.path.as_str(), text.folders.join(" then "))).collect();
    assert_eq!(
        shown,
        [("Makefile", String::new()), ("ci/check.sh", " then ci".to_owned()), ("ci/verify.js", "ci".to_owned())]
    );
    let all: Vec<&str> = found.iter().flat_map(|found| found.text.lines()).collect();
    for line in ["include x.mk", "sh ci/check.sh", "node verify.js", "node ../../shared/same.js"] {
        assert!(all.contains(&line), "{line}: {all:?}");
    }
    assert!(!all.iter().any(|line| line.contains("near.js") || line.contains("xyzzy")));
    assert!(texts_of("node ci/near.js", "/w", &Workspace::of(&files)).is_empty());
}

#[test]
fn a_report_names_paths_of_four_kibibytes_and_counts_the_others() {
    let paths: Vec<String> = (0..70).map(|number| format!("t/{number:02}{}.sh", "x".repeat(57))).collect();
    assert!(paths.iter().all(|path| path.len() == 64));
    let files: Vec<(&str, &str)> = paths.iter().map(|path| (path.as_str(), "x")).collect();
    let uses = uses_of("for f in t/*.sh; do sh $f; done", "/w", "", &Workspace::of(&files));
    assert_eq!((uses.files.len(), uses.more, uses.rest.len()), (64, 6, 6));
}

#[test]
fn a_report_says_how_many_more_files_there_are_only_where_there_are_some() {
    assert_eq!(serde_json::to_string(&GateUses::default()).unwrap(), "{}");
    assert_eq!(serde_json::to_string(&GateUses { more: 3, ..GateUses::default() }).unwrap(), r#"{"more":3}"#);
}

#[test]
fn each_reason_why_opens_are_not_known_has_its_own_words() {
    let all = [WatchGap::NoWatch, WatchGap::NoWatchesLeft, WatchGap::TooManyFolders, WatchGap::Overflow];
    let words: std::collections::BTreeSet<&str> = all.iter().map(|gap| gap.words()).collect();
    assert_eq!(words.len(), all.len());
    assert!(WatchGap::NoWatchesLeft.words().contains("fs.inotify.max_user_watches"), "what a person can raise");
}
