//! [`Quality`]: what the candidates of a search are worth.

use super::{FinderHealth, Overload};

/// What the candidates of a search are worth: the finder's part of [`Health`](crate::report::Health), where
/// each is explained.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Quality {
    pub(crate) finder: FinderHealth,
    pub(crate) miss_probability: f64,
    pub(crate) miss_probability_v6: Option<f64>,
    pub(crate) burst_miss_probability: f64,
    pub(crate) found_from: f64,
    pub(crate) overload: Option<Overload>,
}
