//! `loop commit`, and `--commit` of `loop start` and `loop resume`: the work of a loop that is done, committed by the
//! user's own git, in the process of the person.
use clap::Args;
use loop_core::settings::OutputSettings;
use loop_core::text;
use loop_core::time;
use loop_core::view::JSON_VERSION;
use loop_host::attestation::{Exported, export};
use loop_host::launch::DrivenRun;
use loop_host::run_folder::{FoundFolder, RunFolder};
use loop_host::user_commit::{self, CommitPlan, CommitRules, CommittedWork, UserCommit};
use serde_json::{Value, json};

use super::worker::WhichArgs;
use crate::context::{Context, Done};
use crate::here::Wanted;
use crate::render::commit_message;
use crate::render::error::{CommandError, Kind};
use crate::render::handed;

/// Commit what a loop or a plan that is done changed, with your own git: only the files that it changed
#[derive(Debug, Args)]
pub(crate) struct CommitArgs {
    #[command(flatten)]
    which: WhichArgs,
    /// The message [default: the first line of the task, the gates and the proof]
    #[arg(short, long, value_name = "TEXT")]
    message: Option<String>,
    /// Let programs run that the repository names: hooks, filters
    #[arg(long)]
    commit_hooks: bool,
    /// Commit files that had uncommitted edits of yours before the loop, too
    #[arg(long)]
    with_own_edits: bool,
    /// Show the message and the files, and commit nothing
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A commit at the end of a loop, as its settings ask for it.
#[derive(Debug)]
pub(crate) struct CommitAtEnd {
    message: Option<String>,
    rules: CommitRules,
}

pub(crate) fn run(context: &Context, args: &CommitArgs) -> Done {
    let rules = CommitRules { hooks: args.commit_hooks, own_edits: args.with_own_edits, dry_run: args.dry_run };
    let plan = if args.which.is_said() { args.which.plan(context) } else { context.plan_here(Wanted::Newest) };
    let found = match plan {
        Some(folder) => FoundFolder::Plan(folder),
        None => FoundFolder::Run(args.which.find(context)?),
    };
    let message = args.message.clone().or_else(|| message_of_start(&found));
    let planned = PlannedCommit::new(context, &found, rules, message.as_deref())?;
    let (FoundFolder::Run(folder) | FoundFolder::Plan(folder)) = &found;
    finish(context, args, folder, &planned)
}

/// The message of the start of a loop holds, unless there is another.
fn message_of_start(found: &FoundFolder) -> Option<String> {
    let FoundFolder::Run(folder) = found else { return None };
    let state = loop_host::journal::read(&folder.path).map(|reading| reading.fold()).ok()?;
    state.settings.shown().values.output.commit_message.clone()
}

/// Commits, where that was asked for, and says it.
fn finish(context: &Context, args: &CommitArgs, folder: &RunFolder, planned: &PlannedCommit) -> Done {
    let committed = if args.dry_run || planned.plan.paths.is_empty() { None } else { Some(planned.commit()?) };
    if args.json {
        context.printer.json(&planned.json(folder, committed.as_ref()));
    } else {
        context.printer.answer(&planned.words(folder, committed.as_ref(), args.dry_run));
    }
    planned.note(context, committed.as_ref());
    Ok(0)
}

impl CommitAtEnd {
    /// None where no commit is asked for.
    pub(crate) fn of(settings: &OutputSettings) -> Option<Self> {
        let rules = CommitRules { hooks: settings.commit_hooks, own_edits: settings.with_own_edits, dry_run: false };
        settings.commit.then(|| Self { message: settings.commit_message.clone(), rules })
    }

    /// Refuses a start whose commit would be refused at its end, before anything is spent.
    pub(crate) fn check(&self, context: &Context, workspace: &std::path::Path) -> Result<(), CommandError> {
        user_commit::check_before(&context.home, workspace, self.rules).map_err(CommandError::from)
    }

    /// Commits at the end of a loop where its settings say so, and gives the exit code: that of the loop, but 3 where it
    /// is done and could not be committed. The outcome of the loop stays as it is.
    pub(crate) fn finish(context: &Context, driven: DrivenRun, json: bool) -> u8 {
        let code = driven.exit_code();
        let asked = Self::of(&driven.state.settings.shown().values.output);
        let Some(Self { message, rules }) = asked else { return code };
        let folder = driven.folder.clone();
        drop(driven);
        let found = FoundFolder::Run(folder.clone());
        let made = PlannedCommit::new(context, &found, rules, message.as_deref()).and_then(|planned| {
            let committed = if planned.plan.paths.is_empty() { None } else { Some(planned.commit()?) };
            Ok((planned, committed))
        });
        match made {
            Ok((planned, committed)) => {
                if json {
                    context.printer.json_line(&event(planned.json(&folder, committed.as_ref())));
                } else {
                    context.printer.answer(&planned.words(&folder, committed.as_ref(), false));
                }
                planned.note(context, committed.as_ref());
                code
            }
            Err(error) => {
                if json {
                    let answer =
                        json!({"version": JSON_VERSION, "id": folder.id, "committed": false, "why": error.render()});
                    context.printer.json_line(&event(answer));
                }
                context.printer.error(&error.render());
                if code == 0 { NOT_COMMITTED } else { code }
            }
        }
    }
}

/// The exit code where a loop is done and its work could not be committed.
const NOT_COMMITTED: u8 = 3;

/// The same as an event of a loop.
fn event(mut answer: Value) -> Value {
    answer["event"] = json!("commit");
    answer["at"] = json!(time::rfc3339(loop_host::clock::now().wall_ms));
    answer
}

fn check_message(message: Option<&str>) -> Result<(), CommandError> {
    if message.is_some_and(|message| message.trim().is_empty()) {
        return Err(CommandError::new(Kind::Wrong, "the message of the commit is empty")
            .hint("leave it out: then it is the first line of the task"));
    }
    Ok(())
}

/// What would be committed, with its message.
struct PlannedCommit {
    plan: CommitPlan,
    message: String,
    proof: Option<Exported>,
}

impl PlannedCommit {
    fn new(
        context: &Context,
        found: &FoundFolder,
        rules: CommitRules,
        message: Option<&str>,
    ) -> Result<Self, CommandError> {
        check_message(message)?;
        let plan = user_commit::plan(&context.home, found, rules)?;
        let proof = match found {
            // A loop without a gate has none.
            FoundFolder::Run(folder) => export(&context.home, folder).ok(),
            // The proofs of its loops are of their own trees.
            FoundFolder::Plan(_) => None,
        };
        let trailer = proof.as_ref().map(|proof| handed::trailer(proof, &proof.envelope.to_line()));
        let message = match &plan.work {
            CommittedWork::Run(state) => commit_message::compose(state, message, trailer.as_deref()),
            CommittedWork::Plan(state) => commit_message::compose_plan(state, message),
        };
        Ok(Self { plan, message, proof })
    }

    fn commit(&self) -> Result<UserCommit, CommandError> {
        self.plan.commit(&self.message).map_err(CommandError::from)
    }

    /// What a person should know.
    fn note(&self, context: &Context, committed: Option<&UserCommit>) {
        if let (None, true) = (&self.plan.branch, committed.is_some()) {
            let note = "note: HEAD is detached: the commit is on no branch; keep it: git switch -c NAME\n";
            context.printer.error(note);
        }
        let judged = self.proof.as_ref().map(|proof| &proof.tree.git_tree);
        if let (Some(commit), Some(judged)) = (committed, judged)
            && commit.tree != *judged
        {
            let note = "note: the gates judged more than this commit: files that are not committed were there\n";
            context.printer.error(note);
        }
    }

    fn json(&self, folder: &RunFolder, committed: Option<&UserCommit>) -> Value {
        let left: Vec<Value> = self.plan.left.iter().map(|left| json!({"path": left.path, "why": left.why})).collect();
        json!({
            "version": JSON_VERSION, "id": folder.id, "committed": committed.is_some(),
            "commit": committed.map(|commit| &commit.id), "branch": self.plan.branch, "paths": self.plan.paths,
            "own_edits": self.plan.own_edits, "programs": self.plan.programs, "left_out": left, "message": self.message,
        })
    }

    fn words(&self, folder: &RunFolder, committed: Option<&UserCommit>, dry_run: bool) -> String {
        let (id, plan) = (&folder.id, &self.plan);
        let what = if matches!(plan.work, CommittedWork::Plan(_)) { "plan" } else { "loop" };
        let branch = plan.branch.as_deref().map_or("a detached HEAD".to_owned(), |branch| text::one_line(branch, 100));
        let files = match plan.paths.len() {
            1 => "1 file".to_owned(),
            count => format!("{count} files"),
        };
        let mut out = match committed {
            _ if plan.paths.is_empty() => {
                format!("nothing to commit: HEAD has all that {what} {id} changed and that git does not ignore\n")
            }
            Some(commit) => {
                let short = commit.id.get(..12).unwrap_or(&commit.id);
                format!("committed:  {files} on {branch}, {short}\n")
            }
            None => format!("would commit {files} on {branch}:\n"),
        };
        if dry_run && !plan.paths.is_empty() {
            plan.paths.iter().take(SHOWN_MAX).for_each(|path| out.push_str(&format!("  {path}\n")));
            if let more @ 1.. = plan.paths.len().saturating_sub(SHOWN_MAX) {
                out.push_str(&format!("  … and {more} more\n"));
            }
            out.push_str("with this message:\n");
            self.message.lines().for_each(|line| out.push_str(&format!("  {line}\n").replace("  \n", "\n")));
        }
        if !plan.programs.is_empty() {
            out.push_str(&format!("it would run {}: refused without --commit-hooks\n", plan.programs.join(", ")));
        }
        if !plan.own_edits.is_empty() {
            out.push_str(&format!("with edits of yours from before the loop: {}\n", plan.own_edits.join(", ")));
        }
        for left in plan.left.iter().take(SHOWN_MAX) {
            out.push_str(&format!("not committed: {}, because {}\n", left.path, left.why));
        }
        if let more @ 1.. = plan.left.len().saturating_sub(SHOWN_MAX) {
            out.push_str(&format!("not committed: {more} more\n"));
        }
        out
    }
}

/// So many paths are shown.
const SHOWN_MAX: usize = 20;
