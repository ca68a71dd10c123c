//! The package: built from the programs of this build, installed into a root of its own, and removed.
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use xtask::deb::{self, DebOptions, DebProfile};

fn ran(command: &mut Command) -> anyhow::Result<String> {
    let Output { status, stdout, stderr } = command.output()?;
    let (out, err) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{command:?}: {out}{err}");
    Ok(out.into_owned())
}

fn dpkg(root: &Path, words: &[&str]) -> anyhow::Result<String> {
    let mut command = Command::new("dpkg");
    command.arg(format!("--root={}", root.display())).arg("--force-depends").args(words);
    ran(command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"))
}

#[test]
fn the_package_is_installed_its_programs_work_and_nothing_is_left_after_its_removal() -> anyhow::Result<()> {
    let scratch = tempfile::tempdir()?;
    let options = DebOptions { profile: DebProfile::Debug, output: scratch.path().join("out"), no_build: true };
    let file = deb::run(&options)?;
    let root = scratch.path().join("root");
    for folder in ["var/lib/dpkg/info", "var/lib/dpkg/updates", "tmp"] {
        fs::create_dir_all(root.join(folder))?;
    }
    fs::write(root.join("var/lib/dpkg/status"), "")?;
    dpkg(&root, &["--install", file.to_str().unwrap_or_default()])?;
    let home = scratch.path().join("home");
    fs::create_dir(&home)?;
    let program = |name: &str, words: &[&str]| {
        let mut command = Command::new(root.join("usr/bin").join(name));
        ran(command.args(words).env_clear().env("HOME", &home).env("PATH", "/usr/bin:/bin").current_dir(&home))
    };
    for name in ["loop", "loopr", "loopd"] {
        let version = format!("{name} {}\n", env!("CARGO_PKG_VERSION"));
        assert_eq!(program(name, &["--version"])?, version);
    }
    assert!(program("loop", &["demo"])?.starts_with("done: the promise passes after 3 iterations"));
    for file in [
        "usr/share/man/man1/loop.1.gz",
        "usr/share/man/man1/loop-rollback.1.gz",
        "usr/share/man/man1/loopd.1.gz",
        "usr/share/bash-completion/completions/loop",
        "usr/share/zsh/vendor-completions/_loop",
        "usr/share/fish/vendor_completions.d/loop.fish",
        "usr/share/doc/loop/copyright",
        "usr/share/doc/loop/changelog.gz",
        "usr/share/doc/loop/changelog.Debian.gz",
    ] {
        assert!(root.join(file).is_file(), "{file}");
    }
    dpkg(&root, &["--purge", "loop"])?;
    assert!(!root.join("usr").exists(), "a removed package leaves nothing");
    Ok(())
}
