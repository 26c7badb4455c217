//! The CPU backend: recorders in this process, updated by the threads that ingest.

mod arrays;
mod inbox;
mod lane;
mod lock;
mod looks;
#[cfg(test)]
mod model_tests;
mod pages;
#[cfg(target_arch = "x86_64")]
mod picking;
mod recent;
mod shards;
mod sweep;
#[cfg(test)]
mod tagged_model_tests;
mod waiting;
mod writers;

use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use srlg_core::counter::{Counter, Tally};
use srlg_core::scheme::{CounterRecorder, FinderRecorder};
use srlg_core::{
    ARRAYS, Ages, ArrayView, COUNTER, HostId, Params, ReadRecorder, RecentRange, Span, count_below,
    for_scheme,
};

use crate::backend::{Backend, Candidates, HostAnswers, HostTallies, Pairs, TallyVisitor, united};
use crate::device::Device;
use crate::error::Error;
use crate::finder::{CpuFinder, CpuSearch};
use crate::ingest::pairs::PairSlice;
use crate::ingest::pinned::{PairMemory, PinnedMemory};
use crate::share::{share, share_chunks};
use crate::state::{Coder, Section, Words};
use arrays::{Arrays, CpuScheme};
use inbox::Inboxes;
use pages::{Pages, WordArray};
use shards::Shards;
use sweep::RECORDERS_PER_CHUNK;

pub(crate) fn backend(params: Params) -> Result<Box<dyn Backend>, Error> {
    check_memory(params.recorder_bytes())?;
    for_scheme!(&params, Types => Ok(Box::new(CpuBackend::<Types>::new(params)?)))
}

/// Allocates at least `bytes` bytes of zeroed ordinary memory for pairs.
pub(crate) fn pin(bytes: usize) -> Result<Box<dyn PairMemory>, Error> {
    let (mut memory, words) = (Vec::new(), bytes.div_ceil(size_of::<u64>()));
    memory.try_reserve_exact(words).map_err(|_| Error::PinnedMemory { bytes })?;
    memory.resize(words, 0u64);
    Ok(Box::new(memory))
}

/// Number of hosts that a thread takes at a time.
const HOSTS_PER_PIECE: usize = 64;

/// Returns an error if the system reports fewer than `bytes` bytes of available memory.
///
/// Without this check, the mapping would succeed, but the kernel could kill the process when the recorders are first
/// written.
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
        _ => Ok(()), // The memory suffices, or the system does not report it.
    }
}

struct CpuBackend<S: CpuScheme> {
    arrays: Arrays<S>,
    inboxes: Inboxes<S>,
    search: <S::Finder as CpuFinder>::Search,
    threads: usize,
}

impl<S: CpuScheme> CpuBackend<S> {
    fn new(params: Params) -> Result<Self, Error> {
        let [finder, counter] = params.arrays().map(|shape| shape.recorders);
        let arrays = Arrays {
            params,
            finder: Pages::new(finder)?,
            counter: Pages::new(counter)?,
            shards: Shards::new(counter),
        };
        let search = CpuSearch::new(&params);
        Ok(Self { arrays, inboxes: Inboxes::new(), search, threads: 1 })
    }

    /// Applies all ingested pairs and returns the arrays.
    fn drained(&self) -> &Arrays<S> {
        self.inboxes.drain(&self.arrays);
        &self.arrays
    }

    fn drained_mut(&mut self) -> &mut Arrays<S> {
        self.inboxes.drain(&self.arrays);
        &mut self.arrays
    }

    /// Applies all ingested pairs and returns the array with the number `array`.
    fn array(&self, array: usize) -> &dyn WordArray {
        let Arrays { finder, counter, .. } = self.drained();
        let arrays: [&dyn WordArray; ARRAYS] = [finder, counter];
        arrays[array]
    }

    fn array_mut(&mut self, array: usize) -> &mut dyn WordArray {
        let Arrays { finder, counter, .. } = self.drained_mut();
        let arrays: [&mut dyn WordArray; ARRAYS] = [finder, counter];
        arrays.into_iter().nth(array).expect("the array exists")
    }

    /// Ingests pairs in pinned memory. This function is not inlined, so that a call with one plain pair does not pay
    /// for the setup.
    #[inline(never)]
    fn scan_pinned(&self, pairs: &PinnedMemory, ages: Ages) -> Result<(), Error> {
        pairs.scan(|pairs| self.scan_slice(pairs, ages))
    }

    /// Ingests pairs of either type. This function is not inlined, so that a call with one IPv4 pair does not pay for
    /// the code that handles IPv6.
    #[inline(never)]
    fn scan_slice(&self, pairs: PairSlice<'_>, ages: Ages) -> Result<(), Error> {
        pairs.family().check(&self.arrays.params)?;
        match pairs {
            PairSlice::V4(pairs) => self.inboxes.ingest(&self.arrays, pairs, ages),
            PairSlice::V6(pairs) => self.inboxes.ingest(&self.arrays, pairs, ages),
        }
        Ok(())
    }

    /// Returns the number of recorders within `span` in each row of the counter.
    fn row_weights(&mut self, span: Span) -> Vec<u32> {
        let (limit, threads) = (self.counter_limit(span), self.threads);
        let row_len = self.arrays.params.counter_sizes().row_len as usize;
        self.drained_mut().counter.frozen(|recorders| {
            recorders.chunks_exact(row_len).map(|row| count(row, limit, threads)).collect()
        })
    }

    /// Ages all recorders by `ages`. Returns the number of words in the counter's array that were below `limit` before
    /// ageing.
    fn age_all(&mut self, ages: Ages, limit: <CounterRecorder<S> as ReadRecorder>::Word) -> u32 {
        self.inboxes.drain(&self.arrays);
        self.inboxes.forget();
        self.arrays.shards.writers.forget();
        let (Arrays { params, finder, counter, .. }, threads) = (&mut self.arrays, self.threads);
        let [finder_step, counter_step] = params.age_steps(ages);
        let nothing = FinderRecorder::<S>::saturated(0u32);
        finder.age_by(FinderRecorder::<S>::saturated(finder_step), nothing, threads);
        counter.age_by(CounterRecorder::<S>::saturated(counter_step), limit, threads)
    }

    /// Returns the limit below which a word of the counter's array is within `span`.
    fn counter_limit(&self, span: Span) -> <CounterRecorder<S> as ReadRecorder>::Word {
        self.arrays.params.recent_ranges(span)[COUNTER].of_width().recent
    }
}

fn count<R: ReadRecorder>(recorders: &[R], limit: R::Word, threads: usize) -> u32 {
    let sum = AtomicU32::new(0);
    let chunks: Vec<&[R]> = recorders.chunks(RECORDERS_PER_CHUNK).collect();
    share(threads, chunks.len(), |chunk| {
        sum.fetch_add(sweep::count(chunks[chunk], limit), Relaxed);
    });
    sum.into_inner()
}

impl<S: CpuScheme> Backend for CpuBackend<S> {
    fn device(&self) -> Device {
        Device::Cpu
    }

    fn scan(&self, pairs: Pairs<'_>, ages: Ages) -> Result<(), Error> {
        match pairs {
            Pairs::Plain(PairSlice::V4(pairs)) => {
                self.inboxes.ingest(&self.arrays, pairs, ages);
                Ok(())
            }
            Pairs::Plain(pairs) => self.scan_slice(pairs, ages),
            Pairs::Pinned(pairs) => self.scan_pinned(pairs, ages),
            #[cfg(feature = "cuda")]
            Pairs::Resident(_) => Err(Error::NotOnDevice),
        }
    }

    fn pin(&self, bytes: usize) -> Result<Box<dyn PairMemory>, Error> {
        pin(bytes)
    }

    fn memory_bytes(&self) -> usize {
        self.arrays.params.recorder_bytes()
    }

    fn flush(&self) -> Result<(), Error> {
        self.drained();
        Ok(())
    }

    // A pair that was not counted may be counted from now on.
    fn set_params(&mut self, params: Params) -> Result<(), Error> {
        self.inboxes.drain(&self.arrays);
        self.inboxes.forget();
        self.arrays.params = params;
        Ok(())
    }

    fn set_threads(&mut self, threads: NonZeroUsize) {
        self.threads = threads.get();
    }

    fn candidates(&mut self, span: Span, kept: &[IpAddr], limit: u32) -> Result<Candidates, Error> {
        self.inboxes.drain(&self.arrays);
        let Self { arrays, search, threads, .. } = self;
        let (hosts, health) =
            arrays.finder.frozen(|recorders| search.candidates(recorders, span, limit, *threads));
        let needs_weights = self.arrays.params.needs_row_weights();
        let row_weights = needs_weights.then(|| self.row_weights(span));
        let hosts = united(hosts, kept);
        Ok(Candidates { span, count: hosts.len(), hosts, health, row_weights })
    }

    // The counts of a stage of a glimpse are kept for the later positions of its host, so that no position is examined
    // twice.
    fn tally(&mut self, candidates: &Candidates, visit: &TallyVisitor<'_>) -> Result<(), Error> {
        let threads = self.threads;
        let Arrays { params, counter, .. } = self.drained_mut();
        counter.frozen(|recorders| {
            let array = ArrayView::new(S::Counter::params(params.counter()), recorders);
            let Candidates { span, hosts, .. } = candidates;
            let ids: Vec<HostId> = hosts.iter().map(|&host| params.host_id(host)).collect();
            let stages = params.glimpse_stages();
            let stages = stages.as_ref().map_or(&[][..], |stages| stages);
            let pieces: Vec<_> =
                hosts.chunks(HOSTS_PER_PIECE).zip(ids.chunks(HOSTS_PER_PIECE)).collect();
            share(threads, pieces.len(), |piece| {
                let (hosts, ids) = pieces[piece];
                looks::tally::<S::Counter>(params, array, ids, *span, stages, |number, tallies| {
                    visit(&HostTallies { host: hosts[number], tallies, words: None });
                });
            });
        });
        Ok(())
    }

    fn query(&self, host: HostId, span: Span) -> Result<(Vec<Tally>, Vec<u32>), Error> {
        let Arrays { params, counter, .. } = self.drained();
        let (recorders, sizes) = (counter.shared(), params.counter_sizes());
        let row_weights = match params.needs_row_weights() {
            true => {
                let rows = recorders.chunks_exact(sizes.row_len as usize);
                rows.map(|row| count_below(row, self.counter_limit(span))).collect()
            }
            false => Vec::new(),
        };
        let array = ArrayView::new(S::Counter::params(params.counter()), recorders);
        let mut regions = params.regions();
        let tally = |positions| S::Counter::tally(array, host, span, positions);
        let mut tallies: Vec<Tally> = regions.next().map(tally).into_iter().collect();
        if tallies.iter().any(|fine| params.needs_coarse(fine, span)) {
            tallies.extend(regions.map(tally));
        }
        Ok((tallies, row_weights))
    }

    // As when a slice closes, the lines of the next host are prefetched during each look.
    fn query_all(&mut self, hosts: &[HostId], span: Span) -> Result<HostAnswers, Error> {
        let needs_weights = self.arrays.params.needs_row_weights();
        let row_weights = if needs_weights { self.row_weights(span) } else { Vec::new() };
        let mut tallies = vec![Vec::new(); hosts.len()];
        let threads = self.threads;
        let Arrays { params, counter, .. } = self.drained_mut();
        counter.frozen(|recorders| {
            let array = ArrayView::new(S::Counter::params(params.counter()), recorders);
            share_chunks(threads, &mut tallies, HOSTS_PER_PIECE, |first, answers| {
                let hosts = &hosts[first..first + answers.len()];
                looks::tally::<S::Counter>(params, array, hosts, span, &[], |number, tallies| {
                    answers[number] = tallies.to_vec();
                });
            });
        });
        Ok(HostAnswers { tallies, row_weights })
    }

    fn age(&mut self, ages: Ages) -> Result<(), Error> {
        if ages == Ages::default() {
            self.arrays.shards.writers.forget();
        } else {
            self.age_all(ages, CounterRecorder::<S>::saturated(0u32));
        }
        Ok(())
    }

    fn count_and_age(&mut self, span: Span, ages: Ages) -> Result<u32, Error> {
        let (limit, threads) = (self.counter_limit(span), self.threads);
        if ages == Ages::default() {
            self.arrays.shards.writers.forget();
            let counter = &mut self.drained_mut().counter;
            return Ok(counter.frozen(|recorders| count(recorders, limit, threads)));
        }
        Ok(self.age_all(ages, limit))
    }

    fn gather(&self, array: usize, places: &[u32]) -> Result<Words, Error> {
        Ok(self.array(array).gather(places))
    }

    fn export(&self, array: usize) -> Result<Words, Error> {
        Ok(self.array(array).words())
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
