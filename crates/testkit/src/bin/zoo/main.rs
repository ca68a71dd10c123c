//! The zoo: an agent whose children try to outlive the run, one kind a call; see `kinds.rs`.
//!
//! `zoo <kind> <folder> end|stay` starts its escapees, waits until each has written a file named by its pid into the
//! folder, writes `ready` and then ends well or stays for ever. `zoo odd <name>` is an agent that does not end as it should. `zoo as <uid>
//! <cgroup or -> <program> …` runs a program as another user. Where `ZOO_LOOK_ALIKE` is set it sleeps, whatever its words are.
//!
//! Everybody here has a clock that ends it after two minutes, and goes when its folder goes.
mod deeds;
mod kinds;
mod odd;
mod report;
mod sys;

use std::os::unix::process::CommandExt;
use std::path::Path;

use report::Folder;

/// A look-alike is there for as long as a whole matrix.
const LOOK_ALIKE_SECONDS: u32 = 1800;

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let words: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
    match *words.as_slice() {
        ["as", uid, cgroup, program, ..] => as_user(uid, cgroup, program, words.get(4..).unwrap_or_default()),
        _ if std::env::var_os("ZOO_LOOK_ALIKE").is_some() => {
            sys::die_with_parent();
            sys::live_for(LOOK_ALIKE_SECONDS);
            sys::stay()
        }
        ["odd", name] => odd::play(name),
        ["escapee", name, folder, ..] => {
            kinds::begun_anew(name, &Folder::new(folder), words.get(3..).unwrap_or_default())
        }
        [kind, folder, how] => kinds::play(kind, &Folder::new(folder), how == "end"),
        _ => sys::end(64),
    }
}

/// Enters a cgroup, if one is named, gives up all rights, and becomes the program.
fn as_user(uid: &str, cgroup: &str, program: &str, arguments: &[&str]) {
    if cgroup != "-" && std::fs::write(Path::new(cgroup).join("cgroup.procs"), "0").is_err() {
        sys::end(65);
    }
    let uid = uid.parse().unwrap_or(0);
    if uid != 0 && !sys::become_user(uid) {
        sys::end(66);
    }
    drop(std::process::Command::new(program).args(arguments).exec());
    sys::end(67);
}
