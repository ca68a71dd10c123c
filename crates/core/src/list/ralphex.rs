//! A ralphex plan: `### Task 1: title` with boxes below.
use super::ListFormat;
use super::draft::Draft;
use super::error::Fault;
use super::markdown::{self, Heading, MarkdownLine};
use super::sections::{self, SectionName};

/// Whether a file has the headings of a plan.
pub(super) fn fits(lines: &[MarkdownLine<'_>]) -> bool {
    lines.iter().filter_map(MarkdownLine::heading).any(|heading| name(&heading).is_some())
}

/// Reads a file.
pub(super) fn read(text: &str) -> Result<Draft, Fault> {
    let mut draft = Draft::new(ListFormat::Ralphex, "ralphex plan");
    let lines = markdown::lines(text);
    let found = sections::sections(&lines, name);
    if found.is_empty() {
        return Err(Fault::new(0, "the plan has no tasks", "write ### Task 1: title, and boxes below"));
    }
    let mut inside = 0;
    for section in found {
        let mut boxes = section.boxes();
        inside += boxes.len();
        boxes.retain(|one| !is_example(one.found.text));
        section.add(&mut draft, &boxes, |item, _| {
            for one in &boxes {
                sections::add_criterion(item, one.found.text, one.line.number);
            }
            let is_text = |line: &&MarkdownLine<'_>| line.is_hidden || markdown::box_of(line).is_none();
            let told: Vec<&str> = section.lines.iter().filter(is_text).map(|line| line.text).collect();
            item.text = markdown::unindented(&told);
        });
    }
    let all = lines.iter().filter(|line| !line.is_hidden && markdown::box_of(line).is_some()).count();
    if all > inside {
        draft.warn(format!("boxes outside of tasks: {}, not counted", all - inside));
    }
    draft.list.commands = sections::commands_below(&lines, &["validation command", "verification"]);
    Ok(draft)
}

/// A text with a box in it shows the format.
fn is_example(text: &str) -> bool {
    ["[ ]", "[x]", "[X]"].iter().any(|sign| text.contains(sign))
}

fn name<'a>(heading: &Heading<'a>) -> Option<SectionName<'a>> {
    let rest = heading.text.strip_prefix("Task").or_else(|| heading.text.strip_prefix("Iteration"))?;
    let (id, title) = rest.strip_prefix([' ', '\t'])?.split_once(':')?;
    let (id, title) = (id.trim(), title.trim());
    (heading.level == 3 && !id.is_empty()).then_some(SectionName { id, title })
}
