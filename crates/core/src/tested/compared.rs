//! What became of each test since another run.
use super::{Mark, Tests};

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

/// What stands between a suite and what is in it.
const SEPARATORS: [&str; 5] = [" > ", " › ", "::", " ", "/"];

impl Tests {
    /// What became of each test since that run.
    #[must_use]
    pub fn against(&self, before: &Tests) -> Compared {
        let mut compared = Compared::default();
        let named_before = before.names_all();
        for (id, now) in &self.marks {
            let list = match (before.marks.get(id), now) {
                (None, Mark::Passed) if !named_before => continue,
                (None | Some(Mark::Failed | Mark::Skipped), Mark::Passed) => &mut compared.newly_passing,
                (Some(Mark::Passed), Mark::Failed) => &mut compared.newly_failing,
                (None, Mark::Failed) => &mut compared.new_failing,
                (Some(Mark::Failed | Mark::Skipped), Mark::Failed) => &mut compared.still_failing,
                (Some(Mark::Passed | Mark::Failed), Mark::Skipped) => &mut compared.newly_skipped,
                (Some(Mark::Passed), Mark::Passed) | (None | Some(Mark::Skipped), Mark::Skipped) => continue,
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
        for (id, mark) in &self.marks {
            let whole = SEPARATORS.iter().any(|separator| self.names_inside(id, separator));
            match mark {
                Mark::Passed if !whole => passed += 1,
                Mark::Failed if !whole => failed += 1,
                Mark::Passed | Mark::Failed | Mark::Skipped => {}
            }
        }
        !self.uncounted && passed >= self.passed && failed >= self.failed
    }

    fn missing(&self, before: &Tests, compared: &mut Compared) {
        let named = self.names_all();
        for (id, mark) in &before.marks {
            if self.marks.contains_key(id) {
                continue;
            }
            let list = match mark {
                Mark::Passed if self.suite_fails(id) => &mut compared.newly_failing,
                Mark::Failed if self.suite_fails(id) => &mut compared.still_failing,
                Mark::Passed | Mark::Failed | Mark::Skipped if named => &mut compared.gone,
                Mark::Passed | Mark::Failed | Mark::Skipped => continue,
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
                self.marks.get(suite) == Some(&Mark::Failed) && !self.names_inside(suite, separator)
            })
        })
    }

    fn names_inside(&self, suite: &str, separator: &str) -> bool {
        let begin = format!("{suite}{separator}");
        self.marks.range(begin.clone()..).next().is_some_and(|(id, _)| id.starts_with(&begin))
    }
}
