//! Power cuts: the file system under the state folder and the workspace stops at once, and what was not on disk is lost.
//! Whatever was acknowledged before can be had afterwards, byte for byte.
//!
//! `POWER_CUTS=500` cuts more often.
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use loop_testkit::{Format, LoopImage, TestEnv, strace, wait_until};

use crate::rollback_points::picture;
use crate::start;

/// What `lstat` and reading tell of a workspace, kept in memory: no power cut reaches it.
type Sight = BTreeMap<String, String>;

/// Files that are overwritten where they lie, so many that loop writes its own notes of them down.
const STEADY: u32 = 300;
/// Loop reads again whatever changed within a shorter time than this.
const OLD_ENOUGH: Duration = Duration::from_millis(60);

fn cuts() -> u32 {
    std::env::var("POWER_CUTS").ok().and_then(|text| text.parse().ok()).unwrap_or(50)
}

/// A machine whose disk is an image: workspace, and state folder unless that is elsewhere.
struct Machine {
    user: TestEnv,
    image: LoopImage,
    starts: Cell<u32>,
    id: String,
}

impl Machine {
    /// With a loop that has ended.
    fn new(format: Format, state: Option<PathBuf>) -> Self {
        let image = LoopImage::new(format);
        let boot = image.outside().join("boot_id");
        let around = format!("mount --bind '{}' /proc/sys/kernel/random/boot_id && exec \"$@\"", boot.display());
        let user = TestEnv::within(env!("CARGO_BIN_EXE_loop"), &image.path());
        let user = user.run_by(&["unshare", "-m", "sh", "-c", &around, "sh"]);
        if let Some(state) = state {
            fs::create_dir_all(user.state().parent().unwrap()).unwrap();
            symlink(state, user.state()).unwrap();
        }
        let mut machine = Self { user, image, starts: Cell::new(0), id: String::new() };
        machine.start();
        machine.change(0);
        machine.user.run(&start("echo x > made", "test -e made", &[])).expect_code(0);
        machine.id = machine.user.id();
        machine
    }

    /// Another start of the machine has another id.
    fn start(&self) {
        self.starts.set(self.starts.get() + 1);
        let id = format!("{:08x}-0000-4000-8000-000000000000\n", self.starts.get());
        fs::write(self.image.outside().join("boot_id"), id).unwrap();
    }

    fn cut(&self) {
        self.image.cut_power();
        self.image.remount();
        self.start();
    }

    fn sight(&self) -> Sight {
        picture(&self.user.work())
    }

    /// Changes the workspace in every kind of way, and syncs nothing.
    fn change(&self, round: u32) -> Sight {
        let work = self.user.work();
        for number in 0..STEADY {
            let path = work.join(format!("steady-{number:03}"));
            let mut file = OpenOptions::new().write(true).create(true).truncate(false).open(path).unwrap();
            // The same length in the same place: only the times tell.
            file.write_all(format!("round {round:08}\n").as_bytes()).unwrap();
        }
        fs::remove_dir_all(work.join("folder")).ok();
        fs::create_dir_all(work.join("folder/deep/hollow")).unwrap();
        fs::write(work.join(format!("folder/deep/{round}")), "x".repeat(usize::try_from(round * 997).unwrap()))
            .unwrap();
        fs::write(work.join("grows"), "line\n".repeat(usize::try_from(round).unwrap())).unwrap();
        fs::write(work.join(format!("new-{round}")), round.to_string()).unwrap();
        fs::remove_file(work.join(format!("new-{}", round.wrapping_sub(3)))).ok();
        fs::remove_file(work.join("link")).ok();
        symlink(format!("nowhere-{round}"), work.join("link")).unwrap();
        let mode = [0o600, 0o644, 0o755, 0o4755][usize::try_from(round % 4).unwrap()];
        fs::set_permissions(work.join("grows"), fs::Permissions::from_mode(mode)).unwrap();
        let since = Instant::now();
        wait_until("what changed is old enough to be believed", || since.elapsed() > OLD_ENOUGH);
        self.sight()
    }

    fn run(&self, words: &[&str]) {
        self.user.run(words).expect_code(0);
    }

    fn listed(&self) -> Vec<String> {
        let list = self.user.run(&["checkpoint", "list", &self.id, "--json"]).expect_code(0).json();
        list["checkpoints"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect()
    }

    /// What is wrong with a checkpoint that was acknowledged.
    fn lost(&self, name: &str, sight: &Sight) -> Option<String> {
        if !self.listed().contains(&name.to_owned()) {
            return Some(format!("{name} is not listed"));
        }
        let ran = self.user.run(&["rollback", &self.id, name]);
        if ran.code != Some(0) {
            return Some(format!("rollback {name}: {}", ran.text()));
        }
        let differences = differences(sight, &self.sight());
        (!differences.is_empty()).then(|| format!("rollback {name}: {differences}"))
    }
}

/// Which names differ, in few words.
fn differences(one: &Sight, other: &Sight) -> String {
    let names = one.keys().chain(other.keys()).filter(|name| one.get(*name) != other.get(*name));
    let brief = |text: Option<&String>| text.map(|text| text.chars().take(40).collect::<String>());
    let said = names.map(|name| format!("{name}: {:?} is {:?}", brief(one.get(name)), brief(other.get(name))));
    said.take(5).collect::<Vec<_>>().join("; ")
}

/// Acknowledged checkpoints and rollbacks, and a power cut right after each.
#[expect(clippy::print_stdout, reason = "how many were lost is part of the result")]
fn acknowledged(format: Format) {
    let machine = Machine::new(format, None);
    let mut kept: Vec<(String, Sight)> = Vec::new();
    let (mut lost, mut work_lost, mut rollbacks) = (Vec::new(), 0, 0);
    for round in 1..=cuts() {
        let name = format!("round-{round}");
        let sight = machine.change(round);
        machine.run(&["checkpoint", &machine.id, &name]);
        kept.push((name.clone(), sight.clone()));
        let back = (round % 3 == 0).then(|| &kept[usize::try_from(round / 2).unwrap()]);
        if let Some((target, _)) = back {
            machine.run(&["rollback", &machine.id, target]);
            rollbacks += 1;
        }
        machine.cut();
        match back {
            // Every file that going back wrote is on disk before it says so.
            Some((target, wanted)) => {
                let differences = differences(wanted, &machine.sight());
                lost.extend((!differences.is_empty()).then(|| format!("{round}: back to {target}: {differences}")));
            }
            None => work_lost += u32::from(machine.sight() != sight),
        }
        lost.extend(machine.lost(&name, &sight).map(|what| format!("{round}: {what}")));
    }
    for (name, sight) in &kept {
        lost.extend(machine.lost(name, sight).map(|what| format!("at the end: {what}")));
    }
    let rounds = cuts();
    println!("{format:?}: {rounds} cuts after {rounds} checkpoints and {rollbacks} rollbacks, {} lost", lost.len());
    println!("  (work that nobody had synced was lost by {work_lost} of them)");
    assert!(lost.is_empty(), "{lost:#?}");
    assert!(work_lost > 0, "the power was never cut: a check that cannot fail is none");
}

#[test]
fn on_ext4_nothing_that_was_acknowledged_is_lost_by_a_power_cut() {
    // req: D-08
    acknowledged(Format::Ext4);
}

#[test]
fn on_xfs_nothing_that_was_acknowledged_is_lost_by_a_power_cut() {
    // req: D-08
    acknowledged(Format::Xfs);
}

/// The state folder is on another disk, so that what it syncs does not help the workspace's.
#[expect(clippy::print_stdout, reason = "how many were lost is part of the result")]
fn workspace_alone(format: Format) {
    let elsewhere = tempfile::tempdir().unwrap();
    let machine = Machine::new(format, Some(elsewhere.path().to_owned()));
    let mut lost = Vec::new();
    for round in 1..=cuts().div_ceil(3) {
        let first = machine.change(round * 2);
        machine.run(&["checkpoint", &machine.id, &format!("round-{round}")]);
        let work = machine.user.work();
        match round % 3 {
            // Very much, which is synced with the whole disk; else each for itself.
            0 => drop(machine.change(round * 2 + 1)),
            1 => {
                fs::remove_file(work.join("grows")).unwrap();
                fs::write(work.join("steady-000"), "other").unwrap();
                for (name, mode) in [("steady-001", 0o600), ("folder", 0o711), ("folder/deep/hollow", 0o0)] {
                    fs::set_permissions(work.join(name), fs::Permissions::from_mode(mode)).unwrap();
                }
            }
            // Only something to remove: no file is written.
            _ => fs::write(work.join("folder/made-since"), "x").unwrap(),
        }
        // What is there before is on disk, so that only what going back does can be lost.
        assert!(std::process::Command::new("sync").arg("-f").arg(machine.image.path()).status().unwrap().success());
        machine.run(&["rollback", &machine.id, &format!("round-{round}")]);
        machine.cut();
        let differences = differences(&first, &machine.sight());
        lost.extend((!differences.is_empty()).then(|| format!("{round}: {differences}")));
    }
    println!("{format:?}, only the workspace's disk: {} of {} lost", lost.len(), cuts().div_ceil(3));
    assert!(lost.is_empty(), "{lost:#?}");
}

#[test]
fn a_rollback_is_on_disk_when_it_is_acknowledged_whatever_disk_the_state_is_on() {
    // req: D-08
    workspace_alone(Format::Ext4);
    workspace_alone(Format::Xfs);
}

/// Cuts at any moment of a checkpoint or a rollback.
#[expect(clippy::print_stdout, reason = "how many were lost is part of the result")]
fn in_the_middle(format: Format) {
    let machine = Machine::new(format, None);
    let before = machine.change(1);
    let (mut whole, mut absent, mut faults) = (0, 0, Vec::new());
    let began = Instant::now();
    machine.run(&["checkpoint", &machine.id, "before"]);
    let all = began.elapsed();
    for round in 2..=cuts() / 2 + 1 {
        let (name, sight) = (format!("round-{round}"), machine.change(round));
        let running = machine.user.begin(&["checkpoint", &machine.id, &name]);
        // Some moment, another in each round; the program that cuts takes its time too.
        let (began, moment) = (Instant::now(), all * (round * 7 % 23) / 20);
        while began.elapsed() < moment {
            std::thread::yield_now();
        }
        machine.image.cut_power();
        let acknowledged = running.end().code == Some(0);
        machine.image.remount();
        machine.start();
        if machine.listed().contains(&name) {
            whole += 1;
            faults.extend(machine.lost(&name, &sight).map(|what| format!("{round}: listed, but {what}")));
        } else {
            absent += 1;
            faults.extend(acknowledged.then(|| format!("{round}: acknowledged and lost")));
        }
        faults.extend(machine.lost("before", &before).map(|what| format!("{round}: {what}")));
    }
    println!("{format:?}, cuts in the middle of checkpoints: {whole} whole, {absent} absent, {} wrong", faults.len());
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn a_checkpoint_that_a_power_cut_hits_is_whole_or_absent_and_those_before_it_are_whole() {
    // req: D-08
    in_the_middle(Format::Ext4);
    in_the_middle(Format::Xfs);
}

#[test]
#[expect(clippy::print_stdout, reason = "how many were lost is part of the result")]
fn a_loop_that_did_not_sync_would_be_found_out() {
    for format in [Format::Ext4, Format::Xfs] {
        let machine = Machine::new(format, None);
        let mut lost = Vec::new();
        for round in 1..=5 {
            let (name, sight) = (format!("round-{round}"), machine.change(round));
            // The calls say that all went well, and do nothing.
            let never = "inject=fsync,fdatasync,syncfs,sync_file_range:retval=0";
            let log = machine.image.outside().join("calls");
            let mut command = strace(&["-f", "-e", "trace=fsync,fdatasync,syncfs,sync_file_range", "-e", never], &log);
            let own = machine.user.command(&["checkpoint", &machine.id, &name]);
            command.arg(own.get_program()).args(own.get_args());
            machine.user.apply_env(&mut command);
            assert!(command.output().unwrap().status.success());
            machine.cut();
            lost.extend(machine.lost(&name, &sight));
        }
        println!("{format:?}: without syncs {} of 5 are lost", lost.len());
        assert!(!lost.is_empty(), "{format:?}: nothing was lost although nothing was synced: this check sees nothing");
    }
}
