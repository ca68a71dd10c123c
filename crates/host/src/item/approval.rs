//! Commands that come with a repository are proposals: they are run only after a person has approved them as they are.
use std::path::PathBuf;

use crate::approvals;
use crate::launch::check_person;
use crate::paths::Home;
use crate::refusal::LaunchRefusal;

/// A command of a repository, and what its approval depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposedCheck {
    /// The list, or the file that is run.
    pub file: PathBuf,
    /// The command, or the content of the file that is run.
    pub text: String,
}

impl ProposedCheck {
    /// Whether a person approved this very text in this very file.
    #[must_use]
    pub fn is_approved(&self, home: &Home) -> bool {
        approvals::is_approved(&home.state, &self.file, &self.text)
    }
}

/// Remembers that a person approved these.
///
/// # Errors
/// When an agent may have given the command, or the approval cannot be stored.
pub fn approve_checks(home: &Home, checks: &[ProposedCheck]) -> Result<(), LaunchRefusal> {
    let open: Vec<&ProposedCheck> = checks.iter().filter(|check| !check.is_approved(home)).collect();
    if open.is_empty() {
        return Ok(());
    }
    check_person(home, "commands of a list cannot be approved")?;
    home.make()?;
    for check in open {
        approvals::approve(&home.state, &check.file, &check.text)
            .map_err(|error| LaunchRefusal::unable("the approval cannot be stored").because(error.to_string()))?;
    }
    Ok(())
}
