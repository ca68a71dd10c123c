//! Who may depend on whom: `core ← host ← daemon ← cli`, and which crate holds which outside door.

use crate::manifest::{Dependency, Manifest, Use};
use crate::{File, Finding, Tree};

/// One crate of the workspace, and which of the others it may use.
struct Member {
    folder: &'static str,
    package: &'static str,
    may_use: &'static [&'static str],
}

/// The edges. A crate that is not here is a finding.
const MEMBERS: &[Member] = &[
    member("core", "loop-core", &[]),
    member("host", "loop-host", &["loop-core"]),
    member("daemon", "loop-daemon", &["loop-core", "loop-host"]),
    member("cli", "loop-cli", &["loop-core", "loop-host", "loop-daemon"]),
    member("testkit", TESTKIT, &["loop-core", "loop-host"]),
    member("xtask", "xtask", &["loop-core"]),
];

/// What every crate may use in its tests, and none in its product.
const TESTKIT: &str = "loop-testkit";

/// Outside crates that open a door to the machine or to people, and who may hold them.
const DOORS: &[(&str, &[&str])] = &[
    ("libc", &["host", "testkit"]),
    ("rusqlite", &["host"]),
    ("rustix", &["host"]),
    ("signal-hook", &["host"]),
    ("clap", &["cli", "daemon"]),
    ("clap_complete", &["cli", "daemon"]),
    ("clap_mangen", &["cli"]),
];

/// A crate that may hold a door which is not its own: (crate, outside crate, why).
pub type Exception = (&'static str, &'static str, &'static str);

/// The exceptions that hold today.
pub const EXCEPTIONS: &[Exception] = &[];

/// All that the thinking crate may use: data only. Its tests may use more.
const CORE_ALLOWED: &[&str] =
    &["jiff", "memchr", "serde", "serde-saphyr", "serde_json", "serde_path_to_error", "sha2", "thiserror", "toml_edit"];

const fn member(folder: &'static str, package: &'static str, may_use: &'static [&'static str]) -> Member {
    Member { folder, package, may_use }
}

/// Finds dependencies that the tables do not allow.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    check_with(tree, EXCEPTIONS)
}

/// The same, with other exceptions.
#[must_use]
pub fn check_with(tree: &Tree, exceptions: &[Exception]) -> Vec<Finding> {
    let root = tree.file("Cargo.toml");
    let root = root.and_then(|file| Manifest::read(&file.text).ok());
    tree.files()
        .filter_map(|file| match file.in_crate()? {
            (folder, "Cargo.toml") => Some((file, folder)),
            _ => None,
        })
        .flat_map(|(file, folder)| check_member(file, folder, root.as_ref(), exceptions))
        .collect()
}

fn check_member(file: &File, folder: &str, root: Option<&Manifest<'_>>, exceptions: &[Exception]) -> Vec<Finding> {
    let found = |line, message: String| Finding::new(&file.path, line, message);
    let Some(member) = MEMBERS.iter().find(|member| member.folder == folder) else {
        let message = "a crate that the table of edges does not know; \
                       add it to MEMBERS in xtask/src/rules/edges.rs, with a decision record";
        return vec![found(1, message.to_owned())];
    };
    let manifest = match Manifest::read(&file.text) {
        Ok(manifest) => manifest,
        Err(error) => return vec![found(1, format!("{error:#}"))],
    };
    let mut findings = Vec::new();
    if manifest.package_name() != Some(member.package) {
        let message = format!("the package of this folder is named `{}`; name it so", member.package);
        findings.push(found(1, message));
    }
    for dependency in manifest.dependencies(root) {
        let faults = [
            edge_fault(member, &dependency),
            door_fault(member, &dependency, exceptions),
            core_fault(member, &dependency),
        ];
        let faults = faults.into_iter().flatten();
        findings.extend(faults.map(|fault| found(dependency.line, fault)));
    }
    findings
}

fn edge_fault(member: &Member, dependency: &Dependency) -> Option<String> {
    let package = dependency.package.as_str();
    MEMBERS.iter().find(|other| other.package == package)?;
    if member.may_use.contains(&package) {
        return None;
    }
    if package != TESTKIT {
        return Some(format!(
            "`{}` may not depend on `{package}`; move what is needed to a crate on its left",
            member.package
        ));
    }
    (dependency.used_for == Use::Product)
        .then(|| format!("`{TESTKIT}` is for tests only; move it to [dev-dependencies]"))
}

fn door_fault(member: &Member, dependency: &Dependency, exceptions: &[Exception]) -> Option<String> {
    let package = dependency.package.as_str();
    let (_, holders) = DOORS.iter().find(|(door, _)| *door == package)?;
    let excepted = exceptions.iter().any(|(folder, door, _)| *folder == member.folder && *door == package);
    let allowed = excepted || holders.contains(&member.folder);
    (!allowed).then(|| format!("only {} may depend on `{package}`; ask that crate to do it", holders.join(" and ")))
}

fn core_fault(member: &Member, dependency: &Dependency) -> Option<String> {
    let package = dependency.package.as_str();
    let concerns_core = member.folder == "core" && dependency.used_for == Use::Product;
    let known = CORE_ALLOWED.contains(&package)
        || DOORS.iter().any(|(door, _)| *door == package)
        || MEMBERS.iter().any(|other| other.package == package);
    (concerns_core && !known).then(|| {
        format!(
            "core may not depend on `{package}`; do without it, \
             or add it to CORE_ALLOWED in xtask/src/rules/edges.rs with a decision record"
        )
    })
}
