//! A thread that receives exports and decodes them, and what all such threads share.

use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use lru::LruCache;

use crate::contact::{Contact, Networks};
use crate::error::InputError;
use crate::flow::{Decoder, table};

use super::DRAIN;
use super::belt::ENOUGH;
use super::datagrams::{Receiver, UdpDatagram};
use super::outlet::Outlet;

/// What all receiving threads share.
pub(super) struct ReceiverState {
    pub(super) permitted: Networks<()>,
    /// One for each socket.
    pub(super) decoders: Vec<Mutex<Decoder>>,
    pub(super) homes: Homes,
    pub(super) received: AtomicU64,
    pub(super) refused: AtomicU64,
    pub(super) last_refused: Mutex<Option<IpAddr>>,
}

impl ReceiverState {
    /// Decodes a datagram that came at the socket of number `here`, if its sender may send any.
    fn decode(&self, here: usize, datagram: &UdpDatagram<'_>, mut take: impl FnMut(Contact)) {
        let UdpDatagram { at_ns, from, payload } = *datagram;
        let exporter = SocketAddr::new(from.ip().to_canonical(), from.port());
        if self.permitted.get(exporter.ip().into()).is_none() {
            self.refused.fetch_add(1, Relaxed);
            *self.last_refused.lock().unwrap_or_else(PoisonError::into_inner) = Some(exporter.ip());
            return;
        }
        self.received.fetch_add(1, Relaxed);
        let decoder = &self.decoders[self.homes.of(exporter.ip(), here)];
        let mut decoder = decoder.lock().unwrap_or_else(PoisonError::into_inner);
        decoder.decode(exporter, at_ns, payload, |mut contact| {
            // An exporter's clock may be ahead by what is too little to be corrected.
            contact.time_ns = contact.time_ns.min(at_ns);
            take(contact);
        });
    }
}

/// Exporters that are remembered. Forged ones put out those that are silent.
const MOST: usize = 1 << 16;

/// The decoder that each exporter belongs to.
///
/// The kernel spreads datagrams over sockets by addresses and ports, and exporters change their port at will, while
/// templates and sequences are those of an address. So an exporter belongs to the decoder of the socket that it was
/// heard at first, wherever it is heard later. The least recent one is forgotten.
pub(super) struct Homes {
    decoders: usize,
    homes: Mutex<LruCache<IpAddr, usize>>,
}

impl Homes {
    pub(super) fn new(decoders: usize) -> Self {
        Self { decoders, homes: Mutex::new(table(MOST)) }
    }

    /// The decoder of `exporter`, which was heard at the socket of number `here`.
    pub(super) fn of(&self, exporter: IpAddr, here: usize) -> usize {
        if self.decoders == 1 {
            return 0;
        }
        let mut homes = self.homes.lock().unwrap_or_else(PoisonError::into_inner);
        *homes.get_or_insert(exporter, || here)
    }
}

/// Receives at `socket`, the one of number `here`, until the end is asked for and nothing waits.
pub(super) fn receive(
    socket: &UdpSocket,
    address: SocketAddr,
    here: usize,
    shared: &ReceiverState,
    outlet: &mut Outlet,
) -> Result<(), InputError> {
    let mut receiver = Receiver::new();
    let mut contacts = Vec::new();
    let mut asked: Option<Instant> = None;
    loop {
        if outlet.line.stop.is_asked() && asked.get_or_insert_with(Instant::now).elapsed() >= DRAIN
        {
            return Ok(());
        }
        let mut delivered = Ok(true);
        let received = receiver.receive(socket, |datagram| {
            shared.decode(here, &datagram, |contact| contacts.push(contact));
            // No more than those of a datagram beyond what the belt may have.
            if contacts.len() >= ENOUGH && matches!(delivered, Ok(true)) {
                delivered = outlet.deliver(&contacts);
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
        if !(delivered? && outlet.deliver(&contacts)?) {
            return Ok(());
        }
        contacts.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn an_exporter_stays_where_it_was_heard_first() {
        let homes = Homes::new(3);
        let [a, b] = [1, 2].map(|host| IpAddr::from([192, 0, 2, host]));
        assert_eq!([homes.of(a, 2), homes.of(b, 1), homes.of(a, 0)], [2, 1, 2]);
        assert_eq!(Homes::new(1).of(a, 0), 0);
    }

    #[test]
    fn there_are_not_more_homes_than_may_be() {
        let homes = Homes::new(3);
        let heard_all_along = IpAddr::from([192, 0, 2, 1]);
        homes.of(heard_all_along, 2);
        for bits in 0..MOST as u32 + 1_000 {
            let host = IpAddr::from(Ipv4Addr::from_bits(bits));
            assert_eq!([homes.of(host, 1), homes.of(host, 2)], [1, 1], "{host}");
            assert_eq!(homes.of(heard_all_along, 0), 2);
        }
        assert_eq!(homes.homes.lock().unwrap().len(), MOST);
    }
}
