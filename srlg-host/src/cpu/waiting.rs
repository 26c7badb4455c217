//! [`Waiting`]: deferred touches of a finder, which are applied together.
//!
//! At θ = 1024, one pair in 32 is sampled, and its recorder is rarely in a cache. An immediate atomic operation would
//! wait for the recorder's line, and later instructions would wait for this operation. The line is therefore prefetched
//! immediately, and the touch is applied later.

use srlg_core::finder::Finder;
use srlg_core::{ArrayView, BATCH, Batch};

/// Maximum number of waiting touches. Each batch may add one touch per pair.
const ROOM: usize = 2 * BATCH;

pub(super) type FinderArray<'a, F> = ArrayView<'a, <F as Finder>::Params, <F as Finder>::Recorder>;

pub(super) struct Waiting<F: Finder> {
    count: usize,
    touches: Box<[F::Touch; ROOM]>,
}

impl<F: Finder> Waiting<F> {
    pub(super) fn new() -> Self {
        Self { count: 0, touches: Box::new([F::Touch::default(); ROOM]) }
    }

    /// Touches the recorders of a batch whose contacts were `age` epochs ago. Touches that the finder defers are added
    /// to the waiting touches.
    #[inline(always)]
    pub(super) fn touch(&mut self, array: FinderArray<'_, F>, batch: &impl Batch, age: u32) {
        F::touch(array, batch, age, |touch| {
            prefetch_index::prefetch_index(array.recorders(), F::place(touch) as usize);
            self.touches[self.count] = touch;
            self.count += 1;
        });
        if self.count > ROOM - BATCH {
            self.drain(array);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    #[inline(always)]
    pub(super) fn drain(&mut self, array: FinderArray<'_, F>) {
        F::apply(array, &self.touches[..self.count]);
        self.count = 0;
    }
}
