//! An entry of `loops`: its own keys, and any setting of `loop start`.
use super::error::FilePosition;
use super::fields::{Fields, Use};
use super::read::keys_of;
use super::tree::{Pair, Tree, YamlNode};
use super::{EntryWork, LoopEntry};
use crate::plan::{NODE_TEXT_BYTES_MAX, NodeId, TOUCH_BYTES_MAX, TOUCHES_MAX};
use crate::prompt::TASK_BYTES_MAX;
use crate::settings::{Given, Key, Kind, Layer, Origin, SettingsError, catalogue, gate_line, key};
use crate::text;

/// The keys of an entry that are not settings, in the order in which hints and the schema name them.
pub(super) const ENTRY_KEYS: [&str; 5] = ["id", "prompt", "depends_on", "touches", "ask"];

/// What people write for a key of another name.
const OTHER_NAMES: [(&str, &str); 18] = [
    ("needs", "depends_on"),
    ("after", "depends_on"),
    ("depends", "depends_on"),
    ("requires", "depends_on"),
    ("task", "prompt"),
    ("goal", "prompt"),
    ("instructions", "prompt"),
    ("command", "promise"),
    ("run", "promise"),
    ("check", "promise"),
    ("verify", "promise"),
    ("gates", "gate"),
    ("model", "agent_model"),
    ("budget", "max_cost"),
    ("iterations", "max_iterations"),
    ("files", "touches"),
    ("question", "ask"),
    ("name", "id"),
];

/// Settings that a loop of a workflow cannot have, with the reason and what to do instead.
pub(super) const NOT_IN_A_WORKFLOW: [(&str, &str, &str); 12] = [
    ("commit", IN_A_COPY, COMMIT_LATER),
    ("commit_message", IN_A_COPY, COMMIT_LATER),
    ("commit_hooks", IN_A_COPY, COMMIT_LATER),
    ("with_own_edits", IN_A_COPY, COMMIT_LATER),
    ("result", IN_A_COPY, "loop workflow run … --json says how it ended"),
    ("stop_file", IN_A_COPY, "stop the whole workflow by loop stop"),
    ("clear_stop", FOR_ONE_START, "take it out"),
    ("approve", FOR_ONE_START, "approve the project file by loop workflow run … --approve"),
    ("reset_circuit", FOR_ONE_START, "take it out"),
    ("auto_confirm", FOR_ONE_START, "loop workflow run … --auto-confirm"),
    ("allow_any_workspace", FOR_ONE_START, "loop workflow run … --allow-any-workspace"),
    ("checkpoint", "results are merged from the checkpoints that loop itself stores", "take it out"),
];

const IN_A_COPY: &str = "a loop of a workflow works in a copy of the workspace";
const COMMIT_LATER: &str = "commit by yourself after the workflow: git commit";
const FOR_ONE_START: &str = "it is for the person who starts a loop";

/// Flags of `loop start` that are not settings.
const NOT_SETTINGS: [(&str, &str); 7] = [
    ("prompt_file", "write the text itself: prompt: | and the text in indented lines"),
    ("workspace", "a workflow works in one folder: loop workflow run FILE -C DIR"),
    ("best_of", "a loop of a workflow is one loop; start it alone: loop start … --best-of N"),
    ("background", "take it out"),
    ("dry_run", "loop workflow run FILE --dry-run"),
    ("json", "loop workflow run FILE --json"),
    ("on_complete", "commands stand at the top of the file, not in a loop"),
];

/// An entry as it was read. What is wrong with it is reported already.
#[derive(Debug)]
pub(super) struct ReadEntry {
    pub(super) id: Option<String>,
    /// Where its id stands, or else its beginning.
    pub(super) at: FilePosition,
    pub(super) depends_on: Vec<(String, FilePosition)>,
    /// The questions whose answers it names, and where.
    pub(super) answers: Vec<(String, FilePosition)>,
    pub(super) work: Option<EntryWork>,
}

#[derive(Debug, Default)]
struct Parts {
    id: Option<String>,
    id_at: Option<FilePosition>,
    prompt: Option<String>,
    /// The questions whose answers stand in the prompt.
    asked: Vec<(String, FilePosition)>,
    /// Those whose answers stand in its commands.
    others: Vec<(String, FilePosition)>,
    ask: Option<String>,
    depends_on: Vec<(String, FilePosition)>,
    touches: Vec<String>,
    given: Vec<Given>,
    /// Every key that is there, right or wrong.
    keys: Vec<String>,
}

/// Reads an entry.
pub(super) fn read(fields: &mut Fields<'_>, node: &YamlNode) -> Option<ReadEntry> {
    let Tree::Map(pairs) = &node.tree else {
        fields.wrong_kind(node, "an entry of loops", "a map with id, prompt and promise");
        return None;
    };
    let mut parts = Parts::default();
    fields.take_answers();
    for (name, pair) in keys_of(fields, pairs) {
        parts.keys.push(name.to_owned());
        parts.take(fields, name, pair);
    }
    let at = parts.id_at.unwrap_or(node.at);
    if !parts.has("id") {
        fields.faults.at(node.at, "a loop has no id", "add id: with a short name, such as id: write-tests");
    }
    let work = if parts.has("ask") { parts.question(fields, at) } else { parts.work(fields, at) };
    let answers = [std::mem::take(&mut parts.asked), std::mem::take(&mut parts.others), fields.take_answers()].concat();
    Some(ReadEntry { id: parts.id, at, depends_on: parts.depends_on, answers, work })
}

impl Parts {
    fn has(&self, key: &str) -> bool {
        self.keys.iter().any(|known| known == key)
    }

    /// How the entry is named in a message.
    fn named(&self) -> String {
        self.id.as_ref().map_or("a loop".to_owned(), |id| format!("the loop {id}"))
    }

    fn take(&mut self, fields: &mut Fields<'_>, name: &str, pair: &Pair) {
        let value = &pair.value;
        match name {
            "id" => {
                self.id_at = Some(value.at);
                self.id = id(fields, value);
            }
            "prompt" => {
                let others = fields.take_answers();
                self.prompt = long_text(fields, value, name, TASK_BYTES_MAX, Use::Prompt);
                self.asked = fields.take_answers();
                self.others.extend(others);
            }
            "ask" => self.ask = long_text(fields, value, name, NODE_TEXT_BYTES_MAX, Use::Plain),
            "depends_on" => {
                let items = fields.items(value, name).unwrap_or_default();
                let words = items.into_iter().filter_map(|item| Some((fields.word(item, name)?.to_owned(), item.at)));
                self.depends_on = words.collect();
            }
            "touches" => {
                self.touches = fields.texts(value, name, Use::Entry).unwrap_or_default();
                let is_bad = |glob: &String| glob.trim().is_empty() || glob.len() > TOUCH_BYTES_MAX;
                if self.touches.len() > TOUCHES_MAX || self.touches.iter().any(is_bad) {
                    let what = format!("touches has at most {TOUCHES_MAX} globs of 1 to {TOUCH_BYTES_MAX} bytes");
                    fields.faults.at(value.at, what, "for example touches: [\"src/api/**\"]");
                }
            }
            name => {
                if let Some(key) = setting(fields, name, &pair.key) {
                    self.given.extend(given(fields, key, value));
                }
            }
        }
    }

    /// A question to a person has nothing of a loop.
    fn question(&mut self, fields: &mut Fields<'_>, at: FilePosition) -> Option<EntryWork> {
        let allowed = ["id", "ask", "depends_on"];
        if let Some(other) = self.keys.iter().find(|key| !allowed.contains(&key.as_str())) {
            let what = format!("{} has ask and {other}: it is a question or a loop, not both", self.named());
            fields.faults.at(at, what, "divide it into two entries, the second with depends_on");
            return None;
        }
        self.ask.take().map(EntryWork::Ask)
    }

    fn work(&mut self, fields: &mut Fields<'_>, at: FilePosition) -> Option<EntryWork> {
        if !self.has("prompt") {
            let what = format!("{} has no prompt", self.named());
            fields.faults.at(at, what, "add prompt: with the task, or ask: with a question to a person");
        }
        let is_judged = ["promise", "gate", "no_promise", "template"].iter().any(|key| self.has(key));
        if !is_judged {
            let what = format!("{} has no promise", self.named());
            let hint = "add promise: with a command that passes when the work is done, or no_promise: true";
            fields.faults.at(at, what, hint);
        }
        let work = LoopEntry {
            prompt: self.prompt.take()?,
            answers: self.asked.iter().map(|(id, _)| id.clone()).collect(),
            given: std::mem::take(&mut self.given),
            touches: std::mem::take(&mut self.touches),
        };
        Some(EntryWork::Loop(work))
    }
}

fn id(fields: &mut Fields<'_>, node: &YamlNode) -> Option<String> {
    let word = fields.word(node, "id")?;
    match NodeId::parse(word) {
        Ok(id) => Some(id.as_str().to_owned()),
        Err(refusal) => {
            let what = format!("id cannot be {:?}", text::escaped_head(word, 60));
            fields.faults.at(node.at, what, refusal.hint);
            None
        }
    }
}

fn long_text(fields: &mut Fields<'_>, node: &YamlNode, key: &str, bytes_max: usize, how: Use) -> Option<String> {
    let text = fields.text(node, key, how)?;
    if text.trim().is_empty() || text.len() > bytes_max || text.contains('\0') {
        let what = format!("{key} must have 1 to {bytes_max} bytes, and no NUL byte");
        fields.faults.at(node.at, what, format!("write the text behind {key}:"));
        return None;
    }
    Some(text)
}

/// The setting of a name, where a loop of a workflow may have it.
fn setting(fields: &mut Fields<'_>, name: &str, node: &YamlNode) -> Option<&'static Key> {
    if let Some((_, why, hint)) = NOT_IN_A_WORKFLOW.iter().find(|(key, ..)| *key == name) {
        fields.faults.at(node.at, format!("{name} cannot stand in a workflow: {why}"), *hint);
        return None;
    }
    if let Some((_, hint)) = NOT_SETTINGS.iter().find(|(key, _)| *key == name) {
        fields.faults.at(node.at, format!("{name} is not a key of a loop"), *hint);
        return None;
    }
    let found = key(name);
    if found.is_none() {
        let known = || ENTRY_KEYS.into_iter().chain(catalogue().map(|key| key.name));
        let other = OTHER_NAMES.iter().find(|(other, _)| *other == name).map(|(_, key)| *key);
        let plain = name.replace('-', "_");
        let same = known().find(|key| *key == plain);
        let hint = match same.or(other).or_else(|| text::nearest(name, known())) {
            Some(near) => format!("did you mean {near}?"),
            None => {
                "a loop has id, prompt, promise, depends_on, touches, and the keys of `loop config show`".to_owned()
            }
        };
        fields.faults.at(node.at, format!("unknown key {}", text::escaped_head(name, 60)), hint);
    }
    found
}

/// How a variable stands in a value of a setting.
fn use_in(key: &Key) -> Use {
    match key.kind {
        Kind::Command => Use::Shell,
        Kind::Gates => Use::ShellLine,
        Kind::Text if key.name == "agent_args" => Use::Words,
        Kind::Text if ["agent_env", "secrets"].contains(&key.name) => Use::CommaEntry,
        Kind::Text => Use::Plain,
        Kind::Findings => Use::CommaEntry,
        Kind::CountOrUnlimited(_)
        | Kind::Duration
        | Kind::DurationOrUnlimited
        | Kind::DurationOrNone
        | Kind::SizeOrUnlimited
        | Kind::MoneyOrUnlimited
        | Kind::Fraction
        | Kind::Prices
        | Kind::Agents
        | Kind::Models
        | Kind::Failures
        | Kind::Ladder
        | Kind::Switch
        | Kind::Choice(_)
        | Kind::Word
        | Kind::Path
        | Kind::Paths => Use::Entry,
    }
}

/// The value of a setting.
fn given(fields: &mut Fields<'_>, key: &'static Key, node: &YamlNode) -> Option<Given> {
    let text = match (&node.tree, key.kind) {
        (
            Tree::List(items),
            Kind::Paths | Kind::Findings | Kind::Gates | Kind::Prices | Kind::Models | Kind::Failures | Kind::Ladder,
        ) => {
            let lines = items.iter().map(|item| fields.text(item, key.name, use_in(key))).collect::<Option<Vec<_>>>();
            lines?.join("\n")
        }
        (Tree::Map(pairs), Kind::Gates) if !node.is_unquoted_variable() => gates(fields, pairs, key)?,
        (Tree::Plain(_), Kind::Command | Kind::Text | Kind::Word | Kind::Agents | Kind::Path) => {
            fields.wrong_kind(node, key.name, super::fields::TEXT);
            return None;
        }
        _ => fields.scalar(node, key.name, &key.kind.describe().replace('`', ""), use_in(key))?,
    };
    if fields.is_open(&text) {
        return None;
    }
    let origin = Origin { layer: Layer::Entry, place: format!("{}:{}", fields.file, node.at.line) };
    match Given::read_for_start(key, &text, origin) {
        Ok(given) => Some(given),
        Err(error) => {
            let what = format!("{} cannot be {:?}: {}", key.name, text::escaped_head(&text, 60), error.why());
            fields.faults.at(node.at, what, hint_of(key, &error));
            None
        }
    }
}

fn hint_of(key: &Key, error: &SettingsError) -> String {
    match key.name {
        "on_failure" => format!("{}; commands for a failure stand at the top of the file", error.hint()),
        _ => error.hint(),
    }
}

/// `gate:` as a map: a name with its command, or with a map of command, timeout, order, passes and watch.
fn gates(fields: &mut Fields<'_>, pairs: &[Pair], key: &Key) -> Option<String> {
    let mut lines = Vec::new();
    let mut whole = true;
    for (name, pair) in keys_of(fields, pairs) {
        let parts = match &pair.value.tree {
            Tree::Map(parts) => keys_of(fields, parts),
            Tree::Null | Tree::Text(_) | Tree::Plain(_) | Tree::List(_) => vec![("command", pair)],
        };
        let mut told = Vec::new();
        for (what, pair) in parts {
            let how = if what == "command" { Use::ShellLine } else { Use::Entry };
            match fields.scalar(&pair.value, what, super::fields::TEXT, how) {
                Some(value) => told.push((what.to_owned(), value)),
                None => whole = false,
            }
        }
        match gate_line(name, &told) {
            Ok(line) => lines.push(line),
            Err(refusal) if whole => {
                fields.faults.at(pair.key.at, format!("{} {name}: {}", key.name, refusal.why), refusal.hint);
                whole = false;
            }
            Err(_) => {}
        }
    }
    whole.then(|| lines.join("\n"))
}
