//! The rules of `--agent auto`: the first that fits the task, and has a model that can be used, chooses.
use super::models::ModelRow;
use super::task::TaskAnalysis;

/// A difficulty above so many tenths is for the most capable model.
const HARD_TENTHS: u8 = 7;
/// Strengths of the most capable model and of those that follow it.
const SMARTEST: &[&str] = &["intelligence", "implementation", "balance", "context", "speed"];
/// Of several models that cost the same, the strengths that come first.
const CHEAPEST: &[&str] = &["speed", "implementation", "balance"];

/// One rule.
struct Rule {
    /// What it is called in the log.
    name: &'static str,
    fits: fn(&TaskAnalysis) -> bool,
    /// The strengths that it asks for, the best first.
    wants: &'static [&'static str],
}

/// All rules, read from the top.
const RULES: [Rule; 5] = [
    Rule { name: "stuck: the most capable", fits: |task| task.stuck, wants: SMARTEST },
    Rule { name: "large context", fits: |task| task.large_context, wants: &["context"] },
    Rule { name: "implementation", fits: |task| task.implementation, wants: &["implementation"] },
    Rule { name: "research", fits: |task| task.research, wants: &["context"] },
    Rule {
        name: "complex and hard",
        fits: |task| task.complex && task.difficulty > HARD_TENTHS,
        wants: &["intelligence"],
    },
];

/// The model that a rule chose, and what the rule is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Routed<'a> {
    /// The model.
    pub row: &'a ModelRow,
    /// The rule.
    pub rule: &'static str,
}

/// The model for a task, of those that can be used now.
#[must_use]
pub fn route<'a>(task: &TaskAnalysis, usable: &[&'a ModelRow], prefer_cheap: bool) -> Option<Routed<'a>> {
    let by_rule = RULES.iter().filter(|rule| (rule.fits)(task)).find_map(|rule| {
        let row = by_strength(usable, rule.wants)?;
        Some(Routed { row, rule: rule.name })
    });
    by_rule.or_else(|| {
        if prefer_cheap {
            let row = cheapest_of(usable)?;
            return Some(Routed { row, rule: "no other rule: the cheapest" });
        }
        let scarcest = usable.iter().map(|row| row.cost).max();
        let below: Vec<&ModelRow> = usable.iter().copied().filter(|row| Some(row.cost) < scarcest).collect();
        let row = most_capable(if below.is_empty() { usable } else { &below })?;
        Some(Routed { row, rule: "no other rule: the most capable below the scarcest" })
    })
}

/// The cheapest of these models by its cost; of several the fastest.
fn cheapest_of<'a>(rows: &[&'a ModelRow]) -> Option<&'a ModelRow> {
    let place = |row: &ModelRow| CHEAPEST.iter().position(|strength| row.strength.eq_ignore_ascii_case(strength));
    rows.iter().copied().min_by_key(|row| (row.cost, place(row).unwrap_or(CHEAPEST.len())))
}

/// The most capable of these models.
#[must_use]
pub fn most_capable<'a>(rows: &[&'a ModelRow]) -> Option<&'a ModelRow> {
    by_strength(rows, SMARTEST).or_else(|| rows.last().copied())
}

fn by_strength<'a>(rows: &[&'a ModelRow], wanted: &[&str]) -> Option<&'a ModelRow> {
    wanted.iter().find_map(|strength| rows.iter().copied().find(|row| row.strength.eq_ignore_ascii_case(strength)))
}
