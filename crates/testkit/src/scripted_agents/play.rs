//! What the program `behaviour` does when it is called: counts the call, works, speaks, and ends as its script says.
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::Command;

use super::said::{Call, now_ms};
use super::{Behaviour, Ends, Turn, claude, codex};

/// Plays one call: `AGENT NAME FOLDER ARGUMENTS…`. What is written down about calls lies in the folder; the code is the one to end with.
///
/// # Errors
/// When the folder cannot be written or the stream has no reader.
pub fn play(words: &[String]) -> io::Result<u8> {
    let [agent, name, folder, arguments @ ..] = words else { return Ok(64) };
    if arguments.iter().any(|word| word == "--version") {
        let version = if agent == "claude" { "2.1.197 (Claude Code)" } else { "codex-cli 0.166.0" };
        return write(&[], version).map(|()| 0);
    }
    let Some(behaviour) = super::behaviour(name) else { return Ok(64) };
    let folder = Path::new(folder);
    let mut prompt = String::new();
    io::stdin().read_to_string(&mut prompt)?;
    let number = count(folder, &prompt, arguments)?;
    let asked = format!("{}\n\n{prompt}", system(arguments));
    let session = session(arguments).unwrap_or_else(|| format!("5e551017-0000-4000-8000-{number:012}"));
    let call = Call { turn: turn(behaviour, number), number, asked: &asked, session: &session };
    let is_claude = agent == "claude";
    write(&if is_claude { claude::begin(&call) } else { codex::begin(&call) }, "")?;
    if let Ends::Limit(seconds) = call.turn.ends {
        note(folder, "resets", &format!("{number} {}", now_ms() + u64::from(seconds) * 1000))?;
    }
    Command::new("sh").args(["-c", call.turn.does]).env("N", number.to_string()).status()?;
    if call.turn.ends == Ends::Hangs {
        loop {
            std::thread::park();
        }
    }
    let (lines, stderr, code) = if is_claude { claude::end(&call) } else { codex::end(&call) };
    write(&lines, "")?;
    io::stderr().write_all(stderr.as_bytes())?;
    Ok(code)
}

/// The turn of a call.
pub(super) fn turn(behaviour: &Behaviour, number: u32) -> &Turn {
    let at = usize::try_from(number).unwrap_or(usize::MAX).saturating_sub(1);
    behaviour.turns.get(at).or(behaviour.turns.last()).expect("a behaviour has turns")
}

/// Writes down that, when and with what it was called; gives the number of the call.
fn count(folder: &Path, prompt: &str, arguments: &[String]) -> io::Result<u32> {
    note(folder, "calls", &now_ms().to_string())?;
    let number = fs::read_to_string(folder.join("calls"))?.lines().count();
    fs::write(folder.join(format!("prompt-{number}")), prompt)?;
    fs::write(folder.join(format!("argv-{number}")), arguments.join("\n"))?;
    Ok(u32::try_from(number).unwrap_or(u32::MAX))
}

fn note(folder: &Path, name: &str, line: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().create(true).append(true).open(folder.join(name))?;
    writeln!(file, "{line}")
}

fn write(lines: &[String], text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for line in lines {
        writeln!(out, "{line}")?;
    }
    if !text.is_empty() {
        writeln!(out, "{text}")?;
    }
    out.flush()
}

/// What was added to the system prompt: claude gets a file, codex a setting.
fn system(arguments: &[String]) -> String {
    let file = after(arguments, "--append-system-prompt-file").and_then(|path| fs::read_to_string(path).ok());
    let setting = arguments.iter().find_map(|word| word.strip_prefix("developer_instructions="));
    let setting = setting.and_then(|text| serde_json::from_str::<String>(text).ok());
    file.or(setting).unwrap_or_default()
}

fn session(arguments: &[String]) -> Option<String> {
    after(arguments, "--resume").or_else(|| after(arguments, "resume")).cloned()
}

fn after<'a>(arguments: &'a [String], flag: &str) -> Option<&'a String> {
    let at = arguments.iter().position(|word| word == flag)?;
    arguments.get(at + 1)
}
