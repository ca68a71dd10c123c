//! Amounts with a unit, so that a time is never used as a size or as money.
use super::value::{self, Kind};

/// A time in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Millis(pub u64);

/// A size in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(pub u64);

/// Money in millionths of a dollar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Micros(pub u64);

/// A part of one, in ten-thousandths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fraction(pub u32);

/// The type of a setting: how it is read from its text.
///
/// The text was checked when it came in. One that cannot be read any more (an old journal) gives no limit, the longest
/// time, or the default of a choice.
pub(super) trait SettingValue: Sized {
    /// Reads the text.
    fn read(text: &str) -> Self;
    /// Whether keys of this kind have this type.
    fn fits(kind: Kind) -> bool;
}

impl SettingValue for bool {
    fn read(text: &str) -> Self {
        text == "true"
    }

    fn fits(kind: Kind) -> bool {
        kind == Kind::Switch
    }
}

impl SettingValue for Option<u32> {
    fn read(text: &str) -> Self {
        text.parse().ok()
    }

    fn fits(kind: Kind) -> bool {
        matches!(kind, Kind::CountOrUnlimited(_))
    }
}

impl SettingValue for Millis {
    fn read(text: &str) -> Self {
        Self(value::millis(text).unwrap_or(u64::MAX))
    }

    fn fits(kind: Kind) -> bool {
        kind == Kind::Duration
    }
}

impl SettingValue for Option<Millis> {
    fn read(text: &str) -> Self {
        value::millis(text).map(Millis)
    }

    fn fits(kind: Kind) -> bool {
        matches!(kind, Kind::DurationOrUnlimited | Kind::DurationOrNone)
    }
}

impl SettingValue for Option<Bytes> {
    fn read(text: &str) -> Self {
        value::bytes(text).map(Bytes)
    }

    fn fits(kind: Kind) -> bool {
        kind == Kind::SizeOrUnlimited
    }
}

impl SettingValue for Option<Micros> {
    fn read(text: &str) -> Self {
        value::micros(text).map(Micros)
    }

    fn fits(kind: Kind) -> bool {
        kind == Kind::MoneyOrUnlimited
    }
}

impl SettingValue for Fraction {
    fn read(text: &str) -> Self {
        Self(value::ten_thousandths(text).unwrap_or(0))
    }

    fn fits(kind: Kind) -> bool {
        kind == Kind::Fraction
    }
}

impl SettingValue for String {
    fn read(text: &str) -> Self {
        text.to_owned()
    }

    fn fits(kind: Kind) -> bool {
        matches!(kind, Kind::Word | Kind::Agents | Kind::Text | Kind::Command | Kind::Path)
    }
}

/// None where it is not set.
impl SettingValue for Option<String> {
    fn read(text: &str) -> Self {
        Some(text.to_owned()).filter(|text| !text.is_empty())
    }

    fn fits(kind: Kind) -> bool {
        String::fits(kind)
    }
}

/// One a line.
impl SettingValue for Vec<String> {
    fn read(text: &str) -> Self {
        text.lines().map(str::to_owned).collect()
    }

    fn fits(kind: Kind) -> bool {
        matches!(kind, Kind::Paths | Kind::Findings)
    }
}
