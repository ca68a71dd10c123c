//! Signs that a loop runs away. They stop nothing: a person gets a warning.
use serde::Serialize;

use super::alert::{AlertCause, Severity};

/// So many short iterations in a row are a pattern; one may just have had little to do.
pub const SHORT_MAX: u32 = 3;

/// What is looked at; none turns it off.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    /// More iterations than this, with no limit of time or iterations.
    pub iterations: Option<u32>,
    /// So many equal answers in a row.
    pub identical: Option<u32>,
    /// Iterations shorter than this.
    pub shortest_ms: Option<u64>,
}

/// What the run showed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RunawayEvidence {
    /// Iterations that came to an end.
    pub iterations: u32,
    /// Whether time or iterations are limited.
    pub limited: bool,
    /// Equal answers in a row.
    pub identical: u32,
    /// Iterations in a row that were shorter than the shortest.
    pub short: u32,
}

/// The warning that a person gets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Alarm {
    /// How serious it is.
    pub severity: Severity,
    /// unlimited_iterations, identical_outputs or short_iterations.
    pub kind: AlertCause,
    /// In a sentence.
    pub text: String,
}

/// Checks all three and returns the most serious; among equals the first.
///
/// ```
/// use loop_core::policy::alert::Severity;
/// use loop_core::policy::runaway::{Limits, RunawayEvidence, judge};
/// let limits = Limits { iterations: Some(100), identical: Some(5), shortest_ms: Some(1000) };
/// let signs = RunawayEvidence { iterations: 101, limited: false, identical: 5, short: 9 };
/// assert_eq!(judge(signs, limits).map(|alarm| alarm.severity), Some(Severity::Critical));
/// ```
#[must_use]
pub fn judge(signs: RunawayEvidence, limits: Limits) -> Option<Alarm> {
    let endless = limits.iterations.filter(|most| signs.iterations > *most && !signs.limited).map(|_| Alarm {
        severity: Severity::Warning,
        kind: AlertCause::UnlimitedIterations,
        text: format!("{} iterations, with a limit of neither time nor iterations", signs.iterations),
    });
    let identical = limits.identical.filter(|window| signs.identical >= *window).map(|_| Alarm {
        severity: Severity::Critical,
        kind: AlertCause::IdenticalOutputs,
        text: format!("the agent said the same {} times in a row: this may go on for ever", signs.identical),
    });
    let short = limits.shortest_ms.filter(|_| signs.short >= SHORT_MAX).map(|shortest| Alarm {
        severity: Severity::Warning,
        kind: AlertCause::ShortIterations,
        text: format!(
            "in {} iterations in a row the agent took less than {}: it may not be doing any work",
            signs.short,
            crate::time::spaced(shortest)
        ),
    });
    let mut all = [endless, identical, short].into_iter().flatten();
    let first = all.next()?;
    Some(all.fold(first, |gravest, next| if next.severity > gravest.severity { next } else { gravest }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { iterations: Some(100), identical: Some(5), shortest_ms: Some(1000) };

    #[test]
    fn what_the_settings_say_holds() {
        assert_eq!(crate::settings::Values::default().limits.warnings(), LIMITS);
    }

    fn told(signs: RunawayEvidence) -> Option<(&'static str, &'static str)> {
        judge(signs, LIMITS).map(|alarm| (alarm.severity.word(), alarm.kind.name()))
    }

    #[test]
    fn each_sign_has_its_own_alarm_and_the_gravest_is_told() {
        // req: A-15 partly: the rule
        let fine = RunawayEvidence { iterations: 100, limited: false, identical: 4, short: 2 };
        assert_eq!(told(fine), None);
        let endless = RunawayEvidence { iterations: 101, ..fine };
        assert_eq!(told(endless), Some(("WARNING", "unlimited_iterations")));
        assert_eq!(told(RunawayEvidence { limited: true, ..endless }), None);
        assert_eq!(told(RunawayEvidence { short: 3, ..fine }), Some(("WARNING", "short_iterations")));
        assert_eq!(told(RunawayEvidence { identical: 5, ..fine }), Some(("CRITICAL", "identical_outputs")));
        assert_eq!(
            told(RunawayEvidence { short: 3, identical: 5, ..endless }),
            Some(("CRITICAL", "identical_outputs"))
        );
        assert_eq!(told(RunawayEvidence { short: 3, ..endless }), Some(("WARNING", "unlimited_iterations")));
    }

    #[test]
    fn what_is_turned_off_is_not_told() {
        let all = RunawayEvidence { iterations: 1000, limited: false, identical: 1000, short: 1000 };
        assert_eq!(judge(all, Limits::default()), None);
    }
}
