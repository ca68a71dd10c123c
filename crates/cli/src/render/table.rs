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
    table(head, &rows)
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
    use super::{ShrinkingColumn, table_within};

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
