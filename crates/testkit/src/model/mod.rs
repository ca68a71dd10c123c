//! A model that says what a script says, to real agent programs: loopback only, one thread a connection.
mod anthropic;
mod chat;
mod faults;
mod gemini;
mod http;
mod request;
mod responses;
mod script;
mod tools;

use std::io::{self, Read};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

pub use request::Api;
pub use script::{Cut, Fault, Script, Tokens, Tool, Turn};

use script::Play;
use tools::Calling;

/// How much of a body is kept for a test to look at.
const BODY_BYTES_KEPT: usize = 1024 * 1024;
/// How many requests are kept.
const SEEN_MAX: usize = 10_000;
/// How long the pieces are that texts come in.
const PIECE_CHARS: usize = 40;

/// A request that came.
#[derive(Debug, Clone)]
pub struct Seen {
    /// When it had come.
    pub at: SystemTime,
    /// GET, POST and the like.
    pub method: String,
    /// Where to, without the query.
    pub path: String,
    /// Which API; none for lists of models, counts of tokens and whatever else a program asks.
    pub api: Option<Api>,
    /// The model that was asked for.
    pub model: Option<String>,
    /// Whether the answer was to come in events.
    pub stream: bool,
    /// The tools that were offered.
    pub tools: Vec<String>,
    /// Which turn of the script it got; none for requests that take no turn.
    pub turn: Option<usize>,
    /// The moment that the answer gave as the end of a limit, in seconds since 1970.
    pub resets_at: Option<u64>,
    /// The last words of a person.
    pub last_user: String,
    /// The words of the last message, a tool's answer included.
    pub last_message: String,
    /// The headers, those that hold a key as `…`.
    pub headers: Vec<(String, String)>,
    /// The body, or its beginning.
    pub body: String,
}

/// How far the script is, and what came.
#[derive(Debug, Default)]
struct Progress {
    turn: usize,
    played: u32,
    seen: Vec<Seen>,
    open: Vec<TcpStream>,
    stopping: bool,
}

#[derive(Debug)]
struct Shared {
    script: Script,
    progress: Mutex<Progress>,
    changed: Condvar,
    ids: AtomicU64,
}

/// A server that plays one script. It ends when it is dropped.
#[derive(Debug)]
pub struct ModelServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    listening: Option<JoinHandle<()>>,
}

impl ModelServer {
    /// Starts to play a script on a free port.
    ///
    /// # Panics
    /// When there is no free port.
    #[must_use]
    pub fn start(script: Script) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        let shared =
            Arc::new(Shared { script, progress: Mutex::default(), changed: Condvar::new(), ids: AtomicU64::new(1) });
        let theirs = Arc::clone(&shared);
        let listening = thread::spawn(move || listen(&listener, &theirs));
        Self { address, shared, listening: Some(listening) }
    }

    /// Where it is, without a slash at the end.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Everything that came so far.
    #[must_use]
    pub fn requests(&self) -> Vec<Seen> {
        self.shared.lock().seen.clone()
    }

    /// The requests that took a turn of the script.
    #[must_use]
    pub fn turns(&self) -> Vec<Seen> {
        self.requests().into_iter().filter(|seen| seen.turn.is_some()).collect()
    }

    /// Waits until so many turns were taken; whether it came to that.
    #[must_use]
    pub fn wait_for_turns(&self, count: usize, at_most: Duration) -> bool {
        let enough = |progress: &mut Progress| progress.seen.iter().filter(|seen| seen.turn.is_some()).count() < count;
        let waited = self.shared.changed.wait_timeout_while(self.shared.lock(), at_most, enough);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        {
            let mut progress = self.shared.lock();
            progress.stopping = true;
            for stream in progress.open.drain(..) {
                drop(stream.shutdown(Shutdown::Both));
            }
        }
        self.shared.changed.notify_all();
        // Whoever waits for a connection gets one, and sees that it is over.
        drop(TcpStream::connect(self.address));
        if let Some(listening) = self.listening.take() {
            drop(listening.join());
        }
    }
}

fn listen(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming().flatten() {
        if shared.lock().stopping {
            return;
        }
        let shared = Arc::clone(shared);
        // A connection that breaks is the other side's affair.
        thread::spawn(move || drop(shared.serve(&stream)));
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self, stream: &TcpStream) -> io::Result<()> {
        self.lock().open.push(stream.try_clone()?);
        let Some(request) = http::read(stream)? else { return Ok(()) };
        let body = serde_json::from_slice(&request.body).unwrap_or(Value::Null);
        let result = match Api::of(&request.path).filter(|_| request.method == "POST") {
            Some(api) => self.answer(stream, &request, api, &body),
            None => self.answer_aside(stream, &request, &body),
        };
        // The other copy in the list would keep it open.
        drop(stream.shutdown(Shutdown::Both));
        result
    }

    /// Requests that are not for an answer of the model.
    fn answer_aside(&self, stream: &TcpStream, request: &http::Request, body: &Value) -> io::Result<()> {
        self.keep(seen(request, None, body));
        let path = request.path.as_str();
        let (status, body) = if path.ends_with("/count_tokens") {
            (200, json!({"input_tokens": 42}))
        } else if path.ends_with(":countTokens") {
            (200, json!({"totalTokens": 42}))
        } else if path.ends_with("/models") {
            let model = json!({"id": "scripted-model", "object": "model", "created": 1, "owned_by": "scripted"});
            (200, json!({"object": "list", "data": [model], "models": []}))
        } else if request.method == "HEAD" {
            (200, json!({}))
        } else {
            (404, json!({"error": {"message": "not found", "type": "not_found_error"}}))
        };
        let body = if request.method == "HEAD" { String::new() } else { body.to_string() };
        http::send(stream, status, "application/json", &[], &body)
    }

    fn answer(&self, stream: &TcpStream, request: &http::Request, api: Api, body: &Value) -> io::Result<()> {
        let offered = request::offered(api, body);
        let mut seen = seen(request, Some(api), body);
        seen.tools = offered.iter().map(|tool| tool.name.clone()).collect();
        let takes_turn = self.script.count_all || !offered.is_empty();
        let turn = if takes_turn { self.next_turn(&mut seen) } else { self.script.side.clone() };
        let now = seconds(seen.at);
        let refusal = if let Play::Fault(fault) = &turn.play {
            Some(faults::refusal(api, fault, now + turn.delay.as_secs()))
        } else {
            None
        };
        seen.resets_at = refusal.as_ref().and_then(|refusal| refusal.resets_at);
        let (model, streams) = (seen.model.clone().unwrap_or_default(), seen.stream);
        self.keep(seen);
        self.wait(turn.delay);
        if let Some(refusal) = refusal {
            let headers = [refusal.headers, turn.headers.clone()].concat();
            return http::send(stream, refusal.status, &refusal.content_type, &headers, &refusal.body);
        }
        let folder = self.script.folder.as_deref();
        let calls: Vec<Calling> = turn.tools.iter().map(|tool| tools::calling(tool, &offered, folder)).collect();
        let answer = Answer { api, turn: &turn, calls: &calls, model: &model, now, ids: &self.ids };
        if turn.play == Play::Hang {
            hold(stream)
        } else if turn.play == Play::Close {
            Ok(())
        } else if streams {
            self.play(stream, &answer)
        } else {
            http::send(stream, 200, "application/json", &turn.headers, &answer.whole().to_string())
        }
    }

    /// Plays an answer as events, as far as it goes.
    fn play(&self, stream: &TcpStream, answer: &Answer<'_>) -> io::Result<()> {
        let mut events = answer.events();
        let all = events.len();
        let begun = usize::from(answer.api != Api::Gemini);
        let played = match &answer.turn.play {
            Play::Cut(Cut::AfterStart) | Play::Garbage | Play::ErrorInStream => begun,
            Play::Cut(Cut::Middle) => (all / 2).max(begun),
            Play::Cut(Cut::BeforeEnd) => all.saturating_sub(1),
            Play::Answer | Play::Fault(_) | Play::Hang | Play::Close => all,
        };
        events.truncate(played);
        match &answer.turn.play {
            Play::Garbage => events.push(answer.garbage()),
            Play::ErrorInStream => events.push(answer.error()),
            Play::Answer | Play::Cut(_) | Play::Fault(_) | Play::Hang | Play::Close => {}
        }
        http::begin_events(stream, &answer.turn.headers)?;
        for event in events {
            self.wait(answer.turn.pace);
            http::event(stream, &event)?;
        }
        if matches!(answer.turn.play, Play::Cut(_)) { Ok(()) } else { http::end_events(stream) }
    }

    /// The turn that a request gets: what the script chooses for it, or the next one.
    fn next_turn(&self, seen: &mut Seen) -> Turn {
        if let Some(turn) = self.script.chooser.as_ref().and_then(|chooser| chooser(seen)) {
            return turn;
        }
        let turns = &self.script.turns;
        let mut progress = self.lock();
        let index = progress.turn.min(turns.len().saturating_sub(1));
        let turn = turns.get(index).cloned().unwrap_or_default();
        progress.played += 1;
        if progress.played >= turn.times {
            progress.turn += 1;
            progress.played = 0;
        }
        drop(progress);
        seen.turn = Some(index);
        turn.chosen.as_ref().and_then(|choose| choose(seen)).unwrap_or(turn)
    }

    fn keep(&self, seen: Seen) {
        let mut progress = self.lock();
        if progress.seen.len() < SEEN_MAX {
            progress.seen.push(seen);
        }
        drop(progress);
        self.changed.notify_all();
    }

    /// Waits, but not beyond the end of the server.
    fn wait(&self, time: Duration) {
        if !time.is_zero() {
            drop(self.changed.wait_timeout_while(self.lock(), time, |progress| !progress.stopping));
        }
    }
}

/// Holds a connection until either side ends it.
fn hold(mut stream: &TcpStream) -> io::Result<()> {
    let mut sink = [0; 64];
    while stream.read(&mut sink)? > 0 {}
    Ok(())
}

fn seen(request: &http::Request, api: Option<Api>, body: &Value) -> Seen {
    let hidden = ["authorization", "x-api-key", "x-goog-api-key", "cookie"];
    let shown = |(name, value): &(String, String)| {
        let value = if hidden.contains(&name.as_str()) { "…" } else { value };
        (name.clone(), value.to_owned())
    };
    let kept = request.body.get(..BODY_BYTES_KEPT).unwrap_or(&request.body);
    Seen {
        at: SystemTime::now(),
        method: request.method.clone(),
        path: request.path.clone(),
        api,
        model: request::model(&request.path, body),
        stream: request::streams(&request.path, body),
        tools: Vec::new(),
        turn: None,
        resets_at: None,
        last_user: api.map(|api| request::last_user(api, body)).unwrap_or_default(),
        last_message: api.map(|api| request::last_message(api, body)).unwrap_or_default(),
        headers: request.headers.iter().map(shown).collect(),
        body: String::from_utf8_lossy(kept).into_owned(),
    }
}

fn seconds(at: SystemTime) -> u64 {
    at.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// An answer to be put into the words of an API.
#[derive(Debug)]
struct Answer<'a> {
    api: Api,
    turn: &'a Turn,
    calls: &'a [Calling],
    model: &'a str,
    now: u64,
    ids: &'a AtomicU64,
}

impl Answer<'_> {
    /// A name that no other answer has.
    fn id(&self, begin: &str) -> String {
        format!("{begin}{:024x}", self.ids.fetch_add(1, Ordering::Relaxed))
    }

    fn pieces(&self, text: &str) -> Vec<String> {
        let letters: Vec<char> = text.chars().collect();
        letters.chunks(PIECE_CHARS).map(|piece| piece.iter().collect()).collect()
    }

    fn whole(&self) -> Value {
        match self.api {
            Api::Anthropic => anthropic::whole(self),
            Api::Responses => responses::whole(self),
            Api::Chat => chat::whole(self),
            Api::Gemini => gemini::whole(self),
        }
    }

    fn events(&self) -> Vec<String> {
        match self.api {
            Api::Anthropic => anthropic::events(self),
            Api::Responses => responses::events(self),
            Api::Chat => chat::events(self),
            Api::Gemini => gemini::events(self),
        }
    }

    fn error(&self) -> String {
        match self.api {
            Api::Anthropic => anthropic::error(),
            Api::Responses => responses::error(self),
            Api::Chat => chat::error(),
            Api::Gemini => gemini::error(),
        }
    }

    fn garbage(&self) -> String {
        match self.api {
            Api::Anthropic => anthropic::garbage(),
            Api::Responses => responses::garbage(),
            Api::Chat => chat::garbage(),
            Api::Gemini => gemini::garbage(),
        }
    }
}
