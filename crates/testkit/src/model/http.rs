//! As much of HTTP/1.1 as agent programs speak to a model: one request a connection, whole bodies in, events out.
use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;

/// Longest head that is read.
const HEAD_BYTES_MAX: u64 = 256 * 1024;
/// Longest body that is read.
const BODY_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// One request.
#[derive(Debug, Default)]
pub(super) struct Request {
    pub(super) method: String,
    /// Without the query.
    pub(super) path: String,
    /// Names in lower case.
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

impl Request {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(header, _)| header == name).map(|(_, value)| value.as_str())
    }
}

/// Reads one request; none when the other side has no more.
pub(super) fn read(stream: &TcpStream) -> io::Result<Option<Request>> {
    let mut input = BufReader::new(stream.take(HEAD_BYTES_MAX));
    let Some(first) = line(&mut input)? else { return Ok(None) };
    let mut words = first.split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = target.split('?').next().unwrap_or_default();
    let mut request = Request { method: method.to_owned(), path: path.to_owned(), ..Request::default() };
    while let Some(header) = line(&mut input)?.filter(|header| !header.is_empty()) {
        let (name, value) = header.split_once(':').unwrap_or((&header, ""));
        request.headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    if request.header("expect").is_some() {
        (&*stream).write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    input.get_mut().set_limit(BODY_BYTES_MAX);
    request.body = if request.header("transfer-encoding").is_some_and(|coding| coding.contains("chunked")) {
        chunked(&mut input)?
    } else {
        let length = request.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        exactly(&mut input, length)?
    };
    Ok(Some(request))
}

/// One line without its end; none at the end of the input.
fn line(input: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    if input.read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    Ok(Some(String::from_utf8_lossy(&line).trim_end().to_owned()))
}

fn exactly(input: &mut impl Read, length: u64) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    input.take(length).read_to_end(&mut body)?;
    Ok(body)
}

fn chunked(input: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    while let Some(head) = line(input)? {
        let digits = head.split(';').next().unwrap_or_default();
        let length = u64::from_str_radix(digits.trim(), 16).unwrap_or(0);
        if length == 0 {
            break;
        }
        body.extend(exactly(input, length)?);
        line(input)?;
    }
    Ok(body)
}

/// Sends a whole answer.
pub(super) fn send(
    mut stream: &TcpStream,
    status: u16,
    content_type: &str,
    headers: &[(String, String)],
    body: &str,
) -> io::Result<()> {
    let mut head = head(status, content_type, headers);
    write!(head, "content-length: {}\r\n\r\n", body.len()).map_err(io::Error::other)?;
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())
}

/// Begins an answer that comes in events.
pub(super) fn begin_events(mut stream: &TcpStream, headers: &[(String, String)]) -> io::Result<()> {
    let mut head = head(200, "text/event-stream; charset=utf-8", headers);
    head.push_str("cache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n");
    stream.write_all(head.as_bytes())
}

/// Sends one event.
pub(super) fn event(mut stream: &TcpStream, event: &str) -> io::Result<()> {
    stream.write_all(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes())
}

/// Ends an answer that came in events.
pub(super) fn end_events(mut stream: &TcpStream) -> io::Result<()> {
    stream.write_all(b"0\r\n\r\n")
}

fn head(status: u16, content_type: &str, headers: &[(String, String)]) -> String {
    let mut head = format!("HTTP/1.1 {status} Scripted\r\ncontent-type: {content_type}\r\n");
    head.push_str("request-id: req_scripted0001\r\nconnection: close\r\n");
    for (name, value) in headers {
        head.push_str(name);
        head.push_str(": ");
        head.push_str(value);
        head.push_str("\r\n");
    }
    head
}
