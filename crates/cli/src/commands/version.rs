//! `--version --verbose`: from what the program is built. `--version` alone is answered by clap.
use std::ffi::OsString;
use std::process::ExitCode;

use crate::build_facts::BuildFacts;
use crate::render::printer::{Loudness, Printer};

/// Answers where only the version was asked for, with more than its number.
pub(super) fn run_if_asked(program: &'static str, arguments: &[OsString]) -> Option<ExitCode> {
    let words: Vec<&str> = arguments.iter().skip(1).map(|word| word.to_str().unwrap_or_default()).collect();
    let has = |names: &[&str]| words.iter().any(|word| names.contains(word));
    let (verbose, json) = (["--verbose", "-v"], ["--json"]);
    let known = |word: &&str| ["--version", "-V"].contains(word) || verbose.contains(word) || json.contains(word);
    if !has(&["--version", "-V"]) || !words.iter().all(known) || words.len() < 2 {
        return None;
    }
    let printer = Printer::new(Loudness::Normal);
    let facts = BuildFacts::of(program);
    if has(&json) {
        printer.json(&facts);
    } else {
        printer.answer(&facts.text());
    }
    Some(ExitCode::SUCCESS)
}
