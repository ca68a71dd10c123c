//! The scripted model spoken to by hand.
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use loop_testkit::model::{Api, Cut, Fault, ModelServer, Script, Turn};
use serde_json::{Value, json};

const MESSAGES: &str = "/v1/messages";
const RESPONSES: &str = "/v1/responses";
const CHAT: &str = "/v1/chat/completions";
const GEMINI: &str = "/v1beta/models/gemini-x:streamGenerateContent";

/// Sends a request and reads to the end of the connection.
fn post(server: &ModelServer, path: &str, body: &Value) -> String {
    let body = body.to_string();
    let head = format!(
        "POST {path}?alt=sse HTTP/1.1\r\nHost: x\r\nX-Api-Key: secret\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    talk(server, &format!("{head}{body}"))
}

fn talk(server: &ModelServer, words: &str) -> String {
    let mut stream = TcpStream::connect(server.url().trim_start_matches("http://")).unwrap();
    stream.write_all(words.as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    String::from_utf8(answer).unwrap()
}

/// A request of each API that offers its program's tools.
fn asks(words: &str) -> [(&'static str, Api, Value); 4] {
    let user = json!({"role": "user", "content": words});
    [
        (
            MESSAGES,
            Api::Anthropic,
            json!({
                "model": "m", "stream": true, "messages": [user], "tools": [{"name": "Bash"}, {"name": "Write"}],
            }),
        ),
        (
            RESPONSES,
            Api::Responses,
            json!({
                "model": "m", "stream": true, "input": [user],
                "tools": [{"type": "function", "name": "exec_command"}, {"type": "custom", "name": "apply_patch"}],
            }),
        ),
        (
            CHAT,
            Api::Chat,
            json!({
                "model": "m", "stream": true, "messages": [user],
                "tools": [{"type": "function", "function": {"name": "bash"}}, {"function": {"name": "write"}}],
            }),
        ),
        (
            GEMINI,
            Api::Gemini,
            json!({
                "contents": [{"role": "user", "parts": [{"text": words}]}],
                "tools": [{"functionDeclarations": [{"name": "run_shell_command"}, {"name": "write_file"}]}],
            }),
        ),
    ]
}

#[test]
fn each_api_gets_the_tool_that_its_program_offers() {
    let tools =
        [("Bash", "Write"), ("exec_command", "apply_patch"), ("bash", "write"), ("run_shell_command", "write_file")];
    for ((path, api, body), (shell, write)) in asks("do it").into_iter().zip(tools) {
        let script = Script::new([Turn::shell("make test").and_write("a.txt", "x\n"), Turn::text("done")]);
        let server = ModelServer::start(script.in_folder("/w"));
        let first = post(&server, path, &body);
        assert!(first.starts_with("HTTP/1.1 200") && first.ends_with("0\r\n\r\n"), "{first}");
        assert!(first.contains(shell) && first.contains("make test") && first.contains(write), "{first}");
        let file = if api == Api::Responses { "Add File: a.txt" } else { "/w/a.txt" };
        assert!(first.contains(file), "{first}");
        let second = post(&server, path, &body);
        assert!(second.contains("done") && !second.contains(shell), "{second}");
        let seen = server.requests();
        assert_eq!(seen.iter().map(|seen| seen.turn).collect::<Vec<_>>(), [Some(0), Some(1)]);
        assert_eq!((seen[0].api, seen[0].last_user.as_str()), (Some(api), "do it"));
        assert!(seen[0].headers.contains(&("x-api-key".to_owned(), "…".to_owned())), "{:?}", seen[0].headers);
    }
}

#[test]
fn a_request_for_a_title_takes_no_turn_and_the_last_turn_is_said_again() {
    let server = ModelServer::start(Script::new([Turn::text("one").times(2), Turn::text("two")]));
    let [_, _, (path, _, body), _] = asks("x");
    let mut bare = body.clone();
    bare["tools"] = json!([]);
    assert!(post(&server, path, &bare).contains("Scripted title"));
    let said = |answer: String| if answer.contains("\"one\"") { 1 } else { 2 };
    let order: Vec<u8> = (0..4).map(|_| said(post(&server, path, &body))).collect();
    assert_eq!(order, [1, 1, 2, 2]);
    assert_eq!((server.turns().len(), server.requests().len()), (4, 5));
}

#[test]
fn an_answer_can_depend_on_what_is_asked() {
    let script = Script::new([Turn::chosen(|seen| Turn::text(&format!("turn {:?}", seen.turn)))])
        .when(|seen| seen.last_message.contains("special").then(|| Turn::text("something special")));
    let server = ModelServer::start(script);
    for (path, _, body) in asks("a special wish") {
        assert!(post(&server, path, &body).contains("something special"));
    }
    let [(path, _, body), ..] = asks("plain");
    assert!(post(&server, path, &body).contains("turn Some(0)"));
}

#[test]
fn a_limit_says_when_it_ends_in_the_words_of_each_api() {
    let signs = ["anthropic-ratelimit-unified-reset", "\"resets_at\"", "\"resets_at\"", "retryDelay"];
    for ((path, _, body), sign) in asks("x").into_iter().zip(signs) {
        let server = ModelServer::start(Script::new([Turn::fault(Fault::UsageLimit(7))]));
        let answer = post(&server, path, &body);
        assert!(answer.starts_with("HTTP/1.1 429") && answer.contains(sign), "{answer}");
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let resets_at = server.requests()[0].resets_at.unwrap();
        assert!((now..=now + 7).contains(&resets_at), "{resets_at} is not 7 s after {now}");
        assert!(sign == "retryDelay" || answer.contains(&resets_at.to_string()), "{answer}");
    }
}

#[test]
fn refusals_have_the_statuses_of_their_apis() {
    let faults = [Fault::Auth, Fault::Forbidden, Fault::Billing, Fault::Overloaded, Fault::ServerError, Fault::Context];
    let statuses = [
        [401, 403, 400, 529, 500, 400],
        [401, 403, 429, 503, 500, 400],
        [401, 403, 429, 503, 500, 400],
        [400, 403, 429, 503, 500, 400],
    ];
    for ((path, _, body), statuses) in asks("x").into_iter().zip(statuses) {
        let server = ModelServer::start(Script::new(faults.clone().map(Turn::fault)));
        for status in statuses {
            let answer = post(&server, path, &body);
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{path}: {answer}");
        }
    }
}

#[test]
fn a_stream_can_be_cut_or_turn_bad_and_a_silent_one_ends_with_the_server() {
    for (path, _, body) in asks("x") {
        let text =
            &format!("a text that is longer than {} of a stream, by far", "one piece, and yet another, ".repeat(20));
        let turns = [
            Turn::text(text).cut(Cut::AfterStart),
            Turn::text(text).cut(Cut::Middle),
            Turn::text(text).garbage(),
            Turn::text(text).error_in_stream(),
            Turn::close(),
            Turn::hang(),
        ];
        let server = ModelServer::start(Script::new(turns));
        for whole in [false, false, true, true, false] {
            let answer = post(&server, path, &body);
            assert_eq!(answer.ends_with("\r\n0\r\n\r\n"), whole, "{answer}");
            assert!(!answer.contains("by far"), "{answer}");
        }
        let url = server.url();
        let waiting = std::thread::spawn(move || {
            let mut stream = TcpStream::connect(url.trim_start_matches("http://")).unwrap();
            let body = body.to_string();
            write!(stream, "POST {path} HTTP/1.1\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
            stream.read(&mut [0]).unwrap_or(0)
        });
        assert!(server.wait_for_turns(6, Duration::from_secs(30)));
        drop(server);
        assert_eq!(waiting.join().unwrap(), 0);
    }
}

#[test]
fn other_requests_get_what_programs_expect_and_bodies_may_come_in_chunks() {
    let server = ModelServer::start(Script::new([Turn::text("well")]));
    assert!(post(&server, "/v1/messages/count_tokens", &json!({})).contains("input_tokens"));
    assert!(post(&server, "/v1beta/models/x:countTokens", &json!({})).contains("totalTokens"));
    assert!(talk(&server, "GET /v1/models HTTP/1.1\r\n\r\n").contains("scripted-model"));
    assert!(talk(&server, "GET /nowhere HTTP/1.1\r\nUpgrade: websocket\r\n\r\n").starts_with("HTTP/1.1 404"));
    let [(path, _, body), ..] = asks("in two pieces");
    let body = body.to_string();
    let (one, two) = body.split_at(20);
    let chunks = format!("{:x}\r\n{one}\r\n{:x};x=y\r\n{two}\r\n0\r\n\r\n", one.len(), two.len());
    let answer = talk(&server, &format!("POST {path} HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}"));
    assert!(answer.contains("well"), "{answer}");
    assert_eq!(server.turns()[0].last_user, "in two pieces");
}
