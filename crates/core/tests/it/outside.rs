//! Files outside of the workspace: which of them a gate's command, a script or a variable names, and which are read.
use loop_core::policy::outside::{
    OutsideBy, OutsideChange, OutsideWhat, is_build_mark, is_looked_at, is_read_above, is_read_by_python,
    is_shell_text, named_by_script, named_outside, place_variables, places_of,
};

fn named(line: &str) -> Vec<String> {
    named_outside(line, "/p/work", Some("/h/a"))
}

#[test]
fn a_change_outside_is_said_with_what_became_of_it() {
    let words = |what| OutsideChange { path: "/p/a".to_owned(), by: OutsideBy::Command, what }.words();

    assert_eq!(words(OutsideWhat::Changed), "/p/a (changed)");
    assert_eq!(words(OutsideWhat::Removed), "/p/a (gone)");
    assert_eq!(words(OutsideWhat::New), "/p/a (new)");
    assert_eq!(words(OutsideWhat::NewPlace), "/p/a (new)");
    assert!(words(OutsideWhat::NoRecord).starts_with("/p/a (the record"));
}

#[test]
fn a_missing_record_decides_whatever_named_the_file() {
    for by in [OutsideBy::Command, OutsideBy::Above, OutsideBy::Variable, OutsideBy::Python] {
        assert!(OutsideChange { path: "/p/a".to_owned(), by, what: OutsideWhat::NoRecord }.decides(), "{by:?}");
    }
}

#[test]
fn a_new_file_decides_by_its_name_and_by_the_folder_that_it_is_in() {
    let decides =
        |path: &str| OutsideChange { path: path.to_owned(), by: OutsideBy::Command, what: OutsideWhat::New }.decides();

    assert!(decides("/conftest.py") && decides("/p/x/.cargo/config.toml"));
    assert!(!decides("/p/x/cargo/config.toml") && !decides("/p/x/a.py"));
}

#[test]
fn a_shell_text_is_known_by_its_name_or_its_first_line() {
    for (name, text) in [("a.sh", ""), ("a.bash", ""), ("a.mk", ""), ("Makefile", ""), ("run", "#!/bin/sh\n")] {
        assert!(is_shell_text(name, text), "{name}");
    }
    assert!(is_shell_text("run", "#!/usr/bin/env bash\n"));
    assert!(!is_shell_text("run", "#!/usr/bin/env python3 -m sh\n") && !is_shell_text("a.py", "sh\n#!/bin/sh\n"));
}

#[test]
fn python_reads_its_own_hooks_when_it_starts_and_no_other_file() {
    for name in ["sitecustomize.py", "usercustomize.py", "entry_points.txt", "a.pth"] {
        assert!(is_read_by_python(name), "{name}");
    }
    assert!(!is_read_by_python("a.py") && !is_read_by_python("top_level.txt"));
}

#[test]
fn caches_and_what_builds_make_are_not_looked_at() {
    assert!(is_looked_at("spec", true) && is_looked_at("test_a.py", false) && is_looked_at("target", false));
    assert!(!is_looked_at("node_modules", true) && !is_looked_at("a.pyc", false) && is_looked_at("a.pyc", true));
    assert!(is_build_mark("CMakeCache.txt") && !is_build_mark("CMakeLists.txt"));
}

#[test]
fn tools_read_settings_of_runners_manifests_and_some_others_in_the_folders_above() {
    assert!(is_read_above("conftest.py") && is_read_above("Cargo.toml") && is_read_above(".babelrc"));
    assert!(!is_read_above("readme.txt"));
}

#[test]
fn every_variable_that_names_places_is_known() {
    let all: Vec<&str> = place_variables().collect();

    assert!(all.len() > 15 && all.contains(&"PYTHONPATH") && all.contains(&"XDG_CONFIG_HOME"));
}

#[test]
fn a_variable_names_only_what_is_neither_in_the_workspace_nor_around_it() {
    let places = |name: &str, value: &str| places_of(name, value, "/p/work", Some("/h/a"));

    assert_eq!(places("PYTHONPATH", "src:/p:/p/work:/:~/lib::$X/a"), ["/h/a/lib"]);
    assert!(places("PATH", "/opt/bin").is_empty());
    assert_eq!(places("NODE_OPTIONS", "-r ./a.js --x=.. ~x /opt/b.js opt/c.js"), ["/opt/b.js"]);
    assert_eq!(places("CARGO_HOME", "/c/"), ["/c/config.toml", "/c/config"]);
    assert!(places_of("PYTHONPATH", "~/lib:$HOME/lib:~", "/p/work", None).is_empty());
}

#[test]
fn a_command_names_paths_of_options_and_of_lines_in_quotes() {
    assert_eq!(named("make -C../ci -f ../x.mk"), ["/p/ci", "/p/x.mk"]);
    assert_eq!(named("sh -c \"sh -c 'sh ../a.sh; true'\""), ["/p/a.sh"]);
    assert_eq!(named("pytest -o ../x ../y"), ["/p/y"]);
    assert_eq!(named("pytest -c ../c.ini --rootdir=../r --log=../l"), ["/p/c.ini", "/p/r"]);
    assert!(named("cp a.txt ../b.txt; mkdir ../d; ls ../*.txt; pytest tests/../a > ../log").is_empty());
    assert_eq!(named("cp ../a.txt b.txt; for f in ../x/*.sh; do sh $f; done"), ["/p/a.txt", "/p/x"]);
}

#[test]
fn names_count_as_paths_only_where_the_line_has_left_the_workspace() {
    assert_eq!(named("cd ../ci && sh a.sh && echo done"), ["/p/ci", "/p/ci/a.sh"]);
    assert_eq!(named("cd -P /opt/x && pytest unit ."), ["/opt/x", "/opt/x/unit"]);
    assert!(named("sh a.sh && pytest unit && cd sub && sh ./b.sh").is_empty());
    assert!(named("cd .. && make unit").iter().all(|path| path.starts_with("/p/") && path != "/p/unit"));
    assert!(named("cat /dev/null /proc/1/maps /sys/x /run/y /p /").is_empty());
    assert_eq!(named("cd && sh a.sh"), ["/h/a", "/h/a/a.sh"]);
}

#[test]
fn at_most_forty_paths_are_named_each_once() {
    let line = (0..50).map(|number| format!("sh ../{number}.sh; sh ../{number}.sh")).collect::<Vec<_>>().join("; ");

    assert_eq!(named(&line).len(), 40);
}

#[test]
fn a_script_names_what_runners_judge_apart_from_what_it_only_reads() {
    let named = named_by_script("cat ../a.txt; pytest ../spec; make -C ../ci", "/p/work", "/p/work", "/p/work", None);
    let judged: Vec<_> = named.iter().map(|one| (one.path.as_str(), one.is_judged)).collect();

    assert_eq!(judged, [("/p/a.txt", false), ("/p/spec", true), ("/p/ci", true)]);
}

#[test]
fn a_script_is_read_from_the_folder_that_it_is_started_in() {
    let named = named_by_script("sh a.sh", "/p/ci", "/p/ci", "/p/work", None);

    assert_eq!(named.iter().map(|one| one.path.as_str()).collect::<Vec<_>>(), ["/p/ci/a.sh"]);
}

#[test]
fn a_new_package_in_the_place_of_a_runner_decides() {
    let decides =
        |path: &str| OutsideChange { path: path.to_owned(), by: OutsideBy::Command, what: OutsideWhat::New }.decides();

    assert!(decides("/p/x/pytest/__init__.py") && decides("/p/spec/pytest.py"));
    assert!(!decides("/p/x/spec/__init__.py"));
}

#[test]
fn a_line_in_quotes_is_read_three_deep() {
    let nested = |levels: usize| {
        (0..levels).fold("sh ../a.sh".to_owned(), |line, _| format!("sh -c '{}'", line.replace('\'', r"'\''")))
    };
    assert_eq!(named(&nested(3)), ["/p/a.sh"]);
    assert!(named(&nested(4)).is_empty());
}

#[test]
fn a_word_that_names_no_path_is_none_also_outside_of_the_workspace() {
    assert!(named("pytest k=../x").is_empty());
    assert_eq!(named("make CONF=../c.mk"), ["/p/c.mk"]);
    assert_eq!(named("cd ../ci && for f in one two; do sh $f; done"), ["/p/ci"]);
    assert_eq!(named("cd ../ci && sh $X/a.sh"), ["/p/ci"]);
    assert_eq!(named("cd ../ci && sh ''"), ["/p/ci"]);
}

#[test]
fn an_option_in_a_variable_names_its_file_however_its_path_begins() {
    let places = |value: &str| places_of("NODE_OPTIONS", value, "/p/work", Some("/h/a"));

    assert_eq!(places("--require=lib/../../../opt/hook.js"), ["/opt/hook.js"]);
    assert!(places("--require=@babel/register -r ts-node/register --x=..").is_empty());
}

#[test]
fn a_variable_of_a_script_is_written_out_by_its_whole_name() {
    let named = |text: &str| -> Vec<String> {
        named_by_script(text, "/p/work", "/p/work", "/p/work", None).into_iter().map(|one| one.path).collect()
    };

    assert_eq!(named("MY_DIR=../ci\nsh $MY_DIR/a.sh"), ["/p/ci/a.sh"]);
    // What has no name is no variable: a text under a line of signs.
    assert_eq!(named("=../ci\nsh \"$(pwd)/../a.sh\""), ["/p/a.sh"]);
}
