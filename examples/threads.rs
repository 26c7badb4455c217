//! Threads that receive, each with a feed of its own, and one that closes slices.
//!
//! `cargo run --release --example threads`

use std::net::Ipv4Addr;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use srlg::ingest::Feed;
use srlg::{Config, Device, Error, IpPair, SlidingDetector};

/// Threads that receive: one per queue of a network card, say.
const RECEIVERS: u32 = 3;

/// Pairs that a feed keeps while a slice is being closed. When it has more, its thread waits.
const CAPACITY: usize = 100_000;

/// Receives one share of a scan: 2,000 targets, 20 every millisecond.
fn receive(number: u32, mut feed: Feed) -> Result<(), Error> {
    let scanner = Ipv4Addr::new(10, 0, 0, 1);
    let target = |n| Ipv4Addr::from_bits(u32::from(Ipv4Addr::new(198, 18, 0, 0)) + n);
    let targets: Vec<u32> = (0..2_000).map(|n| n * RECEIVERS + number).collect();
    for packets in targets.chunks(20) {
        let pairs: Vec<_> = packets.iter().map(|&n| IpPair::new(scanner, target(n))).collect();
        feed.ingest(&pairs)?; // goes on while a slice is being closed
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

fn main() -> Result<(), Error> {
    let mut detector = SlidingDetector::new(Config::default(), Device::Auto)?;
    let mut receivers: Vec<JoinHandle<Result<(), Error>>> = Vec::new();
    for number in 0..RECEIVERS {
        // A feed is its thread's own: no reference to the detector, no lock around it.
        let feed = detector.feed(CAPACITY)?;
        receivers.push(thread::spawn(move || receive(number, feed)));
    }

    // This thread has the detector, and closes a slice every 20 milliseconds.
    let mut received_all = false;
    while !received_all {
        // Looked at before the close, so that the last report has seen everything.
        received_all = receivers.iter().all(JoinHandle::is_finished);
        thread::sleep(Duration::from_millis(20));
        let report = detector.close_slice()?;
        for point in &report.super_points {
            let (slice, host) = (report.slice, point.host);
            println!("slice {slice}: {host} {:.0} ±{:.0}", point.cardinality, point.std_error);
        }
    }
    for receiver in receivers {
        receiver.join().expect("a receiver does not panic")?;
    }
    Ok(())
}
