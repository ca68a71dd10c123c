//! What a person sees when a command cannot do what was asked: what, why, and what to do.
use std::error::Error;
use std::process::ExitCode;

use loop_host::refusal::LaunchRefusal;
// Whose turn it is to act; it picks the exit code.
pub use loop_host::refusal::RefusalKind as Kind;

use super::printer::{Loudness, Printer};
use super::summary::quoted;
use super::wrap::hanging;

/// An error with what to do about it.
#[derive(Debug)]
pub struct CommandError(LaunchRefusal);

impl From<LaunchRefusal> for CommandError {
    fn from(refusal: LaunchRefusal) -> Self {
        Self(refusal)
    }
}

impl CommandError {
    /// Says what is wrong.
    #[must_use]
    pub fn new(kind: Kind, what: impl Into<String>) -> Self {
        Self(LaunchRefusal::new(kind, what))
    }

    /// Says what is wrong by an error and its causes.
    #[must_use]
    pub fn of(kind: Kind, error: &dyn Error) -> Self {
        Self(LaunchRefusal::of(kind, error))
    }

    /// Adds why.
    #[must_use]
    pub fn because(self, why: impl Into<String>) -> Self {
        Self(self.0.because(why))
    }

    /// Adds what the person can do now.
    #[must_use]
    pub fn hint(self, text: impl Into<String>) -> Self {
        Self(self.0.hint(text))
    }

    /// What is wrong, in one sentence.
    #[must_use]
    pub fn what(&self) -> &str {
        &self.0.what
    }

    /// The text for stderr.
    #[must_use]
    pub fn render(&self) -> String {
        let clean = loop_core::text::escaped_lines;
        let mut text = format!("error: {}\n", clean(&self.0.what));
        for why in &self.0.why {
            text.push_str(&format!("  because: {}\n", clean(why)));
        }
        for hint in &self.0.hints {
            text.push_str(&format!("hint: {}\n", clean(hint)));
        }
        text
    }

    /// What is wrong and why, in one line.
    #[must_use]
    pub fn sentence(&self) -> String {
        self.0.sentence()
    }

    /// The exit code.
    #[must_use]
    pub fn code(&self) -> u8 {
        match self.0.kind {
            Kind::Wrong => 4,
            Kind::Unable => 3,
            Kind::Silent => 5,
        }
    }

    /// Shows it and says how the program ends.
    #[must_use]
    pub fn show(&self) -> ExitCode {
        let text = self.render();
        let shown = match loop_host::terminal::columns(std::io::stderr()) {
            Some(columns) => wrapped(&text, columns),
            None => text,
        };
        Printer::new(Loudness::Normal).error(&shown);
        ExitCode::from(self.code())
    }
}

/// Long sentences between words. Hints stay as they are: their commands are copied.
fn wrapped(text: &str, columns: usize) -> String {
    let line = |line: &str| match line.starts_with("error: ") || line.starts_with("  because: ") {
        true => hanging(line, 4, columns) + "\n",
        false => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

fn is_setting(argument: &str) -> bool {
    let name = argument.split(['=', ' ']).next().unwrap_or_default();
    loop_core::settings::catalogue().any(|key| name.strip_prefix("--") == Some(key.flag.long))
}

/// How the command is typed, as clap says it.
fn usage(error: &clap::Error) -> Option<String> {
    let text = error.to_string();
    text.lines().find_map(|line| line.strip_prefix("Usage: ")).map(str::to_owned)
}

/// The command that was used, as the usage in clap's message names it.
fn used(error: &clap::Error, command: &clap::Command) -> clap::Command {
    let usage = usage(error).unwrap_or_default();
    let mut found = command;
    for word in usage.split_whitespace().skip(1) {
        let Some(sub) = found.get_subcommands().find(|sub| sub.get_name() == word) else { break };
        found = sub;
    }
    found.clone()
}

/// What people type for a flag of another name.
const OTHER_NAMES: [(&str, &str); 3] =
    [("--budget", "--max-cost"), ("--cost", "--max-cost"), ("--model", "--agent-model")];

/// A hint for a flag that does not exist; none where nothing is near.
fn near_flag(typed: &str, command: &clap::Command) -> Option<String> {
    let flags: Vec<String> = command
        .get_arguments()
        .filter(|arg| !arg.is_hide_set())
        .filter_map(|arg| Some(format!("--{}", arg.get_long()?)))
        .collect();
    let has = |name: &str| flags.iter().any(|flag| flag == name);
    if typed == "--max-turns" && has("--agent") {
        return Some(
            "it is a flag of the agent's own: put it behind --, as in: loop start … -- --max-turns 40".to_owned(),
        );
    }
    let other = OTHER_NAMES.iter().find(|(name, flag)| *name == typed && has(flag)).map(|(_, flag)| *flag);
    let near = other.or_else(|| loop_core::text::nearest(typed, flags.iter().map(String::as_str)))?;
    Some(format!("did you mean {near}?"))
}

/// The words behind the name of the program, for people; `std::env::args` would panic where one is not UTF-8.
pub(crate) fn typed_words() -> Vec<String> {
    std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect()
}

/// How a text is typed that begins with a dash; none for another word.
fn dashed_text(argument: &str) -> Option<String> {
    let words = typed_words();
    let is_it = |word: &&String| word.starts_with(argument) && word.as_str() != argument;
    let at = words.iter().position(|word| is_it(&word))?;
    let text = quoted(words.get(at)?);
    match words.get(at.checked_sub(1)?).map(String::as_str) {
        Some("--inject") => Some(format!("a text that begins with a dash: --inject={text}")),
        _ if words.first().is_some_and(|verb| verb == "inject") => {
            Some(format!("a text that begins with a dash stands behind two dashes: loop inject -- {text}"))
        }
        Some(_) | None => None,
    }
}

/// What clap says, in our form: one line of what, one of why, one hint.
#[expect(clippy::wildcard_enum_match_arm, reason = "the kinds of clap are an open list")]
pub(crate) fn from_clap(error: &clap::Error, command: &clap::Command) -> CommandError {
    use clap::error::{ContextKind, ErrorKind};
    let get = |kind: ContextKind| error.get(kind).map(ToString::to_string);
    let argument = get(ContextKind::InvalidArg).unwrap_or_default();
    let help = format!("`{0} --help` and `{0} <command> --help` list what there is", command.get_name());
    let why_text;
    let (what, why) = match error.kind() {
        ErrorKind::UnknownArgument if !argument.starts_with('-') => {
            (format!("{argument:?} is one argument too many"), "texts of several words need quotes")
        }
        ErrorKind::UnknownArgument if is_setting(&argument) => {
            (format!("{argument} cannot be given here"), "it is fixed when a loop starts")
        }
        ErrorKind::UnknownArgument => (format!("unknown argument {argument}"), "no flag has this name here"),
        ErrorKind::InvalidSubcommand => {
            let word = get(ContextKind::InvalidSubcommand).unwrap_or_default();
            (format!("unknown command {word}"), "no command has this name")
        }
        ErrorKind::MissingRequiredArgument => (format!("{argument} is missing"), "the command needs it"),
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let of = used(error, command);
            let names = of.get_subcommands().filter(|known| !known.is_hide_set() && known.get_name() != "help");
            let names: Vec<&str> = names.map(clap::Command::get_name).collect();
            why_text = format!("it is followed by one of: {}", names.join(", "));
            ("a subcommand is missing".to_owned(), why_text.as_str())
        }
        ErrorKind::ArgumentConflict => {
            let other = get(ContextKind::PriorArg).unwrap_or_else(|| "another one".to_owned());
            (format!("{argument} does not go with {other}"), "they contradict each other")
        }
        ErrorKind::InvalidValue if get(ContextKind::InvalidValue).is_none_or(|value| value.is_empty()) => {
            (format!("{argument} has no value"), "a value must follow it")
        }
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => {
            let value = get(ContextKind::InvalidValue).unwrap_or_default();
            (format!("{argument} cannot be {value:?}"), "the value does not fit")
        }
        ErrorKind::InvalidUtf8 => ("an argument is not valid UTF-8".to_owned(), "a text was expected there"),
        _ => {
            let text = error.to_string();
            let line = text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
            (line, "the command line could not be read")
        }
    };
    let typed = get(ContextKind::InvalidSubcommand);
    let verb = typed.and_then(|typed| {
        let known = command.get_subcommands().filter(|known| !known.is_hide_set()).map(clap::Command::get_name);
        loop_core::text::nearest(&typed, known).map(str::to_owned)
    });
    let flag = (error.kind() == ErrorKind::UnknownArgument && !is_setting(&argument))
        .then(|| near_flag(&argument, &used(error, command)))
        .flatten();
    let is_unknown = error.kind() == ErrorKind::UnknownArgument;
    let flag = is_unknown.then(|| dashed_text(&argument)).flatten().or(flag);
    let near = flag.or_else(|| verb.map(|near| format!("did you mean {near}?")));
    // Where something is missing, the form of the command says what.
    let form = matches!(
        error.kind(),
        ErrorKind::MissingRequiredArgument | ErrorKind::MissingSubcommand | ErrorKind::InvalidValue
    );
    let ids = if argument.contains("<ID>") { "; the ids: loop list" } else { "" };
    let form = form.then(|| usage(error)).flatten().map(|usage| format!("{usage}{ids}"));
    CommandError::new(Kind::Wrong, what).because(why).hint(near.or(form).unwrap_or(help))
}
