//! What a container engine's answers lead to, where the engine is a script of the test: no real engine is needed.
use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use loop_testkit::{Running, TestEnv, wait_at_most, wait_until};

use crate::user;

/// What the engine answers to a request whose first line begins so. Any other request is a 404.
type Answers = &'static [(&'static str, Answer)];

#[derive(Debug, Clone, Copy)]
enum Answer {
    Json(&'static str),
    /// The exec as it is: it runs until the test ends it.
    State,
    /// None: the connection stays open.
    Silence,
}

const MADE: (&str, Answer) = ("POST /containers/box/exec ", Answer::Json("{\"Id\":\"e1\"}"));
/// The container ends with its agent: nothing is left to be looked for in it.
const STOPPED: (&str, Answer) =
    ("GET /containers/box/json ", Answer::Json("{\"Id\":\"box\",\"State\":{\"Running\":false}}"));

/// An engine that listens, with one exec whose output the test gives piece by piece.
struct ScriptedEngine {
    socket: PathBuf,
    output: Option<Sender<String>>,
    ended: Arc<AtomicBool>,
}

/// What the threads of an engine share.
struct Script {
    answers: Answers,
    pieces: Mutex<Option<Receiver<String>>>,
    ended: Arc<AtomicBool>,
}

impl ScriptedEngine {
    fn listen(user: &TestEnv, answers: Answers) -> Self {
        let socket = user.root().join("engine.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        let (output, pieces) = channel();
        let ended = Arc::new(AtomicBool::new(false));
        let script = Arc::new(Script { answers, pieces: Mutex::new(Some(pieces)), ended: Arc::clone(&ended) });
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let script = Arc::clone(&script);
                std::thread::spawn(move || script.answer(stream));
            }
        });
        Self { socket, output: Some(output), ended }
    }

    /// The agent prints this.
    fn print(&self, text: &str) {
        self.output.as_ref().unwrap().send(text.to_owned()).unwrap();
    }

    /// The agent ends, and its streams are closed.
    fn end(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
        self.output = None;
    }

    /// `loop container-exec` on it, with its output in a file.
    fn begin(&self, user: &TestEnv) -> Running {
        let socket = self.socket.to_str().unwrap();
        let words = ["container-exec", "--socket", socket, "--container", "box", "--run", "r", "--", "agent"];
        let mut command = user.command(&words);
        command.stdout(fs::File::create(user.root().join("out")).unwrap());
        command.stderr(fs::File::create(user.root().join("err")).unwrap());
        Running::of(command.spawn().unwrap(), user.root())
    }
}

impl Script {
    /// Reads one request and answers it.
    fn answer(&self, mut stream: UnixStream) {
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|count| count == 1) {
            head.push(byte[0]);
        }
        let head = String::from_utf8(head).unwrap();
        let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
        stream.read_exact(&mut vec![0; length.map_or(0, |text| text.parse().unwrap())]).ok();
        if head.starts_with("POST /exec/e1/start ") {
            return self.stream_output(&mut stream);
        }
        let row = self.answers.iter().find(|(begin, _)| head.starts_with(begin));
        let body = match row.map(|(_, answer)| *answer) {
            None => None,
            Some(Answer::Json(body)) => Some(body),
            Some(Answer::State) if self.ended.load(Ordering::SeqCst) => Some("{\"Running\":false,\"ExitCode\":0}"),
            Some(Answer::State) => Some("{\"Running\":true}"),
            Some(Answer::Silence) => {
                // Until the other side has waited long enough.
                stream.read_exact(&mut byte).ok();
                return;
            }
        };
        let status = if body.is_some() { 200 } else { 404 };
        let body = body.unwrap_or("{\"message\":\"it is not there\"}");
        write!(stream, "HTTP/1.1 {status} ANSWER\r\nContent-Length: {}\r\n\r\n{body}", body.len()).ok();
    }

    /// Frames of stdout, as the test gives them.
    fn stream_output(&self, stream: &mut UnixStream) {
        let Some(pieces) = self.pieces.lock().unwrap().take() else { return };
        stream.write_all(b"HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n").ok();
        for piece in pieces {
            let length = u32::try_from(piece.len()).unwrap().to_be_bytes();
            stream.write_all(&[&[1, 0, 0, 0][..], &length, piece.as_bytes()].concat()).ok();
        }
    }
}

/// An engine that does not answer is given up after 10 seconds; this is later, also on a slow machine.
const GIVEN_UP_BY: Duration = Duration::from_secs(25);

#[test]
fn output_from_a_container_is_passed_on_before_the_agent_has_ended() {
    // req: C-01 partly: output as it comes
    let user = user();
    let mut engine = ScriptedEngine::listen(&user, &[MADE, ("GET /exec/e1/json ", Answer::State), STOPPED]);
    let mut running = engine.begin(&user);
    let mut so_far = String::new();
    for piece in ["first\n", "a part of", " the second\n"] {
        engine.print(piece);
        so_far.push_str(piece);
        wait_until("the output so far", || user.read("out") == so_far);
        assert_eq!(running.code(), None, "the agent has not ended");
    }
    engine.end();
    assert_eq!((running.end().code, user.read("out")), (Some(0), so_far), "{}", user.read("err"));
}

#[test]
fn an_engine_that_does_not_say_how_an_agent_ended_is_given_up_in_time() {
    // req: C-01 partly: a time limit of its own for inspect
    let user = user();
    let mut engine = ScriptedEngine::listen(&user, &[MADE, ("GET /exec/e1/json ", Answer::Silence), STOPPED]);
    let mut running = engine.begin(&user);
    engine.print("said\n");
    wait_until("the output", || user.read("out") == "said\n");
    engine.end();
    assert!(wait_at_most(GIVEN_UP_BY, || running.code().is_some()), "{}", user.read("err"));
    assert_eq!(running.end().code, Some(125), "no end is made up");
    assert!(user.read("err").contains("the container has stopped, or was removed"), "{}", user.read("err"));
}

#[test]
fn a_start_in_a_container_whose_engine_does_not_answer_is_refused_in_time() {
    // req: C-01 partly: a time limit of its own for inspect, before any iteration
    let user = user();
    let engine = ScriptedEngine::listen(&user, &[("GET /containers/box/json ", Answer::Silence)]);
    let words = ["start", "do it", "-p", "true", "--agent-cmd", "true", "--container", "box"];
    let mut command = user.command(&words);
    let child = command.env("DOCKER_HOST", format!("unix://{}", engine.socket.display())).spawn().unwrap();
    let mut running = Running::of(child, user.root());
    assert!(wait_at_most(GIVEN_UP_BY, || running.code().is_some()), "it waits for ever");
    let ran = running.end().expect_code(4);
    assert!(ran.err().contains("does not answer"), "{}", ran.text());
}
