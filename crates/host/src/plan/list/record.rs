//! What a loop of an item came to, in the files of the PRD loop specification; and the tick of an item that passed.
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use loop_core::list::{self, TickError};
use loop_core::plan::{ItemJudge, ItemProgress, ItemRef, ListSpec, NodeId, NodeState, PlanAnswer, PlanState};
use loop_core::policy::item::{ItemEvaluation, ItemVerdict, LoopEvidence};
use loop_core::text;
use loop_core::view::{
    ItemEscalation, ItemLogEntry, ItemPass, item_escalation_line, item_last_error, item_log_line, item_notes,
    item_progress_entry,
};
use serde::{Deserialize, Serialize};

use super::check::{EVIDENCE, StoredEvidence};
use super::files::{Appended, Intent, refuse_links, replace};
use super::folder::{ItemFolder, LAST_ERROR, LOG, PROGRESS, TakenItem, item_of, taken_item};
use crate::clock;
use crate::paths::path_of;

/// What is recorded of an item.
#[derive(Debug)]
pub(in super::super) struct RecordRequest {
    plan: PathBuf,
    workspace: PathBuf,
    list: ListSpec,
    item: ItemRef,
    node: NodeId,
    attempt: u32,
    progress: ItemProgress,
    /// How many iterations its run had.
    iterations: u32,
    /// It passed, and its result is in the workspace.
    passed: bool,
}

/// The texts for one loop.
#[derive(Debug, Serialize, Deserialize)]
struct LoopTexts {
    log: Appended,
    last_error: Option<String>,
}

/// The texts for a tick.
#[derive(Debug, Serialize, Deserialize)]
struct PassTexts {
    log: Appended,
    progress: Appended,
    note: String,
}

impl RecordRequest {
    pub(in super::super) fn new(
        plan: &Path,
        workspace: &Path,
        state: &PlanState,
        node: &NodeId,
        passed: bool,
    ) -> io::Result<Self> {
        let (list, item) = item_of(state, node)?;
        let node: &NodeState = state.node(node).ok_or_else(|| io::Error::other("the node is gone"))?;
        Ok(Self {
            plan: plan.to_owned(),
            workspace: workspace.to_owned(),
            list: list.clone(),
            item: item.clone(),
            node: node.id().clone(),
            attempt: node.attempt,
            progress: node.item.clone(),
            iterations: node.result.as_ref().map_or(0, |run| run.iterations),
            passed,
        })
    }

    /// Writes it. What was begun before a crash is finished.
    pub(in super::super) fn carry_out(&self) -> PlanAnswer {
        let failed = |error: io::Error| text::one_line(&error.to_string(), 1000);
        match self.passed {
            false => match self.record_loop() {
                Ok(()) => PlanAnswer::Done,
                Err(error) => PlanAnswer::Failed { why: failed(error) },
            },
            true => match self.tick() {
                Ok(None) => PlanAnswer::Ticked,
                Ok(Some(why)) => PlanAnswer::NotTicked { why },
                Err(error) => PlanAnswer::NotTicked { why: failed(error) },
            },
        }
    }

    fn taken(&self) -> io::Result<TakenItem> {
        taken_item(&self.plan, &self.list, &self.item)
    }

    /// What was measured by the newest checks, where checks judge.
    fn measured(&self) -> io::Result<Option<StoredEvidence>> {
        if self.list.judge == ItemJudge::Run {
            return Ok(None);
        }
        let folder = ItemFolder::new(&self.plan, &self.node, self.attempt).outputs(self.progress.checks);
        Ok(Some(serde_json::from_slice(&fs::read(folder.join(EVIDENCE))?)?))
    }

    fn evaluation(&self) -> ItemEvaluation {
        let known = self.progress.evaluation.as_deref().cloned();
        known.unwrap_or_else(|| ItemEvaluation {
            verdict: ItemVerdict::Pass,
            failure: None,
            proofs: Vec::new(),
            outside: Vec::new(),
            flags: Vec::new(),
        })
    }

    fn log_line(&self, wall_ms: u64, measured: Option<&StoredEvidence>, more: &[&str]) -> String {
        let evaluation = self.evaluation();
        let evidence = measured.map(|stored| &stored.evidence);
        let check = evidence.and_then(|evidence| evidence.check.as_ref());
        let mut artifacts = artifacts(evidence);
        artifacts.extend(more.iter().map(|name| (*name).to_owned()));
        item_log_line(&ItemLogEntry {
            wall_ms,
            item: &self.item.id,
            number: self.iterations,
            command: check.map_or("the promise of the task", |check| check.command.as_str()),
            exit_code: check.and_then(|check| check.exit_code),
            evaluation: &evaluation,
            artifacts: &artifacts,
            retry: self.progress.retry.as_ref(),
            end: self.progress.end.as_ref(),
        })
    }

    fn record_loop(&self) -> io::Result<()> {
        let intent = Intent::new(&self.plan, &format!("{}-{}-loop-{}", self.node, self.attempt, self.progress.checks));
        let make = || {
            let wall_ms = clock::now().wall_ms;
            let measured = self.measured()?;
            let mut log = self.log_line(wall_ms, measured.as_ref(), &[]);
            let failure = self.progress.evaluation.as_ref().and_then(|evaluation| evaluation.failure.as_ref());
            if let Some(end) = self.progress.end.as_ref().filter(|end| end.is_escalation()) {
                let TakenItem { item, .. } = self.taken()?;
                let escalation = ItemEscalation {
                    item: &item,
                    end,
                    tries: &self.progress.tries,
                    retries: &self.progress.retries,
                    last: failure,
                };
                log.push_str(&item_escalation_line(&escalation, wall_ms));
            }
            let last_error = failure.map(|failure| item_last_error(failure, wall_ms));
            Ok(LoopTexts { log: Appended::new(&self.workspace, LOG, log)?, last_error })
        };
        let (texts, _) = intent.keep(make)?;
        texts.log.write(&self.workspace)?;
        match &texts.last_error {
            Some(error) => {
                refuse_links(&self.workspace, LAST_ERROR)?;
                replace(&self.workspace.join(LAST_ERROR), error.as_bytes())
            }
            None => Ok(()),
        }
    }

    /// Ticks the item. Some: why nothing is written.
    fn tick(&self) -> io::Result<Option<String>> {
        let TakenItem { item, format, .. } = self.taken()?;
        let intent = Intent::new(&self.plan, &format!("{}-{}-pass", self.node, self.attempt));
        let path = self.workspace.join(path_of(&self.list.file));
        let make = || {
            let wall_ms = clock::now().wall_ms;
            let measured = self.measured()?;
            let evaluation = self.evaluation();
            let changed = measured.as_ref().map(|stored| stored.evidence.changed.clone()).unwrap_or_default();
            let proposed = measured.as_ref().map(|stored| stored.note.as_str()).filter(|note| !note.is_empty());
            let loops = self.progress.tries.loops.max(u32::from(self.list.judge == ItemJudge::Run) * self.iterations);
            let pass = ItemPass { wall_ms, item: &item, loops, evaluation: &evaluation, changed: &changed, proposed };
            let files = [self.list.file.as_str(), PROGRESS];
            // A roadmap has one byte changed, and its run has logs of its own.
            let is_checked = self.list.judge == ItemJudge::Checks;
            let text = |make: &dyn Fn() -> String| if is_checked { make() } else { String::new() };
            let log = text(&|| self.log_line(wall_ms, measured.as_ref(), &files));
            Ok(PassTexts {
                log: Appended::new(&self.workspace, LOG, log)?,
                progress: Appended::new(&self.workspace, PROGRESS, text(&|| item_progress_entry(&pass)))?,
                note: item_notes(&pass),
            })
        };
        let (texts, was_begun) = intent.keep(make)?;
        let before = fs::read(&path)?;
        // Where it was begun, the list may have the tick already. Then only the other files are missing.
        match list::tick(&before, format, &item, Some(&texts.note)) {
            Ok(after) => replace(&path, &after)?,
            Err(TickError::TickedAlready(_)) if was_begun => {}
            Err(error) => {
                intent.forget();
                return Ok(Some(error.to_string()));
            }
        }
        let written = texts.progress.write(&self.workspace).and_then(|()| texts.log.write(&self.workspace));
        if let Err(error) = written {
            // All or none: the tick is taken back where nothing else changed the list.
            if !was_begun {
                replace(&path, &before)?;
            }
            return Err(error);
        }
        Ok(None)
    }
}

/// The files that a loop left, for its line in the log.
fn artifacts(evidence: Option<&LoopEvidence>) -> Vec<String> {
    let Some(evidence) = evidence else { return Vec::new() };
    let own = evidence.criteria.iter().filter_map(|criterion| criterion.check.as_ref());
    let readings = evidence.check.iter().chain(own).chain(&evidence.confirmations);
    let outputs = readings.filter_map(|reading| reading.output.as_ref());
    evidence.diff.iter().chain(outputs).map(|artifact| artifact.path.clone()).collect()
}
