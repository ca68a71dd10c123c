//! From the text of a file to a template.
use toml_edit::{Item, TableLike};

use super::{PROMPT_MARK, Template, WantedCheck};
use crate::project::CheckUse;
use crate::refusal::Refusal;
use crate::settings::{
    Given, Layer, Origin, PROMISE, SettingsError, catalogue, gate_line, keys, parse_toml, place, template_from_toml,
    words_of_toml,
};
use crate::text::{escaped, nearest};

/// A goal that is longer belongs into a file of the project.
const GOAL_BYTES_MAX: usize = 64 * 1024;
/// One line of a list.
const DESCRIPTION_LETTERS_MAX: usize = 200;
/// Keys that only templates have.
const OWN: [&str; 4] = ["description", "goal", PHASES, GATES];
const GATES: &str = "gates";
const PHASES: &str = "phases";
/// So many loops a template may have.
const PHASES_MAX: usize = 16;
/// What a template may not say: it belongs to the user's own settings, or makes no sense here.
const NOT_HERE: [(&str, &str); 4] = [
    ("agents", "describe agents in your config.toml, and name one here: agent = \"mine\""),
    ("hidden_gates", "hidden gates are in your own config.toml"),
    ("hidden_gates_file", "hidden gates are in your own config.toml"),
    ("template", "a template cannot name another one; copy what you need of it"),
];

pub(super) fn template(name: &str, text: &str, file: &str, layer: Layer) -> Result<Template, SettingsError> {
    let document = parse_toml(text, file)?;
    let root = document.as_table();
    let at = |key: &str| place(file, text, root.key(key).and_then(|key| key.span()).map(|span| span.start));
    for (key, hint) in NOT_HERE {
        if root.contains_key(key) {
            let why = "it may not stand in a template".to_owned();
            return Err(wrong(at(key), "template", key, Refusal { why, hint: hint.to_owned() }));
        }
    }
    refuse_unknown(root, &at)?;
    let mut skipped = OWN.to_vec();
    let source = Source { file, text, layer };
    let mut wanted = Vec::new();
    if let Some(table) = root.get(PROMISE).and_then(Item::as_table_like) {
        skipped.push(PROMISE);
        wanted.push(wanted_promise(table, at(PROMISE))?);
    }
    let mut given = template_from_toml(text, file, layer, &skipped)?;
    if let Some(item) = root.get(GATES) {
        let found = gates(item, &source, at(GATES))?;
        wanted.extend(found.wanted);
        given.extend(found.given);
    }
    let description = text_of(root.get("description"), "description", &at)?.unwrap_or_default();
    let goal = text_of(root.get("goal"), "goal", &at)?.unwrap_or_else(|| PROMPT_MARK.to_owned());
    let goal = marked(&goal).map_err(|refusal| wrong(at("goal"), "goal", "", refusal))?;
    if description.contains('\n') || description.chars().count() > DESCRIPTION_LETTERS_MAX {
        let why = format!("it must be one line of at most {DESCRIPTION_LETTERS_MAX} letters");
        return Err(wrong(
            at("description"),
            "description",
            "",
            Refusal::new(why, "say in a few words what it is for"),
        ));
    }
    let phases = match root.get(PHASES) {
        Some(item) => phases(item, name).map_err(|refusal| wrong(at(PHASES), "template", PHASES, refusal))?,
        None => Vec::new(),
    };
    if let Some((key, _)) = root.iter().find(|(key, _)| !phases.is_empty() && !["description", PHASES].contains(key)) {
        let why = format!("{key} cannot stand beside phases");
        let hint = "write it into the template of the phase, or give it as a flag";
        return Err(wrong(at(key), "template", key, Refusal::new(why, hint)));
    }
    Ok(Template { name: name.to_owned(), description, goal, wanted, given, layer, phases })
}

/// The templates of the loops, one after the other.
fn phases(item: &Item, name: &str) -> Result<Vec<String>, Refusal> {
    let hint = "phases = [\"tdd-red\", \"tdd-green\"]";
    let list = item.as_array().ok_or_else(|| Refusal::new("it must be a list of names of templates", hint))?;
    let mut all: Vec<String> = Vec::new();
    for value in list {
        let phase = value.as_str().ok_or_else(|| Refusal::new("it must be a list of names of templates", hint))?;
        if phase == name || all.iter().any(|other| other == phase) {
            return Err(Refusal::new(format!("{} is there twice", escaped(phase)), "each phase has its own template"));
        }
        all.push(phase.to_owned());
    }
    if all.len() < 2 || all.len() > PHASES_MAX {
        return Err(Refusal::new(format!("there must be 2 to {PHASES_MAX} phases"), hint));
    }
    Ok(all)
}

/// A key that neither templates nor settings have, with the nearest one.
fn refuse_unknown(root: &toml_edit::Table, at: &dyn Fn(&str) -> String) -> Result<(), SettingsError> {
    let settings = || catalogue().filter(|key| key.in_file).map(|key| key.name);
    let names = || settings().chain(OWN);
    for (name, _) in root {
        let is_other = crate::settings::profiles::container::NAMES.iter().any(|other| other.name == name);
        let is_setting = crate::settings::key(name).is_some();
        if !is_other && !is_setting && !OWN.contains(&name) {
            return Err(SettingsError::UnknownKey {
                place: at(name),
                key: name.to_owned(),
                near: nearest(name, names()),
            });
        }
    }
    Ok(())
}

fn wrong(place: String, key: &'static str, value: &str, Refusal { why, hint }: Refusal) -> SettingsError {
    SettingsError::BadValue { place, key, value: value.to_owned(), why, hint }
}

fn text_of(
    item: Option<&Item>,
    key: &'static str,
    at: &dyn Fn(&str) -> String,
) -> Result<Option<String>, SettingsError> {
    let Some(item) = item else { return Ok(None) };
    match item.as_str() {
        Some(text) => Ok(Some(text.trim_end().to_owned())),
        None => Err(wrong(at(key), key, item.type_name(), Refusal::new("it must be a text", "write it in quotes"))),
    }
}

/// A goal in which every mark is the one that is known, written in one way.
fn marked(goal: &str) -> Result<String, Refusal> {
    if goal.trim().is_empty() {
        return Err(Refusal::new(
            "it is empty",
            format!("leave it out, or write what the agent gets, with {PROMPT_MARK}"),
        ));
    }
    if goal.len() > GOAL_BYTES_MAX {
        return Err(Refusal::new(format!("it is longer than {GOAL_BYTES_MAX} bytes"), "put the material into a file"));
    }
    let mut whole = String::new();
    let mut rest = goal;
    while let Some((before, behind)) = rest.split_once("{{") {
        let (mark, after) = behind.split_once("}}").unwrap_or((behind, ""));
        if mark.trim() != "prompt" || !behind.contains("}}") {
            let mark = escaped(mark.lines().next().unwrap_or_default());
            return Err(Refusal::new(format!("{{{{{mark} is not known"), format!("there is only {PROMPT_MARK}")));
        }
        whole.push_str(before);
        whole.push_str(PROMPT_MARK);
        rest = after;
    }
    Ok(whole + rest)
}

/// The file that is read.
struct Source<'a> {
    file: &'a str,
    text: &'a str,
    layer: Layer,
}

#[derive(Default)]
struct Gates {
    wanted: Vec<WantedCheck>,
    given: Vec<Given>,
}

fn gates(item: &Item, source: &Source<'_>, at: String) -> Result<Gates, SettingsError> {
    let Some(tables) = item.as_table_like() else {
        let hint = "[gates.lint] with command = \"cargo clippy\", or with find = \"lint\"";
        return Err(wrong(at, "gate", item.type_name(), Refusal::new("it must be tables, one for each gate", hint)));
    };
    let mut gates = Gates::default();
    for (name, item) in tables.iter() {
        let span = tables.key(name).and_then(|key| key.span());
        let place = span.map_or_else(|| at.clone(), |span| place(source.file, source.text, Some(span.start)));
        let bad = |refusal: Refusal| wrong(place.clone(), "gate", name, refusal);
        if let Some(table) = item.as_table_like().filter(|table| table.contains_key("find")) {
            let wanted = wanted(name, table, place.clone())?;
            // The other keys must be right, whatever is found.
            let tried = [&[("command".to_owned(), "true".to_owned())][..], &wanted.options].concat();
            gate_line(name, &tried).map_err(bad)?;
            gates.wanted.push(wanted);
            continue;
        }
        let told = match (words_of_toml(item), item.as_table_like()) {
            (Some(command), _) => vec![("command".to_owned(), command)],
            (None, Some(table)) => plain(table, name, &place)?,
            (None, None) => Vec::new(),
        };
        let line = gate_line(name, &told).map_err(bad)?;
        let origin = Origin { layer: source.layer, place: place.clone() };
        gates.given.push(Given::read_approved(keys::gate(), &line, origin)?);
    }
    Ok(gates)
}

/// The keys of a table as words.
fn plain(table: &dyn TableLike, name: &str, place: &str) -> Result<Vec<(String, String)>, SettingsError> {
    let mut told = Vec::new();
    for (key, item) in table.iter() {
        let Some(words) = words_of_toml(item) else {
            let refusal = Refusal::new(format!("{key} must be a plain value"), "for example timeout = \"2m\"");
            return Err(wrong(place.to_owned(), "gate", name, refusal));
        };
        told.push((key.to_owned(), words));
    }
    Ok(told)
}

fn wanted(name: &str, table: &dyn TableLike, place: String) -> Result<WantedCheck, SettingsError> {
    let mut told = plain(table, name, &place)?;
    let mut take = |key: &str| told.iter().position(|(known, _)| known == key).map(|at| told.remove(at).1);
    let (word, needed) = (take("find").unwrap_or_default(), take("needed").is_some_and(|word| word == "true"));
    let Some(find) = CheckUse::of_word(&word) else {
        let known: Vec<&str> = CheckUse::ALL.iter().map(|known| known.word()).collect();
        let refusal = Refusal::new(format!("find = {word:?}: nothing of that name is looked for"), known.join(", "));
        return Err(wrong(place, "gate", name, refusal));
    };
    Ok(WantedCheck { name: name.to_owned(), find, options: told, needed, place })
}

/// `promise = { find = "test" }`
fn wanted_promise(table: &dyn TableLike, place: String) -> Result<WantedCheck, SettingsError> {
    let wanted = wanted(PROMISE, table, place)?;
    if let Some((key, _)) = wanted.options.first() {
        let refusal = Refusal::new(format!("{key} is not a key of the promise"), "it has find only");
        return Err(wrong(wanted.place, PROMISE, "", refusal));
    }
    Ok(WantedCheck { needed: true, ..wanted })
}
