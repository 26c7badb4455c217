//! The super points of a closed slice.

use std::collections::BTreeMap;
use std::net::IpAddr;

use srlg_host::SuperPoint;
use srlg_host::report::EstimateRange;

use crate::rules::Terms;
use crate::usual::Usual;

/// The super points of a slice, by the length of the window in slices.
pub type Sightings = BTreeMap<u32, Vec<Sighting>>;

/// A super point in one slice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sighting {
    /// The host.
    pub host: IpAddr,
    /// Number of peers.
    pub cardinality: f64,
    /// Standard error of `cardinality`.
    pub std_error: f64,
    /// Whether the host has more peers than can be measured.
    pub is_lower_bound: bool,
    /// Usual number of peers at this time, if it is known.
    pub usual: Option<Usual>,
}

impl Sighting {
    /// Creates the sighting of `host` from its number of peers and the standard error of this number.
    #[must_use]
    pub const fn new(host: IpAddr, cardinality: f64, std_error: f64) -> Self {
        Self { host, cardinality, std_error, is_lower_bound: false, usual: None }
    }

    /// Returns whether the count is too high to be measured, or reaches the threshold even after one standard error is
    /// subtracted.
    pub(crate) fn is_hit(&self, terms: &Terms) -> bool {
        let threshold = terms.thresholds(self.usual).start;
        self.is_lower_bound || self.cardinality - self.std_error >= threshold
    }
}

impl From<&SuperPoint> for Sighting {
    fn from(point: &SuperPoint) -> Self {
        let is_lower_bound = point.range == EstimateRange::Beyond;
        Self { is_lower_bound, ..Self::new(point.host, point.cardinality, point.std_error) }
    }
}
