//! A program in which two threads receive contacts of IPv4 and IPv6 hosts. Each thread has its own feed, and the main
//! thread closes slices.

use std::net::{IpAddr, Ipv6Addr};
use std::thread;

use srlg::ingest::PairBatch;
use srlg::{Config, Device, Error, SlidingDetector};

fn main() -> Result<(), Error> {
    let config = Config { threshold: 1000, window: 60, ..Config::default() };
    let mut detector = SlidingDetector::new(config, Device::Cpu)?;
    let v6 =
        |host: u16, group: u16| IpAddr::from(Ipv6Addr::new(0x2001, 0xdb8, group, host, 0, 0, 0, 1));
    let feeds = [detector.feed(100_000)?, detector.feed(100_000)?];
    let found = thread::scope(|scope| {
        for (half, mut feed) in (0..).zip(feeds) {
            scope.spawn(move || {
                for _ in 0..10 {
                    let mut pairs = PairBatch::new();
                    for peer in (half..2000).step_by(2) {
                        pairs.push(v6(1, 0), v6(peer, 1));
                        pairs.push([10, 0, 0, 1].into(), v6(peer, 2));
                    }
                    pairs.feed(&mut feed).unwrap();
                }
            });
        }
        (0..10).map(|_| detector.close_slice().unwrap().super_points.len()).max()
    });
    // The feeds are dropped, and their buffered pairs are ingested.
    let report = detector.close_slice()?;
    println!("super points: {found:?} while receiving, {} at the end", report.super_points.len());
    assert_eq!(report.super_points.len(), 2);
    Ok(())
}
