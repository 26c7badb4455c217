//! Times in logs: seconds since 1970 with a fraction, or dates.

use crate::capture::csv::decimal_ns;
use crate::packet::Skip;

/// Digits of a second in nanoseconds.
const SECOND: usize = 9;

/// The time in `field`: seconds since 1970, or a date with a time and an offset (ISO 8601), in nanoseconds since 1970.
pub(super) fn time_ns(field: &str) -> Result<u64, Skip> {
    match decimal_ns(field, SECOND) {
        Err(Skip::BadRow) => {
            let time: jiff::Timestamp = field.parse().map_err(|_| Skip::BadTime)?;
            u64::try_from(time.as_nanosecond()).map_err(|_| Skip::BadTime)
        }
        seconds => seconds,
    }
}

/// The time `duration` after `start_ns`, in seconds, where that is told.
pub(super) fn after(start_ns: u64, duration: Option<&str>) -> Result<u64, Skip> {
    let Some(duration) = duration else { return Ok(start_ns) };
    let duration = decimal_ns(duration, SECOND).map_err(|_| Skip::BadTime)?;
    start_ns.checked_add(duration).ok_or(Skip::BadTime)
}
