//! What `--best-of` and its flags say, and what each branch is started with.
use loop_core::plan::{BRANCHES_MAX, Metric, MetricSource, Selection};
use loop_core::refusal::Refusal;
use loop_core::settings::{Given, Layer, Origin, keys};
use loop_core::text;
use serde::{Deserialize, Serialize};

use crate::paths::program_on_path;

/// What a metric can be without a command.
const METRIC_NAMES: [&str; 5] = ["lines", "coverage", "cost", "time", "iterations"];

/// How many branches, and which.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Branches {
    /// So many of the same kind.
    Count(usize),
    /// One for each agent.
    Agents(Vec<BranchAgent>),
}

/// The agent of a branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BranchAgent {
    /// Its name.
    pub agent: String,
    /// Its model, where one is named.
    pub model: Option<String>,
}

/// Several branches for one goal, and how one of them is chosen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BestOf {
    /// The branches.
    pub branches: Branches,
    /// How one is chosen.
    pub selection: Selection,
    /// So many work at the same time; all of them where this is none.
    pub parallel: Option<u32>,
}

impl Branches {
    /// Reads `3`, or `claude,codex,gemini:gemini-3-pro`.
    ///
    /// # Errors
    /// Why it is neither.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        let hint = "a number from 2 to 16, or agents: claude,codex,gemini:gemini-3-pro";
        let text = text.trim();
        if let Ok(count) = text.parse::<usize>() {
            return match count {
                2..=BRANCHES_MAX => Ok(Self::Count(count)),
                1 => Err(Refusal::new("one branch is an ordinary loop", "leave --best-of out")),
                _ => Err(Refusal::new(format!("{count} branches: from 2 to {BRANCHES_MAX} are possible"), hint)),
            };
        }
        let words: Vec<&str> = text.split(',').map(str::trim).collect();
        if words.iter().any(|word| word.is_empty() || word.starts_with(':')) {
            return Err(Refusal::new("an agent has no name", hint));
        }
        if words.len() < 2 || words.len() > BRANCHES_MAX {
            return Err(Refusal::new(format!("{} agents: from 2 to {BRANCHES_MAX} are possible", words.len()), hint));
        }
        let branch = |word: &str| match word.split_once(':') {
            Some((agent, model)) => BranchAgent { agent: agent.to_owned(), model: Some(model.to_owned()) },
            None => BranchAgent { agent: word.to_owned(), model: None },
        };
        Ok(Self::Agents(words.into_iter().map(branch).collect()))
    }

    /// How many.
    #[must_use]
    pub fn count(&self) -> usize {
        match self {
            Self::Count(count) => *count,
            Self::Agents(agents) => agents.len(),
        }
    }

    /// What is given for a branch over what is given for all, by its number from 0. `typed` is what is given for all.
    pub(super) fn given(&self, number: usize, typed: &[Given]) -> Vec<Given> {
        let Self::Agents(agents) = self else { return Vec::new() };
        let Some(BranchAgent { agent, model }) = agents.get(number) else { return Vec::new() };
        let origin = || Origin { layer: Layer::Flag, place: "--best-of".to_owned() };
        let of_all = typed.iter().find(|given| given.key == keys::agent_model()).map(|given| given.value.clone());
        // A model of the settings files is for the agent of the settings files.
        let model = model.clone().or(of_all).unwrap_or_default();
        vec![
            Given { key: keys::agent(), value: agent.clone(), origin: origin() },
            Given { key: keys::agent_model(), value: model, origin: origin() },
        ]
    }
}

impl BestOf {
    /// Whether the flags fit together.
    ///
    /// # Errors
    /// The first pair that does not.
    pub fn check(&self) -> Result<(), Refusal> {
        let Selection { metric, manual, first, on_red, prune, by_score: _ } = &self.selection;
        let not_with = |one: &str, other: &str, why: &str| {
            Err(Refusal::new(format!("{one} does not go with {other}: {why}"), format!("leave {other} or {one} out")))
        };
        let ranks = metric.is_some();
        match () {
            () if *first && *manual => not_with("--first", "--best-of-manual", "the first that passes is taken"),
            () if *first && *on_red => not_with("--first", "--on-red", "--on-red has one branch at a time already"),
            () if *on_red && *manual => not_with("--on-red", "--best-of-manual", "the first that passes is taken"),
            () if *on_red && self.parallel.is_some() => {
                not_with("--on-red", "--parallel", "--on-red has one branch at a time")
            }
            () if *on_red && *prune => not_with("--on-red", "--prune", "there is no other branch to compare with"),
            () if (*first || *on_red) && ranks => {
                let one = if *first { "--first" } else { "--on-red" };
                not_with(one, "--best-of-metric", "only one branch that passes is looked at")
            }
            () => Ok(()),
        }
    }

    /// Reads `--best-of-metric`.
    ///
    /// # Errors
    /// Why it is none.
    pub fn metric(text: &str) -> Result<Metric, Refusal> {
        let metric = Metric::parse(text)?;
        if let MetricSource::Command(word) = &metric.by {
            let is_word = word.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_".contains(letter));
            if is_word && program_on_path(word).is_none() {
                let near =
                    text::nearest(word, METRIC_NAMES).map_or_else(String::new, |near| format!("did you mean {near}? "));
                let hint = format!("{near}the names are {}; a command prints a number", METRIC_NAMES.join(", "));
                return Err(Refusal::new(format!("{word} is not the name of a metric, and not a program"), hint));
            }
        }
        Ok(metric)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_that_is_neither_a_name_nor_a_program_is_refused() {
        let refused = BestOf::metric("lower:covrage").unwrap_err();
        assert_eq!(refused.why, "covrage is not the name of a metric, and not a program");
        assert!(refused.hint.starts_with("did you mean coverage? the names are lines, "), "{}", refused.hint);
        for fine in ["coverage", "lower:cost", "sh", "wc -l < a", "./count", "exit 3"] {
            BestOf::metric(fine).unwrap();
        }
    }

    #[test]
    fn branches_are_a_number_or_agents_with_models() {
        assert_eq!(Branches::parse("3"), Ok(Branches::Count(3)));
        let branch =
            |agent: &str, model: Option<&str>| BranchAgent { agent: agent.to_owned(), model: model.map(str::to_owned) };
        let three = vec![branch("claude", None), branch("codex", None), branch("gemini", Some("gemini-3-pro"))];
        assert_eq!(Branches::parse("claude, codex,gemini:gemini-3-pro"), Ok(Branches::Agents(three)));
        for wrong in ["0", "1", "17", "claude", "claude,,codex", "claude,:x", ""] {
            assert!(Branches::parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
