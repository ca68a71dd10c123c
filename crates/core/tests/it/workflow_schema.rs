//! The schema for editors and the reader agree on files.
use loop_core::workflow::schema;
use serde_json::Value;

use crate::workflow::{EXAMPLE, read_with};

/// A check of the parts of JSON Schema that the schema uses.
fn fits(schema: &Value, value: &Value) -> bool {
    let Value::Object(rules) = schema else { return schema != &Value::Bool(false) };
    rules.iter().all(|(rule, wanted)| match rule.as_str() {
        "type" => {
            let types = wanted.as_array().map_or(std::slice::from_ref(wanted), Vec::as_slice);
            types.iter().any(|one| has_type(one, value))
        }
        "const" => value == wanted,
        "enum" => wanted.as_array().unwrap().contains(value),
        "oneOf" => wanted.as_array().unwrap().iter().filter(|one| fits(one, value)).count() == 1,
        "anyOf" => wanted.as_array().unwrap().iter().any(|one| fits(one, value)),
        "required" => {
            let names = wanted.as_array().unwrap();
            value.as_object().is_none_or(|map| names.iter().all(|name| map.contains_key(name.as_str().unwrap())))
        }
        "properties" => value.as_object().is_none_or(|map| {
            map.iter().all(|(name, value)| wanted.get(name).is_none_or(|schema| fits(schema, value)))
        }),
        "additionalProperties" => value.as_object().is_none_or(|map| {
            let known = |name: &str| rules.get("properties").is_some_and(|all| all.get(name).is_some());
            map.iter().all(|(name, value)| known(name) || fits(wanted, value))
        }),
        "propertyNames" => {
            value.as_object().is_none_or(|map| map.keys().all(|name| fits(wanted, &Value::String(name.clone()))))
        }
        "items" => value.as_array().is_none_or(|all| all.iter().all(|one| fits(wanted, one))),
        "minItems" => value.as_array().is_none_or(|all| all.len() as u64 >= wanted.as_u64().unwrap()),
        "maxItems" => value.as_array().is_none_or(|all| all.len() as u64 <= wanted.as_u64().unwrap()),
        "minLength" => value.as_str().is_none_or(|text| text.len() as u64 >= wanted.as_u64().unwrap()),
        "minimum" => value.as_f64().is_none_or(|number| number >= wanted.as_f64().unwrap()),
        "maximum" => value.as_f64().is_none_or(|number| number <= wanted.as_f64().unwrap()),
        "exclusiveMinimum" => value.as_f64().is_none_or(|number| number > wanted.as_f64().unwrap()),
        "pattern" => value.as_str().is_none_or(|text| matches(wanted.as_str().unwrap(), text)),
        "$schema" | "title" | "description" | "default" => true,
        other => panic!("the test does not know the rule {other}"),
    })
}

fn has_type(name: &Value, value: &Value) -> bool {
    match name.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        other => panic!("the test does not know the type {other}"),
    }
}

/// The few patterns of the schema.
fn matches(pattern: &str, text: &str) -> bool {
    let word = |first: &dyn Fn(char) -> bool, rest: &dyn Fn(char) -> bool| {
        text.chars().next().is_some_and(first) && text.chars().skip(1).all(rest)
    };
    match pattern {
        "\\{\\{" => text.contains("{{"),
        "^[A-Za-z_][A-Za-z0-9_]*$" => {
            word(&|one| one.is_ascii_alphabetic() || one == '_', &|one| one.is_ascii_alphanumeric() || one == '_')
        }
        "^[A-Za-z0-9][A-Za-z0-9_.-]{0,47}$" => {
            text.len() <= 48
                && word(&|one| one.is_ascii_alphanumeric(), &|one| one.is_ascii_alphanumeric() || "_.-".contains(one))
        }
        other => panic!("the test does not know the pattern {other}"),
    }
}

fn schema_takes(text: &str) -> bool {
    let schema: Value = serde_json::from_str(&schema()).unwrap();
    let Ok(value) = serde_saphyr::from_str::<Value>(text) else { return false };
    fits(&schema, &value)
}

fn one_loop(more: &str) -> String {
    format!("loops:\n  - id: a\n    prompt: p\n    promise: t\n{more}")
}

#[test]
fn the_schema_and_the_reader_take_the_same_files() {
    // req: D-12 partly: the schema
    let good = [
        EXAMPLE.to_owned(),
        one_loop("    max_iterations: 5\n    max_cost: 2.5\n    timeout: 30s\n    protect: [a, b]\n"),
        one_loop(
            "    max_iterations: unlimited\n    max_cost: \"2.50\"\n    protect_tests: false\n    judge: workspace\n",
        ),
        one_loop("    max_iterations: \"{{n}}\"\n    protect_tests: \"{{switch}}\"\n"),
        one_loop("    gate: {lint: make lint, bench: {command: b, watch: true}}\n"),
        one_loop(
            "    gate: [\"lint=l\"]\n    touches: a/**\nparallel: 4\nbudget: 3\non_conflict: agent\nhook_timeout: 5m\n",
        ),
        one_loop("  - {id: b, ask: sure?, depends_on: [a]}\nenv: {A: 1, B: x, C: true}\non_complete: make done\n"),
        "loops:\n  - {id: a, prompt: p, no_promise: true}\n".to_owned(),
    ];
    for text in &good {
        let all = ["feature=x", "n=5", "switch=true"];
        let is_used = |set: &&&str| text.contains(&format!("{{{{{}}}}}", set.split('=').next().unwrap()));
        let set: &[&str] = &all.iter().filter(is_used).copied().collect::<Vec<_>>();
        assert!(read_with(text, set).is_ok(), "the reader refuses\n{text}{:?}", read_with(text, set).err());
        assert!(schema_takes(text), "the schema refuses\n{text}");
    }
    let bad = [
        "name: x\n".to_owned(),
        "loops: []\n".to_owned(),
        "loops: {a: b}\n".to_owned(),
        "loops:\n  - {id: a, prompt: p}\n".to_owned(),
        "loops:\n  - {id: a, promise: p}\n".to_owned(),
        "loops:\n  - {prompt: a, promise: p}\n".to_owned(),
        "loops:\n  - {id: a b, prompt: a, promise: p}\n".to_owned(),
        "loops:\n  - {id: a, ask: q, promise: p}\n".to_owned(),
        one_loop("    max_iteration: 5\n"),
        one_loop("    max_iterations: 0\n"),
        one_loop("    max_iterations: many\n"),
        one_loop("    max_iterations: [5]\n"),
        one_loop("    commit: true\n"),
        one_loop("    protect_tests: 7\n"),
        one_loop("    judge: here\n"),
        one_loop("    agent: 5\n"),
        one_loop("    touches: 5\n"),
        one_loop("    prompt_file: x\n"),
        one_loop("    gate: 5\n"),
        one_loop("task: x\n"),
        one_loop("parallel: 0\n"),
        one_loop("parallel: 65\n"),
        one_loop("budget: 0\n"),
        one_loop("on_conflict: rebase\n"),
        one_loop("env: [A]\n"),
        one_loop("env: {A-B: x}\n"),
        one_loop("env: {A: [x]}\n"),
        one_loop("on_complete: {a: b}\n"),
        one_loop("hook_timeout: 5\n"),
    ];
    for text in &bad {
        assert!(read_with(text, &[]).is_err(), "the reader takes\n{text}");
        assert!(!schema_takes(text), "the schema takes\n{text}");
    }
}

#[test]
fn what_only_the_reader_knows_passes_the_schema() {
    let by_meaning = [
        one_loop("    timeout: 5 parsecs\n"),
        one_loop("    depends_on: [a]\n"),
        one_loop("    depends_on: [b]\n"),
        one_loop("  - {id: a, prompt: p, promise: t}\n"),
        one_loop("description: \"{{unset}}\"\n"),
    ];
    for text in &by_meaning {
        assert!(read_with(text, &[]).is_err(), "the reader takes\n{text}");
        assert!(schema_takes(text), "the schema refuses\n{text}");
    }
}
