//! What tokens cost, by a table of the user's: for agents that report tokens but no cost.
use std::collections::BTreeMap;
use std::fmt;

use super::budget::{MICROS, money_exact, parse_money};
use crate::agent::Usage;
use crate::agent::env::environment::glob_fits;
use crate::machine::Deciding;
use crate::refusal::Refusal;
use crate::text::nearest;

/// At most so many prices: they are in the first fact of a run.
pub const PRICES_MAX: usize = 32;
/// And so long may they be together.
const BYTES_MAX: usize = 2048;
/// A model's name.
const MODEL_BYTES_MAX: usize = 128;
/// What has a price.
pub const WORDS: [&str; 4] = ["input", "output", "cache_read", "cache_write"];

/// What a million tokens of a model cost, in millionths of a dollar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Price {
    /// Which models: `*` stands for anything.
    pub model: String,
    /// Tokens that go in.
    pub input: u64,
    /// Tokens that come out.
    pub output: u64,
    /// Tokens that go in from a cache; as dear as others where nothing is said.
    pub cache_read: u64,
    /// Tokens that are put into a cache; the same.
    pub cache_write: u64,
}

/// All prices. The first that fits a model holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prices(Vec<Price>);

const EXAMPLE: &str = "for example claude-sonnet* input=3.00 output=15.00 cache_read=0.30 cache_write=3.75";

impl Prices {
    /// Reads one price a line: `MODEL-GLOB input=3.00 output=15.00 cache_read=0.30 cache_write=3.75`, in dollars a
    /// million tokens. Empty lines and those that begin with `#` say nothing.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        let mut prices = Self::default();
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        for line in lines {
            let mut words = line.split_whitespace();
            let model = words.next().unwrap_or_default();
            let mut told = BTreeMap::new();
            for word in words {
                let Some((what, amount)) = word.split_once('=') else {
                    return Err(Refusal::new(format!("{model}: {word:?} is not a price"), EXAMPLE));
                };
                if told.insert(what, amount).is_some() {
                    return Err(Refusal::new(format!("{model}: {what} stands there twice"), "take one out"));
                }
            }
            prices.add(Price::of(model, &told)?)?;
        }
        if prices.to_string().len() > BYTES_MAX {
            return Err(Refusal::new(format!("they are longer than {BYTES_MAX} bytes"), "take some out"));
        }
        Ok(prices)
    }

    fn add(&mut self, price: Price) -> Result<(), Refusal> {
        if self.0.len() == PRICES_MAX {
            return Err(Refusal::new(format!("there are more than {PRICES_MAX} prices"), "take some out"));
        }
        if self.0.iter().any(|other| other.model == price.model) {
            return Err(Refusal::new(format!("{} has a price already", price.model), "take one of them out"));
        }
        self.0.push(price);
        Ok(())
    }

    /// The price of a model. A model without a line of its own has the price of `*`.
    #[must_use]
    pub fn of(&self, model: Option<&str>) -> Option<&Price> {
        self.0.iter().find(|price| glob_fits(&price.model, model.unwrap_or_default()))
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The canonical text: what [`Prices::parse`] reads.
impl fmt::Display for Prices {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        out.write_str(&lines.join("\n"))
    }
}

impl Price {
    /// Reads a price from the amounts of a line.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn of(model: &str, told: &BTreeMap<&str, &str>) -> Result<Self, Refusal> {
        let fits = |letter: char| !letter.is_whitespace() && !letter.is_control() && letter != '=';
        if model.is_empty() || model.len() > MODEL_BYTES_MAX || model.starts_with('#') || !model.chars().all(fits) {
            return Err(Refusal::new(format!("{model:?} is not a name of a model"), EXAMPLE));
        }
        if let Some(what) = told.keys().find(|what| !WORDS.contains(what)) {
            let hint = match nearest(what, WORDS) {
                Some(near) => format!("did you mean {near}?"),
                None => format!("a price has: {}", WORDS.join(", ")),
            };
            return Err(Refusal::new(format!("{model}: there is no price called {what}"), hint));
        }
        let read = |what: &str| {
            let amount = told.get(what).map(|amount| parse_money(amount)).transpose();
            amount.map_err(|Refusal { why, hint }| Refusal::new(format!("{model}: {what}: {why}"), hint))
        };
        let missing = |what: &str| Refusal::new(format!("{model}: {what} is missing"), EXAMPLE);
        let input = read("input")?.ok_or_else(|| missing("input"))?;
        let output = read("output")?.ok_or_else(|| missing("output"))?;
        let cache_read = read("cache_read")?.unwrap_or(input);
        let cache_write = read("cache_write")?.unwrap_or(input);
        Ok(Self { model: model.to_owned(), input, output, cache_read, cache_write })
    }

    /// What these tokens cost, rounded up; none unless it is known how many went in and how many came out.
    #[must_use]
    pub fn cost_micros(&self, usage: &Usage) -> Option<u64> {
        let parts = [
            (usage.input_tokens?, self.input),
            (usage.output_tokens?, self.output),
            (usage.cache_read_tokens.unwrap_or(0), self.cache_read),
            (usage.cache_creation_tokens.unwrap_or(0), self.cache_write),
        ];
        let cost = |(tokens, price): (u64, u64)| u128::from(tokens).saturating_mul(u128::from(price));
        let sum = parts.into_iter().map(cost).fold(0_u128, u128::saturating_add);
        Some(u64::try_from(sum.div_ceil(u128::from(MICROS))).unwrap_or(u64::MAX))
    }
}

impl fmt::Display for Price {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let amounts = [self.input, self.output, self.cache_read, self.cache_write];
        out.write_str(&self.model)?;
        WORDS.iter().zip(amounts).try_for_each(|(word, amount)| write!(out, " {word}={}", money_exact(amount)))
    }
}

/// What a call cost in millionths of a dollar: what its program reported, else by the table; none where neither has it.
#[must_use]
pub fn cost_of(usage: &Usage, model: Option<&str>, prices: &Prices, _: &Deciding) -> Option<u64> {
    usage.cost_micros.or_else(|| prices.of(model)?.cost_micros(usage))
}
