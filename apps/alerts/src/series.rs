//! The series of an alert: its count and its rates from the start to the end, in bounded memory.
//!
//! A point is the maximum over the slices that ended in its interval. In the first ten minutes of an alert, an interval
//! is a slice, or a second if slices are shorter. After that, it is a minute. If a series has too many points, all
//! intervals are doubled, and the points of merged intervals are replaced by their maximum. The largest count of an
//! alert therefore always stays in its series.

use std::cmp::Ordering;

use crate::AlertId;

mod bytes;

/// Maximum number of points of a series.
pub const MOST_POINTS: usize = 1_000;

/// Minimum length of an interval, in milliseconds.
const SHORTEST_MS: u64 = 1_000;

/// Minimum length of an interval after the first intervals, in milliseconds.
const LONG_MS: u64 = 60_000;

/// Number of long intervals that are divided into short ones.
const DIVIDED: u64 = 10;

/// The count and the rates of an alert after a slice, or their maxima over several slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AlertPoint {
    /// End of the slice, in milliseconds since the Unix epoch. In a series, the start of the interval.
    pub time_ms: u64,
    /// Number of peers within the main window. `None` if the input was lost or no slice closed.
    pub peers: Option<u64>,
    /// Packets per second, if they are known. A series rounds them to three digits.
    pub packets_per_second: Option<u64>,
    /// Bits per second, if they are known. A series rounds them to three digits.
    pub bits_per_second: Option<u64>,
}

impl AlertPoint {
    /// Creates the point of a time without data.
    pub(crate) const fn gap(time_ms: u64) -> Self {
        Self { time_ms, peers: None, packets_per_second: None, bits_per_second: None }
    }

    /// Returns the maxima of two points, with the time of this one.
    fn max(self, other: Self) -> Self {
        Self {
            time_ms: self.time_ms,
            peers: self.peers.max(other.peers),
            packets_per_second: self.packets_per_second.max(other.packets_per_second),
            bits_per_second: self.bits_per_second.max(other.bits_per_second),
        }
    }
}

/// A point of the series of `owner`, an alert or an incident.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnedPoint {
    /// ID of the alert or the incident.
    pub owner: AlertId,
    /// Its count and rates after a slice.
    pub point: AlertPoint,
}

/// The series of an alert, with at most [`MOST_POINTS`] points.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlertSeries {
    intervals: Intervals,
    /// Points in ascending order of their intervals.
    points: Vec<IntervalPoint>,
}

/// The intervals of a series. The first ones are short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Intervals {
    slice_ms: u64,
    /// Start of the first interval, in milliseconds since the Unix epoch.
    start_ms: u64,
    /// Number of times that all intervals were doubled.
    doublings: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct IntervalPoint {
    /// Number of the interval.
    interval: u64,
    point: AlertPoint,
}

/// Returns the length of the intervals in which the values of slices are kept: the smallest multiple of `slice_ms` that
/// is at least a second.
#[must_use]
pub fn interval_ms(slice_ms: u64) -> u64 {
    SHORTEST_MS.next_multiple_of(slice_ms.clamp(1, SHORTEST_MS)).max(slice_ms)
}

impl Intervals {
    /// Returns the length of a short and of a long interval before any doubling, in milliseconds.
    fn lengths(&self) -> [u64; 2] {
        let short = interval_ms(self.slice_ms);
        [short, short.saturating_mul(LONG_MS.div_ceil(short))]
    }

    /// Returns the time after the start in which intervals are short, in milliseconds.
    fn divided_ms(&self) -> u64 {
        self.lengths()[1].saturating_mul(DIVIDED)
    }

    /// Returns the current length of a short and of a long interval, in milliseconds.
    fn current(&self) -> [u64; 2] {
        self.lengths().map(|length| length.saturating_mul(1 << self.doublings.min(63)))
    }

    /// Returns the number of short intervals.
    fn short(&self) -> u64 {
        self.divided_ms().div_ceil(self.current()[0])
    }

    /// Returns the number of the interval that contains `time_ms`.
    fn of(&self, time_ms: u64) -> u64 {
        let ([short, long], divided_ms) = (self.current(), self.divided_ms());
        let age_ms = time_ms.saturating_sub(self.start_ms);
        match age_ms.checked_sub(divided_ms) {
            None => age_ms / short,
            Some(rest_ms) => self.short() + rest_ms / long,
        }
    }

    /// Returns the start of an interval, in milliseconds since the Unix epoch.
    fn time_ms(&self, interval: u64) -> u64 {
        let [short, long] = self.current();
        let age_ms = match interval.checked_sub(self.short()) {
            None => interval.saturating_mul(short),
            Some(rest) => self.divided_ms().saturating_add(rest.saturating_mul(long)),
        };
        self.start_ms.saturating_add(age_ms)
    }
}

impl AlertSeries {
    /// Creates an empty series of an alert that starts at `start_ms`. Slices have the length `slice_ms`.
    #[must_use]
    pub const fn new(slice_ms: u64, start_ms: u64) -> Self {
        let intervals = Intervals { slice_ms, start_ms, doublings: 0 };
        Self { intervals, points: Vec::new() }
    }

    /// Adds a point. Adding it again changes nothing. If no slice closed in the interval after the last point, a point
    /// without data is added before it.
    pub fn add(&mut self, point: AlertPoint) {
        let interval = self.intervals.of(point.time_ms);
        let time_ms = self.intervals.time_ms(interval);
        let [packets_per_second, bits_per_second] =
            [point.packets_per_second, point.bits_per_second].map(|rate| rate.map(rounded));
        let point = AlertPoint { time_ms, packets_per_second, bits_per_second, ..point };
        let last = self.points.last().map(|last| last.interval);
        match last.map(|last| interval.cmp(&last)) {
            None => {}
            Some(Ordering::Greater) => {
                if let Some(missed) = last.map(|last| last + 1).filter(|it| *it < interval) {
                    let point = AlertPoint::gap(self.intervals.time_ms(missed));
                    self.points.push(IntervalPoint { interval: missed, point });
                }
            }
            Some(Ordering::Equal | Ordering::Less) => {
                match self.points.binary_search_by_key(&interval, |it| it.interval) {
                    Ok(at) => self.points[at].point = self.points[at].point.max(point),
                    Err(at) => self.points.insert(at, IntervalPoint { interval, point }),
                }
                return self.bound();
            }
        }
        self.points.push(IntervalPoint { interval, point });
        self.bound();
    }

    /// Doubles the intervals until there are at most [`MOST_POINTS`] points.
    fn bound(&mut self) {
        while self.points.len() > MOST_POINTS {
            let former = std::mem::take(&mut self.points);
            self.intervals.doublings += 1;
            for IntervalPoint { point, .. } in former {
                let interval = self.intervals.of(point.time_ms);
                let time_ms = self.intervals.time_ms(interval);
                let point = AlertPoint { time_ms, ..point };
                match self.points.last_mut().filter(|last| last.interval == interval) {
                    Some(last) => last.point = last.point.max(point),
                    None => self.points.push(IntervalPoint { interval, point }),
                }
            }
        }
    }

    /// Returns the points, oldest first.
    pub fn points(&self) -> impl Iterator<Item = AlertPoint> {
        self.points.iter().map(|it| it.point)
    }

    /// Returns the length of the longest interval of a point, in milliseconds.
    #[must_use]
    pub fn step_ms(&self) -> u64 {
        let [short, long] = self.intervals.current();
        let is_long = self.points.last().is_some_and(|it| it.interval >= self.intervals.short());
        if is_long { long } else { short }
    }
}

/// Returns `rate`, rounded to three digits.
fn rounded(rate: u64) -> u64 {
    let unit = 10_u64.pow(rate.max(1).ilog10().saturating_sub(2));
    // The largest rates cannot be rounded up.
    (rate / unit + u64::from(rate % unit >= unit.div_ceil(2) && unit > 1)).saturating_mul(unit)
}

#[cfg(test)]
mod tests;
