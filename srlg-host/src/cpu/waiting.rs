//! [`Waiting`]: touches of a finder that wait until there are many.
//!
//! One pair in some tens is sampled, and its recorder is in no cache. A swap waits for its line, and everything
//! behind it waits with it. So the line is asked for at once, and the touch comes later.

use srlg_core::finder::Finder;
use srlg_core::{ArrayView, BATCH, Batch};

/// Room for touches. Each batch may bring one for each pair.
const ROOM: usize = 2 * BATCH;

/// A finder's array.
pub(super) type FinderArray<'a, F> = ArrayView<'a, <F as Finder>::Params, <F as Finder>::Recorder>;

/// The touches of one thread that wait.
pub(super) struct Waiting<F: Finder> {
    count: usize,
    touches: Box<[F::Touch; ROOM]>,
}

impl<F: Finder> Waiting<F> {
    pub(super) fn new() -> Self {
        Self { count: 0, touches: Box::new([F::Touch::default(); ROOM]) }
    }

    /// Touches the pairs of a batch, `age` epochs ago; touches that the finder leaves for later wait.
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

    /// Whether no touch waits.
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Applies all touches that wait.
    #[inline(always)]
    pub(super) fn drain(&mut self, array: FinderArray<'_, F>) {
        F::apply(array, &self.touches[..self.count]);
        self.count = 0;
    }
}
