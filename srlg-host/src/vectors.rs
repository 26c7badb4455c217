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

            crate::vectors::other_levels! {
                $name ($(#[$attribute])*) $(<$($generic: $bound),+>)?
                ($($argument)*) $(-> $output)? { $($body)* }
            }
        )*
    };
}
pub(crate) use for_wider_vectors;

#[cfg(not(test))]
macro_rules! other_levels {
    ($($function:tt)*) => {};
}
#[cfg(not(test))]
pub(crate) use other_levels;

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::{cut, other_levels};
