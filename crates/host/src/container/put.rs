//! Files for an agent in a container. What an adapter writes beside the prompt is outside the workspace and not
//! visible in the container. So it is copied there as a tar archive, the only form that an engine accepts.
use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use super::engine::{Engine, EngineError};

const BLOCK: usize = 512;

/// Puts files into a container, by absolute path, with the folders above them.
///
/// # Errors
/// When a path is too long or not absolute, or the engine refuses.
pub fn put(socket: &Path, container: &str, files: &[(String, Vec<u8>)]) -> Result<(), EngineError> {
    let archive = archive(files).map_err(|error| EngineError::Malformed(error.to_string()))?;
    Engine::at(socket).put(container, &archive)
}

/// The files as an archive to be extracted at the root. All users may read them: the agent's user is not known.
fn archive(files: &[(String, Vec<u8>)]) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut folders = BTreeSet::new();
    for (path, _) in files {
        let inside = path.strip_prefix('/').filter(|inside| !inside.split('/').any(|part| part == ".."));
        let inside = inside.ok_or_else(|| io::Error::other(format!("{path} is not an absolute path")))?;
        folders.extend(inside.match_indices('/').filter_map(|(at, _)| inside.get(..=at)));
    }
    for folder in folders {
        bytes.extend(head(folder, 0, "0000755", b'5')?);
    }
    for (path, content) in files {
        bytes.extend(head(path.trim_start_matches('/'), content.len(), "0000644", b'0')?);
        bytes.extend_from_slice(content);
        bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
    }
    // Two empty blocks are its end.
    bytes.resize(bytes.len() + 2 * BLOCK, 0);
    Ok(bytes)
}

/// The head of one entry, as POSIX has it.
fn head(name: &str, length: usize, mode: &str, kind: u8) -> io::Result<Vec<u8>> {
    let too_long = || io::Error::other(format!("{name} is too long a path for an archive"));
    // A name of up to 100 bytes, and as many as 155 of its folders before it.
    let cut = |name: &str| name.match_indices('/').map(|(at, _)| at).find(|at| name.len() - at <= 100 && *at > 0);
    let (prefix, name) = match name.len() {
        0..=100 => ("", name),
        _ => cut(name).and_then(|at| Some((name.get(..at)?, name.get(at + 1..)?))).ok_or_else(too_long)?,
    };
    if prefix.len() > 155 || name.is_empty() {
        return Err(too_long());
    }
    let fields = |sum: &[u8]| {
        let length = format!("{length:011o}\0");
        let parts: [(&[u8], usize); 10] = [
            (name.as_bytes(), 100),
            (mode.as_bytes(), 8),
            (b"0000000", 8),
            (b"0000000", 8),
            (length.as_bytes(), 12),
            (b"00000000000", 12),
            (sum, 8),
            (&[kind], 1 + 100),
            (b"ustar\x0000", 8 + 32 + 32 + 8 + 8),
            (prefix.as_bytes(), 155 + 12),
        ];
        let padded =
            |(part, width): (&[u8], usize)| part.iter().copied().chain(std::iter::repeat(0)).take(width).collect();
        parts.map(padded).into_iter().flat_map(|part: Vec<u8>| part).collect::<Vec<u8>>()
    };
    let sum: u32 = fields(b"        ").iter().map(|byte| u32::from(*byte)).sum();
    Ok(fields(format!("{sum:06o}\0 ").as_bytes()))
}
