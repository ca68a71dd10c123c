//! `[prices."MODEL"]` in the user's own file: what tokens cost, read into the text of the key `prices`.
use std::collections::BTreeMap;

use toml_edit::{Document, Item, TableLike, Value};

use super::amounts::SettingValue;
use super::error::SettingsError;
use super::files::place;
use super::value::Kind;
use crate::policy::failures::FailureTable;
use crate::policy::ladder::Ladder;
use crate::policy::prices::{Price, Prices};
use crate::policy::router::{AgentList, ModelTable};
use crate::refusal::Refusal;

/// The key, and the table in its place.
pub(super) const KEY: &str = "prices";

impl SettingValue for Prices {
    fn read(text: &str) -> Self {
        Self::parse(text).unwrap_or_default()
    }

    fn fits(kind: Kind) -> bool {
        kind == Kind::Prices
    }
}

impl SettingValue for AgentList {
    fn read(text: &str) -> Self {
        Self::parse(text).unwrap_or_default()
    }

    fn fits(kind: Kind) -> bool {
        kind == Kind::Agents
    }
}

impl SettingValue for ModelTable {
    fn read(text: &str) -> Self {
        Self::parse(text).unwrap_or_default()
    }

    fn fits(kind: Kind) -> bool {
        kind == Kind::Models
    }
}

impl SettingValue for FailureTable {
    fn read(text: &str) -> Self {
        Self::parse(text).unwrap_or_default()
    }

    fn fits(kind: Kind) -> bool {
        kind == Kind::Failures
    }
}

impl SettingValue for Ladder {
    fn read(text: &str) -> Self {
        Self::parse(text).unwrap_or_default()
    }

    fn fits(kind: Kind) -> bool {
        kind == Kind::Ladder
    }
}

/// The prices in the tables of a TOML file, in their order; empty where it has none.
///
/// # Errors
/// The first thing that is wrong, with file, line and model.
pub fn prices_from_toml(text: &str, file: &str) -> Result<Prices, SettingsError> {
    let document = Document::parse(text).map_err(|error| SettingsError::Syntax {
        place: place(file, text, error.span().map(|span| span.start)),
        why: error.message().to_owned(),
    })?;
    let Some(tables) = document.as_table().get(KEY).and_then(Item::as_table_like) else {
        return Ok(Prices::default());
    };
    let mut lines = Vec::new();
    for (model, item) in tables.iter() {
        let start = tables.key(model).and_then(|key| key.span()).or_else(|| item.span());
        let at = place(file, text, start.map(|span| span.start));
        let wrong = |refusal| bad(&at, model, refusal);
        let Some(table) = item.as_table_like() else {
            let hint = format!("write [prices.{model:?}]");
            return Err(wrong(Refusal::new(format!("it must be a table and is {}", item.type_name()), hint)));
        };
        let told = amounts(table, text).map_err(wrong)?;
        let told = told.iter().map(|(what, amount)| (*what, amount.as_str())).collect();
        lines.push(Price::of(model, &told).map_err(wrong)?.to_string());
    }
    let whole = place(file, text, document.as_table().key(KEY).and_then(|key| key.span()).map(|span| span.start));
    Prices::parse(&lines.join("\n")).map_err(|refusal| bad(&whole, KEY, refusal))
}

fn bad(place: &str, value: &str, Refusal { why, hint }: Refusal) -> SettingsError {
    SettingsError::BadValue { place: place.to_owned(), key: KEY, value: value.to_owned(), why, hint }
}

/// Amounts as they are written: a number that went through a float is another one.
fn amounts<'a>(table: &'a dyn TableLike, text: &str) -> Result<BTreeMap<&'a str, String>, Refusal> {
    let mut told = BTreeMap::new();
    for (what, item) in table.iter() {
        let written = match item.as_value() {
            Some(Value::String(text)) => text.value().clone(),
            Some(Value::Integer(_) | Value::Float(_)) => {
                item.span().and_then(|span| text.get(span)).unwrap_or_default().replace('_', "")
            }
            Some(Value::Boolean(_) | Value::Datetime(_) | Value::Array(_) | Value::InlineTable(_)) | None => {
                let why = format!("{what} must be a number and is {}", item.type_name());
                return Err(Refusal::new(why, format!("for example {what} = 3.00")));
            }
        };
        told.insert(what, written);
    }
    Ok(told)
}
