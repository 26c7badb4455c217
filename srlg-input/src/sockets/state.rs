//! The state that the threads that receive flow exports share: permitted senders, decoders and counters.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use lru::LruCache;

use crate::contact::{Contact, Networks};
use crate::flow::{Decoder, table};

use super::datagrams::UdpDatagram;

/// The state that all receiving threads share.
pub(super) struct ReceiverState {
    pub(super) permitted: Networks<()>,
    /// Decoders, one for each socket.
    pub(super) decoders: Vec<Mutex<Decoder>>,
    pub(super) assignment: DecoderAssignment,
    pub(super) received: AtomicU64,
    pub(super) refused: AtomicU64,
    pub(super) last_refused: Mutex<Option<IpAddr>>,
}

impl ReceiverState {
    /// Decodes a datagram that arrived on socket `here`, if its sender is permitted.
    pub(super) fn decode(
        &self,
        here: usize,
        datagram: &UdpDatagram<'_>,
        mut receive: impl FnMut(Contact),
    ) {
        let UdpDatagram { at_ns, from, payload } = *datagram;
        let exporter = SocketAddr::new(from.ip().to_canonical(), from.port());
        if self.permitted.get(exporter.ip().into()).is_none() {
            // The count follows the address, because a reader of a new count also reads the address.
            *self.last_refused.lock().unwrap_or_else(PoisonError::into_inner) = Some(exporter.ip());
            self.refused.fetch_add(1, Relaxed);
            return;
        }
        self.received.fetch_add(1, Relaxed);
        let decoder = &self.decoders[self.assignment.of(exporter.ip(), here)];
        let mut decoder = decoder.lock().unwrap_or_else(PoisonError::into_inner);
        decoder.decode(exporter, at_ns, payload, |mut contact| {
            // The exporter's clock may be ahead by a skew that is too small to be corrected.
            contact.time_ns = contact.time_ns.min(at_ns);
            receive(contact);
        });
    }
}

/// Maximum number of exporters in [`DecoderAssignment`].
const MOST: usize = 1 << 16;

/// The assignment of exporters to decoders.
///
/// The kernel distributes datagrams to sockets by address and port. An exporter may change its port, but its templates
/// and sequence numbers belong to its address. Therefore an exporter stays with the decoder of the socket that first
/// received a datagram from it. If the table is full, the least recently seen exporter is removed. Exporters with
/// forged addresses therefore displace silent exporters first.
pub(super) struct DecoderAssignment {
    decoders: usize,
    assignment: Mutex<LruCache<IpAddr, usize>>,
}

impl DecoderAssignment {
    pub(super) fn new(decoders: usize) -> Self {
        Self { decoders, assignment: Mutex::new(table(MOST)) }
    }

    /// Returns the index of the decoder for `exporter`, which sent a datagram to socket `here`.
    pub(super) fn of(&self, exporter: IpAddr, here: usize) -> usize {
        if self.decoders == 1 {
            return 0;
        }
        let mut assignment = self.assignment.lock().unwrap_or_else(PoisonError::into_inner);
        *assignment.get_or_insert(exporter, || here)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn an_exporter_stays_with_its_first_decoder() {
        let assignment = DecoderAssignment::new(3);
        let [a, b] = [1, 2].map(|host| IpAddr::from([192, 0, 2, host]));
        assert_eq!([assignment.of(a, 2), assignment.of(b, 1), assignment.of(a, 0)], [2, 1, 2]);
        assert_eq!(DecoderAssignment::new(1).of(a, 0), 0);
    }

    #[test]
    fn the_number_of_remembered_exporters_is_limited() {
        let assignment = DecoderAssignment::new(3);
        let heard_all_along = IpAddr::from([192, 0, 2, 1]);
        assignment.of(heard_all_along, 2);
        for bits in 0..MOST as u32 + 1_000 {
            let host = IpAddr::from(Ipv4Addr::from_bits(bits));
            assert_eq!([assignment.of(host, 1), assignment.of(host, 2)], [1, 1], "{host}");
            assert_eq!(assignment.of(heard_all_along, 0), 2);
        }
        assert_eq!(assignment.assignment.lock().unwrap().len(), MOST);
    }
}
