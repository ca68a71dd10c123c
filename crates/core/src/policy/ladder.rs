//! The ladder of recovery: what is changed when a loop is stuck, in which order, for how many iterations each.
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::refusal::Refusal;
use crate::text;

/// How many rungs a ladder has at most.
const RUNGS_MAX: usize = 16;
/// How many iterations one rung may take at most.
const ITERATIONS_MAX: u32 = 1000;
/// How many iterations a rung without a number takes.
const ITERATIONS: u32 = 2;

/// One way to say the task in other words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MutationKind {
    /// The task in other words.
    Rephrase,
    /// The task in small steps, the first of them now.
    Decompose,
    /// The task with limits: which files, which tests.
    Constrain,
    /// The task with what the gates showed as examples.
    Examples,
    /// What is not to be done.
    Negative,
    /// Reading first, and editing after that.
    Research,
}

impl MutationKind {
    /// All of them. `mutations` takes the first ones.
    pub const ALL: [Self; 6] =
        [Self::Rephrase, Self::Decompose, Self::Constrain, Self::Examples, Self::Negative, Self::Research];

    /// Its word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Rephrase => "rephrase",
            Self::Decompose => "decompose",
            Self::Constrain => "constrain",
            Self::Examples => "examples",
            Self::Negative => "negative",
            Self::Research => "research",
        }
    }
}

/// So many kinds `mutations` can take: research is for branches, and by its own name.
pub const MUTATIONS_MAX: u32 = 5;

/// What a rung changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RungKind {
    /// A new conversation from the best state, with what failed so far.
    Fresh,
    /// Another form of the task.
    Mutate(MutationKind),
    /// The same model thinks longer.
    Effort,
    /// The next stronger model.
    Model,
    /// More effort where the agent has a switch for it, else the next stronger model.
    EffortOrModel,
    /// The agent of another vendor.
    Vendor,
    /// So many ways beside each other, in copies of the workspace.
    Branches(u32),
    /// A person.
    Human,
}

impl RungKind {
    /// Its name in settings and for people.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Self::Mutate(kind) => format!("mutate:{}", kind.word()),
            Self::Fresh
            | Self::Effort
            | Self::Model
            | Self::EffortOrModel
            | Self::Vendor
            | Self::Branches(_)
            | Self::Human => self.word().to_owned(),
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Self::Fresh => "fresh",
            Self::Mutate(_) => "mutate",
            Self::Effort => "effort",
            Self::Model => "model",
            Self::EffortOrModel => "effort_or_model",
            Self::Vendor => "vendor",
            Self::Branches(_) => "branches",
            Self::Human => "human",
        }
    }
}

/// So many branches a rung may have.
pub const BRANCHES_MAX: u32 = 4;

/// How many branches a rung has that names no numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BranchNumbers {
    /// How many.
    pub count: u32,
    /// How many iterations each may take.
    pub iterations: u32,
}

/// One rung.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rung {
    /// What it changes.
    pub kind: RungKind,
    /// How many iterations it may take; 0 for a person.
    pub iterations: u32,
}

/// A part of the setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    One(Rung),
    /// So many iterations for each form of the task that `prompt_mutations` counts.
    Mutations(u32),
    /// As many branches and iterations as `branch_count` and `branch_budget` say.
    Branches,
}

/// The rungs as they are set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ladder(Vec<Part>);

/// The rungs that a person can name, for help and refusals.
const WORDS: [&str; 9] =
    ["fresh", "mutations", "mutate", "effort", "model", "effort_or_model", "vendor", "branches", "human"];

impl Ladder {
    /// Reads `fresh:2, mutate:decompose:3, effort_or_model:2, vendor:2, human`.
    ///
    /// # Errors
    /// Why it is no ladder, and what would be one.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        let words = text.split([',', '\n']).map(str::trim).filter(|word| !word.is_empty());
        let parts = words.map(part).collect::<Result<Vec<_>, _>>()?;
        let human = |part: &Part| matches!(part, Part::One(Rung { kind: RungKind::Human, .. }));
        if parts.is_empty() {
            return Err(Refusal::new(
                "a ladder needs a rung",
                "for example fresh:2, human; recover = false turns it off",
            ));
        }
        if parts.len() > RUNGS_MAX {
            return Err(Refusal::new(format!("a ladder has at most {RUNGS_MAX} rungs"), "take some out"));
        }
        if parts.iter().position(human).is_some_and(|at| at + 1 < parts.len()) {
            return Err(Refusal::new("human is not the last rung", "put human at the end: the loop waits there"));
        }
        Ok(Self(parts))
    }

    /// Its rungs, with the first so many forms of the task where `mutations` stands, and with `branches` where no
    /// numbers stand; none leaves all branches out.
    #[must_use]
    pub fn rungs(&self, mutations: u32, branches: Option<BranchNumbers>) -> Vec<Rung> {
        let kinds = usize::try_from(mutations.min(MUTATIONS_MAX)).unwrap_or(0);
        let mut rungs = Vec::new();
        for part in &self.0 {
            match part {
                Part::One(Rung { kind: RungKind::Branches(_), .. }) if branches.is_none() => {}
                Part::One(rung) => rungs.push(*rung),
                Part::Branches => rungs.extend(
                    branches.map(|set| Rung { kind: RungKind::Branches(set.count), iterations: set.iterations }),
                ),
                Part::Mutations(iterations) => rungs.extend(
                    MutationKind::ALL
                        .iter()
                        .take(kinds)
                        .map(|kind| Rung { kind: RungKind::Mutate(*kind), iterations: *iterations }),
                ),
            }
        }
        rungs
    }
}

impl fmt::Display for Ladder {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, part) in self.0.iter().enumerate() {
            if at > 0 {
                out.write_str(", ")?;
            }
            match part {
                Part::One(Rung { kind: RungKind::Human, .. }) => out.write_str("human")?,
                Part::One(Rung { kind: RungKind::Branches(count), iterations }) => {
                    write!(out, "branches:{count}x{iterations}")?;
                }
                Part::One(rung) => write!(out, "{}:{}", rung.kind.name(), rung.iterations)?,
                Part::Branches => out.write_str("branches")?,
                Part::Mutations(iterations) => write!(out, "mutations:{iterations}")?,
            }
        }
        Ok(())
    }
}

fn part(text: &str) -> Result<Part, Refusal> {
    let mut pieces = text.split(':').map(str::trim);
    let word = pieces.next().unwrap_or_default();
    if word == "branches" {
        return branches(text, pieces.next(), pieces.next());
    }
    let kind = match word {
        "mutate" => Some(RungKind::Mutate(mutation(pieces.next())?)),
        "mutations" => None,
        "fresh" => Some(RungKind::Fresh),
        "effort" => Some(RungKind::Effort),
        "model" => Some(RungKind::Model),
        "effort_or_model" => Some(RungKind::EffortOrModel),
        "vendor" => Some(RungKind::Vendor),
        "human" => Some(RungKind::Human),
        other => return Err(unknown(other, "is not a rung", &WORDS)),
    };
    let number = pieces.next();
    if pieces.next().is_some() {
        return Err(Refusal::new(
            format!("{text:?} has a colon too many"),
            "write NAME:ITERATIONS, for example fresh:2",
        ));
    }
    match (kind, number) {
        (Some(RungKind::Human), Some(_)) => {
            Err(Refusal::new("human takes no number of iterations", "write human: the loop waits there for a person"))
        }
        (Some(RungKind::Human), None) => Ok(Part::One(Rung { kind: RungKind::Human, iterations: 0 })),
        (Some(kind), number) => Ok(Part::One(Rung { kind, iterations: iterations(text, number)? })),
        (None, number) => Ok(Part::Mutations(iterations(text, number)?)),
    }
}

/// Reads `branches` and `branches:2x3`.
fn branches(text: &str, numbers: Option<&str>, more: Option<&str>) -> Result<Part, Refusal> {
    let Some(numbers) = numbers else { return Ok(Part::Branches) };
    let wrong = || {
        let why = format!("{:?} must be branches:COUNTxITERATIONS", text::one_line(text, 60));
        Refusal::new(
            why,
            format!(
                "for example branches:2x2: 2 to {BRANCHES_MAX} branches with up to {ITERATIONS_MAX} iterations each"
            ),
        )
    };
    let number = |text: &str| text.parse::<u32>().ok().filter(|_| !text.starts_with('+'));
    let parsed = numbers.split_once('x').and_then(|(count, each)| Some((number(count)?, number(each)?)));
    match parsed {
        Some((count, iterations))
            if more.is_none() && (2..=BRANCHES_MAX).contains(&count) && (1..=ITERATIONS_MAX).contains(&iterations) =>
        {
            Ok(Part::One(Rung { kind: RungKind::Branches(count), iterations }))
        }
        Some(_) | None => Err(wrong()),
    }
}

fn mutation(word: Option<&str>) -> Result<MutationKind, Refusal> {
    let words = MutationKind::ALL.map(MutationKind::word);
    let word = word.unwrap_or_default();
    let known = MutationKind::ALL.into_iter().find(|kind| kind.word() == word);
    known.ok_or_else(|| unknown(word, "is not a form of the task", &words))
}

fn iterations(rung: &str, number: Option<&str>) -> Result<u32, Refusal> {
    let Some(number) = number else { return Ok(ITERATIONS) };
    let fits = number.parse::<u32>().ok().filter(|count| (1..=ITERATIONS_MAX).contains(count));
    fits.filter(|_| !number.starts_with('+')).ok_or_else(|| {
        let why =
            format!("{:?} must end in a number of iterations from 1 to {ITERATIONS_MAX}", text::one_line(rung, 60));
        Refusal::new(why, "for example fresh:2")
    })
}

fn unknown(word: &str, what: &str, words: &[&str]) -> Refusal {
    let hint = match text::nearest(word, words.iter().copied()) {
        Some(near) => format!("did you mean {near}?"),
        None => format!("use one of: {}", words.join(", ")),
    };
    Refusal::new(format!("{:?} {what}", text::one_line(word, 60)), hint)
}
