//! Floods of output, and what our own processes need of memory meanwhile.
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// The program that floods: `flood SHAPE BYTES`. It is built beside the tests; where only one crate
/// was built, it is built here.
#[must_use]
pub fn flood_program() -> PathBuf {
    let own = std::env::current_exe().expect("this test's own program");
    let folder = own.parent().and_then(Path::parent).expect("the folder of what was built");
    let program = folder.join("flood");
    if !program.exists() {
        let profile = if folder.ends_with("release") { "release" } else { "dev" };
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.args(["build", "--quiet", "-p", "loop-testkit", "--bin", "flood", "--profile", profile]);
        assert!(command.status().is_ok_and(|status| status.success()), "cargo build -p loop-testkit --bin flood");
    }
    program
}

/// Watches what all processes of a program need of memory, those of one scratch user only.
#[derive(Debug)]
pub struct Memory {
    stop: Arc<AtomicBool>,
    watcher: Option<JoinHandle<u64>>,
}

impl Memory {
    /// Begins to watch.
    #[must_use]
    pub fn watch(program: &str, root: &Path) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (program, root, done) = (PathBuf::from(program), root.to_owned(), Arc::clone(&stop));
        let watcher = std::thread::spawn(move || {
            let (mut peak, mut seen) = (0, BTreeMap::<u32, u32>::new());
            while !done.load(Ordering::Relaxed) {
                let mut found = look(&program, &root);
                // A child between fork and exec shares its parent's memory; it is never seen for long.
                found.retain(|process| {
                    let looks = seen.entry(process.pid).or_default();
                    *looks += 1;
                    *looks > 2
                });
                peak = peak.max(found.iter().map(|process| process.own_kib).sum::<u64>());
                std::thread::sleep(Duration::from_millis(2));
            }
            peak
        });
        Self { stop, watcher: Some(watcher) }
    }

    /// The most that all of them needed together at any time, in KiB. Pages of the program's own file do not count: how
    /// many are touched depends on how it was built.
    #[must_use]
    pub fn peak_kib(mut self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        self.watcher.take().and_then(|watcher| watcher.join().ok()).expect("the watcher")
    }
}

struct Process {
    pid: u32,
    /// The peak of what it has for itself.
    own_kib: u64,
}

/// Processes of the program with their peaks. They are known by the user's folder in their
/// environment, or by descending from one that is.
fn look(program: &Path, root: &Path) -> Vec<Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let ours = pids.filter(|pid| fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe == program));
    let mut found: Vec<Process> = Vec::new();
    for pid in ours {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let root = root.as_os_str().as_encoded_bytes();
        let parent = field(&status, "PPid:").and_then(|pid| u32::try_from(pid).ok());
        let known = environment.windows(root.len()).any(|piece| piece == root)
            || found.iter().any(|process| Some(process.pid) == parent);
        if let Some(kib) = field(&status, "VmHWM:").filter(|_| known) {
            let of_file = field(&status, "RssFile:").unwrap_or(0);
            found.push(Process { pid, own_kib: kib.saturating_sub(of_file) });
        }
    }
    found
}

fn field(status: &str, name: &str) -> Option<u64> {
    status.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse().ok())
}
