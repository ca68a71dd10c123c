//! `loop watch`: what a loop does, as it does it, as plain text.
use std::time::Duration;

use clap::Args;
use loop_core::run::{Answer, Event, Fact, Order, RunState};
use loop_host::attempt::Meaning;
use loop_host::driver::Reporter;
use loop_host::journal::Tail;
use loop_host::process::Follower;
use loop_host::run_folder::RunFolder;
use loop_host::signals::Signals;

use super::{checkpoint_lookup, list, plan_watch};
use crate::args::IdArg;
use crate::context::{Context, Done};
use crate::here::Wanted;
use crate::kept::KeptCheckpoints;
use crate::render::error::{CommandError, Kind};
use crate::render::live::Live;
use crate::render::summary::summary;

/// So many pieces of one stream are shown before anything else gets its turn.
const PIECES_MAX: u32 = 8;
/// What is stored of an attempt is shown in so many rounds; what comes later is not followed.
const LOOKS_MAX: u32 = 64;
/// How often a followed loop is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Show what a loop does: iterations, what the agent writes, the verdicts of the gates
#[derive(Debug, Args)]
pub(crate) struct WatchArgs {
    #[command(flatten)]
    id: IdArg,
    /// Follow it until the loop has ended; Ctrl-C leaves, and the loop continues
    #[arg(short, long)]
    follow: bool,
    /// Begin there: 10m, 2026-11-15 or an RFC 3339 time
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Print the events of `loop start --json`, one line each; what the agent writes is left out
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(context: &Context, args: &WatchArgs) -> Done {
    let since_ms = args.since.as_deref().map(list::since).transpose()?.unwrap_or(0);
    if let Some(plan) = args.id.plan(context, Wanted::AtWorkOrNewest) {
        let manner = plan_watch::PlanWatchManner { follow: args.follow, since_ms, json: args.json };
        return plan_watch::run(context, &plan, manner);
    }
    let folder = args.id.find(context, Wanted::AtWorkOrNewest)?;
    let unreadable =
        |error: std::io::Error| CommandError::new(Kind::Unable, "cannot read the loop").because(error.to_string());
    let mut signals = Signals::listen().map_err(|error| CommandError::of(Kind::Unable, &error))?;
    let mut watch = Watch {
        tail: Tail::new(&folder.path),
        state: RunState::default(),
        live: if args.json {
            Live::new(context.printer.for_events(), folder.clone(), true)
        } else {
            Live::onto_stdout(context.printer, folder.clone())
        },
        json: args.json,
        streams: Vec::new(),
        since_ms,
        folder,
    };
    for looks in 1_u32.. {
        let driven = watch.folder.holder().is_some();
        let more = watch.look().map_err(unreadable)?;
        let over = watch.state.over.is_some() || !driven;
        let enough = !args.follow && (!more || looks >= LOOKS_MAX);
        if enough || (over && !more) || !signals.take().is_empty() {
            break;
        }
        signals.wait(if more { Duration::ZERO } else { LOOK_EVERY });
    }
    watch.look().map_err(unreadable)?;
    watch.live.finish();
    if args.json {
        return Ok(0);
    }
    if watch.state.over.is_some() && since_ms == 0 {
        let changes = checkpoint_lookup::changes_of(&watch.folder, &watch.state);
        let kept = KeptCheckpoints::of(&context.home, &watch.folder, &watch.state);
        context.printer.answer(&summary(&watch.state, watch.live.record(), &changes, &kept, context.printer));
    } else if watch.state.over.is_none() && watch.folder.holder().is_none() {
        let id = &watch.folder.id;
        context.printer.answer(&format!("crashed: its process is gone; next: loop resume {id}\n"));
    }
    Ok(0)
}

struct Watch {
    folder: RunFolder,
    tail: Tail,
    state: RunState,
    live: Live,
    /// What the agent that is at work writes.
    streams: Vec<(Follower, Meaning)>,
    since_ms: u64,
    json: bool,
}

impl Watch {
    /// Shows what has come since the last look; true if there is more.
    fn look(&mut self) -> std::io::Result<bool> {
        for entry in self.tail.next_entries()? {
            let ended = matches!(&entry.fact, Fact::Happened(input)
                if matches!(&input.event, Event::Answered { answer: Answer::AgentEnded(_), .. }));
            if ended {
                // Nobody writes any more, so that this has an end.
                while self.show_output()? {}
                self.streams.clear();
            }
            self.state.apply(&entry.fact);
            if entry.at.wall_ms < self.since_ms {
                self.live.saw(&entry, &self.state);
                continue;
            }
            self.live.on_entry(&entry, &self.state);
            if self.json {
                // Nothing waits for a watcher: no event is left out.
                self.live.keep_up();
                continue;
            }
            if let Fact::Ordered { order: Order::RunAgent { iteration, attempt, .. }, .. } = &entry.fact {
                let place = self.folder.attempt(*iteration, *attempt);
                let streams = [("stdout", Meaning::of(&self.state)), ("stderr", Meaning::default())];
                self.streams = streams.map(|(name, meaning)| (Follower::new(place.join(name)), meaning)).into();
            }
        }
        self.show_output()
    }

    /// Shows some of what the agent wrote; true if there may be more. It stops after a while, so that an agent that
    /// writes faster than we show does not keep us from seeing anything else.
    fn show_output(&mut self) -> std::io::Result<bool> {
        let mut more = false;
        for (stream, meaning) in &mut self.streams {
            for count in 1..=PIECES_MAX {
                let piece = stream.next_piece()?;
                if piece.gap {
                    self.live.on_output(b"\n[output skipped: more came than is stored]\n");
                }
                if piece.bytes.is_empty() {
                    break;
                }
                self.live.on_output(&meaning.shown(&piece.bytes));
                // Nothing waits for a watcher, so it waits for its reader and leaves nothing out.
                self.live.keep_up();
                more |= count == PIECES_MAX;
            }
        }
        Ok(more)
    }
}
