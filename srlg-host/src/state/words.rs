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

impl Words {
    /// The words of an array of so wide ones.
    ///
    /// # Panics
    /// When they have another width: of detectors with equal fingerprints they never have.
    pub(crate) fn of<W: StateWord>(&self) -> &[W] {
        W::of(self).expect("equal fingerprints, equal widths")
    }
}

/// A word that [`Words`] have.
pub(crate) trait StateWord: Word {
    /// Makes `words` the words of an array.
    fn wrap(words: Vec<Self>) -> Words;

    /// `words`, if they have this width.
    fn of(words: &Words) -> Option<&[Self]>;
}

macro_rules! state_words {
    ($($word:ident: $width:ident),*) => {
        $(impl StateWord for $word {
            fn wrap(words: Vec<Self>) -> Words {
                Words::$width(words)
            }

            fn of(words: &Words) -> Option<&[Self]> {
                match words {
                    Words::$width(words) => Some(words),
                    _ => None,
                }
            }
        })*
    };
}

state_words!(u8: W8, u16: W16, u32: W32, u64: W64);

/// Does `$work`, in which `$word` is the integer of `$width`: a loop per width, and one choice before it.
macro_rules! with_width {
    ($width:expr, $word:ident => $work:expr) => {
        match $width {
            srlg_core::Width::W8 => {
                type $word = u8;
                $work
            }
            srlg_core::Width::W16 => {
                type $word = u16;
                $work
            }
            srlg_core::Width::W32 => {
                type $word = u32;
                $work
            }
            srlg_core::Width::W64 => {
                type $word = u64;
                $work
            }
        }
    };
}
pub(crate) use with_width;
