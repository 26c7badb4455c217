//! The elements of records that matter, by their numbers in IANA's registry of IPFIX, and their values. Those of NetFlow
//! v9 are the same.

use std::net::IpAddr;

use netflow_parser::variable_versions::field_value::DurationValue;
use netflow_parser::{DataNumber, FieldDataType, FieldValue};

use crate::flow::clock::{RecordTime, SECOND};

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

/// Seconds from 1900, which NTP counts from, to 1970.
const NTP_EPOCH: u64 = 2_208_988_800;

/// The value of a field of `kind` with these `bytes`.
pub(crate) fn value(kind: FieldDataType, bytes: &[u8]) -> Option<FieldValue> {
    let length = u16::try_from(bytes.len()).ok()?;
    FieldValue::from_field_type(bytes, kind, length).ok().map(|(_, value)| value)
}

/// The number that `value` is, of at most eight bytes.
pub(crate) fn number(value: &FieldValue) -> Option<u64> {
    match value {
        FieldValue::DataNumber(DataNumber::Vec(bytes)) | FieldValue::Vec(bytes) => (bytes.len()
            <= 8)
            .then(|| bytes.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte))),
        FieldValue::DataNumber(number) => number.as_u64(),
        FieldValue::ProtocolType(protocol) => Some(u8::from(*protocol).into()),
        FieldValue::TcpControlBits(bits, _) => Some(u16::from(*bits).into()),
        FieldValue::Duration(
            DurationValue::Seconds { value, .. } | DurationValue::Millis { value, .. },
        ) => Some(*value),
        _ => None,
    }
}

/// The address that `value` is.
pub(crate) fn address(value: &FieldValue) -> Option<IpAddr> {
    match value {
        FieldValue::Ip4Addr(address) => Some((*address).into()),
        FieldValue::Ip6Addr(address) => Some((*address).into()),
        _ => None,
    }
}

/// The time that `value` is; a time of zero is none.
pub(crate) fn time(unit: Unit, value: &FieldValue) -> Option<RecordTime> {
    let units = match value {
        FieldValue::Duration(
            DurationValue::MicrosNtp { seconds, fraction }
            | DurationValue::NanosNtp { seconds, fraction },
        ) => u64::from(*seconds) << 32 | u64::from(*fraction),
        other => number(other)?,
    };
    match unit {
        Unit::Delta => Some(RecordTime::Before(units)),
        _ if units == 0 => None,
        Unit::Seconds => Some(RecordTime::At(units.saturating_mul(SECOND))),
        Unit::Milliseconds => Some(RecordTime::At(units.saturating_mul(1_000_000))),
        Unit::Uptime => Some(RecordTime::Uptime(units as u32)),
        Unit::Ntp => {
            let seconds = (units >> 32).checked_sub(NTP_EPOCH)?;
            let fraction = ((units & 0xffff_ffff) * SECOND) >> 32;
            Some(RecordTime::At(seconds * SECOND + fraction))
        }
    }
}
