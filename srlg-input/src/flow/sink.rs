//! The conversion of a record to contacts, and the counters of a datagram.
//!
//! Invariant: a direction without packets does not yield a contact. The victim of a reflection attack receives replies
//! but has sent no requests. A contact for the missing requests would make the victim look like a scanner.

use std::num::{NonZeroU8, NonZeroU32, NonZeroU64};

use crate::contact::{Contact, Host, ICMP, ICMP6, TCP};
use crate::flow::clock::{Clock, Last};
use crate::flow::counts::{FlowCounts, Reason};
use crate::flow::element::{Moment, Number};
use crate::flow::options::DecoderOptions;
use crate::flow::record::{Record, is_zero};
use crate::flow::sampling::DomainRates;
use crate::options::Tunnels;
use crate::packet::{Choice, Headers, Transport};

/// The receiver of the contacts and counters of one datagram.
pub(crate) struct Sink<'a, F> {
    pub(crate) options: &'a DecoderOptions,
    pub(crate) exporter: Host,
    pub(crate) counts: FlowCounts,
    pub(crate) receive: F,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Details {
    pub(crate) packets: Option<NonZeroU64>,
    pub(crate) octets: Option<NonZeroU64>,
    pub(crate) protocol: Option<u8>,
    pub(crate) tcp_flags: Option<NonZeroU8>,
    pub(crate) source_port: Option<u16>,
    pub(crate) destination_port: Option<u16>,
    pub(crate) icmp_type: Option<u8>,
    pub(crate) initiated: Option<bool>,
    pub(crate) sampling: Option<NonZeroU32>,
    pub(crate) ingress: Option<NonZeroU32>,
}

impl<F: FnMut(Contact)> Sink<'_, F> {
    pub(crate) fn count(&mut self, reason: Reason) {
        self.counts.add(reason);
    }

    /// Chooses the hosts of a sampled packet that count, and counts a tunnel that was not entered.
    #[inline(always)]
    pub(crate) fn choose<'b>(&mut self, packet: Headers<'b>) -> Choice<'b> {
        let choice = self.options.tunnels.choose(packet);
        if let Some(obstacle) = choice.obstacle {
            self.count(Reason::of_tunnel(obstacle));
        }
        choice
    }

    /// Returns `hosts`, or counts the reason if one of them is unspecified.
    #[inline(always)]
    pub(crate) fn nonzero(&mut self, hosts: [Host; 2]) -> Option<[Host; 2]> {
        let has_zero = hosts.into_iter().any(is_zero);
        if has_zero {
            self.count(Reason::ZeroHost);
        }
        Some(hosts).filter(|_| !has_zero)
    }

    /// Counts the defects of `last` and returns its time.
    #[inline]
    pub(crate) fn time_ns(&mut self, last: Last) -> u64 {
        if last.is_future {
            self.count(Reason::Future);
        }
        if last.is_reversed {
            self.count(Reason::Reversed);
        }
        last.time_ns
    }

    #[inline(always)]
    pub(crate) fn contact(&mut self, time_ns: u64, hosts: [Host; 2], details: &Details) {
        self.counts.contacts += 1;
        (self.receive)(details.contact(time_ns, hosts, self.exporter, self.options.sampling));
    }
}

impl Details {
    /// Returns the details of a packet of `octets` bytes.
    #[inline(always)]
    pub(crate) fn of_packet(headers: Headers<'_>, octets: Option<NonZeroU64>) -> Self {
        let Transport { protocol, tcp_flags, source_port, destination_port, icmp_type } =
            headers.transport();
        Self {
            packets: Some(NonZeroU64::MIN),
            octets,
            protocol,
            tcp_flags: tcp_flags.and_then(NonZeroU8::new),
            source_port,
            destination_port,
            icmp_type,
            ..Self::default()
        }
    }

    /// Returns these details, and those of `packet` where these are unknown.
    fn or(self, packet: Self) -> Self {
        Self {
            packets: self.packets.or(packet.packets),
            octets: self.octets.or(packet.octets),
            protocol: self.protocol.or(packet.protocol),
            tcp_flags: self.tcp_flags.or(packet.tcp_flags),
            source_port: self.source_port.or(packet.source_port),
            destination_port: self.destination_port.or(packet.destination_port),
            icmp_type: self.icmp_type.or(packet.icmp_type),
            ..self
        }
    }

    /// Creates a contact. If the details do not state a sampling rate, the contact has the rate `sampling`.
    #[inline(always)]
    pub(crate) fn contact(
        &self,
        time_ns: u64,
        hosts: [Host; 2],
        exporter: Host,
        sampling: Option<NonZeroU32>,
    ) -> Contact {
        let mut contact = Contact::new(time_ns, hosts[0], hosts[1]);
        contact.packets = self.packets;
        contact.octets = self.octets;
        contact.protocol = self.protocol;
        // Some exporters write 0 for fields that a protocol does not have, or ICMP types instead of ports.
        let is_tcp = self.protocol.is_none_or(|protocol| protocol == TCP);
        contact.tcp_flags = self.tcp_flags.filter(|_| is_tcp);
        let has_ports = self.protocol.is_none_or(|it| matches!(it, TCP | 17 | 33 | 132 | 136));
        contact.source_port = self.source_port.filter(|_| has_ports);
        contact.destination_port = self.destination_port.filter(|_| has_ports);
        contact.icmp_type = self.icmp_type.or_else(|| self.icmp_type_of_port());
        contact.initiated = self.initiated;
        contact.sampling = self.sampling.or(sampling);
        contact.exporter = Some(exporter);
        contact.ingress = self.ingress;
        contact
    }

    /// Returns the ICMP type that most exporters write to the upper half of the destination port. Others write 0, so
    /// echo replies, which have type 0, remain unknown.
    #[inline]
    fn icmp_type_of_port(&self) -> Option<u8> {
        let is_icmp = self.protocol.is_some_and(|protocol| matches!(protocol, ICMP | ICMP6));
        let [icmp_type, _] = self.destination_port.filter(|_| is_icmp)?.to_be_bytes();
        Some(icmp_type).filter(|it| *it != 0)
    }
}

/// The element with the count since the last report, and the element with the total count.
type Count = [Number; 2];

const PACKETS: Count = [Number::Packets, Number::TotalPackets];
const OCTETS: Count = [Number::Octets, Number::TotalOctets];
const REVERSE_PACKETS: Count = [Number::ReversePackets, Number::ReverseTotalPackets];
const REVERSE_OCTETS: Count = [Number::ReverseOctets, Number::ReverseTotalOctets];

/// Values of biflowDirection (RFC 5103, section 6.3), which states how the forward direction was chosen.
const ARBITRARY: u64 = 0;
const INITIATOR: u64 = 1;
const REVERSE_INITIATOR: u64 = 2;
const PERIMETER: u64 = 3;

/// Passes the contacts of a data record to `sink`.
pub(crate) fn contacts<F: FnMut(Contact)>(
    record: &Record<'_>,
    clock: &Clock,
    rates: &DomainRates<'_>,
    sink: &mut Sink<'_, F>,
) {
    let rate = || rates.rate(&record.sampling());
    match record.addresses(sink.options.nat) {
        // Most records have addresses and no packet.
        Ok(Some(hosts)) if sink.options.tunnels == Tunnels::Outer || !record.has_packet() => {
            pass(record, hosts, &fields(record, rate()), clock, sink);
        }
        Ok(addresses) => of_packet(record, addresses, rate(), clock, sink),
        Err(reason) => sink.count(reason),
    }
}

/// Passes the contacts of a record with a sampled packet to `sink`. The addresses of the record, if it has any, are
/// those of the outermost packet.
#[inline(never)]
fn of_packet<F: FnMut(Contact)>(
    record: &Record<'_>,
    addresses: Option<[Host; 2]>,
    rate: Option<NonZeroU32>,
    clock: &Clock,
    sink: &mut Sink<'_, F>,
) {
    let packet = match record.packet() {
        Ok(packet) => Some(packet),
        Err(_) if addresses.is_some() => None,
        Err(reason) => return sink.count(reason),
    };
    let choice = packet.map_or(Choice::OUTER, |packet| sink.choose(packet));
    let outer = packet.filter(|_| addresses.is_none());
    let hosts = addresses.or(outer.map(|packet| packet.hosts())).filter(|_| choice.is_outer);
    let hosts = hosts.and_then(|hosts| sink.nonzero(hosts));
    let inner = choice.inner.and_then(|packet| Some((packet, sink.nonzero(packet.hosts())?)));
    let fields = fields(record, rate);
    let of_packet = |packet: Headers<'_>| {
        let details = Details::of_packet(packet, packet.octets());
        // A record with a packet and without counts describes this packet.
        if has_counts(record) {
            Details { packets: None, octets: None, ..details }
        } else {
            details
        }
    };
    // The reasons of a record are counted only once.
    let is_counted = hosts.is_some();
    if let Some(hosts) = hosts {
        let details = outer.map_or(fields, |packet| fields.or(of_packet(packet)));
        pass(record, hosts, &details, clock, sink);
    }
    if let Some((packet, hosts)) = inner {
        let mut counts = sink.counts.clone();
        // The protocol, ports and flags of the record are those of the outer packet.
        let (protocol, tcp_flags, source_port, destination_port) = Default::default();
        let fields = Details { protocol, tcp_flags, source_port, destination_port, ..fields };
        pass(record, hosts, &fields.or(of_packet(packet)), clock, sink);
        if is_counted {
            counts.contacts = sink.counts.contacts;
            sink.counts = counts;
        }
    }
}

/// Returns the details that the fields of a record state.
#[inline(always)]
fn fields(record: &Record<'_>, sampling: Option<NonZeroU32>) -> Details {
    Details {
        packets: count(record, PACKETS),
        octets: count(record, OCTETS),
        protocol: narrow(record.number(Number::Protocol)),
        tcp_flags: flags(record.nonzero(Number::TcpFlags)),
        source_port: narrow(record.number(Number::SourcePort)),
        destination_port: narrow(record.number(Number::DestinationPort)),
        icmp_type: None,
        initiated: forward_initiated(record),
        sampling,
        ingress: record.nonzero(Number::Ingress).and_then(|index| index.try_into().ok()),
    }
}

/// Passes a contact for each direction of a record that has packets to `sink`. The source and the destination of the
/// forward direction are `hosts`.
#[inline(always)]
fn pass<F: FnMut(Contact)>(
    record: &Record<'_>,
    hosts: [Host; 2],
    details: &Details,
    clock: &Clock,
    sink: &mut Sink<'_, F>,
) {
    let init_ms = record.number(Number::SystemInit);
    let time_ns =
        sink.time_ns(clock.last(record.time(Moment::First), record.time(Moment::Last), init_ms));
    if has_forward(record) {
        sink.contact(time_ns, hosts, details);
    } else {
        sink.count(Reason::NoPackets);
    }
    let [reverse_packets, reverse_octets] =
        [REVERSE_PACKETS, REVERSE_OCTETS].map(|it| record.larger(it));
    if !is_biflow(record) {
        return;
    }
    if has_packets(reverse_packets, reverse_octets) {
        let [first, last] = [Moment::ReverseFirst, Moment::ReverseLast].map(|it| record.time(it));
        // If the reverse direction has no times, it gets the time of the forward direction.
        let time_ns = match first.or(last) {
            Some(_) => sink.time_ns(clock.last(first, last, init_ms)),
            None => time_ns,
        };
        let reverse = Details {
            packets: count(record, REVERSE_PACKETS),
            octets: count(record, REVERSE_OCTETS),
            tcp_flags: flags(record.nonzero(Number::ReverseTcpFlags)),
            source_port: details.destination_port,
            destination_port: details.source_port,
            icmp_type: None,
            initiated: details.initiated.map(|initiated| !initiated),
            // The record names the interface of the forward direction only.
            ingress: None,
            ..*details
        };
        sink.contact(time_ns, [hosts[1], hosts[0]], &reverse);
    } else {
        sink.count(Reason::NoPackets);
    }
}

fn narrow<T: TryFrom<u64>>(number: Option<u64>) -> Option<T> {
    number.and_then(|number| T::try_from(number).ok())
}

/// Returns the count since the last report, or the total count if the recent count is missing or 0. Open vSwitch sends
/// both counts.
fn count(record: &Record<'_>, [recent, total]: Count) -> Option<NonZeroU64> {
    record.nonzero(recent).or(record.nonzero(total))
}

/// Returns the lower eight TCP flags, if at least one of them is set.
fn flags(number: Option<NonZeroU64>) -> Option<NonZeroU8> {
    number.and_then(|number| NonZeroU8::new(number.get() as u8))
}

fn is_biflow(record: &Record<'_>) -> bool {
    record.larger(REVERSE_PACKETS).or(record.larger(REVERSE_OCTETS)).is_some()
}

fn has_packets(packets: Option<u64>, octets: Option<u64>) -> bool {
    packets.or(octets).is_some_and(|count| count > 0)
}

fn has_counts(record: &Record<'_>) -> bool {
    record.larger(PACKETS).or(record.larger(OCTETS)).is_some()
}

fn has_forward(record: &Record<'_>) -> bool {
    match (record.larger(PACKETS), record.larger(OCTETS)) {
        (None, None) => true,
        (packets, octets) if is_biflow(record) => has_packets(packets, octets),
        // An exporter that counts only octets may report 0 packets.
        (Some(0), octets) => octets.is_some_and(|octets| octets > 0),
        _ => true,
    }
}

/// Returns whether the source initiated the conversation, if this is known. In a biflow, the source is the initiator
/// unless the record states otherwise.
fn forward_initiated(record: &Record<'_>) -> Option<bool> {
    match record.number(Number::BiflowDirection) {
        Some(INITIATOR) => Some(true),
        Some(REVERSE_INITIATOR) => Some(false),
        Some(ARBITRARY | PERIMETER) => None,
        _ => is_biflow(record).then_some(true),
    }
}
