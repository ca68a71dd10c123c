//! `loop demo`: the real loop on a small sample project in a temporary folder, with a scripted agent.
use std::fs;
use std::io::Read;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Parser;
use loop_core::agent::shell_words::quoted;
use loop_core::view::History;
use loop_host::agents::first_installed;

use super::command_line::{Cli, Verb};
use super::{history, start};
use crate::context::{Context, Done};
use crate::render::error::{CommandError, Kind};
use crate::render::printer::{Loudness, Printer};

const FILES: [(&str, &str); 2] = [("calc.sh", include_str!("demo/calc.sh")), ("test.sh", include_str!("demo/test.sh"))];

/// What the scripted agent fixes in each iteration: (what it says, what it takes out, what it puts in).
const SCRIPT: [(&str, &str, &str); 3] = [
    (
        "add() returns its first number only. I add the second.",
        "add() { echo $(($1)); }",
        "add() { echo $(($1 + $2)); }",
    ),
    ("multiply() adds. I make it multiply.", "multiply() { echo $(($1 + $2)); }", "multiply() { echo $(($1 * $2)); }"),
    ("greet() forgets the name. I add it.", "greet() { echo \"Hello\"; }", "greet() { echo \"Hello, $1\"; }"),
];

/// So long the agent seems to think, so that a person can follow.
const THINKING: Duration = Duration::from_millis(900);

pub(crate) fn run(context: &Context) -> Done {
    let wrong = |error: std::io::Error| {
        CommandError::new(Kind::Unable, "cannot make the sample project").because(error.to_string())
    };
    let folder = sample().map_err(wrong)?;
    let program = std::env::current_exe().map_err(wrong)?;
    let shown = loop_host::paths::text_of(&folder);
    context.printer.progress(&format!(
        "A sample project with failing tests is in {shown}\n\
         A scripted agent (part of loop, no model, no key) fixes one error an iteration; all else is the real loop.\n\
         You could type the same: loop start \"make the tests pass\" --promise \"sh test.sh\" --agent-cmd '…'\n\n"
    ));
    let agent = format!("{} demo-agent", quoted(&program.to_string_lossy()));
    let words =
        ["loop", "start", "make the tests pass", "--promise", "sh test.sh", "--agent-cmd", &agent, "--workspace"];
    let mut line: Vec<std::ffi::OsString> = words.iter().map(Into::into).collect();
    line.push(folder.clone().into_os_string());
    // Its agent thinks for less than a second on purpose.
    line.extend(["--min-iteration-duration", "none"].map(Into::into));
    let Ok(Cli { command: Some(Verb::Start(args)), .. }) = Cli::try_parse_from(line) else {
        return Err(CommandError::new(Kind::Unable, "a bug of loop: the demo's own command line"));
    };
    let mut seen = History::new();
    let driven = start::start_run(context, args.request()?, false, Some(&mut seen))?;
    seen.settle();
    context.printer.answer(&format!("\n$ loop history {}\n", driven.folder.id));
    history::show(context, &seen);
    context.printer.progress(&format!(
        "\nNow with your own project and agent:\n\
         \x20 cd your-project\n\
         \x20 loop start \"what you want\" --promise \"the command that shows it is done\" --agent {}\n\
         \x20 loop agents        which agents are installed here\n\
         \x20 rm -r {}\n",
        first_installed().unwrap_or("claude"),
        quoted(&shown)
    ));
    Ok(driven.exit_code())
}

fn sample() -> std::io::Result<PathBuf> {
    let folder = std::env::temp_dir().join(format!("loop-demo-{}", loop_host::fs::fresh_id()?));
    fs::DirBuilder::new().mode(0o700).create(&folder)?;
    for (name, text) in FILES {
        fs::write(folder.join(name), text)?;
    }
    Ok(folder)
}

/// The scripted agent: reads its prompt like any other, then fixes what its script says for this iteration.
pub(crate) fn agent() -> Done {
    let printer = Printer::new(Loudness::Normal);
    let mut prompt = String::new();
    std::io::stdin().read_to_string(&mut prompt).ok();
    let iteration: usize = std::env::var("LOOP_ITERATION").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let step =
        SCRIPT.get(iteration - 1).ok_or_else(|| CommandError::new(Kind::Unable, "the script has no more steps"))?;
    std::thread::sleep(THINKING);
    printer.answer(&format!("{}\n", step.0));
    let path = Path::new("calc.sh");
    let fixed = fs::read_to_string(path).map(|text| text.replace(step.1, step.2));
    fixed.and_then(|text| fs::write(path, text)).map_err(|error| {
        CommandError::new(Kind::Unable, "the demo's agent works only in the demo's folder").because(error.to_string())
    })?;
    Ok(0)
}
