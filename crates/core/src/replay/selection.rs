//! Plans with several branches, ranked again: exact, since the results of all branches are recorded.
use std::cmp::Ordering;

use toml_edit::Item;

use crate::plan::PlanState;
use crate::policy::candidate::{Candidate, RankColumn, Ranking};

/// By which columns branches are compared, the first that differs decides; and whether the lower metric wins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectionOrder {
    columns: Option<Vec<RankColumn>>,
    lower: Option<bool>,
}

/// A plan as it was ranked, and as it would be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayedPlan {
    /// The winner of the recorded ranking.
    pub recorded: Option<String>,
    /// The winner under the other order.
    pub chosen: Option<String>,
}

impl SelectionOrder {
    /// Reads the table of a policy file.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn read(table: &Item) -> Result<Self, String> {
        let table = table.as_table_like().ok_or("it must be a table")?;
        let mut order = Self { columns: None, lower: None };
        for (key, value) in table.iter() {
            match key {
                "columns" => order.columns = Some(columns(value)?),
                "lower" => order.lower = Some(value.as_bool().ok_or("lower is true or false")?),
                _ => return Err(format!("there is no {key:?}; it has columns and lower")),
            }
        }
        Ok(order)
    }

    /// In words, as the file has it.
    pub(super) fn words(&self) -> Vec<String> {
        let columns = self
            .columns
            .as_deref()
            .unwrap_or(&RankColumn::ALL)
            .iter()
            .map(|column| column.name())
            .collect::<Vec<_>>()
            .join(", ");
        let lower = self.lower.map(|lower| format!("lower = {lower}"));
        std::iter::once(format!("branches by {columns}")).chain(lower).collect()
    }

    /// The best branch, if it passes. Whether a branch passes always comes first: no order makes a failed one win.
    fn winner<'a>(&self, ranking: &'a Ranking) -> Option<&'a Candidate> {
        let lower = self.lower.unwrap_or(ranking.lower);
        let recorded = RankColumn::in_order(ranking.by_score);
        let columns = self.columns.as_deref().unwrap_or(&recorded);
        let better = |one: &&Candidate, other: &&Candidate| {
            let by = |column: &RankColumn| column.compare(one, other, lower);
            columns.iter().map(by).find(|order| *order != Ordering::Equal).unwrap_or(Ordering::Equal)
        };
        // Of equal ones the first stays: `max_by` takes the last.
        ranking.rows.iter().rev().filter(|row| row.passes).max_by(better)
    }
}

fn columns(value: &Item) -> Result<Vec<RankColumn>, String> {
    let names = value.as_array().ok_or("columns is a list of names")?;
    let known = || RankColumn::ALL.map(RankColumn::name).join(", ");
    let column = |name: &toml_edit::Value| {
        let name = name.as_str().unwrap_or_default();
        let found = RankColumn::ALL.into_iter().find(|column| column.name() == name);
        found.ok_or_else(|| format!("there is no column {name:?}; there are {}", known()))
    };
    names.iter().map(column).collect()
}

/// Ranks the branches of a plan again; none where it has no recorded ranking. Rows stand in the order of the plan's
/// ranking, so branches between which nothing differs keep that order.
#[must_use]
pub fn replay_plan(state: &PlanState, order: &SelectionOrder) -> Option<ReplayedPlan> {
    let ranking = state.ranking.as_ref()?;
    // What a person picked counts more than the ranking.
    let picked = state.chosen.as_ref().map(|chosen| chosen.node.to_string());
    let recorded = picked.or_else(|| ranking.winner().map(|row| row.name.clone()));
    let chosen = order.winner(ranking).map(|row| row.name.clone());
    Some(ReplayedPlan { recorded, chosen })
}
