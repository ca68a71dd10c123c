//! One prompt out of its material. Pure: the same material gives the same text.
use super::facts;
use super::history;
use super::material::Material;
use super::mutate;
use super::news::note_text;
use super::section::{Prompt, Section, estimated_tokens};
use crate::run::PromptNote;
use crate::settings::PromptForm;
use crate::text;

/// The most that is quoted of the output of the gate that is to be fixed now.
pub const GATE_OUTPUT_BYTES_MAX: usize = 6 * 1024;
/// The most that a task with all that is injected may be long.
pub const TASK_BYTES_MAX: usize = 1024 * 1024;
/// About how many tokens the harness adds at most to what people wrote.
pub const HARNESS_TOKENS_MAX: usize = 6_000;
/// What is left for the instructions of the status block, which some agents get in their prompt.
const SYSTEM_TOKENS: usize = 700;
/// Sections that are cut where all together are too long, the least needed first.
const CUT_FIRST: [&str; 6] =
    [facts::CHANGED, facts::ATTEMPTS, facts::NOTES, facts::NEWS, facts::PROTECTED, facts::GATE_SAID];
/// A section is not cut below so many bytes.
const CUT_BYTES_MIN: usize = 400;

/// The prompt.
#[must_use]
pub fn compose(material: &Material<'_>) -> Prompt {
    // It did its work, and only forgot to say how it stands.
    if let Some(missing) = material.notes.iter().find(|note| matches!(note, PromptNote::StatusMissing { .. })) {
        let text = format!("{}\n", note_text(missing).trim_start_matches("- "));
        return Prompt { sections: vec![Section { name: "status", text, by_person: false, stable: false }] };
    }
    let mut prompt = match material.form {
        PromptForm::Facts => facts::prompt(material),
        PromptForm::History => history::prompt(material),
    };
    // What is decisive stands last.
    if let Some(now) = mutate::what_to_do_now(material) {
        prompt.tagged("what-to-do-now", &now);
    }
    if material.form == PromptForm::Facts {
        bound(&mut prompt);
    }
    prompt
}

/// Cuts sections of the harness until all of them together fit.
fn bound(prompt: &mut Prompt) {
    for name in CUT_FIRST {
        let most = HARNESS_TOKENS_MAX - SYSTEM_TOKENS;
        let surplus = prompt.tokens_of_harness().saturating_sub(most);
        if surplus == 0 {
            return;
        }
        let found = prompt.sections.iter_mut().find(|section| section.name == name && !section.by_person);
        if let Some(section) = found {
            cut(section, surplus);
        }
    }
}

/// Makes a section shorter by so many tokens, as far as it can be: whole lines, from its end.
fn cut(section: &mut Section, surplus: usize) {
    let (name, most) = (section.name, section.tokens().saturating_sub(surplus));
    let closing = format!("</{name}>\n");
    let body = section.text.strip_suffix(&closing).unwrap_or(&section.text);
    let mut kept = String::new();
    for line in body.split_inclusive('\n') {
        if kept.len() > CUT_BYTES_MIN && estimated_tokens(&kept) + estimated_tokens(line) + 12 > most {
            break;
        }
        kept.push_str(text::head(line, 2 * CUT_BYTES_MIN));
    }
    if kept.len() < body.len() {
        let end = if kept.ends_with('\n') { "" } else { "\n" };
        section.text = format!("{kept}{end}[… the rest is left out …]\n{closing}");
    }
}
