//! The YAML text as nodes with positions. Every kind of node may stand everywhere here: what a place allows is for the
//! reader, so that one wrong value does not hide the next one.
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Location, Spanned};

use super::error::FilePosition;

/// A node of the file.
#[derive(Debug)]
pub(super) struct YamlNode {
    pub(super) at: FilePosition,
    /// Its first byte in the text.
    pub(super) offset: usize,
    pub(super) tree: Tree,
}

/// What a node is.
#[derive(Debug)]
pub(super) enum Tree {
    /// No value.
    Null,
    /// A text.
    Text(String),
    /// A number, or `true` or `false`, as it is written.
    Plain(String),
    List(Vec<YamlNode>),
    Map(Vec<Pair>),
}

/// A key with its value.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) key: YamlNode,
    pub(super) value: YamlNode,
}

impl YamlNode {
    /// What it is, in words.
    pub(super) fn describe(&self) -> &'static str {
        match &self.tree {
            Tree::Null => "nothing",
            Tree::Text(_) => "a text",
            Tree::Plain(word) if ["true", "false"].contains(&word.to_ascii_lowercase().as_str()) => "true or false",
            Tree::Plain(_) => "a number",
            Tree::List(_) => "a list",
            Tree::Map(_) => "a map",
        }
    }

    /// Whether it is `{{name}}` without quotes, which YAML takes for a map with a map in it.
    pub(super) fn is_unquoted_variable(&self) -> bool {
        match &self.tree {
            Tree::Map(pairs) => pairs.iter().any(|pair| matches!(pair.key.tree, Tree::Map(_))),
            Tree::Null | Tree::Text(_) | Tree::Plain(_) | Tree::List(_) => false,
        }
    }
}

/// Why a text is not YAML, and where.
#[derive(Debug)]
pub(super) struct Broken {
    pub(super) at: FilePosition,
    pub(super) why: String,
}

/// Reads a text.
pub(super) fn parse(text: &str) -> Result<YamlNode, Broken> {
    let options = serde_saphyr::options! {
        // Both are reported by the reader, which then continues.
        duplicate_keys: serde_saphyr::options::DuplicateKeyPolicy::LastWins,
        non_finite_float_policy: serde_saphyr::options::NonFiniteFloatPolicy::AsString,
        // `no` and `on` are texts.
        strict_booleans: true,
        with_snippet: false,
    };
    let raw: Spanned<Raw> = serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let at = error.location().map_or(FilePosition { line: 1, column: 1 }, |location| position(&location));
        let why = error.to_string();
        let why = why.lines().next().unwrap_or_default();
        let why = why.split(" at line ").next().unwrap_or_default();
        Broken { at, why: crate::text::one_line(why.trim_end_matches([',', ':', ' ']), 160) }
    })?;
    Ok(node(raw, text))
}

fn position(location: &Location) -> FilePosition {
    let number = |value: u64| usize::try_from(value).unwrap_or(usize::MAX).max(1);
    FilePosition { line: number(location.line()), column: number(location.column()) }
}

fn node(raw: Spanned<Raw>, text: &str) -> YamlNode {
    let span = raw.defined.span();
    let offset = span.byte_offset().and_then(|at| usize::try_from(at).ok()).unwrap_or(text.len());
    let written = || {
        let length = span.byte_len().and_then(|length| usize::try_from(length).ok())?;
        text.get(offset..offset.checked_add(length)?).map(|word| word.trim().to_owned())
    };
    let tree = match raw.value {
        Raw::Null => Tree::Null,
        Raw::Text(text) => Tree::Text(text),
        Raw::Plain(read) => Tree::Plain(written().filter(|word| !word.is_empty()).unwrap_or(read)),
        Raw::List(nodes) => Tree::List(nodes.into_iter().map(|raw| node(raw, text)).collect()),
        Raw::Map(pairs) => Tree::Map(
            pairs.into_iter().map(|(key, value)| Pair { key: node(key, text), value: node(value, text) }).collect(),
        ),
    };
    YamlNode { at: position(&raw.defined), offset, tree }
}

/// A value of YAML, before its position is known.
enum Raw {
    Null,
    Text(String),
    Plain(String),
    List(Vec<Spanned<Raw>>),
    Map(Vec<(Spanned<Raw>, Spanned<Raw>)>),
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawVisitor)
    }
}

struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = Raw;

    fn expecting(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_none<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Raw, E> {
        Ok(Raw::Plain(value.to_string()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Raw, E> {
        Ok(Raw::Plain(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Raw, E> {
        Ok(Raw::Plain(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Raw, E> {
        Ok(Raw::Plain(value.to_string()))
    }

    fn visit_str<E>(self, text: &str) -> Result<Raw, E> {
        Ok(Raw::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Raw, A::Error> {
        let mut all = Vec::new();
        while let Some(item) = items.next_element()? {
            all.push(item);
        }
        Ok(Raw::List(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut pairs: A) -> Result<Raw, A::Error> {
        let mut all = Vec::new();
        while let Some(pair) = pairs.next_entry()? {
            all.push(pair);
        }
        Ok(Raw::Map(all))
    }
}
