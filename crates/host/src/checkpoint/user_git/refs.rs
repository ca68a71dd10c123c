//! Refs and logs of a repository, read as data: loose ones, packed ones, and what the logs remember.
use std::collections::{BTreeMap, BTreeSet};

use super::folder::{GitFolder, joined};
use super::remarks::Remarks;
use crate::checkpoint::git::object::Id;

/// A file with one ref is a line.
const REF_BYTES_MAX: u64 = 8 * 1024;
const PACKED_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// So many refs are read.
const REFS_MAX: usize = 500_000;
const DEPTH_MAX: usize = 64;

/// The value of a ref or of HEAD.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RefValue {
    Id(Id),
    /// The name of another ref.
    Ref(Vec<u8>),
}

impl RefValue {
    /// From the content of a file.
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        let text = text.trim_ascii_end();
        if let Some(name) = text.strip_prefix(b"ref:") {
            let name = name.trim_ascii();
            return is_name(name).then(|| Self::Ref(name.to_vec()));
        }
        // A file may have more text after it, which git ignores.
        let digits = text.split(u8::is_ascii_whitespace).next()?;
        std::str::from_utf8(digits).ok().and_then(Id::parse).map(Self::Id)
    }

    /// As the content of a file.
    pub(super) fn text(&self) -> Vec<u8> {
        match self {
            Self::Id(id) => format!("{id}\n").into_bytes(),
            Self::Ref(name) => [b"ref: ", name.as_slice(), b"\n"].concat(),
        }
    }
}

/// All refs by their names.
pub(super) type Refs = BTreeMap<Vec<u8>, RefValue>;

/// Whether a ref may be called so. A hostile name never becomes a path.
pub(super) fn is_name(name: &[u8]) -> bool {
    let part_ok = |part: &[u8]| !part.is_empty() && !part.starts_with(b".") && !part.ends_with(b".lock");
    let byte_ok = |byte: &u8| *byte > 0x20 && *byte != 0x7f && !b"~^:?*[\\".contains(byte);
    let dots = name.windows(2).any(|pair| pair == b"..");
    name.starts_with(b"refs/")
        && name.len() < 4000
        && !dots
        && name.iter().all(byte_ok)
        && name.split(|byte| *byte == b'/').all(part_ok)
}

/// The refs of a repository. Those that cannot be understood are reported.
pub(super) fn read(common: &GitFolder, remarks: &mut Remarks) -> Refs {
    let mut refs = Refs::new();
    match common.read(b"packed-refs", PACKED_BYTES_MAX) {
        Ok(text) => packed(&text.unwrap_or_default(), &mut refs, remarks),
        Err(error) => remarks.add(format!("packed-refs cannot be read: {error}")),
    }
    match common.below(b"refs") {
        Ok(folder) => loose(&folder, b"refs", DEPTH_MAX, &mut refs, remarks),
        Err(error) if super::folder::is_absent(&error) => {}
        Err(error) => remarks.add(format!("refs cannot be read: {error}")),
    }
    refs
}

fn packed(text: &[u8], refs: &mut Refs, remarks: &mut Remarks) {
    for line in text.split(|byte| *byte == b'\n') {
        if line.is_empty() || line.starts_with(b"#") || line.starts_with(b"^") {
            continue;
        }
        let parts = line.split_at_checked(40);
        let id = parts.and_then(|(id, _)| std::str::from_utf8(id).ok()).and_then(Id::parse);
        let name = parts.and_then(|(_, name)| name.strip_prefix(b" ")).map(<[u8]>::trim_ascii_end);
        match (id, name) {
            (Some(id), Some(name)) if is_name(name) && refs.len() < REFS_MAX => {
                refs.insert(name.to_vec(), RefValue::Id(id));
            }
            _ => remarks.add(format!("packed-refs has a line that is not a ref: {}", shown(line))),
        }
    }
}

fn loose(folder: &GitFolder, path: &[u8], depth: usize, refs: &mut Refs, remarks: &mut Remarks) {
    let names = match folder.names() {
        Ok(names) => names,
        Err(error) => return remarks.add(format!("{} cannot be read: {error}", shown(path))),
    };
    for (name, is_folder) in names {
        let path = joined(path, &name);
        if name.ends_with(b".lock") {
            continue;
        }
        if is_folder && depth > 0 {
            match folder.below(&name) {
                Ok(below) => loose(&below, &path, depth - 1, refs, remarks),
                Err(error) => remarks.add(format!("{} cannot be read: {error}", shown(&path))),
            }
            continue;
        }
        let value = folder.read(&name, REF_BYTES_MAX).ok().flatten();
        match value.as_deref().and_then(RefValue::parse) {
            Some(value) if is_name(&path) && refs.len() < REFS_MAX => {
                refs.insert(path, value);
            }
            _ => remarks.add(format!("{} is not a valid ref: it is not saved", shown(&path))),
        }
    }
}

/// The commit that a ref leads to, through other refs.
pub(super) fn resolve(value: &RefValue, refs: &Refs) -> Option<Id> {
    let mut value = value;
    for _ in 0..8 {
        match value {
            RefValue::Id(id) => return Some(*id),
            RefValue::Ref(name) => value = refs.get(name)?,
        }
    }
    None
}

/// The ids that a log names.
pub(super) fn of_log(text: &[u8], ids: &mut BTreeSet<Id>) {
    for line in text.split(|byte| *byte == b'\n') {
        for at in [0, 41] {
            let digits = line.get(at..at + 40).and_then(|digits| std::str::from_utf8(digits).ok());
            let id = digits.and_then(Id::parse).filter(|id| id.bytes() != &[0; 20]);
            ids.extend(id);
        }
    }
}

/// Bytes for a sentence.
pub(super) fn shown(bytes: &[u8]) -> String {
    let short = bytes.get(..200).unwrap_or(bytes);
    String::from_utf8_lossy(short).chars().map(|letter| if letter.is_control() { '?' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_elsewhere_are_none() {
        for name in ["refs/heads/main", "refs/stash", "refs/heads/a/b-ü"] {
            assert!(is_name(name.as_bytes()), "{name}");
        }
        for name in
            ["HEAD", "refs/../x", "refs//x", "/refs/x", "refs/x.lock", "refs/.x", "refs/a b", "refs/x/", "refs/a\0"]
        {
            assert!(!is_name(name.as_bytes()), "{name}");
        }
        assert_eq!(RefValue::parse(b"ref: refs/heads/main\n"), Some(RefValue::Ref(b"refs/heads/main".to_vec())));
        assert_eq!(RefValue::parse(b"ref: ../../x\n"), None);
        assert_eq!(RefValue::parse(b"\xff\xff"), None);
    }
}
