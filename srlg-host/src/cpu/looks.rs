//! Looking at candidates, one after the other: a glimpse, the rest of the fine region, and of giants the coarse
//! ones.

use std::ops::Range;

use srlg_core::counter::{Accumulator, Counter, Look};
use srlg_core::{ArrayView, HostId, Params, ReadRecorder, Span, Tally};

use super::sweep::look_at;

/// A counter's array while nobody changes it.
type Frozen<'a, C> =
    ArrayView<'a, <C as Counter>::Params, <<C as Counter>::Recorder as ReadRecorder>::Word>;

/// Calls `each` with the number and the tallies over a span of each of `hosts` that no glimpse at `glimpse` positions
/// dismisses; 0 positions dismiss no host.
pub(super) fn tally<C: Counter>(
    params: &Params,
    array: Frozen<'_, C>,
    hosts: &[HostId],
    span: Span,
    glimpse: u32,
    mut each: impl FnMut(usize, &[Tally]),
) {
    let regions: Vec<Range<u32>> = params.regions().collect();
    let (fine, coarse) = regions.split_first().expect("a fine region");
    let mut counted = C::Accumulator::new(span);
    let mut tallies = vec![counted.tally()];
    for (number, &host) in hosts.iter().enumerate() {
        // The last host has nobody behind it: its own first lines do no harm.
        let next = (hosts.get(number + 1).copied().unwrap_or(host), 0);
        let look = |positions, counted: &mut C::Accumulator| {
            look_at::<C>(array, &Look { host, positions, next }, counted);
        };
        counted.clear();
        look(0..glimpse, &mut counted);
        if glimpse > 0 && !counted.may_reach(C::params(params.counter())) {
            continue;
        }
        look(glimpse..fine.end, &mut counted);
        counted.tally_into(&mut tallies[0]);
        if params.needs_coarse(&tallies[0], span) {
            for region in coarse {
                counted.clear();
                look(region.clone(), &mut counted);
                tallies.push(counted.tally());
            }
        }
        each(number, &tallies);
        tallies.truncate(1);
    }
}
