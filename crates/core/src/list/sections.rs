//! Items that are sections of a Markdown file, each with boxes of its own: ralphex, a PRD in Markdown, BMAD epics.
use super::draft::{Draft, ItemPlace, seal};
use super::markdown::{self, BoxLine, Heading, MarkdownLine};
use super::{Criterion, Item, ProposedCommand};
use crate::text;

/// The id and the title in a heading.
#[derive(Debug, Clone, Copy)]
pub(super) struct SectionName<'a> {
    pub(super) id: &'a str,
    pub(super) title: &'a str,
}

/// A section that is an item.
#[derive(Debug)]
pub(super) struct ListSection<'a, 'l> {
    pub(super) name: SectionName<'a>,
    pub(super) head: MarkdownLine<'a>,
    pub(super) lines: &'l [MarkdownLine<'a>],
}

/// A line with its box.
#[derive(Debug)]
pub(super) struct SectionBox<'a> {
    pub(super) line: MarkdownLine<'a>,
    pub(super) found: BoxLine<'a>,
}

/// The sections whose heading has a name. A heading of the same level or above ends a section.
pub(super) fn sections<'a, 'l>(
    lines: &'l [MarkdownLine<'a>],
    name: for<'h> fn(&Heading<'h>) -> Option<SectionName<'h>>,
) -> Vec<ListSection<'a, 'l>> {
    let mut all = Vec::new();
    for (at, head) in lines.iter().enumerate() {
        let Some(heading) = head.heading() else { continue };
        let Some(found) = name(&heading) else { continue };
        let below = lines.get(at + 1..).unwrap_or_default();
        let ends = |line: &MarkdownLine<'_>| {
            line.heading().is_some_and(|other| other.level <= heading.level || name(&other).is_some())
        };
        let end = below.iter().position(ends).unwrap_or(below.len());
        all.push(ListSection { name: found, head: *head, lines: below.get(..end).unwrap_or_default() });
    }
    all
}

impl<'a> ListSection<'a, '_> {
    /// The boxes of the section.
    pub(super) fn boxes(&self) -> Vec<SectionBox<'a>> {
        let visible = self.lines.iter().filter(|line| !line.is_hidden);
        visible.filter_map(|line| Some(SectionBox { line: *line, found: markdown::box_of(line)? })).collect()
    }

    /// The item: done with all its boxes, ticked by ticking those that are open.
    pub(super) fn add(
        &self,
        draft: &mut Draft,
        boxes: &[SectionBox<'_>],
        fill: impl FnOnce(&mut Item, &mut ItemPlace),
    ) {
        let title = text::one_line(self.name.title, 400);
        let lines = boxes.iter().map(|one| one.line.text);
        let mut item = Item {
            id: self.name.id.to_owned(),
            title: if title.is_empty() { self.name.id.to_owned() } else { title },
            done: !boxes.is_empty() && boxes.iter().all(|one| one.found.is_done),
            can_be_ticked: !boxes.is_empty(),
            seal: seal(std::iter::once(self.head.text).chain(lines)),
            line: self.head.number,
            ..Item::default()
        };
        let open = boxes.iter().filter(|one| !one.found.is_done);
        let mut place = ItemPlace {
            id_at: self.head.place_of(self.name.id),
            tick: open.map(|one| one.found.tick('x')).collect(),
            marks: boxes.iter().map(|one| one.found.is_done).collect(),
            ..ItemPlace::default()
        };
        fill(&mut item, &mut place);
        if boxes.is_empty() {
            draft.warn(format!("line {}: {} has no boxes, so it cannot be ticked", item.line, item.id));
        }
        draft.push(item, place);
    }
}

/// The next criterion of an item.
pub(super) fn add_criterion(item: &mut Item, told: &str, line: u32) {
    let id = (item.criteria.len() + 1).to_string();
    item.criteria.push(Criterion { id, text: told.trim().to_owned(), line, ..Criterion::default() });
}

/// What a line of criteria says: without the sign of a list and without a box.
pub(super) fn criterion_text<'a>(line: &MarkdownLine<'a>) -> Option<&'a str> {
    let told = match markdown::box_of(line) {
        Some(found) => found.text,
        None => markdown::list_text(line.text)?,
    };
    Some(told.trim()).filter(|told| !told.is_empty())
}

/// Commands in a list below a heading that has one of these words: ``- `npm test` -- expected: green``.
pub(super) fn commands_below(lines: &[MarkdownLine<'_>], words: &[&str]) -> Vec<ProposedCommand> {
    let mut all = Vec::new();
    let mut is_inside = false;
    for line in lines {
        if let Some(heading) = line.heading() {
            let lower = heading.text.to_lowercase();
            is_inside = words.iter().any(|word| lower.contains(word));
            continue;
        }
        let told = markdown::list_text(line.text).filter(|_| is_inside && !line.is_hidden);
        if let Some(command) = told.and_then(markdown::in_backticks) {
            all.push(ProposedCommand { name: String::new(), command: command.to_owned(), line: line.number });
        }
    }
    all
}
