//! `roadmap.md` of the autonomous specification: tasks below `## Tasks`, each with its settings and its goal.
use super::draft::{Draft, ItemPlace, seal, shown};
use super::error::Fault;
use super::markdown::{self, MarkdownLine};
use super::{Criterion, Item, ItemSetting, ListFormat, ProposedCommand};
use crate::settings::{Kind, millis, parse_value};
use crate::text;

/// The keys of a task. `promise` is ours: a command that judges.
pub(super) const KEYS: [&str; 8] =
    ["max_time", "timeout", "max_iterations", "cli", "stuck_after", "completion_promise", "success", "promise"];

/// What people write for a key of another name.
const OTHER_NAMES: [(&str, &str); 6] = [
    ("agent", "cli"),
    ("iterations", "max_iterations"),
    ("gate", "promise"),
    ("check", "promise"),
    ("time", "max_time"),
    ("success_criteria", "success"),
];

const COUNT_MAX: u32 = u32::MAX;

/// Whether a heading begins the tasks.
pub(super) fn begins_tasks(line: &MarkdownLine<'_>) -> bool {
    line.heading().is_some_and(|heading| heading.level == 2 && heading.text.eq_ignore_ascii_case("tasks"))
}

/// Reads a file.
pub(super) fn read(text: &str) -> Result<Draft, Fault> {
    let mut draft = Draft::new(ListFormat::Roadmap, "roadmap.md");
    let lines = markdown::lines(text);
    let Some(start) = lines.iter().position(begins_tasks) else {
        return Err(Fault::new(0, "the heading ## Tasks is missing", "put the tasks below a line ## Tasks"));
    };
    let rest = lines.get(start + 1..).unwrap_or_default();
    let end = rest.iter().position(|line| line.heading().is_some_and(|heading| heading.level <= 2));
    let section = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
    if let Some(second) = rest.get(section.len()..).unwrap_or_default().iter().find(|line| begins_tasks(line)) {
        return Err(Fault::new(second.start, "## Tasks is there twice", "put all tasks below one heading"));
    }
    let mut task: Option<Task> = None;
    for line in section {
        let found = markdown::box_of(line).filter(|_| !line.is_hidden && line.indent() < 2);
        if let Some(found) = found {
            finish(&mut draft, task.take());
            task = Some(Task::begin(line, &found)?);
        } else if let Some(task) = &mut task {
            task.take(line)?;
        }
    }
    finish(&mut draft, task);
    Ok(draft)
}

fn finish(draft: &mut Draft, task: Option<Task>) {
    if let Some(mut task) = task {
        task.item.text = markdown::unindented(&task.goal);
        draft.push(task.item, task.place);
    }
}

/// A task while it is read.
struct Task {
    item: Item,
    place: ItemPlace,
    goal: Vec<String>,
    /// The goal has begun: what follows is text.
    is_goal: bool,
}

impl Task {
    fn begin(line: &MarkdownLine<'_>, found: &markdown::BoxLine<'_>) -> Result<Self, Fault> {
        let named = found.text.strip_prefix("**").and_then(|rest| rest.split_once("**"));
        let named = named.and_then(|(id, rest)| Some((id, rest.trim_start().strip_prefix(':')?)));
        let Some((id, title)) = named.filter(|(id, _)| !id.trim().is_empty()) else {
            let message = format!("a task needs an id: {}", shown(found.text));
            return Err(Fault::new(line.place_of(found.text), message, "write - [ ] **id**: title"));
        };
        let mut item = Item {
            id: id.trim().trim_end_matches(':').to_owned(),
            title: text::one_line(title.trim(), 400),
            done: found.is_done,
            can_be_ticked: true,
            line: line.number,
            seal: seal([line.text]),
            ..Item::default()
        };
        if item.title.is_empty() {
            item.title.clone_from(&item.id);
        }
        let tick = if found.is_done { Vec::new() } else { vec![found.tick('x')] };
        let place = ItemPlace { id_at: line.place_of(id), tick, ..ItemPlace::default() };
        Ok(Self { item, place, goal: Vec::new(), is_goal: false })
    }

    fn take(&mut self, line: &MarkdownLine<'_>) -> Result<(), Fault> {
        if line.is_blank() {
            if self.is_goal {
                self.goal.push(String::new());
            }
            return Ok(());
        }
        let entry = line.text.trim_start().strip_prefix(['-', '*', '+']).filter(|rest| rest.starts_with([' ', '\t']));
        let entry = entry.map(str::trim).filter(|_| !line.is_hidden);
        let pair = entry.and_then(|entry| entry.split_once(':'));
        match (self.is_goal, entry, pair) {
            (false, Some(entry), Some((key, value))) => self.set(line, key, value.trim(), entry),
            (false, Some(entry), None) => {
                let message = format!("a setting is key: value, not {}", shown(entry));
                Err(Fault::new(line.place_of(entry), message, "text for the agent begins with Goal:"))
            }
            (true, Some(entry), Some((key, _))) if KEYS.contains(&key.trim()) && line.indent() <= 4 => {
                let message = format!("the setting {} stands behind the goal", key.trim());
                Err(Fault::new(line.place_of(entry), message, "put all settings directly below the task"))
            }
            (true, _, _) | (false, None, _) => {
                self.is_goal = true;
                self.goal.push(line.text.to_owned());
                Ok(())
            }
        }
    }

    fn set(&mut self, line: &MarkdownLine<'_>, key: &str, value: &str, entry: &str) -> Result<(), Fault> {
        let name = key.trim();
        let at = line.place_of(entry);
        if !KEYS.contains(&name) {
            let other = OTHER_NAMES.iter().find(|(other, _)| *other == name).map(|(_, key)| *key);
            let hint = match other.or_else(|| text::nearest(name, KEYS)) {
                Some(near) => format!("did you mean {near}?"),
                None => format!("the keys are {}; text for the agent begins with Goal:", KEYS.join(", ")),
            };
            return Err(Fault::new(at, format!("unknown key {}", shown(name)), hint));
        }
        if let Some(earlier) = self.item.settings.iter().find(|setting| setting.key == name) {
            let message = format!("{name} is there twice: also in line {}", earlier.line);
            return Err(Fault::new(at, message, "delete one of them"));
        }
        let value_at = line.place_of(value);
        check(name, value).map_err(|bad| {
            let message = format!("{name} cannot be \"{}\": {}", shown(value), bad.why);
            Fault::new(value_at, message, bad.hint)
        })?;
        let times =
            || self.item.settings.iter().find(|setting| ["max_time", "timeout"].contains(&setting.key.as_str()));
        if let Some(other) = times().filter(|_| ["max_time", "timeout"].contains(&name))
            && time_of(&other.value) != time_of(value)
        {
            let message = format!("{name} is {value}, but {} in line {} is {}", other.key, other.line, other.value);
            return Err(Fault::new(value_at, message, "both mean the whole time of the task: delete one of them"));
        }
        if name == "promise" {
            let command = ProposedCommand { name: name.to_owned(), command: value.to_owned(), line: line.number };
            self.item.commands.push(command);
        }
        if name == "success" {
            let (id, text) = (name.to_owned(), value.to_owned());
            self.item.criteria.push(Criterion { id, text, line: line.number, ..Criterion::default() });
        }
        self.item.settings.push(ItemSetting { key: name.to_owned(), value: value.to_owned(), line: line.number });
        Ok(())
    }
}

/// Milliseconds; none is without a limit.
fn time_of(value: &str) -> Option<u64> {
    millis(value)
}

/// Why a value does not fit.
struct BadValue {
    why: String,
    hint: String,
}

fn check(key: &str, value: &str) -> Result<(), BadValue> {
    if value.is_empty() {
        return Err(BadValue { why: "it is empty".to_owned(), hint: format!("write a value behind {key}:") });
    }
    let kind = match key {
        "max_time" | "timeout" | "max_iterations" if value == "null" => return Ok(()),
        "max_time" | "timeout" => Kind::DurationOrUnlimited,
        "max_iterations" => Kind::CountOrUnlimited(COUNT_MAX),
        "stuck_after" if value == "unlimited" => {
            return Err(BadValue { why: "it must be a number".to_owned(), hint: "write 5, for example".to_owned() });
        }
        "stuck_after" => Kind::CountOrUnlimited(COUNT_MAX),
        "cli" => Kind::Agents,
        "promise" => Kind::Command,
        _ => Kind::Text,
    };
    parse_value(kind, value).map(drop).map_err(|refusal| BadValue { why: refusal.why, hint: refusal.hint })
}
