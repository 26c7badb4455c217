//! [`Arrays`]: the recorders of one detector in the memory of a device.

use srlg_core::{Ages, Params, Recorder16, Span};
use srlg_kernels::{Count, Kernel, Scan, ScanRows};

use super::device::{Gpu, Memory, On, Part, Pinned};
use crate::error::Error;

/// Bytes of pairs of one scan, which counts pairs in 32 bits.
const BYTES_PER_SCAN: usize = 1 << 30;

/// Blocks that fill a processor.
const BLOCKS_PER_PROCESSOR: usize = 8;

/// Which of the two arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Array {
    /// The RSRA: recorders of 8 bits in the tagged scheme, else of 16.
    Rough,
    /// The SLEA: recorders of 16 bits.
    Linear,
}

impl Array {
    /// Bytes of a recorder.
    pub(super) fn recorder_bytes(self, params: &Params) -> usize {
        if self == Self::Rough && params.is_tagged() { 1 } else { 2 }
    }

    /// Number of recorders.
    pub(super) fn recorders(self, params: &Params) -> usize {
        match self {
            Self::Rough => params.rough_recorders(),
            Self::Linear => params.linear_recorders(),
        }
    }

    /// Bytes of all recorders.
    fn bytes(self, params: &Params) -> usize {
        self.recorders(params) * self.recorder_bytes(params)
    }
}

/// Does `$work` with `$recorder` as the type of the recorders of `$array`.
macro_rules! by_width {
    ($array:expr, $params:expr, $recorder:ident => $work:expr) => {
        if $array.recorder_bytes($params) == 1 {
            type $recorder = srlg_core::Recorder8;
            $work
        } else {
            type $recorder = srlg_core::Recorder16;
            $work
        }
    };
}
pub(super) use by_width;

/// The recorders of both arrays, each array in whole words of 32 bits: kernels swap such words.
pub(super) struct Arrays<G: Gpu> {
    rough: G::Memory,
    linear: G::Memory,
}

/// A device, and the recorders of a detector there.
pub(super) struct GpuCtx<'a, G: Gpu> {
    pub(super) gpu: &'a G,
    pub(super) params: &'a Params,
    pub(super) arrays: &'a Arrays<G>,
}

impl<G: Gpu> Clone for GpuCtx<'_, G> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<G: Gpu> Copy for GpuCtx<'_, G> {}

impl<G: Gpu> Arrays<G> {
    /// Untouched recorders, as soon as `queue` gets there.
    pub(super) fn new(gpu: &G, queue: &G::Queue, params: &Params) -> Result<Self, Error> {
        let untouched = |array: Array| -> Result<_, Error> {
            let memory = gpu.allocate(array.bytes(params).next_multiple_of(size_of::<u32>()))?;
            gpu.fill(queue, memory.all(), u8::MAX)?;
            Ok(memory)
        };
        Ok(Self { rough: untouched(Array::Rough)?, linear: untouched(Array::Linear)? })
    }
}

impl<'a, G: Gpu> GpuCtx<'a, G> {
    /// The recorders of `array`.
    pub(super) fn recorders(self, array: Array) -> Part<'a, G::Memory> {
        let Part { memory, .. } = self.words(array);
        memory.part(0..array.bytes(self.params))
    }

    /// The words of 32 bits that hold them.
    pub(super) fn words(self, array: Array) -> Part<'a, G::Memory> {
        match array {
            Array::Rough => self.arrays.rough.all(),
            Array::Linear => self.arrays.linear.all(),
        }
    }

    /// Starts `kernel`: no more blocks than there is work for, and no more than run at once.
    pub(super) fn start(
        self,
        queue: &G::Queue,
        kernel: impl Kernel<Place = On<G>> + 'static,
    ) -> Result<(), Error> {
        let at_once = self.gpu.processors() as usize * BLOCKS_PER_PROCESSOR;
        let blocks = kernel.blocks().clamp(1, at_once);
        self.gpu.launch(queue, blocks as u32, kernel)
    }

    /// Starts a scan of `pairs`.
    pub(super) fn scan(
        self,
        queue: &G::Queue,
        pairs: Part<'_, G::Memory>,
        ages: Ages,
    ) -> Result<(), Error> {
        let params = *self.params;
        let (rough, linear) = (self.words(Array::Rough), self.words(Array::Linear));
        // None for no pairs, whose memory may have no address.
        for at in (0..pairs.bytes).step_by(BYTES_PER_SCAN) {
            let bytes = BYTES_PER_SCAN.min(pairs.bytes - at);
            let pairs = Part { start: pairs.start + at, bytes, ..pairs }.buffer();
            if params.is_tagged() {
                let (rough, linear) = (rough.buffer(), linear.buffer());
                self.start(queue, Scan { params, ages, pairs, rough, linear })?;
            } else {
                let (rough, linear) = (rough.buffer(), linear.buffer());
                self.start(queue, ScanRows { params, ages, pairs, rough, linear })?;
            }
        }
        Ok(())
    }

    /// Starts counting the recorders of the SLEA within `span`, per row, into `sums`.
    pub(super) fn count(
        self,
        queue: &G::Queue,
        span: Span,
        sums: Part<'_, G::Memory>,
    ) -> Result<(), Error> {
        let (row_len, limit) = (self.params.linear_row_len(), self.params.step(span.ages));
        let (recorders, sums) = (self.recorders(Array::Linear).buffer(), sums.buffer());
        self.start(queue, Count::<_, Recorder16> { row_len, limit, recorders, sums })
    }

    /// By how much the words of an array grow.
    pub(super) fn step(self, array: Array, ages: Ages) -> u32 {
        match array {
            Array::Rough => ages.rough,
            Array::Linear => self.params.step(ages.linear),
        }
    }

    /// Copies `bytes` to `to`, `by` pinned memory.
    pub(super) fn send(
        self,
        queue: &G::Queue,
        by: &mut G::Pinned,
        bytes: &[u8],
        to: &G::Memory,
    ) -> Result<(), Error> {
        let mut at = 0;
        for run in bytes.chunks(by.bytes()) {
            by.write(|pinned| pinned[..run.len()].copy_from_slice(run))?;
            self.gpu.upload(queue, by, 0, to.part(at..at + run.len()))?;
            at += run.len();
        }
        Ok(())
    }

    /// Copies `from`, `by` pinned memory, and hands `take` run after run of it.
    pub(super) fn fetch(
        self,
        queue: &G::Queue,
        from: Part<'_, G::Memory>,
        by: &G::Pinned,
        mut take: impl FnMut(&[u8]),
    ) -> Result<(), Error> {
        for at in (0..from.bytes).step_by(by.bytes()) {
            let bytes = by.bytes().min(from.bytes - at);
            let start = from.start + at;
            self.gpu.download(queue, from.memory.part(start..start + bytes), by)?;
            by.read(|pinned| take(&pinned[..bytes]))?;
        }
        Ok(())
    }
}
