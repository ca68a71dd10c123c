//! Settings from files and the environment, read into layers.
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use loop_core::agent::Described;
use loop_core::settings::{
    Given, HiddenSettings, Layer, Project, SettingsError, agents_from_toml, agents_from_yaml, from_environment,
    from_named_yaml, from_toml, from_yaml, hidden_from_toml, hidden_from_yaml, project_from_toml,
};
use thiserror::Error;

use crate::paths::from_home;

/// The name of the user's own file in the config folder.
pub const USER_FILE: &str = "config.toml";
/// The same in YAML, which is read too.
pub const USER_YAML: &str = "config.yaml";
/// The name of a project's file in its workspace.
pub const PROJECT_FILE: &str = ".loop.toml";
/// The same, in sight.
pub const PROJECT_FILE_SEEN: &str = "loop.toml";

/// A file that is longer cannot be a settings file.
const FILE_BYTES_MAX: u64 = 1024 * 1024;
/// So many hidden gates there may be, of all workspaces together.
const HIDDEN_MAX: usize = 256;

/// Why settings cannot be read.
#[derive(Debug, Error)]
pub enum FilesError {
    /// One of them is wrong.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// A file cannot be read.
    #[error("cannot read {}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Which of the two should hold?
    #[error("both {} and {} are in {}", files[0], files[1], folder.display())]
    Both {
        /// Where.
        folder: PathBuf,
        /// Which.
        files: [&'static str; 2],
    },
}

/// What the user's file, the project's file and the environment say.
///
/// # Errors
/// The first thing that is wrong.
pub fn gather(config: &Path, project: Option<Project>) -> Result<Vec<Given>, FilesError> {
    let mut given = user(config)?;
    given.extend(project.into_iter().flat_map(|project| project.given));
    given.extend(from_environment(|name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned()))?);
    Ok(given)
}

/// What a file says that a person named for one start: over their own file, below everything else.
///
/// # Errors
/// When there is no such file, or the first thing that is wrong in it.
pub fn named(path: &Path) -> Result<Vec<Given>, FilesError> {
    let wrong = |why: &str| FilesError::Io { path: path.to_owned(), source: io::Error::other(why.to_owned()) };
    let text = text_of(path)?.ok_or_else(|| wrong("there is no such file"))?;
    let file = path.display().to_string();
    let is_yaml = path.extension().is_some_and(|end| end == "yaml" || end == "yml");
    let (given, agents, hidden) = if is_yaml {
        (from_named_yaml(&text, &file)?, agents_from_yaml(&text, &file)?, hidden_from_yaml(&text, &file)?)
    } else {
        (from_toml(&text, &file, Layer::User)?, agents_from_toml(&text, &file)?, hidden_from_toml(&text, &file)?)
    };
    if !agents.is_empty() || hidden.file.is_some() || !hidden.gates.is_empty() {
        return Err(wrong("agents and hidden gates may stand only in your own settings file"));
    }
    Ok(given)
}

/// A project's file as it is now.
#[derive(Debug)]
pub struct ProjectFile {
    /// What it is called.
    pub name: &'static str,
    /// What it says.
    pub text: String,
}

impl ProjectFile {
    /// The one of a workspace, if it has one.
    ///
    /// # Errors
    /// When it cannot be read, or there are two.
    pub fn find(workspace: &Path) -> Result<Option<Self>, FilesError> {
        let read = |name: &str| {
            let path = workspace.join(name);
            refuse_link_outside(workspace, &path)?;
            text_of(&path)
        };
        let (hidden, seen) = (read(PROJECT_FILE)?, read(PROJECT_FILE_SEEN)?);
        match (hidden, seen) {
            (Some(_), Some(_)) => {
                Err(FilesError::Both { folder: workspace.to_owned(), files: [PROJECT_FILE, PROJECT_FILE_SEEN] })
            }
            (Some(text), None) => Ok(Some(Self { name: PROJECT_FILE, text })),
            (None, Some(text)) => Ok(Some(Self { name: PROJECT_FILE_SEEN, text })),
            (None, None) => Ok(None),
        }
    }

    /// What it says; what is run only where that is approved.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn read(&self, approved: bool) -> Result<Project, FilesError> {
        Ok(project_from_toml(&self.text, self.name, approved)?)
    }
}

/// Writes the settings file of a workspace that has none yet.
///
/// # Errors
/// When there is a file of this name, or it cannot be written.
pub fn write_new_project_file(workspace: &Path, text: &str) -> io::Result<()> {
    let path = workspace.join(PROJECT_FILE);
    let mut file = fs::OpenOptions::new().write(true).create_new(true).open(&path)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    if written.is_err() {
        fs::remove_file(&path).ok();
    }
    written
}

/// A repository may not let loop read, and show, another file of the user.
pub(crate) fn refuse_link_outside(workspace: &Path, path: &Path) -> Result<(), FilesError> {
    if !fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink()) {
        return Ok(());
    }
    // One that leads nowhere is no file, as before.
    let (Ok(target), Ok(folder)) = (path.canonicalize(), workspace.canonicalize()) else { return Ok(()) };
    if target.starts_with(folder) {
        return Ok(());
    }
    let source = io::Error::other("it is a link that leads out of the workspace");
    Err(FilesError::Io { path: path.to_owned(), source })
}

fn user(config: &Path) -> Result<Vec<Given>, FilesError> {
    let (toml, yaml) = (config.join(USER_FILE), config.join(USER_YAML));
    match (text_of(&toml)?, text_of(&yaml)?) {
        (Some(_), Some(_)) => Err(FilesError::Both { folder: config.to_owned(), files: [USER_FILE, USER_YAML] }),
        (Some(text), None) => Ok(from_toml(&text, &toml.display().to_string(), Layer::User)?),
        (None, Some(text)) => Ok(from_yaml(&text, &yaml.display().to_string(), Layer::User)?),
        (None, None) => Ok(Vec::new()),
    }
}

/// The agents that the user described in their own file.
///
/// # Errors
/// The first thing that is wrong.
pub fn described(config: &Path) -> Result<Vec<Described>, FilesError> {
    let (toml, yaml) = (config.join(USER_FILE), config.join(USER_YAML));
    match (text_of(&toml)?, text_of(&yaml)?) {
        (Some(_), Some(_)) => Err(FilesError::Both { folder: config.to_owned(), files: [USER_FILE, USER_YAML] }),
        (Some(text), None) => Ok(agents_from_toml(&text, &toml.display().to_string())?),
        (None, Some(text)) => Ok(agents_from_yaml(&text, &yaml.display().to_string())?),
        (None, None) => Ok(Vec::new()),
    }
}

/// The hidden gates of the user's own file, and of the file that it names.
///
/// # Errors
/// The first thing that is wrong.
pub fn hidden(config: &Path) -> Result<HiddenSettings, FilesError> {
    let (toml, yaml) = (config.join(USER_FILE), config.join(USER_YAML));
    let mut found = match (text_of(&toml)?, text_of(&yaml)?) {
        (Some(_), Some(_)) => {
            return Err(FilesError::Both { folder: config.to_owned(), files: [USER_FILE, USER_YAML] });
        }
        (Some(text), None) => hidden_from_toml(&text, &toml.display().to_string())?,
        (None, Some(text)) => hidden_from_yaml(&text, &yaml.display().to_string())?,
        (None, None) => HiddenSettings::default(),
    };
    if let Some(file) = &found.file {
        // From the folder of the settings, wherever the command was given.
        let path = config.join(from_home(file));
        let Some(text) = text_of(&path)? else {
            return Err(FilesError::Io { path, source: io::Error::other("hidden_gates_file names no file") });
        };
        let more = hidden_from_toml(&text, &path.display().to_string())?;
        found.gates.extend(more.gates);
        found.file = Some(path.display().to_string());
    }
    if found.gates.len() > HIDDEN_MAX {
        return Err(FilesError::Io {
            path: config.to_owned(),
            source: io::Error::other(format!("there are more than {HIDDEN_MAX} hidden gates")),
        });
    }
    Ok(found)
}

/// The text of a file, or none if there is none.
///
/// # Errors
/// When it is there and cannot be read.
pub fn text_of(path: &Path) -> Result<Option<String>, FilesError> {
    let error = |source| FilesError::Io { path: path.to_owned(), source };
    match fs::metadata(path) {
        Err(missing) if missing.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(error(source)),
        Ok(found) if !found.is_file() => return Err(error(io::Error::other("it is not a plain file"))),
        Ok(found) if found.len() > FILE_BYTES_MAX => return Err(error(io::Error::other("it is larger than 1 MiB"))),
        Ok(_) => {}
    }
    fs::read_to_string(path).map(Some).map_err(error)
}
