//! From a template and a project to a layer of settings. What is found in the project is a guess: it counts only where no
//! other source says anything.
use super::{Template, WantedCheck};
use crate::project::{CheckUse, ProjectProposals, ProposedCheck};
use crate::settings::{Given, Origin, PROMISE, gate_line, gates_of, keys};

/// What a template sets in a project.
#[derive(Debug, Default)]
pub struct TemplateLayer {
    /// Its settings, and the gates that were found.
    pub given: Vec<Given>,
    /// The gates that were found, for people.
    pub found: Vec<FoundGate>,
    /// What is needed and was not found.
    pub missing: Vec<CheckUse>,
}

/// A gate that was found in the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundGate {
    /// Its name; `promise` for the promise.
    pub name: String,
    /// Its command.
    pub command: String,
    /// Why this one.
    pub reason: String,
}

impl Template {
    /// What it sets in a project, beside what other sources say.
    #[must_use]
    pub fn layer(&self, proposals: &ProjectProposals, others: &[Given]) -> TemplateLayer {
        let mut layer = TemplateLayer { given: self.given.clone(), ..TemplateLayer::default() };
        let says = |key, value: Option<&str>| {
            let all = others.iter().chain(&self.given);
            all.filter(|given| given.key == key).any(|given| value.is_none_or(|value| given.value == value))
        };
        let has_promise = says(keys::promise(), None) || says(keys::no_promise(), Some("true"));
        let mut known = Known::of(others.iter().chain(&self.given));
        for wanted in &self.wanted {
            if wanted.name == PROMISE && has_promise {
                continue;
            }
            let checks: Vec<&ProposedCheck> = proposals.showing(wanted.find).collect();
            if checks.is_empty() && wanted.needed && !known.has_name(&wanted.name) {
                layer.missing.push(wanted.find);
            }
            for (check, at) in checks.into_iter().zip(0..) {
                // The first one has the name that the template gives.
                let name = if at == 0 { &wanted.name } else { &check.name };
                if known.has_name(name) || known.commands.contains(&check.command) {
                    continue;
                }
                if let Some(given) = self.gate(wanted, name, check) {
                    known.add(name, &check.command);
                    let (name, command, reason) = (name.clone(), check.command.clone(), check.reason.clone());
                    layer.found.push(FoundGate { name, command, reason });
                    layer.given.push(given);
                }
            }
        }
        layer
    }

    /// A gate that was found, as a setting. A command that does not fit is left out: the name and the keys were tried when
    /// the template was read.
    fn gate(&self, wanted: &WantedCheck, name: &str, check: &ProposedCheck) -> Option<Given> {
        let origin = Origin { layer: self.layer, place: format!("template {}: {}", self.name, check.reason) };
        if name == PROMISE {
            return Given::read_approved(keys::promise(), &check.command, origin).ok();
        }
        let told = [&[("command".to_owned(), check.command.clone())][..], &wanted.options].concat();
        let line = gate_line(name, &told).ok()?;
        Given::read_approved(keys::gate(), &line, origin).ok()
    }
}

/// Names and commands of gates that are there already.
#[derive(Default)]
struct Known {
    names: Vec<String>,
    commands: Vec<String>,
}

impl Known {
    fn of<'a>(given: impl Iterator<Item = &'a Given>) -> Self {
        let mut known = Self::default();
        for given in given {
            if given.key == keys::promise() {
                known.add(PROMISE, &given.value);
            } else if given.key == keys::gate() {
                gates_of(&given.value).iter().for_each(|gate| known.add(&gate.name, &gate.command));
            }
        }
        known
    }

    fn add(&mut self, name: &str, command: &str) {
        self.names.push(name.to_owned());
        self.commands.push(command.trim().to_owned());
    }

    fn has_name(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }
}
