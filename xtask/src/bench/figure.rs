//! A measured value with its limit, and the table of them for people and programs.

use std::process::ExitCode;

use serde_json::{Value, json};

use super::median;

/// What was measured, and what it may be at most.
#[derive(Debug, Clone)]
pub struct Figure {
    pub name: &'static str,
    /// The value: a median where there were several rounds.
    pub value: f64,
    pub unit: &'static str,
    /// What it may be at most.
    pub limit: f64,
    /// The least and the greatest of the rounds.
    pub spread: Option<(f64, f64)>,
    /// How it came about, in a few words.
    pub note: String,
}

impl Figure {
    /// A figure that was measured once.
    #[must_use]
    pub fn once(name: &'static str, value: f64, unit: &'static str, limit: f64) -> Self {
        Self { name, value, unit, limit, spread: None, note: String::new() }
    }

    /// The median of several rounds.
    #[must_use]
    pub fn of(name: &'static str, rounds: &[f64], unit: &'static str, limit: f64) -> Self {
        let least = rounds.iter().copied().fold(f64::INFINITY, f64::min);
        let greatest = rounds.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let spread = (!rounds.is_empty()).then_some((least, greatest));
        Self { spread, ..Self::once(name, median(rounds), unit, limit) }
    }

    /// Says how it came about.
    #[must_use]
    pub fn note(self, note: impl Into<String>) -> Self {
        Self { note: note.into(), ..self }
    }

    /// Whether the limit is kept. What is not a number keeps none.
    #[must_use]
    pub fn is_reached(&self) -> bool {
        self.value <= self.limit
    }

    fn verdict(&self) -> &'static str {
        if self.is_reached() { "ok" } else { "NOT REACHED" }
    }
}

/// The table for people.
#[must_use]
pub fn table(figures: &[Figure]) -> String {
    let heads = ["name", "figure", "limit", "", "spread", "how"].map(str::to_owned);
    let rows = figures.iter().map(|figure| {
        let spread = figure.spread.map(|(least, greatest)| format!("{least:.2} … {greatest:.2}")).unwrap_or_default();
        [
            figure.name.to_owned(),
            format!("{:.2} {}", figure.value, figure.unit),
            format!("≤ {}", figure.limit),
            figure.verdict().to_owned(),
            spread,
            figure.note.clone(),
        ]
    });
    let rows: Vec<[String; 6]> = std::iter::once(heads).chain(rows).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; 6] = std::array::from_fn(width);
    let lines = rows.iter().map(|row| {
        let cells: Vec<String> = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        format!("{}\n", cells.join("  ").trim_end())
    });
    lines.collect()
}

/// The same for programs.
#[must_use]
pub fn json(figures: &[Figure]) -> String {
    let figures: Vec<Value> = figures
        .iter()
        .map(|figure| {
            json!({
                "name": figure.name,
                "figure": figure.value,
                "unit": figure.unit,
                "limit": figure.limit,
                "reached": figure.is_reached(),
                "least": figure.spread.map(|spread| spread.0),
                "greatest": figure.spread.map(|spread| spread.1),
                "how": figure.note,
            })
        })
        .collect();
    format!("{:#}\n", json!({ "figures": figures }))
}

/// How the command ends: a missed limit is a failure, and so is nothing measured at all.
#[must_use]
pub fn exit_code(figures: &[Figure]) -> ExitCode {
    let all = !figures.is_empty() && figures.iter().all(Figure::is_reached);
    if all { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// How a smoke test ends: limits are not judged, but each measurement must have given a number.
#[must_use]
pub fn all_measured(figures: &[Figure]) -> ExitCode {
    let all = !figures.is_empty() && figures.iter().all(|figure| figure.value.is_finite());
    if all { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
