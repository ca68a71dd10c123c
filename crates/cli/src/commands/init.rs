//! `loop init`: look at the project, and write its settings file.
use std::path::{Path, PathBuf};

use clap::Args;
use loop_core::agent::shell_words::quoted;
use loop_core::policy::gate::Verdict;
use loop_core::project::{PlannedLine, ProjectFilePlan, ProjectProposals};
use loop_core::settings::{GateSpec, PROMISE, Settings, project_from_toml};
use loop_core::test_output::{self, Tests};
use loop_core::view::JSON_VERSION;
use loop_core::{text, time};
use loop_host::gate::{Rehearsal, rehearse};
use loop_host::launch::{self, PersonAnswer};
use loop_host::paths::{text_of, user_home};
use loop_host::project_scan::proposals;
use loop_host::refusal::LaunchRefusal;
use loop_host::settings_files::{PROJECT_FILE, ProjectFile, gather, write_new_project_file};
use loop_host::templates;
use loop_host::workspace;
use serde_json::{Value, json};

use crate::args::PlaceArg;
use crate::context::{Context, Done, files_error};
use crate::person::{ask, can_ask};
use crate::render::error::{CommandError, Kind};
use crate::render::sentences;

/// The exit code of a command that a person stopped.
const STOPPED: u8 = 2;
/// So many lines of a gate that does not pass are shown.
const LINES_SHOWN: usize = 8;

/// Look at this project and write its settings file
#[derive(Debug, Args)]
#[command(
    after_help = "It proposes a promise, further gates, protected paths and a template, each with its reason, runs \
    the gates once, and writes .loop.toml. A file that is there is never changed."
)]
pub(crate) struct InitArgs {
    #[command(flatten)]
    place: PlaceArg,
    /// The command that shows that the work is done, in place of what is found
    #[arg(long, short = 'p', value_name = "CMD", allow_hyphen_values = true)]
    promise: Option<String>,
    /// The template for loops of this project [default: bugfix where a gate fails now, else feature]
    #[arg(long, value_name = "NAME")]
    template: Option<String>,
    /// Write the file without asking
    #[arg(long, short)]
    yes: bool,
    /// Do not run the gates
    #[arg(long)]
    no_run: bool,
    /// Only show what would be written: run nothing, write nothing
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A project that is looked at.
struct Init<'a> {
    context: &'a Context,
    args: &'a InitArgs,
    workspace: PathBuf,
    found: ProjectProposals,
    plan: ProjectFilePlan,
}

/// What a gate said when it ran once.
struct Baseline {
    gate: GateSpec,
    seen: Rehearsal,
    tests: Option<Tests>,
}

pub(crate) fn run(context: &Context, args: &InitArgs) -> Done {
    launch::check_person(&context.home, "a project cannot be set up")?;
    let asked = args.place.workspace.clone().unwrap_or_else(|| PathBuf::from("."));
    let (workspace, _) = workspace::inspect(&asked, user_home().as_deref(), false).map_err(LaunchRefusal::from)?;
    if let Some(name) = &args.template {
        templates::find(&context.home, Some(&workspace), name)?;
    }
    let found = proposals(&workspace).map_err(|error| {
        CommandError::new(Kind::Wrong, format!("cannot look at {}", text_of(&workspace))).because(error.to_string())
    })?;
    let plan = ProjectFilePlan::of(&found, args.promise.as_deref());
    let mut init = Init { context, args, workspace, found, plan };
    init.run()
}

impl Init<'_> {
    fn run(&mut self) -> Done {
        if self.plan.promise.is_none() {
            return Err(self.nothing_found());
        }
        if let Some(file) = ProjectFile::find(&self.workspace).map_err(|error| files_error(&error))? {
            // Which one fits depends on the work: only one that was named is compared.
            if self.args.template.is_some() {
                self.choose_template(&[]);
            }
            return self.compare(&file);
        }
        self.show_plan();
        if self.args.dry_run {
            self.choose_template(&[]);
            return Ok(self.answer(None, false));
        }
        if !self.args.yes && !can_ask() {
            return Err(CommandError::new(Kind::Wrong, format!("{PROJECT_FILE} was not written"))
                .because("there is no terminal to ask on")
                .hint("to write it without asking: loop init --yes; to see it: loop init --dry-run"));
        }
        let Some(baseline) = self.try_gates()? else { return Ok(STOPPED) };
        self.choose_template(&baseline);
        let text = self.plan.text();
        if !self.args.yes {
            self.context.printer.progress(&format!("\n{PROJECT_FILE} would be:\n\n{}\n", indented(&text)));
            if ask(self.context.printer, &format!("Write {PROJECT_FILE}?")) != PersonAnswer::Yes {
                self.context.printer.progress("nothing was written\n");
                return Ok(STOPPED);
            }
        }
        self.write(&text)?;
        Ok(self.answer(Some(&baseline), true))
    }

    fn nothing_found(&self) -> CommandError {
        let parts = if self.found.parts.is_empty() {
            "no manifest, makefile or script that loop knows is here".to_owned()
        } else {
            format!("{} is here, but nothing that runs tests", self.found.parts.join(", "))
        };
        CommandError::new(Kind::Wrong, "found no command that checks this project")
            .because(parts)
            .hint("name one: loop init --promise 'make test'")
    }

    /// Where a file is there already, only what differs is shown.
    fn compare(&self, file: &ProjectFile) -> Done {
        let project = file.read(true).map_err(|error| files_error(&error))?;
        let lines = self.plan.differs_from(&project);
        if self.args.json {
            let mut value = self.value(None, false);
            value["file"] = json!(file.name);
            value["differences"] = json!(lines);
            self.context.printer.json(&value);
            return Ok(0);
        }
        let name = file.name;
        self.context.printer.answer(&match lines.len() {
            0 => format!("{name} is there, and has all that would be proposed\n"),
            _ => {
                let lines: String = lines.iter().map(|line| format!("  {}\n", text::escaped(line))).collect();
                format!("{name} is there, and stays as it is. What would be proposed, and it does not have:\n{lines}")
            }
        });
        Ok(0)
    }

    fn show_plan(&self) {
        if self.args.json {
            return;
        }
        let parts = if self.found.parts.is_empty() { "nothing known".to_owned() } else { self.found.parts.join(", ") };
        let mut shown = format!("{}: {parts}\n", text_of(&self.workspace));
        let mut line = |what: &str, value: &str, reason: &str| {
            shown.push_str(&format!("  {what:<10}{}\n            {}\n", text::escaped(value), text::escaped(reason)));
        };
        if let Some(PlannedLine { value, reason }) = &self.plan.promise {
            line("promise", value, reason);
        }
        for gate in &self.plan.gates {
            let what = if gate.watch { "watched" } else { "gate" };
            line(what, &format!("{}: {}", gate.name, gate.command), &gate.reason);
        }
        for path in &self.plan.protect {
            line("protect", &path.glob, &path.reason);
        }
        if let Some(reason) = &self.plan.require_tests_kept {
            line("tests", "none may be lost (require_tests_kept)", reason);
        }
        if self.found.more_checks > 0 {
            shown.push_str(&format!("  {} more commands were found and are not proposed\n", self.found.more_checks));
        }
        self.context.printer.answer(&shown);
    }

    /// Runs the required gates once, if that is wanted. None where the person stopped it.
    fn try_gates(&self) -> Result<Option<Vec<Baseline>>, CommandError> {
        let mut settings = self.settings()?;
        settings.gates.retain(|gate| !gate.watch);
        let commands: Vec<String> = settings.gates.iter().map(|gate| text::escaped(&gate.command)).collect();
        let question = format!("Run it once now, to see what it says: {}?", commands.join("; "));
        let wanted = !self.args.no_run && (self.args.yes || ask(self.context.printer, &question) == PersonAnswer::Yes);
        if !wanted {
            return Ok(Some(Vec::new()));
        }
        self.context.printer.progress(&format!("running: {}\n", commands.join("; ")));
        let seen = rehearse(&settings, &self.workspace).map_err(|error| {
            CommandError::new(Kind::Wrong, "the promise cannot be started")
                .because(error.to_string())
                .hint("to write the file without running it: loop init --no-run")
        })?;
        let Some(seen) = seen else {
            self.context.printer.progress("stopped; nothing was written\n");
            return Ok(None);
        };
        let baselines = settings.gates.into_iter().zip(seen).map(|(gate, seen)| {
            let tests = test_output::read(&seen.stdout, &seen.stderr);
            Baseline { gate, seen, tests }
        });
        let baselines: Vec<Baseline> = baselines.collect();
        if !self.args.json {
            baselines.iter().for_each(|baseline| self.context.printer.answer(&shown(baseline)));
        }
        Ok(Some(baselines))
    }

    /// The settings that the proposed file would make.
    fn settings(&self) -> Result<Settings, CommandError> {
        let project = project_from_toml(&self.plan.text(), PROJECT_FILE, true)
            .map_err(|error| crate::context::settings_error(&error))?;
        let given = gather(&self.context.home.config, Some(project)).map_err(|error| files_error(&error))?;
        Ok(launch::resolve(given)?)
    }

    fn choose_template(&mut self, baseline: &[Baseline]) {
        let fails = baseline.iter().any(|baseline| baseline.seen.verdict == Verdict::Fail);
        self.plan.template = Some(match &self.args.template {
            Some(name) => PlannedLine::new(name, "you chose it"),
            None if fails => PlannedLine::new("bugfix", "a gate fails now, so something is to be fixed"),
            None if baseline.is_empty() => PlannedLine::new("feature", "it is the most general one"),
            None => PlannedLine::new("feature", "the gates pass now, so there is something to add"),
        });
    }

    fn write(&self, text: &str) -> Result<(), CommandError> {
        // What was shown must be what is written: it is read once more before.
        project_from_toml(text, PROJECT_FILE, true).map_err(|error| crate::context::settings_error(&error))?;
        write_new_project_file(&self.workspace, text).map_err(|error| {
            CommandError::new(Kind::Unable, format!("cannot write {PROJECT_FILE}")).because(error.to_string())
        })?;
        launch::approve_written(&self.context.home, &self.workspace, text)?;
        Ok(())
    }

    fn answer(&self, baseline: Option<&[Baseline]>, written: bool) -> u8 {
        if self.args.json {
            self.context.printer.json(&self.value(baseline, written));
            return 0;
        }
        let template = self.plan.template.as_ref().map(|line| line.value.as_str()).unwrap_or_default();
        let reason = self.plan.template.as_ref().map(|line| line.reason.as_str()).unwrap_or_default();
        if !written {
            let text = indented(&self.plan.text());
            self.context.printer.answer(&format!("\n{PROJECT_FILE} would be:\n\n{text}"));
            return 0;
        }
        let there = std::env::current_dir().ok().and_then(|here| here.canonicalize().ok());
        let go = |workspace: &Path| format!("cd {} && ", quoted(&text_of(workspace)));
        let go = if there.as_deref() == Some(&self.workspace) { String::new() } else { go(&self.workspace) };
        self.context.printer.answer(&format!(
            "  template  {template}\n            {reason}\nwrote {PROJECT_FILE}, and approved it for you; commit it for others\n\
             next: {go}loop start \"…\" --dry-run\n"
        ));
        0
    }

    fn value(&self, baseline: Option<&[Baseline]>, written: bool) -> Value {
        json!({
            "version": JSON_VERSION,
            "workspace": text_of(&self.workspace),
            "parts": self.found.parts,
            "plan": self.plan,
            "baseline": baseline.map(|all| all.iter().map(baseline_value).collect::<Vec<_>>()),
            "file": PROJECT_FILE,
            "text": self.plan.text(),
            "written": written,
        })
    }
}

fn baseline_value(baseline: &Baseline) -> Value {
    let counts = |tests: &Tests| json!({"passed": tests.passed, "failed": tests.failed, "skipped": tests.skipped});
    json!({
        "gate": baseline.gate.name,
        "command": baseline.gate.command,
        "verdict": baseline.seen.verdict,
        "ended": baseline.seen.ended.brief(),
        "duration_ms": baseline.seen.duration_ms,
        "tests": baseline.tests.as_ref().map(counts),
    })
}

/// What a gate said, with the end of its output where it does not pass.
fn shown(baseline: &Baseline) -> String {
    let Baseline { gate, seen, tests } = baseline;
    let name = if gate.name == PROMISE { "" } else { &gate.name };
    let counts = match (tests, seen.verdict) {
        (Some(tests), _) => format!(" · {} pass, {} fail", tests.passed, tests.failed),
        (None, Verdict::Pass) => " · no tests were seen in its output".to_owned(),
        (None, Verdict::Fail | Verdict::Unverifiable) => String::new(),
    };
    let (verdict, took) = (sentences::verdict(seen.verdict), time::spaced(seen.duration_ms));
    let mut shown = format!(
        "  {:<10}{name}{}{verdict} ({}, {took}){counts}\n",
        "now",
        if name.is_empty() { "" } else { ": " },
        seen.ended.brief()
    );
    if seen.verdict != Verdict::Pass {
        let output = [&seen.stdout[..], &seen.stderr[..]].concat();
        let output = text::clean(&output);
        let lines: Vec<&str> = output.lines().filter(|line| !line.trim().is_empty()).collect();
        let from = lines.len().saturating_sub(LINES_SHOWN);
        lines.iter().skip(from).for_each(|line| shown.push_str(&format!("            {line}\n")));
    }
    shown
}

fn indented(text: &str) -> String {
    text.lines().map(|line| if line.is_empty() { "\n".to_owned() } else { format!("  {line}\n") }).collect()
}
