//! JUnit XML in the output: a tolerant scan of its tags, byte by byte, so that one long line does no harm.
use super::test_list::{FormatTests, TestList};
use super::{Format, TestStatus};

/// A tag longer than this is looked at only so far.
const TAG_BYTES_MAX: usize = 16 * 1024;
/// How deep suites are distinguished.
const DEPTH_MAX: usize = 50;

#[derive(Debug, Default)]
pub(super) struct Junit {
    place: XmlPosition,
    tag: Vec<u8>,
    suites: Vec<String>,
    case: Option<(String, TestStatus)>,
    tests: TestList,
    begun: bool,
}

/// Where in the text the scan is.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum XmlPosition {
    #[default]
    Outside,
    Tag,
    /// Inside a value, until this quote.
    Quoted(u8),
    /// Inside a comment, with how many bytes of its end.
    Comment(u8),
    /// Inside raw text, with how many bytes of its end.
    Raw(u8),
}

impl Format for Junit {
    const NAME: &str = "junit";

    const IS_REPORT: bool = true;

    fn bytes(&mut self, bytes: &[u8]) {
        self.push(bytes);
    }

    fn line(&mut self, _line: &str) {}

    fn merge(&mut self, stderr: Self) {
        self.tests.absorb(stderr.tests);
        self.begun |= stderr.begun;
    }

    fn end(mut self) -> Option<FormatTests> {
        self.close_case();
        (self.begun && !self.tests.is_empty()).then(|| FormatTests::new(Self::NAME, self.tests, None))
    }
}

impl Junit {
    fn push(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            if self.place == XmlPosition::Outside {
                let Some(at) = memchr::memchr(b'<', rest) else { return };
                rest = rest.get(at + 1..).unwrap_or_default();
                self.tag.clear();
                self.place = XmlPosition::Tag;
                continue;
            }
            let Some((byte, after)) = rest.split_first() else { return };
            self.place = self.next(*byte);
            rest = after;
        }
    }

    fn next(&mut self, byte: u8) -> XmlPosition {
        match (self.place, byte) {
            (XmlPosition::Outside, _) => XmlPosition::Outside,
            (XmlPosition::Comment(2), b'>') | (XmlPosition::Raw(2), b'>') => XmlPosition::Outside,
            (XmlPosition::Comment(seen), b'-') => XmlPosition::Comment((seen + 1).min(2)),
            (XmlPosition::Comment(_), _) => XmlPosition::Comment(0),
            (XmlPosition::Raw(seen), b']') => XmlPosition::Raw((seen + 1).min(2)),
            (XmlPosition::Raw(_), _) => XmlPosition::Raw(0),
            (XmlPosition::Quoted(quote), _) => {
                self.keep(byte);
                if byte == quote { XmlPosition::Tag } else { XmlPosition::Quoted(quote) }
            }
            (XmlPosition::Tag, b'>') => {
                self.whole_tag();
                XmlPosition::Outside
            }
            // What was taken for a tag was a sign of its own.
            (XmlPosition::Tag, b'<') => {
                self.tag.clear();
                XmlPosition::Tag
            }
            (XmlPosition::Tag, b'"' | b'\'') if self.is_known() => {
                self.keep(byte);
                XmlPosition::Quoted(byte)
            }
            (XmlPosition::Tag, _) => {
                self.keep(byte);
                match self.tag.as_slice() {
                    b"!--" => XmlPosition::Comment(0),
                    b"![CDATA[" => XmlPosition::Raw(0),
                    _ if self.tag.len() > 12 && !self.is_known() => XmlPosition::Outside,
                    _ => XmlPosition::Tag,
                }
            }
        }
    }

    fn keep(&mut self, byte: u8) {
        if self.tag.len() < TAG_BYTES_MAX {
            self.tag.push(byte);
        }
    }

    /// Whether the tag is one of a report: only there quotes are quotes.
    fn is_known(&self) -> bool {
        let name = self.tag.strip_prefix(b"/").unwrap_or(&self.tag);
        [&b"testsuite"[..], b"testcase", b"failure", b"error", b"skipped", b"![CDATA", b"!--"]
            .iter()
            .any(|known| name.starts_with(known))
    }

    fn whole_tag(&mut self) {
        let tag = std::mem::take(&mut self.tag);
        let text = String::from_utf8_lossy(&tag);
        let text = text.trim();
        let (text, alone) = text.strip_suffix('/').map_or((text, false), |text| (text, true));
        let name = text.split(|letter: char| letter.is_whitespace()).next().unwrap_or_default();
        match name {
            "testsuites" => self.begun = true,
            "testsuite" => {
                self.begun = true;
                if !alone && self.suites.len() < DEPTH_MAX {
                    self.suites.push(attribute(text, "name").unwrap_or_default());
                }
            }
            "/testsuite" => {
                self.close_case();
                self.suites.pop();
            }
            "/testsuites" => self.suites.clear(),
            "testcase" if self.begun => self.case(text, alone),
            "/testcase" => self.close_case(),
            "failure" | "error" => self.turn(TestStatus::Failed),
            "skipped" => self.turn(TestStatus::Skipped),
            _ => {}
        }
    }

    fn case(&mut self, text: &str, alone: bool) {
        self.close_case();
        let name = attribute(text, "name").unwrap_or_default();
        let class = attribute(text, "classname").unwrap_or_default();
        let mut parts: Vec<&str> = self.suites.iter().map(String::as_str).collect();
        if parts.last() != Some(&class.as_str()) {
            parts.push(&class);
        }
        parts.push(&name);
        parts.retain(|part| !part.is_empty());
        let status = match attribute(text, "status").as_deref() {
            Some("notrun" | "disabled" | "skipped") => TestStatus::Skipped,
            Some(_) | None => TestStatus::Passed,
        };
        self.case = Some((parts.join(" > "), status));
        if alone {
            self.close_case();
        }
    }

    fn turn(&mut self, status: TestStatus) {
        if let Some((_, held)) = &mut self.case
            && *held != TestStatus::Failed
        {
            *held = status;
        }
    }

    fn close_case(&mut self) {
        if let Some((id, status)) = self.case.take() {
            self.tests.numbered(&id, status);
        }
    }
}

/// The value of an attribute, with its entities put back.
fn attribute(text: &str, name: &str) -> Option<String> {
    let mut rest = text;
    loop {
        let (before, after) = rest.split_once('=')?;
        let after = after.trim_start();
        let quote = after.chars().next().filter(|sign| matches!(sign, '"' | '\''))?;
        let (value, next) = after.get(1..)?.split_once(quote)?;
        if before.trim_end().rsplit(char::is_whitespace).next() == Some(name) {
            return Some(plain(value));
        }
        rest = next;
    }
}

fn plain(value: &str) -> String {
    let entities = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&#10;", " "), ("&amp;", "&")];
    entities.iter().fold(value.to_owned(), |text, (from, to)| text.replace(from, to))
}
