//! `loop import`: files of other tools become settings and a prompt. The sample trees are those of core's tests.
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use expect_test::expect_file;
use loop_testkit::TestEnv;

use crate::user;

/// A user whose project is a sample tree.
fn with_sample(name: &str) -> TestEnv {
    fn copy(from: &Path, to: &Path) {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let path: PathBuf = entry.unwrap().path();
            let to = to.join(path.file_name().unwrap());
            if path.is_dir() {
                copy(&path, &to);
            } else {
                fs::copy(&path, &to).unwrap();
            }
        }
    }
    let user = user();
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../core/tests/import").join(name), &user.work());
    user
}

#[test]
fn a_project_of_ralph_is_imported_and_its_settings_can_be_used() {
    let user = with_sample("ralph");
    user.write("work/.ralph/logs/ralph.log", "\0 not read");
    let ran = user.run(&["import"]).expect_code(0);
    expect_file!["../expected/import-ralph.txt"].assert_eq(&ran.text());
    assert_eq!(user.read("work/loop-prompt.md"), user.read("work/.ralph/PROMPT.md"));
    let shown = user.run(&["config", "show", "--json"]).json();
    assert_eq!(shown["settings"]["max_calls_per_hour"]["value"], "60");
    assert_eq!(shown["settings"]["max_calls_per_hour"]["origin"]["place"], ".loop.toml:4");
    // The second time there is nothing to do.
    let again = user.run(&["import", ".ralph"]).expect_code(0);
    assert!(!again.out().contains("written:"), "{}", again.text());
}

#[test]
fn a_file_that_is_there_is_changed_only_after_a_yes() {
    let user = with_sample("loopr");
    let before = "# mine\nmax_calls_per_hour = 5   # few\nmax_same_error = 2\n";
    user.write("work/.loop.toml", before);
    let ran = user.run(&["import", ".loopr"]).expect_code(4);
    assert!(ran.err().contains("hint: add --yes"), "{}", ran.text());
    let shown = ran.out();
    assert!(shown.contains("-max_calls_per_hour = 5   # few") && shown.contains("+max_calls_per_hour = 40"), "{shown}");
    assert_eq!(user.read("work/.loop.toml"), before);
    assert!(!user.work().join("loop-prompt.md").exists(), "nothing is written, also not what is new");
    let dry = user.run(&["import", "--dry-run"]).expect_code(0).out();
    assert!(dry.contains("after the import: loop start ") && !dry.contains("\nnext: "), "{dry}");
    user.run(&["import", "--json"]).expect_code(4);
    assert_eq!(user.read("work/.loop.toml"), before);
    user.run(&["import", "--yes"]).expect_code(0);
    let after = user.read("work/.loop.toml");
    assert!(after.starts_with("# mine\nmax_calls_per_hour = 40   # few\nmax_same_error = 2\n"), "{after}");
    user.run(&["config", "check"]).expect_code(0);
}

#[test]
fn on_a_terminal_it_asks_and_no_leaves_everything_as_it_is() {
    let user = with_sample("loopr");
    user.write("work/.loop.toml", "max_calls_per_hour = 5\n");
    user.write("work/no", "n\n");
    user.write("work/yes", "y\n");
    let program = env!("CARGO_BIN_EXE_loop");
    for (answer, calls, label) in [("no", 5, "after the import: loop start "), ("yes", 40, "next: loop start ")] {
        let mut running = user.begin_on_a_terminal(&format!("{program} import"), std::process::Stdio::piped());
        user.wait_for_screen("Change .loop.toml?", 1);
        running.type_in(user.read(&format!("work/{answer}")).as_bytes());
        running.end().expect_code(0);
        assert!(user.read("work/.loop.toml").starts_with(&format!("max_calls_per_hour = {calls}\n")), "{answer}");
        assert!(user.screen().contains(label), "{answer}: {}", user.screen());
    }
}

#[test]
fn a_file_that_is_changed_during_the_question_is_not_overwritten() {
    let user = with_sample("loopr");
    user.write("work/.loop.toml", "max_calls_per_hour = 5\n");
    let line = format!("{} import", env!("CARGO_BIN_EXE_loop"));
    let mut running = user.begin_on_a_terminal(&line, std::process::Stdio::piped());
    user.wait_for_screen("Change .loop.toml?", 1);
    user.write("work/.loop.toml", "max_calls_per_hour = 6\n");
    running.type_in(b"y\n");
    running.end().expect_code(4);
    assert!(user.screen().contains("hint: run it again"), "{}", user.screen());
    assert_eq!(user.read("work/.loop.toml"), "max_calls_per_hour = 6\n");
    assert!(!user.work().join("loop-prompt.md").exists(), "nothing is written, also not what is new");
}

#[test]
fn json_has_every_line_and_what_would_be_written() {
    let user = with_sample("ralph-tui");
    let json = user.run(&["import", "--dry-run", "--json"]).expect_code(0).json();
    assert_eq!((&json["version"], &json["tool"], &json["written"]), (&1.into(), &"ralph-tui".into(), &false.into()));
    let line = json["lines"].as_array().unwrap().iter().find(|line| line["what"] == "iterationDelay").unwrap();
    assert_eq!(line["fate"], "set");
    assert_eq!((&line["key"], &line["set_to"]), (&"delay".into(), &"1500ms".into()));
    assert_eq!(json["writes"][0]["change"], "new");
    assert!(json["next"].as_str().unwrap().contains("--max-iterations unlimited"), "{}", json["next"]);
    assert!(!user.work().join(".loop.toml").exists());
}

#[test]
fn files_of_several_tools_ask_which_is_meant() {
    let user = with_sample("ralph");
    user.write("work/.loopr/config", "MAX_ITERATIONS=3\n");
    let ran = user.run(&["import"]).expect_code(4);
    assert!(ran.err().contains("loop import . --from loopr"), "{}", ran.text());
    let ran = user.run(&["import", "--from", "loopr"]).expect_code(0);
    assert!(ran.out().contains("→ max_iterations = 3"), "{}", ran.text());
    let nothing = user.run(&["import", "--from", "ralphex"]).expect_code(4);
    assert!(nothing.err().contains("there is nothing of ralphex"), "{}", nothing.text());
}

#[test]
fn another_folder_gets_the_files_and_the_next_command_names_it() {
    let user = with_sample("ralphex");
    fs::create_dir(user.root().join("other")).unwrap();
    let ran = user.run(&["import", ".ralphex", "-o", "../other"]).expect_code(0);
    assert!(!user.work().join(".loop.toml").exists());
    assert!(user.read("other/loop-prompt.md").starts_with("Read docs/plans/basket.md and"));
    assert!(ran.out().contains("next: loop start -C "), "{}", ran.text());
    user.run(&["import", "-o", "../missing"]).expect_code(4);
}

#[test]
fn a_workflow_is_named_for_the_command_that_reads_it() {
    let user = with_sample("daedalos");
    let ran = user.run(&["import", "plain.yaml"]).expect_code(0);
    assert!(ran.out().contains("next: loop workflow check plain.yaml"), "{}", ran.text());
    assert!(!user.work().join(".loop.toml").exists(), "nothing had to be written");
    let ran = user.run(&["import", "tdd.yaml"]).expect_code(0);
    assert!(ran.out().contains("next: loop workflow check tdd.loop.yaml"), "{}", ran.text());
    let copy = user.read("work/tdd.loop.yaml");
    assert!(!copy.contains("defaults:") && copy.contains("    timeout: 300s\n"), "{copy}");
    assert_eq!(user.read("work/.loop.toml").lines().last(), Some("max_iterations = 4"));
}

/// Puts a hostile file at a path.
type MakeHostile = dyn Fn(&TestEnv, &Path);

#[test]
fn hostile_files_end_in_an_error_and_nothing_is_written() {
    let secret = "the secret of another folder";
    let hostile: [(&str, &MakeHostile); 7] = [
        ("it is a link", &|user, file| {
            user.write("secret", secret);
            symlink(user.root().join("secret"), file).unwrap();
        }),
        ("larger than 1 MiB", &|_, file| fs::write(file, vec![b'#'; 2 * 1024 * 1024]).unwrap()),
        ("line 2 is not UTF-8", &|_, file| fs::write(file, b"A=1\n\xff\xfe\n").unwrap()),
        ("control character \\x1b", &|_, file| fs::write(file, b"A=1\nB=\x1b]0;x\x07\n").unwrap()),
        ("control character \\x7f", &|_, file| fs::write(file, b"\x7fELF\0\0").unwrap()),
        ("not a plain file", &|_, file| {
            std::process::Command::new("mkfifo").arg(file).status().unwrap();
        }),
        ("not a plain file", &|_, file| fs::create_dir(file).unwrap()),
    ];
    for (words, make) in hostile {
        let user = user();
        user.write("work/fix_plan.md", "- [ ] a\n");
        make(&user, &user.work().join(".ralphrc"));
        let ran = user.run(&["import"]).expect_code(4);
        assert!(ran.err().contains(words) && ran.err().contains("hint: "), "{words}: {}", ran.text());
        assert!(!ran.text().contains(secret), "{}", ran.text());
        assert!(!user.work().join("loop-prompt.md").exists() && !user.work().join(".loop.toml").exists(), "{words}");
    }
}

#[test]
fn links_in_the_way_are_refused_and_show_nothing() {
    let user = with_sample("list");
    user.write("secret", "the secret of another folder\n");
    symlink("../secret", user.work().join("loop-prompt.md")).unwrap();
    let ran = user.run(&["import", "--yes"]).expect_code(4);
    assert!(ran.err().contains("is a link") && !ran.text().contains("secret of"), "{}", ran.text());
    assert_eq!(user.read("secret"), "the secret of another folder\n");
    // A whole folder that is a link, too.
    let user = with_sample("list");
    fs::create_dir(user.root().join("elsewhere")).unwrap();
    user.write("elsewhere/PROMPT.md", "the secret of another folder\n");
    symlink("../elsewhere", user.work().join(".ralph")).unwrap();
    let ran = user.run(&["import"]).expect_code(4);
    assert!(ran.err().contains("follows no link") && !ran.text().contains("secret of"), "{}", ran.text());
}

#[test]
fn nothing_in_a_file_is_executed() {
    let user = user();
    user.write("work/.ralphrc", "A=$(touch made)\nMAX_CALLS_PER_HOUR=`touch made`\ntouch made\n. ./script.sh\n");
    user.write("work/script.sh", "touch made\n");
    let ran = user.run(&["import"]).expect_code(0);
    assert!(ran.out().contains("import runs nothing") && ran.out().contains("import does not know this line"));
    assert!(!user.work().join("made").exists());
}

#[test]
fn what_is_not_there_or_not_known_is_said_with_what_to_do() {
    let user = user();
    user.write("work/notes.txt", "x\n");
    for path in ["missing", "notes.txt", "."] {
        let ran = user.run(&["import", path]).expect_code(4);
        assert!(ran.err().contains("hint: name "), "{}", ran.text());
    }
}
