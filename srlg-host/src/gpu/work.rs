//! [`Work`]: what is asked of the recorders, one question at a time.

use srlg_core::{Address, Ages, COUNTER, FINDER, Params, ReadRecorder, RecentRange, Span, Tally};
use srlg_kernels::survey::SUMS;
use zerocopy::{FromBytes, IntoBytes};

use super::answers::{host_bytes, most_host_bytes, share_out, tally, threads};
use super::arrays::To;
use super::device::{Gpu, Memory, Pinned};
use super::head::{row_weights, values};
use super::kernel::{Array, Kernel};
use super::search::Search;
use crate::error::Error;
use crate::state::{Coder, Section, StateWord, Words, code, with_width};

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
    pub(super) fn prepare(&mut self, to: To<'_, G>) -> Result<(), Error> {
        self.search.fill_table(to, &self.queue, &mut self.results_copy)
    }

    /// See [`Backend::tally`](crate::backend::Backend::tally).
    pub(super) fn tally(
        &mut self,
        to: To<'_, G>,
        (hosts, span, positions): (&[Address], Span, u32),
        each: &(dyn Fn(usize, &Tally) + Sync),
    ) -> Result<(), Error> {
        let tagged = to.params.is_tagged();
        let host_bytes = if tagged { host_bytes(span) } else { size_of::<u32>() };
        for (hosts, first) in hosts.chunks(HOSTS).zip((0..).step_by(HOSTS)) {
            self.ask(to, hosts)?;
            let results = self.results.part(0..hosts.len() * host_bytes);
            to.gpu.fill(&self.queue, results, 0)?;
            let count = self.asked.part(0..4);
            let asked = self.asked.part(4..4 + hosts.len() * 4);
            let linear = &to.arrays.linear;
            let kernel = match tagged {
                true => {
                    Kernel::Tally { span, positions, hosts: asked, count, linear, bins: results }
                }
                false => Kernel::Union { span, hosts: asked, count, linear, weights: results },
            };
            to.start(&self.queue, &kernel)?;
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
    fn ask(&mut self, to: To<'_, G>, hosts: &[Address]) -> Result<(), Error> {
        let bytes = hosts.as_bytes();
        self.asked_copy.write(|asked| {
            asked[..4].copy_from_slice(&(hosts.len() as u32).to_ne_bytes());
            asked[4..][..bytes.len()].copy_from_slice(bytes);
        })?;
        to.gpu.upload(&self.queue, &self.asked_copy, 0, self.asked.part(0..4 + bytes.len()))
    }

    /// Per row of the SLEA, how many recorders are within `span`.
    pub(super) fn weigh(&mut self, to: To<'_, G>, span: Span) -> Result<Vec<u32>, Error> {
        let weights = self.results.part(0..to.params.linear_rows() as usize * SUMS * 4);
        to.gpu.fill(&self.queue, weights, 0)?;
        to.start(&self.queue, &Kernel::Weigh { span, linear: &to.arrays.linear, weights })?;
        let mut rows = Vec::new();
        to.fetch(&self.queue, weights, &self.results_copy, |bytes| rows = row_weights(bytes))?;
        Ok(rows)
    }

    /// Makes every recorder so much older.
    pub(super) fn age(&self, to: To<'_, G>, ages: Ages) -> Result<(), Error> {
        [Array::Rough, Array::Linear].into_iter().try_for_each(|array| {
            let (recorders, step) = (to.arrays.of(array), to.step(array, ages));
            match step {
                0 => Ok(()),
                _ => to.start(&self.queue, &Kernel::Age { array, recorders, step }),
            }
        })
    }

    /// The words of that array.
    pub(super) fn export(&mut self, to: To<'_, G>, array: usize) -> Result<Words, Error> {
        with_width!(to.params.arrays()[array].width, W => Ok(W::wrap(self.words::<W>(to, array)?)))
    }

    fn words<W: StateWord>(&mut self, to: To<'_, G>, array: usize) -> Result<Vec<W>, Error> {
        let mut words = Vec::with_capacity(to.params.arrays()[array].recorders);
        let recorders = to.arrays.of(numbered(array)).all();
        to.fetch(&self.queue, recorders, &self.results_copy, |bytes| {
            words.extend_from_slice(<[W]>::ref_from_bytes(bytes).expect("aligned whole words"));
        })?;
        Ok(words)
    }

    /// Merges `words` into that array, aged by `step`.
    pub(super) fn merge(
        &mut self,
        to: To<'_, G>,
        array: usize,
        words: &Words,
        step: u64,
    ) -> Result<(), Error> {
        let shape = to.params.arrays()[array];
        let words: Vec<u16> = with_width!(shape.width, W => {
            W::of(words).iter().map(|&word| u16::saturated(word)).collect()
        });
        assert_eq!(words.len(), shape.recorders, "one fingerprint, one size");
        let (array, step, mut first) = (numbered(array), u32::saturated(step), 0);
        let recorders = to.arrays.of(array);
        for run in words.chunks(self.results.bytes() / size_of::<u16>()) {
            to.send(&self.queue, &mut self.results_copy, run.as_bytes(), &self.results)?;
            let words = self.results.part(0..size_of_val(run));
            to.start(&self.queue, &Kernel::Merge { array, recorders, first, words, step })?;
            first += run.len() as u32;
        }
        Ok(())
    }

    /// Writes to `coder` the recorders of that array whose words are in `range`.
    pub(super) fn recent(
        &mut self,
        to: To<'_, G>,
        array: usize,
        range: RecentRange,
        coder: &mut Coder,
    ) -> Result<(), Error> {
        with_width!(to.params.arrays()[array].width, W => {
            self.recent_words::<W>(to, array, range, coder)
        })
    }

    fn recent_words<W: StateWord>(
        &mut self,
        to: To<'_, G>,
        array: usize,
        range: RecentRange,
        coder: &mut Coder,
    ) -> Result<(), Error> {
        let count = self.asked.part(0..4);
        to.gpu.fill(&self.queue, count, 0)?;
        let age = to.params.age_steps(Ages { rough: 1, linear: 1 })[array];
        let (ages, recent) = ((range.recent / age) as u32, self.results.all());
        let (recorders, kind) = (to.arrays.of(numbered(array)), numbered(array));
        to.start(&self.queue, &Kernel::Extract { array: kind, ages, recorders, recent, count })?;
        let mut found = 0;
        to.fetch(&self.queue, count, &self.asked_copy, |bytes| found = values(bytes)[0] as usize)?;
        if found > recent.len::<u64>() {
            // The list has no room: from the whole array.
            code(&self.words::<W>(to, array)?, range, coder);
            return Ok(());
        }
        let (part, mut entries) = (self.results.part(0..found * 8), Vec::with_capacity(found));
        to.fetch(&self.queue, part, &self.results_copy, |bytes| {
            entries.extend_from_slice(<[u64]>::ref_from_bytes(bytes).expect("aligned memory"));
        })?;
        entries.sort_unstable();
        // The number of a recorder above its word, 32 bits each.
        let entry = |entry: u64| ((entry >> 32) as u32, W::saturated(entry as u32));
        let (places, words): (Vec<u32>, Vec<W>) = entries.into_iter().map(entry).unzip();
        coder.append(&places, &words);
        Ok(())
    }

    /// Merges the recorders in `section`, which are of that array, aged by `step`.
    pub(super) fn apply(
        &mut self,
        to: To<'_, G>,
        array: usize,
        section: &Section<'_>,
        step: u64,
    ) -> Result<(), Error> {
        let mut entries = Vec::with_capacity(section.len());
        with_width!(to.params.arrays()[array].width, W => section.walk(|place, word: W| {
            entries.push((place as u64) << 32 | Into::<u64>::into(word));
        }))?;
        let (array, step) = (numbered(array), u32::saturated(step));
        let recorders = to.arrays.of(array);
        for run in entries.chunks(self.results.bytes() / size_of::<u64>()) {
            to.send(&self.queue, &mut self.results_copy, run.as_bytes(), &self.results)?;
            let entries = self.results.part(0..size_of_val(run));
            to.start(&self.queue, &Kernel::Apply { array, recorders, entries, step })?;
        }
        Ok(())
    }
}

/// The array of that number, for kernels.
fn numbered(array: usize) -> Array {
    match array {
        FINDER => Array::Rough,
        COUNTER => Array::Linear,
        other => panic!("there is no array {other}"),
    }
}
