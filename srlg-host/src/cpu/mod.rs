//! The CPU backend: recorders in this process, touched by the threads that ingest.

#[cfg(test)]
mod model_tests;
mod pages;
mod search;

use srlg_core::{
    Address, Ages, Frozen16, IpPair, Params, Reading, Recorder8, Recorder16, Rsra, Slea, Span,
    Tally,
};

use crate::backend::{Backend, Survey};
use crate::device::Device;
use crate::error::Error;
use crate::pinned::PinnedPairs;
use crate::state::{Touched, Words, entry};
use pages::{Mappable, Pages};
use search::Search;

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

/// Both arrays and the search structure of one detector; `R` are the recorders of the RSRA.
struct CpuBackend<R: Mappable> {
    params: Params,
    rough: Pages<R>,
    linear: Pages<Recorder16>,
    search: Search,
}

impl<R: Mappable> CpuBackend<R> {
    /// Allocates the arrays of `params`, untouched.
    fn new(params: Params) -> Result<Self, Error> {
        Ok(Self {
            params,
            rough: Pages::new(params.rough_recorders())?,
            linear: Pages::new(params.linear_recorders())?,
            search: Search::new(&params),
        })
    }
}

/// Per row of the SLEA, how many recorders are within `span`.
fn linear_weights<R>(params: &Params, slea: Slea<'_, R>, span: Span) -> Vec<u32>
where
    R: Reading<Word = u16>,
{
    (0..params.linear_rows()).map(|row| slea.row_weight(row, span)).collect()
}

/// Touches the SLEA; compiled for wider vectors as [`tally`].
#[multiversion::multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512dq+avx512vl+bmi1+bmi2+popcnt",
    "x86_64+avx2+bmi1+bmi2+popcnt",
))]
fn touch(params: &Params, recorders: &[Recorder16], pairs: &[IpPair], age: u32) {
    Slea::new(params, recorders).touch(pairs, age);
}

/// Tally of `host`, compiled for wider vectors too, which are taken where there are any.
#[multiversion::multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512dq+avx512vl+bmi1+bmi2+popcnt",
    "x86_64+avx2+bmi1+bmi2+popcnt",
))]
fn tally(
    params: &Params,
    recorders: &[Frozen16],
    host: Address,
    span: Span,
    positions: u32,
) -> Tally {
    Slea::new(params, recorders).tally(host, span, positions)
}

/// Keeps the more recent of each recorder and its word, aged by `step`.
fn merge_words<R: Mappable>(pages: &Pages<R>, words: &[u16], step: u32) {
    assert_eq!(pages.shared().len(), words.len(), "states of one fingerprint are of one size");
    for (recorder, &word) in pages.shared().iter().zip(words) {
        recorder.most_recent(R::grown(R::saturated(word.into()), step));
    }
}

/// The words of `pages`, which fit in 16 bits.
fn words<R: Mappable>(pages: &Pages<R>) -> Vec<u16> {
    let words = pages.shared().iter().map(|recorder| recorder.word().into());
    words.map(|word: u32| word as u16).collect()
}

/// The recorders of `pages` whose word `is_recent`.
fn entries<R: Mappable>(pages: &Pages<R>, is_recent: impl Fn(u32) -> bool) -> Vec<u64> {
    let words = pages.shared().iter().map(|recorder| recorder.word().into()).enumerate();
    words.filter(|&(_, word)| is_recent(word)).map(|(at, word)| entry(at, word)).collect()
}

/// Keeps the more recent of each recorder of `entries` and its word there, aged by `step`.
fn merge_entries<R: Mappable>(pages: &Pages<R>, entries: &[u64], step: u32) {
    let recorders = pages.shared();
    for &entry in entries {
        let word = R::grown(R::saturated(entry as u32), step);
        recorders[(entry >> 32) as usize].most_recent(word);
    }
}

impl<R: Mappable> Backend for CpuBackend<R> {
    fn device(&self) -> Device {
        Device::Cpu
    }

    fn scan(&self, pairs: &[IpPair], ages: Ages) -> Result<(), Error> {
        let rsra = Rsra::new(&self.params, self.rough.shared());
        // Both arrays take a batch while it is in the first cache.
        for batch in pairs.chunks(1024) {
            batch.iter().for_each(|&pair| rsra.touch(pair, ages.rough));
            touch(&self.params, self.linear.shared(), batch, ages.linear);
        }
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
        Ok(()) // a scan is done when it returns
    }

    fn survey(&mut self, span: Span) -> Result<Survey, Error> {
        let params = &self.params;
        let rough_weights = self.rough.frozen(|recorders| {
            let masks = Rsra::new(params, recorders).masks(span.rough_ages);
            self.search.survey(masks, params.hot_weight())
        });
        let linear_weights = self
            .linear
            .frozen(|recorders| linear_weights(params, Slea::new(params, recorders), span));
        Ok(Survey { rough_weights, linear_weights })
    }

    fn regain(&mut self, weight: u32, limit: u32) -> Result<Option<Vec<Address>>, Error> {
        Ok(self.search.hosts(&self.params, weight, limit))
    }

    fn tally(
        &mut self,
        hosts: &[Address],
        span: Span,
        positions: u32,
        each: &(dyn Fn(usize, &Tally) + Sync),
    ) -> Result<(), Error> {
        let params = &self.params;
        self.linear.frozen(|recorders| {
            for (number, &host) in hosts.iter().enumerate() {
                each(number, &tally(params, recorders, host, span, positions));
            }
        });
        Ok(())
    }

    fn query(&self, host: Address, span: Span) -> Result<(Tally, Vec<u32>), Error> {
        let slea = Slea::new(&self.params, self.linear.shared());
        let row_weights = match self.params.is_tagged() {
            true => Vec::new(),
            false => linear_weights(&self.params, slea, span),
        };
        Ok((slea.tally(host, span, self.params.linear_width()), row_weights))
    }

    fn age(&mut self, ages: Ages) -> Result<(), Error> {
        self.rough.grow(ages.rough);
        self.linear.grow(self.params.step(ages.linear));
        Ok(())
    }

    fn export(&self) -> Result<Words, Error> {
        Ok(Words { rough: words(&self.rough), linear: words(&self.linear) })
    }

    fn merge(&mut self, words: &Words, ages: Ages) -> Result<(), Error> {
        merge_words(&self.rough, &words.rough, ages.rough);
        merge_words(&self.linear, &words.linear, self.params.step(ages.linear));
        Ok(())
    }

    fn recent(&self, span: Span) -> Result<Touched, Error> {
        let rough = entries(&self.rough, |word| word < span.rough_ages);
        let linear = entries(&self.linear, |word| self.params.is_recent(word as u16, span.ages));
        Ok(Touched { rough, linear })
    }

    fn apply(&mut self, touched: &Touched, ages: Ages) -> Result<(), Error> {
        merge_entries(&self.rough, &touched.rough, ages.rough);
        merge_entries(&self.linear, &touched.linear, self.params.step(ages.linear));
        Ok(())
    }
}
