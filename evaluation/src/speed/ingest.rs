//! Pairs per second into the running slice, by where the pairs are.
//!
//! Distinct pairs touch two random recorders each, and write as long as these were not touched
//! before; packets repeat their pairs, ten times on average.
//! Ordinary memory comes in batches, as a program collects them; pinned memory is filled before
//! the clock runs, as a program does that fills one buffer while another is read.

use anyhow::Result;
use srlg_core::IpPair;
#[cfg(feature = "cuda")]
use srlg_host::Device;
use srlg_host::SlidingDetector;

#[cfg(feature = "cuda")]
use super::gpu;
use super::report::{Metric, Report};
use super::sample::{Sample, seconds, timed};
use super::setting::{Setting, begin_untouched};

/// Pairs of a batch from ordinary memory.
pub(super) const BATCH: usize = 1 << 14;
/// Pairs of a pinned buffer, of which there are as many as it takes.
const BUFFER: usize = 1 << 22;

pub(super) fn measure(setting: &Setting<'_>, report: &mut Report<'_>) -> Result<()> {
    let distinct = setting.distinct(setting.pairs);
    for (name, pairs) in [("distinct", distinct), ("packets", setting.packets())] {
        for threads in [1, 2] {
            let name = format!("ingest_ordinary_{name}");
            let ingest = |detector: &SlidingDetector| from_threads(detector, &pairs, threads);
            report.add(&rate(setting, name, threads, ingest)?);
        }
        report.add(&pinned(setting, name, &pairs)?);
        #[cfg(feature = "cuda")]
        if let Device::Cuda(ordinal) = setting.device {
            report.add(&gpu::resident(setting, ordinal, name, &pairs)?);
        }
    }
    Ok(())
}

/// Pairs per second that `ingest` takes, all of a round.
pub(super) fn rate(
    setting: &Setting<'_>,
    name: String,
    threads: u32,
    ingest: impl Fn(&SlidingDetector) -> Result<()>,
) -> Result<Metric> {
    let mut detector = setting.detector()?;
    let seconds = seconds(setting.options.repeat, || {
        begin_untouched(&mut detector)?;
        timed(|| {
            ingest(&detector)?;
            Ok(detector.flush()?)
        })
    })?;
    let sample = Sample::rate(f64::from(setting.pairs) / 1e6, &seconds);
    Ok(Metric { name, unit: "M pairs/s", threads, load: Some(setting.pairs), sample })
}

fn from_threads(detector: &SlidingDetector, pairs: &[IpPair], threads: u32) -> Result<()> {
    let ingest = |pairs: &[IpPair]| -> Result<()> {
        pairs.chunks(BATCH).try_for_each(|batch| Ok(detector.ingest(batch)?))
    };
    if threads == 1 {
        return ingest(pairs);
    }
    std::thread::scope(|scope| {
        let shares = pairs.chunks(pairs.len().div_ceil(threads as usize).max(1));
        let workers: Vec<_> = shares.map(|share| scope.spawn(move || ingest(share))).collect();
        let join = |worker: std::thread::ScopedJoinHandle<'_, Result<()>>| {
            worker.join().expect("ingest does not panic")
        };
        workers.into_iter().try_for_each(join)
    })
}

fn pinned(setting: &Setting<'_>, traffic: &str, pairs: &[IpPair]) -> Result<Metric> {
    let owner = setting.detector()?;
    let mut buffers = Vec::new();
    for share in pairs.chunks(BUFFER) {
        let mut buffer = owner.pinned_pairs(share.len())?;
        buffer.fill(|pairs| pairs.copy_from_slice(share))?;
        buffers.push(buffer);
    }
    rate(setting, format!("ingest_pinned_{traffic}"), 1, |detector| {
        buffers.iter().try_for_each(|buffer| Ok(detector.ingest_pinned(buffer)?))
    })
}
