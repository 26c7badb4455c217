//! One system at one place of a sweep of `growth`.
//!
//! Clocks run in the system's own calls alone, on batches that were made before. They start when the window is full, and
//! the slice or round before the first that counts warms up. Every pair is a new one, as these cost the most.

use std::time::{Duration, Instant};

use anyhow::Result;
use srlg_core::{Config, IpPair};
use srlg_host::ingest::PairBatch;
use srlg_host::{Device, SlidingDetector};
use srlg_traffic::synthetic::Stream;

use super::{Growth, Step};
use crate::feed::{batches, in_parallel, split_by_host};
use crate::sample::{Sample, stage_medians, timed};
use crate::system::{Srlg, System};

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

pub(super) fn cost(step: &Step, options: &Growth) -> Result<Cost> {
    let seed = options.seed;
    let config = Config { window: step.window, seed, ..Config::default() };
    let trial = Trial { step, options, config, traffic: Stream::new(seed, step.load) };
    match step.system {
        _ if step.closes => trial.slices(),
        None => trial.shared(),
        Some(_) => trial.sharded(),
    }
}

struct Trial<'a> {
    step: &'a Step,
    options: &'a Growth,
    config: Config,
    traffic: Stream,
}

impl Trial<'_> {
    /// An empty system.
    fn system(&self) -> Result<Box<dyn System + Send>> {
        Ok(match self.step.system {
            None => Box::new(Srlg::new("default", self.config)?),
            Some(peer) => peer.make(&self.config, 0),
        })
    }

    /// Consecutive slices of a full window, each closed.
    fn slices(mut self) -> Result<Cost> {
        let mut system = self.system()?;
        let pairs = (self.step.load / self.step.window).max(1) as usize;
        for _ in 1..self.step.window {
            self.ingest(&mut *system, pairs);
            system.skip_slice();
        }
        let (mut ingests, mut whole, mut stages) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..=self.options.closes {
            let time = self.ingest(&mut *system, pairs);
            ingests.push(time.as_secs_f64() * 1e9 / pairs as f64);
            let start = Instant::now();
            system.close_slice();
            whole.push(start.elapsed().as_secs_f64() * 1e3);
            stages.push(system.stages().to_vec());
        }
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
    fn ingest(&mut self, system: &mut dyn System, pairs: usize) -> Duration {
        let mut time = Duration::ZERO;
        let mut left = pairs;
        while left > 0 {
            let block: Vec<IpPair> =
                self.traffic.by_ref().take(left.min(PAIRS_PER_BLOCK)).collect();
            left -= block.len();
            let batches = batches(self.options.family, &block, PAIRS_PER_CALL);
            let start = Instant::now();
            batches.iter().for_each(|batch| system.ingest_batch(batch));
            time += start.elapsed();
        }
        let start = Instant::now();
        system.flush();
        time + start.elapsed()
    }

    /// A detector that all threads use.
    fn shared(self) -> Result<Cost> {
        let mut detector = SlidingDetector::new(self.config, Device::Cpu)?;
        let ingest_ns = self.ns_per_pair(|shares| {
            detector.skip_to(detector.slice() + 1)?;
            timed(|| {
                in_parallel(shares, |share| {
                    share.iter().try_for_each(|batch| Ok(batch.ingest(&detector)?))
                })?;
                Ok(detector.flush()?)
            })
        })?;
        Ok(Cost { ingest_ns, close: None, memory_bytes: detector.memory_bytes() })
    }

    /// A system for each thread, with the hosts that are its own.
    fn sharded(self) -> Result<Cost> {
        let systems = (0..self.step.threads).map(|_| self.system());
        let mut systems = systems.collect::<Result<Vec<_>, _>>()?;
        let ingest_ns = self.ns_per_pair(|shares| {
            timed(|| {
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
    fn ns_per_pair(
        mut self,
        mut ingest: impl FnMut(&[Vec<PairBatch>]) -> Result<f64>,
    ) -> Result<f64> {
        let Step { load, threads, .. } = *self.step;
        let mut round = |pairs: u32| {
            let pairs: Vec<IpPair> = self.traffic.by_ref().take(pairs as usize).collect();
            let shares = split_by_host(&pairs, threads);
            let batches = |share: &Vec<IpPair>| batches(self.options.family, share, PAIRS_PER_CALL);
            let seconds = ingest(&shares.iter().map(batches).collect::<Vec<_>>())?;
            Ok(seconds * 1e9 / pairs.len() as f64)
        };
        round(load)?;
        let times = (0..self.options.closes).map(|_| round((load / 4).max(1)));
        Ok(Sample::of(times.collect::<Result<Vec<_>>>()?).median)
    }
}
