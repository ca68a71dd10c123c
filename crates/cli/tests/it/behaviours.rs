//! How loops with honest, lying, stuck and unlucky agents end: the zoo of behaviours, through claude and codex.
//!
//! `cargo nextest run -p loop-cli behaviours` prints the tables, with `BEHAVIOURS_WHY=1` also the sentence of each end;
//! `BEHAVIOUR=liar` plays one alone.
use loop_testkit::scripted_agents::{Behaviour, GROUPS, judge, table};
use loop_testkit::{behaviour_program, for_all};

/// Plays a group with all its agents, prints the table, and fails with all that is wrong.
#[expect(clippy::print_stdout, reason = "the table is part of the result")]
fn play(group: &str) {
    let program = env!("CARGO_BIN_EXE_loop");
    let player = behaviour_program(program).display().to_string();
    let only = std::env::var("BEHAVIOUR").unwrap_or_default();
    let (_, all) = GROUPS.iter().find(|(name, _)| *name == group).unwrap();
    let wanted = all.iter().filter(|behaviour| only.is_empty() || only == behaviour.name);
    let cases: Vec<(&'static Behaviour, &'static str)> =
        wanted.flat_map(|behaviour| behaviour.agents.iter().map(move |agent| (behaviour, *agent))).collect();
    let rows = for_all(&cases, |(behaviour, agent)| judge(program, &player, behaviour, agent));
    println!("{group}\n{}", table(&rows));
    if !only.is_empty() || std::env::var_os("BEHAVIOURS_WHY").is_some() {
        rows.iter().for_each(|row| println!("{} by {}: {}", row.name, row.agent, row.why));
    }
    let faults: Vec<String> = rows
        .iter()
        .flat_map(|row| {
            row.faults.iter().map(move |fault| format!("{} by {}: {fault} · {}", row.name, row.agent, row.why))
        })
        .collect();
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn real_work_is_seen_however_it_is_done_and_ends_in_the_iteration_that_finished_it() {
    play("honest");
}

#[test]
fn nobody_is_believed_who_says_done_or_changes_the_test() {
    play("liars");
}

// req: C-07 partly: by the defaults of loop; without a restart
#[test]
fn who_gets_nowhere_is_ended_by_the_breaker_that_is_meant_for_it() {
    play("stuck");
}

// req: C-15 partly: limits of the provider, seen in the events
#[test]
fn limits_are_waited_for_as_the_provider_says_and_what_a_person_must_mend_ends_at_once() {
    play("provider");
}

#[test]
fn gates_judge_rightly_though_they_flake_hang_or_cannot_be_run() {
    play("gates");
}

// req: C-09 partly: the command line waits; without a restart
#[test]
fn money_tokens_and_calls_end_where_they_were_capped() {
    play("money");
}

// req: B-06 partly: by loop start --no-promise
// req: C-20 partly: the strict way
// req: A-26 partly: the promise; progress is not scored
#[test]
fn without_a_gate_only_a_quiet_repeated_claim_of_the_agents_own_counts() {
    play("claims");
}

#[test]
fn every_behaviour_has_a_name_of_its_own_and_there_are_enough_of_them() {
    let mut names: Vec<&str> = GROUPS.iter().flat_map(|(_, all)| all.iter().map(|behaviour| behaviour.name)).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count, "a name is there twice");
    assert!(count >= 45, "{count} behaviours");
}
