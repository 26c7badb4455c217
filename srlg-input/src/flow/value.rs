//! Values of fields as numbers and addresses.

use std::net::IpAddr;

use netflow_parser::variable_versions::field_value::DurationValue;
use netflow_parser::{DataNumber, FieldDataType, FieldValue};

use crate::flow::clock::{RecordTime, SECOND};
use crate::flow::element::Unit;

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
