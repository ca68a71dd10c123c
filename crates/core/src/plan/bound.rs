//! No fact of a plan is too long: texts and lists in events are cut to what a line of the journal holds.
use super::event::{PlanEvent, PlanNotice, PlanRequest};
use super::list::{CANDIDATES_MAX, ITEM_TEXT_BYTES_MAX, ListReport};
use super::report::{ConflictReport, GatesReport, PlanAnswer, RunDigest};
use crate::ended::Ended;
use crate::text;

/// A sentence.
const TEXT_BYTES_MAX: usize = 1000;
/// The answer of a person.
const ANSWER_BYTES_MAX: usize = 4000;
/// A name, a hash, a command that asked.
const NAME_BYTES_MAX: usize = 200;
/// What was measured of a loop.
const EVIDENCE_BYTES_MAX: usize = 12 * 1024;
/// A list of names or sentences.
const LIST_MAX: usize = 16;

impl PlanEvent {
    /// The same event, with nothing in it that is too long for a fact. Specs are checked before they get here.
    pub(super) fn bounded(mut self) -> Self {
        match &mut self {
            Self::Answered { answer, .. } => bound_answer(answer),
            Self::Requested { request, by } => {
                cut(by, NAME_BYTES_MAX);
                bound_request(request);
            }
            Self::Reopened { by, request, .. } => {
                cut(by, NAME_BYTES_MAX);
                request.iter_mut().for_each(bound_request);
            }
            Self::OpenedForRequest { by } => cut(by, NAME_BYTES_MAX),
            Self::Noticed(PlanNotice::Message { text }) => cut(text, TEXT_BYTES_MAX),
            Self::Noticed(_) | Self::Created(_) | Self::Opened | Self::DeadlinePassed => {}
        }
        self
    }
}

fn bound_request(request: &mut PlanRequest) {
    match request {
        PlanRequest::Answer { text, .. } => cut(text, ANSWER_BYTES_MAX),
        PlanRequest::Limits { changes, .. } => {
            changes.truncate(LIST_MAX);
            for change in changes {
                cut(&mut change.key, NAME_BYTES_MAX);
                cut(&mut change.value, NAME_BYTES_MAX);
            }
        }
        PlanRequest::Rollback { to, undo } => [to, undo].into_iter().for_each(|name| cut(name, NAME_BYTES_MAX)),
        PlanRequest::Stop
        | PlanRequest::Abort
        | PlanRequest::Pause
        | PlanRequest::Resume
        | PlanRequest::Cancel
        | PlanRequest::Pick { .. }
        | PlanRequest::Budget { .. } => {}
    }
}

fn bound_answer(answer: &mut PlanAnswer) {
    match answer {
        PlanAnswer::Recorded { tree } | PlanAnswer::Merged { tree } => cut(tree, NAME_BYTES_MAX),
        PlanAnswer::Copied(report) => {
            cut(&mut report.method, NAME_BYTES_MAX);
            cut_list(&mut report.remarks);
        }
        PlanAnswer::RunEnded(digest) => bound_digest(digest),
        PlanAnswer::RunCutOff(report) => cut(&mut report.why, TEXT_BYTES_MAX),
        PlanAnswer::RolledBack(report) => {
            let names = [&mut report.to, &mut report.undo].into_iter().chain(report.tree.iter_mut());
            names.for_each(|name| cut(name, NAME_BYTES_MAX));
            cut_list(&mut report.aside);
            cut_list(&mut report.remarks);
        }
        PlanAnswer::Conflicts(report) => bound_conflict(report),
        PlanAnswer::Gates(report) => bound_gates(report),
        PlanAnswer::Applied(report) => {
            cut(&mut report.undo, NAME_BYTES_MAX);
            cut(&mut report.tree, NAME_BYTES_MAX);
        }
        PlanAnswer::HookEnded { ended: Ended::NotStarted(why), .. } | PlanAnswer::Failed { why } => {
            cut(why, TEXT_BYTES_MAX)
        }
        PlanAnswer::NotTicked { why } => cut(why, TEXT_BYTES_MAX),
        PlanAnswer::ListRead(report) => bound_list(report),
        PlanAnswer::Checked(checked) => {
            let evidence = checked.evidence.clone().bounded();
            let fits = serde_json::to_string(&evidence).is_ok_and(|text| text.len() <= EVIDENCE_BYTES_MAX);
            checked.evidence = evidence;
            cut(&mut checked.tree, NAME_BYTES_MAX);
            if !fits {
                let why = "the item has more criteria than one record can hold: divide it";
                *answer = PlanAnswer::Failed { why: why.to_owned() };
            }
        }
        PlanAnswer::Said { text, .. } => cut(text, ANSWER_BYTES_MAX),
        PlanAnswer::Measured(_)
        | PlanAnswer::Ticked
        | PlanAnswer::HookEnded { .. }
        | PlanAnswer::Picked { .. }
        | PlanAnswer::Done
        | PlanAnswer::Cancelled => {}
    }
}

fn bound_list(report: &mut ListReport) {
    report.candidates.truncate(CANDIDATES_MAX);
    cut_list(&mut report.edits);
    for item in report.candidates.iter_mut().filter_map(|node| node.item.as_mut()) {
        cut(&mut item.id, ITEM_TEXT_BYTES_MAX);
        cut(&mut item.title, ITEM_TEXT_BYTES_MAX);
    }
}

fn bound_digest(digest: &mut RunDigest) {
    cut(&mut digest.reason.text, TEXT_BYTES_MAX);
    let names = [&mut digest.checkpoint, &mut digest.tree];
    names.into_iter().flatten().for_each(|name| cut(name, NAME_BYTES_MAX));
}

fn bound_conflict(report: &mut ConflictReport) {
    cut_list(&mut report.paths);
    let names = [&mut report.ours, &mut report.theirs].into_iter().chain(report.marked.iter_mut());
    names.for_each(|name| cut(name, NAME_BYTES_MAX));
}

fn bound_gates(report: &mut GatesReport) {
    report.first.truncate(LIST_MAX);
    for gate in &mut report.first {
        cut(&mut gate.gate, NAME_BYTES_MAX);
        cut(&mut gate.says, NAME_BYTES_MAX);
    }
}

fn cut_list(list: &mut Vec<String>) {
    list.truncate(LIST_MAX);
    list.iter_mut().for_each(|one| cut(one, NAME_BYTES_MAX));
}

/// Without control characters, each of which would be six bytes in JSON, and not longer than this.
fn cut(words: &mut String, bytes_max: usize) {
    let is_plain = |text: &str| text.chars().all(|letter| !letter.is_control() || letter == '\n' || letter == '\t');
    if !is_plain(words) {
        *words = text::clean(words.as_bytes());
    }
    let to = text::head(words, bytes_max).len();
    words.truncate(to);
}
