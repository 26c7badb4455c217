//! Limits of a GPU: the ingest rate from GPU memory, and the copy rate from pinned memory.
//!
//! The copy rate limits the ingest rate from pinned memory. `pinned_share_of_copy` is the share of this limit that
//! ingest reaches in the same run.

use anyhow::{Context, Result, anyhow};
use srlg_core::Ipv4Pair;
use srlg_host::Device;
use srlg_host::gpu::cudarc::driver::CudaContext;
use srlg_host::ingest::PinnedPairs;

use super::entrants::rate;
use super::traffic::Traffic;
use super::{Metric, Setting, begin_untouched};
use crate::sample::{Sample, seconds, timed};

const PAIR: f64 = size_of::<Ipv4Pair>() as f64;

pub(super) fn measure(setting: &Setting<'_>, metrics: &mut Vec<Metric>) -> Result<()> {
    let Device::Cuda(ordinal) = setting.device else { return Ok(()) };
    let copy = copy(setting, ordinal)?;
    metrics.push(setting.metric("copy_pinned_to_device", "GB/s", 1, copy).system("machine"));
    let pinned = metrics.iter().rfind(|metric| metric.name == "ingest_pinned_distinct");
    let pinned = pinned
        .context("cannot compute pinned_share_of_copy: ingest_pinned_distinct was not measured")?
        .sample;
    let share = pinned.scaled(100.0 * PAIR / 1e3 / copy.median);
    metrics.push(setting.metric("pinned_share_of_copy", "%", 1, share));
    Ok(())
}

/// Measures the ingest rate from the memory of the GPU, in millions of pairs per second. With the traffic `distinct`,
/// also measures the rate for pairs that the running slice already contains.
pub(super) fn resident(
    setting: &Setting<'_>,
    gpu: u32,
    traffic: &Traffic,
    metrics: &mut Vec<Metric>,
) -> Result<()> {
    let stream = CudaContext::new(gpu as usize)?.new_stream()?;
    let resident = |slice: &Vec<Ipv4Pair>| {
        let pairs: Vec<[u32; 2]> = slice.iter().map(|pair| [pair.inside, pair.peer]).collect();
        Ok(stream.clone_htod(&pairs)?)
    };
    let slices = traffic.slices.iter().map(resident).collect::<Result<Vec<_>>>()?;
    stream.synchronize()?;
    let name = format!("ingest_resident_{}", traffic.name);
    metrics
        .push(rate(setting, &name, &slices, |detector, pairs| Ok(detector.ingest_device(pairs)?))?);
    if let ("distinct", [pairs]) = (traffic.name, slices.as_slice()) {
        let mut detector = setting.detector()?;
        begin_untouched(&mut detector)?;
        // Only the warm-up round, which is not counted, has new pairs.
        let seconds = seconds(setting.options.repeat, || {
            timed(|| {
                detector.ingest_device(pairs)?;
                Ok(detector.flush()?)
            })
        })?;
        let rate = Sample::rate(f64::from(setting.pairs) / 1e6, &seconds);
        metrics.push(setting.metric("ingest_resident_repeated", "M pairs/s", 1, rate));
    }
    Ok(())
}

/// Measures the copy rate from pinned memory to the GPU, in billions of bytes per second. All pairs are copied in
/// one call.
fn copy(setting: &Setting<'_>, gpu: u32) -> Result<Sample> {
    let detector = setting.detector()?;
    let mut pinned = detector.pinned_pairs(setting.pairs as usize)?;
    let stream = CudaContext::new(gpu as usize)?.new_stream()?;
    let mut target = stream.alloc_zeros::<u8>(setting.pairs as usize * size_of::<Ipv4Pair>())?;
    let seconds = seconds(setting.options.repeat, || {
        with_bytes(&mut pinned, |bytes| {
            timed(|| {
                stream.memcpy_htod(bytes, &mut target)?;
                Ok(stream.synchronize()?)
            })
        })
    })?;
    Ok(Sample::rate(f64::from(setting.pairs) * PAIR / 1e9, &seconds))
}

/// Calls `look` with the pinned bytes, which do not move during the call, and returns its result.
fn with_bytes(pinned: &mut PinnedPairs, mut look: impl FnMut(&[u8]) -> Result<f64>) -> Result<f64> {
    let mut outcome = Err(anyhow!("cannot measure the copy rate: the pinned memory was not read"));
    pinned.fill(|pairs| outcome = look(bytemuck::cast_slice(pairs)))?;
    outcome
}
