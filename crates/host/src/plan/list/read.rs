//! Reads the list for the next item. Its bytes are kept in the folder of the plan: an item that was taken stays as it was.
use std::collections::BTreeSet;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use loop_core::list::{self, Item, List, ListFormat, merge_edits};
use loop_core::plan::{
    CANDIDATES_MAX, ITEM_TEXT_BYTES_MAX, ItemRef, ListReport, ListSpec, LoopWork, NODE_TEXT_BYTES_MAX, NodeId,
    NodeSpec, NodeWork, OnConflict, PlanAnswer, PlanState, TOUCH_BYTES_MAX, TOUCHES_MAX,
};
use loop_core::run::FileRef;
use loop_core::text;
use sha2::{Digest, Sha256};

use super::folder::stored_list;
use crate::fs::{hex, write_synced};
use crate::paths::{path_of, read_bounded};

/// One byte more than a list may have is enough to refuse it.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024 + 1;

/// What is read, and what is known before.
#[derive(Debug)]
pub(in super::super) struct ReadRequest {
    plan: PathBuf,
    workspace: PathBuf,
    list: ListSpec,
    /// The bytes of the reading before.
    before: Option<FileRef>,
    /// Items that were begun, and those of them on which nothing works any more.
    begun: BTreeSet<String>,
    over: BTreeSet<String>,
}

impl ReadRequest {
    pub(in super::super) fn new(plan: &Path, workspace: &Path, state: &PlanState) -> io::Result<Self> {
        let list = state.spec.as_ref().and_then(|spec| spec.list()).cloned();
        let list = list.ok_or_else(|| io::Error::other("the plan has no list"))?;
        let items = || state.nodes.iter().filter_map(|node| Some((node, &node.spec.item.as_ref()?.id)));
        let over = items().filter(|(node, _)| node.end().is_some()).map(|(_, id)| id.clone()).collect();
        Ok(Self {
            plan: plan.to_owned(),
            workspace: workspace.to_owned(),
            list,
            before: state.list.last.as_ref().map(|read| read.list.clone()),
            begun: items().map(|(_, id)| id.clone()).collect(),
            over,
        })
    }

    /// Reads it.
    pub(in super::super) fn carry_out(&self) -> PlanAnswer {
        match self.read() {
            Ok(report) => PlanAnswer::ListRead(Box::new(report)),
            Err(error) => {
                let why = format!("the list {} cannot be read: {error}", self.list.file);
                PlanAnswer::Failed { why: text::one_line(&why, 1000) }
            }
        }
    }

    fn read(&self) -> io::Result<ListReport> {
        let path = path_of(&self.list.file);
        let bytes = read_bounded(&self.workspace.join(&path), FILE_BYTES_MAX)?;
        let format = ListFormat::parse(&self.list.format);
        let now = list::read(&path.to_string_lossy(), &bytes, format)
            .map_err(|error| io::Error::other(format!("line {}: {}", error.line, error.message)))?;
        if let Some(item) = now.items.iter().find(|item| item.id.len() > ITEM_TEXT_BYTES_MAX) {
            let why = format!("line {}: an id is longer than {ITEM_TEXT_BYTES_MAX} bytes", item.line);
            return Err(io::Error::other(why));
        }
        let kept = self.keep(&bytes)?;
        let running: Vec<&str> = self.begun.difference(&self.over).map(String::as_str).collect();
        let edits = match &self.before {
            Some(before) if *before != kept => {
                let (before, _) = stored_list(&self.plan, &self.list, before)?;
                self.edits(&before, &now, &running)
            }
            Some(_) | None => Vec::new(),
        };
        let found = now.ready(&self.begun, &self.over);
        let wanted = |item: &&Item| self.list.only.as_ref().is_none_or(|only| item.id == *only);
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let ready: Vec<&Item> = match &self.list.only {
            // A person named it: what it waits for does not count.
            Some(only) => now.items.iter().filter(|item| item.id == *only && !item.done).collect(),
            None => found.ready.iter().copied().filter(wanted).collect(),
        };
        let ready = ready.into_iter().filter(|item| !self.begun.contains(&item.id));
        Ok(ListReport {
            open: count(found.ready.len() + found.waiting),
            waiting: count(found.waiting),
            all: count(now.work().filter(|item| !item.optional).count()),
            candidates: ready.take(CANDIDATES_MAX).map(|item| self.node(item, &kept)).collect(),
            edits,
            list: kept,
        })
    }

    /// What a person changed. What this plan ticked is not theirs.
    fn edits(&self, before: &List, now: &List, running: &[&str]) -> Vec<String> {
        let mut edits = merge_edits(before, now, running);
        edits.ticked.retain(|id| !self.begun.contains(id));
        edits.undisturbed.retain(|id| !self.over.contains(id));
        if edits.is_nothing() { Vec::new() } else { edits.words() }
    }

    /// The bytes of the list, as a file of the plan.
    fn keep(&self, bytes: &[u8]) -> io::Result<FileRef> {
        let sha256 = hex(&Sha256::digest(bytes));
        let name = format!("lists/{}", sha256.get(..24).unwrap_or(&sha256));
        let path = self.plan.join(&name);
        DirBuilder::new().recursive(true).mode(0o700).create(self.plan.join("lists"))?;
        if fs::read(&path).ok().as_deref() != Some(bytes) {
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            write_synced(&path, bytes)?;
        }
        Ok(FileRef { name, sha256, bytes: u64::try_from(bytes.len()).unwrap_or(u64::MAX) })
    }

    fn node(&self, item: &Item, list: &FileRef) -> NodeSpec {
        let short = |text: &str| text::one_line(text, NODE_TEXT_BYTES_MAX / 4);
        let cut = |text: &str| text::head(text, ITEM_TEXT_BYTES_MAX).to_owned();
        let fits = item.scope.len() <= TOUCHES_MAX && item.scope.iter().all(|glob| glob.len() <= TOUCH_BYTES_MAX);
        NodeSpec {
            id: NodeId::of_item(&item.id),
            work: NodeWork::Loop(LoopWork {
                request: self.list.request.clone(),
                goal: short(&item.title),
                promise: String::new(),
                agent: short(&self.list.agent),
            }),
            depends_on: Vec::new(),
            touches: if fits { item.scope.clone() } else { Vec::new() },
            on_conflict: OnConflict::Rerun,
            key: item.seal.clone(),
            gates_ms: self.list.checks_ms,
            item: Some(ItemRef { id: cut(&item.id), title: cut(&item.title), list: list.clone() }),
        }
    }
}
