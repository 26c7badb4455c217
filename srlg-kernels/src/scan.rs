//! Scanning pairs.

use crate::Grid;
use srlg_core::{Ages, IpPair, Params, Recorder8, Recorder16, Rsra, Slea, Twin, touch_twins};

/// Tagged scheme: touches the recorders of `pairs` in both arrays, so long ago.
#[inline(always)]
pub fn scan(
    grid: Grid,
    params: &Params,
    ages: Ages,
    pairs: &[IpPair],
    (rough, linear): (&[Recorder8], &[Twin]),
) {
    let rsra = Rsra::new(params, rough);
    for at in grid.of_all(pairs.len()) {
        rsra.touch(pairs[at], ages.rough);
        touch_twins(params, linear, pairs[at], ages.linear);
    }
}

/// Paper's scheme: the same.
#[inline(always)]
pub fn scan_rows(
    grid: Grid,
    params: &Params,
    ages: Ages,
    pairs: &[IpPair],
    (rough, linear): (&[Recorder16], &[Recorder16]),
) {
    let (rsra, slea) = (Rsra::new(params, rough), Slea::new(params, linear));
    for at in grid.of_all(pairs.len()) {
        rsra.touch(pairs[at], ages.rough);
        slea.touch_one(pairs[at], ages.linear);
    }
}
