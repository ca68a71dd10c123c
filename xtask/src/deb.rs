//! `cargo xtask deb`: a Debian package of the three programs, with pages of the manual and completions.
//!
//! It needs cargo, dpkg-deb, gzip, strip and md5sum. What is packed is what the built program says of itself: it writes
//! its own manual and completions.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::UNIX_EPOCH;

use anyhow::{Context, Result, bail, ensure};

use crate::workspace_root;

const WORDS: &str = "--profile release|debug, --output DIR, --no-build";
const PACKAGE: &str = "loop";
const PROGRAMS: [&str; 3] = ["loop", "loopr", "loopd"];
/// Where each shell looks for completions of packages.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "usr/share/bash-completion/completions/loop"),
    ("zsh", "usr/share/zsh/vendor-completions/_loop"),
    ("fish", "usr/share/fish/vendor_completions.d/loop.fish"),
];
const MAINTAINER: &str = "The engineers of Loop <loop@localhost>";
/// The number of the packaging, behind that of the release.
const REVISION: u32 = 1;

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DebOptions {
    /// Of which build: `release` or `debug`.
    pub profile: DebProfile,
    /// Where the package is written.
    pub output: PathBuf,
    /// Takes the programs that are there.
    pub no_build: bool,
}

/// Which build is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DebProfile {
    /// For people.
    Release,
    /// For a test: it is packed quickly.
    Debug,
}

impl DebProfile {
    fn folder(self) -> &'static str {
        match self {
            Self::Release => "release",
            Self::Debug => "debug",
        }
    }

    /// How `dpkg-deb` packs it.
    fn compression(self) -> &'static [&'static str] {
        match self {
            Self::Release => &["-Zxz"],
            Self::Debug => &["-Zgzip", "-z1"],
        }
    }
}

impl Default for DebOptions {
    fn default() -> Self {
        Self { profile: DebProfile::Release, output: target_folder().join("debian"), no_build: false }
    }
}

impl DebOptions {
    /// Reads the words of the command line.
    ///
    /// # Errors
    /// When a word is not known.
    pub fn read(words: &[&str]) -> Result<Self> {
        let mut options = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--no-build" => options.no_build = true,
                "--output" => options.output = PathBuf::from(words.next().context("--output needs a folder")?),
                "--profile" => {
                    options.profile = match words.next() {
                        Some(&"release") => DebProfile::Release,
                        Some(&"debug") => DebProfile::Debug,
                        _ => bail!("--profile is release or debug"),
                    }
                }
                _ => bail!("no such word: `{word}` (there are {WORDS})"),
            }
        }
        Ok(options)
    }
}

fn target_folder() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace_root().join("target"), PathBuf::from)
}

/// Builds the package and returns its file.
///
/// # Errors
/// When a program is missing or fails.
pub fn run(options: &DebOptions) -> Result<PathBuf> {
    if !options.no_build {
        let mut build = Command::new("cargo");
        build.args(["build", "--locked", "--package", "loop-cli", "--bins"]).current_dir(workspace_root());
        if options.profile == DebProfile::Release {
            build.arg("--release");
        }
        done(&mut build)?;
    }
    let stage = tempfile::tempdir().context("a folder to pack from")?;
    let root = stage.path().join("root");
    stage_programs(&root, &target_folder().join(options.profile.folder()))?;
    let release = env!("CARGO_PKG_VERSION");
    let version = format!("{release}-{REVISION}");
    stage_documents(&root, &version)?;
    stage_control(&root, &version)?;
    allow_reading(&root)?;
    fs::create_dir_all(&options.output).context("the folder for the package")?;
    let file = options.output.join(format!("{PACKAGE}_{version}_{}.deb", architecture()?));
    let mut pack = Command::new("dpkg-deb");
    pack.args(options.profile.compression()).args(["--root-owner-group", "--build"]).arg(&root).arg(&file);
    done(pack.env("SOURCE_DATE_EPOCH", changed_at()?.to_string()))?;
    Ok(file)
}

/// The programs without their debug symbols, their manual and their completions.
fn stage_programs(root: &Path, built: &Path) -> Result<()> {
    let bin = made(&root.join("usr/bin"))?;
    for program in PROGRAMS {
        let from = built.join(program);
        fs::copy(&from, bin.join(program)).with_context(|| format!("{} is not built", from.display()))?;
        done(Command::new("strip").arg("--strip-unneeded").arg(bin.join(program)))?;
    }
    let program = bin.join("loop");
    let pages = made(&root.join("usr/share/man/man1"))?;
    done(of_its_own(&program).args(["man", "--output"]).arg(&pages))?;
    for page in fs::read_dir(&pages)? {
        packed(&page?.path())?;
    }
    for (shell, file) in COMPLETIONS {
        let script = done(of_its_own(&program).args(["completions", shell]))?;
        write(&root.join(file), &script)?;
    }
    Ok(())
}

/// The program with nothing of the caller's.
fn of_its_own(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("HOME", "/nonexistent").env("PATH", "/usr/bin:/bin");
    command
}

/// The licence and the changes.
fn stage_documents(root: &Path, version: &str) -> Result<()> {
    let folder = made(&root.join("usr/share/doc").join(PACKAGE))?;
    let from = workspace_root();
    let licence = fs::read_to_string(from.join("LICENSE"))?;
    write(&folder.join("copyright"), &copyright(&licence))?;
    write(&folder.join("changelog"), &fs::read_to_string(from.join("CHANGELOG.md"))?)?;
    packed(&folder.join("changelog"))?;
    let date = done(Command::new("date").args(["-R", "-u", "-d", &format!("@{}", changed_at()?)]))?;
    let entry = format!(
        "{PACKAGE} ({version}) unstable; urgency=medium\n\n  * What changed for users is in changelog.gz.\n\n -- {MAINTAINER}  {date}"
    );
    write(&folder.join("changelog.Debian"), &entry)?;
    packed(&folder.join("changelog.Debian"))
}

/// The licence as Debian writes it.
fn copyright(licence: &str) -> String {
    let owner = licence.lines().find_map(|line| line.strip_prefix("Copyright (c) ")).unwrap_or_default();
    let text = licence.lines().skip_while(|line| !line.starts_with("Permission"));
    let text: String =
        text.map(|line| if line.is_empty() { " .\n".to_owned() } else { format!(" {line}\n") }).collect();
    format!(
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: {PACKAGE}\n\n\
         Files: *\nCopyright: {owner}\nLicense: Expat\n\nLicense: Expat\n{text}"
    )
}

fn stage_control(root: &Path, version: &str) -> Result<()> {
    let size = sizes(root)?.div_ceil(1024);
    let libc = done(Command::new("getconf").arg("GNU_LIBC_VERSION"))?;
    let libc = libc.trim().strip_prefix("glibc ").context("the version of the C library")?;
    let control = format!(
        "Package: {PACKAGE}\nVersion: {version}\nArchitecture: {}\nMaintainer: {MAINTAINER}\nInstalled-Size: {size}\n\
         Depends: libc6 (>= {libc}), libgcc-s1\nRecommends: git\nSection: devel\nPriority: optional\n\
         Description: run a coding agent until a check passes\n \
         loop runs any coding agent again and again until a condition holds that loop\n \
         itself has checked. Every iteration can be restored, every end has a reason,\n \
         and limits on iterations, time and money are hard.\n",
        architecture()?
    );
    let sums = done(Command::new("sh").arg("-c").arg("find usr -type f | sort | xargs md5sum").current_dir(root))?;
    write(&root.join("DEBIAN/control"), &control)?;
    write(&root.join("DEBIAN/md5sums"), &sums)
}

fn architecture() -> Result<String> {
    Ok(done(Command::new("dpkg").arg("--print-architecture"))?.trim().to_owned())
}

/// When the changes were last written, in seconds since 1970.
fn changed_at() -> Result<u64> {
    if let Some(given) = std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|text| text.parse().ok()) {
        return Ok(given);
    }
    let at = fs::metadata(workspace_root().join("CHANGELOG.md"))?.modified()?;
    Ok(at.duration_since(UNIX_EPOCH)?.as_secs())
}

fn made(folder: &Path) -> Result<PathBuf> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder.to_owned())
}

fn write(file: &Path, text: &str) -> Result<()> {
    made(file.parent().unwrap_or(file))?;
    fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}

fn packed(file: &Path) -> Result<()> {
    done(Command::new("gzip").arg("-9n").arg(file)).map(drop)
}

/// The size of all files in bytes.
fn sizes(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        bytes += if entry.file_type()?.is_dir() { sizes(&entry.path())? } else { entry.metadata()?.len() };
    }
    Ok(bytes)
}

/// Whatever the mask of the caller is: everybody may read, and run programs.
fn allow_reading(folder: &Path) -> Result<()> {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755))?;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            allow_reading(&path)?;
        } else {
            let mode = if folder.ends_with("usr/bin") { 0o755 } else { 0o644 };
            fs::set_permissions(&path, fs::Permissions::from_mode(mode))?;
        }
    }
    Ok(())
}

/// Runs a program to its end; what it printed.
fn done(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let out = command.output().with_context(|| format!("cannot run {name}"))?;
    ensure!(out.status.success(), "{name} failed: {}", String::from_utf8_lossy(&out.stderr).trim());
    Ok(String::from_utf8_lossy(&out.stdout).into_owned())
}
