//! Touching lines.

use srlg_core::counter::Lines;
use srlg_core::counter::tagged::TaggedParams;
use srlg_core::{ArrayParams, Recorder16};
use srlg_kernels::{Slices, TouchLines, TouchLines6};

use super::{Contacts, launch, of_age, recorders_of, swapped, untouched, words};

/// The lines as srlg-core touches them, pair by pair, which both kernels together have to equal.
pub(crate) fn touched_lines(
    params: &TaggedParams,
    contacts: &Contacts,
    seed: u64,
) -> Vec<Recorder16> {
    let linear = untouched::<Recorder16>(params.recorders());
    let lines = Lines::new(params, &linear);
    contacts.short.iter().for_each(|&(pair, age)| lines.touch(&[pair], age));
    contacts.long.iter().for_each(|&(pair, age)| lines.touch(&[params.ids(pair)], age));
    let by_kernel = swapped::<Recorder16>(linear.len());
    for age in 0..7 {
        let (params, recorders) = (*params, &by_kernel[..]);
        let pairs = &of_age(&contacts.long, age)[..];
        launch(seed, &TouchLines6::<Slices<'_>> { params, age, pairs, recorders });
        let pairs = &of_age(&contacts.short, age)[..];
        launch(seed, &TouchLines::<Slices<'_>> { params, age, pairs, recorders });
    }
    assert_eq!(words(&recorders_of::<Recorder16>(by_kernel, linear.len())), words(&linear));
    linear
}
