//! Functions compiled once more for wider vectors, which are taken where there are any.

macro_rules! for_wider_vectors {
    ($($item:item)*) => {
        $(
            #[multiversion::multiversion(targets(
                "x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx512bitalg+avx512vbmi+bmi1+bmi2+popcnt",
                "x86_64+avx2+bmi1+bmi2+popcnt",
            ))]
            $item
        )*
    };
}
pub(crate) use for_wider_vectors;
