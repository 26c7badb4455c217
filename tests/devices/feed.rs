//! Ways to ingest the same traffic, and comparisons of the resulting detectors.

use srlg::ingest::{Pair, PinnedPairs};
use srlg::{Config, Device, SliceReport, SlidingDetector};

use crate::device::detector;
use crate::traffic::Slice;

pub(crate) type Feed = fn(&SlidingDetector, &Slice);

/// Ingests one pair at a time from one thread, late pairs first. This is the reference for all other feeds.
pub(crate) fn one_at_a_time(detector: &SlidingDetector, slice: &Slice) {
    for (slices_late, pairs) in &slice.late {
        pairs.iter().for_each(|&pair| detector.ingest_late(&[pair], *slices_late).unwrap());
    }
    slice.pairs.iter().for_each(|&pair| detector.ingest(&[pair]).unwrap());
}

/// Ingests one batch per delay: first the pairs that are on time, then the late pairs.
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

/// Ingests `traffic` into a reference detector. Returns the detector and its reports.
pub(crate) fn expected(config: Config, traffic: &[Slice]) -> (SlidingDetector, Vec<SliceReport>) {
    let mut reference = detector(Device::Cpu, config);
    let reports = reports(&mut reference, traffic, one_at_a_time);
    (reference, reports)
}

/// Asserts that `feed` on `device` yields the same reports and recorders as [`one_at_a_time`] on the CPU. At least one
/// report must have more than three super points.
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

pub(crate) fn assert_equal_recorders(
    tested: &mut SlidingDetector,
    reference: &mut SlidingDetector,
) {
    // `assert_eq` is not used, because a failure would print 31.6 MB.
    assert!(tested.snapshot().unwrap() == reference.snapshot().unwrap(), "the snapshots differ");
    let window = reference.params().window();
    assert!(tested.delta(window).unwrap() == reference.delta(window).unwrap(), "the deltas differ");
}
