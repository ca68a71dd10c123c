//! Tables whose columns stand straight, also with wide letters.
use unicode_width::UnicodeWidthStr;

/// Columns separated by two spaces; the last one is not padded.
pub(crate) fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let all = || rows.iter().map(|row| row.iter().map(String::as_str).collect::<Vec<_>>());
    let head = head.to_vec();
    let widths: Vec<usize> = (0..head.len())
        .map(|column| {
            let cells =
                std::iter::once(head.clone()).chain(all()).map(|row| row.get(column).map_or(0, |cell| cell.width()));
            cells.max().unwrap_or(0)
        })
        .collect();
    let mut text = String::new();
    for row in std::iter::once(head.clone()).chain(all()) {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            line.push_str(cell);
            line.push_str(&" ".repeat(width.saturating_sub(cell.width()) + 2));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}
