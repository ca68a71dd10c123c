//! Templates on this machine: the built-in ones, the user's own, and those of a project.
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use loop_core::settings::{Layer, SettingsError};
use loop_core::template::{BUILT_IN, BUILT_IN_PHASES, Template};
use loop_core::text::nearest;

use crate::approvals;
use crate::paths::{Home, text_of as path_text};
use crate::refusal::LaunchRefusal;
use crate::settings_files::{refuse_link_outside, text_of};

/// Names a folder of own templates, in the place of the one beside the user's settings.
pub const TEMPLATES_VARIABLE: &str = "LOOP_TEMPLATES_DIR";
/// The folder beside the user's settings.
const OWN_FOLDER: &str = "templates";
/// The folder in a workspace.
pub const PROJECT_FOLDER: &str = ".loop/templates";
/// So many files of one folder are looked at.
const TEMPLATES_MAX: usize = 500;

/// Where a template comes from. The first wins over those below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TemplateSource {
    /// The user's own.
    Own,
    /// It comes with the repository, and must be approved.
    Project,
    /// A part of the program.
    BuiltIn,
}

impl TemplateSource {
    /// Its word for people and for JSON.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Project => "project",
            Self::BuiltIn => "built-in",
        }
    }

    const fn layer(self) -> Layer {
        match self {
            Self::Own | Self::BuiltIn => Layer::Template,
            Self::Project => Layer::Project,
        }
    }
}

/// A template that is there.
#[derive(Debug, Clone)]
pub struct KnownTemplate {
    /// Its name.
    pub name: String,
    /// Where it comes from.
    pub source: TemplateSource,
    /// Its file; none for a built-in one.
    pub file: Option<PathBuf>,
    /// Its text.
    pub text: String,
    /// Other templates of this name that it replaces.
    pub replaces: Vec<TemplateSource>,
}

impl KnownTemplate {
    /// Its file for people, from the workspace where it lies in it.
    #[must_use]
    pub fn place(&self) -> String {
        match (&self.file, self.source) {
            (None, _) => format!("template {}", self.name),
            (Some(_), TemplateSource::Project) => format!("{PROJECT_FOLDER}/{}.toml", self.name),
            (Some(file), _) => path_text(file),
        }
    }

    /// What it says.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn read(&self) -> Result<Template, SettingsError> {
        Template::read(&self.name, &self.text, &self.place(), self.source.layer())
    }

    /// Whether it may be used: one of a project only where the user has approved it as it is.
    #[must_use]
    pub fn is_approved(&self, home: &Home) -> bool {
        let approved = |file: &PathBuf| approvals::is_approved(&home.state, file, &self.text);
        self.source != TemplateSource::Project || self.file.as_ref().is_some_and(approved)
    }
}

/// The folder of the user's own templates. It may not exist yet.
///
/// # Errors
/// When the variable does not name a folder by its whole path.
pub fn own_folder(home: &Home) -> Result<PathBuf, LaunchRefusal> {
    let Some(named) = std::env::var_os(TEMPLATES_VARIABLE).filter(|named| !named.is_empty()) else {
        return Ok(home.config.join(OWN_FOLDER));
    };
    let folder = PathBuf::from(named);
    let wrong = |why: &str| {
        LaunchRefusal::wrong(format!("{TEMPLATES_VARIABLE} is wrong: {}", path_text(&folder)))
            .because(why)
            .hint(format!("set it to the whole path of a folder, or unset it: {TEMPLATES_VARIABLE}=~/templates"))
    };
    if folder.is_relative() {
        return Err(wrong("it is not a whole path, so it would name another folder in each place"));
    }
    match fs::metadata(&folder) {
        Ok(found) if !found.is_dir() => Err(wrong("it is not a folder")),
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(wrong(&error.to_string())),
        Ok(_) | Err(_) => Ok(folder),
    }
}

/// All templates, by name: those that win.
///
/// # Errors
/// When a folder or a file cannot be read.
pub fn all(home: &Home, workspace: Option<&Path>) -> Result<Vec<KnownTemplate>, LaunchRefusal> {
    let mut found = in_folder(&own_folder(home)?, TemplateSource::Own, None)?;
    if let Some(workspace) = workspace {
        found.extend(in_folder(&workspace.join(PROJECT_FOLDER), TemplateSource::Project, Some(workspace))?);
    }
    found.extend(BUILT_IN.iter().chain(&BUILT_IN_PHASES).map(|(name, text)| KnownTemplate {
        name: (*name).to_owned(),
        source: TemplateSource::BuiltIn,
        file: None,
        text: (*text).to_owned(),
        replaces: Vec::new(),
    }));
    let mut winning: Vec<KnownTemplate> = Vec::new();
    for template in found {
        match winning.iter_mut().find(|other| other.name == template.name) {
            Some(other) => other.replaces.push(template.source),
            None => winning.push(template),
        }
    }
    winning.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(winning)
}

/// The template of a name.
///
/// # Errors
/// When there is none, with the nearest name; when a folder cannot be read.
pub fn find(home: &Home, workspace: Option<&Path>, name: &str) -> Result<KnownTemplate, LaunchRefusal> {
    let all = all(home, workspace)?;
    let near = nearest(name, all.iter().map(|template| template.name.as_str())).map(str::to_owned);
    all.into_iter().find(|template| template.name == name).ok_or_else(|| {
        let refusal = LaunchRefusal::wrong(format!("there is no template {name}"));
        match near {
            Some(near) => refusal.hint(format!("did you mean {near}?")),
            None => refusal.hint("loop template list"),
        }
    })
}

/// The templates of a folder: files `NAME.toml`. Others are left out.
fn in_folder(
    folder: &Path,
    source: TemplateSource,
    workspace: Option<&Path>,
) -> Result<Vec<KnownTemplate>, LaunchRefusal> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        Err(error) => {
            return Err(LaunchRefusal::wrong(format!("cannot read {}", path_text(folder))).because(error.to_string()));
        }
    };
    let mut found = Vec::new();
    for entry in entries.flatten().take(TEMPLATES_MAX) {
        let Ok(file) = entry.file_name().into_string() else { continue };
        let Some(name) = file.strip_suffix(".toml").filter(|name| is_name(name)) else { continue };
        let path = entry.path();
        if let Some(workspace) = workspace {
            refuse_link_outside(workspace, &path)?;
        }
        let Some(text) = text_of(&path)? else { continue };
        found.push(KnownTemplate { name: name.to_owned(), source, file: Some(path), text, replaces: Vec::new() });
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(found)
}

/// Whether a word can be the name of a template: it is also the name of its file.
#[must_use]
pub fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    !name.is_empty() && name.len() <= 64 && !name.starts_with(['.', '-']) && name.bytes().all(fits)
}
