//! Two hundred processes of others that look like those of a run.
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use loop_testkit::Being;

use super::modes::{Mode, Programs};

const COUNT: usize = 200;

/// They are there until this is dropped.
#[derive(Debug)]
pub(super) struct Others {
    all: Vec<(Child, Being, String)>,
    folder: tempfile::TempDir,
}

impl Others {
    /// Starts them as the user of the mode. The id is that of a run which they have no part in.
    pub(super) fn start(programs: &Programs, mode: &Mode, id: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::chown(folder.path(), Some(mode.uid), None).unwrap();
        let all = (0..COUNT).map(|number| {
            let (mut command, what) = look_alike(programs, mode, id, number);
            command.current_dir(folder.path()).env("ZOO_LOOK_ALIKE", "1").process_group(0);
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            let child = command.spawn().unwrap();
            let being = Being::at(i32::try_from(child.id()).unwrap()).unwrap();
            (child, being, what)
        });
        Self { all: all.collect(), folder }
    }

    pub(super) fn count(&self) -> usize {
        self.all.len()
    }

    /// Those who are no more who they were.
    pub(super) fn touched(&self) -> Vec<String> {
        let folder = self.folder.path().display();
        let gone = self.all.iter().filter(|(_, being, _)| !being.is_alive());
        gone.map(|(_, being, what)| format!("{being:?} in {folder}: {what}")).collect()
    }
}

/// The same program, the same words, nearly the same mark.
fn look_alike(programs: &Programs, mode: &Mode, id: &str, number: usize) -> (Command, String) {
    let kind = ["hopper", "double-fork", "renamed", "daemon"][number % 4];
    let program = programs.path(if number % 5 == 4 { "others/loop" } else { "zoo" });
    let mut command = Command::new(programs.path("zoo"));
    command.args(["as", &mode.uid.to_string(), "-"]).arg(program);
    match number % 5 {
        4 => command.args(["start", "do it", "--promise", "false", "--agent-cmd", "zoo"]),
        _ => command.args([kind, "zoo", "stay"]),
    };
    let (first, rest) = (&id[..1], &id[1..]);
    let marks = [
        ("LOOP_MARK", id[..id.len() - 1].to_owned()),
        ("LOOP_MARK", format!("{id}0")),
        ("LOOP_MARK", format!("{first}{id}")),
        ("LOOP_MARK", rest.to_owned()),
        ("LOOP_MARK", "0ther01:0ther02".to_owned()),
        ("LOOP_MARKS", id.to_owned()),
        ("XLOOP_MARK", id.to_owned()),
        ("LOOP_MARK", String::new()),
    ];
    let (name, value) = &marks[number % marks.len()];
    command.env(name, value);
    (command, format!("{kind} with {name}={value}"))
}

impl Drop for Others {
    fn drop(&mut self) {
        for (child, ..) in &mut self.all {
            child.kill().ok();
            child.wait().ok();
        }
    }
}
