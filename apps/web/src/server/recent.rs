//! The values of the last ten minutes in the answer to a request for series.

use std::net::IpAddr;

use serde::Serialize;

use srlg_alerts::series::interval_ms;
use srlg_alerts::status::overview::{Overview, ViewOverview};
use srlg_alerts::status::recent::{ExporterRate, SliceCounts, SliceRates};

/// Time series with values at equal intervals. A missing value is null.
#[derive(Debug, Serialize)]
pub(super) struct Values {
    /// Time of the first value, in milliseconds since the Unix epoch.
    pub(super) start_ms: u64,
    /// Interval between consecutive values, in milliseconds.
    pub(super) step_ms: u64,
    /// Contacts per second.
    pub(super) contacts: Vec<Option<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) super_points: Option<Vec<Option<f64>>>,
    /// Number of peers of the largest super point of the view, or 0 if there are no super points.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) largest: Option<Vec<Option<f64>>>,
    /// Flow records per second of the exporter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) records: Option<Vec<Option<f64>>>,
}

/// A period of equal intervals.
#[derive(Clone, Copy, Debug)]
struct Period {
    start_ms: u64,
    step_ms: u64,
    count: usize,
}

impl Period {
    /// Returns the period from `from_ms` to `to_ms` that the values in `overview` cover. Slices that closed before the
    /// first data arrived are left out.
    fn of(overview: &Overview, from_ms: u64, to_ms: u64) -> Self {
        let step_ms = interval_ms(overview.slice_ms);
        let counts = overview.views.iter().filter_map(|view| view.recent.since(0).next());
        let rates = overview.recent.since(0).next();
        let times = counts.map(|it| it.time_ms).chain(rates.map(|it| it.time_ms));
        let first_ms = times.min().unwrap_or(u64::MAX);
        let from_ms = from_ms.max(first_ms).max(overview.recent.waited_ms() + 1);
        let last_ms = to_ms.min(overview.now_ms) / step_ms * step_ms;
        let start_ms = from_ms.checked_next_multiple_of(step_ms).filter(|it| *it <= last_ms);
        let count = start_ms.map_or(0, |start_ms| (last_ms - start_ms) / step_ms + 1);
        Self { start_ms: start_ms.unwrap_or(last_ms), step_ms, count: count as usize }
    }

    /// Returns the value of each interval, or `None` for an interval without a value.
    fn spread(self, values: impl Iterator<Item = TimedValue>) -> Vec<Option<f64>> {
        let mut spread = vec![None; self.count];
        for TimedValue { time_ms, value } in values {
            let at = time_ms.checked_sub(self.start_ms).map(|age_ms| age_ms / self.step_ms);
            if let Some(slot) = at.and_then(|at| spread.get_mut(at as usize)) {
                *slot = value;
            }
        }
        spread
    }
}

struct TimedValue {
    time_ms: u64,
    value: Option<f64>,
}

impl Values {
    /// Returns the values of slices in `overview` from `from_ms` to `to_ms`, up to the last closed slice. They are those
    /// of the input and, if they are given, of a view and an exporter. If slices are shorter than a second, a value covers
    /// about a second.
    pub(super) fn recent(
        overview: &Overview,
        view: Option<&ViewOverview>,
        exporter: Option<IpAddr>,
        from_ms: u64,
        to_ms: u64,
    ) -> Self {
        let period = Period::of(overview, from_ms, to_ms);
        let counts =
            |of: fn(&SliceCounts) -> f64| {
                view.map(|view| {
                    period.spread(view.recent.since(period.start_ms).map(|counts| TimedValue {
                        time_ms: counts.time_ms,
                        value: Some(of(counts)),
                    }))
                })
            };
        let rates = |of: &dyn Fn(&SliceRates) -> Option<f64>| {
            period.spread(
                overview
                    .recent
                    .since(period.start_ms)
                    .map(|rates| TimedValue { time_ms: rates.time_ms, value: of(rates) }),
            )
        };
        let records = exporter.map(|exporter| {
            let is_own = |it: &&ExporterRate| it.exporter == exporter;
            rates(&|it| it.records.iter().find(is_own).map(|it| it.rate))
        });
        Self {
            start_ms: period.start_ms,
            step_ms: period.step_ms,
            contacts: rates(&|it| it.contacts),
            super_points: counts(|it| it.super_points as f64),
            largest: counts(|it| it.largest),
            records,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use srlg_alerts::status::overview::{ExporterOverview, InputOverview};
    use srlg_alerts::status::recent::{RecentCounts, RecentRates};

    const EXPORTER: [u8; 4] = [198, 51, 100, 1];

    /// Returns the overview after slices of a second that ended at `first_s` to `last_s`. The slices in `lost` had no
    /// input.
    fn overview(first_s: u64, last_s: u64, lost: std::ops::Range<u64>) -> Overview {
        let (mut rates, mut counts) = (RecentRates::default(), RecentCounts::default());
        let mut last = Overview::default();
        for second in first_s..=last_s {
            let is_input_lost = lost.contains(&second);
            let received = if is_input_lost { lost.start } else { second };
            if !is_input_lost {
                let (time_ms, largest) = (second * 1_000, second as f64);
                counts.add(SliceCounts { time_ms, super_points: 1, largest }, 1_000);
            }
            let exporter = ExporterOverview {
                records: received * 5,
                ..ExporterOverview::new(EXPORTER.into())
            };
            last = Overview {
                now_ms: second * 1_000,
                slice_ms: 1_000,
                is_input_lost,
                input: InputOverview { contacts: received * 7, ..InputOverview::default() },
                exporters: vec![exporter],
                ..Overview::default()
            };
            rates.add(last.counters(), last.slice_ms);
        }
        let view = ViewOverview { recent: counts, ..ViewOverview::default() };
        Overview { views: vec![view], recent: rates, ..last }
    }

    fn values(overview: &Overview, from_ms: u64, to_ms: u64) -> serde_json::Value {
        let view = overview.views.first();
        let values = Values::recent(overview, view, Some(EXPORTER.into()), from_ms, to_ms);
        serde_json::to_value(values).unwrap()
    }

    #[test]
    fn a_period_has_a_value_per_slice_and_null_in_gaps() {
        let overview = overview(100, 110, 104..107);
        let expected = json!({
            "start_ms": 102_000, "step_ms": 1_000,
            "largest": [102.0, 103.0, null, null, null, 107.0],
            "super_points": [1.0, 1.0, null, null, null, 1.0],
            // The contacts of the second 104 are those since the second 103.
            "contacts": [7.0, 7.0, 7.0, null, null, 21.0],
            "records": [5.0, 5.0, 5.0, null, null, 15.0],
        });
        assert_eq!(values(&overview, 101_500, 107_999), expected);
    }

    #[test]
    fn values_begin_with_the_oldest_and_end_with_the_last_closed_slice() {
        let overview = overview(100, 110, 0..0);
        let all = values(&overview, 0, u64::MAX);
        assert_eq!(
            (&all["start_ms"], all["largest"].as_array().unwrap().len()),
            (&json!(100_000), 11)
        );
        assert_eq!(all["contacts"][0], json!(null), "there is no earlier counter");
        for (from_ms, to_ms) in [(0, 99_999), (111_000, 200_000)] {
            let none = values(&overview, from_ms, to_ms);
            let empty = json!([]);
            assert_eq!((&none["largest"], &none["contacts"]), (&empty, &empty));
        }
        let view = ViewOverview::default();
        let none = Values::recent(&Overview::default(), Some(&view), None, 0, u64::MAX);
        assert_eq!((none.largest, none.records), (Some(Vec::new()), None));
    }

    #[test]
    fn slices_before_the_first_flows_are_no_values() {
        let mut overview = overview(100, 103, 0..0);
        let waiting = Overview { now_ms: 104_000, is_waiting: true, ..overview.clone() };
        overview.recent.add(waiting.counters(), waiting.slice_ms);
        overview.now_ms = 105_000;
        let values = values(&overview, 0, u64::MAX);
        assert_eq!((&values["start_ms"], &values["largest"]), (&json!(105_000), &json!([null])));
    }
}
