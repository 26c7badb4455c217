//! The part of a cell search that is common to all devices. It selects the candidates from the counts of cells by age
//! and from the owners of some cells.
//!
//! If there are more candidates than the limit, only the hosts with the most cells stay candidates. Large super points
//! are therefore still found in bounded time. The health reports an overload if the probability of missing a host with
//! θ peers then exceeds [`ACCEPTED_MISS`].

use std::cmp::Reverse;
use std::net::{IpAddr, Ipv4Addr};

use srlg_core::finder::CellsParams;
use srlg_core::finder::cells::Owner;
use srlg_core::finder::cells::chance::{
    ACCEPTED_MISS, AgeHistogram, LEAST_CELLS, Requirement, least_v6,
};
use srlg_core::finder::cells::spell::SPELLING;
use srlg_core::{Limbs, Span, host};

use super::{FinderFill, FinderHealth, Overload};

#[derive(Clone, Copy)]
pub(crate) struct CellCounts<'a> {
    pub(crate) histogram: AgeHistogram<'a>,
    /// Number of cells that an IPv4 candidate needs (see [`AgeHistogram::c_min`]).
    pub(crate) c_min: u32,
    /// Number of cells in the window that are held by IPv6 hosts.
    v6: u32,
}

impl<'a> CellCounts<'a> {
    /// Creates the counts over `span` from `by_family`: the cell counts of IPv4 hosts by age, followed by those of IPv6
    /// hosts.
    ///
    /// The first half of `by_family` is overwritten with the sums of both halves.
    pub(crate) fn new(params: &'a CellsParams, by_family: &'a mut [u32], span: Span) -> Self {
        let (all, v6) = by_family.split_at_mut(span.finder_ages as usize);
        all.iter_mut().zip(&*v6).for_each(|(all, v6)| *all += v6);
        let histogram = AgeHistogram::new(params, all, span);
        Self { histogram, c_min: histogram.c_min(), v6: v6.iter().sum() }
    }

    /// Returns whether IPv6 hosts hold enough cells to recover one of their addresses.
    pub(crate) fn may_spell(self) -> bool {
        self.v6 >= SPELLING as u32
    }
}

/// A cell held by an IPv6 host: the fingerprint of the host, the number of the cell, and its word.
pub(crate) type HeldCell = (Owner, u32, u64);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Holder {
    owner: Owner,
    /// Address of an IPv6 host as four 32-bit words, or zeros for an IPv4 host.
    limbs: Limbs,
    cells: u32,
}

pub(crate) struct Shortlist {
    pub(crate) hosts: Vec<IpAddr>,
    pub(crate) health: FinderHealth,
    #[cfg(any(feature = "cuda", test))]
    pub(crate) is_limited: bool,
}

/// Selects the hosts with at least c_min cells. An IPv6 host also needs at least four cells. If there are more than
/// `limit` hosts, selects the hosts with the most cells.
///
/// `counts` covers all cells in the window. `v4` yields the IPv4 hosts with at least c_min cells, and the number of
/// cells of each host. `held` contains cells of IPv6 hosts, including all cells that may belong to candidates. The call
/// reorders `held`.
pub(crate) fn candidates(
    params: &CellsParams,
    counts: CellCounts<'_>,
    v4: impl Iterator<Item = (Owner, u32)>,
    held: &mut [HeldCell],
    limit: u32,
) -> Shortlist {
    let mut found: Vec<Holder> =
        v4.map(|(owner, cells)| Holder { owner, limbs: [0; 4], cells }).collect();
    spell(params, least_v6(counts.c_min), held, &mut found);
    let limit = limit as usize;
    #[cfg(any(feature = "cuda", test))]
    let is_limited = found.len() > limit;
    let asked = limited(&mut found, counts.c_min, limit);
    let hosts = found.into_iter().map(|Holder { owner, limbs, .. }| match params.host(owner) {
        Some(address) => Ipv4Addr::from_bits(address).into(),
        None => host(limbs),
    });
    Shortlist {
        hosts: hosts.collect(),
        health: health(counts, asked),
        #[cfg(any(feature = "cuda", test))]
        is_limited,
    }
}

/// Removes the IPv6 hosts from `owners` and sorts the IPv4 hosts.
pub(super) fn sort_v4(owners: &mut Vec<Owner>) {
    owners.retain(|owner| !owner.is_fingerprint());
    owners.sort_unstable();
}

/// Returns the owners that occur at least `c_min` times in the sorted `owners`, and how often each of them occurs.
pub(super) fn holders(owners: &[Owner], c_min: u32) -> impl Iterator<Item = (Owner, u32)> {
    let runs = owners.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as u32));
    runs.filter(move |&(_, cells)| cells >= c_min)
}

/// Adds to `found` the IPv6 hosts that hold at least `least` of the cells in `held`.
fn spell(params: &CellsParams, least: u32, held: &mut [HeldCell], found: &mut Vec<Holder>) {
    // The order of cells with the same owner does not matter.
    held.sort_unstable_by_key(|&(owner, ..)| owner);
    let mut cells = Vec::new();
    for run in held.chunk_by(|a, b| a.0 == b.0).filter(|run| run.len() >= least as usize) {
        let owner = run[0].0;
        cells.clear();
        cells.extend(run.iter().map(|&(_, place, word)| (place, word)));
        params.spell(&mut cells, |limbs, cells| {
            if cells >= least {
                found.push(Holder { owner, limbs, cells });
            }
        });
    }
}

/// Reduces `found` to at most `limit` hosts, those with the most cells. Returns the requirement that these hosts meet.
fn limited(found: &mut Vec<Holder>, c_min: u32, limit: usize) -> Requirement {
    if found.len() <= limit {
        return c_min.into();
    }
    // Ties are broken by a hash of the owner, which gives the same order every time and treats both families alike.
    let order = |holder: &Holder| (Reverse(holder.cells), holder.owner.order());
    found.sort_unstable_by(|a, b| order(a).cmp(&order(b)).then(a.cmp(b)));
    let border = found[limit].cells;
    let first = found.partition_point(|holder| holder.cells > border);
    let end = found.partition_point(|holder| holder.cells >= border);
    found.truncate(limit);
    match limit - first {
        0 => (border + 1).into(),
        kept => Requirement { cells: border, share: kept as f64 / (end - first) as f64 },
    }
}

/// Returns the health of an untouched finder. `span` must cover a single age.
pub(super) fn untouched(params: &CellsParams, span: Span) -> FinderHealth {
    health_of_all(CellCounts::new(params, &mut [0, 0], span))
}

/// Returns the health of the finder after a search that found all hosts with at least c_min cells.
pub(crate) fn health_of_all(counts: CellCounts<'_>) -> FinderHealth {
    health(counts, counts.c_min.into())
}

/// Miss probabilities of a search that requires a given number of cells.
#[derive(Clone, Copy)]
struct Misses {
    /// Miss probability of a host with θ peers, if its contacts were spread evenly over the window.
    even: f64,
    /// Miss probability of a host with θ peers, if all its contacts were in the oldest epoch of the window.
    burst: f64,
    /// Minimum number of peers at which 99 % of hosts are found.
    found_from: f64,
}

impl Misses {
    fn new(histogram: AgeHistogram<'_>, asked: Requirement) -> Self {
        let threshold = histogram.threshold();
        Self {
            even: histogram.miss(threshold, asked),
            burst: histogram.burst_miss(threshold, asked),
            found_from: histogram.found_from(asked),
        }
    }
}

fn health(counts: CellCounts<'_>, asked: Requirement) -> FinderHealth {
    let CellCounts { histogram, c_min, v6 } = counts;
    let asked_v6 = asked.of_v6();
    let misses = Misses::new(histogram, asked);
    let misses_v6 = if asked_v6 == asked { misses } else { Misses::new(histogram, asked_v6) };
    let is_raised = asked != c_min.into() && misses.even > ACCEPTED_MISS;
    // IPv6 hosts need more cells. This matters only if there are IPv6 hosts.
    let fewest = if v6 > 0 { least_v6(LEAST_CELLS) } else { LEAST_CELLS };
    let overload = match () {
        () if is_raised => Some(Overload::Raised),
        () if histogram.is_crowded(fewest) => Some(Overload::Crowded),
        () => None,
    };
    FinderHealth {
        fill: FinderFill::Cells {
            c_min: asked.cells,
            in_use: histogram.share_in_use(),
            in_use_v6: histogram.share(v6),
        },
        miss_probability: misses.even,
        miss_probability_v6: Some(misses_v6.even),
        burst_miss_probability: misses.burst,
        burst_miss_probability_v6: Some(misses_v6.burst),
        found_from: misses.found_from,
        found_from_v6: Some(misses_v6.found_from),
        overload,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use srlg_core::Config;

    /// Returns one holder for each number in `cells`, with different owners.
    fn found(cells: &[u32]) -> Vec<Holder> {
        let params = Config::default().validate().unwrap();
        let cells_params = params.finder().cells().unwrap();
        let owner = |number| cells_params.owner(number, 0);
        let holder = |(number, &cells)| Holder { owner: owner(number), limbs: [0; 4], cells };
        (0..).zip(cells).map(holder).collect()
    }

    #[test]
    fn candidates_with_most_cells_come_first_and_the_share_of_the_last_is_reported() {
        let all = [9, 8, 8, 7, 7, 7, 7, 5];
        for (limit, cells, share) in [
            (9, 4, 1.0),
            (8, 4, 1.0),
            (7, 6, 1.0),
            (6, 7, 0.75),
            (4, 7, 0.25),
            (3, 8, 1.0),
            (2, 8, 0.5),
            (1, 9, 1.0),
        ] {
            let mut found = found(&all);
            assert_eq!(
                limited(&mut found, 4, limit),
                Requirement { cells, share },
                "limit {limit}"
            );
            assert_eq!(found.len(), limit.min(all.len()), "limit {limit}");
        }
    }
}
