//! What is mounted where, as the kernel lists it.
use std::ffi::OsString;
use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// The list of mounts is not longer.
const LIST_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// What is mounted at a folder or below it, the last mounted last.
pub(crate) fn mounts_at(folder: &Path) -> io::Result<Vec<PathBuf>> {
    // In few large pieces: the kernel gives no length before, and each piece takes its locks again.
    let mut list = Vec::with_capacity(64 * 1024);
    fs::File::open("/proc/self/mountinfo")?.take(LIST_BYTES_MAX).read_to_end(&mut list)?;
    let points = list.split(|byte| *byte == b'\n').filter_map(|line| line.split(|byte| *byte == b' ').nth(4));
    Ok(points.map(unescaped).filter(|point| point.starts_with(folder)).collect())
}

/// A path as `mountinfo` writes it: blanks and the like are three octal digits behind a `\`.
fn unescaped(text: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, others)) = rest.split_first() {
        let digits = others.get(..3).filter(|_| *first == b'\\');
        let letter = digits.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        bytes.push(letter.unwrap_or(*first));
        rest = if letter.is_some() { others.get(3..).unwrap_or_default() } else { others };
    }
    PathBuf::from(OsString::from_vec(bytes))
}

/// A path for people.
pub(crate) fn shown(path: &Path) -> String {
    loop_core::text::escape_path(path.as_os_str().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_as_the_kernel_writes_it() {
        assert_eq!(unescaped(b"/a\\040b\\134c"), Path::new("/a b\\c"));
        assert_eq!(unescaped(b"/a\\04"), Path::new("/a\\04"));
        assert!(mounts_at(Path::new("/")).unwrap().iter().any(|point| point == Path::new("/")));
    }
}
