//! Statistics about the hosts that the finder misses, taken from a report and selected by address family.

use srlg_host::report::FinderHealth;
use srlg_traffic::family::Family;

/// Returns the probability that the finder misses a host of this `family` with θ peers. For mixed traffic, returns the
/// mean of both families.
pub(crate) fn at_threshold(health: &FinderHealth, family: Family) -> f64 {
    let (v4, v6) = (health.miss_probability, health.miss_probability_v6);
    of_family(family, v4, v6, f64::midpoint)
}

/// Returns the minimum number of peers at which the finder finds 99 % of the hosts of this `family`. For mixed traffic,
/// returns the larger of the numbers for IPv4 and IPv6.
pub(crate) fn found_from(health: &FinderHealth, family: Family) -> f64 {
    of_family(family, health.found_from, health.found_from_v6, f64::max)
}

/// Returns the value for `family`. If `v6` is `None`, as in the paper's scheme, `v4` is used instead.
fn of_family(family: Family, v4: f64, v6: Option<f64>, of_both: fn(f64, f64) -> f64) -> f64 {
    let v6 = v6.unwrap_or(v4);
    match family {
        Family::V4 => v4,
        Family::V6 => v6,
        Family::Mixed => of_both(v4, v6),
    }
}
