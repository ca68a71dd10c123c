//! The table of models: what each is good for and what it costs. The order of its rows is the order of escalation.
use std::fmt;

use super::agents::AgentArm;
use crate::refusal::Refusal;

/// At most so many rows: they are in the first fact of a run.
const ROWS_MAX: usize = 24;
/// And so long may they be together.
const BYTES_MAX: usize = 2048;
const EXAMPLE: &str = "for example: codex gpt-5.2 $$ 400k implementation: code generation, builds";

/// The table of the specification. The names are defaults: one that the installed program refuses is skipped.
const BUILT_IN: &str = "\
gemini gemini-3-flash $ 1M speed: simple tasks, summarization
gemini gemini-3-pro $$ 1M context: research, large codebase
codex gpt-5.2 $$ 400k implementation: code generation, builds
claude claude-sonnet-4 $$$ 200k balance: complex tasks, review
claude claude-opus-4.5 $$$$ 200k intelligence: hardest problems, final review";

/// What a model costs against others: from 1 (`$`) to 4 (`$$$$`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CostClass(u8);

impl CostClass {
    fn parse(text: &str) -> Option<Self> {
        let all = text.bytes().all(|byte| byte == b'$');
        u8::try_from(text.len()).ok().filter(|count| all && (1..=4).contains(count)).map(Self)
    }
}

impl fmt::Display for CostClass {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        (0..self.0).try_for_each(|_| out.write_str("$"))
    }
}

/// One model of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelRow {
    /// The agent that it works in.
    pub agent: String,
    /// Its name, as the agent takes it.
    pub model: String,
    /// What it costs against the others.
    pub cost: CostClass,
    /// How many tokens it can have before it at once.
    pub context_tokens: u64,
    /// What it is strong at, in a word.
    pub strength: String,
    /// What it is for.
    pub use_for: String,
}

impl ModelRow {
    /// The agent with this model.
    #[must_use]
    pub fn arm(&self) -> AgentArm {
        AgentArm::new(&self.agent, Some(&self.model))
    }

    fn parse(line: &str) -> Result<Self, Refusal> {
        let wrong = |why: String| Refusal::new(why, EXAMPLE);
        let mut words = line.split_whitespace();
        let (Some(agent), Some(model), Some(cost), Some(context)) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return Err(wrong(format!("{line:?} has not agent, model, cost and context")));
        };
        // The same rule as for the list of agents.
        super::agents::AgentList::parse(&format!("{agent}:{model}"))?;
        let cost = CostClass::parse(cost).ok_or_else(|| wrong(format!("{cost:?} is not a cost from $ to $$$$")))?;
        let context_tokens = tokens(context)
            .ok_or_else(|| wrong(format!("{context:?} is not a number of tokens such as 200k or 1M")))?;
        let rest = words.collect::<Vec<_>>().join(" ");
        let (strength, use_for) = rest.split_once(':').unwrap_or((rest.as_str(), ""));
        Ok(Self {
            agent: agent.to_owned(),
            model: model.to_owned(),
            cost,
            context_tokens,
            strength: strength.trim().to_owned(),
            use_for: use_for.trim().to_owned(),
        })
    }
}

impl fmt::Display for ModelRow {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { agent, model, cost, strength, use_for, .. } = self;
        write!(out, "{agent} {model} {cost} {}", self.context_text())?;
        match (strength.is_empty(), use_for.is_empty()) {
            (true, true) => Ok(()),
            (false, true) => write!(out, " {strength}"),
            (_, false) => write!(out, " {strength}: {use_for}"),
        }
    }
}

impl ModelRow {
    /// Its context in short: `200k`, `1M`.
    #[must_use]
    pub fn context_text(&self) -> String {
        match self.context_tokens {
            tokens if tokens % 1_000_000 == 0 => format!("{}M", tokens / 1_000_000),
            tokens if tokens % 1000 == 0 => format!("{}k", tokens / 1000),
            tokens => tokens.to_string(),
        }
    }
}

fn tokens(text: &str) -> Option<u64> {
    let (number, unit) = match text.strip_suffix(['k', 'K']) {
        Some(number) => (number, 1000),
        None => text.strip_suffix('M').map_or((text, 1), |number| (number, 1_000_000)),
    };
    number.parse::<u64>().ok().and_then(|number| number.checked_mul(unit)).filter(|tokens| *tokens > 0)
}

/// All models, the cheapest and weakest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelTable(Vec<ModelRow>);

/// The table that is built in.
impl Default for ModelTable {
    fn default() -> Self {
        Self(BUILT_IN.lines().filter_map(|line| ModelRow::parse(line).ok()).collect())
    }
}

impl ModelTable {
    /// Reads one model a line: `AGENT MODEL COST CONTEXT STRENGTH: USE`. No line is the built-in table.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        let mut rows: Vec<ModelRow> = Vec::new();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let row = ModelRow::parse(line)?;
            if rows.iter().any(|other| other.arm() == row.arm()) {
                return Err(Refusal::new(format!("{} stands there twice", row.arm()), "take one out"));
            }
            rows.push(row);
        }
        if rows.is_empty() {
            return Ok(Self::default());
        }
        let table = Self(rows);
        if table.0.len() > ROWS_MAX || table.to_string().len() > BYTES_MAX {
            let why = format!("there are more than {ROWS_MAX} models, or more than {BYTES_MAX} bytes");
            return Err(Refusal::new(why, "take some out"));
        }
        Ok(table)
    }

    /// The rows, in the order of escalation.
    #[must_use]
    pub fn rows(&self) -> &[ModelRow] {
        &self.0
    }

    /// The rows that these agents may use: all models of an agent that is named alone, else those that are named.
    pub fn enabled<'a>(&'a self, enabled: &'a [AgentArm]) -> impl DoubleEndedIterator<Item = &'a ModelRow> {
        self.0.iter().filter(|row| enabled.iter().any(|arm| self.allows(arm, row)))
    }

    fn allows(&self, arm: &AgentArm, row: &ModelRow) -> bool {
        arm.agent == row.agent && arm.model.as_deref().is_none_or(|model| same_model(model, &row.model))
    }

    /// The scarcest model: the one of the highest cost, of several the last.
    #[must_use]
    pub fn scarcest(&self) -> Option<&ModelRow> {
        self.0.iter().max_by_key(|row| row.cost)
    }

    /// The row of a choice. An agent without a model stands at its cheapest row.
    #[must_use]
    pub fn position(&self, current: &AgentArm) -> Option<usize> {
        let of_agent = |row: &ModelRow| row.agent == current.agent;
        let exact = |model: &str| self.0.iter().position(|row| of_agent(row) && same_model(model, &row.model));
        current.model.as_deref().and_then(exact).or_else(|| self.0.iter().position(of_agent))
    }

    /// Whether this model of this agent is the scarcest one. Its name may have a date, dots or dashes, or be the
    /// short name that its agent knows: `opus`.
    #[must_use]
    pub fn is_scarcest(&self, agent: &str, model: &str) -> bool {
        let Some(row) = self.scarcest().filter(|row| row.agent == agent) else { return false };
        if same_model(model, &row.model) {
            return true;
        }
        let others: Vec<&str> =
            self.0.iter().filter(|other| other.agent == agent && other.model != row.model).flat_map(words_of).collect();
        let own: Vec<&str> = words_of(row).filter(|word| !others.contains(word)).collect();
        let said: Vec<String> = words(model).map(str::to_lowercase).collect();
        !others.is_empty() && own.iter().any(|word| said.iter().any(|said| said.eq_ignore_ascii_case(word)))
    }
}

/// The words of a name that are not numbers.
fn words_of(row: &ModelRow) -> impl Iterator<Item = &str> {
    words(&row.model).filter(|word| word.chars().any(char::is_alphabetic))
}

fn words(name: &str) -> impl Iterator<Item = &str> {
    name.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// Whether two names are of one model: the same words, also where one has a date behind.
fn same_model(one: &str, other: &str) -> bool {
    let is_date = |word: &&str| word.len() == 8 && word.bytes().all(|byte| byte.is_ascii_digit());
    let plain = |name: &str| -> Vec<String> {
        let name = name.rsplit('/').next().unwrap_or(name);
        words(name).filter(|word| !is_date(word)).map(str::to_lowercase).collect()
    };
    plain(one) == plain(other)
}

/// The canonical text: what [`ModelTable::parse`] reads.
impl fmt::Display for ModelTable {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        out.write_str(&lines.join("\n"))
    }
}

/// One step up from the current model: the next row that is enabled and was not refused. None at the top.
#[must_use]
pub fn next_up<'a>(
    table: &'a ModelTable,
    current: &AgentArm,
    enabled: &'a [AgentArm],
    refused: &[AgentArm],
) -> Option<&'a ModelRow> {
    let from = table.position(current).map_or(0, |at| at + 1);
    let above = table.rows().get(from..).unwrap_or_default();
    let may = |row: &&ModelRow| !refused.contains(&row.arm()) && enabled.iter().any(|arm| table.allows(arm, row));
    above.iter().find(may)
}

/// The cheapest enabled model that was not refused.
#[must_use]
pub fn cheapest<'a>(table: &'a ModelTable, enabled: &'a [AgentArm], refused: &[AgentArm]) -> Option<&'a ModelRow> {
    table.enabled(enabled).filter(|row| !refused.contains(&row.arm())).min_by_key(|row| row.cost)
}
