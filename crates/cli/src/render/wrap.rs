//! A label with a long value: wrapped at the width of the screen, the rest below its beginning.
use unicode_width::UnicodeWidthStr;

use super::printer::text_width;
use super::table::cut;

/// However narrow the screen is, a value gets so much room.
const VALUE_WIDTH_MIN: usize = 24;

/// `  strength  red before, …` with the value in this column. Words are not divided: paths and commands can be copied.
pub(crate) fn labelled(label: &str, column: usize, value: &str) -> String {
    wrapped(label, column, value, text_width())
}

fn wrapped(label: &str, column: usize, value: &str, width: usize) -> String {
    let mut text = format!("  {label} ");
    let pad = column.saturating_sub(text.width());
    text.push_str(&" ".repeat(pad));
    fill(&mut text, value, column, width);
    text.push('\n');
    text
}

/// A text whose further lines begin in this column. Its own indent stays.
pub(crate) fn hanging(text: &str, column: usize, width: usize) -> String {
    let words = text.trim_start_matches(' ');
    let mut lines = " ".repeat(text.len() - words.len());
    fill(&mut lines, words, column, width);
    lines
}

/// A text of at most this width: cut between words, where an ellipsis says so.
pub(crate) fn cut_at_word(text: &str, most: usize) -> String {
    if text.width() <= most {
        return text.to_owned();
    }
    let mut out = String::new();
    for word in text.split(' ') {
        if out.width() + 1 + word.width() + 2 > most {
            break;
        }
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    if out.is_empty() { cut(text, most) } else { out + " …" }
}

fn fill(text: &mut String, value: &str, column: usize, width: usize) {
    let most = width.max(column + VALUE_WIDTH_MIN);
    let mut at = text.width();
    let mut is_first = true;
    for word in value.split(' ') {
        let wide = word.width();
        if !is_first && at + 1 + wide > most {
            text.push('\n');
            text.push_str(&" ".repeat(column));
            at = column;
        } else if !is_first {
            text.push(' ');
            at += 1;
        }
        text.push_str(word);
        at += wide;
        is_first = false;
    }
}

#[cfg(test)]
mod tests {
    use super::{cut_at_word, wrapped};

    #[test]
    fn a_text_is_cut_between_words() {
        assert_eq!(cut_at_word("one two three", 13), "one two three");
        assert_eq!(cut_at_word("one two three", 12), "one two …");
        assert_eq!(cut_at_word("incomprehensible", 6), "incom…");
    }

    #[test]
    fn a_long_value_continues_below_its_beginning_and_no_word_is_divided() {
        let text = wrapped("named", 12, "one two three a/very/long/path/that/is/wider/than/the/rest six", 36);
        let lines = [
            "  named     one two three",
            "            a/very/long/path/that/is/wider/than/the/rest",
            "            six\n",
        ];
        assert_eq!(text, lines.join("\n"));
    }

    #[test]
    fn a_label_that_is_too_long_is_separated_from_its_value() {
        assert_eq!(wrapped("integration", 12, "pass", 80), "  integration pass\n");
    }
}
