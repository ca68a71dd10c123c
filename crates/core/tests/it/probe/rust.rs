//! The failing test for `cargo test` and `cargo nextest`.
use super::{CRATE, Files, Gate, LIB, none, selected};

const ADDED: &str = "src/lib.rs probe_heron::heron";

fn ran(command: &'static str, files: Files, passed: &'static [&'static str]) -> String {
    Gate::new(command, files).printing("cargo-test", passed).told()
}

#[test]
fn a_filter_of_nextest_for_every_run_counts_for_nextest_alone() {
    const FILTERED: Files =
        &[(".config/nextest.toml", "[profile.default]\ndefault-filter = \"not test(slow)\"\n"), CRATE[0], CRATE[1]];
    const PLAIN: Files = &[(".config/nextest.toml", "[profile.default]\nretries = 2\n"), CRATE[0], CRATE[1]];
    assert_eq!(Gate::new("cargo nextest run", FILTERED).told(), selected("default-filter in .config/nextest.toml"));
    assert_eq!(Gate::new("cargo nextest run", PLAIN).told(), ADDED);
    assert_eq!(Gate::new("cargo test", FILTERED).told(), ADDED);
}

#[test]
fn words_of_a_cargo_line_are_read_with_their_values() {
    const FILES: Files = &[
        CRATE[0],
        CRATE[1],
        ("web/Cargo.toml", "[package]\nname = \"web\"\n"),
        ("web/src/lib.rs", ""),
        ("api/Cargo.toml", "[package]\nname = \"api\"\n"),
        ("api/src/lib.rs", ""),
    ];
    let web = "web/src/lib.rs probe_heron::heron".to_owned();
    for (command, expected) in [
        ("cargo test --features fast", ADDED.to_owned()),
        ("cargo test --manifest-path web/Cargo.toml", web.clone()),
        ("cargo test --manifest-path=web/Cargo.toml", web.clone()),
        ("cd web && cargo test", web.clone()),
        ("cargo test -p web", web),
        ("cargo test -p web -p api", none("cargo test")),
        ("cargo test --manifest-path ../other/Cargo.toml", none("cargo test")),
        ("cargo test --exclude web", none("cargo test")),
        ("cargo test \"$FILTER\"", none("cargo test")),
    ] {
        assert_eq!(Gate::new(command, FILES).told(), expected, "{command}");
    }
    let beside = "src/lib.rs tests::adds_heron";
    assert_eq!(ran("cargo test --exclude web", FILES, &["the_shop tests::adds"]), beside);
    assert_eq!(ran("cargo test fast", FILES, &["the_shop tests::adds"]), selected("fast"));
}

#[test]
fn names_that_lead_to_no_file_leave_it_open_which_file_ran() {
    assert_eq!(ran("cargo test", CRATE, &["other tests::adds"]), none("cargo test"));
    assert_eq!(ran("cargo test", CRATE, &["the_shop src/lib.rs - add (line 3)"]), none("cargo test"));
}

#[test]
fn the_file_of_a_test_is_found_by_its_package_and_its_program() {
    const FILES: Files = &[
        ("Cargo.toml", "[workspace]\nmembers = [\"shop\", \"web\"]\n"),
        ("shop/Cargo.toml", "[package]\nname = \"shop\"\n"),
        ("shop/src/lib.rs", "fn whole() {}\n"),
        ("shop/src/main.rs", "#[test]\nfn starts() {}\n"),
        ("shop/tests/api/main.rs", "mod orders;\n"),
        ("shop/tests/api/orders.rs", "#[test]\nfn whole() {}\n"),
        ("web/Cargo.toml", "[package]\nname = \"web\"\n"),
        ("web/tests/pages.rs", "#[test]\nfn front() {}\n"),
    ];
    for (id, expected) in [
        ("shop::api orders::whole", "shop/tests/api/orders.rs orders::whole_heron"),
        ("api orders::whole", "shop/tests/api/orders.rs orders::whole_heron"),
        ("pages front", "web/tests/pages.rs front_heron"),
        ("shop::bin/shop starts", "shop/src/main.rs starts_heron"),
        ("shop::pages front", "no test file of cargo test was found that is certain to run"),
    ] {
        assert_eq!(ran("cargo test --workspace", FILES, vec![id].leak()), expected, "{id}");
    }
}

#[test]
fn a_test_gets_a_neighbour_only_where_it_is_a_plain_test_with_one_place() {
    const HEAD: &str = "[package]\nname = \"shop\"\n";
    for (text, is_found) in [
        ("#[test]\nfn adds() {}\n", true),
        ("/// Sums.\n#[test]\npub async fn adds() {}\n", true),
        ("#[tokio::test]\nasync fn adds() {}\n", true),
        ("#[test]\n#[ignore]\nfn adds() {}\n", false),
        ("#[cfg(unix)]\n#[test]\nfn adds() {}\n", false),
        ("#[test]\n#[should_panic]\nfn adds() {}\n", false),
        ("#[rstest]\nfn adds() {}\n", false),
        ("fn adds() {}\n", false),
        ("#[test]\nunsafe fn adds() {}\n", false),
        ("#[test]\nfn adds() {}\nmod more {\n    #[test]\n    fn adds() {}\n}\n", false),
    ] {
        let files: Files = vec![("Cargo.toml", HEAD), ("src/lib.rs", text)].leak();
        let expected = if is_found { "src/lib.rs adds_heron".to_owned() } else { none("cargo test") };
        assert_eq!(ran("cargo test", files, &["shop adds"]), expected, "{text}");
    }
    const TWO: Files =
        &[("Cargo.toml", HEAD), ("src/a.rs", "#[test]\nfn adds() {}\n"), ("src/b.rs", "#[test]\nfn adds() {}\n")];
    assert_eq!(ran("cargo test", TWO, &["shop adds"]), none("cargo test"));
}

#[test]
fn a_package_whose_manifest_changes_what_is_tested_gets_no_module() {
    for (part, is_plain) in [
        ("", true),
        ("[lib]\nname = \"other\"\n", true),
        ("[lib]\ntest = false\n", false),
        ("[lib]\nharness = false\n", false),
        ("[lib]\npath = \"src/other.rs\"\n", false),
        ("[[bin]]\nname = \"a\"\npath = \"src/a.rs\"\n", false),
        ("[workspace]\ndefault-members = [\"web\"]\n", false),
    ] {
        let manifest: &'static str = format!("[package]\nname = \"shop\"\n\n{part}").leak();
        let files: Files = vec![("Cargo.toml", manifest), ("src/lib.rs", "")].leak();
        let expected = if is_plain { ADDED.to_owned() } else { none("cargo test") };
        assert_eq!(Gate::new("cargo test", files).told(), expected, "{part}");
    }
}

#[test]
fn a_package_without_library_gets_the_module_in_its_program_where_programs_are_tested() {
    const PROGRAM: Files = &[CRATE[0], ("src/main.rs", "fn main() {}\n")];
    const BOTH: Files = &[CRATE[0], ("src/lib.rs", LIB), ("src/main.rs", "fn main() {}\n")];
    let program = "src/main.rs probe_heron::heron".to_owned();
    for (command, files, expected) in [
        ("cargo test", PROGRAM, program.clone()),
        ("cargo test --bins", PROGRAM, program.clone()),
        ("cargo test --all-targets", PROGRAM, program.clone()),
        ("cargo test --lib", PROGRAM, none("cargo test")),
        ("cargo test --test api", PROGRAM, none("cargo test")),
        ("cargo test --bins", BOTH, program),
        ("cargo test", BOTH, ADDED.to_owned()),
        ("cargo test --test api", BOTH, none("cargo test")),
    ] {
        assert_eq!(Gate::new(command, files).told(), expected, "{command}");
    }
}
