//! What changed for each test since another run.
use super::{TestStatus, Tests};

/// The difference of two runs, by id. Where names are missing, nothing is claimed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Compared {
    /// Pass now and did not before, or are surely new and pass.
    pub newly_passing: Vec<String>,
    /// Passed before and fail now; or passed before and are not there because their suite as a whole fails now.
    pub newly_failing: Vec<String>,
    /// Fail, and were not named before: new, so no regression; or, where [`Tests::names_all`] did not hold before, perhaps passing unnamed.
    pub new_failing: Vec<String>,
    /// Failed or were skipped before, and fail.
    pub still_failing: Vec<String>,
    /// Were there before and did not run now, though all that ran are named. A renamed test is gone, and new. Where a format does
    /// not name what it skips (nextest), it may be skipped.
    pub gone: Vec<String>,
    /// Judged before (passed or failed), and are skipped now.
    pub newly_skipped: Vec<String>,
}

/// The separator between a suite and what is in it.
const SEPARATORS: [&str; 5] = [" > ", " › ", "::", " ", "/"];

impl Tests {
    /// What became of each test since that run.
    #[must_use]
    pub fn against(&self, before: &Tests) -> Compared {
        let mut compared = Compared::default();
        let named_before = before.names_all();
        for (id, now) in &self.statuses {
            let list = match (before.statuses.get(id), now) {
                (None, TestStatus::Passed) if !named_before => continue,
                (None | Some(TestStatus::Failed | TestStatus::Skipped), TestStatus::Passed) => {
                    &mut compared.newly_passing
                }
                (Some(TestStatus::Passed), TestStatus::Failed) => &mut compared.newly_failing,
                (None, TestStatus::Failed) => &mut compared.new_failing,
                (Some(TestStatus::Failed | TestStatus::Skipped), TestStatus::Failed) => &mut compared.still_failing,
                (Some(TestStatus::Passed | TestStatus::Failed), TestStatus::Skipped) => &mut compared.newly_skipped,
                (Some(TestStatus::Passed), TestStatus::Passed)
                | (None | Some(TestStatus::Skipped), TestStatus::Skipped) => continue,
            };
            list.push(id.clone());
        }
        self.missing(before, &mut compared);
        compared
    }

    /// Whether every test that passed or failed is named: only then a name that is not there means something.
    #[must_use]
    pub fn names_all(&self) -> bool {
        let (mut passed, mut failed) = (0_u32, 0_u32);
        for (id, status) in &self.statuses {
            let whole = SEPARATORS.iter().any(|separator| self.names_inside(id, separator));
            match status {
                TestStatus::Passed if !whole => passed += 1,
                TestStatus::Failed if !whole => failed += 1,
                TestStatus::Passed | TestStatus::Failed | TestStatus::Skipped => {}
            }
        }
        !self.uncounted && passed >= self.passed && failed >= self.failed
    }

    fn missing(&self, before: &Tests, compared: &mut Compared) {
        let named = self.names_all();
        for (id, status) in &before.statuses {
            if self.statuses.contains_key(id) {
                continue;
            }
            let list = match status {
                TestStatus::Passed if self.suite_fails(id) => &mut compared.newly_failing,
                TestStatus::Failed if self.suite_fails(id) => &mut compared.still_failing,
                TestStatus::Passed | TestStatus::Failed | TestStatus::Skipped if named => &mut compared.gone,
                TestStatus::Passed | TestStatus::Failed | TestStatus::Skipped => continue,
            };
            list.push(id.clone());
        }
        compared.newly_failing.sort();
        compared.still_failing.sort();
    }

    /// Whether a file, package or binary that holds this test fails, and nothing in it is named: it did not load, or was not run to its end.
    fn suite_fails(&self, id: &str) -> bool {
        SEPARATORS.iter().any(|separator| {
            id.match_indices(separator).any(|(at, _)| {
                let suite = &id[..at];
                self.statuses.get(suite) == Some(&TestStatus::Failed) && !self.names_inside(suite, separator)
            })
        })
    }

    fn names_inside(&self, suite: &str, separator: &str) -> bool {
        let begin = format!("{suite}{separator}");
        self.statuses.range(begin.clone()..).next().is_some_and(|(id, _)| id.starts_with(&begin))
    }
}
