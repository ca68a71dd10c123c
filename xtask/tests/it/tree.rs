//! Loading the real files.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, process};

use anyhow::{Result, ensure};
use xtask::Tree;

/// A folder with a few files, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Result<Self> {
        let root = env::temp_dir().join(format!("xtask-{name}-{}", process::id()));
        for (path, text) in [
            ("src/lib.rs", "//! A.\n"),
            (".gitignore", "*.log\ntarget\n"),
            ("noise.log", "noise\n"),
            ("target/debug/built.rs", "built\n"),
        ] {
            let full = root.join(path);
            fs::create_dir_all(full.parent().unwrap_or(&root))?;
            fs::write(full, text)?;
        }
        fs::write(root.join("picture.png"), [0xff, 0xfe])?;
        Ok(Self(root))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok(); // what is left lies in the temporary folder
    }
}

fn git(root: &Path, arguments: &[&str]) -> Result<()> {
    let mut git = Command::new("git");
    // Under a git hook these lead to the real repository.
    for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        git.env_remove(variable);
    }
    let output = git.arg("-C").arg(root).args(arguments).output()?;
    ensure!(output.status.success(), "git {arguments:?}: {output:?}");
    Ok(())
}

fn loaded(root: &Path) -> Result<Vec<(String, String)>> {
    let tree = Tree::load(root)?;
    Ok(tree.files().map(|file| (file.path.clone(), file.text.clone())).collect())
}

fn pairs(files: &[(&str, &str)]) -> Vec<(String, String)> {
    let own = |(path, text): &(&str, &str)| ((*path).to_owned(), (*text).to_owned());
    files.iter().map(own).collect()
}

#[test]
fn with_git_the_ignored_and_the_deleted_stay_out() -> Result<()> {
    let scratch = Scratch::new("git")?;
    fs::write(scratch.0.join("gone.md"), "")?;
    git(&scratch.0, &["init", "-q"])?;
    git(&scratch.0, &["add", "gone.md", "src"])?;
    fs::remove_file(scratch.0.join("gone.md"))?;
    let expected = [(".gitignore", "*.log\ntarget\n"), ("picture.png", ""), ("src/lib.rs", "//! A.\n")];
    assert_eq!(loaded(&scratch.0)?, pairs(&expected));
    Ok(())
}

#[test]
fn without_git_only_the_built_stays_out() -> Result<()> {
    let scratch = Scratch::new("walk")?;
    let expected =
        [(".gitignore", "*.log\ntarget\n"), ("noise.log", "noise\n"), ("picture.png", ""), ("src/lib.rs", "//! A.\n")];
    assert_eq!(loaded(&scratch.0)?, pairs(&expected));
    Ok(())
}
