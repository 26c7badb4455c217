//! Functions that are compiled for several vector levels. A function uses the highest level that the CPU supports.
//!
//! The loops are safe code that the compiler vectorises. The results of two levels can differ only because of a
//! compiler bug, or an operation that depends on the vector width. Tests therefore compare the levels.
//!
//! In test builds, each function `name` also has a module `name` with two functions. `plain` uses only the vectors that
//! every CPU supports, and `avx2` does not use AVX-512. If no test calls these two functions, the compiler rejects them
//! as dead code. Therefore, every loop has a test.

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

/// Asserts that `$result` is the same for all levels of the function `$name`, and returns it.
///
/// The expression `$result` refers to the function as `$level`.
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

/// Returns `words` truncated to the width of `W`, so that levels can be compared at every width.
#[cfg(test)]
pub(crate) fn cut<W: srlg_core::Word>(words: &[u64]) -> Vec<W> {
    words.iter().map(|word| W::of_bytes(|byte| word.to_le_bytes()[byte])).collect()
}
