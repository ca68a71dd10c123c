//! What a request to a model holds, whichever API it is for.
use serde_json::Value;

/// The APIs that are spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Api {
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's Responses.
    Responses,
    /// OpenAI's Chat Completions.
    Chat,
    /// Google's `generateContent`.
    Gemini,
}

impl Api {
    /// The API that a path belongs to; whatever stands before does not matter.
    pub(super) fn of(path: &str) -> Option<Self> {
        let ends = |end: &str| path.ends_with(end);
        if ends("/messages") {
            Some(Self::Anthropic)
        } else if ends("/responses") {
            Some(Self::Responses)
        } else if ends("/chat/completions") {
            Some(Self::Chat)
        } else if ends(":generateContent") || ends(":streamGenerateContent") {
            Some(Self::Gemini)
        } else {
            None
        }
    }
}

/// A tool that the program offers to the model.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Offered {
    pub(super) name: String,
    /// It takes free text instead of JSON.
    pub(super) free: bool,
    /// The properties of its arguments.
    pub(super) properties: Value,
}

/// The model that is asked for: in the body, or for Gemini in the path.
pub(super) fn model(path: &str, body: &Value) -> Option<String> {
    let in_path = || path.rsplit_once("models/")?.1.split(':').next().map(str::to_owned);
    body["model"].as_str().map(str::to_owned).or_else(in_path)
}

/// Whether the answer is to come in events.
pub(super) fn streams(path: &str, body: &Value) -> bool {
    body["stream"] == true || path.ends_with(":streamGenerateContent")
}

/// The tools that are offered.
pub(super) fn offered(api: Api, body: &Value) -> Vec<Offered> {
    let tools = list(&body["tools"]);
    match api {
        Api::Anthropic => tools.iter().map(|tool| plain(tool, "input_schema")).collect(),
        Api::Chat => tools.iter().map(|tool| plain(&tool["function"], "parameters")).collect(),
        Api::Gemini => {
            let all = tools.iter().flat_map(|tool| list(&tool["functionDeclarations"]));
            all.map(|tool| {
                plain(tool, if tool["parameters"].is_null() { "parametersJsonSchema" } else { "parameters" })
            })
            .collect()
        }
        Api::Responses => {
            // Models with a code mode of their own get their tools within the input.
            let inside = list(&body["input"]).iter().filter(|item| item["type"] == "additional_tools");
            let all = tools.iter().chain(inside.flat_map(|item| list(&item["tools"])));
            all.flat_map(
                |tool| if tool["type"] == "namespace" { list(&tool["tools"]) } else { std::slice::from_ref(tool) },
            )
            .map(|tool| plain(tool, "parameters"))
            .collect()
        }
    }
}

fn plain(tool: &Value, schema: &str) -> Offered {
    let name = tool["name"].as_str().or_else(|| tool["type"].as_str()).unwrap_or_default();
    let properties = tool[schema]["properties"].clone();
    Offered { name: name.to_owned(), free: tool["type"] == "custom", properties }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The messages of a request, oldest first.
fn messages(api: Api, body: &Value) -> &[Value] {
    list(match api {
        Api::Anthropic | Api::Chat => &body["messages"],
        Api::Responses => &body["input"],
        Api::Gemini => &body["contents"],
    })
}

/// All words of the last message, a tool's answer included.
pub(super) fn last_message(api: Api, body: &Value) -> String {
    messages(api, body).last().map(|message| words(message, true)).unwrap_or_default()
}

/// All words of the last message that a person wrote.
pub(super) fn last_user(api: Api, body: &Value) -> String {
    let of_user = messages(api, body).iter().rev().filter(|message| message["role"] == "user");
    let texts = of_user.map(|message| words(message, false));
    texts.into_iter().find(|text| !text.is_empty()).unwrap_or_default()
}

/// The words in a message: what stands under the names that texts have in the four APIs.
fn words(value: &Value, tools_too: bool) -> String {
    const TEXTS: [&str; 2] = ["text", "content"];
    const OF_TOOLS: [&str; 3] = ["output", "functionResponse", "response"];
    let of_tool = value["type"] == "tool_result";
    if of_tool && !tools_too {
        return String::new();
    }
    let mut found = Vec::new();
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(all) => found.extend(all.iter().map(|part| words(part, tools_too))),
        Value::Object(fields) => {
            let named =
                |name: &str| TEXTS.contains(&name) || name == "parts" || (tools_too && OF_TOOLS.contains(&name));
            let inside = fields.iter().filter(|(name, _)| named(name));
            found.extend(inside.map(|(_, inner)| words(inner, tools_too)));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    found.retain(|text| !text.is_empty());
    found.join("\n")
}
