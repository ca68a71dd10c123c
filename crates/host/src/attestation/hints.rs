//! What a person should know to read the answer of a check.
use std::path::{Component, Path, PathBuf};

use loop_core::attestation::{GatesSource, ProofCheck, Rerun, TreeMatch};
use loop_core::text;
use loop_core::view::VerifiedGate;

use super::check::CheckRequest;
use crate::checkpoint::user_git::Checkout;

const TRUST: &str =
    "say whom you trust: --allowed-signers-rev origin/main:.github/loop_signers, or --allowed-signers FILE";

/// The hints.
pub(super) fn hints(
    check: &ProofCheck,
    request: &CheckRequest<'_>,
    checkout: Option<&mut Checkout>,
    top: &Path,
) -> Vec<String> {
    let mut hints = Vec::new();
    let is_other = matches!(check.tree, TreeMatch::Other { .. } | TreeMatch::Partial { .. });
    if is_other {
        hints.push(
            "check it where the files are those that it is about: the commit of the work, without other edits"
                .to_owned(),
        );
    } else if !check.trust_given && check.run == Rerun::NotAsked {
        hints.push(TRUST.to_owned());
    }
    if check.run == Rerun::Refused {
        hints.push("give the base's own gates: --run --gates-from origin/main:.loop.toml".to_owned());
        hints.push(TRUST.to_owned());
    }
    hints.extend(about_trust(request, checkout, top));
    if check.tree == TreeMatch::BranchTip && check.run != Rerun::NotAsked {
        hints.push("the gates ran on the files of this merge, the proof is about the branch's tip".to_owned());
    }
    let lost = |gate: &VerifiedGate| gate.required && !gate.passes();
    if matches!(&check.run, Rerun::Ran { gates } if gates.iter().any(lost)) && !request.with_ignored {
        hints.push(
            "ignored files (node_modules, target, .venv …) are not in the copy; to bring them along: --with-ignored"
                .to_owned(),
        );
    }
    hints
}

/// What the author of the branch could change of what was given to compare with.
fn about_trust(request: &CheckRequest<'_>, checkout: Option<&mut Checkout>, top: &Path) -> Vec<String> {
    let mut hints = Vec::new();
    let is_inside = |path: &Path| is_in_checkout(&request.folder.join(path), top);
    if request.signers.as_ref().is_some_and(|path| is_inside(path)) {
        hints.push("the allowed signers are a file of this checkout: the author of the branch can add a key; use --allowed-signers-rev".to_owned());
    }
    let gates = request.gates_from.as_deref().map(GatesSource::of);
    match gates {
        Some(GatesSource::File(path)) if is_inside(Path::new(path)) => {
            hints.push("the gates are a file of this checkout: the author of the branch can change it; use --gates-from origin/main:.loop.toml".to_owned());
        }
        Some(GatesSource::File(_)) => {
            hints
                .push("the gates come from a file: the scripts that they use were not compared with a base".to_owned());
        }
        Some(GatesSource::Revision { .. }) | None => {}
    }
    let of_gates = match gates {
        Some(GatesSource::Revision { revision, .. }) => Some(revision),
        Some(GatesSource::File(_)) | None => None,
    };
    let of_signers = request.signers_revision.as_deref().and_then(|name| name.split_once(':')).map(|(name, _)| name);
    let Some(checkout) = checkout else { return hints };
    for revision in of_signers.into_iter().chain(of_gates.filter(|gates| Some(*gates) != of_signers)) {
        if checkout.is_head(revision) {
            let shown = text::escaped_head(revision, 80);
            hints.push(format!(
                "{shown} is the commit that is checked out: its author could change what it is compared with"
            ));
        }
    }
    hints
}

/// Whether a path is one of the checkout: by its name, or where it leads.
fn is_in_checkout(path: &Path, top: &Path) -> bool {
    let real_top = top.canonicalize().unwrap_or_else(|_| top.to_owned());
    let named = without_dots(path);
    let folder = named.parent().and_then(|folder| folder.canonicalize().ok()).unwrap_or_default();
    let is_inside = |path: &Path| path.starts_with(top) || path.starts_with(&real_top);
    is_inside(&named) || is_inside(&folder) || path.canonicalize().is_ok_and(|path| is_inside(&path))
}

/// A path without `.` and `..`, by its names alone.
fn without_dots(path: &Path) -> PathBuf {
    let mut all = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(all.pop()),
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => all.push(part),
        }
    }
    all
}
