//! Texts from outside.
use loop_core::text::{clean, escape_path, nearest, one_line, tail, unescape_path};

#[test]
fn nothing_that_steers_a_terminal_is_left_in_an_agents_text() {
    let cases: [(&[u8], &str); 9] = [
        (b"\x1b[31mred\x1b[0m", "red"),
        (b"\x1b]0;title\x07text", "text"),
        (b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        (b"\x1bPdevice\x1b\\after", "after"),
        ("\u{9b}31mred".as_bytes(), "red"),
        (b"a\x00b\x08c\x7f", "abc"),
        (b"line\r\nover\rwrite", "line\nover\nwrite"),
        ("\u{202e}evil\u{2066}".as_bytes(), "evil"),
        (b"\xff\xfe\t.", "\u{fffd}\u{fffd}\t."),
    ];
    for (bytes, text) in cases {
        assert_eq!(clean(bytes), text, "{bytes:?}");
    }
}

#[test]
fn every_single_byte_and_every_pair_comes_out_harmless() {
    for first in 0..=255_u8 {
        for second in 0..=255_u8 {
            let text = clean(&[b'\x1b', first, second, first, b'x']);
            let bad = text.chars().find(|letter| letter.is_control() && !matches!(letter, '\n' | '\t'));
            assert_eq!(bad, None, "{first} {second}");
        }
    }
}

#[test]
fn a_path_of_any_bytes_comes_back_as_it_was() {
    let mut seed = 7_u64;
    for _ in 0..2000 {
        let mut path = Vec::new();
        for _ in 0..20 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            path.push((seed >> 33) as u8);
        }
        let text = escape_path(&path);
        assert!(!text.chars().any(char::is_control), "{text}");
        assert_eq!(unescape_path(&text), path, "{text}");
    }
    assert_eq!(escape_path(b"/a b/\n\xff\\x"), "/a b/\\x0a\\xff\\x5cx");
}

#[test]
fn long_texts_are_cut_at_whole_characters() {
    assert_eq!(one_line("one\ntwo   three", 8), "one two…");
    assert_eq!(tail("aéé", 3), "é");
}

#[test]
fn a_mistyped_word_finds_its_neighbour() {
    let known = ["max_iterations", "max_time", "timeout"];
    assert_eq!(nearest("max_iteration", known), Some("max_iterations"));
    assert_eq!(nearest("tiemout", known), Some("timeout"));
    assert_eq!(nearest("colour", known), None);
}
