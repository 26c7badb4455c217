//! The state that the threads that receive flow exports share: permitted senders, decoders and counters.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ipnet::IpNet;
use lru::LruCache;

use crate::connections::ConnectionCounts;
use crate::contact::{Contact, Networks};
use crate::flow::{BadOptions, Decoder, DecoderOptions, Session, table};

use super::close_error::CloseError;
use super::datagrams::UdpDatagram;

/// The state that all receiving threads share.
pub(super) struct ReceiverState {
    permitted: Networks<()>,
    /// Decoders of datagrams, one for each socket.
    pub(super) decoders: Vec<Mutex<Decoder>>,
    /// Decoder of all TCP connections. Forged datagrams cannot displace its templates, which are sent only once.
    sessions: Mutex<Decoder>,
    pub(super) assignment: DecoderAssignment,
    pub(super) received: AtomicU64,
    pub(super) refused: AtomicU64,
    pub(super) last_refused: Mutex<Option<IpAddr>>,
    connections: Mutex<ConnectionState>,
}

/// Counters of TCP connections.
#[derive(Clone, Default)]
pub(super) struct ConnectionState {
    pub(super) counts: ConnectionCounts,
    /// Exporter and error of the last connection that was closed before its end.
    pub(super) last_closed: String,
}

impl ReceiverState {
    /// Creates the state for senders in the networks `permitted` and `count` UDP sockets.
    pub(super) fn new(
        permitted: &[IpNet],
        count: usize,
        options: DecoderOptions,
    ) -> Result<Self, BadOptions> {
        let decoders = (0..count).map(|_| Decoder::new(options).map(Mutex::new));
        Ok(Self {
            permitted: Networks::new(permitted.iter().map(|network| (*network, ()))),
            decoders: decoders.collect::<Result<_, _>>()?,
            sessions: Mutex::new(Decoder::new(options)?),
            assignment: DecoderAssignment::new(count),
            received: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            last_refused: Mutex::default(),
            connections: Mutex::default(),
        })
    }

    /// Decodes a datagram that arrived on socket `here`, if its sender is permitted.
    pub(super) fn decode(
        &self,
        here: usize,
        datagram: &UdpDatagram<'_>,
        receive: impl FnMut(Contact),
    ) {
        let UdpDatagram { at_ns, from, payload } = *datagram;
        let Some(exporter) = self.permitted(from) else { return };
        self.received.fetch_add(1, Relaxed);
        let mut decoder = self.decoder(self.assignment.of(exporter.ip(), here));
        decoder.decode(exporter, at_ns, payload, not_after(at_ns, receive));
    }

    /// Decodes a message of `session`.
    pub(super) fn decode_message(
        &self,
        session: Session,
        exporter: SocketAddr,
        at_ns: u64,
        message: &[u8],
        receive: impl FnMut(Contact),
    ) {
        self.received.fetch_add(1, Relaxed);
        let receive = not_after(at_ns, receive);
        self.sessions().decode_message(session, exporter, at_ns, message, receive);
    }

    pub(super) fn sessions(&self) -> MutexGuard<'_, Decoder> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn decoder(&self, at: usize) -> MutexGuard<'_, Decoder> {
        self.decoders[at].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the exporter that sends from address `from`. If it is not permitted, it is counted.
    pub(super) fn permitted(&self, from: SocketAddr) -> Option<SocketAddr> {
        let exporter = SocketAddr::new(from.ip().to_canonical(), from.port());
        if self.permitted.get(exporter.ip().into()).is_none() {
            // The count follows the address, because a reader of a new count also reads the address.
            *self.last_refused.lock().unwrap_or_else(PoisonError::into_inner) = Some(exporter.ip());
            self.refused.fetch_add(1, Relaxed);
            return None;
        }
        Some(exporter)
    }

    pub(super) fn connections(&self) -> MutexGuard<'_, ConnectionState> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set_open_connections(&self, open: usize) {
        self.connections().counts.open = open;
    }

    /// Counts a connection that was closed before its end. `exporter` is `None` if it is unknown.
    pub(super) fn count_closed(&self, exporter: Option<SocketAddr>, error: &CloseError) {
        let mut connections = self.connections();
        connections.counts.add(error.reason());
        connections.last_closed = match exporter {
            Some(exporter) => format!("{exporter}: {error}"),
            None => error.to_string(),
        };
    }
}

/// Returns a receiver that limits the times of contacts to `at_ns`, because the exporter's clock may be ahead by a skew
/// that is too small to be corrected.
fn not_after(at_ns: u64, mut receive: impl FnMut(Contact)) -> impl FnMut(Contact) {
    move |contact| receive(Contact { time_ns: contact.time_ns.min(at_ns), ..contact })
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
