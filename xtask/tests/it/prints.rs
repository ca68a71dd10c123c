//! Calls that have no place.

use xtask::Tree;
use xtask::rules::prints::check;

use crate::told;

fn findings_at(path: &str, text: &str) -> Vec<String> {
    told(&check(&Tree::of(&[(path, text)])))
}

#[test]
fn the_product_prints_through_its_printer_only() {
    for name in ["println", "eprintln", "print", "eprint", "dbg"] {
        let text = format!("//! A.\nfn a() {{\n    if b {{ std::{name}!(\"x\"); }}\n}}\n");
        for path in ["crates/cli/src/main.rs", "crates/core/src/run/a.rs", "crates/testkit/src/a.rs"] {
            assert_eq!(
                findings_at(path, &text),
                [format!(
                    "{path}:3: `{name}!` outside the printer; \
                     return the text and let the cli's printer show it"
                )]
            );
        }
        for path in [
            "crates/cli/src/render/printer.rs",
            "crates/daemon/src/main.rs",
            "crates/daemon/src/bin/loopd.rs",
            "crates/cli/tests/it/a.rs",
            "xtask/src/main.rs",
        ] {
            assert_eq!(findings_at(path, &text), [""; 0]);
        }
    }
}

#[test]
fn strings_comments_and_other_names_may_speak_of_printing() {
    let text = "//! println!(1) todo!()\n/// dbg!(1)\nfn println() { // eprintln!(2)\n\
                let a = \"todo!() #[ignore] thread::sleep\"; println != a; my_println!(a) }\n";
    assert_eq!(findings_at("crates/core/src/a.rs", text), [""; 0]);
    assert_eq!(findings_at("crates/core/tests/it/a.rs", text), [""; 0]);
}

#[test]
fn a_test_never_sleeps() {
    for line in [
        "std::thread::sleep(LONG);",
        "thread::sleep(LONG);",
        "use std::thread::sleep;",
        "use std::thread::{self, sleep};",
    ] {
        let text = format!("//! A.\nfn a() {{ {line} }}\n");
        assert_eq!(
            findings_at("crates/host/tests/it/a.rs", &text),
            ["crates/host/tests/it/a.rs:2: `thread::sleep` in a test; wait for a fact, with a time limit"]
        );
        assert_eq!(findings_at("crates/host/src/a.rs", &text), [""; 0]);
    }
    assert_eq!(findings_at("crates/host/tests/it/a.rs", "fn a() { thread::spawn(b); }"), [""; 0]);
}

#[test]
fn no_test_is_ignored() {
    for attribute in ["ignore", "ignore = \"slow\"", "cfg_attr(unix, ignore)"] {
        for path in ["crates/host/tests/it/a.rs", "crates/host/src/a.rs"] {
            let text = format!("#[test]\n#[{attribute}]\nfn a() {{}}\n");
            assert_eq!(
                findings_at(path, &text),
                [format!("{path}:2: an ignored test proves nothing; make it run, or remove it")]
            );
        }
    }
    assert_eq!(findings_at("crates/host/src/a.rs", "#[cfg_attr(unix, inline)]\nfn ignore() {}\n"), [""; 0]);
}

#[test]
fn no_code_is_left_unwritten() {
    for name in ["todo", "unimplemented"] {
        for path in ["crates/host/tests/it/a.rs", "crates/host/src/a.rs", "xtask/src/a.rs"] {
            assert_eq!(
                findings_at(path, &format!("fn a() {{ {name}!(\"later\") }}\n")),
                [format!("{path}:1: `{name}!` is a promise; write the code, or return an error")]
            );
        }
    }
}
