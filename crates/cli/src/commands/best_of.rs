//! `loop start --best-of`: several branches for one goal, and the best of them in the workspace.
use clap::Args;
use loop_core::plan::Selection;
use loop_host::driver::Reporter;
use loop_host::launch::LaunchRequest;
use loop_host::plan::{self, BestOf, Branches, ReadyPlan};

use super::dry_run;
use crate::context::{Context, Done};
use crate::render::error::{CommandError, Kind};
use crate::render::plan::{header, summary};
use crate::render::plan_live::PlanLive;

/// The flags of a best-of.
#[derive(Debug, Args)]
#[command(next_help_heading = "Several branches")]
pub(crate) struct BestOfArgs {
    /// Run several loops at once, each in a copy, and apply the best: a number, or agents (claude,codex:gpt-5)
    #[arg(long, value_name = "N|AGENTS", hide_short_help = true)]
    pub(crate) best_of: Option<String>,
    /// What decides among those that pass: a name (lines, coverage, cost, time, iterations), of which the better value
    /// wins, or a command that prints a number: the higher one wins, with lower: before it the lower one
    #[arg(long, value_name = "METRIC", requires = "best_of", hide_short_help = true)]
    best_of_metric: Option<String>,
    /// You choose: by the table, or later with `loop pick`
    #[arg(long, requires = "best_of", hide_short_help = true)]
    best_of_manual: bool,
    /// Take the first that passes, and end the others
    #[arg(long, requires = "best_of", hide_short_help = true)]
    first: bool,
    /// Start the next branch only when the one before did not pass
    #[arg(long, requires = "best_of", hide_short_help = true)]
    on_red: bool,
    /// End a branch that after its first iteration is worse than another one and than the start
    #[arg(long, requires = "best_of", hide_short_help = true)]
    prune: bool,
    /// So many branches work at the same time [default: all]
    #[arg(long, value_name = "N", requires = "best_of", hide_short_help = true)]
    parallel: Option<u32>,
}

impl BestOfArgs {
    /// What was asked for; none where it was not.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn read(&self) -> Result<Option<BestOf>, CommandError> {
        let Some(text) = &self.best_of else { return Ok(None) };
        let wrong = |flag: &str| {
            let flag = flag.to_owned();
            move |refusal: loop_core::refusal::Refusal| {
                CommandError::new(Kind::Wrong, format!("{flag}: {}", refusal.why)).hint(refusal.hint)
            }
        };
        let branches = Branches::parse(text).map_err(wrong("--best-of"))?;
        let metric = self.best_of_metric.as_deref().map(BestOf::metric).transpose();
        let selection = Selection {
            metric: metric.map_err(wrong("--best-of-metric"))?,
            manual: self.best_of_manual,
            first: self.first,
            on_red: self.on_red,
            prune: self.prune,
            by_score: false,
        };
        if self.parallel == Some(0) {
            return Err(CommandError::new(Kind::Wrong, "--parallel 0: no branch could ever work")
                .hint("a number from 1 on, or leave it out: all at once"));
        }
        Ok(Some(BestOf { branches, selection, parallel: self.parallel }))
    }
}

/// Makes the plan and drives it to its end.
pub(crate) fn start(context: &Context, request: LaunchRequest, best_of: BestOf, json: bool) -> Done {
    let mut person = context.person();
    let only_looks = request.dry_run;
    let prepared = plan::prepare_best_of(&context.home, request, best_of, &mut person)?;
    if only_looks {
        return dry_run::run(context, &prepared.first, json);
    }
    super::start::warn_about_own_output(context, &prepared.first.workspace);
    let ready = plan::create_plan(&context.home, &prepared, &mut person)?;
    drive(context, ready, json)
}

/// Drives a plan, shows it, and shows how it ended.
pub(crate) fn drive(context: &Context, ready: ReadyPlan, json: bool) -> Done {
    let printer = context.printer;
    let mut live = PlanLive::new(printer, context.home.clone(), json);
    if json {
        let created = ready.past().iter().take(1);
        let spec = ready.state().spec.as_ref();
        for entry in created {
            let nodes: Vec<_> = ready.state().nodes.iter().map(|node| node.id().as_str()).collect();
            printer.json_line(&serde_json::json!({
                "version": 1, "event": "created", "at": loop_core::time::rfc3339(entry.at.wall_ms),
                "plan": ready.folder().id, "nodes": nodes,
                "workspace": spec.map(|spec| &spec.workspace.path),
            }));
        }
    } else {
        printer.progress(&header(ready.state()));
    }
    let driven = plan::drive_plan(&context.home, ready, &mut live as &mut dyn Reporter<loop_core::plan::Plan>);
    live.finish();
    let driven = driven.map_err(|stopped| CommandError::from(stopped.refusal))?;
    if !json {
        printer.answer(&summary(&driven.state, printer));
    }
    Ok(driven.exit_code())
}
