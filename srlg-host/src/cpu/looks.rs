//! Examination of candidates: a glimpse in stages, then the remaining fine region, then the coarse regions if the host
//! has very many peers.

use std::ops::Range;

use srlg_core::counter::{Accumulator, Counter, Look};
use srlg_core::{ArrayView, HostId, Params, ReadRecorder, Span, Tally};

use super::sweep;

/// A counter's array that no thread is changing.
type Frozen<'a, C> =
    ArrayView<'a, <C as Counter>::Params, <<C as Counter>::Recorder as ReadRecorder>::Word>;

/// Number of hosts that are examined in turns.
const TURNS: usize = 2;

/// A host that is being examined.
struct Examined<A> {
    /// Index of the host.
    number: usize,
    /// Number of steps that are done.
    step: usize,
    counted: A,
}

/// Calls `each` with the index and the tallies of every host that its glimpse does not dismiss.
///
/// A glimpse has a stage for each number in `stages`, which is the number of positions that are examined by the end of
/// the stage. If `stages` is empty, no host is dismissed.
///
/// Two hosts are examined in turns, one step at a time. A step is a stage or the rest of the fine region. While a step
/// of one host is examined, the next step of the other host is known, so its lines can be prefetched.
pub(super) fn tally<C: Counter>(
    params: &Params,
    array: Frozen<'_, C>,
    hosts: &[HostId],
    span: Span,
    stages: &[u32],
    mut each: impl FnMut(usize, &[Tally]),
) {
    let regions: Vec<Range<u32>> = params.regions().collect();
    let (fine, coarse) = regions.split_first().expect("a fine region");
    let (starts, ends) = ([&[fine.start], stages].concat(), [stages, &[fine.end]].concat());
    let mut waiting = 0..hosts.len();
    let examine = |number| Examined { number, step: 0, counted: C::Accumulator::new(span) };
    let mut examined: Vec<_> = waiting.by_ref().take(TURNS).map(examine).collect();
    let mut tallies = vec![C::Accumulator::new(span).tally()];
    let mut turn = 0;
    while !examined.is_empty() {
        let other = &examined[(turn + 1) % examined.len()];
        let next = (hosts[other.number], starts[other.step]);
        let Examined { number, step, counted } = &mut examined[turn];
        let look = |positions, counted: &mut C::Accumulator| {
            sweep::look_at::<C>(array, &Look { host: hosts[*number], positions, next }, counted);
        };
        look(starts[*step]..ends[*step], counted);
        let stage = stages.get(*step);
        let counter = C::params(params.counter());
        let may_reach = stage.is_none_or(|&stage| sweep::may_reach::<C>(counter, stage, counted));
        if stage.is_none() {
            sweep::tally_into::<C>(counted, &mut tallies[0]);
            if params.needs_coarse(&tallies[0], span) {
                for region in coarse {
                    counted.clear();
                    look(region.clone(), counted);
                    tallies.push(counted.tally());
                }
            }
            each(*number, &tallies);
            tallies.truncate(1);
        }
        *step += 1;
        if stage.is_none() || !may_reach {
            counted.clear();
            match waiting.next() {
                Some(next) => (*number, *step) = (next, 0),
                None => drop(examined.swap_remove(turn)),
            }
        }
        turn = (turn + 1) % examined.len().max(1);
    }
}
