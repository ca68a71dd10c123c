//! Real file systems in files: made, mounted, cut off from their power, and gone when the test is, however it ends.
use std::fs;
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::environment::wait_until;

/// Waits until its input is closed, then unmounts all that is mounted in a folder and removes it.
const GUARDIAN: &str = r#"
cat >/dev/null
while read -r _ _ _ _ place _; do
  case "$place" in "$1"/*) printf '%s\n' "$place" ;; esac
done </proc/self/mountinfo | tac | while read -r place; do umount -l "$(printf '%b' "$place")"; done
chattr -R -f -i -a -- "$1"
rm -rf --one-file-system -- "$1"
"#;
/// Large enough for each of them.
const SIZE: u64 = 1024 * 1024 * 1024;

/// A folder in which things may be mounted. A process of its own waits for the end of this value, or of the whole
/// test, and leaves nothing behind.
#[derive(Debug)]
pub struct MountScratch {
    path: PathBuf,
    guardian: Child,
}

impl MountScratch {
    /// A fresh one.
    ///
    /// # Panics
    /// When it cannot be made, and where nothing can be mounted: a test that did not run must not look like one that did.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "it mounts something")]
    pub fn new() -> Self {
        let scratch = Self::begin();
        let tried = scratch.path.join("trial");
        fs::create_dir(&tried).expect("a folder for the test");
        let mounted = ran(Command::new("mount").args(["-t", "tmpfs", "none"]).arg(&tried));
        let tried = mounted.and_then(|()| ran(Command::new("umount").arg(&tried)));
        fs::remove_dir(scratch.path.join("trial")).ok();
        tried.unwrap_or_else(|why| cannot_mount(&why));
        scratch
    }

    fn begin() -> Self {
        let mut builder = tempfile::Builder::new();
        builder.prefix("loop-mounts-").permissions(fs::Permissions::from_mode(0o700));
        let folder = builder.tempdir().expect("a folder for the test");
        let path = folder.keep().canonicalize().expect("a folder for the test");
        let guardian = Command::new("sh")
            .args(["-c", GUARDIAN, "guardian"])
            .arg(&path)
            // Whoever ends the group of the test does not end it.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("sh");
        Self { path, guardian }
    }

    /// A process that has this as a stream keeps the folder from being removed.
    pub(crate) fn held(&self) -> Stdio {
        let pipe = self.guardian.stdin.as_ref().expect("a pipe");
        Stdio::from(pipe.as_fd().try_clone_to_owned().expect("a pipe"))
    }

    /// Where it lies.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for MountScratch {
    fn drop(&mut self) {
        drop(self.guardian.stdin.take());
        self.guardian.wait().ok();
        assert!(!self.path.exists() || std::thread::panicking(), "{} was left behind", self.path.display());
    }
}

/// The file systems that can be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Ext4,
    Xfs,
    Btrfs,
}

impl Format {
    fn make(self) -> (&'static str, &'static [&'static str]) {
        match self {
            Self::Ext4 => ("mkfs.ext4", &["-q", "-F"]),
            Self::Xfs => ("mkfs.xfs", &["-q", "-f"]),
            Self::Btrfs => ("mkfs.btrfs", &["-q", "-f"]),
        }
    }
}

/// A file system in a file, mounted in a folder that only the user of the test can reach.
#[derive(Debug)]
pub struct LoopImage {
    format: Format,
    options: String,
    scratch: MountScratch,
}

impl LoopImage {
    /// A fresh one.
    ///
    /// # Panics
    /// Where nothing can be mounted, and where a program for it is missing.
    #[must_use]
    pub fn new(format: Format) -> Self {
        Self::with_options(format, "")
    }

    /// The same with options of the mount, such as `user_subvol_rm_allowed`.
    ///
    /// # Panics
    /// As [`LoopImage::new`].
    #[must_use]
    pub fn with_options(format: Format, options: &str) -> Self {
        let (program, words) = format.make();
        let image = Self { format, options: options.to_owned(), scratch: MountScratch::begin() };
        fs::File::create(image.file()).and_then(|file| file.set_len(SIZE)).expect("a file for the image");
        fs::create_dir(image.path()).expect("a folder for the image");
        ran(Command::new(program).args(words).arg(image.file())).expect("the image is formatted");
        image.mount().unwrap_or_else(|why| cannot_mount(&why));
        image
    }

    fn file(&self) -> PathBuf {
        self.scratch.path.join("image")
    }

    /// Where it is mounted.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.scratch.path.join("mounted")
    }

    /// A folder beside it, on the machine's own file system.
    #[must_use]
    pub fn outside(&self) -> PathBuf {
        self.scratch.path.clone()
    }

    fn mount(&self) -> Result<(), String> {
        let options = format!("loop,{}", self.options);
        ran(Command::new("mount").arg("-o").arg(options.trim_end_matches(',')).arg(self.file()).arg(self.path()))
    }

    /// Cuts the power: what is not on disk by now is lost. Until [`LoopImage::remount`] nothing of it can be used.
    ///
    /// ext4 and xfs are shut down without writing out their journal. btrfs cannot be: there the image is kept as it
    /// is at this moment, and what the mounted one writes out later does not count.
    ///
    /// # Panics
    /// When it cannot be done.
    pub fn cut_power(&self) {
        match self.format {
            Format::Ext4 | Format::Xfs => {
                ran(Command::new("xfs_io").args(["-x", "-c", "shutdown"]).arg(self.path())).expect("a power cut");
                let written = fs::write(self.path().join(".after-the-cut"), "");
                assert!(written.is_err(), "the power is still on");
            }
            Format::Btrfs => {
                let words = ["--sparse=always", "--reflink=auto", "--"];
                let cut = self.file().with_extension("cut");
                ran(Command::new("cp").args(words).arg(self.file()).arg(cut)).expect("the image is kept");
            }
        }
    }

    fn is_in_use(&self) -> bool {
        let devices = fs::read_dir("/sys/block").into_iter().flatten().flatten();
        let mut files = devices.filter_map(|device| fs::read_to_string(device.path().join("loop/backing_file")).ok());
        files.any(|file| Path::new(file.trim_end()) == self.file())
    }

    /// Mounts it again, after a cut of the power or not. No process may have a file of it open.
    ///
    /// # Panics
    /// When it cannot be done.
    pub fn remount(&self) {
        ran(Command::new("umount").arg(self.path())).expect("it is unmounted");
        // Who saw the mount from elsewhere may let go of it a moment later; until then it would be the same one again.
        wait_until("no process uses the image any more", || !self.is_in_use());
        let cut = self.file().with_extension("cut");
        if cut.exists() {
            fs::rename(&cut, self.file()).expect("the image as it was at the cut");
        }
        self.mount().expect("it is mounted again");
    }
}

fn cannot_mount(why: &str) -> ! {
    panic!("nothing can be mounted here, which takes root, and loop devices for images: {why}")
}

fn ran(command: &mut Command) -> Result<(), String> {
    // Programs of the administrator are not on everybody's PATH.
    let path = std::env::var("PATH").unwrap_or_default();
    let output = command.env("PATH", format!("{path}:/usr/sbin:/sbin")).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("{}: {error}", command.get_program().display()))?;
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    if output.status.success() { Ok(()) } else { Err(format!("{}: {said}", command.get_program().display())) }
}
