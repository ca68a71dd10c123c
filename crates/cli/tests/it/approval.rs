//! A project's file may say what is run, once its user has approved that very text.
use crate::{start, user};

const PROJECT: &str = "promise = \"test -e done\"\nagent_cmd = \"touch done; echo ok\"\nmax_iterations = 3\n\n[gates.lint]\ncommand = \"test -e done\"\npasses = \"1of2\"\ntimeout = \"5s\"\n";

// req: D-21 partly: what a repository grants itself
#[test]
fn what_a_project_file_runs_needs_approval_by_content() {
    let user = user();
    user.write("work/.loop.toml", PROJECT);
    let ran = user.run(&["start", "do it"]).expect_code(4);
    assert!(ran.err().starts_with("error: .loop.toml is not approved as it is now\n"), "{}", ran.text());
    for line in [".loop.toml:1: promise = test -e done", ".loop.toml:2: agent_cmd = touch done; echo ok", "lint["] {
        assert!(ran.err().contains(line), "{line}\n{}", ran.text());
    }
    assert!(!user.work().join("done").exists(), "nothing of it was run");
    assert_eq!(user.tree("home"), Vec::<String>::new(), "and nothing was made");
    // Approved once, it runs; and again without a word.
    let ran = user.run(&["start", "do it", "--approve"]).expect_code(0);
    assert!(ran.text().contains("lint: pass"), "{}", ran.text());
    std::fs::remove_file(user.work().join("done")).unwrap();
    user.run(&["start", "do it"]).expect_code(0);
    // Another text is another matter, and so is the same text elsewhere.
    user.write("work/.loop.toml", &PROJECT.replace("touch", "touch other;  touch"));
    user.run(&["start", "do it"]).expect_code(4);
    assert!(!user.work().join("other").exists());
    user.write("work/.loop.toml", PROJECT);
    user.write("work/below/.loop.toml", PROJECT);
    let there = user.work().join("below");
    user.run(&["start", "do it", "--workspace", there.to_str().unwrap()]).expect_code(4);
}

#[test]
fn what_needs_no_approval_is_taken_and_what_is_the_users_own_never_is() {
    let user = user();
    user.write("work/.loop.toml", "max_iterations = 2\nprotect = [\"*.md\"]\n");
    let ran = user.run(&start("echo $LOOP_ITERATION >> log", "false", &[])).expect_code(1);
    assert!(ran.text().contains("2 iterations done"), "{}", ran.text());
    user.write("work/.loop.toml", "auto_confirm = true\n");
    let ran = user.run(&start("true", "true", &["--approve"])).expect_code(4);
    assert!(ran.err().contains("auto_confirm may not stand in a project file"), "{}", ran.text());
    user.write("work/loop.toml", "max_iterations = 2\n");
    let ran = user.run(&start("true", "true", &[])).expect_code(4);
    assert!(ran.err().contains("both .loop.toml and loop.toml"), "{}", ran.text());
}
