//! Writing into a repository during a restore: never through a link. Each file is written under the name of git's
//! own lock and then renamed, so a git command at the same time sees either the old or the new file.
use std::fs::File;
use std::io::{self, Write};

use rustix::fs::{AtFlags, Mode, OFlags, fchmod, mkdirat, openat, renameat, unlinkat};
use rustix::io::Errno;

use super::folder::{GitFolder, is_folder, joined, split};

/// What is written, unless the umask of the user takes more away.
const FILE_MODE: u32 = 0o666;
const FOLDER_MODE: u32 = 0o777;

impl GitFolder {
    /// A folder below it, made where it is missing. Something else of that name is moved
    /// aside and added to `moved`.
    pub(super) fn made(&self, path: &[u8], moved: &mut Vec<Vec<u8>>) -> io::Result<Self> {
        let (mut folder, mut done) = (self.below(b"")?, Vec::new());
        for name in path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
            done = joined(&done, name);
            match folder.stat(name)? {
                Some(stat) if is_folder(&stat) => {}
                there => {
                    if there.is_some() {
                        moved.push(joined(split(&done).0, &folder.aside(name)?));
                    }
                    match mkdirat(&folder.0, name, Mode::from_raw_mode(FOLDER_MODE)) {
                        Ok(()) | Err(Errno::EXIST) => {}
                        Err(error) => return Err(error.into()),
                    }
                }
            }
            folder = folder.below(name)?;
        }
        Ok(folder)
    }

    /// Renames a name in the same folder. Returns its new name.
    pub(super) fn aside(&self, name: &[u8]) -> io::Result<Vec<u8>> {
        let new = [name, b".kept-", crate::fs::fresh_id()?.to_string().as_bytes()].concat();
        renameat(&self.0, name, &self.0, new.as_slice())?;
        Ok(new)
    }

    /// Writes a file below it. An empty folder of that name is removed, another one is moved aside.
    pub(super) fn put(&self, path: &[u8], bytes: &[u8], moved: &mut Vec<Vec<u8>>) -> io::Result<()> {
        let (above, name) = split(path);
        let folder = self.made(above, moved)?;
        if folder.stat(name)?.is_some_and(|stat| is_folder(&stat))
            && unlinkat(&folder.0, name, AtFlags::REMOVEDIR).is_err()
        {
            moved.push(joined(above, &folder.aside(name)?));
        }
        let lock = [name, b".lock"].concat();
        let mut file = folder.created(&lock, FILE_MODE)?;
        let written = file.write_all(bytes).and_then(|()| Ok(renameat(&folder.0, lock.as_slice(), &folder.0, name)?));
        if written.is_err() {
            unlinkat(&folder.0, lock.as_slice(), AtFlags::empty()).ok();
        }
        written
    }

    pub(super) fn created(&self, name: &[u8], mode: u32) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(File::from(openat(&self.0, name, flags, Mode::from_raw_mode(mode))?))
    }

    /// Writes what `write` gives under a name that git takes for unfinished, then under its own, for reading only.
    pub(super) fn put_for_good(&self, name: &[u8], write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
        let unfinished = [b"tmp_", crate::fs::fresh_id()?.to_string().as_bytes()].concat();
        let mut file = self.created(&unfinished, 0o600)?;
        let written = write(&mut file).and_then(|()| {
            fchmod(&file, Mode::from_raw_mode(0o444))?;
            file.sync_data()?;
            Ok(renameat(&self.0, unfinished.as_slice(), &self.0, name)?)
        });
        if written.is_err() {
            unlinkat(&self.0, unfinished.as_slice(), AtFlags::empty()).ok();
        }
        written
    }
}
