//! Losses of exports, detected by gaps between sequence numbers.
//!
//! Sequence numbers have 32 bits and wrap. The caller chooses the counted unit (flows, datagrams or records).
//!
//! Invariant: if a unit that was counted as lost arrives within the limits for reordering, it no longer counts as lost.

/// Limit for reordering: a reordered datagram is fewer than this many datagrams behind the expected one.
const REORDERED: u32 = 64;

/// Limit for reordering: the uptime in a reordered datagram is lower than the latest uptime by less than this many
/// milliseconds.
const OVERTAKEN_MS: u32 = 60_000;

/// Maximum silence of an exporter, in milliseconds, after which a wrap of its 32-bit uptime is still recognised.
const DAY_MS: u32 = 86_400_000;

/// Losses of an exporter, in the unit of its protocol: flows in NetFlow v5 and v7, datagrams in NetFlow v9 and
/// sFlow, and records in IPFIX.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Number of units that are missing and have not arrived late.
    pub lost: u64,
    /// Number of datagrams that arrived out of order or were duplicates.
    pub reordered: u64,
    /// Number of detected restarts of the exporter.
    pub resets: u64,
}

impl Losses {
    /// Applies the change in the losses of one sequence, from `before` to `after`.
    pub(crate) fn change(&mut self, before: Self, after: Self) {
        self.lost = self.lost.saturating_add(after.lost).saturating_sub(before.lost);
        self.reordered += after.reordered - before.reordered;
        self.resets += after.resets - before.resets;
    }
}

/// The number of units in a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) all: u32,
    /// Number of units that are not options records, because some exporters do not count options records.
    pub(crate) flows: u32,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sequence {
    /// Sequence number and units of the previous datagram.
    before: Option<(u32, Count)>,
    uptime_ms: u32,
    pub(crate) losses: Losses,
}

impl Count {
    /// Returns a count of `all` units, none of which is an options record. The result is always `Some`.
    pub(crate) const fn of(all: u32) -> Option<Self> {
        Some(Self { all, flows: all })
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self { all: self.all + other.all, flows: self.flows + other.flows }
    }

    /// Returns whether `growth` is this count, with or without options records.
    fn is(self, growth: u32) -> bool {
        growth == self.all || growth == self.flows
    }
}

impl Sequence {
    /// Adds a datagram with the sequence number `number` and `count` units. `count` is `None` if the number of units is
    /// unknown.
    ///
    /// A sequence number is the number of units before the datagram. In the IPFIX exports of softflowd, the sequence
    /// number includes the units of the datagram.
    pub(crate) fn add(&mut self, number: u32, count: Option<Count>, uptime_ms: Option<u32>) {
        if let Some((last, before)) = self.before {
            let expected = last.wrapping_add(before.all);
            let (gap, back) = (number.wrapping_sub(expected), expected.wrapping_sub(number));
            let growth = number.wrapping_sub(last);
            let follows = before.is(growth) || count.is_some_and(|count| count.is(growth));
            let fell = self.fell_by(uptime_ms);
            let units = before.all.max(count.map_or(0, |count| count.all)).max(1);
            if !follows && back < REORDERED.saturating_mul(units) && fell < OVERTAKEN_MS {
                self.losses.reordered += 1;
                // A repeated datagram does not reduce the losses.
                let late = count.filter(|_| growth > 0).map_or(0, |count| u64::from(count.all));
                self.losses.lost = self.losses.lost.saturating_sub(late);
                return;
            }
            if !follows && (fell > 0 || gap > u32::MAX / 2) {
                self.losses.resets += 1;
            } else if !follows {
                self.losses.lost += u64::from(gap);
            }
        }
        self.uptime_ms = uptime_ms.unwrap_or(0);
        self.before = count.map(|count| (number, count));
    }

    /// Returns the decrease in uptime, in milliseconds. A wrap of the uptime is not a decrease.
    fn fell_by(&self, uptime_ms: Option<u32>) -> u32 {
        let now = uptime_ms.unwrap_or(self.uptime_ms);
        let is_on = now.wrapping_sub(self.uptime_ms) < DAY_MS;
        if is_on { 0 } else { self.uptime_ms.saturating_sub(now) }
    }
}

#[cfg(test)]
mod tests {
    use super::{Count, Losses, Sequence};

    fn losses(count: u32, numbers: &[u32]) -> Losses {
        let mut sequence = Sequence::default();
        numbers.iter().for_each(|number| sequence.add(*number, Count::of(count), None));
        sequence.losses
    }

    fn lost(lost: u64) -> Losses {
        Losses { lost, ..Losses::default() }
    }

    #[test]
    fn gaps_are_counted_in_units_over_the_wrap() {
        assert_eq!(losses(30, &[0, 30, 60]), lost(0));
        assert_eq!(losses(30, &[0, 60, 90]), lost(30));
        assert_eq!(losses(1, &[u32::MAX - 1, u32::MAX, 0, 1]), lost(0));
        assert_eq!(losses(1, &[u32::MAX - 1, 2]), lost(3));
    }

    #[test]
    fn what_comes_late_is_lost_no_longer() {
        assert_eq!(losses(1, &[0, 2, 1, 3]), Losses { lost: 0, reordered: 1, resets: 0 });
        assert_eq!(losses(1, &[0, 5, 1, 2, 6]), Losses { lost: 2, reordered: 2, resets: 0 });
        assert_eq!(losses(1, &[100, 101, 102 - 63]), Losses { lost: 0, reordered: 1, resets: 0 });
    }

    #[test]
    fn datagrams_of_many_units_are_overtaken_by_as_many_datagrams() {
        let numbers = [0, 30, 90, 120, 150, 60, 180, 210];
        assert_eq!(losses(30, &numbers), Losses { lost: 0, reordered: 1, resets: 0 });
        assert_eq!(losses(30, &[3_000, 3_030, 3_060 - 63 * 30]).reordered, 1);
        assert_eq!(losses(30, &[3_000, 3_030, 3_060 - 64 * 30]).resets, 1);
    }

    #[test]
    fn what_comes_twice_makes_up_for_no_loss() {
        assert_eq!(losses(1, &[0, 10, 10, 11]), Losses { lost: 9, reordered: 1, resets: 0 });
        assert_eq!(losses(30, &[0, 90, 90, 120]), Losses { lost: 60, reordered: 1, resets: 0 });
    }

    #[test]
    fn a_number_far_back_is_a_new_beginning() {
        let reset = Losses { lost: 0, reordered: 0, resets: 1 };
        assert_eq!(losses(1, &[100, 101, 102 - 64, 39]), reset);
        assert_eq!(losses(1, &[3_000_000_000, 1, 2]).lost, 1_294_967_296, "less than half around");
        assert_eq!(losses(1, &[2_000_000_000, 1, 2]), reset);
    }

    #[test]
    fn a_fall_of_uptime_is_a_new_beginning_and_its_wrap_is_not() {
        let after = |datagrams: &[(u32, u32)]| {
            let mut sequence = Sequence::default();
            for (number, uptime_ms) in datagrams {
                sequence.add(*number, Count::of(1), Some(*uptime_ms));
            }
            sequence.losses
        };
        assert_eq!(after(&[(5, 900_000), (400, 1_000)]).resets, 1);
        assert_eq!(after(&[(5, 900_000), (400, 1_000)]).lost, 0);
        assert_eq!(after(&[(5, u32::MAX - 5), (8, 3)]), lost(2));
        assert_eq!(
            after(&[(50, 900_000), (0, 1_000), (1, 2_000)]).resets,
            1,
            "though not far back"
        );
        let overtaken = after(&[(50, 900_000), (52, 901_000), (51, 900_500), (53, 901_500)]);
        assert_eq!(overtaken, Losses { lost: 0, reordered: 1, resets: 0 });
    }

    #[test]
    fn an_unknown_number_of_units_makes_no_claim() {
        let mut sequence = Sequence::default();
        sequence.add(10, None, None);
        sequence.add(500, Count::of(2), None);
        assert_eq!(sequence.losses, lost(0));
        sequence.add(503, Count::of(2), None);
        assert_eq!(sequence.losses, lost(1));
    }

    #[test]
    fn options_may_be_counted_or_not_and_the_datagram_itself_too() {
        let count = |all, flows| Some(Count { all, flows });
        let after = |numbers: [u32; 3]| {
            let mut sequence = Sequence::default();
            let counts = [count(25, 24), count(32, 32), count(20, 19)];
            numbers.into_iter().zip(counts).for_each(|(it, count)| sequence.add(it, count, None));
            sequence.losses
        };
        assert_eq!(after([0, 25, 57]), lost(0), "counts as RFC 7011 defines them");
        assert_eq!(after([0, 24, 56]), lost(0), "flows alone");
        assert_eq!(after([24, 56, 75]), lost(0), "flows, including the datagram itself");
        assert_eq!(after([0, 26, 58]), lost(1));
    }
}
