//! Rows of a terminal as SVG: text with colours, which needs nothing to be shown.

use std::fmt::Write;

use super::screen::{Look, ScreenRow};

/// The size of a letter, of a row, and of the space around all.
const LETTER: f64 = 7.8;
const ROW: usize = 18;
const EDGE: usize = 16;

const BACKGROUND: &str = "#101418";
/// The usual colour, then those of a terminal from red on.
const COLOURS: [&str; 8] = ["#d7dde3", "#f2777a", "#7ec699", "#ffcc66", "#6cb2f2", "#d59df6", "#62d0ce", "#ffffff"];
const DIM: &str = "#8b96a1";

/// The picture.
#[must_use]
pub fn of(rows: &[ScreenRow], columns: usize, title: &str) -> String {
    let columns = u32::try_from(columns).unwrap_or(u32::MAX);
    let width = (f64::from(columns) * LETTER).ceil() + 2.0 * (EDGE as f64);
    let height = rows.len() * ROW + 2 * EDGE;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         role=\"img\">\n<title>{}</title>\n<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{BACKGROUND}\"/>\n\
         <g font-family=\"ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace\" font-size=\"13\">\n",
        escaped(title)
    );
    for (at, row) in rows.iter().enumerate() {
        let y = EDGE + (at + 1) * ROW - 5;
        for run in runs(row) {
            let text = run.text.trim_end();
            if text.is_empty() {
                continue;
            }
            let letters = u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
            let x = EDGE as f64 + f64::from(run.from) * LETTER;
            let bold = if run.look.bold { " font-weight=\"bold\"" } else { "" };
            // The width is said, so that columns stand straight in any font.
            let line = format!(
                "<text x=\"{x:.1}\" y=\"{y}\" fill=\"{}\"{bold} textLength=\"{:.1}\" xml:space=\"preserve\">{}</text>",
                colour(run.look),
                f64::from(letters) * LETTER,
                escaped(text)
            );
            writeln!(svg, "{line}").ok();
        }
    }
    svg.push_str("</g>\n</svg>\n");
    svg
}

/// Letters of one look that stand together.
struct StyledRun {
    from: u32,
    look: Look,
    text: String,
}

fn runs(row: &ScreenRow) -> Vec<StyledRun> {
    let mut runs: Vec<StyledRun> = Vec::new();
    for (at, (letter, look)) in row.letters.iter().enumerate() {
        let begins = match runs.last() {
            // Blanks before the first word would be counted in the width, and may be lost.
            None => true,
            Some(last) => last.look != *look || last.text.trim().is_empty(),
        };
        if begins {
            let from = u32::try_from(at).unwrap_or(u32::MAX);
            runs.push(StyledRun { from, look: *look, text: String::new() });
        }
        if let Some(last) = runs.last_mut() {
            last.text.push(*letter);
        }
    }
    runs
}

fn colour(look: Look) -> &'static str {
    match COLOURS.get(usize::from(look.colour)) {
        _ if look.dim && look.colour == 0 => DIM,
        Some(colour) => colour,
        None => COLOURS[0],
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
