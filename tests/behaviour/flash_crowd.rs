//! What it buys that super points of the last report stay candidates: a crowd gathers within seconds, and
//! later traffic takes its cells. A 64th of 2^18 cells, so as if 64 M pairs came per window.

use std::collections::HashSet;
use std::net::IpAddr;

use srlg::{Config, Device, SliceReport, SlidingDetector};
use srlg_traffic::synthetic::Model;

use crate::kept::with_cells;

const PAIRS: u32 = 1_000_000;

fn hosts(report: &SliceReport) -> HashSet<IpAddr> {
    report.super_points.iter().map(|point| point.host).collect()
}

#[test]
fn reports_of_every_slice_find_what_crowded_cells_alone_lose() {
    let config = Config { scheme: with_cells(12), ..Config::default() };
    let new = || SlidingDetector::new(config, Device::Cpu).unwrap();
    let (mut reporting, mut silent, mut alone) = (new(), new(), new());
    let (mut all, mut lost_by_cells, mut lost_by_reports) = (0, 0, 0);
    for (slice, packets) in (1..).zip(Model::FlashCrowd.slices(1, config.window + 40, PAIRS)) {
        reporting.ingest(&packets).unwrap();
        silent.ingest(&packets).unwrap();
        let report = reporting.close_slice().unwrap();
        if slice >= config.window && slice % 10 == 0 {
            // The same recorders, and no report before.
            alone.restore(&silent.snapshot().unwrap()).unwrap();
            let (found, by_cells) = (hosts(&report), hosts(&alone.close_slice().unwrap()));
            all += found.union(&by_cells).count();
            lost_by_cells += found.difference(&by_cells).count();
            lost_by_reports += by_cells.difference(&found).count();
        }
        silent.skip_to(u64::from(slice)).unwrap();
    }
    assert!(all > 300, "{all}");
    assert!(lost_by_cells * 10 > all, "{lost_by_cells} of {all}");
    assert_eq!(lost_by_reports, 0, "whatever the cells show is reported as well");
}
