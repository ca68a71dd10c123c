//! Taking secrets, and names of this machine, out of texts that a person will show to others.
//!
//! Removed are: values that are known to be secret; words that look like a key; what follows the name of a secret; whole
//! private keys; addresses behind their host. A line that still looks like a secret is removed as a whole. Paths of the
//! user and the name of the user are replaced.
use serde_json::Value;

use crate::agent::Secrets;
use crate::attestation::withhold::{is_secret_name, looks_secret};

/// What stands in place of a secret.
const REMOVED: &str = "[removed]";
const LINE_REMOVED: &str = "[line removed: it looks like a secret]";
/// A shorter name is in too many words.
const NAME_LETTERS_MIN: usize = 3;

/// What is taken out.
#[derive(Debug, Clone, Default)]
pub struct Redaction {
    /// Values that are known to be secret.
    pub secrets: Secrets,
    /// Folders and what stands in their place, the longest first.
    pub folders: Vec<(String, String)>,
    /// Names (of the user, of the machine) and what stands in their place.
    pub names: Vec<(String, String)>,
    /// Fields and settings whose values are removed, whatever they are.
    pub private: Vec<String>,
}

impl Redaction {
    /// A text of lines without them. A line of JSON stays JSON.
    #[must_use]
    pub fn text(&self, text: &str) -> String {
        let mut out = String::new();
        let mut in_key = false;
        for line in text.lines() {
            let begins = line.contains("-----BEGIN ") && line.contains("PRIVATE KEY");
            let ends = line.contains("-----END ");
            if begins || in_key {
                if begins {
                    out.push_str("[private key removed]\n");
                }
                in_key = !ends;
                continue;
            }
            let parsed = line.trim_start().starts_with('{').then(|| serde_json::from_str::<Value>(line).ok()).flatten();
            match parsed {
                Some(mut value) => {
                    self.value(&mut value);
                    out.push_str(&value.to_string());
                }
                None => out.push_str(&self.line(line)),
            }
            out.push('\n');
        }
        out
    }

    /// A value of JSON without them: each text in it, and what has the name of a secret.
    pub fn value(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.text(text).trim_end_matches('\n').to_owned(),
            Value::Array(list) => list.iter_mut().for_each(|value| self.value(value)),
            Value::Object(map) => {
                let is_private = |name: &str| self.private.iter().any(|private| private == name);
                let of_private = map.get("key").and_then(Value::as_str).is_some_and(is_private);
                let old = std::mem::take(map);
                for (key, mut value) in old {
                    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
                    let is_named = is_private(&key) || of_private && key == "value";
                    let is_secret = is_secret_name(&key) && value.as_str().is_some_and(|text| !is_number(text));
                    if is_named && !value.is_null() || is_secret {
                        value = REMOVED.into();
                    } else {
                        self.value(&mut value);
                    }
                    map.insert(self.plain(&key), value);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Known values, folders and names.
    fn plain(&self, text: &str) -> String {
        let mut text = self.secrets.text(text).into_owned();
        for (folder, instead) in &self.folders {
            if folder.len() > 1 {
                text = text.replace(folder.as_str(), instead);
            }
        }
        for (name, instead) in &self.names {
            if name.len() >= NAME_LETTERS_MIN {
                text = replace_word(&text, name, instead);
            }
        }
        text
    }

    fn line(&self, line: &str) -> String {
        let line = self.plain(line);
        let mut out = String::new();
        let mut is_named = false;
        for piece in line.split_inclusive([' ', '\t']) {
            let word = piece.trim_end_matches([' ', '\t']);
            let between = &piece[word.len()..];
            if is_named && !word.is_empty() && word != "=" && word != ":" {
                out.push_str(REMOVED);
                is_named = false;
            } else if looks_secret(word) || has_named_value(word) {
                out.push_str(REMOVED);
            } else {
                out.push_str(&without_path_of_address(word));
                let name = word.trim_end_matches([':', '=']).trim_matches(['"', '\'', ',', '{', '}', '`']);
                let says_value = word.ends_with([':', '=']) || word.ends_with("\":");
                is_named = is_named || (says_value && is_secret_name(name)) || is_scheme(word);
            }
            out.push_str(between);
        }
        if looks_secret(&out.replace(REMOVED, "")) { LINE_REMOVED.to_owned() } else { out }
    }
}

/// The word before the secret in a header.
fn is_scheme(word: &str) -> bool {
    word.eq_ignore_ascii_case("bearer")
}

/// `"password":"x"`, `password=x`, also inside a longer word.
fn has_named_value(word: &str) -> bool {
    word.split([',', ';', '&', '?', '{', '}']).any(|part| {
        let plain = part.replace(['"', '\'', '\\'], "");
        let Some((name, value)) = plain.split_once(['=', ':']) else { return false };
        is_secret_name(name) && value.len() >= 3 && !value.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// An address with its host only: a path or a query can be the secret of a web hook.
fn without_path_of_address(word: &str) -> String {
    let Some((scheme, rest)) = word.split_once("://") else { return word.to_owned() };
    let host_ends = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (host, path) = rest.split_at(host_ends);
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    if path.len() > 1 { format!("{scheme}://{host}/…") } else { format!("{scheme}://{host}{path}") }
}

/// Replaces a name where it is a whole word.
fn replace_word(text: &str, name: &str, instead: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    let goes_on = |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
    while let Some(at) = rest.find(name) {
        let (before, after) = (&rest[..at], &rest[at + name.len()..]);
        let is_whole =
            !goes_on(before.chars().next_back().or_else(|| out.chars().next_back())) && !goes_on(after.chars().next());
        out.push_str(before);
        out.push_str(if is_whole { instead } else { name });
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redaction() -> Redaction {
        let secrets = Secrets::new([("MY_TOKEN".to_owned(), b"value-of-mine".to_vec())]).0;
        Redaction {
            secrets,
            folders: vec![("/people/ann/shop".into(), "<workspace>".into()), ("/people/ann".into(), "~".into())],
            names: vec![("ann".into(), "<user>".into())],
            private: vec!["agent_env".into()],
        }
    }

    #[test]
    fn a_secret_goes_and_the_rest_of_the_line_stays() {
        for (line, wanted) in [
            ("it is value-of-mine here", "it is [redacted MY_TOKEN] here"),
            ("key sk-ant-api03-abcdefghijklmnop1234 works", "key [removed] works"),
            ("DB_PASSWORD=hunter2 make test", "[removed] make test"),
            ("password: hunter2 and more", "password: [removed] and more"),
            ("{'a':1,\"api_key\":\"hunter2\"", "[removed]"),
            ("see https://hooks.example.org/T0/B0/xyz now", "see https://hooks.example.org/… now"),
            ("psql postgres://me:hunter2@db/test", "psql [removed]"),
            ("Bearer abcdef0123", "Bearer [removed]"),
            ("run --token abcd1234", LINE_REMOVED),
            ("in /people/ann/shop/a.rs by ann, not annual", "in <workspace>/a.rs by <user>, not annual"),
            ("cargo test --workspace", "cargo test --workspace"),
        ] {
            assert_eq!(redaction().text(line), format!("{wanted}\n"), "{line}");
        }
    }

    #[test]
    fn a_private_key_goes_as_a_whole() {
        let text = "a\n-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl\nxx\n-----END OPENSSH PRIVATE KEY-----\nz";
        assert_eq!(redaction().text(text), "a\n[private key removed]\nz\n");
    }

    #[test]
    fn a_line_of_json_stays_json() {
        let line =
            r#"{"goal":"use API_TOKEN=hunter22 in /people/ann","password":"x1y2","tokens":5,"max_tokens":"100"}"#;
        let wanted = r#"{"goal":"use [removed] in ~","max_tokens":"100","password":"[removed]","tokens":5}"#;
        assert_eq!(redaction().text(line), format!("{wanted}\n"));
    }
}
