//! The programs that the gates ran with, and their versions: loop, the agent, the shell, the kernel, and the programs
//! that the gates name. These are asked in one shell line, contained as a gate is.
use std::path::{Path, PathBuf};

use loop_core::policy::outside::OutsideChange;
use loop_core::policy::probe::runner_programs;
use loop_core::run::{Answer, CertifyReport, RunState, Tool};
use loop_core::text;

use super::environment::gate_environment;
use super::outside;
use super::programs::ProgramsNow;
use crate::paths::shell;
use crate::process::{Containment, MAIN, Task, TaskEnd, TaskSpec};
use crate::run_folder::RunFolder;
use crate::secrets;
use crate::workspace::WorkspaceIdentity;

// Programs that gates are made of. Only these are asked: another one may do anything when it gets `--version`.

/// They print their version with `--version`.
const PLAIN: [&str; 36] = [
    "ansible",
    "bash",
    "bats",
    "bazel",
    "black",
    "bun",
    "bundle",
    "clang",
    "cmake",
    "ctest",
    "deno",
    "docker",
    "dotnet",
    "g++",
    "gcc",
    "git",
    "gradle",
    "just",
    "make",
    "meson",
    "mix",
    "mvn",
    "ninja",
    "node",
    "perl",
    "php",
    "python",
    "python3",
    "ruby",
    "ruff",
    "rustc",
    "shellcheck",
    "swift",
    "uv",
    "zsh",
    "jq",
];
/// So do these, and those of test runners ([`runner_programs`]); each runs on the second program, whose version counts too.
const RUNS_ON: [(&str, &str); 14] = [
    ("cargo", "rustc"),
    ("composer", "php"),
    ("eslint", "node"),
    ("mypy", "python3"),
    ("npm", "node"),
    ("npx", "node"),
    ("phpunit", "php"),
    ("pnpm", "node"),
    ("poetry", "python3"),
    ("rake", "ruby"),
    ("rspec", "ruby"),
    ("tox", "python3"),
    ("tsc", "node"),
    ("yarn", "node"),
];
/// These have another argument for it.
const OTHERS: [(&str, &str); 4] =
    [("elixir", "--short-version"), ("go", "version"), ("java", "-version"), ("zig", "version")];
/// More programs than this are not asked.
const ASKED_MAX: usize = 12;
/// The longest version that is recorded.
const VERSION_LETTERS_MAX: usize = 80;
/// Stands between the answers: no program prints this.
const SEPARATOR: &str = "==loop-asks==";

/// Starts the question. Where no program is named that can be asked, the answer is there at once.
pub(crate) fn start(
    state: &RunState,
    workspace: &WorkspaceIdentity,
    output: PathBuf,
    known: &KnownTools,
    containment: &mut Containment,
) -> Result<Task, Answer> {
    let commands = state.settings.shown().gates.iter().map(|gate| gate.command.as_str());
    let unasked = || known.clone().certified(Vec::new());
    let script = script(&programs(commands)).ok_or_else(unasked)?;
    let argv = ["sh".to_owned(), "-c".to_owned(), script];
    let secrets = secrets::of(state);
    let spec = TaskSpec {
        lane: MAIN,
        argv: &argv,
        clear: true,
        env: gate_environment(workspace.path(), false, &[]),
        folder: workspace.path().to_owned(),
        same: workspace.id(),
        stdin: None,
        output,
        secrets,
    };
    // That no program could be asked does not change what the gates showed.
    Task::start(spec, containment).map_err(|_| unasked())
}

/// The answer at the end, with the tools that are known already. A program that did not answer in time is left out.
pub(crate) fn answer(known: KnownTools, end: TaskEnd) -> Answer {
    if !end.lost.is_empty() {
        return Answer::Lost { left: end.lost };
    }
    known.certified(read(&text::clean(&end.stdout_end)))
}

/// What is known without asking any program.
#[derive(Debug, Clone)]
pub(crate) struct KnownTools {
    tools: Vec<Tool>,
    programs: ProgramsNow,
    /// The git tree of the files that were judged.
    git_tree: Option<String>,
    /// What is not as it was outside of the workspace.
    outside: Vec<OutsideChange>,
}

impl KnownTools {
    /// Tools that need no question, and the programs of the gates as files, compared with those of the baseline.
    pub(crate) fn of(run: &RunFolder, state: &RunState, workspace: &Path, git_tree: Option<String>) -> Self {
        let (programs, outside) = (ProgramsNow::of(state, workspace), outside::changes(&run.path, state, workspace));
        Self { tools: unasked(state, workspace), programs, git_tree, outside }
    }

    fn certified(self, asked: Vec<Tool>) -> Answer {
        let mut tools = [self.tools, asked].concat();
        for tool in &mut tools {
            tool.file = self.programs.file(&tool.name);
        }
        let (swapped, git_tree, outside) = (self.programs.changed, self.git_tree, self.outside);
        Answer::Certify(CertifyReport { tools, swapped, git_tree, outside, ..CertifyReport::default() })
    }
}

fn unasked(state: &RunState, workspace: &Path) -> Vec<Tool> {
    let tool = |name: &str, version: &str| Tool {
        name: name.to_owned(),
        version: text::one_line(version, VERSION_LETTERS_MAX),
        file: None,
    };
    let model =
        state.budget.spent().model.as_ref().map_or_else(|| "not asked".to_owned(), |model| format!("model {model}"));
    let mut tools = vec![tool("loop", env!("CARGO_PKG_VERSION")), tool(state.agent_name(), &model)];
    let shell = shell(workspace).canonicalize();
    tools.extend(shell.map(|path| tool("sh", &path.to_string_lossy())));
    let kernel = rustix::system::uname();
    let words = [kernel.sysname(), kernel.release(), kernel.machine()].map(|word| word.to_string_lossy().into_owned());
    tools.push(tool("kernel", &words.join(" ")));
    tools
}

/// The programs in the commands of gates whose version can be asked, and those that they run on.
fn programs<'a>(commands: impl Iterator<Item = &'a str>) -> Vec<&'static str> {
    let mut found: Vec<&'static str> = Vec::new();
    for command in commands {
        let words = command.split(|letter: char| letter.is_whitespace() || "'\"(){}$`\\;&|<>=".contains(letter));
        for word in words {
            // A program in the workspace is a part of the work, and not asked.
            let word = if word.starts_with('/') { word.rsplit('/').next().unwrap_or(word) } else { word };
            let Some((name, _)) = known(word) else { continue };
            let needs = runs_on(word);
            found.extend(std::iter::once(name).chain(needs));
        }
    }
    let mut seen: Vec<&'static str> = Vec::new();
    for name in found {
        if seen.len() < ASKED_MAX && !seen.contains(&name) {
            seen.push(name);
        }
    }
    seen
}

/// The program that another one runs on.
pub(super) fn runs_on(program: &str) -> Option<&'static str> {
    all_that_run_on().find(|(name, _)| *name == program).map(|(_, needs)| needs)
}

fn all_that_run_on() -> impl Iterator<Item = (&'static str, &'static str)> {
    RUNS_ON.into_iter().chain(runner_programs().map(|program| (program.name, program.runs_on)))
}

/// The name of a program that can be asked, and the argument that prints its version.
fn known(word: &str) -> Option<(&'static str, &'static str)> {
    let plain = PLAIN.into_iter().chain(all_that_run_on().map(|(name, _)| name)).map(|name| (name, "--version"));
    plain.chain(OTHERS).find(|(name, _)| *name == word)
}

/// One shell line that asks them all, one after the other.
fn script(programs: &[&'static str]) -> Option<String> {
    let asks = programs.iter().filter_map(|name| known(name)).map(|(name, argument)| {
        format!("echo '{SEPARATOR} {name}'; command -v {name} >/dev/null 2>&1 && {name} {argument} 2>&1 | head -n 3")
    });
    let asks: Vec<String> = asks.collect();
    (!asks.is_empty()).then(|| asks.join("\n"))
}

/// The first line of each answer that has a digit in it. What a shell prints about a missing program has none.
fn read(answers: &str) -> Vec<Tool> {
    let each = answers.split(SEPARATOR).skip(1).filter_map(|answer| {
        let (name, said) = answer.split_once('\n')?;
        let version = said.lines().find(|line| line.contains(|letter: char| letter.is_ascii_digit()))?;
        let version = text::one_line(version, VERSION_LETTERS_MAX);
        Some(Tool { name: name.trim().to_owned(), version, file: None })
    });
    each.take(ASKED_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(command: &str) -> Vec<&'static str> {
        programs(std::iter::once(command))
    }

    #[test]
    fn programs_are_found_in_a_command_and_those_of_the_workspace_are_not() {
        assert_eq!(found("cd sub && CI=1 cargo test --locked | tee log"), ["cargo", "rustc"]);
        assert_eq!(found("npm test -- --run; /usr/bin/python3 -m pytest"), ["npm", "node", "python3", "pytest"]);
        assert_eq!(found("npx mocha --reporter tap"), ["npx", "node", "mocha"]);
        assert_eq!(found("! (git diff --quiet)"), ["git"]);
        assert_eq!(found("./cargo test; tools/make; test -e ok"), Vec::<&str>::new());
    }

    #[test]
    fn every_program_that_another_runs_on_can_be_asked() {
        let names: Vec<&str> = PLAIN
            .into_iter()
            .chain(all_that_run_on().map(|(name, _)| name))
            .chain(OTHERS.map(|(name, _)| name))
            .collect();
        for name in &names {
            assert_eq!(names.iter().filter(|other| *other == name).count(), 1, "{name}");
        }
        for (name, needs) in all_that_run_on() {
            assert!(names.contains(&needs), "{name}");
        }
    }

    #[test]
    fn answers_are_read_by_their_marks() {
        let said = format!(
            "{SEPARATOR} cargo\ncargo 1.91.0 (abc)\n{SEPARATOR} node\n{SEPARATOR} go\nwarning\ngo version go1.22 linux\n"
        );
        let tools: Vec<String> = read(&said).iter().map(|tool| format!("{}: {}", tool.name, tool.version)).collect();
        assert_eq!(tools, ["cargo: cargo 1.91.0 (abc)", "go: go version go1.22 linux"]);
    }
}
