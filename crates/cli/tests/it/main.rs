//! Journeys of the built program: what a person types, and what comes of it.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod acp_bridge;
mod advice;
mod agent;
mod agent_calls;
mod agents;
mod alerts;
mod approval;
mod asking;
mod behaviours;
mod branch_copies;
mod btrfs;
mod bug;
mod clauses;
mod clauses_more;
mod commit;
mod config;
mod containers;
mod containers_ended;
mod containers_runs;
mod containment;
mod diff;
mod documented_starts;
mod endings;
mod ends;
mod engine_answers;
mod errors;
mod escapes;
mod examples;
mod floods;
mod fresh_eyes;
mod full_disk;
mod gates;
mod here;
mod hidden;
mod hostile;
mod ignored_files;
mod import;
mod init;
mod installing;
mod integrity;
mod json;
mod json_everywhere;
mod judge;
mod judge_identity;
mod keeping;
mod kept;
mod kept_tests;
mod kill_points;
mod learned;
mod limits;
mod lists;
mod lists_killed;
mod looking;
mod loopr;
mod loopr_setup;
mod manual;
mod newcomer;
mod other_agent;
mod output;
mod outside_files;
mod plan_choices;
mod plan_ends;
mod plan_faces;
mod plan_flags;
mod plan_gates;
mod plan_robust;
mod plans;
mod power_cuts;
mod printed_commands;
mod probes;
mod prompt;
mod proof;
mod quota;
mod real;
mod recovery;
mod recovery_branches;
mod replay;
mod report;
mod resume;
mod reviewed;
mod rollback;
mod rollback_files;
mod rollback_points;
mod scope;
mod score;
mod screens;
mod several_agents;
mod start;
mod state_db;
mod steering;
mod steering_load;
mod surroundings;
mod syncs;
mod tdd;
mod templates;
mod users_git;
mod uses;
mod verify;
mod worker;
mod workflow;
mod workflow_plans;
mod workflow_run;
mod workspaces;

use loop_testkit::TestEnv;

/// A fresh user of the built `loop`.
fn user() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_loop"))
}

/// The commands that the program's own help lists.
fn commands(user: &TestEnv) -> Vec<String> {
    let help = user.run(&["--help"]).expect_code(0).out();
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    // A line that continues the one before is indented further.
    let names = listed.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    names.filter(|name| !name.is_empty() && *name != "help").map(str::to_owned).collect()
}

/// The text of a journal with the hash of each line made again: what somebody would write who knows the format.
fn rechained(text: &str) -> String {
    let mut chain = loop_host::journal::ChainHash::default();
    let object = |line: &str| match line.rfind(",\"chain\":\"") {
        Some(at) => format!("{}}}", &line[..at]),
        None => line.to_owned(),
    };
    text.lines().map(|line| chain.link(&object(line))).collect()
}

/// The words of a start with an agent and a promise.
fn start<'a>(agent: &'a str, promise: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut words = vec!["start", "do it", "--promise", promise, "--agent-cmd", agent];
    words.extend(more);
    words
}
