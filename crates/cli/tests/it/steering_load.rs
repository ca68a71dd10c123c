//! Asking a loop that has its hands full: an agent that floods, and eight who ask at once.
//!
//! `STEERING_TABLE=FILE` appends what was measured; `STEERING=strict` also holds every answer to
//! 100 ms, which is meant for a quiet machine.
use std::io::Write;
use std::time::{Duration, Instant};

use loop_core::control::{Ask, Call, Reply};
use loop_host::control::call;
use loop_testkit::{flood_program, wait_until};

use crate::{start, user};

const ROUNDS: usize = 20;
const WRITERS: usize = 8;
const TEXTS: usize = 1000;

/// How long an answer may take: a bound that only a fault reaches, or the real one.
fn patience() -> Duration {
    let strict = std::env::var_os("STEERING").is_some_and(|value| value == "strict");
    Duration::from_millis(if strict { 100 } else { 5000 })
}

fn table(line: &str) {
    if let Some(path) = std::env::var_os("STEERING_TABLE") {
        let mut file = std::fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
        writeln!(file, "{line}").unwrap();
    }
}

fn told(verb: &str, mut took: Vec<Duration>) {
    took.sort();
    let (median, worst) = (took[took.len() / 2], took[took.len() - 1]);
    table(&format!("| {verb} | {} | {:.1?} | {:.1?} |", took.len(), median, worst));
    assert!(worst <= patience(), "{verb}: {took:?}");
}

#[test]
fn every_question_is_answered_soon_while_the_agent_floods() {
    // req: D-06 partly: without --rollback
    let user = user();
    let agent = format!("{} short-lines 99999999999999", flood_program().display());
    let running = user.begin(&start(&agent, "false", &["--timeout", "10m"]));
    wait_until("the flood is under way", || {
        user.tree("home/.local/state/loop/runs").iter().any(|path| path.ends_with("stdout/tail-000020"))
    });
    let id = user.id();
    let timed = |words: &[&str]| {
        let since = Instant::now();
        user.run(words).expect_code(0);
        since.elapsed()
    };
    let verbs: [&[&str]; 4] =
        [&["inject", &id, "a hint"], &["set", &id, "max_iterations=20"], &["pause", &id], &["resume", &id]];
    let mut took = verbs.map(|_| Vec::new());
    for _ in 0..ROUNDS {
        for (words, took) in verbs.iter().zip(&mut took) {
            took.push(timed(words));
        }
    }
    for (words, took) in verbs.iter().zip(took) {
        told(words[0], took);
    }
    told("cancel", vec![timed(&["cancel", &id])]);
    running.end().expect_code(2);
}

#[test]
fn a_thousand_texts_of_eight_writers_all_reach_the_agent_once_and_in_their_order() {
    // req: D-07
    let user = user();
    let running = user.begin(&start("cat >> prompts; touch began", "test -e go", &["-n", "unlimited"]));
    user.wait_for_file("work/began");
    let socket = user.state().join(format!("run/{}.sock", user.id()));
    let since = Instant::now();
    let ask = |writer: usize, number: usize| {
        let text = format!("<text {writer}-{number}>");
        let ask = Ask::Inject { text: text.clone(), keep: false };
        let since = Instant::now();
        let reply = call(&socket, &Call { ask, by: format!("writer {writer}") }).unwrap();
        match reply {
            Reply::Taken { seq } => (seq, text, since.elapsed()),
            Reply::Refused { why } => panic!("{text} was refused: {why}"),
        }
    };
    let mut taken: Vec<(u64, String, Duration)> = std::thread::scope(|scope| {
        let ask = &ask;
        let writers = (0..WRITERS).map(|writer| {
            scope.spawn(move || (0..TEXTS / WRITERS).map(|number| ask(writer, number)).collect::<Vec<_>>())
        });
        writers.collect::<Vec<_>>().into_iter().flat_map(|writer| writer.join().unwrap()).collect()
    });
    table(&format!("| {TEXTS} texts of {WRITERS} writers | {:.0} a second | | |", {
        1000.0 * TEXTS as f64 / since.elapsed().as_millis() as f64
    }));
    taken.sort();
    let last = taken.last().unwrap().1.clone();
    wait_until("the last text is told", || user.read("work/prompts").contains(&last));
    user.write("work/go", "");
    running.end().expect_code(0);
    let prompts = user.read("work/prompts");
    let heard: Vec<&str> = prompts.lines().filter(|line| line.starts_with("<text ")).collect();
    let asked: Vec<&str> = taken.iter().map(|(_, text, _)| text.as_str()).collect();
    assert_eq!(heard, asked, "each once, in the order of their numbers");
    told("inject (8 at once)", taken.into_iter().map(|(_, _, took)| took).collect());
}
