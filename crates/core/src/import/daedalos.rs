//! The `loop` of Daedalos: workflow files, which `loop workflow` reads, and `config.yaml`.
use serde_json::Value as Json;

use super::ImportError;
use super::account::{KeyRule, KeyRules, LinesOfSource, Mapping, UNKNOWN_KEY};
use super::leaves::{Leaf, of_yaml};
use super::tool::{ImportSource, SourceFile};
use crate::agent::registry::adapter;
use crate::settings::{UNLIMITED, keys};

const AS_IT_IS: &str = "`loop workflow` reads it as it is";
const OWN_DAEMON: &str = "a matter of loopd, which has no such setting yet";

/// The keys that need no thought.
const RULES: KeyRules = &[
    ("checkpoint_retention", KeyRule::To(keys::checkpoint_retention(), "")),
    ("notification_cmd", KeyRule::To(keys::notification_cmd(), "")),
    ("checkpoint", KeyRule::To(keys::checkpoint(), "")),
    ("checkpoint_strategy", KeyRule::To(keys::checkpoint(), "")),
    ("max_iterations", KeyRule::To(keys::max_iterations(), "")),
    ("notify", KeyRule::To(keys::notify(), "")),
    ("max_concurrent_loops", KeyRule::Left(OWN_DAEMON)),
    ("web_ui_port", KeyRule::Left(OWN_DAEMON)),
    ("templates_dir", KeyRule::Left("the variable LOOP_TEMPLATES_DIR names this folder")),
];

/// Maps what was found.
pub(super) fn map(source: &ImportSource) -> Result<Mapping, ImportError> {
    let mut mapping = Mapping::default();
    for file in &source.files {
        match of_yaml(&file.text, &file.name)? {
            Some(leaves) if leaves.iter().any(|leaf| leaf.path == "loops") => {
                map_workflow(&mut mapping, file, &leaves);
            }
            Some(leaves) => leaves.iter().for_each(|leaf| map_setting(&mut mapping, &at(file, leaf), leaf)),
            None => mapping
                .left(LinesOfSource::whole(&file.name, &file.text, "a text"), "it is not a workflow, nor settings"),
        }
    }
    Ok(mapping)
}

fn at(file: &SourceFile, leaf: &Leaf) -> LinesOfSource {
    let (file, what) = (file.name.clone(), leaf.path.clone());
    LinesOfSource { file, from: leaf.from, to: leaf.to, what, value: leaf.text().replace('\n', ", ") }
}

/// A setting of the file, or of the `defaults` of a workflow.
fn map_setting(mapping: &mut Mapping, at: &LinesOfSource, leaf: &Leaf) {
    let value = leaf.text();
    match at.what.trim_start_matches("defaults.") {
        "agent" | "default_agent" if adapter(&value).is_some() => mapping.set(at.clone(), keys::agent(), &value),
        "agent" | "default_agent" => mapping.left(at.clone(), "loop does not choose an agent by itself: see --agent"),
        // Its numbers are seconds.
        "timeout" if leaf.value.is_number() => mapping.set(at.clone(), keys::timeout(), &format!("{value}s")),
        "timeout" => mapping.set(at.clone(), keys::timeout(), &value),
        "max_iterations" if value == "0" => mapping.set(at.clone(), keys::max_iterations(), UNLIMITED),
        _ if mapping.follow(at, RULES, &value) => {}
        _ => mapping.left(at.clone(), UNKNOWN_KEY),
    }
}

/// A workflow is read by `loop workflow`. What that does not know is taken out of a copy.
fn map_workflow(mapping: &mut Mapping, file: &SourceFile, leaves: &[Leaf]) {
    let copy = copy_of(file, leaves);
    let name = file.name.rsplit('/').next().unwrap_or_default();
    let stem = name.trim_end_matches(".yaml").trim_end_matches(".yml");
    let to = copy.as_ref().map(|_| format!("{stem}.loop.yaml"));
    for leaf in leaves {
        let at = LinesOfSource { value: String::new(), ..at(file, leaf) };
        match (leaf.path.as_str(), &to) {
            ("defaults", _) => map_defaults(mapping, &at, leaf),
            ("name" | "description" | "env" | "loops" | "on_complete" | "on_failure", None) => {
                mapping.later(at, AS_IT_IS);
            }
            (_, Some(to)) => mapping.lines_copied(at, to),
            _ => mapping.later(at, "`loop workflow check` says whether it is known"),
        }
    }
    if mapping.workflow.is_none() {
        mapping.workflow = Some(to.clone().unwrap_or_else(|| file.name.clone()));
    }
    mapping.files.extend(to.zip(copy));
}

fn map_defaults(mapping: &mut Mapping, at: &LinesOfSource, leaf: &Leaf) {
    let Json::Object(map) = &leaf.value else {
        return mapping.left(at.clone(), "it is not a table of settings");
    };
    for (name, value) in map {
        let inner = Leaf { path: name.clone(), value: value.clone(), ..leaf.clone() };
        let at = LinesOfSource { what: format!("defaults.{name}"), value: inner.text(), ..at.clone() };
        map_setting(mapping, &at, &inner);
    }
}

/// The text without `defaults`, and with the unit of each time limit. None where nothing differs.
fn copy_of(file: &SourceFile, leaves: &[Leaf]) -> Option<String> {
    let is_default =
        |number: usize| leaves.iter().any(|leaf| leaf.path == "defaults" && (leaf.from..=leaf.to).contains(&number));
    let is_loop =
        |number: usize| leaves.iter().any(|leaf| leaf.path == "loops" && (leaf.from..=leaf.to).contains(&number));
    let mut copy = String::with_capacity(file.text.len());
    for (line, number) in file.text.split_inclusive('\n').zip(1..) {
        if is_default(number) {
            continue;
        }
        let body = line.trim_end_matches(['\n', '\r']);
        let limit = body.trim_start().trim_start_matches("- ").strip_prefix("timeout:").map(str::trim);
        let is_number = limit.is_some_and(|limit| !limit.is_empty() && limit.bytes().all(|byte| byte.is_ascii_digit()));
        if is_number && is_loop(number) {
            copy.push_str(&format!("{body}s{}", &line[body.len()..]));
        } else {
            copy.push_str(line);
        }
    }
    (copy != file.text).then_some(copy)
}
