//! The arguments that another tool gives to an agent, sorted: its model, what loop itself adds, what only the user may
//! allow, and the rest.
use super::account::{LinesOfSource, Mapping};
use crate::agent::shell_words;
use crate::settings::keys;

/// Flags that loop itself gives, and how many words follow each.
const OWN: [(&str, usize); 5] =
    [("--output-format", 1), ("--verbose", 0), ("--print", 0), ("-p", 0), ("--include-partial-messages", 0)];
/// Flags by which an agent may do more without asking, and how many words follow each.
const PERMISSIONS: [(&str, usize); 8] = [
    ("--dangerously-skip-permissions", 0),
    ("--dangerously-bypass-approvals-and-sandbox", 0),
    ("--yolo", 0),
    ("--full-auto", 0),
    ("--permission-mode", 1),
    ("--allowedTools", 1),
    ("--allowed-tools", 1),
    ("--sandbox", 1),
];

/// Maps a line of arguments.
pub(super) fn map(mapping: &mut Mapping, at: &LinesOfSource, line: &str) {
    let Ok(words) = shell_words::split(line) else {
        return mapping.left(at.clone(), "a quote in it is not closed");
    };
    let (mut rest, mut own, mut permissions, mut model) = (Vec::new(), Vec::new(), Vec::new(), None);
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let (flag, has_value) = word.split_once('=').map_or((word.as_str(), false), |(flag, _)| (flag, true));
        let find = |table: &[(&str, usize)]| table.iter().find(|(known, _)| *known == flag).map(|(_, more)| *more);
        if flag == "--model" {
            model = word.split_once('=').map(|(_, name)| name.to_owned()).or_else(|| words.next());
            continue;
        }
        let (list, more) = match (find(&OWN), find(&PERMISSIONS)) {
            (Some(more), _) => (&mut own, more),
            (None, Some(more)) => (&mut permissions, more),
            (None, None) => (&mut rest, 0),
        };
        let more = if has_value { 0 } else { more };
        list.push(word);
        list.extend(words.by_ref().take(more));
    }
    let part =
        |words: &[String]| LinesOfSource { value: shell_words::join(words.iter().map(String::as_str)), ..at.clone() };
    if let Some(model) = model {
        mapping.set(LinesOfSource { value: model.clone(), ..at.clone() }, keys::agent_model(), &model);
    }
    if !own.is_empty() {
        mapping.left(part(&own), "loop gives such flags itself");
    }
    if !permissions.is_empty() {
        mapping.left(part(&permissions), "you alone say what the agent may do: see --permissions");
    }
    if !rest.is_empty() {
        let at = part(&rest);
        let line = at.value.clone();
        mapping.set(at, keys::agent_args(), &line);
    }
}
