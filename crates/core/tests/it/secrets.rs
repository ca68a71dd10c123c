//! Declared secrets never get into what is written, however the bytes are cut.
use std::sync::Arc;

use loop_core::agent::{Redactor, Secrets};

use crate::world::Seed;

fn secrets(values: &[(&str, &str)]) -> Arc<Secrets> {
    let (secrets, notes) =
        Secrets::new(values.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec())));
    assert!(notes.is_empty(), "{notes:?}");
    Arc::new(secrets)
}

fn text(values: &[(&str, &str)], text: &str) -> String {
    secrets(values).text(text).into_owned()
}

fn streamed(secrets: &Arc<Secrets>, pieces: &[&[u8]]) -> Vec<u8> {
    let mut redactor = Redactor::new(Arc::clone(secrets));
    let mut out = Vec::new();
    for piece in pieces {
        out.extend_from_slice(&redactor.push(piece));
    }
    out.extend(redactor.finish());
    out
}

#[test]
fn a_secret_is_replaced_by_its_name_in_every_form_that_we_promise() {
    let key = [("KEY", "sk/ant\"ü\n0123456789")];
    let json = serde_json::to_string(key[0].1).unwrap();
    let twice = serde_json::to_string(&json).unwrap();
    assert_eq!(text(&key, &format!("a {} b", key[0].1)), "a [redacted KEY] b");
    assert_eq!(text(&key, &format!("{{\"x\":{json}}}")), "{\"x\":\"[redacted KEY]\"}");
    assert_eq!(text(&key, &twice), "\"\\\"[redacted KEY]\\\"\"");
    assert_eq!(text(&key, r#""sk\/ant\"\u00fc\n0123456789""#), "\"[redacted KEY]\"", "as PHP and Python write it");
    assert_eq!(text(&key, "?k=sk%2Fant%22%C3%BC%0A0123456789&b"), "?k=[redacted KEY]&b");
    // `printf user:VALUE | base64`, with the value at each place of a group of three.
    let value = [("KEY", "hunter2-and-more")];
    for coded in [
        "aHVudGVyMi1hbmQtbW9yZQ==",
        "Omh1bnRlcjItYW5kLW1vcmU=",
        "dTpodW50ZXIyLWFuZC1tb3Jl",
        "eHh4aHVudGVyMi1hbmQtbW9yZXl5",
    ] {
        let out = text(&value, coded);
        assert!(out.contains("[redacted KEY]") && out.len() < 26, "{coded}: {out}");
    }
    let lines =
        [("PEM", "-----BEGIN KEY-----\nMIIEvQIBADANBgkqh\nkiG9w0BAQEFAASC\nBKcwggSjAgEAAoIBAQ\n-----END KEY-----")];
    assert_eq!(text(&lines, "+ MIIEvQIBADANBgkqh\n+ x"), "+ [redacted PEM]\n+ x");
}

#[test]
fn what_is_too_short_or_too_long_is_said_and_left_alone() {
    let values = [("SHORT", 5), ("EMPTY", 0), ("FINE", 6), ("LONG", 16 * 1024 + 1)];
    let (secrets, notes) = Secrets::new(values.map(|(name, length)| (name.to_owned(), vec![b'x'; length])));
    let expected = [
        "SHORT is shorter than 6 bytes and is not taken out of texts",
        "LONG is longer than 16384 bytes and is not taken out of texts",
    ];
    assert_eq!(notes, expected);
    assert_eq!(format!("{secrets:?}"), "Secrets([\"FINE\"])", "a dump of it does not show the values");
    assert_eq!(secrets.text("xxxxx xxxxxx"), "xxxxx [redacted FINE]");
}

#[test]
fn where_two_begin_at_the_same_place_the_longer_one_goes() {
    let both = [("SHORT", "abcdef"), ("LONG", "abcdefghij")];
    assert_eq!(text(&both, "abcdefghij abcdefgh"), "[redacted LONG] [redacted SHORT]gh");
    let one_in_another = [("INNER", "cdefgh"), ("OUTER", "abcdefghij")];
    assert_eq!(text(&one_in_another, "abcdefghij xcdefghx"), "[redacted OUTER] x[redacted INNER]x");
}

#[test]
fn only_what_could_be_a_secret_is_held_back() {
    let mut redactor = Redactor::new(secrets(&[("KEY", "abcabcabd")]));
    assert_eq!(&*redactor.push(b"a line\n"), b"a line\n");
    assert_eq!(&*redactor.push(b"xx abcabcab"), b"xx ");
    assert_eq!(redactor.held(), 8);
    assert_eq!(&*redactor.push(b"cabd!"), b"abc[redacted KEY]!");
    assert_eq!(&*redactor.push(b"abc"), b"");
    assert_eq!(redactor.finish(), b"abc", "the end of a stream holds nothing back");
    let mut nothing = Redactor::default();
    assert_eq!(&*nothing.push(b"abc"), b"abc");
}

/// Any cutting gives the same bytes, and no secret is among them. The letters are few, so that beginnings, repeats and
/// overlaps of secrets are everywhere.
#[test]
fn any_cutting_gives_the_same_bytes_and_no_secret_comes_through() {
    let mut found = 0;
    for number in 0..3000 {
        let mut seed = Seed::new(number);
        let mut letters = |most: u64| -> String { (0..most).map(|_| if seed.one_in(2) { 'a' } else { 'b' }).collect() };
        let values: Vec<String> = [6, 7, 9, 12].map(&mut letters).to_vec();
        let mut stream = letters(60);
        stream.push_str(&values[usize::try_from(number % 4).unwrap()]);
        stream.push_str(&letters(60));
        let names: Vec<(&str, &str)> = values.iter().map(|value| ("S", value.as_str())).collect();
        let secrets = secrets(&names);
        let whole = secrets.bytes(stream.as_bytes()).into_owned();
        let shown = String::from_utf8(whole.clone()).unwrap();
        for value in &values {
            assert!(!shown.contains(value.as_str()), "{value} in {shown}");
        }
        found += shown.matches("[redacted S]").count();
        let mut seed = Seed::new(number + 10_000);
        let mut pieces: Vec<&[u8]> = Vec::new();
        let mut rest = stream.as_bytes();
        while !rest.is_empty() {
            let (now, later) = rest.split_at(usize::try_from(seed.below(8)).unwrap().min(rest.len()));
            pieces.push(now);
            rest = later;
        }
        assert_eq!(String::from_utf8(streamed(&secrets, &pieces)).unwrap(), shown, "{pieces:?}");
    }
    assert!(found >= 3000, "{found}");
}
