//! Names that say something, and test files that are really compiled.

use crate::{File, Finding, Tree, tokens};

/// Names under which anything could hide.
const BANNED: &[&str] = &["common", "helper", "helpers", "job", "manager", "misc", "service", "util", "utils"];

/// Names of types that only their author understood. A private type is read, too.
const BANNED_TYPES: &[&str] = &["Eyes", "Kept", "Place", "Shelf", "Told", "Way", "Wish", "Yard"];

/// Finds files and folders with empty names, types with names that say too little, and test files without a `mod` line.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let rust = || tree.rust().filter(|file| file.in_crate().is_some());
    let banned = rust().filter_map(banned_name);
    let types = rust().filter(|file| file.is_src()).flat_map(banned_types);
    let forgotten = rust().filter_map(|file| forgotten(tree, file));
    banned.chain(types).chain(forgotten).collect()
}

/// The types of a file that have a banned name, also the private ones.
fn banned_types(file: &File) -> Vec<Finding> {
    let mut found = Vec::new();
    let Some(stream) = tokens::lex(&file.text) else { return found };
    tokens::each_sequence(stream, &mut |sequence| {
        for pair in sequence.windows(2) {
            let [kind, name] = pair else { continue };
            let is_type =
                ["struct", "enum", "trait", "type", "union"].iter().any(|word| tokens::is_word(Some(kind), word));
            let banned = BANNED_TYPES.iter().find(|banned| tokens::is_word(Some(name), banned));
            if let (true, Some(banned)) = (is_type, banned) {
                let message = format!("a type `{banned}` says too little; name it after what it is here");
                found.push(Finding::new(&file.path, tokens::line_of(name), message));
            }
        }
    });
    found
}

fn banned_name(file: &File) -> Option<Finding> {
    let (_, inside) = file.in_crate()?;
    let name =
        inside.split('/').map(|part| part.strip_suffix(".rs").unwrap_or(part)).find(|part| BANNED.contains(part))?;
    let message = format!("`{name}` says nothing; name it after what it does");
    Some(Finding::new(&file.path, 1, message))
}

fn forgotten(tree: &Tree, file: &File) -> Option<Finding> {
    let (_, inside) = file.in_crate()?;
    if !inside.starts_with("tests/it/") || inside == "tests/it/main.rs" {
        return None;
    }
    // `a/b.rs` and `a/b/mod.rs` are both the module `b` of folder `a`.
    let (folder, name) = match file.stem() {
        "mod" => file.folder().rsplit_once('/')?,
        stem => (file.folder(), stem),
    };
    let parents = if folder.ends_with("/tests/it") {
        vec![format!("{folder}/main.rs")]
    } else {
        vec![format!("{folder}/mod.rs"), format!("{folder}.rs")]
    };
    let declared = parents
        .iter()
        .filter_map(|parent| tokens::lex(&tree.file(parent)?.text))
        .any(|stream| tokens::declared_modules(stream).iter().any(|module| module == name));
    (!declared).then(|| {
        let message = format!("never compiled; declare `mod {name};` in {}, or remove the file", parents.join(" or "));
        Finding::new(&file.path, 1, message)
    })
}
