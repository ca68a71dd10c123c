//! Money and tokens: amounts never negative and never rounded by a float, and what is left of a cap.
use crate::refusal::Refusal;

/// Millionths of a dollar in a dollar.
pub const MICROS: u64 = 1_000_000;
/// Millionths of a dollar in a cent.
const CENT: u64 = 10_000;
/// From this part of a cap on a person is warned, in percent.
pub const WARN_SHARE: u32 = 80;
/// No loop is meant to cost more, in dollars.
const DOLLARS_MAX: u64 = 1_000_000_000;
/// Digits after the point: a millionth is the smallest amount.
const DECIMALS: usize = 6;

/// Reads `2.50`, `$2.50` or `2.5 USD` as millionths of a dollar.
///
/// ```
/// use loop_core::policy::budget::parse_money;
/// assert_eq!(parse_money("$2.50"), Ok(2_500_000));
/// assert!(parse_money("-1").is_err() && parse_money("1e9").is_err());
/// ```
///
/// # Errors
/// Why it is not an amount of money, and what would be one.
pub fn parse_money(text: &str) -> Result<u64, Refusal> {
    let hint = || "for example 2.50, $2.50 or 2.50 USD".to_owned();
    let wrong = |why: String| Err(Refusal::new(why, hint()));
    let text = text.trim();
    let amount = match text.strip_prefix('$') {
        Some(rest) => rest,
        None => text.strip_suffix("USD").or_else(|| text.strip_suffix("usd")).unwrap_or(text),
    };
    let (whole, rest) = amount.trim().split_once('.').unwrap_or((amount.trim(), "0"));
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if amount.trim().starts_with('-') {
        return wrong("an amount of money is never below zero".to_owned());
    }
    if !digits(whole) || !digits(rest) {
        return wrong("it is not an amount of dollars".to_owned());
    }
    let rest = rest.trim_end_matches('0');
    if rest.len() > DECIMALS {
        return wrong(format!("it has more than {DECIMALS} digits after the point"));
    }
    let micros = format!("{rest:0<DECIMALS$}").parse::<u64>().unwrap_or(0);
    match whole.parse::<u64>() {
        Ok(dollars) if dollars < DOLLARS_MAX => Ok(dollars * MICROS + micros),
        Ok(_) | Err(_) => wrong(format!("it is more than {DOLLARS_MAX} dollars")),
    }
}

/// An amount for people: cents, and below one cent what there is of it.
///
/// ```
/// use loop_core::policy::budget::money_text;
/// assert_eq!([money_text(2_500_000), money_text(1_234_567), money_text(4_200)], ["$2.50", "$1.23", "$0.0042"]);
/// ```
#[must_use]
pub fn money_text(micros: u64) -> String {
    if micros < 10_000 {
        return format!("${}", money_exact(micros));
    }
    let cents = micros.saturating_add(5_000) / 10_000;
    format!("${}.{:02}", cents / 100, cents % 100)
}

/// Two amounts for people that are compared: exact where cents would make them look the same.
///
/// ```
/// use loop_core::policy::budget::money_pair;
/// assert_eq!(money_pair(12_400, 10_000), ("$0.0124".to_owned(), "$0.01".to_owned()));
/// assert_eq!(money_pair(1_234_567, 5_000_000), ("$1.23".to_owned(), "$5.00".to_owned()));
/// ```
#[must_use]
pub fn money_pair(one: u64, other: u64) -> (String, String) {
    let rounded = (money_text(one), money_text(other));
    let is_misleading = one != other && rounded.0 == rounded.1;
    if is_misleading { (format!("${}", money_exact(one)), format!("${}", money_exact(other))) } else { rounded }
}

/// An amount as it is written in settings: exact, without a sign, with two digits after the point at least.
#[must_use]
pub fn money_exact(micros: u64) -> String {
    let rest = format!("{:06}", micros % MICROS);
    let rest = rest.trim_end_matches('0');
    format!("{}.{rest:0<2}", micros / MICROS)
}

/// By how much a cap is to grow so that an amount fits beside what is used: to whole dollars, below one to whole cents.
///
/// ```
/// use loop_core::policy::budget::growth;
/// assert_eq!(growth(9_000_000, 67_320_000, 5_000_000), 64_000_000);
/// assert_eq!(growth(10_000, 12_400, 0), 10_000);
/// ```
#[must_use]
pub fn growth(cap: u64, used: u64, amount: u64) -> u64 {
    let least = used.saturating_add(amount).saturating_sub(cap);
    let unit = if least < MICROS { CENT } else { MICROS };
    least.div_ceil(unit).saturating_mul(unit)
}

/// What is left of a cap: zero when it is reached.
#[must_use]
pub fn remainder(cap: u64, spent: u64) -> u64 {
    cap.saturating_sub(spent)
}

/// The smaller of two remainders, where no cap is *none*: what a call may use.
#[must_use]
pub fn least(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// How much of a cap is used, in percent, rounded down: 100 means that it is reached, and more that it is overshot.
#[must_use]
pub fn share(spent: u64, cap: u64) -> u32 {
    let percent = (u128::from(spent) * 100).checked_div(u128::from(cap));
    // A cap of zero is reached from the start.
    u32::try_from(percent.unwrap_or(100)).unwrap_or(u32::MAX)
}

/// Whether a person is to be warned now: the share comes to [`WARN_SHARE`] by this step, so it is said once.
#[must_use]
pub fn warns(before: u64, after: u64, cap: u64) -> bool {
    share(before, cap) < WARN_SHARE && share(after, cap) >= WARN_SHARE
}
