//! Completions, pages of the manual, and what a build says of itself.
use std::process::Command;

use loop_testkit::TestEnv;

use crate::{start, user};

/// The words that a shell offers for a line, without remarks; the first is what else fits.
fn offered(user: &TestEnv, words: &[&str]) -> Vec<String> {
    let all = [&["__complete", "zsh", "loop"], words].concat();
    let ran = user.run(&all).expect_code(0);
    assert_eq!(ran.err(), "", "{}", ran.text());
    ran.out().lines().map(|line| line.split('\t').next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn ids_and_checkpoints_are_completed_and_those_of_this_folder_come_first() {
    let user = user();
    user.run(&start("echo x >> log", "false", &["-n", "2"])).expect_code(1);
    let id = user.id();
    user.run(&["checkpoint", &id, "before-refactor"]).expect_code(0);
    let other = user.root().join("other");
    std::fs::create_dir(&other).unwrap();
    let words = start("touch b", "test -e b", &["-q"]);
    user.run(&[&words[..], &["-C", other.to_str().unwrap()]].concat()).expect_code(0);
    let ids = offered(&user, &["history", ""]);
    assert_eq!((ids.len(), ids[0].as_str(), &ids[1]), (3, "none", &id), "{ids:?}");
    assert_eq!(offered(&user, &["rm", &ids[2], &id[..3]])[1..], [id.as_str()]);
    let of_loop = offered(&user, &["rollback", &id, ""]);
    for name in ["initial", "1", "2", "before-refactor"] {
        assert!(of_loop.iter().any(|word| word == name), "{name}: {of_loop:?}");
    }
    assert!(!of_loop.iter().any(|word| word == "undo"), "{of_loop:?}");
    let alone = offered(&user, &["rollback", "before"]);
    assert_eq!(alone[1..], ["before-refactor"]);
    assert_eq!(offered(&user, &["checkpoint", "rm", "@", "bef"])[1..], ["before-refactor"]);
    assert_eq!(offered(&user, &["checkpoint", "li"])[1..], ["list"]);
}

#[test]
fn agents_settings_words_and_flags_are_completed() {
    let user = user();
    assert_eq!(offered(&user, &["start", "--agent", "cla"])[1..], ["claude", "claude-acp"]);
    assert_eq!(offered(&user, &["start", "--agent=cla"])[1..], ["--agent=claude", "--agent=claude-acp"]);
    assert_eq!(offered(&user, &["set", "@", "max_no"])[1..], ["max_no_progress="]);
    assert_eq!(offered(&user, &["config", "get", "max_no"])[1..], ["max_no_progress"]);
    assert_eq!(offered(&user, &["start", "--on-tamper", "re"])[1..], ["restore"]);
    assert_eq!(offered(&user, &["report", "--format", "h"])[1..], ["html"]);
    assert_eq!(offered(&user, &["rollback", "--dry"])[1..], ["--dry-run"]);
    assert_eq!(offered(&user, &["verify", "--keep-copy", ""]), ["folders"]);
    assert_eq!(offered(&user, &["rollback", "@", "1", "--", "sr"]), ["files"]);
    assert!(!offered(&user, &[""]).iter().any(|word| word.contains("demo-agent")));
}

#[test]
fn completion_says_nothing_where_nothing_can_be_known() {
    let user = user();
    let strange: [&[&str]; 5] =
        [&["history", ""], &["no-such", ""], &["rollback", "zzz", ""], &["start", "--no-such", ""], &[]];
    for words in strange {
        offered(&user, words);
    }
    assert!(!user.state().exists(), "asking makes no folder");
    let homeless = user.with("HOME", "").with("LOOP_HOME", "relative");
    assert_eq!(offered(&homeless, &["history", ""]), ["none"]);
}

#[test]
fn completion_reads_no_journal() {
    let user = user();
    user.run(&start("true", "false", &["-n", "1"])).expect_code(1);
    let id = user.id();
    std::fs::write(user.run_folder(&id).join("journal.jsonl"), "damaged").unwrap();
    let out = user.run(&["__complete", "fish", "loop", "history", ""]).expect_code(0).out();
    assert_eq!(out, format!("none\n{id}\tfailed: do it\n"));
}

#[test]
fn the_script_for_bash_completes_as_a_person_types() {
    let user = user();
    let folder = std::path::Path::new(env!("CARGO_BIN_EXE_loop")).parent().unwrap().display().to_string();
    let script = "eval \"$(loop completions bash)\"\n\
                  try() { COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _loop_complete; echo \"${COMPREPLY[*]}\"; }\n\
                  try loop rollb\n try loop start --agent = cla\n try loop set @ max_no\n";
    let mut bash = Command::new("bash");
    user.apply_env(&mut bash);
    let out = bash.args(["-c", script]).env("PATH", format!("{folder}:/usr/bin:/bin")).output().unwrap();
    let (text, errors) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    assert_eq!((text.as_ref(), errors.as_ref()), ("rollback\nclaude claude-acp\nmax_no_progress=\n", ""));
}

#[test]
fn completions_are_installed_where_each_shell_looks() {
    let user = user();
    for (shell, file) in [
        ("bash", "home/.local/share/bash-completion/completions/loop"),
        ("zsh", "home/.local/share/zsh/site-functions/_loop"),
        ("fish", "home/.config/fish/completions/loop.fish"),
    ] {
        let path = user.root().join(file);
        let words = ["completions", shell, "--install"];
        let planned = user.run(&[&words[..], &["--dry-run"]].concat()).expect_code(0);
        assert!(planned.out().starts_with(&format!("would write {}\n", path.display())), "{}", planned.text());
        assert!(!path.exists());
        // A second time replaces what is ours.
        for _ in 0..2 {
            let ran = user.run(&words).expect_code(0);
            assert!(
                ran.out().starts_with(&format!("written: {}\nA new {shell} reads it", path.display())),
                "{}",
                ran.text()
            );
        }
        assert_eq!(user.read(file), user.run(&["completions", shell]).expect_code(0).out());
    }
}

#[test]
fn a_file_that_loop_did_not_write_is_not_replaced_by_an_installation() {
    let user = user();
    let file = "home/.config/fish/completions/loop.fish";
    user.write(file, "mine\n");
    let ran = user.run(&["completions", "fish", "--install"]).expect_code(4);
    assert!(ran.err().contains("because: there is a file of that name, and loop did not write it\n"), "{}", ran.text());
    assert_eq!(user.read(file), "mine\n");
    user.write("home/.local/share/man/man1/loop-rm.1", "mine\n");
    user.run(&["man", "--install"]).expect_code(4);
    assert_eq!(user.tree("home/.local/share/man").len(), 2, "nothing was written beside it");
}

#[test]
fn there_is_a_page_of_the_manual_for_each_command_and_each_program() {
    let user = user();
    user.run(&["man", "-o", "pages"]).expect_code(0);
    for page in ["loop", "loop-start", "loop-rollback", "loop-checkpoint-rm", "loopr", "loopr-loop", "loopd"] {
        let text = user.read(&format!("work/pages/{page}.1"));
        assert!(text.contains(&format!(".TH {page} 1")) && text.contains(".SH NAME"), "{page}: {text}");
    }
    assert!(!user.work().join("pages/loop-demo-agent.1").exists());
    assert!(user.run(&["man", "rollback"]).expect_code(0).out().contains(".TH loop-rollback 1"));
    assert!(user.run(&["man", "rolback"]).expect_code(4).err().contains("hint: loop man rollback\n"));
    let ran = user.run(&["man", "--install"]).expect_code(0);
    assert!(ran.out().contains("home/.local/share/man/man1/loop.1\n"), "{}", ran.text());
}

#[test]
fn a_build_says_from_what_it_is_made_and_names_no_path() {
    for (program, name) in [
        (env!("CARGO_BIN_EXE_loop"), "loop"),
        (env!("CARGO_BIN_EXE_loopr"), "loopr"),
        (env!("CARGO_BIN_EXE_loopd"), "loopd"),
    ] {
        let user = TestEnv::new(program);
        let text = user.run(&["--version", "--verbose"]).expect_code(0).out();
        assert!(text.starts_with(&format!("{name} 0.1.0\ncommit:   ")), "{text}");
        for word in ["\nprofile:  ", "\ntarget:   ", "\nhas:      journal format 2\n"] {
            assert!(text.contains(word), "{word}: {text}");
        }
        assert!(!text.contains('/'), "{text}");
        let json = user.run(&["-V", "--json"]).expect_code(0).json();
        assert_eq!((&json["version"], &json["program"], &json["release"]), (&1.into(), &name.into(), &"0.1.0".into()));
        assert!(json["commit"].is_null() || json["commit"].as_str().unwrap().len() >= 7, "{json}");
        assert!(json["features"].as_array().unwrap().len() >= 4, "{json}");
    }
}
