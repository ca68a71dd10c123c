//! Which errors look the same, and which do not.
use loop_core::agent::signature::{SIGNATURE_BYTES_MAX, signature};

/// Pairs that are the same error at another time or place.
const SAME: [(&str, &str); 24] = [
    ("Error: connect ECONNREFUSED 127.0.0.1:5432", "Error: connect ECONNREFUSED 127.0.0.1:6543"),
    ("error[E0308]: mismatched types\n --> src/lib.rs:22:23", "error[E0308]: mismatched types\n  --> src/lib.rs:7:1"),
    (
        "thread 'main' (9282) panicked at src/main.rs:4:5:\nboom",
        "thread 'main' (17) panicked at src/main.rs:90:1:\nboom",
    ),
    ("fatal: process 4711 died after 12.5s", "fatal: process 23 died after 980ms"),
    ("Error: job failed in 1m20s", "Error: job failed in 45s"),
    ("2026-11-16T09:03:38.85Z ERROR cannot open 'a.db'", "2025-01-02T23:59:59Z ERROR cannot open 'a.db'"),
    ("2026-11-16 09:03:38 ERROR cannot open 'a.db'", "2026-11-17 10:00:01,123 ERROR cannot open 'a.db'"),
    ("[09:03:38] error: lost", "[23:59:59] error: lost"),
    ("Error: ENOENT: no such file, open '/tmp/a1/cfg.json'", "Error: ENOENT: no such file, open '/var/b/cfg.json'"),
    ("error: object at 0x7fd693a36390 is gone", "error: object at 0x7f800b116310 is gone"),
    (
        "Error: session 123e4567-e89b-12d3-a456-426614174000 failed",
        "Error: session 0bad65a5-cef7-4b59-bf7f-273333bdab93 failed",
    ),
    ("error: bad object 288ef31", "error: bad object 0ed1e69a"),
    ("API Error: 500 (request req_011CSHoEeqs5C35K2UUqR7Fy)", "API Error: 500 (request req_022DTIpFfrt6D46L3VVrS8Gz)"),
    ("\u{1b}[31merror\u{1b}[0m: lost", "error: lost"),
    ("error:   too    many blanks", "error: too many blanks"),
    ("error: line 12, column 3: missing ';'", "error: line 1300, column 44: missing ';'"),
    (
        "Traceback (most recent call last):\n  File \"/a/x.py\", line 3, in f\n    g()\nValueError: bad 'x'",
        "Traceback (most recent call last):\n  File \"/b/x.py\", line 99, in f\n    g()\nValueError: bad 'x'",
    ),
    ("error: 1,024 bytes over", "error: 17 bytes over"),
    ("error: took 0.05 of 2.00", "error: took 1 of 3"),
    ("starting up\nsome words\nError: lost it", "other words\nError: lost it"),
    ("at C:\\one\\a.txt: error", "at D:\\two\\three\\a.txt: error"),
    ("error: pid=123 in file=/one/two/a.rs:3", "error: pid=9 in file=/three/a.rs:44"),
    ("error: cannot make /tmp/tmpab12cd", "error: cannot make /tmp/tmpzz98xy"),
    ("error: worker-12 lost", "error: worker-3 lost"),
];

/// Pairs that are not.
const DIFFERENT: [(&str, &str); 19] = [
    ("error[E0308]: mismatched types", "error[E0425]: mismatched types"),
    ("API Error: 500 Internal Server Error", "API Error: 529 Internal Server Error"),
    ("Error: HTTP 404", "Error: HTTP 403"),
    ("Error: ENOENT: open 'a.json'", "Error: EACCES: open 'a.json'"),
    ("error: cannot find function `one` in this scope", "error: cannot find function `two` in this scope"),
    ("error: exit code 1", "error: exit code 127"),
    ("error: expected `u32`, found `&str`", "error: expected `u64`, found `&str`"),
    ("Error: open '/a/one.json'", "Error: open '/a/two.json'"),
    ("error in src/a/mod.rs:1", "error in src/b/mod.rs:1"),
    ("src/a.ts(3,5): error TS2345: x", "src/a.ts(3,5): error TS2322: x"),
    ("ValueError: bad", "TypeError: bad"),
    ("thread 'a' panicked at src/a.rs:1:1:\none", "thread 'a' panicked at src/a.rs:1:1:\ntwo"),
    ("error: killed by signal 9", "error: killed by signal 11"),
    ("error: test 'adds' failed", "error: test 'totals' failed"),
    ("error[E0308]: mismatched types\n --> src/a.rs:1:1", "error[E0308]: mismatched types\n --> src/b.rs:1:1"),
    ("permission denied", "connection refused"),
    ("error: sha1 differs", "error: sha256 differs"),
    ("fatal error: 'a.h' file not found", "fatal error: 'b.h' file not found"),
    (
        "Traceback (most recent call last):\n  x\nKeyError: 'a'",
        "Traceback (most recent call last):\n  x\nKeyError: 'b'",
    ),
];

// req: C-05 partly: the signature of an error is normalised so that the same error looks the same
#[test]
fn the_same_error_looks_the_same() {
    for (one, other) in SAME {
        assert_eq!(signature(one), signature(other), "{one:?} and {other:?}");
        assert!(!signature(one).is_empty(), "{one:?}");
    }
}

// req: C-05 partly: errors that differ have signatures that differ
#[test]
fn different_errors_stay_different() {
    for (one, other) in DIFFERENT {
        assert_ne!(signature(one), signature(other), "{one:?} and {other:?}");
    }
}

#[test]
fn a_signature_is_short_and_long_errors_still_differ() {
    let long = |end: &str| format!("error: {} {end}", "very long words ".repeat(100));
    assert!(signature(&long("one")).len() <= SIGNATURE_BYTES_MAX);
    assert_ne!(signature(&long("one")), signature(&long("two")));
    assert_eq!(signature(""), "");
    assert_eq!(signature("\n \n"), "");
    assert!(signature(&"ä".repeat(100_000)).len() <= SIGNATURE_BYTES_MAX);
}

#[test]
fn a_signature_of_a_signature_is_itself() {
    for (one, other) in SAME.into_iter().chain(DIFFERENT) {
        for error in [one, other] {
            let first = signature(error);
            assert_eq!(signature(&first), first);
        }
    }
}
