use super::*;

/// Start of the alert, in milliseconds since the Unix epoch.
const START: u64 = 1_700_000_000_000;

fn point(time_ms: u64, peers: u64) -> AlertPoint {
    let bits_per_second = Some(peers * 1_000);
    AlertPoint { time_ms, peers: Some(peers), packets_per_second: Some(peers), bits_per_second }
}

/// Returns the series of an alert that lasts `seconds`, with slices of a second. `peers` returns the count.
fn series(seconds: u64, peers: impl Fn(u64) -> u64) -> AlertSeries {
    let mut series = AlertSeries::new(1_000, START);
    (0..seconds).for_each(|second| series.add(point(START + second * 1_000, peers(second))));
    series
}

fn peers(series: &AlertSeries) -> Vec<Option<u64>> {
    series.points().map(|point| point.peers).collect()
}

#[test]
fn the_first_ten_minutes_have_a_point_per_slice_and_later_minutes_have_their_maxima() {
    let series = series(720, |second| second);
    let points: Vec<AlertPoint> = series.points().collect();
    assert_eq!(points.len(), 602);
    for second in 0..600 {
        assert_eq!(points[second as usize], point(START + second * 1_000, second));
    }
    let times = [&points[600], &points[601]].map(|it| (it.time_ms - START, it.peers));
    assert_eq!(times, [(600_000, Some(659)), (660_000, Some(719))]);
    assert_eq!(series.step_ms(), 60_000);
}

#[test]
fn a_series_is_bounded_and_keeps_its_peak_and_the_maximum_of_each_interval() {
    // The peak comes in one second of the first ten minutes, or much later.
    for peak in [17, 599, 600, 30_001, 250_007] {
        let count = |second| if second == peak { 1_000_000 } else { second * 7_919 % 10_007 };
        for seconds in [1_000, 30_000, 260_000_u64] {
            let series = series(seconds, count);
            let points: Vec<AlertPoint> = series.points().collect();
            assert!(points.len() <= MOST_POINTS && points.len() > MOST_POINTS / 3);
            let ends = points.iter().skip(1).map(|it| it.time_ms).chain([START + seconds * 1_000]);
            for (point, end_ms) in points.iter().zip(ends) {
                let seconds = (point.time_ms - START) / 1_000..(end_ms - START) / 1_000;
                assert!(end_ms - point.time_ms <= series.step_ms());
                assert_eq!(point.peers, seconds.map(count).max());
            }
        }
    }
}

#[test]
fn times_without_slices_and_without_input_are_gaps() {
    let mut series = AlertSeries::new(1_000, START);
    for second in [0, 1, 5, 6] {
        series.add(point(START + second * 1_000, second));
    }
    series.add(AlertPoint::gap(START + 7_000));
    assert_eq!(peers(&series), [Some(0), Some(1), None, Some(5), Some(6), None]);
    let times: Vec<u64> = series.points().map(|it| (it.time_ms - START) / 1_000).collect();
    assert_eq!(times, [0, 1, 2, 5, 6, 7]);
}

#[test]
fn adding_points_again_changes_nothing() {
    let once = series(5_000, |second| second % 977);
    let mut twice = once.clone();
    for second in [0, 300, 599, 600, 4_000, 4_998, 4_999] {
        twice.add(point(START + second * 1_000, second % 977));
    }
    assert_eq!(twice, once);
}

#[test]
fn intervals_are_whole_slices_and_at_least_a_second() {
    for (slice_ms, expected) in
        [(1, 1_000), (100, 1_000), (300, 1_200), (999, 1_998), (1_000, 1_000)]
    {
        assert_eq!(interval_ms(slice_ms), expected, "{slice_ms}");
    }
    assert_eq!(
        [interval_ms(0), interval_ms(1_500), interval_ms(3_600_000)],
        [1_000, 1_500, 3_600_000]
    );
    // Each interval of a series has a slice, so none of them is a gap.
    for slice_ms in [100, 300, 1_000, 7_000, 60_000, 3_600_000] {
        let mut series = AlertSeries::new(slice_ms, START);
        (0..20_000).for_each(|slice| series.add(point(START + slice * slice_ms, slice)));
        assert!(series.points().all(|point| point.peers.is_some()), "{slice_ms}");
        assert_eq!(series.points().filter_map(|it| it.peers).max(), Some(19_999));
        assert!(series.points().count() <= MOST_POINTS);
    }
}

#[test]
fn rates_have_three_digits() {
    for (rate, expected) in [
        (0, 0),
        (7, 7),
        (999, 999),
        (1_004, 1_000),
        (1_005, 1_010),
        (12_345, 12_300),
        (999_500, 1_000_000),
        (u64::MAX, 18_400_000_000_000_000_000),
    ] {
        assert_eq!(rounded(rate), expected);
        assert_eq!(rounded(expected), expected);
    }
}

#[test]
fn the_stored_form_is_exact() {
    let mut with_gaps = series(700, |second| second * second);
    with_gaps.add(AlertPoint::gap(START + 900_000));
    with_gaps.add(AlertPoint { bits_per_second: None, ..point(START + 2_000_000, u64::MAX >> 12) });
    let mut without_rates = AlertSeries::new(1_000, START);
    without_rates.add(AlertPoint { peers: Some(9), ..AlertPoint::gap(START) });
    let large = AlertPoint { bits_per_second: Some(u64::MAX), ..point(START, 1) };
    let mut of_large_rate = AlertSeries::new(1_000, START);
    of_large_rate.add(large);
    let long = series(100_000, |second| second * 31 % 5_003);
    for series in [AlertSeries::new(1_000, START), with_gaps, without_rates, of_large_rate, long] {
        assert_eq!(AlertSeries::from_bytes(&series.to_bytes()).unwrap(), series);
    }
}

#[test]
fn a_stored_form_is_small() {
    // The count and the rates of a flood vary by 1 %.
    let noise = |second: u64, seed: u64| (second * 7_919 + seed) % 101;
    let mut series = AlertSeries::new(1_000, START);
    for second in 0..600 {
        let peers = 30_000 + 6 * noise(second, 0);
        series.add(AlertPoint {
            time_ms: START + second * 1_000,
            peers: Some(peers),
            packets_per_second: Some(50_000 + 10 * noise(second, 1)),
            bits_per_second: Some(20_000_000_000 + 4_000_000 * noise(second, 2)),
        });
    }
    let bytes = series.to_bytes().len();
    assert!(bytes <= 2_500, "{bytes}");
}

#[test]
fn damaged_forms_are_errors() {
    let bytes = series(700, |second| second).to_bytes();
    for length in 0..bytes.len() {
        assert!(AlertSeries::from_bytes(&bytes[..length]).is_err(), "{length}");
    }
    // No byte makes the reader panic.
    for at in 0..bytes.len() {
        for byte in [0, 1, 0x7f, 0x80, 0xff] {
            let mut damaged = bytes.clone();
            damaged[at] = byte;
            if let Ok(series) = AlertSeries::from_bytes(&damaged) {
                assert!(series.points().count() <= MOST_POINTS);
                let _bytes = series.to_bytes();
            }
        }
    }
}
