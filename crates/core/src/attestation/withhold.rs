//! What must not leave this machine: paths of it, and what looks like a secret. A text with such a thing is left out as a
//! whole, and its place is named, so that a reader sees that something is missing.
use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;

use crate::agent::Secrets;

/// Words in the name of a variable or an option that say that its value is a secret.
const SECRET_NAMES: [&str; 9] =
    ["TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "API_KEY", "APIKEY", "PRIVATE_KEY"];
/// How keys of well-known services begin.
const KEY_BEGINNINGS: [&str; 20] = [
    "sk-",
    "sk_live_",
    "rk_live_",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "xoxa-",
    "AKIA",
    "ASIA",
    "AIza",
    "ya29.",
    "npm_",
    "pypi-",
    "hf_",
];
/// A key has at least so many characters behind its beginning.
const KEY_REST_MIN: usize = 12;
/// A word of at least 32 letters with upper case, lower case and digits is treated as random.
const RANDOM_LETTERS_MIN: usize = 32;
/// Folders that have the home folders of people in them.
const HOMES: [&str; 2] = ["/home/", "/Users/"];

/// Texts of this machine that a proof must not have.
#[derive(Debug, Clone, Default)]
pub struct LocalTexts {
    /// Folders: home, workspace, records.
    pub folders: Vec<String>,
    /// Values of variables that are declared secret.
    pub secrets: Arc<Secrets>,
}

/// Why a text is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Private {
    Path,
    Secret,
}

impl LocalTexts {
    fn private(&self, text: &str) -> Option<Private> {
        let declared = matches!(self.secrets.text(text), Cow::Owned(_));
        if declared || looks_secret(text) {
            return Some(Private::Secret);
        }
        let named = self.folders.iter().any(|folder| names_folder(text, folder));
        (named || HOMES.iter().any(|home| names_home(text, home))).then_some(Private::Path)
    }
}

/// Takes out what is private, and returns its places, as `gates[1].command`.
pub fn withhold(value: &mut Value, local: &LocalTexts) -> Vec<String> {
    let mut places = Vec::new();
    take_out(value, "", local, &mut places);
    places
}

fn take_out(value: &mut Value, place: &str, local: &LocalTexts, places: &mut Vec<String>) {
    match value {
        Value::String(text) => {
            if local.private(text).is_some() {
                *value = Value::Null;
                places.push(place.to_owned());
            }
        }
        Value::Array(list) => {
            for (at, value) in list.iter_mut().enumerate() {
                take_out(value, &format!("{place}[{at}]"), local, places);
            }
        }
        Value::Object(map) => {
            // The hash of a short secret can be guessed.
            let is_secret = map.get("command").and_then(Value::as_str).and_then(|text| local.private(text));
            if is_secret == Some(Private::Secret) {
                map.insert("command_sha256".to_owned(), Value::Null);
            }
            let keys: Vec<String> = map.keys().cloned().collect();
            for key in keys {
                let below = if place.is_empty() { key.clone() } else { format!("{place}.{key}") };
                if let Some(value) = map.get_mut(&key) {
                    take_out(value, &below, local, places);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Whether a text names this folder or something in it.
fn names_folder(text: &str, folder: &str) -> bool {
    let folder = folder.trim_end_matches('/');
    let goes_on = |rest: &str| rest.starts_with(|next: char| next.is_alphanumeric() || "-_.".contains(next));
    folder.len() > 1
        && text.match_indices(folder).any(|(at, found)| !goes_on(text.get(at + found.len()..).unwrap_or("")))
}

fn names_home(text: &str, home: &str) -> bool {
    text.match_indices(home).any(|(at, found)| {
        text.get(at + found.len()..).is_some_and(|rest| rest.starts_with(|next: char| next.is_alphanumeric()))
    })
}

/// Whether a text has something in it that looks like a key, a password or a token.
#[must_use]
pub fn looks_secret(text: &str) -> bool {
    if text.contains("-----BEGIN ") && text.contains("PRIVATE KEY") || has_user_in_address(text) {
        return true;
    }
    let small = text.to_ascii_lowercase();
    let (is_header, is_curl) = (small.contains("authorization"), small.contains("curl"));
    // A shell joins what is quoted with what stands before it: `TOKEN="abc"`.
    let joined = text.replace(['\'', '"', '\\'], "");
    let is_between = |letter: char| letter.is_whitespace() || "`;|&()<>,{}".contains(letter);
    let mut words = joined.split(is_between).filter(|word| !word.is_empty()).peekable();
    while let Some(word) = words.next() {
        let (name, value) = word.split_once(['=', ':']).map_or((word, None), |(name, value)| (name, Some(value)));
        // `--token abc` names its value in the next word.
        let is_option = name.starts_with('-');
        let value = value.or_else(|| words.peek().copied().filter(|_| is_option)).unwrap_or_default();
        if is_secret_name(name) && is_literal(value) {
            return true;
        }
        if word.split(['=', '/', ':', '@']).any(is_key) {
            return true;
        }
        let next = words.peek().copied().unwrap_or_default();
        if is_header && is_scheme(word) && is_literal(next) || is_curl && names_user(word, next) {
            return true;
        }
    }
    false
}

/// The word before the secret in a header such as `Authorization: Bearer abc`.
fn is_scheme(word: &str) -> bool {
    ["bearer", "basic", "token"].iter().any(|scheme| word.eq_ignore_ascii_case(scheme))
}

/// `-u name:password` of curl, also behind other short options.
fn names_user(word: &str, next: &str) -> bool {
    let user = match word.strip_prefix("--user=") {
        Some(user) => user,
        None if word == "--user" || word.starts_with('-') && !word.starts_with("--") && word.ends_with('u') => next,
        None => return false,
    };
    user.split_once(':').is_some_and(|(_, password)| is_literal(password))
}

/// Whether a variable, an option or a field of this name has a secret value.
#[must_use]
pub fn is_secret_name(name: &str) -> bool {
    let name = name.trim_start_matches('-').replace('-', "_").to_ascii_uppercase();
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    plain && SECRET_NAMES.iter().any(|word| name.contains(word))
}

/// Whether it is a value itself, and not the name of a variable or nothing.
fn is_literal(value: &str) -> bool {
    value.len() >= 3 && !value.starts_with(['$', '-', '{', '%'])
}

fn is_key(word: &str) -> bool {
    let known = KEY_BEGINNINGS.iter().filter_map(|beginning| word.strip_prefix(beginning));
    let is_long = |rest: &str| {
        let letters = rest.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(byte)).count();
        letters >= KEY_REST_MIN && rest.bytes().any(|byte| byte.is_ascii_digit())
    };
    if known.into_iter().any(is_long) || word.starts_with("eyJ") && word.matches('.').count() == 2 {
        return true;
    }
    let plain = word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+_".contains(&byte));
    let has = |is: fn(&u8) -> bool| word.bytes().any(|byte| is(&byte));
    let mixed = has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_digit);
    plain && mixed && word.len() >= RANDOM_LETTERS_MIN && word.bytes().filter(u8::is_ascii_digit).count() >= 3
}

/// `https://name:password@host`.
fn has_user_in_address(text: &str) -> bool {
    text.split("://").skip(1).any(|rest| {
        let host = rest.split(|letter: char| letter.is_whitespace() || "/?#'\"".contains(letter)).next().unwrap_or("");
        host.rsplit_once('@').is_some_and(|(user, _)| user.split_once(':').is_some_and(|(_, word)| is_literal(word)))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_looks_like_a_secret_is_found() {
        for text in [
            "API_TOKEN=abc123 make test",
            "curl -H x --token abcd1234",
            "psql postgres://me:hunter2@db/test",
            "run --password=hunter2",
            "X=ghp_0123456789abcdefABCDEF0123456789abcd ./t",
            "key sk-ant-api03-abcdefghijklmnop1234",
            "echo eyJhbGciOi.eyJzdWIiOi.SflKxwRJ",
            "AKIA1234567890ABCDEF",
            "x aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1eF3 y",
            "-----BEGIN OPENSSH PRIVATE KEY-----",
            "curl -H 'Authorization: Bearer abcdef0123' https://x",
            "curl -H \"authorization: token abcdef0123\" x",
            "curl -su me:hunter2 https://x",
            "curl -u \"me:hunter2\" https://x",
            "API_TOKEN=\"abc123\" make test",
            "sh -c 'DB_PASSWORD=\"hunter2\" make'",
            "curl -d '{\"password\":\"hunter2\"}' x",
            "run --token 'abcd1234'",
            "curl --user me:hunter2 https://x",
            "curl --user=me:hunter2 https://x",
        ] {
            assert!(looks_secret(text), "{text}");
        }
    }

    #[test]
    fn ordinary_commands_are_not_secrets() {
        for text in [
            "cargo test --workspace",
            "API_TOKEN=$API_TOKEN make test",
            "npm test -- --token",
            "curl https://example.com/a:b@c",
            "git diff 3f786850e387550fdab836ed7e6dc881de23001b",
            "pytest tests/test_token.py::test_password_is_refused",
            "test_password: passes",
            "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            "src/sk-learn/a.py",
            "ThisIsAVeryLongNameOfATestThatPeopleWriteInJava",
            "curl -H 'Authorization: Bearer $TOKEN' https://x",
            "curl -u \"$USER:$PASS\" https://x",
            "docker run -u 1000:1000 image make test",
            "API_TOKEN= make test",
            "API_TOKEN=\"${API_TOKEN}\" make test",
            "API_TOKEN=\"$(cat token)\" make test",
            "pytest -k 'basic or bearer' tests/auth",
        ] {
            assert!(!looks_secret(text), "{text}");
        }
    }

    #[test]
    fn private_texts_are_left_out_and_their_places_named() {
        let secrets = Secrets::new([("MINE".to_owned(), b"hunter22".to_vec())]).0;
        let local = LocalTexts { folders: vec!["/srv/me/".to_owned(), "/".to_owned()], secrets: Arc::new(secrets) };
        let mut value = json!({
            "gates": [
                {"command": "make", "command_sha256": "a"},
                {"command": "/srv/me/check", "command_sha256": "b"},
                {"command": "P=hunter22 make", "command_sha256": "c"},
            ],
            "weaker": ["/srv/menu is another folder", concat!("see /ho", "me/you/x"), 3],
        });
        let places = withhold(&mut value, &local);
        assert_eq!(places, ["gates[1].command", "gates[2].command", "weaker[1]"]);
        assert_eq!(value["gates"][1], json!({"command": null, "command_sha256": "b"}));
        assert_eq!(value["gates"][2], json!({"command": null, "command_sha256": null}));
        assert_eq!(value["weaker"][0], "/srv/menu is another folder");
    }
}
