//! Long answers on a terminal go through the user's pager. Quitting it early is not an error.
use std::env;
use std::io::{self, Write};
use std::process::{Child, Command, Stdio};

use loop_host::signals::leave_interrupts_to_others;

use super::printer::{Printer, stdout_is_terminal};

/// So much is gathered before it goes out.
const PIECE_BYTES: usize = 64 * 1024;
/// What a shell ends with when it could not run the pager.
const NOT_RUN: [i32; 2] = [126, 127];
/// What `less` should do unless the user has set it: end if all fits, show colours, leave the screen as it is.
const LESS: &str = "FRX";

/// Where a long answer goes. A write fails once the reader has closed it.
pub(crate) struct Sink<'a> {
    printer: &'a Printer,
    pager: Option<Child>,
    gathered: Vec<u8>,
}

/// Shows what `produce` writes, through a pager where that is wanted and there is one.
///
/// # Errors
/// What `produce` failed with, unless the reader had closed it.
pub(crate) fn show(
    printer: &Printer,
    wanted: bool,
    produce: &mut dyn FnMut(&mut Sink<'_>) -> io::Result<()>,
) -> io::Result<()> {
    let pager = if wanted { start() } else { None };
    let mut sink = Sink { printer, pager, gathered: Vec::new() };
    let written = produce(&mut sink).and_then(|()| sink.flush());
    let ended = sink.pager.take().map(|mut child| {
        drop(child.stdin.take());
        child.wait()
    });
    if let Some(Ok(status)) = ended
        && status.code().is_some_and(|code| NOT_RUN.contains(&code))
    {
        // The pager was none: without it then.
        return show(printer, false, produce);
    }
    written.or_else(|error| if error.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(error) })
}

impl Write for Sink<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.gathered.extend_from_slice(bytes);
        if self.gathered.len() >= PIECE_BYTES {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let gathered = std::mem::take(&mut self.gathered);
        match self.pager.as_mut().and_then(|child| child.stdin.as_mut()) {
            Some(stdin) => stdin.write_all(&gathered),
            None if gathered.is_empty() || self.printer.answer_bytes(&gathered) => Ok(()),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }
}

fn start() -> Option<Child> {
    let dumb = env::var_os("TERM").is_none_or(|term| term == "dumb");
    if !stdout_is_terminal() || dumb {
        return None;
    }
    let mut command = match env::var_os("PAGER") {
        Some(pager) if pager.is_empty() || pager == "cat" => return None,
        Some(pager) => {
            let mut command = Command::new("/bin/sh");
            command.arg("-c").arg(pager);
            command
        }
        None => {
            let mut command = Command::new("less");
            command.arg(format!("-{LESS}"));
            command
        }
    };
    if env::var_os("LESS").is_none() {
        command.env("LESS", LESS);
    }
    // No pager, no harm: it is shown without one.
    let child = command.stdin(Stdio::piped()).spawn().ok()?;
    leave_interrupts_to_others().ok();
    Some(child)
}
