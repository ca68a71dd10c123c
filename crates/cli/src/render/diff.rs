//! What differs between two checkpoints, for people and for programs.
use std::io::{self, Write};

use loop_core::run::Changes;
use loop_core::text;
use loop_host::checkpoint::diff::{
    Change, ChangeKind, Difference, FileKind, Lines, NestedRepository, PatchPiece, Side, quoted,
};
use serde::Serialize;
use unicode_width::UnicodeWidthStr;

use super::printer::{Paint, Printer};

/// The version of the JSON.
const JSON_VERSION: u32 = 1;
/// Bars get at least this much room, in letters.
const BAR_MIN: usize = 6;
/// Stands for the beginning of a name. Plain: not every pager and locale knows more letters.
const CUT: &str = "...";
/// A column of names gets at least this much.
const NAME_MIN: usize = 10;

/// `+120 -30 (5 files)`.
pub(crate) fn brief(changes: Changes) -> String {
    let files = if changes.files == 1 { "1 file".to_owned() } else { format!("{} files", changes.files) };
    format!("+{} -{} ({files})", changes.insertions, changes.deletions)
}

/// `3 files changed, 12 insertions(+), 4 deletions(-)`, as git words it.
pub(crate) fn total(changes: Changes) -> String {
    let of = |count: u64, one: &str, more: &str| format!("{count} {}", if count == 1 { one } else { more });
    let mut text = of(changes.files.into(), "file changed", "files changed");
    if changes.insertions > 0 || changes.deletions == 0 {
        text.push_str(&format!(", {}", of(changes.insertions, "insertion(+)", "insertions(+)")));
    }
    if changes.deletions > 0 || changes.insertions == 0 {
        text.push_str(&format!(", {}", of(changes.deletions, "deletion(-)", "deletions(-)")));
    }
    text
}

/// Writes one line of a text: as it is for programs, painted and harmless for a terminal.
pub(crate) fn line(
    to: &mut dyn Write,
    printer: &Printer,
    terminal: bool,
    piece: PatchPiece,
    bytes: &[u8],
) -> io::Result<()> {
    if !terminal {
        return to.write_all(bytes);
    }
    let shown = visible(bytes.strip_suffix(b"\n").unwrap_or(bytes));
    let paint = match piece {
        PatchPiece::Head => Paint::Head,
        PatchPiece::Location => Paint::Place,
        PatchPiece::Added => Paint::Good,
        PatchPiece::Removed => Paint::Bad,
        PatchPiece::Note => Paint::Warn,
        PatchPiece::Context => return writeln!(to, "{shown}"),
    };
    // A pager shows colours only to the end of a line.
    shown.split('\n').try_for_each(|shown| writeln!(to, "{}", printer.paint(paint, shown)))
}

/// Text of a file with everything that could steer a terminal or deceive a reader written out; tabs and ends of
/// lines stay.
pub(crate) fn visible(bytes: &[u8]) -> String {
    let mut shown = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for letter in chunk.valid().chars() {
            match letter {
                '\t' | '\n' | '\\' => shown.push(letter),
                letter => shown.push_str(&text::escape_path(letter.encode_utf8(&mut [0; 4]).as_bytes())),
            }
        }
        shown.push_str(&text::escape_path(chunk.invalid()));
    }
    shown
}

/// A path with bars of its lines, scaled to the width, and the sums.
pub(crate) fn stat(difference: &Difference, paint: &dyn Fn(Paint, &str) -> String, width: usize) -> String {
    let rows: Vec<Row> = difference.changes.iter().map(Row::of).collect();
    let widest = |of: fn(&Row) -> usize| rows.iter().map(of).max().unwrap_or(0);
    let most = rows.iter().map(|row| row.insertions + row.deletions).max().unwrap_or(0);
    let count = widest(|row| row.count.width());
    // A blank, the name, a bar between blanks, the count, a blank.
    let room = width.saturating_sub(count + 5);
    let longest = widest(|row| row.name.width());
    let most_letters = usize::try_from(most).unwrap_or(usize::MAX);
    let bar = most_letters.min(room.saturating_sub(longest).max((room * 3 / 8).max(BAR_MIN)));
    let name = longest.min(room.saturating_sub(bar).max(NAME_MIN));
    let mut text = String::new();
    for row in &rows {
        let (came, went) = row.bars(bar, most);
        let shown = shortened(&row.name, name);
        let gap = " ".repeat(name.saturating_sub(shown.width()));
        let bars = paint(Paint::Good, &"+".repeat(came)) + &paint(Paint::Bad, &"-".repeat(went));
        let bars = if came + went == 0 { String::new() } else { format!(" {bars}") };
        text.push_str(&format!(" {shown}{gap} | {:>count$}{bars}\n", row.count));
    }
    if difference.renames_given_up {
        text.push_str(" too many files were added and removed to search for renames\n");
    }
    for nested in &difference.nested {
        text.push_str(&format!(" {}\n", nested.words()));
    }
    text + &format!(" {}\n", total(difference.totals()))
}

struct Row {
    name: String,
    count: String,
    insertions: u64,
    deletions: u64,
}

impl Row {
    fn of(change: &Change) -> Self {
        let name = match &change.what {
            ChangeKind::Renamed { from, .. } => format!("{} => {}", quoted("", from), quoted("", &change.path)),
            ChangeKind::Made | ChangeKind::Removed | ChangeKind::Changed | ChangeKind::Mode | ChangeKind::Kind => {
                quoted("", &change.path)
            }
        };
        let slash = if change.is_of_files() { "" } else { "/" };
        let (count, insertions, deletions) = match change.lines {
            // No lines to count: what happened says more than a nought.
            Lines::Counted { .. } if change.what == ChangeKind::Mode || !change.is_of_files() => {
                (change.what.name().to_owned(), 0, 0)
            }
            Lines::Counted { insertions, deletions } => ((insertions + deletions).to_string(), insertions, deletions),
            Lines::Binary => ("Bin".to_owned(), 0, 0),
            Lines::TooLarge => ("too large".to_owned(), 0, 0),
        };
        Self { name: name + slash, count, insertions, deletions }
    }

    /// How long its two bars are, if the longest may have so many letters.
    fn bars(&self, letters: usize, most: u64) -> (usize, usize) {
        let room = u64::try_from(letters).unwrap_or(u64::MAX);
        let scaled = |count: u64| match count {
            0 => 0,
            count if most <= room => count,
            count => 1 + count * room.saturating_sub(1) / most.max(1),
        };
        let both = u64::from(self.insertions > 0) + u64::from(self.deletions > 0);
        let all = scaled(self.insertions + self.deletions).max(both);
        let less = scaled(self.insertions.min(self.deletions));
        let (came, went) = if self.insertions < self.deletions { (less, all - less) } else { (all - less, less) };
        (usize::try_from(came).unwrap_or(0), usize::try_from(went).unwrap_or(0))
    }
}

/// The end of a name says more than its beginning.
fn shortened(name: &str, letters: usize) -> String {
    if name.width() <= letters {
        return name.to_owned();
    }
    let mut rest = name.chars();
    while rest.as_str().width() + CUT.len() > letters && rest.next().is_some() {}
    format!("{CUT}{}", rest.as_str())
}

/// The answer of `loop history --diff --json`.
#[derive(Debug, Serialize)]
pub(crate) struct DiffJson {
    version: u32,
    id: String,
    from: String,
    to: String,
    by_agent: bool,
    totals: Changes,
    renames_given_up: bool,
    changes: Vec<ChangeJson>,
    joined: Vec<Vec<String>>,
    parted: Vec<Vec<String>>,
    /// Nested repositories that changed: kept, and not compared.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    nested: Vec<NestedJson>,
}

#[derive(Debug, Serialize)]
struct ChangeJson {
    path: String,
    what: &'static str,
    from_path: Option<String>,
    similarity: Option<u8>,
    from_kind: Option<&'static str>,
    to_kind: Option<&'static str>,
    from_mode: Option<String>,
    to_mode: Option<String>,
    insertions: Option<u64>,
    deletions: Option<u64>,
    binary: bool,
    too_large: bool,
}

/// For programs. Permissions are given only where they changed.
pub(crate) fn json(difference: &Difference, id: &str, from: &str, to: &str, by_agent: bool) -> DiffJson {
    let groups = |groups: &[Vec<Vec<u8>>]| {
        groups.iter().map(|names| names.iter().map(|name| text::escape_path(name)).collect()).collect()
    };
    DiffJson {
        version: JSON_VERSION,
        id: id.to_owned(),
        from: from.to_owned(),
        to: to.to_owned(),
        by_agent,
        totals: difference.totals(),
        renames_given_up: difference.renames_given_up,
        changes: difference.changes.iter().map(change_json).collect(),
        joined: groups(&difference.joined),
        parted: groups(&difference.parted),
        nested: difference.nested.iter().map(nested_json).collect(),
    }
}

/// A nested repository that changed.
#[derive(Debug, Serialize)]
struct NestedJson {
    path: String,
    commits: Option<usize>,
}

fn nested_json(nested: &NestedRepository) -> NestedJson {
    NestedJson { path: text::escape_path(&nested.path), commits: nested.commits }
}

fn change_json(change: &Change) -> ChangeJson {
    let renamed = match &change.what {
        ChangeKind::Renamed { from, similarity } => Some((text::escape_path(from), *similarity)),
        ChangeKind::Made | ChangeKind::Removed | ChangeKind::Changed | ChangeKind::Mode | ChangeKind::Kind => None,
    };
    let counted = match change.lines {
        Lines::Counted { insertions, deletions } => Some((insertions, deletions)),
        Lines::Binary | Lines::TooLarge => None,
    };
    let differ = change.from.map(|side| side.mode) != change.to.map(|side| side.mode);
    let mode = |side: Option<Side>| side.filter(|side| differ && side.kind != FileKind::Link);
    let mode = |side: Option<Side>| mode(side).map(|side| format!("{:04o}", side.mode));
    ChangeJson {
        path: text::escape_path(&change.path),
        what: change.what.name(),
        similarity: renamed.as_ref().map(|(_, similarity)| *similarity),
        from_path: renamed.map(|(from, _)| from),
        from_kind: change.from.map(|side| side.kind.name()),
        to_kind: change.to.map(|side| side.kind.name()),
        from_mode: mode(change.from),
        to_mode: mode(change.to),
        insertions: counted.map(|(insertions, _)| insertions),
        deletions: counted.map(|(_, deletions)| deletions),
        binary: change.lines == Lines::Binary,
        too_large: change.lines == Lines::TooLarge,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    fn change(path: &str, what: ChangeKind, lines: Lines) -> Change {
        let side = Some(Side { kind: FileKind::File, mode: 0o644, id: None });
        Change { path: path.as_bytes().to_vec(), what, from: side, to: side, lines }
    }

    fn counted(path: &str, insertions: u64, deletions: u64) -> Change {
        change(path, ChangeKind::Changed, Lines::Counted { insertions, deletions })
    }

    #[test]
    fn bars_are_scaled_to_the_width_and_none_vanishes() {
        let mut difference = Difference {
            changes: vec![
                counted("a/very/long/path/that/nobody/would/want/to/read/in/full.rs", 1000, 500),
                counted("all", 0, 1),
                counted("odd\n\u{1b}[31m", 1, 1),
                change("pack", ChangeKind::Changed, Lines::TooLarge),
                change("perms", ChangeKind::Mode, Lines::Counted { insertions: 0, deletions: 0 }),
                change("picture", ChangeKind::Changed, Lines::Binary),
            ],
            ..Difference::default()
        };
        let plain = |_: Paint, text: &str| text.to_owned();
        let text = stat(&difference, &plain, 60);
        expect![[r#"
            shown:
             ...ld/want/to/read/in/full.rs |      1500 +++++++++++------
             all                           |         1 -
             "odd\n\033[31m"               |         2 +-
             pack                          | too large
             perms                         |      mode
             picture                       |       Bin
             6 files changed, 1001 insertions(+), 502 deletions(-)
        "#]]
        .assert_eq(&format!("shown:\n{text}"));
        assert!(text.lines().all(|line| line.len() <= 60), "{text}");
        difference.renames_given_up = true;
        difference.changes.truncate(2);
        difference.changes.remove(0);
        expect![[r#"
            shown:
             all | 1 -
             too many files were added and removed to search for renames
             1 file changed, 1 deletion(-)
        "#]]
        .assert_eq(&format!("shown:\n{}", stat(&difference, &plain, 80)));
    }

    #[test]
    fn sums_are_worded_as_git_words_them() {
        let of = |files, insertions, deletions| total(Changes { files, insertions, deletions });
        assert_eq!(of(3, 12, 4), "3 files changed, 12 insertions(+), 4 deletions(-)");
        assert_eq!(of(1, 1, 0), "1 file changed, 1 insertion(+)");
        assert_eq!(of(1, 0, 1), "1 file changed, 1 deletion(-)");
        assert_eq!(of(2, 0, 0), "2 files changed, 0 insertions(+), 0 deletions(-)");
        assert_eq!(brief(Changes { files: 5, insertions: 120, deletions: 30 }), "+120 -30 (5 files)");
        assert_eq!(brief(Changes { files: 1, insertions: 0, deletions: 0 }), "+0 -0 (1 file)");
    }

    #[test]
    fn nothing_that_steers_a_terminal_is_left() {
        assert_eq!(
            visible(b"a\tb\\c \x1b[31m\x07\r\x7f \xff \xc2\x9b"),
            "a\tb\\c \\x1b[31m\\x07\\x0d\\x7f \\xff \\xc2\\x9b"
        );
        let every: Vec<u8> = (0..=255).collect();
        assert!(visible(&every).chars().all(|letter| "\t\n".contains(letter) || !letter.is_control()));
    }
}
