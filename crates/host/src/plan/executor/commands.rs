//! Commands of the user: metrics, hooks, the notification at the end.
use std::io;
use std::path::PathBuf;

use loop_core::ids::OrderId;
use loop_core::plan::{HookWhen, PlanEvent, PlanOrder, PlanState};
use loop_core::view::plan_qualification;
use loop_core::workflow::FAILED_LOOP_VARIABLE;

use super::super::child::{ChildWork, CommandRequest};
use super::super::open_child::OpenWork;
use super::{NewChild, PlanExecutor};
use crate::paths::path_of;

impl PlanExecutor {
    /// A command of the user: of a metric, or a hook.
    pub(super) fn command(&mut self, id: OrderId, command: CommandRequest, open: OpenWork) -> io::Result<PlanEvent> {
        let copy = command.is_copy.then(|| command.folder.clone());
        let work = ChildWork::Command(Box::new(command));
        self.start(id, NewChild { work, log: "commands", copy: copy.as_deref() }, open)
    }

    pub(super) fn hook(&mut self, id: OrderId, order: &PlanOrder, state: &PlanState) -> io::Result<PlanEvent> {
        let PlanOrder::Hook { when, index, failed } = order else {
            return Err(io::Error::other("a bug of loop: this is not an order for a hook"));
        };
        let spec = state.spec.as_ref().ok_or_else(|| io::Error::other("the plan never began"))?;
        let list = match when {
            HookWhen::Complete => &spec.on_complete,
            HookWhen::Failure => &spec.on_failure,
        };
        let line = usize::try_from(*index).ok().and_then(|at| list.get(at));
        let line = line.ok_or_else(|| io::Error::other("there is no such hook"))?.clone();
        // As variables: names never stand in a shell line.
        let failed_run = failed.as_ref().and_then(|node| state.node(node)).and_then(|node| node.run.as_ref());
        let failed_run = failed_run.unwrap_or(&self.plan.id).to_string();
        let variables = failed.iter().map(|node| ("LOOP_FAILED".to_owned(), node.to_string()));
        let failed_loop = (*when == HookWhen::Failure).then(|| (FAILED_LOOP_VARIABLE.to_owned(), failed_run));
        // A hook may call loop: it finds the loops where this process has them.
        let home = std::env::var("LOOP_HOME").ok().map(|home| ("LOOP_HOME".to_owned(), home));
        let variables = variables.chain(failed_loop).chain(home).collect();
        let command = CommandRequest {
            mark: self.mark(id),
            folder: path_of(&spec.workspace.path),
            is_copy: false,
            command: line,
            variables,
            wants_number: false,
            limit_ms: self.processes.hook_ms,
            outputs: self.plan.path.join("hooks").join(format!("{:06}", id.0)),
        };
        self.command(id, command, OpenWork::Hook)
    }

    /// Says by the user's own command that the plan has ended. Values reach it as arguments, never as a part of the line.
    pub(super) fn notify(&mut self, id: OrderId, result: &str, text: &str, state: &PlanState) -> io::Result<PlanEvent> {
        let command = state.spec.as_ref().and_then(|spec| spec.notify.clone());
        let command = command.ok_or_else(|| io::Error::other("there is no notification command"))?;
        let plan = &self.plan.id;
        let outcome = state.over.as_ref().map_or("", |over| over.outcome.name());
        // A text that begins with a dash would be an option to most commands.
        let shown = if text.starts_with('-') { format!(" {text}") } else { text.to_owned() };
        let qualification = plan_qualification(state).unwrap_or_default();
        let qualified = if qualification.is_empty() { String::new() } else { format!(" ({qualification})") };
        let variables = [
            ("LOOP_ID", plan.as_str()),
            ("LOOP_RESULT", result),
            ("LOOP_OUTCOME", outcome),
            ("LOOP_REASON", text),
            ("LOOP_NOTIFY_TITLE", &format!("plan {plan}: {result}{qualified}")),
            ("LOOP_QUALIFICATION", &qualification),
            ("LOOP_NOTIFY_TEXT", &shown),
        ];
        let variables = variables.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let command = CommandRequest {
            mark: self.mark(id),
            folder: PathBuf::from("/"),
            is_copy: false,
            command: format!("{command} \"$LOOP_NOTIFY_TITLE\" \"$LOOP_NOTIFY_TEXT\""),
            variables,
            wants_number: false,
            limit_ms: None,
            outputs: self.plan.path.join("notify").join(format!("{:06}", id.0)),
        };
        self.command(id, command, OpenWork::Hook)
    }
}
