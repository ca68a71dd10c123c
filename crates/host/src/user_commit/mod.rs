//! Committing the work of a loop or a plan that is done, by the user's own git. It is the only place where git runs with the
//! configuration of the user and of the repository.
//!
//! | file | what it does | what it does not do |
//! |---|---|---|
//! | `git` | runs git with a time limit | run hooks that no person allowed |
//! | `rules` | what the repository must be like | change anything |
//! | `paths` | which paths are committed, and which are left out and why | read what is not in a checkpoint |
//!
//! Only paths that differ between `initial` and the state that was judged are committed, and only while they are as they
//! were judged. The run and its workspace are locked meanwhile, so that no agent works.
mod git;
mod paths;
mod rules;

use std::path::Path;

use loop_core::ids::RunId;
use loop_core::plan::{Plan, PlanOutcome, PlanState};
use loop_core::run::{INITIAL, Outcome, RunState, WorkspaceRef};
use loop_core::text;
use loop_core::view::{AppliedPlan, Certificate};

use self::git::GitProgram;
use self::paths::{Judged, TouchedPath};
use self::rules::RepositoryPlace;
use crate::attestation::hint_to_verified;
use crate::checkpoint::CheckpointContext;
use crate::paths::Home;
use crate::plan::plan_context;
use crate::process::is_inside_run;
use crate::refusal::LaunchRefusal;
use crate::run_folder::{FoundFolder, HasFolder, Held, RunFolder, StartLock};
use crate::workspace::claim;

/// What a person allows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CommitRules {
    /// Programs that the repository names may run: hooks and filters.
    pub hooks: bool,
    /// Paths that had uncommitted edits at the start are committed too.
    pub own_edits: bool,
    /// Nothing is committed: programs that only a commit would run are named.
    pub dry_run: bool,
}

/// A path that is not committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftPath {
    /// Which.
    pub path: String,
    /// Why.
    pub why: &'static str,
}

/// Whose work is committed.
#[derive(Debug)]
pub enum CommittedWork {
    /// Of one run.
    Run(Box<RunState>),
    /// Of a plan: what it applied to the workspace.
    Plan(Box<PlanState>),
}

impl CommittedWork {
    fn id(&self) -> String {
        let id = match self {
            Self::Run(state) => state.spec.as_ref().map(|spec| spec.id.to_string()),
            Self::Plan(state) => state.spec.as_ref().map(|spec| spec.id.to_string()),
        };
        id.unwrap_or_default()
    }
}

/// What would be committed. The run or the plan and its workspace are locked while it exists.
#[derive(Debug)]
pub struct CommitPlan {
    /// Whose work it is.
    pub work: CommittedWork,
    /// The branch; none where HEAD is detached.
    pub branch: Option<String>,
    /// The paths, below the workspace.
    pub paths: Vec<String>,
    /// Of these, what had uncommitted edits at the start.
    pub own_edits: Vec<String>,
    /// Paths that the loop changed and that are not committed.
    pub left: Vec<LeftPath>,
    /// Programs that the commit would run and that no person allowed: only where nothing is committed.
    pub programs: Vec<String>,
    git: GitProgram,
    place: RepositoryPlace,
    touched: Vec<TouchedPath>,
    /// The lock, until this is dropped.
    _held: Box<dyn std::any::Any>,
}

/// A commit that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserCommit {
    /// Its id.
    pub id: String,
    /// The tree of the workspace's folder in it.
    pub tree: String,
}

/// Checks before a start that a commit will be possible at its end. Files are not looked at.
///
/// # Errors
/// When it is not.
pub fn check_before(home: &Home, workspace: &Path, rules: CommitRules) -> Result<(), LaunchRefusal> {
    let git = GitProgram::find(workspace, &home.copies(), rules.hooks)?;
    rules::check(&git, workspace, false).map(drop)
}

/// What a commit of a run, or of what a plan applied, would hold. Nothing is changed.
///
/// # Errors
/// When the run is not done or the result of the plan is not in the workspace, gates fail there, an agent asks, or a
/// rule speaks against it.
pub fn plan(home: &Home, found: &FoundFolder, rules: CommitRules) -> Result<CommitPlan, LaunchRefusal> {
    let (FoundFolder::Run(folder) | FoundFolder::Plan(folder)) = found;
    refuse_inside(folder)?;
    match found {
        FoundFolder::Run(run) => of_run(home, run, rules),
        FoundFolder::Plan(plan) => of_plan(home, plan, rules),
    }
}

fn of_run(home: &Home, run: &RunFolder, rules: CommitRules) -> Result<CommitPlan, LaunchRefusal> {
    let held = run.clone().hold()?;
    let state = held.state.clone();
    let judged = judged(run, &state)?;
    let Some(spec) = &state.spec else { return Err(not_done(run, "it never began")) };
    let held = with_workspace(home, held, &spec.id, &spec.workspace)?;
    let context = run.checkpoints(spec);
    let judged = Judged { what: "loop", from: INITIAL, to: &judged };
    let locked = LockedWork { work: CommittedWork::Run(Box::new(state.clone())), held };
    build(home, &context, &judged, rules, locked)
}

fn of_plan(home: &Home, folder: &RunFolder, rules: CommitRules) -> Result<CommitPlan, LaunchRefusal> {
    let held = folder.clone().hold_as::<Plan>()?;
    let state = held.state.clone();
    let id = &folder.id;
    let not_done = |why: &str| LaunchRefusal::wrong(format!("plan {id} is not committed")).because(why);
    let Some(spec) = state.spec.clone() else { return Err(not_done("it never began")) };
    let outcome = state.over.as_ref().map(|over| over.outcome);
    let report = match (outcome, &state.applying.report) {
        (Some(PlanOutcome::Applied), Some(report)) => report.clone(),
        (Some(PlanOutcome::NotHere), _) => {
            return Err(not_done("gates fail in the workspace that pass in the branch")
                .hint("fix that, then commit by hand: git add -p"));
        }
        (Some(PlanOutcome::Taken), _) => {
            return Err(not_done("you took a branch that does not pass").hint("commit it by hand: git add -p"));
        }
        (None, _) => return Err(not_done("it has no end yet").hint(format!("loop status {id}"))),
        (Some(_), _) => {
            return Err(not_done("its result is not in the workspace").hint(format!("loop status {id}")));
        }
    };
    let context = plan_context(home, folder, &state)
        .map_err(|error| not_done(&format!("its checkpoints cannot be read: {error}")))?;
    let held = with_workspace(home, held, &spec.id, &spec.workspace)?;
    let after = AppliedPlan::after_name(&report.undo);
    let judged = Judged { what: "plan", from: &report.undo, to: &after };
    let locked = LockedWork { work: CommittedWork::Plan(Box::new(state)), held };
    build(home, &context, &judged, rules, locked)
}

/// Locks the workspace, too.
fn with_workspace<M: HasFolder + 'static>(
    home: &Home,
    held: Held<M>,
    id: &RunId,
    workspace: &WorkspaceRef,
) -> Result<Box<dyn std::any::Any>, LaunchRefusal> {
    let start = StartLock::take(home)?;
    let claimed = claim(home, &start, id, workspace)?;
    Ok(Box::new(held.with_claim(claimed)))
}

fn refuse_inside(folder: &RunFolder) -> Result<(), LaunchRefusal> {
    if !is_inside_run() {
        return Ok(());
    }
    Err(LaunchRefusal::wrong(format!("loop {} is not committed from inside a loop", folder.id))
        .because("an agent must not commit by way of loop")
        .hint("commit it in a terminal of your own"))
}

/// The work, and the lock of whose it is.
struct LockedWork {
    work: CommittedWork,
    held: Box<dyn std::any::Any>,
}

/// Looks at the repository and at the paths.
fn build(
    home: &Home,
    context: &CheckpointContext,
    judged: &Judged<'_>,
    rules: CommitRules,
    locked: LockedWork,
) -> Result<CommitPlan, LaunchRefusal> {
    let LockedWork { work, held } = locked;
    let workspace = &context.workspace;
    let git = GitProgram::find(workspace, &home.copies(), rules.hooks)?;
    let place = rules::check(&git, workspace, rules.dry_run)?;
    let found = paths::find(&git, &place, context, judged, home)?;
    let (what, id) = (judged.what, work.id());
    let names = |touched: &[TouchedPath]| touched.iter().map(|one| text::escape_path(&one.path)).collect::<Vec<_>>();
    let own: Vec<TouchedPath> = found.touched.iter().filter(|one| one.had_edits).cloned().collect();
    let own_edits = names(&own);
    if !rules.own_edits && !own_edits.is_empty() {
        return Err(LaunchRefusal::wrong(format!("{what} {id} is not committed"))
            .because(format!("files that it changed had uncommitted edits of yours before: {}", few(&own_edits)))
            .hint(format!("commit your edits with its work: loop commit {id} --with-own-edits"))
            .hint("or choose the lines yourself: git add -p"));
    }
    let paths = names(&found.touched);
    Ok(CommitPlan {
        branch: place.branch.clone(),
        programs: place.programs.clone(),
        paths,
        own_edits,
        left: found.left,
        git,
        place,
        touched: found.touched,
        work,
        _held: held,
    })
}

/// The checkpoint that was judged, of a run that is done.
fn judged(run: &RunFolder, state: &RunState) -> Result<String, LaunchRefusal> {
    let id = &run.id;
    match state.over.as_ref().map(|over| over.outcome) {
        Some(Outcome::Verified | Outcome::Accepted | Outcome::Claimed) => {}
        Some(Outcome::PassedBut) => {
            return Err(not_done(run, "its gates pass, but something speaks against it")
                .hint(format!("if you accept it: loop accept {id} && loop commit {id}")));
        }
        Some(_) => return Err(not_done(run, "it ended without being done").hint(hint_to_verified(state, id.as_str()))),
        None => return Err(not_done(run, "it has no end yet").hint(format!("loop status {id}"))),
    }
    let certified = Certificate::of(state).and_then(|certificate| certificate.checkpoint);
    certified.or_else(|| state.checkpoints.newest().map(str::to_owned)).ok_or_else(|| {
        not_done(run, "it has no checkpoints, so what it changed is not known").hint("commit it by hand: git add -p")
    })
}

fn not_done(run: &RunFolder, why: &str) -> LaunchRefusal {
    LaunchRefusal::wrong(format!("loop {} is not committed", run.id)).because(why)
}

/// The first names, and how many more.
fn few(names: &[String]) -> String {
    const NAMED_MAX: usize = 5;
    let more = names.len().saturating_sub(NAMED_MAX);
    let shown = names.iter().take(NAMED_MAX).map(String::as_str).collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{shown}, and {more} more") } else { shown }
}

impl CommitPlan {
    /// Where the run worked.
    #[must_use]
    pub fn top(&self) -> &Path {
        &self.place.top
    }

    /// Makes the commit.
    ///
    /// # Errors
    /// When git refuses. Then what was staged for it is taken back.
    pub fn commit(&self, message: &str) -> Result<UserCommit, LaunchRefusal> {
        let all = |touched: &mut dyn Iterator<Item = &TouchedPath>| -> Vec<u8> {
            touched.flat_map(|one| [&one.path[..], b"\0"].concat()).collect()
        };
        let new = all(&mut self.touched.iter().filter(|one| one.is_untracked));
        let from_stdin = ["--pathspec-from-file=-", "--pathspec-file-nul"];
        let id = self.work.id();
        let refused = |why: String| {
            LaunchRefusal::unable("git did not commit").because(why).hint(format!("fix that, then: loop commit {id}"))
        };
        if !new.is_empty() {
            let added = self.git.ask_about(&["add", "--intent-to-add", from_stdin[0], from_stdin[1]], &new)?;
            if !added.succeeded {
                return Err(refused(added.message));
            }
        }
        let message = format!("--message={message}");
        let words = ["commit", "--quiet", "--only", "--cleanup=whitespace", &message, from_stdin[0], from_stdin[1]];
        let done = self.git.commit(&words, &all(&mut self.touched.iter()));
        let made = done.and_then(|done| if done.succeeded { Ok(()) } else { Err(refused(done.message)) });
        if let Err(error) = made {
            if !new.is_empty() {
                let reset = ["rm", "--cached", "--quiet", "--force", "--ignore-unmatch", from_stdin[0], from_stdin[1]];
                self.git.ask_about(&reset, &new).ok();
            }
            return Err(error);
        }
        let id = self.git.ask(&["rev-parse", "HEAD"])?.line();
        let prefix = text::escape_path(self.place.prefix.strip_suffix(b"/").unwrap_or_default());
        let tree = self.git.ask(&["rev-parse", &format!("HEAD:{prefix}")])?.line();
        Ok(UserCommit { id, tree })
    }
}
