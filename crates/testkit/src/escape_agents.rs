//! The zoo of processes that try to outlive a run: what it holds, and where its program is.
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Every kind of escapee, as `zoo <kind> …` has them.
pub const ESCAPE_KINDS: &[&str] = &[
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
    "kills-shim-bare",
    "stops-shim",
    "holds-shim",
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

/// Agents that do not end as agents should, as `zoo odd <name>` has them, and the outcome of their iteration
/// in a loop whose promise never holds and whose agents have a second.
pub const ODD_AGENTS: &[(&str, &str)] = &[
    ("stops-itself", "timed_out"),
    ("stops-its-group", "timed_out"),
    ("wants-the-keyboard", "timed_out"),
    ("wants-the-screen", "timed_out"),
    ("closes-output", "timed_out"),
    ("closes-everything", "timed_out"),
    ("reads-for-ever", "timed_out"),
    ("byte-a-minute", "timed_out"),
    ("ignores-signals", "timed_out"),
    ("blocks-signals", "timed_out"),
    ("floods", "timed_out"),
    ("leaves-a-flood", "fail"),
    ("leaves-the-pipe-held", "fail"),
    ("leaves-the-pipe-stopped", "fail"),
    ("begins-again", "timed_out"),
    ("hides-its-head", "timed_out"),
    ("ends-unread", "fail"),
    ("never-reads", "timed_out"),
];

/// The built zoo that belongs to a built program: it lies beside it, and is made if it is not up to date.
///
/// Cargo tells a test where the programs of its own package are, and builds no others for it.
#[must_use]
pub fn escape_agents(program: &str) -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| build(Path::new(program), "zoo")).clone()
}

/// The agent that speaks the Agent Client Protocol by a script, likewise: `acp-agent SCENE`.
#[must_use]
pub fn acp_agent(program: &str) -> PathBuf {
    static AGENT: OnceLock<PathBuf> = OnceLock::new();
    AGENT.get_or_init(|| build(Path::new(program), "acp-agent")).clone()
}

/// The program that plays behaviours of agents, likewise: `behaviour AGENT NAME FOLDER …`.
#[must_use]
pub fn behaviour_program(program: &str) -> PathBuf {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| build(Path::new(program), "behaviour")).clone()
}

fn build(program: &Path, name: &str) -> PathBuf {
    let folder = program.parent().expect("the folder of built programs");
    let profile = folder.file_name().and_then(|name| name.to_str()).expect("a profile");
    let profile = if profile == "debug" { "dev" } else { profile };
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["build", "--quiet", "--locked", "--package", "loop-testkit", "--bin", name, "--profile", profile]);
    command.arg("--manifest-path").arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"));
    command.arg("--target-dir").arg(folder.parent().expect("the folder of all profiles"));
    let built = command.output().expect("cargo");
    assert!(built.status.success(), "{name} is not built: {}", String::from_utf8_lossy(&built.stderr));
    folder.join(name)
}
