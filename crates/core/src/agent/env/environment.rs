//! Which of a person's variables an agent gets: families from one catalogue, the agent's own, and those named by hand.
use std::collections::BTreeMap;

use super::catalogue::{FAMILIES, FIXED, MARKERS, SECRET_WORDS, SOCKETS};
use crate::agent::registry::ADAPTERS;

/// So many variables may be named by hand.
const EXTRAS_MAX: usize = 256;

/// What `--agent-env` says: `NAME` passes the person's own value, `NAME=VALUE` sets one, `AWS_*` passes many.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentEnv {
    entries: Vec<Entry>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Entry {
    /// One variable as it is.
    Pass(String),
    /// All that fit a name with `*` in it.
    Glob(String),
    /// One variable with this value.
    Set(String, String),
}

/// An entry that cannot be taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{entry:?} {why}")]
pub struct AgentEnvError {
    /// What was written, without a value.
    pub entry: String,
    /// WithheldReason not.
    pub why: &'static str,
}

impl AgentEnv {
    /// Reads `NAME[=VALUE],…`; entries may stand on lines of their own too. A comma inside a value is written `\,`.
    ///
    /// # Errors
    /// The first entry that cannot be taken. Values are never repeated: they may be secrets.
    pub fn parse(text: &str) -> Result<Self, AgentEnvError> {
        let mut entries = Vec::new();
        for written in split(text) {
            if written.trim().is_empty() {
                continue;
            }
            let entry = entry(&written)?;
            if entries.len() >= EXTRAS_MAX {
                return Err(AgentEnvError { entry: "--agent-env".to_owned(), why: "names too many variables" });
            }
            entries.push(entry);
        }
        Ok(Self { entries })
    }

    /// The same from names alone, such as an agent that a person described may ask for. Invalid names are left out.
    #[must_use]
    pub fn of_names<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        Self { entries: names.into_iter().filter_map(|name| entry(name).ok()).take(EXTRAS_MAX).collect() }
    }

    /// Both, the other one's values winning.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        self.entries.extend(other.entries.iter().cloned());
        self
    }

    pub(in crate::agent) fn names(&self, name: &str) -> bool {
        self.entries.iter().any(|entry| matches!(entry, Entry::Pass(known) if known == name))
    }

    /// Whether the value of this one stands in it.
    #[must_use]
    pub fn sets(&self, name: &str) -> bool {
        self.entries.iter().any(|entry| matches!(entry, Entry::Set(known, _) if known == name))
    }

    fn fits(&self, name: &str) -> bool {
        self.entries.iter().any(|entry| matches!(entry, Entry::Glob(glob) if glob_fits(glob, name)))
    }
}

fn split(text: &str) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            ',' | '\n' => all.push(String::new()),
            '\\' if letters.next_if_eq(&',').is_some() => push(&mut all, ','),
            letter => push(&mut all, letter),
        }
    }
    all
}

fn push(all: &mut [String], letter: char) {
    if let Some(last) = all.last_mut() {
        last.push(letter);
    }
}

fn entry(written: &str) -> Result<Entry, AgentEnvError> {
    let (name, value) = match written.split_once('=') {
        Some((name, value)) => (name.trim(), Some(value)),
        None => (written.trim(), None),
    };
    let refuse = |why| Err(AgentEnvError { entry: crate::text::one_line(name, 80), why });
    let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    if is_token(name) {
        return refuse("is a token of this program's own, which no agent gets");
    }
    match value {
        Some(value) if value.contains('\0') => refuse("has a value with a NUL byte"),
        _ if name.is_empty() => refuse("has no name"),
        _ if name.starts_with(|letter: char| letter.is_ascii_digit()) => refuse("begins with a digit"),
        Some(value) if name.chars().all(plain) => Ok(Entry::Set(name.to_owned(), value.to_owned())),
        Some(_) => refuse("is not a name of a variable: use letters, digits and _"),
        None if name.chars().all(plain) => Ok(Entry::Pass(name.to_owned())),
        None if name.chars().all(|letter| plain(letter) || letter == '*') => Ok(Entry::Glob(name.to_owned())),
        None => refuse("is not a name of a variable: use letters, digits, _ and *"),
    }
}

/// Whether a name fits a pattern in which `*` stands for anything.
pub(crate) fn glob_fits(glob: &str, name: &str) -> bool {
    let mut pieces = glob.split('*');
    let Some(mut rest) = pieces.next().and_then(|first| name.strip_prefix(first)) else { return false };
    let mut pieces: Vec<&str> = pieces.collect();
    let Some(last) = pieces.pop() else { return rest.is_empty() };
    for piece in pieces {
        let Some(at) = rest.find(piece) else { return false };
        rest = rest.get(at + piece.len()..).unwrap_or_default();
    }
    rest.ends_with(last)
}

/// WithheldReason a variable is not passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WithheldReason {
    /// No family has it.
    Unlisted,
    /// A family would pass it, and its name says that it is a secret of something else.
    Secret,
    /// It leads to a socket: an agent of keys, a bus, a container engine.
    Socket,
    /// It says that we are inside a person's own agent session.
    Marker,
    /// It is a token of ours.
    Token,
}

impl WithheldReason {
    /// In words, for a table.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Unlisted => "not on the list",
            Self::Secret => "looks like a secret",
            Self::Socket => "leads to a socket",
            Self::Marker => "marks another agent's session",
            Self::Token => "a token of loop's own",
        }
    }
}

/// What an agent gets and what it does not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentVariables {
    /// Name and value of what it gets.
    pub passed: BTreeMap<String, String>,
    /// What it does not get, by name.
    pub withheld: BTreeMap<String, WithheldReason>,
    /// What was named by hand and is not set.
    pub unset: Vec<String>,
}

impl AgentVariables {
    fn add(&mut self, extra: &AgentEnv) {
        for entry in &extra.entries {
            match entry {
                Entry::Set(name, value) => {
                    self.withheld.remove(name);
                    self.passed.insert(name.clone(), value.clone());
                }
                Entry::Pass(name) if !self.passed.contains_key(name) => self.unset.push(name.clone()),
                Entry::Pass(_) | Entry::Glob(_) => {}
            }
        }
    }
}

/// Chooses from a person's variables. `own` are the beginnings of the names of the agent's own variables.
pub fn choose(own: &[&str], ambient: impl IntoIterator<Item = (String, String)>, extra: &AgentEnv) -> AgentVariables {
    let mut chosen = AgentVariables::default();
    for (name, value) in ambient {
        match judge(own, &name, extra) {
            Ok(()) => {
                chosen.passed.insert(name, value);
            }
            Err(Some(why)) => {
                chosen.withheld.insert(name, why);
            }
            Err(None) => {}
        }
    }
    chosen.add(extra);
    chosen
}

/// Ends of the names of variables that name a place on this machine.
const PLACES: [&str; 5] = ["_HOME", "_DIR", "_PATH", "_FILE", "_CONFIG"];

/// Chooses for an agent that works in a container, where paths and toolchains are others: its own, unless they name a place here, and
/// those named by hand.
pub fn choose_inside(
    own: &[&str],
    ambient: impl IntoIterator<Item = (String, String)>,
    extra: &AgentEnv,
) -> AgentVariables {
    let mut chosen = choose(own, ambient, extra);
    let is_own = |name: &str| own.iter().any(|beginning| !beginning.is_empty() && name.starts_with(beginning));
    let by_hand = |name: &str| extra.names(name) || extra.sets(name) || extra.fits(name);
    let is_place =
        |name: &str, value: &str| value.starts_with('/') && PLACES.iter().any(|ending| name.ends_with(ending));
    chosen.passed.retain(|name, value| (is_own(name) && !is_place(name, value)) || by_hand(name));
    chosen
}

/// Whether a variable is passed; else why not, where that is worth telling.
fn judge(own: &[&str], name: &str, extra: &AgentEnv) -> Result<(), Option<WithheldReason>> {
    if is_token(name) {
        return Err(Some(WithheldReason::Token));
    }
    if extra.names(name) {
        return Ok(());
    }
    if FIXED.contains(&name) {
        return Err(None);
    }
    let mut markers = ADAPTERS.iter().flat_map(|adapter| adapter.markers).chain(MARKERS);
    if markers.any(|marker| glob_fits(marker, name)) {
        return Err(Some(WithheldReason::Marker));
    }
    if SOCKETS.iter().any(|socket| glob_fits(socket, name)) {
        return Err(Some(WithheldReason::Socket));
    }
    if extra.fits(name) || own.iter().any(|beginning| !beginning.is_empty() && name.starts_with(beginning)) {
        return Ok(());
    }
    let mut listed = FAMILIES.iter().flat_map(|family| family.names).filter(|known| glob_fits(known, name));
    match listed.next() {
        None => Err(Some(WithheldReason::Unlisted)),
        // A name that is listed letter by letter was looked at; one that only fits a pattern was not.
        Some(known) if known.contains('*') && is_secret(name) => Err(Some(WithheldReason::Secret)),
        Some(_) => Ok(()),
    }
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    SECRET_WORDS.iter().any(|word| name.contains(word)) || name.ends_with("_KEY")
}

/// Whether a variable is a token of ours, which no program gets that we start.
#[must_use]
pub fn is_token(name: &str) -> bool {
    name.starts_with("LOOPD_") || (["LOOP_", "LOOPR_"].iter().any(|ours| name.starts_with(ours)) && is_secret(name))
}

/// The whole of a person's variables less our tokens, and what was named by hand: for commands that the person wrote.
pub fn everything(ambient: impl IntoIterator<Item = (String, String)>, extra: &AgentEnv) -> AgentVariables {
    let mut chosen = AgentVariables::default();
    for (name, value) in ambient {
        if is_token(&name) {
            chosen.withheld.insert(name, WithheldReason::Token);
        } else {
            chosen.passed.insert(name, value);
        }
    }
    chosen.add(extra);
    chosen
}
