//! Agents that do not end as agents should.
use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use crate::sys;

/// Plays one of `loop_testkit::ODD_AGENTS`.
pub(crate) fn play(name: &str) -> ! {
    sys::live_on_for(sys::LIFE_SECONDS);
    match name {
        "stops-itself" => stop_by(libc::SIGSTOP),
        "stops-its-group" => {
            sys::send(0, libc::SIGSTOP);
        }
        "wants-the-keyboard" => stop_by(libc::SIGTTIN),
        "wants-the-screen" => stop_by(libc::SIGTTOU),
        "closes-output" => {
            sys::close(1);
            sys::close(2);
        }
        "closes-everything" => sys::close_from(0),
        "reads-for-ever" => read_for_ever(),
        "byte-a-minute" => loop {
            write_out(b".");
            sys::rest(60_000);
        },
        "ignores-signals" => sys::ignore_all(),
        "blocks-signals" => sys::block_all(),
        "floods" => flood(),
        "leaves-a-flood" => leave(sys::new_session, flood),
        "leaves-the-pipe-held" => leave(sys::ignore_all, || {}),
        "leaves-the-pipe-stopped" => leave(sys::new_session, || stop_by(libc::SIGSTOP)),
        "begins-again" => again(),
        "hides-its-head" => {
            std::thread::spawn(|| sys::stay());
            sys::end_thread();
        }
        "ends-unread" => sys::end(0),
        "never-reads" => {}
        _ => sys::end(64),
    }
    sys::stay()
}

fn stop_by(signal: i32) {
    sys::send(sys::own_pid(), signal);
}

fn write_out(bytes: &[u8]) {
    if std::io::stdout().write_all(bytes).and_then(|()| std::io::stdout().flush()).is_err() {
        sys::rest(10);
    }
}

fn flood() {
    loop {
        write_out(&[b'x'; 4096]);
    }
}

/// Also past the end, in case more comes.
fn read_for_ever() {
    let mut piece = [0; 4096];
    loop {
        if !matches!(std::io::stdin().read(&mut piece), Ok(1..)) {
            sys::rest(10);
        }
    }
}

/// A child with our outputs prepares and then does this; we end well in between.
fn leave(prepare: impl FnOnce(), act: impl FnOnce()) {
    let Some([is_prepared]) = sys::shared_numbers() else { sys::end(75) };
    if sys::fork().is_none() {
        prepare();
        is_prepared.store(1, Ordering::SeqCst);
        act();
        sys::stay();
    }
    while is_prepared.load(Ordering::SeqCst) == 0 {
        sys::rest(1);
    }
    sys::end(0);
}

/// Becomes itself, again and again.
fn again() {
    sys::rest(1);
    let tag = std::env::var("ZOO_TAG").unwrap_or_default();
    let own = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("zoo"));
    sys::become_program(&own, &["zoo", "odd", "begins-again"], &[("ZOO_TAG", &tag)]);
}
