//! The gates in a clean copy: what an agent changed that no checkpoint holds does not decide. The child of an order is
//! started here as a loop starts it.
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use loop_testkit::{Ran, Running, TestEnv, wait_until};
use serde_json::{Value, json};

use crate::{start, user};

/// A gate that says `pass` where the word is in the file that it is given.
const PROMISE: &str = "grep -q done work.txt";

/// The request of an order on the newest checkpoint, in a folder of its own.
fn request(user: &TestEnv, tree: &str) -> PathBuf {
    let id = user.id();
    let run = user.run_folder(&id);
    let folder = user.root().join(format!("order-{tree}"));
    fs::create_dir_all(&folder).unwrap();
    let (copies, file) = (user.state().join("copies"), folder.join("request.json"));
    let request = json!({ "run": run, "tree": tree, "checkpoint": "iter-001", "copies": copies });
    fs::write(&file, request.to_string()).unwrap();
    file
}

fn begin(user: &TestEnv, request: &Path) -> Running {
    user.begin(&["__judge".as_ref(), request.as_os_str()])
}

/// The report is all that the child writes to its stdout.
fn report_of(request: &Path, ran: &Ran) -> Value {
    assert!(!request.with_file_name("report.json").exists(), "a report that other processes can find");
    ran.json()
}

/// What the gates say of a tree.
fn judged(user: &TestEnv, tree: &str) -> Value {
    let request = request(user, tree);
    let ran = begin(user, &request).end().expect_code(0);
    assert_eq!(left(user), 0, "{}", ran.text());
    report_of(&request, &ran)
}

fn verdict(report: &Value) -> &str {
    report["gates"][0]["verdict"].as_str().unwrap_or_else(|| panic!("{report}"))
}

/// What is left of copies.
fn left(user: &TestEnv) -> usize {
    fs::read_dir(user.state().join("copies")).map_or(0, Iterator::count)
}

/// A loop of one iteration, whatever comes of it.
fn run_once(user: &TestEnv, agent: &str, promise: &str, more: &[&str]) {
    // The workspace alone decides: what a clean copy says is asked for by each test.
    let more = [&["-n", "1", "--judge", "workspace"], more].concat();
    let ran = user.run(&start(agent, promise, &more));
    assert_eq!(user.ids().len(), 1, "{}", ran.text());
}

fn git(user: &TestEnv, words: &[&str]) -> String {
    let mut command = Command::new("git");
    user.apply_env(&mut command);
    let ran = command.args(["-c", "user.name=u", "-c", "user.email=u@example.org"]).args(words).output().unwrap();
    assert!(ran.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8_lossy(&ran.stdout).trim().to_owned()
}

#[test]
fn the_copy_holds_the_recorded_tree_and_both_trees_can_be_judged() {
    let user = user();
    user.write("work/work.txt", "to do\n");
    symlink("/etc/hostname", user.work().join("outward")).unwrap();
    run_once(&user, "echo done > work.txt", &format!("{PROMISE} && test -L outward"), &[]);
    user.write("work/work.txt", "broken by hand\n");
    let report = judged(&user, "final");
    assert_eq!((verdict(&report), &report["not_done"]), ("pass", &Value::Null));
    assert_eq!(verdict(&judged(&user, "initial")), "fail");
    assert_eq!(user.read("work/work.txt"), "broken by hand\n");
    assert!(judged(&user, "canary")["not_done"]["no_probe"].is_object());
}

#[test]
fn a_file_over_the_size_limit_of_checkpoints_is_in_the_copy_while_it_is_unchanged() {
    let user = user();
    user.write("work/work.txt", "to do\n");
    user.write("work/large.bin", &"x".repeat(3000));
    run_once(
        &user,
        "echo done > work.txt",
        &format!("test -s large.bin && {PROMISE}"),
        &["--checkpoint-file-max", "2KiB"],
    );
    assert_eq!(verdict(&judged(&user, "final")), "pass");
    user.write("work/large.bin", &"y".repeat(3000));
    assert_eq!(verdict(&judged(&user, "final")), "fail");
}

#[test]
fn a_path_that_a_file_records_leads_into_the_copy_and_not_into_the_workspace() {
    // As an editable install does.
    let user = user();
    user.write("work/.gitignore", "where\n");
    user.write("work/where", &user.work().join("module.sh").display().to_string());
    user.write("work/module.sh", "exit 1\n");
    let more = ["-n", "1", "--allow", "module.sh"];
    user.run(&start("echo 'exit 0' > module.sh", "sh \"$(cat where)\"", &more)).expect_code(0);
    user.write("work/module.sh", "exit 1\n");
    let report = judged(&user, "final");
    assert_eq!((verdict(&report), report["place"].as_str()), ("pass", Some("own_path")), "{report}");
    // The same for verify, and nothing of it stays.
    let ran = user.run(&["verify", &user.id()]).expect_code(0);
    assert!(
        ran.out().contains("  judged     a clean copy of iter-001, at the workspace's path, tree "),
        "{}",
        ran.text()
    );
    assert_eq!((user.read("work/module.sh").as_str(), left(&user)), ("exit 1\n", 0));
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!mounts.contains(&user.work().display().to_string()), "{mounts}");
}

#[test]
fn a_user_without_rights_gets_the_copy_at_the_path_of_the_workspace_too() {
    let user = user();
    user.write("work/.gitignore", "where\nnode_modules/\n");
    user.write("work/where", &user.work().join("module.sh").display().to_string());
    user.write("work/module.sh", "exit 1\n");
    for number in 0..400 {
        user.write(&format!("work/node_modules/a/{number}"), "x\n");
    }
    let user = user.owned_by(12_345).run_by(&["setpriv", "--reuid=12345", "--regid=12345", "--clear-groups", "--"]);
    // The same user and group, no capability, and a folder of dependencies that can be written and removed.
    let seen = user.root().join("tmp/seen");
    let promise = format!(
        "{{ id -u; id -g; grep CapEff /proc/self/status; }} > '{}'; rm -rf node_modules/a && mkdir node_modules/a && \
         sh \"$(cat where)\"",
        seen.display()
    );
    run_once(&user, "echo 'exit 0' > module.sh", &promise, &["--allow", "module.sh"]);
    let request = request(&user, "final");
    for path in [request.parent().unwrap(), &request] {
        std::os::unix::fs::chown(path, Some(12_345), Some(12_345)).unwrap();
    }
    let ran = begin(&user, &request).end().expect_code(0);
    let report = report_of(&request, &ran);
    assert_eq!((verdict(&report), report["place"].as_str()), ("pass", Some("own_path")), "{report}");
    assert_eq!(user.read("tmp/seen"), "12345\n12345\nCapEff:\t0000000000000000\n");
    assert_eq!(left(&user), 0);
}

#[test]
fn without_mounts_the_copy_lies_elsewhere_and_it_is_said_if_the_workspace_was_opened() {
    let user = user().run_by(&["setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin", "--"]);
    user.write("work/.gitignore", "where\n");
    user.write("work/where", &user.work().join("work.txt").display().to_string());
    user.write("work/work.txt", "to do\n");
    user.write("peek", "");
    let peek = user.root().join("peek").display().to_string();
    let promise = format!("if test -e '{peek}'; then grep -q done \"$(cat where)\"; else {PROMISE}; fi");
    run_once(&user, "echo done > work.txt", &promise, &[]);
    let report = judged(&user, "final");
    assert_eq!((verdict(&report), report["place"].as_str()), ("pass", Some("workspace_opened")), "{report}");
    fs::remove_file(peek).unwrap();
    let report = judged(&user, "final");
    assert_eq!((verdict(&report), report["place"].as_str()), ("pass", Some("elsewhere")), "{report}");
    assert_eq!(left(&user), 0);
}

#[test]
fn verify_says_where_its_gates_ran() {
    let user = user().run_by(&["setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin", "--"]);
    user.write("work/work.txt", "to do\n");
    let peek = user.root().join("peek").display().to_string();
    let work = user.work().join("work.txt").display().to_string();
    let promise = format!("if test -e '{peek}'; then grep -q done '{work}'; else {PROMISE}; fi");
    user.run(&start("echo done > work.txt", &promise, &["-n", "1"])).expect_code(0);
    let judged = |words: &str| {
        let ran = user.run(&["verify", &user.id()]).expect_code(0);
        assert!(ran.out().contains(words), "{words}: {}", ran.text());
        let shown: Value = user.run(&["verify", &user.id(), "--json"]).expect_code(0).json();
        shown["judged"]["place"].as_str().unwrap_or_default().to_owned()
    };
    let words = "a clean copy of iter-001, in another folder than the workspace, tree ";
    assert_eq!(judged(words), "elsewhere");
    user.write("peek", "");
    assert_eq!(
        judged("a copy of iter-001, not clean: files of the workspace were opened meanwhile, tree "),
        "workspace_opened"
    );
}

#[test]
fn verify_of_a_loop_that_the_workspace_judged_says_what_its_copy_is() {
    let user = user();
    user.write("work/work.txt", "to do\n");
    user.run(&start("echo done > work.txt", PROMISE, &["-n", "1", "--judge", "workspace"])).expect_code(0);
    let ran = user.run(&["verify", &user.id()]).expect_code(0);
    let words = "a copy of iter-001, not clean: only the recorded files, with your HOME as it is now (--judge workspace), tree ";
    assert!(ran.out().contains(words), "{}", ran.text());
}

#[test]
fn a_service_outside_that_reads_the_workspace_makes_it_the_judge() {
    // As a container engine does that mounts the workspace's folder.
    let user = user();
    user.write("work/work.txt", "to do\n");
    let root = user.root().to_owned();
    let promise = format!(
        "if test -e '{0}/outside'; then touch '{0}/asked'; until test -e '{0}/answer'; do sleep 0.02; done; \
         mv '{0}/answer' '{0}/read'; grep -q done '{0}/read'; else {PROMISE}; fi",
        root.display()
    );
    run_once(&user, "echo done > work.txt", &promise, &[]);
    let report = judged(&user, "final");
    assert_eq!((verdict(&report), report["place"].as_str()), ("pass", Some("own_path")), "{report}");
    user.write("outside", "");
    let request = request(&user, "final");
    let running = begin(&user, &request);
    wait_until("the gate asks", || root.join("asked").exists());
    fs::copy(user.work().join("work.txt"), root.join("new")).unwrap();
    fs::rename(root.join("new"), root.join("answer")).unwrap();
    let report = report_of(&request, &running.end().expect_code(0));
    assert_eq!((verdict(&report), report["place"].as_str()), ("pass", Some("workspace_opened")), "{report}");
}

#[test]
fn home_is_new_and_settings_in_it_are_those_of_the_start() {
    let user = user();
    user.write("work/work.txt", "to do\n");
    user.write("home/.npmrc", "loglevel=silent\n");
    user.write("home/.m2/repository/jar", "a jar\n");
    user.write("home/.local/bin/honest", "echo honest\n");
    let seen = user.root().join("seen");
    let promise = format!(
        "{{ echo \"$HOME\"; cat ~/.npmrc ~/.m2/repository/jar; ls ~/.local/bin; ls ~; }} > '{}' 2>&1; {PROMISE}",
        seen.display()
    );
    let agent = "echo done > work.txt; echo script-shell=evil > ~/.npmrc; echo evil > ~/.bashrc; \
                 echo evil > ~/.local/bin/grep; echo evil > ~/other";
    run_once(&user, agent, &promise, &[]);
    assert!(user.read("seen").contains("evil"), "the gate of the workspace sees it");
    assert_eq!(verdict(&judged(&user, "final")), "pass");
    let text = user.read("seen");
    let lines: Vec<&str> = text.lines().collect();
    assert_ne!(lines[0], user.root().join("home").display().to_string());
    assert_eq!(lines[1..], ["loglevel=silent", "a jar", "honest"]);
}

#[test]
fn relative_entries_of_path_do_not_reach_a_gate_of_a_copy() {
    let user = user().with("PATH", ":bin:/usr/bin:/bin");
    user.write("work/work.txt", "to do\n");
    let seen = user.root().join("seen");
    run_once(&user, "echo done > work.txt", &format!("echo $PATH > '{}'; {PROMISE}", seen.display()), &[]);
    assert_eq!(verdict(&judged(&user, "final")), "pass");
    assert_eq!(user.read("seen"), "/usr/bin:/bin\n");
}

#[test]
fn variables_that_lead_to_tools_and_settings_lead_to_those_of_the_start() {
    let user = user();
    let place = |name: &str| user.root().join(name).into_os_string();
    let (cargo, config, python, npm) = (place("tools/cargo"), place("xdg"), place("python"), place("npm.conf"));
    let user = user.with("CARGO_HOME", cargo).with("XDG_CONFIG_HOME", config).with("PYTHONUSERBASE", python);
    let user = user.with("npm_config_userconfig", npm);
    user.write("work/work.txt", "to do\n");
    user.write("tools/cargo/config.toml", "cargo of the start\n");
    user.write("tools/cargo/registry/index", "registry\n");
    user.write("xdg/git/config", "[user]\n\tname = start\n");
    user.write("python/lib/python3.12/site-packages/honest.py", "honest\n");
    user.write("npm.conf", "npm of the start\n");
    let seen = user.root().join("seen");
    let promise = format!(
        "{{ cat \"$CARGO_HOME/config.toml\" \"$CARGO_HOME/registry/index\"; git config --global user.name; \
         ls \"$PYTHONUSERBASE/lib/python3.12/site-packages\"; cat \"$npm_config_userconfig\"; }} > '{}' 2>&1; {PROMISE}",
        seen.display()
    );
    let agent = "echo done > work.txt; echo evil > \"$CARGO_HOME/config.toml\"; echo evil > \"$npm_config_userconfig\"; \
                 git config --global user.name evil; echo evil > \"$PYTHONUSERBASE/lib/python3.12/site-packages/evil.pth\"";
    run_once(&user, agent, &promise, &[]);
    assert!(user.read("seen").contains("evil"), "the gate of the workspace sees it");
    assert_eq!(verdict(&judged(&user, "final")), "pass");
    assert_eq!(user.read("seen"), "cargo of the start\nregistry\nstart\nhonest.py\nnpm of the start\n");
}

#[test]
fn a_variable_that_leads_to_several_folders_is_named() {
    let user = user();
    let folders = std::env::join_paths([user.root().join("one"), user.root().join("two")]).unwrap();
    let user = user.with("JULIA_DEPOT_PATH", folders);
    user.write("one/x", "");
    user.write("work/work.txt", "to do\n");
    run_once(&user, "echo done > work.txt", PROMISE, &[]);
    let report = judged(&user, "final");
    assert!(report["remarks"].to_string().contains("what JULIA_DEPOT_PATH leads to is as it is now"), "{report}");
}

#[test]
fn settings_inside_the_homes_of_tools_are_those_of_the_start() {
    let user = user();
    user.write("work/work.txt", "to do\n");
    for file in [".rustup/settings.toml", ".pyenv/version", ".nvm/alias/default", ".julia/config/startup.jl"] {
        user.write(&format!("home/{file}"), &format!("{file} of the start\n"));
    }
    user.write("home/.rustup/toolchains/stable/bin/rustc", "a compiler\n");
    let seen = user.root().join("seen");
    let files = "~/.rustup/settings.toml ~/.pyenv/version ~/.nvm/alias/default ~/.julia/config/startup.jl";
    let promise = format!(
        "{{ cat {files} ~/.rustup/toolchains/stable/bin/rustc; ls ~/.nvm/alias; }} > '{}' 2>&1; {PROMISE}",
        seen.display()
    );
    let agent = format!("echo done > work.txt; for file in {files} ~/.nvm/alias/evil; do echo evil > $file; done");
    run_once(&user, &agent, &promise, &[]);
    assert!(user.read("seen").contains("evil"), "the gate of the workspace sees it");
    assert_eq!(verdict(&judged(&user, "final")), "pass");
    let text = user.read("seen");
    assert!(!text.contains("evil") && text.ends_with("startup.jl of the start\na compiler\ndefault\n"), "{text}");
}

#[test]
fn a_program_of_home_whose_link_leads_to_a_changed_file_is_left_out() {
    // As pipx makes them.
    let user = user();
    user.write("work/work.txt", "to do\n");
    for name in ["same", "changed"] {
        user.write(&format!("home/.local/share/pipx/{name}"), "honest\n");
        fs::create_dir_all(user.root().join("home/.local/bin")).unwrap();
        symlink(format!("../share/pipx/{name}"), user.root().join("home/.local/bin").join(name)).unwrap();
    }
    let seen = user.root().join("seen");
    let promise = format!("ls ~/.local/bin > '{}'; {PROMISE}", seen.display());
    run_once(&user, "echo done > work.txt; echo evil > ~/.local/share/pipx/changed", &promise, &[]);
    assert_eq!(verdict(&judged(&user, "final")), "pass");
    assert_eq!(user.read("seen"), "same\n");
}

#[test]
fn where_opens_of_the_workspace_cannot_be_watched_nothing_is_called_clean() {
    for mounts in ["", "setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin --"] {
        let limited = format!("echo 2 > /proc/sys/user/max_inotify_watches && exec {mounts} \"$@\"");
        let user = user().run_by(&["unshare", "-Ur", "sh", "-c", &limited, "sh"]);
        for folder in 0..5 {
            user.write(&format!("work/{folder}/file"), "x\n");
        }
        user.write("work/work.txt", "to do\n");
        user.run(&start("echo done > work.txt", PROMISE, &["-n", "1"])).expect_code(0);
        let report = judged(&user, "final");
        assert!(report["not_done"].to_string().contains("fs.inotify.max_user_watches"), "{mounts}: {report}");
        let ran = user.run(&["verify", &user.id()]).expect_code(0);
        assert!(ran.out().contains("  judged     a copy of iter-001, not clean: "), "{}", ran.text());
    }
}

#[test]
fn ignored_files_come_along_only_as_they_were_at_the_start() {
    let user = user();
    user.write("work/.gitignore", "__pycache__/\nlocal/\nnode_modules/\nnew/\n");
    user.write("work/work.txt", "to do\n");
    user.write("work/local/kept", "kept\n");
    user.write("work/local/changed", "before\n");
    user.write("work/__pycache__/a.pyc", "compiled\n");
    for number in 0..400 {
        user.write(&format!("work/node_modules/a/{number}.js"), "x\n");
    }
    let seen = user.root().join("seen");
    let promise = format!(
        "ls -d local/* __pycache__ node_modules/a/1.js node_modules/a/2.js new > '{}' 2>/dev/null; {PROMISE}",
        seen.display()
    );
    let agent = "echo done > work.txt; echo after > local/changed; echo forged > __pycache__/a.pyc; \
                 echo forged > node_modules/a/2.js; mkdir new; echo x > new/file";
    run_once(&user, agent, &promise, &[]);
    let report = judged(&user, "final");
    assert_eq!(verdict(&report), "pass");
    assert_eq!(user.read("seen"), "local/kept\nnode_modules/a/1.js\n");
    let left_out = &report["remarks"][0]["left_out"];
    assert_eq!((&left_out["changed"], &left_out["files"]["count"]), (&true.into(), &4.into()), "{left_out}");
    assert_eq!(left_out["files"]["first"][0], "local/changed");
    assert_eq!(user.read("work/node_modules/a/2.js"), "forged\n", "the workspace is not touched");
}

#[test]
fn ignored_files_that_were_written_again_as_they_were_come_along() {
    // As generated code is.
    let user = user();
    user.write("work/.gitignore", "generated/\n");
    user.write("work/work.txt", "to do\n");
    user.write("work/generated/same", "same\n");
    user.write("work/generated/other", "before\n");
    let seen = user.root().join("seen");
    let promise = format!("ls generated > '{}'; {PROMISE}", seen.display());
    let agent = "echo done > work.txt; rm generated/*; echo same > generated/same; echo after > generated/other";
    run_once(&user, agent, &promise, &[]);
    assert_eq!(verdict(&judged(&user, "final")), "pass");
    assert_eq!(user.read("seen"), "same\n");
}

#[test]
fn a_loop_that_only_the_workspace_could_judge_is_verified_with_what_is_in_the_workspace() {
    let user = user();
    user.write("work/.gitignore", "generated\n");
    user.write("work/work.txt", "to do\n");
    user.write("work/generated", "one\n");
    // Without the file it says something else than at the start.
    let promise = format!("cat generated && {PROMISE} && grep -q two generated");
    let agent = "echo done > work.txt; echo two > generated";
    user.run(&start(agent, &promise, &["-n", "1"])).expect_code(0);
    let ran = user.run(&["verify", &user.id()]).expect_code(0);
    assert!(ran.text().contains("the loop was judged in the workspace only: "), "{}", ran.text());
    assert!(ran.text().contains("what checkpoints leave out, as it is now"), "{}", ran.text());
    assert!(
        ran.text().contains("judged     a copy of iter-001, not clean: it has what is in the workspace now"),
        "{}",
        ran.text()
    );
}

#[test]
fn verify_names_a_gate_that_fails_and_then_passes_on_the_same_files() {
    let user = user();
    user.write("work/work.txt", "to do\n");
    let times = user.root().join("times");
    // It fails once for each time that is left in a file outside.
    let promise = format!("{PROMISE} && if test -e '{0}'; then rm '{0}'; exit 1; fi", times.display());
    user.run(&start("echo done > work.txt", &promise, &["-n", "1"])).expect_code(0);
    user.write("times", "");
    let ran = user.run(&["verify", &user.id()]).expect_code(1);
    assert!(ran.text().contains("promise is flaky: on the same files it failed first"), "{}", ran.text());
    user.run(&["verify", &user.id()]).expect_code(0);
}

#[test]
fn caches_that_came_since_the_start_are_left_out_also_where_they_are_not_ignored() {
    let user = user();
    let work = user.work().display().to_string();
    git(&user, &["init", "-q", &work]);
    user.write("work/work.txt", "to do\n");
    user.write("work/__pycache__/old.pyc", "compiled\n");
    let seen = user.root().join("seen");
    let promise = format!("ls __pycache__ > '{}'; {PROMISE}", seen.display());
    run_once(&user, "echo done > work.txt; echo forged > __pycache__/new.pyc", &promise, &[]);
    assert_eq!(verdict(&judged(&user, "final")), "pass");
    assert_eq!(user.read("seen"), "old.pyc\n");
}

#[test]
fn sources_in_folders_with_the_names_of_caches_are_in_the_copy() {
    let user = user();
    user.write("work/src/incremental/mod.rs", "one\n");
    user.write("work/fixtures/__pycache__/kept.pyc", "one\n");
    git(&user, &["init", "-q"]);
    git(&user, &["add", "-A"]);
    git(&user, &["commit", "-q", "-m", "first"]);
    let agent = "mkdir .turbo; for file in src/incremental/mod.rs fixtures/__pycache__/kept.pyc .turbo/config.json; do \
                 echo two > $file; done";
    let promise =
        "grep -q two src/incremental/mod.rs && grep -q two .turbo/config.json && grep -q two fixtures/*/kept.pyc";
    run_once(&user, agent, promise, &[]);
    assert_eq!(verdict(&judged(&user, "final")), "pass");
}

#[test]
fn many_dependencies_that_were_installed_again_as_they_were_come_along() {
    let user = user();
    user.write("work/.gitignore", "node_modules/\n");
    user.write("work/work.txt", "to do\n");
    for number in 0..8_200 {
        user.write(&format!("work/node_modules/a/{number}.js"), &format!("exports.number = {number};\n"));
    }
    fs::create_dir(user.work().join("node_modules/.bin")).unwrap();
    symlink("../a/1.js", user.work().join("node_modules/.bin/one")).unwrap();
    let agent = "echo done > work.txt; cp -r node_modules again; rm -rf node_modules; mv again node_modules; \
                 echo forged > node_modules/a/2.js";
    let promise = format!("test -e node_modules/.bin/one && {PROMISE}");
    run_once(&user, agent, &promise, &[]);
    let report = judged(&user, "final");
    assert_eq!(verdict(&report), "pass", "{report}");
    let left_out = &report["remarks"][0]["left_out"];
    assert_eq!(left_out["files"], json!({ "count": 1, "first": ["node_modules/a/2.js"] }), "{report}");
}

#[test]
fn the_copy_of_the_start_has_dependencies_as_installed_too_where_their_list_changed() {
    let user = user();
    user.write("work/.gitignore", "node_modules/\n");
    user.write("work/package-lock.json", "1\n");
    user.write("work/node_modules/a/index.js", "one\n");
    let agent = "echo 2 > package-lock.json; echo two > node_modules/a/index.js";
    run_once(&user, agent, "grep -q two node_modules/a/index.js", &[]);
    let report = judged(&user, "initial");
    assert_eq!((verdict(&report), &report["installed"]), ("pass", &json!(["node_modules"])), "{report}");
}

#[test]
fn dependencies_are_as_the_agent_installed_them_where_their_list_changed_and_that_is_named() {
    let user = user();
    user.write("work/.gitignore", "node_modules/\n");
    user.write("work/package-lock.json", "1\n");
    user.write("work/node_modules/a/index.js", "one\n");
    let agent = "echo 2 > package-lock.json; echo two > node_modules/a/index.js; echo new > node_modules/b.js";
    run_once(&user, agent, "grep -q two node_modules/a/index.js && test -e node_modules/b.js", &[]);
    let report = judged(&user, "final");
    assert_eq!(verdict(&report), "pass");
    assert!(
        report["remarks"][0]["note"].as_str().unwrap().starts_with("node_modules is as the agent installed it"),
        "{report}"
    );
}

/// What the first line of the end adds to *verified*, where the agent changed a list of dependencies and did this.
fn qualification_after(agent: &str, promise: &str) -> String {
    let user = user();
    user.write("work/.gitignore", "node_modules/\n");
    user.write("work/package-lock.json", "1\n");
    user.write("work/node_modules/a/index.js", "one\n");
    let agent = format!("echo 2 > package-lock.json; {agent}");
    user.run(&start(&agent, promise, &["-n", "1", "--strength", "off"])).expect_code(0);
    user.run(&["status", &user.id(), "--json"]).json()["loops"][0]["qualification"].to_string()
}

#[test]
fn an_end_with_packages_that_the_agent_installed_says_so() {
    let words = qualification_after("echo two > node_modules/a/index.js", "grep -q two node_modules/a/index.js");
    assert!(words.contains("with dependencies that the agent installed"), "{words}");
}

#[test]
fn packages_that_are_as_at_the_start_are_not_named_although_their_list_changed() {
    let words = qualification_after("touch done", "grep -q one node_modules/a/index.js && test -e done");
    assert!(!words.contains("installed"), "{words}");
}

#[test]
fn with_a_setup_command_dependencies_are_installed_in_the_copy() {
    let user = user();
    user.write("work/.gitignore", "node_modules/\n");
    user.write("work/node_modules/old.js", "old\n");
    let promise = "test -e node_modules/own.js && ! test -e node_modules/old.js";
    run_once(&user, "true", promise, &["--setup", "mkdir node_modules && touch node_modules/own.js"]);
    assert_eq!(verdict(&judged(&user, "final")), "pass");
    assert!(!user.work().join("node_modules/own.js").exists());
}

#[test]
fn generated_files_whose_source_changed_are_made_in_the_copy_by_the_setup_command() {
    let user = user();
    user.write("work/.gitignore", "generated\n");
    user.write("work/source", "one\n");
    user.write("work/generated", "one\n");
    let promise = "cat generated; grep -q two generated";
    let agent = "echo two > source; cp source generated";
    let ran = user.run(&start(agent, promise, &["-n", "1", "--setup", "cp source generated"])).expect_code(0);
    assert!(ran.out().contains("judged    again in a clean copy"), "{}", ran.text());
    // Without it only the workspace has the file, and the way out is said.
    user.write("work/source", "one\n");
    user.write("work/generated", "one\n");
    let ran = user.run(&start(agent, promise, &["-n", "1"])).expect_code(0);
    let words = ran.out().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("1 (generated); --setup CMD can make them in the copy"), "{}", ran.text());
}

#[test]
fn the_repository_is_that_of_the_start_without_hooks_and_programs() {
    let user = user();
    user.write("work/work.txt", "to do\n");
    git(&user, &["init", "-q", "-b", "main"]);
    git(&user, &["add", "-A"]);
    git(&user, &["commit", "-q", "-m", "first"]);
    let first = git(&user, &["rev-parse", "HEAD"]);
    let seen = user.root().join("seen");
    let promise = format!(
        "{{ git rev-parse HEAD; git status --short; git log --format=%s; git config core.fsmonitor; ls .git/hooks; }} \
         > '{}' 2>/dev/null; git cat-file -e HEAD:work.txt && {PROMISE}",
        seen.display()
    );
    let agent = "echo done > work.txt; git -c user.name=u -c user.email=u@example.org commit -qam second; \
                 git config core.fsmonitor evil";
    run_once(&user, agent, &promise, &[]);
    let report = judged(&user, "final");
    assert_eq!(verdict(&report), "pass", "{report}");
    assert_eq!(user.read("seen"), format!("{first}\n M work.txt\nfirst\n"));
    assert_eq!(git(&user, &["log", "--format=%s"]), "second\nfirst");
}

/// A loop whose gate runs for ever in a copy once a file outside is there.
fn slow() -> (TestEnv, PathBuf) {
    let user = user();
    let (slow, at) = (user.root().join("slow"), user.root().join("at"));
    let promise = format!(
        "if test -e '{}'; then touch '{}'; setsid sleep 300 & sleep 300; fi; test -e ok",
        slow.display(),
        at.display()
    );
    run_once(&user, "touch ok", &promise, &["--gate-timeout", "2s"]);
    user.write("slow", "");
    (user, at)
}

#[test]
fn a_gate_past_its_limit_is_ended_in_the_copy_too() {
    let (user, _) = slow();
    let report = judged(&user, "final");
    assert_eq!(verdict(&report), "fail", "{report}");
    assert_eq!(user.marked(&user.id()), Vec::<u32>::new());
}

#[test]
fn a_child_that_is_interrupted_or_killed_leaves_neither_process_nor_copy() {
    let (user, at) = slow();
    let id = user.id();
    let file = request(&user, "final");
    let running = begin(&user, &file);
    wait_until("the gate runs", || at.exists());
    assert_eq!(left(&user), 1);
    running.signal("INT");
    let report = report_of(&file, &running.end());
    assert_eq!((report["not_done"].as_str(), left(&user)), (Some("stopped"), 0));
    assert_eq!(user.marked(&id), Vec::<u32>::new());
    // Killed: its processes go, and the next command removes the copy.
    fs::remove_file(&at).unwrap();
    let running = begin(&user, &file);
    wait_until("the gate runs", || at.exists());
    running.signal("KILL");
    drop(running.end());
    wait_until("its processes are gone", || user.marked(&id).is_empty());
    user.run(&["list"]).expect_code(0);
    assert_eq!(left(&user), 0);
}

#[test]
fn where_copies_lack_ignored_files_that_changed_the_strength_line_says_that_no_probe_was_tried_for_it() {
    let user = user();
    user.write("work/.gitignore", "made/\n");
    user.write("work/made/value", "1\n");
    let ran = user.run(&start("echo 2 > made/value; touch ok", "grep -q 2 made/value && test -e ok", &["-n", "1"]));
    assert!(ran.out().contains("in the workspace only, with changed ignored files"), "{}", ran.text());
    let certificate = user.run(&["status", &user.id(), "--json"]).json()["loops"][0]["certificate"].clone();
    let why = "a copy does not have the ignored files that changed, and the gates need them: made/value";
    let not_tried = json!({"not_tried": {"not_possible": {"why": why}}});
    let strength = &certificate["strength"];
    assert_eq!((&strength["canary"], &strength["undo"]), (&not_tried, &not_tried), "{certificate}");
}

#[test]
fn a_judge_whose_processes_are_stopped_is_ended_when_a_person_cancels_and_leaves_nothing() {
    let user = user();
    // In the workspace it passes; in the copy, which has another HOME, it waits.
    let promise = "test -e ok && { test \"$HOME\" = \"$REAL\" || { touch \"$REAL/at\"; sleep 300; }; }";
    let home = user.root().join("home").display().to_string();
    let user = user.with("REAL", &home);
    let running = user.begin(&start("touch ok", promise, &["-n", "1"]));
    user.wait_for_file_long("home/at");
    let id = user.id();
    let judge: Vec<u32> = user.marked(&id).into_iter().filter(|pid| *pid != running.pid()).collect();
    assert!(!judge.is_empty());
    for pid in &judge {
        Command::new("kill").args(["-STOP", &pid.to_string()]).status().unwrap();
    }
    user.run(&["cancel", &id]).expect_code(0);
    let ran = running.end();
    assert_eq!(user.marked(&id), Vec::<u32>::new(), "{}", ran.text());
    user.run(&["list"]).expect_code(0);
    assert_eq!(left(&user), 0, "{}", ran.text());
}

#[test]
fn a_repository_with_sha_256_objects_is_judged_in_clean_copies_which_have_no_repository() {
    let user = user();
    git(&user, &["init", "-q", "--object-format=sha256"]);
    let ran = user.run(&start("touch ok", "test -e ok", &["-n", "1"])).expect_code(0);
    assert!(ran.out().contains("again in a clean copy"), "{}", ran.text());
    user.run(&["verify", &user.id()]).expect_code(0);
    user.run(&["rollback", &user.id(), "initial"]).expect_code(0);
    assert!(!user.work().join("ok").exists());
}

#[test]
fn a_gate_that_needs_a_repository_with_sha_256_objects_is_judged_in_the_workspace_only() {
    let user = user();
    git(&user, &["init", "-q", "--object-format=sha256"]);
    let gate = "git rev-parse --git-dir && test -e ok";
    let ran = user.run(&start("touch ok", gate, &["-n", "1"])).expect_code(0);
    let said = "a gate needs the repository, and copies have none of this kind";
    assert!(ran.out().contains("in the workspace only") && ran.out().contains(said), "{}", ran.text());
}

/// An agent whose work passes only beside an ignored file, and that prints git's words where the file is missing.
const SAYS_NO_REPOSITORY: &str = "mkdir -p local .git/reftable; touch local/ok; echo not a git repository > words";
const READS_WORDS: &str = "test -e local/ok || { cat words; false; }";

// req: RT-R6
#[test]
fn a_repository_that_became_a_reftable_during_the_loop_does_not_lead_out_of_the_clean_copy() {
    let user = user();
    git(&user, &["init", "-q"]);
    user.write("work/.gitignore", "local/\n");
    let ran = user.run(&start(SAYS_NO_REPOSITORY, READS_WORDS, &["-n", "1"])).expect_code(1);
    assert!(ran.out().contains("passed, but not verified"), "{}", ran.text());
    assert!(ran.out().contains("not in a clean copy of the same files"), "{}", ran.text());
}

// req: RT-R6
#[test]
fn words_of_git_that_only_the_agents_work_prints_do_not_lead_out_of_the_clean_copy() {
    let user = user();
    git(&user, &["init", "-q", "--object-format=sha256"]);
    user.write("work/.gitignore", "local/\n");
    let ran = user.run(&start(SAYS_NO_REPOSITORY, READS_WORDS, &["-n", "1"])).expect_code(1);
    assert!(ran.out().contains("passed, but not verified"), "{}", ran.text());
    assert!(ran.out().contains("a clean copy of these files cannot be judged"), "{}", ran.text());
}

/// A gate that prints results of tests; an ignored file makes the second test pass.
fn with_tests(user: &TestEnv) {
    user.write("work/.gitignore", "local/\n");
    user.write(
        "work/check.sh",
        "echo 1..2; echo 'ok 1 - a'; if test -e local/ok; then echo 'ok 2 - b'; else echo 'not ok 2 - b'; fi; \
         test -e work.txt\n",
    );
}

/// An agent that only makes the output of the gate good, by a file that no checkpoint holds.
const FORGES: &str = "mkdir -p local; touch local/ok; echo x >> work.txt";

// req: RT-R6
#[test]
fn a_clean_copy_in_which_a_test_fails_under_exit_0_is_no_pass() {
    let user = user();
    with_tests(&user);
    let ran = user.run(&start(FORGES, "sh check.sh", &["-n", "1"])).expect_code(1);
    assert!(ran.out().contains("passed, but not verified"), "{}", ran.text());
    assert!(
        ran.out().contains("not in a clean copy of the same files: promise (exit 0): 1 test fails"),
        "{}",
        ran.text()
    );
    assert!(ran.out().contains(" for clean copies and probes"), "the time that it took is shown: {}", ran.text());
}

// req: RT-R6
#[test]
fn verify_does_not_believe_exit_0_while_a_test_fails_either() {
    let user = user();
    with_tests(&user);
    user.run(&start(FORGES, "sh check.sh", &["-n", "1", "--judge", "workspace"])).expect_code(0);
    let ran = user.run(&["verify", &user.id()]).expect_code(1);
    assert!(ran.out().contains("promise (exit 0, but 1 test fails)"), "{}", ran.text());
    let found: Value = user.run(&["verify", &user.id(), "--json"]).expect_code(1).json();
    assert_eq!(
        (&found["gates"][0]["verdict"], &found["gates"][0]["not_believed"]),
        (&json!("fail"), &json!("1 test fails"))
    );
}

#[test]
fn names_of_tests_that_differ_each_time_in_brackets_are_no_reason_against_an_honest_fix() {
    let user = user();
    let check = "echo 1..1; if test -e src/work.c; then echo \"ok 1 - adds[$$]\"; else echo \"not ok 1 - adds[$$]\"; exit 1; fi\n";
    user.write("work/check.sh", check);
    let ran = user.run(&start("mkdir src; echo x > src/work.c", "sh check.sh", &["-n", "1"])).expect_code(0);
    assert!(ran.out().contains("judged    again in a clean copy"), "{}", ran.text());
}

#[test]
fn a_further_folder_of_home_comes_along_where_the_user_names_it() {
    let user = user();
    user.write("work/work.txt", "to do\n");
    user.write("home/.mytool/word", "from home\n");
    let promise = format!("cat ~/.mytool/word && {PROMISE}");
    run_once(&user, "echo done > work.txt", &promise, &["--judge-home", "~/.mytool"]);
    assert_eq!(verdict(&judged(&user, "final")), "pass");
}

#[test]
fn the_files_of_the_copy_have_new_times() {
    let user = user();
    user.write("work/work.txt", "to do\n");
    user.write("work/old.c", "int main;\n");
    let mut touch = Command::new("touch");
    assert!(touch.args(["-d", "2001-02-03"]).arg(user.work().join("old.c")).status().unwrap().success());
    let seen = user.root().join("seen");
    let promise = format!("date -r old.c +%Y > '{}'; {PROMISE}", seen.display());
    run_once(&user, "echo done > work.txt", &promise, &[]);
    assert_eq!(user.read("seen"), "2001\n");
    assert_eq!(verdict(&judged(&user, "final")), "pass");
    assert_ne!(user.read("seen"), "2001\n", "what was built from it before is built again");
}
