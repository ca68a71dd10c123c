//! What is proposed for a project, from the names and texts of its files.
use loop_core::policy::promise_warning::promise_warnings;
use loop_core::project::{CheckUse, ProjectFilePlan, ProjectListing, ProjectProposals, is_read, propose};
use loop_core::settings::project_from_toml;

/// A project with these files. What core would not read has no text.
fn project(files: &[(&str, &str)]) -> ProjectProposals {
    let mut listing = ProjectListing::default();
    for (path, text) in files {
        let is_script = text.starts_with("#!");
        listing.add(path, is_script, is_read(path).then(|| (*text).to_owned()));
    }
    propose(&listing)
}

/// Its commands for one use, each with its name and reason.
fn checks(files: &[(&str, &str)], shows: CheckUse) -> Vec<String> {
    let found = project(files);
    found.showing(shows).map(|check| format!("{}: {} ({})", check.name, check.command, check.reason)).collect()
}

fn tests(files: &[(&str, &str)]) -> Vec<String> {
    checks(files, CheckUse::Test)
}

const PACKAGE: &str = r#"{"scripts": {"test": "jest", "lint": "eslint .", "typecheck": "tsc --noEmit"}}"#;

// req: D-11 partly: what is found in a project
#[test]
fn each_kind_of_project_has_its_test_command_with_the_reason() {
    for (files, said) in [
        (&[("package.json", PACKAGE)][..], "test: npm test (package.json has a script test)"),
        (&[("package.json", PACKAGE), ("yarn.lock", "")], "test: yarn run test (package.json has a script test)"),
        (&[("package.json", PACKAGE), ("pnpm-lock.yaml", "")], "test: pnpm test (package.json has a script test)"),
        (&[("Cargo.toml", "[package]\nname = \"a\"\n")], "test: cargo test (Cargo.toml is a package)"),
        (&[("Cargo.toml", "[workspace]\n")], "test: cargo test (Cargo.toml is a workspace)"),
        (&[("go.mod", "module a\n")], "test: go test ./... (go.mod is a module)"),
        (
            &[("pyproject.toml", "[tool.pytest.ini_options]\n")],
            "test: python3 -m pytest (pytest is set up in pyproject.toml)",
        ),
        (
            &[("pyproject.toml", "[tool.pytest.ini_options]\n"), ("uv.lock", "")],
            "test: uv run pytest (pytest is set up in pyproject.toml)",
        ),
        (
            &[("requirements-dev.txt", "pytest>=8\n"), (".venv/bin/python", "")],
            "test: .venv/bin/python -m pytest (requirements-dev.txt names pytest)",
        ),
        (&[("tox.ini", "[tox]\n")], "test: tox (there is tox.ini)"),
        (
            &[("setup.py", ""), ("tests/test_a.py", "import unittest\n")],
            "test: python3 -m unittest discover -s tests (tests/test_a.py is of unittest)",
        ),
        (&[("Makefile", "build:\n\tcc a.c\ncheck: build\n\t./a\n")], "test: make check (Makefile has a goal check)"),
        (&[("justfile", "test:\n    cargo test\n")], "test: just test (justfile has a recipe test)"),
        (&[("pom.xml", "<project/>")], "test: mvn test (there is pom.xml)"),
        (&[("build.gradle", ""), ("gradlew", "#!/bin/sh\n")], "test: ./gradlew test (there is gradlew)"),
        (
            &[("CMakeLists.txt", "enable_testing()\n")],
            "test: cmake -B build && cmake --build build && ctest --test-dir build --output-on-failure (there is CMakeLists.txt)",
        ),
        (&[("deno.json", "{}")], "test: deno test (there is deno.json)"),
        (&[("check.sh", "echo\n")], "test: sh check.sh (there is a script check.sh)"),
        (&[("check", "#!/bin/sh\n")], "test: ./check (there is a script check)"),
    ] {
        assert_eq!(tests(files), [said], "{files:?}");
    }
}

#[test]
fn what_says_nothing_about_tests_leads_to_no_test_command() {
    let none = r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#;
    for files in [
        &[][..],
        &[("README.md", "npm test\n")],
        &[("package.json", none)],
        &[("package.json", "{ broken")],
        &[("package.json", r#"{"scripts": {"test": "jest --watch"}}"#)],
        &[("Makefile", "all:\n\tcc a.c\n")],
        &[("CMakeLists.txt", "project(a)\n")],
        &[("check", "no script\n")],
        &[("examples/a/package.json", PACKAGE), ("tests/fixtures/Cargo.toml", "[package]\n")],
    ] {
        assert_eq!(tests(files), Vec::<String>::new(), "{files:?}");
    }
    let builds = project(&[("Cargo.toml", "[package]\n")]);
    assert_eq!(builds.showing(CheckUse::Build).count(), 1);
}

#[test]
fn a_target_of_the_project_stands_for_what_it_runs_and_for_nothing_else() {
    let cargo = ("Cargo.toml", "[package]\nname = \"a\"\n");
    let makes = |text: &'static str| [("Makefile", text), cargo, ("package.json", PACKAGE)];
    assert_eq!(
        tests(&makes("test:\n\tcargo test\n\tnpm test\n")),
        ["test: make test (Makefile has a goal test)"],
        "it runs both"
    );
    assert_eq!(
        tests(&makes("test: rust\nrust:\n\tcargo test\n")),
        ["test: make test (Makefile has a goal test)", "test-node: npm test (package.json has a script test)"],
        "npm is not in it"
    );
    assert_eq!(tests(&makes("test:\n\t./all\n")).len(), 1, "what it runs is not known");
}

#[test]
fn what_continuous_integration_runs_counts_more_and_gives_its_arguments() {
    let ci = "jobs:\n  a:\n    steps:\n      - run: cargo nextest run --workspace\n      - run: cargo clippy --all -- -D warnings\n";
    let files =
        [("Cargo.toml", "[workspace]\n"), (".github/workflows/ci.yml", ci), ("Makefile", "test:\n\tcargo test\n")];
    assert_eq!(tests(&files), ["test: cargo nextest run --workspace (.github/workflows/ci.yml runs it)"]);
    assert_eq!(
        checks(&files, CheckUse::Lint),
        ["lint: cargo clippy --all -- -D warnings (.github/workflows/ci.yml runs it)"]
    );
    let secret = [("Cargo.toml", "[package]\n"), (".github/workflows/a.yml", "- run: cargo clippy ${{ secrets.A }}\n")];
    assert_eq!(checks(&secret, CheckUse::Lint), Vec::<String>::new(), "a line with a variable is not taken");
    let npm = [("package.json", PACKAGE), (".gitlab-ci.yml", "script:\n  - npm ci\n  - npm test -- --ci\n")];
    assert_eq!(tests(&npm), ["test: npm test (package.json has a script test, and .gitlab-ci.yml runs it)"]);
}

#[test]
fn each_part_of_a_mixed_repository_has_its_own_gate() {
    let files = [
        ("api/go.mod", "module a\n"),
        ("web/package.json", PACKAGE),
        ("web/package-lock.json", ""),
        ("pyproject.toml", "[tool.pytest.ini_options]\n"),
        ("a b/Cargo.toml", "[package]\nname = \"a\"\n"),
    ];
    assert_eq!(
        tests(&files),
        [
            "test: python3 -m pytest (pytest is set up in pyproject.toml)",
            "test-a-b: cd 'a b' && cargo test (a b/Cargo.toml is a package)",
            "test-api: cd api && go test ./... (api/go.mod is a module)",
            "test-web: cd web && npm test (web/package.json has a script test)",
        ]
    );
    assert_eq!(project(&files).parts, ["python", "rust in a b", "go in api", "node in web"]);
}

#[test]
fn a_workspace_checks_its_members_itself() {
    let member = ("packages/a/package.json", PACKAGE);
    let root = ("package.json", r#"{"workspaces": ["packages/*"]}"#);
    assert_eq!(
        tests(&[root, member]),
        [
            "test: npm test --workspaces --if-present (package.json has members with a script test, such as packages/a/package.json)"
        ]
    );
    let own = ("package.json", r#"{"workspaces": ["packages/*"], "scripts": {"test": "jest"}}"#);
    assert_eq!(tests(&[own, member]), ["test: npm test (package.json has a script test)"]);
    let cargo =
        [("Cargo.toml", "[workspace]\n[package]\nname = \"a\"\n"), ("b/Cargo.toml", "[package]\nname = \"b\"\n")];
    assert_eq!(tests(&cargo), ["test: cargo test --workspace (Cargo.toml is a workspace with a package of its own)"]);
}

#[test]
fn no_proposed_command_has_a_flaw_that_loop_warns_about() {
    let files = [
        ("Makefile", "test:\n\tpytest\nlint:\n\truff check\n"),
        ("api/go.mod", "module a\n"),
        ("web/package.json", PACKAGE),
        ("c/CMakeLists.txt", "enable_testing()\n"),
        ("py/pyproject.toml", "[tool.pytest.ini_options]\n[tool.ruff]\n[tool.mypy]\n"),
    ];
    let found = project(&files);
    assert!(found.checks.len() > 8, "{found:?}");
    for check in &found.checks {
        assert!(promise_warnings(&check.command, "/w").is_empty(), "{}", check.command);
    }
}

#[test]
fn many_parts_are_bounded_and_the_rest_is_counted() {
    let paths: Vec<String> = (0..40).map(|number| format!("m{number}/go.mod")).collect();
    let files: Vec<(&str, &str)> = paths.iter().map(|path| (path.as_str(), "module a\n")).collect();
    let found = project(&files);
    assert_eq!(found.showing(CheckUse::Test).count(), 6);
    assert!(found.more_checks >= 34, "{}", found.more_checks);
}

#[test]
fn the_proposed_file_is_a_settings_file_that_says_each_reason_and_has_nothing_to_add_to_itself() {
    let files = [
        ("package.json", PACKAGE),
        ("api/go.mod", "module a\n"),
        (".github/workflows/ci.yml", "- run: npm test\n"),
        ("eslint.config.js", ""),
        ("a.test.js", ""),
    ];
    let plan = ProjectFilePlan::of(&project(&files), None);
    let text = plan.text();
    let read = project_from_toml(&text, ".loop.toml", true).unwrap();
    assert_eq!(plan.differs_from(&read), Vec::<String>::new(), "{text}");
    for line in [
        "# what shows that the work is done; package.json has a script test, and .github/workflows/ci.yml runs it\npromise = \"npm test\"\n",
        "# must pass, too; api/go.mod is a module\n[gates.test-api]\ncommand = \"cd api && go test ./...\"\n",
        "[gates.lint]\ncommand = \"npm run lint\"\nwatch = true\n",
        "\"/.github/workflows/\", # continuous integration judges by it\n",
        "\"/eslint.config.js\", # it says what a linter finds\n",
        "there is 1 test file\nrequire_tests_kept = true\n",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    let older = project_from_toml("promise = \"make test\"\nprotect = [\"/.github/workflows/\"]\n", "f", true).unwrap();
    let differs = plan.differs_from(&older);
    assert_eq!(differs[0], "promise = \"npm test\" (now: \"make test\")");
    assert!(!differs.iter().any(|line| line.contains("workflows")), "{differs:?}");
    // What a folder is called cannot break the file.
    let odd = [
        ("a\"]\npromise = 'x'\n/go.mod", "module a\n"),
        ("b\u{1b}/go.mod", "module b\n"),
        ("c\"'/go.mod", "module c\n"),
    ];
    let text = ProjectFilePlan::of(&project(&odd), None).text();
    let read = project_from_toml(&text, "f", true).unwrap();
    assert_eq!(read.given.len(), 2, "{text}");
    assert!(read.given[0].value.ends_with("&& go test ./..."), "{text}");
}
