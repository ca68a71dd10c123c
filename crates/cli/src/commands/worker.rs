//! Which loop a verb means: by its id, or the newest of a worker, which is a project and the name of an agent in it.
use clap::Args;
use loop_host::launch;
use loop_host::run_folder::RunFolder;

use crate::context::Context;
use crate::render::error::{CommandError, Kind};

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
            return Err(CommandError::new(Kind::Wrong, "the id of a loop is missing")
                .because("neither an id nor the names of a worker were given")
                .hint("give its id (loop list), or --project and --agent-name"));
        }
        launch::newest_run(&context.home, self.project.as_deref(), self.agent_name.as_deref())?.ok_or_else(|| {
            let name = |what: &str, name: &Option<String>| name.as_ref().map(|name| format!("{what} {name:?}"));
            let names = [name("project", &self.project), name("worker", &self.agent_name)];
            let names = names.into_iter().flatten().collect::<Vec<_>>().join(" and ");
            CommandError::new(Kind::Wrong, format!("no loop of {names}"))
                .because("names are given by --project and --agent-name of loop start")
                .hint("loop list")
        })
    }
}
