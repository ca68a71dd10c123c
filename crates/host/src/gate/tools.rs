//! The programs that the gates ran with, and their versions: loop, the agent, the shell, the kernel, and the programs
//! that the gates name. These are asked in one shell line, contained as a gate is.
use std::path::PathBuf;

use loop_core::run::{Answer, CertifyReport, RunState, Tool};
use loop_core::text;

use crate::agents;
use crate::process::{Containment, MAIN, Task, TaskEnd, TaskSpec};
use crate::secrets;

/// A program whose version can be asked.
struct KnownTool {
    name: &'static str,
    /// The argument that prints the version.
    argument: &'static str,
    /// The programs that it runs on.
    needs: &'static [&'static str],
}

const fn known(name: &'static str) -> KnownTool {
    KnownTool { name, argument: "--version", needs: &[] }
}

const fn runs_on(name: &'static str, needs: &'static [&'static str]) -> KnownTool {
    KnownTool { name, argument: "--version", needs }
}

const fn asked(name: &'static str, argument: &'static str) -> KnownTool {
    KnownTool { name, argument, needs: &[] }
}

/// Programs that gates are made of. Only these are asked: another one may do anything when it gets `--version`.
const KNOWN: [KnownTool; 57] = [
    known("ansible"),
    known("bash"),
    known("bats"),
    known("bazel"),
    known("black"),
    known("bun"),
    known("bundle"),
    runs_on("cargo", &["rustc"]),
    known("clang"),
    known("cmake"),
    runs_on("composer", &["php"]),
    known("ctest"),
    known("deno"),
    known("docker"),
    known("dotnet"),
    asked("elixir", "--short-version"),
    runs_on("eslint", &["node"]),
    known("g++"),
    known("gcc"),
    known("git"),
    asked("go", "version"),
    known("gradle"),
    asked("java", "-version"),
    runs_on("jest", &["node"]),
    known("just"),
    known("make"),
    known("meson"),
    known("mix"),
    known("mvn"),
    runs_on("mypy", &["python3"]),
    known("ninja"),
    known("node"),
    runs_on("npm", &["node"]),
    runs_on("npx", &["node"]),
    known("perl"),
    known("php"),
    runs_on("phpunit", &["php"]),
    runs_on("pnpm", &["node"]),
    runs_on("poetry", &["python3"]),
    runs_on("pytest", &["python3"]),
    known("python"),
    known("python3"),
    runs_on("rake", &["ruby"]),
    runs_on("rspec", &["ruby"]),
    known("ruby"),
    known("ruff"),
    known("rustc"),
    known("shellcheck"),
    known("swift"),
    runs_on("tox", &["python3"]),
    runs_on("tsc", &["node"]),
    known("uv"),
    runs_on("vitest", &["node"]),
    runs_on("yarn", &["node"]),
    asked("zig", "version"),
    known("zsh"),
    known("jq"),
];
/// More programs than this are not asked.
const ASKED_MAX: usize = 12;
/// The longest version that is recorded.
const VERSION_LETTERS_MAX: usize = 80;
/// Stands between the answers: no program prints this.
const SEPARATOR: &str = "==loop-asks==";

/// Starts the question. Where no program is named that can be asked, the answer is there at once.
pub(crate) fn start(
    state: &RunState,
    folder: PathBuf,
    output: PathBuf,
    containment: &mut Containment,
) -> Result<Task, Answer> {
    let commands = state.settings.shown().gates.iter().map(|gate| gate.command.as_str());
    let unasked = || Answer::Certify(CertifyReport { tools: unasked(state), weaker: Vec::new() });
    let script = script(&programs(commands)).ok_or_else(unasked)?;
    let argv = ["sh".to_owned(), "-c".to_owned(), script];
    let secrets = secrets::of(state);
    let spec =
        TaskSpec { lane: MAIN, argv: &argv, clear: false, env: Vec::new(), folder, stdin: None, output, secrets };
    // That no program could be asked does not change what the gates showed.
    Task::start(spec, containment).map_err(|_| unasked())
}

/// The answer at the end, with the tools that are known already. A program that did not answer in time is left out.
pub(crate) fn answer(mut tools: Vec<Tool>, end: TaskEnd) -> Answer {
    if !end.lost.is_empty() {
        return Answer::Lost { left: end.lost };
    }
    tools.extend(read(&text::clean(&end.stdout_end)));
    Answer::Certify(CertifyReport { tools, weaker: Vec::new() })
}

/// What is known without asking.
pub(crate) fn unasked(state: &RunState) -> Vec<Tool> {
    let tool = |name: &str, version: &str| Tool {
        name: name.to_owned(),
        version: text::one_line(version, VERSION_LETTERS_MAX),
    };
    let model =
        state.budget.spent().model.as_ref().map_or_else(|| "not asked".to_owned(), |model| format!("model {model}"));
    let mut tools = vec![tool("loop", env!("CARGO_PKG_VERSION")), tool(&state.settings.shown().agent, &model)];
    let shell = agents::find("sh").and_then(|path| path.canonicalize().ok());
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
            let Some(known) = KNOWN.iter().find(|known| known.name == word) else { continue };
            found.extend(std::iter::once(known.name).chain(known.needs.iter().copied()));
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

/// One shell line that asks them all, one after the other.
fn script(programs: &[&'static str]) -> Option<String> {
    let ask = |name: &&'static str| {
        let known = KNOWN.iter().find(|known| known.name == *name)?;
        Some(format!(
            "echo '{SEPARATOR} {name}'; command -v {name} >/dev/null 2>&1 && {name} {} 2>&1 | head -n 3",
            known.argument
        ))
    };
    let asks: Vec<String> = programs.iter().filter_map(ask).collect();
    (!asks.is_empty()).then(|| asks.join("\n"))
}

/// The first line of each answer that has a digit in it. What a shell prints about a missing program has none.
fn read(answers: &str) -> Vec<Tool> {
    let each = answers.split(SEPARATOR).skip(1).filter_map(|answer| {
        let (name, said) = answer.split_once('\n')?;
        let version = said.lines().find(|line| line.contains(|letter: char| letter.is_ascii_digit()))?;
        let version = text::one_line(version, VERSION_LETTERS_MAX);
        Some(Tool { name: name.trim().to_owned(), version })
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
        assert_eq!(found("! (git diff --quiet)"), ["git"]);
        assert_eq!(found("./cargo test; tools/make; test -e ok"), Vec::<&str>::new());
    }

    #[test]
    fn every_program_that_another_runs_on_can_be_asked() {
        let names: Vec<&str> = KNOWN.iter().map(|known| known.name).collect();
        for known in &KNOWN {
            assert!(known.needs.iter().all(|name| names.contains(name)), "{}", known.name);
            assert_eq!(names.iter().filter(|name| **name == known.name).count(), 1, "{}", known.name);
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
