//! What has to come of an exporter that sends to a collector.

use std::path::Path;

use crate::collector::Collector;
use crate::{Pairs, output, pairs};

/// The pairs of the packets in `file`.
pub(crate) fn pairs_of(file: &Path) -> Pairs {
    pairs(&output("contacts", &["--input", file.to_str().unwrap()]).0)
}

/// Asserts that nothing was lost between exporter and summary.
pub(crate) fn assert_whole(told: &str) {
    for part in ["; 0 lost", " 0 dropped by the kernel", " 0 of other senders refused"] {
        assert!(told.contains(part), "{part:?} is not in {told}");
    }
    for part in ["undecodable", "malformed", "hold no record", "warning"] {
        assert!(!told.contains(part), "{part:?} is in {told}");
    }
}

/// Asserts that `contacts` gets exactly `expected` from an exporter that sends to its port.
pub(crate) fn assert_pairs(expected: &Pairs, export: impl FnOnce(&Collector)) {
    let collector = Collector::start("contacts", &[]);
    export(&collector);
    // Whatever was sent is received before the end.
    let (printed, told) = collector.stop();
    let found = pairs(&printed);
    let others: Vec<_> = found.symmetric_difference(expected).take(3).collect();
    assert!(others.is_empty(), "{} of {}, {others:?}: {told}", found.len(), expected.len());
    assert_whole(&told);
}

/// Pairs of the last datagram, at most: some exporters send it when it is full, or when they end.
const LAST: usize = 30;

/// Whether all of `expected` has come but for a last datagram, as a question to ask again and again.
pub(crate) fn almost_all(expected: &Pairs, collector: &Collector) -> impl FnMut() -> bool {
    move || {
        let (printed, least) = (collector.printed(), expected.len() - LAST);
        // Lines are counted sooner than pairs, and are no fewer.
        printed.lines().count() > least && pairs(&printed).len() >= least
    }
}
