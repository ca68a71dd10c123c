//! The result of an import: what a project file may say of it, its text, and the next command.
use serde::Serialize;

use super::account::{ImportLine, LineFate, LinesOfSource, Mapping};
use super::tool::{BesideFile, ImportSource, PeerTool, SourceFile};
use super::{ImportError, daedalos, loopr, ralph, ralph_tui, ralphex};
use crate::agent::shell_words::quoted;
use crate::settings::{Given, InProject, Key, Kind, Layer, Origin, SettingsError, key, keys, set_in_toml, too_wide};

/// What becomes of the files of another tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportPlan {
    /// Whose.
    pub tool: PeerTool,
    /// Every line that says something, and its fate, in the order of the files.
    pub lines: Vec<ImportLine>,
    /// How many lines of each file have which fate.
    pub accounts: Vec<FileAccount>,
    /// Files to be written beside the project file.
    pub files: Vec<ImportedFile>,
    /// What is there and was not read.
    pub beside: Vec<BesideFile>,
    /// What a person should look at.
    pub notes: Vec<String>,
    /// What is typed next.
    pub next: NextCommand,
}

/// A file that is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedFile {
    /// Its name in the folder of the project.
    pub name: String,
    /// All of it.
    pub text: String,
}

/// The lines of a file, by their fate. Together they are all of its lines.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct FileAccount {
    /// The file.
    pub file: String,
    /// How many lines it has.
    pub lines: usize,
    /// Settings of the project file.
    pub set: usize,
    /// Settings that only the user can give.
    pub yours: usize,
    /// Copied.
    pub copied: usize,
    /// Left to a later command.
    pub later: usize,
    /// Without a counterpart.
    pub left: usize,
    /// Empty lines, comments, headings and brackets.
    pub nothing: usize,
}

/// The command to type next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextCommand {
    /// `loop start`.
    Start {
        /// The file with the task.
        prompt: Option<String>,
        /// Flags for what a project file may not raise.
        flags: Vec<String>,
        /// Whether a promise must be named: no gate was found.
        needs_promise: bool,
    },
    /// `loop workflow check`.
    Workflow {
        /// The file.
        file: String,
        /// Whether it is one of those that are written.
        is_written: bool,
    },
}

/// Plans an import. `own` are the user's own settings; `existing` is the text of the project file that is there.
///
/// # Errors
/// The first file that cannot be read as what it should be.
pub fn plan_import(source: &ImportSource, own: &[Given], existing: &str) -> Result<ImportPlan, ImportError> {
    let mut mapping = match source.tool {
        PeerTool::Ralph => ralph::map(source),
        PeerTool::RalphTui => ralph_tui::map(source)?,
        PeerTool::Ralphex => ralphex::map(source),
        PeerTool::Loopr => loopr::map(source),
        PeerTool::Daedalos => daedalos::map(source)?,
    };
    respect_project_rules(&mut mapping, own, existing);
    let accounts = source.files.iter().map(|file| account(&mut mapping, file)).collect();
    let order = |line: &ImportLine| source.files.iter().position(|file| file.name == line.file);
    mapping.lines.sort_by_key(|line| (order(line), line.from));
    let next = next(&mapping);
    let files = mapping.files.into_iter().map(|(name, text)| ImportedFile { name, text }).collect();
    let (lines, notes) = (mapping.lines, mapping.notes);
    Ok(ImportPlan { tool: source.tool, lines, accounts, files, beside: source.beside.clone(), notes, next })
}

impl ImportPlan {
    /// The settings of the project file, with the values of a list in one.
    fn settings(&self) -> Vec<Given> {
        let mut all: Vec<Given> = Vec::new();
        for given in self.lines.iter().filter_map(given_by) {
            match all.iter_mut().find(|known| known.key == given.key) {
                Some(known) => known.value = format!("{}\n{}", known.value, given.value),
                None => all.push(given),
            }
        }
        all
    }

    /// The project file with the settings in it; every other line stays. None where there is nothing to set.
    ///
    /// # Errors
    /// When the text that is there is not TOML.
    pub fn project_text(&self, existing: &str, file: &str) -> Result<Option<String>, SettingsError> {
        let settings = self.settings();
        if settings.is_empty() {
            return Ok(None);
        }
        let mut text = existing.to_owned();
        for Given { key, value, .. } in settings {
            text = set_in_toml(&text, file, key, &value)?;
        }
        let head = format!("# written by `loop import` from {}\n", self.tool.title());
        Ok(Some(if existing.trim().is_empty() { format!("{head}{text}") } else { text }))
    }
}

/// What a line sets.
fn given_by(line: &ImportLine) -> Option<Given> {
    let LineFate::Set { key: name, value, .. } = &line.fate else { return None };
    let origin = Origin { layer: Layer::Project, place: format!("{}:{}", line.file, line.from) };
    Some(Given { key: key(name)?, value: value.clone(), origin })
}

/// What a project file may not say is the user's to give; what needs their approval is marked.
fn respect_project_rules(mapping: &mut Mapping, own: &[Given], existing: &str) {
    let has_gates = existing.lines().any(|line| {
        let line = line.trim_start();
        line.starts_with("[gates") || line.starts_with("gate =") || line.starts_with("gate=")
    });
    for line in &mut mapping.lines {
        let Some(given) = given_by(line) else { continue };
        let all: Vec<Given> = own.iter().cloned().chain([given.clone()]).collect();
        let wide = too_wide(&all).pop();
        let (key, value) = (given.key, given.value);
        line.fate = match (key.in_project, wide) {
            _ if key.kind == Kind::Gates && has_gates => {
                LineFate::Left { why: format!("the project file has gates of its own; add it there: {value}") }
            }
            _ if !key.in_file => yours(key, value, format!("--{}", key.flag.long), "it is only for a single start"),
            (InProject::Never, _) => {
                let words = format!("loop config set {} {}", key.name, quoted(&value));
                yours(key, value, words, "only you may set it, never a file of a project")
            }
            (_, Some(error)) => {
                let words = if key.kind == Kind::Switch {
                    format!("--no-{}", key.flag.long)
                } else {
                    format!("--{} {}", key.flag.long, quoted(&value))
                };
                let why = if let SettingsError::TooWide { allowed, .. } = &error {
                    format!("a project file may lower the limit of {allowed}, not raise it")
                } else {
                    error.why()
                };
                yours(key, value, words, &why)
            }
            (in_project, None) => {
                LineFate::Set { key: key.name, value, needs_approval: in_project == InProject::Approved }
            }
        };
    }
}

fn yours(key: &'static Key, value: String, words: String, why: &str) -> LineFate {
    LineFate::Yours { key: key.name, value, words, why: why.to_owned() }
}

/// Counts the lines of a file. A line that says something and has no fate yet gets one.
fn account(mapping: &mut Mapping, file: &SourceFile) -> FileAccount {
    let lines: Vec<&str> = file.text.lines().collect();
    let mut fates: Vec<Option<usize>> = vec![None; lines.len()];
    for (line, at) in mapping.lines.iter().zip(0..).filter(|(line, _)| line.file == file.name && line.from > 0) {
        for place in fates.iter_mut().take(line.to).skip(line.from - 1) {
            let before = place.and_then(|at| mapping.lines.get(at)).map(|line| rank(&line.fate));
            if before.is_none_or(|before| rank(&line.fate) < before) {
                *place = Some(at);
            }
        }
    }
    let mut account = FileAccount { file: file.name.clone(), lines: lines.len(), ..FileAccount::default() };
    for ((line, fate), number) in lines.iter().zip(&fates).zip(1..) {
        let fate = fate.and_then(|at| mapping.lines.get(at)).map(|line| &line.fate);
        match fate {
            Some(LineFate::Set { .. }) => account.set += 1,
            Some(LineFate::Yours { .. }) => account.yours += 1,
            Some(LineFate::Copied { .. }) => account.copied += 1,
            Some(LineFate::Later { .. }) => account.later += 1,
            Some(LineFate::Left { .. }) => account.left += 1,
            None if says_nothing(line) => account.nothing += 1,
            None => {
                account.left += 1;
                let what = crate::text::one_line(line, 60);
                let at =
                    LinesOfSource { file: file.name.clone(), from: number, to: number, what, value: String::new() };
                mapping.left(at, "import does not know this line");
            }
        }
    }
    account
}

/// Where parts of a line have several fates, the first of these counts.
fn rank(fate: &LineFate) -> usize {
    match fate {
        LineFate::Set { .. } => 0,
        LineFate::Yours { .. } => 1,
        LineFate::Copied { .. } => 2,
        LineFate::Later { .. } => 3,
        LineFate::Left { .. } => 4,
    }
}

/// Empty lines, comments, headings of TOML tables and brackets.
fn says_nothing(line: &str) -> bool {
    let line = line.trim().trim_start_matches('\u{feff}');
    let in_heading = |letter: char| letter.is_ascii_alphanumeric() || "[]._-\"".contains(letter);
    let is_heading = line.starts_with('[') && line.ends_with(']') && line.chars().all(in_heading);
    line.starts_with(['#', ';']) || is_heading || line.chars().all(|letter| "{}[],-.".contains(letter))
}

fn next(mapping: &Mapping) -> NextCommand {
    if let Some(file) = &mapping.workflow {
        let is_written = mapping.files.iter().any(|(name, _)| name == file);
        return NextCommand::Workflow { file: file.clone(), is_written };
    }
    let flag = |line: &ImportLine| match &line.fate {
        LineFate::Yours { words, .. } if words.starts_with("--") => Some(words.clone()),
        LineFate::Set { .. }
        | LineFate::Yours { .. }
        | LineFate::Copied { .. }
        | LineFate::Later { .. }
        | LineFate::Left { .. } => None,
    };
    let is_gate = |line: &ImportLine| {
        given_by(line).is_some_and(|given| given.key == keys::gate() || given.key == keys::promise())
    };
    NextCommand::Start {
        prompt: mapping.prompt.clone(),
        flags: mapping.lines.iter().filter_map(flag).collect(),
        needs_promise: !mapping.lines.iter().any(is_gate),
    }
}
