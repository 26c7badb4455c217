//! The detector in a race of ingest: rounds of slices, from one or more threads.

use anyhow::Result;
use srlg_host::SlidingDetector;
use srlg_host::ingest::{Pair, PairBatch};

use super::race::Entrant;
use super::report::Metric;
use super::setting::{PAIRS_PER_CALL, Setting, begin_untouched};
use crate::sample::{Sample, seconds, timed};
use crate::threads::in_parallel;

/// Lets a detector take what one thread has of a slice.
type Take<T> = fn(&SlidingDetector, &[T]) -> Result<()>;

/// A detector that takes pairs from ordinary memory.
pub(super) struct Own<'a, T> {
    detector: SlidingDetector,
    slices: &'a [Vec<T>],
    threads: u32,
    take: Take<T>,
}

impl<'a, T: Sync> Own<'a, T> {
    pub(super) fn new(
        setting: &Setting<'_>,
        slices: &'a [Vec<T>],
        threads: u32,
        take: Take<T>,
    ) -> Result<Self> {
        Ok(Self { detector: setting.detector()?, slices, threads, take })
    }
}

impl<T: Sync> Entrant for Own<'_, T> {
    fn round(&mut self) -> Result<f64> {
        round(&mut self.detector, self.slices, |detector, slice| {
            let share = slice.len().div_ceil(self.threads as usize).max(1);
            in_parallel(slice.chunks(share), |share| (self.take)(detector, share))
        })
    }

    fn memory_bytes(&self) -> usize {
        self.detector.memory_bytes()
    }
}

/// Lets `detector` take pairs in batches, as a program collects them.
pub(super) fn pairs<P: Pair>(detector: &SlidingDetector, pairs: &[P]) -> Result<()> {
    pairs.chunks(PAIRS_PER_CALL).try_for_each(|batch| Ok(detector.ingest(batch)?))
}

/// Lets `detector` take batches of pairs of both types.
pub(super) fn batches(detector: &SlidingDetector, batches: &[PairBatch]) -> Result<()> {
    batches.iter().try_for_each(|batch| Ok(batch.ingest(detector)?))
}

/// Pairs per second that `ingest` takes from `slices`, wherever they are.
pub(super) fn rate<Slice>(
    setting: &Setting<'_>,
    name: String,
    slices: &[Slice],
    ingest: impl Fn(&SlidingDetector, &Slice) -> Result<()>,
) -> Result<Metric> {
    let mut detector = setting.detector()?;
    let seconds = seconds(setting.options.repeat, || round(&mut detector, slices, &ingest))?;
    let sample = Sample::rate(f64::from(setting.pairs) / 1e6, &seconds);
    Ok(Metric::new(name, "M pairs/s", 1, sample).load(setting.pairs))
}

/// Seconds of `ingest` of all slices, the first of which finds no recorder touched. What the
/// device does between slices is no part of it.
fn round<Slice>(
    detector: &mut SlidingDetector,
    slices: &[Slice],
    ingest: impl Fn(&SlidingDetector, &Slice) -> Result<()>,
) -> Result<f64> {
    let mut seconds = 0.0;
    for (number, slice) in slices.iter().enumerate() {
        if number == 0 {
            begin_untouched(detector)?;
        } else {
            detector.skip_to(detector.slice() + 1)?;
            detector.flush()?;
        }
        seconds += timed(|| {
            ingest(detector, slice)?;
            Ok(detector.flush()?)
        })?;
    }
    Ok(seconds)
}
