//! A node: pairs of a slice in, the bytes of a delta out.

use super::Setting;
use crate::family::Feeder;
use anyhow::Result;
use srlg_core::IpPair;
use srlg_host::{Device, SlidingDetector};
use std::time::{Duration, Instant};

/// What a node sends at the end of a slice.
pub(super) struct Sent {
    pub(super) bytes: Vec<u8>,
    /// Recorders in it.
    pub(super) recorders: usize,
    /// From the end of the slice to the bytes.
    pub(super) time: Duration,
}

/// The slice in which all nodes and collectors are.
///
/// Ages of epochs make no difference to a slice that begins one.
pub(super) const SLICE: u64 = 1 << 32;

/// A node that has seen nothing but the `pairs` of the running slice: in a window that is full
/// already fewer recorders show anything new, so that its deltas are the largest there are.
pub(super) fn send(setting: &Setting<'_>, pairs: &[IpPair]) -> Result<Sent> {
    let mut detector = detector(setting)?;
    Feeder::new(setting.options.family).ingest(&detector, pairs)?;
    detector.flush()?;
    delta_of(&mut detector)
}

/// A detector in the slice [`SLICE`] that has seen nothing.
pub(super) fn detector(setting: &Setting<'_>) -> Result<SlidingDetector> {
    let mut detector = SlidingDetector::new(setting.config, Device::Cpu)?;
    detector.skip_to(SLICE)?;
    Ok(detector)
}

/// The delta of the running slice, as bytes.
pub(super) fn delta_of(detector: &mut SlidingDetector) -> Result<Sent> {
    let start = Instant::now();
    let delta = detector.delta(1)?;
    let bytes = delta.to_bytes()?;
    let time = start.elapsed();
    Ok(Sent { bytes, recorders: delta.recorders(), time })
}
