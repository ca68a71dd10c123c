//! What `loop verify` found, for people: as lines and as Markdown.
use loop_core::policy::gate::Verdict;
use loop_core::text;
use loop_core::view::{Verification, VerifiedGate, short_hash};
use loop_host::clock;

use super::printer::{Paint, Printer};
use super::sentences;

/// How much of a command is shown in a line.
const COMMAND_LETTERS_MAX: usize = 100;
/// How many lines of what a gate said are shown.
const SAID_LINES_MAX: usize = 12;

/// As lines.
pub(crate) fn text(found: &Verification, printer: Printer) -> String {
    let (paint, word) = if found.verified { (Paint::Good, "verified") } else { (Paint::Bad, "not verified") };
    let mut out = format!("{}: {}\n", printer.paint(paint, word), clean(&found.why));
    let mut line = |name: &str, value: &str| out.push_str(&format!("  {name:<11}{value}\n"));
    for gate in &found.gates {
        line(&gate.name, &gate_words(gate));
    }
    if let Some(hidden) = &found.hidden_gates {
        line("hidden", &clean(&hidden.words()));
    }
    if let Some(judged) = judged(found) {
        line("judged", &clean(&judged));
    }
    line("recorded", &format!("{} by loop {}", clock::local_text_of(&found.certificate.at), found.certificate.program));
    if found.certificate.verified {
        line("workspace", &clean(&found.workspace.words()));
    }
    for what in &found.brought {
        line("brought", &format!("{what}, as it is now"));
    }
    if let Some(copy) = &found.copy {
        line("copy", &clean(copy));
    }
    for how in &found.certificate.weaker {
        line("weaker", &clean(how));
    }
    for gate in found.gates.iter().filter(|gate| !gate.passes()) {
        for test in &gate.failing {
            out.push_str(&format!("  {}: fails: {}\n", gate.name, clean(test)));
        }
        for line in output_lines(gate) {
            out.push_str(&format!("  {}: {line}\n", gate.name));
        }
    }
    for hint in &found.hints {
        out.push_str(&format!("hint: {}\n", clean(hint)));
    }
    out
}

/// What was judged, and where.
fn judged(found: &Verification) -> Option<String> {
    let (judged, checkpoint) = (found.judged.as_ref()?, found.checkpoint.as_ref()?);
    Some(format!("{}, tree {}", judged.words(checkpoint), found.tree.as_ref()?))
}

pub(super) fn clean(text: &str) -> String {
    text::clean(text.as_bytes())
}

/// The last lines that a gate said.
pub(super) fn output_lines(gate: &VerifiedGate) -> Vec<String> {
    let lines: Vec<&str> = gate.said.lines().collect();
    let from = lines.len().saturating_sub(SAID_LINES_MAX);
    lines.into_iter().skip(from).map(clean).collect()
}

pub(super) fn gate_words(gate: &VerifiedGate) -> String {
    let mut words =
        vec![format!("{} ({}, {:.3} s)", sentences::verdict(gate.verdict), clean(&gate.ended), gate.duration_seconds)];
    words.extend(gate.not_believed.as_ref().map(|why| format!("not believed: {}", clean(why))));
    words.extend((gate.tries > 1).then(|| format!("{} tries", gate.tries)));
    words.extend(gate.tests.map(loop_core::view::TestCounts::words));
    words.extend(recorded(gate));
    words.push(if gate.same_output { "the same output".to_owned() } else { "another output".to_owned() });
    words.extend((!gate.required).then(|| "only watched".to_owned()));
    words.join(" · ")
}

fn recorded(gate: &VerifiedGate) -> Option<String> {
    gate.recorded.filter(|was| *was != gate.verdict).map(|was| format!("was {}", was.name()))
}

/// As Markdown.
pub(crate) fn markdown(found: &Verification) -> String {
    let word = if found.verified { "verified" } else { "not verified" };
    let mut out = format!("# Loop {}: {word}\n\n{}\n", found.id, plain(&found.why));
    if !found.gates.is_empty() {
        out.push_str("\n| gate | command | now | recorded | ended | seconds | tests | output |\n");
        out.push_str("|---|---|---|---|---|---|---|---|\n");
    }
    for gate in &found.gates {
        let name = if gate.required { gate.name.clone() } else { format!("{} (watched)", gate.name) };
        let tests = gate.tests.map(loop_core::view::TestCounts::words).unwrap_or_default();
        let same = if gate.same_output { "same" } else { "differs" };
        out.push_str(&format!(
            "| {} | {} | {} | {} | {} | {:.3} | {tests} | {same}, `{}` |\n",
            plain(&name),
            code(&gate.command),
            gate.verdict.name(),
            gate.recorded.map_or("-", Verdict::name),
            plain(&gate.ended),
            gate.duration_seconds,
            short_hash(&gate.output_sha256),
        ));
    }
    out.push('\n');
    let mut item = |text: String| out.push_str(&format!("- {text}\n"));
    if let Some(judged) = judged(found) {
        item(format!("Judged: {}, at {} by loop {}", plain(&judged), found.at, found.program));
    }
    if let Some(hidden) = &found.hidden_gates {
        item(format!("Hidden gates: {}", plain(&hidden.words())));
    }
    item(format!("Recorded: {} by loop {}", found.certificate.at, found.certificate.program));
    if found.certificate.verified {
        item(format!("Workspace: {}", plain(&found.workspace.words())));
    }
    for tool in &found.certificate.tools {
        item(format!("Recorded with {}: {}", plain(&tool.name), plain(&tool.version)));
    }
    for how in found.certificate.weaker.iter().chain(&found.hints) {
        item(plain(how));
    }
    for test in found.gates.iter().filter(|gate| !gate.passes()).flat_map(|gate| &gate.failing) {
        item(format!("Fails: {}", plain(test)));
    }
    for gate in found.gates.iter().filter(|gate| !gate.passes() && !gate.said.is_empty()) {
        let said: String = output_lines(gate).iter().map(|line| format!("    {line}\n")).collect();
        out.push_str(&format!("\nThe end of what {} said:\n\n{said}", plain(&gate.name)));
    }
    out
}

/// A text in which nothing means anything to Markdown.
pub(super) fn plain(text: &str) -> String {
    let special = |letter: char| "\\`*_[]<>|#".contains(letter);
    let line = text::one_line(text, 2000);
    line.chars().flat_map(|letter| special(letter).then_some('\\').into_iter().chain([letter])).collect()
}

/// A command as code in a cell: fenced by more ticks than it has in a row.
pub(super) fn code(command: &str) -> String {
    let line = text::one_line(command, COMMAND_LETTERS_MAX).replace('|', "\\|");
    let longest = line.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let pad = if longest > 0 { " " } else { "" };
    format!("{fence}{pad}{line}{pad}{fence}")
}
