//! `loop prd run`: items of a list, one at a time or several beside each other. Each is ticked when its checks pass.
use std::path::PathBuf;

use clap::Args;
use loop_core::list::ListFormat;
use loop_core::plan::ItemJudge;
use loop_core::settings::{Given, keys};
use loop_core::text;
use loop_core::view::JSON_VERSION;
use loop_host::launch::{LaunchRequest, TaskSource};
use loop_host::paths::text_of;
use loop_host::plan::{ListRequest, PreparedList, create_list, prepare_list};
use serde_json::json;

use super::{best_of, prd};
use crate::args::PlaceArg;
use crate::context::{Context, Done, settings_error};
use crate::flags::StartFlags;
use crate::render::error::{CommandError, Kind};

/// The arguments of `loop prd run`.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The list [default: prd.json]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Only this item
    #[arg(long, value_name = "ID", conflicts_with = "all")]
    item: Option<String>,
    /// Continue with the next open item, until none is open or one fails
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    how: ListRunArgs,
    #[command(flatten)]
    place: PlaceArg,
    #[command(flatten)]
    flags: StartFlags,
}

/// What `loop prd run` and `loop roadmap run` have in common.
#[derive(Debug, Args)]
pub(crate) struct ListRunArgs {
    /// An item that fails does not stop the others: those that do not depend on it are worked on
    #[arg(long)]
    pub(crate) keep_going: bool,
    /// So many items that do not wait for each other are worked on at the same time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) parallel: u32,
    /// Read the file as this format, whatever it looks like
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<String>,
    /// Show which item would be worked on, check everything, and start nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print events as lines of JSON instead of a summary
    #[arg(long)]
    pub(crate) json: bool,
}

impl ListRunArgs {
    pub(crate) fn format(&self) -> Result<Option<ListFormat>, CommandError> {
        let format = self.format.as_deref();
        format.map(|word| ListFormat::parse(word).ok_or_else(|| prd::unknown_format(word))).transpose()
    }
}

pub(crate) fn run(context: &Context, args: &RunArgs) -> Done {
    let given = args.flags.read().map_err(|error| settings_error(&error))?;
    refuse_gates(&given)?;
    let folder = args.place.workspace.clone().unwrap_or_else(|| PathBuf::from("."));
    let request = ListRequest {
        file: args.file.clone().unwrap_or_else(|| folder.join(prd::FILE)),
        format: args.how.format()?,
        judge: ItemJudge::Checks,
        only: args.item.clone(),
        all: args.all,
        keep_going: args.how.keep_going,
        parallel: args.how.parallel,
        approve: approves(&given),
        launch: LaunchRequest {
            given,
            workspace: args.place.workspace.clone(),
            task: TaskSource::Text(Vec::new()),
            agent_args: Vec::new(),
            dry_run: args.how.dry_run,
            plan: None,
        },
    };
    start(context, request, &ListStart { dry_run: args.how.dry_run, json: args.how.json })
}

/// How the start of a list is shown.
pub(crate) struct ListStart {
    pub(crate) dry_run: bool,
    pub(crate) json: bool,
}

/// Whether `--approve` was typed: it is for the commands of the repository, too.
pub(crate) fn approves(given: &[Given]) -> bool {
    given.iter().any(|given| given.key == keys::approve() && given.value == "true")
}

/// The checks of an item judge it, and nothing else.
fn refuse_gates(given: &[Given]) -> Result<(), CommandError> {
    let of_one = [keys::promise(), keys::gate(), keys::no_promise(), keys::commit(), keys::result()];
    match given.iter().find(|given| of_one.contains(&given.key)) {
        None => Ok(()),
        Some(given) => Err(CommandError::new(Kind::Wrong, format!("--{} cannot be given here", given.key.flag.long))
            .because("the checks of an item decide whether it is done")
            .hint("give the command with --check")),
    }
}

/// Works on the items of a list, or shows which one would be next.
pub(crate) fn start(context: &Context, request: ListRequest, how: &ListStart) -> Done {
    let mut person = context.person();
    let shown = text_of(&request.file);
    let prepared = prepare_list(&context.home, request, &mut person)?;
    for warning in &prepared.list.warnings {
        context.printer.progress(&format!("note: {}\n", text::one_line(warning, 400)));
    }
    let Some(first) = prepared.first() else {
        let said = format!("{}: {}\nnothing is open: all is done\n", text::escaped(&shown), prepared.list.read_as());
        match how.json {
            true => context.printer.json(&json!({"version": JSON_VERSION, "file": shown, "open": 0})),
            false => context.printer.answer(&said),
        }
        return Ok(0);
    };
    if how.dry_run {
        return Ok(dry_run(context, &prepared, &shown, how.json));
    }
    super::start::warn_about_own_output(context, &first.workspace);
    if !how.json {
        context.printer.progress(&format!("{}: {}\n", text::escaped(&shown), prepared.list.read_as()));
    }
    let ready = create_list(&context.home, &prepared, &mut person)?;
    best_of::drive(context, ready, how.json)
}

fn dry_run(context: &Context, prepared: &PreparedList, shown: &str, json: bool) -> u8 {
    let next = prepared.next.as_ref();
    let (id, title) = next.map_or(("", ""), |item| (item.id.as_str(), item.title.as_str()));
    if json {
        let answer = json!({
            "version": JSON_VERSION, "file": shown, "read_as": prepared.list.read_as(), "next": id, "title": title,
        });
        context.printer.json(&answer);
    } else {
        let (read_as, title) = (prepared.list.read_as(), text::one_line(title, 200));
        context.printer.answer(&format!(
            "{}: {read_as}\nnext: {} {title}\nnothing was started: this is a dry run\n",
            text::escaped(shown),
            text::escaped(id)
        ));
    }
    0
}
