//! The content of one file into another: shared where the file system can, copied with its holes where not.
use std::fs::File;
use std::io;

use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;

/// Gives an empty file the content of another; returns whether they share it.
pub(crate) fn fill(from: &File, to: &File) -> io::Result<bool> {
    // It fails where the two lie apart or the file system does not know it; then copying gives the real error.
    if rustix::fs::ioctl_ficlone(to, from).is_ok() {
        return Ok(true);
    }
    copy(from, to).map(|()| false)
}

/// Copies what is data and leaves holes where there are some: a sparse file may be larger than the disk.
fn copy(from: &File, to: &File) -> io::Result<()> {
    let length = from.metadata()?.len();
    let mut at = 0;
    while at < length {
        let data = match seek(from, SeekFrom::Data(at)) {
            Ok(data) => data,
            Err(Errno::NXIO) => break,
            // A file system that knows nothing of holes: all of it is data.
            Err(Errno::INVAL | Errno::OPNOTSUPP) => seek(from, SeekFrom::Start(at))?,
            Err(error) => return Err(error.into()),
        };
        let end = seek(from, SeekFrom::Hole(data)).unwrap_or(length).min(length);
        seek(from, SeekFrom::Start(data))?;
        seek(to, SeekFrom::Start(data))?;
        let copied = io::copy(&mut io::Read::take(from, end.saturating_sub(data)), &mut &*to)?;
        // One that became shorter meanwhile.
        if copied == 0 {
            break;
        }
        at = data + copied;
    }
    to.set_len(length)
}
