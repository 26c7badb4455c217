//! Recorders as they age, and as words, from a device and to it, for snapshots and deltas. Each
//! method is for the recorders of one array.

use srlg_core::{ReadRecorder, RecentRange};
use srlg_kernels::{Age, Apply, Extract, Merge};
use zerocopy::{FromBytes, IntoBytes};

use super::answers::values;
use super::ctx::GpuCtx;
use super::device::{Gpu, Memory};
use super::scheme::{GpuRecorder, GpuScheme};
use super::work::Work;
use crate::error::Error;
use crate::state::{Coder, Section, StateWord, Words, code};

impl<G: Gpu, S: GpuScheme> Work<G, S> {
    /// Returns the words of `array`, whose recorders are `R`.
    pub(super) fn export<R: GpuRecorder>(
        &mut self,
        ctx: GpuCtx<'_, G, S>,
        array: usize,
    ) -> Result<Words, Error> {
        let mut words = Vec::with_capacity(ctx.params.arrays()[array].recorders);
        ctx.fetch(ctx.recorders(array), &self.results_copy, |bytes| {
            words.extend_from_slice(<[R::Word]>::ref_from_bytes(bytes).expect("aligned words"));
        })?;
        Ok(R::Word::wrap(words))
    }

    /// Ages `array` by `step`.
    pub(super) fn age<R: GpuRecorder>(
        &mut self,
        ctx: GpuCtx<'_, G, S>,
        array: usize,
        step: u64,
    ) -> Result<(), Error> {
        let (step, recorders) = (u32::saturated(step), ctx.recorders(array).buffer());
        ctx.start(Age::<_, R> { step, recorders })
    }

    /// Merges `words` into `array`, aged by `step`.
    pub(super) fn merge<R: GpuRecorder>(
        &mut self,
        ctx: GpuCtx<'_, G, S>,
        array: usize,
        words: &Words,
        step: u64,
    ) -> Result<(), Error> {
        let (words, step) = (R::Word::of(words), u32::saturated(step));
        assert_eq!(words.len(), ctx.params.arrays()[array].recorders, "one fingerprint, one size");
        let mut first = 0;
        for run in words.chunks(self.results.bytes() / size_of::<R>()) {
            ctx.send(&mut self.results_copy, run.as_bytes(), &self.results)?;
            let words = self.results.part(0..size_of_val(run)).buffer();
            let recorders = ctx.words(array).buffer();
            ctx.start(Merge::<_, R> { first, step, words, recorders })?;
            first += run.len() as u32;
        }
        Ok(())
    }

    /// Writes to `coder` the recorders of `array` whose words are in `range`.
    pub(super) fn recent<R: GpuRecorder>(
        &mut self,
        ctx: GpuCtx<'_, G, S>,
        array: usize,
        range: RecentRange,
        coder: &mut Coder,
    ) -> Result<(), Error> {
        let count = self.asked.part(0..4);
        ctx.clear(count)?;
        let [recent, echo] = [range.recent, range.echo].map(u32::saturated);
        let (recorders, entries) = (ctx.recorders(array).buffer(), self.results.all().buffer());
        let extract = Extract::<_, R> { recent, echo, recorders, entries, count: count.buffer() };
        ctx.start(extract)?;
        let mut found = 0;
        ctx.fetch(count, &self.asked_copy, |bytes| found = values(bytes)[0] as usize)?;
        if found > self.results.bytes() / size_of::<u64>() {
            // The list has no room: from the whole array.
            code(R::Word::of(&self.export::<R>(ctx, array)?), range, coder);
            return Ok(());
        }
        let (part, mut entries) = (self.results.part(0..found * 8), Vec::with_capacity(found));
        ctx.fetch(part, &self.results_copy, |bytes| {
            entries.extend_from_slice(<[u64]>::ref_from_bytes(bytes).expect("aligned memory"));
        })?;
        entries.sort_unstable();
        // The number of a recorder above its word, 32 bits each.
        let entry = |entry: u64| ((entry >> 32) as u32, R::saturated(entry as u32));
        let (places, words): (Vec<u32>, Vec<R::Word>) = entries.into_iter().map(entry).unzip();
        coder.append(&places, &words);
        Ok(())
    }

    /// Merges the recorders in `section`, which are of `array`, aged by `step`.
    pub(super) fn apply<R: GpuRecorder>(
        &mut self,
        ctx: GpuCtx<'_, G, S>,
        array: usize,
        section: &Section<'_>,
        step: u64,
    ) -> Result<(), Error> {
        let (mut entries, step) = (Vec::with_capacity(section.len()), u32::saturated(step));
        section.walk(|place, word: R::Word| {
            entries.push((place as u64) << 32 | Into::<u64>::into(word));
        })?;
        for run in entries.chunks(self.results.bytes() / size_of::<u64>()) {
            ctx.send(&mut self.results_copy, run.as_bytes(), &self.results)?;
            let entries = self.results.part(0..size_of_val(run)).buffer();
            let recorders = ctx.words(array).buffer();
            ctx.start(Apply::<_, R> { step, entries, recorders })?;
        }
        Ok(())
    }
}
