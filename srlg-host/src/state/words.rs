//! [`Words`]: all words of an array, as plain integers of its width.

use srlg_core::Word;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Words {
    W8(Vec<u8>),
    W16(Vec<u16>),
    W32(Vec<u32>),
    W64(Vec<u64>),
}

/// An integer type that [`Words`] can contain.
pub(crate) trait StateWord: Word {
    fn wrap(words: Vec<Self>) -> Words;

    /// Returns the integers in `words`.
    ///
    /// # Panics
    /// Panics if the width of `words` is not that of `Self`. Equal fingerprints imply equal widths.
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
                    _ => panic!("the words differ in width, although the fingerprints are equal"),
                }
            }
        })*
    };
}

state_words!(u8: W8, u16: W16, u32: W32, u64: W64);

/// Evaluates `$work`, in which `$word` is the integer type of width `$width`.
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
