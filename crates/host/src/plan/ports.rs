//! Ranges of network ports for the processes of plans: each one has its own while it is held. Ranges are reserved by names
//! of abstract sockets, which belong to the same network namespace as the ports themselves: plans of other users and
//! other state folders see them, and they are free as soon as their process is dead.
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// So many ports are in a range.
pub(super) const PORTS_EACH: u16 = 10;
/// The first port of all ranges: above the usual services, and below the ports that the kernel gives to clients.
const FIRST: u16 = 20_000;
const RANGES: u16 = 1_200;

/// A range of ports that no other process of a plan gets while this is held.
#[derive(Debug)]
pub(super) struct PortRange {
    pub(super) first: u16,
    _reserved: UnixDatagram,
}

impl PortRange {
    /// The first range that no plan has and whose ports are free now. Another program can still take one of them later.
    ///
    /// # Errors
    /// When there is none.
    pub(super) fn reserve() -> io::Result<Self> {
        for number in 0..RANGES {
            let first = FIRST + number * PORTS_EACH;
            let name = SocketAddr::from_abstract_name(format!("loop-ports-{first}"))?;
            let Ok(reserved) = UnixDatagram::bind_addr(&name) else { continue };
            let range = Self { first, _reserved: reserved };
            if (first..=range.last()).all(is_free) {
                return Ok(range);
            }
        }
        Err(io::Error::other("no range of free ports is left for {{port}} of the workflow"))
    }

    pub(super) fn last(&self) -> u16 {
        self.first + PORTS_EACH - 1
    }
}

/// Whether no program listens on a port. On a machine without IPv6, none does there.
fn is_free(port: u16) -> bool {
    let taken = |bound: io::Result<TcpListener>| bound.is_err_and(|error| error.kind() == io::ErrorKind::AddrInUse);
    !taken(TcpListener::bind((Ipv4Addr::UNSPECIFIED, port))) && !taken(TcpListener::bind((Ipv6Addr::UNSPECIFIED, port)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_are_held_at_once_are_distinct_and_leave_out_ports_in_use() {
        let one = PortRange::reserve().unwrap();
        let two = PortRange::reserve().unwrap();
        assert_ne!(one.first, two.first);
        let (first, in_use) = (one.first, one.first + 3);
        // The range is free for plans again, and a program listens in it.
        drop(one);
        let listens = TcpListener::bind((Ipv4Addr::LOCALHOST, in_use));
        let three = PortRange::reserve().unwrap();
        if listens.is_ok() {
            assert_ne!(three.first, first, "{listens:?}");
        }
        assert_ne!(three.first, two.first);
    }
}
