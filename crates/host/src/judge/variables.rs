//! Variables that lead to homes of tools and to settings: where these are for the user, and what the variables are in a
//! clean copy. There each leads into the new HOME, which has the same tools, and the settings of the start.
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::tables::{HOME_VARIABLES, HomeVariable, LIVE_VARIABLES};

/// Paths that only the system's own packages change.
const SYSTEM: &[&str] = &["/usr", "/bin", "/lib", "/lib64", "/sbin", "/nix/store", "/dev"];

/// Where the user has what is in HOME by default.
#[derive(Debug)]
pub(super) struct HomePlaces {
    home: PathBuf,
    moved: Vec<Moved>,
    /// Variables that a clean copy has as they are, although what they lead to may have changed.
    live: Vec<&'static str>,
}

#[derive(Debug)]
struct Moved {
    variable: &'static HomeVariable,
    to: PathBuf,
}

impl HomePlaces {
    /// As the variables of this process say.
    pub(super) fn of_process(home: &Path, workspace: &Path) -> Self {
        Self::new(home, workspace, &|name| std::env::var_os(name))
    }

    fn new(home: &Path, workspace: &Path, read: &dyn Fn(&str) -> Option<OsString>) -> Self {
        let (mut moved, mut live) = (Vec::new(), Vec::new());
        // A folder of the workspace is in the copy. What is no path means something else, such as `off`.
        let is_outside = |path: &Path| {
            let is_system = SYSTEM.iter().any(|folder| path.starts_with(folder));
            path.is_absolute() && !path.starts_with(workspace) && !is_system && path.symlink_metadata().is_ok()
        };
        for variable in HOME_VARIABLES {
            let Some(value) = read(variable.name) else { continue };
            let to = PathBuf::from(&value);
            if std::env::split_paths(&value).nth(1).is_some() {
                live.extend(std::env::split_paths(&value).any(|path| is_outside(&path)).then_some(variable.name));
            } else if to.is_absolute() && !to.starts_with(workspace) && !to.starts_with("/dev") {
                moved.push(Moved { variable, to });
            }
        }
        for name in LIVE_VARIABLES {
            let value = read(name).unwrap_or_default();
            live.extend(std::env::split_paths(&value).any(|path| is_outside(&path)).then_some(*name));
        }
        Self { home: home.to_owned(), moved, live }
    }

    /// Where something is that is in HOME by default, named from there.
    pub(super) fn find(&self, below: impl AsRef<Path>) -> PathBuf {
        let below = below.as_ref();
        let fits = |moved: &&Moved| below.starts_with(moved.variable.instead_of);
        let depth = |moved: &&Moved| Path::new(moved.variable.instead_of).components().count();
        let moved = self.moved.iter().filter(fits).max_by_key(depth);
        let rest = moved.and_then(|moved| Some((moved, below.strip_prefix(moved.variable.instead_of).ok()?)));
        match rest {
            Some((moved, rest)) if rest.as_os_str().is_empty() => moved.to.clone(),
            Some((moved, rest)) => moved.to.join(rest),
            None => self.home.join(below),
        }
    }

    /// The variables as they are with a new HOME.
    pub(super) fn variables(&self, new: &Path) -> impl Iterator<Item = (String, OsString)> {
        self.moved.iter().map(move |moved| {
            let value = new.join(moved.variable.instead_of).into_os_string();
            (moved.variable.name.to_owned(), value)
        })
    }

    /// What a person should know about the other variables.
    pub(super) fn remark(&self) -> Option<String> {
        let names = self.live.join(", ");
        (!names.is_empty()).then(|| format!("what {names} leads to is as it is now, also in the copy"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_variable_moves_is_found_there_and_the_deepest_one_decides() {
        let read = |name: &str| match name {
            "XDG_CONFIG_HOME" => Some("/x/config".into()),
            "MISE_CONFIG_DIR" => Some("/x/mise".into()),
            "npm_config_userconfig" => Some("/x/npm.conf".into()),
            // Not a path, nothing at all, and a folder of the workspace.
            "GOENV" => Some("off".into()),
            "PIP_CONFIG_FILE" => Some("/dev/null".into()),
            "CARGO_HOME" => Some("/w/.cargo".into()),
            _ => None,
        };
        let places = HomePlaces::new(Path::new("/h"), Path::new("/w"), &read);
        for (below, at) in [
            (".config/git/config", "/x/config/git/config"),
            (".config/mise/config.toml", "/x/mise/config.toml"),
            (".npmrc", "/x/npm.conf"),
            (".cargo/config.toml", "/h/.cargo/config.toml"),
            (".bashrc", "/h/.bashrc"),
        ] {
            assert_eq!(places.find(below), Path::new(at), "{below}");
        }
        let mut variables: Vec<_> = places.variables(Path::new("/new")).collect();
        variables.sort();
        let expected = [
            ("MISE_CONFIG_DIR", "/new/.config/mise"),
            ("XDG_CONFIG_HOME", "/new/.config"),
            ("npm_config_userconfig", "/new/.npmrc"),
        ];
        assert_eq!(variables, expected.map(|(name, value)| (name.to_owned(), OsString::from(value))));
    }
}
