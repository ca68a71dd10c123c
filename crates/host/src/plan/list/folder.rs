//! Where the records of an item are, and which files of the workspace belong to the harness.
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use loop_core::list::{self, Item, List, ListFormat};
use loop_core::plan::{ItemRef, ListSpec, NodeId, PlanState};
use loop_core::run::FileRef;
use sha2::{Digest, Sha256};

use crate::fs::hex;
use crate::paths::path_of;

/// Files in the workspace, by the PRD loop specification.
pub(super) const LOG: &str = "loop/log.txt";
pub(super) const LAST_ERROR: &str = "loop/last_error.txt";
pub(super) const PROGRESS: &str = "progress.txt";

/// One attempt at an item, in the folder of its plan.
#[derive(Debug, Clone)]
pub(super) struct ItemFolder {
    /// The folder of the plan.
    plan: PathBuf,
    /// `items/<node>-<attempt>`.
    name: String,
}

impl ItemFolder {
    pub(super) fn new(plan: &Path, node: &NodeId, attempt: u32) -> Self {
        Self { plan: plan.to_owned(), name: format!("items/{node}-{attempt}") }
    }

    pub(super) fn path(&self) -> PathBuf {
        self.plan.join(&self.name)
    }

    /// What is recorded at the start of a loop.
    pub(super) fn start(&self, number: u32) -> PathBuf {
        self.path().join(format!("loop-{number}/start"))
    }

    /// The outputs of one run of the checks.
    pub(super) fn outputs(&self, check: u32) -> PathBuf {
        self.path().join(format!("check-{check}"))
    }

    pub(super) fn plan(&self) -> &Path {
        &self.plan
    }
}

/// The list from which an item was taken, and the item in it.
pub(super) struct TakenItem {
    pub(super) list: List,
    pub(super) item: Item,
    pub(super) format: ListFormat,
}

/// Reads the list that a plan kept.
pub(super) fn stored_list(plan: &Path, spec: &ListSpec, file: &FileRef) -> io::Result<(List, ListFormat)> {
    let bytes = fs::read(plan.join(&file.name))?;
    if hex(&Sha256::digest(&bytes)) != file.sha256 {
        return Err(io::Error::other(format!("{} is not what was written", file.name)));
    }
    let format =
        ListFormat::parse(&spec.format).ok_or_else(|| io::Error::other("the format of the list is unknown"))?;
    let path = path_of(&spec.file);
    let list = list::read(&path.to_string_lossy(), &bytes, Some(format));
    Ok((list.map_err(|error| io::Error::other(error.to_string()))?, format))
}

pub(super) fn taken_item(plan: &Path, spec: &ListSpec, of: &ItemRef) -> io::Result<TakenItem> {
    let (list, format) = stored_list(plan, spec, &of.list)?;
    let item = list.items.iter().find(|item| item.id == of.id).cloned();
    let item = item.ok_or_else(|| io::Error::other(format!("{} is not in the list any more", of.id)))?;
    Ok(TakenItem { list, item, format })
}

/// The list of a plan and the item of one of its nodes.
pub(super) fn item_of<'a>(state: &'a PlanState, node: &NodeId) -> io::Result<(&'a ListSpec, &'a ItemRef)> {
    let list = state.spec.as_ref().and_then(|spec| spec.list());
    let item = state.node(node).and_then(|node| node.spec.item.as_ref());
    list.zip(item).ok_or_else(|| io::Error::other(format!("{node} is not an item of a list")))
}
