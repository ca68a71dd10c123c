//! The words of each note that the run has for the next prompt.
use super::section::harmless;
use crate::changes::changed_names;
use crate::run::{EnvChange, FileEvent, FilesChanged, PromptNote};
use crate::text;
use crate::time;

/// What a rollback means for the agent.
fn rolled_back(to: &str, paths: &[String]) -> String {
    let to = harmless(to);
    if paths.is_empty() {
        return format!(
            "- The workspace was rolled back to checkpoint {to}: what was done after it is gone. Look at the files as they are now."
        );
    }
    format!(
        "- These were restored from checkpoint {to}: {}. What was done to them after it is gone. Look at the files as they are now.",
        harmless(&text::one_line(&paths.join(", "), 400))
    )
}

/// How many files others changed, and the first of them by their names.
fn changed_by_others(files: u32, names: &[String]) -> String {
    let count = if files == 1 { "1 file was".to_owned() } else { format!("{files} files were") };
    let named = changed_names(files, names).map_or_else(String::new, |named| format!(": {}", harmless(&named)));
    format!("- {count} changed by somebody else (a person, or the gate) since you ended{named}.")
}

/// Variables of the harness: what each was, and what it is, one line each.
pub(super) fn environment_lines(changes: &[EnvChange]) -> Vec<String> {
    let value = |value: &Option<String>| value.as_deref().map_or("not set".to_owned(), |text| text::one_line(text, 60));
    let one = |change: &EnvChange| {
        format!("{}: {} → {}", text::one_line(&change.name, 60), value(&change.old), value(&change.new))
    };
    changes.iter().map(one).collect()
}

/// Files that others changed, each with what happened to it.
pub(super) fn file_lines(files: &FilesChanged) -> Vec<String> {
    let one = |event: &FileEvent| {
        let from = event.from.as_ref().map_or(String::new(), |from| format!("{} → ", text::one_line(from, 200)));
        format!("{}: {from}{}", event.kind.word(), text::one_line(&event.path, 200))
    };
    let more = (files.more > 0).then(|| format!("and {} more", files.more));
    let lost = files.lost.as_ref().map(|why| format!("some are not named: {why}"));
    files.events.iter().map(one).chain(more).chain(lost).collect()
}

fn with_lines(head: &str, lines: &[String]) -> String {
    let lines: String = lines.iter().map(|line| format!("\n  - {line}")).collect();
    format!("- {head}:{}", harmless(&lines))
}

fn timed_out(limit_ms: u64) -> String {
    let limit = time::spaced(limit_ms);
    format!(
        "- The iteration before was stopped because it took longer than {limit}. Its edits are still there. Work in smaller steps."
    )
}

/// The texts of all notes. Where a watcher names the files that others changed, by its rules, they are named only once.
pub(super) fn note_texts(notes: &[PromptNote]) -> Vec<String> {
    let watched = notes.iter().any(|note| matches!(note, PromptNote::FilesChanged(_)));
    let one = |note: &PromptNote| {
        if let (PromptNote::ChangedByOthers { files, .. }, true) = (note, watched) {
            changed_by_others(*files, &[])
        } else {
            note_text(note)
        }
    };
    notes.iter().map(one).collect()
}

pub(super) fn note_text(note: &PromptNote) -> String {
    match note {
        PromptNote::TimedOut { limit_ms } => timed_out(*limit_ms),
        PromptNote::Silent { limit_ms } => format!(
            "- The iteration before was stopped because nothing happened for {}: no output, no changed file, no work. Its edits are still there. Do not wait for anything.",
            time::spaced(*limit_ms)
        ),
        PromptNote::Interrupted { attempt } => format!(
            "- Attempt {attempt} at this iteration was cut off from outside. Its edits are still there, some may be half done."
        ),
        PromptNote::RolledBack { to, paths } => rolled_back(to, paths),
        PromptNote::ChangedByOthers { files, names } => changed_by_others(*files, names),
        PromptNote::EnvironmentChanged { changes } => {
            with_lines("Settings of the harness changed", &environment_lines(changes))
        }
        PromptNote::FilesChanged(files) => {
            with_lines("Files that somebody else (a person, or the gate) changed since you ended", &file_lines(files))
        }
        PromptNote::Limited { attempt } => format!(
            "- Attempt {attempt} at this iteration ended early because of a limit of the model's provider. Its edits are still there; go on from them."
        ),
        PromptNote::NobodyAnswers { question } => format!(
            "- You asked: \"{}\". There is no person here who could answer. Decide by yourself, say what you assumed, and continue.",
            harmless(&text::one_line(question, 400))
        ),
        PromptNote::Answered { question } => format!(
            "- You asked: \"{}\". A person has let you continue; what they answered stands in added-by-the-user, if they said anything.",
            harmless(&text::one_line(question, 400))
        ),
        PromptNote::Refused { count, first } => format!(
            "- {count} of your tool calls were refused ({}), and nothing changed. Work by what you are allowed.",
            harmless(&text::one_line(first, 200))
        ),
        PromptNote::Tampered { files, restored, by_gates } => format!(
            "- Protected files were changed{}: {}. {} Do not change them: the task is to be solved without that.",
            if *by_gates { " while the gate ran (something that you wrote did it)" } else { "" },
            harmless(&text::one_line(&files.join(", "), 600)),
            if *restored { "They were put back as they had been." } else { "That does not count as work." }
        ),
        PromptNote::Regressed { what, reverted } => format!(
            "- Your last iteration broke what had passed before: {}.{}",
            harmless(&text::one_line(&what.join(", "), 1200)),
            if *reverted {
                " The workspace was put back to before it. Look for another way."
            } else {
                " Fix that without losing what passes now."
            }
        ),
        PromptNote::NotProven { findings } => format!(
            "- The gates pass, but the task is not done, because of this: {}. Correct that: the gates must pass by real work, with the tests as they were.",
            harmless(&text::one_line(&findings.join("; "), 1200))
        ),
        PromptNote::NotDone => {
            "- You said that the task is done. It is not: the harness ran the gate, and it fails. Read what it said."
                .to_owned()
        }
        PromptNote::StatusMissing { why } => format!(
            "- Your last message had no status block that counts{}. Say nothing but the status block of the work that you just did.",
            why.as_ref().map_or(String::new(), |why| format!(" ({})", harmless(&text::one_line(why, 200))))
        ),
        PromptNote::AgentFailed { ended } => {
            format!("- Your program ended in an error in the iteration before ({ended}).")
        }
    }
}
