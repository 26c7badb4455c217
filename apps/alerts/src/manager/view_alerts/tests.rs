use std::cell::RefCell;

use srlg_host::{Config as Sizes, Device, Ipv4Pair, SlidingDetector};

use super::*;
use crate::notification::{Detail, Notification, SiteCount};
use crate::usual::tests::Hours;
use crate::usual::{HourPeaks, Usual, WEEK};
use crate::{Rule, Terms};

/// Length of the rule's window, in slices.
const WINDOW: u32 = 3;

/// Returns the alerts of a view with one rule, and a detector whose window is twice as long as the rule's.
fn view_alerts() -> (ViewAlerts, SlidingDetector) {
    let sizes = Sizes { window: 2 * WINDOW, ..Sizes::default() };
    let terms = Terms { threshold: 1_024.0, for_slices: 1, hold_ms: 0, ..Terms::default() };
    let networks = vec!["0.0.0.0/0".parse().unwrap()];
    let rule = Rule { name: "r".to_owned(), networks, windows: [(WINDOW, terms)].into() };
    let view_alerts =
        ViewAlerts::new("fan-in", sizes.window, Rules::new(vec![rule], Vec::new()), 1_000);
    (view_alerts, SlidingDetector::new(sizes, Device::Cpu).unwrap())
}

fn close(
    view_alerts: &mut ViewAlerts,
    detector: &mut SlidingDetector,
    condition: Condition,
    evidence: impl Fn(IpAddr, u32) -> Evidence,
) {
    let mut closing = detector.begin_close().unwrap();
    let sightings = view_alerts.sightings(&mut closing).unwrap();
    let slice = ClosedSlice {
        report: closing.end().unwrap(),
        sightings,
        condition,
        sampling: Sampling::default(),
        newest_input_ms: 0,
        missing_sites: Vec::new(),
    };
    view_alerts.close(&slice, evidence, |_| Witnesses::default());
}

#[test]
fn evidence_is_asked_for_alerts_that_start_or_are_active_and_not_for_their_end() {
    let (mut view_alerts, mut detector) = view_alerts();
    let asked = RefCell::new(Vec::new());
    let evidence = |host, slices| {
        asked.borrow_mut().push((host, slices));
        let fra = SiteCount { site: "fra".to_owned(), cardinality: 1_500.0 };
        let sites_without_details = vec!["ams".to_owned()];
        let detail = Some(Detail::default());
        Evidence { detail, sites: vec![fra], sites_without_details, ..Evidence::default() }
    };
    let pairs: Vec<_> = (0..2_000).map(|peer| Ipv4Pair { inside: 7, peer }).collect();
    detector.ingest(&pairs).unwrap();
    let whole = Condition::default();
    (0..2 * WINDOW).for_each(|_| close(&mut view_alerts, &mut detector, whole, evidence));
    let changes = view_alerts.changes();
    let statuses: Vec<Status> = changes.iter().map(|(alert, _)| alert.status).collect();
    assert_eq!(statuses, [Status::Start, Status::End]);
    assert_eq!(asked.into_inner(), [([0, 0, 0, 7].into(), WINDOW)]);
    assert_eq!(changes[0].1.evidence.sites[0].site, "fra");
    assert_eq!(changes[0].1.evidence.sites_without_details, ["ams"]);
    assert_eq!(changes[1].1.evidence, Evidence::default());
}

#[test]
fn an_alert_without_details_is_updated_when_they_arrive_while_its_count_is_high() {
    let (mut view_alerts, mut detector) = view_alerts();
    let whys = |peers: u32, has_details, view_alerts: &mut ViewAlerts, detector: &mut _| {
        let pairs: Vec<_> = (0..peers).map(|peer| Ipv4Pair { inside: 7, peer }).collect();
        SlidingDetector::ingest(detector, &pairs).unwrap();
        let detail = Some(Detail::default()).filter(|_| has_details);
        let evidence = |_, _| Evidence { detail: detail.clone(), ..Evidence::default() };
        close(view_alerts, detector, Condition::default(), evidence);
        view_alerts.changes().iter().map(|(alert, _)| alert.why).collect::<Vec<_>>()
    };
    let mut next = |peers, has_details| whys(peers, has_details, &mut view_alerts, &mut detector);
    assert_eq!(next(2_000, false), [Why::Threshold]);
    assert_eq!(next(2_000, false), []);
    assert_eq!(next(2_000, true), [Why::Cause]);
    assert_eq!(next(2_000, true), [], "the details are known");
}

#[test]
fn rates_are_followed_after_each_slice_and_an_end_has_the_largest() {
    let (mut view_alerts, mut detector) = view_alerts();
    let pairs: Vec<_> = (0..2_000).map(|peer| Ipv4Pair { inside: 7, peer }).collect();
    detector.ingest(&pairs).unwrap();
    let rates = |bits| Rates { bits_per_second: Some(bits), ..Rates::default() };
    let host = IpAddr::from([0, 0, 0, 7]);
    for bits in [1_000, 5_000, 2_000, 4_000] {
        let evidence = |_, _| Evidence { rates: rates(bits), ..Evidence::default() };
        close(&mut view_alerts, &mut detector, Condition::default(), evidence);
        view_alerts.follow_rates(|of| if of == host { rates(bits) } else { Rates::default() });
    }
    let (ended, started) = {
        let mut changes = view_alerts.changes().into_iter();
        let notifications =
            changes.by_ref().map(|(alert, context)| Notification::new(alert, context));
        let notifications: Vec<Notification> = notifications.collect();
        (notifications[1].clone(), notifications[0].clone())
    };
    assert_eq!((started.rates, started.peak_rates), (rates(1_000), Some(rates(1_000))));
    assert_eq!((ended.rates, ended.peak_rates), (Rates::default(), Some(rates(5_000))));
    assert!(ended.text.ends_with(", 5.0 kbit/s"), "{}", ended.text);
    assert!(view_alerts.rates.is_empty() && view_alerts.live(started.id).is_none());
}

#[test]
fn rates_are_unknown_while_the_input_is_lost() {
    let (mut view_alerts, mut detector) = view_alerts();
    let pairs: Vec<_> = (0..2_000).map(|peer| Ipv4Pair { inside: 7, peer }).collect();
    let rates = |bits| Rates { bits_per_second: Some(bits), ..Rates::default() };
    let mut followed = Vec::new();
    for (bits, is_input_lost) in
        [(1_000, false), (5_000, false), (5_000, false), (0, true), (0, true), (3_000, false)]
    {
        detector.ingest(&pairs).unwrap();
        let condition = Condition { is_input_lost, ..Condition::default() };
        let evidence = |_, _| Evidence { rates: rates(bits), ..Evidence::default() };
        close(&mut view_alerts, &mut detector, condition, evidence);
        view_alerts.follow_rates(|_| rates(bits));
        let live =
            view_alerts.tracker.live_alerts().next().and_then(|(_, id)| view_alerts.live(id));
        followed.extend(live.map(|live| (live.rates, live.peak_rates)));
    }
    let (lost, peak) = (Rates::default(), rates(5_000));
    assert_eq!(followed[followed.len() - 3..], [(lost, peak), (lost, peak), (rates(3_000), peak)]);
    let notified = view_alerts.changes();
    assert!(notified.iter().all(|(_, context)| context.evidence.rates != rates(0)));
    // The series and the chart have gaps at the same times.
    let points = view_alerts.take_points().into_iter().map(|it| it.point);
    let points: Vec<_> =
        points.map(|it| (it.time_ms, it.peers.is_some(), it.bits_per_second)).collect();
    let expected = [
        (1_000, true, Some(1_000)),
        (2_000, true, Some(5_000)),
        (3_000, true, Some(5_000)),
        (4_000, false, None),
        (5_000, false, None),
        (6_000, true, Some(3_000)),
    ];
    assert_eq!(points, expected);
    let recent = view_alerts.overview(&[]).recent;
    let times: Vec<u64> = recent.since(0).map(|counts| counts.time_ms).collect();
    assert_eq!(times, [1_000, 2_000, 3_000, 6_000]);
    assert!(recent.since(0).all(|counts| counts.super_points == 1 && counts.largest > 1_900.0));
}

#[test]
fn slices_without_input_say_nothing_about_what_is_usual() {
    let (mut view_alerts, mut detector) = view_alerts();
    let hours = Arc::new(Hours::default());
    view_alerts.keep_hours_in(hours.clone(), ViewOptions::default());
    for is_input_lost in [false, true, true, false] {
        let condition = Condition { is_input_lost, ..Condition::default() };
        close(&mut view_alerts, &mut detector, condition, |_, _| Evidence::default());
    }
    view_alerts.keep_hour().unwrap();
    let hours = hours.hours(&series(), 0..=1).unwrap();
    assert_eq!(hours.iter().map(|hour| hour.counted_ms).collect::<Vec<_>>(), [2_000]);
}

/// Returns the series of the view.
fn series() -> HourSeries {
    HourSeries::new("fan-in", &ViewOptions::default(), u64::from(WINDOW) * 1_000)
}

/// A view whose rule also demands three times the usual count, with a stored past.
struct WithPast {
    view_alerts: ViewAlerts,
    hours: Arc<Hours>,
    detector: SlidingDetector,
}

impl WithPast {
    /// Starts 2,000 weeks and an hour after the epoch. Two weeks ago and a week ago, the host had `usual` peers.
    fn new(usual: u32) -> Self {
        let (former, _) = view_alerts();
        let sizes = Sizes { threshold: 512, window: 2 * WINDOW, ..Sizes::default() };
        let mut detector = SlidingDetector::new(sizes, Device::Cpu).unwrap();
        let mut rule = former.rules.rules()[0].clone();
        rule.windows.values_mut().for_each(|terms| terms.above_usual = Some(3.0));
        let rules = Rules::new(vec![rule], Vec::new());
        let mut view_alerts = ViewAlerts::new("fan-in", 2 * WINDOW, rules, 1_000);
        let hours = Arc::new(Hours::default());
        for weeks in [1_998, 1_999] {
            let mut peaks = HourPeaks::new(weeks * WEEK + 1);
            peaks.counted_ms = HOUR_MS;
            peaks.add([0, 0, 0, 7].into(), f64::from(usual));
            hours.keep(&series(), &peaks).unwrap();
        }
        view_alerts.keep_hours_in(hours.clone(), ViewOptions::default());
        detector.skip_to((2_000 * WEEK + 1) * HOUR_MS / 1_000).unwrap();
        Self { view_alerts, hours, detector }
    }

    /// Closes a slice in which the host has `peers` peers, and returns the changes of its alert.
    fn close(&mut self, peers: u32) -> Vec<Alert> {
        let pairs: Vec<_> = (0..peers).map(|peer| Ipv4Pair { inside: 7, peer }).collect();
        self.detector.ingest(&pairs).unwrap();
        let Self { view_alerts, detector, .. } = self;
        close(view_alerts, detector, Condition::default(), |_, _| Evidence::default());
        view_alerts.changes().into_iter().map(|(alert, _)| alert).collect()
    }

    /// Returns the largest learned count of the host in the running hour.
    fn learned(&mut self) -> Option<u32> {
        self.view_alerts.keep_hour().unwrap();
        let now = 2_000 * WEEK + 1;
        let hours = self.hours.hours(&series(), now..=now).unwrap();
        hours[0].iter().next().map(|(_, peak)| peak)
    }
}

#[test]
fn a_usual_count_raises_no_alert_and_an_unusual_one_does() {
    let mut it = WithPast::new(2_000);
    assert_eq!(it.close(4_000), []);
    let alerts = it.close(8_000);
    let main = alerts[0].main();
    assert_eq!((main.threshold, main.usual), (6_000.0, Some(Usual { most: 2_000, weeks: 2 })));
    // The severity refers to the threshold of the rule, which is the smaller one.
    assert_eq!(alerts[0].severity, Severity::Major);
}

#[test]
fn the_severity_refers_to_what_is_usual_if_that_is_little() {
    let mut it = WithPast::new(20);
    let alerts = it.close(2_000);
    assert_eq!((alerts[0].main().threshold, alerts[0].severity), (1_024.0, Severity::Critical));
}

#[test]
fn what_is_usual_raises_a_threshold_by_a_limited_factor() {
    let mut it = WithPast::new(1_000_000);
    assert_eq!(it.close(15_000), []);
    assert_eq!(it.close(18_000)[0].main().threshold, 16_384.0);
}

#[test]
fn an_attack_is_not_learned_and_a_busy_host_is() {
    let mut it = WithPast::new(2_000);
    let host = [0, 0, 0, 7].into();
    // A flood passes all counts below its threshold, which count until its alert is judged.
    for peers in [600, 1_200, 2_400, 4_800, 9_600] {
        it.close(peers);
    }
    let rise = it.learned().unwrap();
    assert!((4_600..5_000).contains(&rise), "{rise}");
    it.view_alerts.set_busy(host, false);
    it.close(9_600);
    assert_eq!(it.learned(), None);
    it.view_alerts.set_busy(host, true);
    it.close(9_600);
    // An unusual count is learned as three times the usual one.
    assert_eq!(it.learned(), Some(6_000));
}

#[test]
fn the_change_of_the_hour_ends_no_alert() {
    let mut it = WithPast::new(400);
    let next = 2_000 * WEEK + 2;
    for weeks in [1, 2] {
        // The neighbours of an hour matter, too.
        for (hour, most) in [(next, 400.0), (next + 1, 4_000.0)] {
            let mut peaks = HourPeaks::new(hour - weeks * WEEK);
            peaks.counted_ms = HOUR_MS;
            peaks.add([0, 0, 0, 7].into(), most);
            it.hours.keep(&series(), &peaks).unwrap();
        }
    }
    assert_eq!(it.close(5_000)[0].main().threshold, 1_200.0);
    it.detector.skip_to(next * HOUR_MS / 1_000).unwrap();
    (0..WINDOW + 1)
        .for_each(|_| assert!(it.close(5_000).iter().all(|it| it.status != Status::End)));
    let alert = it.close(5_000);
    assert!(alert.iter().all(|alert| alert.main().threshold == 1_200.0), "{alert:?}");
    let usual = it.view_alerts.usual[&WINDOW].of([0, 0, 0, 7].into());
    assert_eq!(
        usual.map(|usual| usual.most),
        Some(4_000),
        "without an alert, the threshold is higher"
    );
}
