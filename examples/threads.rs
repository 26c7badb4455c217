//! Receives packets in several threads while the main thread closes slices. Each receiving thread has its own feed.
//!
//! Run it with `cargo run --release --example threads`.

use std::net::Ipv4Addr;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use srlg::ingest::Feed;
use srlg::{Config, Device, Error, Ipv4Pair, SlidingDetector};

/// Number of receiving threads. A real program may use one thread per queue of its network card.
const RECEIVERS: u32 = 3;

/// Number of pairs that a feed can buffer while a slice is being closed. A thread waits while its feed is full.
const CAPACITY: usize = 100_000;

/// Receives one part of a scan. The part has 2,000 targets, and 20 of them are contacted every millisecond.
fn receive(number: u32, mut feed: Feed) -> Result<(), Error> {
    let scanner = Ipv4Addr::new(10, 0, 0, 1);
    let target = |n| Ipv4Addr::from_bits(u32::from(Ipv4Addr::new(198, 18, 0, 0)) + n);
    let targets: Vec<u32> = (0..2_000).map(|n| n * RECEIVERS + number).collect();
    for packets in targets.chunks(20) {
        let pairs: Vec<_> = packets.iter().map(|&n| Ipv4Pair::new(scanner, target(n))).collect();
        feed.ingest(&pairs)?; // This also works while a slice is being closed.
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

fn main() -> Result<(), Error> {
    let mut detector = SlidingDetector::new(Config::default(), Device::Auto)?;
    let mut receivers: Vec<JoinHandle<Result<(), Error>>> = Vec::new();
    for number in 0..RECEIVERS {
        // A thread owns its feed, so it needs neither a reference to the detector nor a lock.
        let feed = detector.feed(CAPACITY)?;
        receivers.push(thread::spawn(move || receive(number, feed)));
    }

    // This thread owns the detector and closes a slice every 20 milliseconds.
    let mut received_all = false;
    while !received_all {
        // The threads are checked before the slice is closed, so that the last report covers everything that was
        // received.
        received_all = receivers.iter().all(JoinHandle::is_finished);
        thread::sleep(Duration::from_millis(20));
        let report = detector.close_slice()?;
        for point in &report.super_points {
            let (slice, host) = (report.slice, point.host);
            println!("slice {slice}: {host} {:.0} ±{:.0}", point.cardinality, point.std_error);
        }
    }
    for receiver in receivers {
        receiver.join().expect("no receiver panics")?;
    }
    Ok(())
}
