//! [`SiteCounts`]: the number of peers that hosts have at one site.

use std::net::IpAddr;

use anyhow::{Context, Result};
use srlg_host::state::SlicePairs;
use srlg_host::{Config, Device, SlidingDetector};

use crate::network::site_sizes;

/// Maximum share of the pairs, which lets the sketch take more pairs.
const MOST_SHARE: u32 = 16;

/// A small sketch of the pairs of one view, with which a probe answers questions about watched hosts. The sketch of the
/// network would be as large as all sites together need.
pub(super) struct SiteCounts(SlidingDetector);

impl SiteCounts {
    /// Creates the counts of a view whose sketch in the network has the given `sizes`.
    pub(super) fn new(sizes: Config) -> Result<Self> {
        let mut detector = SlidingDetector::new(site_sizes(sizes), Device::Cpu)
            .context("cannot create the sketch of this site")?;
        detector.set_most_share(MOST_SHARE);
        Ok(Self(detector))
    }

    /// Closes `slice`, whose `pairs` may have arrived late, and returns the number of peers of each of `hosts` within
    /// each of `windows`.
    pub(super) fn close(
        &mut self,
        slice: u64,
        pairs: &[SlicePairs],
        hosts: &[IpAddr],
        windows: &[u32],
    ) -> Result<Vec<Vec<f64>>> {
        let Self(detector) = self;
        detector.skip_to(slice)?;
        pairs.iter().try_for_each(|pairs| detector.merge_pairs(pairs))?;
        let closing = detector.begin_close()?;
        let count = |host: &IpAddr, window: &u32| {
            Ok(closing.cardinality_within(*host, *window)?.cardinality)
        };
        let of_host = |host| windows.iter().map(|window| count(host, window)).collect();
        let counts = hosts.iter().map(of_host).collect::<Result<_>>()?;
        closing.end()?;
        Ok(counts)
    }
}

#[cfg(test)]
mod tests {
    use srlg_host::ingest::PairBatch;

    use super::*;

    #[test]
    fn counts_cover_the_windows_that_end_with_the_closed_slice() {
        let sizes = Config { window: 20, ..Config::default() };
        let (mut counts, host) = (SiteCounts::new(sizes).unwrap(), "192.0.2.1".parse().unwrap());
        let mut close = |slice: u64, peers: std::ops::Range<u32>| {
            let mut batch = PairBatch::new();
            let address = |peer| std::net::Ipv4Addr::from_bits(0x0a00_0000 + peer);
            peers.for_each(|peer| batch.push((host, address(peer).into())));
            let late = SlicePairs::new(&batch, slice).unwrap();
            counts.close(slice + 1, &[late], &[host], &[1, 2, 10]).unwrap().remove(0)
        };
        let near = |counts: Vec<f64>, expected: [f64; 3]| {
            // The standard error of counts of so few pairs is below 3 %.
            let is_near =
                |(count, expected): (&f64, f64)| (count - expected).abs() <= 0.1 * expected;
            assert!(counts.iter().zip(expected).all(is_near), "{counts:?} {expected:?}");
        };
        near(close(100, 0..1_000), [0.0, 1_000.0, 1_000.0]);
        near(close(105, 500..3_000), [0.0, 2_500.0, 3_000.0]);
        near(close(112, 0..0), [0.0, 0.0, 2_500.0]);
    }
}
