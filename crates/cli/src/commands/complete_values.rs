//! Words that a shell can complete and that only this machine or the catalogues know: ids, checkpoints, agents, settings.
//!
//! No journal of a loop is read: ids come from the index, checkpoints from the names in their store. Plans are few, and
//! have short journals.
use loop_core::agent::registry::ADAPTERS;
use loop_core::run::iteration_of;
use loop_core::settings::{Key, Kind, catalogue, keys};
use loop_core::view::PlanView;
use loop_host::checkpoint::Store;
use loop_host::index::{KnownRun, known_runs};
use loop_host::paths::{Home, path_of, text_of};
use loop_host::plan::read_plan;
use loop_host::run_folder::{self, FoundFolder, RunFolder, store_name};

use super::complete::Fitting;

/// Where the cursor stands: behind which commands, and behind which other words.
#[derive(Debug)]
pub(super) struct CursorPosition<'a> {
    pub(super) path: &'a [&'a str],
    pub(super) before: &'a [String],
}

/// So many plans are looked at.
const PLANS_MAX: usize = 200;

/// What this machine knows.
pub(super) struct Values {
    home: Option<Home>,
}

impl Values {
    pub(super) fn here() -> Self {
        Self { home: Home::find(|name| std::env::var_os(name)).ok() }
    }

    /// The words for a place without a flag.
    pub(super) fn at(&self, place: &CursorPosition<'_>) -> Fitting {
        match (place.path, place.before) {
            (["rollback"], []) => self.ids().and(self.plans()).and(self.checkpoints(None)),
            (["checkpoint", "rm"], []) => self.ids().and(self.checkpoints(None)),
            (["pick"] | ["workflow", "resume"], []) => self.plans(),
            (["pick"], [id]) => self.branches(id),
            (["status" | "history" | "diff" | "report" | "resume" | "watch" | "pause" | "stop"], [])
            | (["cancel" | "inject" | "commit"], [])
            | (["rm"], _) => self.ids().and(self.plans()),
            (["rollback"] | ["checkpoint", "rm"], [id]) => self.checkpoints(Some(id)),
            (["set"], []) => self.ids().and(pairs()),
            (["set"], _) => pairs(),
            (["diff"], [id]) => self.checkpoints(Some(id)),
            (["reset" | "prompt" | "checkpoint" | "proof" | "verify" | "accept"] | ["checkpoint", "list"], []) => {
                self.ids()
            }
            (["config", "get" | "set"], []) => {
                Fitting::of(catalogue().map(|key| (key.name.to_owned(), key.doc.to_owned())))
            }
            (["config", "set"], [name]) => Self::of_setting(name),
            (["agents"], []) => agents(),
            (["template", "show" | "check"], []) => templates(),
            (["completions"], []) => Fitting::of(
                ["bash", "zsh", "fish", "elvish", "powershell"].map(|shell| (shell.to_owned(), String::new())),
            ),
            _ => Fitting::default(),
        }
    }

    /// The values of a setting.
    pub(super) fn of_setting(name: &str) -> Fitting {
        let Some(key) = catalogue().find(|key| key.name == name) else { return Fitting::default() };
        let words = |words: &[&str]| Fitting::of(words.iter().map(|word| ((*word).to_owned(), String::new())));
        if key == keys::agent() {
            agents()
        } else if key == keys::template() {
            templates()
        } else if let Kind::Choice(choices) = key.kind {
            words(choices)
        } else if key.kind == Kind::Switch {
            words(&["true", "false"])
        } else {
            Fitting::default()
        }
    }

    fn known(&self) -> Vec<KnownRun> {
        let mut all = self.home.as_ref().map(known_runs).unwrap_or_default();
        let here = here();
        // Those of this folder first, then of the folders above it.
        all.sort_by_key(|known| {
            let place = workspace_of(known);
            here.iter().position(|folder| *folder == place).unwrap_or(here.len())
        });
        all
    }

    fn ids(&self) -> Fitting {
        let remark = |known: &KnownRun| match &known.row {
            Some(row) => format!("{}: {}", row.status_words(), row.goal),
            None if known.run.holder().is_some() => "running".to_owned(),
            None => String::new(),
        };
        Fitting::of(self.known().iter().map(|known| (known.run.id.to_string(), remark(known))))
    }

    /// The ids of plans, the newest first.
    fn plans(&self) -> Fitting {
        let folders = self.home.as_ref().and_then(|home| run_folder::all_in(&home.plans()).ok()).unwrap_or_default();
        let remark = |plan: &RunFolder| {
            let state = read_plan(plan).ok()?;
            let view = PlanView::of(&state, plan.holder().is_some(), loop_host::clock::now())?;
            Some((view.started_at.clone(), format!("{}, {}: {}", view.kind_words(), view.status.name(), view.name)))
        };
        let mut plans: Vec<(String, String, String)> = folders
            .iter()
            .take(PLANS_MAX)
            .map(|plan| {
                let (started, remark) = remark(plan).unwrap_or_default();
                (started, plan.id.to_string(), remark)
            })
            .collect();
        plans.sort_by(|one, other| other.0.cmp(&one.0));
        Fitting::of(plans.into_iter().map(|(_, id, remark)| (id, remark)))
    }

    /// The branches of a plan that can be picked.
    fn branches(&self, id: &str) -> Fitting {
        let found = self.home.as_ref().and_then(|home| run_folder::find_any(home, id).ok());
        let Some(FoundFolder::Plan(plan)) = found else { return Fitting::default() };
        let Ok(state) = read_plan(&plan) else { return Fitting::default() };
        Fitting::of(state.nodes.iter().map(|node| (node.id().to_string(), state.node_words(node))))
    }

    /// The checkpoints of a loop; of the newest of this folder where none is named.
    fn checkpoints(&self, id: Option<&str>) -> Fitting {
        let all = self.known();
        let here = here();
        let found = match id.filter(|id| !crate::here::WORDS.contains(id)) {
            Some(id) => all.iter().find(|known| known.run.id.as_str().starts_with(id)),
            None => all.first().filter(|known| here.contains(&workspace_of(known))),
        };
        let names = || {
            let (found, home) = (found?, self.home.as_ref()?);
            let store = home.checkpoints().join(store_name(&path_of(&workspace_of(found))));
            let store = store.is_dir().then(|| Store::open(&store).ok()).flatten()?;
            store.names_of(found.run.id.as_str()).ok()
        };
        let names = names().unwrap_or_default();
        let names: Vec<&str> = names.iter().filter_map(|(name, _)| Some(name.split_once('/')?.1)).collect();
        let has_undo = names.iter().any(|name| name.starts_with("undo-"));
        let undo = has_undo.then(|| ("undo".to_owned(), "before the last rollback".to_owned()));
        Fitting::of(names.into_iter().map(named).chain(undo))
    }
}

/// A checkpoint as people type it.
fn named(name: &str) -> (String, String) {
    match iteration_of(name) {
        Some(number) if name.ends_with('+') => (format!("{number}+"), format!("changed after iteration {number}")),
        Some(number) => (number.to_string(), format!("after iteration {number}")),
        None => (name.to_owned(), "checkpoint".to_owned()),
    }
}

/// This folder and those above it.
fn here() -> Vec<String> {
    let folder = std::env::current_dir().and_then(std::fs::canonicalize).unwrap_or_default();
    folder.ancestors().map(text_of).collect()
}

fn workspace_of(known: &KnownRun) -> String {
    let of_holder = || known.run.holder().map(|holder| holder.workspace);
    known.row.as_ref().map(|row| row.workspace.clone()).or_else(of_holder).unwrap_or_default()
}

/// Settings that may change in a run, as `loop set` takes them.
fn pairs() -> Fitting {
    let may_change = catalogue().filter(|key: &&'static Key| key.may_change);
    Fitting::of(may_change.map(|key| (format!("{}=", key.name), key.doc.to_owned())))
}

/// The templates that can be used here.
fn templates() -> Fitting {
    let home = Home::find(|name| std::env::var_os(name)).ok();
    let folder = std::env::current_dir().ok();
    let all = home.and_then(|home| loop_host::templates::all(&home, folder.as_deref()).ok()).unwrap_or_default();
    Fitting::of(all.iter().map(|known| (known.name.clone(), format!("{} template", known.source.word()))))
}

fn agents() -> Fitting {
    Fitting::of(ADAPTERS.iter().map(|adapter| (adapter.name.to_owned(), "agent".to_owned())))
}
