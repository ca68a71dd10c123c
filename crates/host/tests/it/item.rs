//! One item of a list on real files and with real processes.
use std::fs::{self, File, FileTimes};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime};

use loop_core::list;
use loop_core::list::{Criterion, Item, List, ListFormat};
use loop_core::machine::consult;
use loop_core::policy::item::{
    AgentEnd, ArtifactOnDisk, ItemEnd, ItemEvaluation, ItemFailure, ItemSensor, ItemVerdict, evaluate,
};
use loop_core::settings::Values;
use loop_core::view::{ItemLogEntry, ItemPass, item_log_line, item_notes, item_progress_entry};
use loop_host::checkpoint::user_git::GitUser;
use loop_host::checkpoint::{CheckpointContext, RunCheckpoints};
use loop_host::clock;
use loop_host::gate::{GateContext, GateRunner};
use loop_host::item::{
    GivenSensors, ItemChanges, ItemSensors, LoopReading, LoopStart, SensorPlaces, approve_checks, look_at_artifact,
    read_loop,
};
use loop_host::paths::Home;
use loop_host::process::{Containment, become_reaper};
use loop_host::signals::Signals;

/// A workspace, the user's folders, and a folder for artifacts.
struct Place {
    root: tempfile::TempDir,
}

const PRD: &str = "{\"items\": [\n  {\"id\": \"A\", \"title\": \"write it\", \"passes\": false, \"notes\": \"\"}\n]}\n";

impl Place {
    fn new() -> Self {
        let place = Self { root: loop_testkit::folder_in_memory() };
        for folder in ["work", "home", "artifacts", "config"] {
            fs::create_dir(place.path(folder)).unwrap();
        }
        place.write("prd.json", PRD);
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn work(&self) -> PathBuf {
        self.path("work")
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.work().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn home(&self) -> Home {
        let home = self.path("home");
        Home::find(|name| (name == "LOOP_HOME").then(|| home.clone().into_os_string())).unwrap()
    }

    fn context(&self) -> CheckpointContext {
        CheckpointContext {
            run: "run".to_owned(),
            store: self.path("home/store"),
            workspace: self.work(),
            settings: Values::default().checkpoint,
            litter: Vec::new(),
            user: GitUser::default(),
            backend: "git".to_owned(),
        }
    }

    fn item(&self) -> Item {
        let criterion = |id: &str, artifacts: &[&str]| Criterion {
            id: id.to_owned(),
            text: format!("{id} holds"),
            artifacts: artifacts.iter().map(|path| (*path).to_owned()).collect(),
            ..Criterion::default()
        };
        let read = list::read("prd.json", PRD.as_bytes(), None).unwrap();
        Item { criteria: vec![criterion("1", &[]), criterion("2", &["out/report.txt"])], ..read.items[0].clone() }
    }

    /// One loop: the agent is a shell script, the rest is as in the program.
    fn play(&self, agent: &str, given: &GivenSensors) -> (ItemEvaluation, Vec<String>) {
        let item = self.item();
        let list = List {
            format: ListFormat::LoopSpec,
            kind: "prd.json",
            items: vec![item.clone()],
            commands: Vec::new(),
            warnings: Vec::new(),
        };
        let work = self.work();
        let file = work.join("prd.json");
        let places = SensorPlaces { workspace: &work, read_in: &work, file: &file };
        let sensors = ItemSensors::find(&self.home(), &places, &list, &item, given).unwrap();
        let mut own: Vec<String> = ["prd.json", "loop/log.txt", "progress.txt"].map(str::to_owned).to_vec();
        own.extend(sensors.files.clone());
        let mut checkpoints = RunCheckpoints::open(self.context(), Arc::new(AtomicBool::new(false))).unwrap();
        checkpoints.take("before", None).unwrap();
        // A minute ago: what is written now is newer, whatever the resolution of the file system's clock is.
        let start = LoopStart::take(&work, &item, &own, clock::now().wall_ms - 60_000).unwrap();
        let ended = Command::new("sh").args(["-c", agent]).current_dir(&work).status().unwrap();
        let edits = start.undo_edits(&work);
        checkpoints.take("after", Some("before")).unwrap();
        let diff = self.path("artifacts/diff.patch");
        let changes = ItemChanges::between(&self.context(), "before", "after", &own, &diff).unwrap();
        let agent = if ended.success() { AgentEnd::Ended } else { AgentEnd::Failed(ended.to_string()) };
        let reading = LoopReading {
            workspace: &work,
            outputs: &self.path("artifacts"),
            item: &item,
            number: 1,
            start: &start,
            sensors: &sensors,
            agent: &agent,
            changes: Some(&changes),
            edits: &edits,
            notes: "",
            missing: &[],
            strict_scope: false,
        };
        become_reaper().unwrap();
        let name = format!("item-test-{}", std::process::id());
        let containment = Containment::with_program(&loop_testkit::built("loop"), &name, "plain", None).unwrap();
        let mut signals = Signals::listen().unwrap();
        let gates =
            GateContext { folder: &work, same: None, is_copy: false, secrets: Arc::default(), variables: Vec::new() };
        let mut runner = GateRunner::new(gates, 60_000, self.path("artifacts/raw"), containment, &mut signals);
        let evidence = read_loop(&reading, &mut runner).unwrap().unwrap();
        (consult(|deciding| evaluate(&evidence, deciding)), changes.changed)
    }
}

fn check(command: &str) -> GivenSensors {
    GivenSensors { check: Some(command.to_owned()), ci: None }
}

const HONEST: &str = "mkdir -p out; echo new > src.txt; echo fine > out/report.txt";

// req: P-10 partly: the parts of one run; the program itself writes the decision
// req: P-03
// req: P-04
#[test]
fn one_loop_leaves_a_diff_a_verifier_output_and_what_the_decision_is_written_from() {
    let place = Place::new();
    let (evaluation, changed) = place.play(HONEST, &check("cat src.txt"));
    assert_eq!(evaluation.verdict, ItemVerdict::Pass, "{evaluation:?}");
    assert_eq!(changed, ["out/report.txt", "src.txt"]);
    let diff = fs::read_to_string(place.path("artifacts/diff.patch")).unwrap();
    assert!(diff.contains("+new\n") && !diff.contains("prd.json"), "{diff}");
    let output = fs::read_to_string(place.path("artifacts/check.txt")).unwrap();
    assert_eq!(output, "$ cat src.txt\nexit 0\nnew\n");
    let item = place.item();
    let wall_ms = clock::now().wall_ms;
    let pass = ItemPass { wall_ms, item: &item, loops: 1, evaluation: &evaluation, changed: &changed, proposed: None };
    let notes = item_notes(&pass);
    let ticked = list::tick(PRD.as_bytes(), ListFormat::LoopSpec, &list_item(), Some(&notes)).unwrap();
    let again = list::read("prd.json", &ticked, None).unwrap();
    assert!(again.items[0].done && again.items[0].notes.contains("diff.patch"), "{:?}", again.items[0]);
    assert!(item_progress_entry(&pass).contains("A: write it\npassed in 1 loop\n"));
    let artifacts = ["diff.patch", "check.txt", "prd.json", "progress.txt"].map(str::to_owned);
    let line = item_log_line(&ItemLogEntry {
        wall_ms,
        item: "A",
        number: 1,
        command: "cat src.txt",
        exit_code: Some(0),
        evaluation: &evaluation,
        artifacts: &artifacts,
        retry: None,
        end: Some(&ItemEnd::Passed),
    });
    assert!(line.contains("artifacts=\"diff.patch, check.txt, prd.json, progress.txt\""), "{line}");
}

/// The item as the file has it: a tick compares it.
fn list_item() -> Item {
    list::read("prd.json", PRD.as_bytes(), None).unwrap().items[0].clone()
}

// req: P-12 partly: the rules and the files; the program does it in part 11
// req: P-04
#[test]
fn agents_that_lie_in_files_do_not_pass_and_what_they_edited_is_as_it_was() {
    for (what, agent) in [
        ("ticks its own box", "sed -i s/false/true/ prd.json"),
        ("deletes the item", "echo '{\"items\": []}' > prd.json"),
        ("removes the list", "rm prd.json"),
        ("puts a link in place of the list", "mv prd.json other; ln -s other prd.json"),
        ("puts a folder in place of the list", "rm prd.json; mkdir -p prd.json/x"),
        ("writes the log", "mkdir -p loop; echo 'verdict=PASS' > loop/log.txt"),
        ("writes the progress", "echo 'A passed' >> progress.txt"),
        (
            "fakes an old artifact",
            "mkdir out; echo x > out/report.txt; touch -d 2001-01-01 out/report.txt; echo new > src.txt",
        ),
        (
            "fakes a future artifact",
            "mkdir out; echo x > out/report.txt; touch -d 2090-01-01 out/report.txt; echo new > src.txt",
        ),
        ("links an artifact", "mkdir out; echo new > src.txt; ln -s ../src.txt out/report.txt"),
        ("links the folder of an artifact", "mkdir real; echo x > real/report.txt; ln -s real out; echo new > src.txt"),
        ("leaves an artifact empty", "mkdir out; : > out/report.txt; echo new > src.txt"),
        ("makes a folder of an artifact", "mkdir -p out/report.txt; echo new > src.txt"),
        ("changes nothing but the artifact that is asked for", "mkdir out; echo x > out/report.txt"),
    ] {
        let place = Place::new();
        let (evaluation, _) = place.play(agent, &check("cat src.txt"));
        assert!(matches!(evaluation.verdict, ItemVerdict::Fail(_)), "{what}: {evaluation:?}");
        assert_eq!(fs::read_to_string(place.work().join("prd.json")).unwrap(), PRD, "{what}");
        assert!(!place.work().join("prd.json").is_symlink(), "{what}");
        assert!(!place.work().join("loop/log.txt").exists() && !place.work().join("progress.txt").exists(), "{what}");
    }
}

#[test]
fn an_old_artifact_that_is_only_touched_does_not_count() {
    let place = Place::new();
    place.write("out/report.txt", "from before");
    let (evaluation, _) = place.play("touch out/report.txt; echo new > src.txt", &check("cat src.txt"));
    assert_eq!(evaluation.verdict, ItemVerdict::Fail(ItemFailure::ArtifactMissing), "{evaluation:?}");
}

// req: P-13
#[test]
fn scripts_of_the_repository_are_run_only_as_a_person_approved_them_and_an_agent_cannot_weaken_them() {
    let place = Place::new();
    place.write("scripts/ralph/loop.sh", "grep -q right src.txt\n");
    place.write(".pre-commit-config.yaml", "repos: []\n");
    let none = GivenSensors::default();
    let sensor = |evaluation: ItemEvaluation| match evaluation.verdict {
        ItemVerdict::SensorMissing(missing) => missing.sensor,
        ItemVerdict::Pass | ItemVerdict::Fail(_) => panic!("{evaluation:?}"),
    };
    assert_eq!(sensor(place.play(HONEST, &none).0), ItemSensor::Check);
    let (home, work, item) = (place.home(), place.work(), place.item());
    let list = list::read("prd.json", PRD.as_bytes(), None).unwrap();
    let file = work.join("prd.json");
    let places = SensorPlaces { workspace: &work, read_in: &work, file: &file };
    let find = || ItemSensors::find(&home, &places, &list, &item, &none).unwrap();
    assert_eq!(find().not_approved().len(), 2);
    approve_checks(&home, &find().not_approved()[..1]).unwrap();
    assert_eq!(sensor(place.play(HONEST, &none).0), ItemSensor::PreCommit, "the other one is still missing, not green");
    fs::remove_file(work.join(".pre-commit-config.yaml")).unwrap();
    let weak = format!("{HONEST}; echo true > scripts/ralph/loop.sh");
    let (evaluation, _) = place.play(&weak, &none);
    assert_eq!(evaluation.verdict, ItemVerdict::Fail(ItemFailure::CheckFailed), "{evaluation:?}");
    assert_eq!(evaluation.flags, ["edits of the agent that were undone: scripts/ralph/loop.sh"]);
    let (evaluation, _) = place.play(&HONEST.replace("new", "right").replace("fine", "fine now"), &none);
    assert_eq!(evaluation.verdict, ItemVerdict::Pass, "{evaluation:?}");
}

// req: P-13
#[test]
fn a_red_ci_command_fails_the_item_and_one_that_is_not_there_is_a_missing_sensor() {
    let given = |ci: &str| GivenSensors { check: Some("true".to_owned()), ci: Some(ci.to_owned()) };
    let place = Place::new();
    assert_eq!(place.play(HONEST, &given("false")).0.verdict, ItemVerdict::Fail(ItemFailure::HookFailed));
    let place = Place::new();
    let found = place.play(HONEST, &given("no-such-program-here")).0.verdict;
    assert!(matches!(found, ItemVerdict::SensorMissing(ref missing) if missing.sensor == ItemSensor::Ci), "{found:?}");
    let kept = fs::read_to_string(place.path("artifacts/ci.txt")).unwrap();
    assert!(kept.starts_with("$ no-such-program-here\nexit 127\n"), "{kept}");
}

#[test]
fn an_artifact_is_looked_at_by_no_link_and_never_outside_of_the_workspace() {
    let place = Place::new();
    let work = place.work();
    place.write("a/file", "x");
    symlink("a", work.join("link")).unwrap();
    symlink("file", work.join("a/other")).unwrap();
    fs::write(place.path("secret"), "x").unwrap();
    let look = |path: &str| look_at_artifact(&work, path);
    assert!(matches!(look("a/file"), ArtifactOnDisk::File { bytes: 1, .. }));
    assert_eq!(look("a/none"), ArtifactOnDisk::Absent);
    assert_eq!(look("a"), ArtifactOnDisk::NotAFile);
    assert_eq!(look("a/other"), ArtifactOnDisk::Link);
    assert_eq!(look("link/file"), ArtifactOnDisk::Link);
    for outside in ["../secret", "a/../../secret", "/etc/passwd", ""] {
        assert_eq!(look(outside), ArtifactOnDisk::Outside, "{outside}");
    }
    let then = SystemTime::UNIX_EPOCH + Duration::from_millis(1_500);
    File::options()
        .write(true)
        .open(work.join("a/file"))
        .unwrap()
        .set_times(FileTimes::new().set_modified(then))
        .unwrap();
    assert_eq!(look("a/file"), ArtifactOnDisk::File { modified_ms: 1_500, bytes: 1 });
    assert_eq!(
        look_at_artifact(Path::new("/no/such/folder/here"), "a").clone(),
        look_at_artifact(Path::new("/no/such/folder/here"), "b")
    );
}
