//! A long leash for a share of new runs: the thresholds of their breaker are higher, and the first fact says so.
use loop_core::run::Leash;
use loop_core::settings::{Key, Origin, Resolved, Settings, keys};

/// So many times higher the thresholds are.
const TIMES: u32 = 2;
/// No threshold is higher.
const COUNT_MAX: u32 = 1_000_000;
/// Shares are in ten-thousandths.
const WHOLE: u32 = 10_000;

/// The settings of a new run, lengthened where it is drawn.
pub(super) fn draw(settings: &Settings) -> (Resolved, Option<Leash>) {
    let share = settings.values.leash.leash.0;
    let mut resolved = settings.resolved.clone();
    if share == 0 || random() % WHOLE >= share {
        return (resolved, None);
    }
    for key in counts() {
        let text = resolved.text(key).to_owned();
        let Some(count) = text.parse::<u32>().ok() else { continue };
        let Some(origin) = resolved.origin(key).cloned() else { continue };
        let origin = Origin { place: format!("{} (long leash, {TIMES} × {count})", origin.place), ..origin };
        resolved.put(key, count.saturating_mul(TIMES).min(COUNT_MAX).to_string(), origin);
    }
    (resolved, Some(Leash { share, times: TIMES }))
}

/// The counts of the breaker.
fn counts() -> [&'static Key; 7] {
    [
        keys::max_no_progress(),
        keys::max_same_error(),
        keys::max_oscillation(),
        keys::max_identical_output(),
        keys::max_test_only(),
        keys::max_missing_status(),
        keys::max_done_claims(),
    ]
}

/// A number for the draw. Without one from the system nothing is drawn.
fn random() -> u32 {
    let mut bytes = [0_u8; 4];
    match rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty()) {
        Ok(_) => u32::from_le_bytes(bytes),
        Err(_) => WHOLE - 1,
    }
}
