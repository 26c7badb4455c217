//! The part of an RSRA search that is common to all devices. It finds the lowest weight at which the numbers of hot
//! columns and candidates are within the limits.
//!
//! Under overload, the weight is raised. Large super points are therefore still found in bounded time, and the health
//! reports the overload.

use std::net::{IpAddr, Ipv4Addr};

use srlg_core::finder::{RsraParams, detection, regain};
use srlg_core::{Address, Params};
use srlg_kernels::survey::WEIGHTS;

use super::{FinderFill, FinderHealth, Overload};
use crate::error::Error;

/// Numbers of hot rough estimators, by row and by weight from 0 to 8.
pub(crate) struct HotCounts(pub(crate) Vec<[u32; WEIGHTS]>);

impl HotCounts {
    /// Returns the number of rough estimators of `row` with a weight of at least `weight`.
    pub(crate) fn columns(&self, row: usize, weight: u32) -> u32 {
        self.0[row][weight as usize..].iter().sum()
    }

    /// Returns whether `hot_limit` permits a search at `weight`.
    fn is_searchable(&self, rsra: &RsraParams, weight: u32) -> bool {
        let is_few = |row| self.columns(row, weight) <= rsra.hot_limit();
        (0..self.0.len()).all(is_few)
            && regain::is_searchable(rsra, [0, 1].map(|row| self.columns(row, weight)))
    }

    fn shares(&self, rsra: &RsraParams) -> Vec<f64> {
        let hot = |row| f64::from(self.columns(row, rsra.hot_weight()));
        (0..self.0.len()).map(|row| hot(row) / f64::from(rsra.columns())).collect()
    }
}

/// Calls `regain` with increasing weights until it returns a result. Weights at which the limits are exceeded are
/// skipped.
///
/// Returns that result and the health of the finder. If no weight yields a result, the returned result is empty.
/// `regain` must return `None` if there are too many candidates.
pub(crate) fn search<T: Default>(
    params: &Params,
    counts: &HotCounts,
    mut regain: impl FnMut(u32) -> Result<Option<T>, Error>,
) -> Result<(T, FinderHealth), Error> {
    let rsra = rsra(params);
    for weight in rsra.hot_weight()..=rsra.width() {
        if !counts.is_searchable(rsra, weight) {
            continue;
        }
        if let Some(found) = regain(weight)? {
            let is_raised = weight > rsra.hot_weight();
            let overload = is_raised.then_some(Overload::Raised);
            return Ok((found, health(params, counts, weight, overload)));
        }
    }
    let health = health(params, counts, rsra.width(), Some(Overload::Saturated));
    Ok((T::default(), health))
}

/// Returns the params of a detector's RSRA.
///
/// # Panics
/// Panics if the finder of the detector is not an RSRA.
pub(super) fn rsra(params: &Params) -> &RsraParams {
    params.finder().rsra().expect("the params belong to this finder")
}

pub(super) fn untouched(params: &Params) -> FinderHealth {
    let rsra = rsra(params);
    let counts = HotCounts(vec![[0; WEIGHTS]; rsra.rows() as usize]);
    health(params, &counts, rsra.hot_weight(), None)
}

fn health(
    params: &Params,
    counts: &HotCounts,
    hot_weight: u32,
    overload: Option<Overload>,
) -> FinderHealth {
    let rsra = rsra(params);
    let (width, tau) = (rsra.width(), rsra.lsb_threshold());
    let (miss_probability, found_from) = match overload {
        Some(Overload::Saturated) => (1.0, f64::INFINITY),
        _ => (
            detection::miss_probability(params.threshold(), width, tau, hot_weight),
            detection::found_from(width, tau, hot_weight),
        ),
    };
    FinderHealth {
        fill: FinderFill::Rsra { hot_weight, hot_shares: counts.shares(rsra) },
        miss_probability,
        miss_probability_v6: None,
        // Touches of any age can make an estimator hot, so a burst is missed as often as contacts spread evenly.
        burst_miss_probability: miss_probability,
        burst_miss_probability_v6: None,
        found_from,
        found_from_v6: None,
        overload,
    }
}

pub(crate) fn hosts(addresses: Vec<Address>) -> Vec<IpAddr> {
    addresses.into_iter().map(|address| Ipv4Addr::from_bits(address).into()).collect()
}

/// Creates and fills the arrays of a [`HighTable`](regain::HighTable).
pub(crate) fn high_table(rsra: &RsraParams) -> [Vec<u32>; 3] {
    let mut table = regain::high_table_lens(rsra).map(|len| vec![0; len]);
    regain::fill_high_table(rsra, table.each_mut().map(|values| &mut values[..]));
    table
}
