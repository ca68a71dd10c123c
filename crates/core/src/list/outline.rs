//! Boxes in Markdown as a tree: what a plain list, Spec Kit, Kiro, OpenSpec and BMAD have in common.
use super::draft::{Draft, ItemPlace, seal, slug};
use super::markdown::{self, BoxLine, Heading, MarkdownLine};
use super::{Item, ProposedCommand};
use crate::text;

/// What stands between a heading and its first box belongs to every item below; more of it is cut.
const INTRODUCTION_BYTES_MAX: usize = 2000;

/// A box line with what its format reads from it.
#[derive(Debug, Default)]
pub(super) struct Named<'a> {
    /// The number or name at the beginning.
    pub(super) id: Option<&'a str>,
    /// The words that make the id where there is none. The title where this is empty.
    pub(super) words: &'a str,
    pub(super) title: &'a str,
    pub(super) optional: bool,
    pub(super) parallel: bool,
    /// Ids that the line names as those it waits for.
    pub(super) depends_on: Vec<&'a str>,
}

/// How a format reads boxes.
pub(super) struct OutlineRules {
    /// Boxes in code and comments count.
    pub(super) counts_hidden: bool,
    /// An id that is there twice gets a number behind it.
    pub(super) renames: bool,
    /// The item `2.1` is a child of the item `2`.
    pub(super) numbers_nest: bool,
    /// What a tick writes.
    pub(super) letter: char,
    /// Whether a heading begins a phase.
    pub(super) begins_phase: fn(&Heading<'_>) -> bool,
    /// Whether the boxes below a heading are tasks.
    pub(super) has_tasks: fn(&Heading<'_>) -> bool,
    pub(super) name: for<'a> fn(&BoxLine<'a>) -> Named<'a>,
    /// Reads a line below a box.
    pub(super) detail: fn(&MarkdownLine<'_>, &mut Item, &mut ItemPlace),
}

impl OutlineRules {
    /// The rules of a plain list.
    pub(super) const PLAIN: Self = Self {
        counts_hidden: false,
        renames: true,
        numbers_nest: false,
        letter: 'x',
        begins_phase: |_| false,
        has_tasks: |_| true,
        name: |found| Named { title: found.text, optional: found.has_star, ..Named::default() },
        detail: |_, _, _| {},
    };
}

/// Where the open box of each level is.
struct Level {
    indent: usize,
    id: String,
}

/// Adds the boxes of some lines to a list.
pub(super) fn add(draft: &mut Draft, lines: &[MarkdownLine<'_>], rules: &OutlineRules) {
    let mut reader = OutlineReader {
        draft,
        rules,
        levels: Vec::new(),
        current: None,
        headings: Vec::new(),
        is_counted: true,
        phase: 0,
        hidden: 0,
        left_out: 0,
    };
    for line in lines {
        reader.take(line);
    }
    reader.close();
    let (hidden, left_out) = (reader.hidden, reader.left_out);
    if rules.numbers_nest {
        nest_numbers(draft);
    }
    if hidden > 0 {
        let what = if rules.counts_hidden { "counted, as the tool itself counts them" } else { "not counted" };
        draft.warn(format!("boxes in code or comments: {hidden}, {what}"));
    }
    if left_out > 0 {
        draft.warn(format!("boxes below headings that have no tasks: {left_out}, not counted"));
    }
}

/// A heading, and what stands between it and its first box.
struct OpenHeading<'a> {
    level: usize,
    lines: Vec<&'a str>,
}

/// An item while its lines are read.
struct Current<'a> {
    item: Item,
    place: ItemPlace,
    indent: usize,
    below: Vec<&'a str>,
    /// A line that is not below the box has ended it.
    is_over: bool,
}

struct OutlineReader<'a, 'd> {
    draft: &'d mut Draft,
    rules: &'d OutlineRules,
    levels: Vec<Level>,
    current: Option<Current<'a>>,
    headings: Vec<OpenHeading<'a>>,
    is_counted: bool,
    phase: u32,
    hidden: usize,
    left_out: usize,
}

impl<'a> OutlineReader<'a, '_> {
    fn take(&mut self, line: &MarkdownLine<'a>) {
        if let Some(found) = line.heading() {
            self.close();
            self.levels.clear();
            self.headings.retain(|open| open.level < found.level);
            self.headings.push(OpenHeading { level: found.level, lines: vec![found.text, ""] });
            self.is_counted = (self.rules.has_tasks)(&found);
            self.phase += u32::from((self.rules.begins_phase)(&found));
            return;
        }
        let Some(found) = markdown::box_of(line) else { return self.below(line) };
        self.hidden += usize::from(line.is_hidden);
        if line.is_hidden && !self.rules.counts_hidden {
            return self.below(line);
        }
        if !self.is_counted {
            self.left_out += 1;
            return;
        }
        self.close();
        self.begin(line, &found);
    }

    fn begin(&mut self, line: &MarkdownLine<'a>, found: &BoxLine<'a>) {
        let indent = line.indent();
        self.levels.retain(|level| level.indent < indent);
        let named = (self.rules.name)(found);
        let title = text::one_line(named.title, 400);
        let wanted =
            named.id.map_or_else(|| slug(if named.words.is_empty() { &title } else { named.words }), str::to_owned);
        let is_free = named.id.is_none() || self.rules.renames;
        let id = if is_free { self.draft.free_id(&wanted) } else { wanted };
        if let Some(twice) = named.id.filter(|twice| **twice != id) {
            let line = line.number;
            self.draft.warn(format!("line {line}: {twice} is there more than once: this one is read as {id}"));
        }
        // The title of the file, and what is above it, is not needed where there are other headings.
        let is_title = |open: &OpenHeading<'_>| open.level <= 1 && self.headings.len() > 1;
        let told = self.headings.iter().filter(|open| !is_title(open));
        let told = told.map(|open| markdown::unindented(&open.lines)).filter(|part| !part.is_empty());
        let told: Vec<String> = told.collect();
        let item = Item {
            id: id.clone(),
            title: if title.is_empty() { id.clone() } else { title },
            text: text::head(&told.join("\n\n"), INTRODUCTION_BYTES_MAX).to_owned(),
            done: found.is_done,
            optional: named.optional,
            parallel: named.parallel,
            parent: self.levels.last().map(|level| level.id.clone()),
            depends_on: named.depends_on.iter().map(|id| (*id).to_owned()).collect(),
            phase: self.phase,
            can_be_ticked: true,
            seal: seal([line.text]),
            line: line.number,
            ..Item::default()
        };
        let place = ItemPlace {
            id_at: named.id.map_or(line.start, |id| line.place_of(id)),
            depends_at: named.depends_on.iter().map(|id| line.place_of(id)).collect(),
            tick: if found.is_done { Vec::new() } else { vec![found.tick(self.rules.letter)] },
            ..ItemPlace::default()
        };
        self.levels.push(Level { indent, id });
        self.current = Some(Current { item, place, indent, below: Vec::new(), is_over: false });
    }

    /// A line without a box. It belongs to the box above if it is indented more, or follows it directly.
    fn below(&mut self, line: &MarkdownLine<'a>) {
        let Some(current) = &mut self.current else {
            if self.headings.is_empty() {
                self.headings.push(OpenHeading { level: 0, lines: Vec::new() });
            }
            let last = self.headings.last_mut().filter(|_| !line.is_hidden);
            last.into_iter().for_each(|open| open.lines.push(line.text));
            return;
        };
        let follows = current.below.is_empty() && markdown::list_text(line.text).is_none();
        if !line.is_blank() && line.indent() <= current.indent && (!follows || current.is_over) {
            current.is_over = true;
        }
        if line.is_blank() && current.below.is_empty() {
            // What follows an empty line without an indent is not below the box.
            current.below.push("");
        }
        if current.is_over {
            return;
        }
        if !line.is_hidden {
            if let Some(command) = command_of(line) {
                current.item.commands.push(command);
            }
            (self.rules.detail)(line, &mut current.item, &mut current.place);
        }
        current.below.push(line.text);
    }

    /// The lines below a box belong to its text.
    fn close(&mut self) {
        let Some(mut current) = self.current.take() else { return };
        let told = markdown::unindented(&current.below);
        if !told.is_empty() {
            if !current.item.text.is_empty() {
                current.item.text.push_str("\n\n");
            }
            current.item.text.push_str(&told);
        }
        self.draft.push(current.item, current.place);
    }
}

/// A command that a line below a box names: ``verify: `npm test` ``.
fn command_of(line: &MarkdownLine<'_>) -> Option<ProposedCommand> {
    let told = line.text.trim();
    let told = markdown::list_text(told).unwrap_or(told).trim_matches(['_', '*']);
    let (key, value) = told.split_once(':')?;
    let name = key.trim_matches(['*', '_', ' ']).to_ascii_lowercase();
    let value = value.trim().trim_matches(['*', '_']).trim();
    let command = match (name.as_str(), markdown::in_backticks(value)) {
        ("verify" | "check", Some(command)) => command,
        ("verify", None) if told.starts_with("verify:") => value,
        _ => return None,
    };
    let is_command = !command.is_empty();
    is_command.then(|| ProposedCommand { name, command: command.to_owned(), line: line.number })
}

/// `2.1` belongs to `2`, where that is an item and the indent does not say otherwise.
fn nest_numbers(draft: &mut Draft) {
    let ids: std::collections::BTreeSet<String> = draft.list.items.iter().map(|item| item.id.clone()).collect();
    for item in draft.list.items.iter_mut().filter(|item| item.parent.is_none()) {
        let above = item.id.rsplit_once('.').map(|(above, _)| above);
        item.parent = above.filter(|above| ids.contains(*above)).map(str::to_owned);
    }
}
