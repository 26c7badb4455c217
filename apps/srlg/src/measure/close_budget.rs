//! [`CloseBudget`]: a limit on the time for which the closes of a slice examine candidates.
//!
//! A crowd of hosts near the threshold makes every close expensive, because each host is examined. If all views
//! together needed more than a slice for their closes, slices would close later and later, and the reader threads would
//! wait until the kernel drops datagrams. Therefore, fewer candidates are examined on a machine that is too slow for
//! them. The reports then contain [`Overload::Raised`].

use std::time::Duration;

use srlg_host::SlidingDetector;
use srlg_host::report::{Overload, SliceReport};
use srlg_system::pacing::Every;
use tracing::warn;

/// Minimum candidate limit, in hosts. Even with this limit, a few closes find a host that is much larger than the
/// others, because the hosts with the most cells are candidates. Once found, the hosts with the most peers stay
/// candidates.
const LEAST: u32 = 1_024;

/// The candidates of all views are examined for at most one slice in `SHARE`. The other half of a slice is for
/// searches, ageing, alerts and the database. During half a second, a feed of 65,536 pairs buffers up to 131,000 pairs
/// per second, so that no reader thread waits for a close.
const SHARE: u32 = 2;

/// A close examines up to this many lists of candidates, each of which has at most the candidate limit: the hosts that
/// the finder returns, and the super points of the previous report.
const LISTS: f64 = 2.0;

/// If a candidate takes less time than is known, the known time moves to the measured time by one part in `SLOWNESS`
/// per close. After a peak, the limit thus recovers within about a minute if slices have one second.
const SLOWNESS: f64 = 16.0;

/// Maximum factor by which one close increases a known time per candidate. A single close may be slow because the
/// thread had to wait for a processor, which says little about later closes.
const MOST_GROWTH: f64 = 2.0;

/// Time between two log lines.
const PERIOD: Duration = Duration::from_secs(60);

/// A budget of time for the closes of all views in a slice, which sets the candidate limits of the detectors.
///
/// The limit is the number of candidates that could be examined in every view that has had a crowd, within the time of
/// the budget. It falls at once if the closes of a slice exceed the budget. If the crowd leaves, the times per candidate
/// stay known, so that a crowd that comes and goes does not exceed the budget each time.
pub(crate) struct CloseBudget {
    /// Time for which the candidates of all views may be examined in a slice, in seconds.
    budget: f64,
    views: Vec<ViewCost>,
    logged: Every,
}

/// Times in the closes of one view, in seconds.
#[derive(Clone, Copy, Debug, Default)]
struct ViewCost {
    /// Time for which the last close examined candidates.
    last: f64,
    /// Time per candidate, or 0 if the view was never part of closes that exceeded the budget.
    per_candidate: f64,
}

impl CloseBudget {
    /// Creates a budget for `views` views with slices of length `slice`. No limit is lowered yet.
    pub(crate) fn new(slice: Duration, views: usize) -> Self {
        Self {
            budget: (slice / SHARE).as_secs_f64(),
            views: vec![ViewCost::default(); views],
            logged: Every::new(PERIOD),
        }
    }

    /// Sets the candidate limit for the next close of `detector`.
    pub(crate) fn apply(&self, detector: &mut SlidingDetector) {
        detector.set_candidate_limit(self.limit());
    }

    /// Notes the `report` of a close of `detector`, which is the view with the index `at` and the name `name`. If the
    /// limit is why the report contains an overload, returns true, and logs this once per minute.
    pub(crate) fn record(
        &mut self,
        at: usize,
        name: &str,
        detector: &SlidingDetector,
        report: &SliceReport,
    ) -> bool {
        let limit = self.limit();
        let is_limiting = report.health.finder.overload == Some(Overload::Raised)
            && limit < detector.params().candidate_limit();
        if is_limiting && self.logged.is_due() {
            warn!(
                "view {name}: this machine is too slow to examine all hosts near the threshold in every slice: only {limit} are examined, so small super points may be missing; raise the thresholds or use a faster machine"
            );
        }
        // Only these stages depend on the number of candidates. The last one includes queries of shorter windows.
        self.add(at, report.candidates, report.stages.estimate + report.stages.other);
        is_limiting
    }

    /// Notes that a close of the view with the index `at` examined `candidates` hosts in the time `took`.
    fn add(&mut self, at: usize, candidates: usize, took: Duration) {
        self.views[at].last = took.as_secs_f64();
        let is_slow = self.views.iter().map(|view| view.last).sum::<f64>() > self.budget;
        if candidates < LEAST as usize {
            // A lower limit would not help.
            return;
        }
        let ViewCost { last, per_candidate } = &mut self.views[at];
        let measured = *last / candidates as f64;
        if measured < *per_candidate {
            *per_candidate -= (*per_candidate - measured) / SLOWNESS;
        } else if is_slow {
            let most = if *per_candidate > 0.0 { MOST_GROWTH * *per_candidate } else { measured };
            *per_candidate = measured.min(most);
        }
    }

    /// Returns the candidate limit of each view for the next close, in hosts.
    fn limit(&self) -> u32 {
        let per_host: f64 = self.views.iter().map(|view| LISTS * view.per_candidate).sum();
        // The conversion saturates. If no close was slow, the quotient is infinite.
        ((self.budget / per_host) as u32).max(LEAST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLICE: Duration = Duration::from_secs(1);

    /// Limit of the simulated detectors.
    const CONFIGURED: u32 = 1 << 14;

    /// Simulated views, in which the candidates of a close take a known time.
    struct Views {
        budget: CloseBudget,
        /// Number of hosts that hold enough cells in each view. All of them are super points.
        crowds: Vec<u32>,
        kept: Vec<u32>,
        /// Time per candidate.
        cost: Duration,
    }

    impl Views {
        fn new(crowds: &[u32], cost_us: u64) -> Self {
            Self {
                budget: CloseBudget::new(SLICE, crowds.len()),
                crowds: crowds.to_vec(),
                kept: vec![0; crowds.len()],
                cost: Duration::from_micros(cost_us),
            }
        }

        /// Closes a slice in all views. Returns for how long candidates were examined.
        fn close(&mut self) -> Duration {
            let mut total = Duration::ZERO;
            for at in 0..self.crowds.len() {
                let limit = self.budget.limit().min(CONFIGURED);
                let found = self.crowds[at].min(limit);
                // In the worst case, the kept hosts are none of those that are found again.
                let kept = self.kept[at].min(limit).min(self.crowds[at] - found);
                let took = self.cost * (found + kept);
                self.budget.add(at, (found + kept) as usize, took);
                self.kept[at] = (found + kept).min(limit);
                total += took;
            }
            total
        }

        fn limit(&self) -> u32 {
            self.budget.limit().min(CONFIGURED)
        }
    }

    #[test]
    fn closes_within_the_budget_lower_no_limit() {
        let mut views = Views::new(&[16_000, 300, 10], 25);
        for _ in 0..100 {
            views.close();
        }
        assert_eq!(views.limit(), CONFIGURED);
    }

    // At 50 µs per candidate, 10,000 candidates fit into half a second: two lists in each of four views.
    #[test]
    fn crowds_in_all_views_exceed_the_budget_in_one_slice_only() {
        let mut views = Views::new(&[60_000; 4], 50);
        let took: Vec<Duration> = (0..100).map(|_| views.close()).collect();
        assert!(took[0] > SLICE, "{took:?}");
        assert!(took[1..].iter().all(|took| *took <= SLICE / SHARE), "{took:?}");
        assert!((1_249..=1_250).contains(&views.limit()), "{}", views.limit());
    }

    #[test]
    fn a_crowd_that_comes_and_goes_exceeds_the_budget_once() {
        let mut views = Views::new(&[60_000, 60_000], 50);
        views.close();
        let limit = views.limit();
        for slice in 0..1_000 {
            views.crowds = vec![if slice % 50 < 25 { 10 } else { 60_000 }; 2];
            assert!(views.close() <= SLICE / SHARE, "slice {slice}");
            assert_eq!(views.limit(), limit, "slice {slice}");
        }
    }

    // Candidates take four times as long while another program uses the processor.
    #[test]
    fn the_limit_recovers_steadily_once_candidates_take_less_time() {
        let mut views = Views::new(&[60_000], 200);
        for _ in 0..10 {
            views.close();
        }
        assert!((1_249..=1_250).contains(&views.limit()), "{}", views.limit());
        views.cost /= 4;
        let mut limits: Vec<u32> = vec![views.limit()];
        for slice in 0..80 {
            assert!(views.close() <= SLICE / SHARE, "slice {slice}");
            limits.push(views.limit());
        }
        assert!(limits.is_sorted(), "{limits:?}");
        // The excess of the known time over the true time falls to 3 (15/16)^n of the true time: below 1 / 50 after
        // 78 closes.
        assert!((4_900..=5_000).contains(&views.limit()), "{limits:?}");
        assert!(limits[8] < 2_500, "{limits:?}");
    }

    #[test]
    fn a_single_stall_halves_the_limit_at_most() {
        let mut views = Views::new(&[60_000], 50);
        for _ in 0..10 {
            views.close();
        }
        assert!((4_990..=5_000).contains(&views.limit()), "{}", views.limit());
        views.cost *= 20;
        views.close();
        assert!((2_490..=2_500).contains(&views.limit()), "{}", views.limit());
    }

    #[test]
    fn hosts_that_take_very_long_leave_the_least_limit() {
        let mut views = Views::new(&[60_000; 4], 50_000);
        for _ in 0..5 {
            views.close();
        }
        assert_eq!(views.limit(), LEAST);
    }

    // A lower limit would not make such a close faster.
    #[test]
    fn a_slow_close_with_few_candidates_lowers_no_limit() {
        let mut views = Views::new(&[LEAST - 1], 50_000);
        for _ in 0..5 {
            views.close();
        }
        assert_eq!(views.limit(), CONFIGURED);
    }
}
