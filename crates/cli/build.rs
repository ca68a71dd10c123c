//! Says from what the program is built: commit, profile and target. It reads files only, and no path gets into it.
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=LOOP_BUILD_COMMIT");
    let profile = env::var("PROFILE").unwrap_or_default();
    println!("cargo::rustc-env=LOOP_BUILD_PROFILE={profile}");
    println!("cargo::rustc-env=LOOP_BUILD_TARGET={}", env::var("TARGET").unwrap_or_default());
    println!("cargo::rustc-env=LOOP_BUILD_COMMIT={}", commit(&profile).unwrap_or_default());
    if profile == "release" {
        link_small();
    }
}

/// Links without what a release does not use (decision 0041): tables for unwinding, and relocations of a program that
/// can lie anywhere in memory. They cost a fifth of the file, and time at every start.
fn link_small() {
    println!("cargo::rerun-if-changed=without-unwinding.ld");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    if !(is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu")) {
        return;
    }
    if let Some(folder) = env::var_os("CARGO_MANIFEST_DIR") {
        println!("cargo::rustc-link-arg-bins=-no-pie");
        println!("cargo::rustc-link-arg-bins=-Wl,-T,{}", Path::new(&folder).join("without-unwinding.ld").display());
    }
}

/// The commit: as the caller says it, or of the checkout. A debug build does not look: it would be built again after
/// every commit.
fn commit(profile: &str) -> Option<String> {
    if let Ok(given) = env::var("LOOP_BUILD_COMMIT") {
        return is_hash(&given).then_some(given);
    }
    if profile != "release" {
        return None;
    }
    // Two folders above this package. The repository of somebody else who unpacked a tarball in it is not asked.
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR")?).ancestors().nth(2)?.to_owned();
    let folder = git_folder(&root.join(".git"))?;
    let head = watched(&folder.join("HEAD"))?;
    let Some(name) = head.trim().strip_prefix("ref: ") else { return hash(&head) };
    // The refs of a worktree lie in the main repository.
    let common = fs::read_to_string(folder.join("commondir")).ok();
    let common = common.map_or_else(|| folder.clone(), |common| folder.join(common.trim()));
    watched(&common.join(name)).and_then(|text| hash(&text)).or_else(|| {
        let packed = watched(&common.join("packed-refs"))?;
        packed.lines().find_map(|line| hash(line.strip_suffix(name)?))
    })
}

/// The folder of the repository: `.git` itself, or what the file of a worktree names.
fn git_folder(path: &Path) -> Option<PathBuf> {
    if path.is_dir() {
        return Some(path.to_owned());
    }
    let text = fs::read_to_string(path).ok()?;
    Some(path.parent()?.join(text.trim().strip_prefix("gitdir: ")?))
}

/// The text of a file; the program is built again when it changes.
fn watched(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    println!("cargo::rerun-if-changed={}", path.display());
    Some(text)
}

fn hash(text: &str) -> Option<String> {
    let text = text.trim();
    is_hash(text).then(|| text.to_owned())
}

fn is_hash(text: &str) -> bool {
    (7..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
