//! The failing test for `go test`.
use super::{Files, GO, Gate, MODULE, NO_RUNNER, none, selected};

const GO_MOD: (&str, &str) = ("go.mod", "module example.com/shop\n");

#[test]
fn only_a_test_file_that_go_builds_everywhere_gets_the_function() {
    for file in ["_old_test.go", "sum_linux_test.go", "sum_arm64_test.go", "a_helper.go"] {
        let files: Files = vec![GO_MOD, (file, GO)].leak();
        assert_eq!(Gate::new("go test", files).told(), none("go test"), "{file}");
        let files: Files = vec![GO_MOD, (file, GO), ("sum_test.go", GO)].leak();
        assert_eq!(Gate::new("go test", files).told(), "sum_test.go TestAdd_heron", "{file}");
    }
    const SYSTEM: Files = &[GO_MOD, ("linux_test.go", GO)];
    assert_eq!(Gate::new("go test", SYSTEM).told(), "linux_test.go TestAdd_heron", "the system is not behind a `_`");
}

#[test]
fn the_function_is_called_after_a_test_of_the_file_that_passed() {
    const TEXT: &str = "package sum\n\nimport \"testing\"\n\nfunc TestMain(m *testing.M) {}\n\nfunc check(t *testing.T) {}\n\nfunc TestMainly(m int) {}\n\nfunc TestAdd(t *testing.T) {}\n\nfunc TestSub(t *testing.T) {}\n";
    const FILES: Files = &[GO_MOD, ("sum_test.go", TEXT)];
    assert_eq!(Gate::new("go test", FILES).told(), "sum_test.go TestAdd_heron");
    let named = Gate::new("go test -v", FILES).printing("go-test", &["example.com/shop TestSub"]);
    assert_eq!(named.told(), "sum_test.go TestSub_heron");
}

#[test]
fn words_of_a_go_line_are_read_with_their_values() {
    for (command, expected) in [
        ("go test -timeout 30s ./inner", "inner/sum_test.go TestAdd_heron".to_owned()),
        ("go test -timeout=30s ./inner", "inner/sum_test.go TestAdd_heron".to_owned()),
        ("go test -C inner ./...", selected("-C")),
        ("go test -list . ./...", selected("-list")),
        ("go test --skip=Slow ./...", selected("-skip")),
        ("go test inner", none("go test")),
        ("go test example.com/shop/inner", none("go test")),
        ("go test \"$PACKAGES\"", none("go test")),
        ("go build ./...", NO_RUNNER.to_owned()),
    ] {
        assert_eq!(Gate::new(command, MODULE).told(), expected, "{command}");
    }
    let elsewhere = Gate::new("go test ./... || true", MODULE).printing("go-test", &["example.com/other"]);
    assert_eq!(elsewhere.told(), none("go test"), "the names are those of other packages");
}

#[test]
fn three_dots_mean_the_packages_of_one_module() {
    for (file, expected) in [
        ("inner/a_test.go", "inner/a_test.go TestAdd_heron".to_owned()),
        ("inner/deep/a_test.go", "inner/deep/a_test.go TestAdd_heron".to_owned()),
        ("tools/a_test.go", none("go test")),
        ("tools/deep/a_test.go", none("go test")),
        ("testdata/a_test.go", none("go test")),
        ("vendor/x/a_test.go", none("go test")),
        ("_old/a_test.go", none("go test")),
        (".cache/a_test.go", none("go test")),
    ] {
        let files: Files = vec![GO_MOD, ("tools/go.mod", "module example.com/tools\n"), (file, GO)].leak();
        assert_eq!(Gate::new("go test ./...", files).told(), expected, "{file}");
    }
}

#[test]
fn a_package_that_ran_is_found_in_the_module_that_has_it() {
    const FILES: Files = &[
        ("api/doc.go", "package api\n"),
        GO_MOD,
        ("shopper/go.mod", "module example.com/shopper\n"),
        ("shopper/a_test.go", GO),
        ("services/api/go.mod", "module example.com/shop/api\n"),
        ("services/api/b_test.go", GO),
        ("services/api/inner/c_test.go", GO),
        ("top_test.go", GO),
    ];
    for (package, expected) in [
        ("example.com/shop", "top_test.go TestAdd_heron".to_owned()),
        ("example.com/shopper", "shopper/a_test.go TestAdd_heron".to_owned()),
        ("example.com/shop/api", "services/api/b_test.go TestAdd_heron".to_owned()),
        ("example.com/shop/api/inner", "services/api/inner/c_test.go TestAdd_heron".to_owned()),
        ("example.com/shopping", none("go test")),
        ("example.com/none", none("go test")),
    ] {
        let gate = Gate::new("ci/all.sh", FILES).printing("go-test", vec![package].leak());
        assert_eq!(gate.told(), expected, "{package}");
    }
}

#[test]
fn a_test_of_go_that_failed_at_the_start_is_broken_where_it_is_defined() {
    let told = |text: &'static str| {
        let files: Files = vec![GO_MOD, ("a_test.go", text)].leak();
        Gate::new("go test", files).printing("go-test", &[]).red(&["example.com/shop TestAdd"]).told()
    };
    let text =
        "package a\n\nimport \"testing\"\n\n// as in func TestAdd(t *testing.T) {\nfunc TestAdd(t *testing.T) {\n}\n";
    assert_eq!(told(text), "a_test.go TestAdd");
    let unnamed = "package a\n\nimport \"testing\"\n\nfunc TestAdd(_ *testing.T) {\n}\n";
    assert_eq!(told(unnamed), "a_test.go TestAdd_heron", "there is no name to call `Fatal` of");
    let odd = "package a\n\nimport \"testing\"\n\nfunc TestAdd(t, u *testing.T) {\n}\n";
    assert_eq!(told(odd), "a_test.go TestAdd_heron");
}
