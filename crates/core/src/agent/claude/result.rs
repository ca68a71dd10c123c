//! The line in which Claude and similar programs report the result of a run.
use serde_json::Value;

use crate::agent::json::{micros, number, number_or_text};
use crate::agent::reading::{Denials, Usage};

/// How a run came out by the program's own account.
#[derive(Debug, Default)]
pub(in crate::agent) struct ResultLine {
    /// In an error.
    pub(in crate::agent) error: bool,
    /// In which way: `success`, `error_max_turns` and the like.
    pub(in crate::agent) subtype: String,
    /// The final text, or the words of the error.
    pub(in crate::agent) words: String,
    /// The status of the provider's answer.
    pub(in crate::agent) status: Option<u64>,
    /// The model would not.
    pub(in crate::agent) refused: bool,
    /// What it used.
    pub(in crate::agent) usage: Usage,
    /// The part of it that the main thread of this run used.
    pub(in crate::agent) thread: Usage,
    /// What was refused.
    pub(in crate::agent) denials: Denials,
    /// How much of the time its provider took.
    pub(in crate::agent) api_duration_ms: Option<u64>,
    /// The session.
    pub(in crate::agent) session: Option<String>,
}

/// Reads that line. Nothing where it does not say how the run came out.
pub(in crate::agent) fn read(line: &[u8], asks: &[&str]) -> Option<ResultLine> {
    let text = String::from_utf8_lossy(line);
    let result: Value = serde_json::from_str(&text).ok()?;
    let subtype = result.get("subtype").and_then(Value::as_str).unwrap_or_default();
    let error = match result.get("is_error") {
        Some(Value::Bool(error)) => *error,
        None | Some(Value::Null) if !subtype.is_empty() => subtype != "success",
        Some(_) | None => return None,
    };
    Some(ResultLine {
        error: error || subtype.starts_with("error"),
        subtype: subtype.to_owned(),
        words: words(&result),
        status: result.get("api_error_status").and_then(number_or_text),
        refused: result.get("stop_reason").and_then(Value::as_str) == Some("refusal"),
        usage: usage(&result),
        thread: of_thread(&result).unwrap_or_default(),
        denials: denials(&result, asks),
        api_duration_ms: result.get("duration_api_ms").and_then(number),
        session: result.get("session_id").and_then(Value::as_str).map(str::to_owned),
    })
}

fn words(result: &Value) -> String {
    if let Some(text) = result.get("result").and_then(Value::as_str) {
        return text.to_owned();
    }
    let said = |error: &Value| {
        let text = error.as_str().or_else(|| error.get("message").and_then(Value::as_str));
        text.map_or_else(|| error.to_string(), str::to_owned)
    };
    let listed = result.get("errors").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let single = result.get("error").filter(|error| !error.is_null());
    listed.iter().chain(single).map(said).collect::<Vec<_>>().join("\n")
}

fn usage(result: &Value) -> Usage {
    let cost = result.get("total_cost_usd").and_then(Value::as_f64);
    let turns = result.get("num_turns").and_then(number);
    let mut usage = by_model(result).or_else(|| of_thread(result)).unwrap_or_default();
    usage.cost_micros = cost.and_then(micros);
    usage.turns = turns.and_then(|turns| u32::try_from(turns).ok());
    usage
}

/// The sum over all models: it also has what sub-agents and lost answers used, and `usage` does not.
fn by_model(result: &Value) -> Option<Usage> {
    let models = result.get("modelUsage")?.as_object().filter(|models| !models.is_empty())?;
    let sum =
        |name: &str| models.values().filter_map(|model| model.get(name).and_then(number)).reduce(u64::saturating_add);
    Some(Usage {
        input_tokens: Some(sum("inputTokens")?),
        output_tokens: sum("outputTokens"),
        cache_read_tokens: sum("cacheReadInputTokens"),
        cache_creation_tokens: sum("cacheCreationInputTokens"),
        ..Usage::default()
    })
}

fn of_thread(result: &Value) -> Option<Usage> {
    let told = result.get("usage")?;
    let count = |name: &str| told.get(name).and_then(number);
    Some(Usage {
        input_tokens: count("input_tokens"),
        output_tokens: count("output_tokens"),
        cache_read_tokens: count("cache_read_input_tokens"),
        cache_creation_tokens: count("cache_creation_input_tokens"),
        ..Usage::default()
    })
}

/// Refused tool calls. A question without a person to answer it is not one of them.
fn denials(result: &Value, asks: &[&str]) -> Denials {
    let all = result.get("permission_denials").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let tool = |denial: &Value| denial.get("tool_name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut refused = all.iter().filter(|denial| !asks.contains(&tool(denial).as_str())).peekable();
    let first = refused.peek().map(|denial| {
        let input = denial.get("tool_input").map(ToString::to_string).unwrap_or_default();
        match (tool(denial), super::lines::telling(&input)) {
            (tool, telling) if telling.is_empty() => tool,
            (tool, command) if SHELLS.contains(&tool.as_str()) => command,
            (tool, telling) => format!("{tool} {telling}"),
        }
    });
    Denials { count: u32::try_from(refused.count()).unwrap_or(u32::MAX), first }
}

/// Tools whose command says it all.
const SHELLS: [&str; 3] = ["Bash", "PowerShell", "run_shell_command"];
