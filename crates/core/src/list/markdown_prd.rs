//! A PRD in Markdown, as ralph-tui reads it: `### US-001: title` with acceptance criteria below.
use super::draft::{Draft, ItemPlace};
use super::error::Fault;
use super::markdown::{self, Heading, MarkdownLine};
use super::sections::{self, ListSection, SectionName};
use super::{Item, ListFormat};

/// Whether a file has the headings of stories.
pub(super) fn fits(lines: &[MarkdownLine<'_>]) -> bool {
    lines.iter().filter_map(MarkdownLine::heading).any(|heading| name(&heading).is_some())
}

/// Reads a file.
pub(super) fn read(text: &str) -> Result<Draft, Fault> {
    let mut draft = Draft::new(ListFormat::MarkdownPrd, "PRD in Markdown");
    let lines = markdown::lines(text);
    let found = sections::sections(&lines, name);
    if found.is_empty() {
        return Err(Fault::new(0, "the PRD has no stories", "write ### US-001: title, and criteria below"));
    }
    let mut has_dependencies = false;
    for section in &found {
        let boxes = section.boxes();
        section.add(&mut draft, &boxes, |item, place| {
            has_dependencies |= fields(section, item, place);
        });
    }
    // A list that names dependencies names all of them: what has none may run beside others.
    for item in draft.list.items.iter_mut().filter(|_| has_dependencies) {
        item.parallel = true;
    }
    draft.list.commands = sections::commands_below(&lines, &["verification", "quality gates"]);
    Ok(draft)
}

/// Reads criteria, priority and dependencies; the rest is text. Whether dependencies are named at all.
fn fields(section: &ListSection<'_, '_>, item: &mut Item, place: &mut ItemPlace) -> bool {
    let mut is_criteria = false;
    let mut has_dependencies = false;
    let mut told: Vec<&str> = Vec::new();
    for line in section.lines {
        let heading = line.heading().map(|heading| heading.text);
        let field = markdown::bold_field(line.text).filter(|_| !line.is_hidden && markdown::box_of(line).is_none());
        let name = heading.or(field.map(|field| field.name)).map(str::to_lowercase);
        let value = field.map_or("", |field| field.value);
        match name.as_deref().map(|name| name.trim_end_matches(':')) {
            Some("acceptance criteria" | "acceptance") => is_criteria = true,
            Some("priority") if item.priority.is_none() => {
                is_criteria = false;
                let digits = value.trim_start_matches(['P', 'p']);
                item.priority = digits.split(|letter: char| !letter.is_ascii_digit()).next().unwrap_or("").parse().ok();
            }
            Some("depends on" | "dependencies" | "depends") => {
                is_criteria = false;
                has_dependencies = true;
                for id in value.split([',', ';']).filter_map(|part| story_id(part.trim())) {
                    item.depends_on.push(id.to_owned());
                    place.depends_at.push(line.place_of(id));
                }
            }
            Some(_) => {
                is_criteria = false;
                told.push(line.text);
            }
            None => match sections::criterion_text(line).filter(|_| is_criteria && !line.is_hidden) {
                Some(criterion) => sections::add_criterion(item, criterion, line.number),
                None => told.push(line.text),
            },
        }
    }
    item.text = markdown::unindented(&told);
    has_dependencies
}

fn name<'a>(heading: &Heading<'a>) -> Option<SectionName<'a>> {
    let id = story_id(heading.text)?;
    let title = heading.text.get(id.len()..)?.trim_start().strip_prefix(':')?.trim();
    ((2..=4).contains(&heading.level) && !title.is_empty()).then_some(SectionName { id, title })
}

/// `US-001`, `US-1.2`, `ABC-7` or `Feature 1.2`, at the beginning.
fn story_id(text: &str) -> Option<&str> {
    let letters = text.bytes().take_while(u8::is_ascii_uppercase).count();
    let start = match text.strip_prefix("Feature") {
        Some(rest) => text.len() - rest.trim_start().len(),
        None => letters + 1,
    };
    let is_named = text.starts_with("Feature ") || (letters > 0 && text.get(letters..)?.starts_with('-'));
    let number = text.get(start..)?;
    let digits = number.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(number.len());
    let number = number.get(..digits)?.trim_end_matches('.');
    let is_number = number.split('.').all(|part| !part.is_empty());
    text.get(..start + number.len()).filter(|_| is_named && is_number)
}
