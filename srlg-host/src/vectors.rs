//! Functions that are also compiled for wider vector instructions, which are used if the CPU supports them.
//!
//! The loops are safe code that the compiler vectorises. Vector levels can produce different results only because of a
//! compiler bug, or an operation that depends on the vector width. Tests therefore compare the levels.
//!
//! In a test, each function `name` also has a module `name`. Its function `plain` does not use wider vectors, and its
//! function `avx2` uses only the second level. If no test compares them, both are dead code, which the compiler
//! rejects. Thus every loop has a test.

macro_rules! for_wider_vectors {
    ($(
        $(#[$attribute:meta])*
        $visibility:vis fn $name:ident $(<$($generic:ident: $bound:path),+>)? (
            $($argument:tt)*
        ) $(-> $output:ty)? {
            $($body:tt)*
        }
    )*) => {
        $(
            #[multiversion::multiversion(targets(
                "x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx512bitalg+avx512vbmi+avx512vbmi2+bmi1+bmi2+popcnt",
                "x86_64+avx2+bmi1+bmi2+popcnt",
            ))]
            $(#[$attribute])*
            $visibility fn $name $(<$($generic: $bound),+>)? ($($argument)*) $(-> $output)? {
                $($body)*
            }

            #[cfg(test)]
            mod $name {
                use super::*;

                // Tests never run on this target. A body that asks for its level therefore gets the plain level.
                #[multiversion::multiversion(targets("wasm32+simd128"))]
                $(#[$attribute])*
                pub(super) fn plain $(<$($generic: $bound),+>)? ($($argument)*) $(-> $output)? {
                    $($body)*
                }

                #[multiversion::multiversion(targets("x86_64+avx2+bmi1+bmi2+popcnt"))]
                $(#[$attribute])*
                pub(super) fn avx2 $(<$($generic: $bound),+>)? ($($argument)*) $(-> $output)? {
                    $($body)*
                }
            }
        )*
    };
}
pub(crate) use for_wider_vectors;

/// Asserts that `$result` is the same for all levels of the function `$name`. Returns that result.
///
/// In `$result`, the function is called `$level`.
#[cfg(test)]
macro_rules! on_all_levels {
    ($name:ident $(<$($type:ty),+>)? as $level:ident => $result:expr) => {{
        let [expected, avx2, widest] = [
            { let $level = $name::plain $(::<$($type),+>)?; $result },
            { let $level = $name::avx2 $(::<$($type),+>)?; $result },
            { let $level = $name $(::<$($type),+>)?; $result },
        ];
        assert!(avx2 == expected && widest == expected, "{}", stringify!($name));
        expected
    }};
}
#[cfg(test)]
pub(crate) use on_all_levels;

/// Returns `words` cut to the width of `W`, so that levels can be compared at every width.
#[cfg(test)]
pub(crate) fn cut<W: srlg_core::Word>(words: &[u64]) -> Vec<W> {
    words.iter().map(|word| W::of_bytes(|byte| word.to_le_bytes()[byte])).collect()
}
