//! Going back: what is not ours stays, what somebody changed is kept, and nothing leads out of the workspace.
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::sync::atomic::AtomicBool;

use loop_host::checkpoint::{RestorePlan, Rules, open_folder, restore};

use crate::checkpoint_trees::Scene;

fn plain() -> Rules {
    Rules::new(true, &[], false)
}

#[test]
fn what_somebody_changed_since_the_last_checkpoint_is_kept_aside() {
    let mut scene = Scene::new(plain());
    for name in ["replaced", "both"] {
        scene.write(name, "target");
    }
    let (target, _) = scene.save("run/1");
    for name in ["replaced", "removed", "both", "quiet"] {
        scene.write(name, "agent");
    }
    let (before, _) = scene.save("run/undo");
    // Same length, same tick perhaps: only the content tells.
    scene.write("replaced", "human");
    scene.write("removed", "human");
    let restored = scene.go(target, before);
    assert_eq!((scene.read("replaced"), scene.read("both")), ("target".to_owned(), "target".to_owned()));
    assert!(!scene.path("removed").exists() && !scene.path("quiet").exists());
    let kept: Vec<_> =
        restored.changed_since.iter().map(|(path, _)| String::from_utf8_lossy(path).into_owned()).collect();
    assert_eq!(kept, ["removed", "replaced"]);
    for (_, aside) in &restored.changed_since {
        assert_eq!(scene.read(&String::from_utf8_lossy(aside)), "human");
    }
}

#[test]
fn what_was_ignored_then_is_not_removed_though_the_agent_took_the_rule_away() {
    let mut scene = Scene::new(Rules::new(true, &["*.cfg\n".to_owned()], false));
    scene.write(".gitignore", "*.env\n");
    scene.write("deep/.env", "the user's secret");
    scene.write("deep/user.cfg", "the user's own");
    scene.write("deep/source", "x");
    let (target, _) = scene.save("run/1");
    scene.write(".gitignore", "");
    scene.write("deep/made", "by the agent");
    scene.rules = plain();
    let restored = scene.go_back(target);
    assert!(!scene.path("deep/made").exists());
    assert_eq!(scene.read("deep/.env"), "the user's secret");
    assert_eq!(scene.read("deep/user.cfg"), "the user's own", "the rules that held everywhere are remembered too");
    assert_eq!(restored.left, [b"deep/user.cfg".to_vec(), b"deep/.env".to_vec()]);
}

#[test]
fn what_a_killed_restore_left_is_in_no_checkpoint_and_goes_with_the_next_one() {
    let mut scene = Scene::new(plain());
    scene.write("sub/file", "one");
    let (target, _) = scene.save("run/1");
    scene.write("sub/file", "two");
    scene.write("sub/.loop-part-k3v9q2x7m4a", "half");
    let (now, _) = scene.save("run/2");
    assert_eq!(scene.names(now), ["sub", "sub/file"]);
    scene.go_back(target);
    assert!(!scene.path("sub/.loop-part-k3v9q2x7m4a").exists());
    assert_eq!(scene.read("sub/file"), "one");
}

#[test]
fn links_of_files_are_as_they_were_and_no_other_name_is_changed() {
    let mut scene = Scene::new(Rules::new(true, &["*.other\n".to_owned()], false));
    scene.write("a", "same");
    fs::hard_link(scene.path("a"), scene.path("b")).unwrap();
    scene.write("c", "own");
    scene.write("d", "own");
    let (target, _) = scene.save("run/1");
    fs::remove_file(scene.path("b")).unwrap();
    scene.write("b", "same");
    fs::remove_file(scene.path("d")).unwrap();
    fs::hard_link(scene.path("c"), scene.path("d")).unwrap();
    fs::hard_link(scene.path("c"), scene.path("foreign.other")).unwrap();
    fs::set_permissions(scene.path("c"), Permissions::from_mode(0o600)).unwrap();
    scene.go_back(target);
    let inode = |name: &str| fs::metadata(scene.path(name)).unwrap().ino();
    assert_eq!(inode("a"), inode("b"));
    assert_ne!(inode("c"), inode("d"));
    let mode = |name: &str| fs::metadata(scene.path(name)).unwrap().mode() & 0o777;
    assert_eq!((mode("c"), mode("d"), mode("foreign.other")), (0o644, 0o644, 0o600));
}

#[test]
fn a_name_of_255_bytes_can_go_aside_too() {
    let mut scene = Scene::new(Rules::new(true, &["*.log\n".to_owned()], false));
    let name = "n".repeat(255);
    scene.write(&name, "file");
    let (target, _) = scene.save("run/1");
    fs::remove_file(scene.path(&name)).unwrap();
    scene.write(&format!("{name}/x.log"), "ignored");
    let restored = scene.go_back(target);
    assert_eq!(scene.read(&name), "file");
    assert_eq!(restored.moved_aside.len(), 1);
}

#[test]
fn nothing_is_followed_out_of_the_workspace_while_somebody_swaps_folders_for_links() {
    let mut scene = Scene::new(plain());
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("file"), "canary").unwrap();
    scene.write("sub/file", "one");
    let (target, _) = scene.save("run/1");
    scene.write("sub/file", "two");
    scene.write("sub/new", "two");
    let (before, _) = scene.save("run/2");
    fs::rename(scene.path("sub"), scene.path("moved")).unwrap();
    symlink(outside.path(), scene.path("sub")).unwrap();
    let workspace = open_folder(&scene.path("")).unwrap();
    let never = AtomicBool::new(false);
    let way = RestorePlan { target, before, cancel: &never };
    assert!(restore(&scene.store, &scene.store, &workspace, &mut scene.cache, &way).is_err());
    assert_eq!(fs::read_to_string(outside.path().join("file")).unwrap(), "canary");
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
    // Again, from what is there now: it comes to its end.
    scene.go_back(target);
    assert_eq!(scene.read("sub/file"), "one");
    assert!(!scene.path("moved").exists() && !scene.path("sub/new").exists());
    assert_eq!(fs::read_to_string(outside.path().join("file")).unwrap(), "canary");
}
