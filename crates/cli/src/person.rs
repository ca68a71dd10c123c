//! The person at the terminal, as a launch sees them: notes are printed, questions are asked on a terminal, and the task
//! can come from stdin.
use std::io::{self, IsTerminal, Read, Write};

use loop_host::launch::{LaunchCaller, LaunchNote, LaunchQuestion, NoteLevel, PersonAnswer};
use loop_host::signals::let_interrupts_end;

use crate::render::error::typed_words;
use crate::render::pager;
use crate::render::printer::{Printer, stdout_is_terminal, text_width, width};
use crate::render::summary::quoted;
use crate::render::wrap::hanging;

/// A longer line is not repeated in a hint.
const LINE_MAX: usize = 400;
/// Stands before a flag in place of the line that was typed.
const ADD: &str = "add to what you typed:";

/// The person who typed the command.
#[derive(Debug)]
pub(crate) struct Person {
    pub(crate) printer: Printer,
}

impl LaunchCaller for Person {
    fn note(&mut self, note: LaunchNote) {
        print_note(self.printer, &note);
    }

    fn answer(&mut self, question: &LaunchQuestion) -> PersonAnswer {
        match question {
            LaunchQuestion::ApproveProjectFile { file, wants } => self.ask_for_approval(file, wants),
            LaunchQuestion::AllowEverything => {
                ask(self.printer, "The agent may change and run anything that you may, here and elsewhere. Continue?")
            }
            LaunchQuestion::StartWithMissingCommand { flag, word } => {
                let what = format!("{flag}: {word} is neither a program nor an executable file here.");
                ask(self.printer, &format!("{what} Start anyway?"))
            }
        }
    }

    fn command(&mut self, question: &str) -> Option<String> {
        if !can_ask() {
            return None;
        }
        self.printer.error(&format!("{question}\n> "));
        read_line().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty())
    }

    fn typed_start(&self) -> Option<String> {
        start_without_agent(&typed_words())
    }

    fn is_attended(&self) -> bool {
        io::stderr().is_terminal()
    }

    fn task(&mut self, bytes_max: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        io::stdin().lock().take(bytes_max).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

/// A start as it was typed, without its agent. Where a flag at the end would mean another thing, or the line is too long
/// to read, only that something is to be added. None for another command.
fn start_without_agent(words: &[String]) -> Option<String> {
    let verb = words.iter().find(|word| !word.starts_with('-'))?;
    if verb != "start" {
        return None;
    }
    let mut kept = vec!["loop".to_owned()];
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--" => return Some(ADD.to_owned()),
            "--agent" => drop(words.next()),
            word if word.starts_with("--agent=") => {}
            word => kept.push(quoted(word)),
        }
    }
    let line = kept.join(" ");
    let is_short = line.chars().count() <= LINE_MAX && !line.contains(char::is_control);
    Some(if is_short { line } else { ADD.to_owned() })
}

impl Person {
    /// Shows all that a project's file wants, by the pager where it is longer than the screen, and asks.
    fn ask_for_approval(&self, file: &str, wants: &[String]) -> PersonAnswer {
        if !can_ask() {
            return PersonAnswer::NobodyThere;
        }
        let said = "asks for the following, and you have not approved it in this form";
        let text = format!("This project's file {file} {said}:\n  {}\n", wants.join("\n  "));
        let rows = rows_of(&text, width());
        let is_long = loop_host::terminal::rows(io::stderr()).is_some_and(|screen| rows + 2 > screen);
        if is_long && stdout_is_terminal() {
            // What the pager did not show was not read: then nothing is asked.
            let mut all = |out: &mut pager::Sink<'_>| out.write_all(text.as_bytes());
            if pager::show(&self.printer, true, &mut all).is_err() {
                return PersonAnswer::No;
            }
        } else {
            self.printer.error(&text);
        }
        let lines = if wants.len() == 1 { "this 1 line".to_owned() } else { format!("these {} lines", wants.len()) };
        ask(self.printer, &format!("Approve {lines} of {file}?"))
    }
}

/// How many rows of a screen a text takes.
fn rows_of(text: &str, columns: usize) -> usize {
    text.lines().map(|line| line.chars().count().div_ceil(columns.max(1)).max(1)).sum()
}

/// Whether a question can be seen and answered.
pub(crate) fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Shows a note.
pub(crate) fn print_note(printer: Printer, note: &LaunchNote) {
    let text = format!("{}\n", note.text);
    match note.level {
        NoteLevel::Progress => printer.progress(&text),
        NoteLevel::Important => printer.error(&text),
    }
}

/// Asks on a terminal. Without one, the answer is that no person is there.
pub(crate) fn ask(printer: Printer, question: &str) -> PersonAnswer {
    if !can_ask() {
        return PersonAnswer::NobodyThere;
    }
    printer.error(&format!("{} ", hanging(&format!("{question} [y/N]"), 0, text_width())));
    let yes = read_line().is_some_and(|line| ["y", "yes"].contains(&line.trim().to_lowercase().as_str()));
    if yes { PersonAnswer::Yes } else { PersonAnswer::No }
}

/// A line that the person types; Ctrl-C ends the program meanwhile.
fn read_line() -> Option<String> {
    io::stderr().flush().ok();
    let mut line = String::new();
    let_interrupts_end(true);
    let read = io::stdin().read_line(&mut line);
    let_interrupts_end(false);
    read.ok().map(|_| line)
}
