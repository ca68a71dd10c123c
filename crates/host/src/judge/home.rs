//! The HOME of the gates of a clean copy: a new folder. Tools are linked into it from the user's own; settings are as they
//! were at the baseline.
use std::ffi::OsString;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, symlink};
use std::path::{Component, Path, PathBuf};

use loop_core::text::escape_path;

use super::baseline::{Baseline, digest_of, entries, setting_at};
use super::tables;
use super::variables::HomePlaces;
use crate::paths::{path_of, search_path};

/// A HOME for gates.
#[derive(Debug, Default)]
pub(super) struct GateHome {
    /// The variables that lead to it, and into it.
    pub(super) variables: Vec<(String, OsString)>,
    /// What a person should know about it.
    pub(super) remarks: Vec<String>,
}

/// What it is made of.
#[derive(Debug)]
pub(super) struct HomeRequest<'a> {
    /// The user's own.
    pub(super) user: Option<&'a Path>,
    /// Where a folder of the workspace is in the copy, too.
    pub(super) workspace: &'a Path,
    /// Further folders that are linked, as the user named them.
    pub(super) further: &'a [String],
    /// Files and folders below the user's own that the gates' commands name, from there on.
    pub(super) named: &'a [String],
    /// How settings were at the start.
    pub(super) baseline: Option<&'a Baseline>,
}

/// Makes it in a new folder.
pub(super) fn make(new: &Path, request: &HomeRequest<'_>) -> io::Result<GateHome> {
    DirBuilder::new().mode(0o700).create(new)?;
    let mut home = GateHome::default();
    home.variables.push(("HOME".to_owned(), new.as_os_str().to_owned()));
    let Some(user) = request.user else { return Ok(home) };
    let places = HomePlaces::of_process(user, request.workspace);
    let further: Vec<PathBuf> = request.further.iter().filter_map(|path| below(path, user)).collect();
    // What lies in a folder that is linked as a whole is there already: nothing is written into the user's own.
    let is_linked = |path: &Path| further.iter().any(|folder| path.starts_with(folder));
    for tool in &further {
        link(&places.find(tool), new, tool)?;
    }
    for tool in tables::TOOL_HOMES.iter().map(Path::new).filter(|tool| !is_linked(tool)) {
        link_without_settings(&places.find(tool), new, tool, &is_linked)?;
    }
    if let Some(baseline) = request.baseline {
        for (setting, text) in baseline.settings.iter().filter(|(setting, _)| !is_linked(Path::new(setting))) {
            let path = made(new, Path::new(setting))?;
            let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
            file.write_all(text)?;
            // Some tools find their own home by its path: then the present file decides.
            let is_of_a_tool = tables::TOOL_HOMES.iter().any(|tool| Path::new(setting).starts_with(tool));
            if is_of_a_tool && setting_at(&places.find(setting)).as_ref() != Some(text) {
                home.remarks.push(format!("{setting} in HOME changed since the start; the copy has it as it was"));
            }
        }
        for entry in entries(&places).into_iter().filter(|entry| !is_linked(entry)) {
            let known = baseline.entries.get(&escape_path(entry.as_os_str().as_bytes()));
            let from = places.find(&entry);
            if known.is_some() && known == digest_of(&from).as_ref() {
                symlink(&from, &made(new, &entry)?)?;
            }
        }
    }
    for path in request.named {
        let path = whole_place(Path::new(path), user, request.workspace);
        link(&places.find(&path), new, &path)?;
    }
    home.variables.extend(path_into(new, &places));
    home.variables.extend(places.variables(new));
    home.remarks.extend(places.remark());
    Ok(home)
}

/// What is linked for a named path: of a file its folder, since it may use what lies beside it. A folder of settings, or
/// one with the workspace, is not linked as a whole.
fn whole_place(path: &Path, user: &Path, workspace: &Path) -> PathBuf {
    let is_hidden = path.components().any(|part| part.as_os_str().as_bytes().starts_with(b"."));
    let above = path.parent().filter(|above| !above.as_os_str().is_empty() && !is_hidden);
    let above = above.filter(|above| !user.join(path).is_dir() && !workspace.starts_with(user.join(above)));
    above.unwrap_or(path).to_owned()
}

/// Links a file or folder, unless it is there already.
fn link(from: &Path, new: &Path, tool: &Path) -> io::Result<()> {
    if from.symlink_metadata().is_err() || new.join(tool).symlink_metadata().is_ok() {
        return Ok(());
    }
    symlink(from, &made(new, tool)?)
}

/// Links a home of tools, but not the settings in it: a folder with settings is made, and what is in it linked.
fn link_without_settings(from: &Path, new: &Path, tool: &Path, is_linked: &dyn Fn(&Path) -> bool) -> io::Result<()> {
    let settings = || tables::SETTINGS.iter().chain(tables::SETTING_FOLDERS).map(Path::new);
    if settings().any(|setting| setting == tool && !is_linked(setting)) {
        return Ok(());
    }
    if !settings().any(|setting| setting.starts_with(tool)) || !from.is_dir() {
        return link(from, new, tool);
    }
    fs::create_dir_all(new.join(tool))?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        link_without_settings(&entry.path(), new, &tool.join(entry.file_name()), is_linked)?;
    }
    Ok(())
}

/// A path from HOME on, however it is named; none where it leads elsewhere.
fn below(path: &str, user: &Path) -> Option<PathBuf> {
    let path = path_of(path);
    let below = path.strip_prefix(user).or_else(|_| path.strip_prefix("~")).unwrap_or(&path);
    let is_plain = below.components().all(|part| matches!(part, Component::Normal(_)));
    (is_plain && below.components().next().is_some()).then(|| below.to_owned())
}

/// A path in the new folder, with the folders above it.
fn made(new: &Path, below: &Path) -> io::Result<PathBuf> {
    let path = new.join(below);
    if let Some(above) = path.parent() {
        fs::create_dir_all(above)?;
    }
    Ok(path)
}

/// PATH as gates have it, with the user's own folders of programs replaced by those of the new HOME.
fn path_into(new: &Path, places: &HomePlaces) -> Option<(String, OsString)> {
    let entry = |entry: PathBuf| {
        let own = tables::ENTRY_FOLDERS.iter().find(|folder| entry == places.find(folder));
        own.map_or(entry, |folder| new.join(folder))
    };
    let path = std::env::join_paths(std::env::split_paths(&search_path()?.value).map(entry)).ok()?;
    Some(("PATH".to_owned(), path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_named_file_its_folder_is_linked_but_no_settings_and_no_folder_with_the_workspace() {
        let place = |path: &str| whole_place(Path::new(path), Path::new("/nowhere/h"), Path::new("/nowhere/h/work/a"));
        for (path, linked) in [
            ("checks/accept.sh", "checks"),
            ("deep/checks/accept.sh", "deep/checks"),
            ("accept.sh", "accept.sh"),
            (".config/x.sh", ".config/x.sh"),
            ("work/check.sh", "work/check.sh"),
            ("work/a/check.sh", "work/a/check.sh"),
        ] {
            assert_eq!(place(path), Path::new(linked), "{path}");
        }
    }

    #[test]
    fn a_further_folder_of_home_is_named_from_there_or_in_full_and_never_leads_out_of_it() {
        let home = Path::new("/h");
        for path in [".mytool", "~/.mytool", "/h/.mytool"] {
            assert_eq!(below(path, home), Some(PathBuf::from(".mytool")), "{path}");
        }
        for path in ["/etc", "../other", ".mytool/../../other", "~", "/h", ""] {
            assert_eq!(below(path, home), None, "{path}");
        }
    }
}
