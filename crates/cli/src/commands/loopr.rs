//! `loopr`: the same engine with the flags, files and words of the Loopr specification.
use std::ffi::OsString;
use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand};
use loop_core::agent::codex::args::{self as codex_args, SplitArgs, SplitArgsError};
use loop_core::prompt::TASK_BYTES_MAX;
use loop_core::settings::profiles::loopr::{CONFIG, LooprError, from_config, from_variables};
use loop_core::settings::{Given, Layer, Origin, keys};
use loop_host::launch::{self, LaunchRequest};
use loop_host::paths::{is_git_top, text_of};
use loop_host::settings_files::{gather, text_of as read_text};

use super::{loopr_status, loopr_status::LooprStatusArgs};
use super::{start, version};
use crate::args::OutputArgs;
use crate::context::{Context, Done, files_error, settings_error};
use crate::flags::given;
use crate::render::error::{CommandError, Kind, from_clap};
use crate::render::printer::{Loudness, Printer};

/// Runs Codex again and again until it has said often enough that it is done, or makes no progress.
#[derive(Debug, Parser)]
#[command(name = "loopr", version, arg_required_else_help = true, after_help = EXAMPLES)]
struct LooprCli {
    #[command(flatten)]
    output: OutputArgs,
    #[command(subcommand)]
    command: LooprVerb,
}

const EXAMPLES: &str = "\
Examples:
  loopr loop \"make the tests pass\"
  loopr loop --max-iterations 5 -- -m gpt-5.5 \"make the tests pass\"
  loopr status

Settings: .loopr/config in the root, one KEY=VALUE a line; a variable of the same name counts more.
Exit codes: 0 complete · 1 ended without it · 2 stopped by you · 3 could not work · 4 wrong call or set-up";

#[derive(Debug, Subcommand)]
enum LooprVerb {
    /// Run the loop
    Loop(LoopArgs),
    /// Show the state of the newest loop of this root
    Status(LooprStatusArgs),
}

/// Run the loop
#[derive(Debug, Args)]
#[command(override_usage = "loopr loop [--loopr-root <PATH>] [--max-iterations <N>] [--] <CODEX ARGS>")]
struct LoopArgs {
    #[command(flatten)]
    root: RootArg,
    /// How many iterations at most [default: 50, or what .loopr/config says]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    max_iterations: Option<String>,
    /// Arguments of codex exec, passed on as they are; the prompt among them is the task, else .loopr/prompt.md, else stdin
    #[arg(value_name = "CODEX ARGS", trailing_var_arg = true, allow_hyphen_values = true)]
    codex: Vec<String>,
}

/// Where the loop works.
#[derive(Debug, Args)]
pub(super) struct RootArg {
    /// The folder to work in [default: the nearest one above that has .loopr, else the top of the repository, else this one]
    #[arg(long, value_name = "PATH")]
    pub(super) loopr_root: Option<PathBuf>,
}

/// The command line, for its pages of the manual.
pub(super) fn command() -> clap::Command {
    LooprCli::command()
}

/// Runs a command line of `loopr` and says how the program ends.
#[must_use]
pub fn run_loopr(arguments: Vec<OsString>) -> ExitCode {
    // The program's other life, below a loop that it drives itself.
    if let Some(code) = loop_host::process::run_if_asked().or_else(loop_host::judge::run_if_asked) {
        return code;
    }
    if let Some(code) = version::run_if_asked("loopr", &arguments) {
        return code;
    }
    let done = match LooprCli::try_parse_from(arguments) {
        Ok(cli) => dispatch(&cli),
        Err(error) if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
            Printer::new(Loudness::Normal).answer(&error.render().to_string());
            return ExitCode::SUCCESS;
        }
        Err(error) => Err(from_clap(&error, &LooprCli::command())),
    };
    match done {
        Ok(code) => ExitCode::from(code),
        Err(error) => error.show(),
    }
}

fn dispatch(cli: &LooprCli) -> Done {
    let context = Context::new(cli.output.printer())?;
    match &cli.command {
        LooprVerb::Loop(args) => run(&context, args),
        LooprVerb::Status(args) => {
            context.print_notes(&launch::end_registered(&context.home));
            loopr_status::run(&context, args)
        }
    }
}

fn run(context: &Context, args: &LoopArgs) -> Done {
    let root = root(&args.root)?;
    let mut all = configured(context, &root)?;
    if let Some(text) = &args.max_iterations {
        all.push(given(keys::max_iterations(), text).map_err(|error| settings_error(&error))?);
    }
    let parted = codex_args::split(&args.codex).map_err(|error| unclear(&error))?;
    let (prompt, prompt_file) = task(&root, &parted)?;
    all.extend(fixed(&text_of(&root.canonicalize().unwrap_or_else(|_| root.clone()))));
    let request = LaunchRequest {
        given: all,
        workspace: Some(root),
        task: start::task(prompt, prompt_file),
        agent_args: parted.args,
        dry_run: false,
        plan: None,
    };
    start::start_run(context, request, false, None).map(|driven| driven.exit_code())
}

/// The root: as it was said, else the nearest folder above that has `.loopr`, else the top of the repository, else this one.
pub(super) fn root(args: &RootArg) -> Result<PathBuf, CommandError> {
    let here = std::env::current_dir()
        .map_err(|error| CommandError::new(Kind::Wrong, "the current folder is gone").because(error.to_string()))?;
    if let Some(root) = &args.loopr_root {
        return Ok(here.join(root));
    }
    let with = |is_there: fn(&Path) -> bool| here.ancestors().find(|folder| is_there(folder)).map(Path::to_owned);
    let ours = with(|folder| folder.join(".loopr").is_dir());
    Ok(ours.or_else(|| with(is_git_top)).unwrap_or(here))
}

/// What the root's own file and variables of the same names say.
fn configured(context: &Context, root: &Path) -> Result<Vec<Given>, CommandError> {
    let own = gather(&context.home.config, None).map_err(|error| files_error(&error))?;
    let text = read_text(&root.join(CONFIG)).map_err(|error| files_error(&error))?;
    let mut all = from_config(text.as_deref().unwrap_or_default(), &own).map_err(wrong)?;
    let variable = |name: &str| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
    all.extend(from_variables(variable).map_err(wrong)?);
    Ok(all)
}

/// What makes it loopr, whatever the user's own settings for other loops are. By root and name the calls of an hour are
/// counted over all loops of a root.
fn fixed(root: &str) -> Vec<Given> {
    let values = [
        (keys::profile(), "loopr"),
        (keys::project(), root),
        (keys::agent_name(), "loopr"),
        (keys::agent(), "codex"),
        (keys::agent_cmd(), ""),
        (keys::agent_args(), ""),
        (keys::status_block(), "loopr"),
        (keys::promise(), ""),
        (keys::gate(), ""),
        (keys::no_promise(), "true"),
    ];
    let origin = || Origin { layer: Layer::Flag, place: "loopr".to_owned() };
    values.map(|(key, value)| Given { key, value: value.to_owned(), origin: origin() }).into()
}

/// The task, or the file that holds it.
fn task(root: &Path, parted: &SplitArgs) -> Result<(Option<OsString>, Option<PathBuf>), CommandError> {
    let file = root.join(".loopr/prompt.md");
    match parted.prompt.as_deref() {
        Some(prompt) if prompt != "-" => return Ok((Some(prompt.into()), None)),
        None if file.symlink_metadata().is_ok() => return Ok((None, Some(file))),
        Some(_) | None => {}
    }
    let mut bytes = Vec::new();
    if !std::io::stdin().is_terminal() {
        let most = u64::try_from(TASK_BYTES_MAX).unwrap_or(u64::MAX).saturating_add(1);
        std::io::stdin().lock().take(most).read_to_end(&mut bytes).map_err(|error| {
            CommandError::new(Kind::Wrong, "cannot read the task from stdin").because(error.to_string())
        })?;
    }
    if !bytes.trim_ascii().is_empty() {
        use std::os::unix::ffi::OsStringExt;
        return Ok((Some(OsString::from_vec(bytes)), None));
    }
    let told = CommandError::new(Kind::Wrong, "there is no task")
        .because(format!("no prompt among the arguments of codex, no {}, and nothing on stdin", text_of(&file)));
    Err(match parted.taken_for_images.first() {
        Some(word) => told.hint(format!("{word:?} was taken for an image: put the prompt before -i, or behind --")),
        None => told.hint("loopr loop \"make the tests pass\", or write it into .loopr/prompt.md"),
    })
}

fn wrong(error: LooprError) -> CommandError {
    CommandError::new(Kind::Wrong, error.to_string()).because(error.why).hint(error.hint)
}

fn unclear(error: &SplitArgsError) -> CommandError {
    let told = CommandError::new(Kind::Wrong, error.to_string());
    match error {
        SplitArgsError::Unclear { flag, .. } if ["--max-iterations", "--loopr-root"].contains(&flag.as_str()) => told
            .because("everything after the first argument of codex is passed to codex")
            .hint(format!("put {flag} before it")),
        SplitArgsError::Unclear { .. } => told.because("this version does not know the flag").hint(error.hint()),
        SplitArgsError::Two(..) => told.because("codex exec takes one").hint(error.hint()),
        SplitArgsError::Command(_) => told.because("it would be called again and again").hint(error.hint()),
    }
}
