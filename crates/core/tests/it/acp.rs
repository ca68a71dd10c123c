//! Recorded conversations in the Agent Client Protocol: what we would have said, and what we read.
//!
//! The recordings hold both directions, ours from another client. Here the agent's lines are given to our own
//! machine, each answer under the number that our request has, and the transcript that comes of it is read.
use std::fmt::Write as _;
use std::fs;

use loop_core::agent::acp::{AcpTask, Conversation};
use loop_core::agent::{Adapter, Begin, adapter};
use loop_core::run::Ended;
use serde_json::{Value, json};

use crate::transcripts::{Case, cut_cases, folder, read_case, shown};

/// The folders of recordings, and the agent that reads them.
const AGENTS: [(&str, &str); 9] = [
    ("claude-agent-acp", "claude-acp"),
    ("claude-code-acp", "claude-acp"),
    ("codex-acp", "codex-acp"),
    ("gemini-acp", "gemini-acp"),
    ("opencode-acp", "opencode-acp"),
    ("qwen-acp", "gemini-acp"),
    ("cline-acp", "gemini-acp"),
    ("kimi", "kimi"),
    ("goose", "goose"),
];

/// One recording: the agent's messages, each with the method that it answers.
struct Recording {
    name: String,
    file: Vec<u8>,
    theirs: Vec<(Option<String>, Value)>,
    cancelled: bool,
}

fn recordings(of: &str) -> Vec<Recording> {
    let mut files: Vec<_> = fs::read_dir(folder().join(of)).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "jsonl"));
    files.sort();
    files.into_iter().map(|file| recording(&file)).collect()
}

fn recording(path: &std::path::Path) -> Recording {
    let file = crate::bytes_of(path);
    let text = String::from_utf8(file.clone()).unwrap();
    let (mut asked, mut theirs, mut cancelled) = (Vec::new(), Vec::new(), false);
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let message = line["msg"].clone();
        let method = message["method"].as_str().map(str::to_owned);
        if line["dir"] == "->" {
            cancelled |= method.as_deref() == Some("session/cancel");
            asked.extend(method.map(|method| (message["id"].clone(), method)));
        } else {
            let answers = method.is_none().then(|| asked.iter().find(|(id, _)| *id == message["id"]));
            theirs.push((answers.flatten().map(|(_, method)| method.clone()), message));
        }
    }
    Recording { name: path.file_stem().unwrap().to_str().unwrap().to_owned(), file, theirs, cancelled }
}

/// Our side of a conversation that is played again.
struct Replay {
    machine: Conversation,
    said: String,
    transcript: String,
    /// The number and method of our last request.
    open: (Value, String),
}

impl Replay {
    fn say(&mut self, words: Vec<Value>) {
        for word in words {
            writeln!(self.transcript, "{}", json!({"dir": "->", "msg": word})).unwrap();
            let method = word["method"].as_str().unwrap_or_default().to_owned();
            match method.as_str() {
                "" => writeln!(self.said, "> {}", word["result"]["outcome"]).unwrap(),
                "initialize" => writeln!(self.said, "> initialize").unwrap(),
                method => writeln!(self.said, "> {method} {}", word["params"]).unwrap(),
            }
            if word.get("id").is_some() && !method.is_empty() {
                self.open = (word["id"].clone(), method);
            }
        }
    }

    fn hear(&mut self, message: &Value) {
        writeln!(self.transcript, "{}", json!({"dir": "<-", "msg": message})).unwrap();
        let words = self.machine.line(message.to_string().as_bytes()).unwrap();
        self.say(words);
    }

    /// What the other client did not ask for is granted, so that the conversation goes on as recorded.
    fn hear_as_answer(&mut self, method: &str, message: &Value) {
        let settings = ["session/set_mode", "session/set_model", "session/set_config_option"];
        if settings.contains(&method) && self.open.1 != method {
            return;
        }
        while self.open.1 != method && settings.contains(&self.open.1.as_str()) {
            self.hear(&json!({"jsonrpc": "2.0", "id": self.open.0, "result": {}}));
        }
        let mut message = message.clone();
        message["id"] = self.open.0.clone();
        self.hear(&message);
    }
}

/// What we said, and the transcript that our own process would have left.
fn replay(recording: &Recording) -> (String, String) {
    let wish =
        AcpTask { workspace: "/workspace".to_owned(), prompt: "Create hello.txt".to_owned(), ..AcpTask::default() };
    let (machine, first) = Conversation::begin(wish);
    let open = (Value::Null, String::new());
    let mut replay = Replay { machine, said: String::new(), transcript: String::new(), open };
    replay.say(first);
    for (answers, message) in &recording.theirs {
        match answers {
            Some(method) => replay.hear_as_answer(method, message),
            None => {
                // Whatever is told after the session is there is told while the prompt is under way.
                let update = message["method"] == "session/update";
                while update && replay.open.1.starts_with("session/set_") {
                    let granted = json!({"jsonrpc": "2.0", "id": replay.open.0, "result": {}});
                    replay.hear(&granted);
                }
                replay.hear(message);
            }
        }
    }
    let finish = replay.machine.finished().unwrap();
    writeln!(replay.said, "= {} {}", finish.why.word(), finish.detail).unwrap();
    writeln!(replay.transcript, "{}", finish.line()).unwrap();
    (replay.said, replay.transcript)
}

fn case(recording: &Recording, transcript: &str) -> Case {
    let well =
        transcript.contains("\"stopReason\":\"end_turn\"") || transcript.contains("\"stopReason\": \"end_turn\"");
    let ended = match (well, recording.cancelled) {
        (true, _) => Ended::Exit(0),
        (false, true) => Ended::ByUs,
        (false, false) => Ended::Exit(1),
    };
    Case {
        name: recording.name.clone(),
        stdout: transcript.as_bytes().to_vec(),
        stderr: Vec::new(),
        ended,
        continued: false,
        begin: Begin::default(),
    }
}

fn reader(name: &str) -> &'static Adapter {
    adapter(name).unwrap()
}

// req: C-05 partly: the agents that speak the Agent Client Protocol
#[test]
fn every_recorded_conversation_is_led_and_read_as_the_file_says() {
    for (of, agent) in AGENTS {
        let mut out = Vec::new();
        for recording in recordings(of) {
            let (said, transcript) = replay(&recording);
            let case = case(&recording, &transcript);
            let ours = read_case(reader(agent), &case, &[&case.stdout]);
            out.push(format!("{}{said}", shown(&case, &ours)));
            // The other client's transcript reads the same, but for what it refused or allowed by other rules.
            let theirs = read_case(reader(agent), &case, &[&recording.file]);
            assert_eq!((&theirs.text, theirs.usage, theirs.failure), (&ours.text, ours.usage, ours.failure), "{of}");
            assert_eq!((theirs.terminal, theirs.tool_calls), (ours.terminal, ours.tool_calls), "{of}");
        }
        let name = if of.ends_with("-acp") { of.to_owned() } else { format!("{of}-acp") };
        expect_test::expect_file![folder().join(format!("{name}.expect"))].assert_eq(&out.join("\n"));
    }
}

#[test]
fn bytes_that_come_in_other_pieces_read_the_same() {
    for (of, agent) in AGENTS {
        let cases = recordings(of).iter().map(|recording| case(recording, &replay(recording).1)).collect::<Vec<_>>();
        cut_cases(reader(agent), &cases);
    }
}
