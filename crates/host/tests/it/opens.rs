//! Which files of a workspace are opened while something runs.
use std::fs;
use std::path::Path;
use std::process::Command;

use loop_core::policy::protect::WatchGap;
use loop_host::checkpoint::{Rules, open_folder};
use loop_host::workspace::watch::{OpenWatch, OpenedFiles};

fn watched(folder: &Path, line: &str) -> OpenedFiles {
    let mut watch = OpenWatch::begin(&open_folder(folder).unwrap(), &Rules::new(false, &[], false));
    Command::new("sh").args(["-c", line]).current_dir(folder).status().unwrap();
    watch.drain();
    watch.finish()
}

fn paths(of: &OpenedFiles) -> Vec<&str> {
    of.opened.iter().map(|path| std::str::from_utf8(path).unwrap()).collect()
}

#[test]
fn what_a_command_runs_sources_and_reads_is_seen_and_dependencies_are_not() {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in [
        ("check.sh", ". ./lib/a.sh\ncat b.txt\nsh node_modules/x.sh\n./run\necho 1 > made.txt\n"),
        ("lib/a.sh", "true\n"),
        ("b.txt", "b\n"),
        ("other.txt", "o\n"),
        ("node_modules/x.sh", "true\n"),
        ("run", "#!/bin/sh\ntrue\n"),
        (".git/config", "x"),
    ] {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
    }
    Command::new("chmod").args(["+x", "run"]).current_dir(folder.path()).status().unwrap();
    let seen = watched(folder.path(), "sh check.sh; cat .git/config");
    assert_eq!(paths(&seen), ["b.txt", "check.sh", "lib/a.sh", "made.txt", "run"]);
    assert!(seen.made.contains(&b"made.txt"[..]) && !seen.made.contains(&b"b.txt"[..]));
    assert_eq!(seen.gap, None);
}

#[test]
fn folders_among_more_names_than_are_read_at_once_are_watched_too() {
    let folder = tempfile::tempdir().unwrap();
    let name = |number: u32| format!("{number:04}-{}", "x".repeat(200));
    for number in 0..400 {
        fs::write(folder.path().join(name(number)), "").unwrap();
        if number % 40 == 0 {
            let below = folder.path().join(format!("{}.d", name(number)));
            fs::create_dir(&below).unwrap();
            fs::write(below.join("in.sh"), "true\n").unwrap();
        }
    }
    let seen = watched(folder.path(), "for f in *.d/in.sh; do sh $f; done");
    let expected: Vec<String> = (0..400).step_by(40).map(|number| format!("{}.d/in.sh", name(number))).collect();
    assert_eq!(paths(&seen), expected);
    assert_eq!(seen.gap, None);
}

#[test]
fn a_workspace_with_too_many_folders_is_watched_in_part_and_that_is_said() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("check.sh"), "true\n").unwrap();
    for number in 0..8200 {
        fs::create_dir(folder.path().join(number.to_string())).unwrap();
    }
    let seen = watched(folder.path(), "sh check.sh");
    assert_eq!(paths(&seen), ["check.sh"]);
    assert!(matches!(seen.gap, Some(WatchGap::TooManyFolders | WatchGap::NoWatchesLeft)), "{:?}", seen.gap);
}
