//! [`Work`]: what is asked of the recorders, one question at a time.

use srlg_core::{Address, Ages, Params, Reading, Span, Tally};
use srlg_kernels as kernels;
use srlg_kernels::survey::SUMS;
use zerocopy::{FromBytes, IntoBytes};

use super::answers::{host_bytes, most_host_bytes, share_out, tally, threads};
use super::arrays::{Array, GpuCtx, by_width};
use super::device::{Gpu, Memory, Pinned};
use super::head::{row_weights, values};
use super::search::Search;
use crate::error::Error;
use crate::state::{Coder, Near, Section, Words, code_words, coders};

/// Hosts whose tallies are brought back together.
const HOSTS: usize = if cfg!(test) { 3 } else { 1024 };

/// Bytes that pass between host and device together, at least.
const LEAST: usize = if cfg!(test) { 30_720 } else { 1 << 20 };

/// A queue for questions, and memory for their answers.
pub(super) struct Work<G: Gpu> {
    pub(super) queue: G::Queue,
    pub(super) search: Search<G>,
    /// Threads that may look at tallies.
    pub(super) threads: usize,
    /// Tallies, or anything else that passes between host and device.
    results: G::Memory,
    results_copy: G::Pinned,
    /// The hosts of a question, behind their number.
    asked: G::Memory,
    asked_copy: G::Pinned,
}

impl<G: Gpu> Work<G> {
    /// Memory for questions, in a queue in which there may be work already.
    pub(super) fn new(gpu: &G, queue: G::Queue, params: &Params) -> Result<Self, Error> {
        let results = LEAST.max(HOSTS * most_host_bytes(params)).next_multiple_of(8);
        let asked = (1 + HOSTS) * size_of::<u32>();
        Ok(Self {
            queue,
            search: Search::new(gpu, params)?,
            threads: threads(),
            results: gpu.allocate(results)?,
            results_copy: gpu.pin(results)?,
            asked: gpu.allocate(asked)?,
            asked_copy: gpu.pin(asked)?,
        })
    }

    /// Fills what does not change any more.
    pub(super) fn prepare(&mut self, to: GpuCtx<'_, G>) -> Result<(), Error> {
        self.search.fill_table(to, &self.queue, &mut self.results_copy)
    }

    /// See [`Backend::tally`](crate::backend::Backend::tally).
    pub(super) fn tally(
        &mut self,
        to: GpuCtx<'_, G>,
        (hosts, span, positions): (&[Address], Span, u32),
        each: &(dyn Fn(usize, &Tally) + Sync),
    ) -> Result<(), Error> {
        let tagged = to.params.is_tagged();
        let host_bytes = if tagged { host_bytes(span) } else { size_of::<u32>() };
        for (hosts, first) in hosts.chunks(HOSTS).zip((0..).step_by(HOSTS)) {
            self.ask(to, hosts)?;
            let results = self.results.part(0..hosts.len() * host_bytes);
            to.gpu.fill(&self.queue, results, 0)?;
            let (params, count) = (*to.params, self.asked.part(0..4).buffer());
            let asked = self.asked.part(4..4 + hosts.len() * 4).buffer();
            let (linear, answers) = (to.recorders(Array::Linear).buffer(), results.buffer());
            if tagged {
                let (hosts, bins) = (asked, answers);
                to.start(
                    &self.queue,
                    kernels::Tally { params, span, positions, hosts, count, linear, bins },
                )?;
            } else {
                let (hosts, weights) = (asked, answers);
                to.start(
                    &self.queue,
                    kernels::Union { params, span, hosts, count, linear, weights },
                )?;
            }
            to.fetch(&self.queue, results, &self.results_copy, |bytes| match tagged {
                true => share_out(self.threads, hosts.len(), |host| {
                    each(first + host, &tally(&bytes[host * host_bytes..][..host_bytes], span));
                }),
                false => (first..)
                    .zip(values(bytes))
                    .for_each(|(host, weight)| each(host, &Tally::Union(weight))),
            })?;
        }
        Ok(())
    }

    /// Sends `hosts`, behind their number.
    fn ask(&mut self, to: GpuCtx<'_, G>, hosts: &[Address]) -> Result<(), Error> {
        let bytes = hosts.as_bytes();
        self.asked_copy.write(|asked| {
            asked[..4].copy_from_slice(&(hosts.len() as u32).to_ne_bytes());
            asked[4..][..bytes.len()].copy_from_slice(bytes);
        })?;
        to.gpu.upload(&self.queue, &self.asked_copy, 0, self.asked.part(0..4 + bytes.len()))
    }

    /// Per row of the SLEA, how many recorders are within `span`.
    pub(super) fn count(&mut self, to: GpuCtx<'_, G>, span: Span) -> Result<Vec<u32>, Error> {
        let sums = self.results.part(0..to.params.linear_rows() as usize * SUMS * 4);
        to.gpu.fill(&self.queue, sums, 0)?;
        to.count(&self.queue, span, sums)?;
        let mut rows = Vec::new();
        to.fetch(&self.queue, sums, &self.results_copy, |bytes| rows = row_weights(bytes))?;
        Ok(rows)
    }

    /// Makes every recorder so much older.
    pub(super) fn age(&self, to: GpuCtx<'_, G>, ages: Ages) -> Result<(), Error> {
        [Array::Rough, Array::Linear].into_iter().try_for_each(|array| {
            let (recorders, step) = (to.recorders(array), to.step(array, ages));
            if step == 0 {
                return Ok(());
            }
            by_width!(array, to.params, R => {
                let recorders = recorders.buffer();
                to.start(&self.queue, kernels::Age::<_, R> { recorders, step })
            })
        })
    }

    /// The words of both arrays.
    pub(super) fn export(&mut self, to: GpuCtx<'_, G>) -> Result<Words, Error> {
        Ok(Words { rough: self.words(to, Array::Rough)?, linear: self.words(to, Array::Linear)? })
    }

    fn words(&mut self, to: GpuCtx<'_, G>, array: Array) -> Result<Vec<u16>, Error> {
        let wide = array.recorder_bytes(to.params) == 2;
        let mut words = Vec::with_capacity(array.recorders(to.params));
        let recorders = to.recorders(array);
        to.fetch(&self.queue, recorders, &self.results_copy, |bytes| match wide {
            true => words.extend(bytes.as_chunks().0.iter().map(|&word| u16::from_ne_bytes(word))),
            false => words.extend(bytes.iter().copied().map(u16::from)),
        })?;
        Ok(words)
    }

    /// Merges `words`, made so much older.
    pub(super) fn merge(
        &mut self,
        to: GpuCtx<'_, G>,
        words: &Words,
        ages: Ages,
    ) -> Result<(), Error> {
        for (array, words) in [(Array::Rough, &words.rough), (Array::Linear, &words.linear)] {
            assert_eq!(words.len(), array.recorders(to.params), "one fingerprint, one size");
            let (recorders, step) = (to.words(array), to.step(array, ages));
            let mut first = 0;
            by_width!(array, to.params, R => {
                for run in words.chunks(self.results.bytes() / size_of::<R>()) {
                    let run: Vec<_> = run.iter().map(|&word| R::saturated(word.into())).collect();
                    to.send(&self.queue, &mut self.results_copy, run.as_bytes(), &self.results)?;
                    let words = self.results.part(0..size_of_val(&run[..])).buffer();
                    let recorders = recorders.buffer();
                    to.start(
                        &self.queue,
                        kernels::Merge::<_, R> { first, step, words, recorders },
                    )?;
                    first += run.len() as u32;
                }
            });
        }
        Ok(())
    }

    /// What was touched within `span`.
    pub(super) fn recent(&mut self, to: GpuCtx<'_, G>, span: Span) -> Result<[Coder; 2], Error> {
        let [(of_rough, mut rough), (of_linear, mut linear)] = coders(to.params, span);
        self.recent_of(to, Array::Rough, of_rough, &mut rough)?;
        self.recent_of(to, Array::Linear, of_linear, &mut linear)?;
        Ok([rough, linear])
    }

    fn recent_of(
        &mut self,
        to: GpuCtx<'_, G>,
        array: Array,
        near: Near,
        coder: &mut Coder,
    ) -> Result<(), Error> {
        let count = self.asked.part(0..4);
        to.gpu.fill(&self.queue, count, 0)?;
        let (recent, echo) = (near.recent.into(), near.echo.into());
        by_width!(array, to.params, R => {
            let recorders = to.recorders(array).buffer();
            let (entries, count) = (self.results.all().buffer(), count.buffer());
            to.start(
                &self.queue,
                kernels::Extract::<_, R> { recent, echo, recorders, entries, count },
            )
        })?;
        let mut found = 0;
        to.fetch(&self.queue, count, &self.asked_copy, |bytes| found = values(bytes)[0] as usize)?;
        if found > self.results.bytes() / size_of::<u64>() {
            // The list has no room: from the whole array.
            code_words(&self.words(to, array)?, near, coder);
            return Ok(());
        }
        let (part, mut entries) = (self.results.part(0..found * 8), Vec::with_capacity(found));
        to.fetch(&self.queue, part, &self.results_copy, |bytes| {
            entries.extend_from_slice(<[u64]>::ref_from_bytes(bytes).expect("aligned memory"));
        })?;
        entries.sort_unstable();
        // The number of a recorder above its word, 32 bits each.
        let (places, words): (Vec<u32>, Vec<u16>) =
            entries.into_iter().map(|entry| ((entry >> 32) as u32, entry as u16)).unzip();
        coder.append(&places, &words);
        Ok(())
    }

    /// Merges what another detector touched, made so much older.
    pub(super) fn apply(
        &mut self,
        to: GpuCtx<'_, G>,
        [rough, linear]: &[Section<'_>; 2],
        ages: Ages,
    ) -> Result<(), Error> {
        for (array, section) in [(Array::Rough, rough), (Array::Linear, linear)] {
            let (recorders, step) = (to.words(array), to.step(array, ages));
            let mut entries = Vec::with_capacity(section.len());
            section.walk(|place, word| entries.push((place as u64) << 32 | u64::from(word)))?;
            for run in entries.chunks(self.results.bytes() / size_of::<u64>()) {
                to.send(&self.queue, &mut self.results_copy, run.as_bytes(), &self.results)?;
                by_width!(array, to.params, R => {
                    let entries = self.results.part(0..size_of_val(run)).buffer();
                    let recorders = recorders.buffer();
                    to.start(&self.queue, kernels::Apply::<_, R> { step, entries, recorders })
                })?;
            }
        }
        Ok(())
    }
}
