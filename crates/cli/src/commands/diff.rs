//! `loop diff`: what a loop changed, as `loop history --diff` shows it.
use clap::Args;
use loop_host::run_folder::RunFolder;

use super::compare::{self, Manner};
use super::plan_history;
use crate::args::IdArg;
use crate::context::{Context, Done};
use crate::here::{LoopHere, Wanted};
use crate::render::error::{CommandError, Kind};

/// Show what a loop changed: all of it, or one iteration
#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    #[command(flatten)]
    id: IdArg,
    /// What iteration N changed; A..B: what differs between two checkpoints [default: all that the loop changed]
    #[arg(value_name = "N|A..B")]
    between: Option<String>,
    /// Only how many lines of each file
    #[arg(long)]
    stat: bool,
    /// Straight to the terminal
    #[arg(long)]
    no_pager: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(context: &Context, args: &DiffArgs) -> Done {
    let manner = Manner { json: args.json, stat: args.stat, pager: !args.no_pager };
    let (folder, between) = match (args.id.id.as_deref(), args.between.as_deref()) {
        (Some(word), None) if looks_like_points(word) => (of_points(context, word)?, word),
        (id, between) => {
            if let Some(plan) = context.plan_or_here(id, Wanted::Newest) {
                return plan_history::diff(context, &plan, between.unwrap_or_default(), manner);
            }
            (context.find_or_here(id, Wanted::Newest)?, between.unwrap_or_default())
        }
    };
    compare::run(context, &folder, between, manner)
}

/// Whether a word has the form of an iteration or of two checkpoints: `3`, `3+`, `initial..3`.
fn looks_like_points(word: &str) -> bool {
    let is_number = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    is_number || word.ends_with('+') || word.contains("..")
}

/// The loop that is meant where only such a word was given.
fn of_points(context: &Context, word: &str) -> Result<RunFolder, CommandError> {
    let ids = context.ids_of(word);
    let Some(id) = ids.first() else { return context.find_or_here(None, Wanted::Newest) };
    let here = LoopHere::find(context, Wanted::Newest).ok();
    let number = word.parse::<u32>().unwrap_or(u32::MAX);
    match here.filter(|here| here.has_iteration(number)) {
        None => context.find(word),
        Some(here) => Err(CommandError::new(
            Kind::Wrong,
            format!("{word} is an iteration of loop {} and the beginning of the id {id}", here.run.id),
        )
        .because("loop does not guess which one is meant")
        .hint(format!("the iteration: loop diff @ {word}"))
        .hint(format!("the loop: loop diff {id}"))),
    }
}
