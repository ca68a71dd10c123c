//! `opencode`: many providers behind one program.
mod call;
mod errors;
mod reader;

use super::adapter::{Adapter, Begin, StopSignal, SystemBy};
use super::reading::Reader;

/// How it is driven.
pub(super) const ADAPTER: Adapter = Adapter {
    name: "opencode",
    program: "opencode",
    install: "npm install -g opencode-ai",
    sign_in: "run `opencode auth login` once, or set the key of your provider",
    tried: Some("1.18.33"),
    system: SystemBy::Call,
    continues: true,
    stop_signal: StopSignal::Terminate,
    litter: &[],
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
    worst_cost_micros: 5_000_000,
    as_root: None,
    allow_hint: "--permissions all, or permission keys in opencode.json",
    call: call::call,
    reader,
};

fn reader(_: Begin) -> Box<dyn Reader> {
    Box::new(reader::OpencodeReader::default())
}
