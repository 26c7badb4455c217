//! Examination of a candidate: a glimpse, then the remaining fine region, then the coarse regions if the host has very
//! many peers.

use std::mem;
use std::ops::Range;

use srlg_core::counter::{Accumulator, Counter, Look};
use srlg_core::{ArrayView, HostId, Params, ReadRecorder, Span, Tally};

use super::sweep::look_at;

/// A counter's array that no thread is changing.
type Frozen<'a, C> =
    ArrayView<'a, <C as Counter>::Params, <<C as Counter>::Recorder as ReadRecorder>::Word>;

/// Calls `each` with the index and the tallies of every host that its glimpse does not dismiss.
///
/// A glimpse examines `glimpse` positions. If `glimpse` is 0, no host is dismissed.
///
/// The remaining positions of a host are counted after the glimpse of the next host. The lines of each [`Look`] can
/// therefore be prefetched during the previous one.
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
    let look = |number: usize, positions, next: (usize, u32), counted: &mut C::Accumulator| {
        // The last host has no successor. Prefetching its own lines again is harmless.
        let next = (hosts.get(next.0).copied().unwrap_or(hosts[number]), next.1);
        look_at::<C>(array, &Look { host: hosts[number], positions, next }, counted);
    };
    let mut tallies = vec![C::Accumulator::new(span).tally()];
    let mut finish = |number, next, counted: &mut C::Accumulator| {
        look(number, glimpse..fine.end, next, counted);
        counted.tally_into(&mut tallies[0]);
        if params.needs_coarse(&tallies[0], span) {
            for region in coarse {
                counted.clear();
                look(number, region.clone(), next, counted);
                tallies.push(counted.tally());
            }
        }
        each(number, &tallies);
        tallies.truncate(1);
    };
    let mut counts = [C::Accumulator::new(span), C::Accumulator::new(span)];
    let [mut counted, mut glimpsed] = counts.each_mut();
    // The host whose glimpse is counted in `glimpsed`.
    let mut left = None;
    for number in 0..hosts.len() {
        counted.clear();
        if glimpse == 0 {
            finish(number, (number + 1, 0), counted);
            continue;
        }
        let next = left.map_or((number + 1, 0), |left| (left, glimpse));
        look(number, 0..glimpse, next, counted);
        if let Some(left) = left.take() {
            finish(left, (number + 1, 0), glimpsed);
        }
        if counted.may_reach(C::params(params.counter())) {
            mem::swap(&mut counted, &mut glimpsed);
            left = Some(number);
        }
    }
    if let Some(left) = left {
        finish(left, (left, 0), glimpsed);
    }
}
