//! `tasks.md` of Kiro and cc-sdd: numbered boxes, `[ ]*` for what need not be done, `_Requirements: 1.1_` below.
use super::draft::{Draft, ItemPlace};
use super::markdown::{self, BoxLine, MarkdownLine};
use super::outline::{self, Named, OutlineRules};
use super::{Criterion, Item, ListFormat};

const RULES: OutlineRules = OutlineRules { numbers_nest: true, name, detail, ..OutlineRules::PLAIN };

/// Whether a file has what only Kiro writes.
pub(super) fn fits(lines: &[MarkdownLine<'_>]) -> bool {
    let is_plan = |line: &MarkdownLine<'_>| {
        line.heading().is_some_and(|heading| heading.text.eq_ignore_ascii_case("implementation plan"))
    };
    let is_numbered = |line: &MarkdownLine<'_>| {
        !line.is_hidden && markdown::box_of(line).is_some_and(|found| markdown::numbered(found.text).is_some())
    };
    let has_requirements =
        |line: &MarkdownLine<'_>| field(line).is_some_and(|field| is_requirements(field.name) && !line.is_hidden);
    lines.iter().any(is_numbered) && lines.iter().any(|line| is_plan(line) || has_requirements(line))
}

/// Reads a file.
pub(super) fn read(text: &str) -> Draft {
    let mut draft = Draft::new(ListFormat::Kiro, "Kiro tasks.md");
    outline::add(&mut draft, &markdown::lines(text), &RULES);
    draft
}

fn name<'a>(found: &BoxLine<'a>) -> Named<'a> {
    let Some(number) = markdown::numbered(found.text) else {
        return Named { title: found.text, optional: found.has_star, ..Named::default() };
    };
    let behind = number.rest.strip_prefix("(P)");
    Named {
        id: Some(number.id),
        title: behind.unwrap_or(number.rest).trim(),
        optional: found.has_star || number.has_star,
        parallel: behind.is_some(),
        ..Named::default()
    }
}

/// `_Requirements: 1.1, 1.2_`, `**Validates: Requirements 1.1**`, `_Depends: 1, 2.1_`.
struct Field<'a> {
    name: &'a str,
    value: &'a str,
}

fn field<'a>(line: &MarkdownLine<'a>) -> Option<Field<'a>> {
    let told = line.text.trim();
    let told = markdown::list_text(told).unwrap_or(told);
    let inside = told.strip_prefix('_').or_else(|| told.strip_prefix('*'))?;
    let (name, value) = inside.trim_matches(['_', '*']).split_once(':')?;
    Some(Field { name: name.trim(), value: value.trim() })
}

fn is_requirements(name: &str) -> bool {
    ["requirements", "requirement", "validates"].iter().any(|known| name.eq_ignore_ascii_case(known))
}

fn detail(line: &MarkdownLine<'_>, item: &mut Item, place: &mut ItemPlace) {
    let Some(field) = field(line) else { return };
    let parts = || field.value.split([',', ' ']).map(|part| part.trim_matches(['_', '*', '.', ' ']));
    let parts = parts().filter(|part| part.starts_with(|letter: char| letter.is_ascii_digit()));
    if is_requirements(field.name) {
        for part in parts {
            if item.criteria.iter().all(|known| known.id != part) {
                let text = format!("requirement {part} of requirements.md");
                let line = line.number;
                item.criteria.push(Criterion { id: part.to_owned(), text, line, ..Criterion::default() });
            }
        }
    } else if ["depends", "depends on", "dependencies"].iter().any(|known| field.name.eq_ignore_ascii_case(known)) {
        for part in parts {
            item.depends_on.push(part.to_owned());
            place.depends_at.push(line.place_of(part));
        }
    }
}
