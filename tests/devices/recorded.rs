//! Tests with recorded traffic: attacks, testbed traffic and background radiation.
//!
//! The environment variable `SRLG_DATA` names the folder that contains the traces. If it is not set, the tests
//! are skipped.

use std::path::{Path, PathBuf};

use srlg::{Config, Device};
use srlg_traffic::trace::{Record, Trace, dev_traces};

use crate::device::detector;
use crate::feed::{expected, reports, whole};
use crate::traffic::{Slice, presets};

on_every_device!(every_trace_in_eight_slices);

const SLICES: u64 = 8;
/// Maximum number of records per trace. It is limited because the reference ingests one pair per call, which is slow.
const MOST_RECORDS: usize = 100_000;

fn traces() -> Vec<PathBuf> {
    let mut traces = dev_traces();
    // The month of traffic in this trace takes too long with one pair at a time.
    traces.retain(|trace| !trace.to_string_lossy().contains("darpa98"));
    traces
}

fn slices(trace: &Path) -> Vec<Slice> {
    let records = Trace::open(trace).unwrap().map(Result::unwrap).take(MOST_RECORDS);
    let records: Vec<Record> = records.collect();
    let length = records.iter().map(|record| u64::from(record.time_ms)).max().unwrap_or(0) + 1;
    let mut slices = vec![Slice::default(); SLICES as usize];
    for record in records {
        let slice = u64::from(record.time_ms) * SLICES / length;
        slices[slice as usize].pairs.extend(record.pairs());
    }
    slices
}

fn every_trace_in_eight_slices(device: Device) {
    let (traces, mut super_points) = (traces(), 0);
    for trace in &traces {
        let slices = slices(trace);
        for config in presets(5).map(|preset| Config { threshold: 100, ..preset }) {
            let (_, expected) = expected(config, &slices);
            let found = reports(&mut detector(device, config), &slices, whole);
            assert_eq!(found, expected, "{}", trace.display());
            super_points += found.iter().map(|report| report.super_points.len()).sum::<usize>();
        }
        println!("{}: {super_points} super points so far", trace.display());
    }
    assert!(super_points > 100 || traces.is_empty(), "only {super_points}");
}
