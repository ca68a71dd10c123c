//! What the terminal and the system tell us by signals, as requests of a person.
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use loop_core::run::{Event, Request};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::pipe;

/// The signals that a driver listens to.
#[derive(Debug)]
pub struct Signals {
    pipes: Vec<(&'static str, UnixStream)>,
    interrupts: u32,
}

impl Signals {
    /// Listens from now on.
    ///
    /// # Errors
    /// When the machine would not let us.
    pub fn listen() -> io::Result<Self> {
        let mut pipes = Vec::new();
        for (name, signal) in [("Ctrl-C", SIGINT), ("SIGTERM", SIGTERM), ("SIGHUP", SIGHUP)] {
            let (read, write) = UnixStream::pair()?;
            read.set_nonblocking(true)?;
            pipe::register(signal, write)?;
            pipes.push((name, read));
        }
        Ok(Self { pipes, interrupts: 0 })
    }

    /// What to wait on.
    pub fn wants(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.pipes.iter().map(|(_, pipe)| pipe.as_fd())
    }

    /// What came. The first Ctrl-C asks to stop after the iteration, the next to stop now; a signal
    /// of the system always means now.
    pub fn take(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        for (name, pipe) in &mut self.pipes {
            let mut bytes = [0_u8; 16];
            let count = pipe.read(&mut bytes).unwrap_or(0);
            for _ in 0..count {
                let first = *name == "Ctrl-C" && self.interrupts == 0;
                self.interrupts += u32::from(*name == "Ctrl-C");
                let request = if first { Request::Stop } else { Request::Abort };
                events.push(Event::Asked { request, by: (*name).to_owned() });
            }
        }
        events
    }
}
