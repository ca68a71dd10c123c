//! What is wrong with a setting: what, why, and what to do about it.
use thiserror::Error;

/// A setting that cannot be taken. `place` is a flag, a variable, or a file with its line.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SettingsError {
    /// The catalogue does not have it.
    #[error("{place}: unknown key {key}")]
    UnknownKey {
        /// File and line, or the name of the source.
        place: String,
        /// What it says.
        key: String,
        /// The key that may have been meant.
        near: Option<&'static str>,
    },
    /// The value does not fit the key.
    #[error("{place}: {key} cannot be {value:?}")]
    BadValue {
        /// File and line, or the name of the source.
        place: String,
        /// The key.
        key: &'static str,
        /// What was given.
        value: String,
        /// Why it does not fit.
        why: String,
        /// What would.
        hint: String,
    },
    /// No file may say this.
    #[error("{place}: {key} may not stand in a file")]
    NotInFile {
        /// File and line, or the name of the source.
        place: String,
        /// The key.
        key: &'static str,
    },
    /// A project file may not say this.
    #[error("{place}: {key} may not stand in a project file")]
    NotInProject {
        /// File and line, or the name of the source.
        place: String,
        /// The key.
        key: &'static str,
    },
    /// A project file may only make this narrower.
    #[error("{place}: {key} = {value} is wider than {allowed}")]
    TooWide {
        /// File and line, or the name of the source.
        place: String,
        /// The key.
        key: &'static str,
        /// What was given.
        value: String,
        /// What the user's own settings allow.
        allowed: String,
    },
    /// A project file may only turn this on.
    #[error("{place}: {key} = false would turn off what you have turned on")]
    TurnsOff {
        /// File and line.
        place: String,
        /// The key.
        key: &'static str,
    },
    /// A project file may only add to this list.
    #[error("{place}: {entry} in {key} would take files out of the list")]
    TakesOut {
        /// File and line.
        place: String,
        /// The key.
        key: &'static str,
        /// The entry.
        entry: String,
    },
    /// A project file holds a character that a terminal would not show.
    #[error("{place}: {key} holds the control character {}", crate::text::escaped(&letter.to_string()))]
    ControlCharacter {
        /// File and line.
        place: String,
        /// The key.
        key: String,
        /// Which.
        letter: char,
    },
    /// An agent that is described there cannot be taken.
    #[error("{place}: {key} is wrong")]
    BadAgent {
        /// File and line, or the name of the source.
        place: String,
        /// The key with its table: `agents.mine.output`.
        key: String,
        /// What is wrong with it.
        why: String,
        /// What would be right.
        hint: String,
    },
    /// The file cannot be read as what it should be.
    #[error("{place}: not a valid settings file")]
    Syntax {
        /// The file, with the line where it is known.
        place: String,
        /// What the reader said.
        why: String,
    },
}

impl SettingsError {
    /// Why it is wrong, in one line.
    #[must_use]
    pub fn why(&self) -> String {
        match self {
            Self::UnknownKey { .. } => "no setting has this name".to_owned(),
            Self::BadValue { why, .. } | Self::BadAgent { why, .. } | Self::Syntax { why, .. } => why.clone(),
            Self::NotInFile { .. } => "it is only for a single start".to_owned(),
            Self::NotInProject { .. } => {
                "only the user may set it, never a file that comes with a repository".to_owned()
            }
            Self::TooWide { .. } => "a project file may lower this limit, not raise it".to_owned(),
            Self::TurnsOff { .. } => "a project file may turn this on, not off".to_owned(),
            Self::TakesOut { .. } => "a project file may add to this list, not take out of it".to_owned(),
            Self::ControlCharacter { .. } => {
                "what a project file says must be readable before it is approved; only line breaks and tabs are allowed"
                    .to_owned()
            }
        }
    }

    /// What to do, in one line.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::UnknownKey { near: Some(near), .. } => format!("did you mean {near}?"),
            Self::UnknownKey { near: None, .. } => "`loop config show` lists every key".to_owned(),
            Self::BadValue { hint, .. } | Self::BadAgent { hint, .. } => hint.clone(),
            Self::NotInFile { key, .. } => format!("give it as a flag: --{}", key.replace('_', "-")),
            Self::NotInProject { key, .. } if key.starts_with("hidden_gates") => {
                "put it into your own config.toml, and take it out of this file: the agent can read it here".to_owned()
            }
            Self::NotInProject { .. } => "give it as a flag, or put it into your own config.toml".to_owned(),
            Self::TooWide { .. } => "raise it by a flag, or in your own config.toml".to_owned(),
            Self::TurnsOff { key, .. } => {
                format!("turn it off by a flag: --no-{}, or in your own config.toml", key.replace('_', "-"))
            }
            Self::TakesOut { .. } => "delete the entry; `--protect` on the command line replaces the list".to_owned(),
            Self::ControlCharacter { .. } => "delete it from the file; put it into a script if it is needed".to_owned(),
            Self::Syntax { .. } => "fix the line, then run `loop config check`".to_owned(),
        }
    }
}
