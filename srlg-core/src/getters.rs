//! `getters!`: read access to the words of params.

/// Methods that return the fields of the same names, for a block of an `impl`.
macro_rules! getters {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        $($(#[$doc])* #[inline] #[must_use] pub const fn $name(&self) -> u32 { self.$name })*
    };
}
pub(crate) use getters;
