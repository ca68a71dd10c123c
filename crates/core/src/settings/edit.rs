//! Changes one line of the user's file and leaves every other byte as it is.
use toml_edit::{Array, DocumentMut, value};

use super::catalogue::Key;
use super::error::SettingsError;
use super::value::Kind;

/// The text with the key set. The value was read by the catalogue before.
///
/// # Errors
/// When the text is not TOML.
pub fn set(text: &str, file: &str, key: &Key, canonical: &str) -> Result<String, SettingsError> {
    let mut document = parse(text, file)?;
    let number = canonical.parse::<i64>().ok().filter(|_| matches!(key.kind, Kind::CountOrUnlimited(_)));
    let item = match key.kind {
        Kind::Switch => value(canonical == "true"),
        Kind::Paths | Kind::Findings | Kind::Gates | Kind::Prices | Kind::Models | Kind::Failures => {
            value(canonical.lines().collect::<Array>())
        }
        Kind::Fraction => canonical.parse::<f64>().map_or_else(|_| value(canonical), value),
        Kind::CountOrUnlimited(_)
        | Kind::Duration
        | Kind::DurationOrUnlimited
        | Kind::DurationOrNone
        | Kind::SizeOrUnlimited
        | Kind::MoneyOrUnlimited
        | Kind::Choice(_)
        | Kind::Ladder
        | Kind::Command
        | Kind::Word
        | Kind::Agents
        | Kind::Text
        | Kind::Path => number.map_or_else(|| value(canonical), value),
    };
    // Keeps the comment that stands behind the old value.
    match document.get_mut(key.name).and_then(toml_edit::Item::as_value_mut) {
        Some(old) => {
            let decor = old.decor().clone();
            if let Ok(mut new) = item.into_value() {
                *new.decor_mut() = decor;
                *old = new;
            }
        }
        None => {
            document.insert(key.name, item);
        }
    }
    Ok(document.to_string())
}

/// The text without the key.
///
/// # Errors
/// When the text is not TOML.
pub fn unset(text: &str, file: &str, key: &Key) -> Result<String, SettingsError> {
    let mut document = parse(text, file)?;
    document.remove(key.name);
    Ok(document.to_string())
}

fn parse(text: &str, file: &str) -> Result<DocumentMut, SettingsError> {
    text.parse().map_err(|error: toml_edit::TomlError| SettingsError::Syntax {
        place: file.to_owned(),
        why: error.message().to_owned(),
    })
}
