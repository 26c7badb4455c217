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
        let [first, last] = [first, last].map(|told| self.resolve(told?, init_ms));
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

/// The skew of an exporter's clock: the least difference of receipt and export of the running minute
/// and the one before.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Skew {
    since_ns: u64,
    least: [Option<i64>; 2],
}

impl Skew {
    /// Takes the times of a datagram in.
    pub(crate) fn take(&mut self, export_ns: u64, received_ns: u64) {
        let passed = received_ns.checked_sub(self.since_ns);
        if passed.is_none_or(|passed| passed >= SPAN) {
            let before = self.least[0].filter(|_| passed.is_some_and(|passed| passed < 2 * SPAN));
            *self = Self { since_ns: received_ns, least: [None, before] };
        }
        let difference = received_ns.wrapping_sub(export_ns) as i64;
        self.least[0] = Some(self.least[0].map_or(difference, |least| least.min(difference)));
    }

    pub(crate) fn ns(&self) -> i64 {
        self.least.into_iter().flatten().min().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests;
