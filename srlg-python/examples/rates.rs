//! The Rust part of the benchmark benches/rates.py. `rates ingest` and `rates scan` print the duration of one run in
//! seconds.
//!
//! Run it with `cargo run --release --example rates -- ingest`.

use std::time::{Duration, Instant};

use srlg::time::{DetectorSink, SliceClock, Slicer};
use srlg::{Config, Device, Error, Ipv4Pair, SlidingDetector};
use srlg_input::contact::Host;
use srlg_input::{Contact, View, ViewOptions};

const ROWS: u32 = 10_000_000;
/// Number of rows in a slice of one second.
const ROWS_PER_SLICE: u32 = 500_000;

/// Returns pair `number`. There are 65,536 inside hosts. Every pair has a different peer, so all pairs are distinct.
fn pair(number: u32) -> Ipv4Pair {
    let inside = 0x0a00_0000 + (number.wrapping_mul(0x9e37_79b1) >> 16);
    Ipv4Pair { inside, peer: 0xc000_0000_u32.wrapping_add(number) }
}

fn ingest(detector: &SlidingDetector) -> Result<Duration, Error> {
    let pairs: Vec<Ipv4Pair> = (0..ROWS).map(pair).collect();
    let start = Instant::now();
    detector.ingest(&pairs)?;
    Ok(start.elapsed())
}

fn scan(mut detector: SlidingDetector) -> Result<Duration, Error> {
    let times: Vec<u64> =
        (0..ROWS).map(|row| u64::from(row) * 1_000_000_000 / u64::from(ROWS_PER_SLICE)).collect();
    let sources: Vec<u32> = (0..ROWS).map(|row| pair(row).inside).collect();
    let destinations: Vec<u32> = (0..ROWS).map(|row| pair(row).peer).collect();
    let inside = vec!["10.0.0.0/8".parse().expect("a network")];
    let view = View::new(&ViewOptions { inside, ..ViewOptions::default() }).expect("a view");
    let clock = SliceClock::new(Duration::from_secs(1), 299, Duration::MAX)?;
    let (mut slicer, mut count) = (Slicer::new(clock), 0);
    let mut reports = DetectorSink::new(&mut detector, |_| {
        count += 1;
        Ok::<_, Error>(())
    });
    let start = Instant::now();
    for ((&time_ns, &source), &destination) in times.iter().zip(&sources).zip(&destinations) {
        let contact = Contact::new(time_ns, Host::v4(source), Host::v4(destination));
        slicer.place(time_ns, view.pairs(&contact), &mut reports)?;
    }
    slicer.finish(&mut reports)?;
    detector.close_slice()?;
    let took = start.elapsed();
    assert_eq!(count + 1, ROWS / ROWS_PER_SLICE);
    Ok(took)
}

fn main() -> Result<(), Error> {
    let detector = SlidingDetector::new(Config::default(), Device::Cpu)?;
    let took = match std::env::args().nth(1).as_deref() {
        Some("ingest") => ingest(&detector)?,
        Some("scan") => scan(detector)?,
        other => panic!("the argument must be ingest or scan, got {other:?}"),
    };
    println!("{}", took.as_secs_f64());
    Ok(())
}
