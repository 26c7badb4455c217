//! Functions compiled once more for wider vectors, which are taken where there are any.
//!
//! The loops are in safe code that the compiler vectorises, so a level differs from another only
//! where the compiler, or an operation of other meaning at another width, errs. Hence tests compare
//! the levels. In a test each function `name` has a module `name`, in which the function is once
//! more, as `plain`, without wider vectors, and as `avx2`, with the second level alone. Both are
//! dead code unless a test compares them, and dead code is refused: no loop goes without its test.

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

                // The target is one that tests never run on: a body that asks which level it is has the plain one.
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

/// Asserts that `$result` is the same for all levels of the function `$name`, each of which it calls `$level`, and returns it.
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

/// The low bytes of each of `words`, as many as a `W` has: levels are compared at every width.
#[cfg(test)]
pub(crate) fn cut<W: srlg_core::Word>(words: &[u64]) -> Vec<W> {
    words.iter().map(|word| W::of_bytes(|byte| word.to_le_bytes()[byte])).collect()
}
