//! What can stand where a person pressed Tab. The scripts of `loop completions` call it as `loop __complete SHELL WORD…`.
//!
//! The first line says what else fits: `files`, `folders` or `none`. Each further line is a word, a tab and a remark. It
//! says nothing of what goes wrong: there is no place for errors in a line that is being typed.
use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Arg, Command};

use super::command_line::whole_command;
use super::complete_values::{CursorPosition, Values};
use crate::render::printer::{Loudness, Printer};

/// The word that leads here. It is not a command of its own, so that no help and no list has it.
const CALL: &str = "__complete";

/// What the shell adds by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Also {
    #[default]
    None,
    Files,
    Folders,
}

/// Words that fit, each with a remark.
#[derive(Debug, Default)]
pub(super) struct Fitting {
    pub(super) words: Vec<(String, String)>,
    pub(super) also: Also,
}

impl Fitting {
    pub(super) fn of(words: impl IntoIterator<Item = (String, String)>) -> Self {
        Self { words: words.into_iter().collect(), also: Also::None }
    }

    pub(super) fn and(mut self, other: Self) -> Self {
        self.words.extend(other.words);
        self.also = if other.also == Also::None { self.also } else { other.also };
        self
    }

    pub(super) fn also(self, also: Also) -> Self {
        Self { also, ..self }
    }
}

/// Answers a shell that asks; none where this is another call.
pub(super) fn run_if_asked(arguments: &[OsString]) -> Option<ExitCode> {
    if arguments.get(1)?.to_str()? != CALL {
        return None;
    }
    let words: Vec<String> = arguments.iter().skip(2).map(|word| word.to_string_lossy().into_owned()).collect();
    if let [shell, words @ ..] = words.as_slice() {
        Printer::new(Loudness::Quiet).answer(&answer(shell, words));
    }
    Some(ExitCode::SUCCESS)
}

/// The lines for a shell. `typed` begins with the name of the program and ends with the word at the cursor.
fn answer(shell: &str, typed: &[String]) -> String {
    let is_bash = shell == "bash";
    let words = if is_bash { joined(typed) } else { typed.to_vec() };
    let Some((current, before)) = words.split_last() else { return String::new() };
    let root = whole_command();
    let line = Line::read(&root, before.get(1..).unwrap_or_default());
    let fitting = line.fitting(current);
    // bash replaces only what stands behind the sign.
    let cut = if is_bash { current.rfind('=').map_or(0, |at| at + 1) } else { 0 };
    let also = match fitting.also {
        Also::None => "none",
        Also::Files => "files",
        Also::Folders => "folders",
    };
    let mut text = format!("{also}\n");
    for (word, remark) in fitting.words.iter().filter(|(word, _)| word.starts_with(current.as_str())) {
        let remark = loop_core::text::one_line(remark, 70);
        text.push_str(&format!("{}\t{remark}\n", &word[cut..]));
    }
    text
}

/// The words of bash, which takes `=` for a word of its own.
fn joined(typed: &[String]) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut glue = false;
    for word in typed {
        match words.last_mut() {
            Some(last) if glue || word == "=" => {
                last.push_str(word);
                glue = word == "=";
            }
            _ => words.push(word.clone()),
        }
    }
    words
}

/// What stands before the cursor.
struct Line<'a> {
    command: &'a Command,
    /// The names of the commands: `checkpoint`, `rm`.
    path: Vec<&'a str>,
    /// Words that are neither commands nor flags.
    positionals: Vec<String>,
    /// The flag whose value comes next.
    open: Option<&'a Arg>,
    /// Behind `--`.
    only_words: bool,
}

impl<'a> Line<'a> {
    fn read(root: &'a Command, words: &[String]) -> Self {
        let mut line = Self { command: root, path: Vec::new(), positionals: Vec::new(), open: None, only_words: false };
        words.iter().for_each(|word| line.take(word));
        line
    }

    fn take(&mut self, word: &str) {
        let optional = |arg: &Arg| arg.get_num_args().is_some_and(|range| range.min_values() == 0);
        if let Some(arg) = self.open.take()
            && !(optional(arg) && word.starts_with('-'))
        {
            return;
        }
        if self.only_words {
            self.positionals.push(word.to_owned());
        } else if word == "--" {
            self.only_words = true;
        } else if let Some(name) = word.strip_prefix("--") {
            self.open = self.flag(|arg| arg.get_long() == Some(name)).filter(|arg| takes_value(arg));
        } else if let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) {
            let last = letters.chars().next_back();
            self.open = self.flag(|arg| arg.get_short() == last).filter(|arg| takes_value(arg));
        } else if let Some(command) = self.command.find_subcommand(word).filter(|_| self.positionals.is_empty()) {
            self.command = command;
            self.path.push(command.get_name());
        } else {
            self.positionals.push(word.to_owned());
        }
    }

    fn flag(&self, is_it: impl Fn(&Arg) -> bool) -> Option<&'a Arg> {
        self.command.get_arguments().find(|arg| !arg.is_positional() && is_it(arg))
    }

    fn fitting(&self, current: &str) -> Fitting {
        if let Some(arg) = self.open {
            return values_of(arg);
        }
        if self.only_words {
            return Fitting::default().also(Also::Files);
        }
        if let Some((name, _)) = current.strip_prefix("--").and_then(|rest| rest.split_once('=')) {
            let found = self.flag(|arg| arg.get_long() == Some(name)).map(values_of).unwrap_or_default();
            return Fitting::of(found.words.into_iter().map(|(word, remark)| (format!("--{name}={word}"), remark)));
        }
        if current.starts_with('-') {
            return self.flags();
        }
        let place = CursorPosition { path: &self.path, before: &self.positionals };
        let words = if self.positionals.is_empty() { self.commands() } else { Fitting::default() };
        words.and(Values::here().at(&place)).and(self.positional())
    }

    fn commands(&self) -> Fitting {
        let shown = self.command.get_subcommands().filter(|command| !command.is_hide_set());
        Fitting::of(shown.map(|command| (command.get_name().to_owned(), first_line(command.get_about()))))
    }

    fn flags(&self) -> Fitting {
        let shown = self.command.get_arguments().filter(|arg| !arg.is_hide_set());
        Fitting::of(shown.filter_map(|arg| Some((format!("--{}", arg.get_long()?), first_line(arg.get_help())))))
    }

    /// What the form of the positional at the cursor says.
    fn positional(&self) -> Fitting {
        let all: Vec<&Arg> = self.command.get_positionals().collect();
        let at = self.positionals.len().min(all.len().saturating_sub(1));
        all.get(at).map(|arg| values_of(arg)).unwrap_or_default()
    }
}

fn takes_value(arg: &Arg) -> bool {
    arg.get_action().takes_values()
}

fn first_line(text: Option<&clap::builder::StyledStr>) -> String {
    text.map(|text| text.to_string().lines().next().unwrap_or_default().to_owned()).unwrap_or_default()
}

/// The values of a flag or positional, by what it is and by the name of its value.
fn values_of(arg: &Arg) -> Fitting {
    let possible = arg.get_possible_values();
    if !possible.is_empty() {
        let shown = possible.iter().filter(|value| !value.is_hide_set());
        return Fitting::of(shown.map(|value| (value.get_name().to_owned(), first_line(value.get_help()))));
    }
    let of_setting = Values::of_setting(arg.get_id().as_str());
    if !of_setting.words.is_empty() {
        return of_setting;
    }
    let names: Vec<&str> = arg.get_value_names().unwrap_or_default().iter().map(AsRef::as_ref).collect();
    let is = |ends: &[&str]| names.iter().any(|name| ends.iter().any(|end| name.ends_with(end)));
    if is(&["DIR"]) {
        return Fitting::default().also(Also::Folders);
    }
    if is(&["FILE", "PATH", "KEY"]) && !arg.is_positional() || is(&["FILE", "PATH"]) {
        return Fitting::default().also(Also::Files);
    }
    Fitting::default()
}
