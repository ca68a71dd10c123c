//! `loop reset`: close the breaker of a loop, and forget the agent's conversation where that is asked for.
use clap::Args;
use loop_core::control::Ask;
use loop_core::run::RunState;
use loop_core::view::BreakerView;
use loop_host::clock;
use loop_host::launch::{self, PersonAnswer};
use serde_json::json;

use super::ask;
use super::worker::WhichArgs;
use crate::context::{Context, Done, read_error};
use crate::person;
use crate::render::error::{CommandError, Kind};

/// Close the breaker of a loop: every count of it goes to zero
#[derive(Debug, Args)]
pub(crate) struct ResetArgs {
    #[command(flatten)]
    which: WhichArgs,
    /// Forget the agent's conversation, too: the next iteration begins a new one
    #[arg(long)]
    session: bool,
    /// Ask nothing: yes to all
    #[arg(long)]
    auto_confirm: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(context: &Context, args: &ResetArgs) -> Done {
    let folder = args.which.find(context)?;
    let state = loop_host::journal::read(&folder.path).map_err(|error| read_error(&error))?.fold();
    if state.spec.is_none() {
        return Err(CommandError::new(Kind::Wrong, "the loop never began").hint("loop list"));
    }
    let session = args.session && state.agent.session().is_some() && confirmed(context, args, &state)?;
    if folder.holder().is_some() {
        ask::ask(&folder, Ask::Reset { session }, "loop reset")?;
    } else {
        launch::close_breaker(&context.home, &folder, session, "loop reset")?;
    }
    if args.json {
        let breaker = BreakerView::of(&state);
        let id = state.agent.session().filter(|_| session).map(|session| &session.id);
        context.printer.json(&json!({"version": 1, "id": folder.id, "cleared": breaker, "session": id}));
        return Ok(0);
    }
    context.printer.answer(&report(args, &state, session));
    Ok(0)
}

/// What was cleared.
fn report(args: &ResetArgs, state: &RunState, session: bool) -> String {
    let id = state.spec.as_ref().map(|spec| spec.id.to_string()).unwrap_or_default();
    let breaker = BreakerView::of(state);
    let was = match (&breaker.tripped_at, &breaker.why) {
        (Some(at), Some(why)) => {
            let at = clock::local_text_of(at);
            format!("it tripped at {at}: {why} ({})", breaker.reason.unwrap_or_default())
        }
        (_, _) => "it was not tripped".to_owned(),
    };
    let counts = breaker.standing();
    let counts = if counts.is_empty() { "all counts were 0".to_owned() } else { counts };
    let mut text = format!("loop {id}: the breaker is closed; {was}\n  cleared     {counts}\n");
    if let Some(signature) = &breaker.counts.signature {
        text.push_str(&format!("  the error   {}\n", loop_core::text::one_line(signature, 200)));
    }
    if args.session {
        let what = match (state.agent.session(), session) {
            (None, _) => "there is no conversation to forget".to_owned(),
            (Some(session), true) => format!("{} is forgotten", session.id),
            (Some(session), false) => {
                format!("{} is not forgotten; to forget it: loop reset {id} --session --auto-confirm", session.id)
            }
        };
        text.push_str(&format!("  session     {what}\n"));
    }
    text
}

/// On a terminal a person is asked; elsewhere the conversation stays unless `--auto-confirm` is given.
fn confirmed(context: &Context, args: &ResetArgs, state: &RunState) -> Result<bool, CommandError> {
    let own = launch::own_settings(&context.home)?.values.start.auto_confirm;
    if args.auto_confirm || own || state.settings.shown().values.start.auto_confirm {
        return Ok(true);
    }
    let answer = person::ask(context.printer, "The agent forgets what it knows about this work. Continue?");
    if answer == PersonAnswer::NobodyThere {
        context
            .printer
            .progress("note: there is no terminal to ask on, so the conversation is not forgotten (--auto-confirm)\n");
    }
    Ok(answer == PersonAnswer::Yes)
}
