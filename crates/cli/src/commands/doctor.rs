//! `loop doctor`: what loop finds on this machine and what it lacks, with the next step for each.
use clap::Args;
use loop_core::agent::ADAPTERS;
use loop_core::run::Status;
use loop_core::settings::{CheckpointBackend, Values, settle};
use loop_core::text;
use loop_host::checkpoint::choose;
use loop_host::fs::bytes_of;
use loop_host::ledger::{RebuildError, Rebuilt};
use loop_host::paths::{program_on_path, relative_entries, search_path, shell as shell_program, text_of};
use loop_host::process::{Mode, check_proc, lists_children, try_out};
use loop_host::settings_files::FilesError;
use loop_host::{index, launch, ledger, settings_files};
use serde::Serialize;

use crate::context::{Context, Done, home_error, runs_error};
use crate::render::error::{CommandError, Kind};
use crate::render::printer::Paint;
use crate::render::wrap::hanging;

/// Look at this machine
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Make the ledger of all calls again from the journals, where it is missing or damaged
    #[arg(long, conflicts_with = "json")]
    rebuild_ledger: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Health {
    Fine,
    Note,
    Bad,
}

#[derive(Debug, Serialize)]
struct Finding {
    name: &'static str,
    health: Health,
    found: String,
    next: Option<String>,
}

fn finding(name: &'static str, health: Health, found: impl Into<String>) -> Finding {
    Finding { name, health, found: found.into(), next: None }
}

impl Finding {
    fn next(mut self, next: impl Into<String>) -> Self {
        self.next = Some(next.into());
        self
    }
}

/// How a loop started here would keep its workspace, and what all checkpoints take.
fn checkpoints(context: &Context) -> Finding {
    let here = std::env::current_dir().unwrap_or_default();
    let (backend, why) =
        choose(CheckpointBackend::Auto, &here).map_or(("none", None), |chosen| (chosen.backend, chosen.why));
    let why = why.map(|why| format!(" ({why})")).unwrap_or_default();
    let kept = text::size(bytes_of(&context.home.checkpoints()));
    let place = match backend {
        "none" => "none can be taken of this folder",
        "btrfs" => "as btrfs snapshots of this folder",
        _ => "in a git store of loop's own",
    };
    let finding = finding("checkpoints", Health::Fine, format!("{place}{why}; those of all loops take {kept}"));
    if backend == "none" { finding.next("no iteration can be rolled back: commit your work first") } else { finding }
}

/// What is found, as plain lines.
pub(crate) fn plain(context: &Context) -> String {
    let line = |finding: &Finding| {
        let next = finding.next.as_ref().map(|next| format!(" → {next}")).unwrap_or_default();
        format!("{:?} {}: {}{next}\n", finding.health, finding.name, finding.found)
    };
    findings(context).iter().map(line).collect()
}

fn findings(context: &Context) -> Vec<Finding> {
    let mut findings = vec![
        state_folder(context),
        runs(context),
        settings(context),
        shell(),
        agents(),
        checkpoints(context),
        containment(context),
        notifications(context),
    ];
    findings.extend(wrong_ledger(context));
    findings
}

pub(crate) fn run(context: &Context, args: &DoctorArgs) -> Done {
    if args.rebuild_ledger {
        return rebuild_ledger(context);
    }
    let findings = findings(context);
    let bad = findings.iter().any(|finding| finding.health == Health::Bad);
    if args.json {
        context
            .printer
            .json(&serde_json::json!({"version": 1, "program": env!("CARGO_PKG_VERSION"), "findings": findings}));
        return Ok(if bad { 4 } else { 0 });
    }
    context.printer.answer(&format!("loop {}\n", env!("CARGO_PKG_VERSION")));
    for finding in &findings {
        let (paint, mark) = match finding.health {
            Health::Fine => (Paint::Good, "ok  "),
            Health::Note => (Paint::Warn, "note"),
            Health::Bad => (Paint::Bad, "bad "),
        };
        context.printer.answer(&format!(
            "{} {:<13} {}\n",
            context.printer.paint(paint, mark),
            finding.name,
            indented(&finding.found)
        ));
        if let Some(next) = &finding.next {
            context.printer.answer(&format!("     {:<13} → {next}\n", ""));
        }
    }
    Ok(if bad { 4 } else { 0 })
}

/// The lines of a finding below each other, wrapped where the terminal is narrow.
fn indented(found: &str) -> String {
    let width = loop_host::terminal::columns(std::io::stdout());
    let lines = found.lines().map(|line| format!("{:<19}{line}", ""));
    let lines: Vec<String> =
        lines.map(|line| width.map_or_else(|| line.clone(), |width| hanging(&line, 19, width))).collect();
    lines.join("\n").trim_start().to_owned()
}

/// Only where something is wrong with it: most people have no limits that need it.
fn wrong_ledger(context: &Context) -> Option<Finding> {
    let error = ledger::check(&context.home).err()?;
    Some(finding("ledger", Health::Bad, error.to_string()).next(error.hint()))
}

fn rebuild_ledger(context: &Context) -> Done {
    context.home.make().map_err(|error| home_error(&error))?;
    let rebuilt = ledger::rebuild(&context.home).map_err(|error| rebuild_error(&error))?;
    let Rebuilt { calls, runs, unreadable, moved_to } = rebuilt;
    let count = |number: usize, what: &str| format!("{number} {what}{}", if number == 1 { "" } else { "s" });
    context.printer.answer(&format!("the ledger has {} of {}\n", count(calls, "call"), count(runs, "loop")));
    if let Some(path) = moved_to {
        context.printer.progress(&format!("the one of before is now {}\n", text_of(&path)));
    }
    if !unreadable.is_empty() {
        let ids: Vec<String> = unreadable.iter().map(ToString::to_string).collect();
        context
            .printer
            .progress(&format!("warning: calls of loops that cannot be read are not in it: {}\n", ids.join(", ")));
    }
    Ok(0)
}

fn rebuild_error(error: &RebuildError) -> CommandError {
    let told = CommandError::of(Kind::Wrong, error);
    match error {
        RebuildError::NotNeeded { .. } => told.because("nothing has to be made again").hint("loop doctor"),
        RebuildError::Driven { .. } => told
            .because("what they have reserved is in the ledger that they opened")
            .hint("stop them, or wait for their ends; then: loop doctor --rebuild-ledger"),
        RebuildError::Runs(error) => runs_error(error),
        RebuildError::Ledger(error) => CommandError::of(Kind::Unable, error).hint(error.hint()),
    }
}

fn state_folder(context: &Context) -> Finding {
    let path = text_of(&context.home.state);
    match context.home.make() {
        Ok(()) => finding("state", Health::Fine, path),
        Err(error) => finding("state", Health::Bad, error.to_string()).next("set LOOP_HOME to a folder of your own"),
    }
}

fn runs(context: &Context) -> Finding {
    match index::list(&context.home) {
        Ok(listed) => {
            let count = |status: Status| {
                listed.iter().filter(|run| run.row.as_ref().is_ok_and(|row| row.status == status)).count()
            };
            let unreadable: Vec<String> =
                listed.iter().filter(|run| run.row.is_err()).map(|run| run.run.id.to_string()).collect();
            let found = format!(
                "{} in all, {} running, {} crashed",
                listed.len(),
                count(Status::Running),
                count(Status::Crashed)
            );
            if unreadable.is_empty() {
                finding("loops", Health::Fine, found)
            } else {
                let found = format!("{found}; cannot be read: {}", unreadable.join(", "));
                finding("loops", Health::Bad, found)
                    .next(format!("look at the journal, or: loop rm {}", unreadable.join(" ")))
            }
        }
        Err(error) => finding("loops", Health::Bad, error.to_string()).next("make the state folder readable"),
    }
}

fn settings(context: &Context) -> Finding {
    let files = [settings_files::USER_FILE, settings_files::USER_YAML].map(|name| context.home.config.join(name));
    let file = files.iter().find(|file| file.exists()).unwrap_or(&files[0]);
    let workspace = std::env::current_dir().ok();
    let project = workspace.map_or(Ok(None), |workspace| launch::approved_project(&context.home, &workspace));
    let project = match project {
        Ok(project) => project,
        Err(error) => {
            return finding("settings", Health::Bad, text::one_line(&CommandError::from(error).render(), 200))
                .next("loop config check");
        }
    };
    let given = settings_files::gather(&context.home.config, project);
    match given.and_then(|given| settle(given).map_err(FilesError::Settings)) {
        Ok(_) if file.exists() => finding("settings", Health::Fine, text_of(file)),
        Ok(_) => finding("settings", Health::Fine, format!("defaults (no {})", text_of(file))),
        Err(error) => finding("settings", Health::Bad, error.to_string()).next("loop config check"),
    }
}

fn shell() -> Finding {
    let path = shell_program(&std::env::current_dir().unwrap_or_default());
    if !path.exists() {
        let why = "neither /bin/sh nor on PATH; it runs promises and agents";
        return finding("sh", Health::Bad, why).next("install a POSIX shell");
    }
    match search_path().map_or(0, |search| search.left_out) {
        0 => finding("sh", Health::Fine, text_of(&path)),
        left_out => finding("sh", Health::Note, format!("{}; {}", text_of(&path), relative_entries(left_out)))
            .next("take them out of PATH"),
    }
}

fn agents() -> Finding {
    let found: Vec<&str> =
        ADAPTERS.iter().filter(|agent| program_on_path(agent.program).is_some()).map(|agent| agent.name).collect();
    if found.is_empty() {
        finding("agents", Health::Note, "none of the known ones is installed")
            .next("how to install them: loop agents; any command works: --agent-cmd")
    } else {
        finding("agents", Health::Fine, found.join(", "))
            .next(format!("loop start \"fix the failing tests\" --promise \"npm test\" --agent {}", found[0]))
    }
}

/// Which way of keeping processes together is in force, tried for real, and what gets away from it.
fn containment(context: &Context) -> Finding {
    let word = own_values(context).agent.containment.word();
    let wish = Mode::ALL.into_iter().find(|mode| mode.name() == word);
    let tried = Mode::ALL.map(|mode| (mode, try_out(mode)));
    let works = |mode: Mode| tried.iter().any(|(tried, result)| *tried == mode && result.is_ok());
    let in_force = wish.unwrap_or(if works(Mode::Cgroup) { Mode::Cgroup } else { Mode::Plain });
    let mut found = format!("{}\nnot caught: {}", in_force.name(), in_force.misses());
    for (mode, why) in tried.iter().filter_map(|(mode, tried)| Some((mode, tried.as_ref().err()?))) {
        found.push_str(&format!("\n{} is not available: {why}", mode.name()));
    }
    if let Err(why) = check_proc() {
        return finding("containment", Health::Bad, why)
            .next("mount /proc for this namespace: mount -t proc proc /proc");
    }
    if !works(in_force) {
        return finding("containment", Health::Bad, found).next("loop config set containment auto");
    }
    if !lists_children() {
        found.push_str("\nthis kernel lists no children of processes, so ending them takes longer");
    }
    let health = if in_force == Mode::Plain { Health::Note } else { Health::Fine };
    let told = finding("containment", health, found);
    match in_force {
        Mode::Plain if works(Mode::Namespace) => {
            told.next("for more: systemd-run --user --scope loop start …, or --containment namespace (no sudo inside)")
        }
        Mode::Plain => told.next("for more: systemd-run --user --scope loop start …"),
        Mode::Cgroup | Mode::Namespace => told,
    }
}

/// The way of keeping processes together that a loop would have, without what is left to say about it.
pub(super) fn mode_in_force(context: &Context) -> Mode {
    let word = own_values(context).agent.containment.word();
    let wish = Mode::ALL.into_iter().find(|mode| mode.name() == word);
    wish.unwrap_or_else(|| if try_out(Mode::Cgroup).is_ok() { Mode::Cgroup } else { Mode::Plain })
}

/// The user's own settings; the defaults where they cannot be read, which is another finding.
pub(super) fn own_values(context: &Context) -> Values {
    launch::own_settings(&context.home).map(|settings| settings.values).unwrap_or_default()
}

/// A program with a path in its name is not looked for on PATH.
fn where_to_look(program: &str) -> &'static str {
    if program.contains('/') { "an executable file" } else { "on PATH" }
}

fn notifications(context: &Context) -> Finding {
    let command = own_values(context).output.notification_cmd;
    let program = command.split_whitespace().next().unwrap_or_default().to_owned();
    match program_on_path(&program) {
        Some(path) => finding("notify", Health::Fine, text_of(&path)),
        None => finding(
            "notify",
            Health::Note,
            format!("{program} is not {}; --notify would do nothing", where_to_look(&program)),
        )
        .next("loop config set notification_cmd 'your-command'"),
    }
}
