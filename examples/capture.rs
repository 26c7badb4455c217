//! Super points of a capture, by the time stamps of its packets: slices of one second, a window of one minute.
//!
//! `cargo run --release --example capture -- FILE`, of pcap, pcapng or lines of `time_ms,src,dst`. The program `srlg detect`
//! does this with all options and formats.

use std::fs::File;
use std::time::Duration;

use anyhow::{Context, Result};
use srlg::ingest::PairBatch;
use srlg::time::{SliceClock, SliceSink, Slicer};
use srlg::{Config, Device, Error, SliceReport, SlidingDetector};
use srlg_input::capture::Reader;
use srlg_input::{View, ViewOptions};

const WINDOW: u32 = 60;

/// Time stamps further ahead of the system clock are rejected: one of them would make all that follow too late.
const DAY: Duration = Duration::from_secs(86_400);

/// A detector whose reports are printed.
struct Printer(SlidingDetector);

impl SliceSink for Printer {
    type Error = Error;

    fn start(&mut self, slice: u64) -> Result<(), Error> {
        self.0.skip_to(slice)
    }

    fn ingest(&mut self, pairs: &PairBatch, slices_late: u32) -> Result<(), Error> {
        pairs.ingest_late(&self.0, slices_late)
    }

    fn advance_to(&mut self, slice: u64) -> Result<(), Error> {
        self.0.advance_to(slice, |report| {
            print(&report);
            Ok(())
        })
    }
}

fn print(report: &SliceReport) {
    for point in &report.super_points {
        let (slice, host) = (report.slice, point.host);
        println!("second {slice}: {host} {:.0} ±{:.0}", point.cardinality, point.std_error);
    }
}

fn main() -> Result<()> {
    let path = std::env::args().nth(1).context("give a capture")?;
    let mut reader =
        Reader::new(File::open(&path).with_context(|| format!("cannot open {path}"))?)?;
    // Pairs are both ends of a contact; other views count one network, or one direction.
    let view = View::new(&ViewOptions::default())?;
    let config = Config { threshold: 256, window: WINDOW, ..Config::default() };
    let mut printer = Printer(SlidingDetector::new(config, Device::Auto)?);
    // A packet may come late by what is left of the window.
    let clock = SliceClock::new(Duration::from_secs(1), WINDOW - 1, Duration::MAX)?.with_skew(DAY);
    let mut slicer = Slicer::new(clock);
    while let Some(contacts) = reader.next_contacts()? {
        for contact in contacts {
            slicer.take(contact.time_ns, view.pairs(contact), &mut printer)?;
        }
    }
    slicer.finish(&mut printer)?;
    print(&printer.0.close_slice()?);
    Ok(())
}
