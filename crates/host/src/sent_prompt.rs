//! The prompt that an attempt was sent: the file in its folder, and which sections it has.
use std::io;
use std::path::Path;

use loop_core::prompt::{Prompt, Section, estimated_tokens};
use serde::{Deserialize, Serialize};

use crate::paths::read_bounded;

/// The file with the prompt of an attempt.
pub const PROMPT: &str = "prompt.md";
/// The file with the names and lengths of its sections.
pub(crate) const SECTIONS: &str = "prompt.json";
/// The most that is read of a prompt: a task, all that may be injected, and what the harness adds.
const PROMPT_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// The most that is read of the list.
const SECTIONS_BYTES_MAX: u64 = 64 * 1024;

/// The sections of a prompt, as they are written beside it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SentSections {
    version: u32,
    sections: Vec<SentSection>,
}

/// One section of a prompt that was sent, or would be.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentSection {
    /// What it is called.
    pub name: String,
    /// How long it is.
    pub bytes: usize,
    /// About how many tokens it is.
    pub tokens: usize,
    /// A person wrote it.
    #[serde(default)]
    pub by_person: bool,
    /// It is the same in every prompt of the run.
    #[serde(default)]
    pub stable: bool,
    /// Its text; not in the file.
    #[serde(skip)]
    pub text: String,
}

impl SentSection {
    /// As it was composed.
    #[must_use]
    pub fn of(section: &Section) -> Self {
        Self {
            name: section.name.to_owned(),
            bytes: section.bytes(),
            tokens: section.tokens(),
            by_person: section.by_person,
            stable: section.stable,
            text: section.text.clone(),
        }
    }
}

impl SentSections {
    pub(crate) fn of(prompt: &Prompt) -> Self {
        Self { version: 1, sections: prompt.sections.iter().map(SentSection::of).collect() }
    }

    pub(crate) fn line(&self) -> String {
        format!("{}\n", serde_json::to_string(self).unwrap_or_default())
    }
}

/// The prompt that was sent from this folder of an attempt, section by section. Where the list of sections is missing or
/// does not fit the file, it is one section.
///
/// # Errors
/// When the prompt cannot be read.
pub fn sent(folder: &Path) -> io::Result<Vec<SentSection>> {
    let text = read_bounded(&folder.join(PROMPT), PROMPT_BYTES_MAX)?;
    let text = String::from_utf8_lossy(&text).into_owned();
    let list = read_bounded(&folder.join(SECTIONS), SECTIONS_BYTES_MAX).ok();
    let list = list.and_then(|bytes| serde_json::from_slice::<SentSections>(&bytes).ok()).unwrap_or_default();
    Ok(split(&text, list.sections).unwrap_or_else(|| vec![whole(text)]))
}

fn split(text: &str, sections: Vec<SentSection>) -> Option<Vec<SentSection>> {
    let mut at = 0_usize;
    let mut all = Vec::new();
    for section in sections {
        let end = at.checked_add(section.bytes)?;
        all.push(SentSection { text: text.get(at..end)?.to_owned(), ..section });
        at = end;
    }
    (at == text.len() && !all.is_empty()).then_some(all)
}

fn whole(text: String) -> SentSection {
    let (bytes, tokens) = (text.len(), estimated_tokens(&text));
    SentSection { name: "prompt".to_owned(), bytes, tokens, by_person: false, stable: false, text }
}
