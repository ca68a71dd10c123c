//! Which format a file has: by its path and its shape.
use super::error::Fault;
use super::json::{JsonNode, JsonValue};
use super::markdown::{self, MarkdownLine};
use super::{ListFormat, beads, bmad, kiro, markdown_prd, openspec, ralphex, roadmap, spec_kit, stories};
use crate::refusal::Refusal;
use crate::text;

/// Other words for a format: the names of tools.
const OTHER_WORDS: [(&str, ListFormat); 8] = [
    ("prd", ListFormat::LoopSpec),
    ("snarktank", ListFormat::UserStories),
    ("ralph", ListFormat::UserStories),
    ("ralph-tui", ListFormat::UserStories),
    ("speckit", ListFormat::SpecKit),
    ("cc-sdd", ListFormat::Kiro),
    ("markdown", ListFormat::TaskList),
    ("bd", ListFormat::Beads),
];

impl ListFormat {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::LoopSpec,
        Self::UserStories,
        Self::MarkdownPrd,
        Self::Ralphex,
        Self::SpecKit,
        Self::Kiro,
        Self::OpenSpec,
        Self::Bmad,
        Self::Roadmap,
        Self::TaskList,
        Self::Beads,
    ];

    /// The word for `--format`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::LoopSpec => "loopspec",
            Self::UserStories => "user-stories",
            Self::MarkdownPrd => "markdown-prd",
            Self::Ralphex => "ralphex",
            Self::SpecKit => "spec-kit",
            Self::Kiro => "kiro",
            Self::OpenSpec => "openspec",
            Self::Bmad => "bmad",
            Self::Roadmap => "roadmap",
            Self::TaskList => "task-list",
            Self::Beads => "beads",
        }
    }

    /// The format of a word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        let other = || OTHER_WORDS.iter().find(|(other, _)| *other == word).map(|(_, format)| *format);
        Self::ALL.into_iter().find(|format| format.word() == word).or_else(other)
    }

    /// The format of a word that a person typed.
    ///
    /// # Errors
    /// No format has this name; the hint names all of them.
    pub fn named(word: &str) -> Result<Self, Refusal> {
        Self::parse(word).ok_or_else(|| {
            let words = Self::ALL.map(Self::word);
            let near = text::nearest(word, words.into_iter().chain(OTHER_WORDS.map(|(other, _)| other)));
            let near = near.map(|near| format!("did you mean {near}? ")).unwrap_or_default();
            let why = format!("unknown format \"{}\"", text::escaped_head(word, 60));
            Refusal::new(why, format!("{near}The formats are {}", words.join(", ")))
        })
    }

    /// Whether its files are JSON.
    pub(super) fn is_json(self) -> bool {
        matches!(self, Self::LoopSpec | Self::UserStories | Self::Beads)
    }
}

/// Whether a text is JSON rather than Markdown or YAML.
pub(super) fn looks_like_json(path: &str, text: &str) -> bool {
    let path = path.to_ascii_lowercase();
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let is_box = ["[ ]", "[x]", "[X]", "[]("].iter().any(|sign| text.starts_with(sign));
    path.ends_with(".json")
        || path.ends_with(".jsonl")
        || text.starts_with('{')
        || (text.starts_with('[') && !path.ends_with(".md") && !is_box)
}

/// The format of a JSON file.
pub(super) fn of_json(root: &JsonNode) -> Result<ListFormat, Fault> {
    if beads::fits(root) {
        return Ok(ListFormat::Beads);
    }
    match stories::list_of(stories::unwrapped(root)).map(|found| found.key) {
        Some("" | "items") => Ok(ListFormat::LoopSpec),
        Some(_) => Ok(ListFormat::UserStories),
        None if matches!(root.value, JsonValue::Map(_)) => {
            let hint = "a list has \"items\" or \"userStories\"";
            Err(Fault::new(root.at.start, "this is not a list of work: it has no items", hint))
        }
        None => {
            let message = format!("this is not a list of work: it is {}", root.describe());
            Err(Fault::new(root.at.start, message, "write a list of items, or an object with \"items\""))
        }
    }
}

/// The format of a Markdown or YAML file.
pub(super) fn of_markdown(path: &str, text: &str) -> Result<ListFormat, Fault> {
    let lines = markdown::lines(text);
    let path = format!("/{}", path.replace('\\', "/").to_ascii_lowercase());
    if path.contains("/checklists/") && path.contains("/specs/") {
        let message =
            "this is a checklist of Spec Kit: it is about the quality of the requirements, not a list of tasks";
        return Err(Fault::new(0, message, "give tasks.md of the same feature, or --format task-list"));
    }
    let is_box = |line: &&MarkdownLine<'_>| markdown::box_of(line).is_some();
    let has_boxes = lines.iter().any(|line| is_box(&line));
    if has_boxes && path.contains("/openspec/changes/") {
        return Ok(ListFormat::OpenSpec);
    }
    if has_boxes && path.contains("/.kiro/") {
        return Ok(ListFormat::Kiro);
    }
    let is_task = |line: &MarkdownLine<'_>| {
        !line.is_hidden && markdown::box_of(line).is_some_and(|found| found.text.starts_with("**"))
    };
    let is_roadmap = |lines: &[MarkdownLine<'_>]| lines.iter().any(roadmap::begins_tasks) && lines.iter().any(is_task);
    type Fits<'f> = &'f dyn Fn(&[MarkdownLine<'_>]) -> bool;
    let shapes: [(ListFormat, Fits<'_>); 7] = [
        (ListFormat::SpecKit, &spec_kit::fits),
        (ListFormat::Roadmap, &is_roadmap),
        (ListFormat::Ralphex, &ralphex::fits),
        (ListFormat::Bmad, &bmad::fits),
        (ListFormat::MarkdownPrd, &markdown_prd::fits),
        (ListFormat::Kiro, &kiro::fits),
        (ListFormat::OpenSpec, &openspec::fits),
    ];
    if let Some((format, _)) = shapes.into_iter().find(|(_, fits)| fits(&lines)) {
        return Ok(format);
    }
    if has_boxes {
        return Ok(ListFormat::TaskList);
    }
    let hint = format!(
        "write items as - [ ] text, or give --format with one of {}",
        ListFormat::ALL.map(ListFormat::word).join(", ")
    );
    Err(Fault::new(0, "this is not a list of work: it has no boxes", hint))
}
