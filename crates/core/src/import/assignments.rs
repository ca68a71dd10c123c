//! Lines of `KEY=VALUE`, with their numbers: as a shell would read them but never run, and plain ones.

/// How many lines a value in quotes may have.
const QUOTED_LINES_MAX: usize = 200;

/// One assignment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SourceAssignment {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) name: String,
    pub(super) value: Assigned,
}

/// What is assigned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Assigned {
    Text(String),
    /// Only a shell that runs it could say the value.
    ShellCode(String),
}

impl Assigned {
    /// As it is shown.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Text(text) | Self::ShellCode(text) => text.clone(),
        }
    }
}

/// The assignments of a file that a shell would read. Lines that are none are left to the caller.
pub(super) fn of_shell(text: &str) -> Vec<SourceAssignment> {
    let lines: Vec<&str> = text.trim_start_matches('\u{feff}').lines().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        let begin = at;
        at += 1;
        let line = line.trim();
        let line = line.strip_prefix("export ").unwrap_or(line).trim_start();
        let Some((name, rest)) = line.split_once('=').filter(|(name, _)| is_name(name)) else { continue };
        let mut whole = rest.to_owned();
        if let Some(quote) = rest.chars().next().filter(|letter| ['"', '\''].contains(letter)) {
            let is_open = |text: &str| text.chars().skip(1).all(|letter| letter != quote);
            let most = lines.len().min(begin + QUOTED_LINES_MAX);
            while is_open(&whole) && at < most {
                whole = format!("{whole}\n{}", lines.get(at).copied().unwrap_or_default());
                at += 1;
            }
            if is_open(&whole) {
                at = begin + 1;
                whole = rest.to_owned();
            }
        }
        found.push(SourceAssignment { from: begin + 1, to: at, name: name.to_owned(), value: shell_value(&whole) });
    }
    found
}

/// The assignments of a file of `key = value`, without quotes and without comments behind a value.
pub(super) fn of_ini(text: &str) -> Vec<SourceAssignment> {
    let mut found = Vec::new();
    for (line, number) in text.trim_start_matches('\u{feff}').lines().zip(1..) {
        let line = line.trim();
        if line.starts_with(['#', ';']) {
            continue;
        }
        if let Some((name, value)) = line.split_once('=').map(|(name, value)| (name.trim(), value.trim()))
            && is_name(name)
        {
            let value = Assigned::Text(value.to_owned());
            found.push(SourceAssignment { from: number, to: number, name: name.to_owned(), value });
        }
    }
    found
}

fn is_name(name: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    !name.is_empty() && name.chars().all(plain) && !name.starts_with(|letter: char| letter.is_ascii_digit())
}

/// A value in quotes or not, with a comment behind it or not.
fn shell_value(text: &str) -> Assigned {
    let code = || Assigned::ShellCode(text.trim().to_owned());
    let (value, behind) = match text.chars().next() {
        Some(quote @ ('"' | '\'')) => match text.get(1..).and_then(|rest| rest.split_once(quote)) {
            Some((value, behind)) => (value, behind),
            None => return code(),
        },
        _ => text.split_once(char::is_whitespace).unwrap_or((text, "")),
    };
    let behind = behind.trim();
    if !behind.is_empty() && !behind.starts_with('#') {
        return code();
    }
    if text.starts_with('\'') {
        return Assigned::Text(value.to_owned());
    }
    let value = default_of(value).unwrap_or(value);
    let runs =
        value.contains(['$', '`', '\\']) || (!text.starts_with('"') && value.contains([';', '&', '|', '(', '<']));
    if runs { code() } else { Assigned::Text(value.to_owned()) }
}

/// `${NAME:-default}` is its default where the variable is not set.
fn default_of(value: &str) -> Option<&str> {
    let inside = value.strip_prefix("${")?.strip_suffix('}')?;
    inside.split_once(":-").filter(|(name, _)| is_name(name)).map(|(_, default)| default)
}
