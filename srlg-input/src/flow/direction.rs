//! From a record to the contacts of its directions.
//!
//! Invariant: a direction without packets is no contact. In a flood whose answers alone are seen,
//! a count of the empty direction makes a scanner of the victim.

use crate::contact::Contact;

use crate::flow::clock::Clock;
use crate::flow::counts::Reason;
use crate::flow::record::Record;
use crate::flow::sampling::Samplers;
use crate::flow::sink::{Details, Sink};

/// Values of biflowDirection (RFC 5103, section 6.3): who began the forward direction.
const ARBITRARY: u64 = 0;
const INITIATOR: u64 = 1;
const REVERSE_INITIATOR: u64 = 2;
const PERIMETER: u64 = 3;

/// Hands on the contacts of a data record of `domain`.
pub(crate) fn contacts<F: FnMut(Contact)>(
    record: &Record<'_>,
    domain: u32,
    clock: &Clock,
    samplers: &Samplers,
    sink: &mut Sink<'_, F>,
) {
    let (hosts, headers) = match record.hosts(sink.options.nat) {
        Ok(hosts) => hosts,
        Err(reason) => return sink.count(reason),
    };
    let packet = headers.map(|headers| headers.transport()).unwrap_or_default();
    let time_ns = sink.time_ns(clock.last(record.first, record.last, record.init_ms));
    let details = Details {
        packets: record.packets,
        protocol: record.protocol.or(packet.protocol),
        tcp_flags: record.tcp_flags.or(packet.tcp_flags),
        destination_port: record.destination_port.or(packet.destination_port),
        initiated: forward_initiated(record),
        sampling: samplers.rate(domain, &record.sampling),
    };
    if has_forward(record) {
        sink.contact(time_ns, hosts, &details);
    } else {
        sink.count(Reason::NoPackets);
    }
    if !is_biflow(record) {
        return;
    }
    if has_packets(record.reverse_packets, record.reverse_octets) {
        let time_ns = match record.reverse_first.or(record.reverse_last) {
            Some(_) => {
                let (first, last) = (record.reverse_first, record.reverse_last);
                sink.time_ns(clock.last(first, last, record.init_ms))
            }
            // The times are those of both.
            None => time_ns,
        };
        let reverse = Details {
            packets: record.reverse_packets,
            tcp_flags: record.reverse_tcp_flags,
            destination_port: record.source_port,
            initiated: details.initiated.map(|initiated| !initiated),
            ..details
        };
        sink.contact(time_ns, [hosts[1], hosts[0]], &reverse);
    } else {
        sink.count(Reason::NoPackets);
    }
}

/// Whether the record tells of the other direction, too.
fn is_biflow(record: &Record<'_>) -> bool {
    record.reverse_packets.is_some() || record.reverse_octets.is_some()
}

/// Whether a direction has packets: so many, or octets where packets are not told.
fn has_packets(packets: Option<u64>, octets: Option<u64>) -> bool {
    packets.or(octets).is_some_and(|count| count > 0)
}

fn has_forward(record: &Record<'_>) -> bool {
    match (record.packets, record.octets) {
        (None, None) => true,
        (packets, octets) if is_biflow(record) => has_packets(packets, octets),
        // An exporter that counts octets alone may say 0 of either.
        (Some(0), octets) => octets.is_some_and(|octets| octets > 0),
        _ => true,
    }
}

/// Whether the source began the conversation: of biflows it did, unless they say otherwise.
fn forward_initiated(record: &Record<'_>) -> Option<bool> {
    match record.biflow_direction {
        Some(INITIATOR) => Some(true),
        Some(REVERSE_INITIATOR) => Some(false),
        Some(ARBITRARY | PERIMETER) => None,
        _ => is_biflow(record).then_some(true),
    }
}
