//! Packages of npm, yarn, pnpm and bun: their scripts.
use serde_json::Value as Json;

use super::{Candidate, CheckUse, Language, Part};
use crate::policy::protect::paths::upwards;

/// What `npm init` writes where no test command is given.
const NO_TEST: &str = "no test specified";

/// The usual names of scripts, the best first.
const SCRIPTS: [(CheckUse, &[&str]); 6] = [
    (CheckUse::Test, &["test", "test:ci", "test:run", "test:unit", "tests", "unit"]),
    (CheckUse::Lint, &["lint", "lint:check", "eslint"]),
    (CheckUse::Types, &["typecheck", "type-check", "check-types", "check:types", "types", "tsc"]),
    (CheckUse::Build, &["build"]),
    (CheckUse::Bench, &["bench", "benchmark"]),
    (CheckUse::Audit, &["audit", "security"]),
];

pub(super) fn candidates(part: &Part<'_>) -> Vec<Candidate> {
    let Ok(json) = serde_json::from_str::<Json>(part.text("package.json")) else { return Vec::new() };
    let package = Package { part, json: &json, manager: Manager::of(part, &json) };
    let mut found: Vec<Candidate> = SCRIPTS.iter().filter_map(|(shows, names)| package.script(*shows, names)).collect();
    if !found.iter().any(|check| check.shows == CheckUse::Test) {
        found.extend(package.of_members().or_else(|| package.runner()));
    }
    if !found.iter().any(|check| check.shows == CheckUse::Types) {
        found.extend(package.compiler());
    }
    if package.has_members() { found.into_iter().map(Candidate::covering).collect() } else { found }
}

/// The program that runs scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manager {
    Npm,
    Yarn,
    Pnpm,
    Bun,
}

impl Manager {
    /// By the lock file of this folder or of one above it, else by the field `packageManager`.
    fn of(part: &Part<'_>, json: &Json) -> Self {
        const LOCKS: [(&str, Manager); 6] = [
            ("package-lock.json", Manager::Npm),
            ("npm-shrinkwrap.json", Manager::Npm),
            ("pnpm-lock.yaml", Manager::Pnpm),
            ("yarn.lock", Manager::Yarn),
            ("bun.lock", Manager::Bun),
            ("bun.lockb", Manager::Bun),
        ];
        for folder in upwards(part.folder) {
            let at = Part { folder, ..*part };
            if let Some((_, manager)) = LOCKS.into_iter().find(|(lock, _)| at.has(lock)) {
                return manager;
            }
        }
        let named = json.get("packageManager").and_then(Json::as_str).unwrap_or_default();
        match named.split('@').next() {
            Some("pnpm") => Self::Pnpm,
            Some("yarn") => Self::Yarn,
            Some("bun") => Self::Bun,
            Some(_) | None => Self::Npm,
        }
    }

    fn run(self, script: &str) -> String {
        match (self, script) {
            (Self::Npm, "test") => "npm test".to_owned(),
            (Self::Pnpm, "test") => "pnpm test".to_owned(),
            (Self::Npm, script) => format!("npm run {script}"),
            (Self::Pnpm, script) => format!("pnpm run {script}"),
            (Self::Yarn, script) => format!("yarn run {script}"),
            (Self::Bun, script) => format!("bun run {script}"),
        }
    }

    /// A program of the package's dependencies.
    fn program(self, line: &str) -> String {
        match self {
            Self::Npm => format!("npx --no-install {line}"),
            Self::Yarn => format!("yarn run {line}"),
            Self::Pnpm => format!("pnpm exec {line}"),
            Self::Bun => format!("bunx {line}"),
        }
    }
}

struct Package<'a> {
    part: &'a Part<'a>,
    json: &'a Json,
    manager: Manager,
}

impl Package<'_> {
    fn line(&self, script: &str) -> Option<&str> {
        self.json.get("scripts")?.get(script)?.as_str().filter(|line| !line.contains(NO_TEST))
    }

    fn script(&self, shows: CheckUse, names: &[&str]) -> Option<Candidate> {
        let path = self.part.path("package.json");
        // One that waits for changes of files never ends.
        let ends = |name: &&&str| self.line(name).is_some_and(|line| !watches(line));
        let name = names.iter().find(ends)?;
        let line = self.line(name)?;
        // A script that repairs what it finds says nothing about the state before.
        if shows == CheckUse::Lint && line.contains("--fix") {
            return None;
        }
        let mut command = self.manager.run(name);
        let mut reason = format!("{path} has a script {name}");
        if line.contains("react-scripts test") && !line.contains("CI=") {
            command = format!("CI=true {command}");
            reason.push_str(", which waits for changes unless CI is set");
        }
        Some(self.part.check(shows, Language::Node, &command, reason))
    }

    fn depends_on(&self, name: &str) -> bool {
        ["devDependencies", "dependencies"]
            .iter()
            .any(|kind| self.json.get(kind).is_some_and(|all| all.get(name).is_some()))
    }

    /// A runner that is installed, where no script names it.
    fn runner(&self) -> Option<Candidate> {
        let reason = |what: &str| format!("{} names {what}", self.part.path("package.json"));
        for (name, line) in [("vitest", "vitest run"), ("jest", "jest"), ("mocha", "mocha")] {
            if self.depends_on(name) {
                let command = self.manager.program(line);
                return Some(self.part.check(CheckUse::Test, Language::Node, &command, reason(name)));
            }
        }
        let is_test = |path: &&str| [".test.js", ".test.mjs", ".test.cjs"].iter().any(|end| path.ends_with(end));
        let file = self.part.below().find(is_test)?;
        let reason = format!("there is {}, and no other runner", self.part.path(file));
        Some(self.part.check(CheckUse::Test, Language::Node, "node --test", reason))
    }

    fn compiler(&self) -> Option<Candidate> {
        let is_typed = self.part.has("tsconfig.json") && self.depends_on("typescript");
        let reason = format!("there is {}", self.part.path("tsconfig.json"));
        let command = self.manager.program("tsc --noEmit");
        is_typed.then(|| self.part.check(CheckUse::Types, Language::Node, &command, reason))
    }

    fn has_members(&self) -> bool {
        self.json.get("workspaces").is_some() || self.part.has("pnpm-workspace.yaml")
    }

    /// The scripts of the members, where the root has none.
    fn of_members(&self) -> Option<Candidate> {
        let tests = |path: &&str| {
            let text = self.part.listing.text(&self.part.path(path));
            let json: Json = serde_json::from_str(text).unwrap_or_default();
            let line = json.get("scripts").and_then(|scripts| scripts.get("test")).and_then(Json::as_str);
            line.is_some_and(|line| !line.contains(NO_TEST))
        };
        if !self.has_members() {
            return None;
        }
        let member = self.part.below().filter(|path| path.ends_with("/package.json")).find(tests)?;
        let command = match self.manager {
            Manager::Npm => "npm test --workspaces --if-present",
            Manager::Pnpm => "pnpm -r test",
            Manager::Yarn if self.part.has(".yarnrc.yml") => "yarn workspaces foreach -A run test",
            Manager::Yarn => "yarn workspaces run test",
            Manager::Bun => "bun run --filter '*' test",
        };
        let reason = format!("{} has members with a script test, such as {member}", self.part.path("package.json"));
        Some(self.part.check(CheckUse::Test, Language::Node, command, reason))
    }
}

/// Whether a script waits for changes of files.
fn watches(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    words.iter().any(|word| ["--watch", "--watchAll", "-w", "watch"].contains(word))
}
