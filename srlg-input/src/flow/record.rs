//! What a record says.
//!
//! Shape: numbers as the record has them; addresses of zero stand for none.

use std::net::IpAddr;

use crate::contact::Host;
use crate::packet::Headers;
use netflow_parser::FieldDataType;

use crate::flow::clock::RecordTime;
use crate::flow::counts::Reason;
use crate::flow::element::{self, Element, Unit, time};
use crate::flow::sampling::SamplingFields;
use crate::options::Nat;

/// Addresses of one family, of source and destination.
type Addresses<T> = [T; 2];

/// Addresses of either end of a translator.
#[derive(Clone, Copy, Debug, Default)]
struct Ends {
    v4: Addresses<u32>,
    v6: Addresses<u128>,
}

/// A record, or as much of it as matters.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Record<'a> {
    pre: Ends,
    post: Ends,
    has_address: bool,
    ip_version: u8,
    pub(crate) packets: Option<u64>,
    pub(crate) octets: Option<u64>,
    pub(crate) reverse_packets: Option<u64>,
    pub(crate) reverse_octets: Option<u64>,
    pub(crate) protocol: Option<u8>,
    pub(crate) tcp_flags: Option<u8>,
    pub(crate) reverse_tcp_flags: Option<u8>,
    pub(crate) source_port: Option<u16>,
    pub(crate) destination_port: Option<u16>,
    pub(crate) first: Option<RecordTime>,
    pub(crate) last: Option<RecordTime>,
    pub(crate) reverse_first: Option<RecordTime>,
    pub(crate) reverse_last: Option<RecordTime>,
    pub(crate) init_ms: Option<u64>,
    pub(crate) sampling: SamplingFields,
    pub(crate) biflow_direction: Option<u64>,
    frame_type: Option<u64>,
    frame: Option<&'a [u8]>,
    ip_header: Option<&'a [u8]>,
}

impl<'a> Record<'a> {
    /// Takes in the `element` of a field of `kind` with these `bytes`.
    #[inline]
    pub(crate) fn set(&mut self, element: Element, kind: FieldDataType, bytes: &'a [u8]) {
        match element {
            Element::Frame => return self.frame = Some(bytes),
            Element::IpHeader => return self.ip_header = Some(bytes),
            _ => {}
        }
        let Some(value) = element::value(kind, bytes) else { return };
        match element {
            Element::Source
            | Element::Destination
            | Element::PostSource
            | Element::PostDestination => {
                if let Some(address) = element::address(&value) {
                    self.set_address(element, address);
                }
            }
            Element::First(unit) => told(&mut self.first, time(unit, &value), unit),
            Element::Last(unit) => told(&mut self.last, time(unit, &value), unit),
            Element::ReverseFirst(unit) => told(&mut self.reverse_first, time(unit, &value), unit),
            Element::ReverseLast(unit) => told(&mut self.reverse_last, time(unit, &value), unit),
            _ => {
                if let Some(number) = element::number(&value) {
                    self.set_number(element, number);
                }
            }
        }
    }

    fn set_address(&mut self, element: Element, address: IpAddr) {
        let is_post = matches!(element, Element::PostSource | Element::PostDestination);
        let at = usize::from(matches!(element, Element::Destination | Element::PostDestination));
        let ends = if is_post { &mut self.post } else { &mut self.pre };
        match address {
            IpAddr::V4(address) => ends.v4[at] = address.to_bits(),
            IpAddr::V6(address) => ends.v6[at] = address.to_bits(),
        }
        self.has_address = true;
    }

    fn set_number(&mut self, element: Element, number: u64) {
        match element {
            Element::Octets => self.octets = self.octets.max(Some(number)),
            Element::Packets => self.packets = self.packets.max(Some(number)),
            Element::ReverseOctets => self.reverse_octets = self.reverse_octets.max(Some(number)),
            Element::ReversePackets => {
                self.reverse_packets = self.reverse_packets.max(Some(number));
            }
            Element::ReverseTcpFlags => self.reverse_tcp_flags = Some(number as u8),
            Element::Protocol => self.protocol = u8::try_from(number).ok(),
            Element::TcpFlags => self.tcp_flags = Some(number as u8),
            Element::SourcePort => self.source_port = u16::try_from(number).ok(),
            Element::DestinationPort => self.destination_port = u16::try_from(number).ok(),
            Element::IpVersion => self.ip_version = number as u8,
            Element::SystemInit => self.init_ms = Some(number),
            Element::Interval => self.sampling.interval = self.sampling.interval.max(Some(number)),
            Element::Taken => self.sampling.taken = Some(number),
            Element::LeftOut => self.sampling.left_out = Some(number),
            Element::Size => self.sampling.size = Some(number),
            Element::Population => self.sampling.population = Some(number),
            Element::Sampler => self.sampling.sampler = Some(number),
            Element::BiflowDirection => self.biflow_direction = Some(number),
            Element::FrameType => self.frame_type = Some(number),
            _ => unreachable!("addresses, times and frames are no numbers"),
        }
    }

    /// The two hosts, and the headers of the packet in the record where it takes them from there.
    pub(crate) fn hosts(&self, nat: Nat) -> Result<([Host; 2], Option<Headers<'a>>), Reason> {
        let v4 = ends(nat, self.pre.v4, self.post.v4);
        let v6 = ends(nat, self.pre.v6, self.post.v6);
        // Some translators change the family, too.
        let is_v6 = match [self.post.v4 != [0; 2], self.post.v6 != [0; 2]] {
            [false, true] if nat == Nat::Post => true,
            [true, false] if nat == Nat::Post => false,
            _ => self.ip_version == 6,
        };
        let hosts = match [v4 != [0; 2], v6 != [0; 2]] {
            [true, true] if is_v6 => v6.map(Host::v6),
            [true, _] => v4.map(Host::v4),
            [false, true] => v6.map(Host::v6),
            [false, false] => return self.hosts_of_packet(),
        };
        if hosts.into_iter().any(is_zero) { Err(Reason::ZeroHost) } else { Ok((hosts, None)) }
    }

    /// The same, of a record without addresses.
    fn hosts_of_packet(&self) -> Result<([Host; 2], Option<Headers<'a>>), Reason> {
        let headers = match (self.frame, self.ip_header) {
            // Frame types are those of PSAMP: 1 and none is Ethernet.
            (Some(frame), _) if self.frame_type.is_none_or(|kind| kind == 1) => {
                crate::packet::headers(1, frame)
            }
            (Some(_), None) => return Err(Reason::BadFrame),
            (_, Some(packet)) => crate::packet::headers(101, packet),
            (None, None) if self.has_address => return Err(Reason::ZeroHost),
            (None, None) => return Err(Reason::NoHosts),
        };
        let headers = headers.map_err(|_| Reason::BadFrame)?;
        let hosts = [headers.source, headers.destination];
        let is_zero = hosts.into_iter().any(is_zero);
        if is_zero { Err(Reason::ZeroHost) } else { Ok((hosts, Some(headers))) }
    }
}

/// Whether `host` is the address of none, in either family.
pub(crate) fn is_zero(host: Host) -> bool {
    host.as_v4() == Some(0) || host.as_v6() == 0
}

/// The addresses that count, of those before the translation and those after it, which may be none.
fn ends<T: Copy + Default + PartialEq>(
    nat: Nat,
    pre: Addresses<T>,
    post: Addresses<T>,
) -> Addresses<T> {
    let of = |at: usize| if post[at] == T::default() { pre[at] } else { post[at] };
    if nat == Nat::Post { [of(0), of(1)] } else { pre }
}

/// Keeps a time; one that needs no uptime is better than one that does.
fn told(kept: &mut Option<RecordTime>, time: Option<RecordTime>, unit: Unit) {
    if kept.is_none() || time.is_some() && !matches!(unit, Unit::Uptime | Unit::Delta) {
        *kept = time;
    }
}
