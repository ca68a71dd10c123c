//! What an error of the protocol means: fields first, then the words of the error, never what the model said.
use serde_json::Value;

use super::text_at;
use crate::agent::provider::failure::{Failure, Reset, ResetSource};
use crate::agent::provider::reset;
use crate::agent::provider::wording::{ProviderError, Vendor, of_code};
use crate::agent::reading::End;

/// The protocol's own: sign in first.
const SIGN_IN_FIRST: i64 = -32000;

/// The class of an error of the protocol; none where nothing tells it.
pub(super) fn class(vendor: Vendor, error: &Value) -> Option<Failure> {
    let data = error.get("data").unwrap_or(&Value::Null);
    let kind = text_at(data, &["errorKind"]).filter(|kind| of_code(kind).is_some());
    let number = error.get("code").and_then(Value::as_i64);
    if kind.is_none() && number == Some(SIGN_IN_FIRST) {
        return Some(Failure::Auth);
    }
    let status = ["status", "statusCode", "status_code", "code"].iter().find_map(|name| data.get(name)?.as_u64());
    let status = status.or_else(|| number.and_then(|number| u64::try_from(number).ok()));
    let words = words(error);
    ProviderError { vendor, code: kind, status, words: &words }.class().or_else(|| class_of_status_in(&words))
}

/// The class of the words of an error; a status of HTTP among them counts last.
pub(super) fn class_of_words(vendor: Vendor, words: &str) -> Option<Failure> {
    ProviderError::of_words(vendor, words).class().or_else(|| class_of_status_in(words))
}

/// These agents pass on little more than words, in which a status may stand anywhere.
fn class_of_status_in(words: &str) -> Option<Failure> {
    let numbers = words.split(|letter: char| !letter.is_ascii_alphanumeric());
    let mut statuses = numbers.filter(|number| number.len() == 3).filter_map(|number| number.parse().ok());
    statuses.find_map(|number: u64| Failure::of_status(number).filter(|_| number >= 400))
}

/// All words of an error: what it says, and what it has in its data.
pub(super) fn words(error: &Value) -> String {
    let message = text_at(error, &["message"]).unwrap_or_default();
    let data = error.get("data").filter(|data| !data.is_null());
    let detail = data.and_then(|data| {
        let names = ["message", "details", "detail", "error"];
        names.iter().find_map(|name| text_at(data, &[name])).or_else(|| data.as_str())
    });
    match detail {
        Some(detail) if !message.contains(detail) => format!("{message}: {detail}"),
        Some(_) | None => message.to_owned(),
    }
}

/// When the provider goes on, by what an error says.
pub(super) fn reset(error: &Value, end: &End<'_>) -> Option<Reset> {
    let data = error.get("data").unwrap_or(&Value::Null);
    let moment = ["resetsAt", "resets_at"].iter().find_map(|name| reset::in_field(data.get(name)?));
    let wait = || {
        ["retryAfter", "retry_after", "retryDelay", "resets_in_seconds"].iter().find_map(|name| {
            let value = data.get(name)?;
            let seconds = value.as_f64().or_else(|| value.as_str()?.trim_end_matches('s').parse().ok())?;
            reset::after(seconds, end.now_ms)
        })
    };
    let told = moment.or_else(wait).map(|at_ms| Reset { at_ms, source: ResetSource::Provider });
    told.or_else(|| reset::in_words(&words(error), end.clock()))
}
