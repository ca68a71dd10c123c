//! Lists of work: items with criteria, read from the formats that other tools write.
//!
//! Reading and writing are pure: bytes in, items or bytes out. A writer changes the least bytes that the format needs.
//!
//! | file | what is there |
//! |---|---|
//! | `types` | what a list and its items are |
//! | `error` | what is wrong with a list; why a tick was not written |
//! | `format` | which format a file has |
//! | `draft` | a list while it is read, with the bytes that a tick changes |
//! | `json` `markdown` | texts as nodes and lines with their places |
//! | `outline` `sections` | boxes as a tree; sections with boxes: what formats have in common |
//! | `stories` `beads` | the formats in JSON |
//! | `roadmap` `plain` `spec_kit` `kiro` `openspec` `ralphex` `markdown_prd` `bmad` | the formats in Markdown and YAML |
//! | `order` | which item is next, and which wait for others |
//! | `tick` | writing that an item is done |
//! | `checks` | which command checks each criterion, and where it comes from |
//! | `changed` | what an agent changed in a list |
//! | `edits` | what a person changed in a list while it is worked on |
mod beads;
mod bmad;
mod changed;
mod checks;
mod draft;
mod edits;
mod error;
mod format;
mod json;
mod kiro;
mod markdown;
mod markdown_prd;
mod openspec;
mod order;
mod outline;
mod plain;
mod ralphex;
mod roadmap;
mod sections;
mod spec_kit;
mod stories;
mod tick;
mod types;

pub use beads::BeadsCall;
pub use changed::{ListChange, ListChangeKind, changed_by_agent};
pub use checks::{CommandSource, PlannedCheck, SourcedCommand, planned_checks};
pub use edits::{ListEdits, merge_edits};
pub use error::{ListError, TickError};
pub use order::{ListEdge, PickError, ReadyItems};
pub use tick::tick;
pub use types::{Criterion, Item, ItemSetting, List, ListFormat, ProposedCommand};

use std::collections::BTreeSet;

use draft::Draft;
use error::Fault;

/// A larger file is not read.
const FILE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Reads a list. Without a format it is recognised by the path and the shape of the text.
///
/// # Errors
/// What is wrong with the file, with its line.
pub fn read(path: &str, text: &[u8], format: Option<ListFormat>) -> Result<List, ListError> {
    draft_of(path, text, format).map(|draft| draft.list)
}

fn draft_of(path: &str, bytes: &[u8], format: Option<ListFormat>) -> Result<Draft, ListError> {
    let whole = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let good = bytes.get(..error.valid_up_to()).unwrap_or_default();
            let good = std::str::from_utf8(good).unwrap_or_default();
            let fault = Fault::new(good.len(), "the text is not UTF-8", "save the file as UTF-8");
            return Err(fault.in_file(path, good));
        }
    };
    read_text(path, whole, format).map_err(|fault| fault.in_file(path, whole))
}

fn read_text(path: &str, text: &str, format: Option<ListFormat>) -> Result<Draft, Fault> {
    if text.len() > FILE_BYTES_MAX {
        return Err(Fault::new(0, format!("the file is larger than {FILE_BYTES_MAX} bytes"), "divide the list"));
    }
    let is_json = format.map_or_else(|| format::looks_like_json(path, text), ListFormat::is_json);
    let draft = if is_json { read_json(path, text, format)? } else { read_markdown(path, text, format)? };
    draft.finish()
}

fn read_json(path: &str, text: &str, format: Option<ListFormat>) -> Result<Draft, Fault> {
    let is_lines = path.to_ascii_lowercase().ends_with(".jsonl");
    let root = if is_lines || format == Some(ListFormat::Beads) { json::parse_all(text)? } else { json::parse(text)? };
    let format = format.map_or_else(|| format::of_json(&root), Ok)?;
    if format == ListFormat::Beads {
        return beads::read(text, &root);
    }
    if is_lines {
        let hint = "only issues of beads are read from a file with one JSON value a line";
        return Err(Fault::new(0, "these are not issues of beads", hint));
    }
    stories::read(text, &root, format)
}

fn read_markdown(path: &str, text: &str, format: Option<ListFormat>) -> Result<Draft, Fault> {
    let format = format.map_or_else(|| format::of_markdown(path, text), Ok)?;
    match format {
        ListFormat::Roadmap => roadmap::read(text),
        ListFormat::Ralphex => ralphex::read(text),
        ListFormat::MarkdownPrd => markdown_prd::read(text),
        ListFormat::Bmad => bmad::read(text),
        ListFormat::SpecKit => Ok(spec_kit::read(text)),
        ListFormat::Kiro => Ok(kiro::read(text)),
        ListFormat::OpenSpec => Ok(openspec::read(text)),
        ListFormat::TaskList | ListFormat::LoopSpec | ListFormat::UserStories | ListFormat::Beads => {
            Ok(plain::read(text))
        }
    }
}

impl List {
    /// How the file was read, in one sentence: `read as: Spec Kit tasks.md, 37 open of 41`.
    #[must_use]
    pub fn read_as(&self) -> String {
        let work: Vec<&Item> = self.work().filter(|item| !item.optional).collect();
        let open = work.iter().filter(|item| !item.done).count();
        format!("read as: {}, {open} open of {}", self.kind, work.len())
    }

    /// The items that are work by themselves: all but those that are done with their children.
    pub fn work(&self) -> impl Iterator<Item = &Item> {
        let required = self.items.iter().filter(|child| !child.optional);
        let parents: BTreeSet<&str> = required.filter_map(|child| child.parent.as_deref()).collect();
        self.items.iter().filter(move |item| !parents.contains(item.id.as_str()))
    }

    /// Whether an item is done with its last required child.
    #[must_use]
    pub fn has_required_children(&self, id: &str) -> bool {
        self.items.iter().any(|child| child.parent.as_deref() == Some(id) && !child.optional)
    }
}
