//! A program that finds a scan and prints it as JSON. The scan is reported until it leaves the window.

use std::error::Error;
use std::net::Ipv4Addr;

use srlg::{Config, Device, Ipv4Pair, SlidingDetector};

fn main() -> Result<(), Box<dyn Error>> {
    let config = Config { threshold: 1000, window: 3, ..Config::default() };
    let mut detector = SlidingDetector::new(config, Device::Auto)?;
    let scanner = Ipv4Addr::new(10, 0, 0, 1);
    let targets = (0..5000).map(|target| Ipv4Addr::from_bits(0xc633_0000 + target));
    detector.ingest(&targets.map(|target| Ipv4Pair::new(scanner, target)).collect::<Vec<_>>())?;
    let report = detector.close_slice()?;
    println!("{}", serde_json::to_string(&report.super_points[0])?);
    let point = &report.super_points[0];
    assert_eq!(point.host, scanner);
    assert!(point.lower(4.0) < 5000.0 && 5000.0 < point.upper(4.0));
    assert_eq!([1, 1, 0], [(); 3].map(|()| detector.close_slice().unwrap().super_points.len()));
    Ok(())
}
