//! The learned router: what it draws, what counts as a try, and what a shadow changes.
use loop_core::policy::router::{AgentArm, PRIOR_TRIES, ScoreRow, draw, score, seed_of, task_class};
use loop_core::run::*;
use loop_core::view::{Try, tries_of};

use crate::play::{Story, spec};

const BEGIN: &str = "opened / saved / fail";
const FAILS: &str = "agent-ok / saved / measured / fail";
const PASSES: &str = "agent-ok / saved / measured / pass / certified";

/// So many tries of an agent in the class of a check, with so many passes; each try cost so much.
fn row(agent: &str, passes: u32, tries: u32, each_micros: u64) -> ScoreRow {
    let class = task_class(false, 0).to_owned();
    let cost_micros = each_micros * u64::from(tries);
    let with_cost = if each_micros > 0 { tries } else { 0 };
    ScoreRow { agent: agent.to_owned(), model: None, class, tries, passes, cost_micros, with_cost }
}

/// claude and codex, with what the ledger has recorded.
fn two(router: &str, scores: Vec<ScoreRow>) -> Story {
    let settings = [
        ("agent", "claude"),
        ("agents", "claude,codex"),
        ("max_iterations", "9"),
        ("max_no_progress", "unlimited"),
        ("router", router),
    ];
    let mut story = Story::of(RunSpec { scores, ..spec(&settings) });
    story.say(BEGIN);
    story
}

/// As good as each other, and codex costs a tenth.
fn recorded() -> Vec<ScoreRow> {
    vec![row("claude", 10, 20, 300_000), row("codex", 10, 20, 30_000)]
}

/// Every choice: agent, reason, and what was drawn.
fn choices(story: &Story) -> Vec<(AgentChoice, Option<String>, Option<Drawn>)> {
    let chosen = story.journal.iter().filter_map(|entry| {
        let Fact::Decided(Decision::Chosen { choice, rule, drawn, .. }) = &entry.fact else { return None };
        Some((choice.clone(), rule.clone(), drawn.clone()))
    });
    chosen.collect()
}

fn agents(story: &Story) -> Vec<String> {
    choices(story).into_iter().map(|(choice, ..)| choice.agent).collect()
}

#[test]
fn the_agent_whose_pass_costs_least_works_and_the_reason_is_one_line() {
    // req: A-32 partly: the reason of the learned router
    let mut story = two("learned", recorded());
    story.times(2, FAILS);
    let told: Vec<(String, String)> =
        choices(&story).into_iter().map(|(choice, rule, _)| (choice.agent, rule.unwrap_or_default())).collect();
    let line = "learned: check: 10 of 20 tries passed, $0.06 a pass".to_owned();
    assert_eq!(told, vec![("codex".to_owned(), line); 3]);
}

#[test]
fn what_was_drawn_is_recorded_with_its_seed_and_a_stored_journal_gives_the_same_agent_and_results() {
    let mut story = two("learned", recorded());
    story.say(FAILS);
    let drawn: Vec<Drawn> = choices(&story).into_iter().filter_map(|(.., drawn)| drawn).collect();
    let seeds: Vec<&str> = drawn.iter().map(|drawn| drawn.seed.as_str()).collect();
    let expected = [1, 2].map(|iteration| format!("{:016x}", seed_of("a1b2c3d", iteration)));
    assert_eq!(seeds, expected, "by run and iteration");
    assert_eq!((drawn[0].agent.as_str(), drawn[0].class.as_str(), drawn[0].shadow), ("codex", "check", false));
    let mut again = RunState::default();
    for entry in &story.journal {
        let text = serde_json::to_string(&entry.fact).unwrap();
        again.apply(&serde_json::from_str(&text).unwrap());
    }
    assert_eq!((&again.agent.routing, &again.agent), (&story.state.agent.routing, &story.state.agent));
    assert_eq!(again.agent.routing.scores(), recorded());
}

#[test]
fn without_recorded_results_the_first_of_the_list_works_and_it_is_said() {
    let story = two("learned", Vec::new());
    let (choice, rule, drawn) = choices(&story).remove(0);
    let line = "learned: no results are recorded yet, the first of the list works";
    assert_eq!((choice.agent.as_str(), rule.as_deref(), drawn), ("claude", Some(line), None));
}

#[test]
fn an_agent_that_waits_for_a_limit_is_not_drawn() {
    let mut story = two("learned", recorded());
    assert!(story.last().starts_with("agent 1.1 with codex"), "{}", story.told);
    story.say("agent-heard rate_limit=100000");
    assert_eq!(agents(&story), ["codex", "claude"], "{}", story.told);
    let rule = choices(&story).pop().and_then(|(_, rule, _)| rule);
    assert_eq!(
        rule.as_deref(),
        Some("learned: check: 10 of 20 tries passed, $0.60 a pass"),
        "drawn, not taken instead"
    );
    story.say(FAILS);
    assert_eq!(agents(&story), ["codex", "claude", "claude"], "{}", story.told);
}

#[test]
fn a_run_that_is_opened_again_draws_from_what_is_recorded_then() {
    let mut story = two("learned", recorded());
    story.say("stop / agent-ok / saved / measured / fail");
    let scores = vec![row("claude", 20, 20, 1_000), row("codex", 1, 20, 30_000)];
    let reopened = Event::Reopened {
        by: "loop resume".to_owned(),
        changes: Vec::new(),
        unattended: false,
        hidden: None,
        answers: false,
        injected: None,
        pid_namespace: None,
        scores,
    };
    story.happen(100_000, reopened);
    story.wait(200_000).say("fail");
    assert_eq!(agents(&story), ["codex", "claude"], "{}", story.told);
}

#[test]
fn a_shadow_changes_no_choice_and_records_what_it_would_have_chosen() {
    for words in [FAILS, "agent-heard rate_limit=100000", "agent-heard auth", "agent-exit 1 / saved / measured / fail"]
    {
        let play = |router: &str| {
            let mut story = two(router, recorded());
            story.say(words).say(FAILS).say(PASSES);
            story
        };
        let (fixed, shadow) = (play("fixed"), play("shadow"));
        let plain = |story: &Story| choices(story).into_iter().map(|(choice, ..)| choice).collect::<Vec<_>>();
        assert_eq!(plain(&shadow), plain(&fixed), "{words}");
        assert_eq!(shadow.told, fixed.told, "{words}");
        let (choice, rule, drawn) = choices(&shadow).remove(0);
        let line = "shadow: another, codex (check: 10 of 20 tries passed, $0.06 a pass)";
        assert_eq!((choice.agent.as_str(), rule.as_deref()), ("claude", Some(line)), "{words}");
        assert!(drawn.is_some_and(|drawn| drawn.agent == "codex" && drawn.shadow), "{words}");
    }
}

#[test]
fn what_is_assumed_of_an_agent_counts_as_five_tries() {
    let rows = [row("claude", 50, 100, 100_000)];
    let arm = |agent: &str| AgentArm::new(agent, None);
    let new = score(&rows, &arm("codex"), "check");
    assert_eq!((new.tries, new.chance_permille(), new.expected_per_pass()), (0, 600, 166_666), "as all others: 3 of 5");
    let own = |passes, tries| score(&[row("codex", passes, tries, 100_000)], &arm("codex"), "check").chance_permille();
    // 1 of 5 is assumed of one that never passed, 4 of 5 of one that always did.
    assert_eq!([own(0, 5), own(5, 5), own(0, 95)], [100, 900, 10]);
    assert_eq!(PRIOR_TRIES, 5);
}

#[test]
fn without_any_cost_the_agent_that_passes_more_often_works() {
    let rows = [row("claude", 90, 100, 0), row("codex", 10, 100, 0)];
    let arms = [AgentArm::new("codex", None), AgentArm::new("claude", None)];
    let picks = (0..100).filter(|at| draw(&rows, &arms, "check", seed_of("run", *at)).unwrap().arm.agent == "claude");
    assert_eq!(picks.count(), 100);
}

#[test]
fn a_class_is_what_the_gates_say_and_no_word_of_the_task() {
    let classes = [(true, 3), (false, 0), (false, 1), (false, 2), (false, 9), (false, 10)];
    let told = classes.map(|(did_not_build, failing)| task_class(did_not_build, failing));
    assert_eq!(told, ["build", "check", "1 test", "2-9 tests", "2-9 tests", "10+ tests"]);
    let mut story = two("learned", recorded());
    story.say("agent-ok / saved / measured / tests pass=1 fail=3");
    assert_eq!(story.state.task_class(), Some("2-9 tests"));
    let last = choices(&story).pop().unwrap();
    assert!(last.1.unwrap().starts_with("learned: 2-9 tests: no tries recorded yet"), "another class");
}

/// A small generator, so that a simulation can be repeated.
struct Seed(u64);

impl Seed {
    fn permille(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        u32::try_from((self.0 >> 33) % 1000).unwrap()
    }
}

/// Plays tasks with two agents, each with its chance in thousandths and its cost; gives how often the second worked in the
/// last hundred tasks.
fn simulate(seed: u64, agents: [(&str, u32, u64); 2], tasks: u32) -> usize {
    let arms = agents.map(|(agent, ..)| AgentArm::new(agent, None));
    let mut rows: Vec<ScoreRow> = agents.iter().map(|(agent, ..)| row(agent, 0, 0, 0)).collect();
    // One try of the first: without any, the list decides.
    rows[0] = row(agents[0].0, 1, 1, agents[0].2);
    let (mut world, mut late) = (Seed(seed), 0);
    for task in 0..tasks {
        let chosen = draw(&rows, &arms, "check", seed_of(&format!("run{seed}"), task)).unwrap();
        let at = arms.iter().position(|arm| *arm == chosen.arm).unwrap();
        late += usize::from(at == 1 && task + 100 >= tasks);
        rows[at].tries += 1;
        rows[at].with_cost += 1;
        rows[at].cost_micros += agents[at].2;
        rows[at].passes += u32::from(world.permille() < agents[at].1);
    }
    late
}

#[test]
fn with_a_cheaper_agent_that_passes_as_often_the_choice_converges_on_it() {
    let all = |agents: [(&str, u32, u64); 2]| (0..50).map(|seed| simulate(seed, agents, 400)).collect::<Vec<_>>();
    let cheaper = all([("claude", 600, 300_000), ("codex", 600, 100_000)]);
    assert!(cheaper.iter().all(|late| *late >= 95), "of the last 100 tasks, in 50 simulations: {cheaper:?}");
    // One that is cheaper by half, and passes a quarter as often, is dearer.
    let dearer = all([("claude", 800, 200_000), ("codex", 200, 100_000)]);
    assert!(dearer.iter().all(|late| *late <= 10), "{dearer:?}");
    // The same in all: both are tried.
    let same = all([("claude", 600, 100_000), ("codex", 600, 100_000)]);
    let sum: usize = same.iter().sum();
    assert!((1_500..=3_500).contains(&sum), "{sum} of 5000: {same:?}");
}

/// The tries of a story without their moments.
fn tries(story: &Story) -> Vec<(String, &'static str, bool, Option<u64>)> {
    let plain = |one: Try| (one.arm.to_string(), one.class, one.passed, one.cost_micros);
    tries_of(&story.journal).into_iter().map(plain).collect()
}

#[test]
fn a_try_is_an_iteration_whose_gates_have_a_verdict_and_a_pass_is_one_that_ends_the_run_as_verified() {
    let mut story = two("fixed", Vec::new());
    story.say("agent-heard cost=250000 / saved / measured / fail").say(PASSES);
    assert!(story.last().starts_with("END verified"), "{}", story.told);
    let claude = || "claude".to_owned();
    assert_eq!(tries(&story), [(claude(), "check", false, Some(250_000)), (claude(), "check", true, None)]);
    // Before iteration 1 no agent has worked; a run that a person stops has no pass.
    let mut early = two("fixed", Vec::new());
    assert_eq!(tries(&early), []);
    early.say("stop").say(FAILS);
    assert_eq!(tries(&early), [(claude(), "check", false, None)]);
}

#[test]
fn limits_crashes_refused_logins_and_gates_without_a_verdict_change_no_score() {
    let disturbances = [
        "agent-exit 1 / saved / measured / fail",
        "agent-heard crash / saved / measured / fail",
        "agent-heard rate_limit=1000",
        "agent-heard overload",
        "agent-heard network",
        "agent-ok / saved / measured / gate-exit 127",
    ];
    let play = |seed: Option<u64>| {
        let mut story = Story::new(&[
            ("agent", "claude"),
            ("max_iterations", "99"),
            ("max_no_progress", "unlimited"),
            ("max_same_error", "unlimited"),
        ]);
        story.say(BEGIN);
        let mut seed = seed.map(Seed);
        for words in [FAILS, FAILS, FAILS, PASSES] {
            if let Some(seed) = &mut seed {
                let at = usize::try_from(seed.permille()).unwrap() % disturbances.len();
                story.say(disturbances[at]);
                // A short wait is waited out; before a long one the gates run.
                for _ in 0..9 {
                    if story.last().starts_with("checkpoint") {
                        story.say("saved / fail");
                    } else if story.last().starts_with("hold") {
                        story.wait(4_000_000).say("deadline / held");
                    }
                }
            }
            assert!(story.last().starts_with("agent "), "{}", story.told);
            story.say(words);
        }
        assert!(story.last().starts_with("END verified"), "{}", story.told);
        story
    };
    let plain = tries(&play(None));
    assert_eq!(plain.len(), 4);
    for seed in 0..200 {
        let story = play(Some(seed));
        assert_eq!(tries(&story), plain, "seed {seed}: {}", story.told);
    }
}
