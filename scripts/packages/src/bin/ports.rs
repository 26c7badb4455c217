//! A program that counts distinct ports and finds a port scan of one machine, as docs/what-to-count.md describes.

use std::collections::hash_map::RandomState;
use std::error::Error;
use std::hash::BuildHasher;
use std::net::IpAddr;

use srlg::{Config, Device, IpPair, SlidingDetector};

fn main() -> Result<(), Box<dyn Error>> {
    let plan = Config::for_load(1000, 60, 1_000_000, 8_000_000)?;
    let mut detector = SlidingDetector::new(plan.config, Device::Cpu)?;
    let (keyed, host): (RandomState, IpAddr) = (RandomState::new(), "2001:db8::7".parse()?);
    let ports =
        (1..=3000_u16).map(|port| IpPair::with_hash(host, keyed.hash_one(("192.0.2.1", port))));
    detector.ingest(&ports.collect::<Vec<_>>())?;
    let closing = detector.begin_close()?;
    let estimate = closing.cardinality_within(host, 1)?;
    println!("{:.0} ports", estimate.cardinality);
    assert!(estimate.lower(4.0) < 3000.0 && 3000.0 < estimate.upper(4.0));
    assert_eq!(closing.end()?.super_points[0].host, host);
    Ok(())
}
