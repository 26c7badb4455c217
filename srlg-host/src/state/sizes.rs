//! [`Sizes`]: every size of a detector, written with its snapshots.

use srlg_core::Params;
use zerocopy::little_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::error::{FormatError, wrong};

/// All sizes, in the order of docs/format.md; the seed is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
pub(crate) struct Sizes([U32; COUNT]);

const COUNT: usize = 18;

/// What is called how, and how large it is.
type Named = (&'static str, fn(&Params) -> u32);

const NAMED: [Named; COUNT] = [
    ("threshold", Params::threshold),
    ("window", Params::window),
    ("rough_rows", |params| params.finder_sizes().rows),
    ("rough_column_bits", |params| params.finder_sizes().column_bits),
    ("rough_width", |params| params.finder_sizes().width),
    ("bit_stride", |params| params.finder_sizes().bit_stride),
    ("lsb_threshold", |params| params.finder_sizes().lsb_threshold),
    ("linear_rows", |params| params.counter_sizes().rows),
    ("linear_columns", |params| params.counter_sizes().columns),
    ("linear_width", |params| params.counter_sizes().width),
    ("linear_stride", |params| params.counter_sizes().stride),
    ("hot_limit", |params| params.finder_sizes().hot_limit),
    ("candidate_limit", Params::candidate_limit),
    ("tags", |params| params.counter_sizes().tags),
    ("echo_delay", |params| params.counter_sizes().echo_delay),
    ("epoch_slices", |params| params.counter_sizes().epoch_slices),
    ("rough_epoch_slices", |params| params.finder_sizes().epoch_slices),
    ("hash", |params| params.hash_family() as u32),
];

impl Sizes {
    pub(crate) fn of(params: &Params) -> Self {
        Self(NAMED.map(|(_, size)| size(params).into()))
    }

    pub(super) fn read(bytes: &[u8]) -> Result<Self, FormatError> {
        Self::read_from_bytes(bytes).map_err(|_| wrong("a snapshot has not all sizes"))
    }

    /// Those that are others than `theirs`, for people.
    pub(crate) fn differences(self, theirs: Self) -> String {
        let sizes = NAMED.iter().zip(self.0.into_iter().zip(theirs.0));
        let differ = sizes.filter(|(_, (ours, theirs))| ours != theirs);
        let texts: Vec<_> = differ
            .map(|((name, _), (ours, theirs))| format!("{name} is {ours}, not {theirs}"))
            .collect();
        texts.join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use srlg_core::{Config, Hash};

    #[test]
    fn differences_name_what_differs_and_nothing_else() {
        let sizes = |config: Config| Sizes::of(&config.validate().unwrap());
        let paper = Config::paper();
        assert_eq!(sizes(paper).differences(sizes(Config { seed: 3, ..paper })), "");
        let other = Config { window: 60, hash: Hash::HalfSip13, ..paper };
        let expected = "window is 300, not 60; hash is 0, not 1";
        assert_eq!(sizes(paper).differences(sizes(other)), expected);
    }
}
