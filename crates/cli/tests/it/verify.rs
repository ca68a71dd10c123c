//! `loop verify`: the gates again, on the tree that was judged, and nothing of the workspace touched or left behind.
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use loop_testkit::{TestEnv, wait_until};
use serde_json::Value;

use crate::{start, user};

/// Does the work in the second iteration.
const AGENT: &str = "test $LOOP_ITERATION = 1 || echo done > work.txt; echo $LOOP_ITERATION >> log";
const PROMISE: &str = "grep -q done work.txt";

/// A user whose one loop is done after two iterations.
fn done(promise: &str, more: &[&str]) -> (TestEnv, String) {
    let user = user();
    user.write("work/work.txt", "to do\n");
    user.run(&start(AGENT, promise, more)).expect_code(0);
    let id = user.id();
    (user, id)
}

/// Everything under the workspace: name, permissions, content or target.
fn seen(user: &TestEnv) -> Vec<(String, u32, String)> {
    let one = |name: String| {
        let path = user.work().join(&name);
        let mode = fs::symlink_metadata(&path).map_or(0, |found| found.permissions().mode());
        let leads = fs::read_link(&path).map(|to| to.to_string_lossy().into_owned());
        let text = leads.unwrap_or_else(|_| fs::read_to_string(&path).unwrap_or_default());
        (name, mode, text)
    };
    user.tree("work").into_iter().map(one).collect()
}

/// What is left of copies.
fn left(user: &TestEnv) -> usize {
    fs::read_dir(user.state().join("copies")).map_or(0, Iterator::count)
}

fn json(user: &TestEnv, id: &str, code: i32) -> Value {
    user.run(&["verify", id, "--format", "json"]).expect_code(code).json()
}

fn gate<'a>(found: &'a Value, name: &str) -> &'a Value {
    found["gates"].as_array().unwrap().iter().find(|gate| gate["name"] == name).unwrap()
}

#[test]
fn a_program_that_is_not_on_the_path_any_more_is_named_with_its_folder() {
    let user = user();
    let program = user.root().join("venv/bin/judge");
    user.write("venv/bin/judge", "#!/bin/sh\ntest -e a\n");
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = std::env::var("PATH").unwrap();
    let folder = user.root().join("venv/bin").display().to_string();
    let user = user.with("PATH", format!("{folder}:{path}"));
    user.run(&start("touch a", "judge", &[])).expect_code(0);
    let id = user.id();
    user.run(&["verify", &id]).expect_code(0);
    let user = user.with("PATH", path);
    let ran = user.run(&["verify", &id]).expect_code(1);
    let hint = format!("hint: judge was run from {folder} in the loop, which is not on your PATH now: ");
    assert!(ran.out().contains(&hint) && !ran.out().contains("--with-ignored"), "{}", ran.text());
}

#[test]
fn a_loop_that_is_done_still_holds_and_its_certificate_says_on_what() {
    // req: D-02 partly: that the end is checked once more on the same tree
    let (user, id) = done(PROMISE, &["--gate", "len[watch]=test -e no-such", "--result", "../result.json"]);
    let before = seen(&user);
    let ran = user.run(&["verify", &id]).expect_code(0);
    assert!(ran.out().contains("verified: every required gate passes again on iter-002"), "{}", ran.text());
    assert!(ran.out().contains("the workspace is that tree"), "{}", ran.text());
    let found = json(&user, &id, 0);
    assert_eq!(
        (&found["verified"], &found["version"], &found["workspace"]["differs"]),
        (&true.into(), &1.into(), &false.into())
    );
    let promise = gate(&found, "promise");
    assert_eq!((promise["verdict"].as_str(), promise["same_output"].as_bool()), (Some("pass"), Some(true)));
    let watched = gate(&found, "len");
    assert_eq!(
        (watched["verdict"].as_str(), watched["required"].as_bool()),
        (Some("fail"), Some(false)),
        "it is only shown"
    );
    assert_eq!((seen(&user), left(&user)), (before, 0));
    // The certificate stands in the result file, in the status and in the answer, and is the same everywhere.
    let result: Value = serde_json::from_str(&user.read("result.json")).unwrap();
    let certificate = &result["certificate"];
    let one = user.run(&["status", &id, "--json"]).json();
    assert_eq!((&one["loops"][0]["certificate"], &found["certificate"]), (certificate, certificate));
    assert_eq!((certificate["verified"].as_bool(), certificate["checkpoint"].as_str()), (Some(true), Some("iter-002")));
    assert_eq!(certificate["gates"][0]["command"].as_str(), Some(PROMISE));
    assert_eq!(certificate["tree"], found["tree"]);
    let tools: Vec<&str> =
        certificate["tools"].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert!(["loop", "custom", "sh", "kernel"].iter().all(|name| tools.contains(name)), "{tools:?}");
    let status = user.run(&["status", &id]).expect_code(0).out();
    assert!(
        status.contains("verified on iter-002 (tree ") && status.contains(&format!("loop verify {id}")),
        "{status}"
    );
}

#[test]
fn programs_that_a_gate_names_are_asked_for_their_versions() {
    let user = user();
    user.program("pytest", "test \"$1\" = --version && echo 'pytest 8.3.4'; exit 0");
    user.program("python3", "echo 'Python 3.12.1'");
    user.run(&start("true", "pytest -q", &["--result", "../result.json"])).expect_code(0);
    let result: Value = serde_json::from_str(&user.read("result.json")).unwrap();
    let tools = result["certificate"]["tools"].to_string();
    assert!(tools.contains("pytest 8.3.4") && tools.contains("Python 3.12.1"), "{tools}");
}

#[test]
fn a_workspace_that_was_changed_since_is_not_judged_and_that_it_differs_is_said() {
    let (user, id) = done(PROMISE, &[]);
    user.write("work/work.txt", "broken by hand\n");
    user.write("work/new.txt", "new\n");
    fs::remove_file(user.work().join("log")).unwrap();
    let before = seen(&user);
    let ran = user.run(&["verify", &id]).expect_code(0);
    let words = "the workspace differs from it by now: 3 files (removed log, added new.txt, changed work.txt)";
    assert!(ran.out().contains(words), "{}", ran.text());
    let found = json(&user, &id, 0);
    assert_eq!((found["workspace"]["differs"].as_bool(), found["workspace"]["files"].as_u64()), (Some(true), Some(3)));
    assert_eq!((seen(&user), left(&user)), (before, 0));
    // Also when it is gone altogether.
    fs::rename(user.work(), user.root().join("moved")).unwrap();
    let mut command = user.command(&["verify", &id]);
    let ran = command.current_dir(user.root()).output().unwrap();
    let out = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert_eq!(ran.status.code(), Some(0), "{out}");
    assert!(out.contains("the workspace could not be compared"), "{out}");
}

/// A user whose promise also looks at a file outside of the workspace.
fn with_outside(more: &[&str]) -> (TestEnv, String) {
    let user = user();
    user.write("work/work.txt", "to do\n");
    user.write("outside", "");
    let promise = format!("cat work.txt >&2; {PROMISE} && test -e '{}'", user.root().join("outside").display());
    user.run(&start(AGENT, &promise, more)).expect_code(0);
    let id = user.id();
    (user, id)
}

#[test]
fn a_proof_that_does_not_hold_any_more_ends_with_one_and_says_which_gate() {
    // req: D-21 partly: loop verify
    let (user, id) = with_outside(&[]);
    user.run(&["verify", &id]).expect_code(0);
    fs::remove_file(user.root().join("outside")).unwrap();
    let ran = user.run(&["verify", &id]).expect_code(1);
    assert!(ran.out().contains("not every required gate passes again on iter-002: promise (exit 1)"), "{}", ran.text());
    assert!(ran.out().contains("promise: done") && ran.out().contains("· was pass"), "{}", ran.text());
    assert!(ran.out().contains(&format!("loop verify {id} --with-ignored")), "{}", ran.text());
    assert_eq!(left(&user), 0);
    let found = json(&user, &id, 1);
    assert_eq!(
        (found["gates"][0]["exit_code"].as_i64(), found["gates"][0]["recorded"].as_str()),
        (Some(1), Some("pass"))
    );
    // The other forms say the same.
    let xml = user.run(&["verify", &id, "--format", "junit"]).expect_code(1).out();
    assert_eq!(
        elements(&xml),
        [
            "testsuites",
            "testsuite",
            "properties",
            "property",
            "property",
            "property",
            "property",
            "property",
            "testcase",
            "failure"
        ]
    );
    assert!(xml.contains("failures=\"1\"") && xml.contains("<failure message=\"exit 1\">done"), "{xml}");
    let markdown = user.run(&["verify", &id, "--format", "markdown"]).expect_code(1).out();
    assert!(markdown.starts_with(&format!("# Loop {id}: not verified\n")), "{markdown}");
    assert!(markdown.contains("| fail | pass | exit 1 |"), "{markdown}");
}

/// The names of all elements of an XML text, in order; stops where it is not well formed.
fn elements(xml: &str) -> Vec<String> {
    let (mut names, mut open) = (Vec::new(), Vec::new());
    for piece in xml.split('<').skip(1) {
        let (tag, text) = piece.split_once('>').unwrap();
        assert!(!text.contains(['<', '>']) && text.split('&').skip(1).all(|entity| entity.contains(';')), "{text}");
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        if tag.starts_with('?') {
            continue;
        }
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name), "{xml}");
            continue;
        }
        let name = tag.split([' ', '/']).next().unwrap().to_owned();
        names.push(name.clone());
        if !tag.ends_with('/') {
            open.push(name);
        }
    }
    assert!(open.is_empty() && !names.is_empty(), "{xml}");
    names
}

#[test]
fn commands_with_every_sign_come_through_every_form() {
    let odd = "printf '<b>&\"\\033[31m`|` ]]>\\n' >&2; ! false";
    let tap = "tap=printf 'TAP version 13\\n1..2\\nok 1 - it <adds>\\nok 2 - later # SKIP not now\\n'";
    let (user, id) = done(odd, &["--gate", "also[2of3]=grep -q done work.txt || test -e no-such", "--gate", tap]);
    let xml = user.run(&["verify", &id, "--format", "junit"]).expect_code(0).out();
    assert_eq!(elements(&xml).iter().filter(|name| *name == "testsuite").count(), 3, "{xml}");
    assert!(xml.contains("tests=\"5\" failures=\"0\" errors=\"0\"") && !xml.contains('\u{1b}'), "{xml}");
    assert!(
        xml.contains("it &lt;adds&gt;") && xml.contains("skipped=\"1\""),
        "the tests of an output that tells them: {xml}"
    );
    let markdown = user.run(&["verify", &id, "--format", "markdown"]).expect_code(0).out();
    let rows: Vec<&str> =
        markdown.lines().filter(|line| line.starts_with("| promise") || line.starts_with("| also")).collect();
    let cells = |row: &&str| row.replace("\\|", "").matches('|').count();
    assert!(rows.len() == 2 && rows.iter().all(|row| cells(row) == 9), "{markdown}");
    let found = json(&user, &id, 0);
    assert_eq!(gate(&found, "also")["tries"].as_u64(), Some(2), "as often as its answer needs");
    let tests = &gate(&found, "tap")["tests"];
    assert_eq!((tests["passed"].as_u64(), tests["skipped"].as_u64()), (Some(1), Some(1)));
    assert_eq!(user.run(&["verify", &id, "--json"]).expect_code(0).json()["verified"], found["verified"]);
}

#[test]
fn a_gate_that_passes_with_fewer_tests_than_then_does_not_verify() {
    let user = user();
    user.write("outside", "ok 1 - adds\nok 2 - takes away\n1..2\n");
    let promise = format!("cat '{}'", user.root().join("outside").display());
    user.run(&start("true", &promise, &[])).expect_code(0);
    let id = user.id();
    assert_eq!(json(&user, &id, 0)["hints"].to_string(), "[]");
    user.write("outside", "ok 1 - adds\n1..1\n");
    let ran = user.run(&["verify", &id]).expect_code(1);
    assert!(ran.out().contains("tests are gone, renamed or skipped: takes away"), "{}", ran.text());
    assert!(ran.out().contains("promise ran 2 tests when it was recorded, and 1 now"), "{}", ran.text());
}

#[test]
fn what_cannot_be_verified_is_refused_with_the_next_step() {
    // req: D-21 partly: loop verify
    let user = user();
    let refused = |id: &str, words: &[&str]| {
        let ran = user.run(&["verify", id]).expect_code(4);
        assert!(words.iter().all(|word| ran.err().contains(word)) && ran.out().is_empty(), "{}", ran.text());
        assert!(ran.err().contains("hint: "), "{}", ran.text());
    };
    refused("nosuch", &["no loop has an id that begins with"]);
    user.run(&start("true", "test -e x", &["-n", "1"])).expect_code(1);
    let failed = user.id();
    refused(
        &failed,
        &["there is nothing to verify", "ended without being done", &format!("loop resume {failed} -n +5")],
    );
    user.run(&start("true", "true", &["--checkpoint", "none"])).expect_code(0);
    let unkept = user.ids().into_iter().find(|id| *id != failed).unwrap();
    refused(&unkept, &["has no checkpoints", "--checkpoint none"]);
    // A checkpoint that was removed.
    user.run(&start("true", "true", &[])).expect_code(0);
    let known = [failed, unkept];
    let kept = user.ids().into_iter().find(|id| !known.contains(id)).unwrap();
    user.run(&["verify", &kept]).expect_code(0);
    fs::remove_dir_all(user.state().join("checkpoints")).unwrap();
    refused(&kept, &["cannot be verified", "checkpoint initial cannot be read"]);
    assert_eq!(left(&user), 0);
}

#[test]
fn ctrl_c_ends_the_gates_and_leaves_neither_process_nor_copy() {
    let user = user();
    let promise = "if test -e slow; then touch ../../../../at; setsid sleep 300 & sleep 300; fi; test -e ok";
    let slow = user.root().join("slow");
    let at = user.root().join("at");
    let promise = promise
        .replace("../../../../at", &at.display().to_string())
        .replace("-e slow", &format!("-e '{}'", slow.display()));
    user.run(&start("touch ok", &promise, &[])).expect_code(0);
    let (id, before) = (user.id(), seen(&user));
    user.write("slow", "");
    let running = user.begin(&["verify", &id]);
    let own = running.pid();
    wait_until("the gate runs", || at.exists());
    assert_eq!(left(&user), 1);
    running.signal("INT");
    let ran = running.end().expect_code(2);
    assert!(ran.err().contains("nothing is left behind"), "{}", ran.text());
    assert_eq!((seen(&user), left(&user)), (before, 0));
    assert_eq!(user.marked(&format!("verify-{own}")), Vec::<u32>::new());
    // One that was killed leaves a copy, which the next removes.
    fs::remove_file(&at).unwrap();
    let running = user.begin(&["verify", &id]);
    let own = running.pid();
    wait_until("the gate runs", || at.exists());
    running.signal("KILL");
    drop(running.end());
    wait_until("its processes are gone", || user.marked(&format!("verify-{own}")).is_empty());
    assert_eq!(left(&user), 1);
    fs::remove_file(&slow).unwrap();
    user.run(&["verify", &id]).expect_code(0);
    assert_eq!(left(&user), 0);
}

#[test]
fn the_copy_is_the_tree_with_its_links_permissions_and_empty_folders_and_can_be_kept() {
    let user = user();
    user.write(
        "work/run.sh",
        "#!/bin/sh\ntest -x run.sh && test -L link && test \"$(readlink link)\" = run.sh && test -d hollow\n",
    );
    fs::set_permissions(user.work().join("run.sh"), fs::Permissions::from_mode(0o751)).unwrap();
    symlink("run.sh", user.work().join("link")).unwrap();
    symlink("/nowhere at all", user.work().join("outward")).unwrap();
    fs::create_dir(user.work().join("hollow")).unwrap();
    fs::hard_link(user.work().join("run.sh"), user.work().join("twin")).unwrap();
    user.write("work/.gitignore", "built/\n");
    user.write("work/.git/HEAD", "ref: refs/heads/main\n");
    user.write("work/built/thing", "made\n");
    let promise = "./run.sh && test \"$(stat -c %a run.sh)\" = 751 && test run.sh -ef twin && test -e built/thing";
    user.run(&start("true", promise, &[])).expect_code(0);
    let (id, before) = (user.id(), seen(&user));
    // What checkpoints leave out is in a clean copy if it is as it was, and is brought along as it is on request.
    user.run(&["verify", &id]).expect_code(0);
    user.write("work/built/thing", "made again\n");
    let before = before.into_iter().map(|(name, mode, text)| match name.as_str() {
        "built/thing" => (name, mode, "made again\n".to_owned()),
        _ => (name, mode, text),
    });
    let before: Vec<_> = before.collect();
    let ran = user.run(&["verify", &id]).expect_code(1);
    assert!(ran.out().contains("what checkpoints leave out"), "{}", ran.text());
    let kept = user.root().join("kept");
    let kept_word = kept.display().to_string();
    let ran = user.run(&["verify", &id, "--with-ignored", "--with-git", "--keep-copy", &kept_word]).expect_code(0);
    assert!(ran.out().contains(&kept_word), "{}", ran.text());
    assert!(kept.join("built/thing").exists() && kept.join(".git/HEAD").exists());
    assert_eq!(fs::read_link(kept.join("outward")).unwrap().to_str(), Some("/nowhere at all"));
    assert_eq!((seen(&user), left(&user)), (before, 0));
    // It is never made where something is, nor in the workspace.
    user.run(&["verify", &id, "--keep-copy", &kept_word]).expect_code(4);
    let inside = user.work().join("copy").display().to_string();
    user.run(&["verify", &id, "--keep-copy", &inside]).expect_code(4);
    assert!(!user.work().join("copy").exists());
}

#[test]
fn an_end_that_was_only_claimed_is_no_proof() {
    let user = user();
    let agent =
        "printf '%s\\n' 'Done.' '' ---LOOP_STATUS--- 'STATUS: COMPLETE' 'EXIT_SIGNAL: true' ---END_LOOP_STATUS---";
    user.run(&["start", "do it", "--no-promise", "--agent-cmd", agent]).expect_code(0);
    let id = user.id();
    let ran = user.run(&["verify", &id]).expect_code(1);
    assert!(
        ran.out().contains("it was never verified: claimed by the agent; no gate was there to check it"),
        "{}",
        ran.text()
    );
    assert!(user.run(&["status", &id]).out().contains("claimed by the agent"));
    assert_eq!(json(&user, &id, 1)["certificate"]["verified"].as_bool(), Some(false));
    let xml = user.run(&["verify", &id, "--format", "junit"]).expect_code(1).out();
    assert_eq!(elements(&xml), ["testsuites", "testsuite", "testcase", "failure"]);
}
