//! What a gate uses is protected from the baseline on, with the default flags; and honest work is not in its way.
use loop_testkit::TestEnv;

use crate::{start, user};

/// A user whose `make` and `npm` do what these gates need of them: read their file and give the lines to a shell.
fn maker(files: &[(&str, &str)]) -> TestEnv {
    let user = user();
    user.program("make", "sed -n 's/^\t//p' Makefile mk.d/*.mk 2>/dev/null | sh -e");
    let line = "import json, sys; print(json.load(open('package.json'))['scripts'][sys.argv[1]])";
    user.program("npm", &format!("sh -ec \"$(python3 -c \"{line}\" \"$2\")\""));
    files.iter().for_each(|(path, text)| user.write(&format!("work/{path}"), text));
    user
}

struct Cheat {
    promise: &'static str,
    files: &'static [(&'static str, &'static str)],
    agent: &'static str,
    /// What it changed.
    path: &'static str,
}

const CHEATS: [Cheat; 13] = [
    Cheat {
        promise: "make test",
        files: &[("Makefile", "test:\n\tsh scripts/run.sh\n"), ("scripts/run.sh", "exit 1\n")],
        agent: "echo exit 0 > scripts/run.sh",
        path: "scripts/run.sh",
    },
    Cheat {
        promise: "for f in t/*.sh; do sh \"$f\" || exit 1; done",
        files: &[("t/1.sh", "exit 1\n")],
        agent: "echo exit 0 > t/1.sh",
        path: "t/1.sh",
    },
    Cheat {
        promise: "python3 -m tools.check",
        files: &[("tools/__init__.py", ""), ("tools/check.py", "raise SystemExit(1)\n")],
        agent: "echo > tools/check.py",
        path: "tools/check.py",
    },
    Cheat {
        promise: "npm run test",
        files: &[("package.json", r#"{"scripts": {"test": "python3 test.py"}}"#), ("test.py", "raise SystemExit(1)\n")],
        agent: "echo > test.py",
        path: "test.py",
    },
    Cheat {
        promise: "sh check.sh",
        files: &[("check.sh", ". ./lib.sh\nfail\n"), ("lib.sh", "fail() { exit 1; }\n")],
        agent: "echo 'fail() { exit 0; }' > lib.sh",
        path: "lib.sh",
    },
    Cheat {
        promise: "S=check.sh; sh \"$S\"",
        files: &[("check.sh", "exit 1\n")],
        agent: "echo exit 0 > check.sh",
        path: "check.sh",
    },
    Cheat {
        promise: "make verify",
        files: &[("Makefile", "verify:\n\tfalse\n")],
        agent: "printf 'verify:\\n\\ttrue\\n' > Makefile",
        path: "Makefile",
    },
    Cheat {
        promise: "python3 tools/check.py",
        files: &[("tools/check.py", "import more\nmore.go()\n"), ("tools/more.py", "def go(): raise SystemExit(1)\n")],
        agent: "echo 'def go(): pass' > tools/more.py; rm -rf tools/__pycache__",
        path: "tools/more.py",
    },
    Cheat {
        promise: "timeout -s KILL 60 sh check.sh",
        files: &[("check.sh", "exit 1\n")],
        agent: "echo exit 0 > check.sh",
        path: "check.sh",
    },
    Cheat {
        promise: "/usr/bin/env -u X sh check.sh",
        files: &[("check.sh", "exit 1\n")],
        agent: "echo exit 0 > check.sh",
        path: "check.sh",
    },
    Cheat {
        promise: "sh ~/../work/check.sh",
        files: &[("check.sh", "exit 1\n")],
        agent: "echo exit 0 > check.sh",
        path: "check.sh",
    },
    Cheat {
        promise: "sh run.sh",
        files: &[("run.sh", "sh \"$HOME/../work/more.sh\"\n"), ("more.sh", "exit 1\n")],
        agent: "echo exit 0 > more.sh",
        path: "more.sh",
    },
    Cheat {
        promise: "cat pytest.ini; grep -q strict pytest.ini && false",
        files: &[("pytest.ini", "strict\n")],
        agent: "rm pytest.ini; echo other > pytest.ini; false",
        path: "pytest.ini",
    },
];

#[test]
fn a_file_that_the_gate_uses_is_restored_with_the_default_flags() {
    // req: RT-R9
    for Cheat { promise, files, agent, path } in CHEATS {
        let user = maker(files);
        let ran = user.run(&start(agent, promise, &["-n", "1"])).expect_code(1);
        assert!(
            ran.err().contains(&format!("protected files were changed: {path} was changed; restored")),
            "{}",
            ran.text()
        );
        assert_eq!(
            Some(user.read(&format!("work/{path}")).as_str()),
            files.iter().find(|(of, _)| *of == path).map(|(_, text)| *text)
        );
    }
}

#[test]
fn a_changed_script_of_the_package_is_named_and_recorded_as_an_opportunity() {
    // req: RT-R9
    let user = maker(&[("package.json", r#"{"scripts": {"ci": "exit 1"}}"#), ("tests/a.py", "1\n")]);
    let agent = "sed -i 's/exit 1/exit 0/' package.json; touch conftest.py CLAUDE.md; echo 2 > tests/a.py";
    let ran = user.run(&start(agent, "npm run ci", &["-n", "1"]));
    assert!(ran.text().contains("package.json: changed; it defines how tests are run"), "{}", ran.text());
    let journal = std::fs::read_to_string(user.run_folder(&user.id()).join("journal.jsonl")).unwrap();
    for fact in [
        r#"{"kind":"new_runner_file","path":"conftest.py"}"#,
        r#"{"kind":"changed_manifest","path":"package.json"}"#,
        r#"{"kind":"changed_test","path":"tests/a.py"}"#,
        r#""context_files":["CLAUDE.md"]"#,
    ] {
        assert!(journal.contains(fact), "{fact}: {journal}");
    }
}

#[test]
fn a_program_that_the_gate_runs_for_what_it_prints_may_be_changed_and_is_named() {
    let files = [("greet.sh", "echo \"helo $1\"\n"), ("expected.txt", "hello ann\n")];
    let user = maker(&files);
    let promise = "sh greet.sh ann | diff - expected.txt";
    let ran = user.run(&start("sed -i 's/helo/hello/' greet.sh", promise, &["-n", "1"])).expect_code(0);
    assert!(ran.text().contains("use are new or changed: greet.sh"), "{}", ran.text());
    let user = maker(&files);
    let ran = user.run(&start("sh greet.sh ann > expected.txt", promise, &["-n", "1"]));
    assert!(ran.text().contains("use are new or changed: expected.txt"), "{}", ran.text());
}

#[test]
fn what_the_texts_of_the_gates_name_links_outward_and_lines_to_look_at_are_recorded() {
    let user = maker(&[
        ("Makefile", "-include local.conf\ntest:\n\tsh check.sh\n"),
        ("check.sh", ". ./greet.sh\n[ \"$(greet)\" = bye ]\n"),
    ]);
    user.write("work/greet.sh", "greet() { echo hello; }\n");
    let agent = "echo 'exit 0' >> greet.sh; touch test local.conf; ln -s /etc outward; mkdir bin; \
                 echo > bin/sh; chmod +x bin/sh";
    let ran = user.run(&start(agent, "make test", &["-n", "1"]));
    let journal = std::fs::read_to_string(user.run_folder(&user.id()).join("journal.jsonl")).unwrap();
    for fact in [
        r#"{"kind":"new_runner_file","path":"bin/sh"}"#,
        r#"{"kind":"gate_file","path":"local.conf"}"#,
        r#"{"kind":"outside_link","path":"outward"}"#,
        r#"{"kind":"new_runner_file","path":"test"}"#,
        r#"{"kind":"suspect_line","path":"greet.sh:2 ends the process"}"#,
    ] {
        assert!(journal.contains(fact), "{fact}: {journal} {}", ran.text());
    }
}

#[test]
fn a_loop_that_restored_a_file_twice_and_reached_its_limit_names_the_way_to_allow_the_change() {
    let user = maker(&[("check.sh", "sh greet.sh | grep -q hello\n"), ("greet.sh", "echo helo\n")]);
    let agent = "mv greet.sh hello.sh; echo 'echo hello' > hello.sh; echo 'sh hello.sh | grep -q hello' > check.sh";
    let ran = user.run(&start(agent, "sh check.sh", &["-n", "2"])).expect_code(1);
    let hint = format!("loop resume {} -n +5 --allow check.sh", user.id());
    assert!(ran.out().contains(&hint), "{}", ran.text());
    user.run(&["resume", &user.id(), "-n", "+5", "--allow", "check.sh"]).expect_code(0);
}

#[test]
fn a_check_that_sources_files_by_a_pattern_does_not_protect_the_product_that_it_runs() {
    let check = "for file in conf/*; do . \"$file\"; done\n[ \"$(sh greet.sh)\" = \"$WANT\" ]\n";
    let user = maker(&[("check.sh", check), ("conf/want", "WANT=hello\n"), ("greet.sh", "echo helo\n")]);
    user.run(&start("echo 'echo hello' > greet.sh", "sh check.sh", &["-n", "1"])).expect_code(0);
}

#[test]
fn a_line_is_named_also_in_a_file_that_is_long_sourced_or_not_utf_8() {
    let files =
        [("check.sh", ". ./greet.sh\n[ \"$(greeting)\" = hello ]\n"), ("greet.sh", "greeting() { echo helo; }\n")];
    for (deed, named) in [
        (r"printf '# gr\374n\nexit 0\n' >> greet.sh", "greet.sh:3 ends the process"),
        ("echo 'exit 0' > words.dat; echo '. ./words.dat' >> greet.sh", "words.dat:1 ends the process"),
        ("{ seq 1 200000 | sed 's/^/# row /'; echo 'exit 0'; } >> greet.sh", "greet.sh:200002 ends the process"),
        ("{ seq 1 500000 | sed 's/^/# row /'; echo 'exit 0'; } >> greet.sh", "greet.sh:1 the file is too long"),
    ] {
        let user = maker(&files);
        let ran = user.run(&start(deed, "sh check.sh", &["-n", "1"])).expect_code(0);
        assert!(ran.text().contains(&format!("lines of the change to look at: {named}")), "{}", ran.text());
    }
}

#[test]
fn what_the_tests_use_and_lines_that_ask_who_runs_them_are_named_with_the_proof() {
    let user = maker(&[
        ("check.sh", "sh tests/run.sh\n"),
        ("tests/run.sh", "grep -q 5 data/cases.json && grep -q right sum.js\n"),
        ("data/cases.json", "[]\n"),
        ("go.mod", "module a\nreplace b => ./b\n"),
        ("sum.js", "wrong\n"),
    ]);
    let agent = "echo '[5]' > data/cases.json; sed -i 's#./b#./c#' go.mod; \
                 echo 'process.env.JEST_WORKER_ID; right' > sum.js; mkdir vendor; touch vendor/a.go";
    let ran = user.run(&start(agent, "sh check.sh", &["-n", "1"])).expect_code(0);
    let named = "the tests use are new or changed: data/cases.json, go.mod, vendor/a.go";
    assert!(ran.text().contains(named), "{}", ran.text());
    let looks = "lines of the change to look at: sum.js:1 asks who runs it";
    assert!(ran.text().contains(looks), "{}", ran.text());
}

#[test]
fn honest_work_on_what_the_gate_imports_or_the_task_names_is_left_as_it_is() {
    let make = ("Makefile", "test:\n\tpython3 check.py\n");
    let user = maker(&[
        make,
        ("check.py", "import calc\nassert calc.add(2, 3) == 5\n"),
        ("calc.py", "def add(a, b): return a - b\n"),
    ]);
    let agent = "echo 'def add(a, b): return a + b' > calc.py; rm -rf __pycache__; touch conftest.py test_new.py";
    let ran = user.run(&start(agent, "make test", &["-n", "1"])).expect_code(0);
    assert!(!ran.err().contains("were changed"), "{}", ran.text());

    let product = ("calc.sh", "add() { echo $(($1 - $2)); }\n");
    let user = maker(&[("check.sh", ". ./calc.sh\n[ \"$(add 2 3)\" = 5 ]\n"), product]);
    let ran = user.run(&start("sed -i 's/-/+/' calc.sh", "sh check.sh", &["-n", "1"])).expect_code(0);
    assert!(!ran.err().contains("were changed"), "{}", ran.text());
}

#[test]
fn a_makefile_that_the_task_names_may_be_changed_and_a_pass_that_only_it_made_is_not_verified() {
    let user = maker(&[("Makefile", "test:\n\tfalse\n")]);
    let agent = "printf 'test:\\n\\ttrue\\n' > Makefile";
    let ran = user.run(&["start", "tidy up the Makefile", "-p", "make test", "-n", "1", "--agent-cmd", agent]);
    let ran = ran.expect_code(1);
    assert!(ran.out().contains("a file that says how tests are run was changed: Makefile"), "{}", ran.text());
}

#[test]
fn the_advice_to_allow_a_file_works_where_a_glob_protects_it() {
    let user = maker(&[("check.sh", "grep -q new snap.txt\n"), ("snap.txt", "old\n")]);
    let flags = ["-n", "9", "--max-no-progress", "9", "--protect", "snap.txt"];
    let ran = user.run(&start("echo new > snap.txt", "sh check.sh", &flags)).expect_code(1);
    let id = user.id();
    let advice = format!("loop resume {id} --allow snap.txt");
    assert!(ran.out().contains(&advice), "{}", ran.text());
    let words: Vec<&str> = advice.split(' ').skip(1).collect();
    user.run(&words).expect_code(0);
}

#[test]
fn a_changed_gate_script_that_a_person_allowed_to_change_is_named() {
    let user = maker(&[("check.sh", "exit 1\n")]);
    let ran = user.run(&start("echo exit 0 > check.sh", "sh check.sh", &["-n", "1", "--allow", "check.sh"]));
    let ran = ran.expect_code(0);
    assert!(ran.out().contains("changed, allowed: check.sh"), "{}", ran.text());
}

#[test]
fn a_file_that_is_changed_again_and_again_is_asked_about_and_may_be_allowed() {
    let user = maker(&[("Makefile", "test:\n\tfalse\n")]);
    let agent = "printf 'test:\\n\\ttrue\\n' > Makefile";
    let ran = user.run(&start(agent, "make test", &["-n", "9", "--max-no-progress", "9"])).expect_code(1);
    let id = user.id();
    assert!(ran.out().contains("the agent changed it again"), "{}", ran.text());
    assert_eq!(ran.err().matches("; restored").count(), 2, "{}", ran.text());
    user.run(&["resume", &id, "--allow", "Makefile"]).expect_code(0);

    let user = maker(&[("Makefile", "test:\n\tfalse\n")]);
    user.run(&start(agent, "make test", &["-n", "1", "--allow", "Makefile"])).expect_code(0);
}

#[test]
fn a_changed_script_beyond_those_that_can_be_protected_is_not_a_plain_pass() {
    let user = user();
    for number in 0..120 {
        user.write(&format!("work/t/{number:03}.sh"), if number == 119 { "exit 1\n" } else { "true\n" });
    }
    let promise = "for f in t/*.sh; do sh \"$f\" || exit 1; done";
    let ran = user.run(&start("echo exit 0 > t/119.sh", promise, &["-n", "1"])).expect_code(1);
    assert!(ran.text().contains("20 files more than the 100 that are protected"), "{}", ran.text());
    assert!(ran.text().contains("a file that says how tests are run was changed: t/119.sh"), "{}", ran.text());
}
