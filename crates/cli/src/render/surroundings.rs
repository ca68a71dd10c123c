//! What came from around a loop, in lines for people.
use loop_core::run::{AroundEvent, FileEvent, InboxEffect};
use loop_core::text;

/// How many changed files a line names.
const FILES_SHOWN_MAX: usize = 5;

/// The lines for one report.
pub(crate) fn lines(around: &AroundEvent) -> Vec<String> {
    match around {
        AroundEvent::Inbox { file, effect } => {
            let what = match effect {
                InboxEffect::Text(words) => format!("a text of {} bytes for the next prompt", words.bytes),
                InboxEffect::Urgent(words) => format!("an urgent text of {} bytes", words.bytes),
                InboxEffect::Pause => "pausing after this iteration".to_owned(),
                InboxEffect::Resume => "resuming".to_owned(),
                InboxEffect::Status => "status".to_owned(),
                InboxEffect::Ignored { why } => format!("ignored: {why}"),
            };
            vec![format!("inbox    {}: {}", text::one_line(&file.name, 80), text::one_line(&what, 200))]
        }
        AroundEvent::Environment { changes, by, .. } => changes
            .iter()
            .map(|change| {
                let value = |value: &Option<String>| text::one_line(value.as_deref().unwrap_or("not set"), 40);
                format!("changed  {}: {} → {} ({by})", change.name, value(&change.old), value(&change.new))
            })
            .collect(),
        AroundEvent::Files(files) => {
            let named: Vec<String> = files.events.iter().take(FILES_SHOWN_MAX).map(file).collect();
            let rest = files.events.len().saturating_sub(FILES_SHOWN_MAX);
            let rest = u64::from(files.more).saturating_add(u64::try_from(rest).unwrap_or(0));
            let more = if rest > 0 { format!(", and {rest} more") } else { String::new() };
            let lost = files.lost.as_ref().map_or(String::new(), |why| format!(" (some are not named: {why})"));
            vec![format!("others   {}{more}{lost}", named.join(", "))]
        }
    }
}

/// An urgent text does not end the agent.
pub(crate) fn urgent_waits(most: u32) -> String {
    format!("urgent texts ended the agent {most} times in this iteration: this text waits for the next iteration")
}

fn file(event: &FileEvent) -> String {
    let from = event.from.as_ref().map_or(String::new(), |from| format!("{} → ", text::one_line(from, 60)));
    format!("{} {from}{}", event.kind.word(), text::one_line(&event.path, 60))
}
