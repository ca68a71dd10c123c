//! How people call checkpoints: by number, by name, or by what they are.
use super::checkpoints::INITIAL;
use super::fact::CheckpointName;
use super::state::RunState;

/// No name is longer.
const NAME_BYTES_MAX: usize = 63;
/// Words and beginnings that loop itself gives to checkpoints.
const OURS: [&str; 3] = [INITIAL, "undo", "best"];
const OUR_BEGINNINGS: [&str; 6] = ["iter-", "undo-", "interrupted-", "tampered-", "branches-", MANUAL];

/// What a checkpoint is called that a person did not name.
pub const MANUAL: &str = "manual-";

/// Whether a person may call a checkpoint so.
///
/// # Errors
/// Why not.
pub fn check_name(name: &str) -> Result<(), String> {
    let ours = OURS.contains(&name) || OUR_BEGINNINGS.iter().any(|beginning| name.starts_with(beginning));
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if ours || number(name) || name.ends_with('+') {
        return Err(format!("{name} is what loop itself calls a checkpoint"));
    }
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    let fits = plain && name.len() <= NAME_BYTES_MAX && name.starts_with(|letter: char| letter.is_ascii_alphanumeric());
    if !fits || name.contains("..") || name.ends_with('.') || name.ends_with(".lock") {
        return Err(format!(
            "a name is up to {NAME_BYTES_MAX} letters, digits, dots, dashes and underscores; it begins with a letter or digit, has no two dots in a row and does not end with a dot or .lock"
        ));
    }
    Ok(())
}

/// How long a checkpoint of a run that is over is kept. What goes first comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CheckpointClass {
    /// An iteration between the first state and the last.
    Between,
    /// A main state: initial, the last, the best, the verified, interrupted, tampered, undo.
    Main,
    /// A person asked for it: it stays until a person removes it.
    Named,
}

impl CheckpointClass {
    /// Of a checkpoint of a run. `last` is the last iteration that has a checkpoint.
    #[must_use]
    pub fn of(name: &str, last: Option<u32>, state: &RunState) -> Self {
        if check_name(name).is_ok() || name.starts_with(MANUAL) {
            return Self::Named;
        }
        let Some(iteration) = iteration_of(name) else { return Self::Main };
        let proven = state.over.as_ref().and_then(|over| over.proof.as_ref()?.checkpoint.as_deref());
        let best = state.progress.best().and_then(|best| best.checkpoint.as_deref());
        let is_main = [proven, best, state.checkpoints.newest()].contains(&Some(name));
        if is_main || Some(iteration) == last { Self::Main } else { Self::Between }
    }
}

/// The iteration that left this checkpoint, or after which it was taken.
#[must_use]
pub fn iteration_of(name: &str) -> Option<u32> {
    name.strip_prefix("iter-")?.trim_end_matches('+').parse().ok()
}

/// The name that a number gets.
#[must_use]
pub fn numbered(number: u32) -> String {
    format!("{MANUAL}{number:03}")
}

/// The name of the checkpoint that a person means. Whether it exists the store knows.
///
/// # Errors
/// When none can be meant.
pub fn meant(word: &str, state: &RunState) -> Result<String, String> {
    let bare = word.strip_suffix('+');
    let (number, others) = (bare.unwrap_or(word), bare.is_some());
    let iteration = number.strip_prefix("iter-").unwrap_or(number).parse::<u32>().ok().filter(|number| *number > 0);
    match (word, iteration) {
        ("best", _) => {
            let best = state.progress.best().and_then(|best| best.checkpoint.clone());
            best.ok_or_else(|| "no state of this loop has been judged yet".to_owned())
        }
        // Of one that was cut off, too: what was there before it.
        ("undo", _) if state.checkpoints.rolling_back() => Ok(state.checkpoints.undo_name()),
        ("undo", _) => {
            state.checkpoints.undo().map(str::to_owned).ok_or_else(|| "there was no rollback yet".to_owned())
        }
        (_, Some(number)) if others => Ok(CheckpointName::BetweenIterations(number).to_string()),
        (_, Some(number)) => Ok(CheckpointName::Iteration(number).to_string()),
        ("0", _) => Ok(INITIAL.to_owned()),
        ("0+", _) => Ok(CheckpointName::BetweenIterations(0).to_string()),
        (word, None) => {
            let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"._-+".contains(&byte);
            let path =
                word.is_empty() || word.contains("..") || word.starts_with(['.', '-']) || !word.bytes().all(fits);
            if path { Err(format!("{word:?} is not a valid name of a checkpoint")) } else { Ok(word.to_owned()) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::report::RollbackReport;
    use super::*;

    // req: D-08
    #[test]
    fn names_that_loop_gives_itself_and_paths_are_refused() {
        let refused = [
            "initial",
            "3",
            "007",
            "iter-003",
            "iter-x",
            "undo",
            "undo-1",
            "best",
            "tampered-1",
            "interrupted-2.1",
            "3+",
            "x+",
            "manual-001",
            "",
            ".",
            "..",
            "a/b",
            "a..b",
            "-x",
            ".x",
            "a.lock",
            "a b",
            "a\nb",
            "é",
            "a.",
        ];
        for name in refused {
            assert!(check_name(name).is_err(), "{name:?} was taken");
        }
        for name in ["good", "before-refactor", "v1.2_final", "7up"] {
            assert_eq!(check_name(name), Ok(()), "{name:?}");
        }
    }

    // req: D-24
    #[test]
    fn only_iterations_between_the_first_state_and_the_last_are_kept_for_a_shorter_time() {
        use CheckpointClass::{Between, Main, Named};
        let mut state = RunState::default();
        let back = RollbackReport { to: "iter-002".to_owned(), undo: "undo-1".to_owned(), ..RollbackReport::default() };
        state.checkpoints.rolled_back(&back, false, false);
        for (name, class) in [
            ("initial", Main),
            ("initial+", Main),
            ("iter-001", Between),
            ("iter-001+", Between),
            ("iter-002", Main),
            ("iter-003", Between),
            ("iter-004", Main),
            ("iter-004+", Main),
            ("interrupted-3.1", Main),
            ("tampered-1", Main),
            ("undo-1", Main),
            ("manual-001", Named),
            ("before-refactor", Named),
        ] {
            assert_eq!(CheckpointClass::of(name, Some(4), &state), class, "{name}");
        }
    }

    #[test]
    fn a_number_a_plus_and_undo_mean_what_loop_called_them() {
        let mut state = RunState::default();
        let meant = |word: &str, state: &RunState| meant(word, state);
        for (word, name) in [
            ("initial", "initial"),
            ("3", "iter-003"),
            ("iter-003", "iter-003"),
            ("3+", "iter-003+"),
            ("initial+", "initial+"),
            ("good", "good"),
            ("undo-2", "undo-2"),
        ] {
            assert_eq!(meant(word, &state), Ok(name.to_owned()));
        }
        assert!(meant("undo", &state).is_err());
        let back = RollbackReport { to: "initial".to_owned(), undo: "undo-1".to_owned(), ..RollbackReport::default() };
        state.checkpoints.rolled_back(&back, false, false);
        assert_eq!(meant("undo", &state), Ok("undo-1".to_owned()));
        for word in ["best", "../x", "", "a/b", "-rf"] {
            assert!(meant(word, &state).is_err(), "{word:?}");
        }
    }
}
