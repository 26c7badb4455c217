//! Tallies of hosts.

use core::ops::Range;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::Grid;
use srlg_core::{Address, Params, Recorder16, Slea, Span};

/// Positions of one host that a block looks at: hosts are few, blocks are many.
pub const PART: usize = 1024;

/// Tagged scheme: counts the first `positions` of the linear estimators of `hosts` into `bins`,
/// [`Span::bins`] per host.
#[inline(always)]
pub fn tally(
    grid: Grid,
    params: &Params,
    (span, positions): (Span, u32),
    hosts: &[Address],
    linear: &[Recorder16],
    bins: &[AtomicU32],
) {
    let slea = Slea::new(params, linear);
    for (host, part) in parts(grid, hosts.len(), positions as usize) {
        let cells = slea.cells(hosts[host], span);
        for lane in grid.of_lanes(part.len()) {
            if let Some(bin) = cells.bin((part.start + lane) as u32) {
                bins[host * span.bins() + bin as usize].fetch_add(1, Relaxed);
            }
        }
    }
}

/// Paper's scheme: adds up the weights of the union estimators of `hosts`, one of `weights` each.
#[inline(always)]
pub fn union(
    grid: Grid,
    params: &Params,
    span: Span,
    hosts: &[Address],
    linear: &[Recorder16],
    weights: &[AtomicU32],
) {
    let slea = Slea::new(params, linear);
    for (host, part) in parts(grid, hosts.len(), params.linear_width() as usize) {
        let in_union = |lane| slea.in_union(hosts[host], span, (part.start + lane) as u32);
        let within = grid.of_lanes(part.len()).map(|lane| u32::from(in_union(lane)));
        weights[host].fetch_add(within.sum(), Relaxed);
    }
}

/// The share of this block of all hosts' positions: the number of a host, and a part of its
/// `positions`.
#[inline(always)]
fn parts(
    grid: Grid,
    hosts: usize,
    positions: usize,
) -> impl Iterator<Item = (usize, Range<usize>)> {
    let of_one = positions.div_ceil(PART);
    grid.of_blocks(hosts * of_one).map(move |part| {
        let start = part % of_one * PART;
        (part / of_one, start..positions.min(start + PART))
    })
}
