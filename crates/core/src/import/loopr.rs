//! Loopr: `.loopr/config` and `.loopr/prompt.md`. `loopr` reads both as they are; this is for `loop start`.
use super::account::{LinesOfSource, Mapping, UNKNOWN_KEY};
use super::assignments::of_shell;
use super::tool::ImportSource;
use crate::settings::keys;
use crate::settings::profiles::loopr::named_in_config;

/// Maps what was found.
pub(super) fn map(source: &ImportSource) -> Mapping {
    let mut mapping = Mapping::default();
    mapping.set(LinesOfSource::tool("loopr runs Codex"), keys::agent(), "codex");
    for file in &source.files {
        if file.name.ends_with(".md") {
            mapping.copy_prompt(LinesOfSource::whole(&file.name, &file.text, "the prompt"), file.text.clone());
            continue;
        }
        for assignment in of_shell(&file.text) {
            let value = assignment.value.shown();
            let at = LinesOfSource {
                file: file.name.clone(),
                from: assignment.from,
                to: assignment.to,
                what: assignment.name.clone(),
                value: value.clone(),
            };
            match named_in_config(&assignment.name) {
                Some((key, unit)) => mapping.set(at, key, &format!("{value}{unit}")),
                None => mapping.left(at, UNKNOWN_KEY),
            }
        }
    }
    mapping.notes.push("`loopr` reads .loopr/config as it is; the import is for `loop start`".to_owned());
    mapping
}
