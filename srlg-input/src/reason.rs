//! Reasons why packets and records are skipped, and their names in summaries.

use std::fmt;

/// Defines reasons and their names in summaries.
macro_rules! reasons {
    ($(#[$doc:meta])* $type:ident { $($(#[$of:meta])* $reason:ident = $name:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $type {
            $($(#[$of])* $reason,)+
        }

        impl $type {
            /// All reasons, in the order in which summaries list them.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$reason),+];

            /// Returns the name of the reason in summaries. Names are stable across versions.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$reason => $name),+ }
            }
        }
    };
}

pub(crate) use reasons;

/// Writes the non-zero `counts` in parentheses, each after the name of its reason.
pub(crate) fn write_counts(
    f: &mut fmt::Formatter<'_>,
    counts: impl IntoIterator<Item = (&'static str, u64)>,
) -> fmt::Result {
    let mut separator = " (";
    for (name, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
        write!(f, "{separator}{name} {count}")?;
        separator = ", ";
    }
    if separator == ", " { f.write_str(")") } else { Ok(()) }
}
