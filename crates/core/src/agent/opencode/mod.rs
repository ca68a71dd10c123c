//! `opencode`: many providers behind one program.
mod call;
mod errors;
mod reader;

use super::adapter::{Adapter, BASE, Begin, SystemBy};
use super::json::JsonLines;
use super::reading::Reader;

/// How it is driven.
pub(super) const ADAPTER: Adapter = Adapter {
    name: "opencode",
    title: "opencode",
    program: "opencode",
    install: "npm install -g opencode-ai",
    sign_in: "run `opencode auth login` once, or set the key of your provider",
    tried: Some("1.18.33"),
    system: SystemBy::Call,
    own_files: &["AGENTS.md", "opencode.json", "opencode.jsonc", ".opencode/"],
    variables: &[
        "OPENCODE",
        "ANTHROPIC_",
        "OPENAI_",
        "GOOGLE_",
        "GEMINI_",
        "OPENROUTER_",
        "GROQ_",
        "MISTRAL_",
        "DEEPSEEK_",
        "XAI_",
        "CEREBRAS_",
        "TOGETHER_",
        "FIREWORKS_",
        "MOONSHOT_",
        "ZHIPU_",
    ],
    markers: &["OPENCODE", "OPENCODE_PID", "OPENCODE_CALLER", "OPENCODE_CLIENT"],
    keys: &[
        "OPENCODE_API_KEY",
        "ANTHROPIC_API_KEY",
        "OPENAI_API_KEY",
        "GEMINI_API_KEY",
        "GOOGLE_GENERATIVE_AI_API_KEY",
        "OPENROUTER_API_KEY",
        "GROQ_API_KEY",
        "MISTRAL_API_KEY",
        "DEEPSEEK_API_KEY",
        "XAI_API_KEY",
    ],
    signed_in_files: &[".local/share/opencode/auth.json"],
    allow_hint: "--permissions all, or permission keys in opencode.json",
    call: call::call,
    reader,
    ..BASE
};

fn reader(_: Begin) -> Box<dyn Reader> {
    JsonLines::reader(reader::OpencodeReader::default())
}
