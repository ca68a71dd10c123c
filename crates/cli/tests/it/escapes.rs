//! The escape zoo: whatever tries to outlive a run is gone 5 s after its cause, in every containment mode.
//!
//! Where the harness is killed, the 5 s begin with that. Otherwise they begin when it says that it has ended: who is
//! asked to end has a grace of 5 s before that.
//!
//! CI takes each kind with one cause a mode, another one each day; `ESCAPES=all` takes all causes,
//! `ESCAPES=hopper,cancel` one case in every mode. `ZOO_TABLE=<file>` gets the tables. Users, cgroups
//! and the processes of others are root's to make, so all this runs as root.
mod cases;
mod control;
mod keepers;
mod modes;
mod others;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;

use cases::{CAUSES, Case, Cause, Verdict};
use loop_testkit::{ESCAPE_KINDS, for_all};
use modes::{Mode, Programs};
use others::Others;

/// What a mode is known not to catch: mode, kind, cause, why.
const EXCUSED: &[(&str, &str, &str, &str)] = &[];

/// Shows a table, and adds it to the file that was asked for.
#[expect(clippy::print_stdout, reason = "the table is part of the result")]
fn show(table: &str) {
    println!("{table}");
    if let Some(path) = std::env::var_os("ZOO_TABLE") {
        let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
        file.write_all(format!("{table}\n").as_bytes()).unwrap();
    }
}

/// The cases that are taken today.
fn taken(mode: &Mode) -> Vec<Case> {
    let wanted = std::env::var("ESCAPES").unwrap_or_default();
    let days = std::time::UNIX_EPOCH.elapsed().map_or(0, |time| time.as_secs() / 86_400);
    let days = usize::try_from(days).unwrap();
    let mut cases = Vec::new();
    for (row, kind) in ESCAPE_KINDS.iter().enumerate() {
        for (column, cause) in CAUSES.into_iter().enumerate() {
            let is_taken = match wanted.split_once(',') {
                Some((one, other)) => one == *kind && other == cause.name(),
                None if wanted == "all" => true,
                None if wanted.is_empty() => (row + days + mode.number) % CAUSES.len() == column,
                None => wanted == *kind || wanted == cause.name(),
            };
            if is_taken {
                cases.push(Case { kind, cause });
            }
        }
    }
    cases
}

/// Every kind by every cause in one mode, with others around that look alike.
fn matrix(mode: &Mode) {
    let programs = Programs::new();
    let others = Others::start(&programs, mode, "0ther00");
    let cases = taken(mode);
    let verdicts = for_all(&cases, |case| case.play(mode, &programs));
    let touched = others.touched();
    let (table, faults) = table(mode, &cases, &verdicts);
    show(&format!("{table}\n{} look-alikes of others: {} touched\n", others.count(), touched.len()));
    assert!(faults.is_empty(), "{} of {} cases:\n{}", faults.len(), cases.len(), faults.join("\n"));
    assert!(touched.is_empty(), "others were touched: {touched:?}");
}

/// The table for people, and what is wrong and not excused.
fn table(mode: &Mode, cases: &[Case], verdicts: &[Verdict]) -> (String, Vec<String>) {
    let (mut cells, mut faults, mut notes) = (BTreeMap::new(), Vec::new(), Vec::new());
    for (case, verdict) in cases.iter().zip(verdicts) {
        let name = (mode.name, case.kind, case.cause.name());
        let excuse = EXCUSED.iter().find(|(mode, kind, cause, _)| (*mode, *kind, *cause) == name);
        let text = format!("{} × {}: {}", case.kind, case.cause.name(), verdict.words());
        match (verdict.is_fault(), excuse) {
            (true, None) => faults.push(format!("{}: {text}", mode.name)),
            (true, Some((.., why))) => notes.push(format!("- known: {text}: {why}")),
            (false, Some(_)) => faults.push(format!("{}: excused for nothing: {text}", mode.name)),
            (false, None) => {}
        }
        notes.extend(verdict.notes.iter().map(|note| format!("- {} × {}: {note}", case.kind, case.cause.name())));
        cells.insert((case.kind, case.cause), verdict.words());
    }
    let head: Vec<&str> = CAUSES.iter().map(|cause| cause.name()).collect();
    let mut table =
        format!("### {}\n\n| kind | {} |\n|---|{}\n", mode.name, head.join(" | "), "---|".repeat(head.len()));
    for kind in ESCAPE_KINDS {
        let row = CAUSES.map(|cause| cells.get(&(*kind, cause)).cloned().unwrap_or_default());
        if row.iter().any(|cell| !cell.is_empty()) {
            writeln!(table, "| {kind} | {} |", row.join(" | ")).unwrap();
        }
    }
    let slowest = cases.iter().zip(verdicts).max_by_key(|(_, verdict)| verdict.took);
    notes.extend(slowest.map(|(case, verdict)| {
        format!(
            "- the longest from cause to last death: {:.1} s, {} × {}",
            verdict.took.as_secs_f32(),
            case.kind,
            case.cause.name()
        )
    }));
    (format!("{table}\n{}\n", notes.join("\n")), faults)
}

#[test]
fn nothing_outlives_a_run_of_root_in_a_cgroup() {
    // req: D-06 partly: without --rollback
    // req: D-15 partly: without background, which comes with loopd
    matrix(&modes::CGROUP);
}

#[test]
fn nothing_outlives_a_run_of_an_ordinary_user_in_a_cgroup_that_was_given_to_them() {
    // req: D-06 partly: without --rollback
    // req: D-15 partly: without background, which comes with loopd
    matrix(&modes::DELEGATED);
}

#[test]
fn nothing_outlives_a_run_of_an_ordinary_user_by_subreaper_and_sweep() {
    // req: D-06 partly: without --rollback
    // req: D-15 partly: without background, which comes with loopd
    matrix(&modes::PLAIN);
}

#[test]
fn nothing_outlives_a_run_of_root_in_a_pid_namespace() {
    matrix(&modes::NAMESPACE_OF_ROOT);
}

#[test]
fn nothing_outlives_a_run_of_an_ordinary_user_in_a_pid_namespace() {
    matrix(&modes::NAMESPACE);
}

#[test]
fn two_hundred_others_with_nearly_the_runs_own_mark_are_untouched_by_its_end_and_by_the_next_command() {
    // req: D-06 partly: without --rollback
    let programs = Programs::new();
    let cases = modes::ALL.iter().flat_map(|mode| [(*mode, Cause::Cancel), (*mode, Cause::Kill)]);
    let cases: Vec<_> = cases.collect();
    let found = for_all(&cases, |(mode, cause)| {
        let case = Case { kind: "double-fork", cause: *cause };
        let mut run = case.begin(mode, &programs);
        let id = run.user.id();
        let others = Others::start(&programs, mode, &id);
        let verdict = run.end(&case);
        let removed = run.user.run(&["rm", &id]);
        (verdict.words(), others.touched(), removed.code)
    });
    for ((mode, cause), found) in cases.iter().zip(found) {
        assert_eq!(found, ("0".to_owned(), Vec::new(), Some(0)), "{} × {}", mode.name, cause.name());
    }
}
