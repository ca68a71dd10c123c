//! Every command line that the program prints as a hint can be parsed. They are collected from the source.
use std::fs;
use std::path::{Path, PathBuf};

use clap::{CommandFactory, Parser};
use loop_core::agent::shell_words;

use crate::commands::command_line::Cli;

/// What ends a command line inside a text.
const ENDS: [&str; 16] = [
    "`",
    " · ",
    "; ",
    ", ",
    ") ",
    "   ",
    " && ",
    " (",
    "\\n",
    ": ",
    " which ",
    " looks ",
    " lists ",
    " shows whose",
    " finishes ",
    " brings ",
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            sources(&entry, found);
        } else if entry.extension().is_some_and(|extension| extension == "rs") && !entry.ends_with("hints.rs") {
            found.push(entry);
        }
    }
}

/// The text up to the end of its string literal, with quotes as a person sees them.
fn rest_of_literal(text: &str) -> String {
    let mut rest = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => break,
            '\\' => match letters.next() {
                Some('"') => rest.push('"'),
                Some('n') | None => break,
                Some(other) => rest.extend(['\\', other]),
            },
            letter => rest.push(letter),
        }
    }
    rest
}

/// A value for every placeholder.
fn filled(text: &str) -> String {
    let mut filled = String::new();
    let mut inside = false;
    for letter in text.chars() {
        match letter {
            '{' => {
                inside = true;
                filled.push_str("x1");
            }
            '}' => inside = false,
            letter if !inside => filled.push(letter),
            _ => {}
        }
    }
    filled
}

/// The command lines in one line of source.
fn commands(line: &str, verbs: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in line.match_indices("loop ") {
        let before = line[..at].chars().next_back();
        if before.is_some_and(|letter| letter.is_alphanumeric() || "-_<".contains(letter)) {
            continue;
        }
        let rest = rest_of_literal(&line[at..]);
        let end = ENDS.iter().filter_map(|end| rest.find(end)).min().unwrap_or(rest.len());
        let command = filled(rest[..end].trim_end_matches(['.', ')', '?']));
        let words: Vec<&str> = command.split(' ').collect();
        let is_hint = words.get(1).is_some_and(|verb| verbs.iter().any(|known| known == verb));
        // The verb alone names a command in a sentence, and an ellipsis stands for what the person adds.
        let is_name = words.len() == 2 || matches!(words[..], ["loop", "config", "set"] | ["loop", "workflow", _]);
        if is_hint && !is_name && !words.contains(&"…") {
            found.push(command);
        }
    }
    found
}

#[test]
fn every_command_line_that_is_printed_as_a_hint_can_be_parsed() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    ["cli", "host", "core"].iter().for_each(|name| sources(&crates.join(name).join("src"), &mut files));
    let verbs: Vec<String> = Cli::command().get_subcommands().map(|verb| verb.get_name().to_owned()).collect();
    let mut count = 0;
    let mut wrong = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
            for command in commands(line, &verbs) {
                count += 1;
                let words = shell_words::split(&command).map_err(|error| error.to_string());
                let parsed = words.and_then(|words| match Cli::try_parse_from(words) {
                    Err(error) if error.use_stderr() => Err(error.to_string()),
                    Ok(_) | Err(_) => Ok(()),
                });
                if let Err(why) = parsed {
                    let why = why.lines().next().unwrap_or_default().to_owned();
                    wrong.push(format!("{}: {command}: {why}", file.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 60, "only {count} hints were found: the search is broken");
}
