//! `claude`: Claude Code.
use super::adapter::{Adapter, Begin, Gentle, SystemBy};
use super::ask::{Ask, Call};
use super::reading::Reader;
use super::text::TextReader;

/// How it is driven.
pub(super) const ADAPTER: Adapter = Adapter {
    name: "claude",
    program: "claude",
    install: "npm install -g @anthropic-ai/claude-code",
    sign_in: "run `claude` once and sign in, or set ANTHROPIC_API_KEY",
    tried: Some("2.1.197"),
    system: SystemBy::Call,
    continues: true,
    gentle: Gentle::Interrupt,
    litter: &[],
    variables: &["ANTHROPIC_", "CLAUDE_", "AWS_", "VERTEX_", "GOOGLE_", "CLOUD_ML_REGION"],
    keys: &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"],
    signed_in_files: &[".claude/.credentials.json"],
    worst_cost_micros: 5_000_000,
    allow_hint: "--permissions all, or permissions.allow in .claude/settings.json",
    call,
    reader,
};

fn call(ask: &Ask<'_>) -> Call {
    Call { argv: vec![ask.program.to_owned()], ..Call::default() }
}

fn reader(_: Begin) -> Box<dyn Reader> {
    Box::new(TextReader::default())
}
