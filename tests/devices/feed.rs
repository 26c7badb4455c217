//! Ways to ingest the same traffic, and comparisons of the resulting detectors.

use srlg::ingest::{Pair, PinnedPairs};
use srlg::{Config, Device, SliceReport, SlidingDetector};

use crate::device::detector;
use crate::traffic::Slice;

/// A function that ingests the pairs of a slice into a detector.
pub(crate) type Feed = fn(&SlidingDetector, &Slice);

/// Ingests one pair at a time from one thread, late pairs first. This is the reference for all other feeds.
pub(crate) fn one_at_a_time(detector: &SlidingDetector, slice: &Slice) {
    for (slices_late, pairs) in &slice.late {
        pairs.iter().for_each(|&pair| detector.ingest_late(&[pair], *slices_late).unwrap());
    }
    slice.pairs.iter().for_each(|&pair| detector.ingest(&[pair]).unwrap());
}

/// Ingests all pairs with the same delay in one batch, late pairs last.
pub(crate) fn whole(detector: &SlidingDetector, slice: &Slice) {
    detector.ingest(&slice.pairs).unwrap();
    for (slices_late, pairs) in &slice.late {
        detector.ingest_late(pairs, *slices_late).unwrap();
    }
}

/// Ingests `pairs` from pinned memory. Returns the buffer, which may be refilled immediately.
pub(crate) fn pinned<P: Pair>(detector: &SlidingDetector, pairs: &[P]) -> PinnedPairs<P> {
    let mut pinned = detector.pinned_pairs(pairs.len()).unwrap();
    pinned.fill(|buffer| buffer.copy_from_slice(pairs)).unwrap();
    detector.ingest_pinned(&pinned).unwrap();
    pinned
}

pub(crate) fn reports(
    detector: &mut SlidingDetector,
    traffic: &[Slice],
    feed: Feed,
) -> Vec<SliceReport> {
    let mut report = |slice| {
        feed(detector, slice);
        detector.close_slice().unwrap()
    };
    traffic.iter().map(&mut report).collect()
}

/// Returns the reference detector after `traffic`, and its reports.
pub(crate) fn expected(config: Config, traffic: &[Slice]) -> (SlidingDetector, Vec<SliceReport>) {
    let mut reference = detector(Device::Cpu, config);
    let reports = reports(&mut reference, traffic, one_at_a_time);
    (reference, reports)
}

/// Asserts that a detector on `device` that ingests with `feed` has the same reports and recorders as the reference.
/// The reference runs on the CPU and ingests one pair at a time. At least one report must have more than three super
/// points.
pub(crate) fn assert_equals_one_at_a_time(
    device: Device,
    config: Config,
    traffic: &[Slice],
    feed: Feed,
) {
    let (mut reference, expected) = expected(config, traffic);
    assert!(expected.iter().any(|report| report.super_points.len() > 3), "nothing to compare");
    let mut tested = detector(device, config);
    assert_eq!(reports(&mut tested, traffic, feed), expected);
    assert_equal_recorders(&mut tested, &mut reference);
}

/// Asserts that the snapshots and deltas of both detectors, and therefore their recorders, are equal.
pub(crate) fn assert_equal_recorders(
    tested: &mut SlidingDetector,
    reference: &mut SlidingDetector,
) {
    // `assert_eq` is not used, because a failure would print 31.6 MB.
    assert!(tested.snapshot().unwrap() == reference.snapshot().unwrap(), "the snapshots differ");
    let window = reference.params().window();
    assert!(tested.delta(window).unwrap() == reference.delta(window).unwrap(), "the deltas differ");
}
