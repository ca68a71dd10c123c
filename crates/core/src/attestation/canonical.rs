//! JSON in its one form: keys sorted by their bytes, no white space, integers and no fractions. Two programs that write the
//! same content write the same bytes.
use serde_json::Value;

/// The text of a value; none if it has a number that is not an integer.
#[must_use]
pub fn text(value: &Value) -> Option<String> {
    // The map of serde_json is sorted by key.
    if is_exact(value) { serde_json::to_string(value).ok() } else { None }
}

/// The value of a text that is in this form; none of any other text, also where only white space, the order or a key
/// that stands there twice differs.
#[must_use]
pub fn parse(bytes: &[u8]) -> Option<Value> {
    let value: Value = serde_json::from_slice(bytes).ok()?;
    (text(&value)?.as_bytes() == bytes).then_some(value)
}

fn is_exact(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_i64() || number.is_u64(),
        Value::Array(list) => list.iter().all(is_exact),
        Value::Object(map) => map.values().all(is_exact),
        Value::Null | Value::Bool(_) | Value::String(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_are_sorted_and_nothing_stands_between() {
        let value = json!({"b": [1, null, true], "a": {"z": "é\n", "y": -2}});
        assert_eq!(text(&value).as_deref(), Some(r#"{"a":{"y":-2,"z":"é\n"},"b":[1,null,true]}"#));
        assert_eq!(text(&value).and_then(|text| parse(text.as_bytes())), Some(value));
    }

    #[test]
    fn another_form_of_the_same_content_is_refused() {
        let refused = [
            &br#"{"a": 1}"#[..],
            br#"{"b":1,"a":2}"#,
            br#"{"a":1,"a":1}"#,
            br#"{"a":1.0}"#,
            br#"{"a":1e2}"#,
            br#"{"a":"\u0041"}"#,
            b"{\"a\":1}\n",
            b"\xff",
            b"",
        ];
        for bytes in refused {
            assert_eq!(parse(bytes), None, "{}", String::from_utf8_lossy(bytes));
        }
        assert_eq!(text(&json!(0.5)), None);
        let deep = "[".repeat(100_000);
        assert_eq!(parse(deep.as_bytes()), None);
    }
}
