//! What an agent of the zoo says: its last message with the status block, moments on the clock of the wall.
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use super::{Status, Turn};

/// One call, as it speaks.
#[derive(Debug)]
pub(super) struct Call<'a> {
    pub(super) turn: &'a Turn,
    /// The number of the call.
    pub(super) number: u32,
    /// All that it was asked: what was added to the system prompt, and the prompt.
    pub(super) asked: &'a str,
    pub(super) session: &'a str,
}

impl Call<'_> {
    /// The last message.
    pub(super) fn message(&self) -> String {
        let said = self.fill(self.turn.says);
        match self.block() {
            Some(block) => format!("{said}\n\n{block}"),
            None => said,
        }
    }

    /// A text with what is left open in it.
    pub(super) fn fill(&self, text: &str) -> String {
        text.replace("{n}", &self.number.to_string()).replace("{asked}", self.asked)
    }

    fn block(&self) -> Option<String> {
        let number = self.number;
        let fields = |status: &str, signal: bool, signs: u32| {
            format!(
                "---LOOP_STATUS---\nSTATUS: {status}\nTASKS_COMPLETED_THIS_LOOP: 1\nFILES_MODIFIED: 1\n\
                 COMPLETION_INDICATORS: {signs}\nTESTS_STATUS: NOT_RUN\nWORK_TYPE: IMPLEMENTATION\nEXIT_SIGNAL: {signal}\n\
                 RECOMMENDATION: after call {number}\n---END_LOOP_STATUS---"
            )
        };
        match self.turn.status {
            Status::Nothing => None,
            Status::Working => Some(fields("IN_PROGRESS", false, 0)),
            Status::Done => Some(fields("COMPLETE", true, 3)),
            Status::DoneWithoutSignal => Some(fields("COMPLETE", false, 3)),
            Status::Blocked => Some(fields("BLOCKED", false, 0)),
            Status::Error => Some(format!(
                "---LOOPR_STATUS---\nSTATUS: ERROR\nEXIT_SIGNAL: false\nWORK_TYPE: code\nFILES_MODIFIED: 1\nERRORS: 1\n\
                 SUMMARY: error[E0425] at src/parse.rs:{number}{number}:7: cannot find value `tail`\n---END_LOOPR_STATUS---"
            )),
            Status::Malformed => {
                Some(fields("ALMOST", false, 0).replace("FILES_MODIFIED: 1", "FILES_MODIFIED: several"))
            }
        }
    }
}

/// Now, in milliseconds since 1970.
pub(super) fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}

/// A moment as `date` writes it.
pub(super) fn date(second: u64, format: &str) -> String {
    let told = Command::new("date").args(["-d", &format!("@{second}"), format]).output();
    let told = told.map(|out| String::from_utf8_lossy(&out.stdout).trim().to_owned());
    told.unwrap_or_default()
}

/// A text as JSON has it.
pub(super) fn json(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The moment that a text names, in milliseconds since 1970.
pub(super) fn date_ms(text: &str) -> u64 {
    let told = Command::new("date").args(["-u", "-d", text, "+%s%3N"]).output();
    told.ok().and_then(|out| String::from_utf8_lossy(&out.stdout).trim().parse().ok()).unwrap_or(0)
}
