//! Applying a branch to a workspace that a person goes on working in.
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use loop_host::checkpoint::{RollbackRequest, StoredKind};
use loop_host::merge::{ApplyOutcome, ConflictKind, MergeOutcome, MergeRequest, apply, three_way};

use crate::merge_scene::{MergeScene, REQUEST, THEIRS};

const TEN: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";

fn names(paths: &[Vec<u8>]) -> Vec<String> {
    paths.iter().map(|path| String::from_utf8_lossy(path).into_owned()).collect()
}

fn mode(path: &std::path::Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

#[test]
fn what_a_person_changed_in_another_file_is_kept() {
    // req: D-16 partly: applying a branch
    let scene = MergeScene::with(&[("a", "a\n"), ("b", "b\n"), ("c", "c\n")]);
    scene.user("a", "by a person\n");
    scene.user("new/by-hand", "mine\n");
    scene.agent("b", "by a branch\n");
    scene.agent("made", "theirs\n");
    let report = scene.applied();
    assert_eq!((scene.read("a"), scene.read("b")), ("by a person\n".to_owned(), "by a branch\n".to_owned()));
    assert_eq!(scene.read("new/by-hand"), "mine\n");
    assert_eq!(names(&report.written), ["b", "made"]);
    assert_eq!((names(&report.removed), names(&report.kept)), (vec![], vec!["a".to_owned(), "new/by-hand".to_owned()]));
    assert_eq!((report.counts.ours, report.counts.theirs, report.counts.merged), (2, 2, 0));
}

#[test]
fn other_lines_of_the_same_file_are_merged() {
    let scene = MergeScene::with(&[("a", TEN)]);
    scene.user("a", &TEN.replace("2\n", "two\n"));
    scene.agent("a", &TEN.replace("9\n", "nine\n"));
    let report = scene.applied();
    assert_eq!(scene.read("a"), TEN.replace("2\n", "two\n").replace("9\n", "nine\n"));
    assert_eq!((report.counts.merged, names(&report.kept)), (1, vec!["a".to_owned()]));
}

#[test]
fn the_same_line_changed_on_both_sides_is_a_conflict_and_nothing_is_changed() {
    let scene = MergeScene::with(&[("a", TEN), ("b", "b\n")]);
    scene.user("a", &TEN.replace("5\n", "five\n"));
    scene.agent("a", &TEN.replace("5\n", "FIVE\n"));
    scene.agent("b", "would be fine\n");
    assert_eq!(scene.conflicts(), [("a".to_owned(), ConflictKind::BothChanged)]);
    // Once the person has taken one of the two versions, it can be applied.
    scene.user("a", &TEN.replace("5\n", "FIVE\n"));
    assert_eq!(scene.applied().counts.same, 1);
    assert_eq!(scene.read("b"), "would be fine\n");
}

#[test]
fn one_rollback_undoes_an_apply() {
    let scene = MergeScene::with(&[("a", "a\n"), ("b/c", "c\n")]);
    scene.user("mine", "x\n");
    fs::remove_dir_all(scene.copy().join("b")).unwrap();
    scene.agent("b", "a file now\n");
    let before = scene.sight();
    let report = scene.applied();
    assert_eq!((names(&report.written), names(&report.removed)), (vec!["b".to_owned()], vec!["b/c".to_owned()]));
    assert_ne!(scene.sight(), before);
    let to = RollbackRequest { to: &report.before, undo: "undo", git: false, paths: &[] };
    scene.plan().roll_back(&to).unwrap();
    assert_eq!(scene.sight(), before);
}

#[test]
fn a_file_that_the_branch_deleted_goes_unless_a_person_changed_it() {
    let files = [("a", "a\n"), ("b", "b\n")];
    let scene = MergeScene::with(&files);
    fs::remove_file(scene.copy().join("a")).unwrap();
    assert_eq!(names(&scene.applied().removed), ["a"]);
    assert!(!scene.work().join("a").exists());

    let scene = MergeScene::with(&files);
    fs::remove_file(scene.copy().join("a")).unwrap();
    scene.user("a", "changed\n");
    assert_eq!(scene.conflicts(), [("a".to_owned(), ConflictKind::ChangedAndDeleted)]);

    let scene = MergeScene::with(&files);
    fs::remove_file(scene.work().join("a")).unwrap();
    scene.agent("a", "changed\n");
    assert_eq!(scene.conflicts(), [("a".to_owned(), ConflictKind::ChangedAndDeleted)]);
}

#[test]
fn an_edit_follows_a_file_that_the_other_side_renamed() {
    let scene = MergeScene::with(&[("a", TEN), ("b", &TEN.replace('1', "x"))]);
    fs::create_dir(scene.copy().join("moved")).unwrap();
    fs::rename(scene.copy().join("a"), scene.copy().join("moved/to")).unwrap();
    scene.user("a", &TEN.replace("2\n", "by a person\n"));
    fs::rename(scene.work().join("b"), scene.work().join("c")).unwrap();
    scene.agent("b", &TEN.replace('1', "x").replace("3\n", "by a branch\n"));
    scene.applied();
    assert_eq!(scene.read("moved/to"), TEN.replace("2\n", "by a person\n"));
    assert_eq!(scene.read("c"), TEN.replace('1', "x").replace("3\n", "by a branch\n"));
    assert!(!scene.work().join("a").exists() && !scene.work().join("b").exists());
}

#[test]
fn two_new_names_for_one_file_are_a_conflict() {
    let scene = MergeScene::with(&[("a", TEN)]);
    fs::rename(scene.copy().join("a"), scene.copy().join("b")).unwrap();
    fs::rename(scene.work().join("a"), scene.work().join("c")).unwrap();
    assert_eq!(scene.conflicts(), [("a".to_owned(), ConflictKind::RenamedTwice)]);
}

#[test]
fn permissions_alone_are_a_change() {
    let scene = MergeScene::with(&[("run", "#!/bin/sh\n"), ("secret", "x\n"), ("folder/x", "x\n")]);
    let chmod = |path: std::path::PathBuf, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    chmod(scene.copy().join("run"), 0o755);
    chmod(scene.copy().join("folder"), 0o700);
    chmod(scene.work().join("secret"), 0o600);
    scene.user("run", "#!/bin/sh\nexit 1\n");
    scene.applied();
    let modes = ["run", "secret", "folder"].map(|name| mode(&scene.work().join(name)));
    assert_eq!(modes, [0o755, 0o600, 0o700]);
    assert_eq!(scene.read("run"), "#!/bin/sh\nexit 1\n");

    let scene = MergeScene::with(&[("a", "a\n")]);
    chmod(scene.copy().join("a"), 0o755);
    chmod(scene.work().join("a"), 0o600);
    assert_eq!(scene.conflicts(), [("a".to_owned(), ConflictKind::Mode)]);
}

#[test]
fn links_are_merged_by_where_they_lead() {
    let scene = MergeScene::empty();
    scene.user("a", "a\n");
    symlink("a", scene.work().join("one")).unwrap();
    symlink("a", scene.work().join("two")).unwrap();
    scene.branch_off();
    let lead = |root: std::path::PathBuf, name: &str, to: &str| {
        fs::remove_file(root.join(name)).unwrap();
        symlink(to, root.join(name)).unwrap();
    };
    lead(scene.copy(), "one", "elsewhere");
    lead(scene.work(), "two", "nowhere");
    scene.applied();
    let leads = ["one", "two"].map(|name| fs::read_link(scene.work().join(name)).unwrap());
    assert_eq!(leads, ["elsewhere", "nowhere"].map(std::path::PathBuf::from));

    let scene = MergeScene::with(&[("a", "a\n")]);
    lead(scene.copy(), "a", "elsewhere");
    scene.user("a", "changed\n");
    assert_eq!(scene.conflicts(), [("a".to_owned(), ConflictKind::Link)]);
}

#[test]
fn empty_folders_come_and_go() {
    let scene = MergeScene::empty();
    ["stays", "goes", "deep/er"].iter().for_each(|name| fs::create_dir_all(scene.work().join(name)).unwrap());
    scene.branch_off();
    fs::remove_dir(scene.copy().join("goes")).unwrap();
    fs::create_dir(scene.copy().join("comes")).unwrap();
    fs::remove_dir_all(scene.copy().join("deep")).unwrap();
    scene.user("deep/mine", "needs its folder\n");
    scene.applied();
    let there: Vec<String> = names(&scene.sight().into_keys().collect::<Vec<_>>());
    assert_eq!(there, ["comes", "deep", "deep/mine", "stays"]);
}

#[test]
fn a_file_that_became_a_folder_and_a_folder_that_became_a_file() {
    let files = [("file", "x\n"), ("folder/one", "1\n"), ("folder/two", "2\n")];
    let turn = |root: &std::path::Path| {
        fs::remove_file(root.join("file")).unwrap();
        fs::create_dir(root.join("file")).unwrap();
        fs::write(root.join("file/inside"), "new\n").unwrap();
        fs::remove_dir_all(root.join("folder")).unwrap();
        fs::write(root.join("folder"), "flat\n").unwrap();
    };
    let scene = MergeScene::with(&files);
    turn(&scene.copy());
    scene.applied();
    assert_eq!((scene.read("file/inside"), scene.read("folder")), ("new\n".to_owned(), "flat\n".to_owned()));

    let scene = MergeScene::with(&files);
    turn(&scene.copy());
    scene.user("file", "changed\n");
    scene.user("folder/three", "3\n");
    let kinds = [ConflictKind::FileAgainstFolder; 2];
    assert_eq!(scene.conflicts(), [("file".to_owned(), kinds[0]), ("folder".to_owned(), kinds[1])]);
}

#[test]
fn line_ends_and_a_last_line_without_end_stay_as_they_are() {
    let dos = TEN.replace('\n', "\r\n");
    let open = TEN.trim_end();
    let scene = MergeScene::with(&[("dos", &dos), ("open", open), ("turned", TEN)]);
    scene.user("dos", &dos.replace("2\r\n", "two\r\n"));
    scene.agent("dos", &dos.replace("9\r\n", "nine\r\n"));
    scene.user("open", &open.replace("2\n", "two\n"));
    scene.agent("open", &open.replace("8\n", "eight\n"));
    scene.agent("turned", &dos);
    scene.applied();
    assert_eq!(scene.read("dos"), dos.replace("2\r\n", "two\r\n").replace("9\r\n", "nine\r\n"));
    assert_eq!(scene.read("open"), open.replace("2\n", "two\n").replace("8\n", "eight\n"));
    assert_eq!(scene.read("turned"), dos);

    let scene = MergeScene::with(&[("a", TEN)]);
    scene.agent("a", &dos);
    scene.user("a", &TEN.replace("2\n", "two\n"));
    assert_eq!(scene.conflicts(), [("a".to_owned(), ConflictKind::BothChanged)]);
}

#[test]
fn a_file_that_is_not_text_is_never_merged() {
    let scene = MergeScene::with(&[("a", "x\0y\n1\n2\n3\n4\n"), ("b", "\0")]);
    scene.user("a", "X\0y\n1\n2\n3\n4\n");
    scene.agent("a", "x\0y\n1\n2\n3\nfour\n");
    scene.agent("b", "\0\0");
    assert_eq!(scene.conflicts(), [("a".to_owned(), ConflictKind::Binary)]);
}

#[test]
fn the_same_new_file_on_both_sides_is_one_and_different_ones_are_a_conflict() {
    let scene = MergeScene::with(&[("a", "a\n")]);
    scene.user("same", "x\n");
    scene.agent("same", "x\n");
    scene.applied();

    let scene = MergeScene::with(&[("a", "a\n")]);
    scene.user("new", "mine\n");
    scene.agent("new", "theirs\n");
    assert_eq!(scene.conflicts(), [("new".to_owned(), ConflictKind::BothAdded)]);
}

#[test]
fn names_that_are_one_file_stay_one_file() {
    let scene = MergeScene::with(&[("a", TEN), ("other", "x\n")]);
    // The copy is made before the second name comes: the branch adds it.
    fs::hard_link(scene.copy().join("a"), scene.copy().join("b")).unwrap();
    scene.user("a", &TEN.replace("2\n", "two\n"));
    assert_eq!(scene.conflicts(), [("a".to_owned(), ConflictKind::HardLinks)]);

    let scene = MergeScene::empty();
    scene.user("a", TEN);
    fs::hard_link(scene.work().join("a"), scene.work().join("b")).unwrap();
    scene.branch_off();
    scene.agent("a", &TEN.replace("9\n", "nine\n"));
    scene.user("a", &TEN.replace("2\n", "two\n"));
    fs::rename(scene.copy().join("b"), scene.copy().join("c")).unwrap();
    scene.applied();
    let inode = |name: &str| fs::metadata(scene.work().join(name)).unwrap().ino();
    assert_eq!((inode("a") == inode("c"), scene.work().join("b").exists()), (true, false));
    assert_eq!(scene.read("c"), TEN.replace("2\n", "two\n").replace("9\n", "nine\n"));
}

#[test]
fn ignored_files_of_the_workspace_stay_untouched() {
    let scene = MergeScene::empty();
    scene.user(".gitignore", "*.log\n.env\nbuild/\n");
    scene.user(".env", "SECRET=1\n");
    scene.user("src/a", "a\n");
    loop_testkit::must(&scene.work(), "git init -q");
    scene.branch_off();
    scene.agent(".env", "SECRET=branch\n");
    scene.agent("out.log", "of the branch\n");
    fs::remove_dir_all(scene.copy().join("src")).unwrap();
    scene.user("src/made.log", "ignored, and in a folder that the branch removed\n");
    scene.user("build/x", "x\n");
    scene.user(".env", "SECRET=2\n");
    let report = scene.applied();
    assert_eq!((names(&report.removed), names(&report.left)), (vec!["src/a".to_owned()], vec!["src".to_owned()]));
    assert_eq!((scene.read(".env"), scene.read("build/x")), ("SECRET=2\n".to_owned(), "x\n".to_owned()));
    assert!(scene.work().join("src/made.log").exists() && !scene.work().join("src/a").exists());
    assert!(!scene.work().join("out.log").exists());
}

#[test]
fn a_new_file_that_a_person_ignores_by_now_is_written_and_stays_in_scope() {
    let scene = MergeScene::empty();
    scene.user("a", "a\n");
    loop_testkit::must(&scene.work(), "git init -q");
    scene.branch_off();
    scene.agent("x.log", "work of the branch\n");
    scene.user(".gitignore", "*.log\n");
    scene.branch().take("iter-1", None).unwrap();
    let mut plan = scene.plan();
    let Ok(ApplyOutcome::Applied(report)) = apply(&mut plan, &REQUEST) else { panic!("not applied") };
    assert_eq!(scene.read("x.log"), "work of the branch\n");
    assert_eq!(plan.take("now", None).unwrap().tree, Some(report.tree));
}

#[test]
fn an_ignored_file_in_the_place_of_a_new_one_is_a_conflict() {
    let scene = MergeScene::empty();
    scene.user(".gitignore", "*.log\n");
    scene.user("folder/a", "a\n");
    loop_testkit::must(&scene.work(), "git init -q");
    scene.branch_off();
    scene.agent(".gitignore", "");
    scene.agent("x.log", "work of the branch\n");
    fs::remove_dir_all(scene.copy().join("folder")).unwrap();
    scene.agent("folder", "a file now\n");
    scene.user("x.log", "a person's log\n");
    scene.user("folder/y.log", "a person's log\n");
    let kind = ConflictKind::InTheWay;
    assert_eq!(scene.conflicts(), [("folder/y.log".to_owned(), kind), ("x.log".to_owned(), kind)]);
}

#[test]
fn a_file_that_only_the_branchs_rules_leave_out_is_not_deleted() {
    let scene = MergeScene::empty();
    scene.user(".gitignore", "*.log\n");
    scene.user("kept.log", "tracked although it is ignored\n");
    scene.user("a", "a\n");
    loop_testkit::must(&scene.work(), "git init -q && git add -f kept.log a");
    scene.plan().take("initial", None).unwrap();
    // The copy has no repository that says that it is tracked.
    fs::create_dir(scene.copy()).unwrap();
    [".gitignore", "kept.log", "a"]
        .iter()
        .for_each(|name| drop(fs::copy(scene.work().join(name), scene.copy().join(name))));
    fs::create_dir(scene.copy().join(".git")).unwrap();
    loop_testkit::must(&scene.copy(), "git init -q");
    scene.branch().take("initial", None).unwrap();
    scene.agent("a", "changed\n");
    let report = scene.applied();
    assert_eq!((names(&report.removed), names(&report.out_of_scope)), (vec![], vec!["kept.log".to_owned()]));
    assert!(scene.work().join("kept.log").exists());
}

#[test]
fn the_git_data_of_a_nested_repository_is_taken_whole_or_not_at_all() {
    let scene = MergeScene::empty();
    scene.user("nested/a", "a\n");
    loop_testkit::must(&scene.work(), "cd nested && git init -q && git add -A && git commit -qm one");
    scene.branch_off();
    loop_testkit::must(&scene.copy(), "cd nested && echo b > b && git add -A && git commit -qm two");
    scene.applied();
    loop_testkit::must(&scene.work(), "cd nested && test -z \"$(git status --porcelain)\" && git log | grep -q two");

    let scene = MergeScene::empty();
    scene.user("nested/a", "a\n");
    loop_testkit::must(&scene.work(), "cd nested && git init -q && git add -A && git commit -qm one");
    scene.branch_off();
    loop_testkit::must(&scene.copy(), "cd nested && echo b > b && git add -A && git commit -qm two");
    loop_testkit::must(&scene.work(), "cd nested && echo c > c && git add -A && git commit -qm three");
    assert_eq!(scene.conflicts(), [("nested/.git".to_owned(), ConflictKind::NestedRepository)]);
}

#[test]
fn an_apply_that_is_done_is_not_done_again() {
    let scene = MergeScene::with(&[("a", "a\n")]);
    scene.agent("a", "by a branch\n");
    let first = scene.applied();
    scene.user("a", "by a person, later\n");
    let ApplyOutcome::Applied(again) = scene.try_apply().unwrap() else { panic!("a conflict") };
    assert_eq!((again.written, again.tree, again.applied), (first.written, first.tree, first.applied));
    assert_eq!(scene.read("a"), "by a person, later\n");
    // Nor is it taken for another one.
    scene.agent("a", "more by a branch\n");
    scene.branch().take("iter-2", None).unwrap();
    let other = loop_host::merge::ApplyRequest { theirs: "branch/iter-2", ..REQUEST };
    let why = apply(&mut scene.plan(), &other).unwrap_err().to_string();
    assert_eq!(why, "checkpoint applied exists already, and it is of another apply");
    let missing = loop_host::merge::ApplyRequest { theirs: "branch/none", ..REQUEST };
    assert_eq!(apply(&mut scene.plan(), &missing).unwrap_err().to_string(), "there is no checkpoint branch/none");
}

#[test]
fn a_merge_without_a_workspace_is_a_checkpoint_like_any_other() {
    let scene = MergeScene::with(&[("a", TEN), ("b", "b\n")]);
    scene.user("a", &TEN.replace("2\n", "two\n"));
    scene.agent("a", &TEN.replace("9\n", "nine\n"));
    fs::create_dir(scene.copy().join("empty")).unwrap();
    scene.plan().take("ours", None).unwrap();
    scene.branch().take("iter-1", None).unwrap();
    let before = scene.sight();
    let mut store = scene.store();
    let [base, ours, theirs] = ["plan/initial", "plan/ours", THEIRS].map(|name| store.named(name).unwrap());
    let request = MergeRequest { base, ours, theirs, name: "plan/merged-1" };
    let MergeOutcome::Merged(merged) = three_way(&mut store, &request).unwrap() else { panic!("a conflict") };
    assert_eq!((store.named("plan/merged-1").unwrap(), scene.sight()), (merged.id, before));
    let whole = scene.store().load(merged.id).unwrap();
    let there: Vec<String> = names(&whole.names.keys().cloned().collect::<Vec<_>>());
    assert_eq!(there, ["a", "b", "empty"]);
    assert_eq!(whole.names[&b"empty"[..]].what, StoredKind::Folder);
    // The next merge begins with it, and a rollback to it works.
    let request = MergeRequest { base: ours, ours: merged.id, theirs: ours, name: "plan/merged-2" };
    let MergeOutcome::Merged(again) = three_way(&mut store, &request).unwrap() else { panic!("a conflict") };
    assert_eq!(again.tree, merged.tree);
    let to = RollbackRequest { to: "merged-1", undo: "undo", git: false, paths: &[] };
    assert_eq!(scene.plan().roll_back(&to).unwrap().tree, Some(merged.tree));
    assert_eq!(scene.read("a"), TEN.replace("2\n", "two\n").replace("9\n", "nine\n"));
}

#[test]
fn a_result_is_applied_although_a_tidy_removed_a_checkpoint_without_a_name() {
    let scene = MergeScene::with(&[("a", "a\n"), ("b", "b\n"), ("src/c", "c\n")]);
    scene.agent("made", "by a branch\n");
    scene.branch().take("iter-1", Some("initial")).unwrap();
    let mut plan = scene.plan();
    scene.user("a", "by a person\n");
    scene.user("src/new", "by a person\n");
    // As a later copy is made, the workspace is looked at; that checkpoint has no name any more.
    plan.take("seen", None).unwrap();
    scene.store().remove("plan/seen").unwrap();
    assert!(scene.store().collect(&[], false).unwrap().objects > 0);
    let ApplyOutcome::Applied(report) = apply(&mut plan, &REQUEST).unwrap() else { panic!("a conflict") };
    assert_eq!((scene.read("a"), scene.read("made")), ("by a person\n".to_owned(), "by a branch\n".to_owned()));
    scene.assert_whole();
    let to = RollbackRequest { to: &report.before, undo: "undo", git: false, paths: &[] };
    plan.roll_back(&to).unwrap();
    assert!(!scene.work().join("made").exists());
    assert_eq!(scene.read("src/new"), "by a person\n");
}
