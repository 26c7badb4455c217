use std::collections::BTreeMap;
use std::sync::Mutex;

use anyhow::ensure;
use srlg_input::contact::Role;

use super::*;

/// A store in memory, which can fail.
pub(crate) struct Hours {
    kept: Mutex<BTreeMap<(String, u64), HourPeaks>>,
    /// Whether hours can be stored, and read.
    pub(crate) works: Mutex<[bool; 2]>,
}

impl Default for Hours {
    fn default() -> Self {
        Self { kept: Mutex::default(), works: Mutex::new([true; 2]) }
    }
}

impl HourStore for Hours {
    fn hours(&self, series: &HourSeries, hours: RangeInclusive<u64>) -> Result<Vec<HourPeaks>> {
        ensure!(self.works.lock().unwrap()[1], "disk on fire");
        let range = (series.to_string(), *hours.start())..=(series.to_string(), *hours.end());
        Ok(self.kept.lock().unwrap().range(range).map(|(_, peaks)| peaks.clone()).collect())
    }

    fn keep(&self, series: &HourSeries, peaks: &HourPeaks) -> Result<()> {
        ensure!(self.works.lock().unwrap()[0], "disk is full");
        self.kept.lock().unwrap().insert((series.to_string(), peaks.hour), peaks.clone());
        Ok(())
    }
}

fn host(number: u32) -> IpAddr {
    Ipv4Addr::from_bits(number).into()
}

fn counts(store: &Arc<Hours>) -> UsualCounts {
    let series = HourSeries::new("fan-in", &ViewOptions::default(), 60_000);
    UsualCounts::new(series, store.clone())
}

/// Lets a whole `hour` pass in which the first host has `count` peers.
fn pass(counts: &mut UsualCounts, hour: u64, count: f64) {
    counts.begin(hour);
    counts.add_slice(HOUR_MS);
    counts.add(host(1), count);
}

fn usual(most: u32, weeks: u64) -> Option<Usual> {
    Some(Usual { most, weeks })
}

#[test]
fn a_count_is_usual_if_it_was_reached_around_this_hour_of_the_last_weeks() {
    let store = Arc::new(Hours::default());
    let mut counts = counts(&store);
    let first = 1_000;
    for (hour, count) in [(first - 2, 900.0), (first - 1, 70.0), (first, 50.2), (first + 2, 800.0)]
    {
        pass(&mut counts, hour, count);
    }
    let mut at = |hour| {
        counts.begin(hour);
        counts.of(host(1))
    };
    assert_eq!(at(first + WEEK - 2), usual(900, 1));
    assert_eq!(at(first + WEEK), usual(70, 1));
    assert_eq!(at(first + WEEK + 1), None, "this hour was not observed");
    assert_eq!(at(first + 4 * WEEK), usual(70, 1));
    assert_eq!(at(first + 5 * WEEK), None, "too long ago");
    pass(&mut counts, first + 6 * WEEK, 60.0);
    pass(&mut counts, first + 7 * WEEK, 80.0);
    counts.begin(first + 8 * WEEK);
    assert_eq!(counts.of(host(1)), usual(80, 2));
    assert_eq!(counts.of(host(2)), None);
}

#[test]
fn a_restart_continues_the_running_hour() {
    let store = Arc::new(Hours::default());
    let mut former = counts(&store);
    pass(&mut former, 1_000, 90.0);
    former.keep().unwrap();
    let mut counts = counts(&store);
    pass(&mut counts, 1_000, 40.0);
    counts.begin(1_000 + WEEK);
    assert_eq!(counts.of(host(1)), usual(90, 1));
}

#[test]
fn hours_that_cannot_be_stored_wait_and_do_not_hide_what_is_usual() {
    let store = Arc::new(Hours::default());
    let mut counts = counts(&store);
    pass(&mut counts, 1_000, 40.0);
    counts.begin(1_000 + WEEK - 3);
    *store.works.lock().unwrap() = [false, true];
    for hour in 1_000 + WEEK - 2..=1_000 + WEEK {
        pass(&mut counts, hour, 50.0);
    }
    assert_eq!(counts.of(host(1)), usual(40, 1));
    *store.works.lock().unwrap() = [true; 2];
    counts.keep().unwrap();
    counts.begin(1_000 + 2 * WEEK - 2);
    assert_eq!(counts.of(host(1)), usual(50, 1));
}

#[test]
fn nothing_is_usual_in_an_hour_that_cannot_be_read() {
    let store = Arc::new(Hours::default());
    let mut counts = counts(&store);
    pass(&mut counts, 1_000, 40.0);
    *store.works.lock().unwrap() = [true, false];
    counts.begin(1_000 + WEEK);
    assert_eq!(counts.of(host(1)), None);
}

#[test]
fn at_most_a_day_waits_for_the_store() {
    let store = Arc::new(Hours::default());
    let mut counts = counts(&store);
    *store.works.lock().unwrap() = [false, true];
    (1_000..1_100).for_each(|hour| pass(&mut counts, hour, 40.0));
    assert_eq!(counts.unstored.len(), MOST_UNSTORED);
    assert_eq!(counts.unstored[0].hour, 1_100 - 2 - MOST_UNSTORED as u64);
}

#[test]
fn counts_before_an_attack_was_noticed_are_forgotten() {
    let store = Arc::new(Hours::default());
    for (after_ms, hours) in [(119_999, 0), (120_000, 1)] {
        let mut counts = counts(&store);
        pass(&mut counts, 1_000, 700.0);
        pass(&mut counts, 1_001, 900.0);
        counts.forget(host(1), 1_001 * HOUR_MS + after_ms);
        let known = [&counts.former, &counts.running].map(|hour| hour.iter().count());
        assert_eq!(known, [hours, 0], "{after_ms}");
        counts.keep().unwrap();
        let stored = store.hours(&counts.series, 1_000..=1_001).unwrap();
        let stored: Vec<_> = stored.iter().map(|hour| hour.iter().count()).collect();
        assert_eq!(stored, known, "{after_ms}");
    }
}

#[test]
fn an_unusual_count_is_learned_as_three_times_the_usual_one() {
    let store = Arc::new(Hours::default());
    let mut counts = counts(&store);
    let learned =
        [100.0, 100.0, 250.0, 9_000.0, 9_000.0].into_iter().zip(0..).map(|(count, week)| {
            pass(&mut counts, 1_000 + week * WEEK, count);
            counts.running.peaks[&host(1)]
        });
    assert_eq!(learned.collect::<Vec<_>>(), [100, 100, 250, 750, 2_250]);
}

#[test]
fn views_that_count_something_else_have_other_series() {
    let series = |view: &ViewOptions| HourSeries::new("v", view, 1_000).to_string();
    let view = ViewOptions::default();
    let inside = vec!["10.0.0.0/8".parse().unwrap()];
    assert_eq!(series(&ViewOptions { inside, ..view.clone() }), series(&view));
    assert_ne!(series(&ViewOptions { role: Role::Source, ..view.clone() }), series(&view));
}

#[test]
fn only_a_count_far_above_that_of_two_weeks_is_unusual() {
    let exceeded = |weeks, count| Usual { most: 100, weeks }.is_exceeded_by(count);
    assert_eq!(
        [(1, 1e6), (2, 300.0), (2, 301.0)].map(|(weeks, count)| exceeded(weeks, count)),
        [false, false, true]
    );
}

#[test]
fn peaks_are_stored_in_few_bytes_and_read_back() {
    let mut peaks = HourPeaks { counted_ms: 5, ..HourPeaks::new(7) };
    assert_eq!(HourPeaks::from_bytes(7, 5, &peaks.to_bytes()).unwrap(), peaks);
    peaks.add(host(1), 7.5);
    peaks.add("2001:db8::1".parse().unwrap(), 9.0);
    let bytes = peaks.to_bytes();
    assert_eq!(bytes.len(), 9 + 21);
    assert_eq!(HourPeaks::from_bytes(7, 5, &bytes).unwrap(), peaks);
    let are_read: Vec<usize> = (0..bytes.len())
        .filter(|cut| HourPeaks::from_bytes(7, 5, &bytes[..*cut]).is_ok())
        .collect();
    assert!(are_read == [0, 9] || are_read == [0, 21], "{are_read:?}");
    assert!(HourPeaks::from_bytes(7, 5, &[5; 30]).is_err());
}

#[test]
fn memory_is_bounded_and_the_largest_counts_stay() {
    let mut peaks = HourPeaks::new(7);
    for number in 0..5 * HOSTS as u32 {
        peaks.add(host(number), f64::from(number % 1_000_003));
        assert!(peaks.peaks.len() < 2 * HOSTS);
    }
    peaks.prune();
    assert_eq!(peaks.peaks.len(), HOSTS);
    assert!(peaks.iter().all(|(_, peak)| peak as usize >= 4 * HOSTS));
}
