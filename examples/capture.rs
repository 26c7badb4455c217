//! Prints the super points of a capture. A slice is one second long, and the window is one minute long.
//!
//! Run it with `cargo run --release --example capture -- FILE`. The file is a pcap or pcapng capture, or a CSV file
//! with the header `time_ms,src,dst`. The timestamps of the packets determine their slices. The program `srlg detect`
//! does the same, has more options and reads more formats.

use std::fs::File;
use std::time::Duration;

use anyhow::{Context, Result};
use srlg::time::{DetectorSink, SliceClock, Slicer};
use srlg::{Config, Device, Error, SliceReport, SlidingDetector};
use srlg_input::capture::Reader;
use srlg_input::{View, ViewOptions};

const WINDOW: u32 = 60;

/// Maximum time by which a timestamp may be ahead of the system clock. A packet whose timestamp exceeds this limit is
/// not counted.
///
/// A timestamp far in the future would close all slices before it, and all packets that follow would be too late.
const DAY: Duration = Duration::from_secs(86_400);

fn print(report: &SliceReport) {
    for point in &report.super_points {
        let (slice, host) = (report.slice, point.host);
        println!("second {slice}: {host} {:.0} ±{:.0}", point.cardinality, point.std_error);
    }
}

fn main() -> Result<()> {
    let path = std::env::args().nth(1).context("missing argument: the path of a capture file")?;
    let mut reader =
        Reader::new(File::open(&path).with_context(|| format!("cannot open {path}"))?)?;
    // By default, both endpoints of a contact are counted. Other views count only the hosts of a network or only one
    // direction.
    let view = View::new(&ViewOptions::default())?;
    let config = Config { threshold: 256, window: WINDOW, ..Config::default() };
    let mut detector = SlidingDetector::new(config, Device::Auto)?;
    let mut printer = DetectorSink::new(&mut detector, |report| {
        print(&report);
        Ok::<_, Error>(())
    });
    // A packet may be late as long as its slice is still in the window.
    let clock = SliceClock::new(Duration::from_secs(1), WINDOW - 1, Duration::MAX)?.with_skew(DAY);
    let mut slicer = Slicer::new(clock);
    while let Some(contacts) = reader.next_contacts()? {
        for contact in contacts {
            slicer.place(contact.time_ns, view.pairs(contact), &mut printer)?;
        }
    }
    slicer.finish(&mut printer)?;
    print(&detector.close_slice()?);
    let clock = slicer.clock();
    let dropped = clock.too_late() + clock.future();
    if clock.late() + dropped > 0 {
        eprintln!(
            "{} packets came after the report of their slice; {dropped} were dropped",
            clock.late()
        );
    }
    Ok(())
}
