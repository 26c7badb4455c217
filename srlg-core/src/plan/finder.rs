//! The number of cells, and the candidate limit, that a load needs.

use super::{ACCEPTED, Load};
use crate::config::Config;
use crate::error::ConfigError;
use crate::finder::NOT_FOUND;
use crate::finder::cells::chance::{AgeHistogram, least_v6};
use crate::finder::cells::{CellsParams, SLOTS};
use crate::validate::MOST_CANDIDATES;

/// Maximum share of the hosts with θ peers that the finder misses. The share is computed for a number of free cells
/// that is [`DEVIATIONS`] standard deviations below its expectation. Above [`NOT_FOUND`], reports contain
/// `Overload::Crowded`, which must be rare with the planned load.
const ACCEPTED_OF_THRESHOLD: f64 = 0.8 * NOT_FOUND;

/// Number of standard deviations by which the number of free cells is assumed to be below its expectation.
const DEVIATIONS: f64 = 3.0;

/// Preferred number of cells for every θ pairs in a window. With this number, a host with θ peers is missed in about 1
/// of 10,000 cases.
const CELLS_PER_THRESHOLD: u64 = 13;

/// Minimum and maximum candidate limit of a plan, unless hosts with 2θ peers need a larger limit.
const CANDIDATES: [u64; 2] = [1 << 14, 1 << 16];

/// Maximum number of ages for which probabilities are computed. With more ages, the probability of a miss changes by
/// less than 1 % of its value.
const AGES: usize = 64;

#[derive(Clone, Copy)]
pub(super) struct FinderPlan {
    pub(super) cell_bits: u32,
    pub(super) candidate_limit: u32,
    /// Probability that an IPv4 or IPv6 host with θ peers is missed if the candidate limit does not exclude any host.
    pub(super) miss: f64,
    /// Probability that an IPv4 or IPv6 host with 2θ peers is missed, for any distribution of the load over hosts.
    pub(super) double_miss: f64,
}

impl FinderPlan {
    pub(super) const LEAST_BITS: u32 = 12;
    const MOST_BITS: u32 = 24;

    /// Returns the plan with the minimum number of cells, or an error if the load has too many pairs for any number of
    /// cells.
    pub(super) fn least(load: &Load) -> Result<Self, ConfigError> {
        let plans = (Self::LEAST_BITS..=Self::MOST_BITS).map(|bits| Self::new(load, bits));
        plans.flatten().next().ok_or_else(|| Self::refusal(load, Self::MOST_BITS, None))
    }

    /// Creates the plan with `2^cell_bits` cells, or returns `None` if it would miss hosts too often or need too many
    /// candidates.
    pub(super) fn new(load: &Load, cell_bits: u32) -> Option<Self> {
        let cells = load.cells(cell_bits);
        if load.crowded_miss(&cells) > ACCEPTED_OF_THRESHOLD {
            return None;
        }
        load.with_ages(&cells, load.distinct_pairs, |ages| {
            let (threshold, pairs) = (ages.threshold(), load.distinct_pairs);
            let c_min = least_v6(ages.c_min());
            let accepts = |&cells: &u32| ages.bound(2.0 * threshold, cells) <= ACCEPTED;
            // The limit must not exclude any host with this many cells.
            let most_cells = (c_min..=SLOTS).take_while(accepts).last()?;
            let needed = libm::ceil(ages.most_candidates(pairs, most_cells));
            if needed > MOST_CANDIDATES.into() {
                return None;
            }
            // This is the maximum number of hosts with θ peers.
            let super_points = pairs / u64::from(load.base.threshold);
            let [least, most] = CANDIDATES;
            let limit = super_points.clamp(least, most).next_power_of_two() as u32;
            let candidate_limit = limit.max(needed as u32);
            let leaves_all =
                |&cells: &u32| ages.most_candidates(pairs, cells) <= candidate_limit.into();
            let asked = (c_min..most_cells).find(leaves_all).unwrap_or(most_cells);
            Some(Self {
                cell_bits,
                candidate_limit,
                miss: ages.bound(threshold, c_min),
                double_miss: ages.bound(2.0 * threshold, asked),
            })
        })
    }

    pub(super) fn refusal(load: &Load, cell_bits: u32, least: Option<usize>) -> ConfigError {
        let Load { base: Config { threshold, .. }, distinct_pairs } = *load;
        let misses = load.crowded_miss(&load.cells(cell_bits));
        if misses > ACCEPTED_OF_THRESHOLD {
            let missed = libm::ceil(1e4 * misses) as u32;
            return ConfigError::PlanCells { cell_bits, threshold, missed, least };
        }
        ConfigError::PlanCandidates { distinct_pairs, threshold, limit: MOST_CANDIDATES, least }
    }

    /// Returns the binary logarithm of the preferred number of cells within `memory`. The load may need more cells.
    pub(super) fn preferred_bits(load: &Load, memory: usize) -> u32 {
        let needed = load.distinct_pairs.saturating_mul(CELLS_PER_THRESHOLD)
            / u64::from(load.base.threshold);
        let is_good = |bits: &u32| {
            // A number of cells is considered only if half of it would be too few.
            let (half, bytes) = (1 << (bits - 1), cell_bytes(*bits));
            half < needed && bytes <= memory / 6
                || half < needed.saturating_mul(8) && bytes <= memory / 15
        };
        let more = Self::LEAST_BITS + 1..=Self::MOST_BITS;
        more.rev().find(is_good).unwrap_or(Self::LEAST_BITS)
    }
}

impl Load {
    fn with_ages<Answer>(
        &self,
        cells: &CellsParams,
        distinct_pairs: u64,
        ask: impl FnOnce(AgeHistogram<'_>) -> Answer,
    ) -> Answer {
        let mut counts = [0; AGES];
        ask(AgeHistogram::of_load(cells, self.base.window, distinct_pairs, &mut counts))
    }

    fn cells(&self, cell_bits: u32) -> CellsParams {
        let params = self.shortest(cell_bits).validate().expect("the rules were checked");
        *params.finder().cells().expect("the tagged scheme has this finder")
    }

    /// Returns the share of hosts with θ peers, IPv4 or IPv6, that a finder with `params` misses. The number of free
    /// cells is assumed to be [`DEVIATIONS`] standard deviations below its expectation.
    ///
    /// With x touches per cell, a share g = e^-x of M cells is free, with a standard deviation of at most sqrt(g (1 -
    /// g) / M). A reduction of g by one standard deviation corresponds to sqrt(M (e^x - 1)) more touches.
    fn crowded_miss(&self, params: &CellsParams) -> f64 {
        let sampling = params.lsb_threshold as i32;
        let cells = libm::ldexp(1.0, params.cell_bits as i32);
        let touches = libm::ldexp(self.distinct_pairs as f64, -sampling) / cells;
        let more = DEVIATIONS * libm::sqrt(cells * libm::expm1(touches));
        let pairs = self.distinct_pairs.saturating_add(libm::ldexp(more, sampling) as u64);
        self.with_ages(params, pairs, |ages| ages.bound(ages.threshold(), least_v6(ages.c_min())))
    }
}

pub(super) const fn cell_bytes(cell_bits: u32) -> usize {
    size_of::<u64>() << cell_bits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    extern crate std;
    use std::vec;

    /// Returns the probability that a host with `contacts` peers in a window of one slice holds at least `cells` cells.
    /// Each slot with a contact is visible with probability `shown`.
    fn holding(contacts: u32, shown: f64, cells: usize) -> f64 {
        let mut used = vec![0.0; SLOTS as usize + 1];
        used[0] = 1.0;
        for _ in 0..contacts {
            for slots in (0..used.len()).rev() {
                let share = |slots: usize| slots as f64 / f64::from(SLOTS);
                let stays = used[slots] * share(slots);
                let grows = slots.checked_sub(1).map(|fewer| used[fewer] * (1.0 - share(fewer)));
                used[slots] = stays + grows.unwrap_or(0.0);
            }
        }
        let mut visible = vec![0.0; used.len()];
        for (slots, probability) in used.into_iter().enumerate() {
            let mut binomial = vec![0.0; slots + 1];
            binomial[0] = probability;
            for _ in 0..slots {
                for count in (0..=slots).rev() {
                    let grows = count.checked_sub(1).map(|fewer| binomial[fewer] * shown);
                    binomial[count] = binomial[count] * (1.0 - shown) + grows.unwrap_or(0.0);
                }
            }
            for (sum, part) in visible.iter_mut().zip(binomial) {
                *sum += part;
            }
        }
        visible[cells..].iter().sum()
    }

    // At these thresholds, every pair is sampled. The test computes the occupancy of slots without the formulas of
    // plans.
    #[test]
    fn hosts_of_any_size_hold_cells_at_most_as_often_as_stated_at_small_thresholds() {
        for (threshold, distinct_pairs, cell_bits) in
            [(8, 1_000_000, 22), (12, 5_000_000, 23), (32, 1_000_000, 20)]
        {
            let base = Config { threshold, window: 1, ..Config::default() };
            let load = Load { base, distinct_pairs };
            // `shown` is the mean share of free cells over the order of touches.
            let touches = distinct_pairs as f64 / f64::from(1 << cell_bits);
            let shown = -libm::expm1(-touches) / touches;
            load.with_ages(&load.cells(cell_bits), distinct_pairs, |ages| {
                for cells in [2, 4, 7, 12] {
                    let most = ages.most_candidates(distinct_pairs, cells);
                    let hosts = |size: u32| {
                        distinct_pairs as f64 / f64::from(size)
                            * holding(size, shown, cells as usize)
                    };
                    let largest = (cells..3 * cells).map(hosts).fold(0.0, f64::max);
                    assert!(
                        largest <= 1.001 * most && largest >= 0.8 * most,
                        "{threshold} {cells}: {most} {largest}"
                    );
                }
            });
        }
    }

    // The bound matters most in these plans, because hosts with a few peers hold nearly as many cells as hosts with 2θ
    // peers.
    #[test]
    fn candidates_of_any_spread_leave_room_for_hosts_of_twice_a_small_threshold() {
        for (threshold, distinct_pairs, cell_bits) in
            [(8, 1_000_000, 22), (8, 3_000_000, 24), (12, 3_000_000, 23)]
        {
            let base = Config { threshold, window: 1, ..Config::default() };
            let load = Load { base, distinct_pairs };
            let plan = FinderPlan::new(&load, cell_bits).unwrap();
            let touches = distinct_pairs as f64 / f64::from(1 << cell_bits);
            let shown = -libm::expm1(-touches) / touches;
            let fits = |&cells: &usize| {
                let hosts = |size: u32| {
                    distinct_pairs as f64 / f64::from(size) * holding(size, shown, cells)
                };
                (1..5 * threshold).map(hosts).all(|hosts| hosts <= plan.candidate_limit.into())
            };
            let asked = (2..=SLOTS as usize).find(fits).unwrap();
            let missed = 1.0 - holding(2 * threshold, shown, asked);
            assert!(
                missed <= plan.double_miss,
                "{threshold} {distinct_pairs}: {missed} {asked} {:?}",
                plan.double_miss
            );
        }
    }

    #[test]
    fn hosts_of_any_size_hold_cells_at_most_as_often_as_stated() {
        for (threshold, window, distinct_pairs) in
            [(1024, 300, 20_000_000), (100_000, 300, 20_000_000)]
        {
            let base = Config { threshold, window, ..Config::default() };
            let load = Load { base, distinct_pairs };
            for cell_bits in [14, 18, 22] {
                load.with_ages(&load.cells(cell_bits), distinct_pairs, |ages| {
                    for cells in [2, 5, 20] {
                        let most = ages.most_candidates(distinct_pairs, cells);
                        let alike = |size: f64| {
                            distinct_pairs as f64 / size * (1.0 - ages.miss(size, cells))
                        };
                        // The bound tries sizes in steps of a tenth, so one of them is within 5 % of the size with the
                        // largest share.
                        let sizes = (0..2000).map(|step| libm::pow(1.01, f64::from(step)));
                        let largest = sizes
                            .filter(|&size| size >= cells.into())
                            .map(alike)
                            .fold(0.0, f64::max);
                        assert!(
                            largest <= 1.01 * most && largest >= 0.999 * most,
                            "{most} {largest}"
                        );
                    }
                });
            }
        }
    }
}
