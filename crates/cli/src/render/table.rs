//! Tables with aligned columns, also with wide letters.
use unicode_width::UnicodeWidthStr;

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

fn line<'a>(text: &mut String, cells: impl Iterator<Item = &'a str>, widths: &[usize]) {
    let begin = text.len();
    for (cell, width) in cells.zip(widths) {
        text.push_str(cell);
        text.extend(std::iter::repeat_n(' ', width.saturating_sub(cell.width()) + 2));
    }
    text.truncate(begin + text[begin..].trim_end().len());
    text.push('\n');
}
