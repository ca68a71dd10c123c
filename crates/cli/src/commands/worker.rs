//! A worker: a project and the name of an agent in it. Its newest loop holds its breaker.
use clap::Args;
use loop_core::run::{Event, Request, RunState};
use loop_core::settings::Values;
use loop_core::text;
use loop_core::view::{BreakerView, is_tripped};
use loop_host::index;
use loop_host::run_folder::RunFolder;

use super::visit;
use crate::context::{Context, read_error, runs_error};
use crate::render::error::{CommandError, Kind};

/// How much of a name is compared: as much as a list keeps.
const NAME_LETTERS_MAX: usize = 200;

/// Which loop: by its id, or the newest of a worker.
#[derive(Debug, Args)]
pub(crate) struct WhichArgs {
    /// The loop: its id, or any beginning of it that fits one loop only
    #[arg(value_name = "ID", conflicts_with_all = ["project", "agent_name"])]
    pub(crate) id: Option<String>,
    /// The newest loop of this project
    #[arg(long, value_name = "NAME")]
    pub(crate) project: Option<String>,
    /// The newest loop of the worker of this name
    #[arg(long, value_name = "NAME")]
    pub(crate) agent_name: Option<String>,
}

impl WhichArgs {
    /// Whether anything was said.
    pub(crate) fn is_said(&self) -> bool {
        self.id.is_some() || self.project.is_some() || self.agent_name.is_some()
    }

    /// The loop that is meant.
    pub(crate) fn find(&self, context: &Context) -> Result<RunFolder, CommandError> {
        if let Some(id) = &self.id {
            return context.find(id);
        }
        if !self.is_said() {
            return Err(CommandError::new(Kind::Wrong, "which loop?")
                .because("neither an id nor the names of a worker were given")
                .hint("give its id (loop list), or --project and --agent-name"));
        }
        newest(context, self.project.as_deref(), self.agent_name.as_deref())?.ok_or_else(|| {
            let name = |what: &str, name: &Option<String>| name.as_ref().map(|name| format!("{what} {name:?}"));
            let names = [name("project", &self.project), name("worker", &self.agent_name)];
            let names = names.into_iter().flatten().collect::<Vec<_>>().join(" and ");
            CommandError::new(Kind::Wrong, format!("no loop of {names}"))
                .because("names are given by --project and --agent-name of loop start")
                .hint("loop list")
        })
    }
}

/// The newest loop with these names; one that is not asked for fits any.
fn newest(context: &Context, project: Option<&str>, name: Option<&str>) -> Result<Option<RunFolder>, CommandError> {
    let listed = index::list(&context.home).map_err(|error| runs_error(&error))?;
    let is = |asked: Option<&str>, found: &Option<String>| {
        asked.is_none_or(|asked| text::one_line(asked, NAME_LETTERS_MAX) == found.as_deref().unwrap_or_default())
    };
    let mut fitting = listed
        .into_iter()
        .filter(|listed| listed.row.as_ref().is_ok_and(|row| is(project, &row.project) && is(name, &row.agent_name)));
    Ok(fitting.next().map(|listed| listed.run))
}

/// Refuses to start where the newest loop of the same worker has tripped its breaker, or closes it where that is asked
/// for. A worker without a name is a new one every time.
pub(crate) fn check(context: &Context, settings: &Values, dry_run: bool) -> Result<(), CommandError> {
    let Some(name) = settings.start.agent_name.as_deref().filter(|_| context.home.runs().is_dir()) else {
        return Ok(());
    };
    let project = settings.start.project.as_deref().unwrap_or_default();
    let Some(run) = newest(context, Some(project), Some(name))? else { return Ok(()) };
    let state = loop_host::journal::read(&run.path).map_err(|error| read_error(&error))?.fold();
    if !is_tripped(&state) {
        return Ok(());
    }
    if !settings.breaker.reset_circuit {
        return Err(tripped(&run, &state, "start"));
    }
    if dry_run {
        return Ok(());
    }
    close(context, &run, false, "loop start --reset-circuit")?;
    context.printer.progress(&format!("note: the breaker that loop {} had tripped is closed\n", run.id));
    Ok(())
}

/// Closes the breaker of a loop that nobody drives.
pub(crate) fn close(context: &Context, run: &RunFolder, session: bool, by: &str) -> Result<(), CommandError> {
    let event = Event::Requested { request: Request::Reset { session }, by: by.to_owned() };
    visit::write_down(context, run, by, event)
}

/// A tripped breaker stays so until a person closes it.
pub(crate) fn tripped(run: &RunFolder, state: &RunState, verb: &str) -> CommandError {
    let breaker = BreakerView::of(state);
    let (at, why) = (breaker.tripped_at.unwrap_or_default(), breaker.why.unwrap_or_default());
    let id = &run.id;
    CommandError::new(Kind::Wrong, format!("the breaker has tripped: loop {id}, at {at}"))
        .because(format!("{why} ({})", breaker.reason.unwrap_or_default()))
        .hint(format!("when that is mended: loop reset {id}, or loop {verb} --reset-circuit …"))
}
