//! A difference as a patch in git's format, for `git apply` and `patch`. It comes in pieces of one line each.
//! Joined they are the text; a caller that prints to a terminal can colour and escape them.
use std::io;
use std::ops::Range;

use super::lines::{Hunk, Line, hunks, is_binary};
use super::{Bounds, Change, ChangeKind, Content, ContentReader, Difference, FileKind, Lines, Side};

/// What a line of the text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatchPiece {
    /// About a file.
    Head,
    /// Where in it.
    Location,
    /// A line that both have.
    Context,
    /// A line that came.
    Added,
    /// A line that went.
    Removed,
    /// What git's format cannot express; a program that applies the patch skips it.
    Note,
}

/// Takes the text line by line.
type Out<'a> = &'a mut dyn FnMut(PatchPiece, &[u8]) -> io::Result<()>;

/// How many digits of an id are shown.
const DIGITS: usize = 10;

/// Writes a difference as text.
///
/// # Errors
/// When a content cannot be read, or `out` refuses.
pub fn patch(difference: &Difference, contents: &dyn ContentReader, bounds: &Bounds, out: Out<'_>) -> io::Result<()> {
    if difference.renames_given_up {
        note(out, "too many files were added and removed to search for renames")?;
    }
    let mut writer = Writer { contents, bounds, out };
    for change in &difference.changes {
        writer.change(change)?;
    }
    for (groups, words) in [(&difference.joined, "are one file now"), (&difference.parted, "are not one file any more")]
    {
        for names in groups {
            let names: Vec<String> = names.iter().map(|name| quoted("", name)).collect();
            note(writer.out, &format!("{} {words}", names.join(" and ")))?;
        }
    }
    for nested in &difference.nested {
        note(writer.out, &nested.words())?;
    }
    Ok(())
}

fn note(out: Out<'_>, words: &str) -> io::Result<()> {
    out(PatchPiece::Note, format!("# {words}\n").as_bytes())
}

struct Writer<'a> {
    contents: &'a dyn ContentReader,
    bounds: &'a Bounds,
    out: Out<'a>,
}

/// One part of the text: at most one file before and one after.
struct Section<'a> {
    change: &'a Change,
    from: Option<Side>,
    to: Option<Side>,
}

impl Writer<'_> {
    fn head(&mut self, line: &str) -> io::Result<()> {
        (self.out)(PatchPiece::Head, format!("{line}\n").as_bytes())
    }

    fn change(&mut self, change: &Change) -> io::Result<()> {
        self.beyond_git(change)?;
        let file = |side: Option<Side>| side.filter(|side| side.kind != FileKind::Folder);
        let (from, to) = (file(change.from), file(change.to));
        match (from, to) {
            (None, None) => Ok(()),
            // Git has no words for it either: the one goes, the other comes.
            (Some(before), Some(after)) if before.kind != after.kind => {
                self.section(&Section { change, from, to: None })?;
                self.section(&Section { change, from: None, to })
            }
            (Some(before), Some(after)) if before.id == after.id && before.git_mode() == after.git_mode() => {
                if matches!(change.what, ChangeKind::Renamed { .. }) {
                    self.section(&Section { change, from, to })?;
                }
                Ok(())
            }
            _ => self.section(&Section { change, from, to }),
        }
    }

    /// What git's format cannot express.
    fn beyond_git(&mut self, change: &Change) -> io::Result<()> {
        let name = quoted("", &change.path);
        let words = match (change.from, change.to) {
            (None, Some(to)) if to.is_folder() => format!("{name}: a new empty folder"),
            (Some(from), None) if from.is_folder() => format!("{name}: an empty folder that is gone"),
            (Some(from), Some(to)) if from.kind != to.kind => {
                format!("{name}: a {} that is a {} now", from.kind.name(), to.kind.name())
            }
            (Some(from), Some(to)) if from.mode != to.mode && from.git_mode() == to.git_mode() => {
                format!("{name}: permissions {:04o} are {:04o} now", from.mode, to.mode)
            }
            _ => return Ok(()),
        };
        note(self.out, &words)
    }

    fn section(&mut self, section: &Section<'_>) -> io::Result<()> {
        let (change, from, to) = (section.change, section.from, section.to);
        let (old, new) = (quoted("a/", change.old_path()), quoted("b/", &change.path));
        self.head(&format!("diff --git {old} {new}"))?;
        match (from.map(|side| side.git_mode()), to.map(|side| side.git_mode())) {
            (None, Some(mode)) => self.head(&format!("new file mode {mode:o}"))?,
            (Some(mode), None) => self.head(&format!("deleted file mode {mode:o}"))?,
            (Some(before), Some(after)) if before != after => {
                self.head(&format!("old mode {before:o}\nnew mode {after:o}"))?;
            }
            _ => {}
        }
        if let (ChangeKind::Renamed { from, similarity }, true) = (&change.what, section.from.is_some()) {
            let names = (quoted("", from), quoted("", &change.path));
            self.head(&format!("similarity index {similarity}%\nrename from {}\nrename to {}", names.0, names.1))?;
        }
        let ids = (from.and_then(|side| side.id), to.and_then(|side| side.id));
        if ids.0 == ids.1 {
            return Ok(());
        }
        self.index(section)?;
        let paths = PatchPaths {
            old: if from.is_some() { old } else { "/dev/null".to_owned() },
            new: if to.is_some() { new } else { "/dev/null".to_owned() },
        };
        let lines = if change.what == ChangeKind::Kind { self.alone(from.or(to))? } else { change.lines };
        match lines {
            Lines::Binary => self.head(&format!("Binary files {} and {} differ", paths.old, paths.new)),
            Lines::TooLarge => {
                self.head(&format!("Files {} and {} differ: too large to compare line by line", paths.old, paths.new))
            }
            Lines::Counted { .. } => self.body(section, &paths),
        }
    }

    /// What can be shown of a file without its other side.
    fn alone(&self, side: Option<Side>) -> io::Result<Lines> {
        let Some(id) = side.and_then(|side| side.id) else { return Ok(Lines::TooLarge) };
        let content = self.contents.read(&id, self.bounds.file_bytes)?;
        Ok(match content {
            content if is_binary(content.bytes()) => Lines::Binary,
            Content::Beginning(_) => Lines::TooLarge,
            Content::Whole(_) => Lines::Counted { insertions: 0, deletions: 0 },
        })
    }

    fn index(&mut self, section: &Section<'_>) -> io::Result<()> {
        let short = |side: Option<Side>| {
            let id = side.and_then(|side| side.id).map_or_else(|| "0".repeat(40), |id| id.to_string());
            id.chars().take(DIGITS).collect::<String>()
        };
        let mode = match (section.from, section.to) {
            (Some(from), Some(to)) if from.git_mode() == to.git_mode() => format!(" {:o}", to.git_mode()),
            _ => String::new(),
        };
        self.head(&format!("index {}..{}{mode}", short(section.from), short(section.to)))
    }

    fn body(&mut self, section: &Section<'_>, paths: &PatchPaths) -> io::Result<()> {
        let (before, after) = (self.content(section.from)?, self.content(section.to)?);
        let found = hunks(&before, &after);
        if found.is_empty() {
            return Ok(());
        }
        // A name with blanks would be taken to end there.
        let end = |name: &str| if name.contains(' ') && !name.starts_with('"') { "\t" } else { "" };
        self.head(&format!("--- {}{}\n+++ {}{}", paths.old, end(&paths.old), paths.new, end(&paths.new)))?;
        found.iter().try_for_each(|hunk| self.hunk(hunk))
    }

    fn content(&self, side: Option<Side>) -> io::Result<Vec<u8>> {
        let Some(id) = side.and_then(|side| side.id) else { return Ok(Vec::new()) };
        match self.contents.read(&id, self.bounds.file_bytes)? {
            Content::Whole(bytes) => Ok(bytes),
            Content::Beginning(_) => Err(io::Error::other(format!("{id} is longer than it was"))),
        }
    }

    fn hunk(&mut self, hunk: &Hunk<'_>) -> io::Result<()> {
        write_hunk(hunk, self.out)
    }
}

fn write_hunk(hunk: &Hunk<'_>, out: Out<'_>) -> io::Result<()> {
    let location = format!("@@ -{} +{} @@\n", span(&hunk.before), span(&hunk.after));
    out(PatchPiece::Location, location.as_bytes())?;
    for line in &hunk.lines {
        let (piece, sign, text) = match *line {
            Line::Context(text) => (PatchPiece::Context, b' ', text),
            Line::Removed(text) => (PatchPiece::Removed, b'-', text),
            Line::Added(text) => (PatchPiece::Added, b'+', text),
        };
        let mut whole = vec![sign];
        whole.extend_from_slice(text);
        if text.last() != Some(&b'\n') {
            whole.push(b'\n');
            out(piece, &whole)?;
            out(PatchPiece::Context, b"\\ No newline at end of file\n")?;
        } else {
            out(piece, &whole)?;
        }
    }
    Ok(())
}

/// Two texts of one file as a patch, without the heading.
///
/// # Errors
/// When `out` refuses.
pub fn patch_of_texts(before: &str, after: &str, out: Out<'_>) -> io::Result<()> {
    hunks(before.as_bytes(), after.as_bytes()).iter().try_for_each(|hunk| write_hunk(hunk, out))
}

/// The two paths that a section names, `/dev/null` where a file is not there.
struct PatchPaths {
    old: String,
    new: String,
}

/// Lines from 1 on; where there are none, the line before.
fn span(lines: &Range<u32>) -> String {
    match lines.end - lines.start {
        0 => format!("{},0", lines.start),
        1 => format!("{}", lines.start + 1),
        count => format!("{},{count}", lines.start + 1),
    }
}

/// A name as git writes it: plain, or in quotes where it holds what could be misread.
#[must_use]
pub fn quoted(before: &str, name: &[u8]) -> String {
    let mut plain = true;
    let mut text = before.to_owned();
    for chunk in name.utf8_chunks() {
        for letter in chunk.valid().chars() {
            let short = match letter {
                '\u{7}' => Some('a'),
                '\u{8}' => Some('b'),
                '\t' => Some('t'),
                '\n' => Some('n'),
                '\u{b}' => Some('v'),
                '\u{c}' => Some('f'),
                '\r' => Some('r'),
                '"' | '\\' => Some(letter),
                _ => None,
            };
            if let Some(short) = short {
                plain = false;
                text.extend(['\\', short]);
            } else if is_harmless(letter) {
                text.push(letter);
            } else {
                plain = false;
                octal(letter.encode_utf8(&mut [0; 4]).as_bytes(), &mut text);
            }
        }
        plain &= chunk.invalid().is_empty();
        octal(chunk.invalid(), &mut text);
    }
    if plain { text } else { format!("\"{text}\"") }
}

fn octal(bytes: &[u8], text: &mut String) {
    bytes.iter().for_each(|byte| text.push_str(&format!("\\{byte:03o}")));
}

/// Neither steers a terminal nor turns the direction of writing.
fn is_harmless(letter: char) -> bool {
    !letter.is_control() && loop_core::text::escape_path(letter.encode_utf8(&mut [0; 4]).as_bytes()).starts_with(letter)
}
