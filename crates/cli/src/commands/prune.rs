//! `loop prune`: remove the records of loops that ended long ago, and outputs past their bound.
use clap::Args;
use loop_core::ids::RunId;
use loop_core::run::Status;
use loop_core::settings::keys;
use loop_core::text;
use loop_core::view::JSON_VERSION;
use loop_host::settings_files::gather;
use loop_host::{clock, index, launch, retention};
use serde_json::json;

use super::{list, rm};
use crate::context::{Context, Done, files_error, runs_error, settings_error};
use crate::flags::given;
use crate::render::error::{CommandError, Kind};

/// Remove the records of loops that ended long ago; those that can be resumed stay.
/// What is left is thinned to keep_bytes: outputs of those that ended longest ago go first
#[derive(Debug, Args)]
pub(crate) struct PruneArgs {
    /// How long ago they must have ended; 30d unless only --keep-bytes is given, which removes no records
    #[arg(long, value_name = "DURATION")]
    older_than: Option<String>,
    /// Also remove those that can be resumed
    #[arg(long)]
    all: bool,
    /// How much the records of all loops may take together, instead of the setting keep_bytes
    #[arg(long, value_name = "SIZE")]
    keep_bytes: Option<String>,
    /// Say what would be removed and remove nothing
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Records that ended so long ago go unless something else is said.
const OLDER_THAN: &str = "30d";

pub(crate) fn run(context: &Context, args: &PruneArgs) -> Done {
    // Who asks for room only wants outputs to go.
    let older_than = args.older_than.clone().or_else(|| args.keep_bytes.is_none().then(|| OLDER_THAN.to_owned()));
    let age = |typed: &String| {
        list::age_ms(typed).map_err(|refusal| {
            CommandError::new(Kind::Wrong, format!("--older-than cannot be {typed:?}"))
                .because(refusal.why)
                .hint(refusal.hint)
        })
    };
    let age_ms = older_than.as_ref().map(age).transpose()?;
    let most = most(context, args)?;
    if !args.dry_run {
        launch::end_orphans(&context.home, None, &mut |note| context.print_notes(&[note]))?;
        // What `loop verify` left when it was killed; the next one tries again.
        loop_host::workspace::copy::sweep(&context.home.copies()).ok();
    }
    let (mut removed, mut plans, mut bytes) = (Vec::new(), Vec::new(), 0);
    if let Some(age_ms) = age_ms {
        // Plans first: what one of them needed may then go, too.
        let (gone, freed) = remove_old_plans(context, args, age_ms)?;
        plans = gone;
        bytes += freed;
        let (gone, freed) = remove_old(context, args, age_ms, &plans)?;
        removed = gone;
        bytes += freed;
        if !args.json {
            let word = if args.dry_run { "would free" } else { "freed" };
            let plans = match plans.len() {
                0 => String::new(),
                1 => " and 1 plan".to_owned(),
                count => format!(" and {count} plans"),
            };
            context.printer.answer(&format!("{}{plans}, {word} {}\n", loops(removed.len()), text::size(bytes)));
        }
    }
    let thinned = most.map(|most| thin(context, most, args, &removed)).transpose()?;
    if args.json {
        let outputs = thinned.as_ref().map(|thinned| {
            thinned.runs.iter().map(|(id, freed)| json!({"id": id, "freed_bytes": freed})).collect::<Vec<_>>()
        });
        context.printer.json(&json!({
            "version": JSON_VERSION, "dry_run": args.dry_run, "removed": removed, "removed_plans": plans,
            "freed_bytes": bytes,
            "thinned": outputs.unwrap_or_default(), "bytes": thinned.map(|thinned| thinned.after),
        }));
    }
    Ok(0)
}

/// The limit: as typed, else as the user's own settings have it.
fn most(context: &Context, args: &PruneArgs) -> Result<Option<u64>, CommandError> {
    let mut all = gather(&context.home.config, None).map_err(|error| files_error(&error))?;
    if let Some(typed) = &args.keep_bytes {
        all.push(given(keys::keep_bytes(), typed).map_err(|error| settings_error(&error))?);
    }
    Ok(launch::records_max(&launch::resolve(all)?))
}

/// Whether something that was last changed at this moment is old enough.
fn is_old(updated_at: &str, age_ms: u64) -> bool {
    let updated = updated_at.parse::<jiff::Timestamp>().map_or(0, |stamp| stamp.as_millisecond());
    clock::now().wall_ms.saturating_sub(u64::try_from(updated).unwrap_or(0)) >= age_ms
}

/// Removes plans that ended long ago, by the rules of loops. One that waits for a person stays.
fn remove_old_plans(context: &Context, args: &PruneArgs, age_ms: u64) -> Result<(Vec<RunId>, u64), CommandError> {
    let _no_pruning = (!args.dry_run).then(|| retention::wait_for_pruning(&context.home));
    let (mut removed, mut bytes) = (Vec::new(), 0);
    for (folder, plan) in crate::plans::views(context) {
        let over = plan.status != Status::Running && (args.all || !plan.resumable);
        if !(over && is_old(&plan.updated_at, age_ms)) {
            continue;
        }
        let id = folder.id.clone();
        if plan.waits_for_person {
            context.printer.progress(&format!("plan {id} stays: it waits for you: loop status {id}\n"));
            continue;
        }
        if let Err(error) = rm::refuse_plan(context, &folder) {
            context.printer.progress(&format!("plan {id} stays: {}\n", error.what()));
            continue;
        }
        bytes += plan.bytes.unwrap_or(0);
        let word = if args.dry_run { "would remove" } else { "removed" };
        if !args.dry_run {
            rm::remove_plan(context, &folder)?;
        }
        say(context, args, &format!("{word} plan {id} ({})\n", plan.status.name()));
        removed.push(id);
    }
    Ok((removed, bytes))
}

/// Removes those that ended long ago, or only lists them. Returns them and their size. `plans` are gone, or would be.
fn remove_old(
    context: &Context,
    args: &PruneArgs,
    age_ms: u64,
    plans: &[RunId],
) -> Result<(Vec<RunId>, u64), CommandError> {
    let _no_pruning = (!args.dry_run).then(|| retention::wait_for_pruning(&context.home));
    let (mut removed, mut bytes) = (Vec::new(), 0);
    for listed in index::list(&context.home).map_err(|error| runs_error(&error))? {
        let Ok(row) = &listed.row else { continue };
        let over = row.status != Status::Running && (args.all || !row.resumable);
        if !(over && is_old(&row.updated_at, age_ms)) {
            continue;
        }
        let is_needed = |plan: &String| !plans.iter().any(|gone| gone.as_str() == plan);
        if let Some(plan) = index::open_plan_of(&context.home, row).filter(is_needed) {
            context.printer.progress(&format!("{} stays: plan {plan} needs it\n", listed.run.id));
            continue;
        }
        if rm::is_half_done(&listed.run) {
            context.printer.progress(&format!("{} stays: a rollback of it is not finished\n", listed.run.id));
            continue;
        }
        let named = rm::named(&listed.run);
        if !named.is_empty() {
            let id = &listed.run.id;
            context.printer.progress(&format!("{id} stays: it has checkpoints that you took ({})\n", named.join(", ")));
            continue;
        }
        let size = loop_host::fs::bytes_of(&listed.run.path);
        if !args.dry_run {
            rm::remove(context, &listed.run)?;
        }
        let line = format!(
            "{} {} ({})\n",
            if args.dry_run { "would remove" } else { "removed" },
            listed.run.id,
            row.status.name()
        );
        say(context, args, &line);
        removed.push(listed.run.id);
        bytes += size;
    }
    Ok((removed, bytes))
}

/// A line of the list. In JSON the answer has it.
fn say(context: &Context, args: &PruneArgs, line: &str) {
    if args.json {
        context.printer.progress(line);
    } else {
        context.printer.answer(line);
    }
}

/// Removes outputs of those that ended longest ago until all together take no more than this; or says
/// whose, with these thought away.
fn thin(context: &Context, most: u64, args: &PruneArgs, gone: &[RunId]) -> Result<retention::Thinned, CommandError> {
    let (dry_run, asked) = (args.dry_run, args.keep_bytes.is_some());
    let thinned = match dry_run {
        true => retention::would_prune_to(&context.home, most, gone),
        false => retention::prune_to(&context.home, most),
    };
    let thinned = thinned.map_err(|error| runs_error(&error))?;
    for (id, freed) in &thinned.runs {
        let word = if dry_run { "would thin" } else { "thinned" };
        say(context, args, &format!("{word} {id} ({} of outputs)\n", text::size(*freed)));
    }
    if args.json {
        return Ok(thinned);
    }
    if thinned.runs.is_empty() {
        context.printer.answer(if asked { "nothing to thin\n" } else { "" });
    } else {
        let word = if dry_run { "would be thinned" } else { "thinned" };
        let (before, after) = (text::size(thinned.before), text::size(thinned.after));
        context.printer.answer(&format!("{} {word}: {before} in all, then {after}\n", loops(thinned.runs.len())));
    }
    if thinned.after > most {
        let text = format!("still {} in all: running loops, prompts and journals stay\n", text::size(thinned.after));
        context.printer.progress(&format!("{text}  remove whole records: loop rm ID, or loop prune --older-than 1d\n"));
    }
    Ok(thinned)
}

fn loops(count: usize) -> String {
    if count == 1 { "1 loop".to_owned() } else { format!("{count} loops") }
}
