//! An example that reports the super points on a network interface. Several threads capture and count packets. A slice
//! is one second long, and the window is one minute long.
//!
//! Run it with `cargo run --release -p srlg-input --features live --example threads -- eth0 4`. The threads do not wait
//! for each other, because each thread captures a part of the packets and has its own feed.

use std::env::args;
use std::thread::{JoinHandle, sleep, spawn};
use std::time::Duration;

use srlg_host::ingest::{Feed, PairBatch};
use srlg_host::{Config, Device, SlidingDetector};
use srlg_input::live::{Capture, CaptureOptions};

type Error = Box<dyn std::error::Error + Send + Sync>;

/// Maximum number of pairs that a feed buffers while a slice is being closed.
const DURING_CLOSE: usize = 1 << 16;

fn count(mut capture: Capture, mut feed: Feed) -> Result<(), Error> {
    let mut pairs = PairBatch::new();
    loop {
        for contact in capture.next_contacts()? {
            let (source, destination) = (contact.source, contact.destination);
            pairs.extend([(source, destination), (destination, source)]);
        }
        pairs.feed(&mut feed)?;
        pairs.clear();
    }
}

fn main() -> Result<(), Error> {
    let interface = args().nth(1).ok_or("give an interface")?;
    let capture_threads = args().nth(2).map_or(Ok(1), |threads| threads.parse())?;
    let config = Config { threshold: 256, window: 60, ..Config::default() };
    let mut detector = SlidingDetector::new(config, Device::Auto)?;
    let options = CaptureOptions { capture_threads, ..CaptureOptions::default() };
    let captures = Capture::open_all(&interface, &options)?.into_iter();
    let start = |capture| Ok((capture, detector.feed(DURING_CLOSE)?));
    let parts = captures.map(start).collect::<Result<Vec<_>, Error>>()?;
    let threads: Vec<_> =
        parts.into_iter().map(|(capture, feed)| spawn(|| count(capture, feed))).collect();
    while !threads.iter().any(JoinHandle::is_finished) {
        sleep(Duration::from_secs(1));
        for point in detector.close_slice()?.super_points {
            println!("{} {:.0} ±{:.0}", point.host, point.cardinality, point.std_error);
        }
    }
    let ended = threads.into_iter().find(JoinHandle::is_finished).ok_or("no thread ended")?;
    ended.join().map_err(|_| "a capture thread panicked")?
}
