//! The tools, how a path names one, and which files of it are read.
use super::ralphex;

/// A tool whose files can be imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PeerTool {
    /// frankbria/ralph-claude-code: `.ralph/`, `.ralphrc`, `fix_plan.md`.
    Ralph,
    /// subsy/ralph-tui and snarktank/ralph: `.ralph-tui/config.toml`, `prd.json`.
    RalphTui,
    /// umputun/ralphex: `.ralphex/`, `docs/plans/`.
    Ralphex,
    /// Loopr: `.loopr/`.
    Loopr,
    /// The `loop` of Daedalos: workflow files, `config.yaml`.
    Daedalos,
}

impl PeerTool {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Ralph, Self::RalphTui, Self::Ralphex, Self::Loopr, Self::Daedalos];

    /// The word for `--from`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Ralph => "ralph",
            Self::RalphTui => "ralph-tui",
            Self::Ralphex => "ralphex",
            Self::Loopr => "loopr",
            Self::Daedalos => "daedalos",
        }
    }

    /// The one of that word.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.word() == word)
    }

    /// Its name for people.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Ralph => "ralph-claude-code",
            Self::RalphTui => "ralph-tui",
            Self::Ralphex => "ralphex",
            Self::Loopr => "loopr",
            Self::Daedalos => "Daedalos loop",
        }
    }

    /// Files and folders of a project by which it is recognised.
    #[must_use]
    pub fn markers(self) -> &'static [&'static str] {
        match self {
            Self::Ralph => &[".ralph", ".ralphrc", "fix_plan.md", "@fix_plan.md"],
            Self::RalphTui => &[".ralph-tui", "prd.json"],
            Self::Ralphex => &[".ralphex"],
            Self::Loopr => &[".loopr"],
            // Its workflow files have no name of their own: they are named on the command line.
            Self::Daedalos => &[],
        }
    }

    /// Its own folder in a project.
    fn folder(self) -> Option<&'static str> {
        self.markers().first().copied().filter(|name| name.starts_with('.'))
    }

    /// The files of it that are read, below the folder of the project, or below the user's own folder of the tool.
    #[must_use]
    pub fn wanted(self, is_users_own: bool) -> Vec<WantedFiles> {
        let exactly =
            |folder: &str, names| WantedFiles { folder: folder.to_owned(), names: WantedNames::Exactly(names) };
        let ending = |folder: &str, end| WantedFiles { folder: folder.to_owned(), names: WantedNames::Ending(end) };
        match (self, is_users_own) {
            (Self::Ralph, _) => vec![
                exactly("", &[".ralphrc", "fix_plan.md", "@fix_plan.md", "PROMPT.md", "@AGENT.md"]),
                ending(".ralph", &[".md"]),
            ],
            (Self::RalphTui, true) => vec![exactly("", &["config.toml"])],
            (Self::RalphTui, false) => {
                vec![ending(".ralph-tui", &["config.toml"]), exactly("", &["prd.json"])]
            }
            (Self::Ralphex, true) => vec![ending("", &["config"]), ending("prompts", &[".txt"])],
            (Self::Ralphex, false) => vec![ending(".ralphex", &["config"]), ending(".ralphex/prompts", &[".txt"])],
            (Self::Loopr, _) => vec![ending(".loopr", &["config", "prompt.md"])],
            (Self::Daedalos, _) => vec![
                exactly("", &["config.yaml", "config.yml"]),
                ending("templates", &[".yaml", ".yml"]),
                ending("workflows", &[".yaml", ".yml"]),
            ],
        }
    }

    /// The folders that the files name in which there is more to read.
    #[must_use]
    pub fn more_wanted(self, files: &[SourceFile], is_users_own: bool) -> Vec<WantedFiles> {
        let folder = (self == Self::Ralphex && !is_users_own).then(|| ralphex::plans_folder(files)).flatten();
        folder.into_iter().map(|folder| WantedFiles { folder, names: WantedNames::Ending(&[".md"]) }).collect()
    }
}

/// Files of one folder that are read if they are there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedFiles {
    /// Below the folder of the project; empty for that folder itself.
    pub folder: String,
    /// Which.
    pub names: WantedNames,
}

/// Which files of a folder are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WantedNames {
    /// These. What else is in the folder is not looked at.
    Exactly(&'static [&'static str]),
    /// Those that end so. What else is in the folder is named, and not read.
    Ending(&'static [&'static str]),
}

/// A file that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// Below the folder of the project.
    pub name: String,
    /// All of it.
    pub text: String,
}

/// A file or folder beside those that were read; the name of a folder ends with a slash.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct BesideFile {
    /// Below the folder of the project.
    pub name: String,
    /// Why it was not read.
    pub why: &'static str,
}

impl BesideFile {
    /// One of a tool.
    #[must_use]
    pub fn of(tool: PeerTool, name: String) -> Self {
        let last = name.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        let why = match (tool, last) {
            (PeerTool::Ralph, "specs" | "docs" | "examples") => "stays where it is; the prompt can name it",
            (PeerTool::RalphTui, "progress.md") => "notes for the agent; add them by --inject if they are needed",
            (PeerTool::Ralphex, "agents") => "agents of its review phases; loop has no review phase",
            (PeerTool::Ralphex, "prompts") => "read on its own",
            (PeerTool::Ralphex, "completed") => "plans that are done",
            _ => "records or state of the other tool",
        };
        Self { name, why }
    }
}

/// What was found of one tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportSource {
    /// Which.
    pub tool: PeerTool,
    /// What was read.
    pub files: Vec<SourceFile>,
    /// What is there, too.
    pub beside: Vec<BesideFile>,
}

/// What a path on the command line names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourcePlace {
    /// How many of its last names are below the folder of the project.
    pub below: usize,
    /// The tool, where the names say it.
    pub tool: Option<PeerTool>,
    /// Whether it is a folder of the user's own settings, not one of a project.
    pub is_users_own: bool,
}

impl SourcePlace {
    /// By the names of an absolute path, from the root on. None for a file of no known kind.
    #[must_use]
    pub fn of(names: &[&str], is_folder: bool) -> Option<Self> {
        let folder = if is_folder { names } else { names.split_last().map_or(names, |(_, above)| above) };
        let last = folder.last().copied().unwrap_or_default();
        let above = folder.iter().rev().nth(1).copied().unwrap_or_default();
        let own = usize::from(!is_folder);
        let at = |tool, up: usize, is_users_own| Some(Self { below: up + own, tool: Some(tool), is_users_own });
        if let Some(tool) = PeerTool::ALL.into_iter().find(|tool| tool.folder() == Some(last)) {
            return at(tool, 1, false);
        }
        match (above, last) {
            ("daedalos", "loop") => return at(PeerTool::Daedalos, 0, true),
            (".config", "ralph-tui") => return at(PeerTool::RalphTui, 0, true),
            (".config", "ralphex") => return at(PeerTool::Ralphex, 0, true),
            (".ralphex", "prompts") => return at(PeerTool::Ralphex, 2, false),
            _ if is_folder => return Some(Self { below: 0, tool: None, is_users_own: false }),
            _ => {}
        }
        let name = names.last().copied().unwrap_or_default();
        let tool = match name {
            ".ralphrc" | "fix_plan.md" | "@fix_plan.md" | "PROMPT.md" | "AGENT.md" | "@AGENT.md" => PeerTool::Ralph,
            "prd.json" => PeerTool::RalphTui,
            _ if name.ends_with(".yaml") || name.ends_with(".yml") => PeerTool::Daedalos,
            _ if name.ends_with(".md") && last == "plans" => PeerTool::Ralphex,
            _ => return None,
        };
        at(tool, 0, false)
    }
}
