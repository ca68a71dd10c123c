//! The texts that are written for one item of a list: lines of `loop/log.txt`, `loop/last_error.txt`, the entry of
//! `progress.txt`, notes, diagnostics, and the item's part of the prompt. All are clean of control characters and bounded.
use crate::list::{Criterion, Item};
use crate::policy::item::{
    CriterionProof, FailureVector, ItemEnd, ItemEvaluation, ItemRetry, ItemTries, ItemVerdict, MissingArtifact,
    RetryChange,
};
use crate::text;
use crate::time;

/// The agent gets so many lines of the log.
pub const RADIUS_LINES: usize = 50;
/// Bounds: letters of one value, of one line of the log, of a title; bytes of the radius, of notes, of the prompt's part.
const VALUE_LETTERS_MAX: usize = 200;
const LINE_LETTERS_MAX: usize = 1_000;
const RADIUS_BYTES_MAX: usize = 16 * 1024;
const NOTES_BYTES_MAX: usize = 4 * 1024;
const NOTE_LETTERS_MAX: usize = 500;
const TEXT_BYTES_MAX: usize = 16 * 1024;
const OUTPUT_BYTES_MAX: usize = 4 * 1024;
/// So many names are in one line.
const NAMED_MAX: usize = 20;

/// One check outcome, for `loop/log.txt`.
#[derive(Debug, Clone, Copy)]
pub struct ItemLogEntry<'a> {
    /// When the outcome was decided.
    pub wall_ms: u64,
    /// The item.
    pub item: &'a str,
    /// The number of its loop.
    pub number: u32,
    /// What was checked: the check command.
    pub command: &'a str,
    /// Its exit code, where there is one.
    pub exit_code: Option<i32>,
    /// The evaluation.
    pub evaluation: &'a ItemEvaluation,
    /// Files of this loop: diff, outputs, the list, the progress.
    pub artifacts: &'a [String],
    /// What the next loop changes, where there is one.
    pub retry: Option<&'a ItemRetry>,
    /// Which rule ended the item, where it ended.
    pub end: Option<&'a ItemEnd>,
}

/// The line of one check outcome, with its line break.
#[must_use]
pub fn item_log_line(entry: &ItemLogEntry<'_>) -> String {
    let code = entry.exit_code.map_or_else(|| "none".to_owned(), |code| code.to_string());
    let mut line = format!(
        "{} item={} loop={} verdict={} check={} exit={code}",
        time::rfc3339(entry.wall_ms),
        word(entry.item),
        entry.number,
        quoted(&entry.evaluation.verdict.words()),
        quoted(entry.command),
    );
    if let Some(why) = entry.evaluation.failure.as_ref().and_then(|failure| failure.reasons.first()) {
        line.push_str(&format!(" why={}", quoted(why)));
    }
    if !entry.artifacts.is_empty() {
        line.push_str(&format!(" artifacts={}", quoted(&names(entry.artifacts))));
    }
    if let Some(retry) = entry.retry {
        line.push_str(&format!(" retry={} changes={}", retry.number, quoted(retry.change.words())));
    }
    if let Some(end) = entry.end {
        line.push_str(&format!(" end={}", quoted(&end.words())));
    }
    format!("{}\n", text::escaped_head(&line, LINE_LETTERS_MAX))
}

/// The last lines of a log: all that the agent gets of it.
#[must_use]
pub fn item_log_radius(log: &str) -> String {
    let clean = text::clean(log.as_bytes());
    let lines: Vec<&str> = clean.lines().collect();
    let first = lines.len().saturating_sub(RADIUS_LINES);
    let kept: Vec<String> =
        lines.into_iter().skip(first).map(|line| text::escaped_head(line, LINE_LETTERS_MAX)).collect();
    text::tail(&kept.join("\n"), RADIUS_BYTES_MAX).to_owned()
}

/// The content of `loop/last_error.txt`: the newest failure vector.
#[must_use]
pub fn item_last_error(failure: &FailureVector, wall_ms: u64) -> String {
    let mut all = format!(
        "item: {}\nloop: {}\nverdict: {}\nat: {}\n",
        value(&failure.item),
        failure.number,
        value(&failure.verdict),
        time::rfc3339(wall_ms)
    );
    match &failure.failed {
        Some(failed) => {
            let code = failed.exit_code.map_or_else(|| "none".to_owned(), |code| code.to_string());
            all.push_str(&format!("command: {}\nexit code: {code}\n", value(&failed.command)));
        }
        None => all.push_str("command: none\nexit code: none\n"),
    }
    all.push_str(&list("reasons", &failure.reasons));
    let missing: Vec<String> = failure.missing.iter().map(MissingArtifact::words).collect();
    all.push_str(&list("missing artifacts", &missing));
    if !failure.outside.is_empty() {
        all.push_str(&list("outside of the scope", &failure.outside));
    }
    if let Some(failed) = &failure.failed {
        let clean = text::clean(failed.output_end.as_bytes());
        all.push_str(&format!("end of output:\n{}\n", text::tail(clean.trim_end(), OUTPUT_BYTES_MAX)));
    }
    text::head(&all, TEXT_BYTES_MAX).to_owned()
}

/// What a pass is recorded with.
#[derive(Debug, Clone, Copy)]
pub struct ItemPass<'a> {
    /// When.
    pub wall_ms: u64,
    /// The item.
    pub item: &'a Item,
    /// How many loops it took.
    pub loops: u32,
    /// The evaluation.
    pub evaluation: &'a ItemEvaluation,
    /// All files that changed since the item began.
    pub changed: &'a [String],
    /// A note that the agent proposed in its report. It is quoted as such.
    pub proposed: Option<&'a str>,
}

/// The entry of `progress.txt` after a pass.
#[must_use]
pub fn item_progress_entry(pass: &ItemPass<'_>) -> String {
    let loops = pass.loops;
    let mut entry = format!(
        "## {} {}: {}\npassed in {loops} {}\n",
        time::rfc3339(pass.wall_ms),
        value(&pass.item.id),
        value(&pass.item.title),
        if loops == 1 { "loop" } else { "loops" },
    );
    entry.push_str(&proofs(&pass.evaluation.proofs, &pass.item.criteria));
    entry.push_str(&list("changed", pass.changed));
    entry.push('\n');
    text::head(&entry, TEXT_BYTES_MAX).to_owned()
}

/// The notes of an item after a pass. Without a declared scope they name all changed files.
#[must_use]
pub fn item_notes(pass: &ItemPass<'_>) -> String {
    let mut notes = format!("Passed {} in loop {}.", time::rfc3339(pass.wall_ms), pass.loops);
    let proven: Vec<String> = pass.evaluation.proofs.iter().flat_map(|proof| proof.artifacts.clone()).collect();
    if !proven.is_empty() {
        notes.push_str(&format!(" Proof: {}.", names(&without_repeats(proven))));
    }
    if !pass.changed.is_empty() {
        let what = if pass.item.scope.is_empty() { "Changed files (no scope is declared)" } else { "Changed files" };
        notes.push_str(&format!(" {what}: {}.", names(pass.changed)));
    }
    let unchecked: Vec<String> =
        pass.evaluation.proofs.iter().filter(|proof| !proof.is_own).map(|proof| proof.criterion.clone()).collect();
    if !unchecked.is_empty() {
        notes.push_str(&format!(" No check of their own: criteria {}.", names(&unchecked)));
    }
    for flag in pass.evaluation.flags.iter().take(NAMED_MAX) {
        notes.push_str(&format!(" Note: {}.", text::one_line(flag, NOTE_LETTERS_MAX)));
    }
    if let Some(proposed) = pass.proposed.map(|note| text::one_line(note, NOTE_LETTERS_MAX)).filter(|it| !it.is_empty())
    {
        notes.push_str(&format!(" The agent says: {proposed}"));
    }
    text::head(&notes, NOTES_BYTES_MAX).to_owned()
}

/// What is known of an item that a person must look at.
#[derive(Debug, Clone, Copy)]
pub struct ItemEscalation<'a> {
    /// The item.
    pub item: &'a Item,
    /// The rule that ended it.
    pub end: &'a ItemEnd,
    /// What it used.
    pub tries: &'a ItemTries,
    /// What was tried, in order.
    pub retries: &'a [ItemRetry],
    /// The last failure, where there was one.
    pub last: Option<&'a FailureVector>,
}

/// The diagnostics of an item that ended without a pass: tried, failures, last error, what is missing.
#[must_use]
pub fn item_diagnostics(escalation: &ItemEscalation<'_>) -> String {
    let ItemEscalation { item, end, tries, retries, last } = *escalation;
    let mut all = format!("item {}: {}\n", value(&item.id), value(&item.title));
    all.push_str(&format!("ended by: {}\n", value(&end.words())));
    all.push_str(&format!("loops: {}\n", tries.loops));
    let tried: Vec<String> = retries
        .iter()
        .map(|retry| format!("retry {} after {}: {}", retry.number, retry.failure.words(), retry.change.words()))
        .collect();
    all.push_str(&list("tried", &tried));
    let failures: Vec<String> =
        tries.failures.iter().map(|(failure, times)| format!("{} {times} times", failure.words())).collect();
    all.push_str(&list("failures", &failures));
    let missing = match end {
        ItemEnd::SensorMissing(missing) => vec![format!("{}: {}", missing.sensor.words(), missing.why)],
        ItemEnd::Passed
        | ItemEnd::LoopsUsed { .. }
        | ItemEnd::RetriesUsed { .. }
        | ItemEnd::TimeUsed
        | ItemEnd::TokensUsed => {
            last.iter().flat_map(|failure| failure.missing.iter().map(MissingArtifact::words)).collect()
        }
    };
    all.push_str(&list("missing", &missing));
    if let Some(last) = last {
        all.push_str(&list("last error", &last.reasons));
    }
    text::head(&all, TEXT_BYTES_MAX).to_owned()
}

/// The diagnostics as lines of `loop/log.txt`: one line, as every entry there.
#[must_use]
pub fn item_escalation_line(escalation: &ItemEscalation<'_>, wall_ms: u64) -> String {
    let all = item_diagnostics(escalation);
    let joined = all.lines().map(str::trim).collect::<Vec<_>>().join("; ");
    let line = format!("{} item={} ESCALATION {joined}", time::rfc3339(wall_ms), word(&escalation.item.id));
    format!("{}\n", text::escaped_head(&line, 2 * LINE_LETTERS_MAX))
}

/// What the prompt of an item needs.
#[derive(Debug, Clone, Copy)]
pub struct ItemPrompt<'a> {
    /// The item.
    pub item: &'a Item,
    /// The number of its loop, and how many it has.
    pub number: u32,
    /// How many loops it may have.
    pub loops_max: u32,
    /// The whole log; the prompt gets its last lines.
    pub log: &'a str,
    /// The newest error, as its file has it.
    pub last_error: Option<&'a str>,
    /// What this loop changes.
    pub retry: Option<&'a ItemRetry>,
}

/// The part of the prompt about an item: what holds for all its loops, then what is known before this one.
#[must_use]
pub fn item_prompt(prompt: &ItemPrompt<'_>) -> String {
    format!("{}\n{}", item_task(prompt.item), item_note(prompt))
}

/// The task of an item: the same in each of its loops.
#[must_use]
pub fn item_task(item: &Item) -> String {
    let mut all = format!("Item {}: {}\nWork on this item only.\n", value(&item.id), value(&item.title));
    let body = text::clean(item.text.as_bytes());
    if !body.trim().is_empty() {
        all.push_str(&format!("\n{}\n", text::head(body.trim(), TEXT_BYTES_MAX / 2)));
    }
    if !item.criteria.is_empty() {
        all.push_str("\nAcceptance criteria. Each one needs an artifact that is newer than the start of the loop:\n");
    }
    for criterion in item.criteria.iter().take(4 * NAMED_MAX) {
        all.push_str(&criterion_line(criterion));
    }
    if !item.scope.is_empty() {
        all.push_str(&format!("\nChange only these files: {}\n", names(&item.scope)));
    }
    all.push_str(
        "\nThe harness runs the checks and updates the list, loop/log.txt and progress.txt. Do not edit these files: \
         such edits are undone and reported. You may propose one note: a last line that begins with NOTE: .\n",
    );
    all
}

/// What an agent gets before one loop of an item: which loop it is, what is different now, the last error, the log.
#[must_use]
pub fn item_note(prompt: &ItemPrompt<'_>) -> String {
    let ItemPrompt { item, number, loops_max, .. } = *prompt;
    let most = if loops_max == u32::MAX { String::new() } else { format!(" of at most {loops_max}") };
    let mut all = format!("This is loop {number}{most} for item {}.\n", value(&item.id));
    if let Some(retry) = prompt.retry {
        all.push_str(&format!("\nThe last loop failed ({}). One thing is different now. ", retry.failure.words()));
        all.push_str(&format!("{}\n", text::one_line(&retry.sentence, LINE_LETTERS_MAX)));
    }
    if let Some(error) = prompt.last_error {
        let error = text::clean(error.as_bytes());
        all.push_str(&format!("\nThe last error:\n{}\n", text::head(error.trim(), OUTPUT_BYTES_MAX * 2)));
    }
    let is_short = prompt.retry.is_some_and(|retry| retry.change == RetryChange::ShorterPrompt);
    let radius = item_log_radius(prompt.log);
    if !is_short && !radius.is_empty() {
        all.push_str(&format!("\nThe last {RADIUS_LINES} lines of loop/log.txt at most:\n{radius}\n"));
    }
    all
}

fn criterion_line(criterion: &Criterion) -> String {
    let mut line = format!("- {}: {}", value(&criterion.id), text::one_line(&criterion.text, NOTE_LETTERS_MAX));
    if let Some(command) = &criterion.command {
        line.push_str(&format!(" (checked by: {})", text::escaped_head(command, VALUE_LETTERS_MAX)));
    }
    if !criterion.artifacts.is_empty() {
        line.push_str(&format!(" (artifacts: {})", names(&criterion.artifacts)));
    }
    line.push('\n');
    line
}

fn proofs(proofs: &[CriterionProof], criteria: &[Criterion]) -> String {
    let mut all = String::new();
    for proof in proofs.iter().take(4 * NAMED_MAX) {
        let known = criteria.iter().find(|criterion| criterion.id == proof.criterion);
        let sentence = known.map_or("", |criterion| criterion.text.as_str());
        let by = if proof.is_own { "" } else { " (by the item's own diff and check)" };
        let line = format!("- {} {}: {}{by}", value(&proof.criterion), value(sentence), names(&proof.artifacts));
        all.push_str(&line);
        all.push('\n');
    }
    all
}

fn list(title: &str, lines: &[String]) -> String {
    if lines.is_empty() {
        return format!("{title}: none\n");
    }
    let mut all = format!("{title}:\n");
    for line in lines.iter().take(NAMED_MAX) {
        all.push_str(&format!("  {}\n", text::escaped_head(line, 2 * VALUE_LETTERS_MAX)));
    }
    if lines.len() > NAMED_MAX {
        all.push_str(&format!("  and {} more\n", lines.len() - NAMED_MAX));
    }
    all
}

fn names(all: &[String]) -> String {
    let mut shown: Vec<String> =
        all.iter().take(NAMED_MAX).map(|name| text::escaped_head(name, VALUE_LETTERS_MAX)).collect();
    if all.len() > NAMED_MAX {
        shown.push(format!("and {} more", all.len() - NAMED_MAX));
    }
    shown.join(", ")
}

fn without_repeats(all: Vec<String>) -> Vec<String> {
    let mut once: Vec<String> = Vec::new();
    for one in all {
        if !once.contains(&one) {
            once.push(one);
        }
    }
    once
}

fn value(text: &str) -> String {
    text::one_line(text, VALUE_LETTERS_MAX)
}

/// One word of a line: no space divides it.
fn word(text: &str) -> String {
    let whole = value(text);
    if whole.is_empty() || whole.contains([' ', '"', '=']) { quoted(&whole) } else { whole }
}

/// A value between quotes: a quote inside cannot end it.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text::escaped_head(text, VALUE_LETTERS_MAX * 2).replace('\\', "\\\\").replace('"', "\\\""))
}

/// The verdict as one word, for tables and programs.
#[must_use]
pub fn item_verdict_word(verdict: &ItemVerdict) -> &'static str {
    match verdict {
        ItemVerdict::Pass => "pass",
        ItemVerdict::Fail(_) => "fail",
        ItemVerdict::SensorMissing(_) => "sensor_missing",
    }
}
