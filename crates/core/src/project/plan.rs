//! The settings file that is proposed for a project, with the reason for each line, and how it compares with one that is
//! there.
use serde::Serialize;
use toml_edit::Value;

use super::{CheckUse, ProjectProposals, ProposedCheck, ProposedPath};
use crate::settings::{Project, gates_of, keys};
use crate::text;

/// A settings file that is proposed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProjectFilePlan {
    /// What shows that the work is done.
    pub promise: Option<PlannedLine>,
    /// Further gates.
    pub gates: Vec<PlannedGate>,
    /// What the agent may not change.
    pub protect: Vec<ProposedPath>,
    /// That no test may be lost, with the reason.
    pub require_tests_kept: Option<String>,
    /// The template that loops of this project use.
    pub template: Option<PlannedLine>,
}

/// A value with its reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlannedLine {
    /// The value.
    pub value: String,
    /// Why it is proposed.
    pub reason: String,
}

/// A further gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlannedGate {
    /// Its name.
    pub name: String,
    /// Its command.
    pub command: String,
    /// Its result is only shown.
    pub watch: bool,
    /// Why it is proposed.
    pub reason: String,
}

impl PlannedLine {
    /// A value with its reason.
    #[must_use]
    pub fn new(value: &str, reason: &str) -> Self {
        Self { value: value.to_owned(), reason: reason.to_owned() }
    }
}

impl ProjectFilePlan {
    /// What is proposed: all tests must pass; linters and type checkers are watched. A promise that the person gives counts
    /// in the place of the tests that were found.
    #[must_use]
    pub fn of(proposals: &ProjectProposals, promise: Option<&str>) -> Self {
        let own = promise.map(|promise| PlannedLine::new(promise, "you gave it"));
        let found = || proposals.promise().map(|check| PlannedLine::new(&check.command, &found_reason(check)));
        let has_own = own.is_some();
        let promise = own.or_else(found);
        let gate = |check: &ProposedCheck| PlannedGate {
            name: check.name.clone(),
            command: check.command.clone(),
            watch: check.shows != CheckUse::Test,
            reason: check.reason.clone(),
        };
        let is_further = |check: &&ProposedCheck| match check.shows {
            CheckUse::Test => !has_own && promise.as_ref().is_none_or(|promise| promise.value != check.command),
            CheckUse::Lint | CheckUse::Types => true,
            CheckUse::Build | CheckUse::Bench | CheckUse::Audit => false,
        };
        let gates = proposals.checks.iter().filter(is_further).map(gate).collect();
        let tests = proposals.test_files;
        let files = if tests == 1 { "1 test file".to_owned() } else { format!("{tests} test files") };
        Self {
            promise,
            gates,
            protect: proposals.protect.clone(),
            require_tests_kept: (tests > 0).then(|| format!("there {} {files}", if tests == 1 { "is" } else { "are" })),
            template: None,
        }
    }

    /// The text of the file.
    #[must_use]
    pub fn text(&self) -> String {
        let mut file = String::from(
            "# Settings of loop for this project, written by `loop init`. Edit it as you like: loop asks before it uses a\n\
             # changed file. The keys are those of docs/reference/settings.md; flags count more.\n",
        );
        let mut add = |reason: &str, line: String| {
            file.push_str(&format!("\n# {}\n{line}\n", text::one_line(&text::escaped(reason), 200)));
        };
        if let Some(PlannedLine { value, reason }) = &self.promise {
            add(&format!("what shows that the work is done; {reason}"), format!("promise = {}", quoted(value)));
        }
        if let Some(reason) = &self.require_tests_kept {
            add(
                &format!("not done with fewer tests than at the start; {reason}"),
                "require_tests_kept = true".to_owned(),
            );
        }
        if !self.protect.is_empty() {
            let lines = self.protect.iter().map(|path| format!("    {}, # {}\n", quoted(&path.glob), path.reason));
            add("what the agent may not change", format!("protect = [\n{}]", lines.collect::<String>()));
        }
        if let Some(PlannedLine { value, reason }) = &self.template {
            let what = format!("how tasks are put to the agent; {reason} (another one: loop start --template NAME)");
            add(&what, format!("template = {}", quoted(value)));
        }
        for PlannedGate { name, command, watch, reason } in &self.gates {
            let more = if *watch { "\nwatch = true" } else { "" };
            let what = if *watch { "shown after each iteration; it need not pass" } else { "must pass, too" };
            let table = format!("[gates.{}]\ncommand = {}{more}", quoted_key(name), quoted(command));
            add(&format!("{what}; {reason}"), table);
        }
        file
    }

    /// What a file that is there does not say, or says otherwise, one line each.
    #[must_use]
    pub fn differs_from(&self, project: &Project) -> Vec<String> {
        let said = |key| project.given.iter().rfind(|given| given.key == key).map(|given| given.value.as_str());
        let mut lines = Vec::new();
        let mut compare = |name: &str, proposed: &str, said: Option<&str>| match said {
            Some(said) if said == proposed => {}
            Some(said) => lines.push(format!("{name} = {} (now: {})", quoted(proposed), quoted(said))),
            None => lines.push(format!("{name} = {}", quoted(proposed))),
        };
        for (name, line, key) in
            [("promise", &self.promise, keys::promise()), ("template", &self.template, keys::template())]
        {
            line.iter().for_each(|line| compare(name, &line.value, said(key)));
        }
        let gates = said(keys::gate()).map(gates_of).unwrap_or_default();
        for gate in &self.gates {
            let now = gates.iter().find(|known| known.name == gate.name).map(|known| known.command.as_str());
            let elsewhere = gates.iter().any(|known| known.command == gate.command);
            if !elsewhere && said(keys::promise()) != Some(&gate.command) {
                compare(&format!("gates.{}.command", gate.name), &gate.command, now);
            }
        }
        let protect = said(keys::protect()).unwrap_or_default();
        for path in &self.protect {
            if !protect.lines().any(|known| known == path.glob) {
                lines.push(format!("protect: {}", quoted(&path.glob)));
            }
        }
        if self.require_tests_kept.is_some() && said(keys::require_tests_kept()) != Some("true") {
            lines.push("require_tests_kept = true".to_owned());
        }
        lines
    }
}

/// A build alone shows little, and that is said.
fn found_reason(check: &ProposedCheck) -> String {
    match check.shows {
        CheckUse::Build => format!("no tests were found, so it only shows that it builds: {}", check.reason),
        CheckUse::Test | CheckUse::Lint | CheckUse::Types | CheckUse::Bench | CheckUse::Audit => check.reason.clone(),
    }
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

fn quoted_key(name: &str) -> String {
    let is_bare = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    if is_bare { name.to_owned() } else { quoted(name) }
}
