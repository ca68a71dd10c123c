//! Which of the files that a gate uses are protected from the baseline on.
use serde::{Deserialize, Serialize};

use super::paths::{matches_path, name_of};
use super::suspect::is_source_name;
use super::uses::names::looks_like_check;
use super::uses::{GateUse, UseKind};
use crate::machine::Deciding;

/// What was decided about the files that a gate uses.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProtectJudgement {
    /// These are protected from now on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// These are not, because the task names them or `--allow` does.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<String>,
    /// Those of the protected ones that may be the work itself: a person is asked at the first change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub maybe_work: Vec<String>,
}

/// All of them, but what `--allow` names, and what the task names. A file that the gate's own command runs is protected
/// although the task names it: "make check.sh pass" does not permit to change check.sh.
#[must_use]
pub fn protected_by_default(uses: &[GateUse], allow: &[String], _: &Deciding) -> ProtectJudgement {
    let mut judgement = ProtectJudgement::default();
    for used in uses {
        let named = used.in_task && used.kind != UseKind::Direct;
        let list = if named || is_allowed(allow, &used.path) { &mut judgement.left } else { &mut judgement.files };
        list.push(used.path.clone());
    }
    let is_asked = |used: &&GateUse| judgement.files.contains(&used.path) && is_maybe_work(used);
    judgement.maybe_work = uses.iter().filter(is_asked).map(|used| used.path.clone()).collect();
    judgement
}

/// Whether a program that the gate's own command runs may be the work itself: `python3 app.py --selftest`. Shell scripts
/// and what is named as a check are not.
fn is_maybe_work(used: &GateUse) -> bool {
    let is_source = is_source_name(&used.path) && name_of(&used.path).contains('.');
    let is_shell = [".sh", ".bash", ".zsh", ".ksh"].iter().any(|end| used.path.ends_with(end));
    used.kind == UseKind::Direct && is_source && !is_shell && !looks_like_check(&used.path) && !judges(&used.path)
}

/// Whether a name has a word for judging.
fn judges(path: &str) -> bool {
    const WORDS: &[&str] = &["judge", "gate", "accept", "valid", "eval", "grade", "score", "compar", "golden", "bench"];
    let name = name_of(path).to_ascii_lowercase();
    WORDS.iter().any(|word| name.contains(word))
}

/// Whether one of these globs names a path: `a/*.sh` from the workspace on, `*.sh` at any depth, `a/` a whole folder.
///
/// ```
/// use loop_core::policy::protect::is_allowed;
///
/// let allow = ["Makefile".to_owned(), "scripts/".to_owned(), "ci/*.sh".to_owned()];
/// let is = |path: &str| is_allowed(&allow, path);
/// assert!(is("Makefile") && is("sub/Makefile") && is("scripts/a/run.sh") && is("ci/x.sh"));
/// assert!(!is("ci/deep/x.sh") && !is("check.sh"));
/// ```
#[must_use]
pub fn is_allowed(allow: &[String], path: &str) -> bool {
    let above = || path.match_indices('/').filter_map(|(at, _)| path.get(..at));
    allow.iter().any(|glob| {
        let plain = glob.trim_start_matches("./");
        let plain = plain.strip_prefix('/').unwrap_or(plain);
        let (body, is_folder) = plain.strip_suffix('/').map_or((plain, false), |body| (body, true));
        let fits = |path: &str| {
            matches_path(body, path)
                || !body.contains('/') && !glob.starts_with('/') && matches_path(body, name_of(path))
        };
        !is_folder && fits(path) || above().any(fits)
    })
}
