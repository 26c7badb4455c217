//! Values of the last ten minutes, for the right end of the charts.
//!
//! There is one value per slice. If slices are shorter than a second, a value covers the slices of about a second. A
//! slice without data has no value, and no value is interpolated. The memory is bounded, and a reload keeps the values.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::Arc;

use crate::series::interval_ms;

/// Time for which values are kept, in milliseconds.
const KEPT_MS: u64 = 600_000;

/// Maximum number of exporters whose rates are kept, per slice and per minute. The exporters with the highest rates are
/// chosen.
pub const EXPORTERS: usize = 100;

/// Returns the number of intervals that are kept, including the newest one.
fn kept(step_ms: u64) -> u64 {
    (KEPT_MS / step_ms).max(1)
}

/// Counts of a view in the last ten minutes.
#[derive(Clone, Debug, Default)]
pub struct RecentCounts {
    /// Counts of the intervals with data, oldest first.
    counts: VecDeque<SliceCounts>,
}

/// Counts of a view at the end of a slice, or their maxima over the slices of an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SliceCounts {
    /// End of the slice, in milliseconds since the Unix epoch, rounded down to a multiple of the interval.
    pub time_ms: u64,
    /// Number of super points.
    pub super_points: usize,
    /// Number of peers of the largest super point, or 0 if there are no super points.
    pub largest: f64,
}

impl RecentCounts {
    /// Adds the counts of the slice that ended at `counts.time_ms` and had data.
    pub fn add(&mut self, counts: SliceCounts, slice_ms: u64) {
        let step_ms = interval_ms(slice_ms);
        let counts = SliceCounts { time_ms: counts.time_ms / step_ms * step_ms, ..counts };
        match self.counts.back_mut() {
            Some(last) if last.time_ms > counts.time_ms => return,
            Some(last) if last.time_ms == counts.time_ms => {
                last.super_points = last.super_points.max(counts.super_points);
                last.largest = last.largest.max(counts.largest);
            }
            _ => self.counts.push_back(counts),
        }
        let kept_ms = kept(step_ms) * step_ms;
        while self.counts.front().is_some_and(|it| it.time_ms + kept_ms <= counts.time_ms) {
            self.counts.pop_front();
        }
    }

    /// Returns the counts from `from_ms` on, oldest first.
    pub fn since(&self, from_ms: u64) -> impl Iterator<Item = &SliceCounts> {
        let first = self.counts.partition_point(|it| it.time_ms < from_ms);
        self.counts.range(first..)
    }
}

/// Rates of the input in the last ten minutes. A clone shares the rates.
#[derive(Clone, Debug, Default)]
pub struct RecentRates {
    /// Rates of the intervals with data, oldest first.
    rates: VecDeque<Arc<SliceRates>>,
    last: Option<Arc<Counters>>,
    /// End of the last slice that closed before any data arrived, in milliseconds since the Unix epoch.
    waited_ms: u64,
}

/// Rates of the input in a slice, or in an interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SliceRates {
    /// End of the slice, in milliseconds since the Unix epoch, rounded down to a multiple of the interval.
    pub time_ms: u64,
    /// Contacts per second.
    pub contacts: Option<f64>,
    /// Records per second of up to [`EXPORTERS`] exporters.
    pub records: Vec<ExporterRate>,
}

/// Rate of an exporter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExporterRate {
    /// Address of the exporter.
    pub exporter: IpAddr,
    /// Flow records per second.
    pub rate: f64,
}

/// Counters of the input at one point in time.
#[derive(Clone, Debug, Default)]
pub struct Counters {
    pub(super) now_ms: u64,
    /// A collector has no counter of contacts, because the probes count the contacts.
    pub(super) contacts: Option<u64>,
    /// Time at which the counters of exporters were read.
    pub(super) read_ms: u64,
    /// Sorted by exporter.
    pub(super) records: Vec<ExporterRecords>,
    /// Whether no data arrives, or has arrived yet.
    pub(super) is_input_lost: bool,
    /// Whether no data has arrived yet.
    pub(super) is_waiting: bool,
}

/// The counter of records of an exporter.
#[derive(Clone, Copy, Debug)]
pub(super) struct ExporterRecords {
    pub(super) exporter: IpAddr,
    pub(super) records: u64,
    pub(super) is_silent: bool,
}

impl Counters {
    /// Returns the contacts per second since `first`. A counter that was reset has no rate. A lost input has no rate.
    #[must_use]
    pub fn contacts_since(&self, first: &Self) -> Option<f64> {
        let (last, first_contacts) = self.contacts.zip(first.contacts)?;
        let rate = rate(last, first_contacts, self.now_ms.checked_sub(first.now_ms)?)?;
        Some(rate).filter(|rate| *rate > 0.0 || !self.is_input_lost)
    }

    /// Returns the records per second of the exporters with the highest rates since `first`. A counter that was reset
    /// has no rate, and neither has an exporter that is silent.
    #[must_use]
    pub fn records_since(&self, first: &Self) -> Vec<ExporterRate> {
        let Some(time_ms) = self.read_ms.checked_sub(first.read_ms) else { return Vec::new() };
        let rates = self.records.iter().filter_map(|last| {
            let exporter = last.exporter;
            let at = first.records.binary_search_by_key(&exporter, |it| it.exporter).ok()?;
            let rate = rate(last.records, first.records[at].records, time_ms)?;
            let is_known = rate > 0.0 || !(last.is_silent || self.is_input_lost);
            is_known.then_some(ExporterRate { exporter, rate })
        });
        let mut rates: Vec<_> = rates.collect();
        rates.sort_by(|a, b| b.rate.total_cmp(&a.rate));
        rates.truncate(EXPORTERS);
        rates
    }
}

fn rate(last: u64, first: u64, time_ms: u64) -> Option<f64> {
    let count = last.checked_sub(first).filter(|_| time_ms > 0)?;
    Some((count as f64 * 1e3 / time_ms as f64).round())
}

impl RecentRates {
    /// Adds the rates from the last counters to these, which were read after a slice of `slice_ms`. Counters without a new
    /// slice change nothing.
    pub fn add(&mut self, mut counters: Counters, slice_ms: u64) {
        if counters.is_waiting {
            self.waited_ms = counters.now_ms;
        }
        let is_new = self.last.as_ref().is_none_or(|last| last.now_ms < counters.now_ms);
        if counters.now_ms == 0 || !is_new {
            return;
        }
        let step_ms = interval_ms(slice_ms);
        let time_ms = counters.now_ms / step_ms * step_ms;
        if let Some(last) = &self.last {
            let contacts = counters.contacts_since(last);
            let records = if counters.read_ms > last.read_ms {
                counters.records_since(last)
            } else {
                // The counters are read about once a second, so a slice can close between two readings.
                counters.records.clone_from(&last.records);
                counters.read_ms = last.read_ms;
                self.rates.back().map(|it| it.records.clone()).unwrap_or_default()
            };
            self.push(SliceRates { time_ms, contacts, records }, step_ms);
        }
        self.last = Some(Arc::new(counters));
    }

    fn push(&mut self, mut rates: SliceRates, step_ms: u64) {
        if let Some(last) = self.rates.back().filter(|last| last.time_ms == rates.time_ms) {
            rates.contacts = rates.contacts.into_iter().chain(last.contacts).reduce(f64::max);
            self.rates.pop_back();
        }
        let kept_ms = kept(step_ms) * step_ms;
        while self.rates.front().is_some_and(|it| it.time_ms + kept_ms <= rates.time_ms) {
            self.rates.pop_front();
        }
        self.rates.push_back(Arc::new(rates));
    }

    /// Returns the rates from `from_ms` on, oldest first.
    pub fn since(&self, from_ms: u64) -> impl Iterator<Item = &SliceRates> {
        let first = self.rates.partition_point(|it| it.time_ms < from_ms);
        self.rates.range(first..).map(Arc::as_ref)
    }

    /// Returns the end of the last slice that closed before any data arrived, in milliseconds since the Unix epoch, or
    /// 0. Counts of these slices are unknown rather than 0.
    #[must_use]
    pub const fn waited_ms(&self) -> u64 {
        self.waited_ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::overview::{ExporterOverview, InputOverview, NetworkOverview, Overview};

    fn counts(time_ms: u64, super_points: usize, largest: f64) -> SliceCounts {
        SliceCounts { time_ms, super_points, largest }
    }

    fn since(recent: &RecentCounts, from_ms: u64) -> Vec<SliceCounts> {
        recent.since(from_ms).copied().collect()
    }

    #[test]
    fn ten_minutes_of_slices_are_kept_and_gaps_stay_gaps() {
        let mut recent = RecentCounts::default();
        for second in (1..=2_000).filter(|second| second % 10 != 3) {
            recent.add(counts(second * 1_000, second as usize, second as f64), 1_000);
        }
        let all = since(&recent, 0);
        assert_eq!(all.len(), 540);
        assert_eq!(all[0], counts(1_401_000, 1_401, 1_401.0));
        assert_eq!(since(&recent, 1_992_500).len(), 7, "the second 1,993 is a gap");
    }

    #[test]
    fn short_slices_have_the_maxima_of_a_second_and_long_ones_a_value_each() {
        let mut recent = RecentCounts::default();
        for slice in 1..=25_u64 {
            let value = (slice * 7 % 11) as usize;
            recent.add(counts(slice * 100, value, value as f64), 100);
        }
        let expected = |slices: std::ops::RangeInclusive<u64>| {
            slices.map(|slice| (slice * 7 % 11) as usize).max().unwrap()
        };
        let found: Vec<_> =
            since(&recent, 0).iter().map(|it| (it.time_ms, it.super_points)).collect();
        assert_eq!(
            found,
            [(0, expected(1..=9)), (1_000, expected(10..=19)), (2_000, expected(20..=25))]
        );
        let mut recent = RecentCounts::default();
        (1..=3).for_each(|hour| recent.add(counts(hour * 3_600_000, 1, 1.0), 3_600_000));
        assert_eq!(since(&recent, 0), [counts(3 * 3_600_000, 1, 1.0)]);
    }

    /// Returns an overview whose exporters have these counts of records.
    fn overview(now_ms: u64, contacts: u64, records: &[u64]) -> Overview {
        let exporter = |(at, records): (usize, &u64)| ExporterOverview {
            records: *records,
            ..ExporterOverview::new(exporter(at))
        };
        Overview {
            now_ms,
            slice_ms: 1_000,
            input: InputOverview { contacts, ..InputOverview::default() },
            exporters: records.iter().enumerate().map(exporter).collect(),
            ..Overview::default()
        }
    }

    fn exporter(at: usize) -> IpAddr {
        [10, 0, (at / 256) as u8, (at % 256) as u8].into()
    }

    /// Returns the contacts and the records of the first exporter per second.
    fn rates(recent: &RecentRates) -> Vec<(u64, Option<f64>, Option<f64>)> {
        let rates = recent.since(0).map(|it| {
            let records = it.records.iter().find(|it| it.exporter == exporter(0));
            (it.time_ms, it.contacts, records.map(|it| it.rate))
        });
        rates.collect()
    }

    #[test]
    fn a_lost_or_reset_input_has_no_rates_and_a_quiet_one_has_0() {
        let mut recent = RecentRates::default();
        let lost = Overview { is_input_lost: true, ..overview(64_000, 310, &[30]) };
        let mut silent = overview(66_000, 400, &[30]);
        silent.exporters[0].is_silent = true;
        for overview in [
            overview(60_000, 100, &[10]),
            overview(61_000, 300, &[30]),
            overview(61_000, 999, &[99]),
            overview(62_000, 300, &[30]),
            lost.clone(),
            Overview { now_ms: 65_000, ..lost },
            silent,
            overview(67_000, 50, &[5]),
        ] {
            recent.add(overview.counters(), overview.slice_ms);
        }
        assert_eq!(
            rates(&recent),
            [
                (61_000, Some(200.0), Some(20.0)),
                (62_000, Some(0.0), Some(0.0)),
                (64_000, Some(5.0), None),
                (65_000, None, None),
                (66_000, Some(90.0), None),
                (67_000, None, None),
            ]
        );
    }

    #[test]
    fn rates_of_exporters_are_those_between_two_readings() {
        let mut recent = RecentRates::default();
        // A reading every 1.1 seconds and a slice every second, at 1,000 records per second.
        for second in 1..=30_u64 {
            let read_ms = second * 1_000 / 1_100 * 1_100;
            let mut overview = overview(second * 1_000, 0, &[read_ms]);
            overview.exporters_read_ms = Some(read_ms);
            recent.add(overview.counters(), overview.slice_ms);
        }
        let found = rates(&recent);
        assert_eq!(found.len(), 29);
        assert!(found[1..].iter().all(|it| it.2 == Some(1_000.0)), "{found:?}");
    }

    #[test]
    fn rates_are_those_of_100_exporters_for_ten_minutes() {
        let mut recent = RecentRates::default();
        for second in 1..=700_u64 {
            let records: Vec<u64> = (0..300).map(|at| second * at).collect();
            let overview = overview(second * 1_000, 0, &records);
            recent.add(overview.counters(), overview.slice_ms);
        }
        let all: Vec<&SliceRates> = recent.since(0).collect();
        assert_eq!((all.len(), all[0].time_ms), (600, 101_000));
        let last = all[599];
        assert_eq!(last.records.len(), EXPORTERS);
        assert!(last.records.iter().all(|it| it.rate >= 200.0), "{last:?}");
    }

    #[test]
    fn a_network_has_no_contacts_of_its_own() {
        let network = Some(NetworkOverview::default());
        let [first, last] = [0, 60_000].map(|now_ms| {
            let overview = overview(now_ms, now_ms, &[]);
            Overview { network: network.clone(), ..overview }.counters()
        });
        assert_eq!(last.contacts_since(&first), None);
    }

    #[test]
    fn slices_before_the_first_data_are_not_counted() {
        let mut recent = RecentRates::default();
        for second in 1..=5_u64 {
            let is_waiting = second <= 3;
            let contacts = if is_waiting { 0 } else { 10 * second };
            let overview = Overview { is_waiting, ..overview(second * 1_000, contacts, &[]) };
            recent.add(overview.counters(), overview.slice_ms);
        }
        assert_eq!(recent.waited_ms(), 3_000);
        let contacts: Vec<_> = recent.since(0).map(|it| it.contacts).collect();
        assert_eq!(contacts, [None, None, Some(40.0), Some(10.0)]);
    }
}
