//! The request for the run of an item: the template of the list, with the task and the settings of the item, and the text
//! for its next loop.
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use loop_core::list::{Item, ItemSetting};
use loop_core::plan::{ItemJudge, ListSpec, NodeId, NodeState, PlanState};
use loop_core::policy::item::RetryChange;
use loop_core::policy::protect::judging_scripts_at;
use loop_core::run::{Change, RunState};
use loop_core::settings::{Given, Key, Layer, ListSettings, Origin, Resolved, SessionMode, Values, gate_line, keys};
use loop_core::text;
use loop_core::view::{ItemPrompt, item_note, item_task};

use super::folder::{ItemFolder, LAST_ERROR, LOG, PROGRESS, TakenItem, item_of, taken_item};
use crate::clock;
use crate::fs::handle::{open_folder, small_file};
use crate::item::{GivenSensors, ItemSensors, LoopStart, SensorPlaces};
use crate::launch::{LaunchRequest, TaskSource};
use crate::paths::{Home, path_of, text_of};
use crate::process::tail_of;

/// So much of the log is read for its last lines.
const LOG_TAIL_BYTES: u64 = 256 * 1024;
/// A longer last error is not read.
const ERROR_BYTES_MAX: u64 = 64 * 1024;

/// The next loop of an item.
#[derive(Debug)]
pub(in super::super) struct ItemLaunch {
    judge: ItemJudge,
    /// The list in the workspace.
    file: String,
    item: Item,
    /// Which loop comes next, from 1.
    number: u32,
    /// What its agent gets beside the task.
    note: String,
    /// A new conversation, whatever the settings say.
    fresh: bool,
    start: LoopBegin,
}

/// What is recorded before the agent of a loop begins.
#[derive(Debug)]
pub(in super::super) struct LoopBegin {
    folder: PathBuf,
    item: Item,
    own: Vec<String>,
}

/// What the settings of a list say about its checks.
pub(super) fn given_sensors(lists: &ListSettings) -> GivenSensors {
    GivenSensors { check: lists.check.clone(), ci: lists.ci_command.clone() }
}

/// Files of the workspace that the agent of an item leaves alone: what the harness writes, and what its checks run. A
/// script that is not there is the agent's to write.
pub(super) fn own_files(list: &ListSpec, sensors: &ItemSensors, folder: &Path) -> Vec<String> {
    let list = text_of(&path_of(&list.file));
    let mut own = vec![list, LOG.to_owned(), LAST_ERROR.to_owned(), PROGRESS.to_owned()];
    own.extend(sensors.files.iter().cloned());
    let confirmations = sensors.confirmations.iter().map(|(_, sensor)| sensor);
    let known = sensors.check.iter().chain(confirmations).chain(sensors.criteria.iter().map(|(_, sensor)| sensor));
    let named = known.flat_map(|sensor| judging_scripts_at(&sensor.command, folder.to_str().unwrap_or_default()));
    own.extend(named.into_iter().filter(|path| folder.join(path).is_file()));
    own.sort();
    own.dedup();
    own
}

/// The commands of an item, as they are in its copy.
pub(super) fn sensors_of(
    home: &Home,
    places: &Places,
    taken: &TakenItem,
    settings: &ListSettings,
) -> io::Result<ItemSensors> {
    let file = places.workspace.join(&places.list);
    let given = given_sensors(settings);
    let places = SensorPlaces { workspace: &places.workspace, read_in: &places.copy, file: &file };
    ItemSensors::find(home, &places, &taken.list, &taken.item, &given)
}

/// The folders that an item is about.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct ItemPlaces<'a> {
    pub(in super::super) home: &'a Home,
    /// Of the plan.
    pub(in super::super) plan: &'a Path,
    /// Where the item is worked on.
    pub(in super::super) copy: &'a Path,
}

/// Where an item is worked on.
#[derive(Debug)]
pub(super) struct Places {
    pub(super) workspace: PathBuf,
    pub(super) copy: PathBuf,
    /// The list in the workspace.
    pub(super) list: PathBuf,
}

impl ItemLaunch {
    /// What the next loop of an item begins with.
    pub(in super::super) fn new(
        places: &ItemPlaces<'_>,
        state: &PlanState,
        node: &NodeId,
        values: &Values,
    ) -> io::Result<Self> {
        let ItemPlaces { home, plan, copy } = *places;
        let (list, item_ref) = item_of(state, node)?;
        let taken = taken_item(plan, list, item_ref)?;
        let node = state.node(node).ok_or_else(|| io::Error::other("the node is gone"))?;
        let workspace = state.spec.as_ref().map(|spec| path_of(&spec.workspace.path)).unwrap_or_default();
        let places = Places { workspace, copy: copy.to_owned(), list: path_of(&list.file) };
        let sensors = sensors_of(home, &places, &taken, &values.lists)?;
        let item = taken.item;
        let number = node.item.iterations.saturating_add(1);
        let begin = LoopBegin {
            folder: ItemFolder::new(plan, node.id(), node.attempt).start(number),
            own: own_files(list, &sensors, copy),
            item: item.clone(),
        };
        let retry = node.item.retry.as_ref();
        Ok(Self {
            judge: list.judge,
            file: list.file.clone(),
            note: note(&places.workspace, list, node, &item),
            fresh: retry.is_some_and(|retry| retry.change == RetryChange::FreshSession),
            number,
            item,
            start: begin,
        })
    }

    /// The template as the request for this item.
    pub(in super::super) fn request(&self, mut request: LaunchRequest) -> LaunchRequest {
        request.task = TaskSource::Text(task_of(self.judge, &self.item, &self.file).into_bytes());
        match self.judge {
            ItemJudge::Checks => {
                request.given.push(given(keys::max_iterations(), &self.number.to_string()));
                if let Some(plan) = &mut request.plan {
                    plan.note = Some(self.note.clone());
                }
            }
            ItemJudge::Run => request.given.extend(overrides(&self.item.settings)),
        }
        request
    }

    /// What a resume for the next loop changes, and the text for its agent. `worked`: the loop before has ended.
    pub(in super::super) fn changes(&self, session: SessionMode, worked: bool) -> (Vec<Change>, Option<String>) {
        if self.judge == ItemJudge::Run {
            return (Vec::new(), None);
        }
        let session = if self.fresh { SessionMode::Fresh } else { session };
        let changes = vec![
            Change::new(keys::max_iterations().name, self.number.to_string()),
            Change::new(keys::session().name, session.word().to_owned()),
        ];
        (changes, worked.then(|| self.note.clone()))
    }

    /// Whether its next loop has ended already. A loop is one iteration of the run: it is not begun again.
    pub(in super::super) fn has_worked(&self, at_rest: Option<&RunState>) -> bool {
        self.judge == ItemJudge::Checks && at_rest.is_some_and(|run| run.iterations_done() >= self.number)
    }

    pub(in super::super) fn into_begin(self) -> LoopBegin {
        self.start
    }
}

impl LoopBegin {
    /// Records what the loop begins with, once: what is there was recorded before a crash.
    pub(in super::super) fn record(&self, copy: &Path) -> io::Result<()> {
        if LoopStart::load(&self.folder)?.is_some() {
            return Ok(());
        }
        LoopStart::take(copy, &self.item, &self.own, clock::now().wall_ms)?.store(&self.folder)
    }
}

/// The settings of an item with its own checks as gates: for a tree into which several results were merged. Commands that
/// another item has already are left out.
pub(in super::super) fn gates_of_item(
    places: &ItemPlaces<'_>,
    state: &PlanState,
    node: &NodeId,
    settings: &Resolved,
    seen: &mut BTreeSet<String>,
) -> io::Result<Resolved> {
    let ItemPlaces { home, plan, copy } = *places;
    let (list, item_ref) = item_of(state, node)?;
    let taken = taken_item(plan, list, item_ref)?;
    let mut settings = settings.clone();
    if list.judge == ItemJudge::Run {
        overrides(&taken.item.settings).into_iter().for_each(|one| settings.put(one.key, one.value, one.origin));
        return Ok(settings);
    }
    let places = Places { workspace: copy.to_owned(), copy: copy.to_owned(), list: path_of(&list.file) };
    let sensors = sensors_of(home, &places, &taken, &Values::of(&settings).lists)?;
    let mut lines = Vec::new();
    let own = sensors.criteria.iter().map(|(_, sensor)| sensor);
    let confirmations = sensors.confirmations.iter().map(|(_, sensor)| sensor);
    for (number, sensor) in (1..).zip(sensors.check.iter().chain(own).chain(confirmations)) {
        if !sensor.is_approved || !seen.insert(sensor.command.clone()) {
            continue;
        }
        let told = [("command".to_owned(), sensor.command.clone())];
        let line = gate_line(&format!("check-{number}"), &told);
        lines.push(line.map_err(|refusal| io::Error::other(refusal.why))?);
    }
    let origin = Origin { layer: Layer::Flag, place: "the item of the list".to_owned() };
    settings.put(keys::gate(), lines.join("\n"), origin);
    Ok(settings)
}

fn given(key: &'static Key, value: &str) -> Given {
    let origin = Origin { layer: Layer::Flag, place: "the item of the list".to_owned() };
    Given { key, value: value.to_owned(), origin }
}

/// The task of an item. A task of a roadmap has its own promise, and its success in prose.
pub(super) fn task_of(judge: ItemJudge, item: &Item, file: &str) -> String {
    if judge == ItemJudge::Checks {
        return item_task(item);
    }
    let clean = |words: &str| text::clean(words.as_bytes());
    let mut all = format!("{}\n", text::one_line(&item.title, 400));
    let goal = clean(&item.text);
    if !goal.trim().is_empty() {
        all.push_str(&format!("\n{}\n", goal.trim()));
    }
    for criterion in &item.criteria {
        all.push_str(&format!("\nSuccess: {}\n", text::one_line(&criterion.text, 1000)));
    }
    all.push_str(&format!(
        "\nThis is the task {} of {}. The harness ticks it there; do not edit that file.\n",
        item.id,
        clean(file)
    ));
    all
}

/// The settings of a task of a roadmap. `success` is prose for the prompt.
pub(super) fn overrides(settings: &[ItemSetting]) -> Vec<Given> {
    let mut all = Vec::new();
    for ItemSetting { key, value, .. } in settings {
        let is_time = matches!(key.as_str(), "max_time" | "timeout");
        let value = if value == "null" { "unlimited" } else { value.as_str() };
        match key.as_str() {
            _ if is_time => all.push(given(keys::max_time(), value)),
            "max_iterations" => all.push(given(keys::max_iterations(), value)),
            "cli" => all.push(given(keys::agent(), value)),
            "stuck_after" => all.push(given(keys::stuck_after(), value)),
            "completion_promise" => all.push(given(keys::completion_promise(), value)),
            "promise" => {
                all.push(given(keys::promise(), value));
                all.push(given(keys::no_promise(), "false"));
            }
            _ => {}
        }
    }
    all
}

/// What the agent gets before a loop.
fn note(workspace: &Path, list: &ListSpec, node: &NodeState, item: &Item) -> String {
    let log = tail_of(&workspace.join(LOG), LOG_TAIL_BYTES);
    let log = String::from_utf8_lossy(&log).into_owned();
    let failed = node.item.evaluation.as_ref().is_some_and(|evaluation| evaluation.failure.is_some());
    let error = open_folder(&workspace.join("loop")).ok().filter(|_| failed);
    let error = error.and_then(|folder| small_file(&folder, "last_error.txt", ERROR_BYTES_MAX));
    let error = error.map(|bytes| text::clean(&bytes));
    item_note(&ItemPrompt {
        item,
        number: node.item.tries.loops.saturating_add(1),
        loops_max: list.budget.loops,
        log: &log,
        last_error: error.as_deref(),
        retry: node.item.retry.as_ref(),
    })
}
