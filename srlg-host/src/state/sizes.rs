//! [`Sizes`]: all sizes of a detector, which are stored in its snapshots.

use srlg_core::{Params, SCHEME, SIZES, Size};
use zerocopy::little_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::error::{FormatError, wrong};

/// All sizes of a detector, in the order given in docs/format.md. The seed is not included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
pub(crate) struct Sizes([U32; SIZES]);

impl Sizes {
    pub(crate) fn of(params: &Params) -> Self {
        Self(params.sizes().map(|size| size.value.into()))
    }

    pub(super) fn read(bytes: &[u8]) -> Result<Self, FormatError> {
        Self::read_from_bytes(bytes).map_err(|_| wrong("the sizes of the detector are incomplete"))
    }

    /// Returns a text that lists the sizes that differ between `params` and `theirs`. If the schemes differ, only the
    /// scheme is listed.
    pub(crate) fn differences(theirs: Self, params: &Params) -> String {
        let sizes = params.sizes().into_iter().zip(theirs.0);
        let differ = sizes.filter(|(ours, theirs)| ours.value != theirs.get());
        let text = |(ours, theirs): (Size, U32)| {
            let [ours_text, theirs] =
                [ours.value, theirs.get()].map(|it| value_text(ours.name, it));
            format!("{} is {ours_text}, not {theirs}", ours.name)
        };
        // If the schemes differ, the remaining sizes have different names and cannot be compared.
        let scheme = differ.clone().find(|(ours, _)| ours.name == SCHEME);
        match scheme {
            Some(scheme) => text(scheme),
            None => differ.map(text).collect::<Vec<_>>().join("; "),
        }
    }
}

/// Returns the value of a size as text. Schemes and hashes have names.
fn value_text(name: &str, value: u32) -> String {
    let names = match name {
        SCHEME => ["paper", "tagged"],
        "hash" => ["murmur", "half-sip-1-3"],
        _ => return value.to_string(),
    };
    names.get(value as usize).map_or_else(|| value.to_string(), |&name| name.to_owned())
}

impl From<Sizes> for [u32; SIZES] {
    fn from(sizes: Sizes) -> Self {
        sizes.0.map(U32::get)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use srlg_core::{Config, HashFamily};

    #[test]
    fn differences_name_exactly_what_differs() {
        let paper = Config::paper();
        let differences = |theirs: Config| {
            let theirs = Sizes::of(&theirs.validate().unwrap());
            Sizes::differences(theirs, &paper.validate().unwrap())
        };
        assert_eq!(differences(Config { seed: 3, ..paper }), "");
        let other = Config { window: 60, hash: HashFamily::HalfSip13, ..paper };
        insta::assert_snapshot!([differences(other), differences(Config::default())].join("\n"));
    }
}
