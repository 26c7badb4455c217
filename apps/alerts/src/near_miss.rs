//! Hosts that passed their threshold in too few slices for an alert.

use std::collections::BTreeSet;
use std::fmt;

use srlg_input::contact::Name;

/// Maximum number of stored near misses.
const MOST: usize = 8;

/// A host that passed its threshold in too few slices for an alert.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NearMiss {
    /// The host that passed its threshold.
    pub host: Name,
    /// Largest count that reached the threshold.
    pub cardinality: f64,
    /// Threshold that the count reached.
    pub threshold: f64,
    /// Largest number of slices, out of `of_slices` consecutive slices, in which the count reached the threshold.
    pub slices: u32,
    /// Number of slices, out of `of_slices`, in which the count must reach the threshold to raise an alert.
    pub for_slices: u32,
    /// Number of consecutive slices in which the count must reach the threshold `for_slices` times.
    pub of_slices: u32,
}

impl fmt::Display for NearMiss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, cardinality, threshold, slices, for_slices, of_slices } = self;
        write!(
            f,
            "{host}: {cardinality:.0} peers; the threshold of {threshold} was reached in {slices} slices, but {for_slices} of {of_slices} are required"
        )
    }
}

/// Largest near misses of hosts that have had no alert since, one per host.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct NearMisses(Vec<NearMiss>);

impl NearMisses {
    /// Adds `more`, and keeps only the largest near miss of each host and at most [`MOST`] near misses.
    pub(crate) fn with(&self, more: impl IntoIterator<Item = NearMiss>) -> Self {
        let mut near_misses: Vec<NearMiss> = self.0.iter().copied().chain(more).collect();
        near_misses.sort_by(|a, b| b.cardinality.total_cmp(&a.cardinality));
        let mut hosts = BTreeSet::new();
        near_misses.retain(|near_miss| hosts.insert(near_miss.host));
        near_misses.truncate(MOST);
        Self(near_misses)
    }

    pub(crate) fn forget(&mut self, host: Name) {
        self.0.retain(|near_miss| near_miss.host != host);
    }

    /// Returns the near misses, the largest first.
    pub(crate) fn into_vec(self) -> Vec<NearMiss> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;
    use crate::{Condition, Rule, Sighting, Status, Terms, Tracker, Witnesses};

    const HOST: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7));

    fn close(counts: impl IntoIterator<Item = u32>) -> (Vec<Status>, Vec<NearMiss>) {
        let terms = Terms { threshold: 1_000.0, ..Terms::default() };
        let rule =
            Rule { name: "r".to_owned(), networks: Vec::new(), windows: [(1, terms)].into() };
        let (mut tracker, mut statuses) = (Tracker::new("v"), Vec::new());
        for (second, count) in (1..).zip(counts) {
            let sightings = [(1, vec![Sighting::new(HOST, f64::from(count), 1.0)])].into();
            let (now_ms, condition) = (second * 1_000, Condition::default());
            let alerts = tracker.close(
                now_ms,
                &sightings,
                |_| Some(&rule),
                condition,
                |_, _| Witnesses::default(),
            );
            statuses.extend(alerts.iter().map(|alert| alert.status));
        }
        (statuses, tracker.near_misses(|_| Some(&rule)))
    }

    #[test]
    fn a_host_with_an_alert_is_no_near_miss_though_it_was_one_before() {
        let blip = [2_000, 0, 0, 0, 0, 0];
        assert_eq!(close(blip).1.len(), 1);
        let (statuses, near_misses) = close(blip.into_iter().chain([2_000; 3]));
        assert_eq!((statuses, near_misses), (vec![Status::Start], Vec::new()));
    }

    #[test]
    fn slices_of_a_near_miss_are_those_within_the_slices_that_count() {
        // The host reaches the threshold in every third slice.
        let counts = (0..300).map(|slice| if slice % 3 == 0 { 1_500 + slice } else { 0 });
        let (statuses, near_misses) = close(counts);
        let (cardinality, threshold) = (1_797.0, 1_000.0);
        let slices = NearMiss {
            host: HOST.into(),
            cardinality,
            threshold,
            slices: 2,
            for_slices: 3,
            of_slices: 5,
        };
        assert_eq!((statuses, near_misses), (Vec::new(), vec![slices]));
    }
}
