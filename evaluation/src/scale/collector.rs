//! A collector: bytes of deltas in, a merged detector out.

use super::Setting;
use super::node::{self, Sent};
use anyhow::Result;
use srlg_host::SlidingDetector;
use srlg_host::state::Delta;
use std::time::{Duration, Instant};

/// A detector that merges what nodes, or other collectors, send of the running slice.
pub(super) struct Collector {
    pub(super) detector: SlidingDetector,
    /// In reading and merging.
    pub(super) time: Duration,
    /// Bytes that came in.
    pub(super) bytes: usize,
}

impl Collector {
    pub(super) fn new(setting: &Setting<'_>) -> Result<Self> {
        let detector = node::detector(setting)?;
        Ok(Self { detector, time: Duration::ZERO, bytes: 0 })
    }

    /// Reads and merges a delta.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Result<()> {
        let start = Instant::now();
        let delta = Delta::from_bytes(bytes, self.detector.params())?;
        self.detector.merge_delta(&delta)?;
        self.time += start.elapsed();
        self.bytes += bytes.len();
        Ok(())
    }

    /// What it tells the collector above it: one delta of all that it merged.
    pub(super) fn send(&mut self) -> Result<Sent> {
        node::delta_of(&mut self.detector)
    }

    /// Closes the slice; how long that takes.
    pub(super) fn close(&mut self) -> Result<Duration> {
        let start = Instant::now();
        self.detector.close_slice()?;
        Ok(start.elapsed())
    }
}
