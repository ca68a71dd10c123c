//! What a provider said about its limits while an agent worked: windows with what is used of them and when they reset.
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::failure::{Failure, Reset, ResetSource};
use super::reset;

/// The most windows that are kept of one attempt.
pub const WINDOWS_MAX: usize = 8;
/// The longest name of a window.
const NAME_BYTES_MAX: usize = 40;
/// The name of a limit that the provider did not name.
pub const UNNAMED: &str = "limit";

/// One limit of a provider, as it was said last in an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitWindow {
    /// Its name: `five_hour`, `seven_day`, `day`, `limit` where it has none.
    pub name: String,
    /// How much of it is used, in thousandths; none where that was not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_permille: Option<u32>,
    /// When it begins again, in milliseconds since 1970; none where that was not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resets_ms: Option<u64>,
    /// Whether it is reached.
    pub state: WindowState,
    /// How that is known.
    pub source: WindowSource,
}

/// How a window stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WindowState {
    /// Calls are answered.
    #[default]
    Open,
    /// They are, and the provider warns.
    Near,
    /// They are refused.
    Reached,
}

/// How a window is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WindowSource {
    /// An event in the agent's stream.
    Event,
    /// The file that the agent's program keeps of its session.
    SessionFile,
    /// A field of an error of the provider's.
    Error,
    /// The words of an error.
    Text,
}

impl WindowState {
    /// All of them with their words.
    pub const ALL: [(Self, &'static str); 3] = [(Self::Open, "open"), (Self::Near, "near"), (Self::Reached, "reached")];

    /// Its word.
    #[must_use]
    pub fn word(self) -> &'static str {
        Self::ALL.iter().find(|(state, _)| *state == self).map_or("open", |(_, word)| *word)
    }

    /// The state of that word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == word).map(|(state, _)| *state)
    }
}

impl WindowSource {
    /// All of them with their words.
    pub const ALL: [(Self, &'static str); 4] =
        [(Self::Event, "event"), (Self::SessionFile, "session_file"), (Self::Error, "error"), (Self::Text, "text")];

    /// Its word.
    #[must_use]
    pub fn word(self) -> &'static str {
        Self::ALL.iter().find(|(source, _)| *source == self).map_or("event", |(_, word)| *word)
    }

    /// The source of that word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == word).map(|(source, _)| *source)
    }
}

/// A name that a provider gave, if it can be one: letters, digits, `_`, `-` and `.`.
#[must_use]
pub fn name(text: &str) -> Option<String> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    let can_be = !text.is_empty() && text.len() <= NAME_BYTES_MAX && text.bytes().all(fits);
    can_be.then(|| text.to_ascii_lowercase())
}

/// The name of a window that is so many minutes long: by its length, since programs do not agree about its slot.
#[must_use]
pub fn name_of_minutes(minutes: u64) -> String {
    match minutes {
        300 => "five_hour".to_owned(),
        1440 => "day".to_owned(),
        10_080 => "seven_day".to_owned(),
        minutes if minutes % 1440 == 0 => format!("{}_day", minutes / 1440),
        minutes if minutes % 60 == 0 => format!("{}_hour", minutes / 60),
        minutes => format!("{minutes}_minute"),
    }
}

/// How long a window of this name lasts, in milliseconds; none where its name does not say it.
#[must_use]
pub fn length_ms(name: &str) -> Option<u64> {
    const HOUR: u64 = 3_600_000;
    let (count, rest) = match name.split_once('_') {
        Some(("five", rest)) => (5, rest),
        Some(("seven", rest)) => (7, rest),
        Some((count, rest)) => (count.parse::<u64>().ok().filter(|count| (1..=100_000).contains(count))?, rest),
        None => (1, name),
    };
    // `seven_day_opus`: a window of seven days for one model.
    let unit = match rest.split('_').next()? {
        "minute" => HOUR / 60,
        "hour" => HOUR,
        "day" => 24 * HOUR,
        _ => return None,
    };
    Some(count * unit)
}

/// A share as a number from 0 to 1, in thousandths. More than all is all.
#[must_use]
pub fn permille_of_share(share: &Value) -> Option<u32> {
    permille(share.as_f64()? * 1000.0)
}

/// A share in percent, in thousandths.
#[must_use]
pub fn permille_of_percent(percent: &Value) -> Option<u32> {
    permille(percent.as_f64()? * 10.0)
}

fn permille(thousandths: f64) -> Option<u32> {
    // Text, since core makes no cast that may lose.
    let known = thousandths.is_finite() && thousandths >= 0.0;
    known.then(|| format!("{:.0}", thousandths.min(1000.0))).and_then(|text| text.parse().ok())
}

/// Takes what was said newest about a window: one of the same name is replaced.
pub fn keep(windows: &mut Vec<LimitWindow>, window: LimitWindow) {
    if let Some(known) = windows.iter_mut().find(|known| known.name == window.name) {
        *known = window;
    } else if windows.len() < WINDOWS_MAX {
        windows.push(window);
    }
}

/// The windows of a record `rate_limits` as codex writes it: `primary` and `secondary`, each by its length.
#[must_use]
pub fn of_rate_limits(limits: &Value, source: WindowSource) -> Vec<LimitWindow> {
    let mut windows = Vec::new();
    for slot in ["primary", "secondary"] {
        let Some(limit) = limits.get(slot).filter(|limit| limit.is_object()) else { continue };
        let used = limit.get("used_percent").and_then(permille_of_percent);
        let minutes = limit.get("window_minutes").and_then(Value::as_u64).filter(|minutes| *minutes > 0);
        let resets_ms = limit.get("resets_at").and_then(reset::in_field);
        if used.is_none() && resets_ms.is_none() {
            continue;
        }
        let name = minutes.map_or_else(|| slot.to_owned(), name_of_minutes);
        let state = if used == Some(1000) { WindowState::Reached } else { WindowState::Open };
        keep(&mut windows, LimitWindow { name, used_permille: used, resets_ms, state, source });
    }
    windows
}

/// The window that a refused call tells of, where nothing else did.
#[must_use]
pub fn of_refusal(failure: Option<Failure>, reset: Option<Reset>, words: &str) -> Option<LimitWindow> {
    if failure != Some(Failure::RateLimit) {
        return None;
    }
    let lower = words.to_ascii_lowercase();
    let said = |any: &[&str]| any.iter().any(|word| lower.contains(word));
    let name = match () {
        () if said(&["perday", "per day", "daily quota", "daily limit"]) => "day",
        () if said(&["perminute", "per minute"]) => "1_minute",
        () => UNNAMED,
    };
    // Neither a name nor an end: it says nothing that helps later.
    if name == UNNAMED && reset.is_none() {
        return None;
    }
    let source = match reset.map(|reset| reset.source) {
        Some(ResetSource::Provider) => WindowSource::Error,
        Some(ResetSource::Text) | None => WindowSource::Text,
    };
    let resets_ms = reset.map(|reset| reset.at_ms);
    Some(LimitWindow { name: name.to_owned(), used_permille: None, resets_ms, state: WindowState::Reached, source })
}
