//! Messages between harness, shim and inits. The shim gets one byte and the socket of a new init. Harness and init
//! then use that socket: a command with its three streams, then requests as single bytes in one direction and
//! reports as lines in the other. A closed end means that its process is gone.
use std::ffi::{OsStr, OsString};
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use loop_core::run::ProcessId;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};
use serde::{Deserialize, Serialize};

use crate::fs::FolderId;

/// The most descriptors in one message.
const FDS_MAX: usize = 8;
/// A command with its variables: the kernel takes less from us anyway.
const COMMAND_BYTES_MAX: usize = 8 * 1024 * 1024;

/// How an order is contained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// By descent alone.
    Plain,
    /// In a control group; two more descriptors come with it.
    Cgroup,
    /// In a PID namespace, as root.
    Namespace,
    /// In a PID namespace inside a user namespace.
    UserNamespace,
}

const KINDS: [(Kind, u8); 4] =
    [(Kind::Plain, b'p'), (Kind::Cgroup, b'c'), (Kind::Namespace, b'n'), (Kind::UserNamespace, b'u')];

/// What the harness asks of an init.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ask {
    /// End all processes, gently first.
    End,
    /// Interrupt the command itself, then end who is left.
    Interrupt,
    /// End all processes now.
    Kill,
    /// Stop all processes (SIGSTOP).
    Freeze,
    /// Let those go on that were stopped.
    Thaw,
}

const ASKS: [(Ask, u8); 5] =
    [(Ask::Interrupt, b'I'), (Ask::End, b'T'), (Ask::Kill, b'K'), (Ask::Freeze, b'Z'), (Ask::Thaw, b'C')];

impl Ask {
    pub(crate) fn byte(self) -> u8 {
        ASKS.iter().find(|(ask, _)| *ask == self).map_or(0, |(_, byte)| *byte)
    }

    pub(super) fn of(byte: u8) -> Option<Self> {
        ASKS.iter().find(|(_, known)| *known == byte).map(|(ask, _)| *ask)
    }
}

/// Reports of an init to the harness, a line each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Report {
    /// It runs.
    Started {
        /// Whose end ends the order: the command's own process, or the first of its namespace.
        process: ProcessId,
        /// The init, as the harness sees it.
        init: ProcessId,
    },
    /// The command could not be started.
    NotStarted {
        /// The system's number for why.
        errno: Option<i32>,
        /// Why.
        why: String,
    },
    /// It could not be contained as asked.
    NotContained {
        /// Why.
        why: String,
    },
    /// The command's own process exited.
    Exit(i32),
    /// The command's own process was ended by a signal.
    Signal(i32),
    /// So many others were alive then.
    Left(u32),
    /// No process is alive.
    Gone,
    /// These could not be ended.
    Lost(Vec<String>),
}

impl Report {
    pub(super) fn send(&self, mut to: impl Write) {
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        // A harness that is gone is seen when the socket is read.
        to.write_all(&line).ok();
    }
}

/// Asks the shim for an init with this socket, and its groups where there are any.
pub(super) fn ask_for_init(shim: impl AsFd, kind: Kind, fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    send_with(shim, &[KINDS.iter().find(|(known, _)| *known == kind).map_or(0, |(_, byte)| *byte)], fds).map(drop)
}

/// Sends bytes, as many as can be, and descriptors with the first of them.
fn send_with(to: impl AsFd, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FDS_MAX))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(io::Error::other("too many descriptors"));
    }
    sendmsg(to, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL).map_err(Into::into)
}

/// The next init that is asked for; none when the harness is gone.
pub(super) fn next_init(harness: impl AsFd) -> io::Result<Option<(Kind, Vec<OwnedFd>)>> {
    let Some((byte, fds)) = receive_byte(harness)? else { return Ok(None) };
    let kind = KINDS.iter().find(|(_, known)| *known == byte).map(|(kind, _)| *kind);
    kind.map(|kind| Some((kind, fds))).ok_or_else(|| io::Error::other("an init of an unknown kind"))
}

/// One byte and the descriptors that came with it; none at the end.
fn receive_byte(from: impl AsFd) -> io::Result<Option<(u8, Vec<OwnedFd>)>> {
    let mut byte = [0_u8; 1];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FDS_MAX))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let got = loop {
        match recvmsg(&from, &mut [IoSliceMut::new(&mut byte)], &mut control, RecvFlags::CMSG_CLOEXEC) {
            Err(rustix::io::Errno::INTR) => {}
            got => break got?,
        }
    };
    let mut fds: Vec<OwnedFd> = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(got) = message {
            fds.extend(got);
        }
    }
    Ok((got.bytes > 0).then_some((byte[0], fds)))
}

/// The byte before a command. Another one was meant for the order before, which has ended.
const COMMAND: u8 = b'X';

/// Sends a command with its three streams to an init that waits for one.
pub(super) fn send_command(mut to: &UnixStream, command: &[u8], stdio: [BorrowedFd<'_>; 3]) -> io::Result<()> {
    let bytes = [&[COMMAND], command].concat();
    let sent = send_with(to, &bytes, &stdio)?;
    to.write_all(&bytes[sent..])
}

/// The next command with its three streams; none when the harness wants nothing any more.
pub(super) fn next_command(from: &UnixStream) -> io::Result<Option<(Command, [OwnedFd; 3])>> {
    loop {
        let Some((byte, fds)) = receive_byte(from)? else { return Ok(None) };
        if byte == COMMAND {
            let stdio = <[OwnedFd; 3]>::try_from(fds).map_err(|_| io::Error::other("a command without its streams"))?;
            return Ok(Some((Command::read(from)?, stdio)));
        }
    }
}

/// An empty register: no group is named.
const CLEAR: &str = "clear";

/// The command of an order: its file, words, folder and variables.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Command {
    pub(crate) file: PathBuf,
    pub(crate) argv: Vec<OsString>,
    pub(crate) folder: PathBuf,
    /// Which folder that must be, where it matters: another one in its place is not worked in.
    pub(crate) same: Option<FolderId>,
    /// Whether it gets the variables below and no others; else they come beside the inherited ones.
    pub(crate) clear: bool,
    pub(crate) env: Vec<(OsString, OsString)>,
}

impl Command {
    /// As bytes: a length, then fields that end with NUL, which none of them can hold.
    pub(crate) fn encode(&self) -> io::Result<Vec<u8>> {
        let count = OsString::from(self.argv.len().to_string());
        let clear = OsStr::new(if self.clear { CLEAR } else { "" });
        let mut fields: Vec<&OsStr> = vec![self.file.as_os_str(), clear, &count];
        fields.extend(self.argv.iter().map(OsString::as_os_str));
        fields.push(self.folder.as_os_str());
        let same = OsString::from(self.same.map_or_else(String::new, |same| format!("{}:{}", same.device, same.inode)));
        fields.push(&same);
        fields.extend(self.env.iter().flat_map(|(name, value)| [name.as_os_str(), value.as_os_str()]));
        let mut bytes = vec![0; 4];
        for field in fields {
            if field.as_bytes().contains(&0) {
                return Err(io::Error::new(io::ErrorKind::InvalidInput, "a NUL byte in the command"));
            }
            bytes.extend_from_slice(field.as_bytes());
            bytes.push(0);
        }
        let length = u32::try_from(bytes.len() - 4).map_err(|_| io::Error::other("the command is too long"))?;
        bytes[..4].copy_from_slice(&length.to_le_bytes());
        Ok(bytes)
    }

    /// Read back.
    pub(super) fn read(mut from: impl Read) -> io::Result<Self> {
        let mut length = [0_u8; 4];
        from.read_exact(&mut length)?;
        let length = usize::try_from(u32::from_le_bytes(length)).unwrap_or(usize::MAX);
        if length > COMMAND_BYTES_MAX {
            return Err(io::Error::other("the command is too long"));
        }
        let mut bytes = vec![0; length];
        from.read_exact(&mut bytes)?;
        let mut fields = bytes.split(|byte| *byte == 0).map(|field| OsString::from_vec(field.to_vec()));
        let mut next = || fields.next().ok_or_else(|| io::Error::other("a command without an end"));
        let file = PathBuf::from(next()?);
        let clear = next()? == CLEAR;
        let count: usize = next()?.to_str().and_then(|count| count.parse().ok()).unwrap_or(0);
        let argv = (0..count).map(|_| next()).collect::<io::Result<Vec<_>>>()?;
        let folder = Path::new(&next()?).to_owned();
        let same = next()?.to_str().and_then(folder_id);
        let rest: Vec<OsString> = fields.collect();
        let env = rest.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect();
        Ok(Self { file, argv, folder, same, clear, env })
    }
}

fn folder_id(text: &str) -> Option<FolderId> {
    let (device, inode) = text.split_once(':')?;
    Some(FolderId { device: device.parse().ok()?, inode: inode.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_read_back_as_it_was_whatever_bytes_it_holds() {
        let odd = OsString::from_vec(vec![b'a', 0xff, b'\n', b' ', b'=']);
        let command = Command {
            file: PathBuf::from("/bin/sh"),
            argv: vec!["sh".into(), "-c".into(), odd.clone(), "".into()],
            folder: PathBuf::from(odd.clone()),
            same: Some(FolderId { device: 7, inode: u64::MAX }),
            clear: true,
            env: vec![("EMPTY".into(), "".into()), ("ODD".into(), odd)],
        };
        assert_eq!(Command::read(command.encode().unwrap().as_slice()).unwrap(), command);
        let inherits = Command { clear: false, same: None, ..command };
        assert_eq!(Command::read(inherits.encode().unwrap().as_slice()).unwrap(), inherits);
        let argv = vec![OsString::from_vec(vec![0])];
        let nul = Command { argv, ..inherits };
        assert!(nul.encode().is_err());
    }

    #[test]
    fn every_ask_is_told_by_its_own_byte() {
        for (ask, byte) in ASKS {
            assert_eq!((Ask::of(byte), ask.byte()), (Some(ask), byte));
        }
        assert_eq!(Ask::of(b'?'), None);
    }
}
