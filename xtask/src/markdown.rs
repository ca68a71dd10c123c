//! Reading documents line by line, without what stands in code; and writing lines that are not too wide.

/// How many columns a line of a document may have.
pub const COLUMNS_MAX: usize = 120;

/// The text on lines of at most [`COLUMNS_MAX`] columns, where its words allow that. `first` stands before the first
/// line, `rest` before all others. The last line has no line end.
#[must_use]
pub fn wrapped(text: &str, first: &str, rest: &str) -> String {
    let mut written = String::from(first);
    let mut columns = first.chars().count();
    let mut is_begun = false;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if is_begun && columns + 1 + length > COLUMNS_MAX {
            written.push('\n');
            written.push_str(rest);
            columns = rest.chars().count();
        } else if is_begun {
            written.push(' ');
            columns += 1;
        }
        written.push_str(word);
        columns += length;
        is_begun = true;
    }
    written
}

/// A page with its long lines of prose wrapped. Headings, tables and code stay as they are.
#[must_use]
pub fn wrapped_page(text: &str) -> String {
    let prose: std::collections::BTreeSet<usize> = prose_lines(text).into_iter().map(|(number, _)| number).collect();
    let mut written = String::new();
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let body = line.trim_end_matches('\n');
        let is_fixed = body.starts_with(['#', '|']) || !prose.contains(&(index + 1));
        if is_fixed || body.chars().count() <= COLUMNS_MAX {
            written.push_str(line);
            continue;
        }
        let (first, rest) = if body.starts_with("- ") { ("- ", "  ") } else { ("", "") };
        written.push_str(&wrapped(body.strip_prefix(first).unwrap_or(body), first, rest));
        written.push_str(&line[body.len()..]);
    }
    written
}

/// The lines outside fenced code, each with its number counted from 1 and its own line end.
#[must_use]
pub fn prose_lines(text: &str) -> Vec<(usize, &str)> {
    let mut fence: Option<&str> = None;
    let mut lines = Vec::new();
    for (index, line) in text.split_inclusive('\n').enumerate() {
        match (fence, fence_of(line)) {
            (None, None) => lines.push((index + 1, line)),
            (None, Some(opened)) => fence = Some(opened),
            (Some(opened), Some(found)) if closes(line, opened, found) => fence = None,
            (Some(_), _) => {}
        }
    }
    lines
}

/// The run of backticks or tildes that opens or closes fenced code.
fn fence_of(line: &str) -> Option<&str> {
    let line = line.trim_start();
    ['`', '~'].into_iter().find_map(|sign| {
        let rest = line.trim_start_matches(sign);
        let length = line.len() - rest.len();
        // A backtick after the run makes it code within a line, not a fence.
        (length >= 3 && !(sign == '`' && rest.contains('`'))).then(|| &line[..length])
    })
}

fn closes(line: &str, opened: &str, found: &str) -> bool {
    found.starts_with(opened) && line.trim() == found
}

/// The line with everything in backticks replaced by a space.
#[must_use]
pub fn without_code(line: &str) -> String {
    let mut kept = String::new();
    let mut rest = line;
    while let Some(start) = rest.find('`') {
        let ticks_and_more = &rest[start..];
        let ticks = ticks_and_more.len() - ticks_and_more.trim_start_matches('`').len();
        let fence = &ticks_and_more[..ticks];
        kept.push_str(&rest[..start]);
        let inside = &ticks_and_more[ticks..];
        if let Some(end) = closing_ticks(inside, fence) {
            kept.push(' ');
            rest = &inside[end..];
        } else {
            kept.push_str(fence);
            rest = inside;
        }
    }
    kept.push_str(rest);
    kept
}

/// Where the code ends: after a run of exactly as many backticks.
fn closing_ticks(inside: &str, fence: &str) -> Option<usize> {
    let mut from = 0;
    while let Some(found) = inside[from..].find('`') {
        let start = from + found;
        let run = inside[start..].len() - inside[start..].trim_start_matches('`').len();
        from = start + run;
        if run == fence.len() {
            return Some(from);
        }
    }
    None
}

/// The targets of the links and pictures in one line of prose, reference definitions included.
#[must_use]
pub fn link_targets(line: &str) -> Vec<String> {
    let line = without_code(line);
    let mut targets = Vec::new();
    let mut rest = line.as_str();
    while let Some(at) = rest.find("](") {
        rest = &rest[at + 2..];
        targets.push(target_at(rest));
    }
    let trimmed = line.trim_start();
    if let Some((_, target)) =
        trimmed.strip_prefix('[').filter(|label| !label.starts_with('^')).and_then(|label| label.split_once("]:"))
    {
        targets.push(target_at(target.trim_start()));
    }
    targets.retain(|target| !target.is_empty());
    targets
}

/// The target that `text` begins with: `<…>`, or up to a blank or the bracket that closes.
fn target_at(text: &str) -> String {
    if let Some((target, _)) = text.strip_prefix('<').and_then(|text| text.split_once('>')) {
        return target.to_owned();
    }
    let mut depth = 0_usize;
    let mut target = String::new();
    for sign in text.chars() {
        match sign {
            '(' => depth += 1,
            ')' if depth == 0 => break,
            ')' => depth -= 1,
            blank if blank.is_whitespace() => break,
            _ => {}
        }
        target.push(sign);
    }
    target
}
