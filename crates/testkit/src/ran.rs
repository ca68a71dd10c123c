//! What a run of the built program showed.
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

/// A program under way.
#[derive(Debug)]
pub struct Running {
    child: Child,
    root: PathBuf,
}

impl Running {
    pub(crate) fn new(child: Child, root: &Path) -> Self {
        Self { child, root: root.to_owned() }
    }

    /// Wraps any child whose outputs are piped.
    #[must_use]
    pub fn of(child: Child, root: &Path) -> Self {
        Self::new(child, root)
    }

    /// Its process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its exit code, once it has ended.
    pub fn code(&mut self) -> Option<i32> {
        self.child.try_wait().ok().flatten().and_then(|status| status.code())
    }

    /// Sends it a signal by name.
    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill").args(["-s", name, &self.pid().to_string()]).status();
        assert!(sent.expect("kill").success(), "kill -s {name}");
    }

    /// Gives it all of its stdin.
    pub fn feed(mut self, bytes: &[u8]) -> Self {
        if let Some(mut stdin) = self.child.stdin.take() {
            stdin.write_all(bytes).ok();
        }
        self
    }

    /// Gives it a part of its stdin, which stays open.
    pub fn type_in(&mut self, bytes: &[u8]) {
        let stdin = self.child.stdin.as_mut().expect("its stdin is a pipe");
        stdin.write_all(bytes).and_then(|()| stdin.flush()).expect("it reads");
    }

    /// Waits for its end.
    #[must_use]
    pub fn end(mut self) -> Ran {
        let mut stderr = self.child.stderr.take();
        let reader = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            stderr.as_mut().map(|pipe| pipe.read_to_end(&mut bytes));
            bytes
        });
        let mut stdout = Vec::new();
        self.child.stdout.take().map(|mut pipe| pipe.read_to_end(&mut stdout));
        let status = self.child.wait().expect("its end");
        let stderr = reader.join().expect("its stderr");
        Ran { code: status.code(), stdout, stderr, root: self.root.clone() }
    }
}

/// How a program ended and what it wrote.
#[derive(Debug, Clone)]
pub struct Ran {
    /// The exit code; none if a signal ended it.
    pub code: Option<i32>,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    root: PathBuf,
}

impl Ran {
    /// stdout as text.
    #[must_use]
    pub fn out(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// stderr as text.
    #[must_use]
    pub fn err(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }

    /// stdout as JSON.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.stdout).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// Exit code, stdout and stderr in one text, with ids, paths, times and durations made the same everywhere.
    #[must_use]
    pub fn text(&self) -> String {
        let code = self.code.map_or_else(|| "signal".to_owned(), |code| code.to_string());
        let text = format!("exit {code}\n--- stdout\n{}--- stderr\n{}", self.out(), self.err());
        self.same_everywhere(&text)
    }

    /// A text with ids, paths, times and durations made the same everywhere.
    #[must_use]
    pub fn same_everywhere(&self, text: &str) -> String {
        let text = text.replace(&self.root.display().to_string(), "$ROOT");
        let words = text.split_inclusive(|letter: char| {
            !(letter.is_ascii_alphanumeric() || letter == '-' || letter == ':' || letter == '.')
        });
        let text: String = words.map(same_word).collect();
        let text = same_minutes(&text);
        text.lines()
            .map(|line| same_size(line) + if text.ends_with('\n') || !text.ends_with(line) { "\n" } else { "" })
            .collect()
    }

    /// Fails with everything that was seen unless the exit code is this.
    #[track_caller]
    pub fn expect_code(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}", self.text());
        self
    }
}

/// `"bytes": 8192` depends on the file system.
fn same_size(line: &str) -> String {
    match line.split_once("\"bytes\": ") {
        Some((before, _)) => format!("{before}\"bytes\": $BYTES"),
        None => line.to_owned(),
    }
}

/// `2026-12-17 14:30`, in the time of this place.
fn same_minutes(text: &str) -> String {
    const FORM: &[u8] = b"0000-00-00 00:00";
    let fits = |piece: &str| {
        let digits = |byte: u8| if byte.is_ascii_digit() { b'0' } else { byte };
        piece.bytes().map(digits).eq(FORM.iter().copied())
    };
    let (mut same, mut rest) = (String::new(), text);
    while let Some(letter) = rest.chars().next() {
        match rest.get(..FORM.len()).filter(|piece| fits(piece)) {
            Some(_) => {
                same.push_str("$MOMENT");
                rest = &rest[FORM.len()..];
            }
            None => {
                same.push(letter);
                rest = &rest[letter.len_utf8()..];
            }
        }
    }
    same
}

fn same_word(piece: &str) -> String {
    let word = piece.trim_end_matches(|letter: char| !(letter.is_ascii_alphanumeric()));
    let rest = &piece[word.len()..];
    let is_id = word.len() == 7
        && word.bytes().all(|byte| b"0123456789abcdefghjkmnpqrstvwxyz".contains(&byte))
        && word.ends_with(|last: char| last.is_ascii_digit());
    let number = word.strip_suffix('s').or_else(|| word.strip_suffix("ms"));
    let is_duration = number.is_some_and(|number| number.parse::<f64>().is_ok());
    let is_time = word.len() >= 20 && word.ends_with('Z') && word.contains('T') && word.contains(':');
    let is_clock = word.len() == 8 && word.bytes().filter(|byte| *byte == b':').count() == 2;
    let is_fraction = word.contains('.') && word.parse::<f64>().is_ok();
    let is_hash = word.len() == 64 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let same = match (is_id, is_duration, is_time || is_clock, is_fraction, is_hash) {
        (true, ..) => "$ID",
        (_, true, ..) => "$TIME",
        (_, _, true, ..) => "$MOMENT",
        (_, _, _, true, _) => "$SECONDS",
        (.., true) => "$HASH",
        _ => word,
    };
    format!("{same}{rest}")
}
