//! `getters!`: a macro that defines read access to the fields of params.

/// Defines methods inside an `impl` block that each return the field of the same name.
macro_rules! getters {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        $($(#[$doc])* #[inline] #[must_use] pub const fn $name(&self) -> u32 { self.$name })*
    };
}
pub(crate) use getters;
