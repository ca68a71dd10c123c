//! The zoo of processes that try to outlive a run: what it holds, and where its program is.
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Every kind of escapee, as `zoo <kind> …` has them.
pub const ZOO: &[&str] = &[
    "setsid",
    "double-fork",
    "nohup",
    "deaf",
    "renamed",
    "pipe-holder",
    "stopped",
    "stopped-agent",
    "hopper",
    "bomb",
    "kills-parent",
    "kills-shim",
    "stops-shim",
    "own-namespace",
    "vfork",
    "traced",
    "daemon",
    "thread-child",
    "clone-parent",
    "respawner",
    "terminal",
    "headless",
    "leaves-cgroup",
];

/// The built zoo that belongs to a built program: it lies beside it, and is made if it is not up to date.
///
/// Cargo tells a test where the programs of its own package are, and builds no others for it.
#[must_use]
pub fn zoo(program: &str) -> PathBuf {
    static ZOO: OnceLock<PathBuf> = OnceLock::new();
    ZOO.get_or_init(|| build(Path::new(program))).clone()
}

fn build(program: &Path) -> PathBuf {
    let folder = program.parent().expect("the folder of built programs");
    let profile = folder.file_name().and_then(|name| name.to_str()).expect("a profile");
    let profile = if profile == "debug" { "dev" } else { profile };
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["build", "--quiet", "--locked", "--package", "loop-testkit", "--bin", "zoo", "--profile", profile]);
    command.arg("--manifest-path").arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"));
    command.arg("--target-dir").arg(folder.parent().expect("the folder of all profiles"));
    let built = command.output().expect("cargo");
    assert!(built.status.success(), "the zoo is not built: {}", String::from_utf8_lossy(&built.stderr));
    folder.join("zoo")
}
