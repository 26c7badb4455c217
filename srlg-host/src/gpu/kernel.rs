//! [`Kernel`]: a launch of a kernel of srlg-kernels with memory of a device, and its [`Shape`].

use srlg_core::regain::high_table_lens;
use srlg_core::{Ages, IpPair, Params, Span};
use srlg_kernels::survey::{SUMS, WEIGHTS};
use srlg_kernels::tally::PART;

use super::device::{Memory, Part};

/// Threads of a block.
const LANES: u32 = 256;

/// Which of the two arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Array {
    /// The RSRA: recorders of 8 bits in the tagged scheme, else of 16.
    Rough,
    /// The SLEA: recorders of 16 bits.
    Linear,
}

impl Array {
    /// Bytes of a recorder.
    pub(crate) fn recorder_bytes(self, params: &Params) -> usize {
        if self == Self::Rough && params.is_tagged() { 1 } else { 2 }
    }

    /// Number of recorders.
    pub(crate) fn recorders(self, params: &Params) -> usize {
        match self {
            Self::Rough => params.rough_recorders(),
            Self::Linear => params.linear_recorders(),
        }
    }

    /// Bytes of all recorders.
    pub(crate) fn bytes(self, params: &Params) -> usize {
        self.recorders(params) * self.recorder_bytes(params)
    }
}

/// A kernel and its memory; see srlg-kernels for what each does. The scheme of the params
/// chooses between kernels that exist for both.
#[derive(Debug)]
pub(crate) enum Kernel<'a, M> {
    Scan {
        ages: Ages,
        pairs: Part<'a, M>,
        rough: &'a M,
        linear: &'a M,
    },
    Survey {
        span: Span,
        rough: &'a M,
        masks: &'a M,
        weights: Part<'a, M>,
    },
    Weigh {
        span: Span,
        linear: &'a M,
        weights: Part<'a, M>,
    },
    Hot {
        row: u32,
        weight: u32,
        masks: &'a M,
        columns: &'a M,
        count: Part<'a, M>,
    },
    Regain {
        weight: u32,
        table: [&'a M; 3],
        masks: &'a M,
        columns: [&'a M; 2],
        counts: [Part<'a, M>; 2],
        hosts: Part<'a, M>,
        found: Part<'a, M>,
    },
    /// Of the tagged scheme.
    Tally {
        span: Span,
        positions: u32,
        hosts: Part<'a, M>,
        count: Part<'a, M>,
        linear: &'a M,
        bins: Part<'a, M>,
    },
    /// Of the paper's scheme.
    Union {
        span: Span,
        hosts: Part<'a, M>,
        count: Part<'a, M>,
        linear: &'a M,
        weights: Part<'a, M>,
    },
    Age {
        array: Array,
        recorders: &'a M,
        step: u32,
    },
    Merge {
        array: Array,
        recorders: &'a M,
        first: u32,
        words: Part<'a, M>,
        step: u32,
    },
    Extract {
        array: Array,
        ages: u32,
        recorders: &'a M,
        recent: Part<'a, M>,
        count: Part<'a, M>,
    },
    Apply {
        array: Array,
        recorders: &'a M,
        entries: Part<'a, M>,
        step: u32,
    },
}

/// Threads of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Blocks.
    pub(crate) blocks: u32,
    /// Threads of a block.
    pub(crate) lanes: u32,
}

impl<M: Memory> Kernel<'_, M> {
    /// Checks that all memory is as long as the kernel takes it to be.
    ///
    /// # Panics
    /// When it is not: a bug of the backend.
    pub(crate) fn check(&self, params: &Params) {
        let is_array = |array: Array, memory: &M| memory.bytes() == array.bytes(params);
        let is_one = |count: &Part<'_, M>| count.len::<u32>() == 1;
        let is_masks = |masks: &M| masks.bytes() == params.rough_estimators();
        let fits = match self {
            Self::Scan { pairs, rough, linear, .. } => {
                is_array(Array::Rough, rough)
                    && is_array(Array::Linear, linear)
                    && u32::try_from(pairs.len::<IpPair>()).is_ok()
            }
            Self::Survey { rough, masks, weights, .. } => {
                is_array(Array::Rough, rough)
                    && is_masks(masks)
                    && weights.len::<u32>() == params.rough_rows() as usize * WEIGHTS
            }
            Self::Weigh { linear, weights, .. } => {
                is_array(Array::Linear, linear)
                    && weights.len::<u32>() == params.linear_rows() as usize * SUMS
            }
            Self::Hot { row, masks, count, .. } => {
                *row < params.rough_rows() && is_masks(masks) && is_one(count)
            }
            Self::Regain { table, masks, columns, counts, found, .. } => {
                let lens = high_table_lens(params).map(|len| len * size_of::<u32>());
                table.map(M::bytes) == lens
                    && is_masks(masks)
                    && columns[0].bytes() == columns[1].bytes()
                    && counts.iter().all(is_one)
                    && is_one(found)
            }
            Self::Tally { span, positions, hosts, count, linear, bins } => {
                is_array(Array::Linear, linear)
                    && *positions <= params.linear_width()
                    && is_one(count)
                    && bins.len::<u32>() == hosts.len::<u32>() * span.bins()
            }
            Self::Union { hosts, count, linear, weights, .. } => {
                is_array(Array::Linear, linear)
                    && is_one(count)
                    && weights.len::<u32>() == hosts.len::<u32>()
            }
            Self::Age { array, recorders, .. } => is_array(*array, recorders),
            Self::Merge { array, recorders, first, words, .. } => {
                is_array(*array, recorders)
                    && *first as usize + words.len::<u16>() <= array.recorders(params)
            }
            Self::Extract { array, recorders, recent, count, .. } => {
                is_array(*array, recorders)
                    && u32::try_from(recent.len::<u64>()).is_ok()
                    && is_one(count)
            }
            Self::Apply { array, recorders, entries, .. } => {
                is_array(*array, recorders) && u32::try_from(entries.len::<u64>()).is_ok()
            }
        };
        assert!(fits, "memory of the kernel {}", self.name());
    }

    /// The threads to launch on a device of so many `processors`: no more than there is work,
    /// and no more than run at the same time.
    pub(crate) fn shape(&self, params: &Params, processors: u32) -> Shape {
        // Eight blocks of 256 threads fill a processor.
        let most = processors as usize * 8;
        let blocks = self.blocks(params).clamp(1, most);
        Shape { blocks: blocks as u32, lanes: LANES }
    }

    /// Blocks that there is work for.
    fn blocks(&self, params: &Params) -> usize {
        let of_threads = |threads: usize| threads.div_ceil(LANES as usize);
        match self {
            Self::Scan { pairs, .. } => of_threads(pairs.len::<IpPair>()),
            Self::Survey { .. } => of_threads(params.rough_estimators()),
            Self::Weigh { .. } => of_threads(params.linear_recorders()),
            Self::Hot { .. } => of_threads(params.rough_columns() as usize),
            Self::Regain { columns, .. } => columns[0].bytes() / size_of::<u32>(),
            Self::Tally { hosts, positions, .. } => {
                hosts.len::<u32>() * (*positions as usize).div_ceil(PART)
            }
            Self::Union { hosts, .. } => {
                hosts.len::<u32>() * (params.linear_width() as usize).div_ceil(PART)
            }
            Self::Age { array, .. } | Self::Extract { array, .. } => {
                of_threads(array.recorders(params))
            }
            Self::Merge { words, .. } => of_threads(words.len::<u16>()),
            Self::Apply { entries, .. } => of_threads(entries.len::<u64>()),
        }
    }

    /// What the kernel does, for messages.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Scan { .. } => "scan",
            Self::Survey { .. } => "survey",
            Self::Weigh { .. } => "weigh",
            Self::Hot { .. } => "hot",
            Self::Regain { .. } => "regain",
            Self::Tally { .. } => "tally",
            Self::Union { .. } => "union",
            Self::Age { .. } => "age",
            Self::Merge { .. } => "merge",
            Self::Extract { .. } => "extract",
            Self::Apply { .. } => "apply",
        }
    }
}
