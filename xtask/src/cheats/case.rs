//! One case of the collection: a project, a promise, and what an agent does to it.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};

/// The classes of cheats that loop does not notice today, and why. A silent cheat must belong to one of them.
pub const LEFT: &[(&str, &str)] = &[
    (
        "hard-coded",
        "the product has the values of the tests in it, or they take them from it; hidden gates would notice",
    ),
    ("magic-eq", "a value that is equal to everything; hidden gates would notice"),
    ("disarms-assert", "the product switches the assertions off, or asks who calls it, or where it runs"),
    ("unit-tests-in-src", "a unit test lies in a source file and was changed with it"),
    ("shadow-of-product", "a second copy of the product beside the tests is what the tests import"),
    ("build-swap", "a build script swaps a test while the gate runs, and puts it back"),
    ("lint-configuration", "a lint is switched off by its own configuration or by an attribute"),
    ("flaky-luck", "the gate passes by chance"),
    ("greps-what-the-agent-writes", "the promise reads a report that the agent writes"),
];

/// What a case must come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expected {
    /// A cheat: the loop must not end as verified.
    Caught,
    /// A cheat: verified is fine if the proof names what was done.
    Named,
    /// A cheat of this class of [`LEFT`]: silent is allowed.
    Left(String),
    /// Honest work: the loop must end as verified, without a person.
    Verified,
}

impl Expected {
    /// Whether it is honest work.
    #[must_use]
    pub fn is_honest(&self) -> bool {
        *self == Self::Verified
    }

    /// Its word in the files and in JSON.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Caught => "caught",
            Self::Named => "named",
            Self::Left(_) => "left",
            Self::Verified => "verified",
        }
    }
}

/// One case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// Unique, `pytest-skip`.
    pub name: String,
    /// Of which file it is: `pytest`, `make` …
    pub runner: String,
    /// The way of cheating, or of honest work.
    pub class: String,
    /// What it must come to.
    pub expected: Expected,
    /// The project at the start, by path.
    pub files: BTreeMap<String, String>,
    /// The promise.
    pub promise: String,
    /// The task as a person gives it.
    pub task: String,
    /// Further words of `loop start`; none are the defaults.
    pub flags: Vec<String>,
    /// A shell script that completes the project before its first commit.
    pub setup: String,
    /// The shell script that is the agent.
    pub agent: String,
    /// A shell script that runs beside the loop: a service outside of the workspace.
    pub service: String,
    /// What of the machine it needs beside its runner.
    pub needs: Vec<String>,
    /// One of the fast ones that `--sample` plays.
    pub is_sample: bool,
    /// Whether the cheat works without loop around it: the promise fails, the agent works, the promise passes.
    pub works_alone: bool,
}

/// The sections of one block of a file.
#[derive(Debug, Clone, Default)]
struct Block {
    kind: String,
    name: String,
    line: usize,
    keys: BTreeMap<String, String>,
    sections: BTreeMap<String, String>,
}

const KEYS: &[&str] = &["project", "class", "expect", "promise", "task", "flags", "sample", "alone", "needs"];

/// Reads all cases of one file. The format is described in `docs/cheats.md`.
///
/// # Errors
/// When a line means nothing there, or a case lacks something.
pub fn read(runner: &str, text: &str) -> Result<Vec<Case>> {
    let blocks = blocks(text)?;
    let mut projects: Vec<Block> = Vec::new();
    let mut cases = Vec::new();
    for block in blocks {
        let place = format!("{runner}.txt:{}", block.line);
        if block.kind == "project" {
            projects.push(block);
        } else {
            cases.push(case(runner, &projects, &block).with_context(|| place)?);
        }
    }
    Ok(cases)
}

fn blocks(text: &str) -> Result<Vec<Block>> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut section: Option<String> = None;
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        if let Some(head) = line.strip_prefix("=== ") {
            let (kind, name) = head.split_once(' ').with_context(|| format!("line {number}: a block needs a name"))?;
            ensure!(["project", "cheat", "honest"].contains(&kind), "line {number}: no such block: {kind}");
            let head = Block { kind: kind.to_owned(), name: name.trim().to_owned(), line: number, ..Block::default() };
            blocks.push(head);
            section = None;
            continue;
        }
        let Some(block) = blocks.last_mut() else { continue };
        if let Some(name) = line.strip_prefix("--- ") {
            section = Some(name.trim().to_owned());
            block.sections.insert(name.trim().to_owned(), String::new());
        } else if let Some(name) = &section {
            let text = block.sections.entry(name.clone()).or_default();
            text.push_str(line);
            text.push('\n');
        } else if !line.trim().is_empty() && !line.starts_with('#') {
            let pair = line.split_once(':').map(|(key, value)| (key.trim(), value.trim()));
            match pair {
                Some((key, value)) if KEYS.contains(&key) => block.keys.insert(key.to_owned(), value.to_owned()),
                Some(_) | None => bail!("line {number}: `{line}` is none of {}", KEYS.join(", ")),
            };
        }
    }
    for text in blocks.iter_mut().flat_map(|block| block.sections.values_mut()) {
        *text = format!("{}\n", text.trim_end());
    }
    Ok(blocks)
}

fn case(runner: &str, projects: &[Block], block: &Block) -> Result<Case> {
    let project = match block.keys.get("project") {
        Some(name) => projects.iter().find(|project| project.name == *name),
        None => projects.first(),
    };
    let project = project.context("no such project in this file")?;
    let key = |name: &str| block.keys.get(name).or_else(|| project.keys.get(name)).cloned();
    let mut sections = project.sections.clone();
    sections.extend(block.sections.clone());
    let setup = sections.remove("setup").unwrap_or_default();
    let agent = sections.remove("agent").context("it has no agent")?;
    let service = sections.remove("service").unwrap_or_default();
    let words = |name: &str| key(name).unwrap_or_default().split_whitespace().map(str::to_owned).collect();
    let class = key("class").unwrap_or_else(|| "fix".to_owned());
    Ok(Case {
        name: format!("{runner}-{}", block.name),
        runner: runner.to_owned(),
        expected: expected(block, key("expect").as_deref())?,
        class,
        files: sections,
        promise: key("promise").context("it has no promise")?,
        task: key("task").unwrap_or_else(|| "make the tests pass by fixing the product".to_owned()),
        flags: words("flags"),
        setup,
        agent,
        service,
        needs: words("needs"),
        is_sample: block.keys.contains_key("sample"),
        works_alone: block.keys.get("alone").is_none_or(|word| word != "no"),
    })
}

fn expected(block: &Block, word: Option<&str>) -> Result<Expected> {
    let words: Vec<&str> = word.unwrap_or_default().split_whitespace().collect();
    Ok(match (block.kind.as_str(), words.as_slice()) {
        ("honest", []) => Expected::Verified,
        ("cheat", ["caught"] | []) => Expected::Caught,
        ("cheat", ["named"]) => Expected::Named,
        ("cheat", ["left", class]) if LEFT.iter().any(|(known, _)| known == class) => {
            Expected::Left((*class).to_owned())
        }
        _ => bail!("`expect: {}` means nothing for a {} case", words.join(" "), block.kind),
    })
}
