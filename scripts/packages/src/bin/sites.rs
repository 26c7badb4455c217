//! A program that simulates two sites. Each site sees half of a flood, and neither half reaches the threshold. One site
//! is restarted from its checkpoint.

use std::error::Error;

use srlg::state::{Checkpoints, Delta};
use srlg::{Config, Device, Ipv4Pair, SlidingDetector};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::temp_dir().join(format!("srlg-sites-{}", std::process::id()));
    let config = Config { threshold: 1000, window: 10, seed: 7, ..Config::default() };
    let mut sites =
        [SlidingDetector::new(config, Device::Cpu)?, SlidingDetector::new(config, Device::Cpu)?];
    for (half, site) in (0..).zip(&mut sites) {
        let pairs: Vec<Ipv4Pair> = (0..800)
            .map(|peer| Ipv4Pair { inside: 0x0a00_0001, peer: half * 800 + peer })
            .collect();
        site.ingest(&pairs)?;
    }
    let [mut left, mut right] = sites;
    // The delta contains the changes of the running slice, so it is created before the close.
    let message = right.delta(1)?.to_bytes()?;
    assert_eq!(right.close_slice()?.super_points.len(), 0);
    Checkpoints::open(&folder)?.save(&left.snapshot()?)?;
    drop(left);
    left = SlidingDetector::new(config, Device::Cpu)?;
    let latest = Checkpoints::open(&folder)?.latest(left.params())?;
    left.restore(&latest.snapshot.expect("there is one"))?;
    left.merge_delta(&Delta::from_bytes(&message, left.params())?)?;
    let report = left.close_slice()?;
    std::fs::remove_dir_all(&folder)?;
    println!("{:.0} of 1600 peers", report.super_points[0].cardinality);
    assert_eq!(report.super_points.len(), 1);
    Ok(())
}
