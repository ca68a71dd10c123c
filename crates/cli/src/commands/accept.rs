//! `loop accept`: a person accepts a pass that something speaks against.
use clap::Args;
use loop_core::text;
use loop_core::view::qualification;
use loop_host::launch;
use serde_json::json;

use super::worker::WhichArgs;
use crate::context::{Context, Done, read_error};

/// Accept a loop whose gates pass, although something speaks against it
#[derive(Debug, Args)]
pub(crate) struct AcceptArgs {
    #[command(flatten)]
    which: WhichArgs,
    /// Why, for the record
    #[arg(long, value_name = "TEXT")]
    because: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// How long a reason may be.
const BECAUSE_BYTES_MAX: usize = 1000;

pub(crate) fn run(context: &Context, args: &AcceptArgs) -> Done {
    let folder = args.which.find(context)?;
    let because = args.because.as_ref().map(|because| text::head(because.trim(), BECAUSE_BYTES_MAX).to_owned());
    let warning = launch::accept(&context.home, &folder, because.filter(|because| !because.is_empty()))?;
    context.print_notes(warning.as_slice());
    let state = loop_host::journal::read(&folder.path).map_err(|error| read_error(&error))?.fold();
    let over = state.over.as_ref();
    let findings = over.and_then(|over| over.proof.as_deref()).map(|proof| proof.findings.clone()).unwrap_or_default();
    let id = &folder.id;
    if args.json {
        let outcome = over.map(|over| over.outcome.name());
        let words = qualification(&state);
        context
            .printer
            .json(&json!({"version": 1, "id": id, "outcome": outcome, "qualification": words, "findings": findings}));
        return Ok(0);
    }
    let mut answer = format!("loop {id} is accepted; what spoke against it stays in its record:\n");
    for finding in &findings {
        answer.push_str(&format!("  {}\n", text::one_line(&finding.text, 300)));
    }
    context.printer.answer(&answer);
    Ok(0)
}
