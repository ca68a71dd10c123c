//! One build of core with all changes. Changes that do not compile are found by where the compiler's errors are.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::copy::{Copy, EXAMPLES, Source, Written};

/// Each round finds errors of a later step of the compiler, or of code that an earlier error hid.
const ROUNDS_MAX: usize = 25;

/// Builds until it compiles; gives the changes that do not. `known` are those of the same sources, from before.
///
/// # Errors
/// When an error has nothing to do with a change.
pub fn compiling(
    copy: &Copy,
    sources: &[Source],
    known: BTreeSet<usize>,
    tell: &dyn Fn(&str),
) -> Result<BTreeSet<usize>> {
    let mut dropped = known;
    for _ in 0..ROUNDS_MAX {
        let written = copy.put(sources, &dropped)?;
        let answer = cargo(copy.root(), &["check", "--lib"])?;
        if answer.success {
            return Ok(dropped);
        }
        let before = dropped.len();
        for error in answer.messages.iter().filter_map(as_error) {
            dropped.extend(blamed(error, &written));
        }
        tell(&format!("{} do not compile", dropped.len()));
        ensure!(dropped.len() > before, "core does not compile, and not because of a change:\n{}", answer.rendered());
    }
    bail!("core does not compile after {ROUNDS_MAX} rounds")
}

/// Builds the tests; gives the programs.
///
/// # Errors
/// When they do not compile.
pub fn tests(copy: &Copy) -> Result<Vec<PathBuf>> {
    let answer = cargo(copy.root(), &["test", "--no-run", "--lib", "--test", "it", "--test", EXAMPLES])?;
    ensure!(answer.success, "the tests of core do not compile with the changes:\n{}", answer.rendered());
    let programs = answer.messages.iter().filter(|message| message["profile"]["test"] == true);
    let programs: Vec<PathBuf> =
        programs.filter_map(|message| message["executable"].as_str()).map(PathBuf::from).collect();
    ensure!(programs.len() == 3, "{} test programs instead of three", programs.len());
    Ok(programs)
}

struct Answer {
    success: bool,
    messages: Vec<Value>,
}

impl Answer {
    fn rendered(&self) -> String {
        let texts = self.messages.iter().filter_map(as_error).filter_map(|error| error["rendered"].as_str());
        texts.take(5).collect()
    }
}

fn cargo(root: &Path, words: &[&str]) -> Result<Answer> {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(words).args(["--package", "loop-core", "--message-format", "json"]).current_dir(root);
    // The target folder of the workspace: what core depends on is built there already.
    let target = root.ancestors().nth(2).context("the copy has no target folder around it")?;
    command.env("CARGO_TARGET_DIR", target);
    let output = command.stderr(Stdio::null()).output().context("cannot start cargo")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let messages = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    Ok(Answer { success: output.status.success(), messages })
}

fn as_error(message: &Value) -> Option<&Value> {
    let inner = &message["message"];
    (message["reason"] == "compiler-message" && inner["level"] == "error").then_some(inner)
}

/// The changes that an error is about: those whose own text it points at, or else all of the nearest place around it.
#[must_use]
pub fn blamed(error: &Value, written: &[Written]) -> Vec<usize> {
    let mut spans = Vec::new();
    collect(error, &mut spans);
    spans.sort_by_key(|span| !span.primary);
    for span in &spans {
        let own: Vec<usize> = places(span, written)
            .filter(|place| place.own.start <= span.from && span.to <= place.own.end && !place.own.is_empty())
            .map(|place| place.id)
            .collect();
        if !own.is_empty() {
            return own;
        }
    }
    for span in &spans {
        let around =
            places(span, written).filter(|place| place.around.start <= span.from && span.to <= place.around.end);
        let mut around: Vec<_> = around.collect();
        around.sort_by_key(|place| place.around.len());
        if let Some(nearest) = around.first().map(|place| place.around.clone()) {
            return around.iter().filter(|place| place.around == nearest).map(|place| place.id).collect();
        }
    }
    Vec::new()
}

struct Spot {
    file: String,
    from: usize,
    to: usize,
    primary: bool,
}

fn places<'a>(span: &'a Spot, written: &'a [Written]) -> impl Iterator<Item = &'a super::rewrite::ChangePlace> {
    written.iter().filter(|file| file.path == span.file).flat_map(|file| &file.places)
}

fn collect(message: &Value, spots: &mut Vec<Spot>) {
    for span in message["spans"].as_array().into_iter().flatten() {
        let primary = span["is_primary"] == true;
        let mut here = span;
        while here.is_object() {
            let number = |key: &str| here[key].as_u64().and_then(|number| usize::try_from(number).ok());
            if let (Some(file), Some(from), Some(to)) =
                (here["file_name"].as_str(), number("byte_start"), number("byte_end"))
            {
                spots.push(Spot { file: file.to_owned(), from, to, primary });
            }
            here = &here["expansion"]["span"];
        }
    }
    for child in message["children"].as_array().into_iter().flatten() {
        collect(child, spots);
    }
}
