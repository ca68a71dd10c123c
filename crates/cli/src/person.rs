//! The person at the terminal, as a launch sees them: notes are printed, questions are asked on a terminal, and the task
//! can come from stdin.
use std::io::{self, IsTerminal, Read, Write};

use loop_host::launch::{LaunchCaller, LaunchNote, LaunchQuestion, NoteLevel, PersonAnswer};

use crate::render::printer::Printer;

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
        let text = match question {
            LaunchQuestion::ApproveProjectFile { wants, .. } => {
                let question = "This project's file asks for the following, and you have not approved it in this form";
                format!("{question}:\n  {}\nApprove it?", wants.join("\n  "))
            }
            LaunchQuestion::AllowEverything => {
                "The agent may change and run anything that you may, here and elsewhere. Go on?".to_owned()
            }
        };
        ask(self.printer, &text)
    }

    fn task(&mut self, bytes_max: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        io::stdin().lock().take(bytes_max).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
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
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return PersonAnswer::NobodyThere;
    }
    printer.error(&format!("{question} [y/N] "));
    io::stderr().flush().ok();
    let mut line = String::new();
    let read = io::stdin().read_line(&mut line);
    let yes = read.is_ok() && ["y", "yes"].contains(&line.trim().to_lowercase().as_str());
    if yes { PersonAnswer::Yes } else { PersonAnswer::No }
}
