//! A workflow as text, `dot`, SVG and JSON.
use serde_json::{Value, json};

use super::{EntryWork, Steps, Workflow, WorkflowEntry};
use crate::settings::PROMISE;
use crate::text::{escaped, escaped_head, one_line};

/// Measures of the picture, in its own units.
const BOX_WIDTH: usize = 200;
const BOX_HEIGHT: usize = 52;
const GAP_ACROSS: usize = 60;
const GAP_DOWN: usize = 24;
const EDGE: usize = 20;

/// The ids of what an entry waits for.
fn waits_for<'a>(workflow: &'a Workflow, entry: &WorkflowEntry) -> Vec<&'a str> {
    entry.depends_on.iter().filter_map(|place| workflow.entries.get(*place)).map(|before| before.id.as_str()).collect()
}

/// What judges a loop, or what a person is asked, in one line.
fn about(entry: &WorkflowEntry) -> String {
    match &entry.work {
        EntryWork::Ask(question) => format!("asks you: {}", one_line(question, 80)),
        EntryWork::Loop(work) => match (work.setting(PROMISE), work.setting("gate")) {
            (Some(promise), _) => format!("until {}", escaped_head(promise, 80)),
            (None, Some(gates)) => format!("until {}", escaped_head(gates, 80)),
            (None, None) if work.setting("no_promise") == Some("true") => "until the agent says it is done".to_owned(),
            (None, None) => "until its promise passes".to_owned(),
        },
    }
}

/// The steps of a workflow as lines for people.
#[must_use]
pub fn text(workflow: &Workflow) -> String {
    let steps = Steps::of(workflow);
    let mut out = escaped(&workflow.name);
    if let Some(description) = &workflow.description {
        out.push_str(&format!(": {}", one_line(description, 200)));
    }
    let (entries, count) = (workflow.entries.len(), steps.count());
    let chain: Vec<&str> =
        steps.longest.iter().filter_map(|place| workflow.entries.get(*place)).map(|entry| entry.id.as_str()).collect();
    out.push_str(&format!(
        "\n{entries} {}, {count} {}; the longest chain (*): {}\n",
        if entries == 1 { "entry" } else { "entries" },
        if count == 1 { "step" } else { "steps" },
        chain.join(" → ")
    ));
    let width = workflow.entries.iter().map(|entry| entry.id.len()).max().unwrap_or_default();
    for step in 1..=count {
        out.push_str(&format!("\nstep {step}\n"));
        for place in steps.entries(step) {
            let Some(entry) = workflow.entries.get(place) else { continue };
            let mark = if steps.is_longest(place) { '*' } else { ' ' };
            let before = waits_for(workflow, entry);
            let why = match before.is_empty() {
                true => "starts at once".to_owned(),
                false => format!("waits for {}", before.join(", ")),
            };
            out.push_str(&format!("  {mark} {:<width$}  {why}\n", entry.id));
            out.push_str(&format!("    {:<width$}  {}\n", "", about(entry)));
        }
    }
    out
}

/// The workflow in the language of Graphviz.
#[must_use]
pub fn dot(workflow: &Workflow) -> String {
    let steps = Steps::of(workflow);
    let name = |text: &str| format!("\"{}\"", escaped(text).replace('\\', "\\\\").replace('"', "\\\""));
    let mut out = format!("digraph {} {{\n  rankdir=LR;\n  node [shape=box];\n", name(&workflow.name));
    for (place, entry) in workflow.entries.iter().enumerate() {
        let shape = match &entry.work {
            EntryWork::Ask(_) => " shape=ellipse",
            EntryWork::Loop(_) => "",
        };
        let style = if steps.is_longest(place) { " style=bold" } else { "" };
        out.push_str(&format!("  {} [tooltip={}{shape}{style}];\n", name(&entry.id), name(&about(entry))));
    }
    for (place, entry) in workflow.entries.iter().enumerate() {
        for before in &entry.depends_on {
            let Some(other) = workflow.entries.get(*before) else { continue };
            let style = if is_chain(&steps, *before, place) { " [style=bold]" } else { "" };
            out.push_str(&format!("  {} -> {}{style};\n", name(&other.id), name(&entry.id)));
        }
    }
    out.push_str("}\n");
    out
}

/// Whether two entries are neighbours in the longest chain.
fn is_chain(steps: &Steps, before: usize, after: usize) -> bool {
    steps.longest.windows(2).any(|pair| pair == [before, after])
}

/// A text inside XML.
fn xml(text: &str) -> String {
    escaped(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The workflow as a picture: a column for each step.
#[must_use]
pub fn svg(workflow: &Workflow) -> String {
    let steps = Steps::of(workflow);
    let rows = (1..=steps.count()).map(|step| steps.entries(step).count()).max().unwrap_or_default();
    let width = 2 * EDGE + steps.count() * (BOX_WIDTH + GAP_ACROSS) - GAP_ACROSS.min(steps.count() * GAP_ACROSS);
    let height = 2 * EDGE + rows * (BOX_HEIGHT + GAP_DOWN) - GAP_DOWN.min(rows * GAP_DOWN);
    let corner = |place: usize| {
        let step = steps.of_entry.get(place).copied().unwrap_or(1);
        let row = steps.entries(step).position(|other| other == place).unwrap_or_default();
        (EDGE + (step - 1) * (BOX_WIDTH + GAP_ACROSS), EDGE + row * (BOX_HEIGHT + GAP_DOWN))
    };
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" font-family=\"sans-serif\" role=\"img\">\n<title>{}</title>\n",
        xml(&workflow.name)
    );
    for (place, entry) in workflow.entries.iter().enumerate() {
        for before in &entry.depends_on {
            let ((from_x, from_y), (to_x, to_y)) = (corner(*before), corner(place));
            let (from_x, from_y) = (from_x + BOX_WIDTH, from_y + BOX_HEIGHT / 2);
            let to_y = to_y + BOX_HEIGHT / 2;
            let middle = (from_x + to_x) / 2;
            let thick = if is_chain(&steps, *before, place) { 3 } else { 1 };
            out.push_str(&format!(
                "<path d=\"M{from_x} {from_y} C{middle} {from_y} {middle} {to_y} {to_x} {to_y}\" fill=\"none\" \
                 stroke=\"#667\" stroke-width=\"{thick}\"/>\n"
            ));
        }
    }
    for (place, entry) in workflow.entries.iter().enumerate() {
        let (x, y) = corner(place);
        let round = if matches!(entry.work, EntryWork::Ask(_)) { BOX_HEIGHT / 2 } else { 6 };
        let thick = if steps.is_longest(place) { 3 } else { 1 };
        out.push_str(&format!(
            "<g><title>{}</title><rect x=\"{x}\" y=\"{y}\" width=\"{BOX_WIDTH}\" height=\"{BOX_HEIGHT}\" rx=\"{round}\" \
             fill=\"#fff\" stroke=\"#334\" stroke-width=\"{thick}\"/>\
             <text x=\"{}\" y=\"{}\" font-size=\"14\" fill=\"#112\">{}</text>\
             <text x=\"{}\" y=\"{}\" font-size=\"10\" fill=\"#445\">{}</text></g>\n",
            xml(&about(entry)),
            x + 10,
            y + 22,
            xml(&one_line(&entry.id, 26)),
            x + 10,
            y + 40,
            xml(&one_line(&about(entry), 36)),
        ));
    }
    out.push_str("</svg>\n");
    out
}

/// The workflow as data.
#[must_use]
pub fn json(workflow: &Workflow) -> Value {
    let steps = Steps::of(workflow);
    let entries = workflow.entries.iter().enumerate().map(|(place, entry)| {
        let mut row = json!({
            "id": entry.id,
            "line": entry.line,
            "step": steps.of_entry.get(place),
            "depends_on": waits_for(workflow, entry),
            "in_longest_chain": steps.is_longest(place),
        });
        match &entry.work {
            EntryWork::Ask(question) => row["ask"] = json!(question),
            EntryWork::Loop(work) => {
                row["prompt"] = json!(work.prompt);
                row["touches"] = json!(work.touches);
                let settings = work.given.iter().map(|given| (given.key.name.to_owned(), json!(given.value)));
                row["settings"] = Value::Object(settings.collect());
            }
        }
        row
    });
    json!({
        "name": workflow.name,
        "description": workflow.description,
        "env": workflow.env,
        "parallel": workflow.parallel,
        "budget_micros": workflow.budget_micros,
        "on_conflict": workflow.on_conflict,
        "hook_timeout_ms": workflow.hook_timeout_ms,
        "steps": steps.count(),
        "loops": entries.collect::<Vec<_>>(),
        "on_complete": workflow.on_complete,
        "on_failure": workflow.on_failure,
    })
}
