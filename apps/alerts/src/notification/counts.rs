//! Peer counts of a notification, by window and by site.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Context, SiteCount};
use crate::WindowCount;
use crate::usual::Usual;

/// Peer count of a host within one window. For a network, it is the count of the host that has the most peers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NotifiedWindow {
    /// Length of the window, in milliseconds.
    pub window_ms: u64,
    /// Whether the window keeps the alert active. A window becomes active when its count has reached the threshold in
    /// enough recent slices.
    pub is_active: bool,
    /// Current number of peers; 0 if the host has too few peers to be reported.
    pub cardinality: f64,
    /// Standard error of `cardinality`.
    pub std_error: f64,
    /// Whether the real number of peers is too high to be measured.
    pub is_lower_bound: bool,
    /// Threshold θ of the rule for this window, raised to the multiple of what is usual that the rule demands.
    pub threshold: f64,
    /// Usual number of peers at this hour of the week, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usual: Option<Usual>,
    /// Largest count so far.
    pub peak: f64,
    /// Time of `peak`, in milliseconds since the Unix epoch.
    pub peak_ms: u64,
    /// Upper bound of the number of peers without sampling: two standard deviations above the number that is expected
    /// with one packet per peer. The bound then holds in 97 % of cases, and with more packets per peer almost always.
    /// Absent if a sampling rate is unknown, if `cardinality` is 0, or if `is_lower_bound` is true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsampled_most: Option<f64>,
}

impl NotifiedWindow {
    pub(crate) fn new(count: WindowCount, context: &Context) -> Self {
        let WindowCount { cardinality, std_error, is_lower_bound, .. } = count;
        // If `cardinality` is a lower bound or too small to be reported, no upper bound is known.
        let is_known = !is_lower_bound && cardinality > 0.0;
        let most = context.sampling.unsampled_most(cardinality, std_error);
        let unsampled_most = most.filter(|_| is_known);
        Self {
            window_ms: u64::from(count.slices) * context.slice_ms,
            is_active: count.is_active,
            cardinality,
            std_error,
            is_lower_bound,
            threshold: count.threshold,
            usual: count.usual,
            peak: count.peak,
            peak_ms: count.peak_ms,
            unsampled_most,
        }
    }
}

/// Number of peers of a host at one site.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NotifiedSite {
    /// Name of the site.
    pub site: String,
    /// Number of peers that the site saw.
    pub cardinality: f64,
    /// Share of all peers, at most 1. Several sites may see the same peers, so the sum of shares may exceed 1.
    pub share: f64,
}

impl NotifiedSite {
    /// Returns the peer counts at the sites that saw the host, in descending order. `all` is the count over all sites.
    pub(super) fn of(counts: &[SiteCount], all: f64) -> Vec<Self> {
        let is_seen = |count: &&SiteCount| count.cardinality.is_finite() && count.cardinality > 0.0;
        let seen = counts.iter().filter(is_seen);
        // The merged count is 0 if the host has too few peers to be reported.
        let all = seen.clone().map(|count| count.cardinality).fold(all, f64::max);
        let mut sites: Vec<Self> = seen
            .map(|SiteCount { site, cardinality }| Self {
                site: site.clone(),
                cardinality: *cardinality,
                share: cardinality / all,
            })
            .collect();
        sites.sort_by(|a, b| b.cardinality.total_cmp(&a.cardinality));
        sites
    }
}

impl fmt::Display for NotifiedSite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({:.0} %)", self.site, self.share * 100.0)
    }
}
