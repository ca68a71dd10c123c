//! The table of `loop agents --scores`: what each agent's tries came to, by class of task.
use loop_core::policy::budget::money_text;
use loop_core::policy::router::{PRIOR_TRIES, ScoreRow, score};
use serde_json::{Value, json};

use super::table::table_on_screen;

const EMPTY: &str = "\
no results are recorded yet
A loop with a gate records each iteration of its agents when it ends.
next: loop start \"…\" --promise 'make test' --agent claude,codex; after its end again: loop agents --scores
";

/// The table in words.
pub(crate) fn scores_in_words(rows: &[ScoreRow], shown: &[&ScoreRow]) -> String {
    if shown.is_empty() {
        return EMPTY.to_owned();
    }
    let has_cost = rows.iter().any(|row| row.with_cost > 0);
    let line = |row: &&ScoreRow| {
        let score = score(rows, &row.arm(), &row.class);
        let expected = if has_cost { money_text(score.expected_per_pass()) } else { "-".to_owned() };
        vec![
            row.agent.clone(),
            row.model.clone().unwrap_or_else(|| "default".to_owned()),
            row.class.clone(),
            row.passes.to_string(),
            row.tries.to_string(),
            score.cost_per_pass.map_or_else(|| "-".to_owned(), money_text),
            format!("{} %", score.chance_permille() / 10),
            expected,
        ]
    };
    let lines: Vec<Vec<String>> = shown.iter().map(line).collect();
    let head = ["AGENT", "MODEL", "TASK", "PASSES", "TRIES", "COST PER PASS", "CHANCE", "SCORE"];
    let table = table_on_screen(&head, &lines);
    format!(
        "{table}\nCHANCE and SCORE are what --router learned expects: the chance that a try passes, and what a pass costs.\n\
         {PRIOR_TRIES} assumed tries are in them. Limits and crashes are not tries.\n"
    )
}

/// The same for programs.
pub(crate) fn scores_as_json(rows: &[ScoreRow], shown: &[&ScoreRow]) -> Value {
    let has_cost = rows.iter().any(|row| row.with_cost > 0);
    let one = |row: &&ScoreRow| {
        let score = score(rows, &row.arm(), &row.class);
        json!({
            "agent": row.agent,
            "model": row.model,
            "task": row.class,
            "passes": row.passes,
            "tries": row.tries,
            "tries_with_cost": row.with_cost,
            "cost_micros": row.cost_micros,
            "cost_per_pass_micros": score.cost_per_pass,
            "chance_permille": score.chance_permille(),
            "score_micros": has_cost.then(|| score.expected_per_pass()),
        })
    };
    json!({
        "version": 1,
        "assumed_tries": PRIOR_TRIES,
        "scores": shown.iter().map(one).collect::<Vec<Value>>(),
    })
}
