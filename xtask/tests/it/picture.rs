//! The picture of README is of a real screen, and can be made again.
use std::collections::BTreeMap;

use anyhow::Context;
use xtask::picture::screen::Screen;
use xtask::picture::{place, run, svg};

/// The rows of a picture without what differs from one demo to the next: ids, times, counts, and how wide a column is.
fn shape(picture: &str) -> anyhow::Result<Vec<String>> {
    let mut rows: BTreeMap<usize, String> = BTreeMap::new();
    for piece in picture.split("<text ").skip(1) {
        let (marks, text) = piece.split_once('>').context("a text without its end")?;
        let height =
            marks.split(" y=\"").nth(1).and_then(|rest| rest.split('"').next()).context("a text without a place")?;
        let row = rows.entry(height.parse()?).or_default();
        row.push(' ');
        row.push_str(text.split("</text>").next().unwrap_or_default());
    }
    // `loop ID in FOLDER`: an id may be without a digit.
    let header = rows.values().find_map(|row| row.trim().strip_prefix("loop ")?.split_once(" in /tmp/"));
    let (id, folder) = header.context("no header of a loop")?;
    let names = [id.to_owned(), folder.trim().to_owned()];
    let word = |word: &str| {
        let differs = word.contains(|letter: char| letter.is_ascii_digit());
        if differs || names.iter().any(|name| word.contains(name)) { "#".to_owned() } else { word.to_owned() }
    };
    Ok(rows.values().map(|row| row.split_whitespace().map(word).collect::<Vec<_>>().join(" ")).collect())
}

#[test]
fn the_picture_in_the_repository_has_the_shape_of_the_demo_of_the_built_program() -> anyhow::Result<()> {
    let picture = run(None)?;
    for words in
        ["$ loop demo", "promise: fail", "promise: pass", "the promise passes after 3 iterations", "$ loop history"]
    {
        assert!(picture.contains(words), "{words}: {picture}");
    }
    assert!(picture.starts_with("<svg ") && picture.ends_with("</svg>\n"));
    assert!(!picture.contains("target/debug"), "{picture}");
    let stored = std::fs::read_to_string(place())?;
    assert!(shape(&picture)?.len() > 20, "{picture}");
    assert_eq!(shape(&stored)?, shape(&picture)?, "make it again: cargo xtask picture");
    Ok(())
}

#[test]
fn a_line_that_is_drawn_again_and_colours_are_shown_as_a_terminal_shows_them() {
    let mut screen = Screen::new(20);
    screen.feed("1/10 at work\r\u{1b}[K\u{1b}[32mdone\u{1b}[0m: <ok>\r\n");
    let rows = screen.rows();
    assert_eq!(rows[0].text(), "done: <ok>");
    let picture = svg::of(&rows, 20, "a & b");
    assert!(picture.contains("fill=\"#7ec699\" textLength=\"31.2\" xml:space=\"preserve\">done</text>"), "{picture}");
    assert!(picture.contains("&lt;ok&gt;") && picture.contains("<title>a &amp; b</title>"), "{picture}");
}
