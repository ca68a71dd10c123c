//! Transcripts that try to be taken for done: none of them may be, and each has a twin that must be.
mod formats;
mod more_formats;
mod talk;

use std::collections::BTreeMap;

use loop_core::agent::{ADAPTERS, Adapter, Begin, DIALECTS, End, Reading, Stream, adapter};
use loop_core::run::Ended;

use talk::{TRUE_WORDS, Talk};

/// The agents whose streams are made. The last one stands for every program that prints plain text.
fn agents() -> impl Iterator<Item = &'static str> {
    ADAPTERS.iter().filter(|agent| !agent.behind_bridge).map(|agent| agent.name).chain(["text"])
}

fn read(agent: &str, talk: &Talk) -> Reading {
    let reader = match adapter(agent) {
        Some(Adapter { reader, .. }) => reader(Begin::default()),
        None => Box::new(loop_core::agent::plain_text::TextReader::default()),
    };
    let mut stream = Stream::new(reader);
    for piece in formats::stdout(agent, &talk.steps).chunks(777) {
        stream.push(piece);
    }
    let end = End {
        ended: &Ended::Exit(0),
        stderr: b"",
        asked: &talk.asked,
        now_ms: 1_794_769_200_000,
        utc_offset_s: 0,
        continued: false,
    };
    stream.end(&end)
}

/// Whether it was taken for done, by block or by promise.
fn claims_done(reading: &Reading) -> bool {
    reading.promise.is_some() || reading.claimed.as_ref().is_some_and(loop_core::agent::Claim::complete)
}

fn says_the_truth(reading: &Reading) -> bool {
    let block = reading.claimed.as_ref().is_some_and(|claim| {
        claim.complete() && claim.exit_signal && claim.summary.as_deref().is_some_and(|words| words == TRUE_WORDS)
    });
    block && reading.promise.as_deref().is_some_and(|words| words.eq_ignore_ascii_case("COMPLETE"))
}

/// Plain text has one message: what was said before it was not said earlier.
fn can_be_told(agent: &str, talk: &Talk) -> bool {
    let says_more = talk.kind == "stale block";
    !(says_more && agent == "text")
}

// req: B-05 partly: the parser
// req: C-04
// req: A-26 partly: reading the marks
#[test]
#[expect(clippy::print_stdout, reason = "how many there were is what people ask")]
fn no_transcript_is_taken_for_done_unless_the_agent_says_so_itself_in_the_end() {
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let (mut all, mut wrong) = (0, Vec::new());
    for dialect in DIALECTS {
        for pair in talk::all(dialect) {
            for agent in agents().filter(|agent| can_be_told(agent, &pair[0])) {
                let [bad, good] = [&pair[0], &pair[1]].map(|talk| (talk, read(agent, talk)));
                if claims_done(&bad.1) {
                    wrong.push(format!(
                        "FALSE COMPLETION {agent} {dialect:?} {}: {:?}\n{:?}",
                        bad.0.kind, bad.0.steps, bad.1
                    ));
                }
                if !says_the_truth(&good.1) {
                    wrong.push(format!(
                        "MISSED COMPLETION {agent} {dialect:?} {}: {:?}\n{:?}",
                        good.0.kind, good.0.steps, good.1
                    ));
                }
                *counts.entry((bad.0.kind, agent)).or_default() += 1;
                all += 1;
            }
        }
    }
    let table: Vec<String> = counts.iter().map(|((kind, agent), count)| format!("{kind} {agent} {count}")).collect();
    println!("{all} adversarial transcripts and as many twins\n{}", table.join("\n"));
    assert!(all >= 300, "only {all}");
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n\n"));
}
