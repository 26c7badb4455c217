//! `getters!`: a macro that defines getters for the fields of params.

macro_rules! getters {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        $($(#[$doc])* #[inline] #[must_use] pub const fn $name(&self) -> u32 { self.$name })*
    };
}
pub(crate) use getters;
