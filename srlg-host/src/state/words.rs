//! [`Words`]: all words of an array, as plain integers of its own width.

use srlg_core::Word;

/// The words of an array, one per recorder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Words {
    W8(Vec<u8>),
    W16(Vec<u16>),
    W32(Vec<u32>),
    W64(Vec<u64>),
}

/// A word that [`Words`] have.
pub(crate) trait StateWord: Word {
    /// Makes `words` the words of an array.
    fn wrap(words: Vec<Self>) -> Words;

    /// The integers in `words`.
    ///
    /// # Panics
    /// When they have another width: arrays of equal fingerprints have equal ones.
    fn of(words: &Words) -> &[Self];
}

macro_rules! state_words {
    ($($word:ident: $width:ident),*) => {
        $(impl StateWord for $word {
            fn wrap(words: Vec<Self>) -> Words {
                Words::$width(words)
            }

            fn of(words: &Words) -> &[Self] {
                match words {
                    Words::$width(words) => words,
                    _ => panic!("equal fingerprints, equal widths"),
                }
            }
        })*
    };
}

state_words!(u8: W8, u16: W16, u32: W32, u64: W64);

/// Does `$work`, in which `$word` is the integer of `$width`: a loop per width, and one choice before it.
macro_rules! with_width {
    ($width:expr, $word:ident => $work:expr) => {
        with_width!($width, $word => $work; u8: W8, u16: W16, u32: W32, u64: W64)
    };
    ($width:expr, $word:ident => $work:expr; $($int:ident: $variant:ident),*) => {
        match $width {
            $(srlg_core::Width::$variant => {
                type $word = $int;
                $work
            })*
        }
    };
}
pub(crate) use with_width;
