//! Helpers that convert host numbers to addresses, divide pairs into batches and shares, and process shares in
//! parallel.

use std::thread;

use anyhow::Result;
use srlg_core::Ipv4Pair;
use srlg_host::SlidingDetector;
use srlg_host::ingest::PairBatch;
use srlg_traffic::family::{Family, FamilyPairs};

/// A feeder that converts the 32-bit host numbers of pairs to addresses of a family and ingests the pairs into a
/// detector.
pub(crate) struct Feeder {
    family: Family,
    split: FamilyPairs,
}

impl Feeder {
    pub(crate) fn new(family: Family) -> Self {
        Self { family, split: FamilyPairs::default() }
    }

    pub(crate) fn ingest(&mut self, detector: &SlidingDetector, pairs: &[Ipv4Pair]) -> Result<()> {
        self.ingest_late(detector, pairs, 0)
    }

    pub(crate) fn ingest_late(
        &mut self,
        detector: &SlidingDetector,
        pairs: &[Ipv4Pair],
        slices_late: u32,
    ) -> Result<()> {
        if self.family == Family::V4 {
            return Ok(detector.ingest_late(pairs, slices_late)?);
        }
        self.family.split(pairs, &mut self.split);
        detector.ingest_late(&self.split.v4, slices_late)?;
        Ok(detector.ingest_late(&self.split.v6, slices_late)?)
    }
}

/// Converts the host numbers of `pairs` to addresses of `family`, and returns batches of at most `len` pairs.
pub(crate) fn batches(family: Family, pairs: &[Ipv4Pair], len: usize) -> Vec<PairBatch> {
    let batch = |pairs: &[Ipv4Pair]| {
        let mut batch = PairBatch::new();
        batch.extend(pairs.iter().map(|&pair| family.hosts(pair)));
        batch
    };
    pairs.chunks(len).map(batch).collect()
}

/// Runs `work` on all shares in parallel, with one thread per share. The calling thread processes the last share.
pub(crate) fn in_parallel<Share: Send>(
    shares: impl IntoIterator<Item = Share>,
    work: impl Fn(Share) -> Result<()> + Sync,
) -> Result<()> {
    let mut shares: Vec<Share> = shares.into_iter().collect();
    let Some(own) = shares.pop() else { return Ok(()) };
    let work = &work;
    thread::scope(|scope| {
        let others: Vec<_> =
            shares.into_iter().map(|share| scope.spawn(move || work(share))).collect();
        work(own)?;
        others
            .into_iter()
            .try_for_each(|other| other.join().expect("work on a share does not panic"))
    })
}

/// Splits the pairs into `shares` lists by a hash of their inside host. Each list keeps the order of its pairs.
pub(crate) fn split_by_host<'a>(
    pairs: impl IntoIterator<Item = &'a Ipv4Pair>,
    shares: u32,
) -> Vec<Vec<Ipv4Pair>> {
    let mut split = vec![Vec::new(); shares as usize];
    for pair in pairs {
        // The high bits of this multiplicative hash depend on the whole address.
        let hash = u64::from(pair.inside.wrapping_mul(0x9E37_79B1));
        split[((hash * u64::from(shares)) >> 32) as usize].push(*pair);
    }
    split
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::bail;
    use srlg_traffic::synthetic::distinct_pairs;
    use std::sync::Barrier;

    #[test]
    fn shares_are_worked_on_at_the_same_time_and_any_error_comes_back() {
        let all_there = Barrier::new(3);
        let work = |share| {
            all_there.wait();
            if share == 1 { bail!("one") } else { Ok(()) }
        };
        assert_eq!(in_parallel(0..3, work).unwrap_err().to_string(), "one");
        assert!(in_parallel(0..0, |_: u32| bail!("nothing to do")).is_ok());
    }

    #[test]
    fn no_host_is_in_two_shares_and_no_pair_is_lost() {
        let pairs: Vec<Ipv4Pair> = distinct_pairs(1, 1000, 40_000).collect();
        let shares = split_by_host(&pairs, 4);
        let hosts = |share: &Vec<Ipv4Pair>| {
            let mut hosts: Vec<_> = share.iter().map(|pair| pair.inside).collect();
            hosts.sort_unstable();
            hosts.dedup();
            hosts.len()
        };
        assert_eq!(shares.iter().map(hosts).sum::<usize>(), hosts(&pairs));
        assert_eq!(shares.iter().map(Vec::len).sum::<usize>(), pairs.len());
        // With 1000 hosts in four shares, a share has 250 hosts with a standard deviation of 14. A host has 40 pairs.
        // The bound is five standard deviations.
        assert!(shares.iter().all(|share| share.len().abs_diff(10_000) < 5 * 14 * 40));
    }
}
