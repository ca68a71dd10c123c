//! Markdown lists with boxes: counted, and a prompt for them. The list itself is read by a later command.

/// What is said about a list of tasks.
pub(super) const LATER: &str = "a list of tasks: it stays as it is, and a later command will read it item by item";

/// How many items a list has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Boxes {
    pub(super) open: usize,
    pub(super) done: usize,
}

impl Boxes {
    /// Counts the boxes of a Markdown text; those in fenced code are examples.
    pub(super) fn of(text: &str) -> Self {
        let mut boxes = Self::default();
        let mut is_code = false;
        for line in text.lines().map(str::trim_start) {
            if line.starts_with("```") || line.starts_with("~~~") {
                is_code = !is_code;
                continue;
            }
            match is_done(line).filter(|_| !is_code) {
                Some(true) => boxes.done += 1,
                Some(false) => boxes.open += 1,
                None => {}
            }
        }
        boxes
    }

    /// `3 open of 7 items`.
    pub(super) fn words(self) -> String {
        format!("{} open of {} items", self.open, self.open + self.done)
    }
}

/// Whether a line is a box, and ticked. `[text](address)` is a link.
fn is_done(line: &str) -> Option<bool> {
    let after_number = line.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let rest = match line.strip_prefix(['-', '*', '+']) {
        Some(rest) => rest,
        None if after_number.len() < line.len() => after_number.strip_prefix(['.', ')'])?,
        None => return None,
    };
    let (mark, behind) = rest.trim_start().strip_prefix('[')?.split_once(']')?;
    let is_box = rest.starts_with(' ') && mark.chars().count() <= 2 && !behind.starts_with('(');
    is_box.then(|| ["x", "X"].contains(&mark.trim()))
}

/// The prompt for a list that no prompt of the other tool describes.
pub(super) fn prompt(file: &str) -> String {
    format!(
        "Work on the list of tasks in `{file}`.\n\n\
         - Read the list, and choose the first item that is open (`- [ ]`).\n\
         - Do this one item completely, with tests.\n\
         - Run the checks of the project, and fix what fails.\n\
         - Then mark the item as done (`- [x]`). Do not mark what you have not done.\n\
         - If an item cannot be done, write the reason below it and choose the next one.\n"
    )
}
