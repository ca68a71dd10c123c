//! HTTP/1.1 over a unix socket, as little of it as an engine's API needs: one request a connection, each with a limit
//! of time, answers of a bounded length, and the upgrade of a connection to a raw stream.
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

/// No answer that we ask for is longer.
const BODY_BYTES_MAX: usize = 16 * 1024 * 1024;
const HEAD_BYTES_MAX: usize = 64 * 1024;

/// What is asked.
#[derive(Debug, Clone, Copy)]
pub(super) struct Request<'a> {
    pub(super) method: &'a str,
    pub(super) path: &'a str,
    /// JSON, an archive, or nothing.
    pub(super) body: &'a [u8],
}

/// What came back.
#[derive(Debug)]
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
}

/// A connection that is a raw stream now.
#[derive(Debug)]
pub(super) struct Upgraded {
    pub(super) stream: UnixStream,
    /// What of it came with the answer.
    pub(super) rest: Vec<u8>,
}

/// Asks and waits for the whole answer.
pub(super) fn ask(socket: &Path, request: Request<'_>, most: Duration) -> io::Result<Response> {
    let mut reading = begin(socket, request, "Connection: close\r\n", Instant::now() + most)?;
    let head = reading.head()?;
    let body = reading.body(&head, request.method)?;
    Ok(Response { status: head.status, body })
}

/// Asks for a raw stream. Where that is refused the answer has the reason.
pub(super) fn upgrade(socket: &Path, request: Request<'_>, most: Duration) -> io::Result<Result<Upgraded, Response>> {
    let words = "Connection: Upgrade\r\nUpgrade: tcp\r\n";
    let mut reading = begin(socket, request, words, Instant::now() + most)?;
    let head = reading.head()?;
    // Docker switches protocols; an old engine answers 200 with the same meaning.
    if head.status == 101 || head.status == 200 {
        return Ok(Ok(Upgraded { stream: reading.stream, rest: reading.bytes }));
    }
    let body = reading.body(&head, request.method)?;
    Ok(Err(Response { status: head.status, body }))
}

fn begin(socket: &Path, request: Request<'_>, words: &str, until: Instant) -> io::Result<Reading> {
    let mut stream = connected(socket, left(until)?)?;
    let Request { method, path, body } = request;
    let kind = match (method, body) {
        (_, []) => "",
        ("PUT", _) => "Content-Type: application/x-tar\r\n",
        _ => "Content-Type: application/json\r\n",
    };
    let length = body.len();
    let head = format!("{method} {path} HTTP/1.1\r\nHost: engine\r\n{words}{kind}Content-Length: {length}\r\n\r\n");
    stream.write_all(&[head.as_bytes(), body].concat())?;
    Ok(Reading { stream, bytes: Vec::new(), until })
}

/// Connects with a limit of time: who listens but never answers does not hold us.
fn connected(socket: &Path, most: Duration) -> io::Result<UnixStream> {
    let address = SocketAddrUnix::new(socket)?;
    let handle = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    set_socket_timeout(&handle, Timeout::Send, Some(most))?;
    connect(&handle, &address)?;
    Ok(UnixStream::from(handle))
}

fn left(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}

fn malformed(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the answer {what}"))
}

/// How long the body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Length {
    Known(usize),
    Chunked,
    /// Until the other side closes.
    Open,
}

#[derive(Debug, PartialEq, Eq)]
struct Head {
    status: u16,
    length: Length,
}

impl Head {
    fn read(text: &str) -> Option<Self> {
        let mut lines = text.split("\r\n");
        let mut words = lines.next()?.split(' ');
        words.next().filter(|version| version.starts_with("HTTP/1."))?;
        let status = words.next()?.parse().ok()?;
        let mut length = Length::Open;
        for (name, value) in lines.filter_map(|line| line.split_once(':')) {
            let value = value.trim();
            if name.eq_ignore_ascii_case("transfer-encoding") && value.eq_ignore_ascii_case("chunked") {
                length = Length::Chunked;
            } else if name.eq_ignore_ascii_case("content-length") && length != Length::Chunked {
                length = Length::Known(value.parse().ok()?);
            }
        }
        Some(Self { status, length })
    }
}

/// An answer as it comes in; `bytes` is what was read and not used yet.
struct Reading {
    stream: UnixStream,
    bytes: Vec<u8>,
    until: Instant,
}

impl Reading {
    /// Reads on; false at the end.
    fn more(&mut self) -> io::Result<bool> {
        let mut bytes = [0_u8; 16 * 1024];
        loop {
            self.stream.set_read_timeout(Some(left(self.until)?))?;
            match self.stream.read(&mut bytes) {
                Ok(0) => return Ok(false),
                Ok(count) => {
                    self.bytes.extend_from_slice(bytes.get(..count).unwrap_or_default());
                    return Ok(true);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn head(&mut self) -> io::Result<Head> {
        loop {
            if let Some(end) = find(&self.bytes, b"\r\n\r\n") {
                let rest = self.bytes.split_off(end + 4);
                let head = std::mem::replace(&mut self.bytes, rest);
                let text = String::from_utf8_lossy(&head);
                return Head::read(text.trim_end()).ok_or_else(|| malformed("is not HTTP"));
            }
            if self.bytes.len() > HEAD_BYTES_MAX {
                return Err(malformed("has no end of its head"));
            }
            if !self.more()? {
                return Err(malformed("ended in its head"));
            }
        }
    }

    fn body(&mut self, head: &Head, method: &str) -> io::Result<Vec<u8>> {
        if method == "HEAD" || matches!(head.status, 204 | 304) {
            return Ok(Vec::new());
        }
        match head.length {
            Length::Known(length) => self.exactly(length),
            Length::Chunked => self.chunks(),
            Length::Open => {
                while self.more()? {
                    bounded(self.bytes.len())?;
                }
                Ok(std::mem::take(&mut self.bytes))
            }
        }
    }

    fn exactly(&mut self, length: usize) -> io::Result<Vec<u8>> {
        bounded(length)?;
        while self.bytes.len() < length {
            if !self.more()? {
                return Err(malformed("is shorter than announced"));
            }
        }
        let rest = self.bytes.split_off(length);
        Ok(std::mem::replace(&mut self.bytes, rest))
    }

    fn chunks(&mut self) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let line = self.line()?;
            let digits = line.split(';').next().unwrap_or_default().trim();
            let length = usize::from_str_radix(digits, 16).map_err(|_| malformed("has a chunk without a length"))?;
            if length == 0 {
                return Ok(body);
            }
            bounded(body.len().saturating_add(length))?;
            body.extend(self.exactly(length)?);
            if !self.line()?.is_empty() {
                return Err(malformed("has a chunk that is longer than announced"));
            }
        }
    }

    fn line(&mut self) -> io::Result<String> {
        loop {
            if let Some(end) = find(&self.bytes, b"\r\n") {
                let line = self.exactly(end)?;
                self.exactly(2)?;
                return Ok(String::from_utf8_lossy(&line).into_owned());
            }
            if self.bytes.len() > HEAD_BYTES_MAX || !self.more()? {
                return Err(malformed("ended within a chunk"));
            }
        }
    }
}

fn bounded(length: usize) -> io::Result<()> {
    if length > BODY_BYTES_MAX { Err(malformed("is too long")) } else { Ok(()) }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

/// A text as it may stand in a path or in a query.
pub(super) fn escaped(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~');
    text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(answer: &[u8]) -> Reading {
        let (stream, mut other) = UnixStream::pair().unwrap();
        other.write_all(answer).unwrap();
        Reading { stream, bytes: Vec::new(), until: Instant::now() + Duration::from_secs(5) }
    }

    fn body(answer: &str) -> Result<String, String> {
        let mut reading = reading(answer.as_bytes());
        let head = reading.head().map_err(|error| error.to_string())?;
        let body = reading.body(&head, "GET").map_err(|error| error.to_string())?;
        Ok(format!("{} {}", head.status, String::from_utf8_lossy(&body)))
    }

    #[test]
    fn bodies_by_length_by_chunks_and_until_the_end_are_read_alike() {
        assert_eq!(body("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello more").unwrap(), "200 hello");
        let chunked =
            "HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\n";
        assert_eq!(body(chunked).unwrap(), "404 hello");
        assert_eq!(body("HTTP/1.0 200 OK\r\n\r\nhello").unwrap(), "200 hello");
        assert_eq!(body("HTTP/1.1 204 No Content\r\n\r\n").unwrap(), "204 ");
    }

    #[test]
    fn an_answer_that_is_cut_off_or_no_http_is_an_error() {
        assert_eq!(
            body("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhello").unwrap_err(),
            "the answer is shorter than announced"
        );
        assert_eq!(body("SSH-2.0\r\n\r\n").unwrap_err(), "the answer is not HTTP");
        assert_eq!(body("HTTP/1.1 200").unwrap_err(), "the answer ended in its head");
        let long = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffff\r\n";
        assert_eq!(body(long).unwrap_err(), "the answer is too long");
    }

    #[test]
    fn who_listens_and_never_answers_is_waited_for_only_so_long() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let request = Request { method: "GET", path: "/_ping", body: b"" };
        let error = ask(&path, request, Duration::from_millis(100)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn what_stands_in_a_path_is_escaped() {
        assert_eq!(escaped("a/b c{\"é"), "a%2Fb%20c%7B%22%C3%A9");
    }
}
