//! What copies of a large repository cost, in turns with `git worktree add` of the same repository. `cargo xtask bench`
//! builds and runs it; it prints one line of JSON for each copy.
//!
//! `copies_figures <scratch> <files> <copies>`
use std::error::Error;
use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use loop_host::checkpoint::{
    Checkpoint, ContentSource, Depth, Rules, ScanCache, ScanHint, Store, TakeOutcome, TakeRequest, open_folder,
};
use loop_host::workspace::copy::{Copies, CopyExtras, CopyMethod, CopyRequest};

type Fallible<T> = Result<T, Box<dyn Error>>;

/// Files in a folder.
const IN_FOLDER: u32 = 100;
static NEVER: AtomicBool = AtomicBool::new(false);

fn main() -> Fallible<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [scratch, files, copies] = words.as_slice() else {
        return Err("copies_figures <scratch> <files> <copies>".into());
    };
    let (files, count): (u32, u32) = (files.parse()?, copies.parse()?);
    let root = Path::new(scratch).canonicalize()?;
    let work = root.join("repository");
    make_repository(&work, files)?;
    let folder = open_folder(&work)?;
    let mut store = Store::open(&root.join("store"))?;
    let checkpoint = recorded(&mut store, &work)?;
    let place = root.join("copies");
    fs::create_dir(&place)?;
    for method in [CopyMethod::Overlay, CopyMethod::Checkout] {
        let own = Copies::open(&place, "bench")?;
        let along = CopyExtras { workspace: &folder, now: &checkpoint, ignored: true, git: false };
        let source = ContentSource::Store(&store);
        let request = CopyRequest { checkpoint: &checkpoint, source, key: "one", along };
        for number in 0..count {
            let before = used(&place)?;
            let begun = Instant::now();
            let name = format!("copy-{number}");
            if let Err(error) = own.make(&request, Some(method), &[&name]) {
                let line = serde_json::json!({"method": word(method), "impossible": error.to_string()});
                writeln!(std::io::stdout(), "{line}")?;
                break;
            }
            let (ours_ms, ours_bytes) = (ms(begun), used(&place)?.saturating_sub(before));
            let tree = root.join(format!("worktree-{}-{number}", word(method)));
            let begun = Instant::now();
            git(&work, &["worktree", "add", "--detach", "-q", &tree.to_string_lossy()])?;
            // Ours is safe on disk when it is there.
            rustix::fs::syncfs(fs::File::open(&root)?).ok();
            let git_ms = ms(begun);
            let git_bytes = used(&tree)?;
            let line = serde_json::json!({"method": word(method), "copy": number, "ours_ms": ours_ms,
                "ours_bytes": ours_bytes, "git_ms": git_ms, "git_bytes": git_bytes});
            writeln!(std::io::stdout(), "{line}")?;
            git(&work, &["worktree", "remove", "--force", &tree.to_string_lossy()])?;
        }
        own.remove_all()?;
    }
    Ok(())
}

fn word(method: CopyMethod) -> &'static str {
    match method {
        CopyMethod::Snapshot => "snapshot",
        CopyMethod::Overlay => "overlay",
        CopyMethod::Checkout => "files",
    }
}

fn ms(begun: Instant) -> f64 {
    begun.elapsed().as_secs_f64() * 1000.0
}

/// Sources of about 1.5 KB, in folders of a hundred.
fn make_repository(work: &Path, files: u32) -> Fallible<()> {
    for file in 0..files {
        let path = work.join(format!("folder{:04}", file / IN_FOLDER)).join(format!("file{file:06}.rs"));
        if file % IN_FOLDER == 0 {
            fs::create_dir_all(path.parent().ok_or("no folder")?)?;
        }
        let line = format!("pub fn value_{file}() -> u32 {{ {file} }}\n");
        fs::write(path, line.repeat(1 + usize::try_from(file % 80)?))?;
    }
    git(work, &["init", "-q"])?;
    git(work, &["add", "-A"])?;
    git(work, &["-c", "user.name=bench", "-c", "user.email=bench@localhost", "commit", "-q", "-m", "all"])
}

fn git(work: &Path, words: &[&str]) -> Fallible<()> {
    let status = Command::new("git").arg("-C").arg(work).args(words).status()?;
    if status.success() { Ok(()) } else { Err(format!("git {} failed", words.join(" ")).into()) }
}

fn recorded(store: &mut Store, work: &Path) -> Fallible<Checkpoint> {
    let rules = Rules::new(true, &[], false);
    let (name, hint) = ("bench/1", ScanHint::Everything);
    let ask =
        TakeRequest { name, parent: None, rules: &rules, hint, depth: Depth::Whole, unless: None, cancel: &NEVER };
    match store.save(&open_folder(work)?, &mut ScanCache::empty("bench"), &ask)? {
        TakeOutcome::Saved(id, _) => Ok(store.load(id)?),
        TakeOutcome::NotWritten(_) | TakeOutcome::Unreadable(_) | TakeOutcome::Cancelled => {
            Err("no checkpoint was made".into())
        }
    }
}

/// The bytes of all blocks below a folder on its own file system: what lies below an overlay is not counted again.
fn used(folder: &Path) -> Fallible<u64> {
    let device = fs::metadata(folder)?.dev();
    let mut bytes = 0;
    let mut open: Vec<PathBuf> = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(next)? {
            let entry = entry?;
            let found = entry.metadata()?;
            if found.dev() != device {
                continue;
            }
            bytes += found.blocks() * 512;
            if found.is_dir() {
                open.push(entry.path());
            }
        }
    }
    Ok(bytes)
}
