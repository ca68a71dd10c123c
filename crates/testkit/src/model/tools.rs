//! From what a script wants done to the tool that the program offers for it.
use std::path::Path;

use serde_json::{Value, json};

use super::request::Offered;
use super::script::Tool;

/// A tool call as it goes over the wire.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Calling {
    pub(super) name: String,
    pub(super) arguments: Arguments,
}

/// What a tool is called with.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Arguments {
    Json(Value),
    /// What should be JSON.
    Broken(String),
    /// Free text, for a tool that takes it.
    Free(String),
}

impl Arguments {
    /// As text.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Json(value) => value.to_string(),
            Self::Broken(text) | Self::Free(text) => text.clone(),
        }
    }

    /// As JSON; what is none is nothing.
    pub(super) fn value(&self) -> Value {
        match self {
            Self::Json(value) => value.clone(),
            Self::Broken(_) | Self::Free(_) => json!({}),
        }
    }
}

/// The call that does what a script wants. A tool that is not offered is called by its plain name all the same.
pub(super) fn calling(tool: &Tool, offered: &[Offered], folder: Option<&Path>) -> Calling {
    let found = match tool {
        Tool::Shell(command) => shell(command, offered),
        Tool::Write(path, text) => write(path, text, offered, folder),
        Tool::Read(path) => read(path, offered, folder),
        Tool::Named(name, arguments) => Some(json_call(name, arguments.clone())),
        Tool::Broken(name, text) => Some(Calling { name: name.clone(), arguments: Arguments::Broken(text.clone()) }),
    };
    found.unwrap_or_else(|| match tool {
        Tool::Shell(command) => json_call("shell", json!({"command": command})),
        Tool::Write(path, text) => json_call("write", json!({"path": path, "content": text})),
        Tool::Read(path) => json_call("read", json!({"path": path})),
        Tool::Named(name, _) | Tool::Broken(name, _) => json_call(name, json!({})),
    })
}

fn json_call(name: &str, arguments: Value) -> Calling {
    Calling { name: name.to_owned(), arguments: Arguments::Json(arguments) }
}

fn free_call(name: &str, text: String) -> Calling {
    Calling { name: name.to_owned(), arguments: Arguments::Free(text) }
}

fn find<'a>(name: &str, offered: &'a [Offered]) -> Option<&'a Offered> {
    offered.iter().find(|tool| tool.name == name)
}

fn has(tool: &Offered, property: &str) -> bool {
    tool.properties.get(property).is_some()
}

fn shell(command: &str, offered: &[Offered]) -> Option<Calling> {
    let plain = ["Bash", "bash", "shell_command", "run_shell_command", "execute_command", "run_terminal_command"];
    if let Some(tool) = plain.iter().find_map(|name| find(name, offered)) {
        let mut arguments = json!({"command": command});
        if has(tool, "description") {
            arguments["description"] = json!("a step of the script");
        }
        for property in ["is_background", "requires_approval"].into_iter().filter(|property| has(tool, property)) {
            arguments[property] = json!(false);
        }
        return Some(json_call(&tool.name, arguments));
    }
    if find("exec_command", offered).is_some() {
        return Some(json_call("exec_command", json!({"cmd": command})));
    }
    if find("run_commands", offered).is_some() {
        return Some(json_call("run_commands", json!({"commands": [command]})));
    }
    if let Some(tool) = find("shell", offered) {
        if tool.properties["command"]["type"] == "string" {
            return Some(json_call("shell", json!({"command": command})));
        }
        return Some(json_call("shell", json!({"command": ["bash", "-lc", command]})));
    }
    let code = format!(
        "const r = await tools.exec_command({{cmd: {}}});\ntext(r.output ?? JSON.stringify(r));",
        json!(command)
    );
    find("exec", offered).filter(|tool| tool.free).map(|_| free_call("exec", code))
}

fn write(path: &str, text: &str, offered: &[Offered], folder: Option<&Path>) -> Option<Calling> {
    let whole = absolute(path, folder);
    let plain = [
        ("Write", "file_path", "content"),
        ("write", "filePath", "content"),
        ("write_file", "file_path", "content"),
        ("write_to_file", "path", "content"),
        ("create", "path", "file_text"),
    ];
    let known = plain.into_iter().find_map(|(name, place, content)| Some((find(name, offered)?, place, content)));
    if let Some((tool, place, content)) = known {
        // Programs share the names of tools, not those of their arguments.
        let place = [place, "file_path", "path"].into_iter().find(|place| has(tool, place)).unwrap_or(place);
        return Some(json_call(&tool.name, json!({place: whole, content: text})));
    }
    if let Some(tool) = find("editor", offered) {
        let arguments = if has(tool, "new_text") {
            json!({"path": whole, "new_text": text})
        } else {
            json!({"command": "create", "path": whole, "file_text": text})
        };
        return Some(json_call("editor", arguments));
    }
    let lines: String = text.lines().map(|line| format!("+{line}\n")).collect();
    let patch = format!("*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch\n");
    if find("apply_patch", offered).is_some() {
        return Some(free_call("apply_patch", patch));
    }
    if find("exec", offered).is_some_and(|tool| tool.free) {
        return Some(free_call("exec", format!("const r = await tools.apply_patch({});\ntext(r);", json!(patch))));
    }
    shell(&format!("cat > '{whole}' <<'END_OF_SCRIPTED_FILE'\n{}\nEND_OF_SCRIPTED_FILE", text.trim_end()), offered)
}

fn read(path: &str, offered: &[Offered], folder: Option<&Path>) -> Option<Calling> {
    let whole = absolute(path, folder);
    if find("Read", offered).is_some() {
        return Some(json_call("Read", json!({"file_path": whole})));
    }
    if find("read", offered).is_some() {
        return Some(json_call("read", json!({"filePath": whole})));
    }
    if let Some(tool) = find("read_file", offered) {
        let named = ["file_path", "absolute_path", "path"].into_iter().find(|property| has(tool, property));
        return Some(json_call("read_file", json!({named.unwrap_or("path"): whole})));
    }
    if find("read_files", offered).is_some() {
        return Some(json_call("read_files", json!({"files": [{"path": whole}]})));
    }
    shell(&format!("cat '{whole}'"), offered)
}

fn absolute(path: &str, folder: Option<&Path>) -> String {
    folder.map_or_else(|| path.to_owned(), |folder| folder.join(path).display().to_string())
}
