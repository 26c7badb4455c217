//! Measures one system at one place of a sweep.
//!
//! Shape: [`cost`], from a [`Step`] to a [`Cost`]. Invariant: clocks run in the system's own
//! calls alone, on batches that were made before; they start when the window is full, and the slice before the first that
//! counts warms up. Every pair is a new one, as these cost the most.

use crate::system::System as Measured;
use anyhow::Result;
use srlg_core::{Config, IpPair};
use srlg_host::ingest::PairBatch;
use srlg_host::{Device, SlidingDetector};
use srlg_traffic::family::Family;
use srlg_traffic::synthetic::Stream;
use std::time::{Duration, Instant};

use super::Growth;
use super::sweeps::{Step, System};
use crate::family::batches;
use crate::sample::{Sample, stage_medians};
use crate::threads::{in_parallel, split_by_host};

/// Pairs of a call of ingest.
const PAIRS_PER_CALL: usize = 1 << 14;
/// Pairs that are made between two looks at the clock.
const PAIRS_PER_BLOCK: usize = 1 << 20;

/// What a system took: medians.
pub(super) struct Cost {
    pub(super) ingest_ns: f64,
    /// None where nothing was closed.
    pub(super) close: Option<Close>,
    pub(super) memory_bytes: usize,
}

/// What a close took, and whether all was searched.
pub(super) struct Close {
    pub(super) ms: f64,
    pub(super) stages_ms: Vec<(&'static str, f64)>,
    pub(super) is_complete: bool,
}

pub(super) fn cost(step: &Step, closes: bool, options: &Growth) -> Result<Cost> {
    let seed = options.seed;
    let config = Config { window: step.window, seed, ..Config::default() };
    let traffic = Stream::new(seed, step.load);
    if closes {
        return slices(step, config, traffic, options);
    }
    match step.system {
        System::Srlg => shared(step, config, traffic, options),
        _ => sharded(step, config, traffic, options),
    }
}

/// Consecutive slices of a full window, each closed.
fn slices(step: &Step, config: Config, traffic: Stream, options: &Growth) -> Result<Cost> {
    let mut traffic = (traffic, options.family);
    let mut system = step.system.make(config)?;
    let pairs = (step.load / step.window).max(1) as usize;
    for _ in 1..step.window {
        ingest(&mut *system, &mut traffic, pairs);
        system.skip_slice();
    }
    let (mut ingests, mut whole, mut stages) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..=options.closes {
        ingests.push(ingest(&mut *system, &mut traffic, pairs).as_secs_f64() * 1e9 / pairs as f64);
        let start = Instant::now();
        system.close_slice();
        whole.push(start.elapsed().as_secs_f64() * 1e3);
        stages.push(system.stages().to_vec());
    }
    // The first slice warms up.
    let median = |times: Vec<f64>| Sample::of(times.into_iter().skip(1)).median;
    let close = Close {
        ms: median(whole),
        stages_ms: stage_medians(&stages[1..]),
        is_complete: system.is_complete(),
    };
    let (ingest_ns, memory_bytes) = (median(ingests), system.memory_bytes());
    Ok(Cost { ingest_ns, close: Some(close), memory_bytes })
}

/// Ingests `pairs` pairs; the time that the system took.
fn ingest(
    system: &mut dyn Measured,
    (traffic, family): &mut (Stream, Family),
    pairs: usize,
) -> Duration {
    let mut time = Duration::ZERO;
    let mut left = pairs;
    while left > 0 {
        let block: Vec<IpPair> = traffic.take(left.min(PAIRS_PER_BLOCK)).collect();
        left -= block.len();
        let batches = batches(*family, &block, PAIRS_PER_CALL);
        let start = Instant::now();
        batches.iter().for_each(|batch| system.ingest_batch(batch));
        time += start.elapsed();
    }
    let start = Instant::now();
    system.flush();
    time + start.elapsed()
}

/// A detector that all threads use.
fn shared(step: &Step, config: Config, traffic: Stream, options: &Growth) -> Result<Cost> {
    let mut detector = SlidingDetector::new(config, Device::Cpu)?;
    let ingest_ns = from_threads(step, traffic, options, |shares| {
        detector.skip_to(detector.slice() + 1)?;
        clocked(|| {
            in_parallel(shares, |share| {
                share.iter().try_for_each(|batch| Ok(batch.ingest(&detector)?))
            })?;
            Ok(detector.flush()?)
        })
    })?;
    let memory_bytes = detector.memory_bytes();
    Ok(Cost { ingest_ns, close: None, memory_bytes })
}

/// A system for each thread, with the hosts that are its own.
fn sharded(step: &Step, config: Config, traffic: Stream, options: &Growth) -> Result<Cost> {
    let systems = (0..step.threads).map(|_| step.system.make(config));
    let mut systems = systems.collect::<Result<Vec<_>, _>>()?;
    let ingest_ns = from_threads(step, traffic, options, |shares| {
        clocked(|| {
            in_parallel(systems.iter_mut().zip(shares), |(system, share)| {
                share.iter().for_each(|batch| system.ingest_batch(batch));
                Ok(())
            })
        })
    })?;
    let memory_bytes = systems.iter().map(|system| system.memory_bytes()).sum();
    Ok(Cost { ingest_ns, close: None, memory_bytes })
}

/// Nanoseconds per pair, in a window that is full of other pairs. Each round is a quarter of it: long
/// beside the start of a thread, and the median is of rounds that grow no table.
fn from_threads(
    step: &Step,
    mut traffic: Stream,
    options: &Growth,
    mut ingest: impl FnMut(&[Vec<PairBatch>]) -> Result<Duration>,
) -> Result<f64> {
    let mut round = |pairs: u32| {
        let pairs: Vec<IpPair> = traffic.by_ref().take(pairs as usize).collect();
        let shares = split_by_host(&pairs, step.threads);
        let batches = |share: &Vec<IpPair>| batches(options.family, share, PAIRS_PER_CALL);
        let time = ingest(&shares.iter().map(batches).collect::<Vec<_>>())?;
        Ok(time.as_secs_f64() * 1e9 / pairs.len() as f64)
    };
    round(step.load)?;
    let times = (0..options.closes).map(|_| round((step.load / 4).max(1)));
    Ok(Sample::of(times.collect::<Result<Vec<_>>>()?).median)
}

fn clocked(work: impl FnOnce() -> Result<()>) -> Result<Duration> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed())
}
