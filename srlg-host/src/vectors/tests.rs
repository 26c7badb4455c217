//! What tests have of each function beside the one that is taken, and words of every width.

use srlg_core::Word;

macro_rules! other_levels {
    (
        $name:ident ($($attribute:tt)*) $(<$($generic:ident: $bound:path),+>)?
        ($($argument:tt)*) $(-> $output:ty)? { $($body:tt)* }
    ) => {
        mod $name {
            use super::*;

            // Of a target that tests never run on: a body that asks which level it is has the plain one.
            #[multiversion::multiversion(targets("wasm32+simd128"))]
            $($attribute)*
            pub(super) fn plain $(<$($generic: $bound),+>)? ($($argument)*) $(-> $output)? {
                $($body)*
            }

            #[multiversion::multiversion(targets("x86_64+avx2+bmi1+bmi2+popcnt"))]
            $($attribute)*
            pub(super) fn avx2 $(<$($generic: $bound),+>)? ($($argument)*) $(-> $output)? {
                $($body)*
            }
        }
    };
}
pub(crate) use other_levels;

/// The low bytes of each of `words`, as many as a `W` has: levels are compared at every width.
pub(crate) fn cut<W: Word>(words: &[u64]) -> Vec<W> {
    words.iter().map(|word| W::of_bytes(|byte| word.to_le_bytes()[byte])).collect()
}
