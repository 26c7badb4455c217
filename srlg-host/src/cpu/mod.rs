//! The CPU backend: recorders in this process, touched by the threads that ingest.

mod lanes;
#[cfg(test)]
mod model_tests;
mod pages;
mod recent;
mod search;
mod shards;
mod share;
mod sweep;
mod words;

use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use srlg_core::{
    ARRAYS, Address, Ages, COUNTER, FINDER, IpPair, Params, ReadRecorder, RecentRange, Recorder8,
    Recorder16, Rsra, Slea, Span, Tally,
};

use crate::backend::{Backend, Survey};
use crate::device::Device;
use crate::error::Error;
use crate::pinned::PinnedPairs;
use crate::state::{Coder, Section, Words};
use lanes::Lanes;
use pages::{Mappable, Pages};
use search::Search;
use shards::Shards;
use share::{share, share_chunks};
use sweep::PIECE;
use words::WordArray;

/// The backend of a detector with `params`: 16-bit recorders throughout in the paper's
/// scheme, 8-bit ones in the RSRA of the tagged scheme.
pub(crate) fn backend(params: Params) -> Result<Box<dyn Backend>, Error> {
    check_memory(params.recorder_bytes())?;
    Ok(match params.is_tagged() {
        true => Box::new(CpuBackend::<Recorder8>::new(params)?),
        false => Box::new(CpuBackend::<Recorder16>::new(params)?),
    })
}

/// Refuses what the system could promise but not give: a mapping succeeds, and the process
/// is killed when it first writes to all of it.
fn check_memory(bytes: usize) -> Result<(), Error> {
    let status = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    match kib {
        Some(kib) if bytes as u64 > kib * 1024 => {
            let only = format!("{} bytes are available", kib * 1024);
            let source = std::io::Error::new(std::io::ErrorKind::OutOfMemory, only);
            Err(Error::OutOfMemory { bytes, source })
        }
        _ => Ok(()), // enough, or a system that does not tell
    }
}

/// Both arrays of one detector; `R` are the recorders of the RSRA.
struct Arrays<R: Mappable> {
    params: Params,
    rough: Pages<R>,
    linear: Pages<Recorder16>,
    shards: Shards,
}

/// The arrays, the lanes that lead to them, and what searches them.
struct CpuBackend<R: Mappable> {
    arrays: Arrays<R>,
    lanes: Lanes,
    search: Search,
    /// Threads that a close takes.
    threads: usize,
}

impl<R: Mappable> CpuBackend<R> {
    /// Allocates the arrays of `params`, untouched.
    fn new(params: Params) -> Result<Self, Error> {
        let rough = Pages::new(params.rough_recorders())?;
        let linear = Pages::new(params.linear_recorders())?;
        let arrays = Arrays { params, rough, linear, shards: Shards::new(&params) };
        let search = Search::new(&params);
        Ok(Self { arrays, lanes: Lanes::default(), search, threads: 1 })
    }

    /// The arrays with all that was ingested.
    fn drained(&self) -> &Arrays<R> {
        self.lanes.drain(&self.arrays);
        &self.arrays
    }

    /// The array of that number, with all that was ingested.
    fn array_mut(&mut self, array: usize) -> &mut dyn WordArray {
        self.lanes.drain(&self.arrays);
        match array {
            FINDER => &mut self.arrays.rough,
            COUNTER => &mut self.arrays.linear,
            other => panic!("there is no array {other}"),
        }
    }

    /// Does `work` once with the number of each of `hosts`, and with what makes a tally of it from
    /// some of its positions.
    fn look_at(
        &mut self,
        hosts: &[Address],
        span: Span,
        work: impl Fn(usize, &dyn Fn(Range<u32>) -> Tally) + Sync,
    ) {
        self.lanes.drain(&self.arrays);
        let Arrays { params, linear, .. } = &mut self.arrays;
        linear.frozen(|recorders| {
            share(self.threads, hosts.len(), |number| {
                let tally =
                    |positions| sweep::tally(params, recorders, hosts[number], span, positions);
                work(number, &tally);
            });
        });
    }

    /// Makes every recorder so much older; how many of the SLEA were within `span_ages` before.
    fn age_by(&mut self, span_ages: u32, ages: Ages) -> u32 {
        self.lanes.drain(&self.arrays);
        let Arrays { params, rough, linear, .. } = &mut self.arrays;
        let limit = u16::saturated(params.step(span_ages));
        if ages == Ages::default() {
            return linear.frozen(|recorders| count(recorders, limit, self.threads));
        }
        self.lanes.forget();
        let steps = params.age_steps(ages);
        rough.age_by(R::saturated(steps[FINDER]), R::UNTOUCHED, self.threads);
        linear.age_by(u16::saturated(steps[COUNTER]), limit, self.threads)
    }
}

/// How many of `recorders` have a word below `limit`.
fn count(recorders: &[u16], limit: u16, threads: usize) -> u32 {
    let sum = AtomicU32::new(0);
    let pieces: Vec<&[u16]> = recorders.chunks(PIECE).collect();
    share(threads, pieces.len(), |piece| {
        sum.fetch_add(sweep::count(pieces[piece], limit), Relaxed);
    });
    sum.into_inner()
}

/// Per row of the SLEA, how many recorders are within `span`.
fn linear_weights<R>(params: &Params, slea: Slea<'_, R>, span: Span) -> Vec<u32>
where
    R: ReadRecorder<Word = u16>,
{
    (0..params.linear_rows()).map(|row| slea.row_weight(row, span)).collect()
}

impl<R: Mappable> Backend for CpuBackend<R> {
    fn device(&self) -> Device {
        Device::Cpu
    }

    fn scan(&self, pairs: &[IpPair], ages: Ages) -> Result<(), Error> {
        self.lanes.ingest(&self.arrays, pairs, ages);
        Ok(())
    }

    fn pin(&self, len: usize) -> Result<PinnedPairs, Error> {
        let mut pairs = Vec::new();
        let bytes = len.saturating_mul(size_of::<IpPair>());
        pairs.try_reserve_exact(len).map_err(|_| Error::PinnedMemory { bytes })?;
        pairs.resize(len, IpPair::default());
        Ok(PinnedPairs::new(pairs, len))
    }

    fn scan_pinned(&self, pairs: &PinnedPairs, ages: Ages) -> Result<(), Error> {
        pairs.scan(|pairs| self.scan(pairs, ages))
    }

    fn flush(&self) -> Result<(), Error> {
        self.drained();
        Ok(())
    }

    fn set_threads(&mut self, threads: NonZeroUsize) {
        self.threads = threads.get();
    }

    fn survey(&mut self, span: Span) -> Result<Survey, Error> {
        self.lanes.drain(&self.arrays);
        let Arrays { params, rough, linear, .. } = &mut self.arrays;
        rough.frozen(|recorders| {
            let rsra = Rsra::new(params, recorders);
            let masks = self.search.masks_mut();
            share_chunks(self.threads, masks, PIECE / 8, |first, masks| {
                sweep::masks(rsra, span.rough_ages, first, masks);
            });
        });
        let rough_weights = self.search.weights(params.hot_weight());
        let linear_weights = match params.is_tagged() {
            true => Vec::new(), // see `finish`
            false => linear.frozen(|recorders| {
                let limit = u16::saturated(params.step(span.ages));
                let rows = recorders.chunks_exact(params.linear_row_len() as usize);
                rows.map(|row| count(row, limit, self.threads)).collect()
            }),
        };
        Ok(Survey { rough_weights, linear_weights })
    }

    fn regain(&mut self, weight: u32, limit: u32) -> Result<Option<Vec<Address>>, Error> {
        Ok(self.search.hosts(&self.arrays.params, weight, limit, self.threads))
    }

    fn tally(
        &mut self,
        hosts: &[Address],
        span: Span,
        positions: u32,
        each: &(dyn Fn(usize, &Tally) + Sync),
    ) -> Result<(), Error> {
        self.look_at(hosts, span, |number, tally| each(number, &tally(0..positions)));
        Ok(())
    }

    // A host at a time: what a glimpse looked at is not looked at again.
    fn tally_promising(
        &mut self,
        hosts: &[Address],
        span: Span,
        glimpse: u32,
        promises: &(dyn Fn(&Tally) -> bool + Sync),
        each: &(dyn Fn(usize, &Tally) + Sync),
    ) -> Result<(), Error> {
        let positions = self.arrays.params.linear_width();
        self.look_at(hosts, span, |number, tally| {
            let first = tally(0..glimpse);
            if promises(&first) {
                each(number, &first.and(&tally(glimpse..positions)));
            }
        });
        Ok(())
    }

    fn query(&self, host: Address, span: Span) -> Result<(Tally, Vec<u32>), Error> {
        let Arrays { params, linear, .. } = self.drained();
        let slea = Slea::new(params, linear.shared());
        let row_weights = match params.is_tagged() {
            true => Vec::new(),
            false => linear_weights(params, slea, span),
        };
        Ok((slea.tally(host, span, params.linear_width()), row_weights))
    }

    // The tagged SLEA is one row, which no estimate asks for: it is counted as it grows older.
    fn finish(&mut self, survey: &mut Survey, span: Span, ages: Ages) -> Result<(), Error> {
        let weight = self.age_by(span.ages, ages);
        if self.arrays.params.is_tagged() {
            survey.linear_weights = vec![weight];
        }
        Ok(())
    }

    fn age(&mut self, ages: Ages) -> Result<(), Error> {
        self.age_by(0, ages);
        Ok(())
    }

    fn export(&self, array: usize) -> Result<Words, Error> {
        let Arrays { rough, linear, .. } = self.drained();
        let arrays: [&dyn WordArray; ARRAYS] = [rough, linear];
        Ok(arrays[array].words())
    }

    fn merge(&mut self, array: usize, words: &Words, step: u64) -> Result<(), Error> {
        self.array_mut(array).merge(words, step);
        Ok(())
    }

    fn recent(&mut self, array: usize, range: RecentRange, coder: &mut Coder) -> Result<(), Error> {
        self.array_mut(array).recent(range, coder);
        Ok(())
    }

    fn apply(&mut self, array: usize, section: &Section<'_>, step: u64) -> Result<(), Error> {
        self.array_mut(array).apply(section, step);
        Ok(())
    }
}
