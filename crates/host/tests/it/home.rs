//! The user's folders.
use std::ffi::OsString;
use std::path::Path;

use loop_host::paths::{Home, path_of, text_of};

fn find(variables: &[(&str, &str)]) -> Option<(String, String)> {
    let lookup =
        |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value));
    let home = Home::find(lookup).ok()?;
    Some((text_of(&home.state), text_of(&home.config)))
}

#[test]
fn folders_follow_xdg_and_loop_home_outranks_it() {
    // req: D-23 partly: without a socket
    let pair = |state: &str, config: &str| Some((state.to_owned(), config.to_owned()));
    assert_eq!(find(&[("HOME", "/h")]), pair("/h/.local/state/loop", "/h/.config/loop"));
    assert_eq!(
        find(&[("HOME", "/h"), ("XDG_STATE_HOME", "/s"), ("XDG_CONFIG_HOME", "/c")]),
        pair("/s/loop", "/c/loop")
    );
    assert_eq!(
        find(&[("HOME", "/h"), ("XDG_STATE_HOME", "relative")]),
        pair("/h/.local/state/loop", "/h/.config/loop")
    );
    assert_eq!(find(&[("HOME", "/h"), ("LOOP_HOME", "/l")]), pair("/l", "/h/.config/loop"));
    assert_eq!(find(&[("LOOP_HOME", "/l")]), pair("/l", "/l/config"));
    assert_eq!(find(&[("HOME", "/h"), ("LOOP_HOME", "relative")]), None);
    assert_eq!(find(&[]), None);
}

#[test]
fn a_path_survives_being_text() {
    let path = Path::new("/a/with space/and\nnewline");
    assert_eq!(path_of(&text_of(path)), path);
}
