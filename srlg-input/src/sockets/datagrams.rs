//! A receiver of the datagrams that are waiting on a socket.

use std::io;
use std::net::{SocketAddr, UdpSocket};

use crate::clock::now_ns;

/// Upper bound on the size of a UDP datagram, in bytes.
const LONGEST: usize = 65_536;

pub(super) struct UdpDatagram<'a> {
    /// Time at which the datagram was read, in nanoseconds since the Unix epoch.
    pub(super) at_ns: u64,
    pub(super) from: SocketAddr,
    pub(super) payload: &'a [u8],
}

#[cfg(target_os = "linux")]
pub(super) use many::Receiver;
#[cfg(not(target_os = "linux"))]
pub(super) use one::Receiver;

#[cfg(target_os = "linux")]
mod many {
    use std::io::IoSliceMut;
    use std::os::fd::AsRawFd;

    use nix::sys::socket::{MsgFlags, MultiHeaders, SockaddrStorage, recvmmsg};

    use super::{LONGEST, SocketAddr, UdpDatagram, UdpSocket, io, now_ns};

    /// Maximum number of datagrams that one system call receives. A call costs as much as copying several datagrams.
    const MOST: usize = 64;

    /// A receiver that has memory for [`MOST`] datagrams. The system allocates only the pages that are used.
    pub(in super::super) struct Receiver {
        bytes: Vec<u8>,
        headers: MultiHeaders<SockaddrStorage>,
    }

    impl Receiver {
        pub(in super::super) fn new() -> Self {
            let headers = MultiHeaders::preallocate(MOST, None);
            Self { bytes: vec![0; MOST * LONGEST], headers }
        }

        /// Passes up to [`MOST`] waiting datagrams to `receive`. If no datagram is waiting, waits for one, up to the
        /// timeout of `socket`.
        pub(in super::super) fn receive(
            &mut self,
            socket: &UdpSocket,
            mut receive: impl FnMut(UdpDatagram<'_>),
        ) -> io::Result<()> {
            let Self { bytes, headers } = self;
            let chunks = bytes.chunks_exact_mut(LONGEST);
            let mut slices: Vec<_> = chunks.map(|chunk| [IoSliceMut::new(chunk)]).collect();
            let flags = MsgFlags::MSG_WAITFORONE;
            let received = recvmmsg(socket.as_raw_fd(), headers, slices.iter_mut(), flags, None)?;
            let at_ns = now_ns();
            for datagram in received {
                // A UDP socket reports the sender of each datagram.
                let Some(from) = datagram.address.as_ref().and_then(address) else { continue };
                let payload = datagram.iovs().next().unwrap_or_default();
                receive(UdpDatagram { at_ns, from, payload });
            }
            Ok(())
        }
    }

    fn address(of: &SockaddrStorage) -> Option<SocketAddr> {
        let v4 = of.as_sockaddr_in().map(|it| SocketAddr::from(*it));
        v4.or_else(|| of.as_sockaddr_in6().map(|it| SocketAddr::from(*it)))
    }
}

#[cfg(not(target_os = "linux"))]
mod one {
    use super::{LONGEST, SocketAddr, UdpDatagram, UdpSocket, io, now_ns};

    /// A receiver that has memory for one datagram.
    pub(in super::super) struct Receiver(Vec<u8>);

    impl Receiver {
        pub(in super::super) fn new() -> Self {
            Self(vec![0; LONGEST])
        }

        /// Waits for a datagram, up to the timeout of `socket`, and passes it to `receive`.
        pub(in super::super) fn receive(
            &mut self,
            socket: &UdpSocket,
            mut receive: impl FnMut(UdpDatagram<'_>),
        ) -> io::Result<()> {
            let (length, from) = socket.recv_from(&mut self.0)?;
            receive(UdpDatagram { at_ns: now_ns(), from, payload: &self.0[..length] });
            Ok(())
        }
    }
}
