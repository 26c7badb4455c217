//! Transfer of recorder words to and from a device, for snapshots and deltas.
//!
//! Each method handles the recorders of one array.

use srlg_core::{RecentRange, Recorder};
use srlg_kernels::{Apply, Extract, Gather, KernelRecorder, Merge};
use zerocopy::IntoBytes;

use super::ctx::GpuCtx;
use super::device::{Gpu, Memory, Part, values};
use super::questions::Questions;
use crate::error::Error;
use crate::state::{Coder, Section, StateWord, Words, code};

pub(super) trait GpuRecorder: KernelRecorder + Recorder<Word: StateWord> {}

impl<R: KernelRecorder + Recorder<Word: StateWord>> GpuRecorder for R {}

impl<G: Gpu> Questions<G> {
    pub(super) fn export<R: GpuRecorder>(
        &mut self,
        ctx: GpuCtx<'_, G>,
        array: usize,
    ) -> Result<Words, Error> {
        let mut words = Vec::with_capacity(ctx.params.arrays()[array].recorders);
        ctx.fetch_into(ctx.recorders(array), &self.results_copy, &mut words)?;
        Ok(R::Word::wrap(words))
    }

    pub(super) fn gather<R: GpuRecorder>(
        &mut self,
        ctx: GpuCtx<'_, G>,
        array: usize,
        places: &[u32],
    ) -> Result<Words, Error> {
        let Self { results, results_copy, .. } = self;
        let mut all = Vec::with_capacity(places.len());
        for places in places.chunks(most_entries::<R>(results)) {
            let [words_part, places_part] = list_in::<R, _>(results, places.len());
            ctx.send(results_copy, places.as_bytes(), places_part)?;
            let (places, words) = (places_part.buffer(), words_part.buffer());
            let recorders = ctx.recorders(array).buffer();
            ctx.start(Gather::<_, R> { recorders, places, words })?;
            ctx.fetch_into(words_part, results_copy, &mut all)?;
        }
        Ok(R::Word::wrap(all))
    }

    pub(super) fn merge<R: GpuRecorder>(
        &mut self,
        ctx: GpuCtx<'_, G>,
        array: usize,
        words: &Words,
        step: u64,
    ) -> Result<(), Error> {
        let words = R::Word::of(words);
        assert_eq!(
            words.len(),
            ctx.params.arrays()[array].recorders,
            "equal fingerprints imply equal sizes"
        );
        let mut first = 0;
        for run in words.chunks(self.results.bytes() / size_of::<R>()) {
            let part = self.results.part(0..size_of_val(run));
            ctx.send(&mut self.results_copy, run.as_bytes(), part)?;
            let words = part.buffer();
            let recorders = ctx.words(array).buffer();
            ctx.start(Merge::<_, R> { first, step, words, recorders })?;
            first += run.len() as u32;
        }
        Ok(())
    }

    pub(super) fn recent<R: GpuRecorder>(
        &mut self,
        ctx: GpuCtx<'_, G>,
        array: usize,
        range: RecentRange,
        coder: &mut Coder,
    ) -> Result<(), Error> {
        let (room, entries) = (most_entries::<R>(&self.results), self.hosts.memory.part(0..4));
        ctx.clear(entries)?;
        let [words, places] = list_in::<R, _>(&self.results, room);
        ctx.start(Extract::<_, R> {
            recent: range.recent,
            echo: range.echo,
            recorders: ctx.recorders(array).buffer(),
            places: places.buffer(),
            words: words.buffer(),
            count: entries.buffer(),
        })?;
        let mut found = 0;
        ctx.fetch(entries, &self.hosts.copy, |bytes| found = values::<u32>(bytes)[0] as usize)?;
        if found > room {
            // The list is too small, so the whole array is copied.
            code(R::Word::of(&self.export::<R>(ctx, array)?), range, coder);
            return Ok(());
        }
        // Both lists are copied in several pieces if necessary.
        let (mut found_places, mut found_words) = (Vec::<u32>::new(), Vec::<R::Word>::new());
        let part = Part { bytes: found * size_of::<u32>(), ..places };
        ctx.fetch_into(part, &self.results_copy, &mut found_places)?;
        let part = Part { bytes: found * size_of::<R>(), ..words };
        ctx.fetch_into(part, &self.results_copy, &mut found_words)?;
        let mut list: Vec<_> = found_places.into_iter().zip(found_words).collect();
        list.sort_unstable();
        let (places, words): (Vec<u32>, Vec<R::Word>) = list.into_iter().unzip();
        coder.append(&places, &words);
        Ok(())
    }

    pub(super) fn apply<R: GpuRecorder>(
        &mut self,
        ctx: GpuCtx<'_, G>,
        array: usize,
        section: &Section<'_>,
        step: u64,
    ) -> Result<(), Error> {
        let (all_places, all_words) = section.list::<R::Word>()?;
        let Self { results, results_copy, .. } = self;
        let room = most_entries::<R>(results);
        for (places, words) in all_places.chunks(room).zip(all_words.chunks(room)) {
            let [words_part, places_part] = list_in::<R, _>(results, places.len());
            ctx.send(results_copy, words.as_bytes(), words_part)?;
            ctx.send(results_copy, places.as_bytes(), places_part)?;
            let (places, words) = (places_part.buffer(), words_part.buffer());
            let recorders = ctx.words(array).buffer();
            ctx.start(Apply::<_, R> { step, places, words, recorders })?;
        }
        Ok(())
    }
}

/// Returns the maximum number of recorders of type `R` that a list in `memory` can contain.
fn most_entries<R>(memory: &impl Memory) -> usize {
    memory.bytes() / (size_of::<R>() + size_of::<u32>()) - 1
}

/// Returns two parts of `memory` for a list of `entries` recorders of type `R`. The first part contains their words,
/// and the second part contains their indices in the array.
fn list_in<R, M: Memory>(memory: &M, entries: usize) -> [Part<'_, M>; 2] {
    let words = entries * size_of::<R>();
    let places = words.next_multiple_of(size_of::<u32>());
    [memory.part(0..words), memory.part(places..places + entries * size_of::<u32>())]
}
