//! Counts of active alerts after each slice, between their notifications.

use std::collections::VecDeque;

use crate::alerts::alert::WindowCount;

/// Slices that a line shows.
pub const LINE: usize = 60;

/// The counts of an active alert after the last slice.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LiveCount {
    /// Hosts that are part of the alert.
    pub hosts: u32,
    /// Counts in the windows that have passed their threshold, in the order of [`Alert::windows`](super::Alert::windows).
    pub windows: Vec<WindowCount>,
    /// Peers within the first of the windows after up to [`LINE`] last slices, the oldest first.
    pub line: VecDeque<u32>,
}

impl LiveCount {
    /// Takes the counts after another slice. The line starts again when another window comes first, because counts of
    /// windows of different lengths do not compare.
    pub(crate) fn take(&mut self, hosts: u32, windows: Vec<WindowCount>) {
        let main = |windows: &[WindowCount]| windows.first().map(|count| count.slices);
        if main(&windows) != main(&self.windows) {
            self.line.clear();
        }
        if self.line.len() == LINE {
            self.line.pop_front();
        }
        let now = windows.first().map_or(0.0, |count| count.cardinality);
        self.line.push_back(now.round() as u32);
        (self.hosts, self.windows) = (hosts, windows);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_last_slices_of_one_window() {
        let count = |slices, cardinality| WindowCount { slices, cardinality, ..Default::default() };
        let mut live = LiveCount::default();
        (0..100).for_each(|slice| live.take(1, vec![count(60, f64::from(slice))]));
        assert_eq!(live.line, (40..100).collect::<Vec<u32>>());
        live.take(2, vec![count(600, 7.4), count(60, 3.0)]);
        live.take(3, vec![count(600, 7.6), count(60, 3.0)]);
        assert_eq!((live.hosts, live.line), (3, [7, 8].into()));
    }
}
