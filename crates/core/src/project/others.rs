//! Languages that need one look each.
use super::{Candidate, CheckUse, Language, Part};

/// A file that is enough to know how tests are run.
struct Known {
    language: Language,
    /// Any of these.
    files: &'static [&'static str],
    /// One of these words must be in the file; empty where the file is enough.
    says: &'static [&'static str],
    command: &'static str,
}

const fn known(language: Language, files: &'static [&'static str], command: &'static str) -> Known {
    Known { language, files, says: &[], command }
}

const CTEST: &str = "cmake -B build && cmake --build build && ctest --test-dir build --output-on-failure";

/// In each language the first that fits counts.
const KNOWN: &[Known] = &[
    known(Language::Jvm, &["gradlew"], "./gradlew test"),
    known(Language::Jvm, &["mvnw"], "./mvnw test"),
    known(
        Language::Jvm,
        &["build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"],
        "gradle test",
    ),
    known(Language::Jvm, &["pom.xml"], "mvn test"),
    Known { language: Language::Ruby, files: &["Gemfile"], says: &["rspec"], command: "bundle exec rspec" },
    Known { language: Language::Ruby, files: &["Rakefile"], says: &["test", "Test"], command: "rake test" },
    known(Language::Php, &["phpunit.xml", "phpunit.xml.dist"], "vendor/bin/phpunit"),
    known(Language::Elixir, &["mix.exs"], "mix test"),
    known(Language::Swift, &["Package.swift"], "swift test"),
    known(Language::Dart, &["pubspec.yaml"], "dart test"),
    Known {
        language: Language::C,
        files: &["CMakeLists.txt"],
        says: &["enable_testing", "add_test", "include(CTest)"],
        command: CTEST,
    },
    known(Language::C, &["meson.build"], "meson setup --reconfigure build && meson test -C build"),
];

/// Scripts at the root that check a project, by their names.
const SCRIPTS: [&str; 16] = [
    "check",
    "test",
    "verify",
    "check.sh",
    "test.sh",
    "tests.sh",
    "verify.sh",
    "run_tests.sh",
    "run-tests.sh",
    "runtests.sh",
    "ci.sh",
    "bin/test",
    "script/test",
    "scripts/test",
    "scripts/test.sh",
    "scripts/check.sh",
];

pub(super) fn candidates(part: &Part<'_>) -> Vec<Candidate> {
    let mut found: Vec<Candidate> = Vec::new();
    for known in KNOWN {
        if found.iter().any(|other| other.language == known.language) {
            continue;
        }
        let says = |name: &str| known.says.is_empty() || known.says.iter().any(|word| part.text(name).contains(word));
        if let Some(file) = part.first(known.files).filter(|file| says(file)) {
            let reason = format!("there is {}", part.path(file));
            found.push(part.check(CheckUse::Test, known.language, known.command, reason).covering());
        }
    }
    found.extend(composer(part));
    found.extend(dotnet(part));
    found.extend(deno(part));
    found.extend(script(part).filter(|_| part.folder.is_empty()));
    found
}

fn composer(part: &Part<'_>) -> Option<Candidate> {
    let json: serde_json::Value = serde_json::from_str(part.text("composer.json")).ok()?;
    json.get("scripts")?.get("test")?;
    let reason = format!("{} has a script test", part.path("composer.json"));
    Some(part.check(CheckUse::Test, Language::Php, "composer test", reason))
}

fn dotnet(part: &Part<'_>) -> Option<Candidate> {
    let is_project = |path: &&str| {
        !path.contains('/') && [".sln", ".slnx", ".csproj", ".fsproj"].iter().any(|end| path.ends_with(end))
    };
    let file = part.below().find(is_project)?;
    let reason = format!("there is {}", part.path(file));
    Some(part.check(CheckUse::Test, Language::Dotnet, "dotnet test", reason).covering())
}

fn deno(part: &Part<'_>) -> Option<Candidate> {
    let file = part.first(&["deno.json", "deno.jsonc"])?;
    let json: Option<serde_json::Value> = serde_json::from_str(part.text(file)).ok();
    let has_task = json.as_ref().and_then(|json| json.get("tasks")?.get("test")).is_some();
    let (command, reason) = if has_task {
        ("deno task test", format!("{} has a task test", part.path(file)))
    } else {
        ("deno test", format!("there is {}", part.path(file)))
    };
    Some(part.check(CheckUse::Test, Language::Deno, command, reason))
}

/// A script of the project: only where nothing else is known.
fn script(part: &Part<'_>) -> Option<Candidate> {
    let name = part.first(&SCRIPTS)?;
    let is_executable = part.listing.is_executable(name);
    if !is_executable && !name.ends_with(".sh") {
        return None;
    }
    let command = if is_executable { format!("./{name}") } else { format!("sh {name}") };
    Some(part.check(CheckUse::Test, Language::Script, &command, format!("there is a script {name}")))
}
