//! The prompt of the autonomous loop specification: a summary, the last iterations as they were, and what changed.
use super::compose::GATE_OUTPUT_BYTES_MAX;
use super::facts::gate_text;
use super::ledger;
use super::material::{GateSaid, Material};
use super::news::{environment_lines, file_lines, note_text};
use super::section::{Prompt, harmless};
use super::summary;
use crate::run::{PromptNote, RawIteration};
use crate::text;

/// How many iterations are shown as they were.
const RECENT_MAX: usize = 3;
/// How many lines of changes by others, variables or texts of a person are shown.
const LINES_MAX: usize = 50;

/// All sections in the order of the specification; the empty ones are left out. What it has no section for comes before
/// the requirements: the last result of the gates, and notes of the run.
pub(super) fn prompt(material: &Material<'_>) -> Prompt {
    let mut prompt = Prompt::default();
    headed(&mut prompt, "urgent", "Urgent Instruction (do this first)", &material.urgent.join("\n"));
    headed(&mut prompt, "goal", "Goal", &goal(material));
    if let Some(goal) = prompt.sections.last_mut() {
        goal.by_person = true;
        goal.stable = true;
    }
    let window = material.memory.map_or(&[][..], |memory| memory.window());
    let older = material.iteration.saturating_sub(1).saturating_sub(u32::try_from(window.len()).unwrap_or(u32::MAX));
    let title = format!("Progress Summary (iterations 1-{older})");
    let told = material
        .memory
        .map_or_else(String::new, |memory| summary::text(memory, material.summary, material.summary_tokens_max));
    headed(&mut prompt, "progress-summary", &title, &told);
    headed(&mut prompt, "recent-iterations", "Recent Iterations", &recent(window));
    headed(&mut prompt, "notes", "Notes", &material.memory.map(ledger::notes).unwrap_or_default());
    headed(&mut prompt, "current-state", "Current State", &state(material));
    headed(&mut prompt, "environment-changes", "Environment Changes", &lines(&environment(material)));
    headed(&mut prompt, "new-instructions", "New Instructions (incorporate these)", &instructions(material));
    headed(&mut prompt, "file-changes", "File Changes Detected", &lines(&file_events(material)));
    headed(&mut prompt, "gate-result", "Last Gate Result", &gates(&material.gates));
    let has_section =
        |note: &&PromptNote| matches!(note, PromptNote::EnvironmentChanged { .. } | PromptNote::FilesChanged(_));
    let notes: Vec<String> = material.notes.iter().filter(|note| !has_section(note)).map(note_text).collect();
    let notes = notes.join("\n").replace("added-by-the-user", "New Instructions");
    headed(&mut prompt, "news-of-the-loop", "News of the Loop", &notes);
    headed(&mut prompt, "output-requirements", "Output Requirements", &requirements(material));
    prompt
}

fn environment(material: &Material<'_>) -> Vec<String> {
    let of = |note: &PromptNote| {
        if let PromptNote::EnvironmentChanged { changes } = note { environment_lines(changes) } else { Vec::new() }
    };
    with_notes(material.environment, material, of)
}

fn file_events(material: &Material<'_>) -> Vec<String> {
    let of =
        |note: &PromptNote| if let PromptNote::FilesChanged(files) = note { file_lines(files) } else { Vec::new() };
    with_notes(material.file_events, material, of)
}

/// These lines, then those of the notes.
fn with_notes(lines: &[String], material: &Material<'_>, of: fn(&PromptNote) -> Vec<String>) -> Vec<String> {
    lines.iter().cloned().chain(material.notes.iter().flat_map(of)).collect()
}

fn headed(prompt: &mut Prompt, name: &'static str, title: &str, body: &str) {
    if !body.trim().is_empty() {
        let before = if prompt.sections.is_empty() { "" } else { "\n" };
        prompt.plain(name, format!("{before}## {title}\n{}\n", body.trim_end()));
    }
}

/// The goal, the texts that belong to every prompt, the gates and what is protected.
fn goal(material: &Material<'_>) -> String {
    let mut parts = vec![material.goal.trim_end().to_owned()];
    parts.extend(material.inject.iter().map(|text| text.trim_end().to_owned()));
    parts.extend(material.gates.iter().map(gate_text));
    if !material.protected.is_empty() {
        let names = text::one_line(&material.protected.join(", "), 600);
        parts.push(format!("Do not change these files: {names}"));
    }
    parts.retain(|part| !part.is_empty());
    parts.join("\n\n")
}

fn recent(window: &[RawIteration]) -> String {
    let from = window.len().saturating_sub(RECENT_MAX);
    let one = |raw: &RawIteration| format!("### Iteration {}\n{}", raw.iteration, quoted(raw.text.trim()));
    window.iter().skip(from).map(one).collect::<Vec<_>>().join("\n\n")
}

/// No line of a quoted text can pass for a heading of the prompt.
fn quoted(text: &str) -> String {
    let one = |line: &str| if line.starts_with('#') { format!("\\{line}") } else { line.to_owned() };
    text.lines().map(one).collect::<Vec<_>>().join("\n")
}

fn state(material: &Material<'_>) -> String {
    let done = material.iteration.saturating_sub(1);
    let agent = material.agent.map_or("", |choice| choice.agent.as_str());
    let model = material.agent.and_then(|choice| choice.model.as_deref());
    let model = model.map_or_else(String::new, |model| format!(" ({model})"));
    format!("- Total iterations: {done}\n- Current CLI: {agent}{model}")
}

fn lines(all: &[String]) -> String {
    let one = |line: &String| format!("- {}", text::one_line(line, 300));
    let mut shown: Vec<String> = all.iter().take(LINES_MAX).map(one).collect();
    if all.len() > LINES_MAX {
        shown.push(format!("- and {} more", all.len() - LINES_MAX));
    }
    shown.join("\n")
}

fn instructions(material: &Material<'_>) -> String {
    let one = |text: &String| format!("- {}", text.trim().replace('\n', "\n  "));
    material.instructions.iter().map(one).collect::<Vec<_>>().join("\n")
}

fn gates(gates: &[GateSaid]) -> String {
    let mut all: Vec<String> = Vec::new();
    for gate in gates {
        let Some(ended) = &gate.ended else { continue };
        let name = if gate.name.is_empty() { "the promise" } else { &gate.name };
        let verdict = if gate.passed { "passes" } else { "fails" };
        all.push(format!("- {name} {verdict} ({ended})"));
    }
    let failing = gates.iter().find(|gate| !gate.passed && !gate.watch && gate.ended.is_some());
    if let Some(gate) = failing {
        let said = gate.useful.clone().unwrap_or_else(|| {
            let both = [text::clean(&gate.stderr), text::clean(&gate.stdout)].join("\n");
            text::tail(both.trim(), GATE_OUTPUT_BYTES_MAX).to_owned()
        });
        if !said.trim().is_empty() {
            all.push(format!("\n{}", quoted(&harmless(&said))));
        }
    }
    all.join("\n")
}

/// The tags are shown as the specification has them; they stand in what was asked, so an echo of them does not count.
fn requirements(material: &Material<'_>) -> String {
    let tag = material.claiming.map(|claiming| claiming.tag).filter(|tag| !tag.is_empty()).unwrap_or("COMPLETE");
    let checked = if material.claiming.is_none() {
        "\n- The gates above decide whether the goal is achieved; the tag alone ends nothing"
    } else {
        ""
    };
    format!(
        "Continue working toward the goal. Output:\n\
         - `<progress>what you accomplished</progress>` for progress updates\n\
         - `<promise>{tag}</promise>` when the goal is fully achieved{checked}"
    )
}
