//! Harness, shim and init keep what an agent starts. What becomes of it when several of them are struck at once?
use std::fmt::Write;

use loop_testkit::{Being, for_all, signal};

use super::cases::{Case, Cause};
use super::modes::{self, Mode, Programs};
use super::show;

/// What is done in one stroke; the harness is killed with it.
const STROKES: [Stroke; 6] = [
    Stroke { name: "shim killed", killed: &[1], stopped: &[] },
    Stroke { name: "init killed", killed: &[2], stopped: &[] },
    Stroke { name: "shim stopped", killed: &[], stopped: &[1] },
    Stroke { name: "init stopped", killed: &[], stopped: &[2] },
    Stroke { name: "shim and init stopped", killed: &[], stopped: &[1, 2] },
    Stroke { name: "shim and init killed", killed: &[1, 2], stopped: &[] },
];

const KINDS: [&str; 4] = ["double-fork", "renamed", "headless", "hopper"];

/// What the next command cannot find either: mode, stroke, kind, why.
const EXCUSED: &[(&str, &str, &str, &str)] =
    &[("plain, user", "shim and init killed", "renamed", "it has no mark, and nobody is left whom it descends from")];

/// Numbers are places in the chain of keepers.
#[derive(Debug)]
struct Stroke {
    name: &'static str,
    killed: &'static [usize],
    stopped: &'static [usize],
}

/// Who is left, when nothing more is done and after the next command.
fn left(mode: &Mode, programs: &Programs, kind: &'static str, stroke: &Stroke) -> (usize, usize) {
    let case = Case { kind, cause: Cause::Kill };
    let mut run = case.begin(mode, programs);
    let keepers = run.keepers();
    let at = |places: &[usize]| places.iter().filter_map(|place| keepers.get(*place).copied()).collect::<Vec<Being>>();
    // The harness first, so that it cannot answer what is done to the others.
    signal("STOP", &[at(&[0]), at(stroke.stopped)].concat());
    signal("KILL", &[at(stroke.killed), at(&[0])].concat());
    run.take_in();
    let count = |of: &super::cases::Run| of.left().len() + of.ours().len();
    run.is_over_in_time();
    let at_once = count(&run);
    if at_once > 0 {
        let _said = run.user.run(&["list"]);
        run.is_over_in_time();
    }
    let later = count(&run);
    run.clean_up();
    assert_eq!(keepers.len(), 3, "{}: harness, shim and init", mode.name);
    (at_once, later)
}

#[test]
fn keepers_struck_together_with_the_harness_leave_nothing_that_the_next_command_does_not_end() {
    let programs = Programs::new();
    let days = std::time::UNIX_EPOCH.elapsed().map_or(0, |time| time.as_secs() / 86_400);
    let all = std::env::var("ESCAPES").is_ok_and(|wanted| wanted == "all");
    let kinds = KINDS.iter().enumerate().filter(|(number, _)| all || u64::try_from(*number).unwrap() == days % 4);
    let kinds: Vec<&'static str> = kinds.map(|(_, kind)| *kind).collect();
    let mut cases = Vec::new();
    for mode in modes::ALL {
        for stroke in &STROKES {
            cases.extend(kinds.iter().map(|kind| (mode, stroke, *kind)));
        }
    }
    let found = for_all(&cases, |(mode, stroke, kind)| left(mode, &programs, kind, stroke));
    let mut table =
        "| mode | with the harness | kind | left after 5 s | after the next command |\n|---|---|---|---|---|\n"
            .to_owned();
    for ((mode, stroke, kind), (at_once, later)) in cases.iter().zip(&found) {
        writeln!(table, "| {} | {} | {kind} | {at_once} | {later} |", mode.name, stroke.name).unwrap();
    }
    show(&format!("### Keepers struck together with the harness\n\n{table}"));
    let is_excused =
        |name: (&str, &str, &str)| EXCUSED.iter().any(|(mode, stroke, kind, _)| (*mode, *stroke, *kind) == name);
    let faults = cases
        .iter()
        .zip(&found)
        .filter(|((mode, stroke, kind), (_, later))| (*later > 0) != is_excused((mode.name, stroke.name, kind)));
    let faults: Vec<String> = faults
        .map(|((mode, stroke, kind), (_, later))| format!("{}, {}, {kind}: {later}", mode.name, stroke.name))
        .collect();
    assert!(faults.is_empty(), "left after the next command, or excused for nothing:\n{}", faults.join("\n"));
}
