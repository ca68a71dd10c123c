//! An agent asked and read without a program: what the stories of single agents begin with.
use std::collections::BTreeMap;

use loop_core::agent::{AgentCommand, AttemptSpec, Begin, End, Permissions, Reading, Stream, Usage, adapter};
use loop_core::run::Ended;

/// 2026-11-15T19:00:00Z.
pub(crate) const NOW_MS: u64 = 1_794_769_200_000;

static NO_VARIABLES: BTreeMap<String, String> = BTreeMap::new();

/// The call for an ask that the story changed to its taste.
pub(crate) fn call<'a>(agent: &str, change: impl FnOnce(&mut AttemptSpec<'a>)) -> AgentCommand {
    let mut ask = AttemptSpec {
        program: "program",
        harness: "/bin/loop",
        workspace: "/ws",
        folder: "/attempt",
        prompt_file: "/attempt/prompt.md",
        system: "",
        system_file: "/attempt/system.md",
        session: None,
        permissions: Permissions::Work,
        network: false,
        model: None,
        effort: None,
        args: &[],
        root: false,
        budget: None,
        ambient: &NO_VARIABLES,
    };
    change(&mut ask);
    (adapter(agent).unwrap().call)(&ask)
}

/// How a played attempt ended.
pub(crate) struct Played<'a> {
    pub(crate) ended: Ended,
    pub(crate) stderr: &'a str,
    pub(crate) used: Usage,
    pub(crate) continued: bool,
}

impl Default for Played<'_> {
    fn default() -> Self {
        Self { ended: Ended::Exit(0), stderr: "", used: Usage::default(), continued: false }
    }
}

/// A stream that is being read.
pub(crate) fn stream(agent: &str, used: Usage) -> Stream {
    Stream::new((adapter(agent).unwrap().reader)(Begin { used }))
}

pub(crate) fn end(stream: Stream, played: &Played<'_>) -> Reading {
    stream.end(&End {
        ended: &played.ended,
        stderr: played.stderr.as_bytes(),
        asked: "",
        now_ms: NOW_MS,
        utc_offset_s: 0,
        continued: played.continued,
    })
}

pub(crate) fn read(agent: &str, stdout: &str, played: &Played<'_>) -> Reading {
    let mut stream = stream(agent, played.used);
    stream.push(stdout.as_bytes());
    end(stream, played)
}
