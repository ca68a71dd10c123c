//! Declared secrets, taken out of bytes on their way into files and onto screens.
//!
//! Found are: the value as it is; escaped once or twice for JSON, with letters beyond ASCII and slashes escaped or not;
//! percent-encoded; in base64 of either alphabet, also inside something longer; and the long lines of a value of
//! many lines. Not found are values in hex, compressed, encrypted, or cut into pieces.
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A value shorter than this stands in too many texts by chance.
pub const SECRET_BYTES_MIN: usize = 6;
/// A value longer than this is not a secret but a document.
pub const SECRET_BYTES_MAX: usize = 16 * 1024;
/// A line of a longer value counts by itself from this length on.
const LINE_BYTES_MIN: usize = 16;
/// So much of a value in base64 says something.
const BASE64_LETTERS_MIN: usize = 12;

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const BASE64_URL: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// A form of a value, and what stands in its place.
type Hidden = (Vec<u8>, Arc<str>);

/// What must not be written down. Does not show it either.
#[derive(Clone, Default)]
pub struct Secrets {
    /// What to look for by its first byte, the longest first, and what stands in its place.
    by_first: BTreeMap<u8, Vec<Hidden>>,
    /// The first bytes, a bit for each: most bytes of a stream are none.
    firsts: [u64; 4],
    names: Vec<String>,
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_tuple("Secrets").field(&self.names).finish()
    }
}

impl Secrets {
    /// From names and values. Also says which of them cannot be taken out, and why, for people.
    #[must_use]
    pub fn new(values: impl IntoIterator<Item = (String, Vec<u8>)>) -> (Self, Vec<String>) {
        let mut patterns: BTreeMap<Vec<u8>, Arc<str>> = BTreeMap::new();
        let (mut secrets, mut notes) = (Self::default(), Vec::new());
        for (name, value) in values {
            if value.len() < SECRET_BYTES_MIN {
                if !value.is_empty() {
                    notes
                        .push(format!("{name} is shorter than {SECRET_BYTES_MIN} bytes and is not taken out of texts"));
                }
                continue;
            }
            if value.len() > SECRET_BYTES_MAX {
                notes.push(format!("{name} is longer than {SECRET_BYTES_MAX} bytes and is not taken out of texts"));
                continue;
            }
            let instead: Arc<str> = format!("[redacted {name}]").into();
            for form in forms(&value) {
                patterns.entry(form).or_insert_with(|| Arc::clone(&instead));
            }
            secrets.names.push(name);
        }
        for (pattern, instead) in patterns {
            if let Some(first) = pattern.first() {
                if let Some(bits) = secrets.firsts.get_mut(usize::from(first >> 6)) {
                    *bits |= 1 << (first & 63);
                }
                secrets.by_first.entry(*first).or_default().push((pattern, instead));
            }
        }
        for patterns in secrets.by_first.values_mut() {
            patterns.sort_by_key(|(pattern, _)| std::cmp::Reverse(pattern.len()));
        }
        (secrets, notes)
    }

    /// Whether there is nothing to take out.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_first.is_empty()
    }

    /// A whole text without them.
    #[must_use]
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.bytes(text.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
        }
    }

    /// Whole bytes without them.
    #[must_use]
    pub fn bytes<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        if self.is_empty() {
            return Cow::Borrowed(bytes);
        }
        let mut out = Vec::new();
        let rest = self.take_out(bytes, true, &mut out);
        debug_assert!(rest.is_empty(), "at the end nothing is waited for");
        if out == bytes { Cow::Borrowed(bytes) } else { Cow::Owned(out) }
    }

    /// Whether something to look for begins with this byte.
    fn is_first(&self, byte: u8) -> bool {
        self.firsts.get(usize::from(byte >> 6)).is_some_and(|bits| bits >> (byte & 63) & 1 == 1)
    }

    /// Writes what is decided to `out` and gives back the rest, which could be the beginning of a secret.
    fn take_out<'a>(&self, bytes: &'a [u8], last: bool, out: &mut Vec<u8>) -> &'a [u8] {
        let (mut rest, mut plain) = (bytes, 0);
        loop {
            let here = rest.get(plain..).unwrap_or_default();
            let skipped = here.iter().position(|byte| self.is_first(*byte)).unwrap_or(here.len());
            plain += skipped;
            let here = here.get(skipped..).unwrap_or_default();
            let Some(patterns) = here.first().map(|first| self.by_first.get(first)) else { break };
            match patterns.map_or(Found::Nothing, |patterns| find(patterns, here, last)) {
                Found::Nothing => plain += 1,
                Found::Perhaps => break,
                Found::Secret(length, instead) => {
                    out.extend_from_slice(rest.get(..plain).unwrap_or_default());
                    out.extend_from_slice(instead.as_bytes());
                    rest = here.get(length..).unwrap_or_default();
                    plain = 0;
                }
            }
        }
        out.extend_from_slice(rest.get(..plain).unwrap_or_default());
        rest.get(plain..).unwrap_or_default()
    }
}

enum Found<'a> {
    Nothing,
    /// More bytes would tell.
    Perhaps,
    Secret(usize, &'a str),
}

/// What begins here. The longest wins, so that a decision never depends on where the bytes were cut.
fn find<'a>(patterns: &'a [(Vec<u8>, Arc<str>)], here: &[u8], last: bool) -> Found<'a> {
    for (pattern, instead) in patterns {
        if here.starts_with(pattern) {
            return Found::Secret(pattern.len(), instead);
        }
        if !last && pattern.starts_with(here) {
            return Found::Perhaps;
        }
    }
    Found::Nothing
}

/// One stream from which secrets are taken out, however it is cut. Holds back less than the longest of them.
#[derive(Debug, Clone, Default)]
pub struct Redactor {
    secrets: Arc<Secrets>,
    held: Vec<u8>,
}

impl Redactor {
    /// For one stream.
    #[must_use]
    pub fn new(secrets: Arc<Secrets>) -> Self {
        Self { secrets, held: Vec::new() }
    }

    /// Takes the next bytes; gives those that are decided.
    pub fn push<'a>(&mut self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        if self.secrets.is_empty() {
            return Cow::Borrowed(bytes);
        }
        let mut out = Vec::with_capacity(bytes.len());
        if self.held.is_empty() {
            self.held = self.secrets.take_out(bytes, false, &mut out).to_vec();
        } else {
            self.held.extend_from_slice(bytes);
            self.held = self.secrets.take_out(&self.held, false, &mut out).to_vec();
        }
        Cow::Owned(out)
    }

    /// What was still held back: the stream is over.
    pub fn finish(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        self.secrets.take_out(&self.held, true, &mut out);
        self.held.clear();
        out
    }

    /// How many bytes are held back.
    #[must_use]
    pub fn held(&self) -> usize {
        self.held.len()
    }
}

/// All that a value can look like.
fn forms(value: &[u8]) -> Vec<Vec<u8>> {
    let mut plain = vec![value.to_vec()];
    let lines = value.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let long = |line: &&[u8]| line.len() >= LINE_BYTES_MIN && line.len() < value.len() && !line.starts_with(b"-----");
    plain.extend(lines.filter(long).map(<[u8]>::to_vec));
    let mut all = Vec::new();
    for one in plain {
        if let Ok(text) = std::str::from_utf8(&one) {
            for ascii in [false, true] {
                for slashes in [false, true] {
                    let once = json(text, ascii, slashes);
                    all.push(json(&once, ascii, slashes).into_bytes());
                    all.push(once.into_bytes());
                }
            }
        }
        all.push(percent(&one));
        for alphabet in [BASE64, BASE64_URL] {
            all.extend(
                (0..3).map(|shift| base64(&one, shift, alphabet)).filter(|form| form.len() >= BASE64_LETTERS_MIN),
            );
        }
        all.push(one);
    }
    all
}

/// The inside of a JSON string.
fn json(text: &str, ascii: bool, slashes: bool) -> String {
    let quoted = serde_json::to_string(text).unwrap_or_default();
    let inside = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or_default();
    let mut out = String::new();
    for letter in inside.chars() {
        match letter {
            '/' if slashes => out.push_str("\\/"),
            letter if ascii && !letter.is_ascii() => {
                let mut units = [0; 2];
                letter.encode_utf16(&mut units).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04x}")));
            }
            letter => out.push(letter),
        }
    }
    out
}

fn percent(value: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for byte in value {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(byte) {
            out.push(*byte);
        } else {
            out.extend_from_slice(format!("%{byte:02X}").as_bytes());
        }
    }
    out
}

/// The letters in base64 that depend on the value alone, where so many bytes stand before it in its group of three.
fn base64(value: &[u8], shift: usize, alphabet: &[u8; 64]) -> Vec<u8> {
    let bits: Vec<u8> = std::iter::repeat_n(0, shift).chain(value.iter().copied()).collect();
    let mut letters = Vec::new();
    for group in bits.chunks(3) {
        let at = |index: usize| u32::from(group.get(index).copied().unwrap_or(0));
        let joined = (at(0) << 16) | (at(1) << 8) | at(2);
        for place in [18, 12, 6, 0] {
            let index = usize::try_from((joined >> place) & 63).unwrap_or(0);
            letters.push(alphabet.get(index).copied().unwrap_or(b'A'));
        }
    }
    // The first letters hold bits of what is before it, the last ones of what comes after.
    let first = (shift * 8).div_ceil(6);
    let end = bits.len() * 8 / 6;
    letters.get(first..end).unwrap_or_default().to_vec()
}
