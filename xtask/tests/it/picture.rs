//! The picture of README is of a real screen, and can be made again.
use xtask::picture::screen::Screen;
use xtask::picture::{place, run, svg};

#[test]
fn the_picture_is_made_from_the_demo_of_the_built_program() -> anyhow::Result<()> {
    let picture = run(None)?;
    for words in
        ["$ loop demo", "promise: fail", "promise: pass", "the promise passes after 3 iterations", "$ loop history"]
    {
        assert!(picture.contains(words), "{words}: {picture}");
    }
    assert!(picture.starts_with("<svg ") && picture.ends_with("</svg>\n"));
    assert!(!picture.contains("target/debug"), "{picture}");
    Ok(())
}

#[test]
fn the_picture_in_the_repository_shows_what_the_demo_shows() -> anyhow::Result<()> {
    let picture = std::fs::read_to_string(place())?;
    for words in ["$ loop demo", "promise: pass", "the promise passes after 3 iterations"] {
        assert!(picture.contains(words), "{words}: cargo xtask picture");
    }
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
