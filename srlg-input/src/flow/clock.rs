//! The times of records, corrected by the skew of the exporter's clock.
//!
//! Invariant: a wrong clock of an exporter shifts times by at most an hour, except with [`Timestamps::Trusted`].

use crate::options::Timestamps;

pub(crate) const SECOND: u64 = 1_000_000_000;
const MILLISECOND: u64 = 1_000_000;
/// Maximum clock skew at which times are used uncorrected.
const SMALL: u64 = 5 * SECOND;
/// Maximum clock skew at which times are corrected. Above it, the time of receipt is used.
const LARGE: u64 = 3_600 * SECOND;
/// Length of a period. For the current and the previous period, the smallest difference between receipt and export is
/// kept.
const SPAN: u64 = 60 * SECOND;

/// The times of a datagram.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    pub(crate) export_ns: u64,
    /// Maximum time by which `export_ns` is too early, because the header truncates it.
    pub(crate) cut_ns: u64,
    /// Uptime of the exporter in milliseconds, if the header states it.
    pub(crate) uptime_ms: Option<u32>,
    pub(crate) received_ns: u64,
    /// Estimated time by which the exporter's clock is behind the local clock.
    pub(crate) skew_ns: i64,
    pub(crate) timestamps: Timestamps,
}

/// A time as a record states it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordTime {
    /// Nanoseconds since 1970.
    At(u64),
    /// Milliseconds since the exporter started, as a 32-bit number that wraps.
    Uptime(u32),
    /// Number of microseconds between this time and the export.
    Before(u64),
}

/// The time of the last packet of a record, and defects of the stated times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Last {
    pub(crate) time_ns: u64,
    /// Whether a stated time is later than the export.
    pub(crate) is_future: bool,
    /// Whether the stated time of the last packet is earlier than that of the first packet.
    pub(crate) is_reversed: bool,
}

impl Clock {
    /// Returns the time of the last packet of a record that states the times `first` and `last`. `init_ms` is the start
    /// time of the exporter, in milliseconds since 1970.
    #[inline]
    pub(crate) fn last(
        &self,
        first: Option<RecordTime>,
        last: Option<RecordTime>,
        init_ms: Option<u64>,
    ) -> Last {
        let first = first.and_then(|time| self.resolve(time, init_ms));
        let last = last.and_then(|time| self.resolve(time, init_ms));
        let is_reversed = first.zip(last).is_some_and(|(first, last)| last < first);
        let latest = first.max(last).unwrap_or(self.export_ns);
        let is_future = latest > self.export_ns.saturating_add(self.cut_ns);
        let time_ns = self.corrected(if is_future { self.export_ns } else { latest });
        Last { time_ns, is_future, is_reversed }
    }

    #[inline]
    fn resolve(&self, time: RecordTime, init_ms: Option<u64>) -> Option<u64> {
        let at_ms = match time {
            RecordTime::At(ns) => return Some(ns),
            RecordTime::Before(us) => {
                return Some(self.export_ns.saturating_sub(us.saturating_mul(1_000)));
            }
            RecordTime::Uptime(at_ms) => at_ms,
        };
        let now_ms = match self.uptime_ms {
            Some(uptime_ms) => uptime_ms,
            None => (self.export_ns / MILLISECOND).checked_sub(init_ms?)? as u32,
        };
        // Both values are 32-bit counters, which wrap after 49.7 days.
        let before_ms = i64::from(now_ms.wrapping_sub(at_ms) as i32);
        self.export_ns.checked_add_signed(-before_ms * MILLISECOND as i64)
    }

    /// Returns whether the options rely on the exporter's clock although that clock is more than an hour off.
    pub(crate) fn is_bad(&self) -> bool {
        self.timestamps != Timestamps::Received && self.skew_ns.unsigned_abs() > LARGE
    }

    #[inline]
    fn corrected(&self, time_ns: u64) -> u64 {
        match (self.timestamps, self.skew_ns.unsigned_abs()) {
            (Timestamps::Trusted, _) => time_ns,
            (Timestamps::Received, _) => self.received_ns,
            (Timestamps::Corrected, skew) if skew <= SMALL => time_ns,
            (Timestamps::Corrected, skew) if skew > LARGE => self.received_ns,
            (Timestamps::Corrected, _) => time_ns.saturating_add_signed(self.skew_ns),
        }
    }
}

/// Number of consecutive datagrams that must agree to confirm the `base` of a [`Skew`]. A damaged or forged datagram
/// arrives once, or a few times if the network duplicates it. An exporter whose clock has stepped sends eight datagrams
/// within seconds.
const AGREEING: u32 = 8;
/// Minimum time between the first and the last of the [`AGREEING`] datagrams. Within this time, an exporter that sends
/// every few seconds interrupts a burst of forged datagrams.
const AGREEING_SPAN: u64 = 5 * SECOND;

/// The skew of an exporter's clock: the smallest difference between receipt and export in the current and the previous
/// minute.
///
/// A delay makes the difference larger, and only a wrong time makes it smaller. If a difference is more than [`SMALL`]
/// below `base`, it is adopted once [`AGREEING`] consecutive datagrams confirm it. Until then, it applies only to the
/// datagram from which it was computed.
///
/// After one to two minutes without datagrams, the skew restarts from the next datagram.
///
/// Invariant: the skew never falls more than [`SMALL`] below `base`, and `base` never falls. The exceptions are a
/// restart and a new `base` that consecutive datagrams confirm.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Skew {
    since_ns: u64,
    least: [Option<i64>; 2],
    /// Reference difference. A difference that is smaller than `base` by more than [`SMALL`] must be confirmed.
    base: i64,
    /// Whether [`AGREEING`] consecutive datagrams have confirmed `base`.
    is_confirmed: bool,
    row: Row,
}

/// Consecutive datagrams whose differences agree.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    count: u32,
    since_ns: u64,
    difference: i64,
}

impl Skew {
    /// Adds the times of a datagram and returns the skew that applies to it. A difference of more than an hour is
    /// returned unchanged and is not adopted.
    pub(crate) fn add(&mut self, export_ns: u64, received_ns: u64) -> i64 {
        let difference = received_ns.wrapping_sub(export_ns) as i64;
        if difference.unsigned_abs() > LARGE {
            return difference;
        }
        self.turn(received_ns);
        if self.least == [None; 2] {
            self.begin(difference, false);
        }
        let is_agreed = self.row.add(difference, received_ns);
        let gap = difference - self.base;
        if gap.unsigned_abs() <= SMALL {
            self.is_confirmed |= is_agreed;
        } else if gap < 0 || !self.is_confirmed {
            if !is_agreed {
                // While neither is confirmed, the value closer to 0 is used, because most clocks are correct.
                let is_likelier = gap < 0 || difference.abs() < self.ns().abs();
                return if is_likelier { difference } else { self.ns() };
            }
            self.begin(difference, true);
        }
        self.least[0] = Some(self.least[0].map_or(difference, |least| least.min(difference)));
        self.ns()
    }

    /// Starts the next minute if the current one is over.
    fn turn(&mut self, received_ns: u64) {
        let passed = received_ns.checked_sub(self.since_ns);
        if passed.is_none_or(|passed| passed >= SPAN) {
            let before = self.least[0].filter(|_| passed.is_some_and(|passed| passed < 2 * SPAN));
            // If the exporter's clock falls behind, the base rises with the skew.
            self.base = self.base.max(self.ns());
            (self.since_ns, self.least) = (received_ns, [None, before]);
        }
    }

    fn begin(&mut self, difference: i64, is_confirmed: bool) {
        (self.least, self.base, self.is_confirmed) = ([None; 2], difference, is_confirmed);
    }

    pub(crate) fn ns(&self) -> i64 {
        self.least.into_iter().flatten().min().unwrap_or(0)
    }
}

impl Row {
    /// Adds a datagram. If it does not agree with the first datagram of the row, it starts a new row. Returns whether
    /// the row has at least [`AGREEING`] datagrams and is at least [`AGREEING_SPAN`] long.
    fn add(&mut self, difference: i64, received_ns: u64) -> bool {
        let is_new = self.count == 0 || received_ns < self.since_ns;
        if is_new || difference.abs_diff(self.difference) > SMALL {
            *self = Self { count: 0, since_ns: received_ns, difference };
        }
        self.count = self.count.saturating_add(1);
        self.count >= AGREEING && received_ns.saturating_sub(self.since_ns) >= AGREEING_SPAN
    }
}

#[cfg(test)]
mod tests;
