//! From a list of work to a plan: everything that its items need is checked as for a start, then the plan is made.
use std::path::{Path, PathBuf};

use loop_core::list::{self, Item, List, ListError, ListFormat, PickError};
use loop_core::plan::{ItemJudge, Join, ListSpec, Plan, PlanEvent, PlanSpec};
use loop_core::run::{FileRef, PlanRef};
use loop_core::settings::{BreakerMode, CheckpointBackend, Given, Layer, Origin, Resolved, Settings, keys, resolve};
use loop_core::text;
use sha2::{Digest, Sha256};

use super::super::start::{ReadyPlan, agent_words, branch_settings, check_settings, notify_of, worst_call};
use super::folder::{LAST_ERROR, LOG};
use super::launch::{given_sensors, overrides, task_of};
use crate::fs::{fresh_id, hex};
use crate::item::{ItemSensors, ProposedCheck, SensorPlaces, approve_checks};
use crate::launch::{self, LaunchCaller, LaunchRequest, PlanLaunch, Prepared, TaskSource};
use crate::paths::{Home, path_of, read_bounded, text_of};
use crate::refusal::{LaunchRefusal, RefusalKind};
use crate::run_folder::{LongTexts, NewFolder, StartLock, create_as, store_name};
use crate::workspace::claim;

/// One byte more than a list may have is enough to refuse it.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024 + 1;
/// So often in a row no agent says that it is done: its word does not end an item.
const NEVER: u32 = 1_000_000;
/// So many commands that are not approved are named.
const NAMED_MAX: usize = 8;

/// The request for a list.
#[derive(Debug)]
pub struct ListRequest {
    /// The list.
    pub file: PathBuf,
    /// How it is read; recognised where none is given.
    pub format: Option<ListFormat>,
    /// What says that an item is done.
    pub judge: ItemJudge,
    /// Only this item.
    pub only: Option<String>,
    /// After an item, the next one is taken.
    pub all: bool,
    /// An item that failed does not stop the others.
    pub keep_going: bool,
    /// So many items work at the same time.
    pub parallel: u32,
    /// A person approves the commands of the repository as they are now.
    pub approve: bool,
    /// What was typed, for every item. Its task comes from the item.
    pub launch: LaunchRequest,
}

/// A list whose items can be worked on, checked.
#[derive(Debug)]
pub struct PreparedList {
    request: ListRequest,
    /// The list.
    pub list: List,
    /// Where it is in the workspace.
    place: PathBuf,
    /// The first item, as it would be started alone; none where no item is open.
    first: Option<Prepared>,
    /// The item that is first.
    pub next: Option<Item>,
    /// The settings of every task of a roadmap, without those of the first one.
    plain: Option<Resolved>,
}

impl PreparedList {
    /// The first item as it would be started alone; none where no item is open.
    #[must_use]
    pub fn first(&self) -> Option<&Prepared> {
        self.first.as_ref()
    }
}

fn unreadable(error: &ListError) -> LaunchRefusal {
    let place = format!("{}:{}:{}", error.file, error.line, error.column);
    LaunchRefusal::wrong(format!("{place}: {}", error.message)).hint(error.hint.clone())
}

/// Checks what a list needs: the file, its commands, and the first item as a start.
///
/// # Errors
/// The first thing that is wrong. No plan was made.
pub fn prepare_list(
    home: &Home,
    request: ListRequest,
    caller: &mut dyn LaunchCaller,
) -> Result<PreparedList, LaunchRefusal> {
    let shown = text_of(&request.file);
    let cannot = |why: String| LaunchRefusal::wrong(format!("cannot read {shown}")).because(why);
    let hint = "name the list: loop prd run FILE, or loop roadmap run FILE";
    let file = request.file.canonicalize().map_err(|error| cannot(error.to_string()).hint(hint))?;
    let bytes = read_bounded(&file, FILE_BYTES_MAX).map_err(|error| cannot(error.to_string()).hint(hint))?;
    let list = list::read(&shown, &bytes, request.format).map_err(|error| unreadable(&error))?;
    let next = match &request.only {
        Some(id) => Some(list.pick(id).map_err(|error| not_picked(&error, &shown))?.clone()),
        None => list.next_open().cloned(),
    };
    let folder = request.launch.workspace.clone().unwrap_or_else(|| PathBuf::from("."));
    let workspace = folder.canonicalize().map_err(|error| {
        LaunchRefusal::wrong(format!("cannot use the folder {}", text_of(&folder))).because(error.to_string())
    })?;
    let Ok(place) = file.strip_prefix(&workspace).map(Path::to_owned) else {
        return Err(LaunchRefusal::wrong(format!("{shown} is not in the workspace"))
            .because(format!("items are ticked in the workspace {}", text_of(&workspace)))
            .hint("name the folder of the list with --workspace"));
    };
    if let Some(item) = next.as_ref().filter(|item| !item.can_be_ticked) {
        return Err(LaunchRefusal::wrong(format!("{} of {shown} has no box that could be ticked", item.id))
            .because("an item is done when its box is ticked")
            .hint("give it a box: - [ ]"));
    }
    let mut prepared = PreparedList { request, list, place, first: None, next, plain: None };
    let Some(item) = prepared.next.clone() else { return Ok(prepared) };
    let launch = prepared.launch_of(&item);
    let first = launch::prepare(home, launch, caller)?;
    check_settings(&first.settings, "a list")?;
    if prepared.request.judge == ItemJudge::Checks {
        prepared.check_sensors(home, &first)?;
    } else {
        prepared.check_tasks(home, caller)?;
        prepared.plain = Some(prepared.plain_settings(home, &item, caller));
    }
    prepared.first = Some(first);
    Ok(prepared)
}

fn not_picked(error: &PickError, shown: &str) -> LaunchRefusal {
    let hint = match error {
        PickError::Done(_) => "nothing is to be done; leave --item out for the next open one".to_owned(),
        PickError::Unknown { .. } | PickError::HasParts { .. } => format!("all items: loop prd check {shown}"),
    };
    LaunchRefusal::wrong(error.to_string()).hint(hint)
}

impl PreparedList {
    /// The start of an item, as it would be typed.
    fn launch_of(&self, item: &Item) -> LaunchRequest {
        let request = &self.request;
        let own = |key, value: &str| {
            let origin = Origin { layer: Layer::Flag, place: "a list".to_owned() };
            Given { key, value: value.to_owned(), origin }
        };
        let mut given = request.launch.given.clone();
        let profile = match request.judge {
            ItemJudge::Checks => "decide",
            ItemJudge::Run => "autonomous",
        };
        if !given.iter().any(|one| one.key == keys::profile()) {
            given.insert(0, own(keys::profile(), profile));
        }
        match request.judge {
            ItemJudge::Checks => given.push(own(keys::no_promise(), "true")),
            ItemJudge::Run => {
                let gated = |one: &Given| [keys::promise(), keys::gate(), keys::no_promise()].contains(&one.key);
                if !given.iter().any(gated) {
                    given.push(own(keys::no_promise(), "true"));
                }
                given.extend(overrides(&item.settings));
            }
        }
        LaunchRequest {
            given,
            workspace: request.launch.workspace.clone(),
            task: TaskSource::Text(task_of(request.judge, item, &text_of(&self.place)).into_bytes()),
            agent_args: request.launch.agent_args.clone(),
            dry_run: request.launch.dry_run,
            plan: None,
        }
    }

    /// What holds for every task: the settings of a start without those of the first task. Where a start without them is
    /// refused, the settings files do not count for them.
    fn plain_settings(&self, home: &Home, item: &Item, caller: &mut dyn LaunchCaller) -> Resolved {
        let plain = Item { settings: Vec::new(), ..item.clone() };
        let launch = LaunchRequest { dry_run: true, ..self.launch_of(&plain) };
        let given = launch.given.clone();
        match launch::prepare(home, launch, &mut Quiet(caller)) {
            Ok(prepared) => prepared.settings.resolved,
            Err(_) => resolve(given),
        }
    }

    /// The open items that this start may come to.
    fn wanted(&self) -> Vec<&Item> {
        match (&self.request.only, self.request.all, &self.next) {
            (Some(_), ..) | (None, false, _) => self.next.iter().collect(),
            (None, true, _) => self.list.open_in_order(),
        }
    }

    /// The commands of the items: each is known, and a person has approved those of the repository.
    fn check_sensors(&self, home: &Home, first: &Prepared) -> Result<(), LaunchRefusal> {
        let given = given_sensors(&first.settings.values.lists);
        let unable = |error: std::io::Error| LaunchRefusal::of(RefusalKind::Unable, &error);
        let file = first.workspace.join(&self.place);
        let places = SensorPlaces { workspace: &first.workspace, read_in: &first.workspace, file: &file };
        let mut open: Vec<ProposedCheck> = Vec::new();
        for item in self.wanted() {
            let sensors = ItemSensors::find(home, &places, &self.list, item, &given).map_err(unable)?;
            if sensors.check.is_none() {
                return Err(LaunchRefusal::wrong(format!("no check command is known for {}", item.id))
                    .because("an item is ticked only when its check passes")
                    .hint("give one: --check 'make test'")
                    .hint("or write scripts/ralph/loop.sh, or a command into the list"));
            }
            for proposal in sensors.not_approved() {
                if !open.contains(&proposal) {
                    open.push(proposal);
                }
            }
        }
        if open.is_empty() {
            return Ok(());
        }
        if self.request.approve {
            return approve_checks(home, &open);
        }
        let one = |check: &ProposedCheck| {
            let file = check.file.strip_prefix(&first.workspace).unwrap_or(&check.file);
            format!("{}: {}", text_of(file), text::escaped_head(&text::one_line(&check.text, 400), 200))
        };
        let mut named: Vec<String> = open.iter().take(NAMED_MAX).map(one).collect();
        if open.len() > NAMED_MAX {
            named.push(format!("and {} more", open.len() - NAMED_MAX));
        }
        let mut refusal = LaunchRefusal::wrong("commands of the repository are not approved")
            .because("they decide what is done, and no person has approved them as they are now");
        for name in named {
            refusal = refusal.hint(name);
        }
        Err(refusal.hint("read them, then give the same command with --approve"))
    }

    /// Each task of a roadmap can be started: its agent is installed, its settings fit together.
    fn check_tasks(&self, home: &Home, caller: &mut dyn LaunchCaller) -> Result<(), LaunchRefusal> {
        let mut seen: Vec<&Vec<_>> = self.next.iter().map(|item| &item.settings).collect();
        for item in self.wanted() {
            if seen.iter().any(|known| same_settings(known, &item.settings)) {
                continue;
            }
            seen.push(&item.settings);
            let launch = LaunchRequest { dry_run: true, ..self.launch_of(item) };
            let mut quiet = Quiet(caller);
            launch::prepare(home, launch, &mut quiet).map_err(|refusal| {
                let what = format!("the task {} (line {}): {}", item.id, item.line, refusal.what);
                LaunchRefusal { what, ..refusal }
            })?;
        }
        Ok(())
    }
}

fn same_settings(some: &[list::ItemSetting], others: &[list::ItemSetting]) -> bool {
    let plain = |all: &[list::ItemSetting]| {
        let pairs = all.iter().filter(|one| one.key != "success");
        pairs.map(|one| (one.key.clone(), one.value.clone())).collect::<Vec<_>>()
    };
    plain(some) == plain(others)
}

/// Notes of a start that is only looked at are not said.
struct Quiet<'a>(&'a mut dyn LaunchCaller);

impl LaunchCaller for Quiet<'_> {
    fn note(&mut self, _: launch::LaunchNote) {}

    fn answer(&mut self, question: &launch::LaunchQuestion) -> launch::PersonAnswer {
        self.0.answer(question)
    }

    fn command(&mut self, question: &str) -> Option<String> {
        self.0.command(question)
    }

    fn is_attended(&self) -> bool {
        self.0.is_attended()
    }

    fn task(&mut self, bytes_max: u64) -> std::io::Result<Vec<u8>> {
        self.0.task(bytes_max)
    }
}

/// Makes the plan of a list: from here on there is something on disk. Its workspace is claimed.
///
/// # Errors
/// When it cannot be made. There is none then.
pub fn create_list(
    home: &Home,
    prepared: &PreparedList,
    caller: &mut dyn LaunchCaller,
) -> Result<ReadyPlan, LaunchRefusal> {
    home.make()?;
    let first = prepared.first.as_ref().ok_or_else(|| LaunchRefusal::wrong("no item of the list is open"))?;
    let id = fresh_id().map_err(|error| LaunchRefusal::of(RefusalKind::Unable, &error))?;
    let request = &prepared.request;
    let values = &first.settings.values;
    let template = template_of(prepared, first, &id)?;
    let mut files = LongTexts::new();
    let sha256 = hex(&Sha256::digest(template.as_bytes()));
    let bytes = u64::try_from(template.len()).unwrap_or(u64::MAX);
    files.push(("item.json".to_owned(), template));
    let most = prepared.wanted().iter().map(|item| item.criteria.len()).max().unwrap_or(0);
    let commands = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(3);
    let list = ListSpec {
        file: text_of(&prepared.place),
        format: prepared.list.format.word().to_owned(),
        kind: prepared.list.kind.to_owned(),
        judge: request.judge,
        request: FileRef { name: "item.json".to_owned(), sha256, bytes },
        only: request.only.clone(),
        all: request.all,
        budget: values.lists.budget(),
        agent: agent_words(&first.settings),
        checks_ms: values.gate.gate_timeout.0.saturating_mul(commands),
    };
    let spec = PlanSpec {
        id: id.clone(),
        program: env!("CARGO_PKG_VERSION").to_owned(),
        workspace: first.place.clone(),
        store: store_name(&first.workspace),
        backend: CheckpointBackend::Git.word().to_owned(),
        name: text::one_line(&text_of(&prepared.place), 200),
        join: Join::List(Box::new(list)),
        parallel: request.parallel.max(1),
        budget_micros: first.settings.caps.cost_micros,
        call_micros: worst_call(first),
        keep_going: request.keep_going,
        unattended: !caller.is_attended(),
        stop_file: values.output.stop_file.clone(),
        notify: notify_of(&first.settings),
        origin: None,
        recovers: None,
        parts: 0,
        nodes: Vec::new(),
        on_complete: Vec::new(),
        on_failure: Vec::new(),
    };
    spec.check().map_err(|refusal| LaunchRefusal::wrong(refusal.why).hint(refusal.hint))?;
    let start = StartLock::take(home)?;
    launch::end_orphans(home, Some(&first.place), &mut |note| caller.note(note))?;
    let claimed = claim(home, &start, &id, &first.place)?;
    first.store_approval(home)?;
    launch::clear_stop(first)?;
    let new = NewFolder { id, program: &spec.program, files: &files };
    let held = create_as::<Plan>(&home.plans(), &start, &new, PlanEvent::Created(Box::new(spec.clone())))?;
    drop(start);
    first.warnings.iter().for_each(|warning| caller.note(warning.note()));
    Ok(ReadyPlan { held: held.with_claim(claimed), opening: PlanEvent::Opened })
}

/// The request for every item. Its task, its folder and its own settings come when it is started.
fn template_of(prepared: &PreparedList, first: &Prepared, id: &loop_core::ids::RunId) -> Result<String, LaunchRefusal> {
    let of = PlanRef { plan: id.clone(), node: "item".to_owned(), attempt: 1, workspace: first.place.path.clone() };
    let request = LaunchRequest {
        given: Vec::new(),
        workspace: None,
        task: TaskSource::Text(Vec::new()),
        agent_args: Vec::new(),
        dry_run: false,
        plan: Some(Box::new(PlanLaunch {
            of,
            store: store_name(&first.workspace),
            settings: item_settings(prepared, &first.settings),
            described: first.described.clone(),
            approval: first.approval_name(),
            env: Vec::new(),
            hook_ms: None,
            answers: Vec::new(),
            note: None,
        })),
    };
    serde_json::to_string(&request)
        .map_err(|error| LaunchRefusal::wrong("the request of an item cannot be written").because(error.to_string()))
}

fn first_workspace(prepared: &PreparedList) -> PathBuf {
    prepared.first.as_ref().map(|first| first.workspace.clone()).unwrap_or_default()
}

/// The settings of every item. What the first one has of its own is not in them: each brings its own.
fn item_settings(prepared: &PreparedList, settings: &Settings) -> Resolved {
    let mut all = branch_settings(&settings.resolved);
    let origin = || Origin { layer: Layer::Default, place: "an item of a list".to_owned() };
    // What the harness itself writes there is no part of the work, and no rollback takes it away.
    let held = all.text(keys::checkpoint_skip()).to_owned();
    let skips = held.lines().map(str::to_owned).chain([LOG, LAST_ERROR].map(|path| format!("/{path}")));
    let skips: Vec<String> = skips.collect();
    all.put(keys::checkpoint_skip(), skips.join("\n"), origin());
    match prepared.request.judge {
        // The checks of the item judge it, after each iteration of its run.
        ItemJudge::Checks => {
            for key in [keys::promise(), keys::gate()] {
                all.put(key, String::new(), origin());
            }
            all.put(keys::no_promise(), "true".to_owned(), origin());
            all.put(keys::completion_promise(), String::new(), origin());
            all.put(keys::completion_threshold(), NEVER.to_string(), origin());
            all.put(keys::breaker(), BreakerMode::Off.word().to_owned(), origin());
        }
        ItemJudge::Run => {
            let own = prepared.next.iter().flat_map(|item| overrides(&item.settings));
            for given in own {
                let plain = prepared.plain.as_ref().map_or(given.key.default, |plain| plain.text(given.key)).to_owned();
                all.put(given.key, plain, origin());
            }
            // People write into the folders of the workspace, not into those of a copy.
            let inbox = first_workspace(prepared).join(path_of(all.text(keys::inbox_path())));
            all.put(keys::inbox_path(), text_of(&inbox), origin());
            let list = format!("/{}", text_of(&prepared.place));
            let held = all.text(keys::protect()).to_owned();
            let globs: Vec<String> = held.lines().map(str::to_owned).chain([list]).collect();
            all.put(keys::protect(), globs.join("\n"), origin());
        }
    }
    all
}
