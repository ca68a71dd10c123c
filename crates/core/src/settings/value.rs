//! Kinds of values and how their text is read. A value is kept as its canonical text.

use super::gates;
use crate::policy::budget::{money_exact, parse_money};
use crate::policy::failures::FailureTable;
use crate::policy::ladder::Ladder;
use crate::policy::prices::Prices;
use crate::policy::proof::FindingKind;
use crate::policy::router::{ModelTable, parse_agents};
use crate::refusal::Refusal;
use crate::time;

/// The word that lifts a limit.
pub const UNLIMITED: &str = "unlimited";
/// A command longer than this belongs into a script.
const COMMAND_BYTES_MAX: usize = 3072;
/// No loop is meant to take longer.
const LONGEST_MS: u64 = 10 * 365 * 24 * 3600 * 1000;
/// Texts are in the first fact of a run, which is bounded.
const LONG_TEXT_BYTES_MAX: usize = 2048;
/// A path or a word.
const TEXT_BYTES_MAX: usize = 4096;

/// What a key takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A whole number from 1 up to this, or `unlimited`.
    CountOrUnlimited(u32),
    /// `30s`, `5m`, `1h30m`; never zero.
    Duration,
    /// The same, or `unlimited`.
    DurationOrUnlimited,
    /// The same, or `none`.
    DurationOrNone,
    /// `500MiB`, `10GiB`, or `unlimited`; never zero.
    SizeOrUnlimited,
    /// `2.50` dollars, or `unlimited`; never zero.
    MoneyOrUnlimited,
    /// A part of one: `0.15`.
    Fraction,
    /// Gates, one a line.
    Gates,
    /// Prices, one a line.
    Prices,
    /// What follows from classes of failure.
    Failures,
    /// What is tried when a loop is stuck.
    Ladder,
    /// `true` or `false`.
    Switch,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A shell command.
    Command,
    /// A word: letters, digits, dashes and underscores.
    Word,
    /// One agent, a list of them, or `auto`.
    Agents,
    /// Models, one a line.
    Models,
    /// Any text.
    Text,
    /// A path.
    Path,
    /// Paths, one a line.
    Paths,
    /// What may speak against a pass, one a line.
    Findings,
}

impl Kind {
    /// What it takes, in words for a reference page.
    #[must_use]
    pub fn describe(self) -> String {
        match self {
            Self::CountOrUnlimited(most) => format!("1 to {most}, or `{UNLIMITED}`"),
            Self::Duration => "a duration: `30s`, `5m`, `1h30m`".to_owned(),
            Self::DurationOrUnlimited => format!("a duration, or `{UNLIMITED}`"),
            Self::DurationOrNone => "a duration, or `none`".to_owned(),
            Self::SizeOrUnlimited => format!("a size: `500MiB`, `10GiB`, or `{UNLIMITED}`"),
            Self::MoneyOrUnlimited => format!("dollars: `2.50`, or `{UNLIMITED}`"),
            Self::Fraction => "a number from 0 to 1: `0.15`, or percent: `15%`".to_owned(),
            Self::Gates => "gates: `NAME=CMD` or `NAME[2of3,timeout=2m,order=1,watch]=CMD`".to_owned(),
            Self::Failures => "classes of failure: `overload wait 10m 50`, `refusal stop`, one a line".to_owned(),
            Self::Prices => "prices: `MODEL-GLOB input=3.00 output=15.00`, one a line".to_owned(),
            Self::Ladder => "rungs: `fresh:2, effort_or_model:2, vendor:2, human`".to_owned(),
            Self::Switch => "`true` or `false`".to_owned(),
            Self::Choice(words) => words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", "),
            Self::Command => "a shell command".to_owned(),
            Self::Word => "a word".to_owned(),
            Self::Agents => "agents: `claude`, `claude,codex:gpt-5.2`, or `auto`".to_owned(),
            Self::Models => "models: `AGENT MODEL $$ 400k STRENGTH: USE`, one a line".to_owned(),
            Self::Text => "a text".to_owned(),
            Self::Path => "a path".to_owned(),
            Self::Paths => "paths".to_owned(),
            Self::Findings => {
                let first = FindingKind::ALL.iter().take(4).map(|kind| format!("`{}`", kind.word()));
                format!("findings: {} …", first.collect::<Vec<_>>().join(", "))
            }
        }
    }
}

/// Reads a value.
///
/// # Errors
/// Why it does not fit, and what would.
pub fn parse(kind: Kind, text: &str) -> Result<String, Refusal> {
    let trimmed = text.trim();
    match kind {
        Kind::CountOrUnlimited(_) | Kind::DurationOrUnlimited | Kind::SizeOrUnlimited | Kind::MoneyOrUnlimited
            if [UNLIMITED, "null"].contains(&trimmed) =>
        {
            Ok(UNLIMITED.to_owned())
        }
        Kind::MoneyOrUnlimited => money(trimmed).map(money_exact),
        Kind::Fraction if trimmed.ends_with('%') => percent(trimmed),
        Kind::Fraction => match ten_thousandths(trimmed) {
            Some(_) => Ok(trimmed.to_owned()),
            None => Err(Refusal::new(
                "it must be a number from 0 to 1 with at most 4 digits after the point",
                "for example 0.15",
            )),
        },
        Kind::Gates => gates::read(text).map(|gates| gates::text(&gates)),
        Kind::Failures => FailureTable::parse(text).map(|table| table.to_string()),
        Kind::Prices => Prices::parse(text).map(|prices| prices.to_string()),
        Kind::Ladder => Ladder::parse(text).map(|ladder| ladder.to_string()),
        Kind::SizeOrUnlimited => size(trimmed).map(|_| trimmed.to_owned()),
        Kind::CountOrUnlimited(most) => count(trimmed, most),
        Kind::DurationOrNone if ["none", "0", "0s"].contains(&trimmed) => Ok("none".to_owned()),
        Kind::Duration | Kind::DurationOrUnlimited | Kind::DurationOrNone => {
            duration_ms(trimmed).map(|_| trimmed.to_owned())
        }
        Kind::Switch => match trimmed {
            "true" | "on" | "yes" | "1" => Ok("true".to_owned()),
            "false" | "off" | "no" | "0" => Ok("false".to_owned()),
            _ => Err(Refusal::new("it is a switch", "use true or false")),
        },
        Kind::Findings => findings(trimmed),
        Kind::Choice(words) => choice(trimmed, words),
        Kind::Command => command(text),
        Kind::Word => word(trimmed),
        Kind::Agents => parse_agents(trimmed),
        Kind::Models => ModelTable::parse(text).map(|table| table.to_string()),
        Kind::Text if text.len() > LONG_TEXT_BYTES_MAX => {
            Err(Refusal::new(format!("it is longer than {LONG_TEXT_BYTES_MAX} bytes"), "put it into a file"))
        }
        Kind::Text if text.contains('\0') => Err(Refusal::new("it holds a NUL byte", "take it out")),
        Kind::Text => Ok(text.to_owned()),
        Kind::Path | Kind::Paths if text.is_empty() => Err(Refusal::new("it is empty", "name a file, or leave it out")),
        Kind::Path | Kind::Paths if text.len() > TEXT_BYTES_MAX => {
            Err(Refusal::new(format!("it is longer than {TEXT_BYTES_MAX} bytes"), "use a shorter path"))
        }
        Kind::Path | Kind::Paths => Ok(text.to_owned()),
    }
}

fn findings(text: &str) -> Result<String, Refusal> {
    let known: Vec<&str> =
        FindingKind::ALL.iter().filter(|kind| kind.may_be_accepted()).map(|kind| kind.word()).collect();
    let mut words = Vec::new();
    for word in text.split([',', '\n']).map(str::trim).filter(|word| !word.is_empty()) {
        if FindingKind::accepted_by(word).is_none() {
            return Err(Refusal::new(format!("{word:?} is nothing that can be accepted"), known.join(", ")));
        }
        words.push(word);
    }
    Ok(words.join("\n"))
}

fn count(text: &str, most: u32) -> Result<String, Refusal> {
    match text.parse::<u32>() {
        Ok(number) if (1..=most).contains(&number) && !text.starts_with('+') => Ok(number.to_string()),
        Ok(_) | Err(_) => Err(Refusal::new(
            format!("it must be a whole number from 1 to {most}, or {UNLIMITED}"),
            format!("for example 10, or {UNLIMITED}"),
        )),
    }
}

/// Reads `1h30m`: a number always has its unit, and none is zero.
///
/// # Errors
/// Why it is not a duration, and what would be one.
pub(super) fn duration_ms(text: &str) -> Result<u64, Refusal> {
    let hint = || "write it with a unit: 30s, 5m, 1h30m, 7d".to_owned();
    if let Ok(number) = text.parse::<f64>() {
        let hint = if number == 0.0 { hint() } else { format!("write a unit: {text}s, {text}m, {text}h or {text}d") };
        return Err(Refusal::new("a duration needs a unit", hint));
    }
    let units = text.split(|letter: char| letter.is_ascii_digit() || letter.is_whitespace() || letter == '.');
    if let Some(unit) = units.filter(|unit| !unit.is_empty()).find(|unit| !["ms", "s", "m", "h", "d"].contains(unit)) {
        return Err(Refusal::new(format!("{unit:?} is not a unit of time here"), hint()));
    }
    let ms = time::parse_duration_ms(text).map_err(|why| Refusal::new(why, hint()))?;
    if ms > LONGEST_MS {
        return Err(Refusal::new("it is longer than ten years", hint()));
    }
    if ms == 0 {
        return Err(Refusal::new("a duration of zero would end everything at once", hint()));
    }
    Ok(ms)
}

/// The milliseconds of a duration that was read before; none for `unlimited`.
#[must_use]
pub fn millis(text: &str) -> Option<u64> {
    duration_ms(text).ok()
}

/// Reads `10GiB`: a whole number with its unit, and not zero.
///
/// # Errors
/// Why it is not a size, and what would be one.
fn size(text: &str) -> Result<u64, Refusal> {
    let hint = || "write it with a unit: 500MiB, 10GiB".to_owned();
    let (number, unit) = text.split_at(text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len()));
    let Ok(number) = number.parse::<u64>() else {
        return Err(Refusal::new("it is not a whole number with a unit", hint()));
    };
    let shift = match unit.trim_start() {
        "KiB" => 10,
        "MiB" => 20,
        "GiB" => 30,
        "TiB" => 40,
        "" => return Err(Refusal::new("a size needs a unit", format!("did you mean {number}MiB or {number}GiB?"))),
        unit => {
            return Err(Refusal::new(format!("{unit:?} is not a unit of size here (KiB, MiB, GiB, TiB are)"), hint()));
        }
    };
    match number.checked_mul(1 << shift) {
        Some(0) => Err(Refusal::new("a size of zero would keep nothing", hint())),
        Some(bytes) => Ok(bytes),
        None => Err(Refusal::new("no disk is that large", hint())),
    }
}

/// The bytes of a size that was read before; none for `unlimited`.
#[must_use]
pub fn bytes(text: &str) -> Option<u64> {
    size(text).ok()
}

/// An amount of which zero would allow nothing.
fn money(text: &str) -> Result<u64, Refusal> {
    match parse_money(text)? {
        0 => Err(Refusal::new("an amount of zero would allow no call at all", "for example 2.50")),
        amount => Ok(amount),
    }
}

/// The millionths of a dollar of an amount that was read before; none for `unlimited`.
#[must_use]
pub fn micros(text: &str) -> Option<u64> {
    money(text).ok()
}

/// A share in percent with at most two digits after the point, as a number from 0 to 1.
fn percent(text: &str) -> Result<String, Refusal> {
    let refused = || Refusal::new("it must be from 0% to 100% with at most 2 digits after the point", "for example 5%");
    let number = text.trim_end_matches('%').trim_end();
    let (whole, rest) = number.split_once('.').unwrap_or((number, ""));
    let digits = |part: &str| part.bytes().all(|digit| digit.is_ascii_digit());
    if whole.is_empty() || whole.len() > 3 || rest.len() > 2 || !digits(whole) || !digits(rest) {
        return Err(refused());
    }
    let hundredths: u32 = format!("{whole}{rest:0<2}").parse().map_err(|_| refused())?;
    match hundredths {
        0 => Ok("0".to_owned()),
        10_000 => Ok("1".to_owned()),
        1..10_000 => Ok(format!("0.{hundredths:04}").trim_end_matches('0').to_owned()),
        _ => Err(refused()),
    }
}

/// The ten-thousandths of a number from 0 to 1.
pub(super) fn ten_thousandths(text: &str) -> Option<u32> {
    let (whole, rest) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(rest) || rest.len() > 4 {
        return None;
    }
    let value = whole.parse::<u32>().ok()?.checked_mul(10_000)?.checked_add(format!("{rest:0<4}").parse().ok()?)?;
    (value <= 10_000).then_some(value)
}

fn choice(text: &str, words: &[&'static str]) -> Result<String, Refusal> {
    if words.contains(&text) {
        return Ok(text.to_owned());
    }
    let hint = match crate::text::nearest(text, words.iter().copied()) {
        Some(near) => format!("did you mean {near}?"),
        None => format!("use one of: {}", words.join(", ")),
    };
    Err(Refusal::new(format!("it must be one of: {}", words.join(", ")), hint))
}

fn word(text: &str) -> Result<String, Refusal> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if text.is_empty() || text.len() > 64 || !text.bytes().all(fits) {
        return Err(Refusal::new(
            "it must be a word of letters, digits, dots, dashes and underscores",
            "for example claude",
        ));
    }
    Ok(text.to_owned())
}

fn command(text: &str) -> Result<String, Refusal> {
    let says = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    if !text.lines().any(says) || text.trim() == "!" {
        return Err(Refusal::new("the command is empty", "give a shell command, for example \"make test\""));
    }
    if text.contains('\0') {
        return Err(Refusal::new("it holds a NUL byte", "take it out"));
    }
    if text.len() > COMMAND_BYTES_MAX {
        let why = format!("a command is at most {COMMAND_BYTES_MAX} bytes long");
        return Err(Refusal::new(why, "put it into a script and name that"));
    }
    Ok(text.to_owned())
}
