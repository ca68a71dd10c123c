//! `prd.json` of ralph-tui and snarktank/ralph: its settings. The list in it is read by a later command.
use serde_json::Value as Json;

use super::ImportError;
use super::account::{LinesOfSource, Mapping};
use super::leaves::{Leaf, of_json};
use super::task_list::LATER;
use super::tool::SourceFile;
use crate::settings::keys;

/// Maps the file.
pub(super) fn map(mapping: &mut Mapping, file: &SourceFile) -> Result<(), ImportError> {
    let Some(leaves) = of_json(&file.text, &file.name)? else {
        mapping.later(LinesOfSource::whole(&file.name, &file.text, "a list of tasks"), LATER);
        return Ok(());
    };
    for leaf in &leaves {
        let at = LinesOfSource {
            file: file.name.clone(),
            from: leaf.from,
            to: leaf.to,
            what: leaf.path.clone(),
            value: leaf.text(),
        };
        match leaf.path.as_str() {
            "project" | "name" => mapping.set(at, keys::project(), &leaf.text()),
            "branchName" => mapping.left(at, "loop works on the branch that is checked out and changes none"),
            "verificationCommands" => gates(mapping, &at, leaf),
            "userStories" | "items" | "stories" | "tasks" => {
                let at = LinesOfSource { value: counted(&leaf.value), ..at };
                mapping.later(at, LATER);
            }
            _ => {
                let value = String::new();
                mapping.later(
                    LinesOfSource { value, ..at },
                    "belongs to the list of tasks, which a later command will read",
                );
            }
        }
    }
    Ok(())
}

/// Commands of the project that check its work. They are run only after the user has approved them.
fn gates(mapping: &mut Mapping, at: &LinesOfSource, leaf: &Leaf) {
    let Some(commands) = leaf.value.as_object().filter(|commands| !commands.is_empty()) else {
        return mapping.left(at.clone(), "it is not a table of commands");
    };
    for (name, command) in commands {
        let (what, command) = (format!("{}.{name}", at.what), command.as_str().unwrap_or_default());
        let at = LinesOfSource { what, value: command.to_owned(), ..at.clone() };
        mapping.gate(at, name, command);
    }
}

/// `3 open of 7 items`.
fn counted(list: &Json) -> String {
    let list = list.as_array().map(Vec::as_slice).unwrap_or_default();
    let is_done = |item: &&Json| {
        let passes = item.get("passes").and_then(Json::as_bool);
        let status = item.get("status").and_then(Json::as_str);
        passes.unwrap_or_else(|| status.is_some_and(|status| ["done", "completed", "passed"].contains(&status)))
    };
    let done = list.iter().filter(is_done).count();
    format!("{} open of {} items", list.len() - done, list.len())
}
