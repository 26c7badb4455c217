//! When the packets of a record went.
//!
//! Invariant: without [`Timestamps::Trusted`], no time is more than an hour off the receipt for the
//! fault of the exporter's clock.

use crate::options::Timestamps;

pub(crate) const SECOND: u64 = 1_000_000_000;
const MILLISECOND: u64 = 1_000_000;
/// Skew up to which times are left as they are.
const SMALL: u64 = 5 * SECOND;
/// Skew beyond which times are of no use.
const LARGE: u64 = 3_600 * SECOND;
/// Time over which the least difference of receipt and export is looked for.
const SPAN: u64 = 60 * SECOND;

/// The times of a datagram.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    pub(crate) export_ns: u64,
    /// How much later than `export_ns` the export may have been: what its header cuts off.
    pub(crate) cut_ns: u64,
    /// Milliseconds that the exporter had been up, where the header tells.
    pub(crate) uptime_ms: Option<u32>,
    pub(crate) received_ns: u64,
    /// Receipt less export, of the datagrams that waited least.
    pub(crate) skew_ns: i64,
    pub(crate) timestamps: Timestamps,
}

/// What a record says of a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordTime {
    /// Nanoseconds since 1970.
    At(u64),
    /// Milliseconds since the exporter began, counted in 32 bits.
    Uptime(u32),
    /// Microseconds before the export.
    Before(u64),
}

/// When the last packet went, and what was wrong with what the record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Last {
    pub(crate) time_ns: u64,
    /// Later than its export.
    pub(crate) is_future: bool,
    /// Before the first packet.
    pub(crate) is_reversed: bool,
}

impl Clock {
    /// When the last packet of a record went that tells of its `first` and `last`, and of an
    /// exporter that began `init_ms` after 1970.
    #[inline]
    pub(crate) fn last(
        &self,
        first: Option<RecordTime>,
        last: Option<RecordTime>,
        init_ms: Option<u64>,
    ) -> Last {
        let first = first.and_then(|told| self.resolve(told, init_ms));
        let last = last.and_then(|told| self.resolve(told, init_ms));
        let is_reversed = first.zip(last).is_some_and(|(first, last)| last < first);
        let latest = first.max(last).unwrap_or(self.export_ns);
        let is_future = latest > self.export_ns.saturating_add(self.cut_ns);
        let time_ns = self.corrected(if is_future { self.export_ns } else { latest });
        Last { time_ns, is_future, is_reversed }
    }

    #[inline]
    fn resolve(&self, told: RecordTime, init_ms: Option<u64>) -> Option<u64> {
        let at_ms = match told {
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
        // Both count in 32 bits, and begin anew after 49.7 days.
        let before_ms = i64::from(now_ms.wrapping_sub(at_ms) as i32);
        self.export_ns.checked_add_signed(-before_ms * MILLISECOND as i64)
    }

    /// Whether the exporter's clock is needed, and too far off to be corrected.
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

/// Datagrams in a row that have to agree before they move the clock of their exporter. A damaged or forged datagram comes alone, or
/// a few times where the network repeats it. An exporter whose clock has stepped sends eight within seconds.
const AGREEING: u32 = 8;
/// Time that they have to span: longer than a burst, so that an exporter that sends every few seconds interrupts a forged row.
const AGREEING_SPAN: u64 = 5 * SECOND;

/// The skew of an exporter's clock: the least difference of receipt and export of the running minute
/// and the one before.
///
/// A delay makes the difference larger, and only a wrong time makes it smaller. So one that is too small counts once
/// [`AGREEING`] datagrams in a row have it, and until then corrects no other datagram than its own.
///
/// Invariant: without such a row the skew is at most [`SMALL`] below `base`, which does not fall.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Skew {
    since_ns: u64,
    least: [Option<i64>; 2],
    /// The difference from which a fall is measured.
    base: i64,
    /// Whether a row of datagrams agreed with `base`.
    is_confirmed: bool,
    row: Row,
}

/// Datagrams in a row that agree with each other.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    count: u32,
    since_ns: u64,
    difference: i64,
}

impl Skew {
    /// Takes in the times of a datagram with records, and returns the skew of this datagram. A difference of more than an hour
    /// is no skew, and is returned as it is.
    pub(crate) fn take(&mut self, export_ns: u64, received_ns: u64) -> i64 {
        let difference = received_ns.wrapping_sub(export_ns) as i64;
        if difference.unsigned_abs() > LARGE {
            return difference;
        }
        self.turn(received_ns);
        if self.least == [None; 2] {
            self.begin(difference, false);
        }
        let is_agreed = self.row.take(difference, received_ns);
        let gap = difference - self.base;
        if gap.unsigned_abs() <= SMALL {
            self.is_confirmed |= is_agreed;
        } else if gap < 0 || !self.is_confirmed {
            if !is_agreed {
                // While neither is confirmed, a right clock is likelier than a wrong one.
                let is_likelier = gap < 0 || difference.abs() < self.ns().abs();
                return if is_likelier { difference } else { self.ns() };
            }
            self.begin(difference, true);
        }
        self.least[0] = Some(self.least[0].map_or(difference, |least| least.min(difference)));
        self.ns()
    }

    /// Begins the next minute if the running one is over.
    fn turn(&mut self, received_ns: u64) {
        let passed = received_ns.checked_sub(self.since_ns);
        if passed.is_none_or(|passed| passed >= SPAN) {
            let before = self.least[0].filter(|_| passed.is_some_and(|passed| passed < 2 * SPAN));
            // A clock that falls behind takes what a fall is measured from with it.
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
    /// Appends a datagram, or begins anew with it; returns whether the row is long enough to be believed.
    fn take(&mut self, difference: i64, received_ns: u64) -> bool {
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
