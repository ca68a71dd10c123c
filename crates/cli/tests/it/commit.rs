//! `loop commit` and `--commit`: what a loop changed is committed by the user's own git, and nothing else is.
use std::process::Command;

use loop_testkit::{TestEnv, must};
use serde_json::Value;

use crate::{start, user};

const AGENT: &str = "echo done > work.txt; echo new > new.txt";
const PROMISE: &str = "grep -q done work.txt";

/// A user with a repository, an identity of their own, and one commit.
fn with_repository() -> TestEnv {
    let user = user();
    user.write("home/.gitconfig", "[user]\nname = Ann\nemail = ann@example.org\n");
    user.write("work/work.txt", "to do\n");
    user.write("work/other.txt", "other\n");
    must(&user.work(), "git init -q -b main; git add -A; git commit -qm base");
    user
}

fn git(user: &TestEnv, words: &[&str]) -> String {
    let done = Command::new("git").args(words).current_dir(user.work()).output().unwrap();
    String::from_utf8_lossy(&done.stdout).trim_end().to_owned()
}

/// Starts a loop that ends as verified, without the slow parts.
fn run_loop(user: &TestEnv, agent: &str, more: &[&str]) -> i32 {
    let more = [&["--strength", "off"], more].concat();
    user.run(&start(agent, PROMISE, &more)).code.unwrap_or(-1)
}

/// The loop is done; then `loop commit` with these words.
fn commit_json(user: &TestEnv, more: &[&str]) -> Value {
    let id = user.id();
    user.run(&[&["commit", &id, "--json"], more].concat()).expect_code(0).json()
}

#[test]
fn a_start_with_commit_commits_what_the_loop_changed_and_nothing_else() {
    let user = with_repository();
    user.write("work/other.txt", "an edit of mine\n");
    user.write("work/mine.txt", "a new file of mine\n");
    let ran = user.run(&start(AGENT, PROMISE, &["--strength", "off", "--commit"])).expect_code(0);
    assert!(ran.out().contains("committed:  2 files on main"), "{}", ran.out());
    assert_eq!(git(&user, &["show", "--format=", "--name-only", "HEAD"]), "new.txt\nwork.txt");
    assert_eq!(git(&user, &["status", "--porcelain"]), " M other.txt\n?? mine.txt");
    assert_eq!(git(&user, &["log", "--format=%an %s", "-1"]), "Ann do it");
}

#[test]
fn the_message_has_the_task_the_gates_the_id_and_the_line_of_the_proof() {
    let user = with_repository();
    assert_eq!(run_loop(&user, AGENT, &["--commit"]), 0);
    let (id, message) = (user.id(), git(&user, &["log", "--format=%B", "-1"]));
    let trailer = user.run(&["proof", &id, "--trailer"]).expect_code(0).out();
    for line in ["do it\n\nLoop: verified", "after 1 iteration of custom", "Gate promise (grep -q done work.txt): pass"]
    {
        assert!(message.contains(line), "{line} is not in {message}");
    }
    assert!(message.ends_with(&format!("Loop-Id: {id}\n{}", trailer.trim_end())), "{message}");
}

#[test]
fn a_dry_run_shows_files_and_message_and_commits_nothing() {
    let user = with_repository();
    assert_eq!(run_loop(&user, AGENT, &[]), 0);
    let before = git(&user, &["rev-parse", "HEAD"]);
    let id = user.id();
    let shown = user.run(&["commit", &id, "--dry-run", "-m", "my words"]).expect_code(0).out();
    assert!(
        shown.contains("would commit 2 files on main:\n  new.txt\n  work.txt\nwith this message:\n  my words\n"),
        "{shown}"
    );
    assert_eq!(
        (before, git(&user, &["status", "--porcelain"])),
        (git(&user, &["rev-parse", "HEAD"]), " M work.txt\n?? new.txt".to_owned())
    );
}

#[test]
fn a_repository_with_a_hook_is_refused_before_the_agent_starts_and_no_hook_runs() {
    let user = with_repository();
    must(
        &user.work(),
        "printf '#!/bin/sh\\ntouch ../fired\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit",
    );
    let refused = user.run(&start(AGENT, PROMISE, &["--commit"])).expect_code(4);
    assert!(refused.err().contains("the hook .git/hooks/pre-commit"), "{}", refused.err());
    assert_eq!(user.read("work/work.txt"), "to do\n");
    assert_eq!(run_loop(&user, AGENT, &["--commit", "--commit-hooks"]), 0);
    assert!(user.root().join("fired").exists(), "a hook that the person allows runs");
}

#[test]
fn a_hook_that_the_agent_made_is_not_run_and_the_outcome_stays() {
    let user = with_repository();
    let agent = "echo done > work.txt; printf '#!/bin/sh\\ntouch ../fired\\n' > .git/hooks/post-commit; chmod +x .git/hooks/post-commit";
    let ran = user.run(&start(agent, PROMISE, &["--strength", "off", "--commit"])).expect_code(3);
    assert!(ran.err().contains("the hook .git/hooks/post-commit"), "{}", ran.err());
    assert!(!user.root().join("fired").exists());
    let id = user.id();
    assert_eq!(user.run(&["status", &id, "--json"]).json()["loops"][0]["outcome"], "verified");
    assert_eq!(git(&user, &["log", "--format=%s"]), "base");
}

#[test]
fn no_program_that_the_agent_put_into_the_configuration_of_git_is_run() {
    let user = with_repository();
    let set = |key: &str| format!("git config {key} \"$PWD/../trap\"");
    let traps = ["core.fsmonitor", "filter.x.clean", "filter.x.process", "core.editor", "core.pager", "diff.external"];
    let lines: Vec<String> = traps.iter().map(|key| set(key)).collect();
    user.write("trap", "#!/bin/sh\ntouch \"$(dirname \"$0\")/fired\"\ncat\n");
    must(user.root(), "chmod +x trap");
    let agent = format!("echo done > work.txt; {}", lines.join("; "));
    assert_eq!(run_loop(&user, &agent, &["--commit"]), 0, "none of them is used by a commit of these files");
    assert!(!user.root().join("fired").exists());
    assert_eq!(git(&user, &["show", "--format=", "--name-only", "HEAD"]), "work.txt");
}

#[test]
fn a_filter_that_files_of_the_repository_use_is_refused() {
    let user = with_repository();
    let agent =
        "echo done > work.txt; echo '*.txt filter=x' > .gitattributes; git config filter.x.clean 'touch ../fired; cat'";
    assert_eq!(run_loop(&user, agent, &[]), 0);
    let id = user.id();
    let refused = user.run(&["commit", &id]).expect_code(4);
    assert!(refused.err().contains("the filter x (.gitattributes)"), "{}", refused.err());
    assert!(!user.root().join("fired").exists());
    user.run(&["commit", &id, "--commit-hooks"]).expect_code(0);
    assert!(user.root().join("fired").exists());
}

#[test]
fn a_signing_program_of_the_repository_is_refused() {
    let user = with_repository();
    let agent = "echo done > work.txt; git config commit.gpgSign true; git config gpg.program \"$PWD/../trap\"";
    assert_eq!(run_loop(&user, agent, &[]), 0);
    let id = user.id();
    let refused = user.run(&["commit", &id]).expect_code(4);
    assert!(refused.err().contains("gpg.program"), "{}", refused.err());
}

#[test]
fn a_file_with_edits_of_mine_from_before_is_refused_and_committed_when_i_say_so() {
    let user = with_repository();
    user.write("work/work.txt", "to do\nan edit of mine\n");
    assert_eq!(run_loop(&user, "echo done >> work.txt", &[]), 0);
    let id = user.id();
    let refused = user.run(&["commit", &id]).expect_code(4);
    assert!(refused.err().contains("had uncommitted edits of yours before: work.txt"), "{}", refused.err());
    assert_eq!(commit_json(&user, &["--with-own-edits"])["own_edits"], serde_json::json!(["work.txt"]));
    assert_eq!(git(&user, &["show", "HEAD:work.txt"]), "to do\nan edit of mine\ndone");
}

#[test]
fn what_i_had_staged_stays_staged() {
    let user = with_repository();
    user.write("work/other.txt", "staged\n");
    must(&user.work(), "git add other.txt");
    assert_eq!(run_loop(&user, AGENT, &["--commit"]), 0);
    assert_eq!(git(&user, &["diff", "--cached", "--name-only"]), "other.txt");
    assert_eq!(git(&user, &["show", "--format=", "--name-only", "HEAD"]), "new.txt\nwork.txt");
}

#[test]
fn removed_renamed_executable_and_oddly_named_files_are_committed() {
    let user = with_repository();
    user.write("work/gone.txt", "gone\n");
    user.write("work/run.sh", "#!/bin/sh\n");
    must(&user.work(), "git add -A; git commit -qm more");
    let agent = "echo done > work.txt; rm gone.txt; git mv other.txt moved.txt; chmod +x run.sh; mkdir d; \
                 echo x > 'd/*.txt'; echo x > ':(top)y'; ln -s work.txt link";
    assert_eq!(run_loop(&user, agent, &["--commit"]), 0);
    let shown =
        git(&user, &["-c", "core.quotePath=false", "show", "--format=", "--name-status", "--no-renames", "HEAD"]);
    let wanted = "A\t:(top)y\nA\td/*.txt\nD\tgone.txt\nA\tlink\nA\tmoved.txt\nD\tother.txt\nM\trun.sh\nM\twork.txt";
    assert_eq!(shown, wanted);
    assert_eq!(git(&user, &["status", "--porcelain"]), "");
}

#[test]
fn ignored_files_and_nested_repositories_are_left_out() {
    let user = with_repository();
    let agent = "echo done > work.txt; echo '*.log' > .gitignore; echo x > a.log; \
                 git init -q nested; echo x > nested/file";
    assert_eq!(run_loop(&user, agent, &[]), 0);
    let answer = commit_json(&user, &[]);
    assert_eq!(answer["paths"], serde_json::json!([".gitignore", "work.txt"]));
    let left = answer["left_out"].as_array().unwrap();
    assert!(left.iter().any(|left| left["path"] == "nested/file"), "{answer}");
    assert_eq!(answer["commit"], git(&user, &["rev-parse", "HEAD"]));
}

#[test]
fn a_loop_in_a_folder_of_a_repository_commits_that_folder_only() {
    let user = with_repository();
    user.write("work/sub/part.txt", "to do\n");
    must(&user.work(), "git add -A; git commit -qm sub; echo mine >> other.txt");
    let words = [
        "start",
        "do it",
        "-C",
        "sub",
        "--promise",
        "grep -q done part.txt",
        "--agent-cmd",
        "echo done > part.txt",
        "--strength",
        "off",
        "--commit",
        "--commit-message",
        "of the folder",
    ];
    user.run(&words).expect_code(0);
    assert_eq!(git(&user, &["show", "--format=%s", "--name-only", "HEAD"]), "of the folder\n\nsub/part.txt");
    assert_eq!(git(&user, &["status", "--porcelain"]), " M other.txt");
}

#[test]
fn work_that_was_changed_after_the_end_is_not_committed() {
    let user = with_repository();
    assert_eq!(run_loop(&user, AGENT, &[]), 0);
    user.write("work/work.txt", "done, and more\n");
    let id = user.id();
    let refused = user.run(&["commit", &id]).expect_code(4);
    assert!(refused.err().contains("not as they were judged any more: work.txt"), "{}", refused.err());
}

#[test]
fn a_loop_that_is_not_done_is_not_committed() {
    let user = with_repository();
    let ran = user.run(&start("echo x >> work.txt", PROMISE, &["-n", "1", "--commit"])).expect_code(1);
    assert!(ran.err().contains("it ended without being done"), "{}", ran.err());
    assert_eq!(git(&user, &["log", "--format=%s"]), "base");
}

#[test]
fn an_operation_in_progress_no_repository_and_no_identity_are_refused_before_the_start() {
    let cases = [
        ("rm -rf .git", "not in a repository"),
        ("git rev-parse HEAD > .git/MERGE_HEAD", "a merge is in progress"),
        ("mkdir .git/rebase-merge", "a rebase is in progress"),
        ("git config user.useConfigOnly true; rm ../home/.gitconfig", "git does not know who you are"),
    ];
    for (script, why) in cases {
        let user = with_repository();
        must(&user.work(), script);
        let refused = user.run(&start(AGENT, PROMISE, &["--commit"])).expect_code(4);
        assert!(refused.err().contains(why), "{script}: {}", refused.err());
        assert_eq!(user.read("work/work.txt"), "to do\n", "no agent ran");
    }
}

#[test]
fn on_a_detached_head_the_commit_is_made_and_that_is_said() {
    let user = with_repository();
    must(&user.work(), "git checkout -q --detach");
    let ran = user.run(&start(AGENT, PROMISE, &["--strength", "off", "--commit"])).expect_code(0);
    assert!(ran.err().contains("HEAD is detached"), "{}", ran.err());
    assert_eq!(git(&user, &["log", "--format=%s", "-1"]), "do it");
}

#[test]
fn a_repository_without_a_commit_gets_its_first_one() {
    let user = with_repository();
    must(&user.work(), "rm -rf .git; rm work.txt other.txt; git init -q -b main");
    assert_eq!(run_loop(&user, AGENT, &["--commit"]), 0);
    assert_eq!(git(&user, &["show", "--format=%s", "--name-only", "HEAD"]), "do it\n\nnew.txt\nwork.txt");
}

#[test]
fn when_the_agent_committed_everything_there_is_nothing_to_commit() {
    let user = with_repository();
    let agent = format!("{AGENT}; git add -A; git commit -qm agent");
    let ran = user.run(&start(&agent, PROMISE, &["--strength", "off", "--commit"])).expect_code(0);
    assert!(ran.out().contains("nothing to commit"), "{}", ran.out());
    assert_eq!(git(&user, &["log", "--format=%s", "-1"]), "agent");
}

#[test]
fn a_secret_in_the_task_or_in_a_gate_is_not_in_the_message() {
    let user = with_repository();
    let words = [
        "start",
        "use API_TOKEN=hunter22secret here",
        "--promise",
        "API_TOKEN=hunter22secret grep -q done work.txt",
        "--agent-cmd",
        AGENT,
        "--strength",
        "off",
        "--commit",
    ];
    user.run(&words).expect_code(0);
    let message = git(&user, &["log", "--format=%B", "-1"]);
    assert!(message.starts_with("Work of loop ") && !message.contains("hunter22"), "{message}");
}

#[test]
fn a_resumed_loop_commits_as_its_start_asked_with_its_message() {
    let user = with_repository();
    let words = ["--strength", "off", "--commit", "--commit-message", "My words"];
    user.run(&start("echo x > other.txt", PROMISE, &[&words[..], &["-n", "1"]].concat())).expect_code(1);
    let ran = user.run(&["resume", "-n", "+1", "--agent-cmd", AGENT]).expect_code(0);
    assert!(ran.out().contains("committed:"), "{}", ran.text());
    assert_eq!(git(&user, &["log", "--format=%s", "-1"]), "My words");
}

#[test]
fn a_resume_that_asks_for_it_commits() {
    let user = with_repository();
    let agent = "[ $LOOP_ITERATION = 1 ] || echo done > work.txt; echo $LOOP_ITERATION > new.txt";
    user.run(&start(agent, PROMISE, &["--strength", "off", "-n", "1"])).expect_code(1);
    let id = user.id();
    let ran = user.run(&["resume", &id, "-n", "+1", "--commit"]).expect_code(0);
    assert!(ran.out().contains("committed:  2 files on main"), "{}", ran.text());
}

/// A hook that fires.
const HOOK: &str = "printf '#!/bin/sh\\ntouch ../fired\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit";

#[test]
fn a_hook_that_the_settings_switch_off_is_not_named() {
    let user = with_repository();
    must(&user.work(), &format!("{HOOK}; git config core.hooksPath /dev/null"));
    assert_eq!(run_loop(&user, AGENT, &[]), 0);
    user.run(&["commit", &user.id()]).expect_code(0);
    assert!(!user.root().join("fired").exists());
}

#[test]
fn a_dry_run_of_a_commit_names_the_hook_and_is_not_refused() {
    let user = with_repository();
    must(&user.work(), HOOK);
    assert_eq!(run_loop(&user, AGENT, &[]), 0);
    let ran = user.run(&["commit", &user.id(), "--dry-run"]).expect_code(0);
    let line = "it would run the hook .git/hooks/pre-commit: refused without --commit-hooks\n";
    assert!(ran.out().contains("would commit 2 files") && ran.out().contains(line), "{}", ran.text());
    user.run(&["commit", &user.id()]).expect_code(4);
    assert!(!user.root().join("fired").exists());
}

#[test]
fn the_end_of_a_loop_in_a_repository_offers_to_commit_its_work() {
    let user = with_repository();
    let ran = user.run(&start(AGENT, PROMISE, &["--strength", "off"])).expect_code(0);
    assert!(ran.out().contains(&format!("commit:     loop commit {}\n", user.id())), "{}", ran.text());
    let plain = crate::user();
    let ran = plain.run(&start("touch a", "test -e a", &["--strength", "off"])).expect_code(0);
    assert!(!ran.out().contains("loop commit"), "{}", ran.text());
}
