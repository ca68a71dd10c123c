//! Kill points of applying and of merging: the process is killed at every call that changes something. The same call
//! again finishes the apply, or undoes it, and what a person did before and after the crash is kept. A merge that is made
//! again gives the same tree, and changes nothing in the workspace.
//!
//! `./check` takes a sample, another one each day; `KILL_POINTS=all` takes all.
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use loop_host::merge::{ApplyOutcome, MergeOutcome, MergeRequest, apply, three_way};
use loop_testkit::{Call, strace};

use crate::merge_scene::{MergeScene, REQUEST, THEIRS};
use crate::sight::{Sight, differences};

const CALLS: [&str; 20] = [
    "write",
    "pwrite64",
    "openat",
    "mkdir",
    "mkdirat",
    "rename",
    "renameat",
    "renameat2",
    "link",
    "linkat",
    "symlinkat",
    "unlink",
    "unlinkat",
    "ftruncate",
    "chmod",
    "fchmod",
    "fchmodat",
    "fsync",
    "fdatasync",
    "rmdir",
];
/// One in so many is taken, another each day.
const SHARE: u64 = 24;
/// Where the process of a test finds its scene.
const SCENE: &str = "APPLY_OF_TEST";

/// A workspace and a branch that differ in each kind of way.
fn prepared() -> MergeScene {
    let scene = MergeScene::empty();
    let text: String = (1..20).map(|line| format!("line {line}\n")).collect();
    for name in ["both", "changed", "gone", "moved", "kept", "hard", "to-link", "to-folder", "was/inside"] {
        scene.user(name, &format!("{name}\n{text}"));
    }
    fs::hard_link(scene.work().join("hard"), scene.work().join("hard-too")).unwrap();
    scene.user("closed/file", "x\n");
    fs::set_permissions(scene.work().join("closed"), Permissions::from_mode(0o500)).unwrap();
    scene.branch_off();
    let copy = scene.copy();
    scene.agent("both", &format!("both\n{text}by the branch\n"));
    scene.agent("changed", "by the branch\n");
    fs::remove_file(copy.join("gone")).unwrap();
    fs::create_dir(copy.join("new")).unwrap();
    fs::rename(copy.join("moved"), copy.join("new/place")).unwrap();
    fs::set_permissions(copy.join("kept"), Permissions::from_mode(0o755)).unwrap();
    fs::remove_file(copy.join("hard-too")).unwrap();
    fs::hard_link(copy.join("hard"), copy.join("hard-three")).unwrap();
    fs::remove_file(copy.join("to-link")).unwrap();
    symlink("kept", copy.join("to-link")).unwrap();
    fs::remove_file(copy.join("to-folder")).unwrap();
    scene.agent("to-folder/inside", "x\n");
    fs::remove_dir_all(copy.join("was")).unwrap();
    scene.agent("was", "a file now\n");
    fs::create_dir(copy.join("empty")).unwrap();
    fs::set_permissions(copy.join("closed"), Permissions::from_mode(0o700)).unwrap();
    scene.agent("closed/file", "y\n");
    fs::set_permissions(copy.join("closed"), Permissions::from_mode(0o500)).unwrap();
    scene.branch().take("iter-1", Some("initial")).unwrap();
    scene.user("by-hand", "a person's own work\n");
    scene.user("both", &format!("BOTH\n{text}"));
    scene.user("moved", &format!("moved\nby a person\n{text}"));
    scene
}

/// Not a test by itself: the process that is killed.
#[test]
fn one_that_applies() {
    let Some(root) = std::env::var_os(SCENE) else { return };
    let scene = MergeScene::at(Path::new(&root));
    apply(&mut scene.plan(), &REQUEST).unwrap();
}

/// What the workspace has now is one version, what the branch left the other one.
fn prepared_merge() -> MergeScene {
    let scene = prepared();
    scene.plan().take("ours", Some("initial")).unwrap();
    scene
}

fn merged(scene: &MergeScene) -> MergeOutcome {
    let mut store = scene.store();
    let [base, ours, theirs] = ["plan/initial", "plan/ours", THEIRS].map(|name| store.named(name).unwrap());
    three_way(&mut store, &MergeRequest { base, ours, theirs, name: "plan/merged-1" }).unwrap()
}

/// Not a test by itself: the process that is killed.
#[test]
fn one_that_merges() {
    let Some(root) = std::env::var_os(SCENE) else { return };
    drop(merged(&MergeScene::at(Path::new(&root))));
}

const APPLIES: &str = "merge_points::one_that_applies";
const MERGES: &str = "merge_points::one_that_merges";

fn traced(scene: &MergeScene, process: &str, options: &[&str]) -> bool {
    let log = scene.root.join("calls");
    let mut command = strace(&[&["-f"], options].concat(), &log);
    command.arg(std::env::current_exe().unwrap()).args(["--exact", process, "--test-threads=1"]);
    command.env(SCENE, &scene.root).output().unwrap().status.success()
}

/// Every call, and how often it is made. Which number one of several threads has is not known: a number that no thread
/// reaches kills nothing.
fn points(scene: &MergeScene, process: &str) -> Vec<(String, u32)> {
    let calls = CALLS.map(|call| format!("?{call}")).join(",");
    assert!(traced(scene, process, &["-e", &format!("trace={calls}")]));
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    for call in Call::read(&scene.root.join("calls")) {
        *counts.entry(call.name).or_insert(0) += 1;
    }
    counts.into_iter().flat_map(|(call, times)| (1..=times).map(move |k| (call.clone(), k))).collect()
}

fn is_taken(number: usize) -> bool {
    if std::env::var("KILL_POINTS").is_ok_and(|which| which == "all") {
        return true;
    }
    let days = std::time::UNIX_EPOCH.elapsed().map_or(0, |time| time.as_secs() / 86_400);
    u64::try_from(number).unwrap() % SHARE == days % SHARE
}

/// What is there after an apply that nothing disturbed.
fn finished() -> Sight {
    let scene = prepared();
    assert!(matches!(apply(&mut scene.plan(), &REQUEST), Ok(ApplyOutcome::Applied(_))));
    scene.sight()
}

fn same(one: &Sight, other: &Sight) -> Result<(), String> {
    if one == other { Ok(()) } else { Err(format!("{:?}", differences(one, other))) }
}

/// What the same call again did.
fn word(scene: &MergeScene, is_applied: bool) -> &'static str {
    let was_half_done = scene.store().named("plan/before-apply.2").is_ok();
    match (was_half_done, is_applied) {
        (true, true) => "finished",
        (true, false) => "undone",
        (false, true) => "done, or begun again",
        (false, false) => "refused",
    }
}

/// The same call again comes to its end.
fn again(scene: &MergeScene, wanted: &Sight) -> Result<&'static str, String> {
    match apply(&mut scene.plan(), &REQUEST) {
        Ok(ApplyOutcome::Applied(report)) => {
            same(&scene.sight(), wanted)?;
            let now = scene.plan().take("now", None).unwrap().tree;
            let is_equal = now.as_deref() == Some(report.tree.as_str());
            if is_equal { Ok(word(scene, true)) } else { Err("another tree".to_owned()) }
        }
        other => Err(format!("{other:?}")),
    }
}

/// A person changed something since: in a file that the apply does not touch, and in one that it does.
fn with_later_changes(scene: &MergeScene, before: &Sight, wanted: &Sight) -> Result<&'static str, String> {
    let with = |sight: &Sight, name: &str, text: &str| {
        let mut sight = sight.clone();
        let mode = sight.get(name.as_bytes()).map_or(0o100_644, |(mode, ..)| *mode);
        sight.insert(name.as_bytes().to_vec(), (mode, text.as_bytes().to_vec(), name.as_bytes().to_vec()));
        sight
    };
    scene.user("by-hand", "later\n");
    scene.user("changed", "later, by a person\n");
    match apply(&mut scene.plan(), &REQUEST) {
        Ok(ApplyOutcome::Conflicts(_)) => {
            let before = with(&with(before, "by-hand", "later\n"), "changed", "later, by a person\n");
            same(&scene.sight(), &before).map(|()| word(scene, false))
        }
        // It was done already when it was killed.
        Ok(ApplyOutcome::Applied(_)) => {
            let wanted = with(&with(wanted, "by-hand", "later\n"), "changed", "later, by a person\n");
            same(&scene.sight(), &wanted).map(|()| word(scene, true))
        }
        Err(error) => Err(error.to_string()),
    }
}

#[test]
#[expect(clippy::print_stdout, reason = "the number of points is part of the result")]
fn an_apply_killed_at_any_point_is_finished_or_undone_by_the_same_call_again() {
    // req: D-16 partly: applying a branch
    let (all, wanted) = (points(&prepared(), APPLIES), finished());
    assert!(all.len() > 100, "only {} points", all.len());
    let taken = all.iter().enumerate().filter(|(number, _)| is_taken(*number)).map(|(_, point)| point);
    let cases: Vec<_> = taken.flat_map(|(call, k)| [(call, k, false), (call, k, true)]).collect();
    let results = loop_testkit::for_all(&cases, |(call, k, is_later)| {
        let scene = prepared();
        let before = scene.sight();
        let inject = format!("inject={call}:signal=KILL:when={k}");
        let is_done = traced(&scene, APPLIES, &["-e", &format!("trace={call}"), "-e", &inject]);
        let judged = if *is_later { with_later_changes(&scene, &before, &wanted) } else { again(&scene, &wanted) };
        (!is_done, judged.map_err(|what| format!("{call} {k}, changed since: {is_later}: {what}")))
    });
    let killed = results.iter().filter(|(killed, _)| *killed).count();
    let faults: Vec<&String> = results.iter().filter_map(|(_, judged)| judged.as_ref().err()).collect();
    assert!(faults.is_empty(), "{} of {} cases failed:\n{faults:#?}", faults.len(), cases.len());
    assert!(killed > 0 || cases.is_empty(), "no point killed anything");
    let mut words: BTreeMap<&str, u32> = BTreeMap::new();
    results.iter().filter_map(|(_, judged)| judged.as_ref().ok()).for_each(|word| *words.entry(word).or_default() += 1);
    println!(
        "kill points of an apply: {} points, {} cases, {killed} killed, 0 lost: {words:?}",
        all.len(),
        cases.len()
    );
    let is_all = cases.len() == 2 * all.len();
    assert!(!is_all || words.len() == 4, "not every end was there");
}

#[test]
#[expect(clippy::print_stdout, reason = "the number of points is part of the result")]
fn a_merge_killed_at_any_point_gives_the_same_tree_when_it_is_made_again() {
    // req: D-12 partly: merges of results
    let tree = |scene: &MergeScene| match merged(scene) {
        MergeOutcome::Merged(merged) => Ok(merged.tree),
        MergeOutcome::Conflicts(found) => Err(format!("{found:?}")),
    };
    let (all, wanted) = (points(&prepared_merge(), MERGES), tree(&prepared_merge()).unwrap());
    assert!(all.len() > 10, "only {} points", all.len());
    let cases: Vec<_> =
        all.iter().enumerate().filter(|(number, _)| is_taken(*number)).map(|(_, point)| point).collect();
    let results = loop_testkit::for_all(&cases, |(call, k)| {
        let scene = prepared_merge();
        let before = scene.sight();
        let inject = format!("inject={call}:signal=KILL:when={k}");
        let is_done = traced(&scene, MERGES, &["-e", &format!("trace={call}"), "-e", &inject]);
        let again = tree(&scene);
        scene.assert_whole();
        let same_tree = again.as_ref() == Ok(&wanted);
        let fault = same(&scene.sight(), &before).err().or_else(|| (!same_tree).then(|| format!("{again:?}")));
        (!is_done, fault.map(|what| format!("{call} {k}: {what}")))
    });
    let killed = results.iter().filter(|(killed, _)| *killed).count();
    let faults: Vec<&String> = results.iter().filter_map(|(_, fault)| fault.as_ref()).collect();
    assert!(faults.is_empty(), "{} of {} cases failed:\n{faults:#?}", faults.len(), cases.len());
    assert!(killed > 0 || cases.is_empty(), "no point killed anything");
    println!("kill points of a merge: {} points, {} cases, {killed} killed, 0 lost", all.len(), cases.len());
}
