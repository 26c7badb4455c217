//! What has to come of an exporter that sends to a collector.

use std::path::Path;

use crate::collector::Collector;
use crate::{Pairs, output, pairs, steady};

/// The pairs of the packets in `file`.
pub(crate) fn pairs_of(file: &Path) -> Pairs {
    pairs(&output("contacts", &["--input", file.to_str().unwrap()]).0)
}

/// Asserts that nothing was lost between exporter and summary: the snapshot `name` has the 0 wherever nothing may be
/// counted, and N for all other numbers.
pub(crate) fn assert_whole(name: &str, told: &str) {
    let told = steady(told);
    // The first line ends with the port.
    let lines = told.lines().skip(1).map(|line| {
        let words = line.split_inclusive([' ', ',', ';', ')']).map(|word| {
            let number = word.trim_end_matches([' ', ',', ';', ')']);
            let is_counted = number != "0" && number.parse::<f64>().is_ok();
            if is_counted { word.replace(number, "N") } else { word.to_owned() }
        });
        // An agent of sFlow sends samples of counters when it has time.
        words.collect::<String>().replace(" (other-sample N)", "") + "\n"
    });
    insta::assert_snapshot!(name, lines.collect::<String>());
}

/// Asserts that `contacts` gets exactly `expected` from the exporter `name` that sends to its port.
pub(crate) fn assert_pairs(name: &str, expected: &Pairs, export: impl FnMut(&Collector)) {
    assert_pairs_within(1, name, expected, export);
}

/// The same of the last of up to `attempts`: some exporters lose flows of their own on a busy machine.
pub(crate) fn assert_pairs_within(
    attempts: u32,
    name: &str,
    expected: &Pairs,
    mut export: impl FnMut(&Collector),
) {
    for left in (0..attempts).rev() {
        let collector = Collector::start("contacts", &[]);
        export(&collector);
        // Whatever was sent is received before the end.
        let (printed, told) = collector.stop();
        let found = pairs(&printed);
        if left > 0 && found.len() < expected.len() {
            eprintln!("{name} exported {} of {}: once more", found.len(), expected.len());
            continue;
        }
        let others: Vec<_> = found.symmetric_difference(expected).take(3).collect();
        assert!(others.is_empty(), "{} of {}, {others:?}: {told}", found.len(), expected.len());
        return assert_whole(name, &told);
    }
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
