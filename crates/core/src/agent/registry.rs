//! The list of agents. An agent is a folder beside this file and one line here: settings, help, `loop agents` and the
//! tests that go through all agents follow, and a test says which line of the documents is missing.
use super::adapter::{Adapter, Begin};
use super::plain_text::TextReader;
use super::reading::Reader;
use super::{acp, aider, claude, cline, codex, copilot, cursor, gemini, grok, opencode, pi, qwen};

/// Every agent that is driven, the default first. A command of the user's is not an entry: see [`super::Agent`].
pub static ADAPTERS: &[Adapter] = ALL;

const ALL: &[Adapter] = &[
    opencode::ADAPTER,
    claude::ADAPTER,
    codex::ADAPTER,
    gemini::ADAPTER,
    aider::ADAPTER,
    cursor::ADAPTER,
    cline::ADAPTER,
    qwen::ADAPTER,
    copilot::ADAPTER,
    grok::ADAPTER,
    pi::ADAPTER,
    acp::agents::KIMI,
    acp::agents::GOOSE,
    acp::agents::OPENCODE,
    acp::agents::CLAUDE,
    acp::agents::CODEX,
    acp::agents::GEMINI,
];

/// The one of that name.
#[must_use]
pub fn adapter(name: &str) -> Option<&'static Adapter> {
    ADAPTERS.iter().find(|adapter| adapter.name == name)
}

/// The reader of the one of that name; of text where there is none.
pub(super) fn known_reader(name: &str, begin: Begin) -> Box<dyn Reader> {
    adapter(name).map_or_else(|| Box::new(TextReader::default()) as Box<dyn Reader>, |found| (found.reader)(begin))
}

/// What the key `agent` means, for help and reference: the list is this one.
pub(crate) const KEY_DOC: &str = match std::str::from_utf8(&KEY_DOC_BYTES) {
    Ok(text) => text,
    Err(_) => "",
};

const BEFORE_NAMES: &str = "Which agent works: ";
const AFTER_NAMES: &str =
    "custom (any command, see agent_cmd), or one that your own settings describe. loop agents lists them.";
const KEY_DOC_BYTES: [u8; key_doc_length(ALL)] = key_doc(ALL);

const fn key_doc_length(mut adapters: &[Adapter]) -> usize {
    let mut length = BEFORE_NAMES.len() + AFTER_NAMES.len();
    while let [adapter, rest @ ..] = adapters {
        length += adapter.name.len() + ", ".len();
        adapters = rest;
    }
    length
}

const fn key_doc<const LENGTH: usize>(mut adapters: &[Adapter]) -> [u8; LENGTH] {
    let mut text = [0; LENGTH];
    let mut at = put(&mut text, 0, BEFORE_NAMES);
    while let [adapter, rest @ ..] = adapters {
        at = put(&mut text, at, adapter.name);
        at = put(&mut text, at, ", ");
        adapters = rest;
    }
    put(&mut text, at, AFTER_NAMES);
    text
}

/// Writes a word into a text, and says where the next one goes. At compile time: a text that is too short does not build.
#[expect(clippy::indexing_slicing, reason = "it runs at compile time, where a wrong index is an error of the build")]
const fn put(text: &mut [u8], from: usize, word: &str) -> usize {
    let mut at = from;
    let mut bytes = word.as_bytes();
    while let [byte, rest @ ..] = bytes {
        text[at] = *byte;
        at += 1;
        bytes = rest;
    }
    at
}
