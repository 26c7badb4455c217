//! [`GpuCtx`]: a device and a detector there, whose scheme is known.

use std::ops::Deref;

use srlg_core::scheme::{CounterParams, CounterRecorder, FinderParams};
use srlg_core::{Ages, COUNTER, FINDER, Params, Span};
use srlg_kernels::Count;

use super::arrays::{Arrays, DeviceCtx};
use super::device::{Gpu, Part};
use super::scheme::{GpuCounter, GpuFinder, GpuScheme};
use crate::error::Error;

/// Bytes of pairs of one scan, which counts pairs in 32 bits.
const BYTES_PER_SCAN: usize = 1 << 30;

/// A device, the arrays of a detector there, and what its finder and its counter need.
pub(super) struct GpuCtx<'a, G: Gpu, S: GpuScheme> {
    device: DeviceCtx<'a, G>,
    pub(super) finder_params: &'a FinderParams<S>,
    pub(super) counter_params: &'a CounterParams<S>,
}

impl<G: Gpu, S: GpuScheme> Clone for GpuCtx<'_, G, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<G: Gpu, S: GpuScheme> Copy for GpuCtx<'_, G, S> {}

impl<'a, G: Gpu, S: GpuScheme> Deref for GpuCtx<'a, G, S> {
    type Target = DeviceCtx<'a, G>;

    fn deref(&self) -> &DeviceCtx<'a, G> {
        &self.device
    }
}

impl<'a, G: Gpu, S: GpuScheme> GpuCtx<'a, G, S> {
    pub(super) fn new(
        (gpu, params, arrays): (&'a G, &'a Params, &'a Arrays<G>),
        (finder_params, counter_params): (&'a FinderParams<S>, &'a CounterParams<S>),
    ) -> Self {
        Self { device: DeviceCtx { gpu, params, arrays }, finder_params, counter_params }
    }

    /// Starts a scan of `pairs`.
    pub(super) fn scan(
        self,
        queue: &G::Queue,
        pairs: Part<'_, G::Memory>,
        ages: Ages,
    ) -> Result<(), Error> {
        let Self { device, finder_params, counter_params } = self;
        let (finder, counter) = (self.words(FINDER), self.words(COUNTER));
        // None for no pairs, whose memory may have no address.
        for at in (0..pairs.bytes).step_by(BYTES_PER_SCAN) {
            let bytes = BYTES_PER_SCAN.min(pairs.bytes - at);
            let pairs = Part { start: pairs.start + at, bytes, ..pairs };
            S::Finder::touch(device, queue, finder_params, (pairs, finder), ages.finder)?;
            S::Counter::touch(device, queue, counter_params, (pairs, counter), ages.counter)?;
        }
        Ok(())
    }

    /// Starts counting the recorders of the counter within `span`, per row, into `sums`.
    pub(super) fn count(
        self,
        queue: &G::Queue,
        span: Span,
        sums: Part<'_, G::Memory>,
    ) -> Result<(), Error> {
        let (row_len, limit) = (self.params.counter_sizes().row_len, self.params.step(span.ages));
        let (recorders, sums) = (self.recorders(COUNTER).buffer(), sums.buffer());
        self.start(queue, Count::<_, CounterRecorder<S>> { row_len, limit, recorders, sums })
    }
}
