//! Distributes traffic over several GPUs and reports the super points of all traffic.
//!
//! Each device has a detector and a thread. The first detector merges the deltas of the other detectors and produces
//! the reports.
//!
//! Run it with `cargo run --release --example gpus -- cuda:0 cuda:1`. Without device names, the example uses all GPUs,
//! or the CPU if no GPU is available.

use std::process::ExitCode;
use std::thread;

use anyhow::{Context, Result, bail};
use srlg::{Config, Device, Error, Ipv4Pair, SliceReport, SlidingDetector};

const WINDOW: u32 = 5;
const SLICES: u64 = 12;
const PACKETS: u32 = 60_000; // Packets per slice.

fn main() -> ExitCode {
    let devices: Result<Vec<Device>, _> =
        std::env::args().skip(1).map(|name| name.parse::<Device>()).collect();
    match devices.map_err(anyhow::Error::from).and_then(|devices| run(&devices)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("gpus: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(devices: &[Device]) -> Result<()> {
    let mut detectors = if devices.is_empty() { all_gpus()? } else { open(devices)? };
    let mut witness = open(&[Device::Cpu])?.remove(0);
    let names: Vec<_> = detectors.iter().map(|detector| detector.device().to_string()).collect();
    println!("{PACKETS} packets a slice for detectors on {}", names.join(", "));
    let mut different = 0;
    for slice in 0..SLICES {
        let pairs = traffic(slice);
        let report = close(&mut detectors, slice, &pairs)?;
        for point in &report.super_points {
            let (host, cardinality, error) = (point.host, point.cardinality, point.std_error);
            println!("slice {slice}: {host} {cardinality:.0} ±{error:.0}");
        }
        // For comparison, one detector sees all the traffic. Its reports are equal bit for bit.
        witness.ingest(&pairs)?;
        different += u64::from(witness.close_slice()? != report);
    }
    if different > 0 {
        bail!(
            "{different} of {SLICES} reports differ from those of one detector that saw all traffic"
        );
    }
    println!("all reports equal those of one detector on the CPU that saw all traffic");
    Ok(())
}

/// Opens a detector on each device. All detectors have the same configuration, so that they can be merged.
fn open(devices: &[Device]) -> Result<Vec<SlidingDetector>> {
    let config = Config { threshold: 1024, window: WINDOW, ..Config::default() };
    let open = |&device| SlidingDetector::new(config, device).with_context(|| format!("{device}"));
    devices.iter().map(open).collect()
}

/// Opens a detector on each GPU, or two detectors on the CPU if no GPU is available.
fn all_gpus() -> Result<Vec<SlidingDetector>> {
    let mut detectors = Vec::new();
    loop {
        match open(&[Device::Cuda(detectors.len() as u32)]) {
            Ok(detector) => detectors.extend(detector),
            Err(error) => match error.downcast_ref() {
                Some(Error::NoSuchDevice { .. }) if !detectors.is_empty() => return Ok(detectors),
                Some(Error::NoSuchDevice { .. } | Error::NoDriver | Error::WithoutCuda) => {
                    eprintln!("gpus: using two detectors on the CPU: {error:#}");
                    return open(&[Device::Cpu, Device::Cpu]);
                }
                _ => return Err(error),
            },
        }
    }
}

/// Distributes the pairs of `slice` over the detectors and closes the slice. A detector that fails is removed from
/// `all`.
fn close(all: &mut Vec<SlidingDetector>, slice: u64, pairs: &[Ipv4Pair]) -> Result<SliceReport> {
    let mut unheard = 1; // Number of slices of the other detectors that the first one has not merged.
    while !all.is_empty() {
        let (number, error) = match try_close(all, slice, pairs, unheard) {
            Ok(report) => return Ok(report),
            Err(failure) => failure,
        };
        // The remaining detectors ingest the slice again, because a repeated pair counts only once.
        let device = all.remove(number).device();
        eprintln!(
            "gpus: {device} failed in slice {slice}: {error}; the other devices take over its pairs"
        );
        if number == 0 {
            eprintln!("gpus: pairs of previous slices that only {device} ingested are lost");
            unheard = WINDOW; // Another detector becomes the first one.
        }
    }
    bail!("cannot close slice {slice}: all devices have failed")
}

/// Ingests `pairs`, merges all detectors into the first one, closes the slice and returns the report on all traffic. If
/// a detector fails, returns its index and the error.
fn try_close(
    all: &mut [SlidingDetector],
    slice: u64,
    pairs: &[Ipv4Pair],
    unheard: u32,
) -> Result<SliceReport, (usize, Error)> {
    let count = all.len();
    let part = |number| &pairs[pairs.len() * number / count..pairs.len() * (number + 1) / count];
    let (first, others) = all.split_first_mut().expect("a detector");
    let of_first = |error| (0, error);
    thread::scope(|scope| {
        let mut threads = Vec::new();
        for (number, other) in (1..).zip(others) {
            let give = move || {
                other.skip_to(slice)?; // Only the first detector closes slices.
                other.ingest(part(number))?;
                other.delta(unheard)
            };
            threads.push((number, scope.spawn(give)));
        }
        // This thread runs the first detector, which merges the deltas of the other detectors and produces the report.
        first.ingest(part(0)).map_err(of_first)?;
        for (number, thread) in threads {
            let delta =
                thread.join().expect("no thread panics").map_err(|error| (number, error))?;
            first.merge_delta(&delta).map_err(of_first)?;
        }
        first.close_slice().map_err(of_first)
    })
}

/// Returns the packets of `slice`: the traffic of 1,024 hosts, and a flood of three hosts. In every slice, each flooded
/// host receives packets from 400 new sources.
fn traffic(slice: u64) -> Vec<Ipv4Pair> {
    let packet = |number: u32| {
        let peer = (slice as u32 * PACKETS + number).wrapping_mul(0x9e37_79b9);
        let is_flood = number.is_multiple_of(50);
        let host = if is_flood { 1 + number / 50 % 3 } else { 256 + (peer >> 22) };
        Ipv4Pair { inside: 0x0a00_0000 + host, peer }
    };
    (0..PACKETS).map(packet).collect()
}
