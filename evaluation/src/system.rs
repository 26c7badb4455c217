//! What every measured system can do: srlg, the paper's rivals, and what users have today.

mod srlg;

pub use srlg::{Srlg, points, stages};

use srlg_core::{Address, IpPair};
use srlg_host::ingest::PairBatch;
use std::time::Duration;

/// A system that takes the pairs of a slice and reports super points at its end.
pub trait System {
    /// Name in tables and plots.
    fn name(&self) -> String;

    /// Takes pairs of the running slice.
    fn ingest(&mut self, pairs: &[IpPair]);

    /// Takes `batch`, pairs of the running slice, all of IPv4 where the system knows no other family.
    ///
    /// # Panics
    /// Where the system knows IPv4 alone and the batch has other pairs, or is in memory of a device.
    fn ingest_batch(&mut self, batch: &PairBatch) {
        const READ: &str = "batches of ordinary memory can be read";
        assert!(batch.v6().expect(READ).is_empty(), "{} takes pairs of IPv4", self.name());
        self.ingest(&batch.v4().expect(READ));
    }

    /// Waits until all that was ingested is where reports find it: for measuring.
    fn flush(&mut self) {}

    /// Ends the slice: hosts whose estimated cardinality is at least the threshold that the
    /// system was made for, with the estimate; then the window moves on by one slice.
    fn close_slice(&mut self) -> Vec<(Address, f64)>;

    /// Ends the slice without a report.
    fn skip_slice(&mut self) {
        self.close_slice();
    }

    /// How long the stages of the last [`close_slice`](Self::close_slice) took, where the system
    /// tells.
    fn stages(&self) -> &[(&'static str, Duration)] {
        &[]
    }

    /// Whether the last [`close_slice`](Self::close_slice) searched everything: when not, it
    /// gave up, and super points may be missing.
    fn is_complete(&self) -> bool {
        true
    }

    /// Bytes that the system holds now; for hash maps the bytes of their tables.
    fn memory_bytes(&self) -> usize;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::{ExactPairs, ExactSets, HyperLogLogMap, SketchRing};
    use srlg_core::Config;

    /// What is reported of eight slices when none of the first seven is, or all of them are.
    fn last_report(mut system: Box<dyn System>, skip: bool) -> Vec<(Address, f64)> {
        for slice in 0..7 {
            let pairs =
                (0..300).map(|opposite| IpPair { inside: slice, opposite: opposite << slice });
            system.ingest(&pairs.collect::<Vec<_>>());
            if skip {
                system.skip_slice();
            } else {
                system.close_slice();
            }
        }
        let mut report = system.close_slice();
        report.sort_unstable_by_key(|&(host, _)| host);
        report
    }

    #[test]
    fn slices_without_a_report_leave_the_window_as_others_do() {
        let config = Config { threshold: 200, window: 4, ..Config::default() };
        let (window, threshold) = (config.window, config.threshold);
        let makers: [&dyn Fn() -> Box<dyn System>; 5] = [
            &|| Box::new(Srlg::new("default", config).unwrap()),
            &|| Box::new(ExactPairs::new(window, threshold)),
            &|| Box::new(ExactSets::new(window, threshold)),
            &|| Box::new(HyperLogLogMap::new(window, threshold)),
            &|| Box::new(SketchRing::new(window, threshold, 1 << 20, 1)),
        ];
        for make in makers {
            // The windows of all but the estimators' are of slices 4 to 7, which has nothing.
            let report = last_report(make(), true);
            assert_eq!(report, last_report(make(), false), "{}", make().name());
            assert_eq!(report.len(), 3, "{}", make().name());
        }
    }
}
