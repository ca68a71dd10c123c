//! What a checkpoint on btrfs costs beside the bare call, measured in turns; `cargo xtask bench --only btrfs` reads
//! what it prints: a line a round with five times in milliseconds.
#![expect(clippy::unwrap_used, clippy::print_stdout, clippy::panic, reason = "a measurement, read by xtask")]
use std::fs;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use loop_host::checkpoint::btrfs::{SnapshotMaker, SnapshotOwner, trial};
use loop_host::checkpoint::open_folder;
use loop_testkit::{Format, LoopImage};
use rustix::ioctl::{Setter, ioctl, opcode};

/// So many files change between two checkpoints.
const CHANGED: usize = 10;
/// So many files are in a folder.
const FOLDER: usize = 100;
const OF: SnapshotOwner<'static> = SnapshotOwner { store: "store", run: "run" };

/// `btrfs_ioctl_vol_args_v2`.
#[repr(C)]
struct Arguments {
    handle: i64,
    transaction: u64,
    flags: u64,
    unused: [u64; 4],
    name: [u8; 4040],
}

/// The floor: the call alone, with everything open that it needs.
#[expect(unsafe_code, reason = "no safe library offers this call")]
fn bare(workspace: &OwnedFd, folder: &OwnedFd, number: usize) {
    let mut name = [0; 4040];
    let text = format!("bare{number}");
    name[..text.len()].copy_from_slice(text.as_bytes());
    let handle = i64::from(workspace.as_fd().as_raw_fd());
    let arguments = Arguments { handle, transaction: 0, flags: 1 << 1, unused: [0; 4], name };
    // SAFETY: the layout is the kernel's, which reads it and keeps nothing of it.
    unsafe { ioctl(folder, Setter::<{ opcode::write::<Arguments>(0x94, 23) }, Arguments>::new(arguments)) }.unwrap();
}

struct Work {
    path: PathBuf,
    files: usize,
    workspace: OwnedFd,
    bare: OwnedFd,
    place: SnapshotMaker,
    edits: usize,
    taken: usize,
}

impl Work {
    fn new(root: &Path, name: &str, files: usize) -> Self {
        let (above, beside) = (root.join(name), root.join(name).join("bare"));
        fs::create_dir_all(&beside).unwrap();
        let path = above.join("work");
        let made = Command::new("btrfs").args(["subvolume", "create"]).arg(&path).output().unwrap();
        assert!(made.status.success());
        for number in 0..files {
            if number % FOLDER == 0 {
                fs::create_dir(path.join(format!("folder{}", number / FOLDER))).unwrap();
            }
            fs::write(path.join(Self::file(number)), format!("file {number}\n")).unwrap();
        }
        let (workspace, bare) = (open_folder(&path).unwrap(), open_folder(&beside).unwrap());
        let place = trial(&path).unwrap();
        Self { path, files, workspace, bare, place, edits: 0, taken: 0 }
    }

    fn file(number: usize) -> String {
        format!("folder{}/file{number}", number / FOLDER)
    }

    fn edit(&mut self) {
        for _ in 0..CHANGED {
            self.edits += 1;
            // All in one folder. Edits all over a tree make btrfs itself copy more of it, the larger it is, which the
            // bare call pays as well.
            let number = (self.files / 2 + self.edits % FOLDER) % self.files;
            fs::write(self.path.join(Self::file(number)), format!("edit {}\n", self.edits)).unwrap();
        }
    }

    fn time_bare(&mut self) -> f64 {
        self.edit();
        let begun = Instant::now();
        bare(&self.workspace, &self.bare, self.edits);
        begun.elapsed().as_secs_f64() * 1e3
    }

    fn time_ours(&mut self) -> f64 {
        self.edit();
        self.time_take()
    }

    fn time_take(&mut self) -> f64 {
        self.taken += 1;
        let name = format!("ours{}", self.taken);
        let begun = Instant::now();
        let taken = self.place.take(OF, &name).unwrap();
        let time = begun.elapsed().as_secs_f64() * 1e3;
        drop(taken);
        time
    }
}

fn main() {
    let numbers: Vec<usize> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let [rounds, few, many] = numbers[..] else { panic!("ROUNDS FEW MANY") };
    let image = LoopImage::new(Format::Btrfs);
    let mut small = Work::new(&image.path(), "small", few);
    let mut large = Work::new(&image.path(), "large", many);
    rustix::fs::syncfs(&large.bare).unwrap();
    // What the first rounds cost is warming up.
    for round in 0..rounds + 3 {
        let [bare, ours] = if round % 2 == 0 {
            let bare = large.time_bare();
            [bare, large.time_ours()]
        } else {
            let ours = large.time_ours();
            [large.time_bare(), ours]
        };
        let few = small.time_ours();
        // And with nothing changed since, for the number of files alone.
        let [many_clean, few_clean] = [large.time_take(), small.time_take()];
        if round >= 3 {
            println!("{bare} {ours} {few} {many_clean} {few_clean}");
        }
    }
}
