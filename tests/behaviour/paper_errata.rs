//! Tests that show how choices in the paper bias the estimate. docs/paper-notes.md explains the numbers.

use srlg::config::{RsraSizes, Scheme};
use srlg::{Config, Device, Ipv4Pair, SlidingDetector};
use srlg_traffic::family::ip;

/// Returns the paper's configuration, changed so that linear estimators may start at any recorder. The memory stays the
/// same.
fn fine_stride() -> Config {
    let finder = RsraSizes::PAPER;
    let scheme = Scheme::Paper { finder, rows: 5, columns: 16 << 17, stride: 1 };
    Config { scheme, ..Config::paper() }
}

fn loaded(config: Config, pairs: impl Iterator<Item = Ipv4Pair>) -> SlidingDetector {
    let detector = SlidingDetector::new(config, Device::Cpu).unwrap();
    detector.ingest(&pairs.collect::<Vec<_>>()).unwrap();
    detector
}

/// Returns the estimates for 50 hosts without peers, which show only the bias.
fn of_strangers(detector: &SlidingDetector) -> Vec<f64> {
    let stranger = |i: u32| ip(0xdead_0000 + i);
    (0..50).map(|i| detector.cardinality(stranger(i)).unwrap().cardinality).collect()
}

// A popular server has 500,000 clients. With δ' = 16, its position modulo 16 is the same in every run of every row. In
// all rows, 1/16 of all positions is almost full. The union therefore has about η'/16 = 1024 set positions that the
// product of the rows' factors does not predict. With δ' = 1, the starts differ, and the touches are spread over all
// positions.
#[test]
fn stride_16_correlates_the_rows_and_stride_1_does_not() {
    let popular = || (0..500_000).map(|inside| Ipv4Pair { inside, peer: 0x0808_0808 });
    let coarse = loaded(Config::paper(), popular());
    let fine = loaded(fine_stride(), popular());
    // In each row, a share of 1 - e^(-500000/131072) = 0.978 of these positions is set. The union therefore has
    // 1024·0.978^5 = 916 of them, with a standard deviation below sqrt(1024·0.978^5·0.11) = 10. The median is used,
    // because the first runs of a row have positions that no touch can reach.
    let mut biased = of_strangers(&coarse);
    biased.sort_by(f64::total_cmp);
    assert!(biased[25] > 916.0 - 6.0 * 10.0, "{biased:?}");
    // A share of 1 - e^(-500000/2113535) = 0.21 of a row is set. The expected number of positions, 16384·0.21^5 = 7, is
    // subtracted. A Poisson count differs from it by less than 6·sqrt(7) = 16.
    assert!(of_strangers(&fine).iter().all(|&estimate| estimate < 16.0));
}

// The run of a host with very many peers is full, far above the mean of its row. With the paper's row-wide setting
// factor, other hosts whose runs overlap it are overestimated. The effect is largest with one row.
#[test]
fn row_wide_setting_factor_misjudges_the_neighbourhood_of_a_giant() {
    let finder = RsraSizes::PAPER;
    let scheme = Scheme::Paper { finder, rows: 1, columns: 16 << 17, stride: 1 };
    let config = Config { scheme, ..fine_stride() };
    let giant = loaded(config, (0..100_000).map(|peer| Ipv4Pair { inside: 1, peer }));
    let rows = giant.params().counter().rows().unwrap();
    let column = rows.column(0, 1);
    let neighbour = (2..).find(|&inside| rows.column(0, inside).abs_diff(column) < 1000).unwrap();
    let estimate = giant.cardinality(ip(neighbour)).unwrap().cardinality;
    assert!(estimate > 10_000.0, "{estimate}");
}
