//! Files of BMAD: a story with its tasks, epics with their stories, and `sprint-status.yaml`.
use super::draft::{ByteEdit, Draft, ItemPlace, seal, shown};
use super::error::Fault;
use super::markdown::{self, BoxLine, Heading, MarkdownLine};
use super::outline::{self, Named, OutlineRules};
use super::sections::{self, ListSection, SectionName};
use super::{Criterion, Item, ListFormat};
use crate::text;

/// What a story can be. The last ones are of older versions.
const STATUSES: [&str; 10] = [
    "backlog",
    "ready-for-dev",
    "in-progress",
    "review",
    "done",
    "optional",
    "blocked",
    "deferred",
    "drafted",
    "contexted",
];

/// Whether a file is one of BMAD.
pub(super) fn fits(lines: &[MarkdownLine<'_>]) -> bool {
    is_status(lines) || is_epics(lines) || is_story(lines)
}

/// Reads a file.
pub(super) fn read(text: &str) -> Result<Draft, Fault> {
    let lines = markdown::lines(text);
    if is_status(&lines) {
        return status(&lines);
    }
    let mut draft = if is_epics(&lines) { epics(&lines) } else { story(&lines) };
    draft.list.commands = sections::commands_below(&lines, &["verification"]);
    Ok(draft)
}

fn is_status(lines: &[MarkdownLine<'_>]) -> bool {
    lines.iter().any(|line| line.text.starts_with("development_status:"))
}

fn is_epics(lines: &[MarkdownLine<'_>]) -> bool {
    let headings = || lines.iter().filter_map(MarkdownLine::heading);
    headings().any(|heading| is_epic(&heading)) && headings().any(|heading| story_name(&heading).is_some())
}

fn is_epic(heading: &Heading<'_>) -> bool {
    heading.text.strip_prefix("Epic ").is_some_and(|rest| rest.starts_with(|letter: char| letter.is_ascii_digit()))
}

/// `# Story 1.1: title`, or a front matter with a status and a heading with tasks.
fn is_story(lines: &[MarkdownLine<'_>]) -> bool {
    let headings = || lines.iter().filter_map(MarkdownLine::heading);
    let has_front_matter = lines.first().is_some_and(|line| line.text.trim_end() == "---");
    let front = lines.iter().skip(1).take_while(|line| line.text.trim_end() != "---");
    let has_status = has_front_matter && front.into_iter().any(|line| line.text.starts_with("status:"));
    headings().any(|heading| heading.level == 1 && story_title(&heading).is_some())
        || (has_status && headings().any(|heading| heading.text.to_lowercase().contains("task")))
}

/// `Story 1.1: title`.
fn story_title<'a>(heading: &Heading<'a>) -> Option<SectionName<'a>> {
    let rest = heading.text.strip_prefix("Story ")?;
    let (id, title) = rest.split_once([':', '-']).unwrap_or((rest, ""));
    let (id, title) = (id.trim(), title.trim());
    let is_number = id.contains('.') && id.starts_with(|letter: char| letter.is_ascii_digit());
    (is_number && !id.contains(' ')).then_some(SectionName { id, title })
}

fn story_name<'a>(heading: &Heading<'a>) -> Option<SectionName<'a>> {
    story_title(heading).filter(|_| heading.level >= 2)
}

fn epics(lines: &[MarkdownLine<'_>]) -> Draft {
    let mut draft = Draft::new(ListFormat::Bmad, "BMAD epics");
    for section in sections::sections(lines, story_name) {
        let boxes = section.boxes();
        let phase = section.name.id.split('.').next().and_then(|epic| epic.parse().ok()).unwrap_or_default();
        section.add(&mut draft, &boxes, |item, _| {
            item.phase = phase;
            scenarios(&section, item);
        });
    }
    draft
}

/// Criteria in an epic: a new one begins with **Given** or with the sign of a list.
fn scenarios(section: &ListSection<'_, '_>, item: &mut Item) {
    let mut is_criteria = false;
    let mut told: Vec<&str> = Vec::new();
    for line in section.lines {
        let lower = line.text.to_lowercase();
        if lower.contains("acceptance criteria") {
            is_criteria = true;
        } else if !is_criteria || line.is_hidden {
            told.push(line.text);
        } else if line.text.trim_start().starts_with("**Given**") || sections::criterion_text(line).is_some() {
            let text = sections::criterion_text(line).unwrap_or(line.text);
            sections::add_criterion(item, text, line.number);
        } else if let Some(last) = item.criteria.last_mut().filter(|_| !line.is_blank()) {
            last.text.push(' ');
            last.text.push_str(line.text.trim());
        }
    }
    item.text = markdown::unindented(&told);
}

const STORY_RULES: OutlineRules = OutlineRules { has_tasks: is_task_heading, name: task_name, ..OutlineRules::PLAIN };

/// Names of headings differ between versions, so only a word of them is compared.
fn is_task_heading(heading: &Heading<'_>) -> bool {
    let lower = heading.text.to_lowercase();
    ["task", "follow-up", "follow up", "action item"].iter().any(|word| lower.contains(word))
}

fn story(lines: &[MarkdownLine<'_>]) -> Draft {
    let mut draft = Draft::new(ListFormat::Bmad, "BMAD story");
    outline::add(&mut draft, lines, &STORY_RULES);
    let known = story_criteria(lines);
    let mut found: Vec<Vec<Criterion>> = Vec::new();
    for at in 0..draft.list.items.len() {
        let Some(item) = draft.list.items.get(at) else { break };
        let mut mine: Vec<Criterion> = Vec::new();
        for number in named_criteria(&item.title) {
            mine.extend(known.iter().filter(|criterion| criterion.id == number).cloned());
        }
        // A subtask proves what its task names.
        let above = item.parent.as_ref().and_then(|id| draft.list.items.iter().position(|item| item.id == *id));
        if mine.is_empty()
            && let Some(above) = above.and_then(|above| found.get(above))
        {
            mine.clone_from(above);
        }
        found.push(mine);
    }
    let is_named = |criterion: &&Criterion| found.iter().flatten().any(|one| one.id == criterion.id);
    let nameless: Vec<&str> = known.iter().filter(|one| !is_named(one)).map(|one| one.id.as_str()).collect();
    if !nameless.is_empty() {
        draft.warn(format!("acceptance criteria that no task names: {}", nameless.join(", ")));
    }
    for (item, criteria) in draft.list.items.iter_mut().zip(found) {
        item.criteria = criteria;
    }
    draft
}

/// `Task 1: …` is called `task-1`; others by the words of their title.
fn task_name<'a>(found: &BoxLine<'a>) -> Named<'a> {
    let title = found.text;
    let plain = title.split("(AC").next().unwrap_or_default();
    let number = plain.split_once(':').map(|(head, _)| head).filter(|head| {
        let rest = head.strip_prefix("Task ").or_else(|| head.strip_prefix("Subtask "));
        rest.is_some_and(|rest| markdown::numbered(rest).is_some_and(|number| number.rest.is_empty()))
    });
    Named { words: number.unwrap_or(plain), title, optional: found.has_star, ..Named::default() }
}

/// The numbers in `(AC: #1, #2)`.
fn named_criteria(title: &str) -> Vec<&str> {
    let Some((_, rest)) = title.split_once("(AC") else { return Vec::new() };
    let inside = rest.split(')').next().unwrap_or_default();
    inside.split(|letter: char| !letter.is_ascii_digit() && letter != '.').filter(|part| !part.is_empty()).collect()
}

/// The numbered criteria of a story.
fn story_criteria(lines: &[MarkdownLine<'_>]) -> Vec<Criterion> {
    let mut all: Vec<Criterion> = Vec::new();
    let mut level = None;
    for line in lines {
        if let Some(heading) = line.heading() {
            let is_here = heading.text.to_lowercase().contains("acceptance criteria");
            let is_below = level.is_some_and(|level| heading.level > level);
            level = if is_here { Some(heading.level) } else { level.filter(|_| is_below) };
        } else if level.is_some() && !line.is_hidden {
            let number = line.text.trim_start().split(['.', ')']).next().unwrap_or_default();
            let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
            if let Some(told) = sections::criterion_text(line).filter(|_| line.indent() < 2) {
                let id = if is_number { number.to_owned() } else { (all.len() + 1).to_string() };
                all.push(Criterion { id, text: told.to_owned(), line: line.number, ..Criterion::default() });
            } else if let Some(last) = all.last_mut().filter(|_| !line.is_blank()) {
                last.text.push(' ');
                last.text.push_str(line.text.trim());
            }
        }
    }
    all
}

/// A line of YAML: `  key: value # comment`.
struct Entry<'a> {
    key: &'a str,
    /// Without quotes.
    value: &'a str,
}

fn entry(line: &str) -> Option<Entry<'_>> {
    let (key, rest) = line.trim().split_once(':')?;
    if !(rest.is_empty() || rest.starts_with([' ', '\t'])) || key.starts_with('#') {
        return None;
    }
    let rest = rest.trim_start();
    let quoted = rest.strip_prefix('"').and_then(|rest| rest.split_once('"'));
    let quoted = quoted.or_else(|| rest.strip_prefix('\'').and_then(|rest| rest.split_once('\'')));
    let plain = if rest.starts_with('#') { "" } else { rest.split(" #").next().unwrap_or_default().trim_end() };
    let value = quoted.map_or(plain, |(value, _)| value);
    Some(Entry { key: key.trim().trim_matches(['"', '\'']), value })
}

fn status(lines: &[MarkdownLine<'_>]) -> Result<Draft, Fault> {
    let mut draft = Draft::new(ListFormat::Bmad, "BMAD sprint-status.yaml");
    let mut is_inside = false;
    for line in lines.iter().filter(|line| !line.is_blank() && !line.text.trim_start().starts_with('#')) {
        if !line.text.starts_with([' ', '\t']) {
            is_inside = line.text.starts_with("development_status:");
            let behind = entry(line.text).map_or("", |entry| entry.value);
            if is_inside && !behind.is_empty() {
                let message = "development_status must have one line for each story";
                return Err(Fault::new(line.place_of(behind), message, "write each story in a line of its own"));
            }
            continue;
        }
        if is_inside {
            story_status(&mut draft, line)?;
        }
    }
    Ok(draft)
}

fn story_status(draft: &mut Draft, line: &MarkdownLine<'_>) -> Result<(), Fault> {
    let Some(found) = entry(line.text) else {
        let message = format!("a story is key: status, not {}", shown(line.text.trim()));
        return Err(Fault::new(line.start, message, "write 1-2-name-of-the-story: backlog"));
    };
    if found.value.is_empty() {
        let message = format!("{} has no status", shown(found.key));
        return Err(Fault::new(line.place_of(found.key), message, format!("write one of {}", STATUSES.join(", "))));
    }
    if found.key.strip_prefix("epic-").is_some_and(|rest| rest.starts_with(|letter: char| letter.is_ascii_digit())) {
        return Ok(());
    }
    let mut numbers = found.key.splitn(3, '-');
    let epic: Option<u32> = numbers.next().and_then(|epic| epic.parse().ok());
    let story = numbers.next().filter(|story| story.starts_with(|letter: char| letter.is_ascii_digit()));
    let words = numbers.next().unwrap_or_default().replace('-', " ");
    let (number, key) = (line.number, shown(found.key));
    if epic.is_none() || story.is_none() {
        draft.warn(format!("line {number}: {key} is neither a story like 1-2-name nor an epic: read as a story"));
    }
    if !STATUSES.contains(&found.value) {
        let near = text::nearest(found.value, STATUSES).map(|near| format!(": did you mean {near}?"));
        let (value, near) = (shown(found.value), near.unwrap_or_default());
        draft.warn(format!("line {number}: {key} has the unknown status {value}, read as open{near}"));
    }
    let at = line.place_of(found.value);
    let edit = ByteEdit { at: at..at + found.value.len(), put: "done".to_owned() };
    let done = found.value == "done";
    let item = Item {
        id: found.key.to_owned(),
        title: match (epic, story) {
            (Some(epic), Some(story)) => format!("{epic}.{story} {words}").trim_end().to_owned(),
            _ => found.key.to_owned(),
        },
        done,
        optional: ["optional", "deferred"].contains(&found.value),
        phase: epic.unwrap_or_else(|| draft.list.items.last().map_or(0, |item| item.phase)),
        can_be_ticked: true,
        seal: seal([found.key, found.value]),
        line: number,
        ..Item::default()
    };
    let tick = if done { Vec::new() } else { vec![edit] };
    draft.push(item, ItemPlace { id_at: line.place_of(found.key), tick, ..ItemPlace::default() });
    Ok(())
}
