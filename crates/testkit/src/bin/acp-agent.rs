//! `acp-agent SCENE`: an agent that speaks the Agent Client Protocol by a script. Stands in for one that behaves,
//! and for those that do not.
#![forbid(unsafe_code)]
use std::io::{self, BufRead, Write};
use std::process::{Child, Command, ExitCode};

use serde_json::{Value, json};

/// More than a line may have.
const HUGE_BYTES: usize = 11 * 1024 * 1024;

fn main() -> ExitCode {
    let scene = std::env::args().nth(1).unwrap_or_default();
    let mut agent = Agent { scene, prompt: Value::Null, child: None };
    for line in io::stdin().lock().lines() {
        let Ok(message) = line.map(|line| serde_json::from_str::<Value>(&line).unwrap_or_default()) else { break };
        match agent.hear(&message) {
            Ok(Some(code)) => return ExitCode::from(code),
            Ok(None) => {}
            Err(_) => return ExitCode::FAILURE,
        }
    }
    while matches!(agent.scene.as_str(), "stays" | "deaf") {
        std::thread::park();
    }
    ExitCode::SUCCESS
}

struct Agent {
    scene: String,
    /// The number of the prompt that is under way.
    prompt: Value,
    child: Option<Child>,
}

fn say(message: &Value) -> io::Result<()> {
    raw(message.to_string().as_bytes())
}

fn raw(line: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(line)?;
    out.write_all(b"\n")?;
    out.flush()
}

fn update(update: &Value) -> io::Result<()> {
    say(&json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s1", "update": update}}))
}

fn chunk(text: &str) -> io::Result<()> {
    update(&json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}))
}

fn answer(id: &Value, result: &Value) -> io::Result<()> {
    say(&json!({"jsonrpc": "2.0", "id": id, "result": result}))
}

impl Agent {
    /// Takes one message; a number is a code to end with.
    fn hear(&mut self, message: &Value) -> io::Result<Option<u8>> {
        let id = &message["id"];
        match message["method"].as_str() {
            Some("initialize") => answer(id, &json!({"protocolVersion": 1, "agentCapabilities": {}}))?,
            Some("session/new") => answer(id, &json!({"sessionId": "s1"}))?,
            Some("session/prompt") => {
                self.prompt = id.clone();
                return self.work();
            }
            Some("session/cancel") if self.scene != "deaf" => {
                if let Some(child) = &mut self.child {
                    child.kill().ok();
                    child.wait().ok();
                }
                answer(&self.prompt, &json!({"stopReason": "cancelled"}))?;
            }
            Some(_) => {}
            None => self.permitted(message)?,
        }
        Ok(None)
    }

    fn work(&mut self) -> io::Result<Option<u8>> {
        chunk("I begin.")?;
        match self.scene.as_str() {
            "asks" => {
                let call = json!({"sessionUpdate": "tool_call", "toolCallId": "t1", "kind": "execute",
                    "title": "Terminal", "rawInput": {"command": "sh run_tests.sh"}});
                update(&call)?;
                let options = json!([{"kind": "allow_once", "name": "Yes", "optionId": "yes"},
                    {"kind": "reject_once", "name": "No", "optionId": "no"}]);
                let params = json!({"sessionId": "s1", "toolCall": {"toolCallId": "t1"}, "options": options});
                say(&json!({"jsonrpc": "2.0", "id": 0, "method": "session/request_permission", "params": params}))?;
                return Ok(None);
            }
            "sleeps" | "deaf" => {
                let child = Command::new("sleep").arg("4321").spawn()?;
                let title = format!("sleep in {}", child.id());
                self.child = Some(child);
                update(&json!({"sessionUpdate": "tool_call", "toolCallId": "t1", "kind": "execute", "title": title}))?;
                return Ok(None);
            }
            "dies" => {
                let mut out = io::stdout().lock();
                out.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":3,\"resu")?;
                out.flush()?;
                return Ok(Some(3));
            }
            "babbles" => {
                raw(b"Warning: something\n\n   \nof no concern")?;
                raw(b"\xff\xfe\x00{")?;
                raw(b"[1,2,3]")?;
                raw(b"{\"jsonrpc\":\"2.0\",\"method\":\"_vendor/thing\",\"params\":{}}\r")?;
                say(&json!({"jsonrpc": "2.0", "id": 9, "method": "fs/read_text_file", "params": {"path": "/"}}))?;
            }
            "huge" => {
                let huge = "x".repeat(HUGE_BYTES);
                update(&json!({"sessionUpdate": "tool_call_update", "toolCallId": "t1", "rawOutput": huge}))?;
                update(
                    &json!({"sessionUpdate": "tool_call", "toolCallId": "t2", "rawOutput": huge.get(..HUGE_BYTES / 2)}),
                )?;
            }
            "huge-answer" => {
                answer(&self.prompt, &json!({"stopReason": "end_turn", "_meta": "x".repeat(HUGE_BYTES)}))?;
                return Ok(None);
            }
            _ => {}
        }
        self.done()
    }

    fn done(&self) -> io::Result<Option<u8>> {
        chunk(" It is done.")?;
        answer(&self.prompt, &json!({"stopReason": "end_turn"}))?;
        Ok(None)
    }

    /// An answer of the other side.
    fn permitted(&self, message: &Value) -> io::Result<()> {
        if self.scene != "asks" {
            return Ok(());
        }
        if message["result"]["outcome"]["optionId"] == "yes" {
            Command::new("sh").arg("run_tests.sh").status()?;
        }
        self.done().map(drop)
    }
}
