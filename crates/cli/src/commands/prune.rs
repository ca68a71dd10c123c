//! `loop prune`: remove the records of loops that ended long ago.
use clap::Args;
use loop_core::time::parse_duration_ms;
use loop_host::{clock, index, runs};

use crate::context::{Context, Done, runs_error};
use crate::render::error::{CommandError, Kind};

/// Remove the records of loops that ended long ago; those that can still be gone on with stay
#[derive(Debug, Args)]
pub(crate) struct PruneArgs {
    /// How long ago they must have ended
    #[arg(long, value_name = "DURATION", default_value = "30d")]
    older_than: String,
    /// Remove those that could still be gone on with, too
    #[arg(long)]
    all: bool,
    /// Say what would be removed and remove nothing
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(context: &Context, args: &PruneArgs) -> Done {
    let age_ms = parse_duration_ms(&args.older_than).map_err(|why| {
        CommandError::new(Kind::Wrong, format!("--older-than cannot be {:?}", args.older_than))
            .because(why)
            .hint("for example 30d or 12h")
    })?;
    if !args.dry_run {
        super::start::end_orphans(context, None)?;
    }
    let now = clock::now().wall_ms;
    let (mut count, mut bytes) = (0_u32, 0);
    for listed in index::list(&context.home).map_err(|error| runs_error(&error))? {
        let Ok(row) = &listed.row else { continue };
        let updated = row.updated_at.parse::<jiff::Timestamp>().map_or(0, |stamp| stamp.as_millisecond());
        let old = now.saturating_sub(u64::try_from(updated).unwrap_or(0)) >= age_ms;
        let over = row.status != "running" && (args.all || !row.resumable);
        if !(old && over) {
            continue;
        }
        let size = runs::bytes_of(&listed.run.path);
        if !args.dry_run {
            listed.run.remove().map_err(|error| runs_error(&error))?;
        }
        context.printer.progress(&format!(
            "{} {} ({})\n",
            if args.dry_run { "would remove" } else { "removed" },
            listed.run.id,
            row.status
        ));
        (count, bytes) = (count + 1, bytes + size);
    }
    let word = if args.dry_run { "would free" } else { "freed" };
    let loops = if count == 1 { "1 loop".to_owned() } else { format!("{count} loops") };
    context.printer.answer(&format!("{loops}, {word} {} KiB\n", bytes / 1024));
    Ok(0)
}
