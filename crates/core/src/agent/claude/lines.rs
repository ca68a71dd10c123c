//! The lines of Claude's stream-json that we use. Values are borrowed, and the rest of a line is not parsed.
use std::borrow::Cow;

use memchr::{memchr, memchr2, memmem};
use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::agent::reading::ProgramReport;
use crate::text::NameList;

/// A text in a line, not copied where it has no escapes.
#[derive(Debug, Deserialize)]
pub(in crate::agent) struct Word<'a>(#[serde(borrow)] pub(in crate::agent) Cow<'a, str>);

/// A message: of the model, of a sub-agent, or of the program in the model's name.
#[derive(Debug, Deserialize)]
pub(in crate::agent) struct Assistant<'a> {
    #[serde(borrow)]
    pub(in crate::agent) message: ClaudeMessage<'a>,
    #[serde(borrow)]
    parent_tool_use_id: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

impl<'a> Assistant<'a> {
    /// Reads a line. Where its fields are in the order of the real program, most of the line is skipped.
    pub(in crate::agent) fn read(line: &'a [u8], marks: &LineFinders) -> Option<Self> {
        Self::in_order(line, marks).or_else(|| serde_json::from_slice(line).ok())
    }

    /// A message of the model's in the main thread, and nothing else: whatever looks different is read in full.
    fn in_order(line: &'a [u8], marks: &LineFinders) -> Option<Self> {
        let rest = line.strip_prefix(b"{\"type\":\"assistant\",\"message\":{\"id\":")?;
        let (id, rest) = quoted(rest)?;
        let rest = rest.strip_prefix(b",\"type\":\"message\",\"role\":\"assistant\",\"model\":")?;
        let (model, rest) = quoted(rest)?;
        let rest = rest.strip_prefix(b",\"content\":")?;
        let (content, rest) = one_block(rest, marks).or_else(|| blocks(rest))?;
        let rest = rest.strip_prefix(b",\"stop_reason\":")?;
        let odd = rest.starts_with(b"\"refusal\"") || model == "\"<synthetic>\"" || !rest.ends_with(b"}");
        if odd || marks.main.find(rest).is_none() || marks.error.find(rest).is_some() {
            return None;
        }
        let raw = |text: &'a str| serde_json::from_str::<&'a RawValue>(text).ok();
        let message = ClaudeMessage { id: raw(id), model: None, stop_reason: None, usage: None, content };
        Some(Self { message, parent_tool_use_id: None, error: None })
    }
}

impl Assistant<'_> {
    /// Whether a sub-agent wrote it: its messages name the tool call that it works for.
    pub(in crate::agent) fn of_sub_agent(&self) -> bool {
        self.parent_tool_use_id.is_some()
    }

    /// What the program says went wrong, in its own word for it.
    pub(in crate::agent) fn error(&self) -> Option<String> {
        self.error.map(plain)
    }
}

/// A message, or one block of it: blocks come one by one and share its id.
#[derive(Debug, Deserialize)]
pub(in crate::agent) struct ClaudeMessage<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    model: Option<&'a RawValue>,
    #[serde(borrow)]
    stop_reason: Option<&'a RawValue>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(in crate::agent) content: Content<'a>,
}

impl ClaudeMessage<'_> {
    /// Its id as it stands there, quotes and all: only good to be compared.
    pub(in crate::agent) fn id(&self) -> Option<&str> {
        self.id.map(RawValue::get)
    }

    /// Whether no model wrote it.
    pub(in crate::agent) fn synthetic(&self) -> bool {
        self.model.is_some_and(|model| model.get() == "\"<synthetic>\"")
    }

    /// Whether the model would not.
    pub(in crate::agent) fn refused(&self) -> bool {
        self.stop_reason.is_some_and(|reason| reason.get() == "\"refusal\"")
    }

    /// Whether no model was paid for it.
    pub(in crate::agent) fn unused(&self) -> bool {
        #[derive(Deserialize)]
        struct Tokens {
            #[serde(default)]
            input_tokens: f64,
            #[serde(default)]
            output_tokens: f64,
        }
        let tokens = self.usage.and_then(|usage| serde_json::from_str::<Tokens>(usage.get()).ok());
        tokens.is_none_or(|tokens| tokens.input_tokens + tokens.output_tokens == 0.0)
    }
}

/// One piece of a message.
#[derive(Debug, Default, Deserialize)]
pub(in crate::agent) struct ContentBlock<'a> {
    #[serde(rename = "type", borrow)]
    pub(in crate::agent) kind: Option<Word<'a>>,
    #[serde(borrow)]
    pub(in crate::agent) text: Option<Word<'a>>,
    #[serde(borrow)]
    pub(in crate::agent) name: Option<Word<'a>>,
    #[serde(borrow)]
    pub(in crate::agent) input: Option<&'a RawValue>,
    /// The most telling argument, where the line was cut and not parsed.
    #[serde(skip)]
    pub(in crate::agent) argument: Option<Cow<'a, str>>,
}

/// The pieces of a message. A bare string is one of text.
#[derive(Debug, Default)]
pub(in crate::agent) struct Content<'a>(pub(in crate::agent) Vec<ContentBlock<'a>>);

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Pieces)
    }
}

struct Pieces;

impl Pieces {
    fn one(text: Cow<'_, str>) -> Content<'_> {
        let kind = Some(Word(Cow::Borrowed("text")));
        Content(vec![ContentBlock { kind, text: Some(Word(text)), ..ContentBlock::default() }])
    }
}

impl<'de> Visitor<'de> for Pieces {
    type Value = Content<'de>;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("a text or a list of blocks")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Self::one(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Self::one(Cow::Owned(text.to_owned())))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Content::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut blocks: A) -> Result<Self::Value, A::Error> {
        let mut content = Content::default();
        while let Some(block) = blocks.next_element()? {
            content.0.push(block);
        }
        Ok(content)
    }
}

/// Whether the line tells something about the program that is of use: it often tells only that it still works, and
/// how it began only once.
pub(in crate::agent) fn of_use(line: &[u8], began: bool) -> bool {
    let subtype = line.strip_prefix(b"{\"type\":\"system\",\"subtype\":").and_then(quoted);
    let Some((subtype, _)) = subtype.filter(|_| line.ends_with(b"}")) else {
        return true;
    };
    let used = ["\"api_retry\"", "\"model_fallback\"", "\"compact_boundary\""].contains(&subtype);
    used || subtype == "\"init\"" && !began || subtype.starts_with("\"model_refusal")
}

/// What the program tells about itself.
#[derive(Debug, Deserialize)]
pub(in crate::agent) struct System<'a> {
    #[serde(borrow)]
    pub(in crate::agent) subtype: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(in crate::agent) session_id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(in crate::agent) model: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(in crate::agent) tools: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(in crate::agent) cwd: Option<&'a RawValue>,
    #[serde(borrow, rename = "permissionMode", alias = "permission_mode")]
    pub(in crate::agent) permission_mode: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(in crate::agent) attempt: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(in crate::agent) max_retries: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(in crate::agent) error_status: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(in crate::agent) error: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(in crate::agent) fallback_model: Option<&'a RawValue>,
}

impl System<'_> {
    /// What the first line says about the run of the program.
    pub(in crate::agent) fn program(&self) -> ProgramReport {
        let text = |value: Option<&RawValue>| value.and_then(|value| serde_json::from_str(value.get()).ok());
        let tools: Vec<String> =
            self.tools.and_then(|tools| serde_json::from_str(tools.get()).ok()).unwrap_or_default();
        ProgramReport {
            tools: NameList::of(tools.iter().map(String::as_str)),
            cwd: text(self.cwd),
            permission_mode: text(self.permission_mode),
            api_duration_ms: None,
        }
    }
}

/// The arguments of a tool, of which one says most to a person.
#[derive(Debug, Deserialize)]
struct Arguments<'a> {
    #[serde(borrow)]
    command: Option<&'a RawValue>,
    #[serde(borrow)]
    file_path: Option<&'a RawValue>,
    #[serde(borrow)]
    notebook_path: Option<&'a RawValue>,
    #[serde(borrow)]
    path: Option<&'a RawValue>,
    #[serde(borrow)]
    pattern: Option<&'a RawValue>,
    #[serde(borrow)]
    url: Option<&'a RawValue>,
    #[serde(borrow)]
    query: Option<&'a RawValue>,
    #[serde(borrow)]
    description: Option<&'a RawValue>,
}

/// The most telling argument of a tool call; empty where none is known.
pub(in crate::agent) fn telling(input: &str) -> String {
    let Ok(known) = serde_json::from_str::<Arguments<'_>>(input) else {
        return String::new();
    };
    let by_weight = [
        known.command,
        known.file_path,
        known.notebook_path,
        known.path,
        known.pattern,
        known.url,
        known.query,
        known.description,
    ];
    by_weight.into_iter().flatten().next().map(plain).unwrap_or_default()
}

/// A value as text: a string without its quotes, anything else as it stands.
pub(in crate::agent) fn plain(value: &RawValue) -> String {
    serde_json::from_str(value.get()).unwrap_or_else(|_| value.get().to_owned())
}

/// The kind of a line that begins with it, as every line of the real program does.
pub(in crate::agent) fn kind_first(line: &[u8]) -> Option<&str> {
    let rest = line.strip_prefix(b"{\"type\":")?;
    let rest = rest.strip_prefix(b" ").unwrap_or(rest).strip_prefix(b"\"")?;
    let kind = rest.get(..memchr(b'"', rest)?)?;
    std::str::from_utf8(kind).ok()
}

/// The kind of any other line; nothing where it is no object. An object without one has an empty kind.
pub(in crate::agent) fn kind_anywhere(line: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Kind<'a> {
        #[serde(rename = "type", borrow)]
        kind: Option<&'a RawValue>,
    }
    let kind = serde_json::from_slice::<Kind<'_>>(line).ok()?.kind;
    Some(kind.map(plain).unwrap_or_default())
}

/// The pieces of a message, parsed, and what comes after them.
fn blocks(bytes: &[u8]) -> Option<(Content<'_>, &[u8])> {
    let mut parts = serde_json::Deserializer::from_slice(bytes).into_iter::<Content<'_>>();
    let content = parts.next()?.ok()?;
    Some((content, bytes.get(parts.byte_offset()..)?))
}

/// The one piece of a message that a line of the real program holds, cut out: words, or a tool whose first argument
/// says most. The rest of the arguments may be a whole file.
fn one_block<'a>(bytes: &'a [u8], marks: &LineFinders) -> Option<(Content<'a>, &'a [u8])> {
    if let Some(words) = bytes.strip_prefix(b"[{\"type\":\"text\",\"text\":") {
        let (text, rest) = string(words)?;
        return Some((Pieces::one(text), rest.strip_prefix(b"}]")?));
    }
    let (_, rest) = quoted(bytes.strip_prefix(b"[{\"type\":\"tool_use\",\"id\":")?)?;
    let (name, rest) = quoted(rest.strip_prefix(b",\"name\":")?)?;
    let (first, value) = quoted(rest.strip_prefix(b",\"input\":{")?)?;
    let known = ["\"command\"", "\"file_path\"", "\"pattern\""].contains(&first);
    let (argument, rest) = string(value.strip_prefix(b":").filter(|_| known)?)?;
    let (arguments, rest) = rest.split_at_checked(marks.end.find(rest)? + 2)?;
    if marks.next.find(arguments).is_some() {
        return None;
    }
    let word = |text: &'a str| Some(Word(Cow::Borrowed(text)));
    let name = name.get(1..name.len().checked_sub(1)?)?;
    let block =
        ContentBlock { kind: word("tool_use"), name: word(name), argument: Some(argument), ..ContentBlock::default() };
    Some((Content(vec![block]), rest))
}

/// What lines are searched for, prepared once.
#[derive(Debug)]
pub(in crate::agent) struct LineFinders {
    text: memmem::Finder<'static>,
    /// Says that it is no sub-agent who speaks; a line that does not is read in full.
    main: memmem::Finder<'static>,
    error: memmem::Finder<'static>,
    end: memmem::Finder<'static>,
    next: memmem::Finder<'static>,
}

impl Default for LineFinders {
    fn default() -> Self {
        Self {
            text: memmem::Finder::new(b"\"text_delta\""),
            main: memmem::Finder::new(b"\"parent_tool_use_id\":null"),
            error: memmem::Finder::new(b"\"error\":\""),
            end: memmem::Finder::new(b"}],\"stop_reason\":"),
            next: memmem::Finder::new(b"},{"),
        }
    }
}

/// A piece of text of the model's own in an event of its stream, if that is what the event brings.
/// Most lines of a stream are such events, so the text is cut out and the rest of the line is not parsed.
pub(in crate::agent) fn delta<'a>(line: &'a [u8], marks: &LineFinders) -> Result<Option<Cow<'a, str>>, ()> {
    if !line.ends_with(b"}") {
        return Err(());
    }
    if let Some(event) = line.strip_prefix(b"{\"type\":\"stream_event\",\"event\":{\"type\":\"") {
        let Some(event) = event.strip_prefix(b"content_block_delta\"") else {
            return Ok(None);
        };
        let content = memchr(b'{', event).and_then(|at| event.get(at..)).unwrap_or_default();
        if let Some((text, rest)) = content.strip_prefix(b"{\"type\":\"text_delta\",\"text\":").and_then(string)
            && marks.main.find(rest).is_some()
        {
            return Ok(Some(text));
        }
    }
    if marks.text.find(line).is_none() { Ok(None) } else { delta_anywhere(line) }
}

/// The string that the bytes begin with, quotes and all, where nothing in it is escaped, and what comes after it.
fn quoted(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let body = bytes.strip_prefix(b"\"")?;
    let end = memchr2(b'"', b'\\', body).filter(|at| body.get(*at) == Some(&b'"'))?;
    let (text, rest) = bytes.split_at_checked(end + 2)?;
    Some((std::str::from_utf8(text).ok()?, rest))
}

/// The string that the bytes begin with, and what comes after it.
fn string(bytes: &[u8]) -> Option<(Cow<'_, str>, &[u8])> {
    let body = bytes.strip_prefix(b"\"")?;
    let first = memchr2(b'"', b'\\', body)?;
    if body.get(first) == Some(&b'"') {
        let (text, rest) = body.split_at(first);
        return Some((String::from_utf8_lossy(text), rest.get(1..)?));
    }
    let mut parts = serde_json::Deserializer::from_slice(bytes).into_iter::<String>();
    let text = parts.next()?.ok()?;
    let rest = bytes.get(parts.byte_offset()..)?;
    Some((Cow::Owned(text), rest))
}

fn delta_anywhere(line: &[u8]) -> Result<Option<Cow<'_, str>>, ()> {
    let event: serde_json::Value = serde_json::from_slice(line).map_err(|_| ())?;
    let text = event.pointer("/event/delta/text").and_then(serde_json::Value::as_str);
    let sub_agent = event.get("parent_tool_use_id").is_some_and(serde_json::Value::is_string);
    Ok(text.filter(|_| !sub_agent).map(|text| Cow::Owned(text.to_owned())))
}
