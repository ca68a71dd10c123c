//! What continuous integration runs, as lines of its files: it confirms commands, and has their arguments.
use super::listing::ProjectListing;

/// Files of continuous integration at the root.
const FILES: [&str; 9] = [
    ".gitlab-ci.yml",
    ".circleci/config.yml",
    "azure-pipelines.yml",
    "bitbucket-pipelines.yml",
    ".travis.yml",
    ".woodpecker.yml",
    ".drone.yml",
    "Jenkinsfile",
    ".cirrus.yml",
];
/// Folders of workflows.
const FOLDERS: [&str; 3] = [".github/workflows/", ".forgejo/workflows/", ".gitea/workflows/"];
/// A longer line is not a command that a person would type.
const LINE_LETTERS_MAX: usize = 160;

/// Whether a path is a file of continuous integration.
pub(super) fn is_ci_file(path: &str) -> bool {
    let is_yaml = || path.ends_with(".yml") || path.ends_with(".yaml");
    FILES.contains(&path) || is_yaml() && folder_of_ci(path).is_some()
}

/// The folder of workflows that a path lies in.
pub(super) fn folder_of_ci(path: &str) -> Option<&'static str> {
    FOLDERS.into_iter().find(|folder| path.starts_with(folder))
}

/// The lines of all files of continuous integration.
#[derive(Debug, Default)]
pub(super) struct CiLines(Vec<CiLine>);

/// A command of continuous integration.
#[derive(Debug)]
pub(super) struct CiLine {
    pub(super) file: String,
    pub(super) command: String,
}

impl CiLines {
    pub(super) fn of(listing: &ProjectListing) -> Self {
        let mut lines = Vec::new();
        for file in listing.paths().filter(|path| is_ci_file(path)) {
            for line in listing.text(file).lines() {
                let line = line.trim().trim_start_matches("- ").trim_start_matches("run:");
                let line = line.trim().trim_matches(['"', '\'']);
                if !line.starts_with('#') && !line.is_empty() {
                    lines.push(CiLine { file: file.to_owned(), command: line.to_owned() });
                }
            }
        }
        Self(lines)
    }

    /// The file that runs a command, with or without more arguments.
    pub(super) fn running(&self, command: &str) -> Option<&str> {
        let runs = |line: &&CiLine| {
            line.command.split("&&").map(str::trim).any(|part| {
                part.strip_prefix(command).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', ';', '|']))
            })
        };
        self.0.iter().find(runs).map(|line| line.file.as_str())
    }

    /// The first line that begins so, if it is a plain command: no variable, nothing behind it.
    pub(super) fn line(&self, beginning: &str) -> Option<&CiLine> {
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || " ._/=:,+-".contains(letter);
        self.0.iter().find(|line| {
            line.command.starts_with(beginning)
                && line.command.len() <= LINE_LETTERS_MAX
                && line.command.chars().all(is_plain)
        })
    }
}
