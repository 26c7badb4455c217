//! Stored form of a series.
//!
//! All numbers are varints of seven bits per byte. The intervals come first: the length of a slice, the start and the
//! number of doublings. The number of points and their interval numbers follow, as runs of consecutive numbers. Then
//! come three columns: peers, packets and bits. A column starts with 0 if it has no values. Otherwise, each value is 0
//! if it is missing, or one more than the difference from the previous value. Rates are replaced by their rank among
//! the numbers with three digits, so that small relative changes are small numbers. A point takes 4 bytes on average.

use anyhow::{Context as _, Result, ensure};

use super::{AlertPoint, AlertSeries, IntervalPoint, Intervals, MOST_POINTS};

/// Maximum number of doublings. Longer intervals would exceed the age of the Unix epoch.
const MOST_DOUBLINGS: u64 = 32;

impl AlertSeries {
    /// Returns the stored form of the series.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let Self { intervals: Intervals { slice_ms, start_ms, doublings }, points } = self;
        let mut to = Vec::new();
        let head = [*slice_ms, *start_ms, u64::from(*doublings), points.len() as u64];
        head.iter().for_each(|number| put(&mut to, *number));
        let mut next = 0;
        for run in points.chunk_by(|a, b| b.interval == a.interval + 1) {
            put(&mut to, run[0].interval - next);
            put(&mut to, run.len() as u64);
            next = run[0].interval + run.len() as u64;
        }
        put_column(&mut to, points.iter().map(|it| it.point.peers));
        let rank = |rate: Option<u64>| rate.map(rank);
        put_column(&mut to, points.iter().map(|it| rank(it.point.packets_per_second)));
        put_column(&mut to, points.iter().map(|it| rank(it.point.bits_per_second)));
        to
    }

    /// Reads a series from its stored form.
    pub fn from_bytes(mut bytes: &[u8]) -> Result<Self> {
        let from = &mut bytes;
        let (slice_ms, start_ms, doublings) = (take(from)?, take(from)?, take(from)?);
        ensure!(doublings <= MOST_DOUBLINGS, "the intervals are too long");
        let intervals = Intervals { slice_ms, start_ms, doublings: doublings as u32 };
        let count = take(from)? as usize;
        ensure!(count <= MOST_POINTS, "there are too many points");
        let mut numbers = Vec::with_capacity(count);
        let mut next = 0_u64;
        while numbers.len() < count {
            let (gap, length) = (take(from)?, take(from)?);
            ensure!(length > 0 && length <= (count - numbers.len()) as u64, "a run is too long");
            let first = next.checked_add(gap).context("an interval is too late")?;
            next = first.checked_add(length).context("an interval is too late")?;
            numbers.extend(first..next);
        }
        let [peers, packets, bits] =
            [take_column(from, count)?, take_column(from, count)?, take_column(from, count)?];
        let point = |(at, interval): (usize, u64)| {
            let point = AlertPoint {
                time_ms: intervals.time_ms(interval),
                peers: peers[at],
                packets_per_second: packets[at].map(of_rank),
                bits_per_second: bits[at].map(of_rank),
            };
            IntervalPoint { interval, point }
        };
        Ok(Self { intervals, points: numbers.into_iter().enumerate().map(point).collect() })
    }
}

/// Returns the rank of `rate`, a number with up to three digits other than 0, among such numbers.
fn rank(rate: u64) -> u64 {
    let exponent = rate.max(1).ilog10().saturating_sub(2);
    rate / 10_u64.pow(exponent) + 900 * u64::from(exponent)
}

/// Returns the rate with the rank `rank`.
fn of_rank(rank: u64) -> u64 {
    let exponent = rank.saturating_sub(100) / 900;
    let power = u32::try_from(exponent).ok().and_then(|exponent| 10_u64.checked_pow(exponent));
    power.map_or(u64::MAX, |power| (rank - 900 * exponent).saturating_mul(power))
}

fn put(to: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

fn take(from: &mut &[u8]) -> Result<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = from.split_first().context("it ends too early")?;
        *from = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    anyhow::bail!("a number is too long")
}

fn put_column(to: &mut Vec<u8>, values: impl Iterator<Item = Option<u64>> + Clone) {
    let has_values = values.clone().any(|value| value.is_some());
    to.push(has_values.into());
    let mut last = 0_u64;
    for value in values.filter(|_| has_values) {
        put(
            to,
            value.map_or(0, |value| {
                let difference = value.wrapping_sub(std::mem::replace(&mut last, value)) as i64;
                // Negative differences get odd numbers. The largest number has no successor, and no count is that large.
                (((difference << 1) ^ (difference >> 63)) as u64).saturating_add(1)
            }),
        );
    }
}

fn take_column(from: &mut &[u8], count: usize) -> Result<Vec<Option<u64>>> {
    if take(from)? == 0 {
        return Ok(vec![None; count]);
    }
    let mut last = 0_u64;
    let value = |_| {
        Ok(take(from)?.checked_sub(1).map(|number| {
            let difference = (number >> 1) ^ (number & 1).wrapping_neg();
            last = last.wrapping_add(difference);
            last
        }))
    };
    (0..count).map(value).collect()
}
