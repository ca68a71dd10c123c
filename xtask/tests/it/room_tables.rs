//! The table of a room and its modules.

use xtask::Tree;
use xtask::rules::room_tables::check;

fn found(text: &str) -> Vec<String> {
    let tree = Tree::of(&[
        ("crates/a/src/room/mod.rs", text),
        ("crates/a/src/room/one.rs", ""),
        ("crates/a/src/room/two/x.rs", ""),
    ]);
    check(&tree).iter().map(ToString::to_string).collect()
}

#[test]
fn a_module_that_the_table_does_not_name_is_found() {
    let text = "//! A room.\n//!\n//! | file | what |\n//! |---|---|\n//! | `one` | this |\nmod one;\npub mod two;\n#[cfg(test)]\nmod tests;\n";
    assert_eq!(found(text), ["crates/a/src/room/mod.rs:7: `two` is not in the table of its room; say what is there"]);
}

#[test]
fn a_name_in_the_table_that_is_no_module_is_found() {
    let text = "//! | file | what |\n//! |---|---|\n//! | `one` `two/` | this |\n//! | [`three.rs`] | gone |\nmod one;\nmod two;\n";
    assert_eq!(found(text), ["crates/a/src/room/mod.rs:4: the table names `three`, which is not in this room"]);
}

#[test]
fn a_row_for_a_family_stands_for_its_modules() {
    assert_eq!(found("//! | room | what |\n//! |---|---|\n//! | `<agent>/` | one each |\nmod one;\n"), [""; 0]);
    assert_eq!(found("//! A file without a table.\nmod one;\n"), [""; 0]);
}
