//! The elements of records that matter, by their numbers in IANA's registry of IPFIX. Those of NetFlow
//! v9 are the same.

/// What a field of a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    Octets,
    Packets,
    ReverseOctets,
    ReversePackets,
    ReverseTcpFlags,
    Protocol,
    TcpFlags,
    SourcePort,
    DestinationPort,
    Source,
    Destination,
    PostSource,
    PostDestination,
    IpVersion,
    First(Unit),
    Last(Unit),
    ReverseFirst(Unit),
    ReverseLast(Unit),
    /// When the exporter began, in milliseconds.
    SystemInit,
    /// One packet in so many.
    Interval,
    Taken,
    LeftOut,
    Size,
    Population,
    Sampler,
    BiflowDirection,
    FrameType,
    Frame,
    IpHeader,
}

/// How a time is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Seconds,
    Milliseconds,
    Ntp,
    /// Milliseconds since the exporter began.
    Uptime,
    /// Microseconds before the export.
    Delta,
}

/// Enterprise of the elements of the other direction (RFC 5103).
const REVERSE: u32 = 29305;

impl Element {
    pub(crate) fn of(number: u16, enterprise: Option<u32>) -> Option<Self> {
        match enterprise {
            None => Self::of_iana(number),
            Some(REVERSE) => match number {
                1 | 85 => Some(Self::ReverseOctets),
                2 | 86 => Some(Self::ReversePackets),
                6 => Some(Self::ReverseTcpFlags),
                _ => match Self::of_iana(number)? {
                    Self::First(unit) => Some(Self::ReverseFirst(unit)),
                    Self::Last(unit) => Some(Self::ReverseLast(unit)),
                    _ => None,
                },
            },
            Some(_) => None,
        }
    }

    fn of_iana(number: u16) -> Option<Self> {
        Some(match number {
            // Some count flows that leave behind what came in, which is 0 then.
            1 | 23 | 85 | 231 => Self::Octets,
            2 | 24 | 86 | 298 => Self::Packets,
            4 => Self::Protocol,
            6 => Self::TcpFlags,
            7 => Self::SourcePort,
            8 | 27 => Self::Source,
            11 => Self::DestinationPort,
            12 | 28 => Self::Destination,
            21 => Self::Last(Unit::Uptime),
            22 => Self::First(Unit::Uptime),
            34 | 50 => Self::Interval,
            48 | 302 => Self::Sampler,
            60 => Self::IpVersion,
            150 => Self::First(Unit::Seconds),
            // Flows end; packets and events of which there is one are observed.
            151 | 322 => Self::Last(Unit::Seconds),
            152 => Self::First(Unit::Milliseconds),
            153 | 323 => Self::Last(Unit::Milliseconds),
            154 | 156 => Self::First(Unit::Ntp),
            155 | 157 | 324 | 325 => Self::Last(Unit::Ntp),
            158 => Self::First(Unit::Delta),
            159 => Self::Last(Unit::Delta),
            160 => Self::SystemInit,
            225 | 281 => Self::PostSource,
            226 | 282 => Self::PostDestination,
            232 => Self::ReverseOctets,
            239 => Self::BiflowDirection,
            299 => Self::ReversePackets,
            305 => Self::Taken,
            306 => Self::LeftOut,
            309 => Self::Size,
            310 => Self::Population,
            313 => Self::IpHeader,
            315 => Self::Frame,
            408 => Self::FrameType,
            _ => return None,
        })
    }
}
