//! Alerts that a tracker reports for arbitrary counts. An attack that a person would see as one attack must have
//! exactly one start and one end.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use proptest::prelude::*;
use srlg_alerts::{
    Alert, AlertId, Condition, Rule, Severity, Sighting, Sightings, Status, Terms, Tracker, Why,
    Witnesses,
};
use srlg_traffic::synthetic::mix;

const THRESHOLD: f64 = 1024.0;
const HOST: [u8; 4] = [192, 0, 2, 7];

/// Lengths of windows, in slices.
const SHORT: u32 = 60;
const LONG: u32 = 3_600;

fn rule() -> Rule {
    let terms = Terms { threshold: THRESHOLD, hold_ms: 5_000, ..Terms::default() };
    Rule { name: "r".to_owned(), networks: Vec::new(), windows: [(SHORT, terms)].into() }
}

fn sighting(host: impl Into<IpAddr>, cardinality: f64) -> Sighting {
    Sighting::new(host.into(), cardinality, cardinality * 0.005)
}

struct Run {
    tracker: Tracker,
    rule: Rule,
    second: u64,
    alerts: Vec<Alert>,
    witnesses: Witnesses,
}

impl Run {
    fn new() -> Self {
        let (tracker, witnesses) = (Tracker::new("v"), Witnesses::default());
        Self { tracker, rule: rule(), second: 0, alerts: Vec::new(), witnesses }
    }

    fn close_with(&mut self, points: &[Sighting], condition: Condition) -> Vec<Alert> {
        self.close_windows(&[(SHORT, points.to_vec())].into(), condition)
    }

    fn close_windows(&mut self, sightings: &Sightings, condition: Condition) -> Vec<Alert> {
        self.second += 1;
        let now_ms = self.second * 1_000;
        let (rule, witnesses) = (&self.rule, &self.witnesses);
        let tracker = &mut self.tracker;
        let alerts =
            tracker.close(now_ms, sightings, |_| Some(rule), condition, |_, _| witnesses.clone());
        self.alerts.extend(alerts.clone());
        alerts
    }

    fn close(&mut self, points: &[Sighting]) -> Vec<Alert> {
        self.close_with(points, Condition::default())
    }

    /// Closes `slices` slices in which `HOST` has this cardinality.
    fn host(&mut self, slices: usize, cardinality: f64) -> &mut Self {
        for _ in 0..slices {
            let points = [sighting(HOST, cardinality)];
            self.close(if cardinality > 0.0 { &points } else { &[] });
        }
        self
    }

    fn changes(&self) -> Vec<(u64, Status, Why)> {
        self.alerts.iter().map(|it| (it.now_ms / 1_000, it.status, it.why)).collect()
    }

    fn restart(&mut self) {
        let bytes = serde_json::to_vec(&self.tracker).unwrap();
        self.tracker = serde_json::from_slice(&bytes).unwrap();
    }
}

#[test]
fn an_attack_starts_once_and_ends_once_with_the_same_id() {
    let mut run = Run::new();
    run.host(2, 2_000.0).host(1, 0.0).host(4, 2_000.0).host(4, 500.0).host(3, 2_000.0);
    run.host(20, 0.0);
    let expected = [(4, Status::Start, Why::Threshold), (20, Status::End, Why::Below)];
    assert_eq!(run.changes(), expected);
    let [start, end] = &run.alerts.clone()[..] else { panic!() };
    assert_eq!((start.id, start.start_ms), (end.id, end.start_ms));
    assert_eq!(
        (end.until_ms, end.main().peak, end.main().cardinality),
        (Some(15_000), 2_000.0, 0.0)
    );
    assert_eq!(run.tracker.active(), 0);
    assert_eq!(run.tracker.hosts().count(), 0, "the tracker must be empty");
    run.host(3, 2_000.0);
    assert_ne!(run.alerts[2].id, end.id, "another attack");
}

#[test]
fn updates_tell_of_peaks_severity_and_time() {
    let mut run = Run::new();
    run.host(3, 1_500.0).host(1, 2_999.0).host(1, 3_000.0).host(1, 4_200.0).host(1, 16_500.0);
    run.host(400, 16_600.0);
    let why: Vec<_> =
        run.alerts.iter().map(|it| (it.now_ms / 1_000, it.why, it.severity)).collect();
    let (warning, major, critical) = (Severity::Warning, Severity::Major, Severity::Critical);
    let expected = [
        (3, Why::Threshold, warning),
        (5, Why::Peak, warning),
        (6, Why::Severity, major),
        (7, Why::Severity, critical),
        (307, Why::Repeat, critical),
    ];
    assert_eq!(why, expected);
}

#[test]
fn more_than_can_be_counted_is_critical_and_no_end() {
    let mut run = Run::new();
    let beyond = |cardinality| {
        let mut point = sighting(HOST, cardinality);
        point.is_lower_bound = true;
        point
    };
    (0..3).for_each(|_| drop(run.close(&[beyond(10.0)])));
    (0..20).for_each(|_| drop(run.close(&[beyond(10.0)])));
    assert_eq!(run.changes(), [(3, Status::Start, Why::Threshold)]);
    assert_eq!(run.alerts[0].severity, Severity::Critical);
}

#[test]
fn neither_silence_nor_overload_ends_alerts() {
    for condition in [
        Condition { is_input_lost: true, ..Condition::default() },
        Condition { whole_slices: 0, ..Condition::default() },
    ] {
        let mut run = Run::new();
        run.host(3, 2_000.0).host(4, 0.0);
        (0..100).for_each(|_| drop(run.close_with(&[], condition)));
        assert_eq!(run.alerts.len(), 1, "{condition:?}");
        run.host(5, 0.0);
        assert_eq!(run.alerts.len(), 1, "the time below the threshold must restart: {condition:?}");
        run.host(1, 0.0);
        assert_eq!(run.alerts[1].status, Status::End);
    }
}

#[test]
fn a_host_that_no_rule_is_about_any_more_ends() {
    let mut run = Run::new();
    run.host(3, 2_000.0);
    let sightings = [(SHORT, vec![sighting(HOST, 2_000.0)])].into();
    let alerts = run.tracker.close(
        4_000,
        &sightings,
        |_| None,
        Condition::default(),
        |_, _| Witnesses::default(),
    );
    assert_eq!((alerts.len(), alerts[0].status, alerts[0].why), (1, Status::End, Why::Rule));
    assert!(
        run.tracker
            .close(
                5_000,
                &Sightings::new(),
                |_| None,
                Condition::default(),
                |_, _| Witnesses::default()
            )
            .is_empty()
    );
}

#[test]
fn windows_of_a_host_are_one_alert_with_the_highest_severity() {
    let mut run = Run::new();
    let terms = run.rule.windows[&SHORT];
    run.rule.windows.insert(LONG, Terms { threshold: 1_000.0, ..terms });
    let mut close = |slices, short: f64, long: f64| {
        for _ in 0..slices {
            let of = |cardinality| vec![sighting(HOST, cardinality)];
            run.close_windows(&[(SHORT, of(short)), (LONG, of(long))].into(), Condition::default());
        }
    };
    // A slow scan exceeds only the long window. Then a flood exceeds both windows. Finally, there are no new contacts.
    close(3, 100.0, 1_500.0);
    close(3, 5_000.0, 3_500.0);
    close(10, 100.0, 3_500.0);
    // One slice at the threshold neither activates the short window nor raises the severity.
    close(1, 20_000.0, 7_000.0);
    close(10, 0.0, 0.0);
    let changes: Vec<_> =
        run.alerts.iter().map(|it| (it.now_ms / 1_000, it.status, it.why, it.severity)).collect();
    let expected = [
        (3, Status::Start, Why::Threshold, Severity::Warning),
        (4, Status::Update, Why::Peak, Severity::Warning),
        (6, Status::Update, Why::Severity, Severity::Major),
        (17, Status::Update, Why::Peak, Severity::Major),
        (23, Status::End, Why::Below, Severity::Major),
    ];
    assert_eq!(changes, expected);
    assert!(run.alerts.iter().all(|it| it.id == run.alerts[0].id));
    let windows = |at: usize| -> Vec<_> {
        run.alerts[at].windows.iter().map(|it| (it.slices, it.cardinality, it.peak)).collect()
    };
    assert_eq!(windows(0), [(LONG, 1_500.0, 1_500.0)]);
    assert_eq!(windows(2), [(SHORT, 5_000.0, 5_000.0), (LONG, 3_500.0, 3_500.0)]);
    assert_eq!(windows(3), [(LONG, 7_000.0, 7_000.0), (SHORT, 20_000.0, 5_000.0)]);
    assert_eq!(
        run.alerts[3].windows.iter().map(|it| it.is_active).collect::<Vec<_>>(),
        [true, false]
    );
    // If no window is active, the most severe window comes first. Among windows of equal severity, the shortest window
    // comes first.
    assert_eq!(windows(4), [(SHORT, 0.0, 5_000.0), (LONG, 0.0, 7_000.0)]);
    // The long window was below its threshold from this time on.
    assert_eq!(run.alerts[4].until_ms, Some(18_000));
    assert_eq!(run.tracker.hosts().count(), 0);
}

#[test]
fn each_window_waits_until_it_is_whole_itself() {
    for (whole_slices, is_over) in [(0, false), (SHORT - 1, false), (SHORT, true)] {
        let mut run = Run::new();
        let terms = run.rule.windows[&SHORT];
        run.rule.windows.insert(LONG, Terms { threshold: 1e6, ..terms });
        run.host(3, 2_000.0);
        let condition = Condition { whole_slices, ..Condition::default() };
        (0..20).for_each(|_| drop(run.close_with(&[], condition)));
        let ends = run.alerts.iter().filter(|it| it.status == Status::End).count();
        assert_eq!(ends, usize::from(is_over), "{whole_slices}");
    }
}

#[test]
fn a_window_that_joins_is_reported_and_one_that_a_rule_loses_ends() {
    let mut run = Run::new();
    let terms = run.rule.windows[&SHORT];
    run.rule.windows.insert(LONG, terms);
    let points = || vec![sighting(HOST, 1_500.0)];
    let short = || [(SHORT, points()), (LONG, Vec::new())].into();
    (0..3).for_each(|_| drop(run.close_windows(&short(), Condition::default())));
    let both = || [(SHORT, points()), (LONG, points())].into();
    (0..3).for_each(|_| drop(run.close_windows(&both(), Condition::default())));
    run.rule.windows.remove(&SHORT);
    run.close_windows(&both(), Condition::default());
    assert_eq!(
        run.changes(),
        [(3, Status::Start, Why::Threshold), (6, Status::Update, Why::Window)]
    );
    run.rule.windows = [(7, terms)].into();
    run.close_windows(&both(), Condition::default());
    let end = &run.alerts[2];
    assert_eq!((end.status, end.why, end.until_ms), (Status::End, Why::Rule, Some(8_000)));
    let windows: Vec<_> = end.windows.iter().map(|it| (it.slices, it.peak)).collect();
    assert_eq!(windows, [(SHORT, 1_500.0), (LONG, 1_500.0)]);
}

fn carpet(hosts: std::ops::Range<u8>) -> Vec<Sighting> {
    hosts.map(|host| sighting([198, 51, 100, host], 2_000.0 + f64::from(host))).collect()
}

#[test]
fn each_of_many_hosts_of_a_network_has_an_alert() {
    let mut run = Run::new();
    (0..10).for_each(|_| drop(run.close(&carpet(0..200))));
    assert_eq!((run.alerts.len(), run.tracker.active()), (200, 200));
    assert!(run.alerts.iter().all(|it| (it.status, it.now_ms) == (Status::Start, 3_000)));
    (0..20).for_each(|_| drop(run.close(&[])));
    let ends: BTreeSet<AlertId> = run.alerts[200..].iter().map(|it| it.id).collect();
    assert!(run.alerts[200..].iter().all(|it| (it.status, it.why) == (Status::End, Why::Below)));
    assert_eq!((run.alerts.len(), ends.len(), run.tracker.hosts().count()), (400, 200, 0));
}

/// A flood of one host, while neighbours of the host have a few more peers than the threshold.
fn flood_beside(neighbours: std::ops::Range<u8>, flood: Option<f64>) -> Vec<Sighting> {
    let flood = flood.map(|peers| sighting([198, 51, 100, 254], peers));
    let neighbours = neighbours.map(|host| sighting([198, 51, 100, host], 1_200.0));
    flood.into_iter().chain(neighbours).collect()
}

/// Returns what was reported about the host of the flood.
fn of_flood(run: &Run) -> Vec<(u64, Status, Severity)> {
    let host = IpAddr::from([198, 51, 100, 254]);
    let alerts = run.alerts.iter().filter(|alert| alert.host == host);
    alerts.map(|alert| (alert.now_ms / 1_000, alert.status, alert.severity)).collect()
}

#[test]
fn neighbours_neither_delay_nor_end_the_alert_of_a_flood() {
    // The neighbours have alerts before the flood, or get them during the flood.
    for before in [0, 10] {
        let mut run = Run::new();
        (0..10).for_each(|_| drop(run.close(&flood_beside(0..before, None))));
        (0..10).for_each(|_| drop(run.close(&flood_beside(0..before, Some(20_000.0)))));
        (0..60).for_each(|_| drop(run.close(&flood_beside(0..10, Some(20_000.0)))));
        // The neighbours recover first.
        (0..60).for_each(|_| drop(run.close(&flood_beside(0..0, Some(20_000.0)))));
        assert_eq!(of_flood(&run), [(13, Status::Start, Severity::Critical)]);
        (0..20).for_each(|_| drop(run.close(&[])));
        assert_eq!(of_flood(&run)[1..], [(146, Status::End, Severity::Critical)]);
        assert_eq!(run.tracker.active(), 0);
    }
}

/// Ten groups of 5,000 hosts with forged addresses exceed the threshold one after another. Because of an overload, no
/// alert can end.
#[test]
fn the_number_of_tracked_hosts_is_bounded_and_the_largest_are_kept() {
    let mut run = Run::new();
    let overload = Condition { whole_slices: 0, ..Condition::default() };
    let forged = |number: u32| {
        let host = IpAddr::from((0x0100_0000 + (number << 8)).to_be_bytes());
        sighting(host, 2_000.0 + f64::from(number))
    };
    let most = Tracker::MOST_HOSTS as u32;
    for slice in 0..10 {
        let points: Vec<_> = (0..5_000).map(|at| forged(slice * 5_000 + at)).collect();
        (0..3).for_each(|_| drop(run.close_with(&points, overload)));
        assert!(run.tracker.hosts().count() <= Tracker::MOST_HOSTS);
    }
    assert_eq!(run.tracker.left_out(), 5_000);
    assert_eq!(run.alerts.len(), Tracker::MOST_HOSTS, "each tracked host must start once");
    let of_last: Vec<_> = run.alerts.iter().filter(|it| it.now_ms > 9_000).collect();
    let last = 20_000 - (most - 15_000);
    assert!(of_last.iter().all(|it| it.main().cardinality >= 2_000.0 + f64::from(last)));
    // The tracked alerts end, and others take their places.
    (0..20).for_each(|_| drop(run.close(&[])));
    assert_eq!((run.tracker.hosts().count(), run.tracker.left_out()), (0, 0));
    assert_eq!(run.alerts.len(), 2 * Tracker::MOST_HOSTS);
}

/// A SplitMix64 generator.
struct Random(u64);

impl Random {
    fn unit(&mut self) -> f64 {
        let bits = mix(self.0);
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        (bits >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns a normally distributed number with mean 0 and variance 1 (Box-Muller).
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }
}

/// Counts the plateaus, out of 10,000, that do not have exactly `starts` starts and `starts` ends. A plateau lasts 120
/// slices, and its mean count is `distance` standard errors above θ.
fn flaps(distance: f64, starts: usize, seed: u64) -> usize {
    let mut random = Random(seed);
    (0..10_000)
        .filter(|_| {
            let mut run = Run::new();
            let std_error = THRESHOLD * 0.005;
            for _ in 0..120 {
                let cardinality = THRESHOLD + (distance + random.normal()) * std_error;
                run.close(&[Sighting::new(HOST.into(), cardinality, std_error)]);
            }
            (0..10).for_each(|_| drop(run.close(&[])));
            let of = |status| run.alerts.iter().filter(|it| it.status == status).count();
            (of(Status::Start), of(Status::End)) != (starts, starts)
        })
        .count()
}

/// At 3 σ below θ, fewer than 1 % of the plateaus may start an alert. At 3 σ above θ, more than 99 % must have exactly
/// one start and one end.
///
/// An alert starts if the count minus σ reaches θ in three of five slices. At -3 σ, the probability is 3.2e-5 for one
/// slice, and about 3e-13 for three of five slices. At +3 σ, the probability is 0.977 for one slice.
#[test]
fn plateaus_near_the_threshold_do_not_flap() {
    let (below, above) = (flaps(-3.0, 0, 1), flaps(3.0, 1, 2));
    println!("of 10,000 plateaus {below} flap at -3 sigma and {above} at +3 sigma");
    assert!(below < 100 && above < 100);
}

/// Generates slices: the counts of four hosts in two networks, a number that selects a fault if it is below 3, and
/// whether the tracker restarts.
fn slices() -> impl Strategy<Value = Vec<([u16; 4], u8, bool)>> {
    prop::collection::vec((any::<[u16; 4]>(), 0_u8..8, any::<bool>()), 1..150)
}

fn silent(since: u64) -> Witnesses {
    Witnesses::silent("192.0.2.1", since * 1_000)
}

#[test]
fn an_alert_with_a_silent_witness_ends_after_a_whole_window_of_data() {
    let mut run = Run::new();
    run.host(10, 2_000.0);
    run.witnesses = silent(10);
    run.host(400, 0.0);
    let unconfirmed = run.alerts.last().unwrap().clone();
    assert_eq!(unconfirmed.silent, silent(10).silent);
    assert_eq!(run.changes()[1..], [(16, Status::Update, Why::Unconfirmed)]);
    // The exporter sends again, but only `whole_slices` slices of the window are complete.
    for whole_slices in 0..SHORT + 5 {
        run.witnesses = Witnesses { seen_ms: u64::MAX, whole_slices, silent: Vec::new() };
        run.host(1, 0.0);
    }
    run.witnesses = Witnesses::default();
    run.host(5, 0.0);
    let changes = &run.changes()[2..];
    assert_eq!(changes, [(411, Status::Update, Why::Resumed), (476, Status::End, Why::Below)]);
    assert_eq!(run.alerts.last().unwrap().silent, []);
}

#[test]
fn a_witness_that_is_silent_since_the_count_fell_delays_the_end() {
    let mut run = Run::new();
    run.host(10, 2_000.0);
    run.witnesses = Witnesses { seen_ms: 10_999, ..Witnesses::default() };
    run.host(100, 0.0);
    assert_eq!(
        run.alerts.len(),
        1,
        "there must be no end and no notification during a usual pause"
    );
    run.witnesses.seen_ms = 11_000;
    run.host(1, 0.0);
    assert_eq!(run.changes()[1..], [(111, Status::End, Why::Below)]);
}

#[test]
fn an_alert_without_confirmation_ends_as_unconfirmed() {
    let mut run = Run::new();
    run.rule.windows.get_mut(&SHORT).unwrap().unconfirmed_after_ms = 100_000;
    run.host(10, 2_000.0);
    run.witnesses = silent(10);
    run.host(200, 0.0);
    let changes = [(16, Status::Update, Why::Unconfirmed), (111, Status::End, Why::Unconfirmed)];
    assert_eq!(run.changes()[1..], changes);
    assert_eq!(run.alerts.last().unwrap().until_ms, Some(11_000));
}

#[test]
fn lost_input_is_reported_and_neither_starts_nor_ends_alerts() {
    let lost = Condition { is_input_lost: true, whole_slices: u32::MAX };
    let mut run = Run::new();
    run.host(2, 2_000.0);
    run.witnesses = silent(2);
    (0..20).for_each(|_| drop(run.close_with(&[sighting(HOST, 2_000.0)], lost)));
    assert_eq!(run.alerts, []);
    run.witnesses = Witnesses::default();
    run.host(1, 2_000.0);
    run.witnesses = silent(23);
    (0..20).for_each(|_| drop(run.close_with(&[], lost)));
    let changes = [(23, Status::Start, Why::Threshold), (29, Status::Update, Why::Unconfirmed)];
    assert_eq!(run.changes(), changes);
}

proptest! {
    #[test]
    fn alerts_start_and_end_once_despite_restarts(slices in slices()) {
        let (mut run, mut other) = (Run::new(), Run::new());
        for (counts, worth, restarts) in slices {
            let points: Vec<_> = (0..).zip(counts)
                .map(|(host, count)| sighting([10, 0, host / 2, host], f64::from(count % 3_000)))
                .filter(|point| point.cardinality > 200.0)
                .collect();
            let whole_slices = if worth == 1 { 0 } else { u32::MAX };
            for it in [&mut run, &mut other] {
                it.witnesses = if worth == 2 { silent(it.second) } else { Witnesses::default() };
            }
            let condition = Condition { is_input_lost: worth == 0, whole_slices };
            run.close_with(&points, condition);
            if restarts {
                other.restart();
            }
            other.close_with(&points, condition);
        }
        (run.witnesses, other.witnesses) = (Witnesses::default(), Witnesses::default());
        (0..20).for_each(|_| drop((run.close(&[]), other.close(&[]))));
        prop_assert_eq!(&run.alerts, &other.alerts);
        let mut open: BTreeMap<AlertId, bool> = BTreeMap::new();
        for alert in &run.alerts {
            match alert.status {
                Status::Start => prop_assert_eq!(open.insert(alert.id, true), None),
                Status::Update => prop_assert_eq!(open.get(&alert.id), Some(&true)),
                Status::End => prop_assert_eq!(open.insert(alert.id, false), Some(true)),
            }
        }
        prop_assert!(open.values().all(|is_open| !is_open));
        prop_assert!(run.alerts.iter().all(|it| !it.windows.is_empty()));
        prop_assert_eq!((run.tracker.active(), run.tracker.hosts().count()), (0, 0));
    }
}
