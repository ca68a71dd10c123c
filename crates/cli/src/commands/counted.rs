//! The money of a day as caps count it: what calls reported, and the worst case of those that reported no cost.
use loop_core::policy::budget::money_text;
use loop_core::policy::reserve::{Day, day_of};
use loop_core::time::At;
use loop_host::ledger::{Ledger, LedgerError};

/// What all loops together used on one day, and how much of its cost was reported.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CountedDay {
    pub(super) day: Day,
    reported_micros: u64,
}

impl CountedDay {
    /// The day of this moment.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub(super) fn read(ledger: &Ledger, now: At) -> Result<Self, LedgerError> {
        let today = day_of(now.wall_ms);
        let day = ledger.day(now)?.values().fold(Day::default(), |sum, day| sum.plus(*day));
        let reported = ledger.reported_since(today)?.into_iter().filter(|one| one.day == today);
        let reported_micros = reported.fold(0_u64, |sum, one| sum.saturating_add(one.used.cost_micros));
        Ok(Self { day, reported_micros })
    }
}

/// What the amount is made of, in parentheses; empty where every call reported its cost.
pub(super) fn words(counted: Option<&CountedDay>) -> String {
    let Some(CountedDay { day, reported_micros }) = counted.filter(|counted| counted.day.untold > 0) else {
        return String::new();
    };
    let assumed = day.cost_micros.saturating_sub(*reported_micros);
    let calls = match day.untold {
        1 => "1 call that reported no cost counts".to_owned(),
        calls => format!("{calls} calls that reported no cost count"),
    };
    let (reported, assumed) = (money_text(*reported_micros), money_text(assumed));
    format!(" ({reported} reported, and {calls} {assumed}, the worst case: --worst-cost)")
}
