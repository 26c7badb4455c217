//! UDP sockets, and the threads that receive on them.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::time::Instant;

use socket2::{Domain, Protocol, Socket, Type};

use crate::error::InputError;
use crate::event::LogLine;
use crate::options::SocketOptions;
use crate::threads::queue::{ENOUGH, TICK};
use crate::threads::{ContactSender, DRAIN};

use super::datagrams::Receiver;
use super::state::ReceiverState;

/// Binds the sockets of an address and returns each with its bound address.
pub(super) fn bind_all(
    address: SocketAddr,
    options: &SocketOptions,
) -> io::Result<Vec<(Socket, SocketAddr)>> {
    let is_shared = options.receivers > 1;
    if is_shared && address.port() != 0 {
        // Sockets that share a port would also share it with other programs. Binding it exclusively first detects such
        // a program.
        drop(bind(address, options.receive_buffer, false)?);
    }
    let first = bind(address, options.receive_buffer, is_shared)?;
    let address = first.1;
    let more = (1..options.receivers).map(|_| bind(address, options.receive_buffer, true));
    [Ok(first)].into_iter().chain(more).collect()
}

fn bind(address: SocketAddr, buffer: u32, is_shared: bool) -> io::Result<(Socket, SocketAddr)> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
    if address.is_ipv6() {
        socket.set_only_v6(false)?;
    }
    if is_shared {
        socket.set_reuse_port(true)?;
    }
    set_receive_buffer(&socket, buffer as usize)?;
    socket.set_read_timeout(Some(TICK))?;
    socket.bind(&address.into())?;
    let bound = socket.local_addr()?.as_socket().unwrap_or(address);
    Ok((socket, bound))
}

/// Requests a receive buffer of `bytes` bytes. If the process has CAP_NET_ADMIN, the size may exceed the limit of the
/// system.
fn set_receive_buffer(socket: &Socket, bytes: usize) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    if rustix::net::sockopt::set_socket_recv_buffer_size_force(socket, bytes).is_ok() {
        return Ok(());
    }
    socket.set_recv_buffer_size(bytes)
}

pub(super) fn short_buffer(socket: &Socket, address: SocketAddr, asked: u32) -> Option<LogLine> {
    // Linux includes its own overhead: it reports twice the size that is available to datagrams.
    let got = socket.recv_buffer_size().ok()? / 2;
    (got < asked as usize).then(|| {
        LogLine::warning(format!(
            "the receive buffer of {address} has {got} bytes instead of {asked}; raise net.core.rmem_max with sysctl"
        ))
    })
}

/// Receives on socket `here` until the input is asked to stop. Then reads the waiting datagrams for at most [`DRAIN`].
pub(super) fn receive(
    socket: &UdpSocket,
    address: SocketAddr,
    here: usize,
    shared: &ReceiverState,
    sender: &mut ContactSender,
) -> Result<(), InputError> {
    let mut receiver = Receiver::new();
    let mut contacts = Vec::new();
    let mut asked: Option<Instant> = None;
    loop {
        if sender.shared.stop.is_asked()
            && asked.get_or_insert_with(Instant::now).elapsed() >= DRAIN
        {
            return Ok(());
        }
        let mut delivered = Ok(true);
        let received = receiver.receive(socket, |datagram| {
            shared.decode(here, &datagram, |contact| contacts.push(contact));
            // Contacts are delivered as soon as there are enough, so that at most the contacts of one datagram exceed
            // the limit of the queue.
            if contacts.len() >= ENOUGH && matches!(delivered, Ok(true)) {
                delivered = sender.deliver(&contacts);
                contacts.clear();
            }
        });
        if let Err(error) = received {
            match error.kind() {
                ErrorKind::Interrupted => continue,
                ErrorKind::WouldBlock | ErrorKind::TimedOut if asked.is_some() => return Ok(()),
                ErrorKind::WouldBlock | ErrorKind::TimedOut => continue,
                _ => return Err(InputError::Receive { address, error }),
            }
        }
        if !(delivered? && sender.deliver(&contacts)?) {
            return Ok(());
        }
        contacts.clear();
    }
}
