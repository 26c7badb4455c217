//! Estimates from a table of sampled pairs, in fixed memory.
//!
//! A pair is in the sample if its hash is below a limit. The sample is in a [`CompactTable`]. As long as all pairs fit
//! into the table, the sample contains all of them and the counts are exact. Whenever the table is full, the limit
//! falls and the pairs above it are removed. A sample of the share p that has m pairs of a host gives the estimate m /
//! p. The relative variance of an estimate of n peers is (1 - p) / (p n).

use srlg_core::{Address, Ipv4Pair};
use srlg_traffic::synthetic::mix;

use super::compact::CompactTable;
use super::exact::PairTable;

/// Factor by which the share of sampled pairs falls if the table is full.
const FALL: f64 = 0.97;

/// A table of the pairs whose hash is low.
pub(crate) struct SampledTable<const BYTES: usize> {
    table: CompactTable<BYTES>,
    /// Share of the pairs that are sampled. It never rises.
    share: f64,
    seed: u64,
}

impl<const BYTES: usize> SampledTable<BYTES> {
    /// Creates a table of at most `bytes` bytes, or returns `None` if slots of `BYTES` bytes need a larger table.
    pub(crate) fn with_memory(window: u32, bytes: usize, seed: u64) -> Option<Self> {
        let table = CompactTable::with_memory(window, bytes)?;
        Some(Self { table, share: 1.0, seed: mix(seed) })
    }

    fn make_room(&mut self) {
        self.share *= FALL;
        let Self { share, seed, .. } = *self;
        self.table.retain(|pair| is_sampled(pair, share, seed));
    }
}

/// Returns whether a pair is in the sample that contains this `share` of all pairs.
fn is_sampled(pair: Ipv4Pair, share: f64, seed: u64) -> bool {
    let name = u64::from(pair.inside) << 32 | u64::from(pair.peer);
    // The conversion turns the share 1 into the largest number, so that all pairs are sampled.
    mix(name ^ seed) <= (share * 2.0_f64.powi(64)) as u64
}

impl<const BYTES: usize> PairTable for SampledTable<BYTES> {
    fn name(&self) -> String {
        "sampled pairs".to_owned()
    }

    fn touch(&mut self, pair: Ipv4Pair, now: u32) {
        if !is_sampled(pair, self.share, self.seed) {
            return;
        }
        let mut waiting = self.table.refresh(pair, now);
        while let Some(homeless) = waiting {
            waiting =
                if self.table.is_full() { Some(homeless) } else { self.table.insert(homeless) };
            if waiting.is_some() {
                self.make_room();
            }
            waiting = waiting.filter(|it| is_sampled(it.pair, self.share, self.seed));
        }
    }

    fn cardinalities(&self) -> impl Iterator<Item = (Address, f64)> {
        self.table.counts().into_iter().map(|(host, count)| (host, f64::from(count) / self.share))
    }

    fn forget(&mut self, left: u32) {
        self.table.forget(left);
    }

    fn bytes(&self) -> usize {
        self.table.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::exact::SlidingMap;
    use crate::peers::testing;
    use crate::system::System;
    use proptest::prelude::*;

    fn of_100_kb(window: u32, seed: u64) -> SampledTable<8> {
        SampledTable::with_memory(window, 100_000, seed).unwrap()
    }

    proptest! {
        // The table is never full, so that its reports are exact.
        #![proptest_config(ProptestConfig::with_cases(16))]
        #[test]
        fn a_sample_of_all_pairs_matches_the_oracle(
            window in 1..6_u32,
            threshold in 1..4_u32,
            slices in testing::slices(),
        ) {
            let truth = testing::true_reports(window, threshold, &slices);
            let mut table = SlidingMap::new(window, threshold, of_100_kb(window, 1));
            prop_assert_eq!(testing::reports(&mut table, &slices), truth);
        }
    }

    #[test]
    fn memory_is_fixed_and_short_slots_need_a_large_table() {
        // A table has whole buckets of four slots.
        assert_eq!(of_100_kb(300, 1).bytes(), 100_000 / 32 * 32);
        // Windows of 300 slices leave 46 of 56 bits for the low part of a number, so there must be 2^18 buckets.
        let least = (4 * 7) << 18;
        assert!(SampledTable::<7>::with_memory(300, least - 1, 1).is_none());
        assert_eq!(SampledTable::<7>::with_memory(300, least, 1).unwrap().bytes(), least);
    }

    #[test]
    fn a_full_table_keeps_a_known_share_of_the_pairs() {
        // The table has 12,500 slots, and 100 hosts have 1000 pairs each.
        let mut table = of_100_kb(1, 7);
        let pairs: Vec<_> = (1..=100).flat_map(|host| testing::pairs_of(host, 1000)).collect();
        for _ in 0..2 {
            pairs.iter().for_each(|&pair| table.touch(pair, 0));
        }
        let share = table.share;
        // Each fall leaves at least 0.97 of 19/20 of the slots in use. The bound allows four standard deviations.
        assert!((0.97 * 0.95 / 8.0 - 0.005..0.95 / 8.0 + 0.005).contains(&share), "{share}");
        let sampled = pairs.iter().filter(|&&pair| is_sampled(pair, share, table.seed)).count();
        let counted: u32 = table.table.counts().values().sum();
        assert_eq!(counted as usize, sampled);
        assert_eq!(table.cardinalities().count(), 100);
    }

    #[test]
    fn errors_are_those_of_a_sample() {
        // 200 hosts have 1024 to 2019 peers, 1521 on average, which is 304,300 pairs for 12,500 slots. The harmonic mean
        // of their numbers is 1461. The share falls in steps, so that 0.92 to 0.95 of the slots are in use. The bounds
        // are four standard deviations of the root mean square of 200 errors, and the step of the share.
        let table = SlidingMap::new(1, 1, of_100_kb(1, 3));
        let share: f64 = 0.935 * 12_500.0 / 304_300.0;
        let expected = ((1.0 - share) / share / 1461.0).sqrt();
        let error = testing::rmse(table, 200);
        assert!((0.78..1.22).contains(&(error / expected)), "{error} is not {expected}");
    }

    #[test]
    fn pairs_leave_with_their_slice() {
        let mut table = SlidingMap::new(2, 1, of_100_kb(2, 1));
        let report = |slice: &[Ipv4Pair], table: &mut SlidingMap<SampledTable<8>>| {
            table.ingest(slice);
            table.close_slice()
        };
        assert_eq!(report(&testing::pairs_of(1, 50), &mut table), [(1, 50.0)]);
        assert_eq!(report(&[], &mut table), [(1, 50.0)]);
        assert_eq!(report(&[], &mut table), []);
    }
}
