//! Pages of the manual that are written from the code: the words for states and ends, and other names of settings.
//!
//! A word is what files, JSON and people get; the sentence beside it is the doc comment of its variant.

use std::collections::BTreeMap;
use std::process::Command;

use anyhow::{Context, Result};
use loop_core::plan::{PlanOutcome, plan_standing};
use loop_core::run::{Outcome, standing};
use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::tokens::{attribute_at, each_sequence, group_of, is_sign, is_word, lex, word_of};
use crate::{Tree, cheats, markdown, workspace_root};

/// The words of one enum.
#[derive(Debug, Clone, Copy)]
pub struct WordTable {
    /// The heading.
    pub title: &'static str,
    /// What the words are about, in one sentence.
    pub about: &'static str,
    /// The file of the enum.
    pub file: &'static str,
    /// The enum.
    pub name: &'static str,
    /// The file that gives the words; empty where it is the same.
    pub words: &'static str,
}

const fn table(title: &'static str, about: &'static str, file: &'static str, name: &'static str) -> WordTable {
    WordTable { title, about, file, name, words: "" }
}

/// Every enum whose words people or programs see.
pub const TABLES: &[WordTable] = &[
    table("Outcomes of a loop", "How a loop ended: `outcome` in JSON.", "crates/core/src/run/outcome.rs", "Outcome"),
    table(
        "Reasons for the end of a loop",
        "Why it ended: `reason` in JSON.",
        "crates/core/src/run/outcome.rs",
        "ReasonCode",
    ),
    table(
        "Status in lists",
        "`status` in `loop list` and `loop status`, for loops and plans.",
        "crates/core/src/run/outcome.rs",
        "Status",
    ),
    table("State of loopr", "`state` in `.loopr/status.json`.", "crates/core/src/run/outcome.rs", "LooprState"),
    table("Verdicts of a gate", "What a gate says.", "crates/core/src/policy/gate.rs", "Verdict"),
    table(
        "Outcomes of an iteration",
        "`outcome` of an iteration in `loop history`.",
        "crates/core/src/view/history.rs",
        "IterationOutcome",
    ),
    table(
        "Outcomes of an attempt",
        "`outcome` of an attempt in `loop history`.",
        "crates/core/src/view/history.rs",
        "AttemptOutcome",
    ),
    table(
        "Activities",
        "What a loop is doing now: `activity` of `now` in `loop status ID --json`.",
        "crates/core/src/view/now.rs",
        "Activity",
    ),
    table(
        "Classes of failure",
        "Why an agent could not work: `failure` in JSON, and the words of `--on-failure`.",
        "crates/core/src/agent/provider/failure.rs",
        "Failure",
    ),
    table(
        "Sources of a wait",
        "How the end of a wait is known: `waiting.source` in JSON.",
        "crates/core/src/view/row.rs",
        "WaitingSource",
    ),
    table("Types of alerts", "`type` of an alert.", "crates/core/src/policy/alert.rs", "AlertType"),
    table("Severities of alerts", "`severity` of an alert.", "crates/core/src/policy/alert.rs", "Severity"),
    table(
        "Findings",
        "What may speak against a pass, and the words of `--accept`.",
        "crates/core/src/policy/proof.rs",
        "FindingKind",
    ),
    table(
        "Outcomes of a plan",
        "How a best-of or a workflow ended: `outcome` in JSON.",
        "crates/core/src/plan/outcome.rs",
        "PlanOutcome",
    ),
    table("Reasons for the end of a plan", "Why it ended.", "crates/core/src/plan/outcome.rs", "PlanReasonCode"),
    WordTable {
        title: "States of a node at work",
        about: "`state` of a branch, or of an entry of a workflow.",
        file: "crates/core/src/plan/state.rs",
        name: "NodeStage",
        words: "crates/core/src/view/plan.rs",
    },
    WordTable {
        title: "States of a node that ended",
        about: "The same, when nothing more happens to it.",
        file: "crates/core/src/plan/fact.rs",
        name: "NodeEnd",
        words: "crates/core/src/view/plan.rs",
    },
];

/// The exit codes of `loop` and `loopr`.
pub const EXIT_CODES: [(u8, &str); 6] = [
    (0, "The promise passes, or an agent without a gate claims that it is done; a command did what was asked."),
    (
        1,
        "It ended without that: a limit, no progress, a protected file, a pass that was not proven, a plan that waits.",
    ),
    (2, "A person stopped or cancelled it."),
    (3, "It could not work: the agent, a gate or this machine."),
    (4, "The call, the settings or the set-up are wrong. Nothing was created."),
    (5, "A loop that should answer does not."),
];

/// One variant of an enum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variant {
    /// Its name in the code.
    pub name: String,
    /// Its doc comment on one line; empty where it has none.
    pub doc: String,
}

/// The variants of an enum with their doc comments; empty where the file has no such enum.
#[must_use]
pub fn variants(text: &str, name: &str) -> Vec<Variant> {
    let mut found = Vec::new();
    let Some(stream) = lex(text) else { return found };
    each_sequence(stream, &mut |sequence| {
        for at in 0..sequence.len() {
            if is_word(sequence.get(at), "enum")
                && is_word(sequence.get(at + 1), name)
                && let Some(body) = group_of(sequence.get(at + 2), Delimiter::Brace)
            {
                found = variants_in(body.stream());
            }
        }
    });
    found
}

fn variants_in(body: TokenStream) -> Vec<Variant> {
    let body: Vec<TokenTree> = body.into_iter().collect();
    let mut found = Vec::new();
    let mut doc = Vec::new();
    let mut is_new = true;
    for at in 0..body.len() {
        if let Some(attribute) = attribute_at(&body, at) {
            doc.extend(doc_of(attribute));
        } else if let (true, Some(name)) = (is_new, word_of(body.get(at))) {
            found.push(Variant { name, doc: std::mem::take(&mut doc).join(" ") });
            is_new = false;
        } else if is_sign(body.get(at), ',') {
            is_new = true;
        }
    }
    found
}

fn doc_of(attribute: TokenStream) -> Option<String> {
    let parts: Vec<TokenTree> = attribute.into_iter().collect();
    is_word(parts.first(), "doc").then(|| text_of(parts.get(2))).flatten().map(|text| text.trim().to_owned())
}

/// The text of a string literal.
#[must_use]
pub fn text_of(token: Option<&TokenTree>) -> Option<String> {
    let TokenTree::Literal(literal) = token? else { return None };
    let written = literal.to_string();
    let inside = written.trim_start_matches('r').trim_matches('#').strip_prefix('"')?.strip_suffix('"')?;
    Some(inside.replace("\\\"", "\"").replace("\\\\", "\\"))
}

/// The word of each variant, by the arms that turn it into one: `Self::Pass => "pass"`.
fn words(text: &str, name: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let Some(stream) = lex(text) else { return found };
    each_sequence(stream, &mut |sequence| {
        let mut is_own = false;
        for at in 0..sequence.len() {
            if is_word(sequence.get(at), "impl") {
                is_own = is_word(sequence.get(at + 1), name);
            }
            let own = group_of(sequence.get(at), Delimiter::Brace).filter(|_| is_own);
            if let Some(body) = own {
                each_sequence(body.stream(), &mut |arms| read_arms(arms, "Self", &mut found));
                is_own = false;
            }
        }
        read_arms(sequence, name, &mut found);
        read_pairs(sequence, name, &mut found);
    });
    found
}

/// Reads `Name::Variant | Name::Other => "word"`. The first word of a variant counts.
fn read_arms(sequence: &[TokenTree], name: &str, found: &mut BTreeMap<String, String>) {
    let mut pending: Vec<String> = Vec::new();
    let mut at = 0;
    while at < sequence.len() {
        if let Some(variant) = path_at(sequence, at, name) {
            pending.push(variant);
            at += 4;
            // What the variant holds.
            at += usize::from(matches!(sequence.get(at), Some(TokenTree::Group(_))));
            continue;
        }
        let is_arrow = is_sign(sequence.get(at), '=') && is_sign(sequence.get(at + 1), '>');
        if let (true, Some(word)) = (is_arrow, text_of(sequence.get(at + 2))) {
            for variant in pending.drain(..) {
                found.entry(variant).or_insert_with(|| word.clone());
            }
        }
        if !is_sign(sequence.get(at), '|') {
            pending.clear();
        }
        at += 1;
    }
}

/// Reads `(Name::Variant, "word")`.
fn read_pairs(sequence: &[TokenTree], name: &str, found: &mut BTreeMap<String, String>) {
    if let (Some(variant), true, Some(word)) =
        (path_at(sequence, 0, name), is_sign(sequence.get(4), ','), text_of(sequence.get(5)))
    {
        found.entry(variant).or_insert(word);
    }
}

/// The variant of `Name::Variant` at this place.
fn path_at(sequence: &[TokenTree], at: usize, name: &str) -> Option<String> {
    let is_path =
        is_word(sequence.get(at), name) && is_sign(sequence.get(at + 1), ':') && is_sign(sequence.get(at + 2), ':');
    is_path.then(|| word_of(sequence.get(at + 3))).flatten()
}

/// The word that serde gives to a variant.
fn snake_case(name: &str) -> String {
    let mut word = String::new();
    for (at, sign) in name.chars().enumerate() {
        if sign.is_ascii_uppercase() && at > 0 {
            word.push('_');
        }
        word.push(sign.to_ascii_lowercase());
    }
    word
}

/// A word with all that it means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// The word.
    pub word: String,
    /// The sentences of its variants.
    pub text: String,
}

/// The words of a table in the order of the code; those of several variants once.
#[must_use]
pub fn words_of(tree: &Tree, table: &WordTable) -> Vec<Word> {
    let text = |path: &str| tree.file(path).map(|file| file.text.clone()).unwrap_or_default();
    let own = text(table.file);
    let given = words(&if table.words.is_empty() { own.clone() } else { text(table.words) }, table.name);
    let mut found: Vec<Word> = Vec::new();
    for variant in variants(&own, table.name) {
        // A variant that only holds what another enum says has no word.
        if !table.words.is_empty() && !given.contains_key(&variant.name) {
            continue;
        }
        let word = given.get(&variant.name).cloned().unwrap_or_else(|| snake_case(&variant.name));
        match found.iter_mut().find(|known| known.word == word) {
            Some(known) => {
                known.text.push(' ');
                known.text.push_str(&variant.doc);
            }
            None => found.push(Word { word, text: variant.doc }),
        }
    }
    found
}

/// The page with states, outcomes, reasons and exit codes.
///
/// # Errors
/// When an enum is not where it is expected.
pub fn words_page(tree: &Tree) -> Result<String> {
    let mut page = String::from(
        "# States, outcomes, reasons and exit codes\n\n\
         <!-- written by `cargo xtask generate` from the code; do not edit -->\n\n\
         The words that lists, JSON, files and scripts get, and what each one means. How they are used in JSON is in\n\
         [Stable JSON](../formats/json.md).\n\n\
         ## Exit codes\n\n",
    );
    for (code, text) in EXIT_CODES {
        page.push_str(&format!("- {code}: {text}\n"));
    }
    for table in TABLES {
        let words = words_of(tree, table);
        anyhow::ensure!(!words.is_empty(), "there is no enum {} in {}", table.name, table.file);
        page.push_str(&format!("\n## {}\n\n{}\n\n", table.title, table.about));
        page.push_str(&rows(table, &words)?);
    }
    Ok(markdown::wrapped_page(&page))
}

fn rows(table: &WordTable, words: &[Word]) -> Result<String> {
    let mut page = String::new();
    for Word { word, text } in words {
        let resumed = |is: bool| if is { "can be resumed" } else { "cannot be resumed" };
        let value = || serde_json::Value::String(word.clone());
        let more = match table.name {
            "Outcome" => {
                let outcome: Outcome = serde_json::from_value(value()).with_context(|| word.clone())?;
                let row = standing(outcome);
                let (status, state, code) = (row.status.name(), row.loopr_state.name(), row.exit_code);
                format!(" Status `{status}`, state of loopr `{state}`, exit code {code}, {}.", resumed(row.resumable))
            }
            "PlanOutcome" => {
                let outcome: PlanOutcome = serde_json::from_value(value()).with_context(|| word.clone())?;
                let row = plan_standing(outcome);
                let (status, code) = (row.status.name(), row.exit_code);
                format!(" Status `{status}`, exit code {code}, {}.", resumed(row.resumable))
            }
            _ => String::new(),
        };
        page.push_str(&format!("- `{word}`: {text}{more}\n"));
    }
    Ok(page)
}

/// The page with every command, as the built program prints it.
///
/// # Errors
/// When the program cannot be built or does not answer.
pub fn commands_page() -> Result<String> {
    let mut build = Command::new("cargo");
    build.args(["build", "--quiet", "--package", "loop-cli", "--bin", "loop"]).current_dir(workspace_root());
    anyhow::ensure!(build.status().context("cannot run cargo")?.success(), "loop does not compile");
    let program = cheats::program(None, &|_| {})?;
    let scratch = tempfile::tempdir().context("a folder for the program")?;
    let mut command = Command::new(program);
    command.args(["man", "--markdown"]).env_clear().env("HOME", scratch.path()).current_dir(scratch.path());
    let out = command.output().context("cannot run the built program")?;
    anyhow::ensure!(out.status.success(), "loop man --markdown failed: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).context("the page is not UTF-8")
}

/// Which other names of settings there are: the file, the heading, and a sentence.
const NAMES: [(&str, &str, &str); 2] = [
    (
        "crates/core/src/settings/profiles/loopr.rs",
        "`.loopr/config`",
        "Lines of `KEY=VALUE`; variables of the same names count more than the file ([loopr](../guide/loopr.md)).",
    ),
    (
        "crates/core/src/settings/profiles/autonomous.rs",
        "YAML of the autonomous specification",
        "Nested names, in `config.yaml` or a file for `--config` ([the autonomous profile](../guide/autonomous.md)).",
    ),
];

/// The page with the names that files of the specifications have for our settings, and the keys of workflow files.
///
/// # Errors
/// When a table is not where it is expected.
pub fn names_page(tree: &Tree) -> Result<String> {
    let mut page = String::from(
        "# Keys of other files\n\n<!-- written by `cargo xtask generate` from the code; do not edit -->\n\n\
         The keys of our own files are [settings](settings.md), which also has the names of the container profile. These\n\
         are the keys of the files of the specifications, and of workflow files.\n",
    );
    for (path, title, about) in NAMES {
        let file = tree.file(path).with_context(|| format!("{path} is missing"))?;
        let names = named_settings(&file.text);
        anyhow::ensure!(!names.is_empty(), "there is no table NAMES in {path}");
        page.push_str(&format!("\n## {title}\n\n{about}\n\n"));
        for (theirs, ours) in names {
            page.push_str(&format!("- `{theirs}`: [`{ours}`](settings.md#{ours})\n"));
        }
    }
    page.push_str(&workflow_keys()?);
    Ok(markdown::wrapped_page(&page))
}

/// The first text of each row of the table `NAMES`, and the text after it.
#[must_use]
pub fn named_settings(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let Some(stream) = lex(text) else { return found };
    let sequence: Vec<TokenTree> = stream.into_iter().collect();
    let Some(at) = sequence.iter().position(|token| is_word(Some(token), "NAMES")) else { return found };
    let after = sequence.get(at..).unwrap_or_default();
    let Some(equals) = after.iter().position(|token| is_sign(Some(token), '=')) else { return found };
    let Some(list) = group_of(after.get(equals + 1), Delimiter::Bracket) else { return found };
    for row in list.stream() {
        let TokenTree::Group(row) = row else { continue };
        let mut texts = Vec::new();
        each_sequence(row.stream(), &mut |row| texts.extend(row.iter().filter_map(|token| text_of(Some(token)))));
        if let [theirs, ours, ..] = texts.as_slice() {
            found.push((theirs.clone(), ours.clone()));
        }
    }
    found
}

/// The keys of a workflow file that are no settings.
fn workflow_keys() -> Result<String> {
    let schema: serde_json::Value = serde_json::from_str(&loop_core::workflow::schema())?;
    let mut text = String::from(
        "\n## Workflow files\n\nThe [schema](workflow.schema.json) is for editors; [Workflows](../guide/workflows.md) \
         explains them.\n\n",
    );
    keys_of(&schema, "", &mut text);
    let mut entries = schema.pointer("/properties/loops/items").cloned().unwrap_or_default();
    let kinds = entries.get_mut("oneOf").and_then(|kinds| kinds.as_array().cloned());
    for kind in kinds.unwrap_or_else(|| vec![entries]) {
        keys_of(&kind, "loops.", &mut text);
    }
    text.push_str("\nAn entry of `loops` takes any setting that may stand in a workflow, by its own name.\n");
    Ok(text)
}

fn keys_of(schema: &serde_json::Value, before: &str, text: &mut String) {
    let Some(properties) = schema.get("properties").and_then(serde_json::Value::as_object) else { return };
    for (key, property) in properties {
        let name = format!("- `{before}{key}`:");
        if loop_core::settings::catalogue().any(|known| known.name == key) || text.contains(&name) {
            continue;
        }
        let about = property.get("description").and_then(serde_json::Value::as_str).unwrap_or_default();
        text.push_str(&format!("{name} {about}\n"));
    }
}
