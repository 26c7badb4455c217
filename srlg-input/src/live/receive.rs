//! A thread that receives exports and decodes them.

use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::sync::PoisonError;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use crate::error::InputError;

use super::shared::ReceiverState;
use super::{DRAIN, Line, now_ns};

/// No datagram of UDP is larger.
const DATAGRAM: usize = 65_536;

/// Receives at `socket`, the one of number `here`, until the end is asked for and nothing waits.
pub(super) fn receive(
    socket: &UdpSocket,
    address: SocketAddr,
    here: usize,
    shared: &ReceiverState,
    line: &Line,
) -> Result<(), InputError> {
    let mut buffer = vec![0; DATAGRAM];
    let mut contacts = Vec::new();
    let mut asked: Option<Instant> = None;
    loop {
        if line.stop.is_asked() && asked.get_or_insert_with(Instant::now).elapsed() >= DRAIN {
            return Ok(());
        }
        let (length, from) = match socket.recv_from(&mut buffer) {
            Ok(received) => received,
            Err(error) => match error.kind() {
                ErrorKind::Interrupted => continue,
                ErrorKind::WouldBlock | ErrorKind::TimedOut if asked.is_some() => return Ok(()),
                ErrorKind::WouldBlock | ErrorKind::TimedOut => continue,
                _ => return Err(InputError::Receive { address, error }),
            },
        };
        let exporter = SocketAddr::new(from.ip().to_canonical(), from.port());
        if shared.permitted.get(exporter.ip()).is_none() {
            shared.refuse(exporter.ip());
            continue;
        }
        shared.received.fetch_add(1, Relaxed);
        let received_ns = now_ns();
        let home = shared.homes.of(exporter.ip(), here);
        let decoder = &shared.decoders[home];
        decoder.lock().unwrap_or_else(PoisonError::into_inner).decode(
            exporter,
            received_ns,
            &buffer[..length],
            // An exporter's clock may be ahead by what is too little to be corrected.
            |mut contact| {
                contact.time_ns = contact.time_ns.min(received_ns);
                contacts.push(contact);
            },
        );
        if !contacts.is_empty() && !line.belt.put(&contacts) {
            return Ok(());
        }
        contacts.clear();
    }
}
