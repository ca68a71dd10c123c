//! What the guard of protected files makes of a run: when it is due, what it found, and whether gates can be believed.
use super::fact::{GuardPoint, PromptNote};
use super::report::{GuardReport, NameList};
use super::state::RunState;

/// What the run knows about its protected files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Guarding {
    /// How many there are; none before they were looked at for the first time.
    pub files: Option<u32>,
    /// Something ran since they were looked at.
    pub due: bool,
    /// It was a gate that ran last, and not the agent.
    pub gates_ran: bool,
    /// How many iterations changed one.
    pub times: u32,
    /// What was found last, while it concerns the state that is judged.
    pub found: Option<GuardReport>,
    /// The gates changed them while they judged: their answers are void.
    pub by_gates: bool,
    /// How many files that say how tests are run are watched.
    pub watched: u32,
    /// Where tests are run otherwise than at the start.
    pub targets: Vec<String>,
    /// People had time to change them.
    pub people: bool,
    /// The agent changed one and nobody put it back: that is not people's, whatever time they had.
    pub suspect: bool,
}

impl RunState {
    /// Whether the protected files are to be kept, because nothing has run yet.
    #[must_use]
    pub fn guard_first(&self) -> bool {
        self.guarding.files.is_none() && self.spec.as_ref().is_some_and(|spec| spec.guard.is_some())
    }

    /// Whether the protected files are to be looked at before anything else.
    #[must_use]
    pub fn guard_due(&self) -> bool {
        let wanted = self.spec.as_ref().is_some_and(|spec| spec.guard.is_some());
        wanted && self.guarding.due && self.guarding.files.is_some_and(|files| files > 0)
    }

    /// Whether that is to be done when the gates have spoken: where only test commands are watched, before it is done.
    #[must_use]
    pub fn guard_due_after_gates(&self) -> bool {
        let watched = self.guarding.due && self.guarding.watched > 0 && self.gates_kept();
        self.guard_due() || watched
    }

    /// Whether people may have changed protected files, which is their right.
    #[must_use]
    pub fn guard_due_for_people(&self) -> bool {
        self.guarding.people && self.guarding.files.is_some_and(|files| files > 0)
    }

    /// Somebody else had the workspace since: what was found before says nothing about it.
    pub(super) fn forget_tamper(&mut self) {
        (self.guarding.found, self.guarding.by_gates) = (None, false);
    }

    /// Whether a protected file is not what it was, and nobody wants that.
    pub(super) fn stands_tampered(&self) -> bool {
        let allowed = self.settings.resolved.get("on_tamper") == "allow";
        !allowed && self.guarding.found.as_ref().is_some_and(|found| !found.restored)
    }

    pub(super) fn guarded(&mut self, point: GuardPoint, guarded: &GuardReport) {
        (self.guarding.due, self.guarding.gates_ran) = (false, false);
        (self.guarding.files, self.guarding.watched) = (Some(guarded.files), guarded.watched);
        let by_gates = matches!(point, GuardPoint::Gates(_));
        match point {
            GuardPoint::Start => {}
            GuardPoint::Agent(..) => {
                (self.guarding.targets, self.guarding.people) = (guarded.targets.clone(), false);
            }
            GuardPoint::Gates(_) => self.guarding.targets = guarded.targets.clone(),
            GuardPoint::People => self.guarding.people = false,
        }
        if point != GuardPoint::People {
            let allowed = self.settings.resolved.get("on_tamper") == "allow";
            self.guarding.suspect = !allowed && !guarded.tampered.is_nothing() && !guarded.restored;
        }
        // What the agent did and nobody put back is there still when the gates are done: it is not theirs.
        let left =
            self.guarding.found.as_ref().is_some_and(|found| !found.restored && found.tampered == guarded.tampered);
        if guarded.tampered.is_nothing() || (by_gates && left) {
            return;
        }
        self.guarding.times = self.guarding.times.saturating_add(1);
        self.guarding.found = Some(guarded.clone());
        if self.settings.resolved.get("on_tamper") == "allow" {
            return;
        }
        self.guarding.by_gates |= by_gates;
        if by_gates {
            self.judged.best = self.judged.best_before.clone();
        }
        let files = few(&guarded.tampered);
        self.tell(PromptNote::Tampered { files, restored: guarded.restored, by_gates });
    }
}

/// The names, and how many are not named.
fn few(all: &NameList) -> Vec<String> {
    let more = usize::try_from(all.count).unwrap_or(usize::MAX).saturating_sub(all.first.len());
    let more = (more > 0).then(|| format!("{more} more"));
    all.first.iter().cloned().chain(more).collect()
}
