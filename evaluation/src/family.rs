//! [`Feeder`] and [`batches`]: the pairs of traffic, as those of a family, on their way into a detector.

use anyhow::Result;
use srlg_core::IpPair;
use srlg_host::SlidingDetector;
use srlg_host::ingest::PairBatch;
use srlg_traffic::family::{Family, FamilyPairs};

/// Ingests pairs as those of a family, whose numbers of hosts are what the truth goes by.
pub(crate) struct Feeder {
    family: Family,
    split: FamilyPairs,
}

impl Feeder {
    pub(crate) fn new(family: Family) -> Self {
        Self { family, split: FamilyPairs::default() }
    }

    /// Ingests `pairs`.
    pub(crate) fn ingest(&mut self, detector: &SlidingDetector, pairs: &[IpPair]) -> Result<()> {
        self.ingest_late(detector, pairs, 0)
    }

    /// Ingests `pairs`, so many slices late.
    pub(crate) fn ingest_late(
        &mut self,
        detector: &SlidingDetector,
        pairs: &[IpPair],
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

/// `pairs` as those of `family`, in batches of `len`, as a program collects them.
pub(crate) fn batches(family: Family, pairs: &[IpPair], len: usize) -> Vec<PairBatch> {
    let batch = |pairs: &[IpPair]| {
        let mut batch = PairBatch::new();
        batch.extend(pairs.iter().map(|&pair| family.hosts(pair)));
        batch
    };
    pairs.chunks(len).map(batch).collect()
}
