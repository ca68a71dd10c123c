//! Our side of the conversation with an agent, from the first message to the end of one prompt. Pure: lines in,
//! messages out.
use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::choose::{self, Setting};
use super::permission::{Policy, Tools, option};
use super::text_at;
use crate::agent::command::Permissions;

/// The version of the protocol that we use.
const PROTOCOL_VERSION: u64 = 1;
/// JSON-RPC: no such method.
const NO_METHOD: i64 = -32601;
/// The protocol's own: sign in first.
const SIGN_IN_FIRST: i64 = -32000;

/// What is wanted of an agent.
#[derive(Debug, Clone, Default)]
pub struct AcpTask {
    /// Where it works, an absolute path.
    pub workspace: String,
    /// Everything it is asked.
    pub prompt: String,
    /// The session to resume.
    pub session: Option<String>,
    /// How much it may do.
    pub permissions: Permissions,
    /// Whether it may fetch from the network.
    pub network: bool,
    /// The model, where one was named.
    pub model: Option<String>,
    /// The mode, where one was named; else it is chosen by the permissions.
    pub mode: Option<String>,
    /// The names of the variables that are set: some of them sign in.
    pub variables: BTreeSet<String>,
}

/// FinishReason the conversation is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FinishReason {
    /// The prompt was answered; the word is the agent's own reason to stop.
    Answered,
    /// The agent answered with an error.
    Error,
    /// The session to resume is not there.
    SessionLost,
    /// We were asked to stop before there was a prompt to cancel.
    Cancelled,
    /// It does not follow the protocol.
    Protocol,
    /// The answer to the prompt is too long to be read.
    Malformed,
    /// The agent ended by itself.
    AgentEnded,
    /// The agent could not be started.
    NotStarted,
}

impl FinishReason {
    /// Its word in the last line of a transcript.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Error => "error",
            Self::SessionLost => "session_lost",
            Self::Cancelled => "cancelled",
            Self::Protocol => "protocol",
            Self::Malformed => "malformed",
            Self::AgentEnded => "agent_ended",
            Self::NotStarted => "not_started",
        }
    }
}

/// The end of the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finish {
    /// FinishReason.
    pub why: FinishReason,
    /// The reason to stop, or what went wrong.
    pub detail: String,
}

impl Finish {
    /// Whether the agent did what it was asked for by its own account.
    #[must_use]
    pub fn is_well(&self) -> bool {
        self.why == FinishReason::Answered && self.detail == "end_turn"
    }

    /// The last line of a transcript. Its first word says what it is, even where the rest is lost.
    #[must_use]
    pub fn line(&self) -> String {
        format!("{{\"dir\":\"end\",\"why\":\"{}\",\"detail\":{}}}", self.why.word(), json!(self.detail))
    }
}

/// What we wait for.
#[derive(Debug, Clone, PartialEq)]
enum Awaiting {
    Initialize,
    SignIn,
    NewSession,
    /// A session being continued, without its earlier messages.
    Resume,
    /// The same, and the agent sends its earlier messages again.
    Load,
    Setting {
        needed: bool,
    },
    Prompt,
}

/// One conversation with an agent.
#[derive(Debug)]
pub struct Conversation {
    wish: AcpTask,
    policy: Policy,
    awaiting: Awaiting,
    /// The id of our last request.
    id: u64,
    /// What the agent said of itself.
    initialized: Value,
    tried_to_sign_in: bool,
    session: Option<String>,
    /// Settings still to make before the prompt, the next one last.
    settings: Vec<Setting>,
    tools: Tools,
    cancelling: bool,
    finish: Option<Finish>,
}

impl Conversation {
    /// A conversation that has not begun, and what to say first.
    #[must_use]
    pub fn begin(wish: AcpTask) -> (Self, Vec<Value>) {
        let policy = Policy { permissions: wish.permissions, network: wish.network, workspace: wish.workspace.clone() };
        let mut machine = Self {
            wish,
            policy,
            awaiting: Awaiting::Initialize,
            id: 0,
            initialized: Value::Null,
            tried_to_sign_in: false,
            session: None,
            settings: Vec::new(),
            tools: Tools::default(),
            cancelling: false,
            finish: None,
        };
        let params = json!({
            "protocolVersion": PROTOCOL_VERSION,
            // It uses its own tools on files and commands: what we would do for it, we could not contain with it.
            "clientCapabilities": {"fs": {"readTextFile": false, "writeTextFile": false}, "terminal": false},
            "clientInfo": {"name": "loop", "title": "loop", "version": env!("CARGO_PKG_VERSION")},
        });
        let first = machine.request(Awaiting::Initialize, "initialize", params);
        (machine, first)
    }

    /// Takes a line of the agent's; says what to send. None if it is no message at all.
    pub fn line(&mut self, line: &[u8]) -> Option<Vec<Value>> {
        let message: Value = serde_json::from_slice(line).ok().filter(Value::is_object)?;
        if self.finish.is_some() {
            return Some(Vec::new());
        }
        let method = text_at(&message, &["method"]);
        Some(match (method, message.get("id").filter(|id| !id.is_null())) {
            (Some(method), Some(id)) => vec![self.answer(method, id, &message)],
            (Some("session/update"), None) => {
                self.told(&message);
                Vec::new()
            }
            (None, Some(id)) if id.as_u64() == Some(self.id) => self.answered(&message),
            (Some(_) | None, _) => Vec::new(),
        })
    }

    /// A line was longer than the cap; this is how it began.
    pub fn long_line(&mut self, head: &[u8]) {
        let head = String::from_utf8_lossy(head);
        // An answer has no method; whatever it answered, there is no going on without it.
        if !head.contains("\"method\"") {
            self.finish(FinishReason::Malformed, "an answer of the agent is too long to be read");
        }
    }

    /// Asks the agent to stop; says what to send.
    pub fn cancel(&mut self) -> Vec<Value> {
        if self.finish.is_some() || self.cancelling {
            return Vec::new();
        }
        self.cancelling = true;
        if self.awaiting != Awaiting::Prompt {
            self.finish(FinishReason::Cancelled, "before the prompt was sent");
            return Vec::new();
        }
        vec![json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": self.session}})]
    }

    /// The agent is gone.
    pub fn gone(&mut self, how: &str) {
        self.finish(FinishReason::AgentEnded, how);
    }

    /// It cannot be continued, for a reason that is not in what it says.
    pub fn give_up(&mut self, why: &str) {
        self.finish(FinishReason::Protocol, why);
    }

    /// How it ended, once it has.
    #[must_use]
    pub fn finished(&self) -> Option<&Finish> {
        self.finish.as_ref()
    }

    fn finish(&mut self, why: FinishReason, detail: &str) {
        self.finish.get_or_insert_with(|| Finish { why, detail: detail.to_owned() });
    }

    fn request(&mut self, awaiting: Awaiting, method: &str, params: Value) -> Vec<Value> {
        self.awaiting = awaiting;
        self.id += 1;
        vec![json!({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params})]
    }

    /// Requests of the agent to us.
    fn answer(&mut self, method: &str, id: &Value, message: &Value) -> Value {
        let params = message.get("params").unwrap_or(&Value::Null);
        let result = match method {
            "session/request_permission" => self.permit(params),
            // Nobody is here to be asked. The reader tells the question.
            "elicitation/create" | "session/elicitation" => json!({"action": "decline"}),
            method => {
                let error = json!({"code": NO_METHOD, "message": format!("not supported: {method}")});
                return json!({"jsonrpc": "2.0", "id": id, "error": error});
            }
        };
        json!({"jsonrpc": "2.0", "id": id, "result": result})
    }

    fn permit(&mut self, params: &Value) -> Value {
        let tool = self.tools.take(params.get("toolCall").unwrap_or(&Value::Null));
        let options = super::list_at(params, &["options"]);
        let allow = tool.question().is_none() && self.policy.allows(&tool);
        match option(options, allow).filter(|_| !self.cancelling) {
            Some(chosen) => json!({"outcome": {"outcome": "selected", "optionId": chosen}}),
            None => json!({"outcome": {"outcome": "cancelled"}}),
        }
    }

    fn told(&mut self, message: &Value) {
        let update = super::at(message, &["params", "update"]).unwrap_or(&Value::Null);
        if matches!(text_at(update, &["sessionUpdate"]), Some("tool_call" | "tool_call_update")) {
            self.tools.take(update);
        }
    }

    /// An answer to our last request.
    fn answered(&mut self, message: &Value) -> Vec<Value> {
        match message.get("error").filter(|error| !error.is_null()) {
            Some(error) => self.refused(error),
            None => self.granted(message.get("result").unwrap_or(&Value::Null)),
        }
    }

    fn granted(&mut self, result: &Value) -> Vec<Value> {
        match self.awaiting {
            Awaiting::Initialize => {
                let version = result.get("protocolVersion").and_then(Value::as_u64);
                if version.is_some_and(|version| version != PROTOCOL_VERSION) {
                    self.finish(FinishReason::Protocol, "the agent speaks another version of the protocol");
                    return Vec::new();
                }
                self.initialized = result.clone();
                self.open()
            }
            Awaiting::SignIn => self.open(),
            Awaiting::NewSession => match text_at(result, &["sessionId"]) {
                Some(session) => {
                    self.session = Some(session.to_owned());
                    self.settle(result)
                }
                None => {
                    self.finish(FinishReason::Protocol, "the agent named no session");
                    Vec::new()
                }
            },
            Awaiting::Resume | Awaiting::Load => {
                self.session.clone_from(&self.wish.session);
                self.settle(result)
            }
            Awaiting::Setting { .. } => self.next_setting(),
            Awaiting::Prompt => {
                let stop = text_at(result, &["stopReason"]).unwrap_or_default().to_owned();
                self.finish(FinishReason::Answered, &stop);
                Vec::new()
            }
        }
    }

    fn refused(&mut self, error: &Value) -> Vec<Value> {
        let code = error.get("code").and_then(Value::as_i64);
        let words = text_at(error, &["message"]).unwrap_or("an error without words").to_owned();
        let opening = matches!(self.awaiting, Awaiting::NewSession | Awaiting::Resume | Awaiting::Load);
        if opening && code == Some(SIGN_IN_FIRST) && !self.tried_to_sign_in {
            self.tried_to_sign_in = true;
            let way = choose::sign_in(&self.initialized, &self.wish.variables).map(str::to_owned);
            if let Some(way) = way {
                return self.request(Awaiting::SignIn, "authenticate", json!({"methodId": way}));
            }
        }
        match self.awaiting {
            Awaiting::Resume if code == Some(NO_METHOD) && self.loads() => return self.load(),
            Awaiting::Resume | Awaiting::Load if code != Some(SIGN_IN_FIRST) => {
                self.finish(FinishReason::SessionLost, &words);
            }
            Awaiting::Setting { needed: false } => return self.next_setting(),
            Awaiting::Initialize
            | Awaiting::SignIn
            | Awaiting::NewSession
            | Awaiting::Resume
            | Awaiting::Load
            | Awaiting::Setting { needed: true }
            | Awaiting::Prompt => self.finish(FinishReason::Error, &words),
        }
        Vec::new()
    }

    /// Begins a session, or resumes one.
    fn open(&mut self) -> Vec<Value> {
        if self.wish.session.is_none() {
            let params = json!({"cwd": self.wish.workspace, "mcpServers": []});
            return self.request(Awaiting::NewSession, "session/new", params);
        }
        if super::at(&self.initialized, &["agentCapabilities", "sessionCapabilities", "resume"]).is_some() {
            let params = self.known_session();
            return self.request(Awaiting::Resume, "session/resume", params);
        }
        if self.loads() {
            return self.load();
        }
        self.finish(FinishReason::SessionLost, "the agent cannot resume a session");
        Vec::new()
    }

    fn loads(&self) -> bool {
        super::at(&self.initialized, &["agentCapabilities", "loadSession"]).and_then(Value::as_bool) == Some(true)
    }

    fn load(&mut self) -> Vec<Value> {
        let params = self.known_session();
        self.request(Awaiting::Load, "session/load", params)
    }

    fn known_session(&self) -> Value {
        json!({"sessionId": self.wish.session, "cwd": self.wish.workspace, "mcpServers": []})
    }

    /// Chooses what has to be set before the prompt.
    fn settle(&mut self, session: &Value) -> Vec<Value> {
        let Ok(model) = choose::model(session, self.wish.model.as_deref()) else {
            self.finish(FinishReason::Protocol, "the agent has no way to choose a model");
            return Vec::new();
        };
        let mode = choose::mode(session, self.wish.permissions, self.wish.mode.as_deref());
        self.settings = [mode, model].into_iter().flatten().collect();
        self.next_setting()
    }

    fn next_setting(&mut self) -> Vec<Value> {
        let session = self.session.clone();
        if let Some(Setting { method, mut params, needed }) = self.settings.pop() {
            if let Some(params) = params.as_object_mut() {
                params.insert("sessionId".to_owned(), json!(session));
            }
            return self.request(Awaiting::Setting { needed }, method, params);
        }
        let prompt = std::mem::take(&mut self.wish.prompt);
        let params = json!({"sessionId": session, "prompt": [{"type": "text", "text": prompt}]});
        self.request(Awaiting::Prompt, "session/prompt", params)
    }
}
