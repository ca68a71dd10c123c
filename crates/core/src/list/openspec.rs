//! `tasks.md` of an OpenSpec change: `- [ ] 1.1 text` below `## 1. title`. Its own tool counts boxes in code, too.
use super::ListFormat;
use super::draft::Draft;
use super::markdown::{self, BoxLine, MarkdownLine};
use super::outline::{self, Named, OutlineRules};

const RULES: OutlineRules = OutlineRules { counts_hidden: true, name, ..OutlineRules::PLAIN };

/// Whether headings and boxes are numbered as OpenSpec does it.
pub(super) fn fits(lines: &[MarkdownLine<'_>]) -> bool {
    let is_section = |line: &MarkdownLine<'_>| {
        line.heading().is_some_and(|heading| heading.level == 2 && markdown::numbered(heading.text).is_some())
    };
    let is_numbered = |line: &MarkdownLine<'_>| {
        let found = markdown::box_of(line);
        found.is_some_and(|found| markdown::numbered(found.text).is_some_and(|number| number.id.contains('.')))
    };
    lines.iter().any(is_section) && lines.iter().any(is_numbered)
}

/// Reads a file.
pub(super) fn read(text: &str) -> Draft {
    let mut draft = Draft::new(ListFormat::OpenSpec, "OpenSpec tasks.md");
    outline::add(&mut draft, &markdown::lines(text), &RULES);
    draft
}

fn name<'a>(found: &BoxLine<'a>) -> Named<'a> {
    match markdown::numbered(found.text) {
        Some(number) => Named { id: Some(number.id), title: number.rest, ..Named::default() },
        None => Named { title: found.text, ..Named::default() },
    }
}
