//! Writing that an item is done, by changing the least bytes.
use super::draft::{ByteEdit, Draft};
use super::error::TickError;
use super::{Item, ListFormat, draft_of};

/// Ticks an item: one byte in Markdown, `passes` and `notes` in JSON, the scalar in YAML. A parent is ticked with its
/// last required child. The note is written where the format has a field for notes.
///
/// # Errors
/// The item is not in the text, or not as it was read; the text cannot be read.
pub fn tick(text: &[u8], format: ListFormat, item: &Item, note: Option<&str>) -> Result<Vec<u8>, TickError> {
    if format == ListFormat::Beads {
        return Err(TickError::ByProgram(item.id.clone()));
    }
    let draft = draft_of("", text, Some(format)).map_err(TickError::Unreadable)?;
    let Some(index) = draft.list.items.iter().position(|now| now.id == item.id) else {
        return Err(TickError::Gone(item.id.clone()));
    };
    let mut edits = edits_of(&draft, index, item)?;
    if let Some(place) = draft.places.get(index).and_then(|place| place.note.as_ref())
        && let Some(note) = note
    {
        let quoted = serde_json::Value::from(note).to_string();
        edits.push(ByteEdit { at: place.at.clone(), put: format!("{}{quoted}{}", place.before, place.after) });
    }
    Ok(apply(text, edits))
}

fn edits_of(draft: &Draft, index: usize, item: &Item) -> Result<Vec<ByteEdit>, TickError> {
    let now = draft.list.items.get(index).ok_or_else(|| TickError::Gone(item.id.clone()))?;
    if now.done && !item.done {
        return Err(TickError::TickedAlready(item.id.clone()));
    }
    if now.seal != item.seal || now.done {
        return Err(TickError::Changed(item.id.clone()));
    }
    let mut edits = draft.places.get(index).map(|place| place.tick.clone()).unwrap_or_default();
    if edits.is_empty() {
        return Err(TickError::NoBox(item.id.clone()));
    }
    let mut done: Vec<&str> = vec![&now.id];
    let mut parent = now.parent.as_deref();
    while let Some(id) = parent {
        let mut children = draft.list.items.iter().filter(|child| child.parent.as_deref() == Some(id));
        let is_open = |child: &Item| !child.optional && !child.done && !done.contains(&child.id.as_str());
        let at = draft.list.items.iter().position(|item| item.id == id);
        let Some(above) = at.and_then(|at| draft.list.items.get(at)) else { break };
        // An optional child that is ticked does not make its parent done.
        if children.any(is_open) || now.optional || above.done || done.contains(&id) {
            break;
        }
        edits.extend(at.and_then(|at| draft.places.get(at)).into_iter().flat_map(|place| place.tick.clone()));
        done.push(id);
        parent = above.parent.as_deref();
    }
    Ok(edits)
}

/// The text with its edits, which do not overlap.
fn apply(text: &[u8], mut edits: Vec<ByteEdit>) -> Vec<u8> {
    edits.sort_by_key(|edit| edit.at.start);
    let mut out = Vec::with_capacity(text.len() + 64);
    let mut from = 0;
    for edit in edits {
        out.extend_from_slice(text.get(from..edit.at.start).unwrap_or_default());
        out.extend_from_slice(edit.put.as_bytes());
        from = edit.at.end;
    }
    out.extend_from_slice(text.get(from..).unwrap_or_default());
    out
}
