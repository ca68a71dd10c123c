//! Tables with aligned columns, also with wide letters.
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Columns separated by two spaces; the last one is not padded.
pub(crate) fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let mut widths: Vec<usize> = head.iter().map(|cell| cell.width()).collect();
    for row in rows {
        for (cell, widest) in row.iter().zip(&mut widths) {
            *widest = cell.width().max(*widest);
        }
    }
    let mut text = String::new();
    line(&mut text, head.iter().copied(), &widths);
    for row in rows {
        line(&mut text, row.iter().map(String::as_str), &widths);
    }
    text
}

/// A column whose cells are cut where a row would be too wide.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ShrinkingColumn {
    /// Which one, from 0.
    pub(crate) at: usize,
    /// It does not get narrower than this.
    pub(crate) least: usize,
}

/// The same, no wider than the screen as far as these columns can be cut, the first of them first.
pub(crate) fn table_within(most: usize, shrinking: &[ShrinkingColumn], head: &[&str], rows: &[Vec<String>]) -> String {
    let mut rows = rows.to_vec();
    for column in shrinking {
        let whole = table(head, &rows).lines().map(UnicodeWidthStr::width).max().unwrap_or(0);
        let cells = rows.iter().filter_map(|row| row.get(column.at)).map(|cell| cell.width());
        let widest = cells.max().unwrap_or(0);
        let room = widest.saturating_sub(whole.saturating_sub(most)).max(column.least);
        for cell in rows.iter_mut().filter_map(|row| row.get_mut(column.at)) {
            *cell = cut(cell, room);
        }
    }
    match loop_host::terminal::columns(std::io::stdout()) {
        Some(columns) => fitted(columns, head, &rows),
        None => table(head, &rows),
    }
}

/// A table that fits the terminal, where there is one: no row is wrapped.
pub(crate) fn table_on_screen(head: &[&str], rows: &[Vec<String>]) -> String {
    match loop_host::terminal::columns(std::io::stdout()) {
        Some(columns) => fitted(columns, head, rows),
        None => table(head, rows),
    }
}

/// Whether the terminal, where there is one, has room for the whole table.
pub(crate) fn fits_screen(head: &[&str], rows: &[Vec<String>]) -> bool {
    let columns = loop_host::terminal::columns(std::io::stdout());
    let widest = table(head, rows).lines().map(UnicodeWidthStr::width).max().unwrap_or(0);
    columns.is_none_or(|columns| widest <= columns)
}

/// No column gets narrower than this, or than its head.
const COLUMN_LEAST: usize = 6;

/// A table of at most this width: the widest columns are cut first, and then whole rows.
fn fitted(most: usize, head: &[&str], rows: &[Vec<String>]) -> String {
    let mut rows = rows.to_vec();
    let widest_of = |rows: &[Vec<String>], at: usize| {
        rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.width()).max().unwrap_or(0)
    };
    loop {
        let whole = table(head, &rows).lines().map(UnicodeWidthStr::width).max().unwrap_or(0);
        let Some(over) = whole.checked_sub(most).filter(|over| *over > 0) else { break };
        // The first column has what is typed again: an id or a name.
        let columns = head.iter().enumerate().skip(1).map(|(at, name)| {
            let widest = widest_of(&rows, at);
            (widest.saturating_sub(name.width().max(COLUMN_LEAST)), at, widest)
        });
        let Some((room, at, widest)) = columns.max().filter(|(room, _, _)| *room > 0) else { break };
        let next = widest - over.min(room.div_ceil(2));
        rows.iter_mut().filter_map(|row| row.get_mut(at)).for_each(|cell| *cell = cut(cell, next));
    }
    table(head, &rows).lines().map(|line| cut(line, most) + "\n").collect()
}

/// A cell of at most this width; an ellipsis says that something is left out.
pub(crate) fn cut(cell: &str, most: usize) -> String {
    if cell.width() <= most {
        return cell.to_owned();
    }
    let mut room = most.saturating_sub(1);
    let fits = |letter: &char| {
        let wide = letter.width().unwrap_or(0);
        let fits = wide <= room;
        room = room.saturating_sub(wide);
        fits
    };
    cell.chars().take_while(fits).chain(['…']).collect()
}

fn line<'a>(text: &mut String, cells: impl Iterator<Item = &'a str>, widths: &[usize]) {
    let begin = text.len();
    for (cell, width) in cells.zip(widths) {
        text.push_str(cell);
        text.extend(std::iter::repeat_n(' ', width.saturating_sub(cell.width()) + 2));
    }
    text.truncate(begin + text[begin..].trim_end().len());
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::{ShrinkingColumn, fitted, table_within};

    #[test]
    fn a_table_fits_any_width() {
        let rows = [vec!["1".to_owned(), "a".repeat(30), "b".repeat(20), "end".to_owned()]];
        let head = ["N", "LONG", "OTHER", "LAST"];
        for most in [80, 60, 40, 20, 10] {
            let text = fitted(most, &head, &rows);
            let widest = text.lines().map(|line| line.chars().count()).max();
            assert!(widest <= Some(most), "{most}: {text}");
        }
        assert!(fitted(40, &head, &rows).ends_with("  end\n"), "the last column is still there");
    }

    #[test]
    fn columns_are_cut_in_their_order_until_the_rows_fit() {
        let rows = [vec!["a".repeat(10), "b".repeat(10), "c".to_owned()], vec!["a".into(), "b".into(), "c".into()]];
        let shrinking = [ShrinkingColumn { at: 1, least: 4 }, ShrinkingColumn { at: 0, least: 6 }];
        let within = |most| table_within(most, &shrinking, &["A", "B", "C"], &rows);
        assert_eq!(within(25), "A           B           C\naaaaaaaaaa  bbbbbbbbbb  c\na           b           c\n");
        assert_eq!(within(20), "A           B      C\naaaaaaaaaa  bbbb…  c\na           b      c\n");
        assert_eq!(within(16), "A        B     C\naaaaaa…  bbb…  c\na        b     c\n");
        assert_eq!(within(1), "A       B     C\naaaaa…  bbb…  c\na       b     c\n");
    }
}
