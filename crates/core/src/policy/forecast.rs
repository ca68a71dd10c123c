//! How long a limit of a provider will last: from what the provider said, and from the pace of the last hours.
//!
//! What was not said stays unknown. Nothing is guessed: a window that began again since is unknown too.
use std::collections::BTreeMap;

use super::reserve::{DAY_MS, next_day_in_ms};
use crate::agent::provider::window::length_ms;
use crate::agent::{LimitWindow, WindowState};

/// All of a window, in thousandths.
pub const WHOLE: u32 = 1000;
/// The pace is that of so many hours before what was said last.
pub const PACE_MS: u64 = 3 * 3_600_000;
/// A shorter time gives no pace: shares are said in whole percent.
const SPAN_MS_MIN: u64 = 10 * 60_000;
/// Programs say the same reset some seconds apart.
const SAME_RESET_MS: u64 = 10 * 60_000;
/// So many finished runs of an agent are needed before it is said what a run uses.
pub const RUNS_MIN: usize = 5;

/// What was said about one window at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WindowSeen {
    /// When.
    pub at_ms: u64,
    /// By which run.
    pub run: String,
    /// What.
    pub window: LimitWindow,
}

/// What is used of a window now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WindowUse {
    /// So many thousandths, said at that moment.
    Known {
        /// Thousandths.
        permille: u32,
        /// When it was said.
        at_ms: u64,
    },
    /// It has begun again since the last word about it.
    ResetSince {
        /// When it began again.
        at_ms: u64,
    },
    /// No share was ever said of it.
    NeverSaid,
}

/// How fast a window is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// So many thousandths more …
    pub gained: u32,
    /// … in so many milliseconds.
    pub over_ms: u64,
    /// From what it is known.
    pub basis: PaceBasis,
}

/// From what a pace is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PaceBasis {
    /// What was said in the last hours of this window.
    LastHours,
    /// The mean since this window began.
    SinceItBegan,
    /// An earlier window of the same name.
    Earlier,
}

impl PaceBasis {
    /// Its word in JSON.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::LastHours => "last_hours",
            Self::SinceItBegan => "since_it_began",
            Self::Earlier => "earlier_window",
        }
    }
}

impl Pace {
    /// Thousandths in an hour, rounded.
    #[must_use]
    pub fn permille_per_hour(self) -> u64 {
        let over = self.over_ms.max(1);
        (u64::from(self.gained).saturating_mul(3_600_000).saturating_add(over / 2)) / over
    }

    /// How long so many thousandths last; none where nothing is used.
    #[must_use]
    pub fn lasts_ms(self, permille: u32) -> Option<u64> {
        let all = u128::from(permille) * u128::from(self.over_ms);
        let lasts = all.checked_div(u128::from(self.gained))?;
        Some(u64::try_from(lasts).unwrap_or(u64::MAX))
    }
}

/// What will become of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outlook {
    /// Calls are refused.
    Reached {
        /// Until then, where that is known.
        until_ms: Option<u64>,
    },
    /// At this pace it is used up.
    UsedUp {
        /// Then.
        at_ms: u64,
        /// It begins again then, where that is known.
        again_ms: Option<u64>,
    },
    /// At this pace it lasts.
    Lasts,
    /// It cannot be said.
    Unknown(UnknownOutlook),
}

/// Why nothing can be said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnknownOutlook {
    /// How much is used was never said.
    NoShare,
    /// It began again, and nothing was said since.
    ResetSince,
    /// How fast it is used is not known.
    NoPace,
}

impl UnknownOutlook {
    /// Why, for people.
    #[must_use]
    pub fn why(self) -> &'static str {
        match self {
            Self::NoShare => "the provider did not say how much is used",
            Self::ResetSince => "it began again, and the provider has said nothing since",
            Self::NoPace => "how fast it is used is not known yet",
        }
    }
}

/// One window as it stands, and what will become of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WindowForecast {
    /// Its name.
    pub name: String,
    /// What was said last.
    pub last: WindowSeen,
    /// What is used.
    pub used: WindowUse,
    /// When it begins again, where that is ahead.
    pub resets_ms: Option<u64>,
    /// How fast it is used.
    pub pace: Option<Pace>,
    /// What will become of it.
    pub outlook: Outlook,
}

/// The forecast of each window of one account, by name. `work_ms` is how long work is to go on from now; without it only
/// the present window is looked at. The order of what was seen does not matter.
#[must_use]
pub fn forecast(seen: &[WindowSeen], now_ms: u64, work_ms: Option<u64>) -> Vec<WindowForecast> {
    let mut by_name: BTreeMap<&str, Vec<&WindowSeen>> = BTreeMap::new();
    for one in seen {
        by_name.entry(&one.window.name).or_default().push(one);
    }
    let until_ms = work_ms.map(|work| now_ms.saturating_add(work));
    by_name.into_values().filter_map(|seen| of_window(seen, now_ms, until_ms)).collect()
}

fn of_window(mut seen: Vec<&WindowSeen>, now_ms: u64, until_ms: Option<u64>) -> Option<WindowForecast> {
    seen.sort_by_key(|one| (one.at_ms, one.window.resets_ms));
    let last = *seen.last()?;
    let (now, earlier): (Vec<_>, Vec<_>) = seen.into_iter().partition(|one| is_same(one, last));
    let resets_ms = last.window.resets_ms.filter(|at| *at > now_ms);
    let used = used(&now, last, now_ms);
    let pace = pace(&now, last).or_else(|| pace_of_earlier(&earlier));
    let outlook = outlook(last, used, pace, Horizon { now_ms, resets_ms, until_ms });
    let name = last.window.name.clone();
    Some(WindowForecast { name, last: last.clone(), used, resets_ms, pace, outlook })
}

/// Whether an earlier word and a later one speak of the same window, and not of one that followed the other.
fn is_same(earlier: &WindowSeen, later: &WindowSeen) -> bool {
    match (earlier.window.resets_ms, later.window.resets_ms) {
        (Some(one), Some(other)) => one.abs_diff(other) <= SAME_RESET_MS,
        (Some(resets), None) => resets > later.at_ms,
        (None, resets) => {
            let length = length_ms(&later.window.name).unwrap_or(PACE_MS);
            earlier.at_ms >= resets.unwrap_or(later.at_ms).saturating_sub(length)
        }
    }
}

fn used(now: &[&WindowSeen], last: &WindowSeen, now_ms: u64) -> WindowUse {
    if let Some(at_ms) = last.window.resets_ms.filter(|at| *at <= now_ms) {
        return WindowUse::ResetSince { at_ms };
    }
    // One without a reset ends after its length, or after the hours that a pace is believed for.
    let length = length_ms(&last.window.name).unwrap_or(PACE_MS);
    let over = last.at_ms.saturating_add(length);
    if last.window.resets_ms.is_none() && over <= now_ms {
        return WindowUse::ResetSince { at_ms: over };
    }
    let known = now.iter().rev().find_map(|one| Some((one.window.used_permille?, one.at_ms)));
    match known {
        Some((permille, at_ms)) => WindowUse::Known { permille: permille.min(WHOLE), at_ms },
        None => WindowUse::NeverSaid,
    }
}

/// The pace of the last hours, else the mean since the window began.
fn pace(now: &[&WindowSeen], last: &WindowSeen) -> Option<Pace> {
    let since = last.at_ms.saturating_sub(PACE_MS);
    let newest = now.iter().rev().find(|one| one.window.used_permille.is_some())?;
    let oldest = now.iter().find(|one| one.window.used_permille.is_some() && one.at_ms >= since)?;
    between(oldest, newest, PaceBasis::LastHours).or_else(|| {
        let length = length_ms(&newest.window.name)?;
        let began = newest.window.resets_ms?.checked_sub(length)?;
        let over_ms = newest.at_ms.checked_sub(began).filter(|over| *over >= SPAN_MS_MIN)?;
        Some(Pace { gained: newest.window.used_permille?, over_ms, basis: PaceBasis::SinceItBegan })
    })
}

/// The pace of the newest window before this one that has one.
fn pace_of_earlier(earlier: &[&WindowSeen]) -> Option<Pace> {
    let mut rest: Vec<&WindowSeen> = earlier.iter().copied().filter(|one| one.window.used_permille.is_some()).collect();
    while let Some(newest) = rest.last().copied() {
        let (same, others): (Vec<_>, Vec<_>) = rest.into_iter().partition(|one| is_same(one, newest));
        let pace = same.first().and_then(|oldest| between(oldest, newest, PaceBasis::Earlier));
        if pace.is_some_and(|pace| pace.gained > 0) {
            return pace;
        }
        rest = others;
    }
    None
}

fn between(oldest: &WindowSeen, newest: &WindowSeen, basis: PaceBasis) -> Option<Pace> {
    let over_ms = newest.at_ms.checked_sub(oldest.at_ms).filter(|over| *over >= SPAN_MS_MIN)?;
    let (from, to) = (oldest.window.used_permille?, newest.window.used_permille?);
    Some(Pace { gained: to.saturating_sub(from), over_ms, basis })
}

/// From when to when it is looked.
#[derive(Clone, Copy)]
struct Horizon {
    now_ms: u64,
    resets_ms: Option<u64>,
    until_ms: Option<u64>,
}

fn outlook(last: &WindowSeen, used: WindowUse, pace: Option<Pace>, horizon: Horizon) -> Outlook {
    let Horizon { now_ms, resets_ms, until_ms } = horizon;
    let permille = match used {
        WindowUse::ResetSince { .. } => return Outlook::Unknown(UnknownOutlook::ResetSince),
        _ if last.window.state == WindowState::Reached => return Outlook::Reached { until_ms: resets_ms },
        WindowUse::NeverSaid => return Outlook::Unknown(UnknownOutlook::NoShare),
        WindowUse::Known { permille, .. } => permille,
    };
    let left = WHOLE.saturating_sub(permille);
    let Some(pace) = pace.filter(|_| left > 0) else {
        let reached = Outlook::Reached { until_ms: resets_ms };
        return if left == 0 { reached } else { Outlook::Unknown(UnknownOutlook::NoPace) };
    };
    let Some(lasts_ms) = pace.lasts_ms(left) else { return Outlook::Lasts };
    let at_ms = now_ms.saturating_add(lasts_ms);
    let in_time = until_ms.is_none_or(|until| at_ms < until);
    if resets_ms.is_none_or(|resets| at_ms < resets) {
        return if in_time { Outlook::UsedUp { at_ms, again_ms: resets_ms } } else { Outlook::Lasts };
    }
    // The windows after this one are all alike.
    let (Some(resets), Some(until), Some(length)) = (resets_ms, until_ms, length_ms(&last.window.name)) else {
        return Outlook::Lasts;
    };
    let whole_ms = pace.lasts_ms(WHOLE).unwrap_or(u64::MAX);
    let at_ms = resets.saturating_add(whole_ms);
    if whole_ms < length && at_ms < until {
        return Outlook::UsedUp { at_ms, again_ms: Some(resets.saturating_add(length)) };
    }
    Outlook::Lasts
}

/// What each run used of one window, in thousandths: the rise from what was said before, by the run that said it. The
/// first word about a window belongs to no run: others may have used it.
#[must_use]
pub fn share_by_run(seen: &[WindowSeen], name: &str) -> BTreeMap<String, u32> {
    let mut named: Vec<&WindowSeen> =
        seen.iter().filter(|one| one.window.name == name && one.window.used_permille.is_some()).collect();
    named.sort_by_key(|one| one.at_ms);
    let mut shares: BTreeMap<String, u32> = BTreeMap::new();
    for pair in named.windows(2) {
        let [before, after] = pair else { continue };
        let both = before.window.used_permille.zip(after.window.used_permille);
        if let Some((from, to)) = both.filter(|_| is_same(before, after)) {
            let share = shares.entry(after.run.clone()).or_default();
            *share = share.saturating_add(to.saturating_sub(from));
        }
    }
    shares
}

/// What three of four finished runs do not exceed; none where there are fewer than [`RUNS_MIN`].
///
/// ```
/// use loop_core::policy::forecast::typical;
/// assert_eq!(typical(&[4, 1, 3, 2]), None);
/// assert_eq!(typical(&[50, 10, 30, 20, 40]), Some(40));
/// ```
#[must_use]
pub fn typical(of_runs: &[u64]) -> Option<u64> {
    if of_runs.len() < RUNS_MIN {
        return None;
    }
    let mut sorted = of_runs.to_vec();
    sorted.sort_unstable();
    let rank = (sorted.len() * 3).div_ceil(4);
    sorted.get(rank.checked_sub(1)?).copied()
}

/// Why a run that starts now is likely to meet a limit of its provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LikelyLimit {
    /// It is reached already.
    Reached {
        /// Which.
        window: String,
        /// Until then.
        until_ms: Option<u64>,
    },
    /// A run uses more than is left.
    NotEnough {
        /// Which.
        window: String,
        /// So much is left, in thousandths.
        left: u32,
        /// So much do three of four runs not exceed, in thousandths.
        typical: u32,
        /// From so many runs.
        runs: usize,
        /// When it begins again.
        resets_ms: Option<u64>,
    },
}

/// Which windows of its provider a run is likely to meet. Only runs that finished say what a run uses.
#[must_use]
pub fn likely_limits(seen: &[WindowSeen], finished: &dyn Fn(&str) -> bool, now_ms: u64) -> Vec<LikelyLimit> {
    let mut likely = Vec::new();
    for window in forecast(seen, now_ms, None) {
        if let Outlook::Reached { until_ms } = window.outlook {
            likely.push(LikelyLimit::Reached { window: window.name, until_ms });
            continue;
        }
        let WindowUse::Known { permille, .. } = window.used else { continue };
        let shares = share_by_run(seen, &window.name);
        let shares: Vec<u64> =
            shares.iter().filter(|(run, _)| finished(run)).map(|(_, share)| u64::from(*share)).collect();
        let left = WHOLE.saturating_sub(permille);
        let Some(most) = typical(&shares).filter(|most| *most >= u64::from(left)) else { continue };
        let (typical, runs) = (u32::try_from(most).unwrap_or(WHOLE), shares.len());
        likely.push(LikelyLimit::NotEnough { window: window.name, left, typical, runs, resets_ms: window.resets_ms });
    }
    likely
}

/// One cap of the user's own over all runs of a day, as it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DayCap {
    /// What is used today.
    pub used: u64,
    /// What may be used in a day.
    pub most: u64,
    /// What was used in the last hours: see [`PACE_MS`].
    pub lately: u64,
}

impl DayCap {
    /// What will become of it, if work goes on as in the last hours. A day is one of UTC.
    #[must_use]
    pub fn outlook(self, now_ms: u64, work_ms: Option<u64>) -> Outlook {
        let resets = now_ms.saturating_add(next_day_in_ms(now_ms));
        let left = self.most.saturating_sub(self.used);
        if left == 0 {
            return Outlook::Reached { until_ms: Some(resets) };
        }
        if self.lately == 0 {
            return Outlook::Unknown(UnknownOutlook::NoPace);
        }
        let lasts = |amount: u64| {
            let lasts = u128::from(amount) * u128::from(PACE_MS) / u128::from(self.lately);
            u64::try_from(lasts).unwrap_or(u64::MAX)
        };
        let until = work_ms.map_or(resets, |work| now_ms.saturating_add(work));
        let used_up = now_ms.saturating_add(lasts(left));
        if used_up < resets {
            let up = Outlook::UsedUp { at_ms: used_up, again_ms: Some(resets) };
            return if used_up < until { up } else { Outlook::Lasts };
        }
        let tomorrow = resets.saturating_add(lasts(self.most));
        if lasts(self.most) < DAY_MS && tomorrow < until {
            return Outlook::UsedUp { at_ms: tomorrow, again_ms: Some(resets.saturating_add(DAY_MS)) };
        }
        Outlook::Lasts
    }
}
