//! Which lines of a file are given to a shell.
use serde_json::Value as Json;

use crate::policy::protect::paths::{folder_of, name_of};
use crate::policy::protect::script::{SHELLS, clean};

/// So many imports of one source are followed.
const IMPORTS_MAX: usize = 100;

fn interpreter_line(text: &str) -> Option<&str> {
    text.lines().next().and_then(|line| line.strip_prefix("#!"))
}

pub(super) fn has_shell_line(text: &str) -> bool {
    interpreter_line(text)
        .is_some_and(|line| line.split_whitespace().take(3).any(|word| SHELLS.contains(&name_of(word))))
}

pub(super) fn has_other_line(text: &str) -> bool {
    interpreter_line(text).is_some() && !has_shell_line(text)
}

/// The name of a shell function that a line begins.
pub(in crate::policy::protect) fn function_name(line: &str) -> Option<String> {
    let line = line.trim_start();
    let named = line.strip_prefix("function ").map(|rest| rest.split(['(', ' ', '{']).next().unwrap_or(rest));
    let name = named.or_else(|| line.split_once("()").map(|(name, _)| name.trim_end()))?;
    let is_name = |letter: char| letter.is_alphanumeric() || "_-".contains(letter);
    (!name.is_empty() && name.chars().all(is_name)).then(|| name.to_owned())
}

/// The lines that a makefile or justfile gives to a shell.
pub(in crate::policy::protect) fn recipes(text: &str) -> String {
    let mut lines = String::new();
    let joined = text.replace("\\\n", " ");
    for line in joined.lines() {
        let recipe = match line.split_once("; ") {
            _ if line.starts_with(['\t', ' ']) => line.trim_start(),
            Some((target, recipe)) if target.contains(':') => recipe,
            Some(_) | None => continue,
        };
        lines += &recipe.trim_start_matches(['@', '-', '+', ' ']).replace("$$", "$").replace("$(MAKE)", "make");
        lines.push('\n');
    }
    lines
}

/// What a JavaScript or TypeScript source imports by a relative path: `require('../lib/same.js')`, `from "./a"`.
pub(in crate::policy::protect) fn relative_imports(path: &str, text: &str) -> Vec<String> {
    import_words(path, text).into_iter().filter_map(|place| clean(folder_of(path), place)).collect()
}

/// Shell lines that run what such a source imports from outside of the workspace.
pub(super) fn imports_outside(path: &str, text: &str) -> Option<String> {
    let mut words = import_words(path, text);
    words.retain(|place| clean(folder_of(path), place).is_none());
    let line = |place: &&str| IMPORT_ENDS.iter().map(|end| format!("node {place}{end}\n")).collect::<String>();
    (!words.is_empty()).then(|| words.iter().map(line).collect())
}

/// What an import may leave out at the end.
pub(super) const IMPORT_ENDS: &[&str] = &["", ".js", ".mjs", ".cjs", ".ts", "/index.js"];

fn import_words<'a>(path: &str, text: &'a str) -> Vec<&'a str> {
    const ENDS: &[&str] = &[".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx"];
    if !ENDS.iter().any(|end| path.ends_with(end)) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (at, quote) in text.match_indices(['\'', '"', '`']) {
        let (before, behind) = (text.get(..at).unwrap_or_default(), text.get(at + 1..).unwrap_or_default());
        let before = before.trim_end().trim_end_matches('(').trim_end();
        let imports = ["require", "import", "from", "resolve"].iter().any(|word| before.ends_with(word));
        let place = behind.split(quote).next().unwrap_or_default();
        let is_plain = !place.contains(char::is_whitespace);
        if imports && place.starts_with('.') && is_plain && found.len() < IMPORTS_MAX {
            found.push(place);
        }
    }
    found
}

/// The scripts of a `package.json`, one on each line.
pub(super) fn scripts_of(text: &str) -> Option<String> {
    let Ok(Json::Object(all)) = serde_json::from_str(text) else { return None };
    let scripts = all.get("scripts")?.as_object()?;
    let lines: Vec<&str> = scripts.values().filter_map(Json::as_str).collect();
    Some(lines.join("\n"))
}
