//! `loop completions`: the script with which a shell completes our commands, flags, ids, checkpoints and settings.
use std::path::PathBuf;

use clap::{Args, CommandFactory, ValueEnum};
use clap_complete::Shell;

use super::command_line::Cli;
use super::own_place::{self, OwnFile};
use crate::context::{Context, Done};
use crate::render::error::{CommandError, Kind};

/// Print completions for a shell, or install them for yourself. Those for bash, zsh and fish know ids, checkpoints, agents
/// and settings, too
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// bash, zsh, fish, elvish or powershell [default: the shell that SHELL names]
    #[arg(value_name = "SHELL")]
    shell: Option<String>,
    /// Write them to the place where this shell looks for completions of your own: bash, zsh, fish
    #[arg(long)]
    install: bool,
    /// With --install: only say which file that is
    #[arg(long, requires = "install")]
    dry_run: bool,
}

pub(crate) fn run(context: &Context, args: &CompletionsArgs) -> Done {
    let shell = shell(args.shell.as_deref())?;
    let text = script(shell);
    if !args.install {
        context.printer.answer(&text);
        return Ok(0);
    }
    let place = place(shell)?;
    let file = OwnFile { path: place.path, text: text.into_bytes(), ours: &is_ours };
    own_place::write(context, &[file], args.dry_run)?;
    context.printer.answer(&format!("{}\n", place.then));
    Ok(0)
}

/// The shell that is meant.
fn shell(said: Option<&str>) -> Result<Shell, CommandError> {
    let used = std::env::var("SHELL").ok().and_then(|path| Some(path.rsplit('/').next()?.to_owned()));
    let name = said.map(str::to_owned).or(used).unwrap_or_default();
    Shell::from_str(&name, true).map_err(|_| {
        let what =
            if name.is_empty() { "which shell is missing".to_owned() } else { format!("no completions for {name:?}") };
        CommandError::new(Kind::Wrong, what)
            .because("loop has no completions for this shell")
            .hint("bash, zsh, fish, elvish or powershell")
    })
}

/// Scripts that ask the program at each Tab.
const SCRIPTS: [(Shell, &str); 3] = [
    (Shell::Bash, include_str!("completions/loop.bash")),
    (Shell::Zsh, include_str!("completions/loop.zsh")),
    (Shell::Fish, include_str!("completions/loop.fish")),
];

/// The script of a shell. Where a shell is not one of the three, it knows only commands and flags.
fn script(shell: Shell) -> String {
    if let Some((_, script)) = SCRIPTS.iter().find(|(known, _)| *known == shell) {
        return (*script).to_owned();
    }
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "loop", &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// Whether an earlier version of us wrote a file.
fn is_ours(text: &[u8]) -> bool {
    String::from_utf8_lossy(text).contains("written by: loop completions ")
}

/// Where a shell looks, and what to do if it does not.
struct ScriptPlace {
    path: PathBuf,
    then: String,
}

fn place(shell: Shell) -> Result<ScriptPlace, CommandError> {
    let data = || own_place::folder("XDG_DATA_HOME", ".local/share");
    if shell == Shell::Bash {
        let own = own_place::absolute("BASH_COMPLETION_USER_DIR");
        let folder = own.map_or_else(|| data().map(|data| data.join("bash-completion")), Ok)?;
        let then = "A new bash reads it, where the package bash-completion is installed. If not, add this to ~/.bashrc:\n  \
                    source <(loop completions bash)";
        return Ok(ScriptPlace { path: folder.join("completions/loop"), then: then.to_owned() });
    }
    if shell == Shell::Zsh {
        let folder = data()?.join("zsh/site-functions");
        let quoted = loop_core::agent::shell_words::quoted(&folder.display().to_string());
        let then =
            format!("A new zsh reads it, if this stands in ~/.zshrc before compinit:\n  fpath=({quoted} $fpath)");
        return Ok(ScriptPlace { path: folder.join("_loop"), then });
    }
    if shell == Shell::Fish {
        let folder = own_place::folder("XDG_CONFIG_HOME", ".config")?.join("fish/completions");
        return Ok(ScriptPlace { path: folder.join("loop.fish"), then: "A new fish reads it.".to_owned() });
    }
    Err(CommandError::new(Kind::Wrong, format!("completions for {shell} are not installed by loop"))
        .because("this shell has no folder for completions of a user's own")
        .hint(format!("print them and put them where you want: loop completions {shell}")))
}
