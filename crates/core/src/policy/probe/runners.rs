//! The test runners that are known, one entry each: how it is called, what it runs on, what it prints. How a line calls
//! them is in `calls`; how a test is added to theirs is beside this file.

/// A test runner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunnerKind {
    Pytest,
    Unittest,
    /// `python file.py`.
    PythonFile,
    Node,
    Jest,
    Vitest,
    Mocha,
    Cargo,
    Nextest,
    Go,
}

/// What is known of a runner.
#[derive(Debug, Clone, Copy)]
pub(super) struct RunnerFacts {
    /// For people.
    pub(super) name: &'static str,
    /// Programs that do nothing but run its tests. A gate that names one has its version in the certificate.
    pub(super) programs: &'static [&'static str],
    /// The program that these run on.
    pub(super) runs_on: Option<&'static str>,
    /// The formats, as `test_output` calls them, that its output may be read as.
    pub(super) prints: &'static [&'static str],
    /// The one of them that no other runner prints, where its names lead to files.
    pub(super) own_format: Option<&'static str>,
}

/// The output of any call may be read as these: tests of several formats, and reports that a further command of the gate
/// may write. A runner is not ruled out by them.
const ANY_PRINTS: &[&str] = &["several", "junit", "unittest"];

const NO_FACTS: RunnerFacts = RunnerFacts { name: "", programs: &[], runs_on: None, prints: &[], own_format: None };

impl RunnerKind {
    const ALL: [Self; 10] = [
        Self::Pytest,
        Self::Unittest,
        Self::PythonFile,
        Self::Node,
        Self::Jest,
        Self::Vitest,
        Self::Mocha,
        Self::Cargo,
        Self::Nextest,
        Self::Go,
    ];

    /// The entry of a runner.
    pub(super) const fn facts(self) -> RunnerFacts {
        match self {
            Self::Pytest => RunnerFacts {
                name: "pytest",
                programs: &["pytest", "py.test"],
                runs_on: Some("python3"),
                prints: &["pytest"],
                own_format: Some("pytest"),
            },
            Self::Unittest | Self::PythonFile => RunnerFacts { name: "unittest", ..NO_FACTS },
            Self::Node => RunnerFacts { name: "node --test", prints: &["node-test", "tap"], ..NO_FACTS },
            Self::Jest => RunnerFacts {
                name: "jest",
                programs: &["jest"],
                runs_on: Some("node"),
                prints: &["jest"],
                own_format: Some("jest"),
            },
            Self::Vitest => RunnerFacts {
                name: "vitest",
                programs: &["vitest"],
                runs_on: Some("node"),
                prints: &["vitest", "tap"],
                own_format: Some("vitest"),
            },
            // No reader has its name: its lines have the signs of node's.
            Self::Mocha => RunnerFacts {
                name: "mocha",
                programs: &["mocha", "_mocha"],
                runs_on: Some("node"),
                prints: &["tap", "node-test"],
                own_format: None,
            },
            Self::Cargo => {
                RunnerFacts { name: "cargo test", prints: &["cargo-test"], own_format: Some("cargo-test"), ..NO_FACTS }
            }
            Self::Nextest => {
                RunnerFacts { name: "cargo nextest", prints: &["nextest"], own_format: Some("nextest"), ..NO_FACTS }
            }
            Self::Go => RunnerFacts { name: "go test", prints: &["go-test"], own_format: Some("go-test"), ..NO_FACTS },
        }
    }

    pub(super) fn name(self) -> &'static str {
        self.facts().name
    }

    /// Whether its output may be read as this format.
    pub(super) fn may_print(self, format: &str) -> bool {
        self.facts().prints.contains(&format) || ANY_PRINTS.contains(&format)
    }

    /// The runner that prints a format, if only one does and its names lead to files.
    pub(super) fn printing(format: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.facts().own_format == Some(format))
    }

    /// The runner that a program is.
    pub(super) fn of_program(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.facts().programs.contains(&name))
    }
}

/// A program that only runs tests, and what it runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunnerProgram {
    /// Its name.
    pub name: &'static str,
    /// The program that it runs on.
    pub runs_on: &'static str,
}

/// Every program that only runs tests.
pub fn runner_programs() -> impl Iterator<Item = RunnerProgram> {
    RunnerKind::ALL
        .into_iter()
        .filter_map(|kind| Some((kind.facts(), kind.facts().runs_on?)))
        .flat_map(|(facts, runs_on)| facts.programs.iter().map(move |name| RunnerProgram { name, runs_on }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_output::formats;

    #[test]
    fn every_format_that_a_runner_prints_is_read_and_every_runner_is_found_by_its_own() {
        for kind in RunnerKind::ALL {
            let facts = kind.facts();
            for format in facts.prints.iter().chain(ANY_PRINTS) {
                assert!(formats().any(|known| known == *format), "{kind:?}: no reader has the name {format}");
            }
            if let Some(own) = facts.own_format {
                assert_eq!(RunnerKind::printing(own), Some(kind));
                assert!(facts.prints.contains(&own), "{kind:?}");
            }
            for program in facts.programs {
                assert_eq!(RunnerKind::of_program(program), Some(kind));
                assert!(facts.runs_on.is_some(), "{kind:?}: what does {program} run on?");
            }
        }
    }
}
