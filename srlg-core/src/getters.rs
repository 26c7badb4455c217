//! `getters!`: read access to the fields of params.

/// Defines methods that return the fields of the same names, inside an `impl` block.
macro_rules! getters {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        $($(#[$doc])* #[inline] #[must_use] pub const fn $name(&self) -> u32 { self.$name })*
    };
}
pub(crate) use getters;
