//! Current counts of active alerts, which are updated after each slice.

use std::collections::VecDeque;

use crate::alert::WindowCount;

/// Maximum number of counts in the `line` of an alert.
pub const LINE: usize = 60;

/// The counts of an active alert after the last slice.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LiveCount {
    /// Counts within the windows that have reached their threshold, in the order of
    /// [`Alert::windows`](super::Alert::windows).
    pub windows: Vec<WindowCount>,
    /// Peer counts within the first window of `windows`, one for each of up to [`LINE`] recent slices, the oldest
    /// first.
    pub line: VecDeque<u32>,
}

impl LiveCount {
    /// Adds the counts of a slice. If the first window changes, the line restarts, because counts of different windows
    /// cannot be compared.
    pub(crate) fn add(&mut self, windows: Vec<WindowCount>) {
        let main = |windows: &[WindowCount]| windows.first().map(|count| count.slices);
        if main(&windows) != main(&self.windows) {
            self.line.clear();
        }
        if self.line.len() == LINE {
            self.line.pop_front();
        }
        let now = windows.first().map_or(0.0, |count| count.cardinality);
        self.line.push_back(now.round() as u32);
        self.windows = windows;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Condition, Rule, Sighting, Status, Terms, Tracker, Witnesses};

    #[test]
    fn an_alert_of_two_windows_has_the_counts_of_each_slice() {
        let terms = |threshold| Terms { threshold, for_slices: 1, ..Terms::default() };
        let windows = [(60, terms(1_000.0)), (600, terms(2_000.0))].into();
        let rule = Rule { name: "r".to_owned(), networks: Vec::new(), windows };
        let mut tracker = Tracker::new("fan-in");
        let host = [192, 0, 2, 7].into();
        let mut ids = Vec::new();
        let counts = [3_000.0, 3_500.0, 5_900.0, 1_200.0, 0.0];
        for (slice, count) in counts.into_iter().enumerate() {
            let sighting = |count| vec![Sighting::new(host, count, 0.0)];
            let sightings = [(60, sighting(count)), (600, sighting(count + 100.0))].into();
            let now_ms = 1_000 * (slice as u64 + 1);
            let alerts = tracker.close(
                now_ms,
                &sightings,
                |_| Some(&rule),
                Condition::default(),
                |_, _| Witnesses::default(),
            );
            ids.extend(alerts.iter().map(|alert| (alert.id, alert.status)));
            let live = tracker.live(ids[0].0).unwrap();
            let of = |slices| live.windows.iter().find(|it| it.slices == slices).unwrap();
            assert_eq!((of(60).cardinality, of(600).cardinality), (count, count + 100.0));
            assert_eq!(of(60).peak, counts[..=slice].iter().copied().fold(0.0, f64::max));
            assert_eq!(live.windows.len(), 2);
        }
        // The line has the count of each slice, although only a few were reported.
        let of_start = (ids[0].0, Status::Start);
        assert_eq!(ids.iter().filter(|it| **it == of_start).count(), 1);
        assert!(ids.len() < counts.len() && ids.iter().all(|(id, _)| *id == ids[0].0));
    }

    #[test]
    fn a_line_has_the_last_slices_of_one_window() {
        let count = |slices, cardinality| WindowCount { slices, cardinality, ..Default::default() };
        let mut live = LiveCount::default();
        (0..100).for_each(|slice| live.add(vec![count(60, f64::from(slice))]));
        assert_eq!(live.line, (40..100).collect::<Vec<u32>>());
        live.add(vec![count(600, 7.4), count(60, 3.0)]);
        live.add(vec![count(600, 7.6), count(60, 3.0)]);
        assert_eq!(live.line, [7, 8]);
    }
}
