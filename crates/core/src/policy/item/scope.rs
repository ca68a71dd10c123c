//! Which changed files are outside of an item's scope. A glob names files, or a folder with all in it; without a slash it
//! may lie in any folder. Where it is not sure, a file is outside.
use crate::policy::protect::matches_path;

/// So many globs come from the braces of one.
const BRACES_MAX: usize = 64;

/// The files of a change that no glob of the scope names. Without a declared scope there are none.
#[must_use]
pub fn outside_item_scope(changed: &[String], scope: &[String]) -> Vec<String> {
    if scope.is_empty() {
        return Vec::new();
    }
    let globs: Vec<String> = scope.iter().flat_map(|glob| without_braces(glob.trim())).collect();
    changed.iter().filter(|path| !is_named_by(path, &globs)).cloned().collect()
}

/// Whether a file may be changed. Without a declared scope every file may be.
#[must_use]
pub fn is_in_item_scope(path: &str, scope: &[String]) -> bool {
    outside_item_scope(&[path.to_owned()], scope).is_empty()
}

fn is_named_by(path: &str, globs: &[String]) -> bool {
    let leads_elsewhere = path.starts_with('/') || path.split('/').any(|part| part == "..");
    if leads_elsewhere || path.is_empty() {
        return false;
    }
    let above = path.match_indices('/').filter_map(|(at, _)| path.get(..at));
    let mut places = above.chain([path]);
    places.any(|place| globs.iter().any(|glob| fits(glob, place, place == path)))
}

/// `is_file`: the place is the file itself, not a folder above it.
fn fits(glob: &str, place: &str, is_file: bool) -> bool {
    let bare = glob.trim_start_matches("./").trim_start_matches('/');
    let named = bare.trim_end_matches('/');
    let is_folder_only = bare.ends_with('/');
    if named.is_empty() || (is_folder_only && is_file) {
        return false;
    }
    // With a slash it names one place; a glob such as `src/*` names folders too, and all in them.
    match glob.starts_with('/') || named.contains('/') {
        true => matches_path(named, place),
        false => matches_path(named, place.rsplit('/').next().unwrap_or(place)),
    }
}

/// `src/{a,b}.rs` as two globs. One with too many, or with braces that do not close, is taken as it is.
fn without_braces(glob: &str) -> Vec<String> {
    let mut open = vec![glob.to_owned()];
    let mut closed = Vec::new();
    while let Some(one) = open.pop() {
        let Some(parts) = first_braces(&one) else {
            closed.push(one);
            continue;
        };
        if open.len() + closed.len() + parts.len() > BRACES_MAX {
            return vec![glob.to_owned()];
        }
        open.extend(parts);
    }
    closed
}

/// The globs that the innermost braces stand for; none where there are none.
fn first_braces(glob: &str) -> Option<Vec<String>> {
    let end = glob.find('}')?;
    let begin = glob.get(..end)?.rfind('{')?;
    let (before, inner, after) = (glob.get(..begin)?, glob.get(begin + 1..end)?, glob.get(end + 1..)?);
    Some(inner.split(',').map(|part| format!("{before}{part}{after}")).collect())
}
