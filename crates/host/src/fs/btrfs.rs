//! The btrfs system calls that no library offers safely: making and removing snapshots, and what a subvolume is.
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use rustix::io::Errno;
use rustix::ioctl::{Getter, NoArg, Opcode, Setter, Updater, ioctl, opcode};

/// The file system type in `statfs` of btrfs.
const MAGIC: u64 = 0x9123_683e;
/// The root folder of every subvolume has this number.
pub(crate) const ROOT_INODE: u64 = 256;
const GROUP: u8 = 0x94;
const READ_ONLY: u64 = 1 << 1;
const BY_ID: u64 = 1 << 4;

const SUBVOLUME_CREATE: Opcode = opcode::write::<Named>(GROUP, 14);
const SNAPSHOT_DESTROY: Opcode = opcode::write::<Named>(GROUP, 15);
const SYNC: Opcode = opcode::none(GROUP, 8);
const SNAPSHOT_CREATE: Opcode = opcode::write::<Named2>(GROUP, 23);
const GET_FLAGS: Opcode = opcode::read::<u64>(GROUP, 25);
const SET_FLAGS: Opcode = opcode::write::<u64>(GROUP, 26);
const FILE_SYSTEM: Opcode = opcode::read::<FileSystem>(GROUP, 31);
const SUBVOLUME_INFO: Opcode = opcode::read::<Info>(GROUP, 60);
const SUBVOLUMES_BELOW: Opcode = opcode::read_write::<Below>(GROUP, 61);
const WHERE_IS: Opcode = opcode::read_write::<Where>(GROUP, 62);
const SNAPSHOT_DESTROY_BY_ID: Opcode = opcode::write::<Named2>(GROUP, 63);

/// `btrfs_ioctl_vol_args`.
#[repr(C)]
struct Named {
    handle: i64,
    name: [u8; 4088],
}

/// `btrfs_ioctl_vol_args_v2`. The field of the name is also that of a subvolume's number.
#[repr(C)]
struct Named2 {
    handle: i64,
    transaction: u64,
    flags: u64,
    unused: [u64; 4],
    name: [u8; 4040],
}

/// `btrfs_ioctl_fs_info_args`.
#[repr(C)]
struct FileSystem {
    greatest: u64,
    devices: u64,
    id: [u8; 16],
    rest: [u8; 992],
}

/// `btrfs_ioctl_get_subvol_info_args`.
#[repr(C)]
struct Info {
    number: u64,
    name: [u8; 256],
    above: [u64; 2],
    generation: u64,
    flags: u64,
    id: [u8; 16],
    snapshot_of: [u8; 16],
    received: [u8; 16],
    transactions: [u64; 4],
    changed: Time,
    made: Time,
    rest: [u64; 12],
}

/// `btrfs_ioctl_timespec`.
#[repr(C)]
struct Time {
    seconds: u64,
    nanos: u32,
    gap: u32,
}

/// `btrfs_ioctl_get_subvol_rootref_args`.
#[repr(C)]
struct Below {
    least: u64,
    found: [[u64; 2]; 255],
    count: u8,
    rest: [u8; 7],
}

/// `btrfs_ioctl_ino_lookup_user_args`.
#[repr(C)]
struct Where {
    folder: u64,
    number: u64,
    name: [u8; 256],
    path: [u8; 3824],
}

/// What a subvolume is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Subvolume {
    /// Its number in the file system.
    pub(crate) number: u64,
    /// Whether it was made as a snapshot of another.
    pub(crate) is_snapshot: bool,
}

/// Whether a folder lies on btrfs.
pub(crate) fn is_btrfs(folder: impl AsFd) -> io::Result<bool> {
    let found = rustix::fs::fstatfs(folder)?;
    Ok(u64::try_from(found.f_type).is_ok_and(|kind| kind == MAGIC))
}

/// Whether a folder is the root of a subvolume.
pub(crate) fn is_subvolume(folder: impl AsFd) -> io::Result<bool> {
    Ok(rustix::fs::fstat(&folder)?.st_ino == ROOT_INODE && is_btrfs(folder)?)
}

fn name_bytes<const LENGTH: usize>(name: &[u8]) -> io::Result<[u8; LENGTH]> {
    let mut bytes = [0; LENGTH];
    // The last byte stays 0: it ends the name.
    let odd = name.is_empty() || name.len() >= LENGTH || name.iter().any(|byte| matches!(byte, 0 | b'/'));
    match bytes.get_mut(..name.len()).filter(|_| !odd) {
        Some(name_field) => name_field.copy_from_slice(name),
        None => return Err(io::Error::new(io::ErrorKind::InvalidInput, "no name for a subvolume")),
    }
    Ok(bytes)
}

/// Makes a snapshot of a subvolume under a name in a folder. It is on disk, with everything that was written to the
/// subvolume, when this returns: the kernel commits the transaction in which it is made.
#[expect(unsafe_code, reason = "no safe library offers this call")]
pub(crate) fn snapshot(of: BorrowedFd<'_>, folder: BorrowedFd<'_>, name: &[u8], read_only: bool) -> io::Result<()> {
    let flags = if read_only { READ_ONLY } else { 0 };
    let name = name_bytes(name)?;
    let named = Named2 { handle: i64::from(of.as_raw_fd()), transaction: 0, flags, unused: [0; 4], name };
    // SAFETY: the layout is the kernel's, which only reads it during the call.
    unsafe { ioctl(folder, Setter::<SNAPSHOT_CREATE, Named2>::new(named)) }.map_err(Into::into)
}

/// Makes an empty subvolume.
#[expect(unsafe_code, reason = "no safe library offers this call")]
pub(crate) fn create(folder: BorrowedFd<'_>, name: &[u8]) -> io::Result<()> {
    let named = Named { handle: 0, name: name_bytes(name)? };
    // SAFETY: the layout is the kernel's, which only reads it during the call.
    unsafe { ioctl(folder, Setter::<SUBVOLUME_CREATE, Named>::new(named)) }.map_err(Into::into)
}

/// Removes a subvolume of a folder with all that is in it. By its number where the kernel lets us, so that it is the
/// one that was inspected; else by its name.
#[expect(unsafe_code, reason = "no safe library offers this call")]
pub(crate) fn destroy(folder: BorrowedFd<'_>, name: &[u8], number: u64) -> io::Result<()> {
    let mut name_field = [0; 4040];
    name_field[..8].copy_from_slice(&number.to_ne_bytes());
    let by_id = Named2 { handle: 0, transaction: 0, flags: BY_ID, unused: [0; 4], name: name_field };
    // SAFETY: the layout is the kernel's, which only reads it during the call.
    match unsafe { ioctl(folder, Setter::<SNAPSHOT_DESTROY_BY_ID, Named2>::new(by_id)) } {
        Err(Errno::NOTTY | Errno::OPNOTSUPP | Errno::PERM | Errno::INVAL) => {}
        done => return done.map_err(Into::into),
    }
    let named = Named { handle: 0, name: name_bytes(name)? };
    // SAFETY: as above.
    unsafe { ioctl(folder, Setter::<SNAPSHOT_DESTROY, Named>::new(named)) }.map_err(Into::into)
}

/// Makes a subvolume writable.
#[expect(unsafe_code, reason = "no safe library offers this call")]
pub(crate) fn make_writable(subvolume: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: a number is written out, and one is read.
    let flags = unsafe { ioctl(subvolume, Getter::<GET_FLAGS, u64>::new()) }?;
    if flags & READ_ONLY == 0 {
        return Ok(());
    }
    // SAFETY: as above.
    unsafe { ioctl(subvolume, Setter::<SET_FLAGS, u64>::new(flags & !READ_ONLY)) }.map_err(Into::into)
}

/// Everything that was done to the file system is on disk when this returns.
#[expect(unsafe_code, reason = "no safe library offers this call")]
pub(crate) fn sync(folder: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: there is no argument.
    unsafe { ioctl(folder, NoArg::<SYNC>::new()) }.map_err(Into::into)
}

/// What the subvolume is that a folder lies in.
#[expect(unsafe_code, reason = "no safe library offers this call")]
pub(crate) fn info(folder: BorrowedFd<'_>) -> io::Result<Subvolume> {
    // SAFETY: the layout is the kernel's, and any bytes are a value of it.
    let info = unsafe { ioctl(folder, Getter::<SUBVOLUME_INFO, Info>::new()) }?;
    Ok(Subvolume { number: info.number, is_snapshot: info.snapshot_of != [0; 16] })
}

/// Which file system a folder lies on.
#[expect(unsafe_code, reason = "no safe library offers this call")]
pub(crate) fn file_system(folder: BorrowedFd<'_>) -> io::Result<[u8; 16]> {
    // SAFETY: the layout is the kernel's, and any bytes are a value of it.
    unsafe { ioctl(folder, Getter::<FILE_SYSTEM, FileSystem>::new()) }.map(|found| found.id).map_err(Into::into)
}

/// A subvolume inside of one, by its path from there; none if there is none. A snapshot leaves them out.
#[expect(unsafe_code, reason = "no safe library offers this call")]
pub(crate) fn nested(subvolume: BorrowedFd<'_>) -> io::Result<Option<Vec<u8>>> {
    let mut below = Below { least: 0, found: [[0; 2]; 255], count: 0, rest: [0; 7] };
    // SAFETY: the layout is the kernel's, and any bytes are a value of it.
    match unsafe { ioctl(subvolume, Updater::<SUBVOLUMES_BELOW, Below>::new(&mut below)) } {
        // There are more than it can hold: the first will do.
        Ok(()) | Err(Errno::OVERFLOW) => {}
        Err(error) => return Err(error.into()),
    }
    let Some([number, folder]) = below.found.first().filter(|_| below.count > 0).copied() else { return Ok(None) };
    let mut name_field = Where { folder, number, name: [0; 256], path: [0; 3824] };
    // SAFETY: as above.
    let known = unsafe { ioctl(subvolume, Updater::<WHERE_IS, Where>::new(&mut name_field)) };
    let text = |bytes| CStr::from_bytes_until_nul(bytes).map(|text| text.to_bytes().to_vec()).unwrap_or_default();
    let path = match known {
        Ok(()) => [text(&name_field.path), text(&name_field.name)].concat(),
        Err(_) => format!("subvolume {number}").into_bytes(),
    };
    Ok(Some(path))
}
