//! Which loop a verb means: by its id, the newest of a worker, which is a project and the name of an agent in it, or
//! the newest of this folder.
use clap::Args;
use loop_host::launch;
use loop_host::run_folder::RunFolder;

use crate::context::Context;
use crate::here::{WORDS, Wanted};
use crate::render::error::{CommandError, Kind};

/// Which loop: by its id, or the newest of a worker.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct WhichArgs {
    /// The loop: its id, any beginning of it that fits one loop only, or @: the newest of this folder
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

    /// The same with an id in the place of `@`, for who asks again and again.
    pub(crate) fn settled(&self, context: &Context) -> Result<Self, CommandError> {
        let is_here = self.id.as_deref().is_some_and(|id| WORDS.contains(&id));
        let id = if is_here { Some(self.find(context)?.id.to_string()) } else { self.id.clone() };
        Ok(Self { id, ..self.clone() })
    }

    /// The plan that is meant: the id names one, or `@` means one.
    pub(crate) fn plan(&self, context: &Context) -> Option<RunFolder> {
        context.plan_or_here(Some(self.id.as_deref()?), Wanted::Newest)
    }

    /// The loop that is meant.
    pub(crate) fn find(&self, context: &Context) -> Result<RunFolder, CommandError> {
        if let Some(id) = &self.id {
            return context.find_or_here(Some(id), Wanted::Newest);
        }
        if !self.is_said() {
            return context.find_or_here(None, Wanted::Newest);
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
