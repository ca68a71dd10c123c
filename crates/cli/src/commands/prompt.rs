//! `loop prompt`: the prompt that the agent got in an iteration, or would get next, section by section.
use clap::Args;
use loop_core::run::{AgentChoice, Entry, Fact, Order, RunState};
use loop_core::text;
use loop_core::view::JSON_VERSION;
use loop_host::attempt;
use loop_host::journal;
use loop_host::run_folder::RunFolder;
use loop_host::sent_prompt::{self, SentSection};
use serde_json::json;

use crate::args::IdArg;
use crate::context::{Context, Done, read_error};
use crate::here::{WORDS, Wanted};
use crate::render::error::{CommandError, Kind};
use crate::render::table::table_on_screen;

/// Show the prompt that the agent got in an iteration, or would get next
#[derive(Debug, Args)]
pub(crate) struct PromptArgs {
    #[command(flatten)]
    id: IdArg,
    /// The iteration [default: what the next attempt would be sent]. A number alone is an iteration of the loop of this
    /// folder
    #[arg(value_name = "N")]
    iteration: Option<u32>,
    /// Which attempt at the iteration [default: the newest]
    #[arg(long, value_name = "N", requires = "iteration")]
    attempt: Option<u32>,
    /// Only the text of this section
    #[arg(long, value_name = "NAME")]
    section: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A prompt that was sent, or would be.
struct Shown {
    iteration: u32,
    attempt: u32,
    sent: bool,
    agent: String,
    model: Option<String>,
    sections: Vec<SentSection>,
}

pub(crate) fn run(context: &Context, args: &PromptArgs) -> Done {
    let (id, iteration) = words(context, args);
    let folder = context.find_or_here(id, Wanted::AtWorkOrNewest)?;
    let reading = journal::read(&folder.path).map_err(|error| read_error(&error))?;
    let state = reading.fold();
    let shown = match iteration {
        Some(iteration) => {
            let shown = sent(&folder, &state, iteration, args.attempt)?;
            by_the_order(shown, &reading.entries, &state)
        }
        None => next(&folder, &state)?,
    };
    if let Some(name) = &args.section {
        return section(context, &folder, shown, name, args.json);
    }
    if args.json {
        context.printer.json(&as_value(&folder, &shown));
    } else {
        context.printer.answer(&as_text(&folder, &shown));
    }
    Ok(0)
}

/// The id and the iteration that were typed: a number alone is an iteration, unless a loop begins so.
fn words<'a>(context: &Context, args: &'a PromptArgs) -> (Option<&'a str>, Option<u32>) {
    let first = args.id.id.as_deref();
    let is_loop = |word: &str| WORDS.contains(&word) || !context.ids_of(word).is_empty();
    match first.and_then(|word| Some((word, word.parse::<u32>().ok()?))) {
        Some((word, number)) if args.iteration.is_none() && !is_loop(word) => (None, Some(number)),
        Some(_) | None => (first, args.iteration),
    }
}

/// What the folder of an attempt says.
fn sent(folder: &RunFolder, state: &RunState, iteration: u32, attempt: Option<u32>) -> Result<Shown, CommandError> {
    let exists = |attempt: &u32| folder.attempt(iteration, *attempt).join(sent_prompt::PROMPT).exists();
    let newest = (1..).take_while(exists).last();
    let attempt = attempt.or(newest).unwrap_or(1);
    let sections = sent_prompt::sent(&folder.attempt(iteration, attempt)).map_err(|error| {
        let id = &folder.id;
        let begun = state.iteration;
        let which = format!("loop {id} has no prompt of iteration {iteration}, attempt {attempt}");
        let why = match begun {
            0 => "no iteration has begun".to_owned(),
            _ if iteration == 0 || iteration > begun => format!("the newest iteration is {begun}"),
            _ => error.to_string(),
        };
        CommandError::new(Kind::Wrong, which).because(why).hint(format!("what would be sent next: loop prompt {id}"))
    })?;
    let (agent, model) = (state.agent_name().to_owned(), None);
    Ok(Shown { iteration, attempt, sent: true, agent, model, sections })
}

/// The same with the agent and the model that were chosen for that attempt. Where none was chosen, the model is the one
/// that the agent named.
fn by_the_order(shown: Shown, entries: &[Entry], state: &RunState) -> Shown {
    let of = |entry: &Entry| -> Option<AgentChoice> {
        let Fact::Ordered { order: Order::RunAgent { iteration, attempt, choice, .. }, .. } = &entry.fact else {
            return None;
        };
        ((*iteration, *attempt) == (shown.iteration, shown.attempt)).then(|| choice.clone())
    };
    let chosen = entries.iter().rev().find_map(of).unwrap_or_default();
    let line = state.prompt.memory.attempts().iter().find(|line| line.iteration == shown.iteration);
    let agent = Some(chosen.agent).filter(|agent| !agent.is_empty()).or_else(|| Some(line?.agent.clone()));
    let model = chosen.model.or_else(|| line?.model.clone());
    Shown { agent: agent.unwrap_or(shown.agent), model, ..shown }
}

/// What would be sent, composed from the state as it is now.
fn next(folder: &RunFolder, state: &RunState) -> Result<Shown, CommandError> {
    let composed = attempt::next_prompt(folder, state);
    let (request, prompt) = composed.map_err(|error| {
        let id = &folder.id;
        CommandError::new(Kind::Unable, format!("the next prompt of loop {id} cannot be put together"))
            .because(error.to_string())
            .hint(format!("what was sent: loop history {id}"))
    })?;
    let sections = prompt.sections.iter().map(SentSection::of).collect();
    let (agent, model) = (request.choice.agent, request.choice.model);
    Ok(Shown { iteration: request.iteration, attempt: request.attempt, sent: false, agent, model, sections })
}

/// Only the text of one section, as it is: several of one name one after the other.
fn section(context: &Context, folder: &RunFolder, shown: Shown, name: &str, json: bool) -> Done {
    let known: Vec<String> = shown.sections.iter().map(|section| section.name.clone()).collect();
    let only: Vec<SentSection> = shown.sections.into_iter().filter(|section| section.name == name).collect();
    if only.is_empty() {
        let known = text::one_line(&known.join(", "), 400);
        return Err(CommandError::new(Kind::Wrong, format!("this prompt has no section {name}"))
            .because(format!("its sections are: {known}"))
            .hint("leave --section out to see all of them"));
    }
    let only = Shown { sections: only, ..shown };
    if json {
        context.printer.json(&as_value(folder, &only));
        return Ok(0);
    }
    let all: String = only.sections.iter().map(|section| section.text.as_str()).collect();
    context.printer.answer(&text::escaped_lines(all.trim_start_matches('\n')));
    Ok(0)
}

fn as_value(folder: &RunFolder, shown: &Shown) -> serde_json::Value {
    let one = |section: &SentSection| {
        json!({
            "name": section.name, "bytes": section.bytes, "tokens": section.tokens,
            "by_person": section.by_person, "stable": section.stable, "text": section.text,
        })
    };
    let (bytes, tokens) = sums(&shown.sections);
    let harness: usize = shown.sections.iter().filter(|section| !section.by_person).map(|section| section.tokens).sum();
    json!({
        "version": JSON_VERSION, "id": folder.id, "iteration": shown.iteration, "attempt": shown.attempt,
        "sent": shown.sent, "agent": shown.agent, "model": shown.model, "bytes": bytes, "tokens": tokens,
        "tokens_of_harness": harness, "sections": shown.sections.iter().map(one).collect::<Vec<_>>(),
    })
}

fn sums(sections: &[SentSection]) -> (usize, usize) {
    sections.iter().fold((0, 0), |(bytes, tokens), section| (bytes + section.bytes, tokens + section.tokens))
}

fn as_text(folder: &RunFolder, shown: &Shown) -> String {
    let what = if shown.sent { "was sent" } else { "would be sent next, as the loop stands now" };
    let Shown { iteration, attempt, agent, .. } = shown;
    let model = shown.model.as_ref().map_or_else(String::new, |model| format!(" ({})", text::one_line(model, 60)));
    let agent = text::one_line(agent, 60);
    let mut out =
        format!("loop {}, iteration {iteration}, attempt {attempt}, to {agent}{model}: this {what}\n", folder.id);
    for section in &shown.sections {
        let by = if section.by_person { ", by a person" } else { "" };
        let size = format!("{} bytes, about {} tokens{by}", section.bytes, section.tokens);
        out.push_str(&format!("\n━━ {} ━━ {size}\n", text::one_line(&section.name, 60)));
        out.push_str(text::escaped_lines(section.text.trim_matches('\n')).as_str());
        out.push('\n');
    }
    let row = |section: &SentSection| {
        let kind = if section.stable { "the same in every prompt" } else { "of this prompt" };
        vec![section.name.clone(), section.bytes.to_string(), section.tokens.to_string(), kind.to_owned()]
    };
    let (bytes, tokens) = sums(&shown.sections);
    let all = vec!["all".to_owned(), bytes.to_string(), tokens.to_string(), String::new()];
    let rows: Vec<Vec<String>> = shown.sections.iter().map(row).chain([all]).collect();
    out.push('\n');
    out.push_str(&table_on_screen(&["SECTION", "BYTES", "TOKENS", "WHICH"], &rows));
    out
}
