//! Which folder may be a workspace, and who has it.
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use loop_testkit::{Running, wait_until};

use crate::{start, user};

#[test]
fn a_folder_that_another_loop_holds_is_refused_by_any_path_and_inside_or_around_it() {
    let user = user();
    std::fs::create_dir(user.work().join("inner")).unwrap();
    std::os::unix::fs::symlink(user.work(), user.root().join("link")).unwrap();
    let holder =
        user.begin(&start("touch began; while [ ! -e go ]; do sleep 0.05; done", "test -e go", &["--workspace", "."]));
    user.wait_for_file("work/began");
    let id = user.id();
    for place in [".", "../link", "inner", ".."] {
        let ran = user.run(&start("true", "true", &["--workspace", place])).expect_code(4);
        assert!(ran.err().contains(&format!("loop {id} works in")), "{place}: {}", ran.text());
        assert!(ran.err().contains(&format!("hint: loop status {id}")), "{place}: {}", ran.text());
    }
    let ran = user.run(&["resume", &id]).expect_code(4);
    assert!(ran.err().contains(&format!("loop {id} is at work")), "{}", ran.text());
    user.run(&["rm", &id]).expect_code(4);
    user.write("work/go", "");
    holder.end().expect_code(0);
    user.run(&start("true", "true", &[])).expect_code(0);
}

#[test]
fn a_loop_of_another_state_folder_is_seen_by_its_lock() {
    let user = user();
    std::fs::create_dir(user.work().join("inner")).unwrap();
    let holder = user.begin(&start("touch began; while [ ! -e go ]; do sleep 0.05; done", "test -e go", &[]));
    user.wait_for_file("work/began");
    let mut other = user.command(&start("true", "true", &["--workspace", "inner"]));
    other.env("LOOP_HOME", user.root().join("elsewhere"));
    let ran = Running::of(other.spawn().unwrap(), user.root()).end().expect_code(4);
    assert!(ran.err().starts_with("error: a loop of another user or state folder works in"), "{}", ran.text());
    user.write("work/go", "");
    holder.end().expect_code(0);
}

#[test]
fn of_many_starts_at_once_one_wins() {
    let user = user();
    let agent = "echo $LOOP_ID >> winners; while [ ! -e go ]; do sleep 0.05; done";
    let mut starts: Vec<_> = (0..8).map(|_| user.begin(&start(agent, "test -e go", &[]))).collect();
    user.wait_for_file("work/winners");
    wait_until("seven are refused", || starts.iter_mut().filter_map(Running::code).count() == 7);
    assert!(starts.iter_mut().filter_map(Running::code).all(|code| code == 4));
    user.write("work/go", "");
    let codes: Vec<_> = starts.into_iter().map(|start| start.end().code.unwrap()).collect();
    assert_eq!(codes.iter().filter(|code| **code == 0).count(), 1, "{codes:?}");
    assert_eq!(user.read("work/winners").lines().count(), 1, "one agent worked");
}

#[test]
fn the_home_folder_the_root_and_mounts_are_refused_unless_allowed() {
    let user = user();
    let home = user.root().join("home").display().to_string();
    for (place, what) in
        [("/", "the root of the file system"), (home.as_str(), "your home folder"), ("/proc", "the root of a mount")]
    {
        let ran = user.run(&start("true", "true", &["--workspace", place])).expect_code(4);
        assert!(ran.err().contains(what) && ran.err().contains("--allow-any-workspace"), "{}", ran.text());
    }
    user.run(&start("true", "true", &["--workspace", &home, "--allow-any-workspace"])).expect_code(0);
    user.run(&start("true", "true", &["--workspace", &home, "--allow-any-workspace", "--no-allow-any-workspace"]))
        .expect_code(4);
}

#[test]
fn paths_with_spaces_newlines_and_bytes_that_are_not_utf8_work() {
    for name in
        [&b"with spaces"[..], b"with\nnewline", b"not \xff\xfe utf8", b"back\\slash", "émoji 🎈".as_bytes(), b"-dash"]
    {
        let user = user();
        let place = user.root().join(OsStr::from_bytes(name));
        std::fs::create_dir(&place).unwrap();
        std::fs::write(user.root().join(OsStr::from_bytes(&[name, b".inject"].concat())), "a hint").unwrap();
        let mut words: Vec<std::ffi::OsString> =
            start("cat > prompt; echo x >> log", "test $(wc -l < log) -ge 2", &["--result"])
                .iter()
                .map(Into::into)
                .collect();
        words.push(place.join("result.json").into());
        words.extend([
            "--inject".into(),
            user.root().join(OsStr::from_bytes(&[name, b".inject"].concat())).into_os_string(),
        ]);
        words.extend(["--workspace".into(), place.clone().into_os_string()]);
        let ran = user.run(&words).expect_code(0);
        assert!(place.join("result.json").exists(), "{}", ran.text());
        assert!(std::fs::read_to_string(place.join("prompt")).unwrap().contains("a hint"));
        let listed = user.run(&["list", "--json"]).expect_code(0).json();
        let shown = listed["loops"][0]["workspace"].as_str().unwrap().to_owned();
        assert_eq!(listed["loops"][0]["status"], "completed");
        match place.to_str() {
            Some(path) => assert_eq!(shown, path, "a program can go there"),
            None => assert!(shown.contains("\\xff\\xfe"), "{shown}"),
        }
        let detail = user.run(&["status", &user.id()]).expect_code(0).out();
        assert_eq!(detail.lines().filter(|line| line.starts_with("  workspace")).count(), 1);
    }
}

#[test]
fn a_missing_folder_or_a_file_is_no_workspace() {
    let user = user();
    user.write("file", "");
    for place in ["../nothing", "../file"] {
        let ran = user.run(&start("true", "true", &["--workspace", place])).expect_code(4);
        assert!(ran.err().starts_with("error: cannot use the workspace"), "{}", ran.text());
    }
}

#[test]
fn a_state_folder_that_others_can_write_to_is_refused() {
    // req: D-23 partly: without a socket
    use std::os::unix::fs::PermissionsExt;
    let user = user();
    let state = user.root().join("shared");
    std::fs::create_dir(&state).unwrap();
    std::fs::set_permissions(&state, std::fs::Permissions::from_mode(0o777)).unwrap();
    let user = user.with("LOOP_HOME", &state);
    let ran = user.run(&start("true", "true", &[])).expect_code(4);
    assert!(ran.err().contains("is not a private folder of yours"), "{}", ran.text());
    std::fs::set_permissions(&state, std::fs::Permissions::from_mode(0o755)).unwrap();
    user.run(&start("true", "true", &[])).expect_code(0);
    let mode = std::fs::metadata(&state).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o700, "made private");
}

#[test]
fn everything_of_a_run_is_private_to_its_user() {
    // req: D-23 partly: without a socket
    use std::os::unix::fs::PermissionsExt;
    let user = user();
    user.run(&start("echo secret", "test -e x", &["-n", "1"])).expect_code(1);
    for path in user.tree("home/.local/state/loop") {
        let found = std::fs::metadata(user.state().join(&path)).unwrap();
        if found.is_dir() {
            assert_eq!(found.permissions().mode() & 0o077, 0, "{path}");
        }
    }
}
