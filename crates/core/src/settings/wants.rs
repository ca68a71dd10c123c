//! What a project file wants to run or to allow, in lines for the person who approves it: whole, nothing cut, nothing
//! hidden. And the characters that it may not hold.
use toml_edit::{Document, Item, Table, TableLike, Value};

use super::catalogue::Key;
use super::error::SettingsError;
use super::files::place;
use super::value::Kind;
use crate::agent::Described;
use crate::text::{control_character, escaped};

/// So many spaces in a row are written as their number: on a screen they would move the rest out of sight.
const SPACES_MAX: usize = 16;
/// How the further lines of a value are indented.
const INDENT: &str = "    ";

/// The lines for one value. Each entry of a list has its own line. A text of several lines is shown as several lines,
/// each with a visible `\n` at its end.
#[must_use]
pub fn lines_of(place: &str, key: &Key, value: &str) -> Vec<String> {
    match key.kind {
        Kind::Gates | Kind::Paths | Kind::Findings | Kind::Prices | Kind::Models | Kind::Failures => {
            value.lines().map(|entry| format!("{place}: {} = {}", key.name, visible(entry))).collect()
        }
        Kind::CountOrUnlimited(_)
        | Kind::Duration
        | Kind::DurationOrUnlimited
        | Kind::DurationOrNone
        | Kind::SizeOrUnlimited
        | Kind::MoneyOrUnlimited
        | Kind::Fraction
        | Kind::Switch
        | Kind::Choice(_)
        | Kind::Ladder
        | Kind::Command
        | Kind::Word
        | Kind::Agents
        | Kind::Text
        | Kind::Path => {
            let pieces = value.split_inclusive('\n').map(visible).zip(0..);
            let line = |(piece, at)| {
                if at == 0 { format!("{place}: {} = {piece}", key.name) } else { format!("{INDENT}{piece}") }
            };
            let lines: Vec<String> = pieces.map(line).collect();
            if lines.is_empty() { vec![format!("{place}: {} =", key.name)] } else { lines }
        }
    }
}

/// The lines for an agent: each thing that its table says.
pub(super) fn lines_of_agent(place: &str, agent: &Described) -> Vec<String> {
    let told = serde_json::to_value(agent).unwrap_or_default();
    let says = |value: &serde_json::Value| match value {
        serde_json::Value::Null => false,
        serde_json::Value::Array(list) => !list.is_empty(),
        serde_json::Value::Object(map) => !map.is_empty(),
        serde_json::Value::String(text) => !text.is_empty(),
        serde_json::Value::Bool(_) | serde_json::Value::Number(_) => true,
    };
    let told = told.as_object().into_iter().flatten().filter(|(name, value)| *name != "name" && says(value));
    told.map(|(name, value)| format!("{place}: agents.{}.{name} = {}", agent.name, visible(&value.to_string())))
        .collect()
}

/// A piece of a value as it can be read on any screen.
fn visible(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(' ') {
        let (before, from) = rest.split_at(at);
        let after = from.trim_start_matches(' ');
        let count = from.len() - after.len();
        out.push_str(&escaped(before));
        out.push_str(&if count > SPACES_MAX { format!(" [{count} spaces] ") } else { " ".repeat(count) });
        rest = after;
    }
    out + &escaped(rest)
}

/// Refuses a file that holds a control character in any name or text, but for line breaks and tabs.
///
/// # Errors
/// The first one, with file, line and key.
pub(super) fn refuse_control_characters(text: &str, file: &str) -> Result<(), SettingsError> {
    let Ok(document) = Document::parse(text) else { return Ok(()) };
    let found = Search { text, file }.table(document.as_table(), "");
    found.map_or(Ok(()), Err)
}

struct Search<'a> {
    text: &'a str,
    file: &'a str,
}

impl Search<'_> {
    fn table(&self, table: &Table, above: &str) -> Option<SettingsError> {
        self.entries(table, above)
    }

    fn entries(&self, table: &dyn TableLike, above: &str) -> Option<SettingsError> {
        table.iter().find_map(|(name, item)| {
            let key = if above.is_empty() { name.to_owned() } else { format!("{above}.{name}") };
            let at = table.key(name).and_then(|key| key.span()).map(|span| span.start);
            let bad = |letter| SettingsError::ControlCharacter {
                place: place(self.file, self.text, at),
                key: escaped(&key),
                letter,
            };
            let in_name = name.chars().find(|letter| letter.is_control());
            in_name.map(bad).or_else(|| self.item(item, &key, &bad))
        })
    }

    fn item(&self, item: &Item, key: &str, bad: &dyn Fn(char) -> SettingsError) -> Option<SettingsError> {
        match item {
            Item::None => None,
            Item::Table(table) => self.entries(table, key),
            Item::ArrayOfTables(tables) => tables.iter().find_map(|table| self.entries(table, key)),
            Item::Value(value) => self.value(value, key, bad),
        }
    }

    fn value(&self, value: &Value, key: &str, bad: &dyn Fn(char) -> SettingsError) -> Option<SettingsError> {
        match value {
            Value::String(text) => control_character(text.value()).map(bad),
            Value::Array(list) => list.iter().find_map(|value| self.value(value, key, bad)),
            Value::InlineTable(table) => self.entries(table, key),
            Value::Integer(_) | Value::Float(_) | Value::Boolean(_) | Value::Datetime(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{keys, project_from_toml};

    // req: RT-R2 RT-R17
    #[test]
    fn what_a_file_wants_is_shown_whole_and_every_hidden_character_is_escaped() {
        let long = "make docs && ".repeat(100) + "touch END";
        let gates: String = (0..31).map(|n| format!("[gates.g{n:02}]\ncommand = \"touch M{n:02}\"\n")).collect();
        let text = format!("promise = \"{long}\"\nagent_args = \"a\\u202eb\\u200b\"\n{gates}");
        let wants = project_from_toml(&text, ".loop.toml", false).unwrap().wants;
        assert_eq!(wants[0], format!(".loop.toml:1: promise = {long}"));
        assert_eq!(wants[1], r".loop.toml:2: agent_args = a\u{202e}b\u{200b}");
        assert_eq!(wants.len(), 33);
        assert_eq!(wants[32], ".loop.toml:3: gate = g30=touch M30");
    }

    #[test]
    fn a_command_of_several_lines_is_shown_line_by_line_with_its_breaks() {
        let lines = lines_of("f:1", keys::promise(), "make test # all\n\ttouch A\n");
        assert_eq!(lines, [r"f:1: promise = make test # all\n", r"    \ttouch A\n"]);
    }

    #[test]
    fn many_spaces_are_shown_as_their_number() {
        let value = format!("make test{}; touch A", " ".repeat(2000));
        assert_eq!(lines_of("f:1", keys::promise(), &value), ["f:1: promise = make test [2000 spaces] ; touch A"]);
    }

    #[test]
    fn an_agents_table_is_shown_with_everything_that_it_says() {
        let text = "[agents.mine]\ncommand = [\"sh\", \"-c\", \"touch A\"]\nenv = [\"KEY\"]\n[agents.mine.permissions]\nall = [\"--yes\"]\n";
        let wants = project_from_toml(text, ".loop.toml", false).unwrap().wants.join("\n");
        for part in [r#"agents.mine.command = ["sh","-c","touch A"]"#, r#"env = ["KEY"]"#, r#"{"all":["--yes"]}"#] {
            assert!(wants.contains(part), "{part}\n{wants}");
        }
    }

    // req: RT-R2
    #[test]
    fn a_control_character_anywhere_is_refused_with_file_line_and_key() {
        for (text, said) in [
            (
                "max_iterations = 3\npromise = \"make test \\u001b]0; touch A; true \\u0007\"\n",
                r"f:2: promise holds the control character \x1b",
            ),
            ("promise = \"make\\rtrue\"\n", r"f:1: promise holds the control character \r"),
            ("project = \"\\u009b2J\"\n", r"f:1: project holds the control character \u{9b}"),
            ("\"pro\\u0007mise\" = \"a\"\n", r"f:1: pro\x07mise holds the control character \x07"),
            ("[gates.a]\ncommand = \"true \\b\"\n", r"f:2: gates.a.command holds the control character \x08"),
            ("[agents.a]\ncommand = [\"a\", \"\\u007f\"]\n", r"f:2: agents.a.command holds the control character \x7f"),
            ("gates = { a = { command = \"\\u001bP1\" } }\n", r"f:1: gates.a.command holds the control character \x1b"),
        ] {
            for approved in [false, true] {
                let error = project_from_toml(text, "f", approved).unwrap_err();
                assert_eq!(error.to_string(), said);
            }
        }
        assert!(project_from_toml("promise = \"a &&\\n\\tb\"\n", "f", false).is_ok(), "a command of two lines");
    }
}
