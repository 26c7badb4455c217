//! The information elements that the decoder uses, by their numbers in IANA's IPFIX registry (RFC 7012). NetFlow v9
//! uses the same numbers.

use crate::flow::clock::{RecordTime, SECOND};

/// The meaning of a field in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    Number(Number),
    Address6(End),
    Time(Moment, Unit),
    Frame,
    IpHeader,
}

/// A field with an unsigned number or an IPv4 address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Number {
    Octets,
    Packets,
    ReverseOctets,
    ReversePackets,
    /// Number of bytes since the flow or the exporter started. In contrast, [`Octets`](Self::Octets) starts at 0 in
    /// each report.
    TotalOctets,
    TotalPackets,
    ReverseTotalOctets,
    ReverseTotalPackets,
    Protocol,
    TcpFlags,
    ReverseTcpFlags,
    SourcePort,
    DestinationPort,
    Source4,
    Destination4,
    PostSource4,
    PostDestination4,
    IpVersion,
    /// Start time of the exporter, in milliseconds since 1970.
    SystemInit,
    /// Sampling rate, as N for one packet in N.
    Interval,
    Taken,
    LeftOut,
    Size,
    Population,
    Sampler,
    BiflowDirection,
    FrameType,
    Ingress,
}

/// The source or destination of a flow, before or after NAT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Source,
    Destination,
    PostSource,
    PostDestination,
}

/// The packet of a flow that a time refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    First,
    Last,
    ReverseFirst,
    ReverseLast,
}

/// The unit and origin of a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Seconds,
    Milliseconds,
    Ntp,
    /// Milliseconds since the exporter started.
    Uptime,
    /// Number of microseconds between the time and the export.
    Delta,
}

/// Enterprise number for elements of the reverse direction (RFC 5103).
const REVERSE: u32 = 29305;

/// A row of IANA's registry: number, name and meaning of an element.
type Row = (u16, &'static str, Element);

/// Rows of the elements that the decoder uses, sorted by number.
const IANA: [Row; 55] = [
    (1, "octetDeltaCount", Element::Number(Number::Octets)),
    (2, "packetDeltaCount", Element::Number(Number::Packets)),
    (4, "protocolIdentifier", Element::Number(Number::Protocol)),
    (6, "tcpControlBits", Element::Number(Number::TcpFlags)),
    (7, "sourceTransportPort", Element::Number(Number::SourcePort)),
    (8, "sourceIPv4Address", Element::Number(Number::Source4)),
    (10, "ingressInterface", Element::Number(Number::Ingress)),
    (11, "destinationTransportPort", Element::Number(Number::DestinationPort)),
    (12, "destinationIPv4Address", Element::Number(Number::Destination4)),
    (21, "flowEndSysUpTime", Element::Time(Moment::Last, Unit::Uptime)),
    (22, "flowStartSysUpTime", Element::Time(Moment::First, Unit::Uptime)),
    (23, "postOctetDeltaCount", Element::Number(Number::Octets)),
    (24, "postPacketDeltaCount", Element::Number(Number::Packets)),
    (27, "sourceIPv6Address", Element::Address6(End::Source)),
    (28, "destinationIPv6Address", Element::Address6(End::Destination)),
    (34, "samplingInterval", Element::Number(Number::Interval)),
    (48, "samplerId", Element::Number(Number::Sampler)),
    (50, "samplerRandomInterval", Element::Number(Number::Interval)),
    (60, "ipVersion", Element::Number(Number::IpVersion)),
    (85, "octetTotalCount", Element::Number(Number::TotalOctets)),
    (86, "packetTotalCount", Element::Number(Number::TotalPackets)),
    // The predecessor of dataLinkFrameSection.
    (104, "layer2packetSectionData", Element::Frame),
    (150, "flowStartSeconds", Element::Time(Moment::First, Unit::Seconds)),
    (151, "flowEndSeconds", Element::Time(Moment::Last, Unit::Seconds)),
    (152, "flowStartMilliseconds", Element::Time(Moment::First, Unit::Milliseconds)),
    (153, "flowEndMilliseconds", Element::Time(Moment::Last, Unit::Milliseconds)),
    (154, "flowStartMicroseconds", Element::Time(Moment::First, Unit::Ntp)),
    (155, "flowEndMicroseconds", Element::Time(Moment::Last, Unit::Ntp)),
    (156, "flowStartNanoseconds", Element::Time(Moment::First, Unit::Ntp)),
    (157, "flowEndNanoseconds", Element::Time(Moment::Last, Unit::Ntp)),
    (158, "flowStartDeltaMicroseconds", Element::Time(Moment::First, Unit::Delta)),
    (159, "flowEndDeltaMicroseconds", Element::Time(Moment::Last, Unit::Delta)),
    (160, "systemInitTimeMilliseconds", Element::Number(Number::SystemInit)),
    (225, "postNATSourceIPv4Address", Element::Number(Number::PostSource4)),
    (226, "postNATDestinationIPv4Address", Element::Number(Number::PostDestination4)),
    (231, "initiatorOctets", Element::Number(Number::Octets)),
    (232, "responderOctets", Element::Number(Number::ReverseOctets)),
    (239, "biflowDirection", Element::Number(Number::BiflowDirection)),
    (281, "postNATSourceIPv6Address", Element::Address6(End::PostSource)),
    (282, "postNATDestinationIPv6Address", Element::Address6(End::PostDestination)),
    (298, "initiatorPackets", Element::Number(Number::Packets)),
    (299, "responderPackets", Element::Number(Number::ReversePackets)),
    (302, "selectorId", Element::Number(Number::Sampler)),
    (305, "samplingPacketInterval", Element::Number(Number::Taken)),
    (306, "samplingPacketSpace", Element::Number(Number::LeftOut)),
    (309, "samplingSize", Element::Number(Number::Size)),
    (310, "samplingPopulation", Element::Number(Number::Population)),
    (313, "ipHeaderPacketSection", Element::IpHeader),
    (315, "dataLinkFrameSection", Element::Frame),
    // An MPLS stack does not state the type of its payload. If it is not IP, the version is wrong.
    (317, "mplsPayloadPacketSection", Element::IpHeader),
    // Flows state an end time. Single packets and events state an observation time instead.
    (322, "observationTimeSeconds", Element::Time(Moment::Last, Unit::Seconds)),
    (323, "observationTimeMilliseconds", Element::Time(Moment::Last, Unit::Milliseconds)),
    (324, "observationTimeMicroseconds", Element::Time(Moment::Last, Unit::Ntp)),
    (325, "observationTimeNanoseconds", Element::Time(Moment::Last, Unit::Ntp)),
    (408, "dataLinkFrameType", Element::Number(Number::FrameType)),
];

impl Element {
    pub(crate) fn of(number: u16, enterprise: Option<u32>) -> Option<Self> {
        let row = IANA.binary_search_by_key(&number, |row| row.0).ok();
        let element = row.map(|row| IANA[row].2);
        match enterprise {
            None => element,
            // Counts of the initiator have a fixed direction, so a reverse form does not exist.
            Some(REVERSE) if matches!(number, 231 | 298) => None,
            Some(REVERSE) => element.and_then(Self::reverse),
            // Elements of vendors are skipped by their length, even those that name hosts. The tenant addresses of
            // VMware are inside VXLAN, whose outer hosts are in the standard elements of the record. The tunnel
            // addresses of Open vSwitch are outside. The subscriber of Nokia is a text about a NAT mapping, which has
            // no packets.
            Some(_) => None,
        }
    }

    fn reverse(self) -> Option<Self> {
        Some(match self {
            Self::Number(Number::Octets) => Self::Number(Number::ReverseOctets),
            Self::Number(Number::Packets) => Self::Number(Number::ReversePackets),
            Self::Number(Number::TotalOctets) => Self::Number(Number::ReverseTotalOctets),
            Self::Number(Number::TotalPackets) => Self::Number(Number::ReverseTotalPackets),
            Self::Number(Number::TcpFlags) => Self::Number(Number::ReverseTcpFlags),
            Self::Time(Moment::First, unit) => Self::Time(Moment::ReverseFirst, unit),
            Self::Time(Moment::Last, unit) => Self::Time(Moment::ReverseLast, unit),
            _ => return None,
        })
    }

    /// Returns whether a field of `length` bytes can hold the element. Numbers may be encoded in fewer bytes than their
    /// type has (RFC 7011, section 6.2), but addresses may not.
    pub(crate) fn fits(self, length: usize) -> bool {
        match self {
            Self::Number(number) if number.is_address() => length == 4,
            Self::Number(_) | Self::Time(..) => (1..=8).contains(&length),
            Self::Address6(_) => length == 16,
            Self::Frame | Self::IpHeader => true,
        }
    }
}

impl Number {
    /// Number of variants.
    pub(crate) const COUNT: usize = Self::Ingress as usize + 1;

    /// Returns whether the largest value is used if a record has several fields of this element. Some exporters have
    /// one field for incoming and one for outgoing flows, and write 0 into the field that does not apply.
    #[inline(always)]
    pub(crate) fn is_largest(self) -> bool {
        use Number::{Interval, Octets, Packets, ReverseOctets, ReversePackets};
        matches!(self, Octets | Packets | ReverseOctets | ReversePackets | Interval)
    }

    pub(crate) fn is_address(self) -> bool {
        use Number::{Destination4, PostDestination4, PostSource4, Source4};
        matches!(self, Source4 | Destination4 | PostSource4 | PostDestination4)
    }
}

/// Seconds from 1900, the epoch of NTP, to 1970.
const NTP_EPOCH: u64 = 2_208_988_800;

impl Unit {
    /// Converts a value in this unit to a time. Returns `None` for an NTP time before 1970, and for 0 in all units
    /// except [`Delta`](Self::Delta).
    #[inline]
    pub(crate) fn time(self, units: u64) -> Option<RecordTime> {
        match self {
            Self::Delta => Some(RecordTime::Before(units)),
            _ if units == 0 => None,
            Self::Seconds => Some(RecordTime::At(units.saturating_mul(SECOND))),
            Self::Milliseconds => Some(RecordTime::At(units.saturating_mul(1_000_000))),
            Self::Uptime => Some(RecordTime::Uptime(units as u32)),
            Self::Ntp => {
                let seconds = (units >> 32).checked_sub(NTP_EPOCH)?;
                let fraction = ((units & 0xffff_ffff) * SECOND) >> 32;
                Some(RecordTime::At(seconds * SECOND + fraction))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use netflow_parser::FieldDataType;
    use netflow_parser::variable_versions::ipfix::lookup::IPFixField;

    use super::*;

    /// Returns whether `element` matches `kind`, its type in the crate `netflow_parser`.
    fn is_of(element: Element, kind: FieldDataType) -> bool {
        match element {
            Element::Number(Number::SystemInit) => kind == FieldDataType::DurationMillis,
            Element::Number(number) if number.is_address() => kind == FieldDataType::Ip4Addr,
            Element::Number(_) | Element::Time(_, Unit::Delta | Unit::Uptime) => matches!(
                kind,
                FieldDataType::UnsignedDataNumber
                    | FieldDataType::ProtocolType
                    | FieldDataType::TcpControlBits
            ),
            Element::Address6(_) => kind == FieldDataType::Ip6Addr,
            Element::Time(_, Unit::Seconds) => kind == FieldDataType::DurationSeconds,
            Element::Time(_, Unit::Milliseconds) => kind == FieldDataType::DurationMillis,
            Element::Time(_, Unit::Ntp) => {
                matches!(kind, FieldDataType::DurationMicrosNTP | FieldDataType::DurationNanosNTP)
            }
            Element::Frame | Element::IpHeader => kind == FieldDataType::Vec,
        }
    }

    #[test]
    fn rows_are_those_of_a_registry_that_others_keep() {
        for (number, name, element) in IANA {
            let field = IPFixField::new(number, None);
            let IPFixField::IANA(theirs) = field else { panic!("{number} {field:?}") };
            assert_eq!(format!("{theirs:?}").to_lowercase(), name.to_lowercase(), "{number}");
            let kind = FieldDataType::from(field);
            assert!(is_of(element, kind), "{name} is {kind:?}, not {element:?}");
        }
    }

    #[test]
    fn rows_are_found_by_number() {
        assert!(IANA.is_sorted_by_key(|row| row.0));
        for (number, _, element) in IANA {
            assert_eq!(Element::of(number, None), Some(element));
        }
        assert_eq!(
            [Element::of(0, None), Element::of(9, None), Element::of(8, Some(9))],
            [None; 3]
        );
    }

    #[test]
    fn some_elements_matter_in_the_other_direction() {
        let reverse = |number| Element::of(number, Some(REVERSE));
        assert_eq!(reverse(86), Some(Element::Number(Number::ReverseTotalPackets)));
        assert_eq!(reverse(6), Some(Element::Number(Number::ReverseTcpFlags)));
        assert_eq!(reverse(153), Some(Element::Time(Moment::ReverseLast, Unit::Milliseconds)));
        assert_eq!(reverse(24), Some(Element::Number(Number::ReversePackets)));
        assert_eq!([8, 4, 34, 231, 298].map(reverse), [None; 5]);
    }
}
