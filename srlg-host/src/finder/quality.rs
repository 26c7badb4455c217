//! [`Quality`]: what the candidates of a search are worth.

use crate::report::Overload;

/// What the candidates of a search are worth.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Quality {
    /// Share of the estimators of each row that were hot at the configured weight.
    pub(crate) hot_shares: Vec<f64>,
    /// Weight from which estimators were searched.
    pub(crate) hot_weight: u32,
    /// Probability that the search passed over a host with exactly θ opposite hosts.
    pub(crate) miss_probability: f64,
    /// What the search could not do.
    pub(crate) overload: Option<Overload>,
}
