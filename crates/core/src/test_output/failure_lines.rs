//! Which lines of a gate's output are about a failure, and which are noise.
use super::scan::{counted, indented};

/// How useful a line is for fixing what failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Worth {
    /// What passed, what was downloaded, what the machinery does.
    Noise,
    /// Anything else.
    Plain,
    /// A failure, or its details.
    Failure,
}

/// A part of the output that tells of failures over many lines, until something else comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Until an empty line: a compiler's message, a panic.
    Paragraph,
    /// Until a line that is not indented, that one included: a traceback.
    Traceback,
    /// Until a line that is indented no more than this.
    Deeper(usize),
    /// The details of libtest, until its summary.
    Libtest,
    /// The details of pytest, until the end.
    Pytest,
    /// One failure of nextest, until the next status.
    Nextest,
    /// One failure of jest, until the next file.
    Jest,
    /// One failure of vitest, until its ruler.
    Vitest,
    /// The list at the end of node's runner.
    Node,
    /// The block of details after a TAP point; whether the point failed.
    Tap { failed: bool },
    /// The text of a failure in a report.
    Junit,
    /// A panic of a Go program, until its package is named.
    Go,
}

/// After so many lines of one part the rest of it is no longer worth more than others.
const PART_LINES_MAX: usize = 120;

/// The lines of one voice being judged.
#[derive(Debug, Default)]
pub(super) struct FailureLines {
    part: Option<Part>,
    lines: usize,
}

impl FailureLines {
    pub(super) fn worth(&mut self, line: &str) -> Worth {
        if let Some(worth) = self.in_part(line) {
            return worth;
        }
        if let Some(part) = begins(line) {
            self.part = Some(part);
            self.lines = 0;
            return if part == (Part::Tap { failed: false }) { Worth::Noise } else { Worth::Failure };
        }
        if is_failure(line) {
            return Worth::Failure;
        }
        if is_noise(line) { Worth::Noise } else { Worth::Plain }
    }

    /// What the line is where a part goes on; none where there is none, or it ends before this line.
    fn in_part(&mut self, line: &str) -> Option<Worth> {
        let part = self.part?;
        self.lines += 1;
        if ends_before(part, line) {
            self.part = None;
            return None;
        }
        if ends_with(part, line) {
            self.part = None;
        }
        // The next failure of the same kind begins a part of its own.
        if begins(line) == Some(part) && !matches!(part, Part::Deeper(_)) {
            self.lines = 0;
        }
        if part == (Part::Tap { failed: false }) || is_frame(line) {
            return Some(Worth::Noise);
        }
        Some(if self.lines > PART_LINES_MAX { Worth::Plain } else { Worth::Failure })
    }
}

fn begins(line: &str) -> Option<Part> {
    let (indent, rest) = indented(line);
    if line.starts_with("---- ") && line.ends_with(" ----") {
        return Some(Part::Libtest);
    }
    if line.starts_with("==")
        && (line.contains(" FAILURES ==")
            || line.contains(" ERRORS ==")
            || line.contains(" short test summary info =="))
    {
        return Some(Part::Pytest);
    }
    if is_status(rest).is_some_and(|failed| failed) && indent > 0 {
        return Some(Part::Nextest);
    }
    if indent == 2 && rest.starts_with("● ") && rest != "● Console" {
        return Some(Part::Jest);
    }
    if line.starts_with(" FAIL  ") {
        return Some(Part::Vitest);
    }
    if line == "✖ failing tests:" {
        return Some(Part::Node);
    }
    if rest.starts_with("not ok ") && rest.len() > 7 {
        return Some(Part::Tap { failed: true });
    }
    if is_tap_point(rest) {
        return Some(Part::Tap { failed: false });
    }
    if (rest.trim_start().starts_with("<failure") || rest.trim_start().starts_with("<error"))
        && !line.contains("</")
        && !line.ends_with("/>")
    {
        return Some(Part::Junit);
    }
    if line.starts_with("panic: ") {
        return Some(Part::Go);
    }
    if rest.starts_with("--- FAIL: ") {
        return Some(Part::Deeper(indent));
    }
    if rest.starts_with("Traceback (most recent call last):") {
        return Some(Part::Traceback);
    }
    let panics = rest.starts_with("thread '") && rest.contains(" panicked at");
    (panics || is_compiler_error(line)).then_some(Part::Paragraph)
}

fn ends_before(part: Part, line: &str) -> bool {
    let (indent, rest) = indented(line);
    match part {
        Part::Paragraph => line.trim().is_empty() || is_noise(line),
        Part::Traceback => false,
        Part::Deeper(than) => (indent <= than && !line.starts_with('\t')) || is_noise(line),
        Part::Libtest => line == "failures:" || line.starts_with("test result: "),
        Part::Pytest => {
            line.starts_with("==") && (line.contains(" PASSES ==") || line.contains(" test session starts =="))
        }
        Part::Nextest => {
            line.starts_with("────")
                || line.starts_with("error: ")
                || (indent < 13 && is_status(rest) == Some(false))
                || rest.starts_with("Summary [")
        }
        Part::Jest => ["PASS ", "FAIL ", "Test Suites: "].iter().any(|word| line.starts_with(word)),
        Part::Vitest => line.starts_with("⎯⎯"),
        Part::Node | Part::Junit => false,
        Part::Tap { failed } => match rest {
            "---" | "..." => false,
            _ => {
                let point = rest.starts_with("not ok ") || is_tap_point(rest);
                point || rest.starts_with("# ") || rest.starts_with("1..") || (!failed && indent == 0)
            }
        },
        Part::Go => line.starts_with("FAIL"),
    }
}

fn ends_with(part: Part, line: &str) -> bool {
    match part {
        Part::Traceback => !line.starts_with([' ', '\t']) && !line.is_empty(),
        Part::Tap { .. } => line.trim() == "...",
        Part::Junit => line.contains("</failure>") || line.contains("</error>"),
        Part::Pytest => line.starts_with("==") && counted(line.trim_matches('=')).is_some(),
        Part::Paragraph
        | Part::Deeper(_)
        | Part::Libtest
        | Part::Nextest
        | Part::Jest
        | Part::Vitest
        | Part::Node
        | Part::Go => false,
    }
}

/// A status line of nextest, and whether it tells of a failure.
fn is_status(rest: &str) -> Option<bool> {
    let (status, _) = rest.split_once(" [")?;
    let word = status.rsplit(' ').next().unwrap_or(status);
    match word {
        "PASS" | "SKIP" | "LEAK" | "SLOW" => Some(false),
        "FAIL" | "TIMEOUT" | "ABORT" | "TMT" | "ABRT" | "SEGV" => Some(true),
        word if word.starts_with("SIG") => Some(true),
        _ => None,
    }
}

fn is_tap_point(rest: &str) -> bool {
    rest.strip_prefix("ok ").is_some_and(|rest| counted(rest).is_some() || rest.starts_with("- "))
}

/// The first line of a compiler's or linter's message.
fn is_compiler_error(line: &str) -> bool {
    let rest = line.trim_start();
    if rest.starts_with("error: ") || rest.starts_with("error[") || rest.starts_with("fatal error: ") {
        return true;
    }
    if line.contains(": error: ")
        || line.contains(": fatal error: ")
        || line.contains("): error TS")
        || line.contains(" - error TS")
    {
        return true;
    }
    is_place_of_go(line)
}

/// `bad/b_test.go:3:32: declared and not used: s`.
fn is_place_of_go(line: &str) -> bool {
    let Some((place, _)) = line.split_once(": ") else { return false };
    let mut parts = place.rsplit(':');
    let numbers = [parts.next(), parts.next()]
        .iter()
        .flatten()
        .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()));
    numbers && parts.next().is_some_and(|file| file.ends_with(".go") && !file.contains(' '))
}

/// A line that tells of a failure by itself.
fn is_failure(line: &str) -> bool {
    let (_, rest) = indented(line);
    let begins = [
        "FAIL",
        "FAILED ",
        "ERROR ",
        "✕ ",
        "✖ ",
        "× ",
        "✗ ",
        "→ ",
        "test result: FAILED",
        "make: *** ",
        "npm ERR! ",
        "npm error ",
        "Bail out!",
        "fatal: ",
    ];
    (rest.starts_with("test ") && rest.ends_with(" ... FAILED"))
        || rest.ends_with(" --- FAILED")
        || begins.iter().any(|begin| rest.starts_with(begin))
        || rest.contains("  error  ")
        || (line.contains("::") && line.contains(" FAILED "))
        || (line.contains("::") && line.contains(" ERROR "))
        || is_error_name(rest)
}

/// `ValueError: …`, `Uncaught TypeError: …`, `java.lang.NullPointerException: …`.
pub(super) fn is_error_name(rest: &str) -> bool {
    let Some((name, _)) = rest.split_once(": ") else { return false };
    let name = name.rsplit([' ', '.']).next().unwrap_or(name);
    (name.ends_with("Error") || name.ends_with("Exception")) && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// A frame of a backtrace that is not in the project.
fn is_frame(line: &str) -> bool {
    let rest = line.trim_start();
    if rest.starts_with("at /rustc/") || rest.contains("(node:internal/") || rest.contains("/node_modules/") {
        return rest.starts_with("at ");
    }
    let Some((number, name)) = rest.split_once(": ") else { return false };
    let inner = ["std::", "core::", "__rustc", "test::", "<fn() ", "rust_begin_unwind", "<core::", "<std::"];
    !number.is_empty()
        && number.bytes().all(|byte| byte.is_ascii_digit())
        && inner.iter().any(|begin| name.starts_with(begin))
}

const CARGO: [&str; 14] = [
    "Compiling ",
    "Checking ",
    "Downloading ",
    "Downloaded ",
    "Updating ",
    "Fresh ",
    "Finished ",
    "Running ",
    "Blocking ",
    "Locking ",
    "Adding ",
    "Doc-tests ",
    "Building ",
    "Dirty ",
];
const OTHERS: [&str; 16] = [
    "=== RUN ",
    "=== PAUSE ",
    "=== CONT ",
    "=== NAME ",
    "--- PASS: ",
    "--- SKIP: ",
    "ok  \t",
    "?   \t",
    "✓ ",
    "✔ ",
    "√ ",
    "PASS ",
    "Collecting ",
    "Requirement already ",
    "Using cached ",
    "go: downloading ",
];

fn is_noise(line: &str) -> bool {
    let (indent, rest) = indented(line);
    let passed = |rest: &str| [" ... ok", " ... ignored"].iter().any(|end| rest.ends_with(end));
    (rest.starts_with("test ") && (passed(rest) || rest.contains(" ... ignored, ")))
        || (indent >= 2 && CARGO.iter().any(|begin| rest.starts_with(begin)))
        || OTHERS.iter().any(|begin| rest.starts_with(begin))
        || (rest.starts_with("running ") && (rest.ends_with(" tests") || rest.ends_with(" test")))
        || is_status(rest) == Some(false)
        || (line.contains("::") && (line.contains(" PASSED") || line.contains(" SKIPPED")))
        || (rest.trim_start().starts_with("<testcase") && line.ends_with("/>"))
        || is_progress(rest)
        || is_frame(line)
}

/// Dots, bars and percentages.
fn is_progress(rest: &str) -> bool {
    let bare = rest.split(" [").next().unwrap_or(rest).trim();
    let dots =
        bare.len() >= 2 && bare.bytes().all(|byte| matches!(byte, b'.' | b's' | b'x' | b'i')) && bare.contains('.');
    let bar = rest.contains('█') || rest.contains('━') || rest.contains("=====>") || rest.contains("##########");
    dots || bar
        || (rest.ends_with("%]")
            && !rest.contains("FAILED")
            && !rest.contains("ERROR")
            && !rest.contains('F')
            && !rest.contains('E'))
}
